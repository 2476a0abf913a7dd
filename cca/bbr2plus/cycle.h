/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * BBRv2+: its phases, when the bandwidth filter advances (Algorithm 1), and the switch between
 * the modes of BBRv2+ and BBRv2 (Algorithm 2).
 */
#ifndef BBR2PLUS_CYCLE_H
#define BBR2PLUS_CYCLE_H

/* ---- Algorithm 1 ---- */

static bool bbr2_policy_advances_with_probe(const struct bbr2 *bbr)
{
	return !bbr2plus_view(bbr)->is_plus;
}

/* The round's RTT is inflated: the bandwidth is less than the filter says. */
static bool bbr2plus_is_rtt_inflated(const struct sock *sk, const struct bbr2plus *plus)
{
	u32 least = param(sk, advance_by_min_rtt) ? plus->bbr.min_rtt_us
						  : minmax_get(&plus->rc_min_rtt);

	return plus->least_rtt != BBR2_UNSET &&
	       plus->least_rtt > ((u64)least * param(sk, fast_conv_rtt_thresh)) >> BBR_SCALE;
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

static void bbr2_policy_pick_wait(struct sock *sk, struct bbr2 *bbr)
{
	u32 rounds = param(sk, fast_conv_probe_cycle_base);

	bbr2_pick_wait_rounds(sk, bbr);
	rounds += cca_random_below(sk, param(sk, fast_conv_probe_cycle_random));
	bbr2plus_of(bbr)->wait_rounds = (s32)rounds;
	bbr2_pick_wait_us(sk, bbr);
}

static bool bbr2_policy_wait_is_over(const struct sock *sk, const struct bbr2 *bbr)
{
	const struct bbr2plus *plus = bbr2plus_view(bbr);

	return plus->is_plus ? plus->wait_rounds <= 0
			     : bbr2_phase_is_older_than(sk, bbr, bbr->probe_wait_us);
}

/* Is the RTT still what it was, but for a share in 1/256? */
static bool bbr2plus_has_not_risen(const struct sock *sk, u32 rtt_us, u32 was_us, u32 share)
{
	u32 rise = (u32)(((u64)was_us * share) >> BBR_SCALE);

	return rtt_us <= (u64)was_us + min(rise, param(sk, fast_conv_rtt_error_us));
}

/* ProbeTry's verdict. */
static bool bbr2plus_may_go_up(const struct sock *sk, const struct bbr2plus *plus)
{
	u32 share = param(sk, fast_conv_preup_rtt_thresh);

	if (param(sk, copa_style))
		return bbr2plus_has_not_risen(sk, plus->least_rtt, plus->last_least_rtt, share);
	return bbr2plus_has_not_risen(sk, plus->mean_rtt, plus->last_mean_rtt, share);
}

/* The last round is that in which UP's first segments were acknowledged. */
static bool bbr2plus_may_go_up_again(const struct sock *sk, const struct bbr2plus *plus)
{
	return bbr2plus_has_not_risen(sk, plus->last_least_rtt, plus->least_rtt_before_up,
				      param(sk, fast_conv_probe_again_thresh));
}

static void bbr2_policy_up_begins(struct bbr2 *bbr, u32 bw)
{
	struct bbr2plus *plus = bbr2plus_of(bbr);

	(void)bw;
	plus->least_rtt_before_up = plus->least_rtt;
}

/* Enough in flight: a round more to see what that does to the RTT. */
static void bbr2_policy_up(struct sock *sk, struct bbr2 *bbr, u32 in_net, u32 bw)
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

static bool bbr2_policy_is_probing_phase(const struct bbr2 *bbr)
{
	return bbr->phase != BBR2_DOWN && bbr->phase != BBR2_CRUISE &&
	       bbr->phase != BBR2PLUS_DOWN_SLIGHTLY;
}

static u32 bbr2_policy_phase_gain(const struct sock *sk, const struct bbr2 *bbr)
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

static bool bbr2_policy_phase(struct sock *sk, struct bbr2 *bbr, u32 in_net, u32 max_bw, u32 bw)
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
	u64 least = min_rtt;

	if (!plus->is_plus) {
		least += (reference * param(sk, mode_switch_rtt_low_thresh)) >> BBR_SCALE;
		return plus->cruise_rtt <= least;
	}
	if (!by_min_rtt)
		least = min(min_rtt, plus->last_cruise_rtt);
	least += (reference * param(sk, mode_switch_rtt_high_thresh)) >> BBR_SCALE;
	return plus->cruise_rtt > least;
}

/* To BBRv2, which takes back in STARTUP what had been yielded; or back to BBRv2+. */
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
}

/* The beginning of a CRUISE is the end of the last. */
static void bbr2_policy_cruise_begins(struct sock *sk, struct bbr2 *bbr)
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

#endif /* BBR2PLUS_CYCLE_H */
