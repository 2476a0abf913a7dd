//! How the end hosts are set.

use net::host::{EcnMode, HostQdisc};

pub use net::packet::MSS;

/// Settings of both hosts of a flow.
#[derive(Clone, Copy, Debug)]
pub struct HostConfig {
    /// Kernel tick, 1/s (CONFIG_HZ).
    pub hz: u32,
    /// Sender's queue discipline.
    pub qdisc: HostQdisc,
    /// The device takes what leaves over at once, as tun does, so that TCP small queues never hold anything; otherwise TCP
    /// learns of it when the event is over.
    pub takes_over: bool,
    /// Bursts of several segments, as many as the pacing rate calls for; otherwise one segment a send.
    pub tso: bool,
    /// The receiver merges segments that arrive back to back.
    pub gro: bool,
    /// The receiver may delay acknowledgements; otherwise each segment is acknowledged.
    pub delayed_ack: bool,
    /// Payload of a full segment, bytes.
    pub mss: u32,
    /// Receive buffer at the start and its maximum, bytes (`tcp_rmem[1]`, `tcp_rmem[2]`).
    pub rcvbuf: (u64, u64),
    /// Maximum payload that the sender holds, unsent and unacknowledged, bytes.
    pub sndbuf: u64,
    /// The receiving application wakes when this many bytes are there, bytes (SO_RCVLOWAT).
    pub rcvlowat: u32,
    /// Explicit congestion notification; [`super::Feedback::of`] says what the receiver reports.
    pub ecn: EcnMode,
    /// Short segments are sent at once (TCP_NODELAY, as iperf3 and web servers set it); otherwise Nagle's
    /// rule may hold them.
    pub nodelay: bool,
    /// The window shrinks after idle times (`sysctl_tcp_slow_start_after_idle`).
    pub slow_start_after_idle: bool,
    /// Tail loss probes are sent (`sysctl_tcp_early_retrans`).
    pub loss_probes: bool,
    /// Minimum burst that TCP asks for when the controller does not say, segments (`sysctl_tcp_min_tso_segs`).
    pub min_tso_segs: u32,
    /// A burst may be delayed while less than this fraction of the window is free (`sysctl_tcp_tso_win_divisor`).
    pub tso_win_divisor: u32,
}

impl Default for HostConfig {
    /// 1500-byte MTU with timestamps, HZ 1000, fq, buffers that never limit.
    fn default() -> Self {
        HostConfig {
            hz: 1000,
            qdisc: HostQdisc::Fq,
            takes_over: false,
            tso: true,
            gro: false,
            delayed_ack: true,
            mss: MSS,
            rcvbuf: (16 << 20, 1 << 30),
            sndbuf: u64::MAX,
            rcvlowat: 32_768,
            ecn: EcnMode::Off,
            nodelay: true,
            slow_start_after_idle: true,
            loss_probes: true,
            min_tso_segs: 2,
            tso_win_divisor: 3,
        }
    }
}
