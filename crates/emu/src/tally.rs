//! What a flow's packets say about its connection: seen from the wire, so that it holds whatever the
//! hosts are.

use crate::header::{flag, Tcp};
use path::histogram::Histogram;
use units::Time;

/// Counts of one flow's data connection.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// When the first SYN left the sender.
    pub opened: Option<Time>,
    /// When the SYN-ACK reached the sender.
    pub established: Option<Time>,
    /// Data segments that left the sender, retransmissions included.
    pub segments: u64,
    /// Of these, those that say nothing new.
    pub retransmitted: u64,
    /// Their payload, bytes.
    pub bytes: u64,
    /// Acknowledgements without data.
    pub acks: u64,
    /// When all of a finite transfer was acknowledged.
    pub completed: Option<Time>,
    /// Times from the sender's device to the receiver's.
    pub one_way: Histogram,
    /// First sequence number of data.
    first: u32,
    /// Behind the highest sent, and behind the highest acknowledged.
    sent: u32,
    acknowledged: u64,
    /// What a finite transfer has to deliver, bytes.
    size: Option<u64>,
    /// Number of the FIN.
    fin: Option<u32>,
}

fn is_after(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

impl Tally {
    /// A flow that is to deliver `size` bytes, if that is finite.
    pub fn new(size: Option<u64>) -> Tally {
        Tally { size, ..Tally::default() }
    }

    /// A segment leaves the sender.
    pub fn on_data(&mut self, now: Time, tcp: &Tcp) {
        if tcp.has(flag::SYN) {
            self.opened.get_or_insert(now);
            self.first = tcp.seq.wrapping_add(1);
            self.sent = self.first;
            return;
        }
        if tcp.has(flag::FIN) {
            self.fin = Some(tcp.seq.wrapping_add(tcp.payload));
        }
        if tcp.payload == 0 {
            return;
        }
        let end = tcp.seq.wrapping_add(tcp.payload);
        self.segments += 1;
        self.bytes += u64::from(tcp.payload);
        if is_after(end, self.sent) {
            self.sent = end;
        } else {
            self.retransmitted += 1;
        }
    }

    /// A segment leaves the receiver, which has got all bytes in order that it acknowledges.
    pub fn on_ack(&mut self, now: Time, tcp: &Tcp) {
        if tcp.flags & (flag::SYN | flag::RST) != 0 || !tcp.has(flag::ACK) || self.opened.is_none()
        {
            return;
        }
        self.acks += u64::from(tcp.payload == 0);
        let fin = u32::from(self.fin.is_some_and(|fin| is_after(tcp.ack, fin)));
        let before = self.first.wrapping_add(self.acknowledged as u32);
        let more = tcp.ack.wrapping_sub(fin).wrapping_sub(before);
        if (more as i32) > 0 {
            self.acknowledged += u64::from(more);
        }
        if self.completed.is_none() && self.size.is_some_and(|size| self.acknowledged >= size) {
            self.completed = Some(now);
        }
    }

    /// A segment of the receiver reaches the sender.
    pub fn on_answer(&mut self, now: Time, tcp: &Tcp) {
        if tcp.has(flag::SYN | flag::ACK) {
            self.established.get_or_insert(now);
        }
    }

    /// Whether a finite transfer has begun, past the first segment (iperf3's own), and not ended.
    pub fn is_halfway(&self) -> bool {
        self.size.is_some() && self.segments > 1 && self.completed.is_none()
    }

    /// Payload that the receiver has in order, bytes.
    pub fn delivered_bytes(&self) -> u64 {
        self.acknowledged
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::from_ns(ms * 1_000_000)
    }

    fn segment(flags: u16, seq: u32, ack: u32, payload: u32) -> Tcp {
        Tcp::plain(flags, seq, ack, payload)
    }

    /// A connection whose data begins close below the wrap of sequence numbers.
    fn opened(size: Option<u64>) -> Tally {
        let mut tally = Tally::new(size);
        tally.on_data(at(1), &segment(flag::SYN, u32::MAX - 2000, 0, 0));
        tally.on_ack(at(2), &segment(flag::SYN | flag::ACK, 5, u32::MAX - 1999, 0));
        tally.on_answer(at(3), &segment(flag::SYN | flag::ACK, 5, u32::MAX - 1999, 0));
        tally
    }

    const FIRST: u32 = u32::MAX - 1999;

    #[test]
    fn what_was_sent_before_is_a_retransmission_also_across_the_wrap() {
        let mut tally = opened(None);
        for start in [0u32, 1448, 2896, 1448] {
            tally.on_data(at(4), &segment(flag::ACK, FIRST.wrapping_add(start), 6, 1448));
        }
        assert_eq!((tally.segments, tally.retransmitted, tally.bytes), (4, 1, 4 * 1448));
        assert_eq!((tally.opened, tally.established), (Some(at(1)), Some(at(3))));
    }

    #[test]
    fn what_is_acknowledged_in_order_is_delivered_and_the_fin_is_no_byte_of_it() {
        let mut tally = opened(Some(2896));
        tally.on_data(at(4), &segment(flag::ACK, FIRST, 6, 1448));
        tally.on_data(at(4), &segment(flag::ACK | flag::FIN, FIRST.wrapping_add(1448), 6, 1448));
        for (ms, ack, delivered, completed) in [
            (5, 1448, 1448, None),
            (6, 0, 1448, None),
            (7, 2897, 2896, Some(at(7))),
            (9, 2897, 2896, Some(at(7))),
        ] {
            tally.on_ack(at(ms), &segment(flag::ACK, 6, FIRST.wrapping_add(ack), 0));
            assert_eq!(
                (tally.delivered_bytes(), tally.completed),
                (delivered, completed),
                "{ms} ms"
            );
        }
        assert_eq!(tally.acks, 4);
    }
}
