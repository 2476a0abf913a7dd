//! A policer: a token bucket without a queue (`tcf_police_act`, net/sched/act_police.c). What conforms
//! passes at once, what does not is dropped or marked; nothing waits. Peak rate and MTU of `tc police`
//! are left out.

use super::{Cause, Outcome};
use crate::frame::Frame;
use crate::settings::{settings, BURSTS, RATES};
use units::{Bytes, Rate, Time};

settings! {
    /// A token bucket in front of a queue that refuses what exceeds it (`tc police`).
    pub struct Config for "policer" {
        /// Rate at which tokens come, wire bytes.
        // The kernel counts in byte/s
        rate "rate_bps": Rate [8..=*RATES.end()];
        /// Most that passes at once, wire bytes.
        // tc rounds the time that it takes up to 64 ns (`tc_calc_xmittime`)
        burst "burst_bytes": Bytes [BURSTS];
        /// Marks ECN-capable packets instead of refusing them.
        // `tc police` has no such action of its own
        mark "mark": bool = false;
    }
}

/// Length of a psched tick, ns: what tc gives the burst in.
const TICK_NS: u128 = 64;

/// See the module documentation. Tokens are nanoseconds of transmission time.
#[derive(Debug)]
pub struct Policer {
    mark: bool,
    /// Time per byte is `mult / 2^shift` ns (`psched_ratecfg_precompute`).
    mult: u64,
    shift: u32,
    burst_ns: u64,
    tokens_ns: u64,
    /// When the tokens were last taken.
    filled: Time,
}

impl Policer {
    /// A full bucket.
    ///
    /// # Panics
    /// When the rate is below 8 bit/s.
    pub fn new(config: Config) -> Policer {
        let rate = config.rate.as_bps() / 8;
        assert!(rate > 0, "a policer's rate must be at least 8 bit/s, got {}", config.rate);
        let (mult, shift) = time_per_byte(rate);
        let burst = u128::from(config.burst.get()) * 1_000_000_000;
        let burst_ns = (burst.div_ceil(u128::from(rate) * TICK_NS) * TICK_NS) as u64;
        let mark = config.mark;
        Policer { mark, mult, shift, burst_ns, tokens_ns: burst_ns, filled: Time::ZERO }
    }

    /// Whether a packet of this many wire bytes conforms; if so, its tokens are taken.
    #[inline]
    pub fn conforms(&mut self, now: Time, bytes: Bytes) -> bool {
        let earned = now.since(self.filled).as_ns().min(self.burst_ns);
        let tokens = (earned + self.tokens_ns).min(self.burst_ns);
        let needed = (u128::from(bytes.get()) * u128::from(self.mult)) >> self.shift;
        let Some(left) = u128::from(tokens).checked_sub(needed) else { return false };
        self.tokens_ns = left as u64;
        self.filled = now;
        true
    }

    /// Passes a packet, marks it or drops it.
    #[inline]
    pub fn police<P: Frame>(
        &mut self,
        now: Time,
        mut packet: P,
        outcome: &mut Outcome<P>,
    ) -> Option<P> {
        if self.conforms(now, packet.wire_bytes())
            || (self.mark && outcome.mark(&mut packet, Cause::Policed))
        {
            return Some(packet);
        }
        outcome.drop(packet, Cause::Policed);
        None
    }
}

/// Nanoseconds per byte as a multiplier with bit 31 set and a shift (`psched_ratecfg_precompute__`).
fn time_per_byte(bytes_per_s: u64) -> (u64, u32) {
    let mut factor = 1_000_000_000u64;
    let mut shift = 0;
    loop {
        let mult = u64::from((factor / bytes_per_s) as u32);
        if mult & (1 << 31) != 0 || factor & (1 << 63) != 0 {
            return (mult, shift);
        }
        factor <<= 1;
        shift += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::ecn;
    use crate::packet::Packet;

    /// 8 Mbit/s: 1 us a byte.
    fn policer(burst: u64, mark: bool) -> Policer {
        let rate = Rate::from_bps(8_000_000);
        Policer::new(Config { rate, burst: Bytes::new(burst), mark })
    }

    fn us(n: u64) -> Time {
        Time::from_ns(n * 1_000)
    }

    #[test]
    fn time_per_byte_is_exact_to_thirty_one_bits() {
        assert_eq!(time_per_byte(1_000_000), (1000 << 22, 22));
        let (mult, shift) = time_per_byte(3);
        assert_eq!(mult, (1_000_000_000u64 << shift) / 3);
        assert!(mult >> 31 == 1);
    }

    #[test]
    fn a_burst_passes_and_then_the_rate() {
        let mut policer = policer(3000, false);
        let mut passed = |now, bytes| policer.conforms(us(now), Bytes::new(bytes));
        assert!(passed(0, 1500) && passed(0, 1500) && !passed(0, 1500));
        assert!(!passed(1_499, 1500) && passed(1_500, 1500));
        // What is refused takes nothing: a smaller packet passes where a larger did not.
        assert!(!passed(1_600, 200) && passed(1_600, 100));
        // Never more than the burst, however long the pause.
        assert!(!passed(1_000_000, 3001) && passed(1_000_000, 3000) && !passed(1_000_000, 1));
    }

    #[test]
    fn the_burst_is_rounded_up_to_a_tick() {
        // 1001 bytes take 1001000 ns, 15640.625 ticks.
        let policer = policer(1001, false);
        assert_eq!(policer.burst_ns, 15_641 * 64);
    }

    #[test]
    fn what_exceeds_is_marked_where_it_can_be() {
        let mut policer = policer(100, true);
        let mut outcome = Outcome::default();
        let capable = Packet { len: 1000, flow: 3, ecn: ecn::ECT0, ..Packet::default() };
        let passed = policer.police(us(0), capable, &mut outcome);
        assert_eq!(passed.map(|packet| packet.ecn), Some(ecn::CE));
        assert_eq!(outcome.marks, [(3, Cause::Policed)]);
        assert_eq!(
            policer.police(us(0), Packet { len: 1000, ..capable }, &mut outcome).map(|p| p.flow),
            Some(3)
        );
        let plain = Packet { ecn: ecn::NOT_ECT, ..capable };
        assert_eq!(policer.police(us(0), plain, &mut outcome), None);
        assert_eq!(outcome.drops, [(plain, Cause::Policed)]);
    }
}
