/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The kernel's own BBR behind BPF: every hook does nothing but call it, so that BPF's run statistics, which
 * know nothing of built-in controllers, tell what it costs. Needs a kernel with bbr built in, or its module loaded.
 */
#include "cca.h"

extern void bbr_init(struct sock *sk) __ksym;
extern void bbr_main(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs) __ksym;
extern u32 bbr_sndbuf_expand(struct sock *sk) __ksym;
extern u32 bbr_undo_cwnd(struct sock *sk) __ksym;
extern void bbr_cwnd_event(struct sock *sk, enum tcp_ca_event event) __ksym;
extern u32 bbr_ssthresh(struct sock *sk) __ksym;
extern u32 bbr_min_tso_segs(struct sock *sk) __ksym;
extern void bbr_set_state(struct sock *sk, u8 new_state) __ksym;

CCA_NO_PARAMS;
CCA_NO_STATE;
CCA_NO_STATES;

CCA_OP(void, linux_bbr_init, struct sock *sk)
{
	bbr_init(sk);
}

CCA_OP(void, linux_bbr_main, struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	bbr_main(sk, ack, flag, rs);
}

CCA_OP(u32, linux_bbr_sndbuf_expand, struct sock *sk)
{
	return bbr_sndbuf_expand(sk);
}

CCA_OP(u32, linux_bbr_undo_cwnd, struct sock *sk)
{
	return bbr_undo_cwnd(sk);
}

CCA_OP(void, linux_bbr_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	bbr_cwnd_event(sk, event);
}

CCA_OP(u32, linux_bbr_ssthresh, struct sock *sk)
{
	return bbr_ssthresh(sk);
}

CCA_OP(u32, linux_bbr_min_tso_segs, struct sock *sk)
{
	return bbr_min_tso_segs(sk);
}

CCA_OP(void, linux_bbr_set_state, struct sock *sk, u8 new_state)
{
	bbr_set_state(sk, new_state);
}

/* clang-format off */
CCA_MODULE(linux_bbr, "linux_bbr", TCP_CONG_NON_RESTRICTED,
	   .init = linux_bbr_init,
	   .cong_control = linux_bbr_main,
	   .sndbuf_expand = linux_bbr_sndbuf_expand,
	   .undo_cwnd = linux_bbr_undo_cwnd,
	   .cwnd_event = linux_bbr_cwnd_event,
	   .ssthresh = linux_bbr_ssthresh,
	   .min_tso_segs = linux_bbr_min_tso_segs,
	   .set_state = linux_bbr_set_state);
/* clang-format on */
