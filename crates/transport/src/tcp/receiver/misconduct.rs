//! Receivers that acknowledge otherwise than TCP says, to be sent more than their share (S. Savage et al., "TCP congestion
//! control with a misbehaving receiver", 1999; RFC 9743 section 7.6). What a sender makes of their acknowledgements is
//! the sender's affair: it learns nothing else.
//!
//! They take every segment as it comes and acknowledge each at once: none has a reason to delay.

use super::gro::Run;
use super::Receiver;
use net::{Ack, Frame, Packet, TcpAck};
use units::Time;

/// Ranges that may still come; older ones are missing for good.
const MISSING_MAX: usize = 100_000;

/// What such a receiver does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misconduct {
    /// ACK division: what one acknowledgement would say is said in so many, each for a part of the bytes.
    DividesAcks { pieces: u32 },
    /// Optimistic ACKs: with each segment all before it is acknowledged, whether it came or not, and so many segments
    /// after it.
    AcknowledgesAhead { segments: u32 },
    /// DupACK spoofing: each acknowledgement is followed by so many copies of it.
    RepeatsAcks { copies: u32 },
}

/// One that misbehaves.
#[derive(Debug)]
pub struct Misbehaving {
    how: Misconduct,
    /// Segments of the stream; `u32::MAX` where that is not known.
    segments: u32,
    /// First segment that was never acknowledged.
    promised: u32,
    /// Segments that came since the sender has shown at last that it did not take a promise.
    came: u32,
    /// Segments that were acknowledged and have not come, in ranges, and their bytes: those of full ones.
    missing: Vec<(u32, u32)>,
    missing_bytes: u64,
}

impl Misbehaving {
    pub fn new(how: Misconduct, segments: u32) -> Misbehaving {
        Misbehaving {
            how,
            segments: if segments == 0 { u32::MAX } else { segments },
            promised: 0,
            came: 0,
            missing: Vec::new(),
            missing_bytes: 0,
        }
    }

    /// Whether it goes on where something is missing.
    fn skips(&self) -> bool {
        matches!(self.how, Misconduct::AcknowledgesAhead { .. })
    }

    /// A segment came late; says whether it was missing.
    fn fill(&mut self, seq: u32) -> bool {
        let after = self.missing.partition_point(|&(start, _)| start <= seq);
        let Some(at) = after.checked_sub(1) else { return false };
        let (start, end) = self.missing[at];
        if seq >= end {
            return false;
        }
        match (start == seq, seq + 1 == end) {
            (true, true) => drop(self.missing.remove(at)),
            (true, false) => self.missing[at].0 = seq + 1,
            (false, true) => self.missing[at].1 = seq,
            (false, false) => {
                self.missing[at].1 = seq;
                self.missing.insert(at + 1, (seq + 1, end));
            }
        }
        true
    }

    /// How far it acknowledges with everything before `next`. No sender takes an ACK for what it has not sent, and half of
    /// what came since it refused one is surely under way.
    fn promise(&self, next: u32, most: u32) -> u32 {
        let ahead = most.min(self.came / 2);
        next.saturating_add(ahead).min(self.segments.max(next))
    }
}

impl Receiver {
    /// It misbehaves from now on. Call before the connection opens; `segments` are those of the stream, 0 if that has no end
    /// yet.
    #[must_use]
    pub fn misbehaving(mut self, how: Option<Misconduct>, segments: u32) -> Receiver {
        self.config.delayed_ack &= how.is_none();
        self.config.gro &= how.is_none();
        self.misbehaving = how.map(|how| Box::new(Misbehaving::new(how, segments)));
        self
    }

    /// First segment that it has never acknowledged, whether it has it or not.
    pub fn promised(&self) -> u32 {
        self.misbehaving.as_ref().map_or(self.rcv_nxt, |one| one.promised.max(self.rcv_nxt))
    }

    /// Bytes in order that were acknowledged and have never come.
    pub(super) fn missing_bytes(&self) -> u64 {
        self.misbehaving.as_ref().map_or(0, |one| one.missing_bytes)
    }

    /// Whether nothing is missing of what was acknowledged.
    #[cold]
    pub(super) fn has_all(&self) -> bool {
        self.misbehaving.as_ref().is_none_or(|one| one.missing.is_empty())
    }

    /// The segments of a super-packet, one by one.
    #[cold]
    pub(super) fn take_singly(&mut self, now: Time, packet: &Packet, out: &mut Vec<Ack>) {
        self.stats.packets -= u64::from(packet.segments());
        (0..packet.segments()).for_each(|i| self.on_packet(now, &packet.frame(i), out));
    }

    /// What is missing before `seq` is taken as read; says whether that is done here.
    #[cold]
    pub(super) fn skip_to(&mut self, seq: u32) -> bool {
        let Some(own) = self.misbehaving.as_deref_mut().filter(|own| own.skips()) else {
            return false;
        };
        let bytes = self.extent.bytes_up_to(seq);
        let skipped = bytes - self.stats.delivered_bytes;
        if own.missing.len() == MISSING_MAX {
            // One stays, so that what is missing for good is not forgotten.
            own.missing.drain(1..MISSING_MAX / 2);
        }
        own.missing.push((self.rcv_nxt, seq));
        own.missing_bytes += skipped;
        self.read_seq += seq - self.rcv_nxt;
        self.copied += skipped;
        (self.rcv_nxt, self.stats.delivered_bytes) = (seq, bytes);
        self.set_wakes_at();
        true
    }

    /// A segment came that is acknowledged: it was missing, or shows that the sender has not taken what was promised.
    #[cold]
    pub(super) fn take_late(&mut self, run: Run) {
        let Some(own) = self.misbehaving.as_deref_mut() else { return };
        if own.fill(run.first.seq) {
            // A short one stays missing with what it was taken to have and has not, for the bytes before the ones after it.
            own.missing_bytes -= u64::from(run.first.len);
        } else {
            own.came = 0;
        }
    }

    /// The acknowledgement `ack` as it leaves such a host; the one before was for everything before the segment and the byte
    /// `prior`.
    #[cold]
    pub(super) fn send_misbehaving(
        &mut self,
        ack: TcpAck,
        prior: (u32, u64),
        ecn: u8,
        out: &mut Vec<Ack>,
    ) {
        let before = out.len();
        let Some(own) = self.misbehaving.as_deref_mut() else { return };
        own.came = own.came.saturating_add(ack.ack - prior.0);
        match own.how {
            Misconduct::DividesAcks { pieces } => self.divide(ack, prior, pieces, ecn, out),
            Misconduct::AcknowledgesAhead { segments } => {
                let ack = TcpAck { ack: own.promise(ack.ack, segments), ..ack };
                own.promised = own.promised.max(ack.ack);
                out.push(Ack { ecn, ..ack.into() });
            }
            Misconduct::RepeatsAcks { copies } => {
                out.push(Ack { ecn, ..ack.into() });
                let copy = TcpAck { n_sacks: 0, is_dsack: false, ..ack };
                out.extend((0..copies).map(|_| Ack { ecn, ..copy.into() }));
            }
        }
        self.stats.acks_sent += (out.len() - before) as u64 - 1;
    }

    /// The bytes from `prior` on in so many pieces, the last with all that `ack` says; each leaves the end of the window
    /// where it is.
    fn divide(&self, ack: TcpAck, prior: (u32, u64), pieces: u32, ecn: u8, out: &mut Vec<Ack>) {
        let end = self.stats.delivered_bytes;
        let (mut seq, mut at) = prior;
        for piece in 1..u64::from(pieces) {
            let to = prior.1 + (end - prior.1) * piece / u64::from(pieces);
            if to == at {
                continue;
            }
            at = to;
            while self.extent.bytes_up_to(seq + 1) <= at {
                seq += 1;
            }
            let part = TcpAck {
                ack: seq,
                window: ack.window.saturating_add((end - at) as u32),
                n_sacks: 0,
                is_dsack: false,
                ..ack
            };
            let bytes = (at - self.extent.bytes_up_to(seq)) as u32;
            out.push(Ack { ecn, ..part.with_part(bytes).into() });
        }
        out.push(Ack { ecn, ..ack.into() });
    }
}
