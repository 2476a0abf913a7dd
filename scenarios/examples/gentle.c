// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Gentle: an example of a controller in this project's style, which runs in the simulator and,
 * compiled for BPF, in a stock kernel.
 *
 * Reno that keeps `beta` / 1024 of the window after a loss.
 *
 * Sources: RFC 5681.
 */
#include "cca.h"

#define GENTLE_PARAMS(P) P(beta, 820, 256, 1000, "1/1024", "share of the window kept after a loss")
CCA_PARAMS(GENTLE_PARAMS);
CCA_STATES("SLOW_START", "AVOIDANCE");
CCA_NO_STATE;

CCA_SSTHRESH_OP(gentle_ssthresh)
{
	return max(tcp_snd_cwnd(tcp_sk(sk)) * param(sk, beta) / 1024, 2U);
}

CCA_AVOID_OP(gentle_cong_avoid)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	tcp_cong_avoid_ai(tp, tcp_snd_cwnd(tp), acked);
}

CCA_OP(u32, gentle_undo_cwnd, struct sock *sk)
{
	return max(tcp_snd_cwnd(tcp_sk(sk)), tcp_sk(sk)->prior_cwnd);
}

CCA_GUARD_OP(gentle_guard);

CCA_INFO_OP(gentle_info)
{
	info->flags = CCA_INFO_STATE;
	info->state = tcp_in_slow_start(tcp_sk(sk)) ? 0 : 1;
}

/* clang-format off */
CCA_MODULE(gentle, "gentle", TCP_CONG_NON_RESTRICTED,
	   .ssthresh = gentle_ssthresh,
	   .cong_avoid = gentle_cong_avoid,
	   .undo_cwnd = gentle_undo_cwnd,
	   CCA_GUARD(gentle_guard)
	   CCA_INFO(gentle_info));
/* clang-format on */
