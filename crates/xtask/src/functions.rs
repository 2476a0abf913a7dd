//! Where functions begin and end. Not parsers: enough of each language to count lines.

use crate::source::{Language, Source};

/// One function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    pub name: String,
    /// Line of its name, from 1.
    pub line: usize,
    /// Lines from its name to its end; a Python docstring does not count, as documentation does
    /// not in the other languages.
    pub lines: usize,
}

/// The functions of a file in order.
pub fn functions(source: &Source) -> Vec<Function> {
    match source.language {
        Language::Rust => rust(&source.code()),
        Language::C => c(&source.code()),
        Language::Python => python(&source.text),
        Language::Shell | Language::Other => Vec::new(),
    }
}

fn line_of(code: &str, at: usize) -> usize {
    code[..at].matches('\n').count() + 1
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn word_at(text: &str) -> &str {
    &text[..text.find(|c| !is_word(c)).unwrap_or(text.len())]
}

/// The byte after the brace that closes the one at `open`.
fn close_of(code: &str, open: usize) -> usize {
    let mut depth = 0;
    for (at, byte) in code.bytes().enumerate().skip(open) {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 1 => return at + 1,
            b'}' => depth -= 1,
            _ => {}
        }
    }
    code.len()
}

fn rust(code: &str) -> Vec<Function> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        let name = word_at(&code[at + 3..]);
        if name.is_empty() || code[..at].ends_with(is_word) {
            continue;
        }
        // A declaration in a trait ends in a semicolon; the one in `[T; 2]` is not that.
        let mut brackets = 0;
        let open = code.bytes().enumerate().skip(at).find(|&(_, byte)| {
            match byte {
                b'[' | b'(' => brackets += 1,
                b']' | b')' => brackets -= 1,
                _ => {}
            }
            brackets == 0 && (byte == b'{' || byte == b';')
        });
        if let Some((open, b'{')) = open {
            found.push(function(code, name, at, close_of(code, open)));
        }
    }
    found
}

fn function(code: &str, name: &str, from: usize, to: usize) -> Function {
    let line = line_of(code, from);
    Function { name: name.to_string(), line, lines: line_of(code, to - 1) - line + 1 }
}

fn c(code: &str) -> Vec<Function> {
    let code = without_preprocessor(code);
    let mut found = Vec::new();
    let (mut from, mut at) = (0, 0);
    while let Some(step) = code[at..].find(['{', ';']) {
        let open = at + step;
        if code.as_bytes()[open] == b';' {
            (from, at) = (open + 1, open + 1);
            continue;
        }
        let close = close_of(&code, open);
        let header = code[from..open].trim();
        if header.ends_with(')') && !header.contains('=') {
            let name = c_name(header);
            let name_at = from + code[from..open].find(name).unwrap_or(0);
            found.push(function(&code, name, name_at, close));
        }
        (from, at) = (close, close);
    }
    found
}

/// The name before the parameter list. Where a macro declares the function it is among its arguments:
/// the first of `BPF_PROG(name, ...)`, the second of ours, `CCA_OP(type, name, ...)`.
fn c_name(header: &str) -> &str {
    let open = header.rfind("BPF_PROG(").map_or(0, |at| at + 8);
    let open = open + header[open..].find('(').unwrap_or(0);
    let before = header[..open].trim_end();
    let name = &before[before.rfind(|c| !is_word(c)).map_or(0, |at| at + 1)..];
    let argument = |n| word_at(header[open + 1..].split(',').nth(n).unwrap_or("").trim_start());
    match name {
        "BPF_PROG" => argument(0),
        _ if name.chars().all(|c| c.is_uppercase() || c == '_') => argument(1),
        _ => name,
    }
}

fn without_preprocessor(code: &str) -> String {
    let mut continued = false;
    let keep = |line: &str| {
        let directive = continued || line.trim_start().starts_with('#');
        continued = directive && line.trim_end().ends_with('\\');
        if directive {
            " ".repeat(line.len())
        } else {
            line.to_string()
        }
    };
    code.split('\n').map(keep).collect::<Vec<_>>().join("\n")
}

fn python(text: &str) -> Vec<Function> {
    let lines: Vec<&str> = text.lines().collect();
    let inside = in_text(&lines);
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let bare = line.trim_start();
        let bare = bare.strip_prefix("async ").unwrap_or(bare);
        let Some(name) = bare.strip_prefix("def ").filter(|_| !inside[at]) else { continue };
        let indent = indent(line);
        let body =
            (at..lines.len()).find(|&i| lines[i].trim_end().ends_with(':')).unwrap_or(at) + 1;
        let ends = |i: &usize| {
            !inside[*i] && !lines[*i].trim().is_empty() && self::indent(lines[*i]) <= indent
        };
        let mut end = (body..lines.len()).find(ends).unwrap_or(lines.len());
        while end > body && lines[end - 1].trim().is_empty() {
            end -= 1;
        }
        let docstring = docstring_lines(&lines, &inside, body);
        let name = word_at(name).to_string();
        found.push(Function { name, line: at + 1, lines: (end - at).saturating_sub(docstring) });
    }
    found
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// For each line whether it begins inside a triple-quoted text.
fn in_text(lines: &[&str]) -> Vec<bool> {
    let mut open: Option<&str> = None;
    let mut inside = Vec::with_capacity(lines.len());
    for line in lines {
        inside.push(open.is_some());
        let mut rest = *line;
        loop {
            let quote = match open {
                Some(quote) => rest.find(quote).map(|at| (at, quote)),
                None => {
                    ["\"\"\"", "'''"].iter().filter_map(|q| rest.find(q).map(|at| (at, *q))).min()
                }
            };
            let Some((at, quote)) = quote else { break };
            open = if open.is_some() { None } else { Some(quote) };
            rest = &rest[at + 3..];
        }
    }
    inside
}

/// Lines of the docstring that a body starting at line index `body` opens with.
fn docstring_lines(lines: &[&str], inside: &[bool], body: usize) -> usize {
    let opens = lines.get(body).is_some_and(|line| {
        let line = line.trim_start().trim_start_matches('r');
        line.starts_with("\"\"\"")
    });
    if !opens {
        return 0;
    }
    1 + (body + 1..lines.len()).take_while(|&i| inside[i]).count()
}
