//! The sending host below TCP: the queue discipline that holds bursts until they may leave, and the
//! count of bytes that TCP small queues limits (`sk_wmem_alloc`).

use super::clock::run_time;
use super::config::HostQdisc;
use std::collections::VecDeque;
use units::{Span, Time};

/// Slack of fq's watchdog timer (`q->timer_slack`, net/sched/sch_fq.c): a packet that has to wait
/// leaves this much after its earliest departure time.
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
    ring: VecDeque<(Time, Burst)>,
    wmem: u64,
    /// Charged bytes that left at this instant; TCP learns of them when the event is over.
    completed: u64,
    throttled: bool,
}

impl HostQueue {
    /// An empty queue.
    pub fn new(qdisc: HostQdisc) -> HostQueue {
        HostQueue { qdisc, ring: VecDeque::new(), wmem: 0, completed: 0, throttled: false }
    }

    /// Takes a burst that may leave at `edt_ns` (host clock) or later.
    pub fn push(&mut self, now: Time, edt_ns: u64, burst: Burst) {
        let edt = run_time(edt_ns);
        let at = match self.qdisc {
            HostQdisc::Fq if edt > now => edt + FQ_TIMER_SLACK,
            HostQdisc::Fq | HostQdisc::Pfifo => now,
        };
        let at = self.ring.back().map_or(at, |&(last, _)| last.max(at));
        self.wmem += u64::from(burst.truesize);
        self.ring.push_back((at, burst));
    }

    /// Takes the next burst that leaves by `now`.
    #[inline]
    pub fn pop(&mut self, now: Time) -> Option<Burst> {
        match self.ring.front() {
            Some(&(at, burst)) if at <= now => {
                self.ring.pop_front();
                self.completed += u64::from(burst.truesize);
                Some(burst)
            }
            _ => None,
        }
    }

    /// When the next burst leaves.
    #[inline]
    pub fn next_departure(&self) -> Time {
        self.ring.front().map_or(Time::NEVER, |&(at, _)| at)
    }

    /// Lowest segment that waits; `u32::MAX` without any.
    pub fn lowest_seq(&self) -> u32 {
        let data = self.ring.iter().filter(|(_, burst)| burst.segments > 0);
        data.map(|(_, burst)| burst.seq).min().unwrap_or(u32::MAX)
    }

    /// Bytes charged to the socket (`sk_wmem_alloc`, which starts at 1).
    pub fn wmem_alloc(&self) -> u64 {
        1 + self.wmem
    }

    /// TCP stopped because of the limit and wants to know when bytes are freed.
    pub fn throttle(&mut self) {
        self.throttled = true;
    }

    /// Accounts for what has left; true when TCP waits for it (`tcp_wfree` schedules the tasklet).
    #[inline]
    pub fn complete(&mut self) -> bool {
        if self.completed == 0 {
            return false;
        }
        self.wmem -= self.completed;
        self.completed = 0;
        std::mem::take(&mut self.throttled)
    }
}
