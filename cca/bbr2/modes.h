/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * BBRv2 core: DRAIN, the least RTT and PROBE_RTT, and the gains of each mode.
 */
#ifndef BBR2_MODES_H
#define BBR2_MODES_H

/* ---- DRAIN ---- */

/* ssthresh is not used; it is set to show the BDP to who looks at the socket. */
static void bbr2_check_drain(struct sock *sk, struct bbr2 *bbr)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 bdp;

	if (bbr->mode != BBR2_DRAIN && !(bbr->mode == BBR2_STARTUP && bbr->full_bw_reached))
		return;
	bdp = bbr2_inflight(sk, bbr, bbr2_max_bw(bbr), BBR_UNIT);
	if (bbr->mode == BBR2_STARTUP) {
		bbr->mode = BBR2_DRAIN;
		tp->snd_ssthresh = bdp;
		bbr2_reset_congestion_signals(bbr);
	}
	if (bbr2_packets_in_net_at_edt(sk, bbr, tcp_packets_in_flight(tp)) <= bdp) {
		bbr->mode = BBR2_PROBE_BW;
		bbr2_policy_drained(sk, bbr);
		bbr2_start_down(sk, bbr);
	}
}

/* ---- PROBE_RTT ---- */

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

/* Chromium: on with the phase that PROBE_RTT has interrupted as it began, the wait starting anew. */
static void bbr2_resume_probe_bw(struct sock *sk, struct bbr2 *bbr)
{
	bbr->mode = BBR2_PROBE_BW;
	bbr->cycle_mstamp = tcp_sk(sk)->tcp_mstamp;
	if (bbr->phase == BBR2_REFILL)
		bbr2_start_refill(sk, bbr, bbr->probe_up_rounds);
	else
		bbr2_start_cruise(sk, bbr);
}

/* Inflight is low, so there is nothing to drain: cruise, with a new wait until the next probe. */
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
	if (param(sk, probe_rtt_after_down)) {
		bbr2_resume_probe_bw(sk, bbr);
		return;
	}
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
		if (bbr->round_start || !param(sk, probe_rtt_round))
			bbr->probe_rtt_round_done = true;
		if (bbr->probe_rtt_round_done)
			bbr2_check_probe_rtt_done(sk, bbr);
	}
}

/*
 * Two windows: the least RTT of the short one says when to look again, and what looking finds
 * is the least of the long one too.
 */
static bool bbr2_update_rtt_filters(struct sock *sk, struct bbr2 *bbr, const struct rate_sample *rs)
{
	u32 long_ms = param(sk, min_rtt_win_sec) * MSEC_PER_SEC;
	u32 window_ms = min(param(sk, probe_rtt_win_ms), long_ms);
	bool expired =
		after(tcp_jiffies32, bbr->probe_rtt_min_stamp + msecs_to_jiffies(sk, window_ms)) &&
		(bbr->down_ended || !param(sk, probe_rtt_after_down));
	long least = (long)bbr->probe_rtt_min_us + (long)param(sk, renew_equal_rtt);

	if (rs->rtt_us >= 0 && (rs->rtt_us < least || (expired && !rs->is_ack_delayed))) {
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

/* Chromium: what DOWN has left to the end of its round, the bandwidth filter's step, is done now. */
static void bbr2_settle_down(struct bbr2 *bbr)
{
	if (bbr->ack_phase == BBR2_ACKS_PROBE_STOPPING)
		bbr2_advance_bw_filter(bbr);
	bbr->probe_samples = false;
	bbr->ack_phase = BBR2_ACKS_INIT;
}

static void bbr2_start_probe_rtt(struct sock *sk, struct bbr2 *bbr)
{
	bbr->mode = BBR2_PROBE_RTT;
	bbr2_save_cwnd(sk, bbr);
	bbr->probe_rtt_done_stamp = 0;
	if (param(sk, probe_rtt_after_down)) {
		bbr2_settle_down(bbr);
		return;
	}
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

/* ---- Gains ---- */

static u32 bbr2_phase_gain(const struct sock *sk, const struct bbr2 *bbr)
{
	switch (bbr->phase) {
	case BBR2_UP:
		return param(sk, pacing_gain_up);
	case BBR2_DOWN:
		return param(sk, pacing_gain_down);
	case BBR2_CRUISE:
		return param(sk, pacing_gain_cruise);
	case BBR2_REFILL:
		return param(sk, pacing_gain_refill);
	default:
		return bbr2_policy_phase_gain(sk, bbr);
	}
}

static void bbr2_update_gains(const struct sock *sk, struct bbr2 *bbr)
{
	switch (bbr->mode) {
	case BBR2_STARTUP:
		bbr->pacing_gain = param(sk, high_gain);
		bbr->cwnd_gain = param(sk, startup_cwnd_gain);
		break;
	case BBR2_DRAIN:
		bbr->pacing_gain = param(sk, drain_gain);
		bbr->cwnd_gain = param(sk, startup_cwnd_gain);
		break;
	case BBR2_PROBE_BW:
		bbr->pacing_gain = bbr2_phase_gain(sk, bbr);
		bbr->cwnd_gain = param(sk, cwnd_gain);
		if (bbr->phase == BBR2_UP)
			bbr->cwnd_gain += param(sk, bw_probe_cwnd_gain);
		break;
	case BBR2_PROBE_RTT:
		bbr->pacing_gain = BBR_UNIT;
		bbr->cwnd_gain = BBR_UNIT;
		break;
	}
}

#endif /* BBR2_MODES_H */
