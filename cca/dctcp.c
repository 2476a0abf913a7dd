// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * DCTCP: cut the window by the share of segments that were marked, not by half at the first mark.
 *
 * Model, F the share of segments delivered in a window of data whose ACKs carried ECE:
 *
 *	alpha = (1 - g) alpha + g F		once per window of data; starts at 1, g = 1/16
 *	mark		W = W (1 - alpha / 2)	once per window, spread by the stack (PRR)
 *	loss, timeout	W = W / 2		for any alpha
 *	growth		as Reno
 *
 *	             W reaches S, mark
 *	SLOW_START ---------------------> AVOIDANCE --.
 *	     ^                                ^       | mark: W (1 - alpha / 2)
 *	     '---- timeout                    '-------' loss: W / 2
 *
 * It needs a queue that marks at a low threshold (tens of segments), a receiver that echoes each change of the CE mark
 * at once, and ECN on every packet. Without ECN negotiated it is Reno (state RENO).
 *
 * Sources: RFC 8257; Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010. The arithmetic is that of Linux
 * 6.12 net/ipv4/tcp_dctcp.c. Its receiver's half (an ACK at each change of the mark) belongs to the transport here;
 * path changes at congestion (PLB, off by default) are not implemented.
 *
 * Facts:
 *	name	DCTCP
 *	draws	nothing
 */
#include "cca.h"

/* clang-format off */
#define DCTCP_PARAMS(P)								\
	P(shift_g, 4, 0, 10, "bits", "weight g of the newest window in alpha: 2^-shift_g") \
	P(alpha_on_init, 1024, 0, 1024, "1/1024", "alpha of a new connection")
/* clang-format on */

CCA_PARAMS(DCTCP_PARAMS);

/* alpha is in 1/1024. */
#define DCTCP_SHIFT 10
static const u32 dctcp_alpha_max = 1U << DCTCP_SHIFT;
static const u32 dctcp_ssthresh_min = 2;

struct dctcp {
	u32 alpha;	      /* smoothed share of marked segments, 1/1024 */
	u32 window_end;	      /* alpha is renewed when this is acknowledged, seq */
	u32 old_delivered;    /* tp->delivered at the last renewal */
	u32 old_delivered_ce; /* tp->delivered_ce at the last renewal */
	u32 loss_cwnd;	      /* window before the last reduction, segments */
	bool has_ecn;	      /* negotiated; else this is Reno */
};

CCA_STATE(dctcp, struct dctcp);

static void dctcp_begin_window(const struct tcp_sock *tp, struct dctcp *ca)
{
	ca->window_end = tp->snd_nxt;
	ca->old_delivered = tp->delivered;
	ca->old_delivered_ce = tp->delivered_ce;
}

/* (1 - g) alpha; what is too small to be a part of itself goes to 0. */
static u32 dctcp_decay(u32 alpha, u32 shift_g)
{
	u32 part = alpha >> shift_g;

	return part ? alpha - part : 0;
}

/* g F, from counts below 2^22 segments per window with g = 1 (beyond, it wraps as in Linux). */
static u32 dctcp_share(u32 delivered, u32 delivered_ce, u32 shift_g)
{
	return (delivered_ce << (DCTCP_SHIFT - shift_g)) / max(delivered, 1U);
}

/* Loss is no mark: it means that the queue overflowed, or that marks do not get through. */
static void dctcp_halve(struct sock *sk, struct dctcp *ca)
{
	struct tcp_sock *tp = tcp_sk(sk);

	ca->loss_cwnd = tcp_snd_cwnd(tp);
	tp->snd_ssthresh = tcp_reno_ssthresh(sk);
}

/* ---- Hooks ---- */

CCA_OP(void, dctcp_init, struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct dctcp *ca = dctcp_state(sk);

	*ca = (struct dctcp){ 0 };
	ca->has_ecn = (tp->ecn_flags & TCP_ECN_OK) != 0;
	ca->alpha = param(sk, alpha_on_init);
	dctcp_begin_window(tp, ca);
}

CCA_OP(void, dctcp_in_ack_event, struct sock *sk, u32 flags)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct dctcp *ca = dctcp_state(sk);
	u32 shift_g = param(sk, shift_g);
	u32 delivered_ce;

	if (!ca->has_ecn || before(tp->snd_una, ca->window_end))
		return;
	ca->alpha = dctcp_decay(ca->alpha, shift_g);
	delivered_ce = tp->delivered_ce - ca->old_delivered_ce;
	if (delivered_ce) {
		ca->alpha += dctcp_share(tp->delivered - ca->old_delivered, delivered_ce, shift_g);
		ca->alpha = min(ca->alpha, dctcp_alpha_max);
	}
	dctcp_begin_window(tp, ca);
}

CCA_AVOID_OP(dctcp_cong_avoid)
{
	tcp_reno_grow(sk, acked);
}

CCA_SSTHRESH_OP(dctcp_ssthresh)
{
	struct dctcp *ca = dctcp_state(sk);
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));

	if (!ca->has_ecn)
		return tcp_reno_ssthresh(sk);
	ca->loss_cwnd = cwnd;
	return max(cwnd - ((cwnd * ca->alpha) >> (DCTCP_SHIFT + 1)), dctcp_ssthresh_min);
}

/* Overrides what ssthresh() has just answered. A timeout comes by its event, which is fired once a window. */
CCA_OP(void, dctcp_set_state, struct sock *sk, u8 new_state)
{
	struct dctcp *ca = dctcp_state(sk);

	if (ca->has_ecn && new_state == TCP_CA_Recovery && inet_csk_ca_state(sk) != TCP_CA_Recovery)
		dctcp_halve(sk, ca);
}

CCA_OP(void, dctcp_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct dctcp *ca = dctcp_state(sk);

	if (ca->has_ecn && event == CA_EVENT_LOSS)
		dctcp_halve(sk, ca);
}

CCA_OP(u32, dctcp_undo_cwnd, struct sock *sk)
{
	const struct dctcp *ca = dctcp_state(sk);

	if (!ca->has_ecn)
		return tcp_reno_undo(sk);
	return max(tcp_snd_cwnd(tcp_sk(sk)), ca->loss_cwnd);
}

enum dctcp_phase { DCTCP_SLOW_START, DCTCP_AVOIDANCE, DCTCP_RENO };
CCA_STATES("SLOW_START", "AVOIDANCE", "RENO");

CCA_GUARD_OP(dctcp_guard);

CCA_INFO_OP(dctcp_info)
{
	info->flags = CCA_INFO_STATE;
	if (!dctcp_state(sk)->has_ecn)
		info->state = DCTCP_RENO;
	else
		info->state = tcp_in_slow_start(tcp_sk(sk)) ? DCTCP_SLOW_START : DCTCP_AVOIDANCE;
}

/* clang-format off */
#define DCTCP_VARS(V)								\
	V(alpha, ca->alpha, "1/1024", "smoothed share of marked segments")	\
	V(loss_cwnd, ca->loss_cwnd, "segments", "window before the last reduction") \
	V(has_ecn, ca->has_ecn, "bool", "ECN was negotiated; else this is Reno")

CCA_VARS(struct dctcp, ca, dctcp_state(sk), DCTCP_VARS);

CCA_MODULE(dctcp, "dctcp", TCP_CONG_NON_RESTRICTED | TCP_CONG_NEEDS_ECN,
	   .init = dctcp_init,
	   .ssthresh = dctcp_ssthresh,
	   .cong_avoid = dctcp_cong_avoid,
	   .set_state = dctcp_set_state,
	   .undo_cwnd = dctcp_undo_cwnd,
	   .cwnd_event = dctcp_cwnd_event,
	   .in_ack_event = dctcp_in_ack_event,
	   CCA_GUARD(dctcp_guard)
	   CCA_INFO(dctcp_info));
/* clang-format on */
