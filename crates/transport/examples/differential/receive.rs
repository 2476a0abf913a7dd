//! Plays arrivals on the simulated receiver, and writes down what it does as a script of the kernel's packetdrill: every
//! acknowledgement with its window and SACK blocks, what the application reads, and fields of `tcp_info`.

use crate::arrivals::{Arrival, Arrivals, MSS};
use crate::fields;
use crate::host::Host;
use crate::script::{Arm, Flags, Kernel, Options, Segment};
use std::fmt::Write as _;
use transport::tcp::{window_scale, Release};
use units::{Span, Time};

/// A scenario ends after this time, us.
const END: u64 = 4_000_000;

/// Fields that must be equal.
const EXACT: &[&str] = &[
    "tcpi_rcv_mss",
    "tcpi_rcv_ssthresh",
    "tcpi_rcv_wnd",
    "tcpi_rcv_ooopack",
    "tcpi_data_segs_in",
    "tcpi_bytes_received",
];
/// Fields in microseconds that depend on how late the machine is, and how far they may differ. A pause of nine ticks gives an
/// `ato` of 56 ms and one of ten ticks 40 ms, and 0.1 ms may decide between them.
const NEAR: &[(&str, i64)] = &[("tcpi_ato", 20_000), ("tcpi_rcv_rtt", 8_000)];

/// A scenario under way.
struct Play<'a> {
    scenario: &'a Arrivals,
    host: Host,
    /// First byte of each segment, and the one after the last.
    cuts: Vec<u64>,
    scale: u32,
    /// When packets left, us, and their timestamps, ms.
    left: Vec<(u64, u64)>,
    /// Byte after the last one that was offered to be taken.
    right_edge: u64,
    /// Bytes that the application has read.
    read: i64,
    now: u64,
    /// Time of the host when the scenario begins, us: its ticks are elsewhere in the scenario then.
    phase: u64,
    text: String,
}

/// What happens in a scenario on the simulated receiver, as a script for the kernel.
pub fn play(scenario: &Arrivals, hz: u32, phase: u64) -> Result<String, String> {
    let (rmem_max, release) = (rmem_max()?, release()?);
    let mut cuts = vec![1];
    for len in &scenario.lens {
        cuts.push(cuts[cuts.len() - 1] + u64::from(*len));
    }
    let options = Options {
        arm: Arm::Receiver,
        hz,
        ecn: scenario.ecn,
        rcvbuf: (scenario.rcvbuf, scenario.rcvbuf),
        rcvlowat: scenario.rcvlowat,
        rmem_max,
        cuts: cuts.clone(),
        kernel: Some(Kernel { mss: MSS, release, ..Kernel::default() }),
        ..Options::default()
    };
    let mut play = Play {
        scenario,
        host: Host::new(&options),
        cuts,
        scale: window_scale(scenario.rcvbuf, rmem_max),
        left: Vec::new(),
        right_edge: 0,
        read: 0,
        now: 0,
        phase,
        text: header(scenario),
    };
    play.open()?;
    play.run()?;
    Ok(play.text)
}

/// What applications may ask for on this machine, which decides the window scale.
fn rmem_max() -> Result<u64, String> {
    let text = kernel_file("/proc/sys/net/core/rmem_max")?;
    text.parse().map_err(|e| format!("rmem_max is {text}: {e}"))
}

/// The rules that this machine's kernel follows.
fn release() -> Result<Release, String> {
    let text = kernel_file("/proc/sys/kernel/osrelease")?;
    let minor = text.strip_prefix("6.").and_then(|rest| rest.split('.').next());
    match minor.and_then(|minor| minor.parse::<u32>().ok()) {
        Some(12) => Ok(Release::Linux6_12),
        Some(18..) => Ok(Release::Linux6_18),
        _ => {
            Err(format!("Linux {text}: receivers are compared with Linux 6.12, or 6.18 and later"))
        }
    }
}

fn kernel_file(path: &str) -> Result<String, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{path}: {e}"))?;
    Ok(text.trim().to_string())
}

fn header(s: &Arrivals) -> String {
    let (ecn, rcvbuf, rcvlowat) = (u8::from(s.ecn), s.rcvbuf, s.rcvlowat);
    format!(
        "--tolerance_usecs=10000\n`sysctl -q net.ipv4.tcp_ecn={ecn} net.ipv4.tcp_timestamps=1; \
         sysctl -q net.ipv4.tcp_rmem=\"4096 {rcvbuf} {rcvbuf}\"`\n\
         0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\
         +0 setsockopt(3, SOL_SOCKET, SO_REUSEADDR, [1], 4) = 0\n\
         +0 setsockopt(3, SOL_SOCKET, SO_RCVLOWAT, [{rcvlowat}], 4) = 0\n\
         +0 bind(3, ..., ...) = 0\n+0 listen(3, 1) = 0\n"
    )
}

impl Play<'_> {
    fn open(&mut self) -> Result<(), String> {
        let ecn = self.scenario.ecn;
        let asks = Flags { syn: true, echo: ecn, cwr: ecn, ..Flags::default() };
        self.now = 10_000;
        let _ = writeln!(
            self.text,
            "0.010 < {asks} 0:0(0) win 65535 <mss 1460,sackOK,TS val 10 ecr 0,nop,wscale 7>"
        );
        self.host.inject(
            self.time(),
            &Segment { flags: asks, ts: Some((10, 0)), ..Segment::default() },
        )?;
        let answer = self.host.left.pop_front().ok_or("no SYN-ACK")?.segment;
        let (val, _) = answer.ts.ok_or("no timestamp")?;
        let (flags, win, scale) =
            (if ecn { "SE." } else { "S." }, answer.win.unwrap_or(0), self.scale);
        let _ = writeln!(
            self.text,
            "+0 > {flags} 0:0(0) ack 1 win {win} <mss 1460,sackOK,TS val {val} ecr 10,nop,wscale {scale}>"
        );
        self.left.push((self.now, val));
        self.right_edge = 1 + win;
        self.now += self.scenario.rtt;
        let ack = Flags { ack: true, ..Flags::default() };
        self.inject(Segment { flags: ack, start: 1, end: 1, ..Segment::default() })?;
        let _ = writeln!(self.text, "+0 accept(3, ..., ...) = 4");
        Ok(())
    }

    /// The host's time at `us` of the scenario.
    fn time_at(&self, us: u64) -> Time {
        Time::from_ns((self.phase + us) * 1000)
    }

    fn time(&self) -> Time {
        self.time_at(self.now)
    }

    fn at(&self) -> String {
        format!("{}.{:06}", self.now / 1_000_000, self.now % 1_000_000)
    }

    /// What a packet that arrives now echoes: the timestamp that was the last when it left the peer, an RTT after that had.
    fn echo(&self) -> u64 {
        let heard = self.left.partition_point(|(at, _)| at + self.scenario.rtt <= self.now);
        self.left[heard.max(1) - 1].1
    }

    /// Writes down a packet of the peer, and takes it.
    fn inject(&mut self, packet: Segment) -> Result<(), String> {
        let (at, val, ecr) = (self.at(), self.now / 1000, self.echo());
        let (start, end) = (packet.start, packet.end);
        let ecn = match (self.scenario.ecn, packet.ecn) {
            (true, Some(3)) => "[ce] ",
            (true, Some(_)) => "[ect0] ",
            _ => "",
        };
        let len = end - start;
        let _ = writeln!(
            self.text,
            "{at} < {ecn}{} {start}:{end}({len}) ack 1 win 512 <nop,nop,TS val {val} ecr {ecr}>",
            packet.flags
        );
        self.host.inject(self.time(), &Segment { ts: Some((val, ecr)), ..packet })
    }

    fn run(&mut self) -> Result<(), String> {
        let opened = self.now;
        // What does not fit the window waits, and with it all that follows.
        let mut waited = 0;
        for arrival in &self.scenario.order {
            let at = opened + arrival.at + waited;
            while self.host.run_next(self.time_at(at.min(END))) {
                self.drain();
            }
            while self.cuts[arrival.segment + 1] > self.right_edge {
                if !self.host.run_next(self.time_at(END)) {
                    return Ok(());
                }
                self.drain();
                waited = (self.now + 1_000).saturating_sub(opened + arrival.at);
            }
            let at = self.now.max(opened + arrival.at + waited);
            if at > END {
                break;
            }
            self.now = at;
            self.arrive(*arrival)?;
        }
        while self.host.run_next(self.time_at(self.now + 300_000)) {
            self.drain();
        }
        Ok(())
    }

    fn arrive(&mut self, arrival: Arrival) -> Result<(), String> {
        let (start, end) = (self.cuts[arrival.segment], self.cuts[arrival.segment + 1]);
        self.inject(Segment {
            ecn: Some(if arrival.ce { 3 } else { 2 }),
            flags: Flags { ack: true, push: arrival.push, cwr: arrival.cwr, ..Flags::default() },
            start,
            end,
            ack: Some(1),
            ..Segment::default()
        })?;
        self.drain();
        // The reader runs after the packets of an instant.
        self.host.run_until(self.time() + Span::from_ns(1));
        let read = self.host.info("read_bytes").unwrap_or(0);
        if read > self.read {
            let bytes = read - self.read;
            let _ = writeln!(self.text, "+0 read(4, ..., {bytes}) = {bytes}");
            self.read = read;
        }
        self.drain();
        let fields = fields::assertions(&self.host, EXACT, NEAR);
        self.text.push_str(&fields);
        Ok(())
    }

    /// Writes down the acknowledgements that left.
    fn drain(&mut self) {
        while let Some(left) = self.host.left.pop_front() {
            self.now = self.now.max(left.at.as_us() - self.phase);
            let p = left.segment;
            let (ack, win) = (p.ack.unwrap_or(1), p.win.unwrap_or(0));
            let (val, ecr) = p.ts.unwrap_or_default();
            let blocks: Vec<_> = p.sacks.iter().map(|b| format!("{}:{}", b.0, b.1)).collect();
            let sack = match blocks.is_empty() {
                true => String::new(),
                false => format!(",nop,nop,sack {}", blocks.join(" ")),
            };
            let _ = writeln!(
                self.text,
                "{} > {} 1:1(0) ack {ack} win {} <nop,nop,TS val {val} ecr {ecr}{sack}>",
                self.at(),
                p.flags,
                win >> self.scale
            );
            self.left.push((left.at.as_us() - self.phase, val));
            self.right_edge = self.right_edge.max(ack + win);
        }
    }
}
