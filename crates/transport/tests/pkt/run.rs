//! Runs a script: everything that leaves must be expected, at its exact time.

use crate::host::{Host, Left, MSS};
use crate::script::{seconds, Assertion, At, Event, Flags, Script, Segment, What};
use std::fmt;
use units::Time;

/// Why a script failed, and on which line.
#[derive(Debug)]
pub struct Failure {
    pub line: usize,
    pub message: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.line, self.message)
    }
}

/// Runs a script to its last event.
pub fn run(script: &Script) -> Result<(), Failure> {
    let mut host = Host::new(&script.options);
    let mut now = 0;
    for event in &script.events {
        let at = match event.at {
            At::Absolute(at) => at,
            At::After(gap) => now + gap,
        };
        let fail = |message| Failure { line: event.line, message };
        if at < now {
            return Err(fail(format!("{} s is before the event above", seconds(at))));
        }
        now = at;
        host.run_until(Time::from_ns(now));
        match &event.what {
            What::Expect(segment) if !script.options.tso => {
                for piece in pieces(segment) {
                    let event = Event { what: What::Expect(piece), ..event.clone() };
                    step(&mut host, &event, Time::from_ns(now))?;
                }
            }
            _ => step(&mut host, event, Time::from_ns(now))?,
        }
    }
    let last = script.events.last().map_or(0, |e| e.line);
    nothing_left(&host, last)
}

/// Without bursts, a range of several segments means one packet each, all at the same instant.
fn pieces(segment: &Segment) -> Vec<Segment> {
    let mut pieces = Vec::new();
    let mut start = segment.start;
    loop {
        let end = (start + MSS).min(segment.end);
        let is_last = end == segment.end;
        let flags = Flags { push: segment.flags.push && is_last, ..segment.flags };
        pieces.push(Segment { flags, start, end, ..segment.clone() });
        if is_last {
            return pieces;
        }
        start = end;
    }
}

fn step(host: &mut Host, event: &Event, now: Time) -> Result<(), Failure> {
    let fail = |message| Failure { line: event.line, message };
    if let What::Expect(expected) = &event.what {
        let Some(left) = host.left.pop_front() else {
            let at = seconds(now.as_ns());
            return Err(fail(format!("expected at {at}: {expected}\n    nothing left")));
        };
        return compare(&left, expected, now).map_err(fail);
    }
    nothing_left(host, event.line)?;
    match &event.what {
        What::Connect => host.connect(now).map_err(fail),
        What::Inject(packet) => host.inject(now, packet).map_err(fail),
        What::Assert(assertions) => assertions.iter().try_for_each(|a| check(host, a, now)),
        What::Expect(_) => Ok(()),
    }
}

/// Whatever left was expected.
fn nothing_left(host: &Host, line: usize) -> Result<(), Failure> {
    match host.left.front() {
        None => Ok(()),
        Some(left) => {
            let (at, segment) = (seconds(left.at.as_ns()), &left.segment);
            let message = format!("unexpected before this, at {at}: {segment}");
            Err(Failure { line, message })
        }
    }
}

fn compare(left: &Left, expected: &Segment, now: Time) -> Result<(), String> {
    let came = &left.segment;
    let given = |is_same: bool, is_given: bool| is_same || !is_given;
    let same = left.at == now
        && (came.flags, came.start, came.end) == (expected.flags, expected.start, expected.end)
        && came.sacks == expected.sacks
        && given(came.ack == expected.ack, expected.ack.is_some())
        && given(came.win == expected.win, expected.win.is_some())
        && given(came.ts == expected.ts, expected.ts.is_some())
        && given(came.ecn == expected.ecn, expected.ecn.is_some());
    if same {
        return Ok(());
    }
    let (at, came_at) = (seconds(now.as_ns()), seconds(left.at.as_ns()));
    Err(format!("expected at {at}: {expected}\n    came at {came_at}: {came}"))
}

fn check(host: &Host, assertion: &Assertion, now: Time) -> Result<(), Failure> {
    let Assertion { line, name, op, value, text } = assertion;
    let fail = |message| Failure { line: *line, message };
    let Some(is) = host.info(name) else {
        return Err(fail(format!("this end has no {name}")));
    };
    if op.holds(is, *value) {
        return Ok(());
    }
    let at = seconds(now.as_ns());
    Err(fail(format!("expected at {at}: {name} {op} {text}\n    it is {is}")))
}
