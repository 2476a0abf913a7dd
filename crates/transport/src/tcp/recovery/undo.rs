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

    /// The ACK that echoes `ts_ecr` (0: it has no timestamp) answers an original transmission (`tcp_packet_delayed`).
    #[inline]
    pub fn is_packet_delayed(&self, ts_ecr: u32) -> bool {
        self.stamp.is_none_or(|stamp| ts_ecr != 0 && (ts_ecr.wrapping_sub(stamp) as i32) < 0)
    }

    /// Whether an ACK that echoes `ts_ecr` shows the reduction to be needless (`tcp_may_undo`).
    pub fn may_undo(&self, ts_ecr: u32) -> bool {
        self.marker.is_some() && (self.retrans == 0 || self.is_packet_delayed(ts_ecr))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::clock::Tick;
    use cca::{Controller, Module, TcpSock};
    use std::collections::BTreeMap;

    /// A reduction began with three retransmissions out; the first of them carried 1000 ms.
    fn begun() -> (Undo, Socket) {
        let module = Module::find("reno").expect("a controller");
        let ca = Controller::new(module, &BTreeMap::new()).expect("defaults are valid");
        let mut sk = Socket::new(TcpSock::new(), ca, Tick::new(1000), 1);
        let mut undo = Undo::default();
        undo.begin(&mut sk, 10, false);
        undo.on_retransmit(3, 1000);
        (undo, sk)
    }

    #[test]
    fn an_older_timestamp_answers_an_original_and_the_same_one_does_not() {
        let (undo, _) = begun();
        assert!(undo.may_undo(999));
        assert!(!undo.may_undo(1000));
    }

    #[test]
    fn a_duplicate_of_every_retransmission_allows_undo_and_fewer_do_not() {
        let (mut undo, _) = begun();
        undo.on_duplicate(11);
        undo.on_duplicates_below(13, 1);
        assert!(!undo.is_all_duplicate());
        undo.on_duplicate(10);
        assert!(!undo.is_all_duplicate(), "it lies below the reduction");
        undo.on_duplicate(14);
        assert!(undo.is_all_duplicate() && undo.may_undo(2000));
    }

    #[test]
    fn without_a_retransmission_duplicates_prove_nothing() {
        let (_, mut sk) = begun();
        let mut undo = Undo::default();
        undo.begin(&mut sk, 10, false);
        undo.on_duplicate(11);
        assert!(!undo.is_all_duplicate());
        undo.begin(&mut sk, 10, true);
        undo.on_duplicate(11);
        assert!(undo.is_all_duplicate(), "the tail loss probe was one");
    }

    #[test]
    fn what_was_cleared_cannot_be_undone() {
        let (mut undo, mut sk) = begun();
        undo.clear(&mut sk);
        assert!(!undo.may_undo(0) && !undo.is_armed() && sk.undo_marker == 0);
    }
}
