/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * BBRv2 core: the parameters that every variant has, under the names of Google's module.
 *
 * A variant that differs in a default defines that default (BBR2_..., below) before it includes
 * this file. Fractions and gains are in 1/256 and are truncated, as in the module: a loss
 * threshold of 2 % is 5/256 = 1.95 %. Ranges are those of the module's bit fields, or wider.
 */
#ifndef BBR2_PARAMS_H
#define BBR2_PARAMS_H

#ifndef BBR2_HIGH_GAIN
#define BBR2_HIGH_GAIN 739 /* 2/ln 2 = 2.885 */
#endif
#ifndef BBR2_STARTUP_CWND_GAIN
#define BBR2_STARTUP_CWND_GAIN 739
#endif
#ifndef BBR2_PACING_GAIN_DOWN
#define BBR2_PACING_GAIN_DOWN 192 /* 0.75 */
#endif
#ifndef BBR2_PROBE_CWND_GAIN
#define BBR2_PROBE_CWND_GAIN 0
#endif
#ifndef BBR2_FULL_LOSS_CNT
#define BBR2_FULL_LOSS_CNT 8
#endif
#ifndef BBR2_ECN_REPROBE_GAIN
#define BBR2_ECN_REPROBE_GAIN 0
#endif
#ifndef BBR2_MIN_TSO_RATE
#define BBR2_MIN_TSO_RATE 1200000
#endif
#ifndef BBR2_RENEW_EQUAL_RTT
#define BBR2_RENEW_EQUAL_RTT 1
#endif

/* clang-format off */
#define BBR2_PARAMS(P)								\
	P(high_gain, BBR2_HIGH_GAIN, 256, 2047, "1/256", "pacing gain in STARTUP") \
	P(startup_cwnd_gain, BBR2_STARTUP_CWND_GAIN, 256, 2047, "1/256", "window gain in STARTUP and DRAIN") \
	P(drain_gain, 88, 1, 1023, "1/256", "pacing gain in DRAIN: ln 2 / 2") \
	P(cwnd_gain, 512, 256, 2047, "1/256", "window gain in PROBE_BW") \
	P(bw_probe_cwnd_gain, BBR2_PROBE_CWND_GAIN, 0, 2047, "1/256", "added to cwnd_gain in UP") \
	P(pacing_gain_up, 320, 256, 1023, "1/256", "pacing gain in UP: 1.25")	\
	P(pacing_gain_down, BBR2_PACING_GAIN_DOWN, 1, 1023, "1/256", "pacing gain in DOWN") \
	P(pacing_gain_cruise, 256, 1, 1023, "1/256", "pacing gain in CRUISE")	\
	P(pacing_gain_refill, 256, 1, 1023, "1/256", "pacing gain in REFILL")	\
	P(bw_probe_pif_gain, 320, 0, 1023, "1/256", "UP ends at this many BDP in flight") \
	P(pacing_margin_percent, 1, 0, 50, "%", "how far below the bandwidth to pace") \
	P(loss_thresh, 5, 0, 255, "1/256", "loss rate that says inflight is too high: 2 % (alpha)") \
	P(beta, 76, 0, 255, "1/256", "cut of bw_lo, inflight_lo and inflight_hi on loss: 30 %; 0: none") \
	P(inflight_headroom, 38, 0, 255, "1/256", "share of inflight_hi left free when cruising: 15 %") \
	P(full_bw_thresh, 320, 256, 1023, "1/256", "growth of bandwidth per round that is still growth") \
	P(full_bw_cnt, 3, 1, 3, "round trips", "rounds without it after which the pipe is full") \
	P(full_loss_cnt, BBR2_FULL_LOSS_CNT, 0, 15, "ACKs", "lossy ACKs in a round that may end STARTUP; 0: loss never does") \
	P(full_ecn_cnt, 2, 0, 3, "round trips", "rounds above ecn_thresh that end STARTUP; 0: ECN never does") \
	P(bw_probe_base_us, 2000000, 0, 67108863, "us", "least wait between probes") \
	P(bw_probe_rand_us, 1000000, 0, 67108863, "us", "random part of that wait")	\
	P(bw_probe_max_rounds, 63, 0, 255, "round trips", "longest wait between probes in rounds") \
	P(bw_probe_rand_rounds, 2, 0, 15, "round trips", "random part of that wait: less than this") \
	P(bw_probe_reno_gain, 256, 0, 511, "1/256", "wait at most this many rounds per segment of BDP, as Reno would; 0: off") \
	P(refill_add_inc, 0, 0, 3, "segments", "added to inflight_hi when REFILL begins") \
	P(drain_to_target, 1, 0, 1, "bool", "DOWN lasts until inflight is at the BDP; 0: or a min_rtt has passed") \
	P(cwnd_min_target, 4, 1, 15, "segments", "least window")		\
	P(cwnd_tso_budget, 1, 0, 1, "bool", "room for bursts: 1 a floor of the window, 0 added to it") \
	P(usage_based_cwnd, 0, 0, 1, "bool", "grow to at most twice what was in flight") \
	P(min_rtt_win_sec, 10, 1, 31, "s", "window of the least RTT")		\
	P(probe_rtt_win_ms, 5000, 1, 16383, "ms", "age of the least RTT at which PROBE_RTT begins") \
	P(probe_rtt_mode_ms, 200, 0, 511, "ms", "time in PROBE_RTT; 0: never probe") \
	P(probe_rtt_cwnd_gain, 128, 0, 255, "1/256", "window in PROBE_RTT in BDP: 0.5; 0: cwnd_min_target") \
	P(extra_acked_gain, 256, 0, 2047, "1/256", "share of ACK aggregation added to the window") \
	P(extra_acked_win_rtts, 5, 1, 31, "round trips", "half of the window of its maximum") \
	P(extra_acked_max_us, 100000, 0, 10000000, "us", "bound on it, in time at the bandwidth") \
	P(extra_acked_in_startup, 1, 0, 1, "bool", "use it in STARTUP too, over one or two rounds") \
	P(min_tso_rate, BBR2_MIN_TSO_RATE, 0, 1000000000, "bit/s", "bursts of a single segment below this pacing rate") \
	P(tso_rtt_shift, 9, 0, 15, "log2 us", "RTT at which the burst's RTT term halves; 0: no such term") \
	P(ecn_enable, 0, 0, 1, "bool", "respond to CE marks as of a shallow threshold (DCTCP, L4S)") \
	P(ecn_max_rtt_us, 5000, 0, 524287, "us", "use ECN up to this least RTT; 0: at any") \
	P(ecn_alpha_gain, 16, 0, 255, "1/256", "gain of the mean CE ratio: 1/16")	\
	P(ecn_alpha_init, 256, 0, 256, "1/256", "CE ratio assumed at the start")	\
	P(ecn_factor, 85, 0, 255, "1/256", "cut of inflight_lo at a CE ratio of 1: 1/3; 0: none") \
	P(ecn_thresh, 128, 0, 255, "1/256", "CE ratio that says inflight is too high: 50 %; 0: none does") \
	P(ecn_reprobe_gain, BBR2_ECN_REPROBE_GAIN, 0, 511, "1/256", "first growth of inflight_hi when CE marks cease; 0: no such probe") \
	P(undo, 1, 0, 1, "bool", "revert the model when a recovery proves spurious") \
	P(fast_path, 1, 0, 1, "bool", "skip the model on uneventful app-limited ACKs") \
	P(renew_equal_rtt, BBR2_RENEW_EQUAL_RTT, 0, 1, "bool", "an RTT equal to the least renews it; Chromium and v3: 0") \
	P(burst_budget, 1, 0, 1, "bool", "room for bursts in windows and inflight, and 2 in UP; 0: gain times BDP, at least cwnd_min_target, as Chromium") \
	P(count_departures, 1, 0, 1, "bool", "judge inflight as of the next departure, not as it is; Chromium: 0") \
	P(loss_by_round, 0, 0, 1, "bool", "losses count and are judged by round trips, as in Chromium; 0: by the sampled flight, in rounds that a loss begins, STARTUP in Recovery only") \
	P(probe_loss_cnt, 0, 0, 15, "ACKs", "with loss_by_round: lossy ACKs in a round without which a probe did not go too far") \
	P(down_max_rtt, 0, 0, 1, "bool", "DOWN lasts at most a min_rtt, as in Chromium") \
	P(probe_rtt_after_down, 0, 0, 1, "bool", "PROBE_RTT begins when DOWN ends only, and leads back to what followed with the window to grow again, as in Chromium") \
	P(probe_rtt_round, 1, 0, 1, "bool", "PROBE_RTT lasts for a round at least; Chromium: 0")
/* clang-format on */

#endif /* BBR2_PARAMS_H */
