/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * BBRv1 core: the PROBE_BW cycle of Linux, in parts, from which variants build their policies.
 *
 *	phase	0	1	2 to 7, then 0 again
 *	gain	probe	drain	cruise
 */
#ifndef BBR1_CYCLE_H
#define BBR1_CYCLE_H

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

#endif /* BBR1_CYCLE_H */
