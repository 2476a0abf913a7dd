//! The kernel's memory for TCP, which all sockets of the machine share: from the first mark of `net.ipv4.tcp_mem` on no
//! send buffer grows any more (`tcp_should_expand_sndbuf`), from the second it cuts buffers (`tcp_under_memory_pressure`),
//! and a flow is then limited by that and by nothing of its path.

use std::fs::read_to_string;
use units::{Span, Time};

/// Minimum time between two readings: memory of this size is not filled sooner.
const EVERY: Span = Span::from_ns(1_000_000_000);

/// Pages in use at the peak so far, and the number from which on the kernel limits buffers.
#[derive(Debug, Default)]
pub struct TcpMemory {
    peak: u64,
    limit: Option<u64>,
    next: Time,
}

impl TcpMemory {
    /// With the limit of this machine's network; watches nothing where that cannot be read.
    pub fn new() -> TcpMemory {
        let limits = read_to_string("/proc/sys/net/ipv4/tcp_mem").unwrap_or_default();
        TcpMemory { peak: 0, limit: number_at(&limits, 0), next: Time::ZERO }
    }

    /// Reads how much is in use, if it is time to.
    pub fn look(&mut self, now: Time) {
        if self.limit.is_some() && now >= self.next {
            self.next = now + EVERY;
            let text = read_to_string("/proc/self/net/sockstat").unwrap_or_default();
            self.peak = self.peak.max(in_use(&text).unwrap_or(0));
        }
    }

    /// The warning of the result, if the limit was reached.
    pub fn warning(&self) -> Option<String> {
        let (peak, limit) = (self.peak, self.limit?);
        (peak >= limit).then(|| {
            format!(
                "TCP used {peak} pages of this machine's memory, and from {limit} on (net.ipv4.tcp_mem) the kernel lets no \
                 send buffer grow: flows may have been limited by that"
            )
        })
    }
}

fn number_at(text: &str, i: usize) -> Option<u64> {
    text.split_whitespace().nth(i)?.parse().ok()
}

/// The pages of `/proc/net/sockstat`: `TCP: inuse 5 orphan 0 tw 0 alloc 7 mem 1`.
fn in_use(sockstat: &str) -> Option<u64> {
    let line = sockstat.lines().find(|line| line.starts_with("TCP:"))?;
    line.rsplit_once(" mem ")?.1.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_in_use_are_read_from_sockstat() {
        let text = "sockets: used 14\nTCP: inuse 1 orphan 185 tw 0 alloc 206 mem 158930\nUDP: inuse 0 mem 0\n";
        assert_eq!(in_use(text), Some(158_930));
    }

    #[test]
    fn a_run_under_pressure_says_so() {
        let warned =
            |peak| TcpMemory { peak, limit: Some(383_869), next: Time::ZERO }.warning().is_some();
        assert_eq!([warned(0), warned(383_868), warned(383_869)], [false, false, true]);
        assert_eq!(TcpMemory { peak: 1 << 40, limit: None, next: Time::ZERO }.warning(), None);
    }
}
