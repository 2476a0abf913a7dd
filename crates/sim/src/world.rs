//! The event loop: who is woken when, and what a packet meets on its way.

use crate::capture::Capture;
use crate::flow::{Flow, Life};
use crate::plan::{Plan, Qdisc};
use crate::probe::Probe;
use crate::summary::Summary;
use crate::timeline::Timeline;
use crate::{Progress, RunError};
use cca::Modules;
use net::fifo::{Config, Fifo, Limit, Verdict};
use net::schedule::Schedule;
use net::{Ack, Packet};
use record::RecordError;
use std::path::Path;
use transport::tcp::Conn;
use units::{Bytes, Rate, Span, Time};

/// Events between two looks at the caller's progress function.
const EVENTS_PER_PROGRESS: u64 = 1 << 17;

/// Sources of events of one flow; slot = flow * SLOTS + source.
const SLOTS: u32 = 5;
const FORWARD: u32 = 0;
const BACK: u32 = 1;
const SENDER: u32 = 2;
const RECEIVER: u32 = 3;
const LIFE: u32 = 4;

pub struct World {
    flows: Vec<Flow>,
    fifo: Fifo,
    timeline: Timeline,
    end: Time,
    now: Time,
    sample_every: Span,
    next_sample: Time,
    /// Slots of the bottleneck's head and of the sampler.
    bottleneck: u32,
    sampler: u32,
    probe: Probe,
    capture: Option<Capture>,
    acks: Vec<Ack>,
    delivered: u64,
    events: u64,
    /// Byte-nanoseconds spent in the queue.
    waited: u128,
}

impl World {
    pub fn new(plan: &Plan, modules: &Modules, out: &Path) -> Result<World, RunError> {
        let flows = (0..plan.flows.len())
            .map(|i| Flow::new(plan, i, modules))
            .collect::<Result<Vec<_>, _>>()?;
        let n = flows.len() as u32;
        let mut timeline = Timeline::new((n * SLOTS + 2) as usize);
        timeline.set(n * SLOTS + 1, Time::ZERO);
        for (i, flow) in flows.iter().enumerate() {
            timeline.set(i as u32 * SLOTS + LIFE, flow.start);
        }
        Ok(World {
            fifo: fifo(plan),
            timeline,
            end: Time::from_ns(plan.duration_ns),
            now: Time::ZERO,
            sample_every: Span::from_ns(plan.sample_ns),
            next_sample: Time::ZERO,
            bottleneck: n * SLOTS,
            sampler: n * SLOTS + 1,
            probe: Probe::new(plan, &flows, out)?,
            capture: plan.record.pcap.then(|| Capture::create(out, flows.len())).transpose()?,
            flows,
            acks: Vec::with_capacity(4),
            delivered: 0,
            events: 0,
            waited: 0,
        })
    }

    /// Runs until the end of the plan.
    pub fn run(&mut self, progress: &mut Progress<'_>) -> Result<(), RunError> {
        while let Some((now, slot)) = self.timeline.next() {
            if now > self.end {
                break;
            }
            self.now = now;
            self.events += 1;
            if self.events.is_multiple_of(EVENTS_PER_PROGRESS)
                && !progress(now.as_ns(), self.delivered)
            {
                return Err(RunError::Stopped);
            }
            self.wake(slot);
        }
        self.now = self.end;
        for i in 0..self.flows.len() {
            if self.flows[i].is_running() {
                self.end_flow(i, false);
            }
        }
        self.check_conservation();
        Ok(())
    }

    /// Writes the tables and sums up.
    pub fn finish(mut self) -> Result<Summary, RecordError> {
        let summary = Summary::new(
            &self.flows,
            &self.fifo,
            &mut self.probe,
            self.end,
            self.delivered,
            self.events,
            self.waited,
        );
        if let Some(capture) = self.capture {
            capture.finish()?;
        }
        self.probe.finish(&self.flows, self.end)?;
        Ok(summary)
    }

    fn wake(&mut self, slot: u32) {
        if slot == self.bottleneck {
            self.on_departures();
        } else if slot == self.sampler {
            self.on_sample();
        } else {
            let i = (slot / SLOTS) as usize;
            match slot % SLOTS {
                FORWARD => self.on_arrivals(i, slot),
                BACK => self.on_acks(i, slot),
                SENDER => self.on_sender_timer(i, slot),
                RECEIVER => self.on_receiver_timer(i, slot),
                _ => self.on_life(i, slot),
            }
        }
    }

    /// Packets of flow `i` reach the bottleneck. What the bucket has tokens for leaves before the next
    /// one is judged, as a queue discipline is run after each packet.
    fn on_arrivals(&mut self, i: usize, slot: u32) {
        let head = self.fifo.next_wakeup();
        let mut drops = 0;
        while let Some(packet) = self.flows[i].forward.pop(self.now) {
            match self.fifo.enqueue(self.now, packet) {
                Verdict::Queued(departure) => {
                    let wire = u128::from(packet.wire_bytes().get());
                    self.waited += wire * u128::from(departure.since(self.now).as_ns());
                    self.deliver_departed();
                }
                Verdict::Dropped => {
                    drops += 1;
                }
            }
        }
        if drops > 0 {
            self.flows[i].fate.queue_drops += drops;
            self.probe.queue_drops(self.now, i, drops);
        }
        match self.flows[i].forward.next_wakeup() {
            Some(at) => self.timeline.set(slot, at),
            None => self.timeline.clear(slot),
        }
        if self.fifo.next_wakeup() != head {
            self.arm_bottleneck();
        }
    }

    /// Packets leave the bottleneck and are at their receivers.
    fn on_departures(&mut self) {
        self.deliver_departed();
        self.arm_bottleneck();
    }

    fn deliver_departed(&mut self) {
        while let Some(packet) = self.fifo.dequeue(self.now) {
            self.deliver(&packet);
        }
    }

    fn arm_bottleneck(&mut self) {
        match self.fifo.next_wakeup() {
            Some(at) => self.timeline.set(self.bottleneck, at),
            None => self.timeline.clear(self.bottleneck),
        }
    }

    fn deliver(&mut self, packet: &Packet) {
        let i = packet.flow as usize;
        let flow = &mut self.flows[i];
        flow.fate.delivered += 1;
        self.delivered += u64::from(packet.len > 0);
        flow.receiver.on_packet(self.now, packet, &mut self.acks);
        self.after_receiver(i);
    }

    /// Sends what the receiver acknowledges; ends the flow once it has everything.
    fn after_receiver(&mut self, i: usize) {
        let flow = &self.flows[i];
        let completed = flow.is_running() && flow.receiver.is_complete();
        self.send_acks(i);
        if completed {
            self.end_flow(i, true);
        }
    }

    fn send_acks(&mut self, i: usize) {
        let flow = &mut self.flows[i];
        if !self.acks.is_empty() {
            let at = self.now + flow.back_delay;
            if flow.back.is_empty() {
                self.timeline.set(i as u32 * SLOTS + BACK, at);
            }
            for ack in self.acks.drain(..) {
                flow.back.push(at, ack);
            }
        }
        self.timeline.set_if_earlier(i as u32 * SLOTS + RECEIVER, flow.receiver.next_deadline());
    }

    fn on_acks(&mut self, i: usize, slot: u32) {
        while let Some(ack) = self.flows[i].back.pop(self.now) {
            if let Some(capture) = &mut self.capture {
                capture.ack(self.now, i, &self.flows[i], &ack);
            }
            self.flows[i].sender.on_ack(self.now, &ack);
            self.depart(i);
        }
        match self.flows[i].back.next_wakeup() {
            Some(at) => self.timeline.set(slot, at),
            None => self.timeline.clear(slot),
        }
        self.after_sender(i);
    }

    fn on_sender_timer(&mut self, i: usize, slot: u32) {
        self.timeline.clear(slot);
        self.flows[i].sender.on_timer(self.now);
        self.depart(i);
        self.after_sender(i);
    }

    fn on_receiver_timer(&mut self, i: usize, slot: u32) {
        self.timeline.clear(slot);
        self.flows[i].receiver.on_timer(self.now, &mut self.acks);
        self.after_receiver(i);
    }

    /// What leaves the sending host now goes into the pipe, less what random loss takes.
    fn depart(&mut self, i: usize) {
        let was_empty = self.flows[i].forward.next_wakeup();
        while let Some(burst) = self.flows[i].sender.depart(self.now) {
            for k in 0..burst.segments.max(1) {
                let flow = &mut self.flows[i];
                let packet = flow.packet(i as u32, &burst, k);
                flow.fate.sent += 1;
                if let Some(capture) = &mut self.capture {
                    capture.packet(self.now, i, flow, &packet);
                }
                if flow.loss.is_lost() {
                    flow.fate.random_drops += 1;
                    self.probe.random_drop(self.now, i);
                } else {
                    let at = self.now + std::mem::take(&mut flow.resolution);
                    flow.forward.push(at, packet);
                }
            }
        }
        let head = self.flows[i].forward.next_wakeup();
        if head != was_empty {
            if let Some(at) = head {
                self.timeline.set(i as u32 * SLOTS + FORWARD, at);
            }
        }
    }

    /// Records what the sender did and arms its timer.
    fn after_sender(&mut self, i: usize) {
        let flow = &mut self.flows[i];
        if self.probe.records_events() {
            self.probe.sender_events(self.now, i, flow);
        }
        if flow.established.is_none() && flow.sender.conn() == Conn::Established {
            flow.established = Some(self.now);
        }
        self.timeline.set_if_earlier(i as u32 * SLOTS + SENDER, flow.sender.next_deadline());
    }

    /// The flow opens, or its application closes.
    fn on_life(&mut self, i: usize, slot: u32) {
        match self.flows[i].life {
            Life::Waiting => {
                self.flows[i].life = Life::Running;
                self.probe.flow_start(self.now, i);
                self.flows[i].sender.start(self.now);
                self.depart(i);
                self.after_sender(i);
                let stop = self.flows[i].stop;
                if stop < self.end {
                    self.timeline.set(slot, stop);
                } else {
                    self.timeline.clear(slot);
                }
            }
            Life::Running => {
                self.timeline.clear(slot);
                self.end_flow(i, false);
            }
            Life::Ended { .. } => self.timeline.clear(slot),
        }
    }

    fn end_flow(&mut self, i: usize, completed: bool) {
        let flow = &mut self.flows[i];
        flow.goodput_at_end = flow.receiver.stats().delivered_bytes;
        self.probe.flow_end(self.now, self.sample_every, i, flow, completed);
        flow.life = Life::Ended { at: self.now, completed };
        flow.sender.stop();
        self.timeline.clear(i as u32 * SLOTS + LIFE);
    }

    fn on_sample(&mut self) {
        self.probe.sample(self.now, &mut self.flows, &self.fifo);
        self.next_sample += self.sample_every;
        self.timeline.set(self.sampler, self.next_sample);
    }

    /// Every packet sent was delivered, dropped or is still on its way.
    fn check_conservation(&self) {
        for (i, flow) in self.flows.iter().enumerate() {
            let fate = &flow.fate;
            let gone = fate.random_drops + fate.queue_drops + fate.delivered;
            let queued = self.fifo.packets_of(i as u32) as u64;
            let under_way = flow.forward.len() as u64 + queued;
            assert_eq!(
                fate.sent,
                gone + under_way,
                "flow {i}: packets sent and accounted for: {fate:?}, {under_way} under way"
            );
            let (una, nxt) = flow.sender.window();
            assert!(
                una <= flow.receiver.rcv_nxt() && flow.receiver.rcv_nxt() <= nxt,
                "flow {i}: acknowledged {una}, received {}, sent {nxt}",
                flow.receiver.rcv_nxt()
            );
        }
    }
}

fn fifo(plan: &Plan) -> Fifo {
    let link = &plan.bottleneck;
    if link.steps.is_empty() {
        return Fifo::new(fifo_config(plan));
    }
    let steps =
        link.steps.iter().map(|&(ns, bps)| (Time::from_ns(ns), Rate::from_bps(bps))).collect();
    Fifo::with_schedule(fifo_config(plan), Schedule::new(steps, link.repeat_ns.map(Span::from_ns)))
}

fn fifo_config(plan: &Plan) -> Config {
    let Qdisc::Fifo { limit_bytes, limit_packets } = plan.bottleneck.qdisc;
    Config {
        rate: Rate::from_bps(plan.bottleneck.rate_bps),
        burst: Bytes::new(plan.bottleneck.burst_bytes),
        limit: match (limit_bytes, limit_packets) {
            (Some(bytes), _) => Limit::Bytes(Bytes::new(bytes)),
            (None, Some(packets)) => Limit::Packets(packets),
            (None, None) => unreachable!("Plan::check accepts exactly one limit"),
        },
    }
}
