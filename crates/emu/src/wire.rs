//! What the loop measures: each flow's packets as they pass the devices, so that the counts hold for any hosts, its
//! own timeliness, and what happened on the path.

use crate::clock::LoopStats;
use crate::header::{flag, Tcp};
use crate::quinn::Told;
use path::histogram::Histogram;
use path::network::Notice;
use path::probes::ProbeLog;
use record::{PcapWriter, QueueRow};
use units::Time;

/// See the module documentation.
#[derive(Default)]
pub struct Measured {
    /// By flow.
    pub wire: Vec<WireCounters>,
    pub stats: LoopStats,
    /// Headers of all frames that leave and reach senders, where that is wanted.
    pub capture: Option<PcapWriter>,
    pub queue_rows: Vec<QueueRow>,
    pub notices: Vec<TimedNotice>,
    /// By series.
    pub probes: Vec<ProbeLog>,
}

/// What happened to packets of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedNotice {
    pub at: Time,
    pub flow: u32,
    pub notice: Notice,
    pub count: u64,
}

/// Counts of the data connection of one flow.
#[derive(Clone, Debug, Default)]
pub struct WireCounters {
    /// When the first SYN left the sender.
    pub opened: Option<Time>,
    /// When the SYN-ACK reached the sender.
    pub established: Option<Time>,
    /// Data segments that left the sender, retransmissions included.
    pub segments: u64,
    /// Those of them that carry no new data.
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
    /// End of the highest data sent, seq.
    sent: u32,
    /// Bytes acknowledged in order.
    acknowledged: u64,
    /// All that the connection of a finite transfer carries, bytes.
    size: Option<u64>,
    /// What of it opens the connection and is no payload of the transfer, bytes.
    greeting: u64,
    /// Sequence number of the FIN.
    fin: Option<u32>,
}

fn is_after(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

impl WireCounters {
    /// Of a flow whose connection carries `size` bytes, or without end, of which the first ones are a greeting.
    pub fn new(size: Option<u64>, greeting: u64) -> WireCounters {
        WireCounters { size, greeting, ..WireCounters::default() }
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

    /// A segment leaves the receiver; what it acknowledges has arrived in order.
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

    /// The ends of the flow tell what cannot be read on the wire.
    pub fn tell(&mut self, told: &Told) {
        (self.established, self.completed) = (told.established, told.completed);
        (self.acknowledged, self.acks) = (told.delivered_bytes, told.acks_sent);
        let Some(stats) = told.sample.as_ref().map(|sample| &sample.stats) else { return };
        (self.segments, self.bytes) = (stats.path.sent_packets, stats.udp_tx.bytes);
        // Frames are sent again, not packets: as many as were lost.
        self.retransmitted = stats.path.lost_packets;
    }

    /// Whether a finite transfer has begun (its second segment was sent; the first is iperf3's own) and not ended.
    pub fn is_transferring(&self) -> bool {
        self.size.is_some() && self.segments > 1 && self.completed.is_none()
    }

    /// Payload that the receiver has in order, without the greeting, bytes.
    pub fn delivered_bytes(&self) -> u64 {
        self.acknowledged.saturating_sub(self.greeting)
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
    fn opened(size: Option<u64>) -> WireCounters {
        let mut wire = WireCounters::new(size, 0);
        wire.on_data(at(1), &segment(flag::SYN, u32::MAX - 2000, 0, 0));
        wire.on_ack(at(2), &segment(flag::SYN | flag::ACK, 5, u32::MAX - 1999, 0));
        wire.on_answer(at(3), &segment(flag::SYN | flag::ACK, 5, u32::MAX - 1999, 0));
        wire
    }

    const FIRST: u32 = u32::MAX - 1999;

    #[test]
    fn what_was_sent_before_is_a_retransmission_also_across_the_wrap() {
        let mut wire = opened(None);
        for start in [0u32, 1448, 2896, 1448] {
            wire.on_data(at(4), &segment(flag::ACK, FIRST.wrapping_add(start), 6, 1448));
        }
        assert_eq!((wire.segments, wire.retransmitted, wire.bytes), (4, 1, 4 * 1448));
        assert_eq!((wire.opened, wire.established), (Some(at(1)), Some(at(3))));
    }

    #[test]
    fn what_is_acknowledged_in_order_is_delivered_and_the_fin_is_no_byte_of_it() {
        let mut wire = opened(Some(2896));
        wire.on_data(at(4), &segment(flag::ACK, FIRST, 6, 1448));
        wire.on_data(at(4), &segment(flag::ACK | flag::FIN, FIRST.wrapping_add(1448), 6, 1448));
        for (ms, ack, delivered, completed) in [
            (5, 1448, 1448, None),
            (6, 0, 1448, None),
            (7, 2897, 2896, Some(at(7))),
            (9, 2897, 2896, Some(at(7))),
        ] {
            wire.on_ack(at(ms), &segment(flag::ACK, 6, FIRST.wrapping_add(ack), 0));
            assert_eq!((wire.delivered_bytes(), wire.completed), (delivered, completed), "{ms} ms");
        }
        assert_eq!(wire.acks, 4);
    }

    #[test]
    fn a_greeting_is_carried_and_is_no_payload() {
        let mut wire = WireCounters::new(Some(37 + 1448), 37);
        wire.on_data(at(1), &segment(flag::SYN, 0, 0, 0));
        for (ack, delivered, completed) in
            [(1, 0, None), (38, 0, None), (1449, 1411, None), (1486, 1448, Some(at(2)))]
        {
            wire.on_ack(at(2), &segment(flag::ACK, 6, ack, 0));
            assert_eq!((wire.delivered_bytes(), wire.completed), (delivered, completed));
        }
    }
}
