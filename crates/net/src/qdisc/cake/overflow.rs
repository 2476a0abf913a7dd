//! Which queue is the fattest: a heap over all queues of all tins, built when the buffer first
//! overflows and kept up while that was not long ago (`cake_heapify`, `cake_drop`, net/sched/sch_cake.c).
//! Where backlogs are equal, and where its order is not kept (`sift_down`), victims are the kernel's.

use super::tin::{Tin, QUEUES};
use super::tins::TINS_MAX;

const ENTRIES: usize = QUEUES * TINS_MAX;
/// Packets sent since the last overflow after which the heap is left alone.
const KEPT_UP: u16 = u16::MAX;

/// See the module documentation. Empty until the first overflow.
#[derive(Debug, Default)]
pub(super) struct Overflow {
    /// Queues as `tin * QUEUES + flow`, the fattest on top.
    heap: Vec<u16>,
    /// Where in the heap a queue is.
    place: Vec<u16>,
    kept_up: u16,
}

impl Overflow {
    /// Tin and flow of the queue on top, the fattest when the heap was just built.
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

    /// The fattest was found empty: build it again next time.
    pub fn invalidate(&mut self) {
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

    /// Moves an entry down that may be too small for its place. Grandchildren are compared with the
    /// child that has moved up, not with the entry itself, as the kernel does: in an ordered heap an
    /// entry sinks by one level only. So the top is not the fattest always, but a fat one.
    fn sift_down(&mut self, mut at: usize, tins: &[Tin]) {
        let mut most = self.backlog(at, tins);
        loop {
            let mut to = at;
            for child in [2 * at + 1, 2 * at + 2].into_iter().filter(|&child| child < ENTRIES) {
                let backlog = self.backlog(child, tins);
                if backlog > most {
                    (to, most) = (child, backlog);
                }
            }
            if to == at {
                return;
            }
            self.swap(at, to);
            at = to;
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

#[cfg(test)]
mod tests {
    use super::super::hash::Isolation;
    use super::super::tins::Params;
    use super::*;
    use crate::rng::Rng;
    use units::Span;

    fn tins(backlogs: impl Iterator<Item = u32>) -> Vec<Tin> {
        let params = Params::new(0, 1, 1514, Span::from_ms(5), Span::from_ms(100));
        let mut tin = Tin::new(params, Isolation::Triple);
        tin.prepare();
        tin.flows.iter_mut().zip(backlogs).for_each(|(flow, backlog)| flow.backlog = backlog);
        vec![tin]
    }

    #[test]
    fn the_first_victim_is_the_fattest_queue() {
        for seed in 0..20 {
            let mut rng = Rng::stream(seed, "overflow");
            let backlogs: Vec<u32> = (0..QUEUES).map(|_| rng.next_u64() as u32).collect();
            let tins = tins(backlogs.iter().copied());
            let (t, flow) = Overflow::default().fattest(&tins);
            assert_eq!((t, Some(&backlogs[flow])), (0, backlogs.iter().max()), "seed {seed}");
        }
    }

    #[test]
    fn a_queue_on_top_that_shrank_sinks_by_one_level_only() {
        // Flow j of tin 0 starts at place 8 j, below empty queues, and rises as it grows.
        let mut tins = tins([90, 0, 0, 0].into_iter());
        let mut overflow = Overflow::default();
        assert_eq!(overflow.fattest(&tins), (0, 0));
        for (flow, backlog) in [(1, 80), (2, 70), (3, 60)] {
            tins[0].flows[flow].backlog = backlog;
            overflow.on_grown(0, flow, &tins);
        }
        // Flow 1 from 8 to 3 and 1, flow 2 from 16 to 7 and 3, flow 3 from 24 to 11, 5 and 2.
        let place = |overflow: &Overflow| [0, 1, 2, 3].map(|flow| overflow.place[flow]);
        assert_eq!(place(&overflow), [0, 1, 3, 2]);
        // Flow 0 changes places with flow 1 and stays above flow 2, although that is larger.
        tins[0].flows[0].backlog = 10;
        overflow.on_shrunk(0, 0, &tins);
        assert_eq!(place(&overflow), [1, 0, 3, 2]);
    }
}
