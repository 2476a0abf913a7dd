//! What was handed to an interface and has not left it: it is written in the order of time.

use super::datagram::Datagram;
use record::pcap::{PcapSegment, PcapWriter};
use std::collections::BTreeMap;
use units::Time;

/// One frame of the capture.
pub enum Record {
    /// The receiver tells its link address.
    ArpAnswer,
    Segment(PcapSegment<'static>),
    Datagram(Datagram),
}

impl Record {
    /// Writes it, seen at `at` on the interface of `flow`.
    pub fn write(&self, at: Time, flow: u32, pcap: &mut PcapWriter) {
        match self {
            Record::ArpAnswer => pcap.write_arp(at.as_ns(), flow, true),
            Record::Segment(segment) => pcap.write_segment(at.as_ns(), segment),
            Record::Datagram(datagram) => datagram.write(at, flow, pcap),
        }
    }
}

/// Frames by the time at which they leave, then in the order in which they came.
#[derive(Default)]
pub struct Held {
    frames: BTreeMap<(Time, u64), (u32, Record)>,
    pushed: u64,
}

impl Held {
    /// A frame of `flow` will leave at `at`.
    pub fn push(&mut self, at: Time, flow: u32, record: Record) {
        self.pushed += 1;
        self.frames.insert((at, self.pushed), (flow, record));
    }

    /// Writes what has left by `now`.
    #[inline]
    pub fn write_due(&mut self, now: Time, pcap: &mut PcapWriter) {
        while self.frames.first_key_value().is_some_and(|((at, _), _)| *at <= now) {
            if let Some(((at, _), (flow, record))) = self.frames.pop_first() {
                record.write(at, flow, pcap);
            }
        }
    }
}
