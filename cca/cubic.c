// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * CUBIC: after a loss the window follows a cubic curve of time, flat at the old maximum.
 *
 * Model (RFC 9438), W in segments, t in seconds since the reduction plus the minimum RTT:
 *
 *	W(t) = C (t - K)^3 + W_max		C = 0.4
 *	K    = cbrt((W_max - W_epoch) / C)	so that W(0) = the window after the reduction
 *	congestion:  S = max(0.7 W, 2);  W_max = W, or 0.85 W when W did not reach the
 *	             old W_max (fast convergence: leave room for newcomers)
 *	friendly:    never below W_est, the window of Reno with the same reduction
 *
 * Per ACK the window moves towards W(t + RTT) by one segment per `cnt` delivered:
 *
 *	cnt = W / (W(t + RTT) - W), at least 2; 100 W on the plateau;
 *	      at most 20 while no maximum is known
 *
 *	            HyStart, loss                  W >= W_max
 *	SLOW_START ---------------> CONCAVE ------------------> CONVEX
 *	     ^                       ^ |                          |
 *	     | timeout               | '--- W_est > W ---.        |
 *	     | (forgets W_max)       |                   v        |
 *	     '---- any state         '--- loss ---- RENO_FRIENDLY-'
 *
 * Slow start ends early when HyStart sees the pipe fill: ACKs keep arriving close
 * together for longer than the minimum delay (train), or the minimum delay of a round
 * has grown (delay).
 *
 * Time on the curve counts in jiffies, as in Linux, so results depend on HZ.
 *
 * Sources: RFC 9438; Ha, Rhee and Xu, "CUBIC: A New TCP-Friendly High-Speed TCP
 * Variant", SIGOPS OSR 2008; Ha and Rhee, "Taming the Elephants: New TCP Slow Start",
 * Computer Networks 2011. Order of steps and rounding are those of Linux 6.12. One
 * deviation: K is the exact integer cube root, Linux's own is off by -0.11 to +0.15 %.
 *
 * Facts:
 *	name	CUBIC
 *	draws	nothing
 */
#include "cca.h"
#include "cubic/core.h"

/* clang-format off */
/*
 * Chromium (quiche, cubic_bytes.cc) stands for N = 2 flows: the window falls to (N - 1 + 0.7) / N = 0.85, Reno's growth
 * is that of N flows, and slow start ends by delay alone, which is looked at once a round (hybrid_slow_start.cc).
 */
#define CUBIC_CHROMIUM(V)							\
	V(beta, 870)								\
	V(friendly_connections, 2)						\
	V(hystart_detect, 2)							\
	V(hystart_once, 1)

#define CUBIC_LINUX_4_9(V)							\
	V(hystart_half_train, 1)

#define CUBIC_PRESETS(PRESET)							\
	PRESET(chromium, "CUBIC of Chromium, which stands for two connections (Cubic of Zhang)", CUBIC_CHROMIUM) \
	PRESET(linux-4.9, "CUBIC of Linux 4.9 (CUBIC of Borgli and Misund)", CUBIC_LINUX_4_9)
/* clang-format on */

CCA_PARAMS_OF_FAMILY(CUBIC_PARAMS, CCA_NO_ROWS);
CCA_PRESETS(CUBIC_PRESETS);

CCA_STATE(cubic, struct cubic);

/* ---- Hooks ---- */

CCA_OP(void, cubic_init, struct sock *sk)
{
	cubic_begin(sk, cubic_state(sk));
}

CCA_AVOID_OP(cubic_cong_avoid)
{
	cubic_avoid(sk, cubic_state(sk), acked);
}

CCA_SSTHRESH_OP(cubic_ssthresh)
{
	return cubic_reduce(sk, cubic_state(sk));
}

CCA_OP(u32, cubic_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo(sk);
}

CCA_OP(void, cubic_set_state, struct sock *sk, u8 new_state)
{
	cubic_enter(sk, cubic_state(sk), new_state);
}

CCA_OP(void, cubic_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	cubic_resume(sk, cubic_state(sk), event);
}

CCA_ACKED_OP(cubic_pkts_acked)
{
	cubic_measure(sk, cubic_state(sk), sample->rtt_us);
}

CCA_INFO_OP(cubic_info)
{
	cubic_tell(sk, cubic_state(sk), info);
}

CCA_STATES(CUBIC_STATES);
CCA_VARS(struct cubic, ca, cubic_state(sk), CUBIC_VARS);
/* clang-format off */
CCA_MODULE(cubic, "cubic", TCP_CONG_NON_RESTRICTED,
	   .init = cubic_init,
	   .ssthresh = cubic_ssthresh,
	   .cong_avoid = cubic_cong_avoid,
	   .set_state = cubic_set_state,
	   .undo_cwnd = cubic_undo_cwnd,
	   .cwnd_event = cubic_cwnd_event,
	   .pkts_acked = cubic_pkts_acked,
	   CCA_INFO(cubic_info));
/* clang-format on */
