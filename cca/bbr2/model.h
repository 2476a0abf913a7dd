/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * BBRv2 family: the model of the path that ACKs feed. Rounds, bandwidth, ACK aggregation, and the
 * signs of congestion, which lower the lower bounds (bounds.h).
 */
#ifndef BBR2_MODEL_H
#define BBR2_MODEL_H

#include "bounds.h"

/* An aggregation epoch ends before its count exceeds 20 bits, segments. */
static const u32 bbr2_ack_epoch_acked_max = 1U << 20;

/* A round ends when a segment sent after its start is acknowledged. */
static void bbr2_update_round(const struct sock *sk, struct bbr2 *bbr, const struct rate_sample *rs)
{
	bool has_sample = bbr2_rules.rounds_by_delivered ? rs->delivered >= 0 : rs->interval_us > 0;

	bbr->round_start = has_sample && !before(rs->prior_delivered, bbr->next_rtt_delivered);
	if (!bbr->round_start)
		return;
	bbr->round_count++;
	bbr->next_rtt_delivered = tcp_sk(sk)->delivered;
	if (bbr->rounds_since_probe < 255)
		bbr->rounds_since_probe++;
}

/* A new round begins now: what is sent from here on is acknowledged in the next. */
static void bbr2_start_round(const struct sock *sk, struct bbr2 *bbr)
{
	bbr->next_rtt_delivered = tcp_sk(sk)->delivered;
	bbr->round_lost = 0;
	bbr->round_loss_events = 0;
}

/* Losses of this round trip, for Chromium's rules; v2alpha's loss rounds begin with a loss. */
static void bbr2_count_losses(struct bbr2 *bbr, const struct rate_sample *rs)
{
	if (rs->losses <= 0)
		return;
	bbr->round_lost += (u32)rs->losses;
	if (bbr->round_loss_events < 15)
		bbr->round_loss_events++;
}

/* Delivery rate of this ACK, rounded up so that low rates can grow; 0: no valid sample. */
static u32 bbr2_sample_bw(const struct rate_sample *rs)
{
	u64 interval_us;

	if (rs->interval_us <= 0 || rs->delivered < 0)
		return 0;
	interval_us = (u64)rs->interval_us;
	return (u32)div64_u64(((u64)rs->delivered << BW_SCALE) + interval_us - 1, interval_us);
}

static bool bbr2_is_observation(const struct rate_sample *rs)
{
	return rs->interval_us > 0 && rs->acked_sacked;
}

/* ---- ACK aggregation ---- */

/* Every few rounds the other slot starts again from 0, so the filter spans one to two windows. */
static void bbr2_age_extra_acked(const struct sock *sk, struct bbr2 *bbr)
{
	u32 window = param(sk, extra_acked_win_rtts);

	if (param(sk, extra_acked_in_startup) && !bbr->full_bw_reached)
		window = 1;
	if (bbr->extra_acked_win_rtts < 31)
		bbr->extra_acked_win_rtts++;
	if (bbr->extra_acked_win_rtts < window)
		return;
	bbr->extra_acked_win_rtts = 0;
	bbr->extra_acked_win_idx = !bbr->extra_acked_win_idx;
	bbr->extra_acked[bbr->extra_acked_win_idx & 1] = 0;
}

/*
 * How much more was acknowledged than the bandwidth explains, since the epoch began. An epoch
 * ends as soon as ACKs are no longer ahead.
 */
static void bbr2_update_ack_aggregation(const struct sock *sk, struct bbr2 *bbr,
					const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 epoch_us, expected, extra, slot;

	if (!param(sk, extra_acked_gain) || !bbr2_is_observation(rs) || rs->delivered < 0)
		return;
	if (bbr2_rule(update_aggregation, sk, bbr, rs))
		return;
	if (bbr->round_start)
		bbr2_age_extra_acked(sk, bbr);

	epoch_us = tcp_stamp_us_delta(tp->delivered_mstamp, bbr->ack_epoch_mstamp);
	expected = (u32)(((u64)bbr2_bw(bbr) * epoch_us) >> BW_SCALE);
	if (bbr->ack_epoch_acked <= expected ||
	    bbr->ack_epoch_acked + rs->acked_sacked >= bbr2_ack_epoch_acked_max) {
		bbr->ack_epoch_acked = 0;
		bbr->ack_epoch_mstamp = tp->delivered_mstamp;
		expected = 0;
	}
	bbr->ack_epoch_acked =
		min(bbr2_ack_epoch_acked_max - 1, bbr->ack_epoch_acked + rs->acked_sacked);
	extra = min(bbr->ack_epoch_acked - expected, tcp_snd_cwnd(tp));
	slot = bbr->extra_acked_win_idx & 1;
	if (extra > bbr->extra_acked[slot])
		bbr->extra_acked[slot] = (u16)extra;
}

/* The largest aggregation of the last rounds, segments. */
static u32 bbr2_extra_acked(const struct bbr2 *bbr)
{
	if (bbr2_rules.extra_acked)
		return bbr2_rules.extra_acked(bbr);
	return max(bbr->extra_acked[0], bbr->extra_acked[1]);
}

/* What aggregation adds to the window, segments. */
static u32 bbr2_ack_aggregation_cwnd(const struct sock *sk, const struct bbr2 *bbr)
{
	u32 extra, bound;

	if (!bbr->full_bw_reached && !param(sk, extra_acked_in_startup))
		return 0;
	extra = (param(sk, extra_acked_gain) * bbr2_extra_acked(bbr)) >> BBR_SCALE;
	if (bbr2_rules.extra_acked)
		return extra;
	bound = (u32)(((u64)bbr2_bw(bbr) * param(sk, extra_acked_max_us)) >> BW_SCALE);
	return min(extra, bound);
}

/* ---- Bandwidth filter ---- */

/* Forget the cycle before the last. A cycle without samples does not count. */
static void bbr2_advance_bw_filter(struct bbr2 *bbr)
{
	if (bbr2_rule(advance_bw, bbr) || !bbr->bw_hi[1])
		return;
	bbr->bw_hi[0] = bbr->bw_hi[1];
	bbr->bw_hi[1] = 0;
}

/* ---- Signs of congestion ---- */

/* Something was lost: the loss round begins here, if none has begun. */
static void bbr2_note_loss(struct sock *sk, struct bbr2 *bbr)
{
	if (!bbr->loss_in_round) {
		bbr->loss_round_delivered = tcp_sk(sk)->delivered;
		if (bbr2_rules.loss_noted)
			bbr2_rules.loss_noted(sk, bbr);
	}
	bbr->loss_in_round = true;
	bbr->loss_in_cycle = true;
}

/* A probe is over: its congestion says nothing about the time that follows. */
static void bbr2_reset_congestion_signals(struct bbr2 *bbr)
{
	bbr->loss_in_round = false;
	bbr->ecn_in_round = false;
	bbr->loss_in_cycle = false;
	bbr->ecn_in_cycle = false;
	bbr->bw_latest = 0;
	bbr->inflight_latest = 0;
}

/* What the path delivers in this loss round; does this ACK end it? */
static void bbr2_note_latest(const struct sock *sk, struct bbr2 *bbr, const struct rate_sample *rs,
			     u32 bw)
{
	bbr->loss_round_start = false;
	if (!bbr2_is_observation(rs))
		return;
	bbr->bw_latest = max(bbr->bw_latest, bw);
	bbr->inflight_latest = max_t(u32, bbr->inflight_latest, (u32)rs->delivered);
	if (bbr2_rule(judges_by_round, sk)) {
		bbr->loss_round_start = bbr->round_start;
		return;
	}
	if (before(rs->prior_delivered, bbr->loss_round_delivered))
		return;
	bbr->loss_round_delivered = tcp_sk(sk)->delivered;
	bbr->loss_round_start = true;
}

/* The next loss round starts from this sample. */
static void bbr2_restart_latest(struct bbr2 *bbr, const struct rate_sample *rs, u32 bw)
{
	bbr->bw_latest = bw;
	bbr->inflight_latest = (u32)rs->delivered;
}

static void bbr2_update_congestion_signals(const struct sock *sk, struct bbr2 *bbr,
					   const struct rate_sample *rs, u32 bw)
{
	if (!bbr2_rules.latest_spans_ack)
		bbr2_note_latest(sk, bbr, rs, bw);
	if (!bbr2_is_observation(rs))
		return;
	if (!rs->is_app_limited || bw >= bbr2_max_bw(bbr)) {
		if (bbr2_rules.learn_bw)
			bbr2_rules.learn_bw(sk, bbr, bw);
		else
			bbr->bw_hi[1] = max(bbr->bw_hi[1], bw);
	}
	if (bbr2_rules.bw_seen)
		bbr2_rules.bw_seen(bbr, bw);
	bbr->loss_in_round |= rs->losses > 0;
	if (!bbr->loss_round_start)
		return;
	bbr2_adapt_lower_bounds(sk, bbr);
	bbr->loss_in_round = false;
	bbr->ecn_in_round = false;
	if (!bbr2_rules.latest_spans_ack)
		bbr2_restart_latest(bbr, rs, bw);
}

#endif /* BBR2_MODEL_H */
