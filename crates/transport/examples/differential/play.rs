//! Plays a scenario on the simulated TCP, with a peer that acknowledges, and writes down what happened as a script of the
//! kernel's packetdrill: every packet, and after each of the peer's the fields of `tcp_info`.

use crate::fields;
use crate::host::Host;
use crate::scenario::Scenario;
use crate::script::{Flags, Kernel, Options, Segment};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use units::Time;

const MSS: u64 = 1000;
/// Window scale of the peer.
const SCALE: u32 = 7;
/// Time of a segment on the path, us: neither this nor twice as much is near the 1 ms of TSO deferral.
const SPACING: u64 = 650;
/// The peer's delayed acknowledgement, us.
const DELAYED: u64 = 40_000;
/// A scenario ends after this time, us, or this many packets of the peer.
const END: u64 = 4_000_000;
const PACKETS_MAX: u32 = 70;

/// Fields that must be equal.
const EXACT: &[&str] = &[
    "tcpi_ca_state",
    "tcpi_retransmits",
    "tcpi_backoff",
    "tcpi_unacked",
    "tcpi_sacked",
    "tcpi_lost",
    "tcpi_retrans",
    "tcpi_total_retrans",
    "tcpi_snd_ssthresh",
    "tcpi_snd_cwnd",
    "tcpi_reordering",
    "tcpi_reord_seen",
    "tcpi_delivered",
    "tcpi_delivered_ce",
    "tcpi_data_segs_out",
    "tcpi_snd_wnd",
];
/// Fields in microseconds that depend on how late the machine is, and how far they may differ.
const NEAR: &[(&str, i64)] =
    &[("tcpi_rtt", 6_000), ("tcpi_rttvar", 6_000), ("tcpi_min_rtt", 6_000), ("tcpi_rto", 12_000)];

/// What the peer has.
#[derive(Default)]
struct Peer {
    next: u64,
    /// Ranges beyond `next`, most recent first.
    held: Vec<(u64, u64)>,
    unacked: u32,
    flush_at: Option<u64>,
    echoes: bool,
}

/// A segment on its way.
#[derive(Clone, Copy)]
struct Arrival {
    start: u64,
    end: u64,
    ce: bool,
    cwr: bool,
}

impl Peer {
    /// Takes a segment; the blocks of the acknowledgement that it causes at once.
    fn take(&mut self, a: Arrival, every: u32) -> Option<Vec<(u64, u64)>> {
        self.echoes = a.ce || (self.echoes && !a.cwr);
        let is_held = self.held.iter().any(|b| b.0 <= a.start && a.end <= b.1);
        if a.end <= self.next || is_held {
            return Some(self.blocks(Some((a.start, a.end))));
        }
        if a.start > self.next {
            self.hold(a);
            return Some(self.blocks(None));
        }
        let had_hole = !self.held.is_empty();
        self.next = self.next.max(a.end);
        while let Some(i) = self.held.iter().position(|b| b.0 <= self.next) {
            self.next = self.next.max(self.held.remove(i).1);
        }
        self.unacked += 1;
        (had_hole || self.unacked >= every || a.ce).then(|| self.blocks(None))
    }

    fn hold(&mut self, a: Arrival) {
        let mut block = (a.start, a.end);
        self.held.retain(|b| {
            let touches = b.0 <= block.1 && block.0 <= b.1;
            if touches {
                block = (block.0.min(b.0), block.1.max(b.1));
            }
            !touches
        });
        self.held.insert(0, block);
    }

    fn blocks(&mut self, dsack: Option<(u64, u64)>) -> Vec<(u64, u64)> {
        self.unacked = 0;
        dsack.into_iter().chain(self.held.iter().copied()).take(3).collect()
    }
}

/// A scenario under way.
struct Play<'a> {
    scenario: &'a Scenario,
    host: Host,
    peer: Peer,
    arrivals: BTreeMap<(u64, u32), Arrival>,
    /// Segments sent.
    sent: u32,
    /// Packets of the peer.
    packets: u32,
    last_arrival: u64,
    now: u64,
    /// Time of the host when the scenario begins, us: its ticks are elsewhere in the scenario then.
    phase: u64,
    text: String,
}

/// What happens in a scenario on the simulated TCP, as a script for the kernel.
pub fn play(scenario: &Scenario, cca: &str, hz: u32, phase: u64) -> Result<String, String> {
    let kernel = Kernel {
        mss: MSS as u32,
        scale: SCALE,
        ecn: if scenario.ecn { 1 } else { 0 },
        nodelay: scenario.nodelay,
        ..Kernel::default()
    };
    let options =
        Options { cca: cca.to_string(), hz, tso: true, kernel: Some(kernel), ..Options::default() };
    let mut play = Play {
        scenario,
        host: Host::new(&options),
        peer: Peer { next: 1, ..Peer::default() },
        arrivals: BTreeMap::new(),
        sent: 0,
        packets: 0,
        last_arrival: 0,
        now: 0,
        phase,
        text: header(scenario, cca),
    };
    play.open()?;
    play.run()?;
    Ok(play.text)
}

fn header(s: &Scenario, cca: &str) -> String {
    let ecn = u8::from(s.ecn);
    let nodelay = match s.nodelay {
        true => "+0 setsockopt(3, SOL_TCP, TCP_NODELAY, [1], 4) = 0\n",
        false => "",
    };
    format!(
        "--tolerance_usecs=10000\n`sysctl -q net.ipv4.tcp_ecn={ecn} net.ipv4.tcp_timestamps=1; \
         sysctl -q net.ipv4.tcp_wmem=\"4096 4194304 4194304\"`\n\
         0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\
         +0 setsockopt(3, SOL_SOCKET, SO_REUSEADDR, [1], 4) = 0\n\
         +0 setsockopt(3, SOL_TCP, TCP_CONGESTION, \"{cca}\", {}) = 0\n{nodelay}\
         +0 bind(3, ..., ...) = 0\n+0 listen(3, 1) = 0\n",
        cca.len()
    )
}

impl Play<'_> {
    fn open(&mut self) -> Result<(), String> {
        let (asks, answers) = if self.scenario.ecn { ("SEW", "SE.") } else { ("S", "S.") };
        let win = self.scenario.window.min(65_535);
        let options = "<mss 1000,sackOK,nop,nop,nop,wscale 7>";
        let _ = writeln!(self.text, "0.010 < {asks} 0:0(0) win {win} {options}");
        let _ = writeln!(self.text, "+0 > {answers} 0:0(0) ack 1 <...>");
        let flags = Flags {
            syn: true,
            echo: self.scenario.ecn,
            cwr: self.scenario.ecn,
            ..Flags::default()
        };
        self.now = 10_000;
        let syn = Segment { flags, win: Some(win), has_sack_ok: true, ..Segment::default() };
        self.host.inject(self.time(), &syn)?;
        self.host.left.clear();
        // The handshake's RTT is 10 ms less than the rounds that follow. The kernel's probe may leave 8 ms later than the model's,
        // while its answer comes at the script's time, and RACK ignores an RTT of a retransmission below the minimum.
        self.now += self.scenario.rtt - 10_000;
        self.acknowledge(Vec::new(), false)?;
        let _ = writeln!(self.text, "+0 accept(3, ..., ...) = 4");
        self.text.push_str(&fields::assertions(&self.host, EXACT, NEAR));
        Ok(())
    }

    /// The host's time at `us` of the scenario.
    fn time_at(&self, us: u64) -> Time {
        Time::from_ns((self.phase + us) * 1000)
    }

    fn time(&self) -> Time {
        self.time_at(self.now)
    }

    fn run(&mut self) -> Result<(), String> {
        let mut writes = self.scenario.writes.iter().map(|&(at, n)| (at + 10_000, n)).peekable();
        let mut closed: Vec<u64> = self.scenario.closed.iter().map(|c| c.1).collect();
        while self.packets < PACKETS_MAX {
            let arrival = self.arrivals.first_key_value().map_or(u64::MAX, |(key, _)| key.0);
            let write = writes.peek().map_or(u64::MAX, |w| w.0);
            let flush = self.peer.flush_at.unwrap_or(u64::MAX);
            let opens = closed.first().copied().unwrap_or(u64::MAX);
            let next = arrival.min(write).min(flush).min(opens);
            let until = self.time_at(next.min(END));
            if self.host.run_next(until) {
                self.drain();
                continue;
            }
            if next > END {
                return Ok(());
            }
            self.now = self.now.max(next);
            if next == arrival {
                self.arrive()?;
            } else if next == write {
                let bytes = writes.next().map_or(1, |w| w.1);
                let _ = writeln!(self.text, "{} write(4, ..., {bytes}) = {bytes}", self.at());
                self.host.write(self.time(), bytes)?;
                self.drain();
            } else if next == opens {
                closed.remove(0);
                self.acknowledge(Vec::new(), true)?;
            } else {
                self.peer.unacked = 0;
                self.acknowledge(Vec::new(), true)?;
            }
        }
        Ok(())
    }

    fn at(&self) -> String {
        format!("{}.{:06}", self.now / 1_000_000, self.now % 1_000_000)
    }

    fn arrive(&mut self) -> Result<(), String> {
        let Some((_, arrival)) = self.arrivals.pop_first() else { return Ok(()) };
        match self.peer.take(arrival, self.scenario.ack_every) {
            Some(blocks) => self.acknowledge(blocks, true),
            None => {
                self.peer.flush_at.get_or_insert(self.now + DELAYED);
                Ok(())
            }
        }
    }

    /// A packet of the peer.
    fn acknowledge(&mut self, sacks: Vec<(u64, u64)>, shows: bool) -> Result<(), String> {
        self.peer.flush_at = None;
        let is_closed = self.scenario.closed.iter().any(|c| c.0 <= self.now && self.now < c.1);
        let win = if is_closed { 0 } else { self.scenario.window >> SCALE };
        let echo = self.peer.echoes;
        let flags = Flags { ack: true, echo, ..Flags::default() };
        let (ack, letters) = (self.peer.next, if echo { "E." } else { "." });
        let options = match sacks.is_empty() {
            true => String::new(),
            false => {
                let blocks: Vec<_> = sacks.iter().map(|b| format!("{}:{}", b.0, b.1)).collect();
                format!(" <sack {},nop,nop>", blocks.join(" "))
            }
        };
        let at = self.at();
        let _ = writeln!(self.text, "{at} < {letters} 1:1(0) ack {ack} win {win}{options}");
        let packet = Segment {
            flags,
            start: 1,
            end: 1,
            ack: Some(ack),
            win: Some(win),
            sacks,
            ..Segment::default()
        };
        self.packets += 1;
        self.host.inject(self.time(), &packet)?;
        if shows {
            let fields = fields::assertions(&self.host, EXACT, NEAR);
            self.drain();
            self.text.push_str(&fields);
        }
        Ok(())
    }

    /// Writes down what left, and sends it on its way.
    fn drain(&mut self) {
        while let Some(left) = self.host.left.pop_front() {
            self.now = self.now.max(left.at.as_us() - self.phase);
            let p = left.segment;
            let ecn = match (self.scenario.ecn, p.ecn) {
                (true, Some(2)) => "[ect0] ",
                (true, _) => "[noecn] ",
                _ => "",
            };
            let (start, end) = (p.start, p.end);
            let len = end - start;
            let _ =
                writeln!(self.text, "{} > {ecn}{} {start}:{end}({len}) ack 1", self.at(), p.flags);
            let mut at = start;
            while at < end {
                let piece = (at + MSS).min(end);
                self.send(Arrival {
                    start: at,
                    end: piece,
                    ce: false,
                    cwr: p.flags.cwr && at == start,
                });
                at = piece;
            }
        }
    }

    fn send(&mut self, mut arrival: Arrival) {
        let (s, n) = (self.scenario, self.sent);
        self.sent += 1;
        let is_dark = s.dark.iter().any(|d| d.0 <= self.now && self.now < d.1);
        self.last_arrival = (self.last_arrival + SPACING).max(self.now + s.rtt);
        if is_dark || s.losses.contains(&n) {
            return;
        }
        arrival.ce = s.marks.contains(&n);
        let late = s.late.iter().find(|l| l.0 == n).map_or(0, |l| l.1);
        self.arrivals.insert((self.last_arrival + late, n), arrival);
    }
}
