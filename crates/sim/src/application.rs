//! An application, and the requests that the other side sends it: with TCP as data of that side, else after the delay of
//! the way.

use net::rng::Rng;
use transport::app::{App, Message, Workload, Write};
use units::{Span, Time};

/// See the module documentation.
pub struct Application {
    app: App,
    is_started: bool,
    /// The side that asks has its connection.
    is_open: bool,
    /// One-way delay of a request that is not sent as data.
    back: Span,
    request: Request,
}

/// The request that has not reached the side that answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Request {
    None,
    /// It arrives then.
    Arrives(Time),
    /// Data carry it; it is sent again then.
    Again(Time),
}

/// What an application does.
pub enum Action {
    /// It tells its transport this.
    Write(Write),
    /// The other side sends a request, or sends it again; [`Application::on_asked`] is to be called.
    Ask,
    /// Something inside it.
    Nothing,
}

impl Application {
    pub fn new(workload: Workload, greeting: u64, back: Span, rng: Rng) -> Application {
        let app = App::new(workload, rng).with_greeting(greeting, back);
        Application { app, is_started: false, is_open: false, back, request: Request::None }
    }

    /// It keeps no list of what it writes.
    #[must_use]
    pub fn without_messages(self) -> Application {
        Application { app: self.app.without_messages(), ..self }
    }

    /// The connection is open where the application writes, and at the other side if `is_open`.
    pub fn on_established(&mut self, now: Time, is_open: bool) {
        self.is_open |= is_open;
        if !self.is_started {
            self.is_started = true;
            self.app.start(now);
        }
    }

    /// When something is to be done.
    pub fn next_wakeup(&self) -> Option<Time> {
        let ask = self.app.next_request().filter(|_| self.is_open);
        let request = match self.request {
            Request::None => None,
            Request::Arrives(at) | Request::Again(at) => Some(at),
        };
        [self.app.next_write(), ask, request].into_iter().flatten().min()
    }

    /// Does one thing that is due.
    pub fn on_wakeup(&mut self, now: Time) -> Action {
        match self.request {
            Request::Arrives(at) if at <= now => {
                self.answer(now);
                return Action::Nothing;
            }
            Request::Again(at) if at <= now => return Action::Ask,
            _ => {}
        }
        if self.is_open && self.app.next_request().is_some_and(|at| at <= now) {
            self.app.on_request_sent(now);
            return Action::Ask;
        }
        let is_due = self.app.next_write().is_some_and(|at| at <= now);
        let write = if is_due { self.app.on_wakeup(now) } else { None };
        write.map_or(Action::Nothing, Action::Write)
    }

    /// The other side has asked: data carry the request, and are sent again at `again`, or it takes the delay of the way.
    pub fn on_asked(&mut self, now: Time, again: Option<Time>) {
        self.request = again.map_or(Request::Arrives(now + self.back), Request::Again);
    }

    /// Whether a request is under way as data.
    pub fn awaits_request(&self) -> bool {
        matches!(self.request, Request::Again(_))
    }

    /// The request has arrived.
    pub fn answer(&mut self, now: Time) {
        self.request = Request::None;
        self.app.on_request(now);
    }

    /// The other side, which has its connection if `is_open`, has got `bytes` in order since the start.
    pub fn on_delivered(&mut self, now: Time, bytes: u64, is_open: bool) {
        self.is_open |= is_open;
        self.app.on_delivered(now, bytes);
    }

    /// What was written so far.
    pub fn messages(&self) -> &[Message] {
        self.app.messages()
    }
}
