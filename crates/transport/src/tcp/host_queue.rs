//! The sending host below TCP: the queue discipline that holds bursts until they may leave, and the
//! count of bytes that TCP small queues limits (`sk_wmem_alloc`).
//!
//! The discipline runs whenever TCP hands something down, and when fq's watchdog fires; what is due by then leaves.

use super::config::HostConfig;
use crate::common::clock::run_time;
use net::frame::SKB_OVERHEAD;
use net::host::HostQdisc;
use net::ring::Ring;
use units::{Span, Time};

/// Slack of fq's watchdog timer (`q->timer_slack`, net/sched/sch_fq.c): it fires this much after the
/// earliest departure time of the packet that waits, unless another timer of the processor wakes it before.
const FQ_TIMER_SLACK: Span = Span::from_us(10);

/// Segments that TCP handed down in one piece and that leave back to back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// First segment.
    pub seq: u32,
    /// Number of segments; 0 for a SYN or pure ACK.
    pub segments: u32,
    /// `net::flags` of each packet.
    pub flags: u8,
    /// ECN code point of each packet.
    pub ecn: u8,
    /// The last packet carries PSH.
    pub push: bool,
    /// A packet without data that asks for the receive window; `seq` is the first unacknowledged segment.
    pub probe: bool,
    /// Timestamp value, ms.
    pub ts_val: u32,
    /// Timestamp echo, ms.
    pub ts_ecr: u32,
    /// Memory it is charged for, bytes.
    pub truesize: u32,
}

/// See the module documentation.
#[derive(Debug)]
pub struct HostQueue {
    qdisc: HostQdisc,
    /// What leaves is not charged.
    takes_over: bool,
    /// What leaves is charged frame by frame.
    cuts_bursts: bool,
    /// The application hands down: whatever leaves has crossed the device, and is charged no more, before the next send.
    /// In the midst of an event a device is served afterwards (`__dev_queue_xmit` ends with `local_bh_enable`, which
    /// serves it only outside of softirqs).
    pub is_application: bool,
    /// More ACKs come at this instant: TCP handles them before it learns what has left, which stays charged until then.
    pub is_followed: bool,
    /// Bursts that wait, each with the earliest time at which it may leave.
    ring: Ring<(Time, Burst)>,
    /// When the discipline ran last.
    ran: Time,
    wmem: u64,
    /// What those that leave at this instant are charged for as frames, beyond `wmem`, until TCP learns that they left.
    cut: u64,
    /// Of that, for those that were taken.
    cut_taken: u64,
    /// Charged bytes that left at this instant; TCP learns of them when the event is over.
    completed: u64,
    throttled: bool,
}

impl HostQueue {
    /// An empty queue.
    pub fn new(config: &HostConfig) -> HostQueue {
        HostQueue {
            qdisc: config.qdisc,
            takes_over: config.device.takes_over(),
            cuts_bursts: config.cuts_bursts,
            is_application: false,
            is_followed: false,
            ring: Ring::default(),
            ran: Time::ZERO,
            wmem: 0,
            cut: 0,
            cut_taken: 0,
            completed: 0,
            throttled: false,
        }
    }

    /// Takes a burst that may leave at `edt_ns` (host clock) or later.
    pub fn push(&mut self, now: Time, edt_ns: u64, mut burst: Burst) {
        let at = match self.qdisc {
            HostQdisc::Fq => run_time(edt_ns).max(now),
            HostQdisc::Pfifo | HostQdisc::None => now,
        };
        let at = self.ring.back().map_or(at, |&(last, _)| last.max(at));
        if self.takes_over || (self.is_application && at <= now) {
            burst.truesize = 0;
        }
        self.wmem += u64::from(burst.truesize);
        self.ring.push_back((at, burst));
        self.run(now);
        if self.cuts_bursts {
            let leaving = self.ring.iter().take_while(|(at, _)| *at <= now);
            self.cut = self.cut_taken + leaving.map(|(_, burst)| frames_more(burst)).sum::<u64>();
        }
    }

    /// The discipline runs: the watchdog fires, or TCP handed something down (`__dev_xmit_skb`).
    pub fn run(&mut self, now: Time) {
        self.ran = now;
    }

    /// Takes the next burst that leaves by `now`.
    #[inline]
    pub fn pop(&mut self, now: Time) -> Option<Burst> {
        let &(at, burst) = self.ring.front()?;
        if !self.leaves(at, now) {
            return None;
        }
        if at > self.ran {
            self.run(now);
        }
        self.ring.pop_front();
        self.completed += u64::from(burst.truesize);
        self.cut_taken += frames_more(&burst);
        Some(burst)
    }

    /// Whether a burst that may leave at `at` does by `now`.
    #[inline]
    fn leaves(&self, at: Time, now: Time) -> bool {
        at <= self.ran || at + FQ_TIMER_SLACK <= now
    }

    /// Whether something leaves by `now`, or has left and TCP does not know it yet.
    #[inline]
    pub fn has_work(&self, now: Time) -> bool {
        self.completed > 0 || self.ring.front().is_some_and(|&(at, _)| self.leaves(at, now))
    }

    /// When the next burst leaves at the latest, and how much earlier the watchdog may fire.
    #[inline]
    pub fn next_departure(&self) -> (Time, Span) {
        match self.ring.front() {
            Some(&(at, _)) if at <= self.ran => (at, Span::ZERO),
            Some(&(at, _)) => (at + FQ_TIMER_SLACK, FQ_TIMER_SLACK),
            None => (Time::NEVER, Span::ZERO),
        }
    }

    /// Asks for the memory of the first burst.
    #[inline]
    pub fn fetch(&self) {
        self.ring.fetch();
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// Lowest segment that waits; `u32::MAX` without any.
    pub fn lowest_seq(&self) -> u32 {
        let data = self.ring.iter().filter(|(_, burst)| burst.segments > 0);
        data.map(|(_, burst)| burst.seq).min().unwrap_or(u32::MAX)
    }

    /// Bytes charged to the socket (`sk_wmem_alloc`, which starts at 1).
    pub fn wmem_alloc(&self) -> u64 {
        1 + self.wmem + self.cut
    }

    /// TCP stopped because of the limit and wants to know when bytes are freed.
    pub fn throttle(&mut self) {
        self.throttled = true;
    }

    /// Whether TCP waits for that.
    pub fn is_throttled(&self) -> bool {
        self.throttled
    }

    /// Frees the bytes that have left; true when TCP waits for that (`tcp_wfree` schedules the tasklet).
    #[inline]
    pub fn complete(&mut self) -> bool {
        if self.completed == 0 || self.is_followed {
            return false;
        }
        self.wmem -= self.completed;
        (self.completed, self.cut, self.cut_taken) = (0, 0, 0);
        std::mem::take(&mut self.throttled)
    }
}

/// What the frames of a burst that is charged are charged for more than the burst.
#[inline]
fn frames_more(burst: &Burst) -> u64 {
    match burst.truesize {
        0 => 0,
        _ => u64::from(SKB_OVERHEAD * burst.segments.saturating_sub(1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::clock::BOOT;

    fn burst(seq: u32) -> Burst {
        let (flags, ecn, push, probe, ts_val, ts_ecr) = (0, 0, false, false, 0, 0);
        Burst { seq, segments: 2, flags, ecn, push, probe, ts_val, ts_ecr, truesize: 4_000 }
    }

    fn at_us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    /// Bursts handed down at zero that may leave at these times.
    fn fq(edts_us: &[u64]) -> HostQueue {
        let mut queue = HostQueue::new(&HostConfig::default());
        for (seq, &us) in (0..).zip(edts_us) {
            queue.push(Time::ZERO, (at_us(us) + BOOT).as_ns(), burst(seq));
        }
        queue
    }

    fn leave(queue: &mut HostQueue, now: Time) -> Vec<u32> {
        std::iter::from_fn(|| queue.pop(now)).map(|burst| burst.seq).collect()
    }

    #[test]
    fn a_burst_that_waits_leaves_when_the_watchdog_fires_at_the_end_of_its_slack() {
        let mut queue = fq(&[0, 100]);
        assert_eq!(queue.next_departure(), (at_us(0), Span::ZERO));
        assert_eq!(leave(&mut queue, at_us(0)), [0]);
        assert_eq!(queue.next_departure(), (at_us(110), Span::from_us(10)));
        assert_eq!(leave(&mut queue, at_us(109)), []);
        assert_eq!(leave(&mut queue, at_us(110)), [1]);
    }

    #[test]
    fn a_watchdog_that_fires_early_takes_what_is_due() {
        let mut queue = fq(&[100, 103, 108]);
        queue.run(at_us(104));
        assert_eq!(leave(&mut queue, at_us(104)), [0, 1]);
        assert_eq!(queue.next_departure().0, at_us(118));
    }

    #[test]
    fn a_device_that_takes_frames_is_charged_for_each_until_tcp_learns_that_they_left() {
        let mut queue = HostQueue::new(&HostConfig { cuts_bursts: true, ..HostConfig::default() });
        let edt = |us| (at_us(us) + BOOT).as_ns();
        queue.push(Time::ZERO, edt(0), burst(0));
        assert_eq!(queue.wmem_alloc(), 1 + 4_000 + 832);
        queue.push(Time::ZERO, edt(100), burst(1));
        assert_eq!(queue.wmem_alloc(), 1 + 8_000 + 832, "one that waits is whole");
        assert_eq!(leave(&mut queue, Time::ZERO), [0]);
        queue.complete();
        assert_eq!(queue.wmem_alloc(), 1 + 4_000);
        queue.push(at_us(103), edt(200), burst(2));
        assert_eq!(queue.wmem_alloc(), 1 + 8_000 + 832, "the one that waited leaves with the next");
    }

    #[test]
    fn what_leaves_while_more_acks_come_stays_charged_until_they_are_handled() {
        let mut queue = HostQueue::new(&HostConfig { cuts_bursts: true, ..HostConfig::default() });
        queue.is_followed = true;
        for seq in [0, 2] {
            queue.push(Time::ZERO, BOOT.as_ns(), burst(seq));
            queue.throttle();
            assert_eq!(leave(&mut queue, Time::ZERO), [seq]);
            assert!(!queue.complete(), "TCP does not know that it left");
        }
        assert_eq!(queue.wmem_alloc(), 1 + 2 * (4_000 + 832));
        queue.is_followed = false;
        assert!(queue.complete());
        assert_eq!(queue.wmem_alloc(), 1);
    }

    #[test]
    fn a_burst_that_is_due_leaves_when_tcp_hands_down_another() {
        let mut queue = fq(&[100]);
        assert_eq!(leave(&mut queue, at_us(103)), []);
        queue.push(at_us(103), (at_us(200) + BOOT).as_ns(), burst(1));
        assert_eq!(leave(&mut queue, at_us(103)), [0]);
        assert_eq!(queue.next_departure().0, at_us(210));
    }
}
