//! Proportional rate reduction as Chromium has it (RFC 6937 without its division): how a sender leaves while its window
//! is above what is in flight, or below, after a reduction (`quic/core/congestion_control/prr_sender.cc`; the framework of
//! Zhang's simulations has the same file).

/// What was sent and delivered since the last reduction, bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Prr {
    sent: u64,
    delivered: u64,
    acked_packets: u64,
    in_flight_before: u64,
}

impl Prr {
    /// A reduction begins with so much in flight.
    pub fn restart(in_flight: u64) -> Prr {
        Prr { in_flight_before: in_flight, ..Prr::default() }
    }

    pub fn on_sent(&mut self, bytes: u64) {
        self.sent += bytes;
    }

    /// So many packets were acknowledged.
    pub fn on_acked(&mut self, packets: u32, bytes: u64) {
        self.delivered += bytes;
        self.acked_packets += u64::from(packets);
    }

    /// Whether a packet may leave, with this window, which is the slow-start threshold too, and unit of windows.
    pub fn may_send(&self, window: u64, in_flight: u64, unit: u64) -> bool {
        if self.sent == 0 || in_flight < unit {
            return true;
        }
        if window > in_flight {
            return self.delivered + self.acked_packets * unit > self.sent;
        }
        self.delivered * window > self.sent * self.in_flight_before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets of 1000 bytes that leave while ACKs arrive, with those in flight kept.
    fn sent_per_ack(window: u64, mut in_flight: u64, acks: u32) -> Vec<u32> {
        let mut prr = Prr::restart(in_flight);
        (0..acks)
            .map(|_| {
                in_flight -= 1000;
                prr.on_acked(1, 1000);
                let mut count = 0;
                while prr.may_send(window, in_flight, 1000) {
                    prr.on_sent(1000);
                    in_flight += 1000;
                    count += 1;
                }
                count
            })
            .collect()
    }

    #[test]
    fn above_the_window_seven_packets_leave_for_ten_acknowledged() {
        let sent = sent_per_ack(7_000, 10_000, 10);
        assert_eq!(sent.iter().sum::<u32>(), 7);
        assert!(sent.iter().all(|&count| count <= 1), "{sent:?}");
    }

    #[test]
    fn below_the_window_an_ack_lets_two_packets_out() {
        let mut prr = Prr::restart(20_000);
        prr.on_sent(1000);
        prr.on_acked(1, 1000);
        assert!(prr.may_send(10_000, 5_000, 1000));
        prr.on_sent(1000);
        assert!(!prr.may_send(10_000, 6_000, 1000));
    }

    #[test]
    fn the_first_packet_always_leaves() {
        assert!(Prr::restart(20_000).may_send(2_000, 19_000, 1000));
    }
}
