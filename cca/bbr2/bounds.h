/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * BBRv2 family: the bounds of the model.
 *
 *	inflight_hi            the volume that the last probes found safe; a probe that met too much loss
 *	                       or ECN lowers it (probe_bw.h), UP raises it
 *	inflight_lo, bw_lo     what the last rounds delivered; a round with loss or ECN lowers them, the
 *	                       next probe forgets them
 */
#ifndef BBR2_BOUNDS_H
#define BBR2_BOUNDS_H

#include "path.h"

/* ---- Too high? ---- */

static bool bbr2_is_loss_too_high(const struct sock *sk, u32 lost, u32 tx_in_flight)
{
	u32 tolerable = (u32)(((u64)tx_in_flight * param(sk, loss_thresh)) >> BBR_SCALE);

	return lost > 0 && tx_in_flight && lost > tolerable;
}

/* Was there too much loss or ECN in the flight that this ACK samples? */
static bool bbr2_is_inflight_too_high(const struct sock *sk, const struct bbr2 *bbr,
				      const struct rate_sample *rs, const struct bbr2_ack *ack)
{
	u32 thresh = param(sk, ecn_thresh), tolerable;
	u32 lost = bbr2_rule(judges_by_round, sk) ? bbr->round_lost : ack->lost;

	if (bbr2_is_loss_too_high(sk, lost, ack->tx_in_flight))
		return true;
	if (rs->delivered_ce <= 0 || rs->delivered <= 0 || !bbr->ecn_eligible || !thresh)
		return false;
	tolerable = (u32)(((u64)(u32)rs->delivered * thresh) >> BBR_SCALE);
	return (u32)rs->delivered_ce + !bbr2_rules.ce_above_thresh > tolerable;
}

/*
 * Segments in flight at which a lost burst crossed the threshold t: the shortest prefix p of it for
 * which (lost before + p) / (in flight before + p) >= t. BBR2_UNSET: the stamps make no sense.
 */
static u32 bbr2_inflight_at_crossing(const struct sock *sk, u32 tx_in_flight, u32 lost, u32 segs)
{
	u32 thresh = param(sk, loss_thresh);
	u32 before_burst, lost_before, budget;

	if (tx_in_flight < segs || lost < segs)
		return BBR2_UNSET;
	before_burst = tx_in_flight - segs;
	lost_before = lost - segs;
	budget = (u32)(((u64)before_burst * thresh + BBR_UNIT - 1) >> BBR_SCALE);
	if (lost_before >= budget)
		return before_burst;
	return before_burst +
	       (u32)div64_u64((u64)(budget - lost_before) << BBR_SCALE, BBR_UNIT - thresh);
}

/* ---- Upper bound ---- */

/* inflight_hi minus headroom, which leaves room for other flows. */
static u32 bbr2_inflight_with_headroom(const struct sock *sk, const struct bbr2 *bbr)
{
	u32 headroom, floor = param(sk, cwnd_min_target);

	if (bbr->inflight_hi == BBR2_UNSET)
		return BBR2_UNSET;
	headroom = (u32)(((u64)bbr->inflight_hi * param(sk, inflight_headroom)) >> BBR_SCALE);
	headroom = max(headroom, 1U);
	return bbr->inflight_hi > headroom + floor ? bbr->inflight_hi - headroom : floor;
}

/* Segments by which inflight_hi grows at a time. */
static u32 bbr2_hi_step(const struct sock *sk)
{
	return bbr2_rules.hi_step ? bbr2_rules.hi_step(sk) : 1;
}

/* Each round of UP doubles what inflight_hi grows by: 1, 2, 4, ... segments a round. */
static void bbr2_raise_slope(const struct sock *sk, struct bbr2 *bbr)
{
	u32 growth = 1U << bbr->probe_up_rounds;

	if (bbr->probe_up_rounds < 30)
		bbr->probe_up_rounds++;
	bbr->probe_up_cnt = max(tcp_snd_cwnd(tcp_sk(sk)) / growth, bbr2_hi_step(sk));
}

/* Count what was acknowledged in UP: inflight_hi grows by a step per probe_up_cnt. Returns whether it has grown. */
static bool bbr2_count_growth(const struct sock *sk, struct bbr2 *bbr, u32 acked)
{
	u32 grown;

	bbr->probe_up_acks += acked;
	if (bbr->probe_up_acks < bbr->probe_up_cnt)
		return false;
	grown = bbr->probe_up_acks / bbr->probe_up_cnt;
	bbr->probe_up_acks -= grown * bbr->probe_up_cnt;
	bbr->inflight_hi += grown * bbr2_hi_step(sk);
	return true;
}

/* In UP without loss or ECN: raise the bound if it limits the flow. */
static void bbr2_grow_inflight_hi(const struct sock *sk, struct bbr2 *bbr, u32 acked)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_cwnd_limited_flag(tp) || tcp_snd_cwnd(tp) < bbr->inflight_hi) {
		if (!bbr2_rules.keeps_probe_credit)
			bbr->probe_up_acks = 0;
		return;
	}
	if (bbr2_count_growth(sk, bbr, acked) && bbr2_rules.keeps_probe_credit)
		bbr->try_fast_path = false;
	if (bbr->round_start)
		bbr2_raise_slope(sk, bbr);
}

/* For an undo. */
static void bbr2_save_bounds(struct bbr2 *bbr)
{
	bbr->undo_bw_lo = bbr->bw_lo;
	bbr->undo_inflight_lo = bbr->inflight_lo;
	bbr->undo_inflight_hi = bbr->inflight_hi;
}

/* ---- Lower bounds ---- */

static void bbr2_reset_lower_bounds(struct bbr2 *bbr)
{
	bbr->bw_lo = BBR2_UNSET;
	bbr->inflight_lo = BBR2_UNSET;
}

/* In STARTUP, and in phases that push: then we cause the loss ourselves. */
static bool bbr2_is_probing(const struct bbr2 *bbr)
{
	if (bbr->mode != BBR2_PROBE_BW)
		return bbr->mode == BBR2_STARTUP;
	if (bbr2_rules.is_probing_phase)
		return bbr2_rules.is_probing_phase(bbr);
	return bbr->phase == BBR2_REFILL || bbr->phase == BBR2_UP;
}

/*
 * A round with loss or ECN that we did not cause lowers the bounds: by beta for loss, but not
 * below what that very round delivered; by the mean CE ratio for ECN.
 */
static void bbr2_adapt_lower_bounds(const struct sock *sk, struct bbr2 *bbr)
{
	u32 ecn_lo = BBR2_UNSET, beta = param(sk, beta), factor = param(sk, ecn_factor);
	bool is_ecn = bbr->ecn_in_round && bbr->ecn_eligible && factor;

	if (bbr2_is_probing(bbr))
		return;
	if (bbr->inflight_lo == BBR2_UNSET && (is_ecn || bbr->loss_in_round))
		bbr->inflight_lo = tcp_snd_cwnd(tcp_sk(sk));
	if (is_ecn)
		ecn_lo = bbr2_less(bbr->inflight_lo, (bbr->ecn_alpha * factor) >> BBR_SCALE);
	if (bbr->loss_in_round) {
		if (bbr->bw_lo == BBR2_UNSET)
			bbr->bw_lo = bbr2_max_bw(bbr);
		bbr->bw_lo = max(max(bbr->bw_latest, bbr2_less(bbr->bw_lo, beta)), 1U);
		bbr->inflight_lo = max(bbr->inflight_latest, bbr2_less(bbr->inflight_lo, beta));
	}
	bbr->inflight_lo = min(bbr->inflight_lo, ecn_lo);
}

#endif /* BBR2_BOUNDS_H */
