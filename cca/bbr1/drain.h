/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * BBRv1 family: DRAIN. It begins when the pipe is full, and ends when inflight is down to the BDP.
 */
#ifndef BBR1_DRAIN_H
#define BBR1_DRAIN_H

#include "probe_bw.h"

/* ssthresh has no effect on BBR; it is set to show the BDP in socket statistics. */
static void bbr_check_drain(struct sock *sk, struct bbr *bbr)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (bbr->mode == BBR_STARTUP && bbr->full_bw_reached) {
		bbr_enter(bbr, BBR_DRAIN);
		if (bbr_rule(sk, shows_bdp))
			tp->snd_ssthresh = bbr_inflight(sk, bbr, bbr_max_bw(bbr), BBR_UNIT);
	}
	if (bbr->mode == BBR_DRAIN &&
	    bbr_packets_in_net_at_edt(sk, bbr, tcp_packets_in_flight(tp)) <=
		    bbr_inflight(sk, bbr, bbr_max_bw(bbr), BBR_UNIT))
		bbr_reset_probe_bw_mode(sk, bbr);
}

#endif /* BBR1_DRAIN_H */
