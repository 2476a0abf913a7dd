//! Behaviours of the draft's appendix that need what a greedy sender over a path never is:
//! application-limited, idle, acknowledged in lumps. A controller is driven alone over an ideal path of 100 segments
//! per 10 ms with an RTT of 10 ms (BDP 100), one ACK a round unless said; policing is in `cca/vectors/bbr`.

use cca::{AckSample, CaEvent, CaState, Controller, LostBurst, Module, RateSample, TcpSock};
use std::collections::BTreeMap;

const RTT_US: u64 = 10_000;
const BDP: u32 = 100;

/// A controller with its socket.
struct Alone {
    cca: Controller,
    sk: Box<TcpSock>,
    now_us: u64,
}

/// No random part in the wait between probes.
const STEADY: [(&str, i64); 2] = [("bw_probe_rand_us", 0), ("bw_probe_rand_rounds", 0)];

impl Alone {
    fn new(name: &str, params: &[(&str, i64)]) -> Self {
        let params: BTreeMap<_, _> = params.iter().map(|&(k, v)| (k.to_owned(), v)).collect();
        let cca = Controller::new(Module::find(name).expect("a controller"), &params);
        let mut alone =
            Self { cca: cca.expect("parameters"), sk: TcpSock::new(), now_us: 1_000_000 };
        alone.cca.attach(&mut alone.sk, 1000, 1);
        alone.after(0);
        alone.sk.lsndtime = alone.sk.jiffies;
        alone.sk.is_cwnd_limited = 1;
        alone.sk.srtt_us = 8 * RTT_US as u32;
        alone.sk.packets_out = 3 * BDP;
        alone.cca.init(&mut alone.sk);
        alone
    }

    fn after(&mut self, us: u64) {
        self.now_us += us;
        self.sk.tcp_mstamp = self.now_us;
        self.sk.tcp_clock_cache = self.now_us * 1000;
        self.sk.jiffies = (self.now_us / 1000) as u32;
    }

    /// An ACK now, changed by `change`: all that was sent an RTT ago is delivered.
    fn ack(&mut self, acked: u32, change: impl Fn(&mut RateSample)) {
        let sk = &mut self.sk;
        sk.delivered += acked;
        sk.delivered_mstamp = self.now_us;
        let mut rs = RateSample {
            delivered: BDP as i32,
            interval_us: RTT_US as i64,
            rtt_us: RTT_US as i64,
            acked_sacked: acked,
            prior_in_flight: BDP,
            prior_delivered: sk.delivered.wrapping_sub(acked),
            tx_in_flight: BDP,
            ..RateSample::default()
        };
        change(&mut rs);
        let sample = AckSample { pkts_acked: acked, rtt_us: rs.rtt_us as i32, in_flight: 0 };
        self.cca.pkts_acked(sk, &sample);
        self.cca.in_ack_event(sk, 0);
        let una = sk.snd_una;
        self.cca.cong_control(sk, una, 0, &rs);
    }

    /// `n` rounds at the full rate.
    fn rounds(&mut self, n: u32, change: impl Fn(&mut RateSample)) {
        for _ in 0..n {
            self.after(RTT_US);
            self.ack(BDP, &change);
        }
    }

    fn state(&self) -> &'static str {
        let index = self.cca.info(&self.sk).state().expect("a state");
        self.cca.module().states()[index as usize]
    }

    /// Rounds until the state is `state`, at most 1000.
    fn until(&mut self, state: &str) -> &mut Self {
        self.sk.packets_out = if self.state() == "STARTUP" { 3 * BDP } else { BDP };
        let reached = (0..1000).any(|_| {
            self.rounds(1, |_| ());
            if self.state() != "STARTUP" {
                self.sk.packets_out = BDP;
            }
            self.state() == state
        });
        assert!(reached, "{state} is not reached from {}", self.state());
        self
    }
}

fn app_limited(rs: &mut RateSample) {
    rs.is_app_limited = true;
}

#[test]
fn startup_never_ends_while_application_limited() {
    // Draft 5.3.1.2: samples of an application-limited sender say nothing about the path.
    for name in ["bbr", "bbrplus", "bbr2", "bbr2plus", "bbr3"] {
        let mut alone = Alone::new(name, &[]);
        alone.rounds(50, app_limited);
        assert_eq!(alone.state(), "STARTUP", "{name}");
        // Full rounds without growth do end it: one to see the bandwidth, three without growth.
        alone.rounds(4, |_| ());
        assert_ne!(alone.state(), "STARTUP", "{name}");
    }
}

#[test]
fn an_application_limited_probe_goes_on() {
    // Draft 5.3.3.5: UP ends by a plateau only of samples that are not application-limited; in flight is
    // below 1.25 BDP here, so that nothing else ends it.
    for name in ["bbr2", "bbr3"] {
        let mut alone = Alone::new(name, &STEADY);
        alone.until("PROBE_BW_UP").rounds(20, app_limited);
        assert_eq!(alone.state(), "PROBE_BW_UP", "{name}");
        // 1.25 BDP in flight, or three full rounds without growth.
        alone.sk.packets_out = 2 * BDP;
        alone.rounds(4, |rs| rs.prior_in_flight = 2 * BDP);
        assert_ne!(alone.state(), "PROBE_BW_UP", "{name}");
    }
}

#[test]
fn an_application_limited_refill_lasts_one_round() {
    for name in ["bbr2", "bbr3"] {
        let mut alone = Alone::new(name, &STEADY);
        alone.until("PROBE_BW_REFILL");
        // Half of the next round, then the rest.
        alone.after(RTT_US / 2);
        alone.ack(BDP / 2, |rs| {
            rs.prior_delivered -= BDP / 2;
            rs.is_app_limited = true;
        });
        assert_eq!(alone.state(), "PROBE_BW_REFILL", "{name}: half a round");
        alone.rounds(1, app_limited);
        assert_eq!(alone.state(), "PROBE_BW_UP", "{name}");
    }
}

#[test]
fn probe_rtt_during_startup_returns_to_startup() {
    // Draft 5.3.4.3, Linux bbr_reset_mode: the pipe was never full. bbr after 10 s, the others after 5 s.
    for (name, seconds) in [("bbr", 10), ("bbr2", 5), ("bbr2plus", 5), ("bbr3", 5)] {
        let mut alone = Alone::new(name, &[]);
        alone.rounds(1, app_limited);
        let slower = |rs: &mut RateSample| {
            rs.is_app_limited = true;
            rs.rtt_us = 12_000;
        };
        alone.rounds(seconds * 100 - 2, slower);
        assert_eq!(alone.state(), "STARTUP", "{name}");
        alone.rounds(4, slower);
        assert_eq!(alone.state(), "PROBE_RTT", "{name}");
        alone.sk.packets_out = 4;
        alone.rounds(19, slower);
        assert_eq!(alone.state(), "PROBE_RTT", "{name}: 200 ms are not over");
        alone.rounds(6, slower);
        assert_eq!(alone.state(), "STARTUP", "{name}");
    }
}

#[test]
fn idle_drains_the_queue_so_probe_rtt_is_skipped() {
    // Draft 5.3.4.4 and Linux bbr_update_min_rtt: not when the sample follows a restart from idle.
    for (name, steady) in
        [("bbr", "PROBE_BW"), ("bbr2", "PROBE_BW_CRUISE"), ("bbr3", "PROBE_BW_CRUISE")]
    {
        for idle in [true, false] {
            let mut alone = Alone::new(name, &[]);
            alone.until(steady);
            alone.after(10_500_000);
            if idle {
                alone.sk.app_limited = 1;
                alone.cca.cwnd_event(&mut alone.sk, CaEvent::TxStart);
            }
            alone.ack(10, |rs| rs.rtt_us = 12_000);
            assert_eq!(alone.state() == "PROBE_RTT", !idle, "{name}, idle {idle}");
        }
    }
}

#[test]
fn lumps_of_acks_widen_the_window_in_startup_and_in_cruise() {
    // Draft 5.5.9: what arrives beyond the estimated rate is added to the window, here two rounds' worth at
    // once after a silence of two rounds, on top of cwnd_gain = 2 BDP; at most 100 ms of the bandwidth. Google's
    // BBRv2 and v3 do so in STARTUP too (extra_acked_in_startup).
    for name in ["bbr2", "bbr3"] {
        for state in ["STARTUP", "PROBE_BW_CRUISE"] {
            let window = |gain| {
                let mut alone = Alone::new(name, &[("extra_acked_gain", gain)]);
                if state == "STARTUP" {
                    // The window grows from 10 segments by what is acknowledged, up to the target.
                    alone.rounds(2, app_limited);
                } else {
                    alone.until(state).sk.snd_cwnd = 100 * BDP;
                }
                for _ in 0..6 {
                    alone.after(2 * RTT_US - 100);
                    alone.ack(BDP, app_limited);
                    alone.after(100);
                    alone.ack(BDP, app_limited);
                }
                assert_eq!(alone.state(), state, "{name}");
                alone.sk.snd_cwnd
            };
            let (without, with) = (window(0), window(256));
            assert!(with >= without + BDP / 2, "{name} in {state}: {with} against {without}");
            assert!(with <= without + 11 * BDP, "{name} in {state}: {with} against {without}");
        }
    }
}

#[test]
fn a_spurious_timeout_is_undone() {
    // Draft 5.2.6 and v2alpha bbr2_undo_cwnd: window and bounds are those from before. The timeout itself takes the
    // window down to what is in flight and one more.
    for name in ["bbr", "bbr2", "bbr2plus", "bbr3"] {
        let mut alone = Alone::new(name, &[]);
        alone.until(if name == "bbr" { "PROBE_BW" } else { "PROBE_BW_CRUISE" });
        let before = (alone.sk.snd_cwnd, alone.cca.info(&alone.sk));
        let sk = &mut alone.sk;
        sk.prior_cwnd = sk.snd_cwnd;
        sk.snd_ssthresh = alone.cca.ssthresh(sk);
        alone.cca.cwnd_event(sk, CaEvent::Loss);
        (sk.packets_out, sk.snd_cwnd) = (1, 1);
        alone.cca.set_state(sk, CaState::Loss);
        sk.icsk_ca_state = CaState::Loss as u8;
        sk.lost += 50;
        alone.after(RTT_US);
        alone.ack(1, |rs| {
            rs.losses = 50;
            rs.lost = 50;
        });
        assert!(alone.sk.snd_cwnd < before.0, "{name}: the timeout cuts {}", alone.sk.snd_cwnd);
        let sk = &mut alone.sk;
        sk.snd_cwnd = alone.cca.undo_cwnd(sk);
        alone.cca.set_state(sk, CaState::Open);
        sk.icsk_ca_state = CaState::Open as u8;
        let after = alone.cca.info(&alone.sk);
        assert_eq!(after.inflight_lo(), before.1.inflight_lo(), "{name}");
        assert_eq!(after.inflight_hi(), before.1.inflight_hi(), "{name}");
        assert_eq!(after.bw(), before.1.bw(), "{name}");
        // bbr restores its window with the next ACK that finds the connection open.
        alone.after(RTT_US / 10);
        alone.ack(1, |rs| rs.prior_delivered -= BDP / 2);
        assert!(alone.sk.snd_cwnd >= before.0, "{name}: {} of {}", alone.sk.snd_cwnd, before.0);
    }
}

#[test]
fn down_ends_by_time_where_inflight_stays_high() {
    // Draft appendix "DOWN by max time": a queue of others keeps in flight above the BDP, so CRUISE is never due;
    // the time of the next probe ends DOWN: 63 rounds (bw_probe_max_rounds), before 2 s are over.
    for name in ["bbr2", "bbr3"] {
        let mut alone = Alone::new(name, &STEADY);
        let above = |rs: &mut RateSample| rs.prior_in_flight = 2 * BDP;
        alone.until("DRAIN").rounds(1, above);
        assert_eq!(alone.state(), "PROBE_BW_DOWN", "{name}");
        alone.sk.packets_out = 2 * BDP;
        alone.rounds(60, above);
        assert_eq!(alone.state(), "PROBE_BW_DOWN", "{name}");
        alone.rounds(4, above);
        assert!(alone.state() != "PROBE_BW_DOWN", "{name}");
    }
}

/// What loses `lost` of the 1024 segments that were in flight, as one ACK's sample or burst by burst.
fn lose(alone: &mut Alone, lost: u32, by_burst: bool) -> (&'static str, Option<u32>) {
    alone.until("PROBE_BW_UP");
    let at_send = alone.sk.lost;
    if by_burst {
        for _ in 0..lost {
            alone.sk.lost += 1;
            let burst = LostBurst {
                segs: 1,
                tx_in_flight: 1024,
                lost_at_send: at_send,
                ..LostBurst::default()
            };
            alone.cca.skb_marked_lost(&mut alone.sk, &burst);
        }
    } else {
        alone.rounds(1, |rs| (rs.tx_in_flight, rs.lost) = (1024, lost));
    }
    (alone.state(), alone.cca.info(&alone.sk).inflight_hi())
}

#[test]
fn a_probe_bears_loss_up_to_the_threshold_and_not_one_segment_more() {
    // v2alpha bbr2_is_inflight_too_high(): lost > inflight * loss_thresh >> 8. With 1024 in flight, 5/256 bear 20 (1.95 %)
    // and not 21 (2.05 %); 51/256, the 20 % of BBRv2+, 204 (19.9 %) and not 205. A burst lowers the bound to what was in
    // flight when the threshold was crossed, itself not included (bbr2_inflight_hi_from_lost_skb()).
    for name in ["bbr2", "bbr2plus", "bbr3"] {
        for (thresh, bearable) in [(5, 20), (51, 204)] {
            for by_burst in [false, true] {
                let params = [&STEADY[..], &[("loss_thresh", thresh)]].concat();
                let after = |lost| lose(&mut Alone::new(name, &params), lost, by_burst);
                let what = format!("{name}, loss_thresh {thresh}, by burst {by_burst}");
                assert_eq!(after(bearable), ("PROBE_BW_UP", None), "{what}");
                let hi = 1024 - u32::from(by_burst);
                assert_eq!(after(bearable + 1), ("PROBE_BW_DOWN", Some(hi)), "{what}");
            }
        }
    }
}

#[test]
fn drain_ends_with_one_bdp_in_the_network() {
    // v2alpha bbr_check_drain(): in flight, less what the bandwidth delivers before the next departure, is at most the BDP.
    // The bandwidth is rounded up, 2^24 * 100 / 10^4, and so is the BDP, to 101. A departure 1 ms away: 10 more.
    for name in ["bbr2", "bbr2plus", "bbr3"] {
        for (departure_us, most) in [(0, 101), (1000, 111)] {
            let mut alone = Alone::new(name, &STEADY);
            alone.until("DRAIN").sk.packets_out = most + 1;
            for (in_flight, state) in [(most + 1, "DRAIN"), (most, "PROBE_BW_DOWN")] {
                alone.after(RTT_US);
                alone.sk.packets_out = in_flight;
                alone.sk.tcp_wstamp_ns = (alone.now_us + departure_us) * 1000;
                alone.ack(BDP, |rs| rs.prior_in_flight = 2 * BDP);
                assert_eq!(alone.state(), state, "{name}: {in_flight}, {departure_us} us");
            }
        }
    }
}

#[test]
fn an_ack_of_a_loss_probe_keeps_what_the_round_delivered() {
    // v3 bbr_advance_latest_delivery_signals(): until it is known whether the probe repaired a loss, bw_latest and
    // inflight_latest go on. Losses of the next round then cut the bandwidth to the 100 of the ended round; otherwise to
    // the largest of the new one, 80, which is above beta's 70.
    let bw = |is_acking_tlp_retrans_seq| {
        let mut alone = Alone::new("bbr3", &STEADY);
        alone.until("PROBE_BW_CRUISE");
        let slow = |rs: &mut RateSample| rs.delivered = 80;
        alone.rounds(1, |rs| {
            slow(rs);
            rs.is_acking_tlp_retrans_seq = is_acking_tlp_retrans_seq;
        });
        alone.after(RTT_US / 2);
        alone.ack(BDP / 2, |rs| {
            slow(rs);
            rs.prior_delivered -= BDP;
            rs.losses = 1;
        });
        alone.rounds(1, slow);
        assert_eq!(alone.state(), "PROBE_BW_CRUISE");
        alone.cca.info(&alone.sk).bw().expect("a bandwidth")
    };
    // 80 and 100 segments per 10 ms, in MB/s.
    assert_eq!([false, true].map(|probe| bw(probe) / 1_000_000), [11, 14]);
}

#[test]
fn before_linux_4_20_a_policers_gain_stays_until_the_next_phase() {
    // tcp_tsunami.c bbr_lt_bw_interval_done() sets the gain to 1, and bbr_undo_cwnd() forgets the policer but not that;
    // only a phase sets another, after a min_rtt. Linux since 4.20 (bbr_update_gains()) has it with the next ACK.
    for (name, keeps) in [("tsunami", true), ("bbr-hsr", false)] {
        let mut alone = Alone::new(name, &[]);
        let gain = |alone: &Alone| alone.cca.info(&alone.sk).pacing_gain();
        alone.until("PROBE_BW");
        let quarter = |alone: &mut Alone, lost: i32| {
            alone.after(RTT_US / 4);
            alone.sk.lost += lost as u32;
            alone.ack(BDP / 4, |rs| {
                rs.prior_delivered -= BDP * 3 / 4;
                rs.losses = lost;
            });
        };
        let found = (0..100).any(|_| {
            quarter(&mut alone, 10);
            gain(&alone) == Some(256)
        });
        assert!(found, "{name}: two intervals of 4 rounds with the same rate");
        alone.cca.undo_cwnd(&mut alone.sk);
        quarter(&mut alone, 0);
        assert_eq!(gain(&alone) == Some(256), keeps, "{name}");
        alone.rounds(2, |_| ());
        assert_ne!(gain(&alone), Some(256), "{name}");
    }
}

#[test]
fn an_undo_restarts_the_search_for_a_full_pipe_but_not_bbrplus() {
    // Linux since 4.15 (bbr_undo_cwnd()): a spurious loss may have been why the rate did not grow. BBRplus is of 4.14.
    for (name, rounds) in [("bbr", 4), ("tsunami", 4), ("bbrplus", 1)] {
        let mut alone = Alone::new(name, &[]);
        alone.rounds(3, |_| ());
        alone.cca.undo_cwnd(&mut alone.sk);
        alone.rounds(rounds - 1, |_| ());
        assert_eq!(alone.state(), "STARTUP", "{name}");
        alone.rounds(1, |_| ());
        assert_ne!(alone.state(), "STARTUP", "{name}");
    }
}

#[test]
fn a_probe_counts_thirty_rounds_at_most() {
    // Zhang's Algorithm 2, v2alpha bbr2_raise_inflight_hi_slope(): 1 << min(30, rounds) segments a round. With a window of
    // 2^20 inflight_hi grows from the 20th round on by each segment acknowledged, and still does when a shift by the
    // rounds would have wrapped.
    let params = [&STEADY[..], &[("bw_probe_pif_gain", 1023)]].concat();
    let mut alone = Alone::new("bbr2", &params);
    lose(&mut alone, 21, false);
    alone.until("PROBE_BW_UP");
    let mut round = || {
        let before = alone.cca.info(&alone.sk).inflight_hi().expect("a bound");
        alone.sk.snd_cwnd = 1 << 20;
        alone.rounds(1, |_| ());
        assert_eq!(alone.state(), "PROBE_BW_UP");
        alone.cca.info(&alone.sk).inflight_hi().expect("a bound") - before
    };
    let grown: Vec<u32> = (0..45).map(|_| round()).collect();
    assert!(grown[0] < BDP, "{grown:?}");
    assert_eq!(grown[25..], [BDP; 20], "{grown:?}");
}
