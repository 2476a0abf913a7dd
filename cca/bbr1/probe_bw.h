/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * BBRv1 family: PROBE_BW, the cycle of Linux, in parts from which variants build theirs.
 *
 *	phase	0	1	2 to 7, then 0 again
 *	gain	probe	drain	cruise
 */
#ifndef BBR1_PROBE_BW_H
#define BBR1_PROBE_BW_H

#include "path.h"

/*
 * PROBE_BW begins in a random phase, so that flows do not probe in step: 0, 2, 3, 4, 5, 6 or 7. Not in 1,
 * which drains: a flow that comes here has drained its queue already.
 */
static const u32 bbr_first_phases = CYCLE_LEN - 1;

static void bbr_reset_probe_bw_mode(struct sock *sk, struct bbr *bbr)
{
	bbr_enter(bbr, BBR_PROBE_BW);
	bbr_set_phase(bbr, CYCLE_LEN - cca_random_below(sk, bbr_first_phases));
	bbr->cycle_mstamp = tcp_sk(sk)->delivered_mstamp;
}

/* ---- Gains ---- */

static inline u32 bbr_linux_cycle_gain(const struct sock *sk, const struct bbr *bbr)
{
	switch (bbr->cycle_idx) {
	case 0:
		return param(sk, probe_up_gain);
	case 1:
		return param(sk, probe_down_gain);
	default:
		return BBR_UNIT;
	}
}

static u32 bbr_cycle_gain(const struct sock *sk, const struct bbr *bbr)
{
	if (bbr->lt_use_bw && !bbr_rule(sk, cycles_behind_policer))
		return BBR_UNIT;
	return bbr_rules.cycle_gain ? bbr_rules.cycle_gain(sk, bbr) : bbr_linux_cycle_gain(sk, bbr);
}

/* ---- The end of a phase ---- */

static inline bool bbr_phase_has_lasted(const struct sock *sk, const struct bbr *bbr)
{
	u32 age_us = tcp_stamp_us_delta(tcp_sk(sk)->delivered_mstamp, bbr->cycle_mstamp);

	return age_us > bbr->min_rtt_us;
}

static inline void bbr_next_phase(const struct sock *sk, struct bbr *bbr)
{
	bbr_set_phase(bbr, bbr->cycle_idx + 1);
	bbr->cycle_mstamp = tcp_sk(sk)->delivered_mstamp;
}

/* A phase that probes lasts for min_rtt, and until inflight has risen to its gain or something was lost. */
static inline bool bbr_probing_is_over(const struct sock *sk, const struct bbr *bbr,
				       const struct rate_sample *rs)
{
	u32 in_net = bbr_packets_in_net_at_edt(sk, bbr, rs->prior_in_flight);

	return bbr_phase_has_lasted(sk, bbr) &&
	       (rs->losses || in_net >= bbr_inflight(sk, bbr, bbr_max_bw(bbr), bbr->pacing_gain));
}

/* Inflight is down to the BDP. */
static inline bool bbr_queue_is_drained(const struct sock *sk, const struct bbr *bbr,
					const struct rate_sample *rs)
{
	u32 in_flight = param(sk, drain_by_current) ? tcp_packets_in_flight(tcp_sk(sk))
						    : rs->prior_in_flight;
	u32 in_net = bbr_packets_in_net_at_edt(sk, bbr, in_flight);

	return in_net <= bbr_inflight(sk, bbr, bbr_max_bw(bbr), BBR_UNIT);
}

/* Linux: cruising lasts for min_rtt; draining at most that long, and ends when the queue is drained. */
static inline bool bbr_phase_is_over(const struct sock *sk, const struct bbr *bbr,
				     const struct rate_sample *rs)
{
	if (bbr->pacing_gain > BBR_UNIT)
		return bbr_probing_is_over(sk, bbr, rs);
	if (bbr->pacing_gain < BBR_UNIT && bbr_queue_is_drained(sk, bbr, rs))
		return true;
	return bbr_phase_has_lasted(sk, bbr);
}

/* Drain to target: draining ends when the queue is drained, and only then. */
static inline bool bbr_phase_is_over_and_drained(const struct sock *sk, const struct bbr *bbr,
						 const struct rate_sample *rs)
{
	if (bbr->pacing_gain < BBR_UNIT)
		return bbr_queue_is_drained(sk, bbr, rs);
	return bbr_phase_is_over(sk, bbr, rs);
}

static void bbr_update_cycle_phase(struct sock *sk, struct bbr *bbr, const struct rate_sample *rs)
{
	if (bbr->mode != BBR_PROBE_BW || (bbr->lt_use_bw && bbr_rule(sk, stops_behind_policer)))
		return;
	if (bbr_rules.step_cycle)
		bbr_rules.step_cycle(sk, bbr, rs);
	else if (bbr_phase_is_over(sk, bbr, rs))
		bbr_next_phase(sk, bbr);
}

#endif /* BBR1_PROBE_BW_H */
