//! Proportional rate reduction (RFC 6937 with the rules of Linux 6.x): the window falls with what is delivered, and
//! reaches the slow-start threshold when the round is over.

use cca::TcpSock;

/// What happened since the reduction began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prr {
    /// Segments delivered.
    delivered: u32,
    /// Segments sent.
    out: u32,
}

impl Prr {
    /// `n` segments were sent, new or again.
    #[inline]
    pub fn on_send(&mut self, n: u32) {
        self.out += n;
    }

    /// Sets the window after an ACK that delivered `delivered` segments and showed `losses`
    /// (`tcp_cwnd_reduction`).
    pub fn reduce(&mut self, sk: &mut TcpSock, delivered: i32, losses: i32, una_advanced: bool) {
        if delivered <= 0 || sk.prior_cwnd == 0 {
            return;
        }
        self.delivered += delivered as u32;
        let in_flight = sk.packets_in_flight();
        let delta = sk.snd_ssthresh as i32 - in_flight as i32;
        let credit = self.delivered as i32 - self.out as i32;
        let mut send = if delta < 0 {
            let share = u64::from(sk.snd_ssthresh) * u64::from(self.delivered);
            share.div_ceil(u64::from(sk.prior_cwnd)) as i32 - self.out as i32
        } else {
            let slow_start = i32::from(una_advanced && losses == 0);
            delta.min(credit.max(delivered) + slow_start)
        };
        send = send.max(i32::from(self.out == 0));
        sk.snd_cwnd = (in_flight as i32 + send) as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A socket that goes from 20 segments to 10, with `in_flight` of them out.
    fn reducing(in_flight: u32) -> Box<TcpSock> {
        let mut sk = TcpSock::new();
        (sk.prior_cwnd, sk.snd_ssthresh, sk.packets_out) = (20, 10, in_flight);
        sk
    }

    #[test]
    fn above_the_threshold_one_segment_leaves_for_every_two_delivered() {
        let (mut sk, mut prr, mut sent) = (reducing(20), Prr::default(), 0);
        for _ in 0..8 {
            sk.packets_out -= 1;
            prr.reduce(&mut sk, 1, 0, true);
            let n = sk.snd_cwnd - sk.packets_out;
            prr.on_send(n);
            sk.packets_out += n;
            sent += n;
        }
        assert_eq!(sent, 4);
    }

    #[test]
    fn below_the_threshold_the_window_grows_back_by_what_is_delivered_and_one() {
        let (mut sk, mut prr) = (reducing(4), Prr::default());
        prr.on_send(1);
        prr.reduce(&mut sk, 2, 0, true);
        assert_eq!(sk.snd_cwnd, 4 + 3);
        prr.reduce(&mut sk, 2, 1, true);
        assert_eq!(sk.snd_cwnd, 4 + 3, "no slow start while segments are lost");
    }

    #[test]
    fn the_first_retransmission_always_leaves() {
        let mut sk = reducing(30);
        Prr::default().reduce(&mut sk, 1, 0, false);
        assert_eq!(sk.snd_cwnd, 31);
    }
}
