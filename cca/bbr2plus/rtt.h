/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * BBRv2+: what it learns from the RTT. Statistics of rounds and of CRUISE; jitter, and how it is compensated
 * (Algorithm 3).
 */
#ifndef BBR2PLUS_RTT_H
#define BBR2PLUS_RTT_H

#include "state.h"

/* One of this many rounds only lowers the reference RTT; in the others it is the RTT of the last ACK. */
static const u32 bbr2plus_reference_rounds = 1500;

static bool bbr2plus_is_cruising(const struct bbr2 *bbr)
{
	return bbr->mode == BBR2_PROBE_BW && bbr->phase == BBR2_CRUISE;
}

static void bbr2plus_init(const struct sock *sk, struct bbr2 *bbr)
{
	struct bbr2plus *plus = bbr2plus_of(bbr);

	minmax_reset(&plus->rc_min_rtt, 0, BBR2_UNSET);
	minmax_reset(&plus->jitter, 0, 0);
	plus->rounds = 0;
	plus->jitter_factor = param(sk, rtt_comp_startup_thresh);
	plus->last_mean_rtt = BBR2_UNSET;
	plus->mean_rtt = BBR2_UNSET;
	plus->last_round_rtt = BBR2_UNSET;
	plus->round_rtt = BBR2_UNSET;
	plus->round_rtt_before_up = BBR2_UNSET;
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
static void bbr2plus_begin_ack(struct bbr2 *bbr, const struct rate_sample *rs)
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

static void bbr2plus_see_bw(struct bbr2 *bbr, u32 bw)
{
	if (bw >= bbr2_max_bw(bbr))
		bbr2plus_of(bbr)->rounds_since_advance = 0;
}

/* Minimum RTTs of this and the last statistic; true when a new one begins. */
static bool bbr2plus_update_round_rtt(const struct sock *sk, struct bbr2plus *plus, u32 rtt_us)
{
	u32 window = param(sk, rc_min_rtt_win_sz);
	bool is_new =
		plus->bbr.round_start && plus->stat_rounds + 1 >= param(sk, fast_conv_srtt_round);

	if (plus->round_rtt == BBR2_UNSET) {
		plus->round_rtt = rtt_us;
		plus->last_round_rtt = rtt_us;
		minmax_running_min(&plus->rc_min_rtt, window, plus->rounds, rtt_us);
		return false;
	}
	if (is_new) {
		minmax_running_min(&plus->rc_min_rtt, window, plus->rounds, plus->round_rtt);
		plus->last_round_rtt = plus->round_rtt;
		plus->round_rtt = rtt_us;
	} else {
		plus->round_rtt = min(plus->round_rtt, rtt_us);
	}
	return is_new;
}

/*
 * Smoothed RTTs. The module would begin a new statistic together with that of the minimum RTT, but its `||`
 * keeps it from coming here then: the first RTT stays the last statistic, and the mean runs on.
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
static void bbr2plus_update_rtts(const struct sock *sk, struct bbr2 *bbr,
				 const struct rate_sample *rs)
{
	struct bbr2plus *plus = bbr2plus_of(bbr);

	if (!plus->is_plus || rs->rtt_us <= 0)
		return;
	if (bbr2plus_update_round_rtt(sk, plus, (u32)rs->rtt_us)) {
		plus->stat_rounds = 0;
		return;
	}
	bbr2plus_update_mean_rtt(plus, (u32)rs->rtt_us);
	if (bbr->round_start)
		plus->stat_rounds++;
}

/* ---- Algorithm 3: jitter ---- */

/* Jitter, us, if it is large enough to be compensated; otherwise 0. */
static u32 bbr2plus_jitter(const struct sock *sk, const struct bbr2plus *plus)
{
	u32 jitter = minmax_get(&plus->jitter);
	u64 tolerable = (u64)plus->bbr.min_rtt_us * param(sk, rtt_comp_rtt_var_thresh);

	return param(sk, rtt_comp_on) && jitter > tolerable >> BBR_SCALE ? jitter : 0;
}

static u32 bbr2plus_bdp_rtt(const struct sock *sk, const struct bbr2 *bbr)
{
	if (!param(sk, rtt_comp_in_bdp))
		return bbr->min_rtt_us;
	return bbr->min_rtt_us + bbr2plus_jitter(sk, bbr2plus_view(bbr));
}

static u32 bbr2plus_cwnd_extra(const struct sock *sk, struct bbr2 *bbr)
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

static void bbr2plus_drained(const struct sock *sk, struct bbr2 *bbr)
{
	bbr2plus_of(bbr)->jitter_factor = param(sk, rtt_comp_thresh);
}

#endif /* BBR2PLUS_RTT_H */
