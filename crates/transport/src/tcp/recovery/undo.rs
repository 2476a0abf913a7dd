//! What tells that a reduction was needless: timestamps (Eifel, RFC 3522 and 4015) and reported duplicates (DSACK,
//! RFC 3708), as `tcp_may_undo` and its kin in net/ipv4/tcp_input.c judge.

use crate::common::Socket;

/// The reduction that may be undone, and its retransmissions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Undo {
    /// First unacknowledged segment when the reduction began; `None`: nothing can be undone.
    marker: Option<u32>,
    /// Retransmissions that no DSACK has reported as duplicates yet; -1: none was made (`undo_retrans`).
    retrans: i32,
    /// Timestamp of the first retransmission of the episode, ms (`retrans_stamp`).
    stamp: Option<u32>,
}

impl Undo {
    /// A reduction begins while `una` is the first unacknowledged segment (`tcp_init_undo`); a tail loss probe
    /// that was a retransmission counts as one.
    pub fn begin(&mut self, sk: &mut Socket, una: u32, is_probe_retrans: bool) {
        self.marker = Some(una);
        sk.undo_marker = sk.snd_una;
        let made = sk.retrans_out as i32 + i32::from(is_probe_retrans);
        self.retrans = if made == 0 { -1 } else { made };
    }

    /// Nothing can be undone any more.
    pub fn clear(&mut self, sk: &mut Socket) {
        self.marker = None;
        sk.undo_marker = 0;
    }

    /// Whether there is a reduction that may be undone.
    #[inline]
    pub fn is_armed(&self) -> bool {
        self.marker.is_some()
    }

    /// `n` segments were sent again; the first of them carried timestamp `at_ms`.
    pub fn on_retransmit(&mut self, n: u32, at_ms: u32) {
        self.stamp.get_or_insert(at_ms);
        self.retrans = self.retrans.max(0) + n as i32;
    }

    /// No retransmission is outstanding: the next one begins an episode.
    pub fn forget_stamp(&mut self) {
        self.stamp = None;
    }

    /// A DSACK reports the segment before `end`, which was retransmitted and is not acknowledged cumulatively.
    pub fn on_duplicate(&mut self, end: u32) {
        if self.marker.is_some_and(|marker| end > marker) && self.retrans > 0 {
            self.retrans -= 1;
        }
    }

    /// A DSACK reports `dups` segments before `end`, all below the ones that were unacknowledged before.
    pub fn on_duplicates_below(&mut self, end: u32, dups: u32) {
        if self.retrans > 0 && self.marker.is_some_and(|marker| end > marker) {
            self.retrans = (self.retrans - dups as i32).max(0);
        }
    }

    /// All retransmissions were reported as duplicates.
    #[inline]
    pub fn is_all_duplicate(&self) -> bool {
        self.marker.is_some() && self.retrans == 0
    }

    /// The ACK that echoes `ts_ecr` answers an original transmission (`tcp_packet_delayed`).
    #[inline]
    pub fn is_packet_delayed(&self, ts_ecr: u32) -> bool {
        self.stamp.is_none_or(|stamp| (ts_ecr.wrapping_sub(stamp) as i32) < 0)
    }

    /// Whether an ACK that echoes `ts_ecr` shows the reduction to be needless (`tcp_may_undo`).
    pub fn may_undo(&self, ts_ecr: u32) -> bool {
        self.marker.is_some() && (self.retrans == 0 || self.is_packet_delayed(ts_ecr))
    }
}
