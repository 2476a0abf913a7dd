// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Garbage: a controller for tests. Reno whose ssthresh() or undo_cwnd() answers, to TCP, what a kernel that did not run
 * it would take from its stack; asked a second time for the same window, ssthresh() answers as it should.
 *
 * Sources: RFC 5681.
 */
#include "cca.h"

/* clang-format off */
#define GARBAGE_PARAMS(P)								\
	P(answer, 16777216, 0, 2147483647, "segments", "what is on the stack")		\
	P(is_undo, 0, 0, 1, "flag", "it is undo_cwnd() that is not run, not ssthresh()")
/* clang-format on */
CCA_PARAMS(GARBAGE_PARAMS);
CCA_STATES("SLOW_START", "AVOIDANCE");
CCA_NO_STATE;

/* What TCP was answered is the threshold by the time that the guard asks. */
CCA_SSTHRESH_OP(garbage_ssthresh)
{
	u32 answer = param(sk, answer);

	if (param(sk, is_undo) || tcp_sk(sk)->snd_ssthresh == answer)
		return tcp_reno_ssthresh(sk);
	return answer;
}

CCA_AVOID_OP(garbage_cong_avoid)
{
	tcp_reno_grow(sk, acked);
}

CCA_OP(u32, garbage_undo_cwnd, struct sock *sk)
{
	return param(sk, is_undo) ? param(sk, answer) : tcp_reno_undo(sk);
}

CCA_GUARD_OP(garbage_guard);

CCA_INFO_OP(garbage_info)
{
	info->flags = CCA_INFO_STATE;
	info->state = tcp_in_slow_start(tcp_sk(sk)) ? 0 : 1;
}

/* clang-format off */
CCA_MODULE(garbage, "garbage", TCP_CONG_NON_RESTRICTED,
	   .ssthresh = garbage_ssthresh,
	   .cong_avoid = garbage_cong_avoid,
	   .undo_cwnd = garbage_undo_cwnd,
	   CCA_GUARD(garbage_guard)
	   CCA_INFO(garbage_info));
/* clang-format on */
