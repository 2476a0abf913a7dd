//! Generic receive offload as an option: segments that arrive back to back are handed up as one
//! (`tcp_gro_receive`, net/ipv4/tcp_offload.c), so that one ACK decision covers all of them.
//!
//! Merged are consecutive segments with the same timestamps and ECN bits, up to 64 kB, that arrive
//! while the interrupt is held back; PSH and anything else ends the run.

use net::host::COALESCE;
use net::packet::SEGMENTS_MAX;
use net::{flags, Packet};
use units::Time;

/// Segments that arrived in one piece: their header, which is that of the first packet, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    pub first: Packet,
    pub count: u32,
    /// The last one was shorter or had PSH set.
    pub pushed: bool,
}

impl Run {
    /// What a packet brings: one segment, or those of a super-packet.
    pub fn of(packet: &Packet, mss: u32) -> Run {
        let count = packet.segments();
        let pushed = packet.flags & flags::PUSH != 0 || u32::from(packet.len) < count * mss;
        Run { first: *packet, count, pushed }
    }

    fn takes(&self, next: &Run) -> bool {
        let (a, b) = (&self.first, &next.first);
        !self.pushed
            && self.count < SEGMENTS_MAX
            && a.seq + self.count == b.seq
            && (a.ts_val, a.ts_ecr, a.ecn) == (b.ts_val, b.ts_ecr, b.ecn)
            && b.flags & flags::CWR == 0
    }
}

/// What is being merged.
#[derive(Debug)]
pub struct Gro {
    held: Option<Run>,
    flush_at: Time,
}

impl Default for Gro {
    fn default() -> Self {
        Gro { held: None, flush_at: Time::NEVER }
    }
}

impl Gro {
    /// Takes a segment; returns the run that it ends, if any.
    pub fn offer(&mut self, now: Time, next: Run) -> Option<Run> {
        if let Some(run) = self.held.as_mut().filter(|run| run.takes(&next)) {
            run.count += 1;
            run.pushed = next.pushed;
            return None;
        }
        let ended = self.held.replace(next);
        self.flush_at = now + COALESCE;
        ended
    }

    /// When the held run goes up.
    pub fn flush_at(&self) -> Time {
        self.flush_at
    }

    /// Hands the held run up.
    pub fn flush(&mut self) -> Option<Run> {
        self.flush_at = Time::NEVER;
        self.held.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(seq: u32, ts_val: u32) -> Run {
        Run::of(&Packet { flow: 0, seq, ts_val, ts_ecr: 0, len: 1448, ..Packet::default() }, 1448)
    }

    #[test]
    fn consecutive_segments_of_one_millisecond_merge() {
        let mut gro = Gro::default();
        assert_eq!(gro.offer(Time::ZERO, segment(0, 1)), None);
        assert_eq!(gro.offer(Time::ZERO, segment(1, 1)), None);
        assert_eq!(gro.offer(Time::ZERO, segment(2, 2)).map(|run| run.count), Some(2));
        assert_eq!(gro.flush().map(|run| (run.first.seq, run.count)), Some((2, 1)));
    }

    #[test]
    fn a_super_packet_is_a_run_by_itself() {
        let whole = Packet { len: 3 * 1448, ..Packet::default() };
        let run = Run::of(&whole, 1448);
        assert_eq!((run.count, run.pushed), (3, false));
        let short = Packet { len: 2 * 1448 + 1, ..whole };
        let run = Run::of(&short, 1448);
        assert_eq!((run.count, run.pushed), (3, true));
    }

    #[test]
    fn a_hole_ends_the_run() {
        let mut gro = Gro::default();
        gro.offer(Time::ZERO, segment(0, 1));
        assert_eq!(gro.offer(Time::ZERO, segment(2, 1)).map(|run| run.count), Some(1));
    }
}
