//! The real-time loop: moves frames between two devices through the path of a plan.
//!
//! Every event of the path happens at its nominal time, however late the loop gets to it: what a link
//! sends next depends on when the last frame should have left, so lateness delays frames but does not add
//! up and takes no capacity. How late events were is counted and reported.

use crate::classify::{Classifier, Member};
use crate::clock::{set_realtime_priority, thread_cpu, Clock};
use crate::control::ControlBypass;
use crate::flows::RunState;
use crate::frame::RealFrame;
use crate::gro::{Merger, Run};
use crate::gso::{self, Segmenter};
use crate::header::{set_tos, Ip, Tcp};
use crate::pool::BufferPool;
use crate::quinn;
use crate::rest::Rest;
use crate::source::{Slots, Source};
use crate::tun::{Devices, Direction};
use crate::wire::{Measured, TimedNotice, WireCounters};
use path::build;
use path::network::Network;
use path::plan::{self, Plan, PlanError};
use path::probes::ProbeLog;
use path::timeline::Timeline;
use record::PcapWriter;
use std::io::IoSlice;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;
use units::{Span, Time};

/// Packets or bursts read from a device before events and the other device get their turn.
const BATCH: usize = 16;
/// The loop does not sleep before an event that is so near: waking up takes about as long.
const SPIN: Span = Span::from_us(60);
/// One part in this many of the time may be spent waiting without sleep: the hosts need processors, too.
const SPIN_SHARE: u64 = 3;
/// How long the loop sleeps when it may not spin: going to sleep for each frame or event would take more of the
/// processor than the frames do.
const NAP: Span = Span::from_us(50);
/// The longest sleep, so that the loop sees a request to stop.
const SLEEP_MAX: Span = Span::from_ms(50);

/// See the module documentation.
pub struct Router<C, D> {
    clock: C,
    end: Time,
    classifier: Classifier,
    devices: D,
    forward: Network<RealFrame>,
    back: Network<RealFrame>,
    timeline: Timeline,
    slots: Slots,
    bypass: ControlBypass,
    sample_every: Span,
    /// The links of the way up are recorded too.
    records_up: bool,
    pool: BufferPool,
    segmenter: Segmenter,
    spinning_since: Option<Time>,
    rest: Rest,
    merger: Merger,
    state: Arc<RunState>,
    measured: Measured,
}

/// What the loop measured.
pub struct Routed {
    /// When the loop ended, at most the end of the plan.
    pub end: Time,
    /// Both directions of the path.
    pub forward: Network<RealFrame>,
    pub back: Network<RealFrame>,
    pub measured: Measured,
}

impl<C: Clock, D: Devices> Router<C, D> {
    /// The path of `plan` between two devices.
    ///
    /// # Errors
    /// When the plan cannot be built.
    pub fn new(
        plan: &Plan,
        classifier: Classifier,
        devices: D,
        clock: C,
        state: Arc<RunState>,
    ) -> Result<Self, PlanError> {
        let forward = build::network(plan, plan::Direction::Down, 0)?;
        let back = build::network(plan, plan::Direction::Up, forward.slots())?;
        let slots = Slots::new(forward.slots(), back.slots());
        let wire = plan.flows.iter().map(|flow| wire_of(plan, flow)).collect();
        let probes = plan.probes.iter().map(|_| ProbeLog::default()).collect();
        Ok(Router {
            clock,
            end: Time::from_ns(plan.duration_ns),
            classifier,
            devices,
            forward,
            back,
            timeline: Timeline::new(slots.count()),
            slots,
            bypass: ControlBypass::new(plan),
            sample_every: Span::from_ns(plan.sample_ns),
            records_up: plan.is_two_way(),
            pool: BufferPool::for_rate(plan.links[0].rate_bps),
            segmenter: Segmenter::default(),
            spinning_since: None,
            rest: Rest::default(),
            merger: Merger::new(if plan.host.gro { plan.flows.len() } else { 0 }),
            state,
            measured: Measured { wire, probes, ..Measured::default() },
        })
    }

    /// Records the headers of all frames that leave and reach senders.
    pub fn capture_to(&mut self, capture: PcapWriter) {
        self.measured.capture = Some(capture);
    }

    /// Runs as [`Router::run`] does, with real-time priority, in a thread that must end soon afterwards, and counts
    /// processor time.
    pub fn run_realtime(self) -> (Routed, D) {
        let is_realtime = set_realtime_priority();
        let before = thread_cpu();
        let (mut routed, devices) = self.run();
        let stats = &mut routed.measured.stats;
        (stats.cpu, stats.is_realtime) = (thread_cpu() - before, is_realtime);
        (routed, devices)
    }

    /// Runs until the end of the plan or a request to stop. Gives the devices back, because hosts that still send lose
    /// frames, and the devices their counters, as soon as they are closed.
    pub fn run(mut self) -> (Routed, D) {
        self.clock.sleep_until(Time::ZERO);
        self.timeline.set(self.slots.slot(Source::Sampler), Time::ZERO);
        self.forward.start(&mut self.timeline);
        self.back.start(&mut self.timeline);
        while !self.state.stop.load(Relaxed) {
            let is_busy = self.read(Direction::Forward) | self.read(Direction::Back);
            let now = self.clock.now();
            if now >= self.end {
                break;
            }
            self.count_spin(now, is_busy);
            self.run_due(now);
            if self.forward.excess().or(self.back.excess()).is_some() {
                self.state.stop.store(true, Relaxed);
            }
            if !is_busy {
                // The events may have taken long.
                self.wait(self.clock.now());
            }
        }
        self.forward.check_conservation();
        self.back.check_conservation();
        self.note_probes_under_way();
        let Router { clock, end, forward, back, measured, devices, .. } = self;
        (Routed { end: clock.now().min(end), forward, back, measured }, devices)
    }

    /// Runs the events that are due by `now`, each at its own time.
    #[inline]
    fn run_due(&mut self, now: Time) {
        while self.timeline.next_at().is_some_and(|at| at <= now) {
            let (at, slot) = self.timeline.advance().expect("there is one");
            self.measured.stats.on_event(self.clock.now().since(at));
            match self.slots.source(slot) {
                Source::Forward(slot) => self.forward.wake(at, slot, &mut self.timeline),
                Source::Back(slot) => self.back.wake(at, slot, &mut self.timeline),
                Source::Sampler => self.sample(at),
                Source::Control => self.release_control(at),
                Source::Merged => self.release_merged(now),
            }
            self.deliver(at);
        }
    }

    /// Reads a device, at most a batch; returns whether there was any packet.
    fn read(&mut self, direction: Direction) -> bool {
        for i in 0..BATCH {
            let read = self.devices.read(direction, self.segmenter.buffer());
            let Some(length) = read else { return i > 0 };
            self.segmenter.set_length(length);
            self.enter_frames(direction);
        }
        true
    }

    /// Takes the frames of what was read, each at its own time: events that become due meanwhile do not wait
    /// for the last.
    fn enter_frames(&mut self, direction: Direction) {
        loop {
            let (buffer, bytes) = self.pool.take();
            let Some(length) = self.segmenter.next(bytes) else {
                return self.pool.give_back(buffer);
            };
            self.pool.set_length(buffer, length);
            if self.measured.capture.is_some() {
                gso::complete(self.pool.packet(buffer));
            }
            let now = self.clock.now();
            self.run_due(now);
            self.enter(now, direction, buffer);
        }
    }

    /// A frame comes from a host.
    fn enter(&mut self, now: Time, direction: Direction, buffer: u32) {
        let bytes = self.pool.frame(buffer);
        let Some(ip) = Ip::parse(bytes) else { return self.pool.give_back(buffer) };
        let tcp = ip.tcp(bytes);
        let ports = tcp.as_ref().map(Tcp::ports).or_else(|| ip.udp(bytes));
        let Some(member) = self.classifier.member(direction, &ip, ports) else {
            return self.bypass_path(now, direction, &ip, tcp.as_ref(), buffer);
        };
        let hosts = self.classifier.hosts(&ip, member);
        let bytes = self.pool.frame(buffer);
        let frame = RealFrame::new(buffer, bytes, &ip, tcp.as_ref(), member, hosts, now);
        let word = ip.udp_word(bytes);
        if !self.count(now, member, tcp.as_ref(), word) {
            return self.pool.give_back(buffer);
        }
        if member.goes_there && self.is_flow(member.number) {
            self.record(now, buffer);
        }
        match direction {
            Direction::Forward => self.forward.send(now, frame, &mut self.timeline),
            Direction::Back => self.back.send(now, frame, &mut self.timeline),
        }
        self.deliver(now);
    }

    fn is_flow(&self, number: u32) -> bool {
        (number as usize) < self.measured.wire.len()
    }

    /// Counts a frame that enters the path; `false` if its flow was stopped and it is dropped. `word` is the first one
    /// of a datagram: the number of a probe.
    fn count(&mut self, now: Time, member: Member, tcp: Option<&Tcp>, word: Option<u32>) -> bool {
        let number = member.number as usize;
        if let Some(series) = number.checked_sub(self.measured.wire.len()) {
            let log = &mut self.measured.probes[series];
            return match (member.goes_there, word) {
                (true, Some(word)) => log.on_sent_as(now, word),
                (false, Some(word)) => {
                    log.on_answer(word);
                    true
                }
                (_, None) => false,
            };
        }
        match tcp {
            Some(tcp) => self.count_segment(now, member.goes_there, number, tcp),
            None => self.count_datagram(now, member.goes_there, number),
        }
    }

    /// A frame of a control connection.
    fn bypass_path(
        &mut self,
        now: Time,
        direction: Direction,
        ip: &Ip,
        tcp: Option<&Tcp>,
        buffer: u32,
    ) {
        if let Some(member) = self.classifier.bypassing(direction, ip) {
            let wire = &self.measured.wire[member.number as usize];
            if !member.goes_there && wire.opened.is_some() {
                self.bypass.push(now, member.number as usize, direction, buffer);
                return self.arm_control();
            }
            if member.goes_there && ends_transfer_early(wire, tcp) {
                return self.pool.give_back(buffer);
            }
        }
        self.hand_over(direction, buffer);
        self.pool.give_back(buffer);
    }

    fn release_control(&mut self, now: Time) {
        while let Some((direction, buffer)) = self.bypass.pop(now) {
            self.hand_over(direction, buffer);
            self.pool.give_back(buffer);
        }
        self.arm_control();
    }

    fn arm_control(&mut self) {
        match self.bypass.next_at() {
            Some(at) => self.timeline.set(self.slots.slot(Source::Control), at),
            None => self.timeline.clear(self.slots.slot(Source::Control)),
        }
    }

    /// Counts a segment; `false` if its flow was stopped and the segment is dropped.
    fn count_segment(&mut self, now: Time, is_data: bool, flow: usize, tcp: &Tcp) -> bool {
        let (wire, state) = (&mut self.measured.wire[flow], &self.state.flows[flow]);
        if is_data {
            if state.is_closed.load(Relaxed) {
                return false;
            }
            wire.on_data(now, tcp);
        } else {
            wire.on_ack(now, tcp);
            state.delivered_bytes.store(wire.delivered_bytes(), Relaxed);
            state.is_completed.store(wire.completed.is_some(), Relaxed);
        }
        true
    }

    /// Counts a datagram of quinn; `false` if its flow was stopped and it is dropped. What it carries its ends tell.
    fn count_datagram(&mut self, now: Time, goes_there: bool, flow: usize) -> bool {
        if goes_there && self.state.flows[flow].is_closed.load(Relaxed) {
            return false;
        }
        if goes_there {
            self.measured.wire[flow].opened.get_or_insert(now);
        }
        true
    }

    /// Hands over the frames that have arrived, and gives back the buffers of those that were lost.
    fn deliver(&mut self, now: Time) {
        for network in [&mut self.forward, &mut self.back] {
            for (flow, notice, count) in network.notices.drain(..) {
                self.measured.notices.push(TimedNotice { at: now, flow, notice, count });
            }
            network.copied.drain(..).for_each(|frame| self.pool.copy(frame.buffer));
            network.ended.drain(..).for_each(|frame| self.pool.give_back(frame.buffer));
        }
        while let Some(frame) = self.forward.arrived.pop_front() {
            self.leave(Direction::Forward, &frame);
        }
        while let Some(frame) = self.back.arrived.pop_front() {
            self.leave(Direction::Back, &frame);
        }
    }

    fn leave(&mut self, direction: Direction, frame: &RealFrame) {
        let bytes = self.pool.frame(frame.buffer);
        if bytes[1] != frame.tos {
            set_tos(bytes, frame.tos);
        }
        let now = self.clock.now();
        let number = net::Frame::flow(frame);
        if !self.is_flow(number) {
            self.count_probe(now, frame);
        } else if frame.goes_there {
            if frame.is_data {
                self.measured.wire[number as usize].one_way.add_span(now.since(frame.entered), 1);
                self.state.delivered.fetch_add(1, Relaxed);
            }
        } else {
            self.count_answer(now, frame);
            self.record(now, frame.buffer);
        }
        if self.merger.is_on() && frame.goes_there && self.is_flow(number) {
            return self.merge(now, direction, number as usize, frame.buffer);
        }
        self.hand_over(direction, frame.buffer);
        self.pool.give_back(frame.buffer);
    }

    /// The receiver's card takes a frame.
    fn merge(&mut self, now: Time, direction: Direction, flow: usize, buffer: u32) {
        let frame = self.pool.frame(buffer);
        let offered = self.merger.offer(now, direction, flow, buffer, frame);
        if let Some(run) = offered.ended {
            self.hand_over_run(run);
        }
        if !offered.is_held {
            self.hand_over(direction, buffer);
            self.pool.give_back(buffer);
        }
        self.arm_merger();
    }

    fn release_merged(&mut self, now: Time) {
        while let Some(run) = self.merger.pop(now) {
            self.hand_over_run(run);
        }
        self.arm_merger();
    }

    fn arm_merger(&mut self) {
        match self.merger.next_at() {
            Some(at) => self.timeline.set(self.slots.slot(Source::Merged), at),
            None => self.timeline.clear(self.slots.slot(Source::Merged)),
        }
    }

    fn hand_over_run(&mut self, run: Run) {
        let first = run.buffers[0];
        if run.buffers.len() == 1 {
            self.hand_over(run.direction, first);
        } else {
            run.put_head(self.pool.packet(first));
            let others = run.buffers[1..].iter().map(|&buffer| run.payload(self.pool.read(buffer)));
            let parts = std::iter::once(self.pool.read(first)).chain(others);
            let parts: Vec<IoSlice<'_>> = parts.map(IoSlice::new).collect();
            let is_taken = self.devices.write_parts(run.direction, &parts);
            self.measured.stats.refused += if is_taken { 0 } else { parts.len() as u64 };
        }
        run.buffers.iter().for_each(|&buffer| self.pool.give_back(buffer));
    }

    /// A segment of a receiver reaches the sender.
    fn count_answer(&mut self, now: Time, frame: &RealFrame) {
        let wire = &mut self.measured.wire[net::Frame::flow(frame) as usize];
        if wire.established.is_none() {
            let bytes = self.pool.frame(frame.buffer);
            if let Some(tcp) = Ip::parse(bytes).and_then(|ip| ip.tcp(bytes)) {
                wire.on_answer(now, &tcp);
            }
        }
    }

    /// A probe reaches the other end, or its answer is back.
    fn count_probe(&mut self, now: Time, frame: &RealFrame) {
        let Some(number) = probe_number(&mut self.pool, frame) else { return };
        let series = net::Frame::flow(frame) as usize - self.measured.wire.len();
        let log = &mut self.measured.probes[series];
        match frame.goes_there {
            true => log.on_there(now, number),
            false => log.on_back(now, number),
        }
    }

    /// The run ends: a probe that the path still has is not lost.
    fn note_probes_under_way(&mut self) {
        let flows = self.measured.wire.len();
        let mut held = Vec::new();
        for network in [&self.forward, &self.back] {
            network.for_each_held(|frame| {
                if net::Frame::flow(frame) as usize >= flows {
                    held.push(*frame);
                }
            });
        }
        for frame in held {
            if let Some(number) = probe_number(&mut self.pool, &frame) {
                self.measured.probes[net::Frame::flow(&frame) as usize - flows].on_held(number);
            }
        }
    }

    fn record(&mut self, now: Time, buffer: u32) {
        if let Some(capture) = &mut self.measured.capture {
            capture.write_ip(now.as_ns(), self.pool.frame(buffer));
        }
    }

    fn hand_over(&mut self, direction: Direction, buffer: u32) {
        let is_taken = self.devices.write(direction, self.pool.packet(buffer));
        self.measured.stats.refused += u64::from(!is_taken);
    }

    /// Writes one row for each link; those of the way up have the numbers after those of the way down.
    fn sample(&mut self, at: Time) {
        let up = self.back.links.iter().filter(|_| self.records_up);
        for (link, number) in self.forward.links.iter().chain(up).zip(0..) {
            let row = link.row(at, number);
            if let Some(watch) = &self.state.watch {
                watch.queue(&row);
            }
            self.measured.queue_rows.push(row);
        }
        self.timeline.set(self.slots.slot(Source::Sampler), at + self.sample_every);
    }

    /// Counts the last turn of the loop as waiting if it found nothing to do.
    fn count_spin(&mut self, now: Time, is_busy: bool) {
        let since = self.spinning_since.take();
        if let Some(since) =
            since.filter(|_| !is_busy && self.timeline.next_at().is_none_or(|at| at > now))
        {
            let stats = &mut self.measured.stats;
            stats.spun = stats.spun + now.since(since);
        }
    }

    /// Sleeps until shortly before the next event, or until a frame comes.
    fn wait(&mut self, now: Time) {
        let next = self.timeline.next_at().unwrap_or(Time::NEVER);
        let span = next.min(self.end).since(now).min(SLEEP_MAX);
        let has_slept = self.rest.is_enough(now);
        let may_spin = has_slept && self.measured.stats.spun * SPIN_SHARE < now.since(Time::ZERO);
        if may_spin && span <= SPIN {
            self.spinning_since = Some(now);
            return self.clock.spin();
        }
        if may_spin {
            self.devices.wait(span - SPIN);
        } else {
            self.clock.sleep_until(now + NAP);
        }
        self.rest.on_sleep(self.clock.now());
    }
}

/// The counters of a flow, without what its program says before its data.
fn wire_of(plan: &Plan, flow: &plan::Flow) -> WireCounters {
    let greets = !quinn::carries(flow);
    let greeting = if greets { plan.host.traffic.program().greeting_bytes() } else { 0 };
    WireCounters::new(flow.size_bytes, greeting)
}

/// iperf3's client reports the end of a finite transfer when it has written all of it, and the server then closes
/// without reading the rest. So what the client's control connection sends is dropped until all data have arrived;
/// TCP sends it again.
fn ends_transfer_early(wire: &WireCounters, tcp: Option<&Tcp>) -> bool {
    tcp.is_some_and(|tcp| tcp.payload > 0) && wire.is_transferring()
}

fn probe_number(pool: &mut BufferPool, frame: &RealFrame) -> Option<u32> {
    let bytes = pool.frame(frame.buffer);
    Ip::parse(bytes)?.udp_word(bytes)
}

#[cfg(test)]
mod tests;
