// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * BBR2 (BBR version 2, v2alpha): the model of BBR, within bounds that loss and ECN set.
 *
 * Model, updated by each ACK:
 *
 *	bw_hi       = max over the last two probing cycles of (delivered / elapsed)
 *	bw          = min(bw_hi, bw_lo)
 *	min_rtt     = min over 10 s of rtt, looked at every 5 s
 *	inflight_hi = the most in flight that a probe found safe; less 15 % when cruising
 *	bw_lo, inflight_lo = max(delivered in the last round, 0.7 * itself) after each lossy round
 *	              that is not of our making; forgotten when the next probe begins
 *	pacing_rate = 0.99 * pacing_gain * bw
 *	cwnd        = min(cwnd_gain * bw * min_rtt + aggregation, inflight_hi, inflight_lo), at least 4
 *
 *	            pacing  window
 *	STARTUP     2.89    2.89   until bw grew < 25 % in each of 3 rounds, or a round in
 *	                           recovery had 8 lossy ACKs and more than 2 % loss
 *	DRAIN       0.34    2.89   until inflight <= BDP
 *	UP          1.25    2      until inflight >= 1.25 BDP, loss > 2 %, or a bound that
 *	                           had been too much is reached again; inflight_hi grows by
 *	                           1, 2, 4, ... segments a round while it is the limit
 *	DOWN        0.75    2      until inflight <= BDP and <= 0.85 inflight_hi
 *	CRUISE      1       2      until 2 to 3 s, or as many rounds as the BDP has segments
 *	                           (63 at most), have passed since DOWN began
 *	REFILL      1       2      a round
 *	PROBE_RTT   1       1, cwnd <= 0.5 BDP    200 ms and a round
 *
 *	      |
 *	      v                  PROBE_BW
 *	   STARTUP --> DRAIN --> DOWN --> CRUISE --> REFILL --> UP
 *	      ^                   ^                             |
 *	      |                   '-----------------------------'
 *	      '------ PROBE_RTT: from any state when min_rtt is 5 s old; back to CRUISE,
 *	              or to STARTUP if the pipe was not full
 *
 * ECN (off by default: only marks from shallow thresholds mean what this takes them for) sets the
 * same bounds: inflight_lo *= 1 - alpha/3 each marked round, alpha being the mean CE ratio as in
 * DCTCP; 50 % marks are too much for a probe, or, in two rounds, for STARTUP.
 *
 * Sources: Cardwell et al., "BBR v2: A Model-based Congestion Control", IETF 104 and 106, 2019;
 * google/bbr, branch v2alpha, net/ipv4/tcp_bbr2.c, whose arithmetic and order of steps are
 * followed integer by integer. alpha and beta of Yang et al. are loss_thresh and beta.
 */
#include "cca.h"
#include "bbr2/params.h"
#include "bbr2/state.h"

/* clang-format off */
#define BBR2_OWN_PARAMS(P)							\
	BBR2_PARAMS(P)								\
	P(up_full_round, 0, 0, 1, "bool", "UP ends on a queue after a round, and with 2 segments and ACK aggregation above bw_probe_pif_gain, as in Chromium; 0: after a min_rtt")

/*
 * Chromium's BBRv2 of 2019 and 2020 (quiche, bbr2_*.cc) as in Zhang's framework (DrainQueueCongestion, quic_bbr2_*.cc).
 * Where v2alpha cuts a fraction to 1/256 this takes the nearest: beta 0.3 is 77, drain_gain 1/2.885 is 89.
 */
#define BBR2_CHROMIUM(V)							\
	V(drain_gain, 89)							\
	V(pacing_margin_percent, 0)						\
	V(beta, 77)								\
	V(probe_rtt_win_ms, 10000)						\
	V(extra_acked_in_startup, 0)						\
	V(undo, 0)								\
	V(fast_path, 0)								\
	V(renew_equal_rtt, 0)							\
	V(burst_budget, 0)							\
	V(count_departures, 0)							\
	V(loss_by_round, 1)							\
	V(probe_loss_cnt, 2)							\
	V(down_max_rtt, 1)							\
	V(probe_rtt_after_down, 1)						\
	V(probe_rtt_round, 0)							\
	V(up_full_round, 1)

#define BBR2_PRESETS(PRESET)							\
	PRESET(chromium, "BBRv2 of Chromium in Zhang's framework (BBR v2 of Zhang)", BBR2_CHROMIUM)
/* clang-format on */

CCA_PARAMS(BBR2_OWN_PARAMS);
CCA_PRESETS(BBR2_PRESETS);
CCA_STATE_LARGE(bbr2, struct bbr2);

static struct bbr2 *bbr2_of(struct sock *sk)
{
	return bbr2_state(sk);
}

#include "bbr2/v2alpha.h"
#include "bbr2/core.h"
#include "bbr2/plain.h"
#include "bbr2/plateau.h"

static void bbr2_policy_up_begins(struct bbr2 *bbr, u32 bw)
{
	(void)bw;
	bbr->up_has_round = false;
}

/* Chromium: a round has passed, and there is more in flight than aggregation explains. */
static bool bbr2_has_queued_for_a_round(const struct sock *sk, struct bbr2 *bbr, u32 in_net)
{
	u32 full = bbr2_inflight(sk, bbr, bbr2_max_bw(bbr), param(sk, bw_probe_pif_gain));

	bbr->up_has_round |= bbr->round_start;
	return bbr->up_has_round && in_net >= full + 2 + bbr2_ack_aggregation_cwnd(sk, bbr);
}

/* With 1.25 BDP in flight for a while, the probe has shown what there is. */
static void bbr2_policy_up(struct sock *sk, struct bbr2 *bbr, u32 in_net, u32 bw)
{
	bool has_queued = param(sk, up_full_round) ? bbr2_has_queued_for_a_round(sk, bbr, in_net)
						   : bbr2_has_queued_in_up(sk, bbr, in_net);

	(void)bw;
	if (has_queued)
		bbr2_finish_up(sk, bbr);
}

CCA_MODULE(bbr2, "bbr2", TCP_CONG_NON_RESTRICTED, BBR2_HOOKS);
