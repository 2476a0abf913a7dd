/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * BBRv1 family: the model of the path that ACKs feed. Rounds, bandwidth, ACK aggregation.
 */
#ifndef BBR1_MODEL_H
#define BBR1_MODEL_H

#include "policer.h"

/* An aggregation epoch ends before its count exceeds 20 bits, segments. */
static const u32 bbr_ack_epoch_acked_max = 1U << 20;
/* Aggregation adds at most the data of this time, us: few links hold ACKs back for longer. */
static const u32 bbr_extra_acked_max_us = 100 * USEC_PER_MSEC;

static bool bbr_sample_is_valid(const struct rate_sample *rs)
{
	return rs->delivered >= 0 && rs->interval_us > 0;
}

/* A round ends when a segment sent after its start is acknowledged. */
static void bbr_update_round(const struct sock *sk, struct bbr *bbr, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (before(rs->prior_delivered, bbr->next_rtt_delivered))
		return;
	bbr->next_rtt_delivered = tp->delivered;
	bbr->rtt_cnt++;
	bbr->round_start = 1;
	bbr->packet_conservation = 0;
}

/*
 * Bandwidth: the maximum over some rounds of delivered / interval. A sample taken while the
 * application had nothing to send says only that the path can do at least that much.
 */
static void bbr_update_bw(struct sock *sk, struct bbr *bbr, const struct rate_sample *rs)
{
	u32 bw;

	bbr->round_start = 0;
	if (!bbr_sample_is_valid(rs))
		return;
	bbr_update_round(sk, bbr, rs);
	bbr_lt_bw_sampling(sk, bbr, rs->losses != 0, rs->is_app_limited);

	bw = (u32)div64_u64((u64)rs->delivered << BW_SCALE, (u64)rs->interval_us);
	if (!rs->is_app_limited || bw >= bbr_max_bw(bbr))
		minmax_running_max(&bbr->bw, param(sk, bw_window), bbr->rtt_cnt, bw);
}

/* Every five rounds (extra_acked_rounds) the other slot starts again from 0, so the filter spans five to ten. */
static void bbr_age_extra_acked(const struct sock *sk, struct bbr *bbr)
{
	bbr->extra_acked_win_rtts = min(0x1fU, bbr->extra_acked_win_rtts + 1U);
	if (bbr->extra_acked_win_rtts < param(sk, extra_acked_rounds))
		return;
	bbr->extra_acked_win_rtts = 0;
	bbr->extra_acked_win_idx = !bbr->extra_acked_win_idx;
	if (bbr->extra_acked_win_idx)
		bbr->extra_acked[1] = 0;
	else
		bbr->extra_acked[0] = 0;
}

/*
 * ACK aggregation: how much more was acknowledged than the bandwidth explains, since the
 * epoch began. An epoch ends as soon as ACKs are no longer ahead.
 */
static void bbr_update_ack_aggregation(const struct sock *sk, struct bbr *bbr,
				       const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 acked = rs->acked_sacked;
	u32 epoch_us, expected, extra;

	if (!param(sk, extra_acked_gain) || !acked || !bbr_sample_is_valid(rs))
		return;
	if (bbr->round_start)
		bbr_age_extra_acked(sk, bbr);

	epoch_us = tcp_stamp_us_delta(tp->delivered_mstamp, bbr->ack_epoch_mstamp);
	expected = (u32)(((u64)bbr_bw(bbr) * epoch_us) >> BW_SCALE);
	if (bbr->ack_epoch_acked <= expected ||
	    bbr->ack_epoch_acked + acked >= bbr_ack_epoch_acked_max) {
		bbr->ack_epoch_acked = 0;
		bbr->ack_epoch_mstamp = tp->delivered_mstamp;
		expected = 0;
	}
	bbr->ack_epoch_acked = min(bbr_ack_epoch_acked_max - 1, bbr->ack_epoch_acked + acked);

	extra = min(bbr->ack_epoch_acked - expected, tcp_snd_cwnd(tp));
	if (bbr->extra_acked_win_idx)
		bbr->extra_acked[1] =
			extra > bbr->extra_acked[1] ? (u16)extra : bbr->extra_acked[1];
	else
		bbr->extra_acked[0] =
			extra > bbr->extra_acked[0] ? (u16)extra : bbr->extra_acked[0];
}

/* What aggregation adds to the window, segments; nothing until the bandwidth is known. */
static u32 bbr_ack_aggregation_cwnd(const struct sock *sk, const struct bbr *bbr)
{
	u32 extra, bound;

	if (!bbr->full_bw_reached)
		return 0;
	extra = max(bbr->extra_acked[0], bbr->extra_acked[1]);
	extra = (param(sk, extra_acked_gain) * extra) >> BBR_SCALE;
	bound = (u32)(((u64)bbr_bw(bbr) * bbr_extra_acked_max_us) >> BW_SCALE);
	return min(extra, bound);
}

#endif /* BBR1_MODEL_H */
