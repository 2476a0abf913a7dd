//! Runs a script. Of our own everything that leaves must be expected, at its exact time. The kernel's allow 4 ms or an
//! eighth of the time since the event before, and look at what left when they come to expect it; several sends may then
//! be one expected packet (run.c and run_packet.c of packetdrill).

use crate::code::{Do, Statement, Variables};
use crate::host::{Host, Left, MSS};
use crate::script::{seconds, At, Event, Flags, Kernel, Script, Segment, What};
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

/// How far a script was run that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// To its end.
    AtEnd,
    /// To the `close()` or FIN on this line.
    AtClose(usize),
}

/// Runs a script to its last event.
pub fn run(script: &Script) -> Result<Ended, Failure> {
    let mut run =
        Run { script, host: Host::new(&script.options), now: 0, variables: Variables::new() };
    for event in &script.events {
        let is_fin = |s: &Segment| s.flags.fin;
        let closes = match &event.what {
            What::Close => true,
            What::Inject(segment) | What::Expect(segment) => is_fin(segment),
            What::Connect | What::Code(_) | What::Write(_) => false,
        };
        if closes {
            return Ok(Ended::AtClose(event.line));
        }
        match &script.options.kernel {
            Some(kernel) => run.kernel_event(event, kernel)?,
            None => run.own_event(event)?,
        }
    }
    if script.options.kernel.is_none() {
        run.nothing_left(script.events.last().map_or(0, |e| e.line))?;
    }
    Ok(Ended::AtEnd)
}

/// A script under way.
struct Run<'a> {
    script: &'a Script,
    host: Host,
    /// ns since the start.
    now: u64,
    variables: Variables,
}

/// When an event is to happen, from and to; both are the same unless it is a range.
fn due(at: At, now: u64) -> (u64, u64) {
    match at {
        At::Absolute(at) => (at, at),
        At::After(gap) => (now + gap, now + gap),
        At::Between(from, to) => (from, to),
        At::Within(from, to) => (now + from, now + to),
        At::Any => (now, u64::MAX / 2),
    }
}

impl Run<'_> {
    fn own_event(&mut self, event: &Event) -> Result<(), Failure> {
        let (at, _) = due(event.at, self.now);
        if at < self.now {
            let message = format!("{} s is before the event above", seconds(at));
            return Err(Failure { line: event.line, message });
        }
        self.now = at;
        self.host.run_until(Time::from_ns(at));
        let What::Expect(segment) = &event.what else {
            self.nothing_left(event.line)?;
            return self.happen(event);
        };
        let tso = self.script.options.tso;
        let expected = if tso { vec![segment.clone()] } else { pieces(segment) };
        for segment in expected {
            let left = self.host.left.pop_front();
            self.compare(event.line, left, &segment, |left, at| left == at)?;
        }
        Ok(())
    }

    fn kernel_event(&mut self, event: &Event, kernel: &Kernel) -> Result<(), Failure> {
        let (from, to) = due(event.at, self.now);
        let What::Expect(segment) = &event.what else {
            self.now = self.now.max(from);
            self.host.run_until(Time::from_ns(self.now));
            return self.happen(event);
        };
        let slack = kernel.tolerance.max((from - self.now.min(from)) / 8);
        let left = self.join(segment.end - segment.start, to.saturating_add(slack));
        let left_at = left.as_ref().map_or(self.now, |left| left.at.as_ns());
        self.now = self.now.max(left_at);
        let now = std::mem::replace(&mut self.now, from);
        self.compare(event.line, left, segment, |left, _| {
            left + slack >= from && left <= to + slack
        })?;
        self.now = now;
        Ok(())
    }

    /// What leaves next, by `until` at the latest: as many adjacent packets as `bytes` have.
    fn join(&mut self, bytes: u64, until: u64) -> Option<Left> {
        let mut joined: Option<Left> = None;
        loop {
            while self.host.left.is_empty() {
                if !self.host.run_next(Time::from_ns(until)) {
                    return joined;
                }
            }
            let next = self.host.left.front().expect("it was waited for");
            let joined = match &mut joined {
                None => joined.insert(self.host.left.pop_front().expect("a packet")),
                Some(joined) if joined.segment.end == next.segment.start => {
                    let next = self.host.left.pop_front().expect("a packet");
                    joined.segment.end = next.segment.end;
                    joined.segment.flags.push = next.segment.flags.push;
                    joined
                }
                Some(_) => return joined,
            };
            if joined.segment.end - joined.segment.start >= bytes {
                return Some(Left { at: joined.at, segment: joined.segment.clone() });
            }
        }
    }

    /// What the script does.
    fn happen(&mut self, event: &Event) -> Result<(), Failure> {
        let (host, now) = (&mut self.host, Time::from_ns(self.now));
        let done = match &event.what {
            What::Connect => host.connect(now),
            What::Inject(packet) => host.inject(now, packet),
            What::Write(bytes) => host.write(now, *bytes),
            What::Code(statements) => return statements.iter().try_for_each(|s| self.execute(s)),
            What::Expect(_) | What::Close => Ok(()),
        };
        done.map_err(|message| Failure { line: event.line, message })
    }

    fn execute(&mut self, statement: &Statement) -> Result<(), Failure> {
        let fail = |message| Failure { line: statement.line, message };
        let field = |name: &str| self.host.info(name);
        match &statement.what {
            Do::Set(name, expr) => {
                let value = expr.value(&self.variables, &field).map_err(fail)?;
                self.variables.insert(name.clone(), value);
            }
            Do::Assert(expr) => {
                if expr.value(&self.variables, &field).map_err(fail)? == 0 {
                    let is = expr.shown().value(&self.variables, &field).map_err(fail)?;
                    let at = seconds(self.now);
                    return Err(fail(format!(
                        "expected at {at}: {}\n    it is {is}",
                        statement.text
                    )));
                }
            }
        }
        Ok(())
    }

    /// Whatever left was expected.
    fn nothing_left(&self, line: usize) -> Result<(), Failure> {
        match self.host.left.front() {
            None => Ok(()),
            Some(left) => {
                let (at, segment) = (seconds(left.at.as_ns()), &left.segment);
                let message = format!("unexpected before this, at {at}: {segment}");
                Err(Failure { line, message })
            }
        }
    }

    fn compare(
        &self,
        line: usize,
        left: Option<Left>,
        expected: &Segment,
        is_in_time: impl Fn(u64, u64) -> bool,
    ) -> Result<(), Failure> {
        let at = seconds(self.now);
        let Some(Left { at: left_at, segment: came }) = left else {
            let message = format!("expected at {at}: {expected}\n    nothing left");
            return Err(Failure { line, message });
        };
        let is_same = match self.script.options.kernel {
            Some(_) => is_same_to_kernel(&came, expected),
            None => is_same(&came, expected),
        };
        if is_same && is_in_time(left_at.as_ns(), self.now) {
            return Ok(());
        }
        let came_at = seconds(left_at.as_ns());
        let message = format!("expected at {at}: {expected}\n    came at {came_at}: {came}");
        Err(Failure { line, message })
    }
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

/// Whether what a script gives is the same.
fn given<T: PartialEq>(came: &Option<T>, expected: &Option<T>) -> bool {
    expected.is_none() || came == expected
}

fn is_same(came: &Segment, expected: &Segment) -> bool {
    (came.flags, came.start, came.end) == (expected.flags, expected.start, expected.end)
        && came.sacks == expected.sacks
        && given(&came.ack, &expected.ack)
        && given(&came.win, &expected.win)
        && given(&came.ts, &expected.ts)
        && given(&came.ecn, &expected.ecn)
}

/// The same without what the model's packets of a connection without timestamps do not tell: their window and their
/// options, and of a SYN the flags by which ECN is agreed on.
fn is_same_to_kernel(came: &Segment, expected: &Segment) -> bool {
    let flags = match expected.flags.syn {
        true => Flags { syn: true, ack: expected.flags.ack, ..Flags::default() },
        false => expected.flags,
    };
    (came.flags, came.start, came.end) == (flags, expected.start, expected.end)
        && came.sacks == expected.sacks
        && given(&came.ack, &expected.ack)
        && given(&came.ecn, &expected.ecn)
}
