//! `host.gro`: the receiving host's card holds its interrupt back, and the segments of a flow that arrive meanwhile are
//! handed to its TCP as one, by the rules of `tcp_gro_receive` (net/ipv4/tcp_offload.c) and for as long as the simulated
//! receiver waits. A virtual machine gets such segments from its host in the same form.

use crate::gso::{fold, put, sum, NEEDS_CHECKSUM, TCP4, TCP_CHECKSUM, TCP_PROTOCOL, VNET_BYTES};
use crate::header::{flag, Ip, Tcp};
use crate::tun::Direction;
use net::host::COALESCE;
use net::packet::SEGMENTS_MAX;
use std::collections::VecDeque;
use units::Time;

/// IP and TCP headers with all their options.
const HEADERS_MAX: usize = 120;
/// The longest IP packet.
const PACKET_MAX: usize = 65_535;

/// Segments that are handed over in one piece.
#[derive(Debug)]
pub struct Run {
    pub direction: Direction,
    /// The buffers of its frames; the first has the headers of all.
    pub buffers: Vec<u32>,
    /// Bytes of IP and TCP headers.
    pub headers: usize,
    /// Payload of each frame; the last may have less.
    pub mss: usize,
    /// IP header, TCP header and all payload, bytes.
    pub length: usize,
    /// The last one has PSH set.
    pub has_push: bool,
    next_seq: u32,
    is_full: bool,
    shape: [u8; HEADERS_MAX],
    flush_at: Time,
}

/// What became of a frame.
#[derive(Debug)]
pub struct Offered {
    /// The run that it ended, which goes first.
    pub ended: Option<Run>,
    /// The frame waits for others.
    pub is_held: bool,
}

/// See the module documentation.
#[derive(Debug, Default)]
pub struct Merger {
    /// By flow; empty where receivers do not merge.
    held: Vec<Option<Run>>,
    /// When runs are handed over, and those that were handed over earlier.
    due: VecDeque<(Time, usize)>,
}

impl Merger {
    /// For this many flows.
    pub fn new(flows: usize) -> Merger {
        Merger { held: (0..flows).map(|_| None).collect(), due: VecDeque::new() }
    }

    /// Whether receivers merge.
    #[inline]
    pub fn is_on(&self) -> bool {
        !self.held.is_empty()
    }

    /// A frame of a flow reaches its receiver.
    pub fn offer(
        &mut self,
        now: Time,
        direction: Direction,
        flow: usize,
        buffer: u32,
        frame: &[u8],
    ) -> Offered {
        let segment = Ip::parse(frame).and_then(|ip| Some((ip, ip.tcp(frame)?)));
        let Some((ip, tcp)) = segment.filter(|(ip, tcp)| may_merge(ip, tcp)) else {
            return Offered { ended: self.held[flow].take(), is_held: false };
        };
        if self.held[flow].as_mut().is_some_and(|run| run.take(&ip, &tcp, buffer, frame)) {
            return Offered { ended: None, is_held: true };
        }
        let flush_at = now + COALESCE;
        let run = Run::new(direction, &ip, &tcp, buffer, frame, flush_at);
        self.due.push_back((flush_at, flow));
        Offered { ended: self.held[flow].replace(run), is_held: true }
    }

    /// When the next run is due.
    pub fn next_at(&mut self) -> Option<Time> {
        let (held, due) = (&self.held, &mut self.due);
        let is_held = |at, flow: usize| held[flow].as_ref().is_some_and(|run| run.flush_at == at);
        while due.front().is_some_and(|&(at, flow)| !is_held(at, flow)) {
            due.pop_front();
        }
        due.front().map(|&(at, _)| at)
    }

    /// A run that is due.
    pub fn pop(&mut self, now: Time) -> Option<Run> {
        self.next_at().filter(|&at| at <= now)?;
        let (_, flow) = self.due.pop_front()?;
        self.held[flow].take()
    }
}

impl Run {
    fn new(
        direction: Direction,
        ip: &Ip,
        tcp: &Tcp,
        buffer: u32,
        frame: &[u8],
        flush_at: Time,
    ) -> Run {
        let (mss, length) = (tcp.payload as usize, usize::from(ip.total));
        let headers = length - mss;
        Run {
            direction,
            buffers: vec![buffer],
            headers,
            mss,
            length,
            has_push: tcp.has(flag::PSH),
            next_seq: tcp.seq.wrapping_add(tcp.payload),
            is_full: tcp.has(flag::PSH),
            shape: shape(ip, headers, frame),
            flush_at,
        }
    }

    /// Takes a frame if it goes on with this run.
    fn take(&mut self, ip: &Ip, tcp: &Tcp, buffer: u32, frame: &[u8]) -> bool {
        let payload = tcp.payload as usize;
        let headers = usize::from(ip.total) - payload;
        let goes_on = !self.is_full
            && tcp.seq == self.next_seq
            && payload <= self.mss
            && self.length + payload <= PACKET_MAX
            && self.buffers.len() < SEGMENTS_MAX as usize
            && headers == self.headers
            && shape(ip, headers, frame) == self.shape;
        if goes_on {
            self.buffers.push(buffer);
            self.length += payload;
            self.next_seq = tcp.seq.wrapping_add(tcp.payload);
            self.has_push = tcp.has(flag::PSH);
            self.is_full = self.has_push || payload < self.mss;
        }
        goes_on
    }

    /// Makes its first frame, after the driver's header, the head of all: that of a burst.
    pub fn put_head(&self, packet: &mut [u8]) {
        let (vnet, frame) = packet.split_at_mut(VNET_BYTES);
        let at = usize::from(frame[0] & 15) * 4;
        put(frame, 2, self.length as u16);
        put(frame, 10, 0);
        let header = !fold(sum(&frame[..at]));
        put(frame, 10, header);
        if self.has_push {
            frame[at + 13] |= flag::PSH as u8;
        }
        let pseudo = sum(&frame[12..20]) + TCP_PROTOCOL + (self.length - at) as u32;
        put(frame, at + TCP_CHECKSUM, fold(pseudo));
        vnet[..2].copy_from_slice(&[NEEDS_CHECKSUM, TCP4]);
        for (i, number) in [self.headers, self.mss, at, TCP_CHECKSUM].into_iter().enumerate() {
            vnet[2 + 2 * i..4 + 2 * i].copy_from_slice(&(number as u16).to_ne_bytes());
        }
    }

    /// The payload of one of its frames, which is in a buffer after the driver's header.
    pub fn payload<'a>(&self, packet: &'a [u8]) -> &'a [u8] {
        &packet[VNET_BYTES + self.headers..]
    }
}

/// A frame whose headers say nothing but where its data belong. One with CWR is handed over alone.
fn may_merge(ip: &Ip, tcp: &Tcp) -> bool {
    let alone = flag::SYN | flag::FIN | flag::RST | flag::URG | flag::CWR;
    tcp.payload > 0
        && tcp.flags & alone == 0
        && tcp.has(flag::ACK)
        && usize::from(ip.total) - tcp.payload as usize <= HEADERS_MAX
}

/// The headers without what may differ within a run: of IP length, identification and checksum, of TCP sequence number,
/// PSH, checksum and urgent pointer. Options, with the timestamps, must be the same.
fn shape(ip: &Ip, headers: usize, frame: &[u8]) -> [u8; HEADERS_MAX] {
    let mut shape = [0; HEADERS_MAX];
    shape[..headers].copy_from_slice(&frame[..headers]);
    let tcp = ip.header_bytes();
    for (at, length) in [(2, 4), (10, 2), (tcp + 4, 4), (tcp + 16, 4)] {
        shape[at..at + length].fill(0);
    }
    shape[tcp + 13] &= !(flag::PSH as u8);
    shape
}

#[cfg(test)]
mod tests;
