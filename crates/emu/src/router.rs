//! The real-time loop: frames of two devices through the path of a plan.
//!
//! Every event of the path happens at its nominal time, however late the loop gets to it: what a link
//! sends next depends on when the last frame should have left, so lateness delays frames but does not add
//! up and takes no capacity. How late events were is counted, and told.

use crate::aside::Aside;
use crate::burst::{self, Burst};
use crate::clock::{go_first, thread_cpu, Clock};
use crate::conduct::Conduct;
use crate::frame::RealFrame;
use crate::header::{set_tos, Ip, Tcp};
use crate::shared::Shared;
use crate::slab::Slab;
use crate::tally::Tally;
use crate::tun::Tun;
use path::build;
use path::network::{Network, Notice};
use path::plan::{Plan, PlanError};
use path::timeline::Timeline;
use record::{PcapWriter, QueueRow};
use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;
use units::{Span, Time};

/// Local port of the connections that are measured; others between the hosts (iperf3's control
/// connection) go past the path.
pub const DATA_PORT: u16 = 50_000;
/// First addresses of senders and receivers: 10.1.0.1 and 10.2.0.1.
pub const SENDERS: u32 = 0x0a01_0001;
pub const RECEIVERS: u32 = 0x0a02_0001;
/// Packets or bursts read from a device before time and the other device get their turn.
const BATCH: usize = 16;
/// Before an event that is so near the loop does not sleep: waking up takes about as long.
const SPIN: Span = Span::from_us(60);
/// Of the whole time, one part in so many may be spent not sleeping: a loop before all ordinary threads that
/// never sleeps would be stopped for 50 ms of every second (sched_rt_runtime_us).
const SPIN_SHARE: u64 = 3;
/// How long it sleeps where it may not: going to sleep for each frame or event would take more of the
/// processor than the frames do.
const NAP: Span = Span::from_us(50);
/// The longest sleep, so that a wish to stop is heard.
const SLEEP_MAX: Span = Span::from_ms(50);

/// Which frames belong to which flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// Those of connections from [`DATA_PORT`] by the addresses of their hosts.
    Flows { own_receivers: bool },
    /// Everything is one flow.
    All,
}

/// Which way frames go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// From senders to receivers.
    Forward,
    Back,
}

/// See the module documentation.
pub struct Router {
    clock: Clock,
    end: Time,
    traffic: Traffic,
    /// The senders' device and the receivers'.
    near: Tun,
    far: Tun,
    pub forward: Network<RealFrame>,
    pub back: Network<RealFrame>,
    timeline: Timeline,
    back_slots: u32,
    sampler: u32,
    /// Slot of what goes past the path.
    control: u32,
    aside: Aside,
    sample_every: Span,
    slab: Slab,
    burst: Burst,
    /// Time spent waiting without sleep, and since when it does so again.
    spun: Span,
    spinning_since: Option<Time>,
    shared: Arc<Shared>,
    pub tallies: Vec<Tally>,
    pub conduct: Conduct,
    /// Headers of all frames that leave and reach senders, where that is wanted.
    pub capture: Option<PcapWriter>,
    pub queue_rows: Vec<QueueRow>,
    /// (when, flow, what, how many).
    pub notices: Vec<(Time, u32, Notice, u64)>,
}

impl Router {
    /// The path of `plan` between two devices; `clock` shows the time of the run.
    ///
    /// # Errors
    /// When the plan cannot be built.
    pub fn new(
        plan: &Plan,
        traffic: Traffic,
        (near, far): (Tun, Tun),
        clock: Clock,
        shared: Arc<Shared>,
    ) -> Result<Router, PlanError> {
        let n = plan.flows.len();
        let routes = (0..n).map(|i| build::forward(plan, i)).collect::<Result<_, _>>()?;
        let forward = Network::new(0, build::links(plan)?, routes, plan.record.events);
        let back_slots = forward.slots();
        let routes = (0..n).map(|i| build::back(plan, i)).collect::<Result<_, _>>()?;
        let back = Network::new(back_slots, build::ack_links(plan)?, routes, false);
        let sampler = back_slots + back.slots();
        let tally = |flow: &path::plan::Flow| Tally::new(flow.size_bytes);
        Ok(Router {
            clock,
            end: Time::from_ns(plan.duration_ns),
            traffic,
            near,
            far,
            forward,
            back,
            timeline: Timeline::new(sampler as usize + 2),
            back_slots,
            sampler,
            control: sampler + 1,
            aside: Aside::new(plan),
            sample_every: Span::from_ns(plan.sample_ns),
            slab: Slab::for_rate(plan.bottleneck.rate_bps),
            burst: Burst::default(),
            spun: Span::ZERO,
            spinning_since: None,
            shared,
            tallies: plan.flows.iter().map(tally).collect(),
            conduct: Conduct::default(),
            capture: None,
            queue_rows: Vec::new(),
            notices: Vec::new(),
        })
    }

    /// Runs until the end of the plan, or until it is told to stop.
    pub fn run(mut self) -> Router {
        self.conduct.is_realtime = go_first();
        let before = thread_cpu();
        self.clock.sleep_until(Time::ZERO);
        self.timeline.set(self.sampler, Time::ZERO);
        self.forward.start(&mut self.timeline);
        self.back.start(&mut self.timeline);
        while !self.shared.stop.load(Relaxed) {
            let is_busy = self.read(Way::Forward) | self.read(Way::Back);
            let now = self.clock.now();
            if now >= self.end {
                break;
            }
            self.count_spin(now, is_busy);
            self.run_due(now);
            if !is_busy {
                self.wait(now);
            }
        }
        self.conduct.cpu = thread_cpu() - before;
        self.conduct.spun = self.spun;
        self.forward.check_conservation();
        self.back.check_conservation();
        self
    }

    /// When the loop ended by the clock, at most the end of the plan.
    pub fn ended(&self) -> Time {
        self.clock.now().min(self.end)
    }

    /// Runs the events that are due by `now`, each at its own time.
    #[inline]
    fn run_due(&mut self, now: Time) {
        while self.timeline.next_at().is_some_and(|at| at <= now) {
            let (at, slot) = self.timeline.advance().expect("there is one");
            self.conduct.on_event(self.clock.now().since(at));
            if slot == self.sampler {
                self.sample(at);
            } else if slot == self.control {
                self.leave_aside(at);
            } else if slot < self.back_slots {
                self.forward.wake(at, slot, &mut self.timeline);
            } else {
                self.back.wake(at, slot, &mut self.timeline);
            }
            self.settle(at);
        }
    }

    /// Takes what a device has, a batch at most; tells whether there was any.
    fn read(&mut self, way: Way) -> bool {
        for i in 0..BATCH {
            let device = if way == Way::Forward { &self.near } else { &self.far };
            let Some(length) = device.read(self.burst.room()) else { return i > 0 };
            self.burst.set_length(length);
            self.enter_all(way);
        }
        true
    }

    /// The frames of what was read, each at a time of its own: events that are due meanwhile do not wait
    /// for the last.
    fn enter_all(&mut self, way: Way) {
        loop {
            let (buffer, room) = self.slab.take();
            let Some(length) = self.burst.next(room) else { return self.slab.give_back(buffer) };
            self.slab.set_length(buffer, length);
            if self.capture.is_some() {
                burst::complete(self.slab.room(buffer));
            }
            let now = self.clock.now();
            self.run_due(now);
            self.enter(now, way, buffer);
        }
    }

    /// A frame comes from a host.
    fn enter(&mut self, now: Time, way: Way, buffer: u32) {
        let bytes = self.slab.bytes(buffer);
        let Some(ip) = Ip::parse(bytes) else { return self.slab.give_back(buffer) };
        let tcp = ip.tcp(bytes);
        let Some(flow) = self.flow(way, &ip, tcp.as_ref()) else {
            return self.go_past(now, way, &ip, tcp.as_ref(), buffer);
        };
        let hosts = self.hosts(way, &ip, flow);
        let bytes = self.slab.bytes(buffer);
        let frame = RealFrame::new(buffer, bytes, &ip, tcp.as_ref(), flow, hosts, now);
        if let Some(tcp) = &tcp {
            if !self.note_segment(now, way, flow as usize, tcp) {
                return self.slab.give_back(buffer);
            }
        }
        if way == Way::Forward {
            self.record(now, buffer);
        }
        match way {
            Way::Forward => self.forward.send(now, frame, &mut self.timeline),
            Way::Back => self.back.send(now, frame, &mut self.timeline),
        }
        self.settle(now);
    }

    /// The flow of a frame that takes the path; the others go past it.
    fn flow(&self, way: Way, ip: &Ip, tcp: Option<&Tcp>) -> Option<u32> {
        if self.traffic == Traffic::All {
            return Some(0);
        }
        let (port, first) = match way {
            Way::Forward => (tcp?.source, RECEIVERS),
            Way::Back => (tcp?.destination, SENDERS),
        };
        let flow = ip.destination.wrapping_sub(first);
        (port == DATA_PORT && (flow as usize) < self.tallies.len()).then_some(flow)
    }

    /// A frame that does not take the path.
    fn go_past(&mut self, now: Time, way: Way, ip: &Ip, tcp: Option<&Tcp>, buffer: u32) {
        let flow = ip.destination.wrapping_sub(SENDERS) as usize;
        let is_open = self.tallies.get(flow).is_some_and(|tally| tally.opened.is_some());
        if way == Way::Back && is_open {
            self.aside.enter(now, flow, buffer);
            return self.arm_aside();
        }
        if !self.is_premature(way, ip, tcp) {
            self.hand_over(way, buffer);
        }
        self.slab.give_back(buffer);
    }

    fn leave_aside(&mut self, now: Time) {
        while let Some(buffer) = self.aside.arrived(now) {
            self.hand_over(Way::Back, buffer);
            self.slab.give_back(buffer);
        }
        self.arm_aside();
    }

    fn arm_aside(&mut self) {
        match self.aside.next_at() {
            Some(at) => self.timeline.set(self.control, at),
            None => self.timeline.clear(self.control),
        }
    }

    /// iperf3 says that a finite transfer is over when it has written all of it, and the server then closes
    /// without reading on. So what its control connection says is held back until all has arrived: it is
    /// lost here, and TCP says it again.
    fn is_premature(&self, way: Way, ip: &Ip, tcp: Option<&Tcp>) -> bool {
        let flow = ip.destination.wrapping_sub(RECEIVERS) as usize;
        let speaks = way == Way::Forward && tcp.is_some_and(|tcp| tcp.payload > 0);
        speaks && self.tallies.get(flow).is_some_and(Tally::is_halfway)
    }

    /// Source and destination as queue disciplines tell hosts apart; flows as the simulator numbers them.
    fn hosts(&self, way: Way, ip: &Ip, flow: u32) -> (u32, u32) {
        let Traffic::Flows { own_receivers } = self.traffic else {
            return (ip.source, ip.destination);
        };
        let (sender, receiver) = (2 * flow + 1, if own_receivers { 2 * flow + 2 } else { 0 });
        match way {
            Way::Forward => (sender, receiver),
            Way::Back => (receiver, sender),
        }
    }

    /// Counts a segment; `false` if its flow is over and it goes nowhere.
    fn note_segment(&mut self, now: Time, way: Way, flow: usize, tcp: &Tcp) -> bool {
        let (tally, shared) = (&mut self.tallies[flow], &self.shared.flows[flow]);
        if way == Way::Forward {
            if shared.is_closed.load(Relaxed) {
                return false;
            }
            tally.on_data(now, tcp);
        } else {
            tally.on_ack(now, tcp);
            shared.delivered_bytes.store(tally.delivered_bytes(), Relaxed);
            shared.is_completed.store(tally.completed.is_some(), Relaxed);
        }
        true
    }

    /// Hands over what has arrived, and gives back the buffers of what never will.
    fn settle(&mut self, now: Time) {
        for (flow, notice, count) in self.forward.notices.drain(..) {
            self.notices.push((now, flow, notice, count));
        }
        for network in [&mut self.forward, &mut self.back] {
            network.copied.drain(..).for_each(|frame| self.slab.copy(frame.buffer));
            network.gone.drain(..).for_each(|frame| self.slab.give_back(frame.buffer));
        }
        while let Some(frame) = self.forward.arrived.pop_front() {
            self.leave(Way::Forward, &frame);
        }
        while let Some(frame) = self.back.arrived.pop_front() {
            self.leave(Way::Back, &frame);
        }
    }

    fn leave(&mut self, way: Way, frame: &RealFrame) {
        let bytes = self.slab.bytes(frame.buffer);
        if bytes[1] != frame.tos {
            set_tos(bytes, frame.tos);
        }
        let now = self.clock.now();
        let tally = &mut self.tallies[net::Frame::flow(frame) as usize];
        if way == Way::Back && tally.established.is_none() {
            if let Some(tcp) = Ip::parse(bytes).and_then(|ip| ip.tcp(bytes)) {
                tally.on_answer(now, &tcp);
            }
        }
        if way == Way::Forward && frame.is_data {
            tally.one_way.add_span(now.since(frame.entered));
            self.shared.delivered.fetch_add(1, Relaxed);
        }
        if way == Way::Back {
            self.record(now, frame.buffer);
        }
        self.hand_over(way, frame.buffer);
        self.slab.give_back(frame.buffer);
    }

    fn record(&mut self, now: Time, buffer: u32) {
        if let Some(capture) = &mut self.capture {
            capture.write_ip(now.as_ns(), self.slab.bytes(buffer));
        }
    }

    fn hand_over(&mut self, way: Way, buffer: u32) {
        let device = if way == Way::Forward { &self.far } else { &self.near };
        let is_taken = device.write(self.slab.room(buffer));
        self.conduct.refused += u64::from(!is_taken);
    }

    /// One row per link of the data direction.
    fn sample(&mut self, at: Time) {
        for (link, number) in self.forward.links.iter().zip(0..) {
            self.queue_rows.push(link.row(at, number));
        }
        self.timeline.set(self.sampler, at + self.sample_every);
    }

    /// A turn of the loop that found nothing to do was spent waiting.
    fn count_spin(&mut self, now: Time, is_busy: bool) {
        let since = self.spinning_since.take();
        if let Some(since) =
            since.filter(|_| !is_busy && self.timeline.next_at().is_none_or(|at| at > now))
        {
            self.spun = self.spun + now.since(since);
        }
    }

    /// Sleeps until shortly before the next event, or until a frame comes.
    fn wait(&mut self, now: Time) {
        let next = self.timeline.next_at().unwrap_or(Time::NEVER);
        let span = next.min(self.end).since(now).min(SLEEP_MAX);
        let may_spin = self.spun * SPIN_SHARE < now.since(Time::ZERO);
        if span <= SPIN && may_spin {
            self.spinning_since = Some(now);
            return std::hint::spin_loop();
        }
        if !may_spin {
            return self.clock.sleep_until(now + NAP);
        }
        let ns = (span.max(SPIN) - SPIN).as_ns();
        let timeout = libc::timespec { tv_sec: 0, tv_nsec: ns as libc::c_long };
        let poll =
            |tun: &Tun| libc::pollfd { fd: tun.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let mut files = [poll(&self.near), poll(&self.far)];
        // SAFETY: two open devices and a time that is read only; whatever ends it, the loop looks again.
        unsafe { libc::ppoll(files.as_mut_ptr(), 2, &timeout, std::ptr::null()) };
    }
}
