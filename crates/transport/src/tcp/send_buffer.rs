//! The send buffer of an application: how much memory it may take, and when the application, which writes what it has as far
//! as that fits, goes on (`tcp_sndbuf_expand`, `tcp_check_space` in net/ipv4/tcp_input.c; `sk_stream_is_writeable` in
//! include/net/sock.h).
//!
//! Long before the buffer limits what is sent, it decides where the buffers of the write queue end: the application stops
//! in the midst of one, and goes on in it later. Bursts do not cross these ends.

use super::config::INIT_CWND;
use cca::TcpSock;
use units::Time;

/// Memory that `tcp_sndbuf_expand` reckons for a segment of 1460 bytes, bytes: 2048 for payload, headers and
/// `skb_shared_info`, 256 for `sk_buff`. A kernel with drivers of wireless networks reckons 4352.
const PER_SEGMENT: u64 = 2304;

/// What an application that may stop at any time writes ahead, bytes; a buffer of the write queue that was begun is filled.
const LOWAT: u64 = 16_384;

/// What waits in a socket to be sent or acknowledged, bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Queued {
    /// Memory of it (`sk_wmem_queued`).
    pub memory: u64,
    /// Payload that was never sent.
    pub unsent: u64,
}

/// See the module documentation.
#[derive(Clone, Copy, Debug)]
pub struct SendBuffer {
    /// Bytes of one write.
    write: u64,
    /// Bytes that the application has yet to write; `u64::MAX`: it never stops.
    left: u64,
    /// It closes once these are written.
    pub closes: bool,
    /// Memory that it may take now, bytes (`sk_sndbuf`).
    size: u64,
    /// Maximum of that (`tcp_wmem[2]`).
    most: u64,
    /// Bytes that may wait to be sent for the first time (`TCP_NOTSENT_LOWAT`); `u64::MAX`: as many as there is memory for.
    lowat: u64,
    /// Segments that it was reckoned for last.
    segments: u32,
    /// The application has more and waits for room (`SOCK_NOSPACE`).
    pub is_awaited: bool,
    /// When it goes on, once it was woken.
    pub wakes_at: Time,
}

impl SendBuffer {
    /// A buffer of at most `most` bytes of memory, for an application that writes `write` bytes at a time, and has nothing to
    /// write yet.
    pub fn new(write: u64, most: u64) -> SendBuffer {
        SendBuffer {
            write,
            left: 0,
            closes: false,
            size: 0,
            most,
            lowat: u64::MAX,
            segments: 0,
            is_awaited: false,
            wakes_at: Time::NEVER,
        }
    }

    /// The application has `bytes` more to write; `u64::MAX`: without end.
    pub fn add(&mut self, bytes: u64) {
        self.left = self.left.saturating_add(bytes);
    }

    /// The application writes without end from now on, and may stop at any time: it writes little ahead of what is sent.
    pub fn begin_endless(&mut self) {
        (self.left, self.lowat) = (u64::MAX, LOWAT);
    }

    /// The application writes no more of what it had.
    pub fn end(&mut self) {
        self.left = 0;
    }

    /// Bytes that the application has yet to write; `u64::MAX`: without end.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Bytes of the next write; 0: everything is written.
    pub fn next_write(&self) -> u64 {
        self.write.min(self.left)
    }

    /// The buffer took `bytes` of a write.
    pub fn on_written(&mut self, bytes: u64) {
        if self.left < u64::MAX {
            self.left -= bytes;
        }
    }

    /// Whether the window is larger than when [`SendBuffer::expand`] was called last.
    #[inline]
    pub fn is_outgrown(&self, sk: &TcpSock) -> bool {
        reckoned(sk) > self.segments
    }

    /// `tcp_sndbuf_expand`: room for this many windows.
    pub fn expand(&mut self, sk: &TcpSock, windows: u32) {
        self.segments = self.segments.max(reckoned(sk));
        let wanted = u64::from(windows) * u64::from(reckoned(sk)) * PER_SEGMENT;
        self.size = self.size.max(wanted.min(self.most));
    }

    /// Whether a buffer of the write queue may be begun (`sk_stream_memory_free`).
    #[inline]
    pub fn is_free(&self, queued: Queued) -> bool {
        queued.memory < self.size && queued.unsent < self.lowat
    }

    /// How many buffers of `goal` bytes of payload may be begun, each of which takes `memory` bytes.
    pub fn buffers_free(&self, queued: Queued, goal: u64, memory: u64) -> u64 {
        let by_memory = self.size.saturating_sub(queued.memory).div_ceil(memory);
        by_memory.min(self.lowat.saturating_sub(queued.unsent).div_ceil(goal))
    }

    /// Whether the application is told to go on: a third is free, and less than half of what it may write ahead waits
    /// (`sk_stream_is_writeable`).
    #[inline]
    pub fn is_writable(&self, queued: Queued) -> bool {
        self.has_third(queued.memory) && queued.unsent.saturating_mul(2) < self.lowat
    }

    /// Whether a third is free while all take `memory` bytes.
    #[inline]
    pub fn has_third(&self, memory: u64) -> bool {
        memory < self.size && self.size - memory >= memory / 2
    }
}

/// Segments of a window; the least of them is Linux's constant, whatever the route says (`tcp_sndbuf_expand`).
#[inline]
fn reckoned(sk: &TcpSock) -> u32 {
    INIT_CWND.max(sk.snd_cwnd).max(sk.reordering.saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes that a running kernel told (SO_MEMINFO) for windows of 10, 15 and 33 segments.
    #[test]
    fn the_buffer_holds_two_windows_of_what_segments_take() {
        let mut sk = TcpSock::new();
        let mut buffer = SendBuffer::new(262_144, u64::MAX);
        let sizes = [10, 15, 33, 20].map(|cwnd| {
            sk.snd_cwnd = cwnd;
            buffer.expand(&sk, 2);
            buffer.size
        });
        assert_eq!(sizes, [46_080, 69_120, 152_064, 152_064], "it never shrinks");
    }

    #[test]
    fn the_last_write_is_what_is_left() {
        let mut buffer = SendBuffer::new(262_144, u64::MAX);
        buffer.add(200_000);
        buffer.add(100_000);
        assert_eq!(buffer.next_write(), 262_144);
        buffer.on_written(46_336);
        assert_eq!(buffer.next_write(), 253_664);
        buffer.on_written(253_664);
        assert_eq!(buffer.next_write(), 0);
    }

    #[test]
    fn it_never_exceeds_what_the_host_allows() {
        let mut sk = TcpSock::new();
        let mut buffer = SendBuffer::new(262_144, 100_000);
        sk.snd_cwnd = 1000;
        buffer.expand(&sk, 2);
        assert_eq!(buffer.size, 100_000);
    }

    #[test]
    fn the_application_goes_on_when_a_third_is_free() {
        let mut buffer = SendBuffer::new(262_144, u64::MAX);
        buffer.size = 69_120;
        let of = |memory| Queued { memory, unsent: 0 };
        assert!(buffer.is_writable(of(46_080)) && !buffer.is_writable(of(46_082)));
        assert!(buffer.is_free(of(69_119)) && !buffer.is_free(of(69_120)));
    }

    #[test]
    fn an_application_that_may_stop_writes_16_kb_ahead_and_fills_the_buffer_that_it_began() {
        let mut buffer = SendBuffer::new(262_144, u64::MAX);
        buffer.size = 1_000_000;
        let of = |unsent| Queued { memory: 0, unsent };
        assert!(
            buffer.is_writable(Queued { memory: 100_000, unsent: 60_000 }),
            "others write as much as there is memory for"
        );
        buffer.begin_endless();
        assert!(buffer.is_free(of(16_383)) && !buffer.is_free(of(16_384)));
        assert!(buffer.is_writable(of(8_191)) && !buffer.is_writable(of(8_192)));
        assert_eq!(buffer.buffers_free(of(0), 65_160, 65_736), 1);
        assert_eq!(buffer.buffers_free(of(0), 1_448, 2_304), 12);
        assert_eq!(buffer.next_write(), 262_144);
        buffer.end();
        assert_eq!(buffer.next_write(), 0);
    }
}
