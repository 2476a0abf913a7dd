//! How the end hosts are set.

use net::host::{EcnMode, HostQdisc};
use units::Span;

pub use net::packet::MSS;

/// Window at the start of a connection whose route says nothing, segments (`TCP_INIT_CWND`, RFC 6928).
pub const INIT_CWND: u32 = 10;

/// The network device of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Device {
    /// A pair of virtual devices: segments arrive in the memory that the sender wrote them to. What leaves is taken over
    /// when the event is over, and counts for TCP small queues until then.
    #[default]
    Veth,
    /// A tunnel to a program: each segment that arrives has a buffer of its own, unless it fits behind the one before. What
    /// leaves is taken over at once, so that TCP small queues never hold anything.
    Tun,
}

impl Device {
    /// Whether what leaves is taken over at once.
    pub fn takes_over(self) -> bool {
        self == Device::Tun
    }
}

/// A release of Linux, where they differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Release {
    #[default]
    Linux6_12,
    /// The window's limit moves when the first segments show how much of the buffer payload may have
    /// (`tcp_set_window_clamp` in `tcp_measure_rcv_mss`), and the RTT by the sender's echoes rises only while the
    /// application has read everything (`tcp_rcv_rtt_update`).
    Linux6_18,
}

/// Settings of both hosts of a flow.
#[derive(Clone, Copy, Debug)]
pub struct HostConfig {
    /// Kernel tick, 1/s (CONFIG_HZ).
    pub hz: u32,
    /// How much earlier than others the sender's host booted, and the receiver's: when their ticks come.
    pub up_earlier: (Span, Span),
    /// Sender's queue discipline.
    pub qdisc: HostQdisc,
    /// The network device.
    pub device: Device,
    /// Bursts of several segments, as many as the pacing rate calls for; otherwise one segment a send.
    pub tso: bool,
    /// The device takes frames only: a burst is cut into them as it is handed down, and each is charged as a buffer of its own
    /// from then on (`tcp_gso_segment`).
    pub cuts_bursts: bool,
    /// The receiver merges segments that arrive back to back.
    pub gro: bool,
    /// The receiver may delay acknowledgements; otherwise each segment is acknowledged.
    pub delayed_ack: bool,
    /// Payload of a full segment, bytes.
    pub mss: u32,
    /// Receive buffer at the start and its maximum, bytes (`tcp_rmem[1]`, `tcp_rmem[2]`).
    pub rcvbuf: (u64, u64),
    /// Largest buffer that an application may ask for, bytes (`net.core.rmem_max`): the window scale allows for it.
    pub rmem_max: u64,
    /// Whose rules the receive window follows.
    pub release: Release,
    /// Maximum of the send buffer, bytes (`tcp_wmem[2]`): memory of the host; where nothing is written through it
    /// ([`HostConfig::write`]), payload, unsent and unacknowledged.
    pub sndbuf: u64,
    /// Bytes of a write: an application writes what it has in pieces of this size, as far as the send buffer takes them; 0: each
    /// write is taken whole, and a transfer is there from the start.
    pub write: u64,
    /// The receiving application wakes when this many bytes are there, bytes (SO_RCVLOWAT).
    pub rcvlowat: u32,
    /// Explicit congestion notification; [`super::Feedback::of`] says what the receiver reports.
    pub ecn: EcnMode,
    /// Short segments are sent at once (TCP_NODELAY, as iperf3 and web servers set it); otherwise Nagle's
    /// rule may hold them.
    pub nodelay: bool,
    /// The window shrinks after idle times (`sysctl_tcp_slow_start_after_idle`).
    pub slow_start_after_idle: bool,
    /// Window at the start, below which none shrinks that is not used, segments: that of the route (`RTAX_INITCWND`), or
    /// [`INIT_CWND`].
    pub initial_window: u32,
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
            up_earlier: (Span::ZERO, Span::ZERO),
            qdisc: HostQdisc::Fq,
            device: Device::Veth,
            tso: true,
            cuts_bursts: false,
            gro: false,
            delayed_ack: true,
            mss: MSS,
            rcvbuf: (16 << 20, 1 << 30),
            rmem_max: 212_992,
            release: Release::Linux6_12,
            sndbuf: u64::MAX,
            write: 0,
            rcvlowat: 32_768,
            ecn: EcnMode::Off,
            nodelay: true,
            slow_start_after_idle: true,
            initial_window: INIT_CWND,
            loss_probes: true,
            min_tso_segs: 2,
            tso_win_divisor: 3,
        }
    }
}
