//! The receive window: how it is offered, how it grows, and how the buffer follows what the
//! application reads (`tcp_select_initial_window`, `tcp_grow_window`, `tcp_rcv_space_adjust` and
//! `__tcp_select_window` of Linux).

use super::super::config::{HostConfig, Release};
use super::segment_size::INITIAL;
use units::Time;

/// Largest window that a SYN-ACK can announce, bytes: its field is not scaled.
const SYN_WINDOW_MAX: u64 = 65_535;
/// Advertised MSS: MTU 1500 less IPv4 and TCP headers, and once the connection is open less timestamps.
const ADVMSS: u64 = 1448;
/// Payload per buffer memory in 1/256 before the first segment (`TCP_DEFAULT_SCALING_RATIO`).
const SCALING_RATIO_INITIAL: u64 = 128;

/// See the module documentation. All in bytes.
#[derive(Debug)]
pub struct Window {
    /// Limit that grows with each packet (`rcv_ssthresh`).
    limit: u64,
    /// With this much memory in the buffer, or more, the limit has no room to grow; worked out again when either changes.
    full_from: u64,
    buffer: u64,
    /// Payload that the empty buffer may be offered for (`window_clamp`).
    capacity: u64,
    buffer_max: u64,
    /// Payload per buffer memory, in 1/256 (`scaling_ratio`).
    ratio: u64,
    /// Estimate of the sender's segments.
    segment: u64,
    /// Right edge of what was offered, from the start of the stream.
    offered_end: u64,
    offered: u64,
    /// One less than the unit in which windows are announced, a power of two.
    unit_mask: u64,
    release: Release,
    /// Dynamic right-sizing: what the application read in the last RTT (`tp->rcvq_space`).
    space: u64,
    copied_at: u64,
    measured: Time,
}

impl Window {
    /// The window of a new connection.
    pub fn new(config: &HostConfig) -> Window {
        let (initial, capacity) = (initial_window(config), initial_capacity(config));
        let limit = initial.min(capacity);
        Window {
            limit,
            full_from: u64::MAX,
            buffer: config.rcvbuf.0,
            capacity,
            buffer_max: config.rcvbuf.1,
            ratio: SCALING_RATIO_INITIAL,
            segment: INITIAL.into(),
            offered_end: initial,
            offered: initial,
            unit_mask: (1 << window_scale(config.rcvbuf.1, config.rmem_max)) - 1,
            release: config.release,
            space: limit.min(10 * ADVMSS),
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

    /// What is left of what was offered, before byte `next` (`tcp_receive_window`).
    #[inline]
    pub fn left(&self, next: u64) -> u64 {
        self.offered_end.saturating_sub(next)
    }

    /// The right edge of what was offered.
    #[inline]
    pub fn offered_end(&self) -> u64 {
        self.offered_end
    }

    /// Whether `used` bytes of memory are more than 7/8 of the buffer.
    #[inline]
    pub fn is_nearly_full(&self, used: u64) -> bool {
        used > self.buffer - self.buffer / 8
    }

    /// What was offered last.
    pub fn offered(&self) -> u64 {
        self.offered
    }

    /// The limit that grows with each packet.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// What the application read in the last RTT that counts.
    pub fn space(&self) -> u64 {
        self.space
    }

    /// Whether the limit may have room beside `used` bytes of memory in the buffer. Most of the time it has grown as far as it
    /// can, and this tells so without the sizes.
    #[inline]
    pub fn may_grow(&self, used: u64) -> bool {
        used < self.full_from
    }

    /// Segments of `len` bytes in `memory` bytes are the sender's largest so far (`tcp_measure_rcv_mss`).
    pub fn measure(&mut self, len: u64, memory: u64) {
        let ratio = (len * 256 / memory).max(1);
        if ratio == self.ratio {
            return;
        }
        self.ratio = ratio;
        self.full_from = u64::MAX;
        let was = self.capacity;
        self.capacity = self.payload(self.buffer);
        self.space = self.space.min(self.capacity);
        if self.release == Release::Linux6_18 {
            self.limit = match self.capacity < was {
                true => self.limit.min(self.capacity),
                false => self.limit.max(self.offered.min(self.capacity)),
            };
        }
    }

    /// The estimate of the sender's segments is this, bytes.
    #[inline]
    pub fn set_segment(&mut self, bytes: u32) {
        self.segment = bytes.into();
    }

    /// A packet of `len` bytes in `memory` bytes arrived: room for two full segments more, or two of its kind, as long as the
    /// buffer has it beside the `used` bytes of memory, and such packets would fit (`tcp_grow_window`). Says whether it grew.
    pub fn grow(&mut self, len: u64, memory: u64, used: u64) -> bool {
        let room = self.free(used).saturating_sub(self.limit);
        if room == 0 {
            let is_grown = self.limit >= self.capacity;
            self.full_from = if is_grown { 0 } else { self.full_from.min(used) };
            return false;
        }
        self.full_from = u64::MAX;
        let full =
            if self.payload(memory) <= len { 2 * ADVMSS } else { self.grow_with(len, memory) };
        self.limit += if full == 0 { 0 } else { room.min(full.max(2 * len)) };
        full > 0
    }

    /// By how much the window grows for packets with more overhead than most: not at all when it is near what the buffer
    /// can grow to (`__tcp_grow_window`).
    fn grow_with(&self, len: u64, memory: u64) -> u64 {
        let (mut memory, mut window) =
            (self.payload(memory) / 2, self.payload(self.buffer_max) / 2);
        while self.limit <= window {
            if memory <= len {
                return 2 * self.segment;
            }
            (memory, window) = (memory / 2, window / 2);
        }
        0
    }

    /// Payload that fits into the buffer beside `used` bytes of memory (`tcp_space`).
    #[inline]
    pub fn free(&self, used: u64) -> u64 {
        match used {
            0 => self.capacity,
            _ => self.payload(self.buffer.saturating_sub(used)).min(self.capacity),
        }
    }

    /// Whether more than half of the buffer is full, where there is room for `free` bytes ([`Window::free`]).
    #[inline]
    pub fn is_half_full(&self, free: u64) -> bool {
        free < self.capacity / 2
    }

    /// What an ACK offers where there is room for `free` bytes, if the right edge may be anywhere. Nothing is offered
    /// below a segment or a sixteenth of the buffer (`__tcp_select_window`).
    #[inline]
    pub fn select(&self, mut free: u64) -> u64 {
        if self.is_half_full(free) {
            free &= !self.unit_mask;
            if free < self.payload(self.buffer) / 16 || free < self.segment.min(self.capacity) {
                return 0;
            }
        }
        self.round_up(free.min(self.limit))
    }

    /// Whether an ACK for everything before byte `next`, beside `used` bytes of memory in the buffer, would offer at least
    /// twice what is left of the window, which the sender is told at once (`tcp_cleanup_rbuf`).
    #[inline]
    pub fn is_doubled(&self, next: u64, used: u64) -> bool {
        let left = self.left(next);
        2 * left <= self.capacity && self.select(self.free(used)) >= (2 * left).max(1)
    }

    /// The window of an ACK for everything before byte `next`, where there is room for `free` bytes; the right edge never
    /// moves left.
    #[inline]
    pub fn offer(&mut self, next: u64, free: u64) -> u32 {
        let left = self.left(next);
        self.offered = self.round_up(self.select(free).max(left));
        self.offered_end = next + self.offered;
        self.offered.min(u64::from(u32::MAX)) as u32
    }

    /// The application has read `have` bytes so far, and will read `more` that are there; once an RTT the buffer is sized for
    /// twice what that RTT brought, more while it grows.
    pub fn on_read(&mut self, now: Time, have: u64, more: u64, rtt_us: u64) {
        if rtt_us == 0 || now.since(self.measured).as_us() < rtt_us {
            return;
        }
        let copied = (have - self.copied_at).saturating_sub(more);
        if copied > self.space {
            let mut window = 2 * copied + 16 * ADVMSS;
            window += 2 * window * (copied - self.space) / self.space.max(1);
            let wanted = window.saturating_mul(256) / self.ratio;
            self.buffer = self.buffer.max(wanted.min(self.buffer_max));
            self.capacity = self.payload(self.buffer);
            self.full_from = u64::MAX;
            self.space = copied;
        }
        self.copied_at = have;
        self.measured = now;
    }

    /// As much or more, in whole units of the announcement.
    #[inline]
    fn round_up(&self, bytes: u64) -> u64 {
        (bytes + self.unit_mask) & !self.unit_mask
    }

    /// Payload that fits into this much memory.
    #[inline]
    fn payload(&self, memory: u64) -> u64 {
        memory * self.ratio / 256
    }
}

/// Payload that fits before the first segment has shown what it occupies, bytes.
fn initial_space(config: &HostConfig) -> u64 {
    config.rcvbuf.0 * SCALING_RATIO_INITIAL / 256
}

/// That, in whole segments (`tcp_select_initial_window`).
fn initial_window(config: &HostConfig) -> u64 {
    let (space, mss) = (initial_space(config), u64::from(config.mss));
    if space > mss {
        space / mss * mss
    } else {
        space
    }
}

/// What may be offered before the first segment: a segment is kept in reserve (`tcp_init_buffer_space`).
fn initial_capacity(config: &HostConfig) -> u64 {
    let space = initial_space(config);
    space.min((2 * ADVMSS).max(space.saturating_sub(ADVMSS)))
}

/// Window scale of sockets whose receive buffer grows to `most` bytes, or for which the application may ask for `may`
/// (RFC 7323; `tcp_select_initial_window`), at most 14.
pub fn window_scale(most: u64, may: u64) -> u32 {
    most.max(may).max(SYN_WINDOW_MAX).ilog2().saturating_sub(15).min(14)
}

#[cfg(test)]
mod tests {
    use super::super::super::config::Device;
    use super::super::memory::{Held, Memory};
    use super::*;

    /// Memory of `segments` full ones in the buffer.
    fn used(segments: u64) -> u64 {
        let held = Held { in_order: 1448 * segments, pieces: segments as u32, ..Held::default() };
        Memory::new(Device::Veth).used(held)
    }

    /// A full segment comes in order, and `segments` with it are not read.
    fn grow(window: &mut Window, segments: u64) -> bool {
        window.measure(1448, Device::Veth.truesize(1448));
        window.set_segment(1448);
        window.grow(1448, Device::Veth.truesize_joined(1448), used(segments))
    }

    #[test]
    fn linux_defaults_start_with_45_segments() {
        let config = HostConfig { rcvbuf: (131_072, 6 << 20), ..HostConfig::default() };
        assert_eq!(Window::new(&config).on_syn(), 65_160);
    }

    #[test]
    fn a_large_buffer_offers_half_of_itself_after_the_handshake() {
        // 8 MiB less the segment in reserve, and two segments for each that comes, in units of the scale: as seen of Linux 6.12.
        let offers = |most: u64| {
            let mut window =
                Window::new(&HostConfig { rcvbuf: (16 << 20, most), ..HostConfig::default() });
            assert_eq!(window.on_syn(), 65_535);
            [1, 2, 3, 4].map(|n| {
                assert!(grow(&mut window, n));
                window.offer(1448 * n, window.free(used(n)))
            })
        };
        assert_eq!(offers(32 << 20), [8_390_656, 8_393_728, 8_396_800, 8_398_848]);
        assert_eq!(offers(1 << 30)[0], 8_404_992);
    }

    #[test]
    fn the_window_follows_what_the_reader_left() {
        // Of a Linux 6.12 receiver whose reader wakes at 32 kB: segments 763 to 773, unread segments, and the window offered.
        let seen = [
            (20, 10_597_376),
            (21, 10_597_376),
            (22, 10_596_352),
            (23, 10_595_328),
            (1, 10_600_448),
            (2, 10_603_520),
            (3, 10_605_568),
            (4, 10_608_640),
            (5, 10_611_712),
            (6, 10_611_712),
            (7, 10_610_688),
        ];
        let mut window =
            Window::new(&HostConfig { rcvbuf: (16 << 20, 32 << 20), ..HostConfig::default() });
        for n in 1..763 {
            assert!(grow(&mut window, n % 23));
        }
        for (unread, offered) in seen {
            grow(&mut window, unread);
            assert_eq!(
                window.select(window.free(used(unread))),
                offered,
                "{unread} segments unread"
            );
        }
    }

    #[test]
    fn what_the_buffer_holds_leaves_no_room_to_grow() {
        let config = HostConfig { rcvbuf: (131_072, 131_072), ..HostConfig::default() };
        let mut window = Window::new(&config);
        // 162/256 of 131072 bytes less 64088 are 18856 bytes, of 29797 bytes of memory: 19 segments in two buffers, not 20.
        assert!(!grow(&mut window, 20) && grow(&mut window, 19));
    }

    #[test]
    fn a_limit_without_room_is_known_until_the_buffer_grows() {
        let config = HostConfig { rcvbuf: (131_072, 1 << 20), ..HostConfig::default() };
        let mut window = Window::new(&config);
        while grow(&mut window, 2) {}
        let (two, one) = (used(2), used(1));
        assert!(!window.may_grow(two) && !window.may_grow(two + 1) && window.may_grow(one));
        assert!(grow(&mut window, 1) && window.may_grow(two));
        while grow(&mut window, 1) {}
        assert!(!window.may_grow(one));
        window.on_read(Time::from_ns(1_000_000), 1 << 18, 0, 1);
        assert!(window.may_grow(two) && grow(&mut window, 2));
    }

    #[test]
    fn the_right_edge_never_moves_left() {
        let config = HostConfig { rcvbuf: (131_072, 131_072), ..HostConfig::default() };
        let mut window = Window::new(&config);
        // A SYN-ACK has offered 65160 bytes; after 1000 of them 64088 are less than what is left of it.
        assert_eq!(window.offer(1000, window.free(0)), 64_160);
        assert_eq!(window.offer(1448, window.free(0)), 64_088);
    }
}
