//! The ACK filter: an acknowledgement that a newer one in the same queue makes superfluous is
//! dropped (`cake_ack_filter`, net/sched/sch_cake.c).
//!
//! Only acknowledgements without data set it off here; in Linux any segment with ACK and without SYN
//! does. Of the timestamps the value is compared and the echo is not, which a
//! [`PureAck`] does not hold.

use crate::frame::{Frame, PureAck};
use crate::lists::{List, Place, Slab};
use crate::qdisc::Queued;
use crate::settings::words;

words! {
    /// What the filter does.
    pub enum AckFilter {
        /// Nothing.
        #[default]
        Off = "off",
        /// Drops the older of two superfluous acknowledgements: one of them is left.
        Normal = "on",
        /// Drops a single one too, if it stands directly before the new one.
        Aggressive = "aggressive",
    }
}

/// ECE and CWR of [`PureAck::ecn_flags`]: a change of them tells the sender something.
const ECE_CWR: u8 = 3;

/// A superfluous acknowledgement: the place before it, and its own.
struct Eligible {
    before: Option<Place>,
    place: Place,
    ecn: u8,
}

/// Finds the packet in `queue` that `newest`, which comes after all of them, makes superfluous;
/// `Some(place)` is the place before it, of which there is none before the first.
pub(super) fn superfluous<P: Frame>(
    slab: &Slab<Queued<P>>,
    queue: &List,
    newest: &P,
    filter: AckFilter,
) -> Option<Option<Place>> {
    let new = newest.pure_ack()?;
    let mut eligible: Option<Eligible> = None;
    let mut previous = None;
    let mut found = 0;
    for (place, queued) in slab.iter(queue) {
        let before = previous.replace(place);
        let candidate = &queued.packet;
        if (candidate.flow(), candidate.flow_hash()) != (newest.flow(), newest.flow_hash()) {
            continue;
        }
        let old = candidate.pure_ack();
        // A packet with data has neither flag here; Linux reads them from it as from any other.
        let ecn = old.map_or(0, |ack| ack.ecn_flags & ECE_CWR);
        if eligible.as_ref().is_some_and(|e| e.ecn != ecn) {
            eligible = None;
            found -= 1;
        }
        if !old.is_some_and(|old| is_covered(&old, &new)) {
            continue;
        }
        let first = eligible.get_or_insert(Eligible { before, place, ecn });
        if found > 0 {
            return Some(first.before);
        }
        found += 1;
    }
    let single = eligible.filter(|e| {
        filter == AckFilter::Aggressive
            && previous == Some(e.place)
            && e.ecn == new.ecn_flags & ECE_CWR
    })?;
    Some(single.before)
}

/// Whether `new` says everything that `old` does (`cake_tcph_may_drop` and the checks after it).
fn is_covered(old: &PureAck, new: &PureAck) -> bool {
    let reserved_flag = old.ecn_flags & !ECE_CWR != 0;
    if reserved_flag || is_after(old.ts_val, new.ts_val) || is_after(old.ack, new.ack) {
        return false;
    }
    match compare_sacks(old, new) {
        SackOrder::OldSaysMore => false,
        SackOrder::Same => old.ack != new.ack,
        SackOrder::NewSaysMore => true,
    }
}

enum SackOrder {
    OldSaysMore,
    Same,
    NewSaysMore,
}

/// Compares selective acknowledgements (`cake_tcph_sack_compare`). One that starts below the
/// cumulative acknowledgement reports a duplicate and always says more; a duplicate above it is not
/// told from other ranges.
fn compare_sacks(old: &PureAck, new: &PureAck) -> SackOrder {
    let (olds, news) = (&old.sacks[..old.n_sacks.into()], &new.sacks[..new.n_sacks.into()]);
    match (olds.is_empty(), news.is_empty()) {
        (true, true) => return SackOrder::Same,
        (true, false) => return SackOrder::NewSaysMore,
        (false, true) => return SackOrder::OldSaysMore,
        (false, false) => {}
    }
    let says_more = olds.iter().any(|&(start, end)| {
        let within = |&(s, e): &(u32, u32)| !is_after(s, start) && !is_after(end, e);
        is_after(old.ack, start) || !news.iter().any(within)
    });
    let amount = |sacks: &[(u32, u32)]| {
        sacks.iter().fold(0u32, |sum, &(start, end)| sum.wrapping_add(end.wrapping_sub(start)))
    };
    if says_more {
        SackOrder::OldSaysMore
    } else if amount(news) > amount(olds) {
        SackOrder::NewSaysMore
    } else {
        SackOrder::Same
    }
}

/// Order of sequence numbers, which wrap (`after`, include/net/tcp.h).
fn is_after(a: u32, b: u32) -> bool {
    (b.wrapping_sub(a) as i32) < 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Ack, TcpAck};
    use units::Time;

    /// Puts the acknowledgements into a queue one after the other and returns what is left.
    fn filtered(filter: AckFilter, acks: &[TcpAck]) -> Vec<u32> {
        let acks: Vec<Ack> = acks.iter().map(|&ack| ack.into()).collect();
        filtered_packets(filter, &acks)
    }

    fn filtered_packets(filter: AckFilter, acks: &[Ack]) -> Vec<u32> {
        let mut slab = Slab::default();
        let mut queue = List::default();
        for &packet in acks {
            if let Some(before) = superfluous(&slab, &queue, &packet, filter) {
                slab.remove_after(&mut queue, before);
            }
            slab.push_back(&mut queue, Queued { since: Time::ZERO, packet });
        }
        slab.iter(&queue).map(|(_, queued)| queued.packet.tcp().ack).collect()
    }

    fn ack(ack: u32) -> TcpAck {
        TcpAck { ack, ..TcpAck::default() }
    }

    fn sack(ack: u32, start: u32, end: u32) -> TcpAck {
        TcpAck { ack, n_sacks: 1, sacks: [(start, end), (0, 0), (0, 0)], ..TcpAck::default() }
    }

    #[test]
    fn normal_leaves_one_superfluous_acknowledgement() {
        assert_eq!(filtered(AckFilter::Normal, &[ack(1), ack(2)]), [1, 2]);
        assert_eq!(filtered(AckFilter::Normal, &[ack(1), ack(2), ack(3)]), [2, 3]);
        assert_eq!(filtered(AckFilter::Normal, &[ack(1), ack(2), ack(3), ack(4)]), [3, 4]);
    }

    #[test]
    fn aggressive_leaves_none() {
        assert_eq!(filtered(AckFilter::Aggressive, &[ack(1), ack(2), ack(3)]), [3]);
    }

    #[test]
    fn aggressive_takes_a_single_one_only_directly_before() {
        let other = Ack { flow: 1, ..ack(7).into() };
        let acks = [ack(1).into(), other, ack(2).into()];
        assert_eq!(filtered_packets(AckFilter::Aggressive, &acks), [1, 7, 2]);
    }

    #[test]
    fn duplicate_acknowledgements_stay() {
        assert_eq!(filtered(AckFilter::Aggressive, &[ack(5), ack(5), ack(5)]), [5, 5, 5]);
    }

    #[test]
    fn sack_ranges_that_the_new_one_lacks_stay() {
        assert_eq!(filtered(AckFilter::Aggressive, &[sack(1, 5, 9), ack(2)]), [1, 2]);
        assert_eq!(filtered(AckFilter::Aggressive, &[sack(1, 5, 9), sack(1, 6, 12)]), [1, 1]);
        assert_eq!(filtered(AckFilter::Aggressive, &[sack(1, 5, 9), sack(1, 5, 10)]), [1]);
        assert_eq!(filtered(AckFilter::Aggressive, &[sack(1, 5, 9), sack(2, 5, 9)]), [2]);
    }

    #[test]
    fn a_dsack_is_never_dropped() {
        let dsack = TcpAck { is_dsack: true, ..sack(10, 3, 4) };
        let covering = TcpAck { is_dsack: true, ..sack(11, 3, 4) };
        assert_eq!(filtered(AckFilter::Aggressive, &[dsack, covering]), [10, 11]);
    }

    #[test]
    fn a_change_of_ece_keeps_both_sides_of_it() {
        let ece = |n| TcpAck { ece: true, ..ack(n) };
        // In normal mode the change makes 1 uneligible and 2 the first of a pair with 3.
        assert_eq!(filtered(AckFilter::Normal, &[ack(1), ece(2), ece(3)]), [1, 2, 3]);
        assert_eq!(filtered(AckFilter::Normal, &[ack(1), ece(2), ece(3), ece(4)]), [1, 3, 4]);
        assert_eq!(filtered(AckFilter::Aggressive, &[ack(1), ece(2)]), [1, 2]);
    }

    #[test]
    fn a_newer_timestamp_or_acknowledgement_stays() {
        let newer = TcpAck { ts_val: 9, ..ack(1) };
        assert_eq!(
            filtered(AckFilter::Aggressive, &[newer, TcpAck { ts_val: 8, ..ack(2) }]),
            [1, 2]
        );
        assert_eq!(filtered(AckFilter::Aggressive, &[ack(3), ack(2)]), [3, 2]);
        assert_eq!(filtered(AckFilter::Aggressive, &[ack(u32::MAX), ack(0)]), [0]);
    }
}
