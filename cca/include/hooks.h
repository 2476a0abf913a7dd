/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Hooks as plain functions, for the hosts that call them as they are: the simulator and the kernel module. */
#ifndef CCA_HOOKS_H
#define CCA_HOOKS_H

/* Hooks keep the kernel's signatures, so not every one uses each argument. */
#define CCA_OP(type, name, ...) \
	_Pragma("GCC diagnostic ignored \"-Wunused-parameter\"") static type name(__VA_ARGS__)
#define CCA_INFO_OP(name)    static void name(struct sock *sk, struct cca_info *info)
#define CCA_INFO(name_)	     .info = name_,
#define CCA_MIN_TSO_OP(name) CCA_OP(u32, name, struct sock *sk)
#define CCA_MIN_TSO(name_)   .min_tso_segs = name_,
#define CCA_SNDBUF_OP(name)  CCA_OP(u32, name, struct sock *sk)
#define CCA_SNDBUF(name_)    .sndbuf_expand = name_,

/* Every hook runs on these hosts, so their answers need no guard. */
#define CCA_SSTHRESH_OP(name) CCA_OP(u32, name, struct sock *sk)
#define CCA_AVOID_OP(name)    CCA_OP(void, name, struct sock *sk, u32 ack, u32 acked)
#define CCA_ACKED_OP(name)    CCA_OP(void, name, struct sock *sk, const struct ack_sample *sample)
#define CCA_GUARD_OP(name)    _Static_assert(1, "ends with a semicolon")
#define CCA_GUARD(name)
static inline void cca_own_window(struct sock *sk)
{
	(void)sk;
}

#define CCA_FOR(i, n) for (i = 0; i < (n); i++)

/* Hooks of Google's trees, which Linux does not have: a kernel module does not register them. */
#define CCA_LOST_OP(name)     static void name(struct sock *sk, const struct lost_burst *lost)
#define CCA_LOST(name_)	      .skb_marked_lost = name_,
#define CCA_TSO_SEGS_OP(name) static u32 name(struct sock *sk, u32 mss)
#define CCA_TSO_SEGS(name_)   .tso_segs = name_,

#endif /* CCA_HOOKS_H */
