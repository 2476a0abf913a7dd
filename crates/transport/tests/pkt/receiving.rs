//! The receiving end of a connection, as a script sees it.

use crate::host::{host_ms, ms, script_ms, Bytes, MSS};
use crate::script::{Flags, Options, Segment};
use net::{flags, Ack, Packet};
use transport::common::Stream;
use transport::tcp::{HostConfig, Receiver};
use units::Time;

/// See the module documentation.
pub struct ReceiverEnd {
    pub receiver: Receiver,
    acks: Vec<Ack>,
    /// What a sender would echo: the timestamp of the last ACK.
    echo: u32,
    layout: Layout,
}

/// Where the segments that arrive begin.
enum Layout {
    /// All are full, but for the last of the stream.
    Full(Stream),
    Cut(Bytes),
}

impl Layout {
    /// First byte of a segment, or the one after the stream.
    fn byte_at(&self, seq: u32) -> u64 {
        let full = u64::from(seq) * MSS + 1;
        match self {
            Layout::Cut(bytes) => bytes.0[seq as usize],
            Layout::Full(s) if seq == s.segments => full - (MSS - u64::from(s.last_len)),
            Layout::Full(_) => full,
        }
    }

    /// The segment that begins at a byte; the model knows no others.
    fn segment_at(&self, byte: u64) -> Result<u32, String> {
        let seq = match self {
            Layout::Cut(bytes) => bytes.segment_at(byte.max(1)),
            Layout::Full(stream) => u32::try_from((byte.max(1) - 1).div_ceil(MSS))
                .ok()
                .filter(|&seq| self.byte_at(seq) == byte.max(1) && seq <= stream.segments),
        };
        seq.ok_or_else(|| format!("no segment begins at {byte}"))
    }
}

impl ReceiverEnd {
    pub fn new(config: HostConfig, stream: Stream, options: &Options) -> ReceiverEnd {
        let (segments, last_len) = (stream.segments, stream.last_len);
        ReceiverEnd {
            receiver: Receiver::new(config, segments, last_len, options.ecn),
            acks: Vec::new(),
            echo: 0,
            layout: match options.cuts.is_empty() {
                true => Layout::Full(stream),
                false => Layout::Cut(Bytes(options.cuts.clone())),
            },
        }
    }

    /// Runs the timers that are due, and the reader.
    pub fn on_timer(&mut self, now: Time) {
        self.receiver.on_timer(now, &mut self.acks);
    }

    /// A packet arrives.
    pub fn arrive(&mut self, now: Time, packet: &Segment) -> Result<(), String> {
        let packet = self.data(now, packet)?;
        self.receiver.on_packet(now, &packet, &mut self.acks);
        Ok(())
    }

    /// The acknowledgements that leave now, as a script writes them.
    pub fn collect(&mut self) -> impl Iterator<Item = Segment> + '_ {
        self.echo = self.acks.last().map_or(self.echo, |ack| ack.tcp().ts_val);
        self.acks.drain(..).map(|ack| acknowledged(&ack, &self.layout))
    }

    /// The script's packet as data.
    fn data(&self, now: Time, p: &Segment) -> Result<Packet, String> {
        let seq = self.layout.segment_at(p.start)?;
        let len = p.end - p.start;
        if len > 0 && p.end != self.layout.byte_at(seq + 1) {
            let next = self.layout.byte_at(seq + 1);
            return Err(format!("segment {} ends at {next}, not {}", p.start, p.end));
        }
        let bit = |is_set, bit| if is_set { bit } else { 0 };
        Ok(Packet {
            flow: 0,
            seq,
            ts_val: p.ts.map_or(Ok(ms(now)), |ts| host_ms(ts.0))?,
            ts_ecr: p.ts.map_or(Ok(self.echo), |ts| host_ms(ts.1))?,
            len: len as u16,
            flags: bit(p.flags.syn, flags::SYN)
                | bit(p.flags.push, flags::PUSH)
                | bit(p.flags.cwr, flags::CWR),
            ecn: p.ecn.unwrap_or(0),
            ..Packet::default()
        })
    }
}

fn acknowledged(ack: &Ack, layout: &Layout) -> Segment {
    let (first, tcp) = (u64::from(!ack.is_syn()), ack.tcp());
    let block = |&(start, end): &(u32, u32)| (layout.byte_at(start), layout.byte_at(end));
    Segment {
        flags: Flags { syn: ack.is_syn(), ack: true, echo: tcp.ece, ..Flags::default() },
        start: first,
        end: first,
        ack: Some(layout.byte_at(tcp.ack)),
        win: Some(u64::from(tcp.window)),
        sacks: tcp.sack_blocks().iter().map(block).collect(),
        ts: Some((script_ms(tcp.ts_val), script_ms(tcp.ts_ecr))),
        ..Segment::default()
    }
}
