//! The kernel's memory for TCP, which all sockets of the machine share: from the first mark of `net.ipv4.tcp_mem` on no
//! send buffer grows any more (`tcp_should_expand_sndbuf`), from the second it cuts buffers (`tcp_under_memory_pressure`),
//! and a flow is then limited by that and by nothing of its path.

use std::fs::read_to_string;
use units::{Span, Time};

/// Between two looks at least: memory of this size is not filled sooner.
const EVERY: Span = Span::from_ns(1_000_000_000);

/// Pages in use at most so far, and from how many on the kernel limits buffers.
#[derive(Debug, Default)]
pub struct TcpMemory {
    most: u64,
    mark: Option<u64>,
    next: Time,
}

impl TcpMemory {
    /// As the machine's network has it; unwatched where that cannot be read.
    pub fn new() -> TcpMemory {
        let limits = read_to_string("/proc/sys/net/ipv4/tcp_mem").unwrap_or_default();
        TcpMemory { most: 0, mark: number_at(&limits, 0), next: Time::ZERO }
    }

    /// Looks how much is in use, if it is time to.
    pub fn look(&mut self, now: Time) {
        if self.mark.is_some() && now >= self.next {
            self.next = now + EVERY;
            let text = read_to_string("/proc/self/net/sockstat").unwrap_or_default();
            self.most = self.most.max(in_use(&text).unwrap_or(0));
        }
    }

    /// What a result is to say.
    pub fn warning(&self) -> Option<String> {
        let (most, mark) = (self.most, self.mark?);
        (most >= mark).then(|| {
            format!(
                "TCP used {most} pages of this machine's memory, and from {mark} on (net.ipv4.tcp_mem) the kernel lets no \
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
            |most| TcpMemory { most, mark: Some(383_869), next: Time::ZERO }.warning().is_some();
        assert_eq!([warned(0), warned(383_868), warned(383_869)], [false, false, true]);
        assert_eq!(TcpMemory { most: 1 << 40, mark: None, next: Time::ZERO }.warning(), None);
    }
}
