//! For tests: a clock that stands still unless somebody waits, devices with frames that come at given times, and plans.

use crate::clock::Clock;
use crate::gso::VNET_BYTES;
use crate::header::flag;
use crate::hosts::{DATA_PORT, PROBE_PORT, RECEIVERS, SENDERS};
use crate::tun::{Devices, Direction};
use path::plan::Plan;
use serde_json::json;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io::IoSlice;
use std::rc::Rc;
use units::{Span, Time};

/// How long a turn without sleep takes.
const TURN: Span = Span::from_us(1);

pub fn ms(ms: u64) -> Time {
    Time::from_ns(ms * 1_000_000)
}

/// A clock whose clones show the same time; waiting sets it forward.
#[derive(Clone, Debug, Default)]
pub struct SimClock(Rc<Cell<u64>>);

impl SimClock {
    pub fn advance_to(&self, at: Time) {
        self.0.set(self.0.get().max(at.as_ns()));
    }
}

impl Clock for SimClock {
    fn now(&self) -> Time {
        Time::from_ns(self.0.get())
    }

    fn sleep_until(&self, at: Time) {
        self.advance_to(at);
    }

    fn spin(&self) {
        self.advance_to(self.now() + TURN);
    }
}

/// A packet that a host sends at a time.
type Sent = (Time, Vec<u8>);
/// When a host has received a packet, and from which direction.
type Received = (Time, Direction);

/// What the devices of both hosts do, shared by its clones.
#[derive(Clone, Default)]
pub struct SimDevices {
    pub clock: SimClock,
    /// What hosts send, by direction.
    incoming: Rc<RefCell<[VecDeque<Sent>; 2]>>,
    pub received: Rc<RefCell<Vec<Received>>>,
    /// Lengths of the packets in several parts, with the driver's header.
    pub merged: Rc<RefCell<Vec<usize>>>,
    /// The kernel refuses every packet.
    pub is_refusing: Rc<Cell<bool>>,
    /// The machine stops when it hands over the first packet from this time on, for this long.
    pub stall: Rc<Cell<(Time, Span)>>,
}

impl SimDevices {
    /// A host sends an IP packet, after those that it sends earlier.
    pub fn send(&self, at: Time, direction: Direction, packet: &[u8]) {
        let whole = [&[0; VNET_BYTES], packet].concat();
        self.incoming.borrow_mut()[direction as usize].push_back((at, whole));
    }

    /// When packets were received at the end of a direction, to 10 us.
    pub fn times_us(&self, direction: Direction) -> Vec<u64> {
        let received = self.received.borrow();
        let mine = received.iter().filter(|one| one.1 == direction);
        mine.map(|one| one.0.as_us() / 10 * 10).collect()
    }
}

impl Devices for SimDevices {
    fn read(&self, direction: Direction, buffer: &mut [u8]) -> Option<usize> {
        let incoming = &mut self.incoming.borrow_mut()[direction as usize];
        if incoming.front()?.0 > self.clock.now() {
            return None;
        }
        let (_, packet) = incoming.pop_front()?;
        buffer[..packet.len()].copy_from_slice(&packet);
        Some(packet.len())
    }

    fn write(&self, direction: Direction, _: &[u8]) -> bool {
        let now = self.clock.now();
        if now >= self.stall.get().0 {
            self.clock.advance_to(now + self.stall.take().1);
        }
        if self.is_refusing.get() {
            return false;
        }
        self.received.borrow_mut().push((now, direction));
        true
    }

    fn write_parts(&self, direction: Direction, parts: &[IoSlice<'_>]) -> bool {
        self.merged.borrow_mut().push(parts.iter().map(|part| part.len()).sum());
        self.write(direction, &[])
    }

    fn wait(&self, timeout: Span) {
        let incoming = self.incoming.borrow();
        let next = incoming.iter().filter_map(|queue| queue.front()).map(|one| one.0).min();
        let until = self.clock.now() + timeout;
        self.clock.advance_to(next.map_or(until, |next| next.min(until)));
    }
}

/// Port of a control connection.
pub const CONTROL_PORT: u16 = 40_000;
/// Payload of a frame of 1514 bytes, Ethernet's header included.
pub const FULL: usize = 1_460;

/// A segment of the sender of flow 0 from this port of its.
pub fn sent(port: u16, flags: u16, seq: u32, payload: usize) -> Vec<u8> {
    let ports = [port, 5_201].map(u16::to_be_bytes).concat();
    packet([SENDERS, RECEIVERS], &ports, flags, [seq, 1], payload)
}

/// A segment of the receiver of flow 0 to this port of the sender.
pub fn answer(port: u16, flags: u16, ack: u32, payload: usize) -> Vec<u8> {
    let ports = [5_201, port].map(u16::to_be_bytes).concat();
    packet([RECEIVERS, SENDERS], &ports, flags, [1, ack], payload)
}

/// A segment of the sender of flow 0, which goes up, from this port of its.
pub fn sent_up(port: u16, flags: u16, seq: u32, payload: usize) -> Vec<u8> {
    let ports = [port, 5_201].map(u16::to_be_bytes).concat();
    packet([RECEIVERS, SENDERS], &ports, flags, [seq, 1], payload)
}

/// A segment of its receiver to this port of the sender.
pub fn answer_up(port: u16, flags: u16, ack: u32, payload: usize) -> Vec<u8> {
    let ports = [5_201, port].map(u16::to_be_bytes).concat();
    packet([SENDERS, RECEIVERS], &ports, flags, [1, ack], payload)
}

/// Probe `number` of series `series` after one flow, or with `is_answer` its answer; requests go up.
pub fn probe(series: u32, number: u32, is_answer: bool) -> Vec<u8> {
    let hosts = [RECEIVERS + 1 + series, SENDERS + 1 + series];
    let [source, target] = if is_answer { [hosts[1], hosts[0]] } else { hosts };
    let mut packet = vec![0x45, 0, 0, 84, 0, 0, 0x40, 0, 64, 17, 0, 0];
    packet.extend([source, target].map(u32::to_be_bytes).concat());
    packet.extend([PROBE_PORT, PROBE_PORT, 64, 0].map(u16::to_be_bytes).concat());
    packet.extend(number.to_be_bytes());
    packet.resize(84, 0);
    packet
}

/// An IP packet with a TCP segment without options, whose checksums are not set.
fn packet(hosts: [u32; 2], ports: &[u8], flags: u16, numbers: [u32; 2], payload: usize) -> Vec<u8> {
    let length = (40 + payload) as u16;
    let mut packet = vec![0x45, 2, 0, 0, 0, 0, 0x40, 0, 64, 6, 0, 0];
    packet[2..4].copy_from_slice(&length.to_be_bytes());
    packet.extend(hosts.map(u32::to_be_bytes).concat());
    packet.extend(ports);
    packet.extend(numbers.map(u32::to_be_bytes).concat());
    packet.extend((5 << 12 | flags).to_be_bytes());
    packet.resize(length.into(), 0);
    packet
}

/// The connection of flow 0 opens at 5 ms, so that over the path of [`plan`] its SYN reaches the receiver at 15 ms and
/// the answer the sender at 25 ms. Data begin with number 1000.
pub fn opened() -> SimDevices {
    let devices = SimDevices::default();
    devices.send(ms(5), Direction::Forward, &sent(DATA_PORT, flag::SYN, 999, 0));
    devices.send(ms(15), Direction::Back, &answer(DATA_PORT, flag::SYN | flag::ACK, 1_000, 0));
    devices
}

/// One flow for 2 s over 12.112 Mbit/s, which is a frame of 1514 bytes a millisecond, with an RTT of 20 ms; `keys` are
/// more keys of the flow.
pub fn plan(keys: &str) -> Plan {
    let text = format!(
        r#"{{"name": "x", "seed": 1, "duration_ns": 2000000000, "sample_ns": 100000000,
        "links": [{{"rate_bps": 12112000, "burst_bytes": 1514,
            "qdisc": {{"kind": "fifo", "limit_bytes": 10000, "limit_packets": null}}}}],
        "host": {{"hz": 1000, "qdisc": "pfifo", "tso": true, "gro": false, "ecn": "off", "rcvbuf_bytes": 0,
            "sndbuf_bytes": 0, "delayed_ack": true}},
        "flows": [{{"cca": "cubic", "params": {{}}, "rtt_ns": 20000000,
            "forward": [{{"kind": "delay", "ns": 10000000}}, {{"kind": "link", "link": 0}}],
            "back": [{{"kind": "delay", "ns": 10000000}}],
            "start_ns": 0, "stop_ns": 2000000000, "size_bytes": null, "max_rate_bps": null {keys}}}],
        "record": {{"samples": true, "queue": true, "events": true, "pcap": false}}}}"#
    );
    Plan::parse(&text).expect("a plan")
}

/// The plan of one flow that goes up, over 6.056 Mbit/s: a frame of 1514 bytes in 2 ms, with 10 ms of delay behind it;
/// and of a series of probes that do so too.
pub fn plan_up(has_probes: bool) -> Plan {
    let mut whole = serde_json::to_value(plan("")).expect("JSON");
    let mut link = whole["links"][0].clone();
    link["rate_bps"] = 6_056_000.into();
    whole["ack_links"] = json!([link]);
    let up = json!([{"kind": "link", "link": 0}, {"kind": "delay", "ns": 10_000_000}]);
    let down = json!([{"kind": "delay", "ns": 10_000_000}, {"kind": "link", "link": 0}]);
    let flow = &mut whole["flows"][0];
    flow["direction"] = "up".into();
    (flow["forward"], flow["back"]) = (up.clone(), down.clone());
    if has_probes {
        whole["probes"] = json!([{"name": "p", "direction": "up", "rtt_ns": 20_000_000,
            "forward": up, "back": down, "start_ns": 0, "stop_ns": 2_000_000_000,
            "every_ns": 10_000_000}]);
    }
    Plan::parse(&whole.to_string()).expect("a plan")
}
