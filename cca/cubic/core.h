/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * CUBIC's curve, HyStart and reductions, for the controllers that are CUBIC or go on from it: each function does the part
 * of a hook that is CUBIC's, on a private state that may be part of a larger one. cubic.c describes the model.
 */
#ifndef CUBIC_CORE_H
#define CUBIC_CORE_H

#include "cca.h"

/* clang-format off */
#define CUBIC_PARAMS(P)								\
	P(fast_convergence, 1, 0, 1, "bool",					\
	  "give up more after a loss below the old maximum (RFC 9438 sec. 4.7)") \
	P(beta, 717, 256, 1000, "1/1024",					\
	  "window after congestion over the window before (RFC 9438 sec. 4.6: 0.7)") \
	P(bic_scale, 41, 1, 1024, "1/1024 of 10 segments/s^3",			\
	  "steepness C of the curve (RFC 9438 sec. 5: 0.4)")			\
	P(initial_ssthresh, 0, 0, 0x7fffffff, "segments",			\
	  "slow-start threshold of a new connection when HyStart is off; 0: none") \
	P(tcp_friendliness, 1, 0, 1, "bool",					\
	  "grow at least as fast as Reno would (RFC 9438 sec. 4.3)")		\
	P(friendly_connections, 1, 1, 16, "flows",				\
	  "Reno flows that growth is to keep up with, as in Chromium; beta stays what it is") \
	P(byte_count, 0, 0, 1024, "1/1024 segments",				\
	  "what an acknowledged packet counts beyond slow start, with windows kept in parts of a segment, as in Chromium; 0: whole segments") \
	P(hystart, 1, 0, 1, "bool", "leave slow start before loss (HyStart)")	\
	P(hystart_detect, 3, 0, 3, "bits", "1: ACK train, 2: delay, 3: both")	\
	P(hystart_low_window, 16, 0, 65535, "segments", "HyStart is idle below this window") \
	P(hystart_once, 0, 0, 1, "bool",					\
	  "judge the delay once a round, at any window, as in Chromium; 0: from the ninth sample on") \
	P(hystart_ack_delta_us, 2000, 0, 1000000, "us", "longest gap between ACKs of one train") \
	P(hystart_half_train, 0, 0, 1, "bool",					\
	  "a train is long after half the minimum delay, paced or not; Linux before 5.6: 1")
/* clang-format on */

CCA_FAMILY_PARAMS(CUBIC_PARAMS);

/* Unit of time on the curve: 2^-10 s, so that a cube needs three shifts by 10. */
#define CUBIC_TIME_SHIFT 10
#define CUBIC_BETA_ONE	 1024
/* Parts of a segment in which windows are kept with byte_count. */
#define CUBIC_PART 1024U

/* Shift of C (t - K)^3: 10 for the scale of C, 30 for the cubed unit of time. */
static const u32 cubic_curve_shift = 10 + 3 * CUBIC_TIME_SHIFT;
/* C is given in bic_scale/1024 for an RTT of 100 ms: ten steps a second. */
static const u32 cubic_rtts_per_second = 10;
/* Minimum window after a reduction, in segments (RFC 5681, eq. 4). */
static const u32 cubic_ssthresh_min = 2;
/* Growth is at most one segment per two delivered, 1.5 W per RTT (RFC 9438 sec. 4.4). */
static const u32 cubic_cnt_min = 2;
/* On the plateau: one segment per 100 windows, practically none. */
static const u32 cubic_plateau_windows = 100;
/* No maximum known: at least 5 % per RTT, since the curve's flat start says nothing then. */
static const u32 cubic_cnt_unknown = 20;
/* The curve is looked up again within 1/32 s only if the window has changed. */
static const u32 cubic_lookups_per_second = 32;

#define HYSTART_ACK_TRAIN 1
#define HYSTART_DELAY	  2
/* RTT samples of a round that only count, before their minimum is judged. */
static const u8 hystart_min_samples = 8;
/* The delay grew when it exceeds the minimum delay by an eighth, within 4 to 16 ms. */
static const u32 hystart_delay_shift = 3;
static const u32 hystart_delay_min_us = 4000;
static const u32 hystart_delay_max_us = 16000;
/* Senders' and receivers' aggregation holds an ACK for at most this long ... */
static const u32 hystart_ack_delay_max_us = 1000;
/* ... and for up to four of the largest bursts: one sent, one received, doubled
 * because the pacing rate is twice the bandwidth in slow start.
 */
static const u32 hystart_ack_delay_bursts = 4;

/* Why slow start ended, for records. */
enum cubic_end {
	CUBIC_END_NONE,
	CUBIC_END_TRAIN,     /* HyStart: a long train of ACKs */
	CUBIC_END_DELAY,     /* HyStart: the delay grew */
	CUBIC_END_REDUCTION, /* loss, or a mark */
	CUBIC_END_THRESHOLD, /* the threshold that an earlier reduction, or a parameter, had left */
};

struct cubic {
	u32 cnt;	  /* segments delivered per segment of growth */
	u32 w_max;	  /* window at the last congestion; 0: unknown */
	u32 last_cwnd;	  /* window at the last look-up of the curve */
	u32 last_time;	  /* its time, jiffies */
	u32 origin;	  /* window where the curve is flat */
	u32 k;		  /* time from the epoch's start to there, 1/1024 s */
	u32 epoch_start;  /* jiffies; 0: the next ACK starts an epoch */
	u32 ack_cnt;	  /* segments delivered that w_est has not counted */
	u32 w_est;	  /* window that Reno would have, segments */
	u32 w;		  /* with byte_count: the window, 1/1024 segments */
	u32 w_est_parts;  /* ... and the one that Reno would have */
	u32 delay_min_us; /* minimum RTT since the last timeout; 0: unknown */
	/* HyStart */
	u32 round_start_us;
	u32 round_end;	   /* the round ends when this is acknowledged, seq */
	u32 last_ack_us;   /* last ACK of the train */
	u32 round_rtt_us;  /* minimum RTT of the round */
	u8 samples;	   /* RTT samples of the round, up to hystart_min_samples */
	bool grew;	   /* with hystart_once: a round's delay had grown */
	bool found;	   /* slow start's exit was found */
	u8 slow_start_end; /* enum cubic_end; for records */
};

/* ---- The curve ---- */

/* C in 1/1024 segments/s^3; 410 by default. */
static u32 cubic_c(const struct sock *sk)
{
	return param(sk, bic_scale) * cubic_rtts_per_second;
}

/*
 * Time from the cut back to w_max, 1/1024 s: cbrt((w_max - cwnd) / C).
 * 2^40 / C is below 2^37 and the difference below 2^27 in any real window, so the
 * product holds in 64 bits.
 */
static u32 cubic_time_to_max(const struct sock *sk, u32 w_max, u32 cwnd)
{
	u64 inverse_c = div64_u64(1ULL << cubic_curve_shift, cubic_c(sk));

	return cube_root(inverse_c * (w_max - cwnd));
}

/* The first ACK after a reduction (or after init) fixes the curve. */
static void cubic_begin_epoch(struct sock *sk, struct cubic *ca, u32 cwnd, u32 acked)
{
	ca->epoch_start = tcp_jiffies32;
	ca->ack_cnt = acked;
	ca->w_est = cwnd;
	if (ca->w_max <= cwnd) {
		ca->k = 0;
		ca->origin = cwnd;
	} else {
		ca->k = cubic_time_to_max(sk, ca->w_max, cwnd);
		ca->origin = ca->w_max;
	}
}

/*
 * W(t + RTT), segments. C |t - K|^3 holds in 64 bits for 345,000 units (337 s) off the
 * plateau; beyond that it wraps, as in Linux.
 */
static u32 cubic_target(const struct sock *sk, const struct cubic *ca)
{
	u64 ticks = (u64)(tcp_jiffies32 - ca->epoch_start) + usecs_to_jiffies(sk, ca->delay_min_us);
	u64 t = div64_u64(ticks << CUBIC_TIME_SHIFT, HZ);
	u64 off = t < ca->k ? ca->k - t : t - ca->k;
	u32 delta = (u32)((cubic_c(sk) * off * off * off) >> cubic_curve_shift);

	return t < ca->k ? ca->origin - delta : ca->origin + delta;
}

/* Segments to deliver per segment of growth on the curve. */
static u32 cubic_count(const struct sock *sk, const struct cubic *ca, u32 cwnd)
{
	u32 target = cubic_target(sk, ca);
	u32 cnt = target > cwnd ? cwnd / (target - cwnd) : cubic_plateau_windows * cwnd;

	return ca->w_max ? cnt : min(cnt, cubic_cnt_unknown);
}

/*
 * Segments that Reno with our beta delivers per segment of growth, RFC 9438 sec. 4.3:
 * W / alpha with alpha = 3 (1 - beta) / (1 + beta); 15/8 W by default. For N flows alpha is N^2 times that.
 */
static u32 cubic_friendly_count(const struct sock *sk, u32 cwnd)
{
	u32 beta = param(sk, beta), flows = param(sk, friendly_connections);
	u32 eighths = 8 * (CUBIC_BETA_ONE + beta) / 3 / (CUBIC_BETA_ONE - beta);

	return max(((cwnd * eighths) >> 3) / (flows * flows), 1U);
}

/* Raise the growth so that the window follows w_est where that is larger. */
static void cubic_befriend_reno(const struct sock *sk, struct cubic *ca, u32 cwnd)
{
	u32 per_segment = cubic_friendly_count(sk, cwnd);

	if (ca->ack_cnt > per_segment) {
		u32 grown = (ca->ack_cnt - 1) / per_segment;

		ca->w_est += grown;
		ca->ack_cnt -= grown * per_segment;
	}
	if (ca->w_est > cwnd)
		ca->cnt = min(ca->cnt, cwnd / (ca->w_est - cwnd));
}

/* Set ca->cnt for this ACK. The curve is looked up at most once a jiffy. */
static void cubic_update(struct sock *sk, struct cubic *ca, u32 cwnd, u32 acked)
{
	u32 now = tcp_jiffies32;

	ca->ack_cnt += acked;
	if (ca->last_cwnd == cwnd && now - ca->last_time <= HZ / cubic_lookups_per_second)
		return;
	if (!ca->epoch_start || now != ca->last_time) {
		ca->last_cwnd = cwnd;
		ca->last_time = now;
		if (!ca->epoch_start)
			cubic_begin_epoch(sk, ca, cwnd, acked);
		ca->cnt = cubic_count(sk, ca, cwnd);
	}
	if (param(sk, tcp_friendliness))
		cubic_befriend_reno(sk, ca, cwnd);
	ca->cnt = max(ca->cnt, cubic_cnt_min);
}

/* ---- Windows in bytes, as Chromium's (cubic_bytes.cc) ---- */

/* The exact window; snd_cwnd is the nearest whole one, unless somebody else has set it. */
static u32 cubic_parts(const struct sock *sk, const struct cubic *ca)
{
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));

	if ((ca->w + CUBIC_PART / 2) / CUBIC_PART == cwnd)
		return ca->w;
	return cwnd * CUBIC_PART;
}

/* W(t + RTT) in parts of a segment. */
static u32 cubic_target_parts(const struct sock *sk, const struct cubic *ca)
{
	u64 ticks = (u64)(tcp_jiffies32 - ca->epoch_start) + usecs_to_jiffies(sk, ca->delay_min_us);
	u64 t = div64_u64(ticks << CUBIC_TIME_SHIFT, HZ);
	u64 off = t < ca->k ? ca->k - t : t - ca->k;
	u32 delta = (u32)((cubic_c(sk) * off * off * off) >> (cubic_curve_shift - 10));

	return t < ca->k ? ca->origin - min(delta, ca->origin) : ca->origin + delta;
}

/* The first ACK after a reduction fixes the curve; w_max and origin are in parts here. */
static void cubic_begin_parts(struct sock *sk, struct cubic *ca, u32 w)
{
	ca->epoch_start = tcp_jiffies32;
	ca->w_est_parts = w;
	ca->k = 0;
	ca->origin = w;
	if (ca->w_max > w) {
		u64 inverse_c = div64_u64(1ULL << cubic_curve_shift, cubic_c(sk));

		ca->k = cube_root((inverse_c * (ca->w_max - w)) >> 10);
		ca->origin = ca->w_max;
	}
}

/*
 * Window after an ACK (CubicBytes::CongestionWindowAfterAck): the curve, at most half of what is acknowledged above the
 * window, or Reno's window, which grows by alpha per window acknowledged.
 */
static void cubic_avoid_by_bytes(struct sock *sk, struct cubic *ca, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 beta = param(sk, beta), flows = param(sk, friendly_connections);
	u32 w = cubic_parts(sk, ca), part = acked * param(sk, byte_count);
	u32 alpha =
		3 * flows * flows * CUBIC_PART * (CUBIC_BETA_ONE - beta) / (CUBIC_BETA_ONE + beta);
	u32 target;

	if (!ca->epoch_start)
		cubic_begin_parts(sk, ca, w);
	target = min(cubic_target_parts(sk, ca), w + part / 2);
	ca->w_est_parts += (u32)div64_u64((u64)part * alpha, max(ca->w_est_parts, 1U));
	ca->w = max(target, ca->w_est_parts);
	ca->w_est = ca->w_est_parts / CUBIC_PART;
	cca_set_exact_cwnd(tp, ca->w);
}

/* CubicBytes::CongestionWindowAfterPacketLoss; a segment below the maximum is not below it. */
static u32 cubic_reduce_by_bytes(struct sock *sk, struct cubic *ca)
{
	u32 w = cubic_parts(sk, ca), beta = param(sk, beta);

	ca->epoch_start = 0;
	if (w + CUBIC_PART < ca->w_max && param(sk, fast_convergence))
		ca->w_max = (u32)((u64)w * (CUBIC_BETA_ONE + beta) / (2 * CUBIC_BETA_ONE));
	else
		ca->w_max = w;
	ca->w = max((u32)((u64)w * beta / CUBIC_BETA_ONE), cubic_ssthresh_min * CUBIC_PART);
	tcp_sk(sk)->snd_cwnd_cnt = CCA_CWND_EXACT | ((ca->w + CUBIC_PART / 2) % CUBIC_PART);
	return (ca->w + CUBIC_PART / 2) / CUBIC_PART;
}

/* ---- HyStart ---- */

static void hystart_begin_round(const struct sock *sk, struct cubic *ca)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	ca->round_start_us = (u32)tp->tcp_mstamp;
	ca->last_ack_us = (u32)tp->tcp_mstamp;
	ca->round_end = tp->snd_nxt;
	ca->round_rtt_us = ~0U;
	ca->samples = 0;
}

/* How long aggregation at the hosts may hold an ACK, us. */
static u32 hystart_ack_delay_us(const struct sock *sk)
{
	u64 rate = sk->sk_pacing_rate;
	u64 bursts = (u64)sk->sk_gso_max_size * hystart_ack_delay_bursts;

	if (!rate)
		return 0;
	return (u32)min_t(u64, hystart_ack_delay_max_us, div64_u64(bursts * USEC_PER_SEC, rate));
}

/*
 * Have ACKs kept coming, with gaps below hystart_ack_delta_us, for longer than the minimum
 * delay? One larger gap ends the train for the round. Without pacing a window leaves
 * as one burst, so half the delay is enough.
 */
static bool hystart_train_is_long(const struct sock *sk, struct cubic *ca)
{
	u32 now = (u32)tcp_sk(sk)->tcp_mstamp;
	u32 threshold;

	if (now - ca->last_ack_us > param(sk, hystart_ack_delta_us))
		return false;
	ca->last_ack_us = now;
	threshold = ca->delay_min_us;
	if (!param(sk, hystart_half_train))
		threshold += hystart_ack_delay_us(sk);
	if (sk->sk_pacing_status == SK_PACING_NONE || param(sk, hystart_half_train))
		threshold >>= 1;
	return now - ca->round_start_us > threshold;
}

/* Has the minimum delay of the round grown beyond the minimum of all? */
static bool hystart_is_late(const struct cubic *ca)
{
	u32 growth = clamp_t(u32, ca->delay_min_us >> hystart_delay_shift, hystart_delay_min_us,
			     hystart_delay_max_us);

	return ca->round_rtt_us > ca->delay_min_us + growth;
}

/* A sample of the round's delay; judged once there are enough before it. */
static bool hystart_delay_grew(struct cubic *ca, u32 rtt_us)
{
	ca->round_rtt_us = min(ca->round_rtt_us, rtt_us);
	if (ca->samples < hystart_min_samples) {
		ca->samples++;
		return false;
	}
	return hystart_is_late(ca);
}

/* Judge the round at its last sample that counts. True: slow start is over, or will be with the next ACK. */
static bool hystart_judge_once(const struct sock *sk, struct cubic *ca, u32 rtt_us)
{
	if (ca->grew)
		return true;
	if (ca->samples >= hystart_min_samples)
		return false;
	ca->round_rtt_us = min(ca->round_rtt_us, rtt_us);
	ca->samples++;
	ca->grew = ca->samples == hystart_min_samples && hystart_is_late(ca);
	return ca->grew && tcp_snd_cwnd(tcp_sk(sk)) >= param(sk, hystart_low_window);
}

/* Both detectors run on each sample, for each keeps its own state. */
static bool hystart_judge(struct sock *sk, struct cubic *ca, u32 rtt_us)
{
	u32 detect = param(sk, hystart_detect);
	bool full = false;

	if (tcp_snd_cwnd(tcp_sk(sk)) < param(sk, hystart_low_window))
		return false;
	if ((detect & HYSTART_ACK_TRAIN) && hystart_train_is_long(sk, ca)) {
		ca->slow_start_end = CUBIC_END_TRAIN;
		full = true;
	}
	if ((detect & HYSTART_DELAY) && hystart_delay_grew(ca, rtt_us))
		full = true;
	return full;
}

static void hystart_update(struct sock *sk, struct cubic *ca, u32 rtt_us)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (after(tp->snd_una, ca->round_end))
		hystart_begin_round(sk, ca);
	if (param(sk, hystart_once) ? hystart_judge_once(sk, ca, rtt_us)
				    : hystart_judge(sk, ca, rtt_us)) {
		ca->found = true;
		if (!ca->slow_start_end)
			ca->slow_start_end = CUBIC_END_DELAY;
		tp->snd_ssthresh = tcp_snd_cwnd(tp);
	}
}

/* ---- What each hook does ---- */

static void cubic_reset(const struct sock *sk, struct cubic *ca)
{
	*ca = (struct cubic){ 0 };
	hystart_begin_round(sk, ca);
}

static void cubic_begin(struct sock *sk, struct cubic *ca)
{
	cubic_reset(sk, ca);
	if (!param(sk, hystart) && param(sk, initial_ssthresh))
		tcp_sk(sk)->snd_ssthresh = param(sk, initial_ssthresh);
}

static void cubic_avoid(struct sock *sk, struct cubic *ca, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk)) {
		if (param(sk, byte_count))
			ca->epoch_start = 0; /* CubicBytes::OnApplicationLimited */
		return;
	}
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	if (param(sk, byte_count)) {
		cubic_avoid_by_bytes(sk, ca, acked);
		return;
	}
	cubic_update(sk, ca, tcp_snd_cwnd(tp), acked);
	tcp_cong_avoid_ai(tp, ca->cnt, acked);
}

/* RFC 9438 sec. 4.6 (decrease) and 4.7 (fast convergence). In 64 bits: Linux's products wrap above
 * 2.4 million segments.
 */
static u32 cubic_reduce(struct sock *sk, struct cubic *ca)
{
	u64 cwnd = tcp_snd_cwnd(tcp_sk(sk));
	u32 beta = param(sk, beta);

	if (tcp_in_slow_start(tcp_sk(sk)))
		ca->slow_start_end = CUBIC_END_REDUCTION;
	if (param(sk, byte_count))
		return cubic_reduce_by_bytes(sk, ca);
	ca->epoch_start = 0;
	if (cwnd < ca->w_max && param(sk, fast_convergence))
		ca->w_max = (u32)(cwnd * (CUBIC_BETA_ONE + beta) / (2 * CUBIC_BETA_ONE));
	else
		ca->w_max = (u32)cwnd;
	return max((u32)(cwnd * beta / CUBIC_BETA_ONE), cubic_ssthresh_min);
}

/*
 * A timeout says that the path may be another one: forget the curve, the maximum and the
 * minimum delay. (ssthresh() ran before, so its cut survives in snd_ssthresh only.)
 */
static void cubic_enter(struct sock *sk, struct cubic *ca, u8 new_state)
{
	if (new_state == TCP_CA_Loss)
		cubic_reset(sk, ca);
}

/* Data after a pause: idle time does not count on the curve (RFC 9438 sec. 5.8). */
static void cubic_resume(struct sock *sk, struct cubic *ca, enum tcp_ca_event event)
{
	u32 now = tcp_jiffies32;
	s32 idle = (s32)(now - tcp_sk(sk)->lsndtime);

	if (event != CA_EVENT_TX_START || !ca->epoch_start || idle <= 0)
		return;
	ca->epoch_start += (u32)idle;
	if (after(ca->epoch_start, now))
		ca->epoch_start = now;
}

/* RTTs of the second after a cut say more about the queue that is left than about the path. */
static void cubic_measure(struct sock *sk, struct cubic *ca, s32 sampled_us)
{
	u32 rtt_us;

	if (sampled_us < 0)
		return;
	if (ca->epoch_start && tcp_jiffies32 - ca->epoch_start < HZ)
		return;
	rtt_us = max((u32)sampled_us, 1U);
	if (!ca->delay_min_us || ca->delay_min_us > rtt_us)
		ca->delay_min_us = rtt_us;
	if (!ca->found && tcp_in_slow_start(tcp_sk(sk)) && param(sk, hystart))
		hystart_update(sk, ca, rtt_us);
}

enum { CUBIC_SLOW_START, CUBIC_CONCAVE, CUBIC_CONVEX, CUBIC_RENO_FRIENDLY };
#define CUBIC_STATES "SLOW_START", "CONCAVE", "CONVEX", "RENO_FRIENDLY"

static __attribute__((unused)) void cubic_tell(struct sock *sk, const struct cubic *ca,
					       struct cca_info *info)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 origin = param(sk, byte_count) ? ca->origin / CUBIC_PART : ca->origin;

	info->flags = CCA_INFO_STATE;
	if (tcp_in_slow_start(tp))
		info->state = CUBIC_SLOW_START;
	else if (ca->w_est > tcp_snd_cwnd(tp))
		info->state = CUBIC_RENO_FRIENDLY;
	else
		info->state = tcp_snd_cwnd(tp) < origin ? CUBIC_CONCAVE : CUBIC_CONVEX;
	if (ca->delay_min_us) {
		info->flags |= CCA_INFO_MIN_RTT;
		info->min_rtt_us = ca->delay_min_us;
	}
}

/* While a reduction is under way, a window below the threshold is no slow start. */
#define CUBIC_IN_SLOW_START(sk, ca)       \
	(tcp_in_slow_start(tcp_sk(sk)) && \
	 (!(ca)->slow_start_end || inet_csk_ca_state(sk) <= TCP_CA_Disorder))
/* Of w_max and origin in a segment. */
#define CUBIC_UNITS(sk) (param(sk, byte_count) ? CUBIC_PART : 1)

/* clang-format off */
#define CUBIC_VARS(V)								\
	V(w_max, ca->w_max ? (s64)(ca->w_max / CUBIC_UNITS(sk)) : CCA_UNSET, "segments", "window at the last congestion") \
	V(origin, ca->origin / CUBIC_UNITS(sk), "segments", "window where the curve is flat") \
	V(k, ca->k, "s/1024", "time from the epoch's start to there")	\
	V(epoch_start, ca->epoch_start ? (s64)ca->epoch_start : CCA_UNSET, "jiffies", "start of the curve") \
	V(w_est, ca->w_est, "segments", "window that Reno would have")		\
	V(min_rtt_us, ca->delay_min_us ? (s64)ca->delay_min_us : CCA_UNSET, "us", "minimum RTT since the last timeout") \
	V(hystart_found, ca->found, "bool", "HyStart has found the end of slow start") \
	V(slow_start_end, CUBIC_IN_SLOW_START(sk, ca) ? CUBIC_END_NONE :	\
			  ca->slow_start_end ? ca->slow_start_end : CUBIC_END_THRESHOLD, "none|train|delay|reduction|threshold", \
	  "why slow start ended; none: it goes on, or began again after a timeout")
/* clang-format on */

#endif /* CUBIC_CORE_H */
