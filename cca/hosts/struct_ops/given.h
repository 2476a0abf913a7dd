/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What a BPF program uses and does not define: the helpers of the kernel's selftests, of which each version of their
 * headers has others, and kfuncs without a declaration. Each is there only where the compiler has missed it
 * (crates/cca/src/struct_ops.rs), so that a program's own stands.
 */
#ifndef DUMBBELL_STRUCT_OPS_GIVEN_H
#define DUMBBELL_STRUCT_OPS_GIVEN_H

#ifdef CCA_GIVE_min
#define min(a, b) ((a) < (b) ? (a) : (b))
#endif
#ifdef CCA_GIVE_max
#define max(a, b) ((a) > (b) ? (a) : (b))
#endif
#ifdef CCA_GIVE_clamp
#define clamp(v, lo, hi) ((v) < (lo) ? (lo) : (v) > (hi) ? (hi) : (v))
#endif
#ifdef CCA_GIVE_min_not_zero
#define min_not_zero(a, b)                           \
	({                                           \
		__typeof__(a) _a = (a);              \
		__typeof__(b) _b = (b);              \
		!_a ? _b : !_b || _a < _b ? _a : _b; \
	})
#endif
#ifdef CCA_GIVE_before
#define before(a, b) ((s32)((u32)(a) - (u32)(b)) < 0)
#endif
#ifdef CCA_GIVE_after
#define after(a, b) ((s32)((u32)(b) - (u32)(a)) < 0)
#endif
#ifdef CCA_GIVE_div64_u64
#define div64_u64(a, b) ((u64)(a) / (u64)(b))
#endif
#ifdef CCA_GIVE_tcp_sk
static inline struct tcp_sock *tcp_sk(const struct sock *sk)
{
	return (struct tcp_sock *)sk;
}
#endif
#ifdef CCA_GIVE_inet_csk
static inline struct inet_connection_sock *inet_csk(const struct sock *sk)
{
	return (struct inet_connection_sock *)sk;
}
#endif
#ifdef CCA_GIVE_inet_csk_ca
static inline void *inet_csk_ca(const struct sock *sk)
{
	return (void *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}
#endif
#ifdef CCA_GIVE_tcp_in_slow_start
static inline bool tcp_in_slow_start(const struct tcp_sock *tp)
{
	return tp->snd_cwnd < tp->snd_ssthresh;
}
#endif
#ifdef CCA_GIVE_tcp_is_cwnd_limited
static inline bool tcp_is_cwnd_limited(const struct sock *sk)
{
	const struct tcp_sock *tp = (const struct tcp_sock *)sk;

	/* In slow start the window may grow to twice what was in use. */
	if (tp->snd_cwnd < tp->snd_ssthresh)
		return tp->snd_cwnd < 2 * tp->max_packets_out;
	return tp->is_cwnd_limited;
}
#endif
#ifdef CCA_GIVE_tcp_packets_in_flight
static inline u32 tcp_packets_in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}
#endif
#ifdef CCA_GIVE_tcp_jiffies32
#define tcp_jiffies32 ((u32)bpf_jiffies64())
#endif
#ifdef CCA_GIVE_HZ
extern unsigned long CONFIG_HZ;
#define HZ CONFIG_HZ
#endif
#ifdef CCA_GIVE_CONFIG_HZ
extern unsigned long CONFIG_HZ;
#endif
#ifdef CCA_GIVE_LINUX_KERNEL_VERSION
extern int LINUX_KERNEL_VERSION;
#endif
#ifdef CCA_GIVE_NULL
#define NULL ((void *)0)
#endif
#ifdef CCA_GIVE_tcp_slow_start
extern u32 tcp_slow_start(struct tcp_sock *tp, u32 acked);
#endif
#ifdef CCA_GIVE_tcp_cong_avoid_ai
extern void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 w, u32 acked);
#endif
#ifdef CCA_GIVE_tcp_reno_ssthresh
extern u32 tcp_reno_ssthresh(struct sock *sk);
#endif
#ifdef CCA_GIVE_tcp_reno_undo_cwnd
extern u32 tcp_reno_undo_cwnd(struct sock *sk);
#endif
#ifdef CCA_GIVE_tcp_reno_cong_avoid
extern void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked);
#endif
#ifdef CCA_GIVE_TCP_INFINITE_SSTHRESH
#define TCP_INFINITE_SSTHRESH 0x7fffffff
#endif
#ifdef CCA_GIVE_TCP_INIT_CWND
#define TCP_INIT_CWND 10
#endif
#ifdef CCA_GIVE_TCP_CA_NAME_MAX
#define TCP_CA_NAME_MAX 16
#endif
#ifdef CCA_GIVE_TCP_CONG_NEEDS_ECN
#define TCP_CONG_NEEDS_ECN 0x2
#endif
#ifdef CCA_GIVE_TCP_CONG_NON_RESTRICTED
#define TCP_CONG_NON_RESTRICTED 0x1
#endif
#ifdef CCA_GIVE_TCP_ECN_OK
#define TCP_ECN_OK 1
#endif
#ifdef CCA_GIVE_TCP_ECN_DEMAND_CWR
#define TCP_ECN_DEMAND_CWR 4
#endif
#ifdef CCA_GIVE_USEC_PER_SEC
#define USEC_PER_SEC 1000000UL
#endif
#ifdef CCA_GIVE_USEC_PER_MSEC
#define USEC_PER_MSEC 1000UL
#endif
#ifdef CCA_GIVE_NSEC_PER_SEC
#define NSEC_PER_SEC 1000000000UL
#endif
#ifdef CCA_GIVE_EBUSY
#define EBUSY 16
#endif
#ifdef CCA_GIVE_ENOTSUPP
#define ENOTSUPP 524
#endif

#endif /* DUMBBELL_STRUCT_OPS_GIVEN_H */
