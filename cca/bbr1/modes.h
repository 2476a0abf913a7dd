/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * BBRv1 core: when modes are entered and left, and the gains of each.
 */
#ifndef BBR1_MODES_H
#define BBR1_MODES_H

/* ---- PROBE_BW ---- */

/* At random, so that flows do not probe in step: phase 0, 2, 3, 4, 5, 6 or 7. Phase 1 drains, and a
 * flow that comes here has its queue drained already.
 */
static const u32 bbr_first_phases = CYCLE_LEN - 1;

static void bbr_reset_probe_bw_mode(struct sock *sk, struct bbr *bbr)
{
	bbr_enter(bbr, BBR_PROBE_BW);
	bbr_set_phase(bbr, CYCLE_LEN - cca_random_below(sk, bbr_first_phases));
	bbr->cycle_mstamp = tcp_sk(sk)->delivered_mstamp;
}

static void bbr_update_cycle_phase(struct sock *sk, struct bbr *bbr, const struct rate_sample *rs)
{
	if (bbr->mode == BBR_PROBE_BW)
		bbr_policy_update_cycle(sk, bbr, rs);
}

/* ---- STARTUP and DRAIN ---- */

static void bbr_reset_mode(struct sock *sk, struct bbr *bbr)
{
	if (bbr->full_bw_reached)
		bbr_reset_probe_bw_mode(sk, bbr);
	else
		bbr_enter(bbr, BBR_STARTUP);
}

/* ssthresh is not used; it is set to show the BDP to who looks at the socket. */
static void bbr_check_drain(struct sock *sk, struct bbr *bbr)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (bbr->mode == BBR_STARTUP && bbr->full_bw_reached) {
		bbr_enter(bbr, BBR_DRAIN);
		if (bbr_rules.shows_bdp)
			tp->snd_ssthresh = bbr_inflight(sk, bbr, bbr_max_bw(bbr), BBR_UNIT);
	}
	if (bbr->mode == BBR_DRAIN &&
	    bbr_packets_in_net_at_edt(sk, bbr, tcp_packets_in_flight(tp)) <=
		    bbr_inflight(sk, bbr, bbr_max_bw(bbr), BBR_UNIT))
		bbr_reset_probe_bw_mode(sk, bbr);
}

/* ---- PROBE_RTT ---- */

/* Leave when the time is up; the window that was saved comes back at once. */
static void bbr_check_probe_rtt_done(struct sock *sk, struct bbr *bbr)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!bbr->probe_rtt_done_stamp || !after(tcp_jiffies32, bbr->probe_rtt_done_stamp))
		return;
	bbr->min_rtt_stamp = tcp_jiffies32;
	if (bbr_rules.waits_for_delivery)
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

/* The least RTT; when it is too old, PROBE_RTT, unless idling has drained the path anyway. */
static void bbr_update_min_rtt(struct sock *sk, struct bbr *bbr, const struct rate_sample *rs)
{
	u32 window = param(sk, min_rtt_window_s) * HZ;
	bool expired = after(tcp_jiffies32, bbr->min_rtt_stamp + window);

	if (rs->rtt_us >= 0 &&
	    (rs->rtt_us < (long)bbr->min_rtt_us + (long)param(sk, renew_equal_rtt) ||
	     (expired && (bbr_rules.trusts_delayed_acks || !rs->is_ack_delayed)))) {
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
	if (rs->delivered > 0 || bbr_rules.ends_idle_on_any_ack)
		bbr->idle_restart = 0;
}

/* ---- Gains ---- */

static u32 bbr_cycle_gain(const struct sock *sk, const struct bbr *bbr)
{
	if (bbr->lt_use_bw && !bbr_rules.cycles_behind_policer)
		return BBR_UNIT;
	return bbr_policy_cycle_gain(sk, bbr);
}

/* Those of mode and phase; before Linux 4.20 a policer's gain of 1 stayed until one of these began. */
static void bbr_update_gains(const struct sock *sk, struct bbr *bbr)
{
	if (bbr_rules.keeps_gains && !bbr->gains_due)
		return;
	bbr->gains_due = 0;
	switch (bbr->mode) {
	case BBR_STARTUP:
		bbr->pacing_gain = param(sk, startup_gain);
		bbr->cwnd_gain = param(sk, startup_gain);
		break;
	case BBR_DRAIN:
		bbr->pacing_gain = param(sk, drain_gain);
		bbr->cwnd_gain = param(sk, startup_gain);
		break;
	case BBR_PROBE_BW:
		bbr->pacing_gain = bbr_cycle_gain(sk, bbr);
		bbr->cwnd_gain = param(sk, cwnd_gain);
		break;
	case BBR_PROBE_RTT:
		bbr->pacing_gain = BBR_UNIT;
		bbr->cwnd_gain = BBR_UNIT;
		break;
	}
}

#endif /* BBR1_MODES_H */
