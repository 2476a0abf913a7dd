//! What applications do with a connection: write without end, a fixed amount, in bursts, at a rate, or
//! in answer to requests. State machines without a clock, like the transports that they feed.
//!
//! ```text
//! OnOff            OFF --(off)--> ON --(on)--> OFF ...
//! Paced            a message each message/rate
//! RequestResponse  THINK --(think)--> ASK --(request arrives)--> ANSWER --(response delivered)--> THINK
//! ```
//!
//! Any of them may open with a greeting ([`App::with_greeting`]): a few bytes that the other side must have
//! and answer before the rest begins.
//!
//! The driver calls [`App::start`] when the connection opens, [`App::on_wakeup`] at
//! [`App::next_write`] (repeatedly, while that is not in the future), hands what it returns to the
//! sender, and tells what arrived by [`App::on_delivered`]. Of a request it asks [`App::next_request`],
//! calls [`App::on_request_sent`] then, and [`App::on_request`] when it has crossed the path.

mod length;
#[cfg(test)]
mod tests;
mod workload;

pub use length::Length;
pub use workload::{Burst, Workload};

use net::rng::Rng;
use units::{Bytes, Rate, Span, Time};

/// What an application tells its transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// This many bytes (at least 1), the last of which ends a message.
    Bytes(u64),
    /// From now on there is always more, and the send buffer holds as much as it can.
    Endless,
    /// From now on there is always more, of which little is written ahead.
    Greedy,
    /// That ends; what is not sent was never written.
    Pause,
    /// Nothing more will come.
    Close,
}

/// One message, and when it was complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// When it was asked for; without a request, when it was written.
    pub asked: Time,
    /// When it was written.
    pub written: Time,
    /// Its payload, bytes.
    pub bytes: u64,
    /// Bytes of the stream before its end.
    end: u64,
    /// When all of it had arrived in order; [`Time::NEVER`] before that.
    pub completed: Time,
}

impl Message {
    /// Flow completion time: from the request, or the write, to the last byte.
    pub fn completion_time(&self) -> Option<Span> {
        self.completed.is_set().then(|| self.completed.since(self.asked))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Not started.
    New,
    /// The greeting is to be written.
    Greet {
        at: Time,
    },
    /// The greeting is under way.
    Greeted,
    Off {
        until: Time,
    },
    /// On since `since`; `written` messages so far.
    On {
        since: Time,
        until: Time,
        written: u64,
    },
    /// Messages at a rate without end.
    Steady {
        since: Time,
        written: u64,
    },
    Think {
        until: Time,
    },
    /// The request is under way.
    Ask {
        since: Time,
    },
    Answer {
        asked: Time,
        at: Time,
    },
    /// The answer is under way.
    Wait,
    /// Everything is written.
    Closing {
        at: Time,
    },
    /// Nothing more happens by itself.
    Done,
}

/// See the module documentation.
#[derive(Debug)]
pub struct App {
    workload: Workload,
    rng: Rng,
    /// Bytes of the greeting, and how long the answer takes.
    greeting: (u64, Span),
    state: State,
    written: u64,
    delivered: u64,
    messages: Vec<Message>,
    /// It remembers what it wrote.
    keeps_messages: bool,
    /// Messages that are complete.
    complete: usize,
}

impl App {
    /// An application that has not started; `rng` draws its times.
    ///
    /// # Panics
    /// When a size or a rate is 0, or on and off times are both 0.
    pub fn new(workload: Workload, rng: Rng) -> App {
        workload.check();
        App {
            workload,
            rng,
            greeting: (0, Span::ZERO),
            state: State::New,
            written: 0,
            delivered: 0,
            messages: Vec::new(),
            keeps_messages: true,
            complete: 0,
        }
    }

    /// It writes `bytes` first, which are no message, and begins when `back` has passed since they arrived.
    #[must_use]
    pub fn with_greeting(self, bytes: u64, answer: Span) -> App {
        App { greeting: (bytes, answer), ..self }
    }

    /// It forgets what it wrote: what arrives is no stream, and completes no message.
    #[must_use]
    pub fn without_messages(self) -> App {
        App { keeps_messages: false, ..self }
    }

    /// The connection opens.
    pub fn start(&mut self, now: Time) {
        assert_eq!(self.state, State::New, "started twice");
        if self.greeting.0 > 0 {
            self.state = State::Greet { at: now };
        } else {
            self.begin(now);
        }
    }

    fn begin(&mut self, now: Time) {
        self.state = match self.workload {
            Workload::Greedy | Workload::Sized { .. } => State::Answer { asked: now, at: now },
            Workload::OnOff { .. } => State::Off { until: now },
            Workload::Paced { .. } => State::Steady { since: now, written: 0 },
            Workload::RequestResponse { .. } => State::Think { until: now },
        };
    }

    /// When it writes next by itself.
    pub fn next_write(&self) -> Option<Time> {
        match self.state {
            State::Off { until } => Some(until),
            State::On { since, until, written } => match self.burst() {
                Burst::Greedy => Some(until),
                Burst::Paced { rate, message } => {
                    Some(message_time(since, rate, message, written).min(until))
                }
            },
            State::Steady { since, written } => match self.workload {
                Workload::Paced { rate, message } => {
                    Some(message_time(since, rate, message, written))
                }
                _ => None,
            },
            State::Greet { at } | State::Answer { at, .. } | State::Closing { at } => Some(at),
            State::New
            | State::Greeted
            | State::Think { .. }
            | State::Ask { .. }
            | State::Wait
            | State::Done => None,
        }
    }

    /// It is [`App::next_write`]: what it tells the transport, if anything.
    pub fn on_wakeup(&mut self, now: Time) -> Option<Write> {
        assert!(self.next_write().is_none_or(|at| at <= now), "woken early: {self:?} at {now:?}");
        match self.state {
            State::Greet { .. } => {
                self.state = State::Greeted;
                self.written = self.greeting.0;
                Some(Write::Bytes(self.greeting.0))
            }
            State::Off { .. } => {
                let until = now + self.on_time();
                self.state = State::On { since: now, until, written: 0 };
                (self.burst() == Burst::Greedy).then_some(Write::Greedy)
            }
            State::On { since, until, written } => self.go_on(now, since, until, written),
            State::Steady { since, written } => {
                self.state = State::Steady { since, written: written + 1 };
                let Workload::Paced { message, .. } = self.workload else { return None };
                Some(self.write(now, now, message))
            }
            State::Answer { asked, .. } => Some(self.answer(now, asked)),
            State::Closing { .. } => {
                self.state = State::Done;
                Some(Write::Close)
            }
            State::New
            | State::Greeted
            | State::Think { .. }
            | State::Ask { .. }
            | State::Wait
            | State::Done => None,
        }
    }

    /// When the other side sends a request.
    pub fn next_request(&self) -> Option<Time> {
        match self.state {
            State::Think { until } => Some(until),
            _ => None,
        }
    }

    /// The request leaves the other side.
    pub fn on_request_sent(&mut self, now: Time) {
        assert!(matches!(self.state, State::Think { .. }), "no request is due: {:?}", self.state);
        self.state = State::Ask { since: now };
    }

    /// The request arrives.
    pub fn on_request(&mut self, now: Time) {
        let State::Ask { since } = self.state else {
            panic!("no request is under way: {:?}", self.state)
        };
        self.state = State::Answer { asked: since, at: now };
    }

    /// The other side has the first `bytes` bytes of the stream, in order.
    pub fn on_delivered(&mut self, now: Time, bytes: u64) {
        assert!(bytes >= self.delivered, "{bytes} B delivered after {} B", self.delivered);
        self.delivered = bytes;
        let (greeting, answer) = self.greeting;
        if self.state == State::Greeted && bytes >= greeting {
            self.begin(now + answer);
        }
        while let Some(message) = self.messages.get_mut(self.complete) {
            if message.end > bytes {
                return;
            }
            message.completed = now;
            self.complete += 1;
            if self.state == State::Wait {
                self.state = State::Think { until: now + self.think_time() };
            }
        }
    }

    /// Every message so far, in the order of writing.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Whether it has closed.
    pub fn is_closed(&self) -> bool {
        self.state == State::Done && !matches!(self.workload, Workload::Greedy)
    }

    fn burst(&self) -> Burst {
        match self.workload {
            Workload::OnOff { burst, .. } => burst,
            _ => Burst::Greedy,
        }
    }

    /// During an on time: the next message, or its end.
    fn go_on(&mut self, now: Time, since: Time, until: Time, written: u64) -> Option<Write> {
        if now >= until {
            self.state = State::Off { until: now + self.off_time() };
            return (self.burst() == Burst::Greedy).then_some(Write::Pause);
        }
        self.state = State::On { since, until, written: written + 1 };
        match self.burst() {
            Burst::Greedy => None,
            Burst::Paced { message, .. } => Some(self.write(now, now, message)),
        }
    }

    fn answer(&mut self, now: Time, asked: Time) -> Write {
        match self.workload {
            Workload::Sized { bytes } => {
                self.state = State::Closing { at: now };
                self.write(now, asked, bytes)
            }
            Workload::RequestResponse { response, count, .. } => {
                let is_last = self.messages.len() + 1 == count as usize;
                self.state = if is_last { State::Closing { at: now } } else { State::Wait };
                self.write(now, asked, response)
            }
            Workload::Greedy | Workload::OnOff { .. } | Workload::Paced { .. } => {
                self.state = State::Done;
                Write::Endless
            }
        }
    }

    fn write(&mut self, now: Time, asked: Time, bytes: u64) -> Write {
        self.written += bytes;
        let end = self.written;
        if self.keeps_messages {
            self.messages.push(Message { asked, written: now, bytes, end, completed: Time::NEVER });
        }
        Write::Bytes(bytes)
    }

    fn on_time(&mut self) -> Span {
        match self.workload {
            Workload::OnOff { on, .. } => on.draw(&mut self.rng),
            _ => Span::ZERO,
        }
    }

    fn off_time(&mut self) -> Span {
        match self.workload {
            Workload::OnOff { off, .. } => off.draw(&mut self.rng),
            _ => Span::ZERO,
        }
    }

    fn think_time(&mut self) -> Span {
        match self.workload {
            Workload::RequestResponse { think, .. } => think.draw(&mut self.rng),
            _ => Span::ZERO,
        }
    }
}

/// When message `k` (from 0) of a source at a constant rate is written: no error accumulates.
fn message_time(since: Time, rate: Rate, message: u64, k: u64) -> Time {
    since + rate.serialization_time(Bytes::new(message.saturating_mul(k)))
}
