//! A controller that asks: Orca's monitor, whose readings the caller of the simulator answers (`cca/hosts/sim/agent.c`).

use std::borrow::Cow;

use crate::controller::Controller;
use crate::module::{Module, RawModule};
use crate::sock::TcpSock;

/// Numbers of a reading that go to a network: seven signals, ten readings, oldest first.
pub const STATE: usize = 70;

/// What a monitor has seen in one period (`struct cca_reading`).
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// When it was taken, us of the socket's clock.
    pub at_us: u64,
    /// Length of the period, us.
    pub dt_us: u64,
    /// Mean of the delivery-rate samples, bytes/s.
    pub thr: u64,
    /// Largest of these so far, bytes/s.
    pub thr_max: u64,
    /// Pacing rate, bytes/s.
    pub pacing: u64,
    /// Marked lost, bytes.
    pub lost: u64,
    /// ACKs with an RTT sample.
    pub acks: u32,
    /// Window, segments.
    pub cwnd: u32,
    /// Smoothed RTT, us.
    pub srtt_us: u32,
    /// Smallest RTT of the connection, us; `u32::MAX`: none.
    pub min_rtt_us: u32,
    /// The signals (`cca/orca/controller.h`), 1/65536.
    pub state: [i32; STATE],
}

impl Default for Reading {
    fn default() -> Self {
        Self {
            at_us: 0,
            dt_us: 0,
            thr: 0,
            thr_max: 0,
            pacing: 0,
            lost: 0,
            acks: 0,
            cwnd: 0,
            srtt_us: 0,
            min_rtt_us: 0,
            state: [0; STATE],
        }
    }
}

extern "C" {
    static cca_module_agent: RawModule;
    fn cca_agent_asks(sk: *const TcpSock) -> bool;
    fn cca_agent_read(sk: *const TcpSock, reading: *mut Reading);
    fn cca_agent_answer(sk: *mut TcpSock, percent: u32);
}

impl Module {
    /// The controller that asks; no name finds it.
    #[must_use]
    pub fn agent() -> &'static Module {
        static AGENT: Module = Module {
            // SAFETY: an immutable object of the C library; only its address is taken.
            raw: unsafe { &cca_module_agent },
            doc: Cow::Borrowed(
                "Orca's monitor, whose readings the caller of the simulator answers",
            ),
            _library: None,
        };
        &AGENT
    }
}

/// A flow whose controller asks.
#[derive(Debug)]
pub struct Agent<'a>(&'a mut TcpSock);

impl Controller {
    /// The flow as one that asks; `None` with any other controller.
    #[inline]
    pub fn agent<'a>(&self, sk: &'a mut TcpSock) -> Option<Agent<'a>> {
        if !std::ptr::eq(self.module(), Module::agent()) {
            return None;
        }
        self.enter(sk);
        Some(Agent(sk))
    }
}

impl Agent<'_> {
    /// Is there a reading without an answer?
    #[must_use]
    #[inline]
    pub fn asks(&self) -> bool {
        // SAFETY: the socket's storage is this controller's state (`Controller::agent`).
        unsafe { cca_agent_asks(self.0) }
    }

    /// The last reading.
    #[must_use]
    pub fn reading(&self) -> Reading {
        let mut reading = Reading::default();
        // SAFETY: as above; C fills in a struct of its layout.
        unsafe { cca_agent_read(self.0, &mut reading) };
        reading
    }

    /// The window will be so much of what it was at the last reading, percent.
    pub fn answer(&mut self, percent: u32) {
        // SAFETY: as above; the socket is exclusive.
        unsafe { cca_agent_answer(self.0, percent) }
    }
}
