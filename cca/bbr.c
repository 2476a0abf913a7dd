// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * BBR, version 1: pace at the measured bottleneck bandwidth, keep about two BDP in flight.
 *
 * Model, updated by each ACK:
 *
 *	bw          = max over 10 round trips of (delivered / elapsed)
 *	min_rtt     = min over 10 s of rtt
 *	pacing_rate = 0.99 * pacing_gain * bw
 *	cwnd        = cwnd_gain * bw * min_rtt + aggregation + room for bursts, at least 4
 *
 *	           pacing gain   window gain
 *	STARTUP    2.89          2.89     until bw grew < 25 % in each of 3 rounds
 *	DRAIN      0.35          2.89     until inflight <= BDP
 *	PROBE_BW   1.25 0.75 1 1 1 1 1 1   2     a phase lasts about one min_rtt
 *	PROBE_RTT  1             1, cwnd <= 4    200 ms and a round
 *
 *	             |
 *	             v
 *	.------> STARTUP
 *	|            | pipe is full
 *	|            v
 *	|          DRAIN
 *	|            | inflight <= BDP
 *	|            v
 *	|        PROBE_BW  <--.
 *	|            |        |      from any state when min_rtt is 10 s old;
 *	|            v        |      back to STARTUP if the pipe was not full
 *	'------- PROBE_RTT ---'
 *
 * Loss does not lower bw. The lost segments are subtracted from the window, one round of recovery
 * conserves packets, and then the window is restored. Steady heavy loss at a constant rate is taken
 * as a policer, whose rate is then used (policer.h).
 *
 * Sources: Cardwell, Cheng, Gunn, Hassas Yeganeh and Jacobson, "BBR: Congestion-Based
 * Congestion Control", ACM Queue 14(5), 2016; Linux 6.12 net/ipv4/tcp_bbr.c, whose
 * arithmetic and order of steps are followed integer by integer.
 *
 * Facts:
 *	name	BBR
 *	family	BBRv1
 */
#include "cca.h"
#include "bbr1/core.h"

CCA_PARAMS_OF_FAMILY(BBR1_NAMES, CCA_NO_ROWS);

/* clang-format off */
#define BBR_PRESETS(PRESET) \
	PRESET(chromium, "BBRv1 of Chromium in Zhang's framework (BBR of Zhang)", BBR1_CHROMIUM) \
	PRESET(linux-4.9, "BBR as Linux 4.9 first had it (BBR of Borgli and Misund)", BBR1_LINUX_4_9)
/* clang-format on */
CCA_PRESETS(BBR_PRESETS);

static const struct bbr_rules bbr_rules = { BBR1_LINUX_6_12 };

CCA_MODULE(bbr, "bbr", TCP_CONG_NON_RESTRICTED, BBR1_HOOKS);
