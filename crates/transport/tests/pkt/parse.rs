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
//!
//! Scripts of the kernel's packetdrill are told by their first line with a shell command or a socket call ([`kernel`]).

use crate::code;
use crate::kernel;
use crate::script::{Arm, At, Event, Flags, Options, Script, Segment, What, ECN_NAMES};
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

/// Parses a script.
pub fn parse(text: &str) -> Result<Script, ParseError> {
    let mut script = Script::default();
    let mut names = Vec::new();
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
        // Line breaks inside code and commands are kept: assertions report their own line.
        while let Some(end) = is_open(&statement) {
            let Some((_, next)) = lines.next() else {
                return Err(fail(format!(
                    "{} without {end}",
                    if end == "`}%`" { "`%{`" } else { end }
                )));
            };
            let next = if end == "`}%`" { without_comment(next) } else { next };
            statement = format!("{statement}\n{next}");
        }
        if kernel::is_kernel(&statement) && script.options.kernel.is_none() {
            kernel::begin(&mut script.options);
        }
        if let Some(event) =
            event(&statement, number, &mut script.options, &mut names).map_err(fail)?
        {
            script.events.push(event);
        }
    }
    kernel::finish(&mut script).map_err(|(line, message)| ParseError { line, message })?;
    Ok(script)
}

/// What a statement that goes on lacks.
fn is_open(statement: &str) -> Option<&'static str> {
    if statement.contains("%{") && !statement.contains("}%") {
        return Some("`}%`");
    }
    (statement.matches('`').count() % 2 == 1).then_some("a second back-tick")
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
        "initcwnd" => options.initial_window = number(value)? as u32,
        "write" => {
            let bytes = number(value)?;
            if bytes == 0 || bytes > 1 << 40 {
                return Err(format!("write takes 1 byte to 1 TiB, got `{value}`"));
            }
            options.write = Some(bytes);
        }
        "tolerance_usecs" => {
            kernel::begin(options);
            kernel::of(options).tolerance = number(value)? * 1000;
        }
        _ => return Err(format!("unknown setting `{key}`; there are arm, cca, hz, qdisc, tso, gro, ecn, delayed_ack, rcvbuf, rcvbuf_max, sndbuf, initcwnd, write")),
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

fn event(
    statement: &str,
    line: usize,
    options: &mut Options,
    names: &mut Vec<String>,
) -> Parsed<Option<Event>> {
    let (at, rest) = if statement.starts_with("%{") || statement.starts_with('`') {
        (At::After(0), statement)
    } else {
        times(statement)?
    };
    let what = match rest.chars().next() {
        Some('<') => What::Inject(segment(&rest[1..])?),
        Some('>') => What::Expect(segment(&rest[1..])?),
        Some('%') => {
            let code = code::parse(rest, line, names)?;
            let asserts = |s: &code::Statement| matches!(s.what, code::Do::Assert(_));
            if options.kernel.is_none() && !code.iter().any(asserts) {
                return Err("code without an assertion proves nothing".to_string());
            }
            What::Code(code)
        }
        Some('`') => {
            kernel::command(rest.trim_matches('`'), options)?;
            return Ok(None);
        }
        _ if rest == "connect" => What::Connect,
        _ if options.kernel.is_some() => match kernel::call(rest, options)? {
            Some(what) => what,
            None => return Ok(None),
        },
        _ => return Err(format!("wanted <, >, %{{ or connect, got `{rest}`")),
    };
    Ok(Some(Event { line, at, what }))
}

/// The time of a statement, and what follows it: `0.1`, `+.1`, `+.1~+.2`, `*`; of a call that blocks, `+.1...0.2`, its
/// beginning.
fn times(statement: &str) -> Parsed<(At, &str)> {
    let (first, rest) = statement
        .split_once(char::is_whitespace)
        .ok_or_else(|| format!("wanted a time and an event, got `{statement}`"))?;
    let rest = rest.trim_start();
    if first == "*" {
        return Ok((At::Any, rest));
    }
    if let Some((begin, _)) = first.split_once("...") {
        return Ok((time(begin)?, rest));
    }
    if let Some(end) = rest.strip_prefix("...") {
        let (_, rest) = end.trim_start().split_once(char::is_whitespace).ok_or("no event")?;
        return Ok((time(first)?, rest.trim_start()));
    }
    let at = match first.split_once('~') {
        None => time(first)?,
        Some((low, high)) => match (time(low)?, time(high)?) {
            (At::After(low), At::After(high)) => At::Within(low, high),
            (At::Absolute(low), At::Absolute(high)) => At::Between(low, high),
            _ => return Err(format!("both ends of `{first}` count from the same time")),
        },
    };
    Ok((at, rest))
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
    (out.flags, out.ace) = flags(words.next().ok_or("a packet begins with its flags")?)?;
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

/// Flags, and the ACE field where it is given as a digit.
fn flags(text: &str) -> Parsed<(Flags, Option<u8>)> {
    let (mut flags, mut ace) = (Flags::default(), None);
    for letter in text.chars() {
        let bit = match letter {
            'S' => &mut flags.syn,
            'P' => &mut flags.push,
            'E' => &mut flags.echo,
            'W' => &mut flags.cwr,
            'A' => &mut flags.accurate,
            'F' => &mut flags.fin,
            '.' => &mut flags.ack,
            '0'..='7' if ace.is_none() => {
                ace = letter.to_digit(8).map(|digit| digit as u8);
                continue;
            }
            _ => return Err(format!("wanted flags of S P E W A F . or ACE 0 to 7, got `{text}`")),
        };
        if std::mem::replace(bit, true) {
            return Err(format!("`{letter}` twice in `{text}`"));
        }
    }
    Ok((flags, ace))
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
        ["sack", ..] if (2..=5).contains(&words.len()) => {
            out.sacks = words[1..].iter().map(|b| block(b)).collect::<Parsed<_>>()?;
        }
        ["mss", mss] if out.flags.syn => out.mss = Some(number(mss)? as u32),
        ["wscale", scale] if out.flags.syn => out.scale = Some(number(scale)? as u32),
        ["sackOK"] if out.flags.syn => out.has_sack_ok = true,
        // Any options.
        ["..."] => {}
        _ => {
            return Err(format!(
                "wanted nop, TS val N ecr N or sack with 1 to 4 blocks, of a SYN also mss, sackOK and wscale, got `{text}`"
            ))
        }
    }
    Ok(())
}
