/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * BBRv2 family: the parameters that every variant has, under the names of Google's module.
 *
 * The second argument of BBR2_PARAMS is the prefix of the eleven defaults in which variants differ:
 * BBR2 for those of v2alpha, below. Fractions and gains are in 1/256 and are truncated, as in the
 * module: a loss threshold of 2 % is 5/256 = 1.95 %. Ranges are those of the module's bit fields, or
 * wider.
 */
#ifndef BBR2_PARAMS_H
#define BBR2_PARAMS_H

#include "cca.h"

/* Defaults of v2alpha. */
enum {
	BBR2_HIGH_GAIN = 739,	      /* 2/ln 2 = 2.885 */
	BBR2_STARTUP_CWND_GAIN = 739, /* the same */
	BBR2_PACING_GAIN_DOWN = 192, /* 0.75: what UP has queued at 1.25 is gone in about a round */
	BBR2_PROBE_CWND_GAIN = 0,
	BBR2_FULL_LOSS_CNT = 8,
	BBR2_ECN_REPROBE_GAIN = 0,
	BBR2_MIN_TSO_RATE = 1200000,
	BBR2_RENEW_EQUAL_RTT = 1,
	BBR2_DRAIN_GAIN = 88, /* ln 2 / 2 */
	BBR2_TSO_RTT_SHIFT = 9,
	BBR2_FAST_PATH = 1,
};

/* clang-format off */
#define BBR2_PARAMS(P, V)							\
	/*									\
	 * 2/ln 2 is the smallest gain at which paced sending doubles its rate	\
	 * each round trip, as slow start does by its window. drain_gain is	\
	 * about its inverse, so that one round empties what STARTUP queued.	\
	 */									\
	P(high_gain, V##_HIGH_GAIN, 256, 2047, "1/256", "pacing gain in STARTUP") \
	P(startup_cwnd_gain, V##_STARTUP_CWND_GAIN, 256, 2047, "1/256", "window gain in STARTUP and DRAIN") \
	P(drain_gain, V##_DRAIN_GAIN, 1, 1023, "1/256", "pacing gain in DRAIN")	\
	/* Two BDP: one is in flight, the other covers ACKs that come late or in bunches. */ \
	P(cwnd_gain, 512, 256, 2047, "1/256", "window gain in PROBE_BW")	\
	P(bw_probe_cwnd_gain, V##_PROBE_CWND_GAIN, 0, 2047, "1/256", "added to cwnd_gain in UP") \
	P(pacing_gain_up, 320, 256, 1023, "1/256", "pacing gain in UP: 1.25")	\
	P(pacing_gain_down, V##_PACING_GAIN_DOWN, 1, 1023, "1/256", "pacing gain in DOWN") \
	P(pacing_gain_cruise, 256, 1, 1023, "1/256", "pacing gain in CRUISE")	\
	P(pacing_gain_refill, 256, 1, 1023, "1/256", "pacing gain in REFILL")	\
	P(bw_probe_pif_gain, 320, 0, 1023, "1/256", "UP ends at this many BDP in flight") \
	/*									\
	 * On average, pace a little below the bandwidth: queues stay short and	\
	 * the link stays busy. The bandwidth is a maximum and so tends to be too	\
	 * high, and at exactly that rate a queue, once there, would never drain.	\
	 */									\
	P(pacing_margin_percent, 1, 0, 50, "%", "how far below the bandwidth to pace") \
	/*									\
	 * Random loss of up to 1 % should not cost throughput; a buffer that is	\
	 * full loses far more. The cut is CUBIC's.				\
	 */									\
	P(loss_thresh, 5, 0, 255, "1/256", "loss rate that says inflight is too high: 2 % (alpha)") \
	P(beta, 76, 0, 255, "1/256", "cut of bw_lo, inflight_lo and inflight_hi on loss: 30 %; 0: none") \
	/* Room in the buffer that other flows, and newcomers, can use without loss. */ \
	P(inflight_headroom, 38, 0, 255, "1/256", "share of inflight_hi left free when cruising: 15 %") \
	/*									\
	 * Rounds can pass without growth because the receiver's window opens	\
	 * (one), is filled (one) and only then shows in the samples (one).	\
	 */									\
	P(full_bw_thresh, 320, 256, 1023, "1/256", "growth of bandwidth per round that is still growth") \
	P(full_bw_cnt, 3, 1, 3, "round trips", "rounds without it after which the pipe is full") \
	P(full_loss_cnt, V##_FULL_LOSS_CNT, 0, 15, "ACKs", "lossy ACKs in a round that may end STARTUP; 0: loss never does") \
	P(full_ecn_cnt, 2, 0, 3, "round trips", "rounds above ecn_thresh that end STARTUP; 0: ECN never does") \
	/*									\
	 * Probing costs others loss and delay, so it is rare; the random part	\
	 * keeps flows from probing together. On short paths Reno's sawtooth	\
	 * is shorter than 2 s: to keep Reno's share neither more nor less,	\
	 * probe as often as it would, up to a BDP of 25 Mbit/s times 30 ms,	\
	 * which is 62 packets. Much rarer probes would not survive random loss	\
	 * of 1 % either, each round of which takes a little off inflight.	\
	 */									\
	P(bw_probe_base_us, 2000000, 0, 67108863, "us", "minimum wait between probes") \
	P(bw_probe_rand_us, 1000000, 0, 67108863, "us", "random part of that wait") \
	P(bw_probe_max_rounds, 63, 0, 255, "round trips", "longest wait between probes in rounds") \
	P(bw_probe_rand_rounds, 2, 0, 15, "round trips", "random part of that wait: less than this") \
	P(bw_probe_reno_gain, 256, 0, 511, "1/256", "wait at most this many rounds per segment of BDP, as Reno would; 0: off") \
	P(refill_add_inc, 0, 0, 3, "segments", "added to inflight_hi when REFILL begins") \
	P(drain_to_target, 1, 0, 1, "bool", "DOWN lasts until inflight is at the BDP; 0: or a min_rtt has passed") \
	/* Where every other segment is acknowledged, fewer than four would stall the flow. */ \
	P(cwnd_min_target, 4, 1, 63, "segments", "minimum window")		\
	P(cwnd_tso_budget, 1, 0, 1, "bool", "room for bursts: 1 a floor of the window, 0 added to it") \
	P(usage_based_cwnd, 0, 0, 1, "bool", "grow to at most twice what was in flight") \
	/*									\
	 * Routes change within tens of seconds, and most applications pause	\
	 * within 10 s, which shows min_rtt for free. 200 ms let flows with	\
	 * different RTTs drain the queue together. Half a BDP, instead of	\
	 * BBRv1's four segments, keeps the pipe busy, so that PROBE_RTT can	\
	 * come twice as often.							\
	 */									\
	P(min_rtt_win_sec, 10, 1, 31, "s", "window of the minimum RTT")		\
	P(probe_rtt_win_ms, 5000, 1, 16383, "ms", "age of the minimum RTT at which PROBE_RTT begins") \
	P(probe_rtt_mode_ms, 200, 0, 511, "ms", "time in PROBE_RTT; 0: never probe") \
	P(probe_rtt_cwnd_gain, 128, 0, 255, "1/256", "window in PROBE_RTT in BDP: 0.5; 0: cwnd_min_target") \
	/* WiFi and cable hold ACKs back and deliver them together; 100 ms of data bounds what that adds. */ \
	P(extra_acked_gain, 256, 0, 2047, "1/256", "share of ACK aggregation added to the window") \
	P(extra_acked_win_rtts, 5, 1, 31, "round trips", "half of the window of its maximum") \
	P(extra_acked_max_us, 100000, 0, 10000000, "us", "bound on it, in time at the bandwidth") \
	P(extra_acked_in_startup, 1, 0, 1, "bool", "use it in STARTUP too, over one or two rounds") \
	/* A segment of 1500 bytes at 1.2 Mbit/s takes 10 ms; two at a time would be a burst. */ \
	P(min_tso_rate, V##_MIN_TSO_RATE, 0, 1000000000, "bit/s", "bursts of a single segment below this pacing rate") \
	P(tso_rtt_shift, V##_TSO_RTT_SHIFT, 0, 15, "log2 us", "RTT at which the burst's RTT term halves; 0: no such term") \
	/* A shallow threshold, as in data centres, is what ECN's rules are made for: hence the RTT. */ \
	P(ecn_enable, 0, 0, 1, "bool", "respond to CE marks as of a shallow threshold (DCTCP, L4S)") \
	P(ecn_max_rtt_us, 5000, 0, 524287, "us", "use ECN up to this minimum RTT; 0: at any") \
	P(ecn_alpha_gain, 16, 0, 255, "1/256", "gain of the mean CE ratio: 1/16") \
	P(ecn_alpha_init, 256, 0, 256, "1/256", "CE ratio assumed at the start")	\
	P(ecn_factor, 85, 0, 255, "1/256", "cut of inflight_lo at a CE ratio of 1: 1/3; 0: none") \
	P(ecn_thresh, 128, 0, 255, "1/256", "CE ratio that says inflight is too high: 50 %; 0: none does") \
	P(ecn_reprobe_gain, V##_ECN_REPROBE_GAIN, 0, 511, "1/256", "first growth of inflight_hi when CE marks cease; 0: no such probe") \
	P(undo, 1, 0, 1, "bool", "revert the model when a recovery proves spurious") \
	P(fast_path, V##_FAST_PATH, 0, 1, "bool", "skip the model on uneventful app-limited ACKs") \
	P(renew_equal_rtt, V##_RENEW_EQUAL_RTT, 0, 1, "bool", "an RTT equal to the minimum renews it; Chromium and v3: 0")

#define BBR2_NAMES(P) BBR2_PARAMS(P, BBR2)
/* clang-format on */

CCA_FAMILY_PARAMS(BBR2_NAMES);

#endif /* BBR2_PARAMS_H */
