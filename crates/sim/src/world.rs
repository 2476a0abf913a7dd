//! The event loop: who is woken when, and what the hosts do with what reaches them.

use crate::bounds::{self, Held};
use crate::capture::Capture;
use crate::ends::{self, Ends};
use crate::flow::Flow;
use crate::probe::Probe;
use crate::prober::Prober;
use crate::qlog::Qlog;
use crate::source::{Slots, Source};
use crate::totals::totals;
use crate::traffic::{Came, Traffic};
use crate::{Progress, RunError, Watch};
use cca::Modules;
use net::host::Nic;
use net::{flags, Ack, Packet};
use path::build;
use path::memory;
use path::network::{Network, Notice};
use path::plan::{Direction, Limits, Plan};
use path::timeline::Timeline;
use record::{RecordError, Summary};
use std::path::Path;
use transport::tcp::Burst;
use units::{Span, Time};

mod ahead;
mod life;
mod probes;

/// Events between two calls of the caller's progress function, which take a millisecond or two.
const EVENTS_PER_PROGRESS: u64 = 1 << 12;
/// Events between two checks of the bounds; a check sums over the flows.
const EVENTS_PER_CHECK: u64 = 1 << 16;
/// Flows that are made between two calls of the progress function.
const FLOWS_PER_PROGRESS: usize = 256;

pub struct World<T: Traffic> {
    flows: Vec<Flow>,
    /// The way down.
    down: Network<T::Down>,
    /// The way up.
    up: Network<T::Up>,
    timeline: Timeline,
    end: Time,
    now: Time,
    sample_every: Span,
    next_sample: Time,
    slots: Slots,
    probe: Probe,
    capture: Option<Capture>,
    qlog: Option<Qlog>,
    acks: Vec<Ack>,
    probers: Vec<Prober>,
    delivered: u64,
    events: u64,
    limits: Limits,
    /// Flags that every packet gets.
    flags: u8,
    /// All hosts' timers run on one processor, so that one may fire together with another.
    is_processor_shared: bool,
    /// There are so many flows that their state is asked for ahead of its time.
    looks_ahead: bool,
}

/// The flows of a plan.
fn flows(
    plan: &Plan,
    modules: &Modules,
    progress: &mut Progress<'_>,
) -> Result<Vec<Flow>, RunError> {
    let n = plan.flows.len();
    let mut flows = Vec::with_capacity(n);
    let limits = memory::limits(plan);
    for i in 0..n {
        if i.is_multiple_of(FLOWS_PER_PROGRESS) && !progress(0, 0) {
            return Err(RunError::Stopped);
        }
        flows.push(Flow::new(plan, i, modules, limits)?);
    }
    Ok(flows)
}

impl<T: Traffic> World<T> {
    pub fn new(
        plan: &Plan,
        modules: &Modules,
        out: &Path,
        progress: &mut Progress<'_>,
    ) -> Result<World<T>, RunError> {
        let n = plan.flows.len();
        let mut flows = flows(plan, modules, progress)?;
        let base = Slots::down_base(n);
        let mut down = build::network(plan, Direction::Down, base)?;
        let base = base + down.slots();
        let mut up = build::network(plan, Direction::Up, base)?;
        let slots = Slots::new(n, down.slots(), up.slots(), plan.probes.len());
        let mut timeline = Timeline::new(slots.count());
        let looks_ahead = n >= ahead::MANY_FLOWS;
        if looks_ahead {
            timeline.for_many();
        }
        timeline.set(slots.slot(Source::Sampler), Time::ZERO);
        down.start(&mut timeline);
        up.start(&mut timeline);
        for (i, flow) in flows.iter().enumerate() {
            timeline.set(slots.slot(Source::Life(i)), flow.start);
        }
        let probers = plan.probes.iter().zip(n..).map(|(probe, flow)| Prober::new(probe, flow));
        let probers: Vec<Prober> = probers.collect();
        for (i, prober) in probers.iter().enumerate() {
            timeline.set(slots.slot(Source::Probe(i)), prober.start);
        }
        Ok(World {
            down,
            up,
            timeline,
            end: Time::from_ns(plan.duration_ns),
            now: Time::ZERO,
            sample_every: Span::from_ns(plan.sample_ns),
            next_sample: Time::ZERO,
            slots,
            probe: Probe::new(plan, &flows, out)?,
            qlog: plan.record.qlog.then(|| Qlog::create(plan, &mut flows, out)).transpose()?,
            capture: plan.record.pcap.then(|| Capture::create(plan, &flows, out)).transpose()?,
            flows,
            acks: Vec::with_capacity(4),
            probers,
            delivered: 0,
            events: 0,
            limits: plan.limits,
            flags: if plan.host.shared_receiver { 0 } else { flags::OWN_RECEIVER },
            is_processor_shared: plan.host.shared_processor,
            looks_ahead,
        })
    }

    /// Lets this have the rows of samples and queue as they are made.
    pub fn watch(&mut self, watch: Option<Watch>) {
        self.probe.watch = watch;
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
            if self.looks_ahead {
                self.look_ahead(slot);
            }
        }
        self.now = self.end;
        for i in 0..self.flows.len() {
            if self.flows[i].is_running() {
                self.end_flow(i, false);
            }
        }
        if !self.now.as_ns().is_multiple_of(self.sample_every.as_ns()) {
            // The run ends between two samples: its queues have a last row, so that what they counted is complete.
            self.sample_links();
        }
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
            let packets = self.down.under_way() + self.up.under_way();
            let held = Held { packets, messages };
            bounds::check(&self.limits, self.now, self.events, held)?;
        }
        Ok(())
    }

    /// Writes the tables and sums up.
    pub fn finish(mut self, plan: &Plan) -> Result<Summary, RecordError> {
        let counts = (self.end, self.delivered, self.events);
        let totals = totals::<T>(plan, &mut self.flows, (&self.down, &self.up), counts);
        if let Some(capture) = self.capture.take() {
            capture.finish(self.end)?;
        }
        if let Some(qlog) = self.qlog.take() {
            qlog.finish()?;
        }
        self.note_probes_under_way();
        self.probe.finish(&self.flows, &totals.flows, &self.probers, self.end)?;
        Ok(totals.summary())
    }

    #[inline(always)]
    fn wake(&mut self, slot: u32) {
        match self.slots.source(slot) {
            Source::Down(_) => self.down.wake(self.now, slot, &mut self.timeline),
            Source::Up(_) => self.up.wake(self.now, slot, &mut self.timeline),
            Source::Sender(i) => self.on_sender_timer(i, slot),
            Source::Receiver(i) => self.on_receiver_timer(i, slot),
            Source::App(i) => self.on_app(i, slot),
            Source::Life(i) => self.on_life(i, slot),
            Source::Sampler => self.on_sample(slot),
            Source::Probe(i) => self.on_probe_due(i, slot),
        }
        self.receive();
    }

    /// Hands everything that has arrived to its host, until nothing more arrives at this instant.
    fn receive(&mut self) {
        self.note();
        loop {
            // Copied once, from where it lies: what it brings about may need that place.
            if let Some(packet) = self.down.arrived.take_front() {
                let packet = *packet;
                self.arrive(T::came_down(&packet));
            } else if let Some(packet) = self.up.arrived.take_front() {
                let packet = *packet;
                self.arrive(T::came_up(&packet));
            } else {
                break;
            }
        }
    }

    #[inline(always)]
    fn arrive(&mut self, came: Came<'_>) {
        match came {
            Came::Data(packet) => self.on_packet(packet),
            Came::Ack(ack) => self.on_ack(ack),
            Came::Probe(probe) => self.on_probe(*probe),
        }
    }

    /// Writes down what the network did to packets.
    #[inline]
    fn note(&mut self) {
        if !self.down.notices.is_empty() || (T::RECORDS_UP && !self.up.notices.is_empty()) {
            self.write_notices();
        }
    }

    #[cold]
    fn write_notices(&mut self) {
        for (flow, notice, count) in self.down.notices.drain(..).chain(self.up.notices.drain(..)) {
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
    #[inline(always)]
    fn after_receiver(&mut self, i: usize) {
        let flow = &mut self.flows[i];
        let (is_complete, deadline) = flow.ends.receiver_state();
        let completed = is_complete && flow.is_running();
        // The stack acknowledges before the application learns of the data: where both answer, the ACK comes first.
        if !self.acks.is_empty() {
            self.send_acks(i);
        }
        self.timeline.set_if_earlier(self.slots.slot(Source::Receiver(i)), deadline);
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
        self.acks.iter_mut().for_each(|ack| ack.flow = i as u32);
        let acks = self.acks.iter().copied();
        if T::RECORDS_UP && self.flows[i].is_up {
            self.down.send_all(self.now, i, acks.map(T::ack_down), &mut self.timeline);
        } else {
            self.up.send_all(self.now, i, acks.map(T::ack_up), &mut self.timeline);
        }
        self.acks.clear();
    }

    fn on_ack(&mut self, ack: &Ack) {
        let i = ack.flow as usize;
        if let Some(capture) = &mut self.capture {
            capture.ack(self.now, i, &self.flows[i], ack);
        }
        if let Some(qlog) = &mut self.qlog {
            qlog.ack(self.now, i, &self.flows[i].ends, ack);
        }
        self.flows[i].ends.on_ack(self.now, ack);
        self.log_sender(i);
        self.depart(i);
        self.after_sender(i);
    }

    fn on_sender_timer(&mut self, i: usize, slot: u32) {
        self.timeline.take_up(slot);
        self.flows[i].ends.on_sender_timer(self.now);
        self.log_sender(i);
        self.depart(i);
        self.after_sender(i);
        self.timeline.let_go(slot);
    }

    fn on_receiver_timer(&mut self, i: usize, slot: u32) {
        self.timeline.clear(slot);
        self.flows[i].ends.on_receiver_timer(self.now, &mut self.acks);
        self.after_receiver(i);
    }

    /// What leaves the sending host now goes on its way.
    #[inline(always)]
    fn depart(&mut self, i: usize) {
        // Most acknowledgements let nothing leave.
        if self.flows[i].ends.may_depart(self.now) {
            self.depart_some(i);
        }
    }

    fn depart_some(&mut self, i: usize) {
        let flow = &mut self.flows[i];
        let is_watched = self.capture.is_some() || self.qlog.is_some();
        if let (Ends::Tcp(sender, _), Nic::Physical, false) = (&mut flow.ends, flow.nic, is_watched)
        {
            let is_up = T::RECORDS_UP && flow.is_up;
            while let Some(burst) = sender.depart(self.now) {
                let burst = Burst { flags: burst.flags | self.flags, ..burst };
                let frames = ends::frames(sender, self.now, i as u32, burst);
                if is_up {
                    self.up.send_all(self.now, i, frames.map(T::data_up), &mut self.timeline);
                } else {
                    self.down.send_all(self.now, i, frames.map(T::data_down), &mut self.timeline);
                }
            }
        } else {
            self.depart_singly(i);
        }
        self.note();
    }

    /// The same packet by packet, and each is written down where packets are.
    fn depart_singly(&mut self, i: usize) {
        let flow = &mut self.flows[i];
        let is_up = T::RECORDS_UP && flow.is_up;
        while let Some(departure) = flow.ends.depart(self.now) {
            let mut k = 0;
            while k < departure.len() {
                let mut packet = flow.ends.packet(self.now, i as u32, &departure, k, flow.nic);
                k += packet.segments();
                packet.flags |= self.flags;
                if let Some(capture) = &mut self.capture {
                    capture.packet(self.now, i, flow, &packet);
                }
                if let Some(qlog) = &mut self.qlog {
                    qlog.packet(self.now, i, &flow.ends, &packet);
                }
                if is_up {
                    self.up.send(self.now, T::data_up(packet), &mut self.timeline);
                } else {
                    self.down.send(self.now, T::data_down(packet), &mut self.timeline);
                }
            }
        }
    }

    /// Records what the sender did and arms its timer.
    fn after_sender(&mut self, i: usize) {
        self.log_sender(i);
        let flow = &mut self.flows[i];
        if self.probe.records_events() || self.qlog.is_some() {
            self.probe.sender_events(self.now, i, flow);
        }
        if let Some(qlog) = &mut self.qlog {
            qlog.taken(i);
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

    /// The qlog gets what the sender has done.
    #[inline]
    fn log_sender(&mut self, i: usize) {
        if let Some(qlog) = &mut self.qlog {
            qlog.sender(self.now, i, &mut self.flows[i]);
        }
    }

    fn on_sample(&mut self, slot: u32) {
        self.probe.sample(self.now, &mut self.flows);
        self.sample_links();
        self.next_sample += self.sample_every;
        self.timeline.set(slot, self.next_sample);
    }

    /// One row of each queue; those of the way up have the numbers after those of the way down.
    fn sample_links(&mut self) {
        self.probe.sample_links(self.now, &self.down.links, 0);
        if T::RECORDS_UP {
            self.probe.sample_links(self.now, &self.up.links, self.down.links.len());
        }
    }

    /// Every packet is accounted for, and what was acknowledged was sent.
    fn check(&self) {
        self.down.check_conservation();
        self.up.check_conservation();
        self.flows.iter().enumerate().for_each(|(i, flow)| flow.ends.check(i));
    }
}
