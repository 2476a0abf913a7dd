/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Small functions of the TCP stack that controllers use, under the kernel's names.
 * The same text serves the simulator and BPF, so that both do the same; inside a kernel
 * module (CCA_HOST_KMOD) they are the kernel's own.
 */
#ifndef CCA_TCP_H
#define CCA_TCP_H

#ifndef CCA_HOST_KMOD
static inline u32 tcp_snd_cwnd(const struct tcp_sock *tp)
{
	return tp->snd_cwnd;
}

static inline void tcp_snd_cwnd_set(struct tcp_sock *tp, u32 cwnd)
{
	tp->snd_cwnd = cwnd;
}

static inline bool tcp_in_slow_start(const struct tcp_sock *tp)
{
	return tcp_snd_cwnd(tp) < tp->snd_ssthresh;
}

/* Segments in the network as far as we know (RFC 6675 "pipe"). */
static inline u32 tcp_packets_in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

/* Minimum RTT of the connection in us, ~0 when there is no sample. */
static inline u32 tcp_min_rtt(const struct tcp_sock *tp)
{
	return tp->rtt_min.s[0].v;
}

/*
 * Is the window what holds the sender back (RFC 7661)? Slow start is more
 * generous: a sender that used half of the window may double it.
 */
static inline bool tcp_is_cwnd_limited(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (tcp_cwnd_limited_flag(tp))
		return true;
	return tcp_in_slow_start(tp) && tcp_snd_cwnd(tp) < 2 * tp->max_packets_out;
}

/* One segment per segment delivered, up to ssthresh; returns what is left over. */
static inline u32 tcp_slow_start(struct tcp_sock *tp, u32 acked)
{
	u32 old = tcp_snd_cwnd(tp);
	u32 new = min(old + acked, tp->snd_ssthresh);

	tcp_snd_cwnd_set(tp, min(new, tp->snd_cwnd_clamp));
	return acked - (new - old);
}

/*
 * One segment per w segments delivered. Credit earned under a larger w is paid
 * out as one segment at most, so that a sudden drop of w makes no burst.
 */
static inline void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 w, u32 acked)
{
	u32 cwnd = tcp_snd_cwnd(tp);
	u32 credit = tp->snd_cwnd_cnt;

	if (credit >= w) {
		credit = 0;
		cwnd++;
	}
	credit += acked;
	if (credit >= w) {
		cwnd += credit / w;
		credit %= w;
	}
	tp->snd_cwnd_cnt = credit;
	tcp_snd_cwnd_set(tp, min(cwnd, tp->snd_cwnd_clamp));
}

/*
 * The threshold that stands for the window: the window may be in the middle of a reduction,
 * whose goal is the threshold; otherwise three quarters of the window, if that is more.
 */
static inline u32 tcp_current_ssthresh(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u8 state = inet_csk_ca_state(sk);

	if (state == TCP_CA_CWR || state == TCP_CA_Recovery)
		return tp->snd_ssthresh;
	return max(tp->snd_ssthresh, (tcp_snd_cwnd(tp) >> 1) + (tcp_snd_cwnd(tp) >> 2));
}

/* ---- Reno, which others fall back to ---- */

/* Half of the window, at least two, so that an ACK of every other segment still arrives
 * without the delayed-ACK timer (RFC 5681, eq. 4).
 */
static inline u32 tcp_reno_ssthresh(struct sock *sk)
{
	return max(tcp_snd_cwnd(tcp_sk(sk)) >> 1, 2U);
}
#endif

/*
 * A controller that keeps its window in parts of a segment says the exact one here: w in 1/1024 segments, of which
 * snd_cwnd is the nearest whole number. snd_cwnd_cnt then has this bit, and w - snd_cwnd + 1/2. Linux does not look at it;
 * the simulated QUIC does.
 */
#define CCA_CWND_EXACT (1U << 31)

static inline void cca_set_exact_cwnd(struct tcp_sock *tp, u32 w)
{
	u32 up = w + 512;

	tcp_snd_cwnd_set(tp, min(up >> 10, tp->snd_cwnd_clamp));
	tp->snd_cwnd_cnt = CCA_CWND_EXACT | (up & 1023);
}

/* Slow start up to the threshold, then one segment per window. */
static inline void tcp_reno_grow_as(struct sock *sk, u32 acked, u32 connections)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	tcp_cong_avoid_ai(tp, max(tcp_snd_cwnd(tp) / connections, 1U), acked);
}

static inline void tcp_reno_grow(struct sock *sk, u32 acked)
{
	tcp_reno_grow_as(sk, acked, 1);
}

/* Reno's answer to a spurious reduction, shared by most controllers. */
static inline u32 tcp_reno_undo(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(tcp_snd_cwnd(tp), tp->prior_cwnd);
}

#endif /* CCA_TCP_H */
