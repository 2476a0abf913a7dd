/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Hooks that do nothing: what is measured of them is the measuring itself. The window stays at 64 segments, unpaced. */
#include "cca.h"

CCA_NO_PARAMS;
CCA_NO_STATE;
CCA_NO_STATES;

CCA_OP(void, nothing_init, struct sock *sk)
{
	tcp_snd_cwnd_set(tcp_sk(sk), 64);
}

CCA_OP(void, nothing_main, struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
}

CCA_OP(u32, nothing_ssthresh, struct sock *sk)
{
	return TCP_INFINITE_SSTHRESH;
}

CCA_OP(u32, nothing_undo_cwnd, struct sock *sk)
{
	return tcp_snd_cwnd(tcp_sk(sk));
}

CCA_OP(u32, nothing_min_tso_segs, struct sock *sk)
{
	return 2;
}

/* clang-format off */
CCA_MODULE(nothing, "nothing", TCP_CONG_NON_RESTRICTED,
	   .init = nothing_init,
	   .cong_control = nothing_main,
	   .min_tso_segs = nothing_min_tso_segs,
	   .ssthresh = nothing_ssthresh,
	   .undo_cwnd = nothing_undo_cwnd);
/* clang-format on */
