//! A link of the run: its queue and rate, and what passed through it.

use crate::histogram::Histogram;
use net::fifo::{Fifo, Verdict};
use net::qdisc::{Cause, Outcome, Qdisc, Queued};
use net::Frame;
use units::{Bytes, Span, Time};

/// Counters since the start; bytes are wire bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkStats {
    pub sent_packets: u64,
    pub sent_bytes: u64,
    pub dropped_packets: u64,
    pub dropped_bytes: u64,
    pub marked_packets: u64,
}

/// How packets wait.
pub enum Queue<P> {
    /// Drop tail at a known rate: each departure is known when the packet arrives.
    Fifo(Fifo<P>),
    /// Any other.
    Any(Box<dyn Qdisc<P>>),
}

/// See the module documentation.
pub struct Link<P> {
    pub queue: Queue<P>,
    /// Wire bytes that can leave from the start to a time.
    capacity: Box<dyn Fn(Time) -> u64>,
    pub stats: LinkStats,
    pub sojourn: Histogram,
    /// Backlog at each sample time, bytes.
    pub backlog_samples: Vec<u64>,
    /// Sojourn of the packet that left last.
    last_sojourn: Span,
    /// Integral of the backlog over time, byte-nanoseconds, up to `integrated`.
    waited: u128,
    integrated: Time,
}

impl<P: Frame + Copy> Link<P> {
    pub fn new(queue: Queue<P>, capacity: Box<dyn Fn(Time) -> u64>) -> Self {
        Link {
            queue,
            capacity,
            stats: LinkStats::default(),
            sojourn: Histogram::default(),
            backlog_samples: Vec::new(),
            last_sojourn: Span::ZERO,
            waited: 0,
            integrated: Time::ZERO,
        }
    }

    /// Offers a packet; what is dropped or marked on the way is left in `outcome`. Tells whether the
    /// link is to be looked at: something may leave at once, or it wants to be woken at another time.
    #[inline]
    pub fn enqueue(&mut self, now: Time, packet: P, outcome: &mut Outcome<P>) -> bool {
        match &mut self.queue {
            Queue::Fifo(fifo) => match fifo.enqueue(now, packet) {
                Verdict::Queued(departure) => {
                    let is_first = fifo.len() == 1;
                    let wait = departure.since(now);
                    let wire = u128::from(packet.wire_bytes().get());
                    self.waited += wire * u128::from(wait.as_ns());
                    self.sojourn.add_span(wait);
                    is_first
                }
                Verdict::Dropped(packet, cause) => {
                    outcome.drop(packet, cause);
                    true
                }
            },
            Queue::Any(queue) => {
                integrate(&mut self.waited, &mut self.integrated, now, queue.backlog());
                queue.enqueue(now, packet, outcome);
                true
            }
        }
    }

    /// The next packet that has left by `now`.
    #[inline]
    pub fn dequeue(&mut self, now: Time, outcome: &mut Outcome<P>) -> Option<P> {
        let packet = match &mut self.queue {
            Queue::Fifo(fifo) => fifo.dequeue(now)?,
            Queue::Any(queue) => {
                integrate(&mut self.waited, &mut self.integrated, now, queue.backlog());
                let Queued { since, packet } = queue.dequeue(now, outcome)?;
                self.last_sojourn = now.since(since);
                self.sojourn.add_span(self.last_sojourn);
                packet
            }
        };
        self.stats.sent_packets += 1;
        self.stats.sent_bytes += packet.wire_bytes().get();
        Some(packet)
    }

    /// When it wants to be woken.
    #[inline]
    pub fn next_wakeup(&self) -> Option<Time> {
        match &self.queue {
            Queue::Fifo(fifo) => fifo.next_wakeup(),
            Queue::Any(queue) => queue.next_wakeup(),
        }
    }

    /// Runs timers of the queue discipline that are due.
    #[inline]
    pub fn on_timer(&mut self, now: Time) {
        match &mut self.queue {
            Queue::Fifo(_) => {}
            Queue::Any(queue) => queue.on_timer(now),
        }
    }

    /// Notes a drop or a mark.
    pub fn count(&mut self, wire: Bytes, cause: Option<Cause>) {
        match cause {
            Some(_) => {
                self.stats.dropped_packets += 1;
                self.stats.dropped_bytes += wire.get();
            }
            None => self.stats.marked_packets += 1,
        }
    }

    /// A sample time: notes the backlog.
    pub fn sample(&mut self) {
        self.backlog_samples.push(self.backlog().get());
    }

    /// Wire bytes waiting.
    pub fn backlog(&self) -> Bytes {
        match &self.queue {
            Queue::Fifo(fifo) => fifo.backlog(),
            Queue::Any(queue) => queue.backlog(),
        }
    }

    /// Packets waiting.
    pub fn len(&self) -> usize {
        match &self.queue {
            Queue::Fifo(fifo) => fifo.len(),
            Queue::Any(queue) => queue.len(),
        }
    }

    /// How long a packet that leaves about now has waited; zero when the queue is empty.
    pub fn sojourn_at(&self, now: Time) -> Span {
        match &self.queue {
            Queue::Fifo(fifo) => fifo.sojourn(now),
            Queue::Any(queue) if queue.is_empty() => Span::ZERO,
            Queue::Any(_) => self.last_sojourn,
        }
    }

    /// Calls `each` for every packet that waits.
    pub fn for_each(&self, each: &mut dyn FnMut(&P)) {
        match &self.queue {
            Queue::Fifo(fifo) => fifo.for_each(each),
            Queue::Any(queue) => queue.for_each(each),
        }
    }

    /// Integral of the backlog from the start to `end`, byte-nanoseconds.
    pub fn waited(&self, end: Time) -> u128 {
        match &self.queue {
            Queue::Fifo(_) => self.waited,
            Queue::Any(queue) => {
                let (mut waited, mut integrated) = (self.waited, self.integrated);
                integrate(&mut waited, &mut integrated, end, queue.backlog());
                waited
            }
        }
    }

    /// Wire bytes that can leave from the start to `end`.
    pub fn capacity(&self, end: Time) -> u64 {
        (self.capacity)(end)
    }
}

#[inline]
fn integrate(waited: &mut u128, integrated: &mut Time, now: Time, backlog: Bytes) {
    let span = now.since(*integrated).as_ns();
    *waited += u128::from(backlog.get()) * u128::from(span);
    *integrated = now;
}
