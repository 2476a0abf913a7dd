/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Refused by the verifier: it writes a field of the socket that no controller may write, past the
 * compiler, which takes the field for a constant.
 */
#include "cca.h"

CCA_NO_PARAMS;
CCA_NO_STATE;
CCA_NO_STATES;

CCA_OP(void, oversteps_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	*(u32 *)&tcp_sk(sk)->srtt_us = 8000;
}

CCA_OP(u32, oversteps_ssthresh, struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}

CCA_OP(u32, oversteps_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo(sk);
}

/* clang-format off */
CCA_MODULE(oversteps, "oversteps", TCP_CONG_NON_RESTRICTED,
	   .ssthresh = oversteps_ssthresh,
	   .cong_avoid = oversteps_cong_avoid,
	   .undo_cwnd = oversteps_undo_cwnd);
/* clang-format on */
