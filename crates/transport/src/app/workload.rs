//! The kinds of application, and their parameters.

use super::length::Length;
use units::{Rate, Span};

/// What an on-off source does while it is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Burst {
    /// It writes as much as the transport takes.
    Greedy,
    /// It writes messages of this size at this rate, the first at once.
    Paced { rate: Rate, message: u64 },
}

/// The kinds of application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// It writes as much as the transport takes, always.
    Greedy,
    /// It writes this many bytes at the start and closes.
    Sized { bytes: u64 },
    /// It starts with an on time.
    OnOff { on: Length, off: Length, burst: Burst },
    /// It writes messages of this size at this rate of payload, the first at once.
    Paced { rate: Rate, message: u64 },
    /// It answers requests, each of which the other side sends a think time after it has the whole
    /// answer to the one before; the first when the connection opens. After `count` answers it closes;
    /// 0: never.
    RequestResponse { response: u64, think: Length, count: u32 },
}

impl Workload {
    /// Fails when a size or a rate is 0, or on and off times are both 0.
    pub(super) fn check(self) {
        match self {
            Workload::Greedy => {}
            Workload::Sized { bytes } => assert!(bytes > 0, "a transfer has at least one byte"),
            Workload::OnOff { on, off, burst } => {
                assert!(on.mean() + off.mean() > Span::ZERO, "on and off both last 0");
                if let Burst::Paced { rate, message } = burst {
                    assert!(rate.as_bps() > 0 && message > 0, "nothing to write: {burst:?}");
                }
            }
            Workload::Paced { rate, message } => {
                assert!(rate.as_bps() > 0 && message > 0, "nothing to write: {self:?}");
            }
            Workload::RequestResponse { response, .. } => {
                assert!(response > 0, "a response has at least one byte");
            }
        }
    }
}
