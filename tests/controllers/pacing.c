// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Pacing: a controller for tests. Reno whose state is who paces the socket (sk_pacing_status), which no tool
 * of Linux shows.
 *
 * Sources: RFC 5681.
 */
#include "cca.h"

CCA_NO_PARAMS;
CCA_STATES("UNPACED", "PACED_BY_TCP", "PACED_BY_FQ");
CCA_NO_STATE;

CCA_SSTHRESH_OP(pacing_ssthresh)
{
	return max(tcp_snd_cwnd(tcp_sk(sk)) / 2, 2U);
}

CCA_AVOID_OP(pacing_cong_avoid)
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

CCA_OP(u32, pacing_undo_cwnd, struct sock *sk)
{
	return max(tcp_snd_cwnd(tcp_sk(sk)), tcp_sk(sk)->prior_cwnd);
}

CCA_GUARD_OP(pacing_guard);

CCA_INFO_OP(pacing_info)
{
	info->flags = CCA_INFO_STATE;
	info->state = sk->sk_pacing_status;
}

/* clang-format off */
CCA_MODULE(pacing, "pacing", TCP_CONG_NON_RESTRICTED,
	   .ssthresh = pacing_ssthresh,
	   .cong_avoid = pacing_cong_avoid,
	   .undo_cwnd = pacing_undo_cwnd,
	   CCA_GUARD(pacing_guard)
	   CCA_INFO(pacing_info));
/* clang-format on */
