//! A `.pkt` script as data: what happens, when, and on which line it says so.

use crate::code::Statement;
use std::collections::BTreeMap;
use std::fmt;
use transport::tcp::Release;

/// A whole script.
#[derive(Debug, Default)]
pub struct Script {
    pub options: Options,
    pub events: Vec<Event>,
}

/// Which half of a connection the script talks to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arm {
    /// The script plays the receiver.
    #[default]
    Sender,
    /// The script plays the sender.
    Receiver,
}

/// `--key=value` lines.
#[derive(Clone, Debug)]
pub struct Options {
    pub arm: Arm,
    pub cca: String,
    pub hz: u32,
    pub fq: bool,
    pub tso: bool,
    pub gro: bool,
    pub ecn: bool,
    pub delayed_ack: bool,
    pub rcvbuf: (u64, u64),
    pub rcvlowat: u32,
    /// `net.core.rmem_max`.
    pub rmem_max: u64,
    /// Where the segments that arrive begin, and where the last ends, if they are not all full.
    pub cuts: Vec<u64>,
    pub sndbuf: u64,
    pub initial_window: u32,
    /// Bytes of the transfer; `None` for one without end.
    pub write: Option<u64>,
    /// What only scripts of the kernel's packetdrill have; `None` for our own.
    pub kernel: Option<Kernel>,
}

/// How a script of the kernel's packetdrill sets the host.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Payload of a full segment as the options of the SYN have it, bytes.
    pub mss: u32,
    /// Window scale of the packets that arrive.
    pub scale: u32,
    /// `tcp_ecn`.
    pub ecn: u64,
    pub nodelay: bool,
    pub slow_start_after_idle: bool,
    pub loss_probes: bool,
    pub min_tso_segs: u32,
    pub tso_win_divisor: u32,
    pub release: Release,
    /// Parameters of the controller.
    pub params: BTreeMap<String, i64>,
    /// How much earlier or later a packet may leave, ns.
    pub tolerance: u64,
}

impl Default for Kernel {
    fn default() -> Self {
        Kernel {
            mss: 1460,
            scale: 0,
            ecn: 2,
            nodelay: false,
            slow_start_after_idle: true,
            loss_probes: true,
            min_tso_segs: 2,
            tso_win_divisor: 3,
            release: Release::default(),
            params: BTreeMap::new(),
            tolerance: 4_000_000,
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Options {
            arm: Arm::Sender,
            cca: "reno".to_string(),
            hz: 1000,
            fq: false,
            tso: false,
            gro: false,
            ecn: false,
            delayed_ack: true,
            rcvbuf: (131_072, 6 << 20),
            rcvlowat: 1,
            rmem_max: 212_992,
            cuts: Vec::new(),
            sndbuf: u64::MAX,
            initial_window: 10,
            write: None,
            kernel: None,
        }
    }
}

/// One line that does or expects something.
#[derive(Clone, Debug)]
pub struct Event {
    pub line: usize,
    pub at: At,
    pub what: What,
}

/// When, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// Since the start of the script.
    Absolute(u64),
    /// Since the event before.
    After(u64),
    /// From the first to the second since the start.
    Between(u64, u64),
    /// The same since the event before.
    Within(u64, u64),
    /// Whenever it happens.
    Any,
}

#[derive(Clone, Debug)]
pub enum What {
    /// The application opens the connection.
    Connect,
    /// `<`: a packet arrives.
    Inject(Segment),
    /// `>`: a packet leaves.
    Expect(Segment),
    /// `%{ ... }%`.
    Code(Vec<Statement>),
    /// The application writes this many bytes.
    Write(u64),
    /// The application closes; the model has no FIN, so a script ends here.
    Close,
}

/// One packet as the script writes it; byte numbers, the first data byte is 1.
#[derive(Clone, Debug, Default)]
pub struct Segment {
    pub ecn: Option<u8>,
    pub flags: Flags,
    pub start: u64,
    pub end: u64,
    pub ack: Option<u64>,
    pub win: Option<u64>,
    pub sacks: Vec<(u64, u64)>,
    /// Timestamp value and echo, milliseconds since the start of the script.
    pub ts: Option<(u64, u64)>,
    /// Of a SYN: MSS and window scale.
    pub mss: Option<u32>,
    pub scale: Option<u32>,
    pub has_sack_ok: bool,
    /// The ACE field of accurate ECN.
    pub ace: Option<u8>,
}

/// Flags of the TCP header that the model has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    pub syn: bool,
    pub push: bool,
    pub ack: bool,
    /// ECE.
    pub echo: bool,
    /// CWR.
    pub cwr: bool,
    /// AE: the SYN asks for accurate ECN.
    pub accurate: bool,
    pub fin: bool,
}

impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letters = [
            (self.fin, "F"),
            (self.syn, "S"),
            (self.push, "P"),
            (self.echo, "E"),
            (self.cwr, "W"),
            (self.accurate, "A"),
            (self.ack, "."),
        ];
        letters.iter().filter(|l| l.0).try_for_each(|l| f.write_str(l.1))
    }
}

/// As the script writes it.
impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(ecn) = self.ecn {
            write!(f, "[{}] ", ECN_NAMES[usize::from(ecn)])?;
        }
        write!(f, "{} {}:{}({})", self.flags, self.start, self.end, self.end - self.start)?;
        if let Some(ack) = self.ack {
            write!(f, " ack {ack}")?;
        }
        if let Some(win) = self.win {
            write!(f, " win {win}")?;
        }
        let mut parts = Vec::new();
        if !self.sacks.is_empty() {
            let blocks: Vec<_> = self.sacks.iter().map(|(s, e)| format!("{s}:{e}")).collect();
            parts.push(format!("sack {}", blocks.join(" ")));
        }
        if let Some((val, ecr)) = self.ts {
            parts.push(format!("TS val {val} ecr {ecr}"));
        }
        if parts.is_empty() {
            return Ok(());
        }
        write!(f, " <{}>", parts.join(","))
    }
}

/// Names of the code points of the IP header, by value.
pub const ECN_NAMES: [&str; 4] = ["noecn", "ect1", "ect0", "ce"];

/// Nanoseconds as seconds, without zeros that say nothing.
pub fn seconds(ns: u64) -> String {
    let text = format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}
