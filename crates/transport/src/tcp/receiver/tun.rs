//! The buffers that hold what came from a tunnel. Each segment has one, unless the segment before it left room behind its
//! data: then the kernel copies it there (`skb_try_coalesce`), and its own buffer is free again.
//!
//! Packetdrill listens on the device: until it has taken an answer of the host from there, it shares the buffers of all
//! segments that came since the answer before, and the kernel copies nothing into a shared buffer.

use super::super::config::Device;
use std::collections::{BTreeMap, VecDeque};

/// Segments that follow each other, in one buffer.
#[derive(Debug, PartialEq, Eq)]
struct Buffer {
    /// The segment after the last one.
    end: u32,
    /// Payload, bytes.
    len: u64,
    memory: u64,
    /// Free bytes behind the payload.
    room: u64,
    /// Answers of the host before it came.
    answers: u64,
}

impl Buffer {
    fn new(end: u32, len: u64, answers: u64) -> Buffer {
        let (memory, room) = (Device::Tun.truesize(len), Device::room_in_tun(len));
        Buffer { end, len, memory, room, answers }
    }

    /// Copies a buffer behind this one, which begins with segment `start`, if that is possible.
    fn join(&mut self, start: u32, next: &Buffer, answers: u64) -> bool {
        let is_shared = self.answers == answers;
        if is_shared || self.end != start || self.room < next.len {
            return false;
        }
        self.end = next.end;
        self.len += next.len;
        self.room -= next.len;
        true
    }
}

/// See the module documentation.
#[derive(Debug, Default)]
pub struct Tun {
    in_order: VecDeque<Buffer>,
    /// By their first segment.
    out_of_order: BTreeMap<u32, Buffer>,
    /// Memory of both, bytes.
    in_order_bytes: u64,
    out_of_order_bytes: u64,
    /// Answers of the host before the last segment in order came.
    answers: u64,
}

impl Tun {
    /// Segments from `start` to before `end` with `len` bytes came in order, after `answers` answers of the host.
    pub fn take_in_order(&mut self, (start, end): (u32, u32), len: u64, answers: u64) {
        self.answers = answers;
        self.append(start, Buffer::new(end, len, answers));
    }

    /// Segment `seq` with `len` bytes came out of order, after `answers` answers of the host.
    pub fn take_out_of_order(&mut self, seq: u32, len: u64, answers: u64) {
        let buffer = Buffer::new(seq + 1, len, answers);
        let before = self.out_of_order.range_mut(..seq).next_back();
        if before.is_some_and(|(_, before)| before.join(seq, &buffer, answers)) {
            return;
        }
        self.out_of_order_bytes += buffer.memory;
        self.out_of_order.insert(seq, buffer);
    }

    /// All that begins before segment `next` is in order now (`tcp_ofo_queue`).
    pub fn advance(&mut self, next: u32) {
        while let Some(first) = self.out_of_order.first_entry().filter(|e| *e.key() < next) {
            let (start, buffer) = first.remove_entry();
            self.out_of_order_bytes -= buffer.memory;
            // What came again in order meanwhile is dropped.
            if self.in_order.back().is_none_or(|last| last.end < buffer.end) {
                self.append(start, buffer);
            }
        }
    }

    fn append(&mut self, start: u32, buffer: Buffer) {
        let last = self.in_order.back_mut();
        if !last.is_some_and(|last| last.join(start, &buffer, self.answers)) {
            self.in_order_bytes += buffer.memory;
            self.in_order.push_back(buffer);
        }
    }

    /// The application has read everything in order.
    pub fn read(&mut self) {
        self.in_order.clear();
        self.in_order_bytes = 0;
    }

    /// Payload of the first buffer that the application reads, bytes.
    pub fn first(&self) -> u64 {
        self.in_order.front().map_or(0, |buffer| buffer.len)
    }

    /// Memory of what is in order and not read, and of what is out of order, bytes.
    pub fn used(&self) -> (u64, u64) {
        (self.in_order_bytes, self.out_of_order_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_segment_is_copied_behind_the_one_before_if_there_is_room() {
        // Seed 5246 of the differential's `rcv-odd`: Linux 6.18 has 6976 bytes of memory for these eight, not 9088, and offers a
        // window of 2093664 bytes after them.
        let mut tun = Tun::default();
        for (i, len) in [116, 143, 562, 227, 1036, 29, 390].into_iter().enumerate() {
            tun.take_out_of_order(6 + i as u32, len, i as u64);
        }
        assert_eq!(tun.used(), (0, 6976));
    }

    #[test]
    fn nothing_is_copied_into_a_buffer_that_packetdrill_still_has() {
        let mut tun = Tun::default();
        tun.take_out_of_order(1, 1036, 4);
        tun.take_out_of_order(2, 29, 4);
        assert_eq!(tun.used(), (0, 2304 + 832));
    }

    #[test]
    fn what_was_out_of_order_is_copied_behind_what_came_later_once_it_is_in_order() {
        let mut tun = Tun::default();
        tun.take_out_of_order(2, 100, 1);
        tun.take_out_of_order(1, 1036, 2);
        assert_eq!(tun.used(), (0, 832 + 2304));
        // Segment 0 is shared with packetdrill when the others move behind it.
        tun.take_in_order((0, 1), 1000, 3);
        tun.advance(3);
        assert_eq!((tun.used(), tun.first()), ((2 * 2304, 0), 1000));
        tun.read();
        assert_eq!((tun.used(), tun.first()), ((0, 0), 0));
    }

    #[test]
    fn what_is_not_the_next_segment_is_not_copied() {
        let mut tun = Tun::default();
        tun.take_out_of_order(1, 1036, 1);
        tun.take_out_of_order(3, 29, 2);
        assert_eq!(tun.used(), (0, 2304 + 832));
    }
}
