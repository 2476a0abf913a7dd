//! What all flows share, and what a host does with what reaches it: the flow is given with each event, so that it is looked up
//! once.

use super::timeouts::Timeouts;
use crate::capture::Capture;
use crate::ends::{self, Ends};
use crate::flow::Flow;
use crate::inside::Inside;
use crate::probe::Probe;
use crate::qlog::Qlog;
use crate::source::{Slots, Source};
use crate::traffic::{Traffic, Way};
use net::crossing::Probe as ProbePacket;
use net::host::Nic;
use net::{Ack, Packet};
use path::network::{Network, Notice};
use path::timeline::Timeline;
use transport::tcp::Burst;
use units::{Span, Time};

/// See the module documentation.
pub(super) struct Shared<T: Traffic> {
    /// The way down.
    pub down: Network<T::Down>,
    /// The way up.
    pub up: Network<T::Up>,
    pub timeline: Timeline,
    pub slots: Slots,
    pub now: Time,
    /// The end of the run.
    pub end: Time,
    pub probe: Probe,
    pub capture: Option<Capture>,
    pub qlog: Option<Qlog>,
    pub inside: Option<Inside>,
    /// Acknowledgements that a receiver sends now.
    pub acks: Vec<Ack>,
    /// Segments that receivers got.
    pub delivered: u64,
    /// Flags that every packet gets.
    pub flags: u8,
    /// All hosts' timers run on one processor, so that one may fire together with another.
    pub is_processor_shared: bool,
    pub timeouts: Timeouts,
}

impl<T: Traffic> Shared<T> {
    /// Writes down what the network did to packets.
    #[inline]
    pub fn note(&mut self) {
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

    /// Data come to the receiver of flow `i`.
    pub fn on_packet(&mut self, i: usize, flow: &mut Flow, packet: &Packet) {
        let segments = packet.segments();
        flow.one_way.add((self.now.as_us() as u32).wrapping_sub(packet.sent_us), segments);
        self.delivered += u64::from(if packet.len > 0 { segments } else { 0 });
        flow.ends.on_packet(self.now, packet, &mut self.acks);
        self.after_receiver(i, flow);
    }

    /// Sends what the receiver acknowledges; ends the flow once it has everything.
    #[inline(always)]
    pub(super) fn after_receiver(&mut self, i: usize, flow: &mut Flow) {
        let (is_complete, deadline) = flow.ends.receiver_state();
        let completed = is_complete && flow.is_running();
        // The stack acknowledges before the application learns of the data: where both answer, the ACK comes first.
        if !self.acks.is_empty() {
            self.send_acks(i, flow.is_up);
        }
        self.timeline.set_if_earlier(self.slots.slot(Source::Receiver(i)), deadline);
        if let Some(app) = &mut flow.app {
            let is_open = flow.ends.is_receiver_established();
            app.on_delivered(self.now, flow.ends.delivered_bytes(), is_open);
            self.arm_app(i, flow);
        }
        if completed {
            self.end_flow(i, flow, true);
        }
    }

    fn send_acks(&mut self, i: usize, is_up: bool) {
        let acks = self.acks.iter().map(|&ack| Ack { flow: i as u32, ..ack });
        if T::RECORDS_UP && is_up {
            self.down.send_all(self.now, i, acks.map(T::ack_down), &mut self.timeline);
        } else {
            self.up.send_all(self.now, i, acks.map(T::ack_up), &mut self.timeline);
        }
        self.acks.clear();
    }

    /// An acknowledgement comes to the sender of flow `i`. TCP handles all that come together before it learns that what it
    /// sends has left: on Linux they wait in one queue (`process_backlog`, net/core/dev.c), and what is sent meanwhile goes
    /// behind them.
    pub fn on_ack(&mut self, i: usize, flow: &mut Flow, ack: &Ack, is_last: bool) {
        if let Some(capture) = &mut self.capture {
            capture.ack(self.now, i, flow, ack);
        }
        if let Some(qlog) = &mut self.qlog {
            qlog.ack(self.now, i, &flow.ends, ack);
        }
        flow.ends.on_ack(self.now, ack);
        if ack.is_request() {
            self.on_request(i, flow);
        }
        self.log_sender(i, flow);
        if !is_last && flow.ends.set_followed(true) {
            self.depart(i, flow);
            flow.ends.set_followed(false);
            return self.note_sender(i, flow);
        }
        self.depart(i, flow);
        self.after_sender(i, flow);
    }

    pub fn on_sender_timer(&mut self, i: usize, flow: &mut Flow, slot: u32) {
        self.timeline.take_up(slot);
        let timeouts = flow.ends.stats().rtos;
        flow.ends.on_sender_timer(self.now);
        if flow.ends.stats().rtos != timeouts {
            self.timeouts.note(self.now);
        }
        self.log_sender(i, flow);
        self.depart(i, flow);
        self.after_sender(i, flow);
        self.timeline.let_go(slot);
    }

    pub fn on_receiver_timer(&mut self, i: usize, flow: &mut Flow, slot: u32) {
        self.timeline.clear(slot);
        flow.ends.on_receiver_timer(self.now, &mut self.acks);
        self.after_receiver(i, flow);
    }

    /// What leaves the sending host now goes on its way.
    #[inline(always)]
    pub fn depart(&mut self, i: usize, flow: &mut Flow) {
        // Most acknowledgements let nothing leave.
        if flow.ends.may_depart(self.now) {
            self.depart_some(i, flow);
        }
    }

    /// What is sent goes on its way. One copy of the code, for acknowledgements and for timers.
    #[inline(never)]
    fn depart_some(&mut self, i: usize, flow: &mut Flow) {
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
            self.depart_singly(i, flow);
        }
        self.note();
    }

    /// The same packet by packet, and each is written down where packets are.
    fn depart_singly(&mut self, i: usize, flow: &mut Flow) {
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

    /// Records what the sender did.
    #[inline]
    fn note_sender(&mut self, i: usize, flow: &mut Flow) {
        self.log_sender(i, flow);
        if self.probe.records_events() || self.qlog.is_some() {
            self.probe.sender_events(self.now, i, flow);
        }
        if let Some(inside) = &mut self.inside {
            inside.note(self.now, i, flow);
        }
        if let Some(qlog) = &mut self.qlog {
            qlog.taken(i);
        }
    }

    /// Records what the sender did and arms its timer. One copy of the code, for acknowledgements and for timers.
    #[inline(never)]
    pub fn after_sender(&mut self, i: usize, flow: &mut Flow) {
        self.note_sender(i, flow);
        if flow.established.is_none() && flow.ends.is_established() {
            flow.established = Some(self.now);
            if let Some(app) = &mut flow.app {
                app.on_established(self.now, flow.ends.is_receiver_established());
                self.arm_app(i, flow);
            }
        }
        let (deadline, slack) = flow.ends.sender_wakeup();
        // On a processor of its own nothing wakes a paced flow early: its timer uses all of its slack.
        let slack = if self.is_processor_shared { slack } else { Span::ZERO };
        let slot = self.slots.slot(Source::Sender(i));
        self.timeline.set_with_slack_if_earlier(slot, deadline, slack);
    }

    /// The qlog gets what the sender has done.
    #[inline]
    fn log_sender(&mut self, i: usize, flow: &mut Flow) {
        if let Some(qlog) = &mut self.qlog {
            qlog.sender(self.now, i, flow);
        }
    }

    pub fn send_probe(&mut self, probe: ProbePacket, goes_up: bool) {
        match T::probe(probe, goes_up) {
            Way::Down(packet) => self.down.send(self.now, packet, &mut self.timeline),
            Way::Up(packet) => self.up.send(self.now, packet, &mut self.timeline),
        }
    }

    /// One row of each queue; those of the way up have the numbers after those of the way down.
    pub fn sample_links(&mut self) {
        self.probe.sample_links(self.now, &self.down.links, 0);
        if T::RECORDS_UP {
            self.probe.sample_links(self.now, &self.up.links, self.down.links.len());
        }
    }
}
