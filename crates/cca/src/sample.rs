//! What hooks are told and what they report: samples, states, events, estimates (mirrors of the C structs
//! of `cca/include/kernel.h` and `cca.h`).

/// Bit of `cong_control`'s `flag`: this ACK carried ECE.
pub const FLAG_ECE: i32 = 0x40;
/// Bits of `in_ack_event`'s flags (`enum tcp_ca_ack_event_flags`).
pub const CA_ACK_SLOWPATH: u32 = 1 << 0;
/// The ACK updated the send window.
pub const CA_ACK_WIN_UPDATE: u32 = 1 << 1;
/// The ACK carried ECE.
pub const CA_ACK_ECE: u32 = 1 << 2;

/// Delivery-rate sample of one ACK (`struct rate_sample`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateSample {
    /// Start of the interval, us.
    pub prior_mstamp: u64,
    /// `delivered` at that time, segs.
    pub prior_delivered: u32,
    /// `delivered_ce` at that time, segs.
    pub prior_delivered_ce: u32,
    /// Delivered over the interval, segs; < 0: invalid.
    pub delivered: i32,
    /// Of these: CE-marked, segs.
    pub delivered_ce: i32,
    /// Length of the interval, us; <= 0: invalid.
    pub interval_us: i64,
    /// Time in which they were sent, us.
    pub snd_interval_us: u32,
    /// Time in which they were acknowledged, us.
    pub rcv_interval_us: u32,
    /// RTT of the last newly (S)ACKed segment, us; -1: none.
    pub rtt_us: i64,
    /// Newly marked lost by this ACK, segs.
    pub losses: i32,
    /// Newly (S)ACKed by this ACK, segs.
    pub acked_sacked: u32,
    /// In flight before this ACK, segs.
    pub prior_in_flight: u32,
    /// End of the sampled segment, seq.
    pub last_end_seq: u32,
    /// The sampled segment was sent with a bubble in the pipe.
    pub is_app_limited: bool,
    /// The sampled segment was a retransmission.
    pub is_retrans: bool,
    /// This was probably a delayed ACK.
    pub is_ack_delayed: bool,
    /// Beyond Linux: this ACK carried ECE.
    pub is_ece: bool,
    /// Beyond Linux: this ACK ends where a retransmitted tail loss probe ends, and cannot tell whether
    /// it was the probe or the original that arrived.
    pub is_acking_tlp_retrans_seq: bool,
    /// Beyond Linux: in flight when the sampled segment was sent, itself included, segs.
    pub tx_in_flight: u32,
    /// Beyond Linux: marked lost since the sampled segment was sent, segs.
    pub lost: u32,
}

/// Argument of `pkts_acked` (`struct ack_sample`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckSample {
    /// Cumulatively acknowledged by this ACK, segs.
    pub pkts_acked: u32,
    /// RTT of the last newly (S)ACKed segment, us; < 0: none.
    pub rtt_us: i32,
    /// Delivered between the sample's sending and now, bytes.
    pub in_flight: u32,
}

/// A burst that was just marked lost (`struct lost_burst`), and what it was sent with.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostBurst {
    /// Segments in it, all marked at once; `lost` counts them already.
    pub segs: u32,
    /// In flight when it was sent, itself included, segs.
    pub tx_in_flight: u32,
    /// `lost` then, segs.
    pub lost_at_send: u32,
    /// `delivered` then, segs.
    pub delivered_at_send: u32,
    /// It was sent with a bubble in the pipe.
    pub is_app_limited: bool,
}

/// States of loss recovery (`enum tcp_ca_state`).
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CaState {
    /// Nothing is wrong.
    Open = 0,
    /// Something was `SACKed` or duplicated.
    Disorder = 1,
    /// Reducing because of ECN or a local event.
    Cwr = 2,
    /// Fast retransmission.
    Recovery = 3,
    /// Retransmission timeout.
    Loss = 4,
}

/// Events of `cwnd_event` (`enum tcp_ca_event`).
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaEvent {
    /// Data is sent and nothing was in flight; call it before `lsndtime` is set.
    TxStart = 0,
    /// The window restarts after idle.
    CwndRestart = 1,
    /// CWR or Recovery ended (not with `cong_control`).
    CompleteCwr = 2,
    /// Retransmission timeout.
    Loss = 3,
    /// Receiver: ECT packet without CE.
    EcnNoCe = 4,
    /// Receiver: CE packet.
    EcnIsCe = 5,
    /// Beyond Linux: a tail loss probe has repaired a loss.
    TlpRecovery = 6,
}

/// A controller's view of the path (`struct cca_info`). Fields are valid where `flags` says so; the
/// methods check that.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CaInfo {
    /// Estimated bottleneck bandwidth, payload bytes/s.
    pub bw_bytes_per_s: u64,
    /// `CaInfo::BW` and so on.
    pub flags: u32,
    /// Index into `Module::states`.
    pub state: u32,
    /// Estimated propagation RTT, us.
    pub min_rtt_us: u32,
    /// Pacing gain in 1/256.
    pub pacing_gain: u32,
    /// Window gain in 1/256.
    pub cwnd_gain: u32,
    /// Short-term bound on inflight, segs.
    pub inflight_lo: u32,
    /// Long-term bound on inflight, segs.
    pub inflight_hi: u32,
}

impl CaInfo {
    /// `bw_bytes_per_s` is valid.
    pub const BW: u32 = 1 << 0;
    /// `min_rtt_us` is valid.
    pub const MIN_RTT: u32 = 1 << 1;
    /// `pacing_gain` is valid.
    pub const PACING_GAIN: u32 = 1 << 2;
    /// `cwnd_gain` is valid.
    pub const CWND_GAIN: u32 = 1 << 3;
    /// `inflight_lo` is valid.
    pub const INFLIGHT_LO: u32 = 1 << 4;
    /// `inflight_hi` is valid.
    pub const INFLIGHT_HI: u32 = 1 << 5;
    /// `state` is valid.
    pub const STATE: u32 = 1 << 6;

    fn valid<T>(&self, flag: u32, value: T) -> Option<T> {
        (self.flags & flag != 0).then_some(value)
    }

    /// Estimated bottleneck bandwidth, payload bytes/s.
    #[must_use]
    pub fn bw(&self) -> Option<u64> {
        self.valid(Self::BW, self.bw_bytes_per_s)
    }

    /// Index of the state in `Module::states`.
    #[must_use]
    pub fn state(&self) -> Option<u32> {
        self.valid(Self::STATE, self.state)
    }

    /// Estimated propagation RTT, us.
    #[must_use]
    pub fn min_rtt_us(&self) -> Option<u32> {
        self.valid(Self::MIN_RTT, self.min_rtt_us)
    }

    /// Pacing gain in 1/256.
    #[must_use]
    pub fn pacing_gain(&self) -> Option<u32> {
        self.valid(Self::PACING_GAIN, self.pacing_gain)
    }

    /// Window gain in 1/256.
    #[must_use]
    pub fn cwnd_gain(&self) -> Option<u32> {
        self.valid(Self::CWND_GAIN, self.cwnd_gain)
    }

    /// Short-term bound on inflight, segs.
    #[must_use]
    pub fn inflight_lo(&self) -> Option<u32> {
        self.valid(Self::INFLIGHT_LO, self.inflight_lo)
    }

    /// Long-term bound on inflight, segs.
    #[must_use]
    pub fn inflight_hi(&self) -> Option<u32> {
        self.valid(Self::INFLIGHT_HI, self.inflight_hi)
    }
}
