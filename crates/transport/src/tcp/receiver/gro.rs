//! Generic receive offload as an option: segments that arrive back to back are handed up as one
//! (`tcp_gro_receive`, net/ipv4/tcp_offload.c), so that one ACK decision covers all of them.
//!
//! Merged are consecutive segments with the same timestamps and ECN bits, up to 64 kB, that arrive
//! while the interrupt is held back; PSH and anything else ends the run.

use super::Receiver;
use net::host::COALESCE;
use net::packet::SEGMENTS_MAX;
use net::{flags, Ack, Frame, Packet};
use units::Time;

/// Segments that arrived in one piece: their header, which is that of the first packet, and how many.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    pub first: &'a Packet,
    pub count: u32,
    /// Of several: the last one was shorter or had PSH set.
    pub pushed: bool,
}

impl Run<'_> {
    /// One segment, of which its own flags and length are asked.
    #[inline]
    pub fn single(packet: &Packet) -> Run<'_> {
        Run { first: packet, count: 1, pushed: false }
    }

    /// What a packet brings: one segment, or those of a super-packet.
    #[inline]
    pub fn of(packet: &Packet, mss: u32) -> Run<'_> {
        let count = packet.segments();
        let pushed = packet.flags & flags::PUSH != 0 || u32::from(packet.len) < count * mss;
        Run { first: packet, count, pushed }
    }
}

/// A run that is being merged, which outlives the packets that it came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Merged {
    first: Packet,
    count: u32,
    pushed: bool,
}

impl Merged {
    fn run(&self) -> Run<'_> {
        Run { first: &self.first, count: self.count, pushed: self.pushed }
    }

    fn takes(&self, next: Run) -> bool {
        let (a, b) = (&self.first, next.first);
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
    held: Option<Merged>,
    flush_at: Time,
}

impl Default for Gro {
    fn default() -> Self {
        Gro { held: None, flush_at: Time::NEVER }
    }
}

impl Gro {
    /// Takes a segment; returns the run that it ends, if any.
    pub fn offer(&mut self, now: Time, next: Run) -> Option<Merged> {
        if let Some(run) = self.held.as_mut().filter(|run| run.takes(next)) {
            run.count += 1;
            run.pushed = next.pushed;
            return None;
        }
        let ended = self.held.replace(Merged {
            first: *next.first,
            count: next.count,
            pushed: next.pushed,
        });
        self.flush_at = now + COALESCE;
        ended
    }

    /// When the held run goes up.
    pub fn flush_at(&self) -> Time {
        self.flush_at
    }

    /// Hands the held run up.
    pub fn flush(&mut self) -> Option<Merged> {
        self.flush_at = Time::NEVER;
        self.held.take()
    }
}

impl Receiver {
    /// A packet arrives at a network card that merges, or is a super-packet, which stays as it is.
    #[inline(never)]
    pub(super) fn merge(&mut self, now: Time, run: Run, out: &mut Vec<Ack>) {
        let packet = run.first;
        if run.count > 1 {
            self.extent.note(&packet.frame(run.count - 1), self.rcv_wup);
            self.flush_gro(now, out);
            return self.on_merged(now, run, out);
        }
        self.extent.note(packet, self.rcv_wup);
        if let Some(ended) = self.gro.offer(now, run) {
            self.on_merged(now, ended.run(), out);
        }
        // The end of the stream and PSH are not held back.
        if self.extent.is_end(packet.seq + 1) || packet.flags & flags::PUSH != 0 {
            self.flush_gro(now, out);
        }
    }

    /// What is held back comes up.
    pub(super) fn flush_gro(&mut self, now: Time, out: &mut Vec<Ack>) {
        if let Some(ended) = self.gro.flush() {
            self.on_merged(now, ended.run(), out);
        }
    }

    /// [`Receiver::on_run`] out of line, for all runs but single segments that nothing merges.
    #[inline(never)]
    fn on_merged(&mut self, now: Time, run: Run, out: &mut Vec<Ack>) {
        self.on_run(now, run, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(seq: u32, ts_val: u32) -> Packet {
        Packet { flow: 0, seq, ts_val, ts_ecr: 0, len: 1448, ..Packet::default() }
    }

    fn offer(gro: &mut Gro, packet: &Packet) -> Option<Merged> {
        gro.offer(Time::ZERO, Run::of(packet, 1448))
    }

    #[test]
    fn consecutive_segments_of_one_millisecond_merge() {
        let mut gro = Gro::default();
        assert_eq!(offer(&mut gro, &segment(0, 1)), None);
        assert_eq!(offer(&mut gro, &segment(1, 1)), None);
        assert_eq!(offer(&mut gro, &segment(2, 2)).map(|run| run.count), Some(2));
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
        offer(&mut gro, &segment(0, 1));
        assert_eq!(offer(&mut gro, &segment(2, 1)).map(|run| run.count), Some(1));
    }
}
