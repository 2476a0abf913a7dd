//! What the receive buffer holds, and the application that reads it.

use super::super::config::{Device, MSS};
use super::gro::Run;
use super::memory::{pieces, Held};
use super::Receiver;
use units::Time;

impl Receiver {
    /// Bytes in order that no ACK has covered yet.
    pub(super) fn unacked(&self) -> u64 {
        self.stats.delivered_bytes - self.acked_bytes
    }

    /// Payload in the buffer.
    #[inline]
    pub(super) fn held(&self) -> Held {
        Held {
            in_order: self.unread(),
            pieces: self.pieces_up_to(self.rcv_nxt, self.stats.delivered_bytes),
            out_of_order: u64::from(self.ooo.held()) * u64::from(self.config.mss),
            buffers: self.ooo.buffers(),
        }
    }

    /// Number of buffers that hold the in-order unread data before `seq`, which is `bytes` long.
    #[inline]
    fn pieces_up_to(&self, seq: u32, bytes: u64) -> u32 {
        pieces(seq - self.read_seq, self.copied, bytes)
    }

    /// Payload that fits beside these.
    #[inline]
    pub(super) fn free(&self) -> u64 {
        self.window.free(self.memory.used(self.held()))
    }

    /// Bytes in order that the application has not read.
    pub(super) fn unread(&self) -> u64 {
        self.stats.delivered_bytes - self.copied
    }

    /// A run in order, before whose end there are `bytes` bytes: its memory counts, though it is not counted as delivered yet.
    pub(super) fn grow_window_in_order(&mut self, run: Run, bytes: u64) {
        // Of a run that begins before what was acknowledged, the lengths are known from there on.
        let first = run.first.seq.max(self.rcv_wup);
        let len = bytes - self.extent.bytes_up_to(first);
        let held = self.held();
        let pieces = self.pieces_up_to(run.first.seq + run.count, bytes);
        let used = self.memory.used(Held { in_order: held.in_order + len, pieces, ..held });
        debug_assert!(used >= self.unread(), "on_data takes payload as the minimum of memory");
        self.grow_window(len, self.config.device.truesize_joined(len), used);
    }

    /// A segment that has joined no other is not charged yet while the window grows by it (`tcp_data_queue_ofo`). It arrived
    /// after `answers` ACKs.
    pub(super) fn grow_window_out_of_order(
        &mut self,
        run: Run,
        seq: u32,
        has_joined: bool,
        answers: u64,
    ) {
        let (len, device, mut held) = (run.first.len.into(), self.config.device, self.held());
        let mut memory = device.truesize_joined(len);
        if !has_joined || device == Device::Tun {
            memory = device.truesize(len);
            held.out_of_order -= u64::from(self.config.mss);
            held.buffers -= 1;
        }
        let used = self.memory.used(held);
        if self.window.may_grow(used) {
            self.grow_window(len, memory, used);
        }
        self.memory.take_out_of_order(seq, len, answers);
    }

    /// Each packet that makes the window grow is acknowledged at once.
    fn grow_window(&mut self, len: u64, memory: u64, used: u64) {
        if self.window.grow(len, memory, used) {
            self.policy.on_window_growth();
        }
    }

    /// Whether `rcvlowat` bytes or the end of the stream are there, which wakes the application.
    #[inline(always)]
    pub(super) fn is_reader_due(&self) -> bool {
        self.stats.delivered_bytes >= self.wakes_at
    }

    /// Whether something is there and little room for more, which wakes the application, too (`tcp_epollin_ready`): the
    /// window has room for one segment at most, or 7/8 of the buffer's memory are in use (`tcp_rmem_pressure`).
    /// Less than `rcvlowat` in order use that much beside something out of order only, or in a small buffer.
    #[inline(never)]
    pub(super) fn is_room_short(&self) -> bool {
        let delivered = self.stats.delivered_bytes;
        if self.window.left(delivered) <= self.segment.bytes().into() {
            return self.unread() > 0;
        }
        let may_fill = !self.ooo.is_empty() || self.is_small();
        may_fill && self.unread() > 0 && self.window.is_nearly_full(self.memory.used(self.held()))
    }

    /// Whether less than `rcvlowat` may use 7/8 of the buffer.
    fn is_small(&self) -> bool {
        self.config.rcvbuf.1 / 8 < self.config.rcvlowat.into()
    }

    /// A window was offered.
    #[inline]
    pub(super) fn set_may_be_short_from(&mut self) {
        let end = if self.is_small() { 0 } else { self.window.offered_end() };
        self.may_be_short_from = end.saturating_sub(MSS.into());
    }

    /// What the application has read, or where the stream ends, has changed.
    pub(super) fn set_wakes_at(&mut self) {
        self.wakes_at = self.extent.up_to_end(self.copied + u64::from(self.config.rcvlowat));
    }

    /// The application runs, after all packets of the instant that woke it, and reads everything in order.
    pub(super) fn read(&mut self) {
        // The buffer follows what is read once for each buffer of the queue, and the first counts: the others come at the same
        // time (`tcp_rcv_space_adjust`).
        let unread = self.unread();
        let first = self.memory.first(unread);
        let (have, more) = (self.copied + first, unread - first);
        self.window.on_read(self.reads_at, have, more, self.timestamps.read_rtt_us());
        self.copied += unread;
        self.read_seq = self.rcv_nxt;
        self.set_wakes_at();
        self.memory.read();
        self.reads_at = Time::NEVER;
        self.is_ack_left_to_reader = false;
    }

    /// Whether the reader, when it has read everything in order, acknowledges two segments or a push, or tells of a window
    /// that has doubled (`tcp_cleanup_rbuf`).
    pub(super) fn is_ack_of_reader_due(&self) -> bool {
        let unacked = self.unacked();
        let is_emptied = self.ooo.is_empty();
        unacked > 0 && (self.policy.is_due(unacked) || self.policy.is_end_due() && is_emptied)
            || self
                .window
                .is_doubled(self.stats.delivered_bytes, self.memory.used_out_of_order(self.held()))
    }
}
