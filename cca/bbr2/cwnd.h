/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * BBRv2 family: the window. It grows by what is delivered up to a target of cwnd_gain BDP, within
 * the bounds of the model. The bounds are the answer to loss: there is no packet
 * conservation as in BBRv1.
 */
#ifndef BBR2_CWND_H
#define BBR2_CWND_H

#include "probe_rtt.h"

/* Grow by what was delivered; once the pipe is full, up to the target only. */
static u32 bbr2_grow_to_target(struct sock *sk, struct bbr2 *bbr, u32 acked, u32 bw)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tcp_snd_cwnd(tp), target;

	target = bbr2_bdp(sk, bbr, bw, bbr->cwnd_gain) + bbr2_ack_aggregation_cwnd(sk, bbr);
	target = bbr2_quantization_budget(sk, bbr, target);
	if (bbr2_rules.cwnd_extra)
		target += bbr2_rules.cwnd_extra(sk, bbr);
	bbr->try_fast_path = false;
	if (bbr->full_bw_reached) {
		cwnd += acked;
		bbr->try_fast_path = cwnd >= target;
		cwnd = min(cwnd, target);
	} else if (cwnd < target ||
		   (bbr2_rules.grows_until_delivered ? tp->delivered < bbr->init_cwnd
						     : cwnd < 2U * bbr->init_cwnd)) {
		cwnd += acked;
	} else {
		bbr->try_fast_path = true;
	}
	if (param(sk, usage_based_cwnd))
		cwnd = min(cwnd, max(2 * tp->max_packets_out, tcp_snd_cwnd(tp)));
	return max(cwnd, param(sk, cwnd_min_target));
}

/* What the model allows: inflight_hi, less headroom unless probing; and inflight_lo. */
static u32 bbr2_inflight_bound(const struct sock *sk, const struct bbr2 *bbr)
{
	u32 bound = BBR2_UNSET;

	if (bbr->mode == BBR2_PROBE_BW && bbr->phase != BBR2_CRUISE)
		bound = bbr->inflight_hi;
	else if (bbr->mode == BBR2_PROBE_RTT || bbr->mode == BBR2_PROBE_BW)
		bound = bbr2_inflight_with_headroom(sk, bbr);
	bound = min(bound, bbr->inflight_lo);
	return max(bound, param(sk, cwnd_min_target));
}

static void bbr2_set_cwnd(struct sock *sk, struct bbr2 *bbr, u32 acked, u32 bw)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = acked ? bbr2_grow_to_target(sk, bbr, acked, bw) : tcp_snd_cwnd(tp);

	cwnd = min(cwnd, tp->snd_cwnd_clamp);
	if (bbr->mode == BBR2_PROBE_RTT)
		cwnd = min(cwnd, bbr2_probe_rtt_cwnd(sk, bbr));
	tcp_snd_cwnd_set(tp, min(cwnd, bbr2_inflight_bound(sk, bbr)));
}

#endif /* BBR2_CWND_H */
