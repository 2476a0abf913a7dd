/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Orca: CUBIC, whose window a network multiplies some thirty times a second.
 *
 *	GROW	until slow start has ended once: every 2 ms with an RTT sample, cwnd *= 1.1
 *	STEER	for ever after: every `period`, seven numbers of what happened since go to the network, and `age` later
 *		cwnd = percent x (the cwnd of that reading), at least 4
 *
 * In between CUBIC works as ever, from the window that it finds; in recovery PRR sets the window at the next ACK. The
 * socket is paced at MTU x max(cwnd, segments out) / srtt, without a gain.
 *
 * The published program polls from user space: 20 ms of sleep and its polls make a period of some 31 ms, and the window
 * that it sets is computed from one some 10 ms old. Its results depend on both, so they are parameters. It sets windows
 * between ACKs; here that is the beginning of the first ACK after the time.
 *
 * State, the last ten of them, oldest first, Q16; max is the largest thr so far:
 *
 *	thr / max, min(pacing / max, 10), 5 lost / dt / max, RTT samples / cwnd, dt in s,
 *	min_rtt / srtt, min(1, 1.25 min_rtt / srtt)
 *
 * thr is the mean of the delivery-rate samples of the ACKs of the period, taken one ACK later, since Linux tells them to
 * controllers with cong_control only. min_rtt never expires.
 *
 * Sources: Abbasloo, Yen and Chao, "Classic Meets Modern: a Pragmatic Learning-Based Congestion Control for the Internet",
 * SIGCOMM 2020; Soheil-ab/Orca at cafaf9a (rl-module, src/orca-server-mahimahi.cc, the patches of linux).
 *
 * A policy's C file has policy_layer0, policy_layer1 and so on, POLICY_HIDDEN, rows LAYER(n) of all but the last, POLICY_LAST,
 * that one's name, policy_thresholds, POLICY_THRESHOLDS and POLICY_FIRST, the percentage below the first threshold,
 * POLICY_PERIOD_US, POLICY_AGE_US and POLICY_GROW_PERCENT, and ends with ORCA_MODULE. With ORCA_AGENT there is no policy: who
 * steps the simulator decides (cca/hosts/sim/agent.c).
 */
#ifndef ORCA_CONTROLLER_H
#define ORCA_CONTROLLER_H

#define ORCA_SIGNALS 7
#define ORCA_HISTORY 10
#define ORCA_INPUTS  (ORCA_SIGNALS * ORCA_HISTORY)
/* Widest hidden layer. */
#define ORCA_WIDTH 256

/* clang-format off */
#define ORCA_PARAMS(P)								\
	P(period_us, POLICY_PERIOD_US, 1000, 1000000, "us", "time between two readings") \
	P(age_us, POLICY_AGE_US, 0, 1000000, "us", "time from a reading until its window is set") \
	P(grow_us, 2000, 100, 1000000, "us", "time between two steps of the first slow start") \
	P(grow_percent, POLICY_GROW_PERCENT, 100, 400, "%", "window after such a step, of the one before")
/* clang-format on */

CCA_PARAMS_OF_FAMILY(CUBIC_PARAMS, ORCA_PARAMS);

static const u32 orca_cwnd_min = 4;
/* Bytes of a packet in the pacing rate: the MTU. */
static const u32 orca_mtu = 1500;
static const u32 orca_pacing_most = 10;
static const u32 orca_loss_weight = 5;

struct orca {
	struct cubic cubic;
	u64 next_us;	  /* of the next step, or the next reading */
	u64 set_us;	  /* when the window is set; 0: none is due */
	u64 read_us;	  /* of the last reading */
	u64 thr_sum;	  /* of the samples since then, bytes/s */
	u64 thr_max;	  /* largest mean of a reading, bytes/s */
	u64 thr;	  /* that of the last reading; for records */
	u64 dt_us;	  /* its length; for records */
	u64 lost_bytes;	  /* lost in it; for records */
	u32 acks;	  /* ACKs with an RTT sample in it; for records */
	u32 read_cwnd;	  /* the window when it was taken, segments */
	u64 app_pacing;	  /* bound of the application, bytes/s */
	u32 window;	  /* to be set, segments */
	u32 thr_n;	  /* samples */
	u32 rtts;	  /* ACKs with an RTT sample */
	u32 min_rtt_us;	  /* of the connection; ~0: none */
	u32 delivered;	  /* tp->delivered when a rate was counted last */
	u32 lost;	  /* tp->lost at the last reading */
	u32 percent;	  /* last answer; for records */
	bool is_steering; /* slow start has ended once */
	bool is_asking;	  /* an agent has not answered yet */
	s32 state[ORCA_INPUTS];
	s32 hidden[2][ORCA_WIDTH]; /* of the network, written before they are read; last */
};

CCA_STATE_LARGE(orca, struct orca);

/* NULL before init(): Linux measures the RTT of the handshake first. */
static __always_inline struct orca *orca_begun(struct sock *sk)
{
	struct orca *orca = orca_state(sk);

	return orca && orca->min_rtt_us ? orca : NULL;
}

/* a / b in Q16, at most `most` (not in Q16). */
static s32 orca_ratio(u64 a, u64 b, u32 most)
{
	if (!b)
		return 0;
	if (a >= b * most)
		return (s32)(most << NET_ONE_SHIFT);
	return (s32)div64_u64(a << NET_ONE_SHIFT, b);
}

/* ---- The network ---- */

#ifdef ORCA_AGENT
/* Until there is an answer the window stays. */
static __always_inline u32 orca_infer(struct orca *orca)
{
	orca->is_asking = true;
	return 100;
}
#else
#define ORCA_FORWARD(n)                                         \
	net_forward(&policy_layer##n, in, orca->hidden[(n)&1]); \
	in = orca->hidden[(n)&1];

static __always_inline u32 orca_infer(struct orca *orca)
{
	const s32 *in = orca->state;

	POLICY_HIDDEN(ORCA_FORWARD)
	return POLICY_FIRST +
	       net_reached(net_sum(&POLICY_LAST, 0, in), policy_thresholds, POLICY_THRESHOLDS);
}
#endif

/* ---- The monitor ---- */

/* The rate sample of the ACK before this one. */
static void orca_count_rate(const struct tcp_sock *tp, struct orca *orca)
{
	if (tp->delivered == orca->delivered || !tp->rate_interval_us)
		return;
	orca->delivered = tp->delivered;
	orca->thr_sum += div64_u64((u64)tp->rate_delivered * tp->mss_cache * USEC_PER_SEC,
				   tp->rate_interval_us);
	orca->thr_n++;
}

static void orca_begin_period(const struct tcp_sock *tp, struct orca *orca)
{
	orca->read_us = tp->tcp_mstamp;
	orca->thr_sum = 0;
	orca->thr_n = 0;
	orca->rtts = 0;
	orca->lost = tp->lost;
}

/* The seven numbers of the period that ends now, behind those of nine before it. */
static __always_inline void orca_observe(const struct sock *sk, struct orca *orca)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 srtt_us = max(tp->srtt_us >> 3, 1U), min_rtt_us = orca->min_rtt_us;
	s32 *now = orca->state + ORCA_INPUTS - ORCA_SIGNALS;
	u64 lost;
	u32 i;

	CCA_FOR(i, ORCA_INPUTS - ORCA_SIGNALS)
		orca->state[i] = orca->state[i + ORCA_SIGNALS];
	orca->dt_us = max_t(u64, tp->tcp_mstamp - orca->read_us, 1);
	orca->lost_bytes = (u64)(tp->lost - orca->lost) * tp->mss_cache;
	orca->acks = orca->rtts;
	orca->read_cwnd = tcp_snd_cwnd(tp);
	orca->thr = orca->thr_n ? div64_u64(orca->thr_sum, orca->thr_n) : 0;
	orca->thr_max = max(orca->thr_max, orca->thr);
	now[0] = orca_ratio(orca->thr, orca->thr_max, 1);
	now[1] = orca_ratio(sk->sk_pacing_rate, orca->thr_max, orca_pacing_most);
	lost = div64_u64(orca_loss_weight * USEC_PER_SEC * orca->lost_bytes, orca->dt_us);
	now[2] = orca_ratio(lost, orca->thr_max, 0x4000);
	now[3] = orca_ratio(orca->acks, orca->read_cwnd, 0x4000);
	now[4] = orca_ratio(orca->dt_us, USEC_PER_SEC, 0x4000);
	now[5] = orca_ratio(min_rtt_us, srtt_us, 1);
	now[6] = orca_ratio(5 * min_rtt_us, 4 * srtt_us, 1);
}

/* ---- The window ---- */

static void orca_set_window(struct sock *sk, u64 window)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 most = min(tp->snd_cwnd_clamp, (u32)TCP_INFINITE_SSTHRESH);

	tcp_snd_cwnd_set(tp, (u32)min_t(u64, max_t(u64, window, orca_cwnd_min), most));
	cca_own_window(sk);
}

/* Until slow start has ended: larger, as often as RTT samples allow. */
static void orca_grow(struct sock *sk, struct orca *orca)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (tp->tcp_mstamp < orca->next_us)
		return;
	orca->next_us = tp->tcp_mstamp + param(sk, grow_us);
	if (tcp_snd_cwnd(tp) > tp->snd_ssthresh) {
		orca->is_steering = true;
		orca->next_us = tp->tcp_mstamp + param(sk, period_us);
		orca_begin_period(tp, orca);
	} else if (orca->rtts) {
		orca->rtts = 0;
		orca_set_window(sk,
				div64_u64((u64)tcp_snd_cwnd(tp) * param(sk, grow_percent), 100));
	}
}

/* `percent` of the window of the last reading will be set. */
static void orca_decide(struct orca *orca, u32 percent)
{
	orca->percent = percent;
	orca->window = (u32)min_t(u64, div64_u64((u64)orca->read_cwnd * percent, 100),
				  TCP_INFINITE_SSTHRESH);
}

static void orca_steer(struct sock *sk, struct orca *orca)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (orca->set_us && tp->tcp_mstamp >= orca->set_us) {
		orca->set_us = 0;
		orca_set_window(sk, orca->window);
	}
	if (tp->tcp_mstamp < orca->next_us || !orca->rtts)
		return;
	orca->next_us = tp->tcp_mstamp + param(sk, period_us);
	orca->set_us = tp->tcp_mstamp + param(sk, age_us);
	orca_observe(sk, orca);
	orca_decide(orca, orca_infer(orca));
	orca_begin_period(tp, orca);
}

/* Linux's own rate has a gain of 1.2, or 2 in slow start; what the application asked for stays the bound. */
static void orca_pace(struct sock *sk, const struct orca *orca)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 bytes = (u64)orca_mtu * max(tcp_snd_cwnd(tp), tp->packets_out);
	u64 srtt_us = max(tp->srtt_us >> 3, 1U);

	if (tp->srtt_us)
		cca_bound_pacing(sk, min_t(u64, div64_u64(bytes * USEC_PER_SEC, srtt_us),
					   orca->app_pacing));
}

/* ---- Hooks ---- */

static void orca_begin(struct sock *sk, struct orca *orca)
{
	__builtin_memset(orca, 0, __builtin_offsetof(struct orca, hidden));
	orca->min_rtt_us = ~0U;
	orca->app_pacing = sk->sk_max_pacing_rate;
	cubic_begin(sk, &orca->cubic);
	orca->delivered = tcp_sk(sk)->delivered;
	orca_begin_period(tcp_sk(sk), orca);
	cca_request_pacing(sk);
}

CCA_OP(void, orca_init, struct sock *sk)
{
	struct orca *orca = orca_state(sk);

	if (orca)
		orca_begin(sk, orca);
}

CCA_OP(void, orca_in_ack_event, struct sock *sk, u32 flags)
{
	struct orca *orca = orca_begun(sk);

	if (!orca)
		return;
	orca_count_rate(tcp_sk(sk), orca);
	if (orca->is_steering)
		orca_steer(sk, orca);
	else
		orca_grow(sk, orca);
}

CCA_ACKED_OP(orca_pkts_acked)
{
	struct orca *orca = orca_begun(sk);

	if (!orca)
		return;
	cubic_measure(sk, &orca->cubic, sample->rtt_us);
	if (sample->rtt_us >= 0) {
		orca->rtts++;
		orca->min_rtt_us = min(orca->min_rtt_us, max((u32)sample->rtt_us, 1U));
	}
	orca_pace(sk, orca);
}

CCA_AVOID_OP(orca_cong_avoid)
{
	struct orca *orca = orca_state(sk);

	if (!orca)
		return;
	if (!orca->min_rtt_us)
		orca_begin(sk, orca); /* BPF, on a kernel that has not run init() */
	cubic_avoid(sk, &orca->cubic, acked);
	orca_pace(sk, orca);
}

CCA_SSTHRESH_OP(orca_ssthresh)
{
	struct orca *orca = orca_begun(sk);

	return orca ? cubic_reduce(sk, &orca->cubic) : max(tcp_snd_cwnd(tcp_sk(sk)) / 2, 2U);
}

CCA_OP(u32, orca_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo(sk);
}

CCA_OP(void, orca_set_state, struct sock *sk, u8 new_state)
{
	struct orca *orca = orca_begun(sk);

	if (orca)
		cubic_enter(sk, &orca->cubic, new_state);
}

CCA_OP(void, orca_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct orca *orca = orca_begun(sk);

	if (orca)
		cubic_resume(sk, &orca->cubic, event);
}

CCA_STATES("GROW", "STEER");

CCA_INFO_OP(orca_info)
{
	const struct orca *orca = orca_state(sk);

	if (!orca)
		return;
	info->flags = CCA_INFO_STATE;
	info->state = orca->is_steering;
	if (orca->min_rtt_us != ~0U) {
		info->flags |= CCA_INFO_MIN_RTT;
		info->min_rtt_us = orca->min_rtt_us;
	}
}

#define ORCA_SIGNAL(i) orca->state[ORCA_INPUTS - ORCA_SIGNALS + (i)]
/* clang-format off */
#define ORCA_VARS(V)								\
	V(percent, orca->is_steering && orca->percent ? (s64)orca->percent : CCA_UNSET, "%", "last answer of the network") \
	V(thr, (s64)orca->thr * 8, "bit/s", "mean delivery rate of the last period") \
	V(thr_max, (s64)orca->thr_max * 8, "bit/s", "largest of these")		\
	V(signal_thr, ORCA_SIGNAL(0), "1/65536", "thr / max")			\
	V(signal_pacing, ORCA_SIGNAL(1), "1/65536", "pacing rate / max")	\
	V(signal_loss, ORCA_SIGNAL(2), "1/65536", "5 lost / dt / max")		\
	V(signal_acks, ORCA_SIGNAL(3), "1/65536", "ACKs with an RTT / cwnd")	\
	V(signal_dt, ORCA_SIGNAL(4), "s/65536", "time since the reading before") \
	V(signal_delay, ORCA_SIGNAL(5), "1/65536", "min_rtt / srtt")		\
	V(signal_metric, ORCA_SIGNAL(6), "1/65536", "min(1, 1.25 min_rtt / srtt)")

CCA_VARS(struct orca, orca, orca_state(sk), ORCA_VARS);

/* Registers the controller of a policy's file; x is the file's name with "_" for "-". */
#define ORCA_MODULE(x, name)							\
	CCA_MODULE(x, name, TCP_CONG_NON_RESTRICTED,				\
		   .init = orca_init,						\
		   .ssthresh = orca_ssthresh,					\
		   .cong_avoid = orca_cong_avoid,				\
		   .set_state = orca_set_state,					\
		   .undo_cwnd = orca_undo_cwnd,					\
		   .cwnd_event = orca_cwnd_event,				\
		   .in_ack_event = orca_in_ack_event,				\
		   .pkts_acked = orca_pkts_acked,				\
		   CCA_INFO(orca_info))
/* clang-format on */

#endif /* ORCA_CONTROLLER_H */
