//! A packet whose every property a test sets, and the property that every discipline has: what goes in
//! comes out, is dropped, or waits, and flows stay in order.

use super::{Outcome, Qdisc};
use crate::frame::{ecn, spread, Frame, PureAck};
use crate::rng::Rng;
use units::{Bytes, Span, Time};

/// See the module documentation. The truesize is the length and 500 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    pub flow: u32,
    pub seq: u32,
    pub len: u64,
    pub ecn: u8,
    pub dscp: u8,
    pub hosts: (u32, u32),
    pub ack: Option<u32>,
}

impl Default for Probe {
    fn default() -> Self {
        Probe { flow: 0, seq: 0, len: 1514, ecn: 0, dscp: 0, hosts: (0, 0), ack: None }
    }
}

impl Frame for Probe {
    fn wire_bytes(&self) -> Bytes {
        Bytes::new(self.len)
    }

    fn flow(&self) -> u32 {
        self.flow
    }

    fn flow_hash(&self) -> u32 {
        spread(self.flow)
    }

    fn hosts(&self) -> (u32, u32) {
        self.hosts
    }

    fn ecn(&self) -> u8 {
        self.ecn
    }

    fn mark_ce(&mut self) -> bool {
        let capable = self.ecn != ecn::NOT_ECT;
        self.ecn = if capable { ecn::CE } else { ecn::NOT_ECT };
        capable
    }

    fn dscp(&self) -> u8 {
        self.dscp
    }

    fn clear_dscp(&mut self) {
        self.dscp = 0;
    }

    fn truesize(&self) -> Bytes {
        Bytes::new(self.len + 500)
    }

    fn pure_ack(&self) -> Option<PureAck> {
        self.ack.map(|ack| PureAck {
            ack,
            ts_val: 0,
            ecn_flags: 0,
            is_dsack: false,
            sacks: [(0, 0); 3],
            n_sacks: 0,
        })
    }
}

/// The instant this many microseconds after the start.
pub fn us(n: u64) -> Time {
    Time::ZERO + Span::from_us(n)
}

const FLOWS: u32 = 12;
const STEPS: u32 = 4000;

/// What the books say, to be compared with the discipline.
#[derive(Default)]
struct Books {
    packets: usize,
    bytes: u64,
    /// Per flow, the number after the last one that came out.
    out: [u32; FLOWS as usize],
    sent: u32,
    dropped: u32,
}

impl Books {
    fn check(&mut self, queue: &dyn Qdisc<Probe>, outcome: &mut Outcome<Probe>, seed: u64) {
        for (packet, _) in outcome.drops.drain(..) {
            self.packets -= 1;
            self.bytes -= packet.len;
            self.dropped += 1;
        }
        assert_eq!(queue.len(), self.packets, "packets, seed {seed}");
        assert_eq!(queue.backlog().get(), self.bytes, "bytes, seed {seed}");
    }

    fn take(&mut self, packet: &Probe, seed: u64) {
        self.packets -= 1;
        self.bytes -= packet.len;
        self.sent += 1;
        let next = &mut self.out[packet.flow as usize];
        assert!(packet.seq >= *next, "order of flow {}, seed {seed}", packet.flow);
        *next = packet.seq + 1;
    }
}

fn arrival(rng: &mut Rng, seq: u32) -> Probe {
    let flow = rng.below(u64::from(FLOWS)) as u32;
    let ack = (flow.is_multiple_of(3)).then_some(seq);
    let len = if ack.is_some() { 66 } else { 66 + rng.below(1449) };
    let dscp = [0, 8, 46, 4, 10][flow as usize % 5];
    let hosts = (flow % 5, flow % 2);
    Probe { flow, seq, len, ecn: (flow % 4) as u8, dscp, hosts, ack }
}

/// Drives a discipline with bursts and pauses at random, empties it, and checks the books all the time.
/// Some packets must have been sent and, as the test wants, some dropped.
pub fn assert_conserves<Q: Qdisc<Probe>>(make: impl Fn(Rng) -> Q, drops: bool) {
    for seed in 0..10 {
        let mut rng = Rng::stream(seed, "arrivals");
        let mut queue = make(Rng::stream(seed, "qdisc"));
        let mut outcome = Outcome::default();
        let mut books = Books::default();
        let mut now = Time::ZERO;
        for step in 0..STEPS {
            let pause_us = [10, 2_000, 30_000][rng.below(3) as usize];
            now += Span::from_us(rng.below(pause_us));
            queue.on_timer(now);
            for i in 0..rng.below(4) as u32 {
                let packet = arrival(&mut rng, 4 * step + i);
                books.packets += 1;
                books.bytes += packet.len;
                queue.enqueue(now, packet, &mut outcome);
                books.check(&queue, &mut outcome, seed);
            }
            for _ in 0..rng.below(4) {
                serve(&mut queue, now, &mut outcome, &mut books, seed);
            }
        }
        let mut left = 0;
        queue.for_each(&mut |_| left += 1);
        assert_eq!(left, books.packets, "seed {seed}");
        while books.packets > 0 {
            if !serve(&mut queue, now, &mut outcome, &mut books, seed) {
                now = queue.next_wakeup().expect("packets that wait for a time have a wake-up");
            }
        }
        assert!(books.sent > STEPS / 10, "sent {}, seed {seed}", books.sent);
        assert_eq!(books.dropped > 0, drops, "dropped {}, seed {seed}", books.dropped);
    }
}

/// One dequeue; tells whether there was a packet. When there is none but some wait, a wake-up must be
/// later than now.
fn serve(
    queue: &mut dyn Qdisc<Probe>,
    now: Time,
    outcome: &mut Outcome<Probe>,
    books: &mut Books,
    seed: u64,
) -> bool {
    let head = queue.dequeue(now, outcome);
    if let Some(head) = &head {
        books.take(&head.packet, seed);
    }
    books.check(queue, outcome, seed);
    if head.is_none() && books.packets > 0 {
        assert!(queue.next_wakeup().is_some_and(|at| at > now), "no wake-up, seed {seed}");
    }
    head.is_some()
}
