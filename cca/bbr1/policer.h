/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * BBRv1 family: long-term ("LT") bandwidth, for paths with a token-bucket policer.
 *
 * A policer passes bursts while it has tokens and then drops what exceeds its rate. Two
 * successive intervals with high loss and the same throughput are taken as its signature; the
 * mean of their throughputs is then used as the bandwidth for 48 rounds, without probing.
 *
 *	idle --first loss--> sampling --2 consistent lossy intervals--> lt_bw in use
 *	 ^                     |                                           |
 *	 '-- app-limited, or   '                                           '
 *	     interval > 16 rounds                        48 rounds in PROBE_BW
 *
 * Source: Linux tcp_bbr.c; Flach et al., "An Internet-Wide Analysis of Traffic Policing",
 * SIGCOMM 2016.
 */
#ifndef BBR1_POLICER_H
#define BBR1_POLICER_H

#include "probe_bw.h"

/* Shortest and longest interval, round trips: long enough to average out bursts, short enough to be recent. */
static const u32 bbr_lt_rounds_min = 4;
static const u32 bbr_lt_rounds_max = 4 * 4;
/* An interval is lossy when lost/delivered is at least this, in 1/256: 20 %, more than congestion costs. */
static const u32 bbr_lt_loss_thresh = 50;
/* Two bandwidths are the same when they differ by an eighth of the first, in 1/256 ... */
static const u32 bbr_lt_bw_ratio = BBR_UNIT / 8;
/* ... or by this, bytes/s (4 kbit/s). */
static const u32 bbr_lt_bw_diff = 4000 / 8;
/* How long to trust a policer's rate, round trips in PROBE_BW; then the path may have changed. */
static const u32 bbr_lt_use_rounds = 48;

static u32 bbr_delivered_ms(const struct tcp_sock *tp)
{
	return (u32)div64_u64(tp->delivered_mstamp, USEC_PER_MSEC);
}

static void bbr_lt_begin_interval(const struct sock *sk, struct bbr *bbr)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	bbr->lt_last_stamp = bbr_delivered_ms(tp);
	bbr->lt_last_delivered = tp->delivered;
	bbr->lt_last_lost = tp->lost;
	bbr->lt_rtt_cnt = 0;
}

static void bbr_lt_reset(const struct sock *sk, struct bbr *bbr)
{
	bbr->lt_bw = 0;
	bbr->lt_use_bw = 0;
	bbr->lt_is_sampling = 0;
	bbr_lt_begin_interval(sk, bbr);
}

/*
 * All in 32 bits, as in Linux: for differences above 2^24 (11 Gbit/s) the products wrap, and rates that
 * are not the same may pass for it. Kept, so that fast paths behave as Linux does on them.
 */
static bool bbr_lt_bw_is_same(const struct sock *sk, u32 a, u32 b)
{
	u32 diff = (s32)(a - b) < 0 ? b - a : a - b;

	return diff * BBR_UNIT <= bbr_lt_bw_ratio * b ||
	       bbr_rate_bytes_per_sec(sk, diff, BBR_UNIT) <= bbr_lt_bw_diff;
}

/* An interval has ended with loss and throughput bw: is it the second of its kind? */
static void bbr_lt_end_interval(const struct sock *sk, struct bbr *bbr, u32 bw)
{
	if (bbr->lt_bw && bbr_lt_bw_is_same(sk, bw, bbr->lt_bw)) {
		bbr->lt_bw = (bw + bbr->lt_bw) >> 1;
		bbr->lt_use_bw = 1;
		bbr->pacing_gain = BBR_UNIT;
		bbr->lt_rtt_cnt = 0;
		return;
	}
	bbr->lt_bw = bw;
	bbr_lt_begin_interval(sk, bbr);
}

/* Throughput of the interval; 0 while it is too short or has too little loss to tell. */
static u32 bbr_lt_interval_bw(const struct sock *sk, struct bbr *bbr)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 lost = tp->lost - bbr->lt_last_lost;
	u64 delivered = tp->delivered - bbr->lt_last_delivered;
	u32 ms = bbr_delivered_ms(tp) - bbr->lt_last_stamp;

	if (!delivered || lost << BBR_SCALE < bbr_lt_loss_thresh * delivered)
		return 0;
	if ((s32)ms < 1)
		return 0;
	if (ms >= ~0U / USEC_PER_MSEC) {
		bbr_lt_reset(sk, bbr);
		return 0;
	}
	return (u32)div64_u64(delivered << BW_SCALE, ms * USEC_PER_MSEC);
}

/* In use: count rounds until it is time to look again. */
static void bbr_lt_use(struct sock *sk, struct bbr *bbr)
{
	if (bbr->mode != BBR_PROBE_BW || !bbr->round_start)
		return;
	bbr->lt_rtt_cnt++;
	if (bbr->lt_rtt_cnt >= bbr_lt_use_rounds) {
		bbr_lt_reset(sk, bbr);
		bbr_reset_probe_bw_mode(sk, bbr);
	}
}

/*
 * One step per ACK. Intervals begin and end with a loss, when the tokens are exhausted:
 * with tokens left in the bucket the rate would come out too high.
 */
static void bbr_lt_bw_sampling(struct sock *sk, struct bbr *bbr, bool has_loss, bool app_limited)
{
	u32 bw;

	if (!param(sk, lt_bw) || param(sk, recovery_window))
		return;
	if (bbr->lt_use_bw) {
		bbr_lt_use(sk, bbr);
		return;
	}
	if (!bbr->lt_is_sampling) {
		if (!has_loss)
			return;
		bbr_lt_begin_interval(sk, bbr);
		bbr->lt_is_sampling = 1;
	}
	if (app_limited) {
		bbr_lt_reset(sk, bbr);
		return;
	}
	if (bbr->round_start)
		bbr->lt_rtt_cnt++;
	if (bbr->lt_rtt_cnt < bbr_lt_rounds_min)
		return;
	if (bbr->lt_rtt_cnt > bbr_lt_rounds_max) {
		bbr_lt_reset(sk, bbr);
		return;
	}
	if (!has_loss)
		return;
	bw = bbr_lt_interval_bw(sk, bbr);
	if (bw)
		bbr_lt_end_interval(sk, bbr, bw);
}

#endif /* BBR1_POLICER_H */
