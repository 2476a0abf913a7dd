//! The receive window: how it is offered, how it grows, and how the buffer follows what the
//! application reads (`tcp_select_initial_window`, `tcp_grow_window`, `tcp_rcv_space_adjust` and
//! `__tcp_select_window` of Linux).

use super::super::config::{HostConfig, MSS};
use units::Time;

/// Largest window that a SYN-ACK can announce, bytes: its field is not scaled.
const SYN_WINDOW_MAX: u64 = 65_535;
/// Advertised MSS: MTU 1500 less IPv4 and TCP headers.
const ADVMSS: u64 = 1460;
/// Payload per buffer memory in 1/256 before the first segment (`TCP_DEFAULT_SCALING_RATIO`).
const SCALING_RATIO_INITIAL: u64 = 128;
/// Memory of a full segment, bytes (`skb->truesize`; measured on Linux 6.12 with veth).
const TRUESIZE: u64 = 2288;
/// Payload per buffer memory in 1/256 once a full segment has been seen (`tcp_measure_rcv_mss`).
const SCALING_RATIO: u64 = MSS as u64 * 256 / TRUESIZE;

/// See the module documentation. All in bytes.
#[derive(Debug)]
pub struct Window {
    /// Limit that grows with each packet (`rcv_ssthresh`).
    limit: u64,
    buffer: u64,
    /// Payload that fits into the empty buffer.
    capacity: u64,
    buffer_max: u64,
    /// Right edge of what was offered, from the start of the stream.
    offered_end: u64,
    offered: u64,
    scale: u32,
    /// Dynamic right-sizing: what the application read in the last RTT (`tp->rcvq_space`).
    space: u64,
    copied_at: u64,
    measured: Time,
}

impl Window {
    /// The window of a new connection.
    pub fn new(config: &HostConfig) -> Window {
        let initial = initial_window(config);
        Window {
            limit: initial,
            buffer: config.rcvbuf.0,
            capacity: payload(config.rcvbuf.0),
            buffer_max: config.rcvbuf.1,
            offered_end: initial,
            offered: initial,
            scale: window_scale(config),
            space: 10 * ADVMSS,
            copied_at: 0,
            measured: Time::ZERO,
        }
    }

    /// The connection is established.
    pub fn establish(&mut self, now: Time) {
        self.measured = now;
    }

    /// What a SYN-ACK announces.
    pub fn on_syn(&self) -> u32 {
        self.offered.min(SYN_WINDOW_MAX) as u32
    }

    /// What was offered last.
    pub fn offered(&self) -> u64 {
        self.offered
    }

    /// A packet arrived: two segments more, as long as the buffer has room beside the `held` segments in it (`tcp_space`).
    /// Says whether it grew.
    #[inline]
    pub fn grow(&mut self, held: impl FnOnce() -> u64) -> bool {
        if self.limit >= self.capacity {
            return false;
        }
        let room = self.free(held()).saturating_sub(self.limit);
        self.limit += room.min(2 * ADVMSS);
        room > 0
    }

    /// Payload that fits into the buffer beside `held` segments (`tcp_space`).
    #[inline]
    fn free(&self, held: u64) -> u64 {
        match held {
            0 => self.capacity,
            _ => payload(self.buffer.saturating_sub(held * TRUESIZE)),
        }
    }

    /// Whether `held` segments have more than half of the buffer.
    #[inline]
    pub fn is_half_full(&self, held: u64) -> bool {
        self.free(held) < self.capacity / 2
    }

    /// The window of an ACK for everything before byte `next`, beside `held` segments in the buffer; the right edge never
    /// moves left. Nothing is offered below a sixteenth of the buffer.
    #[inline]
    pub fn offer(&mut self, next: u64, held: u64) -> u32 {
        let free = self.free(held).min(self.limit);
        let is_low = free < self.capacity / 16 || free < u64::from(MSS);
        let window = if is_low { 0 } else { free.next_multiple_of(1 << self.scale) };
        self.offered_end = self.offered_end.max(next + window);
        self.offered = self.offered_end - next;
        self.offered.min(u64::from(u32::MAX)) as u32
    }

    /// The application has read `have` bytes so far; once an RTT the buffer is sized for twice what
    /// that RTT brought, more while it grows.
    pub fn on_read(&mut self, now: Time, have: u64, rtt_us: u64) {
        if rtt_us == 0 || now.since(self.measured).as_us() < rtt_us {
            return;
        }
        let copied = have - self.copied_at;
        if copied > self.space {
            let mut window = 2 * copied + 16 * ADVMSS;
            window += 2 * window * (copied - self.space) / self.space.max(1);
            let wanted = window.saturating_mul(256) / SCALING_RATIO;
            self.buffer = self.buffer.max(wanted.min(self.buffer_max));
            self.capacity = payload(self.buffer);
            self.space = copied;
        }
        self.copied_at = have;
        self.measured = now;
    }
}

/// Payload that fits into this much memory, bytes.
fn payload(memory: u64) -> u64 {
    memory * SCALING_RATIO / 256
}

/// Half of the buffer, in whole segments unless the scale is coarser.
fn initial_window(config: &HostConfig) -> u64 {
    let space = config.rcvbuf.0 * SCALING_RATIO_INITIAL / 256;
    let mss = u64::from(config.mss);
    if 1 << window_scale(config) < mss {
        space / mss * mss
    } else {
        space
    }
}

/// Window scale that the largest buffer needs (RFC 7323), at most 14.
fn window_scale(config: &HostConfig) -> u32 {
    config.rcvbuf.1.max(SYN_WINDOW_MAX).ilog2().saturating_sub(15).min(14)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linux_defaults_start_with_45_segments() {
        let config = HostConfig { rcvbuf: (131_072, 6 << 20), ..HostConfig::default() };
        assert_eq!(Window::new(&config).on_syn(), 65_160);
    }

    #[test]
    fn a_large_buffer_offers_half_of_itself_after_the_handshake() {
        let mut window = Window::new(&HostConfig::default());
        assert_eq!(window.on_syn(), 65_535);
        assert!(window.grow(|| 1));
        // As Linux 6.12 was seen to: 8 MiB and two segments, rounded up to the scale of 16 KiB.
        assert_eq!(window.offer(0, 0), 8_404_992);
    }

    #[test]
    fn what_the_buffer_holds_leaves_no_room_to_grow() {
        let config = HostConfig { rcvbuf: (131_072, 131_072), ..HostConfig::default() };
        let mut window = Window::new(&config);
        // 162/256 of 131072 bytes less 65160 are 17783 bytes, which 12 held segments of 2288 take (to 12 bytes).
        assert!(!window.grow(|| 13) && window.grow(|| 12));
    }

    #[test]
    fn the_right_edge_never_moves_left() {
        let config = HostConfig { rcvbuf: (131_072, 131_072), ..HostConfig::default() };
        let mut window = Window::new(&config);
        let first = u64::from(window.offer(0, 0));
        assert_eq!(u64::from(window.offer(1448, 0)) + 1448, first.max(1448 + first));
    }
}
