/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * BBRv2 family: STARTUP. It ends when the pipe is full: the bandwidth has ceased to grow, or a round met too
 * much loss or ECN, which also sets the upper bound. DRAIN follows (drain.h).
 */
#ifndef BBR2_STARTUP_H
#define BBR2_STARTUP_H

#include "model.h"

/*
 * The pipe is full after full_bw_cnt rounds in which the bandwidth did not grow by full_bw_thresh,
 * looked at when a round ends.
 */
static inline void bbr2_check_full_bw_by_round(const struct sock *sk, struct bbr2 *bbr,
					       const struct rate_sample *rs)
{
	u64 thresh;

	if (bbr->full_bw_reached || !bbr->round_start || rs->is_app_limited)
		return;
	thresh = ((u64)bbr->full_bw * param(sk, full_bw_thresh)) >> BBR_SCALE;
	if (bbr2_max_bw(bbr) >= thresh) {
		bbr->full_bw = bbr2_max_bw(bbr);
		bbr->full_bw_cnt = 0;
		return;
	}
	bbr->full_bw_cnt++;
	bbr->full_bw_reached = bbr->full_bw_cnt >= param(sk, full_bw_cnt);
	if (bbr->full_bw_reached)
		bbr->startup_end = BBR2_FULL_PLATEAU;
}

/* bw: delivery rate of this ACK. */
static void bbr2_check_full_bw(const struct sock *sk, struct bbr2 *bbr,
			       const struct rate_sample *rs, u32 bw)
{
	if (bbr2_rules.check_full_bw)
		bbr2_rules.check_full_bw(sk, bbr, rs, bw);
	else
		bbr2_check_full_bw_by_round(sk, bbr, rs);
}

static void bbr2_end_startup(const struct sock *sk, struct bbr2 *bbr, enum bbr2_full why)
{
	u32 bdp = bbr2_inflight(sk, bbr, bbr2_max_bw(bbr), BBR_UNIT);

	if (bbr2_rules.bounded_by_loss)
		bbr2_rules.bounded_by_loss(bbr);
	bbr->full_bw_reached = true;
	bbr->startup_end = why;
	bbr->inflight_hi = bbr2_rules.hi_as_delivered ? max(bdp, bbr->inflight_latest) : bdp;
}

/*
 * Judged at the end of a loss round in Recovery (judges_by_round: of any round), so that the loss is
 * seen in full: at least full_loss_cnt ACKs found losses, and the rate is too high.
 */
static void bbr2_check_loss_in_startup(const struct sock *sk, struct bbr2 *bbr,
				       const struct rate_sample *rs, const struct bbr2_ack *ack)
{
	u32 enough = param(sk, full_loss_cnt);
	bool by_round = bbr2_rule(judges_by_round, sk);

	if (bbr->full_bw_reached || bbr2_rule(check_startup_loss, sk, bbr, rs))
		return;
	if (by_round)
		bbr->loss_events_in_round = bbr->round_loss_events;
	else if (rs->losses && bbr->loss_events_in_round < 15)
		bbr->loss_events_in_round++;
	if (!bbr->loss_round_start)
		return;
	if (enough && (by_round || inet_csk_ca_state(sk) == TCP_CA_Recovery) &&
	    bbr->loss_events_in_round >= enough && bbr2_is_inflight_too_high(sk, bbr, rs, ack))
		bbr2_end_startup(sk, bbr, BBR2_FULL_LOSS);
	else
		bbr->loss_events_in_round = 0;
}

/* At the end of a round: ce_ratio is its share of CE marks. */
static void bbr2_check_ecn_in_startup(const struct sock *sk, struct bbr2 *bbr, u32 ce_ratio)
{
	u32 enough = param(sk, full_ecn_cnt), thresh = param(sk, ecn_thresh);

	if (bbr->full_bw_reached || !bbr->ecn_eligible || !enough || !thresh)
		return;
	bbr->startup_ecn_rounds = ce_ratio >= thresh ? bbr->startup_ecn_rounds + 1 : 0;
	if (bbr->startup_ecn_rounds >= enough)
		bbr2_end_startup(sk, bbr, BBR2_FULL_ECN);
}

#endif /* BBR2_STARTUP_H */
