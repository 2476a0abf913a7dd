/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Repair of impossible thresholds and windows. On a kernel that does not run every hook (host.h), TCP may take any
 * value for the result of ssthresh() or undo_cwnd(): RACK's timer may begin a recovery with the address of kernel code
 * as the threshold, and the flow then has a window of 10^9 segments. A controller that uses the threshold therefore
 * checks it and the window at each ACK: before TCP uses them (pkts_acked), and when the window may grow (cong_avoid).
 *
 *	in CWR, Recovery, Loss	the threshold is from 2 to the previous window, because every such controller returns a
 *				part of its window
 *	at any time		the window is at most twice what it was at the last growth, or before the last reduction:
 *				between two calls TCP only lowers it, or restores it; a controller that sets it elsewhere
 *				says so (cca_own_window)
 *
 * An impossible threshold is requested again, with the window of that time; an impossible window is restored. A value
 * that is wrong but possible is not detected: it is at most twice the previous value. After a wrong undo the flow sends
 * what its send buffer holds before an ACK can repair it; TCP calls undo_cwnd() only when an ACK arrives.
 *
 * BBR and its variants need no guard: with cong_control() TCP neither ends a recovery with the threshold nor reduces the
 * window itself. They set the window again at each ACK, bounded by their model once the pipe was full; before that the
 * pacing rate is the limit.
 */
#ifndef CCA_GUARD_H
#define CCA_GUARD_H

/* The controller's ssthresh(). */
typedef u32 (*cca_threshold_fn)(struct sock *sk);

/* In the last words of the socket's private state. */
struct cca_guard {
	u32 last;   /* window at the last growth; 0 before the first */
	u32 before; /* window before the last reduction, as far as it is possible */
};
static inline struct cca_guard *cca_guard(struct sock *sk)
{
	return (struct cca_guard *)((u8 *)inet_csk_ca(sk) + ICSK_CA_PRIV_SIZE) - 1;
}

static inline void cca_own_window(struct sock *sk)
{
	cca_guard(sk)->last = tcp_snd_cwnd(tcp_sk(sk));
}

static __always_inline void cca_ask_threshold_anew(struct sock *sk, u32 before,
						   cca_threshold_fn threshold)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tcp_snd_cwnd(tp);

	tcp_snd_cwnd_set(tp, before);
	tp->snd_ssthresh = threshold(sk);
	tcp_snd_cwnd_set(tp, cwnd);
}

/* What TCP keeps of it (prior_cwnd) may be a wrong window itself. */
static __always_inline u32 cca_window_before(const struct tcp_sock *tp, struct cca_guard *guard)
{
	u32 most = 2 * max(guard->last, guard->before);

	if (!guard->last || tp->prior_cwnd <= most)
		guard->before = tp->prior_cwnd;
	return max(guard->before, 2U);
}

static __always_inline void cca_repair(struct sock *sk, cca_threshold_fn threshold)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct cca_guard *guard = cca_guard(sk);
	u32 cwnd = tcp_snd_cwnd(tp), before = cca_window_before(tp, guard);
	u8 state = inet_csk_ca_state(sk);
	bool is_threshold = tp->snd_ssthresh >= 2 && tp->snd_ssthresh <= before;
	bool is_reduced = state == TCP_CA_CWR || state == TCP_CA_Recovery;

	if ((is_reduced || state == TCP_CA_Loss) && !is_threshold)
		cca_ask_threshold_anew(sk, before, threshold);
	if (!guard->last || (cwnd && cwnd <= 2 * max(guard->last, before)))
		return;
	/* In a reduction PRR sets the window, again whenever something has arrived. */
	if (is_reduced)
		tcp_snd_cwnd_set(tp, min(tcp_packets_in_flight(tp) + 1, before));
	else if (tp->snd_ssthresh == cwnd)
		cca_ask_threshold_anew(sk, before, threshold);
	if (!is_reduced)
		tcp_snd_cwnd_set(tp, min(max(guard->last, before), max(tp->snd_ssthresh, 2U)));
}

#define CCA_SSTHRESH_OP(name)                                      \
	static __always_inline u32 cca_threshold(struct sock *sk); \
	SEC("struct_ops/" #name)                                   \
	u32 BPF_PROG(name, struct sock *sk)                        \
	{                                                          \
		return cca_threshold(sk);                          \
	}                                                          \
	static __always_inline u32 cca_threshold(struct sock *sk)

#define CCA_AVOID_OP(name)                                                                 \
	_Static_assert(CCA_PRIV_BYTES + sizeof(struct cca_guard) <= ICSK_CA_PRIV_SIZE,     \
		       "private state leaves no room for the guard: use CCA_STATE_LARGE"); \
	static __always_inline u32 cca_threshold(struct sock *sk);                         \
	static __always_inline void name##_body(struct sock *sk, u32 ack, u32 acked);      \
	SEC("struct_ops/" #name)                                                           \
	void BPF_PROG(name, struct sock *sk, u32 ack, u32 acked)                           \
	{                                                                                  \
		cca_repair(sk, cca_threshold);                                             \
		name##_body(sk, ack, acked);                                               \
		cca_guard(sk)->last = tcp_snd_cwnd(tcp_sk(sk));                            \
	}                                                                                  \
	static __always_inline void name##_body(struct sock *sk, u32 ack, u32 acked)

#define CCA_ACKED_OP(name)                                                                         \
	static __always_inline u32 cca_threshold(struct sock *sk);                                 \
	static __always_inline void name##_body(struct sock *sk, const struct ack_sample *sample); \
	SEC("struct_ops/" #name)                                                                   \
	void BPF_PROG(name, struct sock *sk, const struct ack_sample *sample)                      \
	{                                                                                          \
		cca_repair(sk, cca_threshold);                                                     \
		name##_body(sk, sample);                                                           \
	}                                                                                          \
	static __always_inline void name##_body(struct sock *sk, const struct ack_sample *sample)

/* A pkts_acked() that only looks. */
#define CCA_GUARD_OP(name)                                                    \
	static __always_inline u32 cca_threshold(struct sock *sk);            \
	SEC("struct_ops/" #name)                                              \
	void BPF_PROG(name, struct sock *sk, const struct ack_sample *sample) \
	{                                                                     \
		cca_repair(sk, cca_threshold);                                \
	}                                                                     \
	_Static_assert(1, "ends with a semicolon")
#define CCA_GUARD(name) .pkts_acked = name,

#endif /* CCA_GUARD_H */
