//! One tin: its flow queues and the rounds in which they are served, DRR++ (the flow chains of
//! `cake_enqueue` and `cake_dequeue`, net/sched/sch_cake.c). A flow that comes and goes within its
//! quantum is sparse and goes before those that keep a queue.

use super::cobalt::Cobalt;
use super::hash::{Host, Isolation};
use super::shaper::Schedule;
use super::tins::Params;
use crate::lists::List;
use crate::rng::Rng;

/// Flow queues of a tin.
pub(super) const QUEUES: usize = 1024;

/// A share of one over a host's flows, of 65536 (`quantum_div`).
const PART: [u16; QUEUES + 1] = {
    let mut part = [u16::MAX; QUEUES + 1];
    let mut load = 1;
    while load <= QUEUES {
        part[load] = (65535 / load) as u16;
        load += 1;
    }
    part
};

/// Random numbers of 16 bits, four from one draw.
#[derive(Debug, Default)]
struct Dither {
    bits: u64,
    left: u8,
}

impl Dither {
    #[inline]
    fn next(&mut self, rng: &mut Rng) -> u16 {
        if self.left == 0 {
            self.bits = rng.next_u64();
            self.left = 4;
        }
        self.left -= 1;
        let bits = self.bits as u16;
        self.bits >>= 16;
        bits
    }
}

/// The set that a flow queue is in (`enum cake_flow_set`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum FlowSet {
    /// In no chain.
    #[default]
    Idle,
    /// In the chain of new flows.
    Sparse,
    /// Among the old flows until its deficit is paid, but empty and counted as sparse.
    SparseWait,
    /// Among the old flows.
    Bulk,
    /// Empty, kept until its COBALT state has decayed.
    Decaying,
}

/// A flow queue.
#[derive(Debug, Default)]
pub(super) struct Flow {
    pub packets: List,
    /// Wire bytes.
    pub backlog: u32,
    /// What it may send in this round, adjusted bytes.
    pub deficit: i32,
    pub cobalt: Cobalt,
    /// Slots of its hosts.
    pub src_host: u16,
    pub dst_host: u16,
    /// Hash of the flow that the queue is reserved for.
    pub tag: u32,
    pub set: FlowSet,
}

/// The three chains of flows, in the order of their heads' numbers after the flows'.
#[derive(Clone, Copy, Debug)]
pub(super) enum Chain {
    New,
    Old,
    Decaying,
}

impl Chain {
    const fn head(self) -> usize {
        QUEUES + self as usize
    }
}

/// Circular chains of flows, linked both ways; a flow is on one of them or linked to itself.
#[derive(Debug, Default)]
struct Chains {
    links: Vec<Link>,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    previous: u16,
    next: u16,
}

impl Chains {
    fn new() -> Chains {
        let alone = |at| Link { previous: at as u16, next: at as u16 };
        Chains { links: (0..=Chain::Decaying.head()).map(alone).collect() }
    }

    #[inline]
    fn first(&self, chain: Chain) -> Option<usize> {
        let next = usize::from(self.links[chain.head()].next);
        (next < QUEUES).then_some(next)
    }

    /// The flow after another one, in a circle.
    #[inline]
    fn after(&self, flow: usize, chain: Chain) -> usize {
        let next = usize::from(self.links[flow].next);
        if next < QUEUES {
            next
        } else {
            usize::from(self.links[chain.head()].next)
        }
    }

    /// The flows of a chain in order.
    fn iter(&self, chain: Chain) -> impl Iterator<Item = usize> + '_ {
        let next = |&at: &usize| Some(usize::from(self.links[at].next)).filter(|&at| at < QUEUES);
        std::iter::successors(self.first(chain), next)
    }

    /// Turns the circle so that a flow is the first.
    #[inline]
    fn turn_to(&mut self, flow: usize, chain: Chain) {
        let head = chain.head();
        self.remove(head);
        let last = self.links[flow].previous;
        self.links[head] = Link { previous: last, next: flow as u16 };
        self.links[usize::from(last)].next = head as u16;
        self.links[flow].previous = head as u16;
    }

    #[inline]
    fn remove(&mut self, flow: usize) {
        let Link { previous, next } = self.links[flow];
        self.links[usize::from(previous)].next = next;
        self.links[usize::from(next)].previous = previous;
        self.links[flow] = Link { previous: flow as u16, next: flow as u16 };
    }

    #[inline]
    fn move_to_tail(&mut self, flow: usize, chain: Chain) {
        self.remove(flow);
        let head = chain.head();
        let last = self.links[head].previous;
        self.links[flow] = Link { previous: last, next: head as u16 };
        self.links[usize::from(last)].next = flow as u16;
        self.links[head].previous = flow as u16;
    }
}

/// See the module documentation. Its tables are empty until a packet comes.
#[derive(Debug)]
pub(super) struct Tin {
    pub params: Params,
    pub schedule: Schedule,
    pub isolation: Isolation,
    pub flows: Vec<Flow>,
    pub hosts: Vec<Host>,
    /// Wire bytes.
    pub backlog: u64,
    /// What it may send in this round where nothing is shaped, adjusted bytes.
    pub deficit: i64,
    /// Flows with this set; sparse ones include those that wait.
    pub sparse: u32,
    pub bulk: u32,
    chains: Chains,
    dither: Dither,
}

impl Tin {
    pub fn new(params: Params, isolation: Isolation) -> Tin {
        Tin {
            params,
            schedule: Schedule::new(params.time_per_byte),
            isolation,
            flows: Vec::new(),
            hosts: Vec::new(),
            backlog: 0,
            deficit: 0,
            sparse: 0,
            bulk: 0,
            chains: Chains::default(),
            dither: Dither::default(),
        }
    }

    /// Makes the tables when the first packet comes.
    #[inline]
    pub fn prepare(&mut self) {
        if self.flows.is_empty() {
            self.flows.resize_with(QUEUES, Flow::default);
            self.hosts.resize(QUEUES, Host::default());
            self.chains = Chains::new();
        }
    }

    /// Whether a flow waits for its turn.
    #[inline]
    pub fn is_active(&self) -> bool {
        self.sparse + self.bulk > 0
    }

    /// A packet was added to a flow.
    #[inline]
    pub fn on_arrival(&mut self, flow: usize, rng: &mut Rng) {
        match self.flows[flow].set {
            FlowSet::Idle | FlowSet::Decaying => {
                self.chains.move_to_tail(flow, Chain::New);
                self.flows[flow].set = FlowSet::Sparse;
                self.sparse += 1;
                let quantum = self.quantum(flow, rng);
                self.flows[flow].deficit = quantum;
            }
            FlowSet::SparseWait => {
                self.sparse -= 1;
                self.enter_bulk(flow);
            }
            FlowSet::Sparse | FlowSet::Bulk => {}
        }
    }

    /// The flow to serve. Those before it that have used up their round get a quantum.
    #[inline]
    pub fn next_flow(&mut self, first: &mut bool, rng: &mut Rng) -> Option<usize> {
        loop {
            let flow = self.front(std::mem::take(first))?;
            if self.flows[flow].deficit > 0 {
                return Some(flow);
            }
            match self.flows[flow].set {
                FlowSet::Bulk | FlowSet::SparseWait => self.replenish_old(flow, rng),
                FlowSet::Sparse | FlowSet::Decaying | FlowSet::Idle => self.retire_new(flow, rng),
            }
        }
    }

    /// The flows that wait for their turn, in its order.
    pub fn in_turn(&self) -> impl Iterator<Item = &Flow> {
        let chains = self.chains.iter(Chain::New).chain(self.chains.iter(Chain::Old));
        chains.map(|flow| &self.flows[flow])
    }

    /// The flow in front. Those that decay come first once in a call, so that they leave.
    #[inline]
    fn front(&self, first: bool) -> Option<usize> {
        let decaying = || self.chains.first(Chain::Decaying);
        let early = if first { decaying() } else { None };
        early
            .or_else(|| self.chains.first(Chain::New))
            .or_else(|| self.chains.first(Chain::Old))
            .or_else(decaying)
    }

    /// Old flows from the first on go after the others with a quantum, until one may send. What is
    /// moved in the circle is its head, once.
    #[inline]
    fn replenish_old(&mut self, first: usize, rng: &mut Rng) {
        let mut flow = first;
        while self.flows[flow].deficit <= 0 {
            let quantum = self.quantum(flow, rng);
            self.flows[flow].deficit += quantum;
            flow = self.chains.after(flow, Chain::Old);
        }
        self.chains.turn_to(flow, Chain::Old);
    }

    /// A new flow has used up its round: it gets a quantum and goes after the old ones.
    fn retire_new(&mut self, flow: usize, rng: &mut Rng) {
        if self.flows[flow].set == FlowSet::Sparse {
            if self.flows[flow].packets.is_empty() {
                self.flows[flow].set = FlowSet::SparseWait;
            } else {
                self.sparse -= 1;
                self.enter_bulk(flow);
            }
        }
        let quantum = self.quantum(flow, rng);
        self.flows[flow].deficit += quantum;
        self.chains.move_to_tail(flow, Chain::Old);
    }

    /// A flow was served and empty.
    #[inline]
    pub fn retire(&mut self, flow: usize, decays: bool) {
        match self.flows[flow].set {
            FlowSet::Bulk => self.leave_bulk(flow),
            FlowSet::Sparse | FlowSet::SparseWait => self.sparse -= 1,
            FlowSet::Decaying | FlowSet::Idle => {}
        }
        if decays {
            self.chains.move_to_tail(flow, Chain::Decaying);
            self.flows[flow].set = FlowSet::Decaying;
        } else {
            self.chains.remove(flow);
            self.flows[flow].set = FlowSet::Idle;
        }
    }

    fn enter_bulk(&mut self, flow: usize) {
        self.flows[flow].set = FlowSet::Bulk;
        self.bulk += 1;
        self.count_bulk_src(flow, true);
        self.count_bulk_dst(flow, true);
    }

    fn leave_bulk(&mut self, flow: usize) {
        self.bulk -= 1;
        self.count_bulk_src(flow, false);
        self.count_bulk_dst(flow, false);
    }

    /// A flow's share of its hosts' quantum, bytes. A random number below one byte goes into the
    /// truncation, so that the mean is right (`cake_get_flow_quantum`).
    #[inline]
    pub fn quantum(&mut self, flow: usize, rng: &mut Rng) -> i32 {
        let load = usize::from(self.host_load(flow));
        let part = u32::from(PART[load.min(QUEUES)]);
        ((self.params.quantum * part + u32::from(self.dither.next(rng))) >> 16) as i32
    }
}
