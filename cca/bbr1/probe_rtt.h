/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * BBRv1 family: the minimum RTT, and PROBE_RTT, which measures it again with little in flight.
 */
#ifndef BBR1_PROBE_RTT_H
#define BBR1_PROBE_RTT_H

#include "probe_bw.h"

/* Remember a window worth going back to, before recovery or PROBE_RTT shrinks it. */
static void bbr_save_cwnd(const struct sock *sk, struct bbr *bbr)
{
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));

	if (param(sk, recovery_window))
		return;
	if (bbr->prev_ca_state < TCP_CA_Recovery && bbr->mode != BBR_PROBE_RTT)
		bbr->prior_cwnd = cwnd;
	else
		bbr->prior_cwnd = max(bbr->prior_cwnd, cwnd);
}

/* The window is held down in PROBE_RTT, at once or, halved by each ACK, within a few. */
static u32 bbr_probe_rtt_cwnd(const struct sock *sk, u32 cwnd)
{
	if (bbr_rule(sk, halves_in_probe_rtt))
		return max(cwnd >> 1, param(sk, cwnd_min));
	return min(cwnd, param(sk, cwnd_min));
}

static void bbr_reset_mode(struct sock *sk, struct bbr *bbr)
{
	if (bbr->full_bw_reached)
		bbr_reset_probe_bw_mode(sk, bbr);
	else
		bbr_enter(bbr, BBR_STARTUP);
}

/* Leave when the time is up; the window that was saved comes back at once. */
static void bbr_check_probe_rtt_done(struct sock *sk, struct bbr *bbr)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!bbr->probe_rtt_done_stamp || !after(tcp_jiffies32, bbr->probe_rtt_done_stamp))
		return;
	bbr->min_rtt_stamp = tcp_jiffies32;
	if (bbr_rule(sk, waits_for_delivery))
		bbr->restore_cwnd = 1;
	else
		tcp_snd_cwnd_set(tp, max(tcp_snd_cwnd(tp), bbr->prior_cwnd));
	bbr_reset_mode(sk, bbr);
}

/*
 * Hold inflight at cwnd_min for probe_rtt_ms and a round, both counted from when it is that
 * low. Rates seen meanwhile say nothing about the path: mark them as app-limited.
 */
static void bbr_probe_rtt(struct sock *sk, struct bbr *bbr)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 in_flight = tcp_packets_in_flight(tp);

	tp->app_limited = max(tp->delivered + in_flight, 1U);
	if (!bbr->probe_rtt_done_stamp && in_flight <= param(sk, cwnd_min)) {
		bbr->probe_rtt_done_stamp =
			tcp_jiffies32 + msecs_to_jiffies(sk, param(sk, probe_rtt_ms));
		bbr->probe_rtt_round_done = 0;
		bbr->next_rtt_delivered = tp->delivered;
	} else if (bbr->probe_rtt_done_stamp) {
		if (bbr->round_start)
			bbr->probe_rtt_round_done = 1;
		if (bbr->probe_rtt_round_done)
			bbr_check_probe_rtt_done(sk, bbr);
	}
}

/* The minimum RTT; when it is too old, PROBE_RTT, unless an idle time has drained the path anyway. */
static void bbr_update_min_rtt(struct sock *sk, struct bbr *bbr, const struct rate_sample *rs)
{
	u32 window = param(sk, min_rtt_window_s) * HZ;
	bool expired = after(tcp_jiffies32, bbr->min_rtt_stamp + window);

	if (rs->rtt_us >= 0 &&
	    (rs->rtt_us < (cca_long)bbr->min_rtt_us + (cca_long)param(sk, renew_equal_rtt) ||
	     (expired && (bbr_rule(sk, trusts_delayed_acks) || !rs->is_ack_delayed)))) {
		bbr->min_rtt_us = (u32)rs->rtt_us;
		bbr->min_rtt_stamp = tcp_jiffies32;
	}
	if (param(sk, probe_rtt_ms) && expired && !bbr->idle_restart &&
	    bbr->mode != BBR_PROBE_RTT) {
		bbr_enter(bbr, BBR_PROBE_RTT);
		bbr_save_cwnd(sk, bbr);
		bbr->probe_rtt_done_stamp = 0;
	}
	if (bbr->mode == BBR_PROBE_RTT)
		bbr_probe_rtt(sk, bbr);
	if (rs->delivered > 0 || bbr_rule(sk, ends_idle_on_any_ack))
		bbr->idle_restart = 0;
}

#endif /* BBR1_PROBE_RTT_H */
