//! How the end hosts are set.

use super::ecn::EcnMode;

/// Sender's queue discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostQdisc {
    /// `fq`: holds each packet until its earliest departure time.
    Fq,
    /// `pfifo`: no pacing below TCP; a controller that asks for pacing gets TCP's own timer.
    Pfifo,
}

/// Settings of both hosts of a flow.
#[derive(Clone, Copy, Debug)]
pub struct HostConfig {
    /// Kernel tick, 1/s (CONFIG_HZ).
    pub hz: u32,
    /// Sender's queue discipline.
    pub qdisc: HostQdisc,
    /// Autosized bursts of several segments; otherwise one segment a send.
    pub tso: bool,
    /// The receiver merges segments that arrive back to back.
    pub gro: bool,
    /// Receiver may delay acknowledgements; otherwise each segment is acknowledged.
    pub delayed_ack: bool,
    /// Payload of a full segment, bytes.
    pub mss: u32,
    /// Receive buffer at start and at most, bytes (`tcp_rmem[1]`, `tcp_rmem[2]`).
    pub rcvbuf: (u64, u64),
    /// Most payload that the sender may hold, unsent and unacknowledged, bytes.
    pub sndbuf: u64,
    /// Bytes that wake the receiving application (SO_RCVLOWAT).
    pub rcvlowat: u32,
    /// Explicit congestion notification; [`super::Feedback::of`] makes the receiver's setting of it.
    pub ecn: EcnMode,
    /// Short segments are sent at once (TCP_NODELAY, as iperf3 and web servers set it); otherwise Nagle's
    /// rule may hold them.
    pub nodelay: bool,
    /// The window falls back after idle times (`sysctl_tcp_slow_start_after_idle`).
    pub slow_start_after_idle: bool,
}

impl Default for HostConfig {
    /// 1500-byte MTU with timestamps, HZ 1000, fq, buffers that never limit.
    fn default() -> Self {
        HostConfig {
            hz: 1000,
            qdisc: HostQdisc::Fq,
            tso: true,
            gro: false,
            delayed_ack: true,
            mss: 1448,
            rcvbuf: (16 << 20, 1 << 30),
            sndbuf: u64::MAX,
            rcvlowat: 32_768,
            ecn: EcnMode::Off,
            nodelay: true,
            slow_start_after_idle: true,
        }
    }
}
