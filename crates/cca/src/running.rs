//! Which of a user's code a thread runs: for reports.

use std::cell::Cell;
use units::BOOT;

/// The user's code that this thread runs, or ran last.
pub(crate) struct Running {
    /// The controller; none while a module starts.
    pub(crate) name: Cell<&'static str>,
    pub(crate) what: Cell<&'static str>,
    /// The socket's clock when it began, ns; 0 without a socket.
    pub(crate) clock: Cell<u64>,
    pub(crate) is_inside: Cell<bool>,
    /// Calls so far.
    pub(crate) calls: Cell<u64>,
}

thread_local! {
    pub(crate) static RUNNING: Running = const {
        Running {
            name: Cell::new(""),
            what: Cell::new(""),
            clock: Cell::new(0),
            is_inside: Cell::new(false),
            calls: Cell::new(0),
        }
    };
}

impl Running {
    pub(crate) fn begin(&self, name: &'static str, what: &'static str, clock: u64) {
        self.name.set(name);
        self.what.set(what);
        self.clock.set(clock);
        self.calls.set(self.calls.get() + 1);
        self.is_inside.set(true);
    }
}

/// Seconds with microseconds.
pub(crate) fn seconds(ns: u64) -> String {
    format!("{}.{:06}", ns / 1_000_000_000, ns / 1_000 % 1_000_000)
}

/// Simulated time by a socket's clock, ns; none for one that has not started.
pub(crate) fn simulated(clock: u64) -> Option<u64> {
    clock.checked_sub(BOOT.as_ns())
}
