/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * BBRv2 family: DRAIN. It begins when the pipe is full, and ends when inflight is down to the BDP.
 */
#ifndef BBR2_DRAIN_H
#define BBR2_DRAIN_H

#include "probe_bw.h"

/* ssthresh has no effect on BBR; it is set to show the BDP in socket statistics. */
static void bbr2_check_drain(struct sock *sk, struct bbr2 *bbr)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 bdp;

	if (bbr2_rule(check_drain, sk, bbr))
		return;
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
		if (bbr2_rules.drained)
			bbr2_rules.drained(sk, bbr);
		bbr2_start_down(sk, bbr);
	}
}

#endif /* BBR2_DRAIN_H */
