//! Which queue is the fattest: a heap over all queues of all tins, built when the buffer first
//! overflows and kept up while that was not long ago (`cake_heapify`, `cake_drop`, net/sched/sch_cake.c).
//! Equal backlogs go in the order that the kernel's heap happens to be in.

use super::tin::{Tin, QUEUES};
use super::tins::TINS_MAX;

const ENTRIES: usize = QUEUES * TINS_MAX;
/// Packets sent since the last overflow after which the heap is left alone.
const KEPT_UP: u16 = u16::MAX;

/// See the module documentation. Empty until the first overflow.
#[derive(Debug, Default)]
pub(super) struct Overflow {
    /// Queues as `tin * QUEUES + flow`, none behind a smaller one.
    heap: Vec<u16>,
    /// Where in the heap a queue is.
    place: Vec<u16>,
    kept_up: u16,
}

impl Overflow {
    /// Tin and flow of the fattest queue.
    pub fn fattest(&mut self, tins: &[Tin]) -> (usize, usize) {
        if self.heap.is_empty() {
            let queue = |k: usize| (k % TINS_MAX * QUEUES + k / TINS_MAX) as u16;
            self.heap = (0..ENTRIES).map(queue).collect();
            self.place = vec![0; ENTRIES];
            for (at, &queue) in self.heap.iter().enumerate() {
                self.place[usize::from(queue)] = at as u16;
            }
        }
        if self.kept_up == 0 {
            for at in (0..ENTRIES / 2).rev() {
                self.sift_down(at, tins);
            }
        }
        self.kept_up = KEPT_UP;
        let queue = usize::from(self.heap[0]);
        (queue / QUEUES, queue % QUEUES)
    }

    /// The fattest was found empty: build it anew next time.
    pub fn distrust(&mut self) {
        self.kept_up = 0;
    }

    /// A packet was sent.
    #[inline]
    pub fn on_sent(&mut self) {
        self.kept_up = self.kept_up.saturating_sub(1);
    }

    /// A packet was added to a queue.
    #[inline]
    pub fn on_grown(&mut self, tin: usize, flow: usize, tins: &[Tin]) {
        if self.kept_up > 0 {
            self.sift_up(usize::from(self.place[tin * QUEUES + flow]), tins);
        }
    }

    /// A packet was taken from a queue.
    #[inline]
    pub fn on_shrunk(&mut self, tin: usize, flow: usize, tins: &[Tin]) {
        if self.kept_up > 0 {
            self.sift_down(usize::from(self.place[tin * QUEUES + flow]), tins);
        }
    }

    fn backlog(&self, at: usize, tins: &[Tin]) -> u32 {
        let queue = usize::from(self.heap[at]);
        let flow = tins.get(queue / QUEUES).and_then(|tin| tin.flows.get(queue % QUEUES));
        flow.map_or(0, |flow| flow.backlog)
    }

    fn sift_down(&mut self, mut at: usize, tins: &[Tin]) {
        loop {
            let mut fattest = (at, self.backlog(at, tins));
            for child in [2 * at + 1, 2 * at + 2].into_iter().filter(|&child| child < ENTRIES) {
                let backlog = self.backlog(child, tins);
                if backlog > fattest.1 {
                    fattest = (child, backlog);
                }
            }
            if fattest.0 == at {
                return;
            }
            self.swap(at, fattest.0);
            at = fattest.0;
        }
    }

    fn sift_up(&mut self, mut at: usize, tins: &[Tin]) {
        while at > 0 {
            let parent = (at - 1) / 2;
            if self.backlog(at, tins) <= self.backlog(parent, tins) {
                return;
            }
            self.swap(at, parent);
            at = parent;
        }
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.heap.swap(a, b);
        self.place[usize::from(self.heap[a])] = a as u16;
        self.place[usize::from(self.heap[b])] = b as u16;
    }
}
