/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * BBRv2+: what it learns from the RTT. Statistics of rounds, of CRUISE, and jitter.
 */
#ifndef BBR2PLUS_RTT_H
#define BBR2PLUS_RTT_H

/* Rounds in which the reference RTT is only lowered: one of so many. */
static const u32 bbr2plus_reference_rounds = 1500;

static bool bbr2plus_is_cruising(const struct bbr2 *bbr)
{
	return bbr->mode == BBR2_PROBE_BW && bbr->phase == BBR2_CRUISE;
}

static void bbr2_policy_init(const struct sock *sk, struct bbr2 *bbr)
{
	struct bbr2plus *plus = bbr2plus_of(bbr);

	minmax_reset(&plus->rc_min_rtt, 0, BBR2_UNSET);
	minmax_reset(&plus->jitter, 0, 0);
	plus->rounds = 0;
	plus->jitter_factor = param(sk, rtt_comp_startup_thresh);
	plus->last_mean_rtt = BBR2_UNSET;
	plus->mean_rtt = BBR2_UNSET;
	plus->last_least_rtt = BBR2_UNSET;
	plus->least_rtt = BBR2_UNSET;
	plus->least_rtt_before_up = BBR2_UNSET;
	plus->cruise_rtt = BBR2_UNSET;
	plus->last_cruise_rtt = 0;
	plus->reference_rtt = BBR2_UNSET;
	plus->cycles_in_favour = 0;
	plus->rounds_since_advance = 0;
	plus->stat_rounds = 0;
	plus->wait_rounds = 0;
	plus->is_plus = param(sk, fast_conv_on) != 0;
}

/* Counts rounds; sees each RTT, in either mode. */
static void bbr2_policy_ack_begins(struct bbr2 *bbr, const struct rate_sample *rs)
{
	struct bbr2plus *plus = bbr2plus_of(bbr);
	u32 rtt_us = (u32)rs->rtt_us;

	if (bbr->round_start) {
		plus->rounds++;
		plus->rounds_since_advance++;
		if (bbr2plus_is_cruising(bbr))
			plus->wait_rounds--;
	}
	if (rs->rtt_us <= 0)
		return;
	if (bbr2plus_is_cruising(bbr))
		plus->cruise_rtt = min(plus->cruise_rtt, rtt_us);
	if (plus->rounds % bbr2plus_reference_rounds)
		plus->reference_rtt = rtt_us;
	plus->reference_rtt = min(plus->reference_rtt, rtt_us);
}

static void bbr2_policy_bw_seen(struct bbr2 *bbr, u32 bw)
{
	if (bw >= bbr2_max_bw(bbr))
		bbr2plus_of(bbr)->rounds_since_advance = 0;
}

/* Least RTTs of this and the last statistic; true when a new one begins. */
static bool bbr2plus_update_least_rtt(const struct sock *sk, struct bbr2plus *plus, u32 rtt_us)
{
	u32 window = param(sk, rc_min_rtt_win_sz);
	bool is_new =
		plus->bbr.round_start && plus->stat_rounds + 1 >= param(sk, fast_conv_srtt_round);

	if (plus->least_rtt == BBR2_UNSET) {
		plus->least_rtt = rtt_us;
		plus->last_least_rtt = rtt_us;
		minmax_running_min(&plus->rc_min_rtt, window, plus->rounds, rtt_us);
		return false;
	}
	if (is_new) {
		minmax_running_min(&plus->rc_min_rtt, window, plus->rounds, plus->least_rtt);
		plus->last_least_rtt = plus->least_rtt;
		plus->least_rtt = rtt_us;
	} else {
		plus->least_rtt = min(plus->least_rtt, rtt_us);
	}
	return is_new;
}

/*
 * Smoothed RTTs. The module would begin a new one together with the least RTT, but does not come
 * here then (its `||`): the first RTT stays the last statistic, the mean runs on.
 */
static void bbr2plus_update_mean_rtt(struct bbr2plus *plus, u32 rtt_us)
{
	if (plus->mean_rtt == BBR2_UNSET) {
		plus->mean_rtt = rtt_us;
		plus->last_mean_rtt = rtt_us;
		return;
	}
	plus->mean_rtt = (7 * plus->mean_rtt + rtt_us) >> 3;
}

/* The statistics of rounds, in the mode of BBRv2+ only. */
static void bbr2_policy_model_updated(const struct sock *sk, struct bbr2 *bbr,
				      const struct rate_sample *rs)
{
	struct bbr2plus *plus = bbr2plus_of(bbr);

	if (!plus->is_plus || rs->rtt_us <= 0)
		return;
	if (bbr2plus_update_least_rtt(sk, plus, (u32)rs->rtt_us)) {
		plus->stat_rounds = 0;
		return;
	}
	bbr2plus_update_mean_rtt(plus, (u32)rs->rtt_us);
	if (bbr->round_start)
		plus->stat_rounds++;
}

/* ---- Algorithm 3: jitter ---- */

/* Jitter, when there is so much that it must be compensated, us; otherwise 0. */
static u32 bbr2plus_jitter(const struct sock *sk, const struct bbr2plus *plus)
{
	u32 jitter = minmax_get(&plus->jitter);
	u64 bearable = (u64)plus->bbr.min_rtt_us * param(sk, rtt_comp_rtt_var_thresh);

	return param(sk, rtt_comp_on) && jitter > bearable >> BBR_SCALE ? jitter : 0;
}

static u32 bbr2_policy_bdp_rtt(const struct sock *sk, const struct bbr2 *bbr)
{
	if (!param(sk, rtt_comp_in_bdp))
		return bbr->min_rtt_us;
	return bbr->min_rtt_us + bbr2plus_jitter(sk, bbr2plus_view(bbr));
}

static u32 bbr2_policy_cwnd_extra(struct sock *sk, struct bbr2 *bbr)
{
	struct bbr2plus *plus = bbr2plus_of(bbr);
	u32 window = param(sk, rtt_comp_jitter_win_sz), jitter;

	if (plus->rounds > 0)
		minmax_running_max(&plus->jitter, window, plus->rounds, tcp_sk(sk)->mdev_us >> 2);
	if (param(sk, rtt_comp_in_bdp))
		return 0;
	jitter = (bbr2plus_jitter(sk, plus) * plus->jitter_factor) >> BBR_SCALE;
	return (u32)(((u64)bbr2_max_bw(bbr) * jitter) >> BW_SCALE);
}

static void bbr2_policy_drained(struct sock *sk, struct bbr2 *bbr)
{
	bbr2plus_of(bbr)->jitter_factor = param(sk, rtt_comp_thresh);
}

#endif /* BBR2PLUS_RTT_H */
