// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * BBR, version 1: pace at the measured bottleneck bandwidth, keep about two BDP in flight.
 *
 * Model, updated by each ACK:
 *
 *	bw          = max over 10 round trips of (delivered / elapsed)
 *	min_rtt     = min over 10 s of rtt
 *	pacing_rate = 0.99 * pacing_gain * bw
 *	cwnd        = cwnd_gain * bw * min_rtt + aggregation + room for bursts, at least 4
 *
 *	           pacing gain   window gain
 *	STARTUP    2.89          2.89     until bw grew < 25 % in each of 3 rounds
 *	DRAIN      0.35          2.89     until inflight <= BDP
 *	PROBE_BW   1.25 0.75 1 1 1 1 1 1   2     a phase lasts about one min_rtt
 *	PROBE_RTT  1             1, cwnd <= 4    200 ms and a round
 *
 *	             |
 *	             v
 *	.------> STARTUP
 *	|            | pipe is full
 *	|            v
 *	|          DRAIN
 *	|            | inflight <= BDP
 *	|            v
 *	|        PROBE_BW  <--.
 *	|            |        |      from any state when min_rtt is 10 s old;
 *	|            v        |      back to STARTUP if the pipe was not full
 *	'------- PROBE_RTT ---'
 *
 * Loss does not lower bw. It takes the lost segments off the window, holds to packet conservation
 * for one round of recovery, and the window comes back afterwards. Steady heavy loss at a
 * constant rate is read as a policer, whose rate is then used (policer.h).
 *
 * Sources: Cardwell, Cheng, Gunn, Hassas Yeganeh and Jacobson, "BBR: Congestion-Based
 * Congestion Control", ACM Queue 14(5), 2016; Linux 6.12 net/ipv4/tcp_bbr.c, whose
 * arithmetic and order of steps are followed integer by integer.
 */
#include "cca.h"
#include "bbr1/state.h"

CCA_PARAMS(BBR1_PARAMS);

#include "bbr1/core.h"

/* Phase 1 drains, so a flow does not start there: its queue is drained already. */
static const u32 bbr_first_phases = CYCLE_LEN - 1;

static u32 bbr_policy_cycle_gain(const struct sock *sk, const struct bbr *bbr)
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

/* At random, so that flows do not probe in step: one of 0, 2, 3, 4, 5, 6, 7. */
static u32 bbr_policy_first_phase(struct sock *sk)
{
	return CYCLE_LEN - cca_random_below(sk, bbr_first_phases);
}

/*
 * Cruising lasts for min_rtt. Probing lasts at least that long, and until inflight has risen to
 * the gain or something was lost. Draining lasts at most that long, and ends when inflight is
 * down to the BDP.
 */
static bool bbr_policy_phase_is_over(struct sock *sk, const struct bbr *bbr,
				     const struct rate_sample *rs, bool is_full_length)
{
	u32 in_net, bw = bbr_max_bw(bbr);

	if (bbr->pacing_gain == BBR_UNIT)
		return is_full_length;
	in_net = bbr_packets_in_net_at_edt(sk, bbr, rs->prior_in_flight);
	if (bbr->pacing_gain > BBR_UNIT)
		return is_full_length &&
		       (rs->losses || in_net >= bbr_inflight(sk, bbr, bw, bbr->pacing_gain));
	return is_full_length || in_net <= bbr_inflight(sk, bbr, bw, BBR_UNIT);
}

CCA_MODULE(bbr, "bbr", TCP_CONG_NON_RESTRICTED, BBR1_HOOKS);
