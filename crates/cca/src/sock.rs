//! Mirror of the socket of `cca/include/kernel.h`, and its windowed minimum.
//!
//! Names, units and order are those of the header, where each field is described; a test compares
//! every offset and size with what the C compiler chose.

use std::ffi::c_void;
use std::mem;
use std::net::SocketAddrV4;
use units::INFINITE_SSTHRESH;

/// One sample of a windowed minimum or maximum.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MinMaxSample {
    /// When it was taken, in the unit of the filter's window.
    pub t: u32,
    /// Its value.
    pub v: u32,
}

/// Windowed minimum or maximum (Nichols' filter, Linux `win_minmax.c`): three samples, best first.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MinMax {
    /// Best, second and third choice.
    pub s: [MinMaxSample; 3],
}

impl MinMax {
    /// A filter that has seen `v` at `t` and nothing else.
    #[must_use]
    pub fn new(t: u32, v: u32) -> Self {
        Self { s: [MinMaxSample { t, v }; 3] }
    }

    /// The minimum (or maximum) of the window.
    #[must_use]
    #[inline]
    pub fn value(&self) -> u32 {
        self.s[0].v
    }
}

/// Feeds `v`, seen at `t`, to the minimum over the last `win` units of `t`; returns the minimum.
///
/// Implemented in C (`cca/include/math.h`), where the controllers use it too.
#[inline]
pub fn minmax_running_min(m: &mut MinMax, win: u32, t: u32, v: u32) -> u32 {
    extern "C" {
        fn cca_minmax_running_min(m: *mut MinMax, win: u32, t: u32, v: u32) -> u32;
    }
    // SAFETY: m is valid, exclusive and of the C layout (layout test); C keeps no pointer.
    unsafe { cca_minmax_running_min(m, win, t, v) }
}

/// `sk_pacing_rate` that means "do not pace", bytes/s.
pub const UNLIMITED_RATE: u64 = u64::MAX;
/// The bit of `ecn_flags` that says: ECN was negotiated.
pub const TCP_ECN_OK: u8 = 1;
/// The bit that says: it is accurate ECN.
pub const TCP_ECN_MODE_ACCECN: u8 = 16;
/// Value of `sk_state` of an open connection.
const TCP_ESTABLISHED: u8 = 1;
/// Value of `skc_family`.
const AF_INET: u16 = 2;
/// Values of `sk_pacing_status`: nobody paces.
pub const SK_PACING_NONE: u32 = 0;
/// TCP itself paces, with a timer per socket.
pub const SK_PACING_NEEDED: u32 = 1;
/// The fq queue discipline paces.
pub const SK_PACING_FQ: u32 = 2;

/// The part of `struct tcp_sock` (with the structs inside it) that controllers see.
///
/// The simulated TCP keeps its state in these fields; `cca/include/kernel.h` says what each means.
/// "segs" are segments, "seq" wrapping byte sequence numbers.
#[repr(C)]
#[derive(Debug, Clone)]
pub struct TcpSock {
    // struct sock
    /// Pacing rate, payload bytes/s; `UNLIMITED_RATE`: not paced.
    pub sk_pacing_rate: u64,
    /// Bound set by the application, bytes/s.
    pub sk_max_pacing_rate: u64,
    /// `SK_PACING_*`.
    pub sk_pacing_status: u32,
    /// Largest burst, bytes.
    pub sk_gso_max_size: u32,
    /// Largest burst, segs.
    pub sk_gso_max_segs: u16,
    /// A burst lasts `2^-shift` s at the pacing rate.
    pub sk_pacing_shift: u8,
    /// `TCP_ESTABLISHED` (1), for loaded modules.
    pub sk_state: u8,
    // struct cca_host
    /// State of the flow's random numbers (`SplitMix64`).
    pub rng: u64,
    pub(crate) params: *const u32,
    pub(crate) storage: *mut c_void,
    /// Jiffies per second, > 0.
    pub hz: u32,
    /// Now, in jiffies; wraps. Keep it in step with `tcp_mstamp`.
    pub jiffies: u32,
    /// Operations of the socket, which a loaded module may exchange; C's alone.
    pub(crate) sk_prot_bits: u64,
    // struct sock_common: addresses and ports, for loaded modules
    pub(crate) skc_daddr: u32,
    pub(crate) skc_rcv_saddr: u32,
    pub(crate) skc_hash: u32,
    pub(crate) skc_dport: u16,
    pub(crate) skc_num: u16,
    pub(crate) skc_family: u16,
    pub(crate) skc_state: u8,
    pub(crate) skc_v6_daddr: [u32; 4],
    pub(crate) skc_v6_rcv_saddr: [u32; 4],
    pub(crate) sk_mark: u32,
    // struct inet_sock
    pub(crate) inet_saddr: u32,
    pub(crate) inet_sport: u16,
    pub(crate) tos: u8,
    // struct inet_connection_sock
    /// Retransmission timeout, jiffies.
    pub icsk_rto: u32,
    /// State of loss recovery, a `CaState`.
    pub icsk_ca_state: u8,
    /// Timeouts in a row.
    pub icsk_retransmits: u8,
    /// Doublings of `icsk_rto` in force.
    pub icsk_backoff: u8,
    /// State of the delayed ACK.
    pub icsk_ack_pending: u8,
    /// Private state of the controller.
    pub icsk_ca_priv: [u64; 13],
    /// Hooks of a loaded module, which it may exchange; C's alone.
    pub(crate) icsk_ca_ops: *const c_void,
    // struct tcp_sock
    /// Now, us.
    pub tcp_mstamp: u64,
    /// Now, ns.
    pub tcp_clock_cache: u64,
    /// Earliest departure time of the next packet, ns.
    pub tcp_wstamp_ns: u64,
    /// Last data sent, jiffies.
    pub lsndtime: u32,
    /// First byte not acknowledged, seq.
    pub snd_una: u32,
    /// Next byte to send, seq.
    pub snd_nxt: u32,
    /// End of what the application wrote, seq.
    pub write_seq: u32,
    /// `snd_nxt` when congestion began, seq.
    pub high_seq: u32,
    /// `snd_una` when recovery began; 0: no undo.
    pub undo_marker: u32,
    /// Retransmissions not yet reported as duplicates.
    pub undo_retrans: i32,
    /// Window offered by the receiver, bytes.
    pub snd_wnd: u32,
    /// Largest `snd_wnd` seen, bytes.
    pub max_window: u32,
    /// Payload of a full segment, bytes, > 0.
    pub mss_cache: u32,
    /// Smoothed RTT, 1/8 us; 0: none yet.
    pub srtt_us: u32,
    /// Mean deviation, 1/4 us.
    pub mdev_us: u32,
    /// Variance used for the RTO, 1/4 us.
    pub rttvar_us: u32,
    /// Minimum RTT of 300 s, us, with time in jiffies.
    pub rtt_min: MinMax,
    /// Congestion window, segs.
    pub snd_cwnd: u32,
    /// Linear increase: segs credited.
    pub snd_cwnd_cnt: u32,
    /// `snd_cwnd` is never above, segs.
    pub snd_cwnd_clamp: u32,
    /// Last change or validation of the window, jiffies.
    pub snd_cwnd_stamp: u32,
    /// Slow-start threshold, segs.
    pub snd_ssthresh: u32,
    /// Window when recovery began, segs.
    pub prior_cwnd: u32,
    /// Threshold to restore on undo, segs; 0: none.
    pub prior_ssthresh: u32,
    /// Sent, not cumulatively acknowledged, segs.
    pub packets_out: u32,
    /// Of these: retransmissions in flight, segs.
    pub retrans_out: u32,
    /// Of these: `SACKed`, segs.
    pub sacked_out: u32,
    /// Of these: marked lost, segs.
    pub lost_out: u32,
    /// Largest `packets_out` of the last window, segs.
    pub max_packets_out: u32,
    /// End of that window, seq.
    pub cwnd_usage_seq: u32,
    /// The window held data back (0 or 1).
    pub is_cwnd_limited: u8,
    /// State of ECN.
    pub ecn_flags: u8,
    /// Total delivered, retransmissions included, segs.
    pub delivered: u32,
    /// Of these: echoed as CE-marked, segs.
    pub delivered_ce: u32,
    /// Total marked lost, segs.
    pub lost: u32,
    /// Total retransmitted, segs.
    pub total_retrans: u32,
    /// Total data segments sent, retransmissions included.
    pub data_segs_out: u32,
    /// Rate samples up to this `delivered` are application-limited; 0: none.
    pub app_limited: u32,
    /// Start of the current sending interval, us.
    pub first_tx_mstamp: u64,
    /// Time of the last delivery, us.
    pub delivered_mstamp: u64,
    /// Last good rate sample: segs delivered.
    pub rate_delivered: u32,
    /// Last good rate sample: in this time, us.
    pub rate_interval_us: u32,
    /// Last good rate sample: taken while application-limited (0 or 1).
    pub rate_app_limited: u8,
    /// Tolerated reordering, segs.
    pub reordering: u32,
    /// Timestamp of the last ACK, ms; for loaded modules, as all that follows.
    pub rcv_tsval: u32,
    /// The timestamp that it echoes, ms.
    pub rcv_tsecr: u32,
    /// RTT of the segment last delivered, us.
    pub rack_rtt_us: u32,
    /// Next byte expected of the peer, seq.
    pub rcv_nxt: u32,
    /// Reordering was seen (0 or 1).
    pub reord_seen: u8,
    /// Google's trees: how eagerly the receiver acknowledges; no effect here.
    pub fast_ack_mode: u8,
    /// The receiver took back a SACK; always 0.
    pub is_sack_reneg: u8,
    /// What the last tail loss probe repeats was first sent with a bubble in the pipe (0 or 1).
    pub tlp_orig_data_app_limited: u8,
    /// A hook asked for a reduction (`tcp_enter_cwr`); the transport clears it.
    pub wants_cwr: u8,
    /// Acknowledged, the SYN counts as one, bytes.
    pub bytes_acked: u64,
    /// Payload sent, retransmissions included, bytes.
    pub bytes_sent: u64,
    /// Payload retransmitted, bytes.
    pub bytes_retrans: u64,
}

// SAFETY: the pointers are written by `Controller` before each call into C, point to what that
// controller owns, and are never followed outside such a call (see `Controller::enter`).
unsafe impl Send for TcpSock {}
// SAFETY: as above; through a shared reference nothing follows the pointers.
unsafe impl Sync for TcpSock {}

impl TcpSock {
    /// A socket as Linux has it right after the handshake, without an RTT sample: window 10, infinite
    /// threshold, MSS 1448, no pacing, HZ 1000. All other fields are 0.
    #[must_use]
    pub fn new() -> Box<Self> {
        // SAFETY: every field is an integer, a raw pointer or an array of integers, for which all bits
        // zero is a value.
        let zero: Self = unsafe { mem::zeroed() };
        Box::new(Self {
            sk_pacing_rate: UNLIMITED_RATE,
            sk_max_pacing_rate: UNLIMITED_RATE,
            // 65536 less the header room that sk_setup_caps() leaves (MAX_TCP_HEADER + 1).
            sk_gso_max_size: 65536 - 321,
            sk_gso_max_segs: u16::MAX,
            sk_pacing_shift: 10,
            sk_state: TCP_ESTABLISHED,
            skc_family: AF_INET,
            skc_state: TCP_ESTABLISHED,
            hz: 1000,
            icsk_rto: 1000,
            mss_cache: 1448,
            rtt_min: MinMax::new(0, u32::MAX),
            snd_cwnd: 10,
            snd_cwnd_clamp: u32::MAX,
            snd_ssthresh: INFINITE_SSTHRESH,
            reordering: 3,
            ..zero
        })
    }

    /// Says between which addresses and ports the flow goes. Loaded modules may look.
    pub fn connect(&mut self, from: SocketAddrV4, to: SocketAddrV4) {
        let order = |address: &SocketAddrV4| u32::from_ne_bytes(address.ip().octets());
        (self.skc_rcv_saddr, self.skc_daddr) = (order(&from), order(&to));
        (self.skc_num, self.skc_dport) = (from.port(), to.port().to_be());
        (self.inet_saddr, self.inet_sport) = (self.skc_rcv_saddr, from.port().to_be());
        // Any function of the four, as the kernel's is, whose secret no module knows.
        let ends = u64::from(self.skc_rcv_saddr) << 32 | u64::from(self.skc_daddr);
        let ports = u64::from(from.port()) << 16 | u64::from(to.port());
        self.skc_hash = ((ends ^ ports).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32;
    }

    /// Segments in the network as far as the sender knows (RFC 6675 "pipe").
    #[must_use]
    #[inline]
    pub fn packets_in_flight(&self) -> u32 {
        self.packets_out
            .wrapping_sub(self.sacked_out.wrapping_add(self.lost_out))
            .wrapping_add(self.retrans_out)
    }
}
