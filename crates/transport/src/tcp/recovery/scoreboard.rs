//! The scoreboard: what SACK blocks say about the retransmission queue
//! (`tcp_sacktag_write_queue` and what it calls in net/ipv4/tcp_input.c).
//!
//! A block usually repeats what an earlier ACK said; the blocks of the previous ACK are remembered and
//! only what they did not cover is walked, so that an ACK costs what it newly reports.

use super::super::ack_state::{flag, AckState};
use super::super::rtx_queue::{
    RtxQueue, APP_LIMITED, EVER_RETRANS, LOST, RETRANS, SACKED, SAMPLED,
};
use super::rack::{sent_after, Rack};
use super::undo::Undo;
use crate::common::rate::Sampler;
use crate::common::{Socket, Stamps};
use net::TcpAck;

/// Most reordering that is believed (`sysctl_tcp_max_reordering`), segments.
const MAX_REORDERING: u32 = 300;

/// Bytes that SACKed segments in one buffer stay below by at least one (`tcp_skb_shift`).
const JOINED_MAX: u32 = 65_535 * 8 - 1;

/// What the sender remembers of SACK blocks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scoreboard {
    /// One past the highest SACKed segment.
    high_sack: u32,
    /// Blocks of the previous ACK, ascending.
    cache: [(u32, u32); 4],
    /// Segments reported as duplicates so far.
    dsack_dups: u32,
    /// The receiver dropped data that it had SACKed, and the recovery from that is not over.
    pub is_reneged: bool,
}

/// What the blocks of one ACK act on.
pub struct Tagged<'a> {
    pub sk: &'a mut Socket,
    pub rtx: &'a mut RtxQueue,
    pub rack: &'a mut Rack,
    pub undo: &'a mut Undo,
    pub st: &'a mut AckState,
    /// What recovery reacts to was sent before this segment.
    pub high_seq: u32,
    /// End of the tail loss probe that is out.
    pub probe_end: Option<u32>,
}

impl Scoreboard {
    /// Tags what the ACK's blocks report.
    pub fn tag(&mut self, ack: &TcpAck, on: &mut Tagged<'_>) {
        on.st.reord = on.rtx.nxt();
        if on.sk.sacked_out == 0 {
            self.high_sack = on.rtx.una();
        }
        let is_dsack = self.check_dsack(ack, on);
        if on.sk.packets_out == 0 {
            return;
        }
        let mut ranges = [(0u32, 0u32); 4];
        let mut count = 0;
        for (i, &(start, end)) in ack.sack_blocks().iter().enumerate() {
            let dup = i == 0 && is_dsack;
            let (start, end) = (start.max(on.rtx.una()), end.min(on.rtx.nxt()));
            if start >= end {
                continue;
            }
            if dup {
                (start..end).for_each(|seq| self.tag_one(seq, true, on));
            } else {
                ranges[count] = (start, end);
                count += 1;
            }
        }
        ranges[..count].sort_unstable();
        for &(start, end) in &ranges[..count] {
            self.tag_new(start, end, on);
        }
        self.cache = ranges;
    }

    /// Tags the parts of a block that the previous ACK's blocks did not cover.
    fn tag_new(&mut self, start: u32, end: u32, on: &mut Tagged<'_>) {
        let mut from = start;
        for (cached_start, cached_end) in self.cache {
            if cached_start >= end || cached_end <= from {
                continue;
            }
            if cached_start > from {
                self.tag_unsacked(from, cached_start, on);
            }
            from = from.max(cached_end);
        }
        if from < end {
            self.tag_unsacked(from, end, on);
        }
    }

    /// `tcp_sacktag_walk`.
    fn tag_unsacked(&mut self, start: u32, end: u32, on: &mut Tagged<'_>) {
        let mut seq = start;
        while let Some(next) = on.rtx.next_unsacked(seq, end) {
            self.tag_one(next, false, on);
            seq = next + 1;
        }
        on.rtx.join_sacked(start, end, JOINED_MAX / on.sk.mss_cache);
    }

    /// `tcp_sacktag_one` for one segment.
    fn tag_one(&mut self, seq: u32, dup: bool, on: &mut Tagged<'_>) {
        let mut flags = on.rtx.flags(seq);
        if dup && flags & (RETRANS | EVER_RETRANS) != 0 {
            on.undo.on_duplicate(seq + 1);
            if flags & SACKED != 0 {
                on.st.reord = on.st.reord.min(seq);
            }
        }
        if flags & SACKED == 0 {
            flags = self.tag_delivered(seq, flags, on);
        }
        if dup && flags & RETRANS != 0 {
            flags &= !RETRANS;
            on.sk.retrans_out -= 1;
        }
        on.rtx.set_flags(seq, flags);
        if flags & SACKED != 0 {
            sample_delivery(&mut on.st.sampler, on.sk, on.rtx.stamps(seq), seq, flags);
            on.rtx.set_flags(seq, flags | SAMPLED);
            on.rtx.unlink(seq);
            self.high_sack = self.high_sack.max(seq + 1);
        }
    }

    /// A segment is SACKed for the first time; returns its new flags.
    fn tag_delivered(&mut self, seq: u32, mut flags: u8, on: &mut Tagged<'_>) -> u8 {
        let tx_us = on.rtx.stamps(seq).tx_us;
        let (sk, st) = (&mut *on.sk, &mut *on.st);
        on.rack.advance(sk, flags, seq + 1, tx_us);
        if flags & RETRANS != 0 {
            if flags & LOST != 0 {
                flags &= !(LOST | RETRANS);
                sk.lost_out -= 1;
                sk.retrans_out -= 1;
            }
        } else {
            if flags & EVER_RETRANS == 0 {
                if seq < self.highest(sk, on.rtx) {
                    st.reord = st.reord.min(seq);
                }
                if seq < on.high_seq {
                    st.flag |= flag::ORIG_SACK_ACKED;
                }
                st.first_sackt.get_or_insert(tx_us);
                st.last_sackt = tx_us;
            }
            if flags & LOST != 0 {
                flags &= !LOST;
                sk.lost_out -= 1;
            }
        }
        st.flag |= flag::DATA_SACKED;
        sk.sacked_out += 1;
        st.sack_delivered += 1;
        flags | SACKED
    }

    /// End of the highest SACKed segment, or the first unacknowledged one.
    #[inline]
    pub fn highest(&self, sk: &Socket, rtx: &RtxQueue) -> u32 {
        if sk.sacked_out == 0 {
            rtx.una()
        } else {
            self.high_sack
        }
    }

    /// `tcp_check_dsack`: whether the first block reports a duplicate that we sent.
    fn check_dsack(&mut self, ack: &TcpAck, on: &mut Tagged<'_>) -> bool {
        let blocks = ack.sack_blocks();
        let (start, end) = blocks[0];
        let below = start < ack.ack;
        let inside = blocks.len() > 1 && end <= blocks[1].1 && start >= blocks[1].0;
        if start >= end || !(below || inside) {
            return false;
        }
        let dups = end - start;
        if dups > 1 && dups > on.sk.max_window / on.sk.mss_cache {
            return false;
        }
        let is_probe = dups == 1 && on.probe_end == Some(end);
        if is_probe {
            on.st.flag |= flag::DSACK_TLP;
        }
        self.dsack_dups += dups;
        if self.dsack_dups > on.sk.total_retrans {
            return false;
        }
        if on.sk.reord_seen > 0 && !is_probe {
            on.rack.on_dsack();
        }
        on.st.flag |= flag::DSACKING_ACK;
        on.st.sack_delivered += dups;
        if end <= on.st.prior_una {
            on.undo.on_duplicates_below(end, dups);
        }
        true
    }

    /// `tcp_check_sack_reordering`: `low` was delivered after higher segments. The segments in between are shorter than full
    /// ones by `missing` bytes, given both ends.
    pub fn check_reordering(
        &self,
        sk: &mut Socket,
        rtx: &RtxQueue,
        low: u32,
        missing: impl FnOnce(u32, u32) -> u64,
    ) {
        let fack = self.highest(sk, rtx);
        if low >= fack {
            return;
        }
        let mss = u64::from(sk.mss_cache);
        let distance = (u64::from(fack - low) * mss - missing(low, fack)).div_ceil(mss) as u32;
        if distance > sk.reordering {
            sk.reordering = distance.min(MAX_REORDERING);
        }
        sk.reord_seen = sk.reord_seen.saturating_add(1);
    }

    /// Forgets every SACK mark (the receiver reneged).
    pub fn forget(&mut self, sk: &mut Socket, rtx: &mut RtxQueue) {
        for seq in rtx.una()..rtx.nxt() {
            let flags = rtx.flags(seq);
            rtx.set_flags(seq, flags & !SACKED);
        }
        sk.sacked_out = 0;
        self.cache = [(0, 0); 4];
        self.is_reneged = true;
    }
}

/// A segment with these stamps was (s)acked: the most recently sent one defines the rate sample (`tcp_rate_skb_delivered`).
#[inline]
pub fn sample_delivery(sampler: &mut Sampler, sk: &mut Socket, s: &Stamps, seq: u32, flags: u8) {
    if flags & SAMPLED != 0 {
        return;
    }
    let newest = sk.first_tx_mstamp as u32;
    if sampler.last().is_none_or(|last| sent_after(s.tx_us, newest, seq + 1, last)) {
        sampler.take(sk, s, seq + 1);
        sampler.rs.is_app_limited = flags & APP_LIMITED != 0;
        sampler.rs.is_retrans = flags & (EVER_RETRANS | RETRANS) != 0;
    }
}
