//! The retransmission queue: what was sent and is not yet cumulatively acknowledged.
//!
//! One ring slot per segment, addressed by sequence number, so that every look-up is an index and
//! nothing is allocated while the window does not grow. Three views of the same segments:
//!
//! - by sequence: the ring itself, and two bit maps (`sacked`, `pending`) that skip 64 segments a step;
//! - by time of the last transmission: a doubly linked list through the slots (`tsorted_sent_queue`
//!   of `tcp_output.c`), which RACK walks; SACKed segments and ones marked lost are not in it.

#[cfg(test)]
mod tests;

use crate::common::Stamps;
use net::fetch::fetch;

/// The segment was selectively acknowledged (`TCPCB_SACKED_ACKED`).
pub const SACKED: u8 = 1;
/// A retransmission of it is in flight (`TCPCB_SACKED_RETRANS`).
pub const RETRANS: u8 = 2;
/// It is deemed lost (`TCPCB_LOST`).
pub const LOST: u8 = 4;
/// It was retransmitted at some time (`TCPCB_EVER_RETRANS`).
pub const EVER_RETRANS: u8 = 8;
/// It was first of a send (a new `skb` begins here).
pub const SKB_START: u8 = 16;
/// The flow was application-limited when it was sent.
pub const APP_LIMITED: u8 = 32;
/// Its rate-sample stamps were used (`tx.delivered_mstamp = 0`).
pub const SAMPLED: u8 = 64;
/// It is linked into the time-sorted list.
const LINKED: u8 = 128;

const NIL: u32 = u32::MAX;

/// Room for segments that the first one makes. It is small, because with thousands of flows, which have few segments under way,
/// all that is written in turn has to stay in the processor's cache.
const ROOM_FIRST: usize = 8;
/// Segments of which a word of the bit maps tells.
const WORD: u32 = u64::BITS;

#[derive(Clone, Copy)]
struct Slot {
    stamps: Stamps,
    prev: u32,
    next: u32,
    flags: u8,
}

const EMPTY: Slot = Slot {
    stamps: Stamps {
        tx_us: 0,
        first_tx_us: 0,
        delivered_us: 0,
        delivered: 0,
        delivered_ce: 0,
        lost: 0,
        in_flight: 0,
    },
    prev: NIL,
    next: NIL,
    flags: 0,
};

/// A word of each bit map.
#[derive(Clone, Copy, Default)]
struct Maps {
    sacked: u64,
    pending: u64,
}

/// See the module documentation.
pub struct RtxQueue {
    slots: Vec<Slot>,
    maps: Vec<Maps>,
    mask: u32,
    una: u32,
    nxt: u32,
    head: u32,
    tail: u32,
    /// No pending segment lies below this one.
    pending_from: u32,
    /// Buffers (skbs) that the segments are in.
    buffers: u32,
    /// First segment of the buffer that SACKed segments joined last, and one past the last of these.
    joined: (u32, u32),
}

/// What [`RtxQueue::pop_plain`] removed.
#[derive(Clone, Copy, Debug)]
pub struct Plain {
    /// How many.
    pub segments: u32,
    /// When the first of them was sent, us.
    pub first_tx_us: u32,
    /// Stamps of the last.
    pub stamps: Stamps,
    /// State bits of the last.
    pub flags: u8,
}

impl RtxQueue {
    /// An empty queue, which takes no memory before the first segment.
    pub fn new() -> RtxQueue {
        RtxQueue {
            slots: Vec::new(),
            maps: Vec::new(),
            mask: 0,
            una: 0,
            nxt: 0,
            head: NIL,
            tail: NIL,
            pending_from: 0,
            buffers: 0,
            joined: (0, 0),
        }
    }

    /// First unacknowledged segment.
    #[inline]
    pub fn una(&self) -> u32 {
        self.una
    }

    /// Next segment never sent.
    #[inline]
    pub fn nxt(&self) -> u32 {
        self.nxt
    }

    /// Whether nothing is outstanding.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.una == self.nxt
    }

    /// Buffers (skbs) that the outstanding segments are in.
    #[inline]
    pub fn buffers(&self) -> u32 {
        self.buffers
    }

    #[inline]
    fn index(&self, seq: u32) -> usize {
        debug_assert!(
            seq >= self.una && seq < self.nxt,
            "{seq} outside {}..{}",
            self.una,
            self.nxt
        );
        (seq & self.mask) as usize
    }

    /// Asks for the memory of the first segments, of the next ones to send, and of the bit maps of the first.
    #[inline]
    pub fn fetch(&self) {
        for seq in [self.una, self.una + 1, self.nxt, self.nxt + 1] {
            if let Some(slot) = self.slots.get((seq & self.mask) as usize) {
                fetch(slot);
            }
        }
        if let Some(maps) = self.maps.get(word(self.una, self.mask)) {
            fetch(maps);
        }
    }

    /// State bits of a segment.
    #[inline]
    pub fn flags(&self, seq: u32) -> u8 {
        self.slots[self.index(seq)].flags & !LINKED
    }

    /// Stamps of its last transmission.
    #[inline]
    pub fn stamps(&self, seq: u32) -> &Stamps {
        &self.slots[self.index(seq)].stamps
    }

    /// State bits and stamps of the first segment.
    #[inline]
    pub fn first(&self) -> (u8, Stamps) {
        let slot = &self.slots[self.index(self.una)];
        (slot.flags & !LINKED, slot.stamps)
    }

    /// Replaces the state bits, and keeps the bit maps in step with them.
    #[inline]
    pub fn set_flags(&mut self, seq: u32, flags: u8) {
        let i = self.index(seq);
        let slot = &mut self.slots[i];
        slot.flags = flags & !LINKED | slot.flags & LINKED;
        let bit = bit(seq);
        let maps = &mut self.maps[word(seq, self.mask)];
        if flags & SACKED != 0 {
            maps.sacked |= bit;
        } else {
            maps.sacked &= !bit;
        }
        if flags & (LOST | RETRANS | SACKED) == LOST {
            maps.pending |= bit;
            self.pending_from = self.pending_from.min(seq);
        } else {
            maps.pending &= !bit;
        }
    }

    /// Appends `n` segments that were just sent for the first time, in one buffer; `flags` are set on each. Each counts
    /// itself and the ones before as in flight, beyond `stamps.in_flight`.
    #[inline]
    pub fn push(&mut self, stamps: Stamps, n: u32, flags: u8) {
        while (self.nxt - self.una + n) as usize > self.slots.len() {
            self.grow();
        }
        let first = self.nxt;
        assert!(first < NIL - n, "a flow is limited to 2^32 segments");
        let room = self.slots.len();
        match self.tail {
            NIL => self.head = first,
            tail => self.slots[tail as usize & (room - 1)].next = first,
        }
        let (mut prev, mut flags) = (self.tail, flags | LINKED | SKB_START);
        for k in 0..n {
            let stamps = Stamps { in_flight: stamps.in_flight + k + 1, ..stamps };
            let next = if k + 1 < n { first + k + 1 } else { NIL };
            self.slots[(first + k) as usize & (room - 1)] = Slot { stamps, prev, next, flags };
            (prev, flags) = (first + k, flags & !SKB_START);
        }
        self.tail = prev;
        self.nxt = first + n;
        self.buffers += 1;
    }

    /// Records a transmission: new stamps, last in the time-sorted list.
    fn restamp(&mut self, seq: u32, stamps: Stamps) {
        let i = self.index(seq);
        self.slots[i].stamps = stamps;
        self.unlink(seq);
        self.link_tail(seq);
    }

    /// Removes the first segment (cumulatively acknowledged).
    #[inline]
    pub fn pop_front(&mut self) {
        let i = self.index(self.una);
        let flags = self.slots[i].flags;
        if flags & LINKED != 0 {
            self.unlink(self.una);
        }
        if flags & (SACKED | LOST) != 0 {
            let maps = &mut self.maps[word(self.una, self.mask)];
            maps.sacked &= !bit(self.una);
            maps.pending &= !bit(self.una);
        }
        self.una += 1;
        if self.is_empty() || self.flags(self.una) & SKB_START != 0 {
            self.buffers -= 1;
        }
    }

    /// Removes the segments before `end` from the front that were sent once, in order, and that nothing was heard of since:
    /// without loss all of them. They need not be looked at one by one, as the one sent last tells all that they do. `None`
    /// where the first one is no such segment.
    #[inline]
    pub fn pop_plain(&mut self, end: u32) -> Option<Plain> {
        const NOTHING_HEARD: u8 = SACKED | RETRANS | LOST | EVER_RETRANS | SAMPLED | LINKED;
        let first = self.una;
        let room = self.slots.len();
        let (mut seq, mut next, mut starts) = (first, self.head, 0);
        let mut last = None;
        while seq < end && next == seq {
            let slot = &self.slots[seq as usize & (room - 1)];
            if slot.flags & NOTHING_HEARD != LINKED {
                break;
            }
            starts += u32::from(slot.flags & SKB_START != 0);
            next = slot.next;
            last = Some(slot);
            seq += 1;
        }
        let last = last?;
        let first_slot = &self.slots[first as usize & (room - 1)];
        let plain = Plain {
            segments: seq - first,
            first_tx_us: first_slot.stamps.tx_us,
            stamps: last.stamps,
            flags: last.flags & !LINKED,
        };
        // Every buffer but the one that the first segment is in begins behind it.
        self.buffers -= starts - u32::from(first_slot.flags & SKB_START != 0);
        self.una = seq;
        self.head = next;
        match next {
            NIL => self.tail = NIL,
            next => self.slots[next as usize & (room - 1)].prev = NIL,
        }
        if self.is_empty() || self.flags(seq) & SKB_START != 0 {
            self.buffers -= 1;
        }
        Some(plain)
    }

    /// A block of an ACK SACKs the segments from `seq` to `end`: buffers are cut at both ends (`tcp_match_skb_to_sack`), and what
    /// follows a SACKed segment becomes part of its buffer, as long as that has no more than `most` segments, unless a
    /// retransmission of either is still out (`tcp_shift_skb_data`; segments count as full ones).
    pub fn join_sacked(&mut self, seq: u32, end: u32, most: u32) {
        let mut at = seq;
        while at < end {
            let next = self.next_start(at + 1, end);
            let joins = self.joins(at, next, most);
            self.set_start(at, !joins);
            if next == end && end < self.nxt {
                // A hole that is filled joins both sides.
                let joins_next = joins && self.joins(end, self.next_start(end + 1, self.nxt), most);
                self.set_start(end, !joins_next);
            }
            at = next;
        }
    }

    /// First segment at or after `from` with which a buffer begins; `end` where there is none before it.
    fn next_start(&self, from: u32, end: u32) -> u32 {
        (from..end).find(|&seq| self.is_start(seq)).unwrap_or(end)
    }

    /// Whether the SACKed segments from `seq` to `end` can be part of the buffer before them.
    fn joins(&mut self, seq: u32, end: u32, most: u32) -> bool {
        if seq == self.una || !self.is_plainly_sacked(seq - 1) || !self.is_plainly_sacked(seq) {
            return false;
        }
        let (mut start, known_to) = self.joined;
        if known_to != seq || start < self.una {
            start = (self.una..seq).rev().find(|&i| self.is_start(i)).unwrap_or(self.una);
        }
        if end - start > most {
            return false;
        }
        self.joined = (start, end);
        true
    }

    fn is_start(&self, seq: u32) -> bool {
        self.flags(seq) & SKB_START != 0
    }

    fn is_plainly_sacked(&self, seq: u32) -> bool {
        self.flags(seq) & (SACKED | RETRANS | LOST) == SACKED
    }

    /// Whether a buffer begins with this segment.
    fn set_start(&mut self, seq: u32, is_start: bool) {
        if self.is_start(seq) == is_start {
            return;
        }
        self.set_flags(seq, self.flags(seq) ^ SKB_START);
        if seq > self.una {
            self.buffers = if is_start { self.buffers + 1 } else { self.buffers - 1 };
        }
    }

    /// Segments from `seq` that are one buffer (`skb`) still: sent together, and alike since.
    pub fn burst_at(&self, seq: u32) -> u32 {
        const ALIKE: u8 = LOST | RETRANS | SACKED;
        let flags = self.flags(seq) & ALIKE;
        let mut end = seq + 1;
        while end < self.nxt && self.flags(end) & (SKB_START | ALIKE) == flags {
            end += 1;
        }
        end - seq
    }

    /// Pending segments from `seq` that were sent in one piece, at most `most`.
    pub fn pending_run(&self, seq: u32, most: u32) -> u32 {
        let mut n = 1;
        while n < most && seq + n < self.nxt {
            let flags = self.flags(seq + n);
            if flags & SKB_START != 0 || flags & (LOST | RETRANS | SACKED) != LOST {
                break;
            }
            n += 1;
        }
        n
    }

    /// Makes the `n` segments from `seq` one buffer, cutting what reaches beyond them (`tcp_fragment`), and records
    /// their retransmission with `stamps`; `bits` are set on each. Each counts itself and the ones before as in
    /// flight, beyond `stamps.in_flight`.
    pub fn resend(&mut self, seq: u32, n: u32, stamps: Stamps, bits: u8) {
        let end = seq + n;
        let inside = (seq + 1..end).filter(|&i| self.is_start(i)).count() as u32;
        let is_cut_before = seq != self.una && !self.is_start(seq);
        let is_cut_after = end < self.nxt && !self.is_start(end);
        self.buffers += u32::from(is_cut_before) + u32::from(is_cut_after);
        self.buffers -= inside;
        if is_cut_after {
            self.set_flags(end, self.flags(end) | SKB_START);
        }
        for (sent, i) in (1..).zip(seq..end) {
            let start = if i == seq { SKB_START } else { 0 };
            let kept = self.flags(i) & !(APP_LIMITED | SAMPLED | SKB_START);
            self.set_flags(i, kept | EVER_RETRANS | start | bits);
            self.restamp(i, Stamps { in_flight: stamps.in_flight + sent, ..stamps });
        }
    }

    /// Oldest transmission that is neither SACKed nor marked lost.
    #[inline]
    pub fn oldest(&self) -> Option<u32> {
        (self.head != NIL).then_some(self.head)
    }

    /// The one sent next after `seq`.
    #[inline]
    pub fn sent_after(&self, seq: u32) -> Option<u32> {
        let next = self.slots[self.index(seq)].next;
        (next != NIL).then_some(next)
    }

    /// First segment at or after `from` and before `end` that is not SACKed.
    pub fn next_unsacked(&self, from: u32, end: u32) -> Option<u32> {
        self.next_bit(from, end.min(self.nxt), |maps| !maps.sacked)
    }

    /// First segment that is lost and not yet retransmitted.
    pub fn next_pending(&mut self) -> Option<u32> {
        let from = self.pending_from.max(self.una);
        let found = self.next_bit(from, self.nxt, |maps| maps.pending);
        self.pending_from = found.unwrap_or(self.nxt);
        found
    }

    /// Takes `seq` out of the time-sorted list, if it is there.
    pub fn unlink(&mut self, seq: u32) {
        let i = self.index(seq);
        let slot = &mut self.slots[i];
        if slot.flags & LINKED == 0 {
            return;
        }
        slot.flags &= !LINKED;
        let Slot { prev, next, .. } = *slot;
        match prev {
            NIL => self.head = next,
            p => self.slots[(p & self.mask) as usize].next = next,
        }
        match next {
            NIL => self.tail = prev,
            n => self.slots[(n & self.mask) as usize].prev = prev,
        }
    }

    fn link_tail(&mut self, seq: u32) {
        let i = self.index(seq);
        let slot = &mut self.slots[i];
        slot.flags |= LINKED;
        (slot.prev, slot.next) = (self.tail, NIL);
        self.follow_tail(seq);
    }

    /// What refers to the tail refers to this segment now.
    #[inline]
    fn follow_tail(&mut self, seq: u32) {
        match self.tail {
            NIL => self.head = seq,
            t => self.slots[(t & self.mask) as usize].next = seq,
        }
        self.tail = seq;
    }

    fn grow(&mut self) {
        let len = (2 * self.slots.len()).max(ROOM_FIRST);
        let (old, mask) = (self.mask, len as u32 - 1);
        let mut slots = vec![EMPTY; len];
        let mut maps = vec![Maps::default(); len.div_ceil(WORD as usize)];
        for seq in self.una..self.nxt {
            slots[(seq & mask) as usize] = self.slots[(seq & old) as usize];
            let (from, to) = (self.maps[word(seq, old)], &mut maps[word(seq, mask)]);
            to.sacked |= from.sacked & bit(seq);
            to.pending |= from.pending & bit(seq);
        }
        (self.slots, self.maps, self.mask) = (slots, maps, mask);
    }

    /// First segment in `from..end` whose bit is set in what `of` makes of the bit maps.
    fn next_bit(&self, from: u32, end: u32, of: impl Fn(&Maps) -> u64) -> Option<u32> {
        let mut seq = from;
        while seq < end {
            let begin = seq % WORD;
            let bits = of(&self.maps[word(seq, self.mask)]) >> begin;
            if bits != 0 {
                let found = seq + bits.trailing_zeros();
                return (found < end).then_some(found);
            }
            seq += WORD - begin;
        }
        None
    }
}

impl Default for RtxQueue {
    fn default() -> Self {
        Self::new()
    }
}

/// Which word of the bit maps tells of a segment. Queues with less room than a word has bits have one word, in which no two
/// of their segments have the same bit either.
#[inline]
fn word(seq: u32, mask: u32) -> usize {
    ((seq & mask) / WORD) as usize
}

/// The bit of a segment in its word.
#[inline]
fn bit(seq: u32) -> u64 {
    1 << (seq % WORD)
}
