//! Where the kernel's tick begins in a scenario. Packetdrill starts a script a short time after a tick (0.3 to 0.5 ms at HZ
//! 250; the likely reason is that the set-up of its device waits, and the kernel ends such waits at a tick). The simulated host
//! has to start as late, or its timers and its estimates in ticks differ.

use std::f64::consts::TAU;
use std::fmt::Write as _;

/// Places in the tick that are tried, and pairs of segments for each of them.
const PLACES: u64 = 16;
/// What the script prints in front of a place and of what was measured there.
const MARK: &str = "tick";
const MSS: u64 = 1448;

/// A script that sends pairs of segments, the first of each at another place in the tick. A pair is some ticks and a quarter
/// apart, so that the kernel counts one more (`tcp_event_data_recv`) where a tick begins in the quarter after the first:
/// `tcpi_ato` tells which.
pub fn script(hz: u32) -> String {
    let tick = 1_000_000 / u64::from(hz);
    let (mut at, mut next) = (100_000, 1);
    let mut text = String::from(
        "`sysctl -q net.ipv4.tcp_rmem=\"4096 4194304 4194304\"`\n\
         0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\
         +0 setsockopt(3, SOL_SOCKET, SO_REUSEADDR, [1], 4) = 0\n\
         +0 bind(3, ..., ...) = 0\n+0 listen(3, 1) = 0\n\
         0.010 < S 0:0(0) win 65535 <mss 1460,sackOK,nop,nop,nop,wscale 7>\n\
         +0 > S. 0:0(0) ack 1 <...>\n\
         0.060 < . 1:1(0) ack 1 win 512\n+0 accept(3, ..., ...) = 4\n",
    );
    let mut segment = |text: &mut String, at: u64| {
        let end = next + MSS;
        let _ = writeln!(
            text,
            "{}.{:06} < . {next}:{end}({MSS}) ack 1 win 512",
            at / 1_000_000,
            at % 1_000_000
        );
        next = end;
    };
    for place in 0..PLACES {
        // Segments 3 ms apart bring the estimate to its least value, 40 ms.
        for _ in 0..6 {
            segment(&mut text, at);
            at += 3_000;
        }
        at = at.next_multiple_of(tick) + place * tick / PLACES;
        segment(&mut text, at);
        at += 24_000 + tick / 4;
        segment(&mut text, at);
        let _ = writeln!(text, "+0 %{{ print('{MARK}', {place}, tcpi_ato) }}%");
        at += 3_000;
    }
    text
}

/// When the tick begins in a scenario, us, by what the script printed; `None` if it does not tell.
pub fn begins(printed: &str, hz: u32) -> Option<u64> {
    let tick = 1_000_000.0 / f64::from(hz);
    let mut found: Vec<(f64, u64)> = Vec::new();
    for line in printed.lines().filter_map(|line| line.strip_prefix(MARK)) {
        let (place, ato) = line.trim().split_once(' ')?;
        found.push((place.parse().ok()?, ato.parse().ok()?));
    }
    // Half of the least value and one tick more than elsewhere.
    let longer = 20_000 + 24_000 + 1_000_000 / u64::from(hz);
    let angles = found.iter().filter(|f| f.1 == longer).map(|f| f.0 / PLACES as f64 * TAU);
    let (mut x, mut y, mut n) = (0.0, 0.0, 0);
    angles.for_each(|a| (x, y, n) = (x + a.cos(), y + a.sin(), n + 1));
    if !(2..=6).contains(&n) {
        return None;
    }
    // The places from which it begins within a quarter are an eighth before it on average.
    let place = (y.atan2(x) / TAU + 0.125).rem_euclid(1.0);
    Some((place * tick) as u64)
}
