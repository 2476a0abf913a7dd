/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * BBRv1 family: the parameters that every variant has, and Chromium's values of them.
 *
 * The second argument of BBR1_PARAMS is the prefix of the defaults in which variants differ: BBR1 for those
 * of Linux 6.12, below. Fields for gains have 10 bits.
 */
#ifndef BBR1_PARAMS_H
#define BBR1_PARAMS_H

#include "cca.h"

/* Defaults of Linux 6.12. */
enum {
	BBR1_DRAIN_GAIN = 88, /* ln 2 / 2: drains in a round what STARTUP has queued */
	BBR1_UP_GAIN = 320,   /* 1.25 for a min_rtt queues a quarter of the BDP ... */
	BBR1_DOWN_GAIN = 192, /* ... which 0.75 drains in another */
	BBR1_BW_WINDOW =
		10, /* longer than a cycle of 8, so that each probe is remembered until the next */
	BBR1_MIN_RTT_WINDOW = 10,
	BBR1_PROBE_RTT_MS = 200,
	BBR1_EXTRA_ACKED_GAIN = 256,
	BBR1_COUNT_DEPARTURES = 1,
	BBR1_RENEW_EQUAL_RTT = 0,
	BBR1_EXTRA_ACKED_ROUNDS = 5,
};

/* clang-format off */
#define BBR1_PARAMS(P, V)							\
	/*									\
	 * 2/ln 2 is the smallest gain at which paced sending doubles its rate	\
	 * each round trip, and sends as many packets in it, as slow start	\
	 * does by its window.							\
	 */									\
	P(startup_gain, 739, 256, 1023, "1/256", "pacing and window gain in STARTUP: 2/ln 2") \
	/* Two BDP: one is in flight, the other covers ACKs that come late or in bunches. */ \
	P(cwnd_gain, 512, 256, 1023, "1/256", "window gain in PROBE_BW: room for delayed ACKs") \
	/* Where every other segment is acknowledged, fewer than four would stall the flow. */ \
	P(cwnd_min, 4, 1, 1000, "segments", "minimum window, and window in PROBE_RTT") \
	/*									\
	 * Rounds can pass without growth because the receiver's window opens	\
	 * (one), is filled (one) and only then shows in the samples (one).	\
	 */									\
	P(full_bw_thresh, 320, 256, 1023, "1/256", "growth of bandwidth per round that is still growth") \
	P(full_bw_rounds, 3, 1, 3, "round trips", "rounds without it after which the pipe is full") \
	P(lt_bw, 1, 0, 1, "bool", "look for token-bucket policers (long-term bandwidth)") \
	P(burst_budget, 1, 0, 1, "bool",					\
	  "room for bursts in windows and inflight; 0: gain times BDP, at least cwnd_min, as Chromium") \
	P(drain_by_current, 0, 0, 1, "bool",					\
	  "draining ends by what is in flight after the ACK, as in Chromium, not before it") \
	P(recovery_window, 0, 0, 1, "bool",					\
	  "recovery as in Chromium: a second window, which grows again after a round; lt_bw is off then") \
	P(drain_gain, V##_DRAIN_GAIN, 1, 256, "1/256", "pacing gain in DRAIN")	\
	P(probe_up_gain, V##_UP_GAIN, 256, 1023, "1/256", "pacing gain of the probing phase") \
	P(probe_down_gain, V##_DOWN_GAIN, 1, 256, "1/256", "pacing gain of the draining phase") \
	P(bw_window, V##_BW_WINDOW, 1, 1000, "round trips", "window of the bandwidth maximum") \
	/*									\
	 * Routes change within tens of seconds, and most applications pause	\
	 * within 10 s, which shows min_rtt for free. 200 ms let flows with	\
	 * different RTTs drain the queue together, and cost 2 % of the time.	\
	 */									\
	P(min_rtt_window_s, V##_MIN_RTT_WINDOW, 1, 3600, "s", "age at which the minimum RTT is measured again") \
	P(probe_rtt_ms, V##_PROBE_RTT_MS, 0, 10000, "ms", "time at the minimum window in PROBE_RTT; 0: never probe") \
	/*									\
	 * On average, pace a little below the bandwidth: queues stay short and	\
	 * the link stays busy. The bandwidth is a maximum and so tends to be too	\
	 * high, and at exactly that rate a queue, once there, would never drain.	\
	 */									\
	P(pacing_margin_percent, 1, 0, 50, "%", "how far below the bandwidth to pace") \
	P(pacing_header_bytes, 0, 0, 100, "bytes",				\
	  "headers that a segment counts for in the pacing rate; 52 in kernels before 4.20") \
	P(extra_acked_gain, V##_EXTRA_ACKED_GAIN, 0, 1023, "1/256", "share of ACK aggregation added to the window") \
	P(count_departures, V##_COUNT_DEPARTURES, 0, 1, "bool",			\
	  "judge inflight as of the next departure, not as it is; Chromium and Linux before 4.20: 0") \
	P(renew_equal_rtt, V##_RENEW_EQUAL_RTT, 0, 1, "bool",			\
	  "a sample equal to the minimum RTT makes it young again; Chromium and Linux since 4.20: 0") \
	P(extra_acked_rounds, V##_EXTRA_ACKED_ROUNDS, 1, 31, "round trips",	\
	  "half of the window of the maximum of ACK aggregation")		\
	P(rules_4_9, 0, 0, 1, "bool", "the rules of Linux 4.9 in all that no other parameter names")

#define BBR1_NAMES(P) BBR1_PARAMS(P, BBR1)

/* In variants that do not cruise at the bandwidth. */
#define BBR1_CRUISE_GAIN_ROW(P, def)						\
	P(cruise_gain, def, 256, 1023, "1/256", "pacing gain of the other six phases")

/*
 * BBR of Linux 4.9: paces IP packets without a margin (what is missing is the link's header), counts neither departures
 * nor ACK aggregation, and has the rules of bbr_rules_4_9 (state.h).
 */
#define BBR1_LINUX_4_9(V)							\
	V(pacing_margin_percent, 0)						\
	V(pacing_header_bytes, 52)						\
	V(extra_acked_gain, 0)							\
	V(count_departures, 0)							\
	V(renew_equal_rtt, 1)							\
	V(rules_4_9, 1)

/*
 * Chromium's BBRv1 (quiche, bbr_sender.cc) with the gains that Zhang's framework gives it (DrainQueueCongestion,
 * proto_bbr_sender.cc): STARTUP at 2 and DRAIN at a half, where Chromium has 2.885 and its inverse.
 */
#define BBR1_CHROMIUM(V)							\
	V(startup_gain, 512)							\
	V(drain_gain, 128)							\
	V(pacing_margin_percent, 0)						\
	V(lt_bw, 0)								\
	V(burst_budget, 0)							\
	V(count_departures, 0)							\
	V(drain_by_current, 1)							\
	V(recovery_window, 1)							\
	V(renew_equal_rtt, 0)							\
	V(extra_acked_rounds, 5)
/* clang-format on */

CCA_FAMILY_PARAMS(BBR1_NAMES);

#endif /* BBR1_PARAMS_H */
