//! The scoreboard: what SACK blocks say about the retransmission queue
//! (`tcp_sacktag_write_queue` and what it calls in net/ipv4/tcp_input.c).
//!
//! A block usually repeats what an earlier ACK said; the blocks of the previous ACK are remembered and
//! only what they did not cover is walked, so that an ACK costs what it newly reports.

use super::ack::{flag, AckState};
use super::rtx_queue::{EVER_RETRANS, LOST, RETRANS, SACKED};
use super::sender::Sender;
use cca::CaState;
use net::Ack;

/// Most reordering that is believed (`sysctl_tcp_max_reordering`), segments.
const MAX_REORDERING: u32 = 300;

impl Sender {
    /// Tags what the ACK's blocks report.
    pub(super) fn sack_tag(&mut self, ack: &Ack, prior_una: u32, st: &mut AckState) {
        st.reord = self.rtx.nxt();
        if self.sk.sacked_out == 0 {
            self.high_sack = self.rtx.una();
        }
        let blocks = ack.sack_blocks();
        let is_dsack = self.check_dsack(ack, prior_una, st);
        if self.sk.packets_out == 0 {
            return;
        }
        let mut ranges = [(0u32, 0u32); 4];
        let mut count = 0;
        for (i, &(start, end)) in blocks.iter().enumerate() {
            let dup = i == 0 && is_dsack;
            let (start, end) = (start.max(self.rtx.una()), end.min(self.rtx.nxt()));
            if start >= end {
                continue;
            }
            if dup {
                self.tag_range(start, end, true, st);
            } else {
                ranges[count] = (start, end);
                count += 1;
            }
        }
        ranges[..count].sort_unstable();
        for &(start, end) in &ranges[..count] {
            self.tag_new(start, end, st);
        }
        self.sack_cache = ranges;
        if self.ca_state() != CaState::Loss || self.undo_marker.is_some() {
            self.check_reordering(st.reord);
        }
    }

    /// Tags the parts of a block that the previous ACK's blocks did not cover.
    fn tag_new(&mut self, start: u32, end: u32, st: &mut AckState) {
        let mut from = start;
        for (cached_start, cached_end) in self.sack_cache {
            if cached_start >= end || cached_end <= from {
                continue;
            }
            if cached_start > from {
                self.tag_range(from, cached_start, false, st);
            }
            from = from.max(cached_end);
        }
        if from < end {
            self.tag_range(from, end, false, st);
        }
    }

    fn tag_range(&mut self, start: u32, end: u32, dup: bool, st: &mut AckState) {
        let mut seq = start;
        while seq < end {
            if !dup {
                match self.rtx.next_unsacked(seq, end) {
                    Some(next) => seq = next,
                    None => return,
                }
            }
            self.tag_one(seq, dup, st);
            seq += 1;
        }
    }

    /// `tcp_sacktag_one` for one segment.
    fn tag_one(&mut self, seq: u32, dup: bool, st: &mut AckState) {
        let mut flags = self.rtx.flags(seq);
        if dup && flags & (RETRANS | EVER_RETRANS) != 0 {
            if self.undo_marker.is_some_and(|m| seq + 1 > m) && self.undo_retrans > 0 {
                self.undo_retrans -= 1;
            }
            if flags & SACKED != 0 {
                st.reord = st.reord.min(seq);
            }
        }
        if flags & SACKED == 0 {
            flags = self.tag_delivered(seq, flags, st);
        }
        if dup && flags & RETRANS != 0 {
            flags &= !RETRANS;
            self.sk.retrans_out -= 1;
        }
        self.rtx.set_flags(seq, flags);
        if flags & SACKED != 0 {
            self.rate_delivered(seq, flags, &mut st.sampler);
            self.rtx.unlink(seq);
            self.high_sack = self.high_sack.max(seq + 1);
        }
    }

    /// A segment is SACKed for the first time; returns its new flags.
    fn tag_delivered(&mut self, seq: u32, mut flags: u8, st: &mut AckState) -> u8 {
        let tx_us = self.rtx.stamps(seq).tx_us;
        self.rack_advance(flags, seq + 1, tx_us);
        if flags & RETRANS != 0 {
            if flags & LOST != 0 {
                flags &= !(LOST | RETRANS);
                self.sk.lost_out -= 1;
                self.sk.retrans_out -= 1;
            }
        } else {
            if flags & EVER_RETRANS == 0 {
                if seq < self.highest_sack() {
                    st.reord = st.reord.min(seq);
                }
                if seq < self.high_seq {
                    st.flag |= flag::ORIG_SACK_ACKED;
                }
                st.first_sackt.get_or_insert(tx_us);
                st.last_sackt = tx_us;
            }
            if flags & LOST != 0 {
                flags &= !LOST;
                self.sk.lost_out -= 1;
            }
        }
        st.flag |= flag::DATA_SACKED;
        self.sk.sacked_out += 1;
        st.sack_delivered += 1;
        flags | SACKED
    }

    /// End of the highest SACKed segment, or the first unacknowledged one.
    pub(super) fn highest_sack(&self) -> u32 {
        if self.sk.sacked_out == 0 {
            self.rtx.una()
        } else {
            self.high_sack
        }
    }

    /// `tcp_check_dsack`: whether the first block reports a duplicate that we sent.
    fn check_dsack(&mut self, ack: &Ack, prior_una: u32, st: &mut AckState) -> bool {
        let blocks = ack.sack_blocks();
        let (start, end) = blocks[0];
        let below = start < ack.ack;
        let inside = blocks.len() > 1 && end <= blocks[1].1 && start >= blocks[1].0;
        if start >= end || !(below || inside) {
            return false;
        }
        let dups = end - start;
        if dups > 1 && dups > self.sk.max_window / self.config.mss {
            return false;
        }
        let is_probe = dups == 1 && self.tlp_high_seq == Some(end);
        if is_probe {
            st.flag |= flag::DSACK_TLP;
        }
        self.dsack_dups += dups;
        if self.dsack_dups > self.sk.total_retrans {
            return false;
        }
        if self.reord_seen > 0 && !is_probe {
            self.rack.dsack_seen = true;
        }
        st.flag |= flag::DSACKING_ACK;
        st.sack_delivered += dups;
        if self.undo_retrans > 0 && end <= prior_una && self.undo_marker.is_some_and(|m| end > m) {
            self.undo_retrans = (self.undo_retrans - dups as i32).max(0);
        }
        true
    }

    /// `tcp_check_sack_reordering`: `low` was delivered after higher segments.
    pub(super) fn check_reordering(&mut self, low: u32) {
        let fack = self.highest_sack();
        if low >= fack {
            return;
        }
        let distance = fack - low;
        if distance > self.sk.reordering {
            self.sk.reordering = distance.min(MAX_REORDERING);
        }
        self.reord_seen += 1;
        self.sk.reord_seen = 1;
    }

    /// Forgets every SACK mark (the receiver reneged).
    pub(super) fn forget_sacks(&mut self) {
        for seq in self.rtx.una()..self.rtx.nxt() {
            let flags = self.rtx.flags(seq);
            self.rtx.set_flags(seq, flags & !SACKED);
        }
        self.sk.sacked_out = 0;
        self.sack_cache = [(0, 0); 4];
    }
}
