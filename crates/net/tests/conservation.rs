//! Whatever comes and goes, every packet that a queue discipline was given has left it, was dropped
//! or waits, once; what it says of itself is so; and within a flow nothing overtakes.

use net::qdisc::codel::{self, Codel};
use net::qdisc::fifo::{self, Fifo};
use net::qdisc::fq_codel::{self, FqCodel};
use net::qdisc::pie::{self, Pie};
use net::qdisc::red::{self, Red};
use net::qdisc::{Outcome, Qdisc};
use net::rng::Rng;
use net::{ecn, Packet};
use proptest::prelude::*;
use units::{Bytes, Span, Time};

const FLOWS: u32 = 5;

/// What happens next, some time after what happened before.
#[derive(Clone, Debug)]
enum Step {
    Enqueue { flow: u32, len: u16, ecn: u8 },
    Dequeue,
}

fn steps() -> impl Strategy<Value = Vec<(u64, Step)>> {
    let enqueue = (0..FLOWS, 0..=1448u16, 0..4u8).prop_map(|(flow, len, ecn)| Step::Enqueue {
        flow,
        len,
        ecn,
    });
    let step = prop_oneof![3 => enqueue, 2 => Just(Step::Dequeue)];
    let pause_us = prop_oneof![5 => 0..500u64, 4 => 500..20_000u64, 1 => 20_000..400_000u64];
    prop::collection::vec((pause_us, step), 1..1500)
}

/// Where each packet is, by its number: the order in which it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Waits,
    Left,
    Dropped,
}

#[derive(Default)]
struct Account {
    sent: Vec<(Packet, Fate)>,
    /// The last of each flow that left.
    last: [Option<u32>; FLOWS as usize],
}

impl Account {
    fn settle(&mut self, packet: &Packet, fate: Fate) {
        let (sent, was) = &mut self.sent[packet.seq as usize];
        assert_eq!(*was, Fate::Waits, "{packet:?} is {fate:?}");
        assert_eq!((sent.flow, sent.len), (packet.flow, packet.len));
        assert!(
            packet.ecn == sent.ecn || (packet.ecn == ecn::CE && sent.ecn != ecn::NOT_ECT),
            "{sent:?} became {packet:?}"
        );
        *was = fate;
    }

    fn leaves(&mut self, packet: &Packet) {
        self.settle(packet, Fate::Left);
        let last = &mut self.last[packet.flow as usize];
        assert!(last.is_none_or(|seq| seq < packet.seq), "{packet:?} was overtaken by {last:?}");
        *last = Some(packet.seq);
    }

    fn drops(&mut self, outcome: &mut Outcome<Packet>) {
        for (packet, _) in outcome.drops.drain(..) {
            self.settle(&packet, Fate::Dropped);
        }
        outcome.marks.clear();
    }

    fn check(&self, queue: &dyn Qdisc<Packet>) {
        let waiting = self.sent.iter().filter(|(_, fate)| *fate == Fate::Waits);
        let bytes: u64 = waiting.clone().map(|(packet, _)| packet.wire_bytes().get()).sum();
        assert_eq!((queue.len(), queue.backlog()), (waiting.count(), Bytes::new(bytes)));
        let mut seen = 0;
        queue.for_each(&mut |packet| {
            assert_eq!(self.sent[packet.seq as usize].1, Fate::Waits);
            seen += 1;
        });
        assert_eq!((seen, queue.is_empty()), (queue.len(), seen == 0));
    }
}

/// Runs the steps, with the timers that are due before each, and lets all that waits leave.
fn conserves(mut queue: impl Qdisc<Packet>, steps: &[(u64, Step)]) {
    let (mut account, mut outcome) = (Account::default(), Outcome::default());
    let mut now = Time::ZERO;
    for (pause_us, step) in steps {
        now += Span::from_us(*pause_us);
        while let Some(at) = queue.next_wakeup().filter(|at| *at <= now) {
            queue.on_timer(at);
            assert!(queue.next_wakeup().is_none_or(|next| next > at), "a timer stands still");
        }
        match *step {
            Step::Enqueue { flow, len, ecn } => {
                let seq = account.sent.len() as u32;
                let packet = Packet { flow, seq, len, ecn, ..Packet::default() };
                account.sent.push((packet, Fate::Waits));
                queue.enqueue(now, packet, &mut outcome);
            }
            Step::Dequeue => {
                let waited = !queue.is_empty();
                let head = queue.dequeue(now, &mut outcome);
                assert!(head.is_some() || !waited || !outcome.is_empty(), "it kept its packets");
                if let Some(head) = head {
                    assert!(head.since <= now);
                    account.leaves(&head.packet);
                }
            }
        }
        account.drops(&mut outcome);
        account.check(&queue);
    }
    while let Some(head) = queue.dequeue(now, &mut outcome) {
        account.leaves(&head.packet);
    }
    account.drops(&mut outcome);
    account.check(&queue);
    assert!(queue.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn fifo_conserves(steps in steps(), head_drop: bool) {
        let limit = fifo::Limit::Bytes(Bytes::new(30_000));
        conserves(Fifo::new(fifo::Config { limit, head_drop }), &steps);
    }

    #[test]
    fn codel_conserves(steps in steps(), ecn: bool) {
        let ce_threshold = Some(Span::from_ms(10));
        conserves(
            Codel::new(codel::Config { limit: 100, ecn, ce_threshold, ..codel::Config::default() }),
            &steps,
        );
    }

    #[test]
    fn fq_codel_conserves(steps in steps(), ecn: bool, flows in 1..9u32, limit in 0..200u64) {
        let memory_limit = Bytes::new(100_000);
        let config = fq_codel::Config { limit, flows, ecn, memory_limit, ..Default::default() };
        conserves(FqCodel::new(config), &steps);
    }

    #[test]
    fn red_conserves(steps in steps(), ecn: bool, gentle: bool, adaptive: bool, seed: u64) {
        let config = red::Config {
            ecn, gentle, adaptive, probability: 500_000_000, ..red::Config::new(Bytes::new(60_000))
        };
        let red = Red::new(config, Rng::stream(seed, "red"));
        conserves(red.expect("the configuration is valid"), &steps);
    }

    #[test]
    fn pie_conserves(steps in steps(), ecn: bool, dq_rate_estimator: bool, seed: u64) {
        let config = pie::Config { limit: 200, ecn, dq_rate_estimator, ..pie::Config::default() };
        conserves(Pie::new(config, Rng::stream(seed, "pie")), &steps);
    }
}
