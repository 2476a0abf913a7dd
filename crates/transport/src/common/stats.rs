//! What a sender counts, and the changes that the event table records.

use cca::CaState;

/// Counters since the start. QUIC counts packets instead of segments, persistent congestions as `rtos` and
/// probes as `tlps`.
#[derive(Clone, Copy, Debug, Default)]
pub struct SenderStats {
    /// Data segments sent, retransmissions included.
    pub segs_sent: u64,
    /// Retransmissions among `segs_sent`.
    pub retrans_segs: u64,
    /// Payload bytes sent, retransmissions included.
    pub bytes_sent: u64,
    /// Segments delivered (cumulatively or selectively acknowledged).
    pub delivered: u64,
    /// Segments marked lost; one that is lost again counts again.
    pub lost: u64,
    /// Episodes of fast recovery.
    pub recoveries: u32,
    /// Retransmission timeouts.
    pub rtos: u32,
    /// Tail loss probes sent.
    pub tlps: u32,
    /// Reductions undone.
    pub undos: u32,
    /// Acknowledgements received.
    pub acks_received: u64,
}

/// A change that the event table records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderEvent {
    /// The handshake completed.
    Established,
    /// The state of loss recovery changed.
    CaState(CaState),
    /// Segments were marked lost.
    Lost(u32),
    /// The retransmission timer expired.
    Rto,
    /// A tail loss probe was sent.
    Tlp,
    /// A reduction was undone.
    Undo,
    /// A packet of QUIC was acknowledged for the first time; recorded on request only.
    PacketAcked(u32),
    /// A packet of QUIC was marked lost; recorded on request only.
    PacketLost(u32, LossTrigger),
}

/// Why a packet was marked lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossTrigger {
    /// A packet that was sent later, by at least the packet threshold, was acknowledged.
    Reordering,
    /// It was too old when a later one was acknowledged.
    Time,
    /// The retransmission timer expired.
    Timeout,
}
