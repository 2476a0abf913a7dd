//! `cake`: a shaper, classes of service, fair queueing by flow and host, and COBALT in one
//! (net/sched/sch_cake.c).
//!
//! | file | what |
//! | --- | --- |
//! | `shaper` | when the next packet may leave |
//! | `overhead` | what it occupies on the next link |
//! | `tins` | classes of service and their times |
//! | `hash` | the queue and the hosts of a flow |
//! | `tin` | the rounds in which queues are served |
//! | `cobalt` | marks and drops |
//! | `ack_filter` | acknowledgements that newer ones make superfluous |
//! | `overflow` | the fattest queue |
//!
//! Packets are single segments here, so that splitting super-packets (`split-gso`) has no subject;
//! `nat`, `autorate-ingress`, firewall marks and filters are left out.

mod ack_filter;
mod cobalt;
mod config;
mod hash;
mod overflow;
mod overhead;
mod shaper;
mod tin;
mod tins;

#[cfg(test)]
mod tests;

pub use ack_filter::AckFilter;
pub use config::Config;
pub use hash::Isolation;
pub use overhead::Framing;
pub use tins::Diffserv;

use super::{Cause, Outcome, Qdisc, Queued, LOOKED_AT};
use crate::frame::Frame;
use crate::lists::Slab;
use crate::rng::Rng;
use overflow::Overflow;
use overhead::Overhead;
use shaper::Shaper;
use tin::Tin;
use units::{Bytes, Time};

/// See the module documentation.
#[derive(Debug)]
pub struct Cake<P> {
    config: Config,
    overhead: Overhead,
    shaper: Shaper,
    tins: Vec<Tin>,
    /// Tin that is served, where nothing is shaped.
    current: usize,
    packets: Slab<Queued<P>>,
    len: usize,
    backlog: u64,
    buffer_used: u64,
    buffer_limit: u64,
    overflow: Overflow,
    wakeup: Option<Time>,
    salt: u32,
    rng: Rng,
}

impl<P: Frame> Cake<P> {
    /// An empty one. `rng` dithers quanta, drops for BLUE and perturbs the hash.
    ///
    /// # Panics
    /// When the bandwidth is below 512 bit/s.
    pub fn new(config: Config, mut rng: Rng) -> Self {
        let tins = config.tins();
        Cake {
            config,
            overhead: config.overhead(),
            shaper: Shaper::new(tins[0].params.time_per_byte),
            tins,
            current: 0,
            packets: Slab::default(),
            len: 0,
            backlog: 0,
            buffer_used: 0,
            buffer_limit: config.buffer_limit(),
            overflow: Overflow::default(),
            wakeup: None,
            salt: rng.next_u64() as u32,
            rng,
        }
    }

    /// Adds a packet to its queue, from which one that it makes superfluous goes.
    fn append(&mut self, now: Time, t: usize, flow: usize, packet: P, outcome: &mut Outcome<P>) {
        if self.config.ack_filter != AckFilter::Off {
            self.filter_acks(now, t, flow, &packet, outcome);
        }
        let len = packet.wire_bytes().get();
        let tin = &mut self.tins[t];
        tin.backlog += len;
        tin.flows[flow].backlog += len as u32;
        self.len += 1;
        self.backlog += len;
        self.buffer_used += packet.truesize().get();
        self.packets.push_back(&mut tin.flows[flow].packets, Queued { since: now, packet });
        self.overflow.on_grown(t, flow, &self.tins);
        self.tins[t].on_arrival(flow, &mut self.rng);
    }

    fn filter_acks(
        &mut self,
        now: Time,
        t: usize,
        flow: usize,
        newest: &P,
        outcome: &mut Outcome<P>,
    ) {
        let list = &mut self.tins[t].flows[flow].packets;
        let filter = self.config.ack_filter;
        let Some(before) = ack_filter::superfluous(&self.packets, list, newest, filter) else {
            return;
        };
        if let Some(old) = self.packets.remove_after(list, before) {
            self.forget(t, flow, &old.packet);
            if self.config.ingress {
                self.charge(now, t, &old.packet, true);
            }
            outcome.drop(old.packet, Cause::Superseded);
        }
    }

    /// Takes the head of a queue.
    #[inline]
    fn take(&mut self, t: usize, flow: usize) -> Option<Queued<P>> {
        let head = self.packets.pop_front(&mut self.tins[t].flows[flow].packets)?;
        self.forget(t, flow, &head.packet);
        Some(head)
    }

    /// A packet has left its queue.
    #[inline]
    fn forget(&mut self, t: usize, flow: usize, packet: &P) {
        let len = packet.wire_bytes().get();
        let tin = &mut self.tins[t];
        tin.backlog -= len;
        tin.flows[flow].backlog -= len as u32;
        self.len -= 1;
        self.backlog -= len;
        self.buffer_used -= packet.truesize().get();
    }

    /// Charges a packet to the shaper and its tin; returns its adjusted bytes (`cake_advance_shaper`).
    #[inline]
    fn charge(&mut self, now: Time, t: usize, packet: &P, dropped: bool) -> u64 {
        let bytes = self.overhead.charged(packet.wire_bytes().get());
        if self.shaper.is_limited() {
            self.tins[t].schedule.charge(now, bytes);
            self.shaper.charge(bytes, dropped);
        }
        bytes
    }

    /// Charges a packet to the rounds of its tin and flow too.
    #[inline]
    fn charge_rounds(&mut self, now: Time, t: usize, flow: usize, packet: &P, dropped: bool) {
        let bytes = self.charge(now, t, packet, dropped) as i64;
        let tin = &mut self.tins[t];
        tin.deficit -= bytes;
        tin.flows[flow].deficit -= bytes as i32;
    }

    /// Drops the head of the fattest queue (`cake_drop`).
    fn drop_fattest(&mut self, now: Time, outcome: &mut Outcome<P>) {
        let (t, flow) = self.overflow.fattest(&self.tins);
        let Some(head) = self.packets.pop_front(&mut self.tins[t].flows[flow].packets) else {
            self.overflow.invalidate();
            return;
        };
        let tin = &mut self.tins[t];
        tin.flows[flow].cobalt.on_full(&tin.params.cobalt, now);
        self.forget(t, flow, &head.packet);
        if self.config.ingress {
            self.charge(now, t, &head.packet, true);
        }
        outcome.drop(head.packet, Cause::Overflow);
        self.overflow.on_shrunk(t, flow, &self.tins);
    }

    /// The tin to serve. Something waits.
    #[inline]
    fn choose_tin(&mut self, now: Time) -> usize {
        if self.shaper.is_limited() {
            tin_by_schedule(&self.tins, now)
        } else {
            self.tin_by_round()
        }
    }

    /// Deficit round robin over the tins, by their weights.
    fn tin_by_round(&mut self) -> usize {
        loop {
            let tin = &mut self.tins[self.current];
            if tin.deficit >= 0 && tin.is_active() {
                return self.current;
            }
            if tin.deficit <= 0 {
                tin.deficit += i64::from(tin.params.weight);
            }
            self.current = (self.current + 1) % self.tins.len();
        }
    }

    /// Serves flows of a tin until one has a packet to send, or is empty: then the tin is chosen again.
    fn serve(
        &mut self,
        now: Time,
        t: usize,
        first: &mut bool,
        outcome: &mut Outcome<P>,
    ) -> Option<Queued<P>> {
        loop {
            let flow = self.tins[t].next_flow(first, &mut self.rng)?;
            match self.serve_flow(now, t, flow, outcome) {
                Served::Sent(packet) => return Some(packet),
                Served::Empty => return None,
                Served::Dropped => {}
            }
        }
    }

    /// The next packet of a flow that COBALT lets pass.
    fn serve_flow(
        &mut self,
        now: Time,
        t: usize,
        flow: usize,
        outcome: &mut Outcome<P>,
    ) -> Served<P> {
        loop {
            let Some(mut head) = self.take(t, flow) else {
                let tin = &mut self.tins[t];
                let decays = tin.flows[flow].cobalt.on_empty(&tin.params.cobalt, now);
                tin.retire(flow, decays);
                return Served::Empty;
            };
            self.overflow.on_shrunk(t, flow, &self.tins);
            let verdict = self.judge(now, t, flow, &mut head);
            // The last packet of a queue is never dropped.
            if !verdict.drop || self.tins[t].flows[flow].packets.is_empty() {
                if verdict.marked {
                    outcome.marks.push((head.packet.flow(), Cause::Aqm));
                }
                self.charge_rounds(now, t, flow, &head.packet, false);
                return Served::Sent(head);
            }
            if self.config.ingress {
                self.charge_rounds(now, t, flow, &head.packet, true);
            }
            outcome.drop(head.packet, Cause::Aqm);
            if self.config.ingress {
                return Served::Dropped;
            }
        }
    }

    #[inline]
    fn judge(&mut self, now: Time, t: usize, flow: usize, head: &mut Queued<P>) -> cobalt::Verdict {
        let tin = &mut self.tins[t];
        let bulk = if self.config.ingress { tin.bulk } else { 0 };
        let params = &tin.params.cobalt;
        let sojourn = now.since(head.since);
        let packet = &mut head.packet;
        let mark = || packet.mark_ce();
        tin.flows[flow].cobalt.should_drop(params, now, sojourn, bulk, &mut self.rng, mark)
    }
}

/// The last tin that is on schedule, else the one that will be first.
#[inline]
fn tin_by_schedule(tins: &[Tin], now: Time) -> usize {
    let mut best = (0, i64::MAX);
    for (t, tin) in tins.iter().enumerate().filter(|(_, tin)| tin.is_active()) {
        let until = tin.schedule.next.as_ns() as i64 - now.as_ns() as i64;
        if until <= 0 || until <= best.1 {
            best = (t, until);
        }
    }
    best.0
}

/// What came of a flow's turn.
enum Served<P> {
    Sent(Queued<P>),
    /// It had nothing.
    Empty,
    /// A packet was dropped and charged: the turn may be another flow's.
    Dropped,
}

impl<P: Frame> Qdisc<P> for Cake<P> {
    #[inline]
    fn enqueue(&mut self, now: Time, mut packet: P, outcome: &mut Outcome<P>) {
        let t = self.config.diffserv.tin(packet.dscp());
        if self.config.wash {
            packet.clear_dscp();
        }
        let tin = &mut self.tins[t];
        tin.prepare();
        let flow = tin.slot(&packet, self.salt);
        if tin.backlog == 0 {
            tin.schedule.wake(now);
            if self.len == 0 {
                self.shaper.wake(now);
                self.wakeup = self.shaper.blocked(now);
            }
        }
        self.append(now, t, flow, packet, outcome);
        while self.buffer_used > self.buffer_limit {
            self.drop_fattest(now, outcome);
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Time, outcome: &mut Outcome<P>) -> Option<Queued<P>> {
        self.wakeup = None;
        let mut first = true;
        while self.len > 0 {
            self.wakeup = self.shaper.blocked(now);
            if self.wakeup.is_some() {
                return None;
            }
            let t = self.choose_tin(now);
            let Some(sent) = self.serve(now, t, &mut first, outcome) else { continue };
            self.overflow.on_sent();
            if self.len > 0 {
                self.wakeup = self.shaper.blocked(now);
            }
            return Some(sent);
        }
        None
    }

    /// Linux wakes up too where nothing waits but COBALT's state decays; that run finds no packet and
    /// changes nothing, so it is left out.
    fn next_wakeup(&self) -> Option<Time> {
        self.wakeup
    }

    fn backlog(&self) -> Bytes {
        Bytes::new(self.backlog)
    }

    fn len(&self) -> usize {
        self.len
    }

    fn head_since(&self) -> Option<Time> {
        let tins = std::iter::once(&self.tins[self.current]).chain(&self.tins);
        let head = |flow: &tin::Flow| self.packets.front(&flow.packets).map(|head| head.since);
        tins.filter(|tin| tin.backlog > 0).find_map(|tin| {
            let ready = tin.in_turn().take(LOOKED_AT).filter(|flow| flow.deficit > 0);
            let ready = ready.into_iter().find_map(head);
            ready.or_else(|| tin.in_turn().find_map(head))
        })
    }

    fn for_each(&self, each: &mut dyn FnMut(&P)) {
        for flow in self.tins.iter().flat_map(|tin| &tin.flows) {
            self.packets.iter(&flow.packets).for_each(|(_, queued)| each(&queued.packet));
        }
    }
}
