// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * H-TCP: the window grows the faster the longer no congestion was met, and is cut by what the queue was.
 *
 * Model, W in segments, D the time since the last congestion, R the round-trip time:
 *
 *	avoidance	W += alpha / W per segment acknowledged	(alpha segments per round trip)
 *	growth		f(D) = 1                                 D <= 1 s  (as Reno)
 *			f(D) = 1 + 10 (D - 1) + ((D - 1) / 2)^2  D > 1 s
 *	RTT scaling	f *= 10 Rmin, in s, the factor within 1/10 and 2
 *	alpha		2 (1 - beta) f
 *	congestion	W = beta W
 *	backoff		beta = Rmin / Rmax within 0.5 and 0.8; 0.5 when the throughput before this
 *			congestion was not within 20 % of that before the last one
 *
 * A reduction to Rmin / Rmax removes just the queue, so the link stays busy; alpha then follows beta so that
 * competing flows converge to a share. All times count in jiffies.
 *
 *	             W reaches S                    1 s without congestion
 *	SLOW_START --------------> LOW_SPEED -------------------------------> HIGH_SPEED
 *	     ^                        ^                                          |
 *	     | timeout                '----------------- loss, ECN --------------'
 *	     '---- any state
 *
 * Sources: Leith and Shorten, "H-TCP: TCP for High-Speed and Long-Distance Networks", PFLDnet 2004; the
 * arithmetic is that of Linux 6.12 net/ipv4/tcp_htcp.c. Linux differs from the paper: the growth keeps its value
 * until the window has grown by a segment, an ACK credits what the last ACK delivered, and the remainder of slow
 * start is lost.
 *
 * Facts:
 *	name	H-TCP
 *	draws	nothing
 */
#include "cca.h"

/* clang-format off */
#define HTCP_PARAMS(P)								\
	P(use_rtt_scaling, 1, 0, 1, "bool",					\
	  "grow per second instead of per round trip")				\
	P(use_bandwidth_switch, 1, 0, 1, "bool",				\
	  "halve when the throughput at congestion has changed by more than 20 %") \
	P(beta_min, 64, 1, 127, "1/128", "smallest window after congestion over the window before: 0.5") \
	P(beta_max, 102, 1, 127, "1/128", "largest window after congestion over the window before: 0.8")
/* clang-format on */

CCA_PARAMS(HTCP_PARAMS);

/* alpha and beta are in 1/128. */
#define HTCP_SHIFT 7
#define HTCP_ONE   (1U << HTCP_SHIFT)

/* RTT scaling is in eighths, relative to 100 ms ... */
#define HTCP_SCALE_SHIFT 3
static const u32 htcp_reference_rtts_per_second = 10;
/* ... and divides the growth by half to ten. */
static const u32 htcp_scale_min = 1U << (HTCP_SCALE_SHIFT - 1);
static const u32 htcp_scale_max = 10U << HTCP_SCALE_SHIFT;
/* Slope of the growth at 1 s, per s. */
static const u32 htcp_growth_slope = 10;
/* A sample raises the largest RTT by at most this: more is an outlier. */
static const u32 htcp_rtt_step_max_ms = 20;
/* Below this minimum RTT the ratio of RTTs in jiffies is too coarse for beta. */
static const u32 htcp_beta_rtt_min_ms = 10;
/* The largest RTT forgets 5 % of its excess at each congestion: routes change. */
static const u32 htcp_rtt_memory_percent = 95;
/* Throughput samples of this many round trips after congestion start afresh. */
static const u32 htcp_fresh_rtts = 3;
/* Minimum window after a reduction, segments (RFC 5681, eq. 4). */
static const u32 htcp_ssthresh_min = 2;

struct htcp {
	u32 alpha;	    /* growth, segments per round trip, 1/128 */
	u32 rtt_min;	    /* minimum RTT, jiffies; 0: none */
	u32 rtt_max;	    /* largest RTT, jiffies */
	u32 last_cong;	    /* end of the last congestion, jiffies */
	u32 rate;	    /* smoothed throughput, segments/s */
	u32 rate_max;	    /* its maximum since the last congestion */
	u32 old_rate_max;   /* that maximum at the congestion before */
	u32 count;	    /* segments of the throughput sample */
	u32 count_start;    /* its start, jiffies */
	u32 undo_last_cong; /* before the reduction, for undo; 0: nothing to undo */
	u32 undo_rtt_max;
	u32 undo_old_rate_max;
	u16 last_acked;	  /* segments cumulatively acknowledged by the last ACK */
	u8 beta;	  /* window after congestion over that before, 1/128 */
	bool is_adaptive; /* one congestion with halving was seen: beta may adapt */
};

CCA_STATE(htcp, struct htcp);

/* ---- Measurements ---- */

/* Largest RTT counts without loss only: then the queue, not recovery, makes it. */
static void htcp_measure_rtt(const struct sock *sk, struct htcp *ca, u32 rtt)
{
	if (!ca->rtt_min || ca->rtt_min > rtt)
		ca->rtt_min = rtt;
	if (inet_csk_ca_state(sk) != TCP_CA_Open)
		return;
	ca->rtt_max = max(ca->rtt_max, ca->rtt_min);
	if (rtt > ca->rtt_max && rtt <= ca->rtt_max + msecs_to_jiffies(sk, htcp_rtt_step_max_ms))
		ca->rtt_max = rtt;
}

/*
 * Throughput over about a window of data. Soon after congestion a sample replaces what was known.
 * The product wraps above 4 million segments at 1000 Hz, as in Linux.
 */
static void htcp_sample_rate(const struct sock *sk, struct htcp *ca, u32 elapsed)
{
	u32 rate = ca->count * HZ / elapsed;
	u32 rtts_since_congestion = (tcp_jiffies32 - ca->last_cong) / ca->rtt_min;

	if (rtts_since_congestion <= htcp_fresh_rtts) {
		ca->rate = rate;
		ca->rate_max = rate;
	} else {
		ca->rate = (3 * ca->rate + rate) / 4;
		ca->rate_max = max(ca->rate_max, ca->rate);
	}
	ca->count = 0;
	ca->count_start = tcp_jiffies32;
}

/* A window less the growth of a round trip ends a sample; for tiny windows that wraps, as in Linux. */
static void htcp_measure_rate(const struct sock *sk, struct htcp *ca, u32 acked)
{
	u32 elapsed = tcp_jiffies32 - ca->count_start;
	u32 growth = max(ca->alpha >> HTCP_SHIFT, 1U);

	if (inet_csk_ca_state(sk) > TCP_CA_Disorder) {
		ca->count = 0;
		ca->count_start = tcp_jiffies32;
		return;
	}
	ca->count += acked;
	if (ca->rtt_min && elapsed >= ca->rtt_min && ca->count >= tcp_snd_cwnd(tcp_sk(sk)) - growth)
		htcp_sample_rate(sk, ca, elapsed);
}

CCA_ACKED_OP(htcp_pkts_acked)
{
	struct htcp *ca = htcp_state(sk);

	if (inet_csk_ca_state(sk) == TCP_CA_Open)
		ca->last_acked = (u16)sample->pkts_acked;
	if (sample->rtt_us > 0)
		htcp_measure_rtt(sk, ca, usecs_to_jiffies(sk, (u32)sample->rtt_us));
	if (param(sk, use_bandwidth_switch))
		htcp_measure_rate(sk, ca, sample->pkts_acked);
}

/* ---- alpha and beta ---- */

/*
 * f(D) and RTT scaling. (D - 1)^2 / 4 in jiffies wraps after 131 s without congestion at 1000 Hz, as in
 * Linux: the growth then starts over.
 */
static void htcp_update_alpha(const struct sock *sk, struct htcp *ca)
{
	u32 since = tcp_jiffies32 - ca->last_cong;
	u32 factor = 1;

	if (since > HZ) {
		since -= HZ;
		factor = 1 + (htcp_growth_slope * since + (since / 2) * (since / 2) / HZ) / HZ;
	}
	if (param(sk, use_rtt_scaling) && ca->rtt_min) {
		u32 scale =
			(HZ << HTCP_SCALE_SHIFT) / (htcp_reference_rtts_per_second * ca->rtt_min);

		scale = clamp_t(u32, scale, htcp_scale_min, htcp_scale_max);
		factor = max((factor << HTCP_SCALE_SHIFT) / scale, 1U);
	}
	ca->alpha = 2 * factor * (HTCP_ONE - ca->beta);
	if (!ca->alpha)
		ca->alpha = HTCP_ONE;
}

/* Did the throughput before this congestion differ by more than 20 % from that before the last? */
static bool htcp_rate_changed(const struct htcp *ca, u32 old)
{
	u32 low = 4 * old, high = 6 * old;

	return high - low < 5 * ca->rate_max - low;
}

/* Halve when the path seems to have changed, and then once more before beta adapts to the queue. */
static void htcp_update_beta(const struct sock *sk, struct htcp *ca)
{
	u32 old = ca->old_rate_max;

	if (param(sk, use_bandwidth_switch)) {
		ca->old_rate_max = ca->rate_max;
		if (htcp_rate_changed(ca, old)) {
			ca->beta = (u8)param(sk, beta_min);
			ca->is_adaptive = false;
			return;
		}
	}
	if (!ca->is_adaptive || !ca->rtt_max ||
	    ca->rtt_min <= msecs_to_jiffies(sk, htcp_beta_rtt_min_ms)) {
		ca->beta = (u8)param(sk, beta_min);
		ca->is_adaptive = true;
		return;
	}
	ca->beta = (u8)clamp_t(u32, (ca->rtt_min << HTCP_SHIFT) / ca->rtt_max, param(sk, beta_min),
			       param(sk, beta_max));
}

/* ---- Hooks ---- */

CCA_OP(void, htcp_init, struct sock *sk)
{
	struct htcp *ca = htcp_state(sk);

	*ca = (struct htcp){ 0 };
	ca->alpha = HTCP_ONE;
	ca->beta = (u8)param(sk, beta_min);
	ca->last_acked = 1;
	ca->last_cong = tcp_jiffies32;
}

/* At congestion the largest RTT is known best, so this is when beta and alpha are renewed. */
CCA_SSTHRESH_OP(htcp_ssthresh)
{
	struct htcp *ca = htcp_state(sk);

	htcp_update_beta(sk, ca);
	htcp_update_alpha(sk, ca);
	if (ca->rtt_min && ca->rtt_max > ca->rtt_min) {
		u32 excess = ca->rtt_max - ca->rtt_min;

		ca->rtt_max = ca->rtt_min + excess * htcp_rtt_memory_percent / 100;
	}
	return max((tcp_snd_cwnd(tcp_sk(sk)) * ca->beta) >> HTCP_SHIFT, htcp_ssthresh_min);
}

/* The growth is looked up again for each segment of growth. */
CCA_AVOID_OP(htcp_cong_avoid)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct htcp *ca = htcp_state(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		tcp_slow_start(tp, acked);
		return;
	}
	if ((tp->snd_cwnd_cnt * ca->alpha) >> HTCP_SHIFT >= tcp_snd_cwnd(tp)) {
		if (tcp_snd_cwnd(tp) < tp->snd_cwnd_clamp)
			tcp_snd_cwnd_set(tp, tcp_snd_cwnd(tp) + 1);
		tp->snd_cwnd_cnt = 0;
		htcp_update_alpha(sk, ca);
	} else {
		tp->snd_cwnd_cnt += ca->last_acked;
	}
	ca->last_acked = 1;
}

/* Congestion begins: the clock of the growth starts over; it does so again when it ends. */
CCA_OP(void, htcp_set_state, struct sock *sk, u8 new_state)
{
	struct htcp *ca = htcp_state(sk);

	if (new_state == TCP_CA_Disorder)
		return;
	if (new_state != TCP_CA_Open) {
		ca->undo_last_cong = ca->last_cong;
		ca->undo_rtt_max = ca->rtt_max;
		ca->undo_old_rate_max = ca->old_rate_max;
		ca->last_cong = tcp_jiffies32;
	} else if (ca->undo_last_cong) {
		ca->last_cong = tcp_jiffies32;
		ca->undo_last_cong = 0;
	}
}

CCA_OP(u32, htcp_undo_cwnd, struct sock *sk)
{
	struct htcp *ca = htcp_state(sk);

	if (ca->undo_last_cong) {
		ca->last_cong = ca->undo_last_cong;
		ca->rtt_max = ca->undo_rtt_max;
		ca->old_rate_max = ca->undo_old_rate_max;
		ca->undo_last_cong = 0;
	}
	return tcp_reno_undo(sk);
}

enum htcp_phase { HTCP_SLOW_START, HTCP_LOW_SPEED, HTCP_HIGH_SPEED };
CCA_STATES("SLOW_START", "LOW_SPEED", "HIGH_SPEED");

CCA_INFO_OP(htcp_info)
{
	const struct htcp *ca = htcp_state(sk);

	info->flags = CCA_INFO_STATE;
	if (tcp_in_slow_start(tcp_sk(sk)))
		info->state = HTCP_SLOW_START;
	else
		info->state = tcp_jiffies32 - ca->last_cong > HZ ? HTCP_HIGH_SPEED : HTCP_LOW_SPEED;
	if (ca->rtt_min) {
		info->flags |= CCA_INFO_MIN_RTT;
		info->min_rtt_us = (u32)div64_u64((u64)ca->rtt_min * USEC_PER_SEC, HZ);
	}
}

/* clang-format off */
#define HTCP_VARS(V)								\
	V(alpha, ca->alpha, "1/128", "segments by which the window grows in a round trip") \
	V(beta, ca->beta, "1/128", "window after congestion over that before")	\
	V(rate_max, ca->rate_max, "segments/s", "largest throughput since the last congestion") \
	V(undo_rtt_max, ca->undo_last_cong ? (s64)ca->undo_rtt_max : CCA_UNSET, "jiffies", "largest RTT before the reduction")

CCA_VARS(struct htcp, ca, htcp_state(sk), HTCP_VARS);

CCA_MODULE(htcp, "htcp", TCP_CONG_NON_RESTRICTED,
	   .init = htcp_init,
	   .ssthresh = htcp_ssthresh,
	   .cong_avoid = htcp_cong_avoid,
	   .set_state = htcp_set_state,
	   .undo_cwnd = htcp_undo_cwnd,
	   .pkts_acked = htcp_pkts_acked,
	   CCA_INFO(htcp_info));
/* clang-format on */
