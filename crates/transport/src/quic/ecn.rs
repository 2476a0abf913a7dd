//! ECN at the sender (RFC 9000 section 13.4).

/// Whether ECN is in use, and what the receiver has reported.
#[derive(Clone, Copy, Debug, Default)]
pub struct EcnCounts {
    /// Packets leave with ECT(0).
    pub is_on: bool,
    /// What the last frame reported: ECT(0), ECT(1), CE.
    pub reported: [u32; 3],
}

impl EcnCounts {
    /// Counts of a new connection.
    pub fn new(is_on: bool) -> EcnCounts {
        EcnCounts { is_on, reported: [0; 3] }
    }
}
