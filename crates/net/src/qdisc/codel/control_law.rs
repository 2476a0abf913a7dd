//! The CoDel algorithm (RFC 8289; include/net/codel_impl.h), as `codel` runs it once and `fq_codel`
//! once per bucket: when the head of a queue has been late for an interval, drop or mark, and do so
//! again at times whose spacing falls with the square root of how often it was done.
//!
//! Integers are the kernel's: ticks of 1024 ns in 32 bits that wrap, a reciprocal root of 16 bits
//! that one Newton step per signal corrects. So the second signal follows the first after 50 ms, not
//! after the 70.7 ms of the exact root.

use crate::frame::Frame;
use crate::qdisc::{Cause, Outcome, Queued};
use units::{Bytes, Span, Time, BOOT};

/// `CODEL_DISABLED_THRESHOLD`: no sojourn of less than 2199 s is above it.
const NO_THRESHOLD: u32 = i32::MAX as u32;

/// What the law is told; times in ticks of 1024 ns.
#[derive(Clone, Copy, Debug)]
pub struct Parameters {
    target: u32,
    interval: u32,
    ce_threshold: u32,
    ce_threshold_selector: u8,
    ce_threshold_mask: u8,
    mtu: u64,
    ecn: bool,
}

impl Parameters {
    /// Parameters without ECN and `ce_threshold`. At most `mtu` bytes after the head are no queue.
    pub fn new(target: Span, interval: Span, mtu: Bytes) -> Self {
        Parameters {
            target: span_ticks(target),
            interval: span_ticks(interval),
            ce_threshold: NO_THRESHOLD,
            ce_threshold_selector: 0,
            ce_threshold_mask: 0,
            mtu: mtu.get(),
            ecn: false,
        }
    }

    /// Marks what it can instead of dropping it.
    #[must_use]
    pub fn with_ecn(self, ecn: bool) -> Self {
        Parameters { ecn, ..self }
    }

    /// Marks every packet that waited longer than `above`, whatever `ecn` says; with a mask other
    /// than 0 only those whose DS byte under the mask equals the selector.
    #[must_use]
    pub fn with_ce_threshold(self, above: Option<Span>, selector: u8, mask: u8) -> Self {
        Parameters {
            ce_threshold: above.map_or(NO_THRESHOLD, span_ticks),
            ce_threshold_selector: selector,
            ce_threshold_mask: mask,
            ..self
        }
    }
}

/// The queue that the law takes from.
pub trait Source<P> {
    /// When the oldest packet came, and the bytes that remain behind it where the MTU is compared: of the whole discipline.
    fn head(&self) -> Option<(Time, u64)>;

    /// Takes the oldest packet.
    fn take(&mut self) -> Option<Queued<P>>;
}

/// What the law remembers (`struct codel_vars`).
#[derive(Clone, Copy, Debug, Default)]
pub struct State {
    /// Signals since dropping began, or what the last spell left of them.
    count: u32,
    /// `count` when dropping began.
    last_count: u32,
    /// Signals are due at `drop_next`.
    dropping: bool,
    /// 2^16 over the root of `count`, nearly.
    inverse_root: u16,
    /// When the delay will have been above target for an interval; 0 while it is below.
    first_above: u32,
    /// When the next signal is due, or when it would have been.
    drop_next: u32,
    /// Sojourn time of the packet last taken.
    sojourn: u32,
}

impl State {
    /// Takes the next packet that may leave, after whatever drops or a mark are due.
    #[inline]
    pub fn dequeue<P: Frame, S: Source<P>>(
        &mut self,
        now: Time,
        parameters: &Parameters,
        source: &mut S,
        outcome: &mut Outcome<P>,
    ) -> Option<Queued<P>> {
        let Some(head) = source.head() else {
            self.first_above = 0;
            self.dropping = false;
            return None;
        };
        let now = ticks(now);
        let is_late = self.is_late(now, parameters, Some(head));
        let is_due = is_late && !(self.dropping && is_after(self.drop_next, now));
        if is_due {
            return self.signal(now, parameters, source, outcome);
        }
        self.dropping &= is_late;
        // Mostly the packet is copied once, from its queue to whoever asked.
        if self.is_above_threshold(parameters) {
            return self.take_marked(parameters, source, outcome);
        }
        source.take()
    }

    /// A signal is due, for the oldest packet.
    #[cold]
    fn signal<P: Frame, S: Source<P>>(
        &mut self,
        now: u32,
        parameters: &Parameters,
        source: &mut S,
        outcome: &mut Outcome<P>,
    ) -> Option<Queued<P>> {
        let head = source.take()?;
        let mut next = if self.dropping {
            self.keep_dropping(now, parameters, head, source, outcome)
        } else {
            self.start_dropping(now, parameters, head, source, outcome)
        }?;
        if self.is_above_threshold(parameters) {
            mark_selected(parameters, &mut next.packet, outcome);
        }
        Some(next)
    }

    /// Takes the oldest packet, which waited longer than the threshold.
    #[inline(never)]
    fn take_marked<P: Frame, S: Source<P>>(
        &self,
        parameters: &Parameters,
        source: &mut S,
        outcome: &mut Outcome<P>,
    ) -> Option<Queued<P>> {
        let mut head = source.take()?;
        mark_selected(parameters, &mut head.packet, outcome);
        Some(head)
    }

    /// Counts signals that were given by other means (`fq_codel`'s overflow); the root stays.
    pub fn add_signals(&mut self, n: u32) {
        self.count = self.count.wrapping_add(n);
    }

    /// Signals given since dropping began (`count` of `tc -s qdisc`).
    pub const fn signals(&self) -> u32 {
        self.count
    }

    /// Whether the delay of the candidate, a [`Source::head`], has been above target for an interval (`codel_should_drop`).
    #[inline]
    fn is_late(&mut self, now: u32, parameters: &Parameters, head: Option<(Time, u64)>) -> bool {
        let Some((since, behind)) = head else {
            self.first_above = 0;
            return false;
        };
        self.sojourn = now.wrapping_sub(ticks(since));
        if is_after(parameters.target, self.sojourn) || behind <= parameters.mtu {
            self.first_above = 0;
            return false;
        }
        if self.first_above == 0 {
            self.first_above = now.wrapping_add(parameters.interval);
            return false;
        }
        is_after(now, self.first_above)
    }

    /// Gives all signals that are due by now; a mark ends it, however many more were due.
    fn keep_dropping<P: Frame, S: Source<P>>(
        &mut self,
        now: u32,
        parameters: &Parameters,
        mut head: Queued<P>,
        source: &mut S,
        outcome: &mut Outcome<P>,
    ) -> Option<Queued<P>> {
        while !is_after(self.drop_next, now) {
            self.count = self.count.wrapping_add(1);
            self.newton_step();
            if parameters.ecn && outcome.mark(&mut head.packet, Cause::Aqm) {
                self.drop_next = self.control_law(self.drop_next, parameters);
                break;
            }
            outcome.drop(head.packet, Cause::Aqm);
            let is_late = self.is_late(now, parameters, source.head());
            match source.take() {
                Some(next) if is_late => {
                    self.drop_next = self.control_law(self.drop_next, parameters);
                    head = next;
                }
                next => {
                    self.dropping = false;
                    return next;
                }
            }
        }
        Some(head)
    }

    /// Gives the first signal of a spell. Soon after the last one, the pace starts from what that had
    /// to add, with the root that it left and one step of correction.
    fn start_dropping<P: Frame, S: Source<P>>(
        &mut self,
        now: u32,
        parameters: &Parameters,
        mut head: Queued<P>,
        source: &mut S,
        outcome: &mut Outcome<P>,
    ) -> Option<Queued<P>> {
        let head = if parameters.ecn && outcome.mark(&mut head.packet, Cause::Aqm) {
            Some(head)
        } else {
            outcome.drop(head.packet, Cause::Aqm);
            self.is_late(now, parameters, source.head());
            source.take()
        };
        self.dropping = true;
        let added = self.count.wrapping_sub(self.last_count);
        let since_last = now.wrapping_sub(self.drop_next);
        if added > 1 && is_after(parameters.interval.wrapping_mul(16), since_last) {
            self.count = added;
            self.newton_step();
        } else {
            self.count = 1;
            self.inverse_root = u16::MAX;
        }
        self.last_count = self.count;
        self.drop_next = self.control_law(now, parameters);
        head
    }

    #[inline]
    fn is_above_threshold(&self, parameters: &Parameters) -> bool {
        is_after(self.sojourn, parameters.ce_threshold)
    }

    /// One step towards 1/sqrt(count): r (3 - count r^2) / 2 in Q0.32 (`codel_Newton_step`). Far
    /// from the root the difference is below zero, and the kernel's unsigned words wrap as these do.
    fn newton_step(&mut self) {
        let root = u64::from(self.inverse_root) << 16;
        let square = (root * root) >> 32;
        let rest = (3u64 << 32).wrapping_sub(u64::from(self.count).wrapping_mul(square));
        let next = (rest >> 2).wrapping_mul(root) >> 31;
        self.inverse_root = (next >> 16) as u16;
    }

    /// An interval over the root of `count` later.
    fn control_law(&self, at: u32, parameters: &Parameters) -> u32 {
        let step = (u64::from(parameters.interval) * u64::from(self.inverse_root)) >> 16;
        at.wrapping_add(step as u32)
    }
}

/// Marks a packet that waited longer than the threshold, where it is of the traffic for which that was asked.
fn mark_selected<P: Frame>(parameters: &Parameters, packet: &mut P, outcome: &mut Outcome<P>) {
    let ds = packet.dscp() << 2 | packet.ecn();
    let mask = parameters.ce_threshold_mask;
    if mask == 0 || ds & mask == parameters.ce_threshold_selector {
        outcome.mark(packet, Cause::Threshold);
    }
}

/// The machine's clock: 1024 ns, 32 bits; differences are good for 2199 s. To the law a queue that has never signalled did so
/// at zero, and a spell that begins within 16 intervals of a signal continues the one before.
#[inline]
fn ticks(at: Time) -> u32 {
    ((at + BOOT).as_ns() >> 10) as u32
}

/// Users give microseconds, as `tc` does; what the clock cannot compare becomes its longest.
fn span_ticks(span: Span) -> u32 {
    ((span.as_us() * 1000) >> 10).min(u64::from(NO_THRESHOLD)) as u32
}

/// `codel_time_after`.
#[inline]
fn is_after(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Packet;
    use crate::qdisc::codel::Line;

    /// 100 ms.
    const INTERVAL: u32 = 97_656;
    /// When a run begins: 1000 s.
    const ZERO: u32 = 976_562_500;

    fn parameters() -> Parameters {
        Parameters::new(Span::from_ms(5), Span::from_ms(100), Bytes::new(1514))
    }

    #[test]
    fn milliseconds_are_whole_ticks_of_1024_ns() {
        let p = parameters();
        assert_eq!((p.target, p.interval), (4882, INTERVAL));
    }

    #[test]
    fn one_newton_step_per_signal_approximates_the_root() {
        let mut state = State { count: 1, inverse_root: u16::MAX, ..State::default() };
        let mut roots = vec![];
        for count in 2..=16 {
            state.count = count;
            state.newton_step();
            roots.push(state.inverse_root);
        }
        // Counts 2 to 6, 8 and 16, worked out from the formula apart from this code.
        assert_eq!(roots[..5], [32769, 36864, 31968, 28935, 26481]);
        assert_eq!((roots[6], roots[14]), (23037, 16360));
    }

    /// A spell begins `gap` ticks after one that gave `added` signals and ended at a count of 20.
    fn late_after_spell(added: u32, gap: u32) -> State {
        let now = ZERO + 10_000_000;
        late_at(
            10_000_000,
            State { last_count: 20 - added, drop_next: now - gap, ..State::default() },
        )
    }

    /// The first signal of a spell, this many ticks after the run began, with a count of 20.
    fn late_at(now: u32, before: State) -> State {
        let first_above = ZERO + now - 1;
        let mut state = State { count: 20, inverse_root: 14_640, first_above, ..before };
        let mut line = Line::of(3);
        let now = Time::from_ns(u64::from(now) << 10);
        state.dequeue(now, &parameters(), &mut line, &mut Outcome::default());
        state
    }

    #[test]
    fn a_queue_that_overflowed_before_its_first_signal_starts_afresh_whenever_in_a_run() {
        for ms in [10, 1_000, 1_700, 5_000] {
            let state = late_at(ms * INTERVAL / 100, State::default());
            assert_eq!((state.count, state.inverse_root), (1, u16::MAX), "{ms} ms");
        }
    }

    #[test]
    fn a_spell_soon_after_another_starts_from_what_that_had_added_and_from_its_root() {
        let state = late_after_spell(3, 16 * INTERVAL - 1);
        // r = 0.2234: r (3 - 3 r^2) / 2 = 0.3184, though 1/sqrt(3) = 0.5774.
        assert_eq!((state.count, state.last_count, state.inverse_root), (3, 3, 20_864));
        assert_eq!(state.drop_next, ZERO + 10_000_000 + 31_089);
    }

    #[test]
    fn a_spell_16_intervals_after_another_starts_afresh() {
        let state = late_after_spell(3, 16 * INTERVAL);
        assert_eq!((state.count, state.last_count, state.inverse_root), (1, 1, u16::MAX));
        assert_eq!(state.drop_next, ZERO + 10_000_000 + 97_654);
        // So does one soon after a spell of a single signal.
        assert_eq!(late_after_spell(1, 1).inverse_root, u16::MAX);
        assert_eq!(late_after_spell(2, 1).count, 2);
    }

    #[test]
    fn late_is_strictly_later_than_an_interval_above_target() {
        let p = parameters();
        let mut state = State::default();
        let late = |state: &mut State, now| state.is_late(ZERO + now, &p, Some((Time::ZERO, 1515)));
        assert!(!late(&mut state, 4881));
        assert_eq!(state.first_above, 0);
        assert!(!late(&mut state, 4882));
        assert_eq!(state.first_above, ZERO + 4882 + INTERVAL);
        assert!(!late(&mut state, 4882 + INTERVAL));
        assert!(late(&mut state, 4882 + INTERVAL + 1));
    }

    #[test]
    fn an_mtu_behind_the_head_is_no_queue() {
        let p = parameters();
        let mut state = State { first_above: 1, ..State::default() };
        assert!(state.is_late(ZERO + 100_000, &p, Some((Time::ZERO, 1515))));
        assert!(!state.is_late(ZERO + 100_000, &p, Some((Time::ZERO, 1514))));
        assert_eq!(state.first_above, 0);
    }

    #[test]
    fn the_threshold_can_be_for_one_ds_byte_only() {
        // ECT(1), whatever the DSCP: `ce_threshold_selector 0x01/0x03`.
        let p = parameters().with_ce_threshold(Some(Span::from_us(242)), 1, 3);
        let marked = |ecn, ticks| {
            let mut outcome = Outcome::default();
            let state = State { sojourn: ticks, ..State::default() };
            let mut packet = Packet { ecn, ..Packet::default() };
            if state.is_above_threshold(&p) {
                mark_selected(&p, &mut packet, &mut outcome);
            }
            outcome.marks.len()
        };
        assert_eq!(marked(1, 237), 1);
        assert_eq!(marked(1, 236), 0);
        assert_eq!(marked(2, 237), 0);
    }
}
