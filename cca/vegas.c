// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Vegas: keep between alpha and beta segments of one's own in the queue, judged by the round-trip time.
 *
 * Model, once per round trip, W in segments, R the minimum RTT of the round, B the minimum RTT of all:
 *
 *	queued = W (R - B) / B			by how much W exceeds the pipe, at the present rate
 *	slow start	queued > gamma:	W = W B / R + 1, and slow start is over; else as Reno
 *	avoidance	queued > beta:	W -= 1
 *			queued < alpha:	W += 1
 *	congestion	S = max(W / 2, 2), as Reno
 *
 *	             queued > gamma, loss
 *	SLOW_START -----------------------> AVOIDANCE
 *	     ^                                ^   |
 *	     | timeout               back in  |   | loss, reordering, ECN
 *	     |                       Open     |   v
 *	     '------------------------------ RENO    (samples say nothing: grow as Reno)
 *
 * A round with fewer than three RTT samples is not used either, since its ACKs may have been delayed. B is
 * forgotten whenever sending starts again with nothing in flight. Vegas starves next to flows that fill queues,
 * because it backs off from their delay.
 *
 * Sources: Brakmo and Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", IEEE
 * JSAC 13(8), 1995; the rules are those of Linux 6.12 net/ipv4/tcp_vegas.c, which differs from the paper: loss
 * detection is the stack's, slow start doubles every round, and the rate is that of ACKs.
 *
 * Facts:
 *	name	Vegas
 *	draws	nothing
 */
#include "cca.h"

/* clang-format off */
#define VEGAS_PARAMS(P)								\
	P(alpha, 2, 0, 100000, "segments", "grow while fewer are queued")	\
	P(beta, 4, 0, 100000, "segments", "shrink while more are queued")	\
	P(gamma, 1, 0, 100000, "segments", "slow start ends when more are queued")
/* clang-format on */

CCA_PARAMS(VEGAS_PARAMS);

/* No RTT seen, us. */
static const u32 vegas_rtt_none = 0x7fffffff;
/* With so few samples in a round, each may be from a delayed ACK. */
static const u32 vegas_few_samples = 2;
static const u32 vegas_cwnd_min = 2;

struct vegas {
	u32 round_end;	  /* the round ends when this is acknowledged, seq */
	u16 samples;	  /* RTT samples of the round */
	u32 round_rtt_us; /* minimum RTT of the round */
	u32 base_rtt_us;  /* minimum RTT since the flow last started to send */
	bool is_sampling; /* Open: delays tell about the path */
};

CCA_STATE(vegas, struct vegas);

static void vegas_begin_round(const struct sock *sk, struct vegas *ca)
{
	ca->round_end = tcp_sk(sk)->snd_nxt;
	ca->samples = 0;
	ca->round_rtt_us = vegas_rtt_none;
}

/* Rounds start again: what is known of the current one may be from before the interruption. */
static void vegas_enable(const struct sock *sk, struct vegas *ca)
{
	ca->is_sampling = true;
	vegas_begin_round(sk, ca);
}

static void vegas_restart(const struct sock *sk, struct vegas *ca)
{
	ca->base_rtt_us = vegas_rtt_none;
	vegas_enable(sk, ca);
}

/* Segments in the queue. The product wraps above 2^32 segment us (1000 segments and 4 s of queue), as in Linux. */
static u32 vegas_queued(const struct vegas *ca, u32 cwnd)
{
	return cwnd * (ca->round_rtt_us - ca->base_rtt_us) / ca->base_rtt_us;
}

/* Window that fills the pipe at the rate of the round, and one for what rounding takes. */
static u32 vegas_pipe(const struct vegas *ca, u32 cwnd)
{
	return (u32)div64_u64((u64)cwnd * ca->base_rtt_us, ca->round_rtt_us) + 1;
}

static void vegas_lower_ssthresh(struct tcp_sock *tp)
{
	tp->snd_ssthresh = min(tp->snd_ssthresh, tcp_snd_cwnd(tp));
}

/* The decision at the end of a round. */
static void vegas_adjust(struct sock *sk, const struct vegas *ca, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tcp_snd_cwnd(tp);
	u32 queued = vegas_queued(ca, cwnd);

	if (tcp_in_slow_start(tp) && queued > param(sk, gamma)) {
		tcp_snd_cwnd_set(tp, min(cwnd, vegas_pipe(ca, cwnd)));
		vegas_lower_ssthresh(tp);
	} else if (tcp_in_slow_start(tp)) {
		tcp_slow_start(tp, acked);
	} else if (queued > param(sk, beta)) {
		tcp_snd_cwnd_set(tp, cwnd - 1);
		vegas_lower_ssthresh(tp);
	} else if (queued < param(sk, alpha)) {
		tcp_snd_cwnd_set(tp, cwnd + 1);
	}
	tcp_snd_cwnd_set(tp, clamp_t(u32, tcp_snd_cwnd(tp), vegas_cwnd_min, tp->snd_cwnd_clamp));
	tp->snd_ssthresh = tcp_current_ssthresh(sk);
}

/* ---- Hooks ---- */

CCA_OP(void, vegas_init, struct sock *sk)
{
	vegas_restart(sk, vegas_state(sk));
}

/* One more than measured: a base of zero could not be divided by. */
CCA_ACKED_OP(vegas_pkts_acked)
{
	struct vegas *ca = vegas_state(sk);
	u32 rtt_us = (u32)sample->rtt_us + 1;

	if (sample->rtt_us < 0)
		return;
	ca->base_rtt_us = min(ca->base_rtt_us, rtt_us);
	ca->round_rtt_us = min(ca->round_rtt_us, rtt_us);
	ca->samples++;
}

CCA_AVOID_OP(vegas_cong_avoid)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct vegas *ca = vegas_state(sk);

	if (!ca->is_sampling) {
		tcp_reno_grow(sk, acked);
		return;
	}
	if (!after(ack, ca->round_end)) {
		if (tcp_in_slow_start(tp))
			tcp_slow_start(tp, acked);
		return;
	}
	if (ca->samples <= vegas_few_samples)
		tcp_reno_grow(sk, acked);
	else
		vegas_adjust(sk, ca, acked);
	vegas_begin_round(sk, ca);
}

CCA_OP(void, vegas_set_state, struct sock *sk, u8 new_state)
{
	struct vegas *ca = vegas_state(sk);

	if (new_state == TCP_CA_Open)
		vegas_enable(sk, ca);
	else
		ca->is_sampling = false;
}

/* After idling the path may be another one. */
CCA_OP(void, vegas_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_CWND_RESTART || event == CA_EVENT_TX_START)
		vegas_restart(sk, vegas_state(sk));
}

CCA_SSTHRESH_OP(vegas_ssthresh)
{
	return tcp_reno_ssthresh(sk);
}

CCA_OP(u32, vegas_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo(sk);
}

enum vegas_phase { VEGAS_SLOW_START, VEGAS_AVOIDANCE, VEGAS_RENO };
CCA_STATES("SLOW_START", "AVOIDANCE", "RENO");

CCA_INFO_OP(vegas_info)
{
	const struct vegas *ca = vegas_state(sk);

	info->flags = CCA_INFO_STATE;
	if (tcp_in_slow_start(tcp_sk(sk)))
		info->state = VEGAS_SLOW_START;
	else
		info->state = ca->is_sampling ? VEGAS_AVOIDANCE : VEGAS_RENO;
	if (ca->base_rtt_us != vegas_rtt_none) {
		info->flags |= CCA_INFO_MIN_RTT;
		info->min_rtt_us = ca->base_rtt_us;
	}
}

/* clang-format off */
#define VEGAS_VARS(V)								\
	V(base_rtt_us, ca->base_rtt_us == vegas_rtt_none ? CCA_UNSET : (s64)ca->base_rtt_us, "us", \
	  "minimum RTT since the flow last started to send")			\
	V(is_sampling, ca->is_sampling, "bool", "delays tell about the path")

CCA_VARS(struct vegas, ca, vegas_state(sk), VEGAS_VARS);

CCA_MODULE(vegas, "vegas", TCP_CONG_NON_RESTRICTED,
	   .init = vegas_init,
	   .ssthresh = vegas_ssthresh,
	   .cong_avoid = vegas_cong_avoid,
	   .set_state = vegas_set_state,
	   .undo_cwnd = vegas_undo_cwnd,
	   .cwnd_event = vegas_cwnd_event,
	   .pkts_acked = vegas_pkts_acked,
	   CCA_INFO(vegas_info));
/* clang-format on */
