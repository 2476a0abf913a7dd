/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * BBRv2 family: the minimum RTT, and PROBE_RTT, which measures it again with little in flight.
 */
#ifndef BBR2_PROBE_RTT_H
#define BBR2_PROBE_RTT_H

#include "probe_bw.h"

/* Remember a window worth going back to, before recovery or PROBE_RTT shrinks it. */
static void bbr2_save_cwnd(const struct sock *sk, struct bbr2 *bbr)
{
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));

	if (bbr->prev_ca_state < TCP_CA_Recovery && bbr->mode != BBR2_PROBE_RTT)
		bbr->prior_cwnd = cwnd;
	else
		bbr->prior_cwnd = max(bbr->prior_cwnd, cwnd);
}

static u32 bbr2_probe_rtt_cwnd(const struct sock *sk, const struct bbr2 *bbr)
{
	u32 gain = param(sk, probe_rtt_cwnd_gain), floor = param(sk, cwnd_min_target);

	return gain ? max(floor, bbr2_bdp(sk, bbr, bbr2_bw(bbr), gain)) : floor;
}

/* Inflight is low, so there is nothing to drain: CRUISE, with a new wait until the next probe. */
static void bbr2_exit_probe_rtt(struct sock *sk, struct bbr2 *bbr)
{
	bbr2_reset_lower_bounds(bbr);
	if (!bbr->full_bw_reached) {
		bbr->mode = BBR2_STARTUP;
		return;
	}
	bbr->mode = BBR2_PROBE_BW;
	bbr2_start_down(sk, bbr);
	bbr2_start_cruise(sk, bbr);
}

/* Leave when the time is up; the window that was saved comes back at once. */
static void bbr2_check_probe_rtt_done(struct sock *sk, struct bbr2 *bbr)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!bbr->probe_rtt_done_stamp || !after(tcp_jiffies32, bbr->probe_rtt_done_stamp))
		return;
	bbr->probe_rtt_min_stamp = tcp_jiffies32;
	if (bbr2_rule(end_probe_rtt, sk, bbr))
		return;
	tcp_snd_cwnd_set(tp, max(tcp_snd_cwnd(tp), bbr->prior_cwnd));
	bbr2_exit_probe_rtt(sk, bbr);
}

/*
 * Hold inflight low for probe_rtt_mode_ms and a round, both counted from when it is that low.
 * Rates seen meanwhile say nothing about the path: mark them as app-limited.
 */
static void bbr2_probe_rtt(struct sock *sk, struct bbr2 *bbr)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 in_flight = tcp_packets_in_flight(tp);

	tp->app_limited = max(tp->delivered + in_flight, 1U);
	if (!bbr->probe_rtt_done_stamp && in_flight <= bbr2_probe_rtt_cwnd(sk, bbr)) {
		bbr->probe_rtt_done_stamp =
			tcp_jiffies32 + msecs_to_jiffies(sk, param(sk, probe_rtt_mode_ms));
		bbr->probe_rtt_round_done = false;
		bbr2_start_round(sk, bbr);
	} else if (bbr->probe_rtt_done_stamp) {
		if (bbr->round_start || bbr2_rule(needs_no_probe_rtt_round, sk))
			bbr->probe_rtt_round_done = true;
		if (bbr->probe_rtt_round_done)
			bbr2_check_probe_rtt_done(sk, bbr);
	}
}

/*
 * Two windows. The minimum of the short one is as old as the last PROBE_RTT, or younger, and says
 * when the next is due. What is found then also enters the long one, min_rtt.
 */
static bool bbr2_update_rtt_filters(struct sock *sk, struct bbr2 *bbr, const struct rate_sample *rs)
{
	u32 long_ms = param(sk, min_rtt_win_sec) * MSEC_PER_SEC;
	u32 window_ms = min(param(sk, probe_rtt_win_ms), long_ms);
	bool expired =
		after(tcp_jiffies32, bbr->probe_rtt_min_stamp + msecs_to_jiffies(sk, window_ms)) &&
		!bbr2_rule(puts_off_probe_rtt, sk, bbr);
	cca_long renewed_by =
		(cca_long)bbr->probe_rtt_min_us + (cca_long)param(sk, renew_equal_rtt);

	if (bbr2_rule(update_rtts, sk, bbr, rs, &expired))
		return expired;
	if (rs->rtt_us >= 0 && (rs->rtt_us < renewed_by || (expired && !rs->is_ack_delayed))) {
		bbr->probe_rtt_min_us = (u32)rs->rtt_us;
		bbr->probe_rtt_min_stamp = tcp_jiffies32;
	}
	if (bbr->probe_rtt_min_us <= bbr->min_rtt_us ||
	    after(tcp_jiffies32, bbr->min_rtt_stamp + param(sk, min_rtt_win_sec) * HZ)) {
		bbr->min_rtt_us = bbr->probe_rtt_min_us;
		bbr->min_rtt_stamp = bbr->probe_rtt_min_stamp;
	}
	return expired;
}

static void bbr2_start_probe_rtt(struct sock *sk, struct bbr2 *bbr)
{
	bbr->mode = BBR2_PROBE_RTT;
	bbr2_save_cwnd(sk, bbr);
	bbr->probe_rtt_done_stamp = 0;
	if (bbr2_rule(begin_probe_rtt, sk, bbr))
		return;
	bbr->ack_phase = BBR2_ACKS_PROBE_STOPPING;
	bbr2_start_round(sk, bbr);
}

static void bbr2_update_min_rtt(struct sock *sk, struct bbr2 *bbr, const struct rate_sample *rs)
{
	bool expired = bbr2_update_rtt_filters(sk, bbr, rs);

	if (param(sk, probe_rtt_mode_ms) && expired && !bbr->idle_restart &&
	    bbr->mode != BBR2_PROBE_RTT)
		bbr2_start_probe_rtt(sk, bbr);
	if (bbr->mode == BBR2_PROBE_RTT)
		bbr2_probe_rtt(sk, bbr);
	if (rs->delivered > 0)
		bbr->idle_restart = false;
}

#endif /* BBR2_PROBE_RTT_H */
