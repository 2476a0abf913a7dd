//! The event loop: who is woken when.

use crate::bounds::{self, Exceeded, Held};
use crate::capture::Capture;
use crate::flow::Flow;
use crate::inside::Inside;
use crate::probe::Probe;
use crate::prober::Prober;
use crate::qlog::Qlog;
use crate::source::{Slots, Source};
use crate::totals::totals;
use crate::traffic::{Came, Traffic};
use crate::{Progress, RunError, Watch};
use cca::Modules;
use net::flags;
use path::build;
use path::memory;
use path::plan::{Direction, Limits, Plan};
use path::timeline::Timeline;
use record::{RecordError, Summary};
use std::path::Path;
use units::{Span, Time};

mod ahead;
mod life;
mod probes;
mod shared;
mod timeouts;

use shared::Shared;
use timeouts::Timeouts;

/// Events between two calls of the caller's progress function, which take a millisecond or two.
const EVENTS_PER_PROGRESS: u64 = 1 << 12;
/// Events between two checks of the bounds, at least.
const EVENTS_PER_CHECK: u64 = 1 << 16;
/// The same per flow, because a check sums over the flows.
const EVENTS_PER_CHECK_OF_FLOW: u64 = 32;
/// Flows that are made between two calls of the progress function.
const FLOWS_PER_PROGRESS: usize = 256;

pub struct World<T: Traffic> {
    flows: Vec<Flow>,
    shared: Shared<T>,
    sample_every: Span,
    next_sample: Time,
    probers: Vec<Prober>,
    events: u64,
    next_check: u64,
    limits: Limits,
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
    /// The world of a plan, whose tables will be in `out`; none: nothing is written, whatever the plan records.
    pub fn new(
        plan: &Plan,
        modules: &Modules,
        out: Option<&Path>,
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
        let shared = Shared {
            probe: Probe::new(plan, out)?,
            qlog: out
                .filter(|_| plan.record.qlog)
                .map(|out| Qlog::create(plan, &mut flows, out))
                .transpose()?,
            inside: out.map(|out| Inside::create(plan, &flows, out)).transpose()?.flatten(),
            capture: out
                .filter(|_| plan.record.pcap)
                .map(|out| Capture::create(plan, &flows, out))
                .transpose()?,
            down,
            up,
            timeline,
            slots,
            now: Time::ZERO,
            end: Time::from_ns(plan.duration_ns),
            acks: Vec::with_capacity(4),
            delivered: 0,
            flags: if plan.host.shared_receiver { 0 } else { flags::OWN_RECEIVER },
            is_processor_shared: plan.host.shared_processor,
            timeouts: Timeouts::default(),
        };
        Ok(World {
            flows,
            shared,
            sample_every: Span::from_ns(plan.sample_ns),
            next_sample: Time::ZERO,
            probers,
            events: 0,
            next_check: EVENTS_PER_CHECK,
            limits: plan.limits,
            looks_ahead,
        })
    }

    /// Lets this have the rows of samples and queue as they are made.
    pub fn watch(&mut self, watch: Option<Watch>) {
        self.shared.probe.watch = watch;
    }

    /// Runs until the end of the plan.
    pub fn run(&mut self, progress: &mut Progress<'_>) -> Result<(), RunError> {
        self.advance(progress, |_| false)?;
        self.end()
    }

    /// Runs until `pauses` says so after an event, which gives true, or until the end of the plan.
    #[inline(always)]
    pub fn advance(
        &mut self,
        progress: &mut Progress<'_>,
        pauses: impl Fn(&mut [Flow]) -> bool,
    ) -> Result<bool, RunError> {
        while let Some((now, slot)) = self.shared.timeline.advance() {
            if now > self.shared.end {
                break;
            }
            if now >= self.next_sample {
                self.take_samples(now, progress)?;
            }
            self.shared.now = now;
            self.count_event(progress)?;
            self.wake(slot);
            if self.looks_ahead {
                self.look_ahead(slot);
            }
            if pauses(&mut self.flows) {
                return Ok(true);
            }
        }
        self.take_samples(self.shared.end, progress)?;
        Ok(false)
    }

    /// Takes the samples that are due by `until`, ahead of what happens at that instant. They are no events of the event queue:
    /// there they would come between timers that fire together, and what a run does would depend on how often it is looked at.
    #[cold]
    fn take_samples(&mut self, until: Time, progress: &mut Progress<'_>) -> Result<(), RunError> {
        while self.next_sample <= until {
            self.shared.now = self.next_sample;
            self.count_event(progress)?;
            self.shared.probe.sample(self.shared.now, &mut self.flows);
            self.shared.sample_links();
            self.next_sample += self.sample_every;
        }
        Ok(())
    }

    #[inline(always)]
    fn count_event(&mut self, progress: &mut Progress<'_>) -> Result<(), RunError> {
        self.events += 1;
        if self.events.is_multiple_of(EVENTS_PER_PROGRESS) {
            self.report_progress(progress)?;
        }
        Ok(())
    }

    /// Ends what still runs at the end of the plan.
    pub fn end(&mut self) -> Result<(), RunError> {
        self.check_networks()?;
        // Short runs end before the first look at their bounds.
        self.check_bounds()?;
        self.shared.now = self.shared.end;
        for (i, flow) in self.flows.iter_mut().enumerate() {
            if flow.is_running() {
                self.shared.end_flow(i, flow, false);
            }
        }
        if !self.shared.now.as_ns().is_multiple_of(self.sample_every.as_ns()) {
            // The run ends between two samples: its queues have a last row, so that what they counted is complete.
            self.shared.sample_links();
        }
        self.check();
        Ok(())
    }

    /// The flows, in the order of the plan.
    pub fn flows_mut(&mut self) -> &mut [Flow] {
        &mut self.flows
    }

    /// Virtual time.
    pub fn now(&self) -> Time {
        self.shared.now
    }

    /// Reports how far the run is, and checks its bounds.
    #[cold]
    fn report_progress(&mut self, progress: &mut Progress<'_>) -> Result<(), RunError> {
        if !progress(self.shared.now.as_ns(), self.shared.delivered) {
            return Err(RunError::Stopped);
        }
        self.check_networks()?;
        if self.events >= self.next_check {
            let per_flow = EVENTS_PER_CHECK_OF_FLOW * self.flows.len() as u64;
            self.next_check = self.events + per_flow.max(EVENTS_PER_CHECK);
            self.check_bounds()?;
        }
        Ok(())
    }

    /// Checks what the run has cost so far.
    fn check_bounds(&self) -> Result<(), RunError> {
        let messages: u64 = self.flows.iter().map(Flow::messages_held).sum();
        let probes: usize = self.probers.iter().map(|prober| prober.log.len()).sum();
        let packets = self.shared.down.under_way() + self.shared.up.under_way();
        let held = Held { packets, messages: messages + probes as u64 };
        Ok(bounds::check(&self.limits, self.shared.now, self.events, held)?)
    }

    /// Refuses what a step of one of the networks has come to.
    fn check_networks(&self) -> Result<(), RunError> {
        match self.shared.down.excess().or(self.shared.up.excess()) {
            Some(excess) => Err(Exceeded::by(excess, &self.limits, self.shared.now).into()),
            None => Ok(()),
        }
    }

    /// Writes the tables and sums up.
    pub fn finish(mut self, plan: &Plan) -> Result<Summary, RecordError> {
        let counts = (self.shared.end, self.shared.delivered, self.events);
        let mut totals =
            totals::<T>(plan, &mut self.flows, (&self.shared.down, &self.shared.up), counts);
        if let (true, Some(mean)) = (plan.host.shared_processor, self.shared.timeouts.many()) {
            totals.warnings.push(timeouts::warning(mean));
        }
        if let Some(capture) = self.shared.capture.take() {
            capture.finish(self.shared.end)?;
        }
        if let Some(inside) = self.shared.inside.take() {
            inside.finish()?;
        }
        if let Some(qlog) = self.shared.qlog.take() {
            qlog.finish()?;
        }
        self.note_probes_under_way();
        self.shared.probe.finish(&self.flows, &totals.flows, &self.probers, self.shared.end)?;
        Ok(totals.summary())
    }

    #[inline(always)]
    fn wake(&mut self, slot: u32) {
        match self.shared.slots.source(slot) {
            Source::Down(_) => {
                self.shared.down.wake(self.shared.now, slot, &mut self.shared.timeline)
            }
            Source::Up(_) => self.shared.up.wake(self.shared.now, slot, &mut self.shared.timeline),
            Source::Sender(i) => self.shared.on_sender_timer(i, &mut self.flows[i], slot),
            Source::Receiver(i) => self.shared.on_receiver_timer(i, &mut self.flows[i], slot),
            Source::App(i) => self.shared.on_app(i, &mut self.flows[i], slot),
            Source::Life(i) => self.shared.on_life(i, &mut self.flows[i], slot),
            Source::Probe(i) => self.on_probe_due(i, slot),
        }
        self.receive();
    }

    /// Hands everything that has arrived to its host, until nothing more arrives at this instant.
    fn receive(&mut self) {
        self.shared.note();
        loop {
            // Copied once, from where it lies: what it brings about may need that place.
            if let Some(packet) = self.shared.down.arrived.take_front() {
                let packet = *packet;
                let next =
                    self.shared.down.arrived.front().and_then(|next| acked(T::came_down(next)));
                self.arrive(T::came_down(&packet), next);
            } else if let Some(packet) = self.shared.up.arrived.take_front() {
                let packet = *packet;
                let next = self.shared.up.arrived.front().and_then(|next| acked(T::came_up(next)));
                self.arrive(T::came_up(&packet), next);
            } else {
                break;
            }
        }
    }

    /// `next` is the flow of the acknowledgement that comes next at this instant.
    #[inline(always)]
    fn arrive(&mut self, came: Came<'_>, next: Option<u32>) {
        match came {
            Came::Data(packet) => {
                let i = packet.flow as usize;
                self.shared.on_packet(i, &mut self.flows[i], packet);
            }
            Came::Ack(ack) => {
                let i = ack.flow as usize;
                self.shared.on_ack(i, &mut self.flows[i], ack, next != Some(ack.flow));
            }
            Came::Probe(probe) => self.on_probe(*probe),
        }
    }

    /// Every packet is accounted for, and what was acknowledged was sent.
    fn check(&self) {
        self.shared.down.check_conservation();
        self.shared.up.check_conservation();
        self.flows.iter().enumerate().for_each(|(i, flow)| flow.ends.check(i));
    }
}

/// The flow of an acknowledgement.
#[inline(always)]
fn acked(came: Came<'_>) -> Option<u32> {
    match came {
        Came::Ack(ack) => Some(ack.flow),
        Came::Data(_) | Came::Probe(_) => None,
    }
}
