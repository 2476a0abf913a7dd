// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Counts its own ACKs. */
#include "cca.h"

struct counting {
	u32 acks;
};
CCA_NO_PARAMS;
CCA_STATE(counting, struct counting);
CCA_NO_STATES;

CCA_AVOID_OP(counting_cong_avoid)
{
	counting_state(sk)->acks++;
	tcp_reno_grow(sk, acked);
}

CCA_SSTHRESH_OP(counting_ssthresh)
{
	return tcp_reno_ssthresh(sk);
}

CCA_OP(u32, counting_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo(sk);
}

CCA_GUARD_OP(counting_guard);

#define COUNTING_VARS(V)                                              \
	V(acks, ca->acks, "ACKs", "ACKs that let the window grow")    \
	V(is_many, ca->acks > 100, "few|many", "more than a hundred") \
	V(unknown, CCA_UNSET, "us", "never set")
CCA_VARS(struct counting, ca, counting_state(sk), COUNTING_VARS);

CCA_MODULE(counting, "counting", TCP_CONG_NON_RESTRICTED, .ssthresh = counting_ssthresh,
	   .cong_avoid = counting_cong_avoid, .undo_cwnd = counting_undo_cwnd,
	   CCA_GUARD(counting_guard));
