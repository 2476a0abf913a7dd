//! What TCP has to tell a controller: rate samples and round-trip times, and the calls for an ACK that takes segments which
//! were sent once, in the order of `tcp_ack` (net/ipv4/tcp_input.c).

use cca::{AckSample, Controller, TcpSock};
use std::hint::black_box;
use transport::common::clock::Tick;
use transport::common::rate::{Sampler, Stamps};
use transport::common::Socket;
use units::Time;

/// One flow's.
pub struct Rates {
    sk: Socket,
    stamps: Vec<Stamps>,
}

impl Rates {
    /// Of a flow that has `window` segments under way for ever.
    pub fn new(controller: Controller, seed: u32, window: u32) -> Rates {
        let mut seen = TcpSock::new();
        seen.mss_cache = 1448;
        seen.snd_cwnd = window;
        seen.snd_cwnd_clamp = window;
        seen.snd_wnd = u32::MAX;
        let mut sk = Socket::new(seen, controller, Tick::new(1000), seed.into());
        sk.refresh(Time::ZERO);
        sk.init();
        Rates { sk, stamps: vec![Stamps::default(); window as usize] }
    }

    #[inline(always)]
    pub fn on_sent(&mut self, seq: u32) {
        let sk = &mut self.sk;
        sk.packets_out += 1;
        let in_flight = sk.packets_out;
        let place = seq as usize % self.stamps.len();
        self.stamps[place] = Stamps::new(sk, sk.now_us(), in_flight);
    }

    /// Segments below `una` are acknowledged, `acked` of them now.
    #[inline(always)]
    pub fn on_ack(&mut self, now: Time, una: u32, acked: u32) {
        let Rates { sk, stamps } = self;
        sk.refresh(now);
        let mut sampler = Sampler::default();
        sampler.rs.prior_in_flight = sk.packets_out;
        let last = stamps[(una - 1) as usize % stamps.len()];
        sampler.take(sk, &last, una - 1);
        let rtt_us = sk.us_since(last.tx_us);
        sk.take_min_rtt(rtt_us);
        sk.srtt_us =
            if sk.srtt_us == 0 { rtt_us << 3 } else { sk.srtt_us - (sk.srtt_us >> 3) + rtt_us };
        sampler.rs.rtt_us = rtt_us.into();
        sk.delivered = sk.delivered.wrapping_add(acked);
        sk.packets_out -= acked;
        sk.in_ack_event(0);
        let in_flight = sk.mss_cache * acked;
        sk.pkts_acked(&AckSample { pkts_acked: acked, rtt_us: rtt_us as i32, in_flight });
        sampler.finish(sk, (acked, 0), false, |end| end * 1448);
        if sk.has_cong_control() {
            sk.cong_control(una, 0, &sampler.rs);
        } else {
            sk.cong_avoid(una, acked);
        }
        black_box(sk.tso_segs());
    }
}
