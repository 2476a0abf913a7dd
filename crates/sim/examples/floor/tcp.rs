//! The loop of [`crate::Loop`] with the engine's own senders, receivers and controllers at its ends, and nothing else: no
//! routes, no queue that drops, no samples, no records. What is above it in the engine is the price of all these; what is
//! in it above the other loops, that of TCP.

use crate::{Path, Pipe, ACKS, DATA, TIMERS};
use net::{flags, Ack, Packet};
use path::timeline::Timeline;
use std::time::Instant;
use transport::common::{Conn, Stream};
use transport::tcp::{Burst, Feedback, HostConfig, Receiver, Sender};
use units::Time;

/// Flows start one after the other within this time, as those of the scenarios do.
const STARTS_NS: u64 = 100_000_000;

/// See the module documentation.
pub struct Ends {
    path: Path,
    timeline: Timeline,
    flows: Vec<(Box<Sender>, Box<Receiver>)>,
    data: Pipe<Packet>,
    acks: Pipe<Ack>,
    /// What a receiver sends now.
    answers: Vec<Ack>,
    free_at: u64,
}

impl Ends {
    pub fn new(path: Path) -> Ends {
        let config = HostConfig { cuts_bursts: true, ..HostConfig::default() };
        let ends = |i| {
            let controller = path.controller(i);
            let feedback = Feedback::of(&controller, config.ecn);
            let mut sender = Sender::new(controller, config, Stream::GREEDY, u64::from(i));
            sender.sk.snd_cwnd_clamp = path.window;
            let Stream { segments, last_len } = Stream::GREEDY;
            (Box::new(sender), Box::new(Receiver::new(config, segments, last_len, feedback)))
        };
        let flows = path.flows;
        let mut this = Ends {
            timeline: Timeline::new((TIMERS + 2 * flows) as usize),
            flows: (0..flows).map(ends).collect(),
            data: Pipe::new(DATA),
            acks: Pipe::new(ACKS),
            answers: Vec::new(),
            free_at: 0,
            path,
        };
        [DATA, ACKS].into_iter().for_each(|slot| this.timeline.keep_apart(slot));
        for i in 0..flows {
            let at = STARTS_NS / u64::from(flows) * u64::from(i);
            this.timeline.set(sender_slot(i), Time::from_ns(at));
        }
        this
    }

    fn on_packet(&mut self, now: Time) {
        let i = self.data.pop(&mut self.timeline);
        let packet = self.data.content.pop_front().expect("a packet that arrives");
        self.flows[i as usize].1.on_packet(now, &packet, &mut self.answers);
        self.after_receiver(now, i);
    }

    fn on_ack(&mut self, now: Time) {
        let i = self.acks.pop(&mut self.timeline);
        let ack = self.acks.content.pop_front().expect("an ACK that arrives");
        self.flows[i as usize].0.on_ack(now, &ack);
        self.after_sender(now, i);
    }

    fn on_sender_timer(&mut self, now: Time, i: u32) {
        self.timeline.take_up(sender_slot(i));
        let sender = &mut self.flows[i as usize].0;
        if sender.conn() == Conn::Closed {
            sender.start(now);
        }
        sender.on_watchdog(now);
        sender.on_timer(now);
        self.after_sender(now, i);
        self.timeline.let_go(sender_slot(i));
    }

    fn on_receiver_timer(&mut self, now: Time, i: u32) {
        self.timeline.clear(receiver_slot(i));
        self.flows[i as usize].1.on_timer(now, &mut self.answers);
        self.after_receiver(now, i);
    }

    #[inline(always)]
    fn after_receiver(&mut self, now: Time, i: u32) {
        let at = Time::from_ns(now.as_ns() + self.path.delay_ns);
        for ack in self.answers.drain(..) {
            self.acks.push(at, i, &mut self.timeline);
            self.acks.content.push_back(Ack { flow: i, ..ack });
        }
        let deadline = self.flows[i as usize].1.next_deadline();
        self.timeline.set_if_earlier(receiver_slot(i), deadline);
    }

    /// What leaves goes onto the link.
    #[inline(always)]
    fn after_sender(&mut self, now: Time, i: u32) {
        let sender = &mut self.flows[i as usize].0;
        while sender.may_depart(now) {
            let Some(burst) = sender.depart(now) else { break };
            for packet in packets(sender, now, i, burst) {
                self.free_at = self.free_at.max(now.as_ns()) + self.path.spacing_ns;
                let at = Time::from_ns(self.free_at + self.path.delay_ns);
                self.data.push(at, i, &mut self.timeline);
                self.data.content.push_back(packet);
            }
        }
        let (deadline, slack) = sender.next_wakeup();
        self.timeline.set_with_slack_if_earlier(sender_slot(i), deadline, slack);
    }

    /// Nanoseconds per packet that arrives.
    #[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
    pub fn run(mut self, packets: u64) -> f64 {
        let start = Instant::now();
        let mut arrived = 0;
        while arrived < packets {
            let (now, slot) = self.timeline.advance().expect("a flow without end");
            match slot {
                DATA => {
                    self.on_packet(now);
                    arrived += 1;
                }
                ACKS => self.on_ack(now),
                timer if (timer - TIMERS).is_multiple_of(2) => {
                    self.on_sender_timer(now, (timer - TIMERS) / 2);
                }
                timer => self.on_receiver_timer(now, (timer - TIMERS) / 2),
            }
        }
        let ns = start.elapsed().as_nanos() as f64 / packets as f64;
        let lost: u64 = self.flows.iter().map(|(sender, _)| sender.stats().retrans_segs).sum();
        assert_eq!(lost, 0, "nothing is lost on this path");
        ns
    }
}

fn sender_slot(i: u32) -> u32 {
    TIMERS + 2 * i
}

fn receiver_slot(i: u32) -> u32 {
    TIMERS + 2 * i + 1
}

/// The frames of a burst.
#[inline(always)]
fn packets(
    sender: &Sender,
    now: Time,
    flow: u32,
    burst: Burst,
) -> impl Iterator<Item = Packet> + use<> {
    let last = burst.segments.max(1) - 1;
    let len = if burst.segments > 0 { sender.payload(burst.seq) as u16 } else { 0 };
    let Burst { seq, ts_val, ts_ecr, ecn, .. } = burst;
    let sent_us = now.as_us() as u32;
    (0..=last).map(move |k| {
        let push = if k == last && burst.push && burst.segments > 0 { flags::PUSH } else { 0 };
        Packet { flow, seq: seq + k, ts_val, ts_ecr, len, flags: burst.flags | push, ecn, sent_us }
    })
}
