//! First in, first out: `bfifo`, `pfifo` and `pfifo_head_drop` (net/sched/sch_fifo.c).

use super::{Cause, Next, Outcome, Qdisc, Queued};
use crate::frame::Frame;
use crate::settings::{settings, Refused, Settings, QUEUE_BYTES, QUEUE_PACKETS};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use units::{Bytes, Time};

/// What the limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// `bfifo`: a packet is admitted when backlog plus its own length is at most this.
    Bytes(Bytes),
    /// `pfifo`: a packet is admitted while fewer than this many are queued.
    Packets(u64),
}

/// How it is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Config {
    /// How much it holds.
    pub limit: Limit,
    /// At the limit the oldest packets make room, instead of refusing the new one. Linux has this
    /// with a limit in packets only; here it goes with both.
    pub head_drop: bool,
}

settings! {
    /// Drop tail, or drop head (`bfifo`, `pfifo`, `pfifo_head_drop`).
    pub struct Written for "fifo" {
        /// Wire bytes that it holds.
        limit_bytes "limit_bytes": Option<Bytes> [QUEUE_BYTES, Queue] = None;
        /// Packets that it holds.
        limit_packets "limit_packets": Option<u64> [QUEUE_PACKETS, Queue] = None;
        /// The oldest packet makes room for a new one, as in pfifo_head_drop.
        head_drop "head_drop": bool = false;
    }
}

impl TryFrom<Written> for Config {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<Config, Self::Error> {
        let limit = match (written.limit_bytes, written.limit_packets) {
            (Some(bytes), None) => Limit::Bytes(bytes),
            (None, Some(packets)) => Limit::Packets(packets),
            _ => return Err("exactly one of limit_bytes and limit_packets must be given"),
        };
        Ok(Config { limit, head_drop: written.head_drop })
    }
}

impl From<Config> for Written {
    fn from(config: Config) -> Written {
        let (limit_bytes, limit_packets) = match config.limit {
            Limit::Bytes(bytes) => (Some(bytes), None),
            Limit::Packets(packets) => (None, Some(packets)),
        };
        Written { limit_bytes, limit_packets, head_drop: config.head_drop }
    }
}

impl Config {
    /// Refuses a limit out of range.
    ///
    /// # Errors
    /// The limit.
    pub fn check(self) -> Result<(), Refused> {
        Written::from(self).check()
    }
}

/// See the module documentation.
#[derive(Debug)]
pub struct Fifo<P> {
    config: Config,
    queue: VecDeque<Queued<P>>,
    backlog: u64,
}

impl<P: Frame> Fifo<P> {
    /// An empty queue.
    pub fn new(config: Config) -> Self {
        Fifo { config, queue: VecDeque::new(), backlog: 0 }
    }

    fn admits(&self, len: u64) -> bool {
        match self.config.limit {
            Limit::Bytes(limit) => self.backlog + len <= limit.get(),
            Limit::Packets(limit) => (self.queue.len() as u64) < limit,
        }
    }

    fn take(&mut self) -> Option<Queued<P>> {
        let head = self.queue.pop_front()?;
        self.backlog -= head.packet.wire_bytes().get();
        Some(head)
    }
}

impl<P: Frame> Qdisc<P> for Fifo<P> {
    #[inline]
    fn enqueue(&mut self, now: Time, packet: P, outcome: &mut Outcome<P>) {
        let len = packet.wire_bytes().get();
        while self.config.head_drop && !self.admits(len) {
            match self.take() {
                Some(oldest) => outcome.drop(oldest.packet, Cause::Overflow),
                None => break,
            }
        }
        if self.admits(len) {
            self.backlog += len;
            self.queue.push_back(Queued { since: now, packet });
        } else {
            outcome.drop(packet, Cause::Overflow);
        }
    }

    #[inline]
    fn dequeue(&mut self, _now: Time, _outcome: &mut Outcome<P>) -> Option<Queued<P>> {
        self.take()
    }

    fn backlog(&self) -> Bytes {
        Bytes::new(self.backlog)
    }

    fn len(&self) -> usize {
        self.queue.len()
    }

    #[inline]
    fn peek(&mut self, _now: Time, _outcome: &mut Outcome<P>) -> Option<Next<P>> {
        self.queue.front().map(|head| Next::InQueue(head.packet.wire_bytes()))
    }

    fn wakes(&self) -> bool {
        false
    }

    fn head_since(&self) -> Option<Time> {
        self.queue.front().map(|head| head.since)
    }

    fn for_each(&self, each: &mut dyn FnMut(&P)) {
        self.queue.iter().for_each(|q| each(&q.packet));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Packet;

    fn offer(limit: Limit, head_drop: bool) -> (Vec<u32>, Vec<u32>) {
        let mut queue = Fifo::new(Config { limit, head_drop });
        let mut outcome = Outcome::default();
        for seq in 0..5 {
            let packet = Packet { seq, len: 1448, ..Packet::default() };
            queue.enqueue(Time::ZERO, packet, &mut outcome);
        }
        let mut kept = Vec::new();
        while let Some(head) = queue.dequeue(Time::ZERO, &mut outcome) {
            kept.push(head.packet.seq);
        }
        assert_eq!(queue.backlog(), Bytes::ZERO);
        (kept, outcome.drops.iter().map(|(p, _)| p.seq).collect())
    }

    #[test]
    fn a_full_queue_refuses_what_comes() {
        assert_eq!(offer(Limit::Packets(3), false), (vec![0, 1, 2], vec![3, 4]));
        assert_eq!(offer(Limit::Bytes(Bytes::new(2 * 1514)), false), (vec![0, 1], vec![2, 3, 4]));
    }

    #[test]
    fn with_head_drop_the_oldest_make_room() {
        assert_eq!(offer(Limit::Packets(3), true), (vec![2, 3, 4], vec![0, 1]));
    }

    #[test]
    fn a_limit_of_nothing_drops_everything() {
        assert_eq!(offer(Limit::Packets(0), true), (vec![], vec![0, 1, 2, 3, 4]));
    }
}
