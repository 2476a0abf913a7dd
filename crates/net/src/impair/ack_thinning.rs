//! Thinning of acknowledgements, as home gateways, cable modems and WiFi drivers do it: of a row of
//! acknowledgements, only each n-th goes on while more follow soon.

use crate::frame::{Frame, PureAck};
use crate::qdisc::{Cause, Outcome};
use crate::settings::{settings, DELAYS};
use std::collections::VecDeque;
use units::{Span, Time};

settings! {
    /// Of consecutive acknowledgements only each n-th continues.
    pub struct ThinningConfig for "thin" {
        /// n: number of acknowledgements that one replaces.
        every "every": u32 [1..=1 << 31];
        /// The longest that one waits for others.
        hold "hold_ns": Span [DELAYS] = Span::ZERO;
    }
}

/// The last acknowledgement of a flow, waiting for a newer one.
#[derive(Debug)]
struct Held<P> {
    flow: u32,
    packet: P,
    /// How many acknowledgements it stands for, itself included.
    stands_for: u32,
    until: Time,
}

/// See the module documentation.
///
/// An acknowledgement is dropped only where the next one of its flow says all that it said: more data
/// acknowledged, the same ECN bits, no SACK block on it. Any other packet of the flow sends the held one
/// on ahead of itself, so that the order stays.
#[derive(Debug)]
pub struct AckThinning<P> {
    config: ThinningConfig,
    /// One a flow at most, in the order in which they were first held.
    held: VecDeque<Held<P>>,
    /// What goes on, and since when it may.
    ready: VecDeque<(Time, P)>,
}

impl<P: Frame> AckThinning<P> {
    /// A part that holds nothing yet.
    ///
    /// # Panics
    /// If each zeroth acknowledgement shall pass.
    pub fn new(config: ThinningConfig) -> Self {
        assert!(config.every > 0, "every n-th acknowledgement passes, n at least 1");
        AckThinning { config, held: VecDeque::new(), ready: VecDeque::new() }
    }

    /// Puts a packet in at `now`; an older acknowledgement may be dropped for it.
    pub fn push(&mut self, now: Time, packet: P, outcome: &mut Outcome<P>) {
        self.expire(now);
        let flow = packet.flow();
        let older = self.held.iter().position(|h| h.flow == flow);
        let mut stands_for = 1;
        let mut until = now + self.config.hold;
        if let Some(older) = older.and_then(|i| self.held.remove(i)) {
            if supersedes(packet.pure_ack(), older.packet.pure_ack()) {
                stands_for = older.stands_for + 1;
                until = older.until;
                outcome.drop(older.packet, Cause::Superseded);
            } else {
                self.ready.push_back((now, older.packet));
            }
        }
        if packet.pure_ack().is_none() || stands_for >= self.config.every {
            self.ready.push_back((now, packet));
        } else {
            let held = Held { flow, packet, stands_for, until };
            let place = self.held.partition_point(|h| h.until <= until);
            self.held.insert(place, held);
        }
    }

    /// When the next packet goes on; a time that has passed means at once.
    pub fn next_wakeup(&self) -> Option<Time> {
        let ready = self.ready.front().map(|&(since, _)| since);
        ready.or_else(|| self.held.front().map(|h| h.until))
    }

    /// Takes the next packet that goes on by `now`.
    pub fn pop(&mut self, now: Time) -> Option<P> {
        self.expire(now);
        self.ready.pop_front().map(|(_, packet)| packet)
    }

    /// Packets inside, in no particular order.
    pub fn items(&self) -> impl Iterator<Item = &P> {
        self.held.iter().map(|h| &h.packet).chain(self.ready.iter().map(|(_, packet)| packet))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.held.len() + self.ready.len()
    }

    /// Whether nothing is inside.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Lets go whose time is up.
    fn expire(&mut self, now: Time) {
        while self.held.front().is_some_and(|h| h.until <= now) {
            self.ready.extend(self.held.pop_front().map(|h| (h.until, h.packet)));
        }
    }
}

/// Whether the newer acknowledgement says all that the older one said.
fn supersedes(newer: Option<PureAck>, older: Option<PureAck>) -> bool {
    let (Some(newer), Some(older)) = (newer, older) else { return false };
    let ahead = newer.ack.wrapping_sub(older.ack) as i32 > 0;
    ahead && newer.ecn_flags == older.ecn_flags && older.n_sacks == 0 && !older.is_dsack
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Ack, AckKind, TcpAck};

    fn ms(n: u64) -> Time {
        Time::from_ns(n * 1_000_000)
    }

    fn ack(flow: u32, ack: u32) -> Ack {
        Ack { flow, ..TcpAck { ack, ..TcpAck::default() }.into() }
    }

    /// What goes on (when, in ms, and which), and what is dropped.
    fn thin(every: u32, input: &[(u64, Ack)]) -> (Vec<(u64, Ack)>, Vec<u32>) {
        let mut part = AckThinning::new(ThinningConfig { every, hold: Span::from_ms(5) });
        let (mut out, mut outcome) = (Vec::new(), Outcome::default());
        for t in 0..100 {
            while let Some(ack) = part.pop(ms(t)) {
                out.push((t, ack));
            }
            for &(_, ack) in input.iter().filter(|(at, _)| *at == t) {
                part.push(ms(t), ack, &mut outcome);
            }
            while part.next_wakeup().is_some_and(|at| at <= ms(t)) {
                out.push((t, part.pop(ms(t)).expect("it said so")));
            }
        }
        assert!(part.is_empty());
        (out, outcome.drops.iter().map(|(a, _)| a.tcp().ack).collect())
    }

    #[test]
    fn each_third_goes_on_and_the_last_one_when_nothing_follows() {
        let input: Vec<_> = (1..=7).map(|i| (i, ack(0, i as u32))).collect();
        let (out, dropped) = thin(3, &input);
        assert_eq!(out, [(3, ack(0, 3)), (6, ack(0, 6)), (12, ack(0, 7))]);
        assert_eq!(dropped, [1, 2, 4, 5]);
    }

    #[test]
    fn the_hold_counts_from_the_first_that_was_held() {
        let (out, dropped) = thin(9, &[(0, ack(0, 1)), (3, ack(0, 2)), (6, ack(0, 3))]);
        assert_eq!(out, [(5, ack(0, 2)), (11, ack(0, 3))]);
        assert_eq!(dropped, [1]);
    }

    #[test]
    fn what_says_something_of_its_own_is_kept_and_the_order_too() {
        let sacks = [(4, 5), (0, 0), (0, 0)];
        let sack = TcpAck { ack: 2, n_sacks: 1, sacks, ..TcpAck::default() }.into();
        let ece = TcpAck { ack: 4, ece: true, ..TcpAck::default() }.into();
        let input = [(0, ack(0, 2)), (1, ack(0, 2)), (2, sack), (3, ack(0, 3)), (4, ece)];
        let (out, dropped) = thin(9, &input);
        assert_eq!(dropped, []);
        assert_eq!(out.iter().map(|o| o.1).collect::<Vec<_>>(), input.map(|i| i.1));
    }

    #[test]
    fn one_that_acknowledges_more_of_a_segment_supersedes_those_of_less() {
        let part = |bytes| TcpAck { ack: 2, ..TcpAck::default() }.with_part(bytes).into();
        let (out, dropped) = thin(3, &[(0, part(400)), (1, part(800)), (2, part(1_200))]);
        assert_eq!((out, dropped), (vec![(2, part(1_200))], vec![2, 2]));
    }

    #[test]
    fn flows_are_thinned_apart_and_a_syn_ack_passes_at_once() {
        let syn = Ack { kind: AckKind::Syn, ..ack(1, 0) };
        let (out, dropped) =
            thin(2, &[(0, syn), (0, ack(0, 1)), (1, ack(1, 1)), (2, ack(0, 2)), (3, ack(1, 2))]);
        assert_eq!(out, [(0, syn), (2, ack(0, 2)), (3, ack(1, 2))]);
        assert_eq!(dropped, [1, 1]);
    }

    #[test]
    fn with_each_first_nothing_is_held() {
        let input: Vec<_> = (1..=4).map(|i| (i, ack(0, i as u32))).collect();
        assert_eq!(thin(1, &input), (input, vec![]));
    }
}
