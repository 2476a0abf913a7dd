// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Reno: the window grows by one segment per round trip and halves on loss.
 *
 * Model, with W the window, S the slow-start threshold and a the segments newly
 * delivered by an ACK, all in segments:
 *
 *	slow start	W < S:	W += a, up to S; the rest of a counts below
 *	avoidance	W >= S:	W += a / W		(one segment per round trip)
 *	congestion		S = max(beta W, 2), beta = 1/2; the stack brings W down to S
 *	spurious		W = max(W, window before the reduction)
 *
 *	             W reaches S
 *	SLOW_START ---------------> AVOIDANCE
 *	     ^                        |  ^
 *	     |        loss, ECN       |  |
 *	     |     .------------------'  | recovery ends with W = S
 *	     |     v                     |
 *	     | (recovery: PRR by the stack)
 *	     '---- timeout: W = in flight + 1
 *
 * The window does not grow while something else limits the sender (the application,
 * the receiver): RFC 7661.
 *
 * Sources: RFC 5681; Jacobson and Karels, "Congestion Avoidance and Control",
 * SIGCOMM 1988; Linux 6.12 net/ipv4/tcp_cong.c for the rounding.
 *
 * Facts:
 *	name	Reno
 *	draws	nothing
 */
#include "cca.h"

/* clang-format off */
#define RENO_PARAMS(P)								\
	P(beta, 512, 256, 1000, "1/1024", "window after congestion over the window before")	\
	P(connections, 1, 1, 16, "count", "segments by which the window grows in a round trip: connections that one stands for")

/* Chromium: reno_beta. Zhang runs it as one connection. */
#define RENO_CHROMIUM(V)							\
	V(beta, 717)

#define RENO_PRESETS(PRESET)							\
	PRESET(chromium, "Reno of Chromium as a single connection (Reno of Zhang)", RENO_CHROMIUM)
/* clang-format on */

CCA_PARAMS(RENO_PARAMS);
CCA_PRESETS(RENO_PRESETS);
CCA_NO_STATE;
CCA_STATES("SLOW_START", "AVOIDANCE");

CCA_AVOID_OP(reno_cong_avoid)
{
	tcp_reno_grow_as(sk, acked, (u32)param(sk, connections));
}

CCA_SSTHRESH_OP(reno_ssthresh)
{
	u64 cwnd = tcp_snd_cwnd(tcp_sk(sk));

	return max((u32)(cwnd * param(sk, beta) >> 10), 2U);
}

CCA_OP(u32, reno_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo(sk);
}

CCA_GUARD_OP(reno_guard);

CCA_INFO_OP(reno_info)
{
	info->flags = CCA_INFO_STATE;
	info->state = tcp_in_slow_start(tcp_sk(sk)) ? 0 : 1;
}

/* clang-format off */
CCA_MODULE(reno, "reno", TCP_CONG_NON_RESTRICTED,
	   .ssthresh = reno_ssthresh,
	   .cong_avoid = reno_cong_avoid,
	   .undo_cwnd = reno_undo_cwnd,
	   CCA_GUARD(reno_guard)
	   CCA_INFO(reno_info));
/* clang-format on */
