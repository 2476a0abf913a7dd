//! An application, and the delay of its requests to the side that writes.

use net::rng::Rng;
use transport::app::{App, Message, Workload, Write};
use units::{Span, Time};

/// See the module documentation.
pub struct Application {
    app: App,
    is_started: bool,
    /// One-way delay of a request.
    back: Span,
    /// When the request that was sent last arrives.
    request: Option<Time>,
}

impl Application {
    pub fn new(workload: Workload, greeting: u64, back: Span, rng: Rng) -> Application {
        let app = App::new(workload, rng).with_greeting(greeting, back);
        Application { app, is_started: false, back, request: None }
    }

    /// The connection is open.
    pub fn on_established(&mut self, now: Time) {
        if !self.is_started {
            self.is_started = true;
            self.app.start(now);
        }
    }

    /// When something is to be done.
    pub fn next_wakeup(&self) -> Option<Time> {
        let (write, ask) = (self.app.next_write(), self.app.next_request());
        [write, ask, self.request].into_iter().flatten().min()
    }

    /// Does one thing that is due; returns what the application writes then.
    pub fn on_wakeup(&mut self, now: Time) -> Option<Write> {
        if self.request.is_some_and(|at| at <= now) {
            self.request = None;
            self.app.on_request(now);
            return None;
        }
        if self.app.next_request().is_some_and(|at| at <= now) {
            self.app.on_request_sent(now);
            self.request = Some(now + self.back);
            return None;
        }
        self.app.next_write().filter(|&at| at <= now)?;
        self.app.on_wakeup(now)
    }

    /// `bytes` have arrived in order since the start.
    pub fn on_delivered(&mut self, now: Time, bytes: u64) {
        self.app.on_delivered(now, bytes);
    }

    /// What was written so far.
    pub fn messages(&self) -> &[Message] {
        self.app.messages()
    }
}
