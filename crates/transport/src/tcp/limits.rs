//! What kept a sender from sending more, and for how long (`tcp_chrono_start`, `tcp_chrono_stop` in net/ipv4/tcp_output.c),
//! as `tcpi_busy_time`, `tcpi_rwnd_limited` and `tcpi_sndbuf_limited` of `tcp_info` tell it.

/// What a sender waits for; of several the last one here counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Limit {
    /// For nothing: all that was written is acknowledged (`TCP_CHRONO_UNSPEC`).
    #[default]
    Idle,
    /// For the path: data are under way, or wait to be sent (`TCP_CHRONO_BUSY`).
    Busy,
    /// For room in the receiver's window (`TCP_CHRONO_RWND_LIMITED`).
    ReceiveWindow,
    /// For room in its own send buffer (`TCP_CHRONO_SNDBUF_LIMITED`).
    SendBuffer,
}

/// For how long there were data to send and acknowledge, and how much of that the hosts' buffers were the limit, us.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitedTime {
    /// All of it (`tcpi_busy_time`).
    pub busy_us: u64,
    /// `tcpi_rwnd_limited`.
    pub receive_window_us: u64,
    /// `tcpi_sndbuf_limited`.
    pub send_buffer_us: u64,
}

/// Adds up how long each limit held, in ticks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    now: Limit,
    since: u32,
    /// Of [`Limit::Busy`], [`Limit::ReceiveWindow`] and [`Limit::SendBuffer`].
    ticks: [u32; 3],
}

impl Limits {
    /// The limit that counts at present.
    pub fn now(&self) -> Limit {
        self.now
    }

    /// A limit is met at this tick, which counts unless a later one of [`Limit`] holds.
    #[inline]
    pub fn start(&mut self, limit: Limit, jiffies: u32) {
        if limit > self.now {
            self.set(limit, jiffies);
        }
    }

    /// A limit is met no more, while there are data to send or to be acknowledged.
    #[inline]
    pub fn stop(&mut self, limit: Limit, jiffies: u32) {
        if limit == self.now && limit != Limit::Busy {
            self.set(Limit::Busy, jiffies);
        }
    }

    /// Everything that was written is acknowledged.
    pub fn end(&mut self, jiffies: u32) {
        self.set(Limit::Idle, jiffies);
    }

    /// The sums at this tick; `us` says how long some ticks are.
    pub fn times(&self, jiffies: u32, us: impl Fn(u32) -> u64) -> LimitedTime {
        let mut until = *self;
        until.set(self.now, jiffies);
        let [busy, receive_window, send_buffer] = until.ticks.map(us);
        LimitedTime {
            busy_us: busy + receive_window + send_buffer,
            receive_window_us: receive_window,
            send_buffer_us: send_buffer,
        }
    }

    fn set(&mut self, limit: Limit, jiffies: u32) {
        let ticks = jiffies.wrapping_sub(self.since);
        match self.now {
            Limit::Idle => {}
            Limit::Busy => self.ticks[0] += ticks,
            Limit::ReceiveWindow => self.ticks[1] += ticks,
            Limit::SendBuffer => self.ticks[2] += ticks,
        }
        (self.now, self.since) = (limit, jiffies);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u32) -> u64 = |ticks| u64::from(ticks) * 1000;

    #[test]
    fn a_limit_is_part_of_the_time_that_data_are_under_way() {
        let mut limits = Limits::default();
        limits.start(Limit::Busy, 100);
        limits.start(Limit::ReceiveWindow, 130);
        limits.stop(Limit::ReceiveWindow, 140);
        let times = LimitedTime { busy_us: 50_000, receive_window_us: 10_000, send_buffer_us: 0 };
        assert_eq!(limits.times(150, MS), times);
        limits.end(150);
        assert_eq!(limits.times(900, MS), times, "nothing is counted while nothing waits");
    }

    #[test]
    fn of_two_limits_the_send_buffer_counts() {
        let mut limits = Limits::default();
        limits.start(Limit::Busy, 0);
        limits.start(Limit::SendBuffer, 0);
        limits.start(Limit::ReceiveWindow, 5);
        limits.stop(Limit::ReceiveWindow, 7);
        limits.start(Limit::Busy, 8);
        assert_eq!(limits.times(9, MS).send_buffer_us, 9_000);
    }

    #[test]
    fn a_limit_that_still_holds_counts_up_to_now() {
        let mut limits = Limits::default();
        limits.start(Limit::ReceiveWindow, u32::MAX - 4);
        assert_eq!(limits.times(5, MS).receive_window_us, 10_000, "over the wrap");
    }
}
