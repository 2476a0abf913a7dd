//! The end of the connection that a script tests, in exact virtual time.

use crate::info;
use crate::script::{Arm, Flags, Options, Segment};
use cca::{Controller, Module};
use net::{flags, Ack, Packet, TcpAck};
use std::collections::{BTreeMap, VecDeque};
use transport::common::clock::{timestamp_ms, BOOT};
use transport::common::Stream;
use transport::tcp::{Burst, HostConfig, HostQdisc, Receiver, Sender};
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
    stream: Stream,
    /// Window of the last injected packet, bytes.
    window: u64,
    pub left: VecDeque<Left>,
}

enum End {
    Sender(Box<SenderEnd>),
    Receiver(Box<Receiver>, Vec<Ack>, Echo),
}

struct SenderEnd {
    sender: Sender,
    /// Timestamp of the last transmission of each segment, for the echo of injected ACKs.
    ts_vals: Vec<u32>,
    acked: u32,
    echo: u32,
}

/// What a sender would echo to the receiver: the timestamp of its last ACK.
#[derive(Default)]
struct Echo(u32);

impl Host {
    pub fn new(options: &Options) -> Host {
        let config = HostConfig {
            hz: options.hz,
            qdisc: if options.fq { HostQdisc::Fq } else { HostQdisc::Pfifo },
            tso: options.tso,
            gro: options.gro,
            delayed_ack: options.delayed_ack,
            rcvbuf: options.rcvbuf,
            sndbuf: options.sndbuf,
            rcvlowat: 1,
            ..HostConfig::default()
        };
        let stream = options.write.map_or(Stream::GREEDY, |n| Stream::of_bytes(n, MSS as u32));
        let end = match options.arm {
            Arm::Sender => {
                let module = Module::find(&options.cca).expect("checked by the parser");
                let ca = Controller::new(module, &BTreeMap::new()).expect("defaults are valid");
                let sender = Sender::new(ca, config, stream, 1);
                End::Sender(Box::new(SenderEnd { sender, ts_vals: Vec::new(), acked: 0, echo: 0 }))
            }
            Arm::Receiver => {
                let receiver = Receiver::new(config, stream.segments, stream.last_len, options.ecn);
                End::Receiver(Box::new(receiver), Vec::new(), Echo::default())
            }
        };
        Host { end, stream, window: WINDOW, left: VecDeque::new() }
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

    /// Runs every timer that is due by `until`.
    pub fn run_until(&mut self, until: Time) {
        loop {
            let deadline = match &self.end {
                End::Sender(s) => s.sender.next_deadline(),
                End::Receiver(r, ..) => r.next_deadline(),
            };
            if deadline > until {
                return;
            }
            match &mut self.end {
                End::Sender(s) => s.sender.on_timer(deadline),
                End::Receiver(r, acks, _) => r.on_timer(deadline, acks),
            }
            self.collect(deadline);
        }
    }

    /// A packet arrives.
    pub fn inject(&mut self, now: Time, packet: &Segment) -> Result<(), String> {
        self.window = packet.win.unwrap_or(self.window);
        match &mut self.end {
            End::Sender(s) => {
                let ack = s.ack(now, packet, self.window, &self.stream)?;
                s.sender.on_ack(now, &ack);
            }
            End::Receiver(r, acks, echo) => {
                let packet = data(now, packet, echo.0, &self.stream)?;
                r.on_packet(now, &packet, acks);
            }
        }
        self.collect(now);
        Ok(())
    }

    /// Value of a field of `tcp_info`.
    pub fn info(&self, name: &str) -> Option<i64> {
        match &self.end {
            End::Sender(s) => info::of_sender(&s.sender, name),
            End::Receiver(r, ..) => info::of_receiver(r, name),
        }
    }

    /// Takes what leaves now.
    fn collect(&mut self, now: Time) {
        match &mut self.end {
            End::Sender(s) => {
                while let Some(burst) = s.sender.depart(now) {
                    s.remember(&burst);
                    let segment = sent(&burst, &self.stream);
                    self.left.push_back(Left { at: now, segment });
                }
            }
            End::Receiver(_, acks, echo) => {
                for ack in acks.drain(..) {
                    echo.0 = ack.tcp().ts_val;
                    let segment = acknowledged(&ack, &self.stream);
                    self.left.push_back(Left { at: now, segment });
                }
            }
        }
    }
}

impl SenderEnd {
    fn remember(&mut self, burst: &Burst) {
        for seq in burst.seq..burst.seq + burst.segments {
            self.ts_vals.resize(self.ts_vals.len().max(seq as usize + 1), 0);
            self.ts_vals[seq as usize] = burst.ts_val;
        }
    }

    /// The script's packet as an acknowledgement. Without a timestamp it echoes what a receiver would:
    /// that of the segment at the left edge, when the edge moves (RFC 7323, section 4.3).
    fn ack(&mut self, now: Time, p: &Segment, window: u64, stream: &Stream) -> Result<Ack, String> {
        if p.start != p.end {
            return Err("the sender under test receives no data".to_string());
        }
        let ack = segment_at(p.ack.unwrap_or(1).max(1), stream)?;
        if ack > self.acked {
            let first = self.ts_vals.get(self.acked as usize);
            self.echo = *first.ok_or("it acknowledges what was never sent")?;
            self.acked = ack;
        }
        let mut out = TcpAck {
            ack,
            window: u32::try_from(window).map_err(|_| format!("window {window} has 32 bit"))?,
            ts_ecr: p.ts.map_or(Ok(self.echo), |ts| host_ms(ts.1))?,
            ts_val: p.ts.map_or(Ok(ms(now)), |ts| host_ms(ts.0))?,
            ece: p.flags.echo,
            ..TcpAck::default()
        };
        for &(start, end) in &p.sacks {
            out.sacks[out.n_sacks as usize] =
                (segment_at(start, stream)?, segment_at(end, stream)?);
            out.n_sacks += 1;
        }
        if let [(start, end), rest @ ..] = out.sack_blocks() {
            let is_inside = rest.first().is_some_and(|next| next.0 <= *start && *end <= next.1);
            out.is_dsack = *start < ack || is_inside;
        }
        Ok(Ack { syn: p.flags.syn, ..out.into() })
    }
}

/// The script's packet as data.
fn data(now: Time, p: &Segment, echo: u32, stream: &Stream) -> Result<Packet, String> {
    let seq = segment_at(p.start.max(1), stream)?;
    let len = p.end - p.start;
    let next = byte_at(seq + 1, stream);
    if len > 0 && p.end != next {
        return Err(format!("segment {} ends at {next}, not {}", p.start, p.end));
    }
    let bit = |is_set, bit| if is_set { bit } else { 0 };
    Ok(Packet {
        flow: 0,
        seq,
        ts_val: p.ts.map_or(Ok(ms(now)), |ts| host_ms(ts.0))?,
        ts_ecr: p.ts.map_or(Ok(echo), |ts| host_ms(ts.1))?,
        len: len as u16,
        flags: bit(p.flags.syn, flags::SYN)
            | bit(p.flags.push, flags::PUSH)
            | bit(p.flags.cwr, flags::CWR),
        ecn: p.ecn.unwrap_or(0),
        ..Packet::default()
    })
}

/// A send of the sender as a script writes it: several segments of one send are one packet.
fn sent(burst: &Burst, stream: &Stream) -> Segment {
    let is_syn = burst.flags & flags::SYN != 0;
    let first = u64::from(!is_syn);
    let (start, end) = match burst.segments {
        0 => (first, first),
        n => (byte_at(burst.seq, stream), byte_at(burst.seq + n, stream)),
    };
    Segment {
        ecn: Some(burst.ecn),
        flags: Flags {
            syn: is_syn,
            push: burst.push,
            ack: !is_syn,
            echo: false,
            cwr: burst.flags & flags::CWR != 0,
        },
        start,
        end,
        ack: (!is_syn).then_some(1),
        win: None,
        sacks: Vec::new(),
        ts: Some((script_ms(burst.ts_val), script_ms(burst.ts_ecr))),
    }
}

/// An acknowledgement of the receiver as a script writes it.
fn acknowledged(ack: &Ack, stream: &Stream) -> Segment {
    let (first, tcp) = (u64::from(!ack.syn), ack.tcp());
    let block = |&(start, end): &(u32, u32)| (byte_at(start, stream), byte_at(end, stream));
    Segment {
        ecn: None,
        flags: Flags { syn: ack.syn, push: false, ack: true, echo: tcp.ece, cwr: false },
        start: first,
        end: first,
        ack: Some(byte_at(tcp.ack, stream)),
        win: Some(u64::from(tcp.window)),
        sacks: tcp.sack_blocks().iter().map(block).collect(),
        ts: Some((script_ms(tcp.ts_val), script_ms(tcp.ts_ecr))),
    }
}

/// First byte of a segment, or the one after the stream.
fn byte_at(seq: u32, stream: &Stream) -> u64 {
    let full = u64::from(seq) * MSS + 1;
    match seq {
        seq if seq == stream.segments => full - (MSS - u64::from(stream.last_len)),
        _ => full,
    }
}

/// The segment that begins at a byte; the model knows no others.
fn segment_at(byte: u64, stream: &Stream) -> Result<u32, String> {
    let seq = u32::try_from((byte.max(1) - 1).div_ceil(MSS)).map_err(|e| e.to_string())?;
    let boundary = byte_at(seq, stream);
    if boundary != byte || seq > stream.segments {
        return Err(format!("no segment of {MSS} bytes begins at {byte}"));
    }
    Ok(seq)
}

fn ms(now: Time) -> u32 {
    timestamp_ms((now + BOOT).as_ns())
}

/// Timestamps in scripts count from their start, those of hosts from boot.
fn host_ms(script_ms: u64) -> Result<u32, String> {
    let boot_ms = BOOT.as_ns() / 1_000_000;
    u32::try_from(script_ms + boot_ms).map_err(|_| format!("timestamp {script_ms} has 32 bit"))
}

fn script_ms(host_ms: u32) -> u64 {
    u64::from(host_ms).saturating_sub(BOOT.as_ns() / 1_000_000)
}
