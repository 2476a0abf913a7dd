//! The event loop: who is woken when, and what the hosts do with what reaches them.

use crate::bounds::{self, Held};
use crate::capture::Capture;
use crate::flow::{Flow, Life};
use crate::probe::Probe;
use crate::source::{Slots, Source};
use crate::totals::totals;
use crate::{Progress, RunError};
use cca::Modules;
use net::{flags, Ack, Packet};
use path::build;
use path::network::{Network, Notice};
use path::plan::{Limits, Plan};
use path::route::Stage;
use path::timeline::Timeline;
use record::{RecordError, Summary};
use std::path::Path;
use units::{Span, Time};

/// Events between two calls of the caller's progress function, which take a millisecond or two.
const EVENTS_PER_PROGRESS: u64 = 1 << 12;
/// Events between two checks of the bounds; a check sums over the flows.
const EVENTS_PER_CHECK: u64 = 1 << 16;
/// Flows that are made between two calls of the progress function.
const FLOWS_PER_PROGRESS: usize = 256;

pub struct World {
    flows: Vec<Flow>,
    /// From senders to receivers.
    data: Network<Packet>,
    /// From receivers to senders.
    back: Network<Ack>,
    timeline: Timeline,
    end: Time,
    now: Time,
    sample_every: Span,
    next_sample: Time,
    slots: Slots,
    probe: Probe,
    capture: Option<Capture>,
    acks: Vec<Ack>,
    delivered: u64,
    events: u64,
    limits: Limits,
    /// Flags that every packet gets.
    flags: u8,
    /// All hosts' timers run on one processor, so that one may fire together with another.
    is_processor_shared: bool,
}

/// A route's parts, in order.
type Route = Vec<Stage<Packet>>;

/// The flows, and each one's route to its receiver.
fn flows_with_routes(
    plan: &Plan,
    modules: &Modules,
    progress: &mut Progress<'_>,
) -> Result<(Vec<Flow>, Vec<Route>), RunError> {
    let n = plan.flows.len();
    let (mut flows, mut routes) = (Vec::with_capacity(n), Vec::with_capacity(n));
    for i in 0..n {
        if i.is_multiple_of(FLOWS_PER_PROGRESS) && !progress(0, 0) {
            return Err(RunError::Stopped);
        }
        flows.push(Flow::new(plan, i, modules)?);
        routes.push(build::forward(plan, i)?);
    }
    Ok((flows, routes))
}

impl World {
    pub fn new(
        plan: &Plan,
        modules: &Modules,
        out: &Path,
        progress: &mut Progress<'_>,
    ) -> Result<World, RunError> {
        let n = plan.flows.len();
        let (flows, forward) = flows_with_routes(plan, modules, progress)?;
        let data_base = Slots::data_base(n);
        let mut data = Network::new(data_base, build::links(plan)?, forward, plan.record.events);
        let back_base = data_base + data.slots();
        let routes = (0..n).map(|i| build::back(plan, i)).collect::<Result<_, _>>()?;
        let mut back = Network::new(back_base, build::ack_links(plan)?, routes, false);
        let slots = Slots::new(n, data.slots(), back.slots());
        let mut timeline = Timeline::new(slots.count());
        timeline.set(slots.slot(Source::Sampler), Time::ZERO);
        data.start(&mut timeline);
        back.start(&mut timeline);
        for (i, flow) in flows.iter().enumerate() {
            timeline.set(slots.slot(Source::Life(i)), flow.start);
        }
        Ok(World {
            data,
            back,
            timeline,
            end: Time::from_ns(plan.duration_ns),
            now: Time::ZERO,
            sample_every: Span::from_ns(plan.sample_ns),
            next_sample: Time::ZERO,
            slots,
            probe: Probe::new(plan, &flows, out)?,
            capture: plan.record.pcap.then(|| Capture::create(plan, &flows, out)).transpose()?,
            flows,
            acks: Vec::with_capacity(4),
            delivered: 0,
            events: 0,
            limits: plan.limits,
            flags: if plan.host.shared_receiver { 0 } else { flags::OWN_RECEIVER },
            is_processor_shared: plan.host.shared_processor,
        })
    }

    /// Runs until the end of the plan.
    pub fn run(&mut self, progress: &mut Progress<'_>) -> Result<(), RunError> {
        while let Some((now, slot)) = self.timeline.advance() {
            if now > self.end {
                break;
            }
            self.now = now;
            self.events += 1;
            if self.events.is_multiple_of(EVENTS_PER_PROGRESS) {
                self.report_progress(progress)?;
            }
            self.wake(slot);
        }
        self.now = self.end;
        for i in 0..self.flows.len() {
            if self.flows[i].is_running() {
                self.end_flow(i, false);
            }
        }
        self.probe.end(self.now, self.sample_every, &self.data.links);
        self.check();
        Ok(())
    }

    /// Reports how far the run is, and checks its bounds.
    #[cold]
    fn report_progress(&mut self, progress: &mut Progress<'_>) -> Result<(), RunError> {
        if !progress(self.now.as_ns(), self.delivered) {
            return Err(RunError::Stopped);
        }
        if self.events.is_multiple_of(EVENTS_PER_CHECK) {
            let messages = self.flows.iter().map(Flow::messages_held).sum();
            let packets = self.data.under_way() + self.back.under_way();
            let held = Held { packets, messages };
            bounds::check(&self.limits, self.now, self.events, held)?;
        }
        Ok(())
    }

    /// Writes the tables and sums up.
    pub fn finish(self, plan: &Plan) -> Result<Summary, RecordError> {
        let counts = (self.end, self.delivered, self.events);
        let totals = totals(plan, &self.flows, &self.data, counts);
        if let Some(capture) = self.capture {
            capture.finish(self.end)?;
        }
        self.probe.finish(&self.flows, &totals.flows)?;
        Ok(totals.summary())
    }

    fn wake(&mut self, slot: u32) {
        match self.slots.source(slot) {
            Source::Data(_) => self.data.wake(self.now, slot, &mut self.timeline),
            Source::Back(_) => self.back.wake(self.now, slot, &mut self.timeline),
            Source::Sender(i) => self.on_sender_timer(i, slot),
            Source::Receiver(i) => self.on_receiver_timer(i, slot),
            Source::App(i) => self.on_app(i, slot),
            Source::Life(i) => self.on_life(i, slot),
            Source::Sampler => self.on_sample(slot),
        }
        self.receive();
    }

    /// Hands everything that has arrived to its host, until nothing more arrives at this instant.
    fn receive(&mut self) {
        self.note();
        loop {
            if let Some(packet) = self.data.arrived.pop_front() {
                self.on_packet(&packet);
            } else if let Some(ack) = self.back.arrived.pop_front() {
                self.on_ack(&ack);
            } else {
                break;
            }
        }
    }

    /// Writes down what the network did to packets.
    #[inline]
    fn note(&mut self) {
        if !self.data.notices.is_empty() {
            self.write_notices();
        }
    }

    #[cold]
    fn write_notices(&mut self) {
        for (flow, notice, count) in self.data.notices.drain(..) {
            match notice {
                Notice::Lost => self.probe.random_drops(self.now, flow as usize, count),
                Notice::Dropped => self.probe.queue_drops(self.now, flow as usize, count),
                Notice::Marked => self.probe.marks(self.now, flow as usize, count),
            }
        }
    }

    fn on_packet(&mut self, packet: &Packet) {
        let i = packet.flow as usize;
        let flow = &mut self.flows[i];
        let segments = packet.segments();
        flow.one_way.add((self.now.as_us() as u32).wrapping_sub(packet.sent_us), segments);
        self.delivered += u64::from(if packet.len > 0 { segments } else { 0 });
        flow.ends.on_packet(self.now, packet, &mut self.acks);
        self.after_receiver(i);
    }

    /// Sends what the receiver acknowledges; ends the flow once it has everything.
    fn after_receiver(&mut self, i: usize) {
        let flow = &self.flows[i];
        let completed = flow.is_running() && flow.ends.is_complete();
        // The stack acknowledges before the application learns of the data: where both answer, the ACK comes first.
        self.send_acks(i);
        let flow = &mut self.flows[i];
        if let Some(app) = &mut flow.app {
            app.on_delivered(self.now, flow.ends.delivered_bytes());
            self.arm_app(i);
        }
        if completed {
            self.end_flow(i, true);
        }
    }

    fn send_acks(&mut self, i: usize) {
        for ack in self.acks.drain(..) {
            let ack = Ack { flow: i as u32, ..ack };
            self.back.send(self.now, ack, &mut self.timeline);
        }
        let deadline = self.flows[i].ends.receiver_deadline();
        self.timeline.set_if_earlier(self.slots.slot(Source::Receiver(i)), deadline);
    }

    fn on_ack(&mut self, ack: &Ack) {
        let i = ack.flow as usize;
        if let Some(capture) = &mut self.capture {
            capture.ack(self.now, i, ack);
        }
        self.flows[i].ends.on_ack(self.now, ack);
        self.depart(i);
        self.after_sender(i);
    }

    fn on_sender_timer(&mut self, i: usize, slot: u32) {
        self.timeline.clear(slot);
        self.flows[i].ends.on_sender_timer(self.now);
        self.depart(i);
        self.after_sender(i);
    }

    fn on_receiver_timer(&mut self, i: usize, slot: u32) {
        self.timeline.clear(slot);
        self.flows[i].ends.on_receiver_timer(self.now, &mut self.acks);
        self.after_receiver(i);
    }

    /// What leaves the sending host now goes on its way.
    fn depart(&mut self, i: usize) {
        while let Some(departure) = self.flows[i].ends.depart(self.now) {
            let mut k = 0;
            while k < departure.len() {
                let flow = &self.flows[i];
                let mut packet = flow.ends.packet(self.now, i as u32, &departure, k, flow.nic);
                k += packet.segments();
                packet.flags |= self.flags;
                if let Some(capture) = &mut self.capture {
                    capture.packet(self.now, i, &self.flows[i], &packet);
                }
                self.data.send(self.now, packet, &mut self.timeline);
            }
        }
        self.note();
    }

    /// Records what the sender did and arms its timer.
    fn after_sender(&mut self, i: usize) {
        let flow = &mut self.flows[i];
        if self.probe.records_events() {
            self.probe.sender_events(self.now, i, flow);
        }
        if flow.established.is_none() && flow.ends.is_established() {
            flow.established = Some(self.now);
            if let Some(app) = &mut flow.app {
                app.on_established(self.now);
                self.arm_app(i);
            }
        }
        let (deadline, slack) = self.flows[i].ends.sender_wakeup();
        // On a processor of its own nothing wakes a paced flow early: its timer uses all of its slack.
        let slack = if self.is_processor_shared { slack } else { Span::ZERO };
        let slot = self.slots.slot(Source::Sender(i));
        self.timeline.set_with_slack_if_earlier(slot, deadline, slack);
    }

    /// The application writes, sends a request, or receives one.
    fn on_app(&mut self, i: usize, slot: u32) {
        self.timeline.clear(slot);
        while let Some(app) = &mut self.flows[i].app {
            if app.next_wakeup().is_none_or(|at| at > self.now) {
                break;
            }
            if let Some(write) = app.on_wakeup(self.now) {
                self.flows[i].ends.supply(self.now, write);
                self.depart(i);
            }
        }
        self.arm_app(i);
        self.after_sender(i);
    }

    fn arm_app(&mut self, i: usize) {
        let Some(app) = &self.flows[i].app else { return };
        let slot = self.slots.slot(Source::App(i));
        match app.next_wakeup() {
            Some(at) if self.flows[i].is_running() => self.timeline.set(slot, at.max(self.now)),
            _ => self.timeline.clear(slot),
        }
    }

    /// The flow opens, or its application closes.
    fn on_life(&mut self, i: usize, slot: u32) {
        match self.flows[i].life {
            Life::Waiting => {
                self.flows[i].life = Life::Running;
                self.probe.flow_start(self.now, i);
                self.flows[i].ends.start(self.now);
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
        flow.goodput_at_end = flow.ends.delivered_bytes();
        self.probe.flow_end(self.now, i, flow, completed);
        flow.life = Life::Ended { at: self.now, completed };
        flow.ends.stop();
        self.timeline.clear(self.slots.slot(Source::Life(i)));
        self.timeline.clear(self.slots.slot(Source::App(i)));
    }

    fn on_sample(&mut self, slot: u32) {
        self.probe.sample(self.now, &mut self.flows, &self.data.links);
        self.next_sample += self.sample_every;
        self.timeline.set(slot, self.next_sample);
    }

    /// Every packet is accounted for, and what was acknowledged was sent.
    fn check(&self) {
        self.data.check_conservation();
        self.back.check_conservation();
        self.flows.iter().enumerate().for_each(|(i, flow)| flow.ends.check(i));
    }
}
