/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * BBRv2 core: inflight_hi, the volume that the last probes found safe. Too much loss or ECN in a
 * probe lowers it, probing without raises it. And ECN's mean, and the end of STARTUP by both.
 */
#ifndef BBR2_BOUNDS_H
#define BBR2_BOUNDS_H

static void bbr2_start_down(struct sock *sk, struct bbr2 *bbr);
static void bbr2_start_refill(struct sock *sk, struct bbr2 *bbr, u32 probe_up_rounds);

static bool bbr2_is_loss_too_high(const struct sock *sk, u32 lost, u32 tx_in_flight)
{
	u32 bearable = (u32)(((u64)tx_in_flight * param(sk, loss_thresh)) >> BBR_SCALE);

	return lost > 0 && tx_in_flight && lost > bearable;
}

/* Was there too much loss or ECN in the flight that this ACK samples? */
static bool bbr2_is_inflight_too_high(const struct sock *sk, const struct bbr2 *bbr,
				      const struct rate_sample *rs, const struct bbr2_ack *ack)
{
	u32 thresh = param(sk, ecn_thresh), bearable;
	u32 lost = param(sk, loss_by_round) ? bbr->round_lost : ack->lost;

	if (bbr2_is_loss_too_high(sk, lost, ack->tx_in_flight))
		return true;
	if (rs->delivered_ce <= 0 || rs->delivered <= 0 || !bbr->ecn_eligible || !thresh)
		return false;
	bearable = (u32)(((u64)(u32)rs->delivered * thresh) >> BBR_SCALE);
	return (u32)rs->delivered_ce + BBR2_CE_AT_THRESH > bearable;
}

/*
 * Segments in flight at which a lost burst crossed the threshold t: the least prefix p of it for
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

/* inflight_hi less headroom, which lets other flows in. */
static u32 bbr2_inflight_with_headroom(const struct sock *sk, const struct bbr2 *bbr)
{
	u32 headroom, floor = param(sk, cwnd_min_target);

	if (bbr->inflight_hi == BBR2_UNSET)
		return BBR2_UNSET;
	headroom = (u32)(((u64)bbr->inflight_hi * param(sk, inflight_headroom)) >> BBR_SCALE);
	headroom = max(headroom, 1U);
	return bbr->inflight_hi > headroom + floor ? bbr->inflight_hi - headroom : floor;
}

/* The probe went too far: once per probe, lower the bound; and UP is over. */
static void bbr2_handle_inflight_too_high(struct sock *sk, struct bbr2 *bbr, u32 tx_in_flight,
					  bool is_app_limited)
{
	bbr->prev_probe_too_high = true;
	bbr->probe_samples = false;
	if (!is_app_limited) {
		u32 least = bbr2_less(bbr2_target_inflight(sk, bbr), param(sk, beta));

		bbr->inflight_hi = max(tx_in_flight, least);
	}
	if (bbr->mode == BBR2_PROBE_BW && bbr->phase == BBR2_UP)
		bbr2_start_down(sk, bbr);
}

/* Each round of UP doubles what inflight_hi grows by: 1, 2, 4, ... segments a round. */
static void bbr2_raise_slope(const struct sock *sk, struct bbr2 *bbr)
{
	u32 growth = 1U << bbr->probe_up_rounds;

	if (bbr->probe_up_rounds < 30)
		bbr->probe_up_rounds++;
	bbr->probe_up_cnt = max(tcp_snd_cwnd(tcp_sk(sk)) / growth, 1U);
}

/* In UP, nothing speaks against more: grow, if the bound is what holds us. */
static void bbr2_grow_inflight_hi(const struct sock *sk, struct bbr2 *bbr, u32 acked)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 grown;

	if (!tcp_cwnd_limited_flag(tp) || tcp_snd_cwnd(tp) < bbr->inflight_hi) {
		if (!BBR2_KEEPS_PROBE_CREDIT)
			bbr->probe_up_acks = 0;
		return;
	}
	bbr->probe_up_acks += acked;
	if (bbr->probe_up_acks >= bbr->probe_up_cnt) {
		grown = bbr->probe_up_acks / bbr->probe_up_cnt;
		bbr->probe_up_acks -= grown * bbr->probe_up_cnt;
		bbr->inflight_hi += grown;
		if (BBR2_KEEPS_PROBE_CREDIT)
			bbr->try_fast_path = false;
	}
	if (bbr->round_start)
		bbr2_raise_slope(sk, bbr);
}

/*
 * The last samples of a probe are in: its bandwidth now is what this cycle found. A probe that
 * stopped short of a bound which had been too high, and met no trouble, is followed by another.
 */
static bool bbr2_end_probe_samples(struct sock *sk, struct bbr2 *bbr, const struct rate_sample *rs)
{
	bbr->probe_samples = false;
	bbr->ack_phase = BBR2_ACKS_INIT;
	if (bbr->mode != BBR2_PROBE_BW)
		return false;
	if (!rs->is_app_limited && bbr2_policy_advances_with_probe(bbr))
		bbr2_advance_bw_filter(bbr);
	if (!bbr->stopped_risky_probe || bbr->prev_probe_too_high)
		return false;
	bbr2_start_refill(sk, bbr, 0);
	return true;
}

/* Chromium also asks for some lossy ACKs before it calls a probe too high. */
static bool bbr2_has_losses_enough(const struct sock *sk, const struct bbr2 *bbr)
{
	return !param(sk, loss_by_round) || bbr->round_loss_events >= param(sk, probe_loss_cnt);
}

/* Learn from this ACK what is safe. True: it has also changed the phase. */
static bool bbr2_adapt_upper_bounds(struct sock *sk, struct bbr2 *bbr, const struct rate_sample *rs,
				    const struct bbr2_ack *ack)
{
	if (bbr->ack_phase == BBR2_ACKS_PROBE_STARTING && bbr->round_start)
		bbr->ack_phase = BBR2_ACKS_PROBE_FEEDBACK;
	if (bbr->ack_phase == BBR2_ACKS_PROBE_STOPPING && bbr->round_start &&
	    bbr2_end_probe_samples(sk, bbr, rs))
		return true;
	if (bbr2_has_losses_enough(sk, bbr) && bbr2_is_inflight_too_high(sk, bbr, rs, ack)) {
		if (bbr->probe_samples)
			bbr2_handle_inflight_too_high(sk, bbr, ack->tx_in_flight,
						      rs->is_app_limited);
		return false;
	}
	if (bbr->inflight_hi == BBR2_UNSET)
		return false;
	bbr->inflight_hi = max(bbr->inflight_hi, ack->tx_in_flight);
	if (bbr->mode == BBR2_PROBE_BW && bbr->phase == BBR2_UP)
		bbr2_grow_inflight_hi(sk, bbr, rs->acked_sacked);
	return false;
}

/* Something was lost: the loss round begins here, if none has begun. */
static void bbr2_note_loss(const struct sock *sk, struct bbr2 *bbr)
{
	if (!bbr->loss_in_round)
		bbr->loss_round_delivered = tcp_sk(sk)->delivered;
	bbr->loss_in_round = true;
	bbr->loss_in_cycle = true;
}

/* ---- The end of STARTUP by loss or ECN ---- */

static void bbr2_end_startup(const struct sock *sk, struct bbr2 *bbr)
{
	u32 bdp = bbr2_inflight(sk, bbr, bbr2_max_bw(bbr), BBR_UNIT);

	bbr->full_bw_reached = true;
	bbr->inflight_hi = BBR2_HI_AS_DELIVERED ? max(bdp, bbr->inflight_latest) : bdp;
}

/*
 * Judged at the end of a loss round in Recovery (loss_by_round: of any round), so that the loss is seen in full: at least
 * full_loss_cnt ACKs found losses, and the rate is too high.
 */
static void bbr2_check_loss_in_startup(const struct sock *sk, struct bbr2 *bbr,
				       const struct rate_sample *rs, const struct bbr2_ack *ack)
{
	u32 enough = param(sk, full_loss_cnt);
	bool by_round = param(sk, loss_by_round);

	if (bbr->full_bw_reached)
		return;
	if (by_round)
		bbr->loss_events_in_round = bbr->round_loss_events;
	else if (rs->losses && bbr->loss_events_in_round < 15)
		bbr->loss_events_in_round++;
	if (!bbr->loss_round_start)
		return;
	if (enough && (by_round || inet_csk_ca_state(sk) == TCP_CA_Recovery) &&
	    bbr->loss_events_in_round >= enough && bbr2_is_inflight_too_high(sk, bbr, rs, ack))
		bbr2_end_startup(sk, bbr);
	else
		bbr->loss_events_in_round = 0;
}

static void bbr2_check_ecn_in_startup(const struct sock *sk, struct bbr2 *bbr, u32 ce_ratio)
{
	u32 enough = param(sk, full_ecn_cnt), thresh = param(sk, ecn_thresh);

	if (bbr->full_bw_reached || !bbr->ecn_eligible || !enough || !thresh)
		return;
	bbr->startup_ecn_rounds = ce_ratio >= thresh ? bbr->startup_ecn_rounds + 1 : 0;
	if (bbr->startup_ecn_rounds >= enough)
		bbr2_end_startup(sk, bbr);
}

/* Once per round: the mean CE ratio, as DCTCP's alpha (RFC 8257 sec. 3.3). */
static void bbr2_update_ecn_alpha(const struct sock *sk, struct bbr2 *bbr)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 delivered = tp->delivered - bbr->alpha_last_delivered;
	u32 marked = tp->delivered_ce - bbr->alpha_last_delivered_ce;
	u32 gain = param(sk, ecn_alpha_gain), max_rtt_us = param(sk, ecn_max_rtt_us);
	u32 ce_ratio, alpha;

	if (!param(sk, ecn_factor) || !delivered)
		return;
	if (param(sk, ecn_enable) && (!max_rtt_us || bbr->min_rtt_us <= max_rtt_us))
		bbr->ecn_eligible = true;
	if (BBR2_ALPHA_NEEDS_ECN && !bbr->ecn_eligible)
		return;
	ce_ratio = (u32)div64_u64((u64)marked << BBR_SCALE, delivered);
	alpha = ((BBR_UNIT - gain) * bbr->ecn_alpha) >> BBR_SCALE;
	alpha += (gain * ce_ratio) >> BBR_SCALE;
	bbr->ecn_alpha = min(alpha, BBR_UNIT);
	bbr->alpha_last_delivered = tp->delivered;
	bbr->alpha_last_delivered_ce = tp->delivered_ce;
	bbr2_check_ecn_in_startup(sk, bbr, ce_ratio);
}

#endif /* BBR2_BOUNDS_H */
