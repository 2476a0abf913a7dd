//! The end of the connection that a script tests, in exact virtual time.

use crate::info;
use crate::receiving::ReceiverEnd;
use crate::script::{Arm, Flags, Kernel, Options, Segment};
use cca::{Controller, Module};
use net::{flags, Ack, AckKind, TcpAck};
use std::collections::VecDeque;
use transport::app::Write;
use transport::common::clock::{timestamp_ms, BOOT};
use transport::common::{Conn, Stream};
use transport::tcp::{Burst, Device, HostConfig, HostQdisc, Sender};
use units::Time;

/// Payload of a full segment, bytes.
pub const MSS: u64 = transport::tcp::MSS as u64;
/// Window that injected packets repeat until they say otherwise, bytes.
const WINDOW: u64 = 1 << 30;

/// A packet that left, and when.
#[derive(Debug)]
pub struct Left {
    pub at: Time,
    pub segment: Segment,
}

/// See the module documentation.
pub struct Host {
    end: End,
    /// Window of the last injected packet, bytes.
    window: u64,
    pub left: VecDeque<Left>,
}

enum End {
    Sender(Box<SenderEnd>),
    Receiver(Box<ReceiverEnd>),
}

struct SenderEnd {
    sender: Sender,
    /// Timestamp of the last transmission of each segment, for the echo of injected ACKs.
    ts_vals: Vec<u32>,
    acked: u32,
    echo: u32,
    bytes: Bytes,
    /// How a script of the kernel's packetdrill sets the host.
    kernel: Option<Kernel>,
    /// The other side opened the connection, and its SYN had these flags.
    syn: Option<Flags>,
}

/// Which bytes the segments have; the first data byte is 1.
pub struct Bytes(pub Vec<u64>);

impl Bytes {
    /// The segment that begins at a byte.
    pub fn segment_at(&self, byte: u64) -> Option<u32> {
        self.0.binary_search(&byte).ok().map(|seq| seq as u32)
    }

    /// The last segment that begins at a byte or before.
    fn floor(&self, byte: u64) -> u32 {
        self.0.partition_point(|&start| start <= byte).saturating_sub(1) as u32
    }

    /// The first segment that begins at a byte or after.
    fn ceil(&self, byte: u64) -> u32 {
        self.0.partition_point(|&start| start < byte) as u32
    }
}

impl Host {
    pub fn new(options: &Options) -> Host {
        let kernel = options.kernel.as_ref();
        let stream = match (options.write, kernel) {
            (_, Some(_)) => Stream::EMPTY,
            (Some(n), None) => Stream::of_bytes(n, MSS as u32),
            (None, None) => Stream::GREEDY,
        };
        let end = match options.arm {
            Arm::Sender => {
                let module = Module::find(&options.cca).expect("checked by the parser");
                let params = kernel.map(|k| k.params.clone()).unwrap_or_default();
                let ca = Controller::new(module, &params).expect("checked by the parser");
                let sender = Sender::new(ca, config(options), stream, 1);
                End::Sender(Box::new(SenderEnd {
                    sender,
                    ts_vals: Vec::new(),
                    acked: 0,
                    echo: 0,
                    bytes: Bytes(vec![1]),
                    kernel: kernel.cloned(),
                    syn: None,
                }))
            }
            Arm::Receiver => {
                End::Receiver(Box::new(ReceiverEnd::new(config(options), stream, options)))
            }
        };
        Host { end, window: WINDOW, left: VecDeque::new() }
    }

    /// The application opens the connection.
    pub fn connect(&mut self, now: Time) -> Result<(), String> {
        let End::Sender(s) = &mut self.end else {
            return Err("only a sender connects".to_string());
        };
        s.sender.start(now);
        self.collect(now);
        Ok(())
    }

    /// The application writes.
    pub fn write(&mut self, now: Time, bytes: u64) -> Result<(), String> {
        let End::Sender(s) = &mut self.end else {
            return Err("only a sender writes".to_string());
        };
        s.sender.supply(now, Write::Bytes(bytes));
        self.collect(now);
        Ok(())
    }

    /// Runs every timer that is due by `until`, and the reader if it was woken.
    pub fn run_until(&mut self, until: Time) {
        while self.run_next(until) {}
        if let End::Receiver(r) = &mut self.end {
            r.on_timer(until);
            self.collect(until);
        }
    }

    /// Runs the next timer, if it is due by `until`; says whether it was.
    pub fn run_next(&mut self, until: Time) -> bool {
        let deadline = match &self.end {
            End::Sender(s) => s.sender.next_deadline(),
            End::Receiver(r) => r.receiver.next_deadline(),
        };
        if deadline > until {
            return false;
        }
        match &mut self.end {
            End::Sender(s) => s.sender.on_timer(deadline),
            End::Receiver(r) => r.on_timer(deadline),
        }
        self.collect(deadline);
        true
    }

    /// A packet arrives.
    pub fn inject(&mut self, now: Time, packet: &Segment) -> Result<(), String> {
        self.window = packet.win.unwrap_or(self.window);
        match &mut self.end {
            End::Sender(s) => {
                if let Some(ack) = s.arrive(now, packet, self.window)? {
                    s.sender.on_ack(now, &ack);
                }
            }
            End::Receiver(r) => r.arrive(now, packet)?,
        }
        self.collect(now);
        Ok(())
    }

    /// Value of a field of `tcp_info`.
    pub fn info(&self, name: &str) -> Option<i64> {
        match &self.end {
            End::Sender(s) => info::of_sender(&s.sender, name),
            End::Receiver(r) => info::of_receiver(&r.receiver, name),
        }
    }

    /// Takes what leaves now.
    fn collect(&mut self, now: Time) {
        match &mut self.end {
            End::Sender(s) => {
                while let Some(burst) = s.sender.depart(now) {
                    s.remember(&burst);
                    let segment = s.sent(&burst);
                    self.left.push_back(Left { at: now, segment });
                }
            }
            End::Receiver(r) => {
                self.left.extend(r.collect().map(|segment| Left { at: now, segment }));
            }
        }
    }
}

/// The settings of the host.
fn config(options: &Options) -> HostConfig {
    let own = HostConfig {
        hz: options.hz,
        qdisc: if options.fq { HostQdisc::Fq } else { HostQdisc::Pfifo },
        tso: options.tso,
        gro: options.gro,
        delayed_ack: options.delayed_ack,
        rcvbuf: options.rcvbuf,
        sndbuf: options.sndbuf,
        initial_window: options.initial_window,
        rcvlowat: options.rcvlowat,
        rmem_max: options.rmem_max,
        ..HostConfig::default()
    };
    let Some(kernel) = &options.kernel else { return own };
    HostConfig {
        device: if options.fq { Device::Veth } else { Device::Tun },
        mss: kernel.mss,
        nodelay: kernel.nodelay,
        slow_start_after_idle: kernel.slow_start_after_idle,
        loss_probes: kernel.loss_probes,
        min_tso_segs: kernel.min_tso_segs,
        tso_win_divisor: kernel.tso_win_divisor,
        release: kernel.release,
        ..own
    }
}

impl SenderEnd {
    fn remember(&mut self, burst: &Burst) {
        for seq in burst.seq..burst.seq + burst.segments {
            self.ts_vals.resize(self.ts_vals.len().max(seq as usize + 1), 0);
            self.ts_vals[seq as usize] = burst.ts_val;
            if seq as usize + 1 == self.bytes.0.len() {
                let end = self.bytes.0[seq as usize] + u64::from(self.sender.payload(seq));
                self.bytes.0.push(end);
            }
        }
    }

    /// A packet arrives: what the sender is told.
    fn arrive(&mut self, now: Time, p: &Segment, window: u64) -> Result<Option<Ack>, String> {
        let Some(kernel) = &self.kernel else {
            return self
                .ack(now, p, window)
                .map(|ack| Some(Ack { kind: kind(p.flags.syn), ..ack.into() }));
        };
        let (scale, ecn) = (kernel.scale, kernel.ecn);
        if p.flags.syn && !p.flags.ack {
            // A repeated SYN is answered by what was sent.
            if self.syn.is_none() {
                self.syn = Some(p.flags);
                self.sender.accept(now);
            }
            return Ok(None);
        }
        let is_answer = self.sender.conn() == Conn::SynSent;
        let scaled = if p.flags.syn { window } else { window << scale };
        let mut ack = self.ack(now, p, scaled)?;
        if is_answer {
            // Of a connection that the other side opened its SYN says what is agreed.
            let asked = self.syn.map_or(ecn == 1 && p.flags.echo, |syn| syn.echo && ecn > 0);
            let accurate = ecn == 3 && self.syn.is_some_and(|syn| syn.accurate);
            (ack.ece, ack.ace) = (asked && !accurate, if accurate { 2 } else { 0 });
        }
        Ok(Some(Ack { kind: kind(is_answer), ..ack.into() }))
    }

    /// The script's packet as an acknowledgement. Without a timestamp it echoes what a receiver would:
    /// that of the segment at the left edge, when the edge moves (RFC 7323, section 4.3).
    fn ack(&mut self, now: Time, p: &Segment, window: u64) -> Result<TcpAck, String> {
        if p.start != p.end {
            return Err("the sender under test receives no data".to_string());
        }
        let (ack, part) = self.acknowledged(p.ack.unwrap_or(1).max(1));
        // What was never sent tells no time.
        if let (true, Some(&first)) = (ack > self.acked, self.ts_vals.get(self.acked as usize)) {
            self.echo = first;
            self.acked = ack.min(self.ts_vals.len() as u32);
        }
        let has_timestamps = self.kernel.is_none();
        let own = |ms| if has_timestamps { ms } else { 0 };
        let mut out = TcpAck {
            ack,
            window: u32::try_from(window).map_err(|_| format!("window {window} has 32 bit"))?,
            ts_ecr: p.ts.map_or(Ok(own(self.echo)), |ts| host_ms(ts.1))?,
            ts_val: p.ts.map_or(Ok(own(ms(now))), |ts| host_ms(ts.0))?,
            ece: p.flags.echo,
            ace: p.ace.unwrap_or(0),
            ..TcpAck::default()
        };
        if part > 0 {
            out = out.with_part(part);
        }
        for &(start, end) in p.sacks.iter() {
            let block = (self.segment_at(start, true)?, self.segment_at(end, false)?);
            // What covers no segment says nothing (`tcp_match_skb_to_sack`).
            if block.0 < block.1 && usize::from(out.n_sacks) < out.sacks.len() {
                out.sacks[out.n_sacks as usize] = block;
                out.n_sacks += 1;
            }
        }
        if let [(start, end), rest @ ..] = out.sack_blocks() {
            let is_inside = rest.first().is_some_and(|next| next.0 <= *start && *end <= next.1);
            out.is_dsack = *start < ack || is_inside;
        }
        Ok(out)
    }

    /// The segment that an acknowledgement of everything before a byte expects next, and the bytes of it that it acknowledges;
    /// scripts of the kernel's packetdrill are read by whole segments.
    fn acknowledged(&self, byte: u64) -> (u32, u32) {
        let seq = self.bytes.floor(byte);
        if self.kernel.is_some() {
            return (seq, 0);
        }
        let beyond = byte - self.bytes.0[seq as usize];
        (seq + (beyond / MSS) as u32, (beyond % MSS) as u32)
    }

    /// The segment that begins at a byte. Our own scripts name no other; of the kernel's the next one inwards counts.
    fn segment_at(&self, byte: u64, is_start: bool) -> Result<u32, String> {
        match &self.kernel {
            None => {
                let exact = self.bytes.segment_at(byte.max(1));
                exact.ok_or_else(|| format!("no segment of {MSS} bytes begins at {byte}"))
            }
            Some(_) if is_start => Ok(self.bytes.ceil(byte)),
            Some(_) => Ok(self.bytes.floor(byte)),
        }
    }

    /// A send as a script writes it: several segments of one send are one packet.
    fn sent(&self, burst: &Burst) -> Segment {
        let is_syn = burst.flags & flags::SYN != 0;
        let byte = |seq: u32| self.bytes.0[seq as usize];
        let (start, end) = match burst.segments {
            0 if burst.probe => (byte(burst.seq) - 1, byte(burst.seq) - 1),
            0 if is_syn => (0, 0),
            0 => (byte(burst.seq), byte(burst.seq)),
            n => (byte(burst.seq), byte(burst.seq + n)),
        };
        let is_ack = !is_syn || self.syn.is_some();
        Segment {
            ecn: Some(burst.ecn),
            flags: Flags {
                syn: is_syn,
                push: burst.push,
                ack: is_ack,
                cwr: burst.flags & flags::CWR != 0,
                ..Flags::default()
            },
            start,
            end,
            ack: is_ack.then_some(1),
            ts: Some((script_ms(burst.ts_val), script_ms(burst.ts_ecr))),
            ..Segment::default()
        }
    }
}

pub fn ms(now: Time) -> u32 {
    timestamp_ms((now + BOOT).as_ns())
}

/// Timestamps in scripts count from their start, those of hosts from boot.
pub fn host_ms(script_ms: u64) -> Result<u32, String> {
    let boot_ms = BOOT.as_ns() / 1_000_000;
    u32::try_from(script_ms + boot_ms).map_err(|_| format!("timestamp {script_ms} has 32 bit"))
}

pub fn script_ms(host_ms: u32) -> u64 {
    u64::from(host_ms).saturating_sub(BOOT.as_ns() / 1_000_000)
}

fn kind(is_syn: bool) -> AckKind {
    if is_syn {
        AckKind::Syn
    } else {
        AckKind::Pure
    }
}
