// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * BBR3 (BBR version 3): BBRv2 whose probes end on a plateau instead of a queue, and gentler gains.
 *
 * Model, states and their diagram are those of BBRv2 (bbr2.c). What differs:
 *
 *	            BBRv2                      BBRv3
 *	STARTUP     2.89 pacing, 2.89 window   2.77 (4 ln 2), 2
 *	            8 lossy ACKs end it        6; inflight_hi is then at least what was delivered
 *	            bw grew < 25 %: seen at    seen at each ACK: the round counts from the last
 *	            the end of a round         sample that was 25 % more
 *	UP          until 1.25 BDP in flight   until bw has ceased to grow, as in STARTUP, while
 *	            (and a min_rtt)            inflight_hi was not what limited it
 *	            window gain 2              2.25
 *	DOWN        0.75                       0.91 (232/256 = 0.906)
 *	ECN         no early probe             when marks cease: first growth 1/2 of inflight_hi
 *	TLP         not seen                   the loss that a tail loss probe repaired counts
 *	min_rtt     an equal RTT renews it     only a smaller one
 *	bursts      1 segment below 1.2 Mbit/s 2 segments
 *
 * Flows that fill a deep buffer together thus converge to equal shares, and a flow leaves UP
 * with a shorter queue. Linux users of Google's tree run this version; its name there is "bbr".
 *
 * Sources: Cardwell et al., "BBRv3: Algorithm Bug Fixes and Public Internet Deployment", IETF 117,
 * 2023; google/bbr, branch v3, net/ipv4/tcp_bbr.c, whose arithmetic and order of steps are
 * followed integer by integer. draft-ietf-ccwg-bbr differs in drain_gain (0.5) and in leaving
 * DRAIN after three rounds.
 *
 * Facts:
 *	name	BBRv3
 *	family	BBRv2
 */
#include "cca.h"
#include "bbr2/core.h"
#include "bbr2/plateau.h"

/* The defaults in which variants of BBRv2 differ (bbr2/params.h has those of v2alpha). */
enum {
	BBR3_HIGH_GAIN = 710, /* 4 ln 2 = 2.77: doubles the rate with a window gain of 2 */
	BBR3_STARTUP_CWND_GAIN = 512,
	BBR3_PACING_GAIN_DOWN = 232,
	BBR3_PROBE_CWND_GAIN = 64,
	BBR3_FULL_LOSS_CNT = 6,
	BBR3_ECN_REPROBE_GAIN = 128,
	BBR3_MIN_TSO_RATE = 0,
	BBR3_RENEW_EQUAL_RTT = 0,
	BBR3_DRAIN_GAIN = BBR2_DRAIN_GAIN,
	BBR3_TSO_RTT_SHIFT = BBR2_TSO_RTT_SHIFT,
	BBR3_FAST_PATH = BBR2_FAST_PATH,
};

#define BBR3_PARAMS(P) BBR2_PARAMS(P, BBR3)

CCA_PARAMS_OF_FAMILY(BBR3_PARAMS, CCA_NO_ROWS);
CCA_STATE_LARGE(bbr3, struct bbr2);

static struct bbr2 *bbr2_of(struct sock *sk)
{
	return bbr3_state(sk);
}

/* As v2alpha's, but samples count as they come, and the verdict can be had more than once. */
static void bbr3_check_full_bw(const struct sock *sk, struct bbr2 *bbr,
			       const struct rate_sample *rs, u32 bw)
{
	if (bbr->full_bw_now || rs->is_app_limited)
		return;
	if (bbr2_has_grown(sk, bbr, bw))
		bbr2_restart_full_bw(bbr, bw);
	else if (bbr->round_start)
		bbr2_count_without_growth(sk, bbr);
}

static const struct bbr2_rules bbr2_rules = {
	.latest_spans_ack = true,
	.keeps_probe_credit = true,
	.alpha_needs_ecn = true,
	.ce_above_thresh = true,
	.hi_as_delivered = true,
	.rto_uses_cwnd = true,
	.rto_restarts_count = true,
	.tlp_is_loss = true,
	.check_full_bw = bbr3_check_full_bw,
	.up_begins = bbr2_restart_full_bw,
	.step_up = bbr2_step_up_to_plateau,
};

CCA_STATES(BBR2_STATES);
CCA_VARS(struct bbr2, bbr, bbr2_of(sk), BBR2_VARS);
CCA_MODULE(bbr3, "bbr3", TCP_CONG_NON_RESTRICTED, BBR2_HOOKS);
