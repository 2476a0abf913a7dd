//! JSON texts, for what Python's own module takes a large part of a short run.

/// A JSON text without spaces as Python's `json` writes it with an indent of one.
#[must_use]
pub fn indented(json: &str) -> String {
    let mut out = String::with_capacity(2 * json.len());
    let (mut rest, mut depth) = (json, 0_usize);
    while let Some(at) = rest.find(['"', '{', '[', '}', ']', ',', ':']) {
        let (before, from) = rest.split_at(at);
        let (mark, after) = from.split_at(length(from.as_bytes()));
        out.push_str(before);
        if matches!(mark, "}" | "]") {
            depth = depth.saturating_sub(1);
            new_line(&mut out, depth);
        }
        out.push_str(mark);
        match mark {
            "{" | "[" => {
                depth += 1;
                new_line(&mut out, depth);
            }
            "," => new_line(&mut out, depth),
            ":" => out.push(' '),
            _ => {}
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

fn new_line(out: &mut String, depth: usize) {
    out.push('\n');
    for _ in 0..depth {
        out.push(' ');
    }
}

/// Bytes of the mark that this begins with: a string, an empty list or table, or one of its letters.
fn length(from: &[u8]) -> usize {
    match from {
        [b'{', b'}', ..] | [b'[', b']', ..] => 2,
        [b'"', rest @ ..] => 1 + quoted(rest),
        _ => 1,
    }
}

/// Bytes to the end of a string that has begun, its closing quote included.
fn quoted(rest: &[u8]) -> usize {
    let mut is_escaped = false;
    let end = rest.iter().position(|&byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    });
    end.map_or(rest.len(), |at| at + 1)
}
