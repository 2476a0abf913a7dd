// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * BBR3 (BBR version 3): BBRv2 whose probes end on a plateau rather than a queue, and gentler gains.
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
 * so that flows which fill a deep buffer together converge to equal shares and a flow leaves UP
 * with less of a queue. This is what Linux users of Google's tree run; it calls itself "bbr".
 *
 * Sources: Cardwell et al., "BBRv3: Algorithm Bug Fixes and Public Internet Deployment", IETF 117,
 * 2023; google/bbr, branch v3, net/ipv4/tcp_bbr.c, whose arithmetic and order of steps are
 * followed integer by integer. draft-ietf-ccwg-bbr differs in drain_gain (0.5) and in leaving
 * DRAIN after three rounds.
 */
#define BBR2_HIGH_GAIN	       710 /* 4 ln 2 = 2.77 */
#define BBR2_STARTUP_CWND_GAIN 512
#define BBR2_PACING_GAIN_DOWN  232
#define BBR2_PROBE_CWND_GAIN   64
#define BBR2_FULL_LOSS_CNT     6
#define BBR2_ECN_REPROBE_GAIN  128
#define BBR2_MIN_TSO_RATE      0
#define BBR2_RENEW_EQUAL_RTT   0

#include "cca.h"
#include "bbr2/params.h"
#include "bbr2/state.h"

CCA_PARAMS(BBR2_PARAMS);
CCA_STATE_LARGE(bbr3, struct bbr2);

/* What v3 does where v2alpha differs (state.h says what each is). */
enum {
	BBR2_LATEST_SPANS_ACK = 1,
	BBR2_KEEPS_PROBE_CREDIT = 1,
	BBR2_ALPHA_NEEDS_ECN = 1,
	BBR2_CE_AT_THRESH = 0,
	BBR2_HI_AS_DELIVERED = 1,
	BBR2_RTO_USES_CWND = 1,
	BBR2_RTO_RESTARTS_COUNT = 1,
	BBR2_TLP_IS_LOSS = 1,
};

static struct bbr2 *bbr2_of(struct sock *sk)
{
	return bbr3_state(sk);
}

#include "bbr2/core.h"
#include "bbr2/plain.h"

/* Look for growth beyond this bandwidth. */
static void bbr3_restart_full_bw(struct bbr2 *bbr, u32 bw)
{
	bbr->full_bw = bw;
	bbr->full_bw_cnt = 0;
	bbr->full_bw_now = false;
}

/* As v2alpha's, but samples count as they come, and the verdict can be had more than once. */
static void bbr2_policy_check_full_bw(const struct sock *sk, struct bbr2 *bbr,
				      const struct rate_sample *rs, u32 bw)
{
	u64 thresh = ((u64)bbr->full_bw * param(sk, full_bw_thresh)) >> BBR_SCALE;

	if (bbr->full_bw_now || rs->is_app_limited)
		return;
	if (bw >= thresh) {
		bbr3_restart_full_bw(bbr, bw);
		return;
	}
	if (!bbr->round_start)
		return;
	bbr->full_bw_cnt++;
	bbr->full_bw_now = bbr->full_bw_cnt >= param(sk, full_bw_cnt);
	bbr->full_bw_reached |= bbr->full_bw_now;
}

static void bbr2_policy_up_begins(struct bbr2 *bbr, u32 bw)
{
	bbr3_restart_full_bw(bbr, bw);
}

/* No verdict on the bandwidth while inflight_hi keeps it from growing. */
static void bbr2_policy_up(struct sock *sk, struct bbr2 *bbr, u32 in_net, u32 bw)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	(void)in_net;
	if (tcp_cwnd_limited_flag(tp) && tcp_snd_cwnd(tp) >= bbr->inflight_hi)
		bbr3_restart_full_bw(bbr, bw);
	else if (bbr->full_bw_now)
		bbr2_finish_up(sk, bbr);
}

CCA_MODULE(bbr3, "bbr3", TCP_CONG_NON_RESTRICTED, BBR2_HOOKS);
