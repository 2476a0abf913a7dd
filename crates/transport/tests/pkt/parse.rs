//! Reads a `.pkt` script: the packetdrill subset that one direction of data needs.
//!
//! ```text
//! // comment
//! --cca=reno  --qdisc=pfifo  --tso=off ...          settings, before the first event
//! 0.000 connect                                     time: absolute, +relative, or +0
//! +0 > S 0:0(0)                                     a packet that must leave now
//! +.1 < S. 0:0(0) ack 1 win 65535                   a packet that arrives
//! +0 > [ect0] P. 1:1449(1448) ack 1 <TS val 100 ecr 100>
//! +.1 < . 1:1(0) ack 1449 win 65535 <sack 2897:4345,nop,nop>
//! +0 %{ assert tcpi_snd_cwnd == 11; assert tcpi_ca_state == TCP_CA_Open }%
//! ```

use crate::script::{
    Arm, Assertion, At, Event, Flags, Op, Options, Script, Segment, What, ECN_NAMES,
};
use std::fmt;

/// What is wrong with a script, and where.
#[derive(Debug, PartialEq, Eq)]
pub struct ParseError {
    pub line: usize,
    pub message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.line, self.message)
    }
}

type Parsed<T> = Result<T, String>;

/// Names that the value of an assertion may have.
const CONSTANTS: [(&str, i64); 6] = [
    ("TCP_CA_Open", 0),
    ("TCP_CA_Disorder", 1),
    ("TCP_CA_CWR", 2),
    ("TCP_CA_Recovery", 3),
    ("TCP_CA_Loss", 4),
    ("TCP_INFINITE_SSTHRESH", cca::INFINITE_SSTHRESH as i64),
];

/// Parses a script.
pub fn parse(text: &str) -> Result<Script, ParseError> {
    let mut script = Script::default();
    let mut lines = text.lines().enumerate();
    while let Some((i, line)) = lines.next() {
        let number = i + 1;
        let fail = |message| ParseError { line: number, message };
        let mut statement = without_comment(line).trim().to_string();
        if statement.is_empty() {
            continue;
        }
        if statement.starts_with("--") {
            if !script.events.is_empty() {
                return Err(fail("settings come before the first event".to_string()));
            }
            statement
                .split_whitespace()
                .try_for_each(|o| option(&mut script.options, o))
                .map_err(fail)?;
            continue;
        }
        // Line breaks inside code are kept, because assertions report their own line.
        while statement.contains("%{") && !statement.contains("}%") {
            let Some((_, next)) = lines.next() else {
                return Err(fail("`%{` without `}%`".to_string()));
            };
            statement = format!("{statement}\n{}", without_comment(next));
        }
        script.events.push(event(&statement, number).map_err(fail)?);
    }
    Ok(script)
}

fn without_comment(line: &str) -> &str {
    line.find("//").map_or(line, |at| &line[..at])
}

fn option(options: &mut Options, text: &str) -> Parsed<()> {
    let bare = text.trim_start_matches("--");
    let (key, value) =
        bare.split_once('=').ok_or_else(|| format!("a setting is --key=value, got `{text}`"))?;
    match key {
        "arm" => options.arm = choice(value, &[("sender", Arm::Sender), ("receiver", Arm::Receiver)])?,
        "cca" => {
            let known = || cca::Module::all().iter().map(cca::Module::name);
            if !known().any(|name| name == value) {
                return Err(format!("no controller `{value}`, there are {:?}", known().collect::<Vec<_>>()));
            }
            options.cca = value.to_string();
        }
        "hz" => {
            options.hz = number(value)? as u32;
            if options.hz == 0 || options.hz > 1000 || 1000 % options.hz != 0 {
                return Err(format!("hz must divide 1000, got `{value}`"));
            }
        }
        "qdisc" => options.fq = choice(value, &[("fq", true), ("pfifo", false)])?,
        "tso" => options.tso = choice(value, &ON_OFF)?,
        "gro" => options.gro = choice(value, &ON_OFF)?,
        "ecn" => options.ecn = choice(value, &ON_OFF)?,
        "delayed_ack" => options.delayed_ack = choice(value, &ON_OFF)?,
        "rcvbuf" => options.rcvbuf.0 = number(value)?,
        "rcvbuf_max" => options.rcvbuf.1 = number(value)?,
        "sndbuf" => options.sndbuf = number(value)?,
        "write" => {
            let bytes = number(value)?;
            if bytes == 0 || bytes > 1 << 40 {
                return Err(format!("write takes 1 byte to 1 TiB, got `{value}`"));
            }
            options.write = Some(bytes);
        }
        _ => return Err(format!("unknown setting `{key}`; there are arm, cca, hz, qdisc, tso, gro, ecn, delayed_ack, rcvbuf, rcvbuf_max, sndbuf, write")),
    }
    Ok(())
}

const ON_OFF: [(&str, bool); 2] = [("on", true), ("off", false)];

fn choice<T: Copy>(value: &str, accepted: &[(&str, T)]) -> Parsed<T> {
    let names = || accepted.iter().map(|a| a.0).collect::<Vec<_>>().join(" or ");
    accepted
        .iter()
        .find(|a| a.0 == value)
        .map(|a| a.1)
        .ok_or_else(|| format!("wanted {}, got `{value}`", names()))
}

fn number(text: &str) -> Parsed<u64> {
    text.parse().map_err(|_| format!("wanted a whole number, got `{text}`"))
}

fn event(statement: &str, line: usize) -> Parsed<Event> {
    let (at, rest) = if statement.starts_with("%{") {
        (At::After(0), statement)
    } else {
        let (time, rest) = statement
            .split_once(char::is_whitespace)
            .ok_or_else(|| format!("wanted a time and an event, got `{statement}`"))?;
        (self::time(time)?, rest.trim_start())
    };
    let what = match rest.chars().next() {
        Some('<') => What::Inject(segment(&rest[1..])?),
        Some('>') => What::Expect(segment(&rest[1..])?),
        Some('%') => What::Assert(assertions(rest, line)?),
        _ if rest == "connect" => What::Connect,
        _ => return Err(format!("wanted <, >, %{{ or connect, got `{rest}`")),
    };
    Ok(Event { line, at, what })
}

/// Seconds with up to nine decimals.
fn time(text: &str) -> Parsed<At> {
    let wrong = || format!("wanted a time in seconds such as 0.5 or +.010, got `{text}`");
    let (relative, digits) = match text.strip_prefix('+') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if digits.is_empty()
        || digits == "."
        || fraction.len() > 9
        || whole.len() > 6
        || !all_digits(whole)
        || !all_digits(fraction)
    {
        return Err(wrong());
    }
    let whole = if whole.is_empty() { 0 } else { number(whole)? };
    let ns = whole * 1_000_000_000 + number(&format!("{fraction:0<9}"))?;
    Ok(if relative { At::After(ns) } else { At::Absolute(ns) })
}

fn segment(text: &str) -> Parsed<Segment> {
    let mut out = Segment::default();
    let (head, options) = match text.split_once('<') {
        Some((head, rest)) => {
            let inner = rest.trim_end().strip_suffix('>').ok_or("options end with `>`")?;
            (head, inner)
        }
        None => (text, ""),
    };
    let mut words = head.split_whitespace().peekable();
    if let Some(name) = words.peek().and_then(|w| w.strip_prefix('[')?.strip_suffix(']')) {
        let ecn = ECN_NAMES.iter().position(|n| *n == name);
        let ecn = ecn.ok_or_else(|| format!("wanted one of {ECN_NAMES:?}, got `{name}`"))?;
        out.ecn = Some(ecn as u8);
        words.next();
    }
    out.flags = flags(words.next().ok_or("a packet begins with its flags")?)?;
    (out.start, out.end) = range(words.next().ok_or("a packet has first:end(length)")?)?;
    while let Some(key) = words.next() {
        let value = words.next().ok_or_else(|| format!("`{key}` needs a number"))?;
        match key {
            "ack" => out.ack = Some(number(value)?),
            "win" => out.win = Some(number(value)?),
            _ => return Err(format!("wanted ack or win, got `{key}`")),
        }
    }
    if out.flags.ack != out.ack.is_some() {
        return Err("the flag `.` and `ack N` go together".to_string());
    }
    for part in options.split(',').map(str::trim).filter(|p| !p.is_empty() && *p != "nop") {
        tcp_option(part, &mut out)?;
    }
    Ok(out)
}

fn flags(text: &str) -> Parsed<Flags> {
    let mut flags = Flags::default();
    for letter in text.chars() {
        let bit = match letter {
            'S' => &mut flags.syn,
            'P' => &mut flags.push,
            'E' => &mut flags.echo,
            'W' => &mut flags.cwr,
            '.' => &mut flags.ack,
            _ => return Err(format!("wanted flags of S P E W ., got `{text}`")),
        };
        if std::mem::replace(bit, true) {
            return Err(format!("`{letter}` twice in `{text}`"));
        }
    }
    Ok(flags)
}

/// `first:end(length)`.
fn range(text: &str) -> Parsed<(u64, u64)> {
    let wrong = || format!("wanted first:end(length), got `{text}`");
    let (bounds, len) = text.strip_suffix(')').and_then(|t| t.split_once('(')).ok_or_else(wrong)?;
    let (start, end) = block(bounds)?;
    if end - start != number(len)? {
        return Err(format!("{start}:{end} has {} bytes, not {len}", end - start));
    }
    Ok((start, end))
}

fn block(text: &str) -> Parsed<(u64, u64)> {
    let (start, end) =
        text.split_once(':').ok_or_else(|| format!("wanted first:end, got `{text}`"))?;
    let (start, end) = (number(start)?, number(end)?);
    if end < start || end > 1 << 40 {
        return Err(format!("`{text}` is not a range of at most 1 TiB"));
    }
    Ok((start, end))
}

fn tcp_option(text: &str, out: &mut Segment) -> Parsed<()> {
    let words: Vec<&str> = text.split_whitespace().collect();
    match words[..] {
        ["TS", "val", val, "ecr", ecr] => out.ts = Some((number(val)?, number(ecr)?)),
        ["sack", ..] if (2..=4).contains(&words.len()) => {
            out.sacks = words[1..].iter().map(|b| block(b)).collect::<Parsed<_>>()?;
        }
        _ => {
            return Err(format!(
                "wanted nop, TS val N ecr N or sack with 1 to 3 blocks, got `{text}`"
            ))
        }
    }
    Ok(())
}

fn assertions(text: &str, first_line: usize) -> Parsed<Vec<Assertion>> {
    let inner = text.strip_prefix("%{").and_then(|t| t.trim_end().strip_suffix("}%"));
    let inner = inner.ok_or_else(|| format!("code is %{{ ... }}%, got `{text}`"))?;
    let mut found = Vec::new();
    for (i, line) in inner.split('\n').enumerate() {
        for part in line.split(';').map(str::trim).filter(|p| !p.is_empty()) {
            found.push(assertion(part, first_line + i)?);
        }
    }
    if found.is_empty() {
        return Err("code without an assertion proves nothing".to_string());
    }
    Ok(found)
}

fn assertion(text: &str, line: usize) -> Parsed<Assertion> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let ["assert", name, op, value] = words[..] else {
        return Err(format!("wanted `assert name == value`, got `{text}`"));
    };
    let op = choice(
        op,
        &[
            ("==", Op::Eq),
            ("!=", Op::Ne),
            ("<", Op::Lt),
            ("<=", Op::Le),
            (">", Op::Gt),
            (">=", Op::Ge),
        ],
    )?;
    let constant = CONSTANTS.iter().find(|c| c.0 == value).map(|c| c.1);
    let number = constant.or_else(|| value.parse().ok()).ok_or_else(|| {
        format!("wanted a number or one of {:?}, got `{value}`", CONSTANTS.map(|c| c.0))
    })?;
    if !crate::info::FIELDS.contains(&name) {
        return Err(format!("no field `{name}`; there are {:?}", crate::info::FIELDS));
    }
    Ok(Assertion { line, name: name.to_string(), op, value: number, text: value.to_string() })
}
