/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Refused by the verifier: it uses its large state without asking whether there is any. */
#include "cca.h"

struct unchecked {
	u32 acks;
	u64 more[40];
};

CCA_NO_PARAMS;
CCA_STATE_LARGE(unchecked, struct unchecked);
CCA_NO_STATES;

CCA_OP(void, unchecked_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	unchecked_state(sk)->acks++;
}

CCA_OP(u32, unchecked_ssthresh, struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}

CCA_OP(u32, unchecked_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo(sk);
}

/* clang-format off */
CCA_MODULE(unchecked, "unchecked", TCP_CONG_NON_RESTRICTED,
	   .ssthresh = unchecked_ssthresh,
	   .cong_avoid = unchecked_cong_avoid,
	   .undo_cwnd = unchecked_undo_cwnd);
/* clang-format on */
