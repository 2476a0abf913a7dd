//! Which queue a flow has: a set-associative hash of eight ways, so that flows share one only when
//! nine meet in a set; and the hosts whose share is divided over their flows (`cake_hash`,
//! net/sched/sch_cake.c).

use super::tin::{FlowSet, Tin, QUEUES};
use crate::frame::{spread, Frame};
use crate::settings::words;

/// Queues of a set.
const WAYS: usize = 8;

words! {
    /// What gets an equal share.
    pub enum Isolation {
        /// Nothing: one queue.
        Flowblind = "flowblind",
        /// Source hosts.
        SrcHost = "srchost",
        /// Destination hosts.
        DstHost = "dsthost",
        /// Pairs of hosts.
        Hosts = "hosts",
        /// Flows.
        Flows = "flows",
        /// Source hosts, and flows of each.
        DualSrcHost = "dual-srchost",
        /// Destination hosts, and flows of each.
        DualDstHost = "dual-dsthost",
        /// Flows, divided by the larger number of flows of either host.
        #[default]
        Triple = "triple-isolate",
    }
}

impl Isolation {
    const fn by_flow(self) -> bool {
        use Isolation::{DualDstHost, DualSrcHost, Flows, Triple};
        matches!(self, Flows | DualSrcHost | DualDstHost | Triple)
    }

    const fn counts_src(self) -> bool {
        matches!(self, Isolation::DualSrcHost | Isolation::Triple)
    }

    const fn counts_dst(self) -> bool {
        matches!(self, Isolation::DualDstHost | Isolation::Triple)
    }
}

/// A slot for a source host and one for a destination host.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Host {
    src_tag: u32,
    dst_tag: u32,
    src_bulk: u16,
    dst_bulk: u16,
}

/// Hashes of the source and the destination host, unlike for the same host.
fn host_hashes<P: Frame>(packet: &P, salt: u32) -> (u32, u32) {
    let (src, dst) = packet.hosts();
    (spread(src ^ salt), spread(!dst ^ salt.rotate_left(16)))
}

/// The way of a set, beginning with its own and wrapping, that satisfies `fits`.
fn way(own: usize, fits: impl Fn(usize) -> bool) -> Option<usize> {
    let set = own - own % WAYS;
    (0..WAYS).map(|i| set + (own + i) % WAYS).find(|&slot| fits(slot))
}

impl Tin {
    /// The queue of a packet's flow, reserved for it from now on. `salt` makes runs with different
    /// seeds collide elsewhere.
    #[inline]
    pub fn slot<P: Frame>(&mut self, packet: &P, salt: u32) -> usize {
        let hash = match self.isolation {
            Isolation::Flowblind => return 0,
            isolation if isolation.by_flow() => spread(packet.flow_hash() ^ salt),
            Isolation::SrcHost => host_hashes(packet, salt).0,
            Isolation::DstHost => host_hashes(packet, salt).1,
            _ => {
                let (src, dst) = host_hashes(packet, salt);
                src ^ dst
            }
        };
        let own = hash as usize % QUEUES;
        if self.flows[own].tag == hash && self.flows[own].set != FlowSet::Idle {
            return own;
        }
        self.find_slot(packet, salt, hash, own)
    }

    /// The way that has the flow's tag, else one that is idle, else a collision in its own.
    fn find_slot<P: Frame>(&mut self, packet: &P, salt: u32, hash: u32, own: usize) -> usize {
        let flows = &self.flows;
        let is_idle = |slot: usize| flows[slot].set == FlowSet::Idle;
        let tagged = way(own, |slot| flows[slot].tag == hash);
        if let Some(slot) = tagged.filter(|&slot| !is_idle(slot)) {
            return slot;
        }
        let slot = tagged.or_else(|| way(own, is_idle)).unwrap_or(own);
        self.flows[slot].tag = hash;
        self.settle_hosts(slot, host_hashes(packet, salt));
        slot
    }

    /// Gives the flow in a slot its hosts. In a collision the bulk flow there moves to the new ones.
    fn settle_hosts(&mut self, slot: usize, (src, dst): (u32, u32)) {
        let is_bulk = self.flows[slot].set == FlowSet::Bulk;
        if is_bulk {
            self.count_bulk_src(slot, false);
            self.count_bulk_dst(slot, false);
        }
        if self.isolation.counts_src() {
            let own = src as usize % QUEUES;
            let host = way(own, |h| self.hosts[h].src_tag == src)
                .or_else(|| way(own, |h| self.hosts[h].src_bulk == 0))
                .unwrap_or(own);
            self.hosts[host].src_tag = src;
            self.flows[slot].src_host = host as u16;
        }
        if self.isolation.counts_dst() {
            let own = dst as usize % QUEUES;
            let host = way(own, |h| self.hosts[h].dst_tag == dst)
                .or_else(|| way(own, |h| self.hosts[h].dst_bulk == 0))
                .unwrap_or(own);
            self.hosts[host].dst_tag = dst;
            self.flows[slot].dst_host = host as u16;
        }
        if is_bulk {
            self.count_bulk_src(slot, true);
            self.count_bulk_dst(slot, true);
        }
    }

    /// Counts a bulk flow in or out at its source host, where that is isolated.
    pub fn count_bulk_src(&mut self, flow: usize, enters: bool) {
        if self.isolation.counts_src() {
            count(&mut self.hosts[usize::from(self.flows[flow].src_host)].src_bulk, enters);
        }
    }

    /// The same at its destination host.
    pub fn count_bulk_dst(&mut self, flow: usize, enters: bool) {
        if self.isolation.counts_dst() {
            count(&mut self.hosts[usize::from(self.flows[flow].dst_host)].dst_bulk, enters);
        }
    }

    /// Over how many flows the share of its hosts is divided, at least 1.
    #[inline]
    pub fn host_load(&self, flow: usize) -> u16 {
        let flow = &self.flows[flow];
        let mut load = 1;
        if self.isolation.counts_src() {
            load = load.max(self.hosts[usize::from(flow.src_host)].src_bulk);
        }
        if self.isolation.counts_dst() {
            load = load.max(self.hosts[usize::from(flow.dst_host)].dst_bulk);
        }
        load
    }
}

fn count(bulk: &mut u16, enters: bool) {
    *bulk = if enters { (*bulk + 1).min(QUEUES as u16) } else { bulk.saturating_sub(1) };
}

#[cfg(test)]
mod tests {
    use super::super::tins::Params;
    use super::*;
    use crate::packet::Packet;
    use crate::rng::Rng;
    use units::Span;

    const SALT: u32 = 77;

    fn tin(isolation: Isolation) -> Tin {
        let params = Params::new(0, 1, 1514, Span::from_ms(5), Span::from_ms(100));
        let mut tin = Tin::new(params, isolation);
        tin.prepare();
        tin
    }

    fn packet(flow: u32) -> Packet {
        Packet { flow, ..Packet::default() }
    }

    /// Flows whose hashes fall into the first set.
    fn flows_of_first_set() -> impl Iterator<Item = u32> {
        (0..).filter(|&flow| {
            let hash = spread(packet(flow).flow_hash() ^ SALT);
            (hash as usize % QUEUES) < WAYS
        })
    }

    #[test]
    fn eight_flows_of_a_set_have_queues_of_their_own_and_the_ninth_collides() {
        let mut tin = tin(Isolation::Triple);
        let mut rng = Rng::stream(1, "cake");
        let flows: Vec<u32> = flows_of_first_set().take(9).collect();
        let mut slots = Vec::new();
        for &flow in &flows {
            let slot = tin.slot(&packet(flow), SALT);
            tin.on_arrival(slot, &mut rng);
            slots.push(slot);
        }
        let mut first = slots[..8].to_vec();
        first.sort_unstable();
        assert_eq!(first, (0..8).collect::<Vec<_>>());
        let own = spread(packet(flows[8]).flow_hash() ^ SALT) as usize % QUEUES;
        assert_eq!(slots[8], own);
        // The flow that was there has lost its tag, and collides in its turn; the others keep theirs.
        for (flow, slot) in flows.iter().zip(&slots).take(8).filter(|(_, &slot)| slot != own) {
            assert_eq!(tin.slot(&packet(*flow), SALT), *slot);
        }
    }

    #[test]
    fn a_queue_stays_reserved_while_idle_until_another_flow_needs_it() {
        let mut tin = tin(Isolation::Triple);
        let mut flows = flows_of_first_set();
        let (a, b) = (flows.next().unwrap_or(0), flows.next().unwrap_or(0));
        let slot = tin.slot(&packet(a), SALT);
        assert_eq!(tin.slot(&packet(a), SALT), slot);
        tin.slot(&packet(b), SALT);
        assert_eq!(tin.flows.iter().filter(|flow| flow.tag != 0).count(), 2);
    }

    #[test]
    fn a_collision_moves_the_bulk_flow_to_the_new_hosts() {
        let mut tin = tin(Isolation::DualSrcHost);
        let mut rng = Rng::stream(1, "cake");
        let flows: Vec<u32> = flows_of_first_set().take(9).collect();
        for &flow in &flows[..8] {
            let slot = tin.slot(&packet(flow), SALT);
            tin.on_arrival(slot, &mut rng);
            // A packet is there: it becomes bulk when it has used its quantum.
            tin.flows[slot].set = FlowSet::SparseWait;
            tin.on_arrival(slot, &mut rng);
        }
        let slot = tin.slot(&packet(flows[8]), SALT);
        let total: u32 = tin.hosts.iter().map(|host| u32::from(host.src_bulk)).sum();
        assert_eq!(total, 8);
        assert_eq!(tin.host_load(slot), 1);
        let tag = host_hashes(&packet(flows[8]), SALT).0;
        assert_eq!(tin.hosts[usize::from(tin.flows[slot].src_host)].src_tag, tag);
    }

    #[test]
    fn without_the_flow_all_of_a_host_share_a_queue() {
        // The packets' flows come from a host each and go to the same one.
        let queues = |isolation| {
            let mut tin = tin(isolation);
            let mut rng = Rng::stream(1, "cake");
            let mut slots: Vec<usize> = (0..20)
                .map(|flow| {
                    let slot = tin.slot(&packet(flow), SALT);
                    tin.on_arrival(slot, &mut rng);
                    slot
                })
                .collect();
            slots.sort_unstable();
            slots.dedup();
            slots.len()
        };
        assert_eq!(queues(Isolation::Flowblind), 1);
        assert_eq!(queues(Isolation::DstHost), 1);
        assert_eq!(queues(Isolation::SrcHost), 20);
        assert_eq!(queues(Isolation::Hosts), 20);
        assert_eq!(queues(Isolation::Flows), 20);
    }

    #[test]
    fn the_quantum_is_divided_by_the_hosts_bulk_flows_and_dithered_to_its_mean() {
        let mut tin = tin(Isolation::DualDstHost);
        let mut rng = Rng::stream(1, "cake");
        let mut slot = 0;
        for flow in 0..4 {
            slot = tin.slot(&packet(flow), SALT);
            tin.on_arrival(slot, &mut rng);
            tin.flows[slot].set = FlowSet::SparseWait;
            tin.on_arrival(slot, &mut rng);
        }
        assert_eq!(tin.host_load(slot), 4);
        tin.flows[slot].deficit = 0;
        let mut mean = 0;
        for _ in 0..10_000 {
            mean += tin.quantum(slot, &mut rng);
        }
        // 1514 * floor(65535 / 4) / 65536 = 378.488 bytes in the mean.
        assert!((3_783_000..3_787_000).contains(&mean), "{mean}");
    }
}
