//! A sender and a receiver with a link between them that allocates nothing by itself and checks nothing:
//! for long and large runs.

use crate::pair::Setup;
use net::delay::Pipe;
use net::{Ack, Packet};
use transport::common::Conn;
use transport::quic::{Receiver, Sender};
use units::{Span, Time};

pub struct Line {
    pub sender: Sender,
    pub receiver: Receiver,
    pub now: Time,
    pub packets: u64,
    setup: Setup,
    data: Pipe<Packet>,
    back: Pipe<Ack>,
    acks: Vec<Ack>,
    free_at: Time,
}

impl Line {
    pub fn new(setup: Setup) -> Line {
        let (sender, receiver) = setup.ends();
        Line {
            sender,
            receiver,
            now: Time::ZERO,
            packets: 0,
            setup,
            data: Pipe::default(),
            back: Pipe::default(),
            acks: Vec::with_capacity(8),
            free_at: Time::ZERO,
        }
    }

    /// Runs until `end` or the end of the transfer; loses the packets that `is_lost` names.
    pub fn drive(&mut self, end: Time, is_lost: impl Fn(u32) -> bool) {
        if self.sender.conn() == Conn::Closed {
            self.sender.start(self.now);
            self.depart(&is_lost);
        }
        while !self.sender.is_complete() {
            let timers = self.sender.next_deadline().min(self.receiver.next_deadline());
            let arrivals = [self.data.next_wakeup(), self.back.next_wakeup()];
            let next = arrivals.into_iter().flatten().fold(timers, Time::min);
            if next > end {
                break;
            }
            self.now = next;
            while let Some(packet) = self.data.pop(next) {
                self.receiver.on_packet(next, &packet, &mut self.acks);
            }
            self.receiver.on_timer(next, &mut self.acks);
            for ack in self.acks.drain(..) {
                self.back.push(next + self.setup.one_way, ack);
            }
            while let Some(ack) = self.back.pop(next) {
                self.sender.on_ack(next, &ack, self.receiver.arrivals_mut());
            }
            self.sender.on_timer(next);
            self.depart(&is_lost);
        }
    }

    fn depart(&mut self, is_lost: &impl Fn(u32) -> bool) {
        while let Some(packet) = self.sender.depart(self.now) {
            self.packets += 1;
            let start = self.now.max(self.free_at);
            let waiting = start.since(self.now).as_ns() / self.setup.serialization.as_ns();
            if packet.len > 0 && is_lost(packet.seq) || waiting > self.setup.buffer {
                continue;
            }
            self.free_at = start + self.setup.serialization;
            self.data.push(self.free_at + self.setup.one_way, packet);
        }
    }
}

/// `s` seconds after the start.
pub fn at_s(s: u64) -> Time {
    Time::ZERO + Span::from_ms(1000 * s)
}
