// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * BBR2plus (BBRv2+ of Yang and others): BBRv2 that probes as often as BBRv1, guided by the RTT.
 *
 * The model is BBRv2's (bbr2.c). BBRv2+ adds, in its own mode:
 *
 *	ProbeTry      before UP, a round at gain 1.1 (PRE_UP) and one at 1.0 (GUARD), whose RTT
 *	              tells whether pushing queues: if so, drain gently (DOWN_SLIGHTLY, 0.9)
 *	continuous    after UP, one more round (POST_UP): if the RTT has not risen, UP again
 *	often         8 to 11 rounds of CRUISE between probes, instead of 2 to 3 s
 *	Algorithm 1   the bandwidth filter advances, once a round of CRUISE or DOWN, when
 *	              rtt of the round > 1.1 * minimum of the last 4 rounds, or after 25 rounds
 *	Algorithm 2   rtt of CRUISE > min_rtt + 10 % in 2 cycles: loss-based flows queue; behave as
 *	              BBRv2, beginning with STARTUP. <= min_rtt + 5 % in 4 cycles: back
 *	Algorithm 3   cwnd += bw * 2 * jitter, when jitter > 0.4 * min_rtt;
 *	              jitter = max over 4 rounds of TCP's mean deviation
 *
 *	                   PROBE_BW                .-- rtt rose: DOWN_SLIGHTLY --> CRUISE
 *	   DOWN --> CRUISE --> REFILL --> PRE_UP --> GUARD --> UP --> POST_UP
 *	    ^                                                   ^        |
 *	    |                                                   '--------| rtt did not rise
 *	    '------------------- rtt rose, or loss too high -------------'
 *
 * By default everything is as in the published module, which differs from the paper (docs/cca/
 * bbr2plus.md has the list); the preset `paper` gives the algorithm as printed. Its oddities
 * are kept: GUARD compares a mean over the connection with its first RTT, since a round that
 * shifts the minimum RTTs never shifts the means; and the reference of Algorithm 2's percentages
 * is the RTT of the last ACK, except in one round of 1500.
 *
 * Sources: Yang, Wu, Li, Liu, Pau and Xie, "BBRv2+: Towards Balancing Aggressiveness and Fairness
 * with Delay-based Bandwidth Probing", Computer Networks 206, 2022; github.com/yangfurong/BBRv2plus,
 * tcp_bbr2plus.c, whose arithmetic and order of steps are followed integer by integer.
 *
 * Facts:
 *	name	BBRv2+
 *	family	BBRv2
 */
#include "cca.h"
#include "bbr2/core.h"
#include "bbr2plus/state.h"
#include "bbr2plus/rtt.h"

/* ---- Algorithm 1 ---- */

/* In the mode of BBRv2+ the filter advances by these rules, not when a probe ends. */
static bool bbr2plus_keeps_bw_filter(const struct bbr2 *bbr)
{
	return bbr2plus_view(bbr)->is_plus;
}

/* The round's RTT is inflated: the bandwidth is less than the filter says. */
static bool bbr2plus_is_rtt_inflated(const struct sock *sk, const struct bbr2plus *plus)
{
	u32 min_rtt = param(sk, advance_by_min_rtt) ? plus->bbr.min_rtt_us
						    : minmax_get(&plus->rc_min_rtt);

	return plus->round_rtt != BBR2_UNSET &&
	       plus->round_rtt > ((u64)min_rtt * param(sk, fast_conv_rtt_thresh)) >> BBR_SCALE;
}

/* Once a round of CRUISE or DOWN. */
static void bbr2plus_try_to_advance(const struct sock *sk, struct bbr2plus *plus)
{
	if (!plus->is_plus || !plus->bbr.round_start)
		return;
	if (!bbr2plus_is_rtt_inflated(sk, plus) &&
	    plus->rounds_since_advance < param(sk, fast_conv_rounds_to_advance_bw_filter))
		return;
	bbr2_advance_bw_filter(&plus->bbr);
	plus->rounds_since_advance = 0;
}

/* ---- Probing ---- */

static void bbr2plus_pick_wait(struct sock *sk, struct bbr2 *bbr)
{
	u32 rounds = param(sk, fast_conv_probe_cycle_base);

	rounds += cca_random_below(sk, param(sk, fast_conv_probe_cycle_random));
	bbr2plus_of(bbr)->wait_rounds = (s32)rounds;
}

static bool bbr2plus_is_wait_over(const struct sock *sk, const struct bbr2 *bbr)
{
	const struct bbr2plus *plus = bbr2plus_view(bbr);

	return plus->is_plus ? plus->wait_rounds <= 0 : bbr2_is_probe_wait_over(sk, bbr);
}

/* Has the RTT risen by no more than a share of it, in 1/256? */
static bool bbr2plus_has_not_risen(const struct sock *sk, u32 rtt_us, u32 was_us, u32 share)
{
	u32 rise = (u32)(((u64)was_us * share) >> BBR_SCALE);

	return rtt_us <= (u64)was_us + min(rise, param(sk, fast_conv_rtt_error_us));
}

/* ProbeTry: has the gentle push not queued anything? */
static bool bbr2plus_may_go_up(const struct sock *sk, const struct bbr2plus *plus)
{
	u32 share = param(sk, fast_conv_preup_rtt_thresh);

	if (param(sk, copa_style))
		return bbr2plus_has_not_risen(sk, plus->round_rtt, plus->last_round_rtt, share);
	return bbr2plus_has_not_risen(sk, plus->mean_rtt, plus->last_mean_rtt, share);
}

/* The last round is that in which UP's first segments were acknowledged. */
static bool bbr2plus_may_go_up_again(const struct sock *sk, const struct bbr2plus *plus)
{
	return bbr2plus_has_not_risen(sk, plus->last_round_rtt, plus->round_rtt_before_up,
				      param(sk, fast_conv_probe_again_thresh));
}

static void bbr2plus_begin_up(struct bbr2 *bbr, u32 bw)
{
	struct bbr2plus *plus = bbr2plus_of(bbr);

	(void)bw;
	plus->round_rtt_before_up = plus->round_rtt;
}

/* With enough in flight, wait another round to see what that does to the RTT. */
static void bbr2plus_step_up(struct sock *sk, struct bbr2 *bbr, u32 in_net, u32 bw)
{
	(void)bw;
	if (!bbr2_has_queued_in_up(sk, bbr, in_net))
		return;
	if (!bbr2plus_of(bbr)->is_plus) {
		bbr2_finish_up(sk, bbr);
		return;
	}
	bbr2_start_round(sk, bbr);
	bbr2_set_phase(bbr, BBR2PLUS_POST_UP);
}

static bool bbr2plus_is_probing_phase(const struct bbr2 *bbr)
{
	return bbr->phase != BBR2_DOWN && bbr->phase != BBR2_CRUISE &&
	       bbr->phase != BBR2PLUS_DOWN_SLIGHTLY;
}

static u32 bbr2plus_phase_gain(const struct sock *sk, const struct bbr2 *bbr)
{
	if (bbr->phase == BBR2PLUS_PRE_UP)
		return param(sk, pacing_gain_pre_up);
	if (bbr->phase == BBR2PLUS_DOWN_SLIGHTLY)
		return param(sk, pacing_gain_down_slightly);
	return BBR_UNIT;
}

/* A round of ProbeTry, or the one after UP, is over. */
static void bbr2plus_end_round(struct sock *sk, struct bbr2plus *plus, u32 bw)
{
	struct bbr2 *bbr = &plus->bbr;

	if (bbr->phase == BBR2_REFILL)
		bbr2_set_phase(bbr, BBR2PLUS_PRE_UP);
	else if (bbr->phase == BBR2PLUS_PRE_UP)
		bbr2_set_phase(bbr, BBR2PLUS_GUARD);
	else if (bbr->phase == BBR2PLUS_GUARD && bbr2plus_may_go_up(sk, plus))
		bbr2_start_up(sk, bbr, bw);
	else if (bbr->phase == BBR2PLUS_GUARD)
		bbr2_start_down_in(sk, bbr, BBR2PLUS_DOWN_SLIGHTLY);
	else if (bbr2plus_may_go_up_again(sk, plus))
		bbr2_start_up(sk, bbr, bw);
	else
		bbr2_start_down(sk, bbr);
}

static bool bbr2plus_step_phase(struct sock *sk, struct bbr2 *bbr, u32 in_net, u32 max_bw, u32 bw)
{
	struct bbr2plus *plus = bbr2plus_of(bbr);

	switch (bbr->phase) {
	case BBR2_UP:
		return false;
	case BBR2_CRUISE:
	case BBR2_DOWN:
		bbr2plus_try_to_advance(sk, plus);
		return false;
	case BBR2PLUS_DOWN_SLIGHTLY:
		bbr2plus_try_to_advance(sk, plus);
		bbr2_step_down(sk, bbr, in_net, max_bw);
		return true;
	case BBR2_REFILL:
		if (!plus->is_plus)
			return false;
		break;
	}
	if (bbr->round_start)
		bbr2plus_end_round(sk, plus, bw);
	return true;
}

/* ---- Algorithm 2 ---- */

/* Did the last CRUISE say that the other mode is the right one? */
static bool bbr2plus_is_other_mode_due(const struct sock *sk, const struct bbr2plus *plus)
{
	bool by_min_rtt = param(sk, mode_switch_by_min_rtt);
	u32 min_rtt = plus->bbr.min_rtt_us;
	u64 reference = by_min_rtt ? min_rtt : plus->reference_rtt;
	u64 limit = min_rtt;

	if (!plus->is_plus) {
		limit += (reference * param(sk, mode_switch_rtt_low_thresh)) >> BBR_SCALE;
		return plus->cruise_rtt <= limit;
	}
	if (!by_min_rtt)
		limit = min(min_rtt, plus->last_cruise_rtt);
	limit += (reference * param(sk, mode_switch_rtt_high_thresh)) >> BBR_SCALE;
	return plus->cruise_rtt > limit;
}

/* To BBRv2, which takes back in STARTUP the share that was lost; or back to BBRv2+. */
static void bbr2plus_switch_mode(struct bbr2plus *plus)
{
	plus->cycles_in_favour = 0;
	plus->is_plus = !plus->is_plus;
	if (plus->is_plus)
		return;
	plus->cruise_rtt = BBR2_UNSET;
	plus->bbr.mode = BBR2_STARTUP;
	plus->bbr.full_bw = 0;
	plus->bbr.full_bw_cnt = 0;
	plus->bbr.full_bw_reached = false;
	plus->bbr.startup_end = BBR2_NOT_FULL;
}

/* The beginning of a CRUISE is the end of the last. */
static void bbr2plus_begin_cruise(const struct sock *sk, struct bbr2 *bbr)
{
	struct bbr2plus *plus = bbr2plus_of(bbr);
	u32 to_bbr2 = param(sk, switch_to_bbr2_thresh);
	u32 cycles = plus->is_plus ? to_bbr2 : param(sk, switch_to_bbr2p_thresh);

	if (to_bbr2 && plus->cruise_rtt != BBR2_UNSET && plus->last_cruise_rtt != BBR2_UNSET) {
		plus->cycles_in_favour =
			bbr2plus_is_other_mode_due(sk, plus) ? plus->cycles_in_favour + 1 : 0;
		if (plus->cycles_in_favour >= cycles)
			bbr2plus_switch_mode(plus);
	}
	plus->last_cruise_rtt = plus->cruise_rtt;
	plus->cruise_rtt = BBR2_UNSET;
}

static const struct bbr2_rules bbr2_rules = {
	.init = bbr2plus_init,
	.ack_begins = bbr2plus_begin_ack,
	.bw_seen = bbr2plus_see_bw,
	.model_updated = bbr2plus_update_rtts,
	.keeps_bw_filter = bbr2plus_keeps_bw_filter,
	.pick_wait = bbr2plus_pick_wait,
	.is_wait_over = bbr2plus_is_wait_over,
	.up_begins = bbr2plus_begin_up,
	.step_up = bbr2plus_step_up,
	.step_phase = bbr2plus_step_phase,
	.phase_gain = bbr2plus_phase_gain,
	.is_probing_phase = bbr2plus_is_probing_phase,
	.cruise_begins = bbr2plus_begin_cruise,
	.drained = bbr2plus_drained,
	.bdp_rtt = bbr2plus_bdp_rtt,
	.cwnd_extra = bbr2plus_cwnd_extra,
};

/* clang-format off */
#define BBR2PLUS_VARS(V)							\
	BBR2_VARS(V)								\
	V(is_plus, bbr2plus_view(bbr)->is_plus, "bool", "the mode: BBRv2+, or BBRv2") \
	V(round_rtt, cca_set_or_not(bbr2plus_view(bbr)->round_rtt), "us", "RTT of the last round")
/* clang-format on */

CCA_VARS(struct bbr2, bbr, bbr2_of(sk), BBR2PLUS_VARS);
CCA_STATES(BBR2_STATES, "PROBE_BW_PRE_UP", "PROBE_BW_GUARD", "PROBE_BW_POST_UP",
	   "PROBE_BW_DOWN_SLIGHTLY");
CCA_MODULE(bbr2plus, "bbr2plus", TCP_CONG_NON_RESTRICTED, BBR2_HOOKS);
