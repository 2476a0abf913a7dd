/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * BBRv1 family: recovery as in Chromium (parameter recovery_window). Loss does not change the window W;
 * a second one, R, bounds what is sent until a round has passed without loss.
 *
 *	            loss                 a round has passed
 *	 (none) -----------> CONSERVATION -----------------> GROWTH
 *	    ^                      |                           |
 *	    '---- a segment sent after the last loss is acknowledged, nothing new is lost
 *
 *	begin         R = in flight + delivered
 *	CONSERVATION  R -= lost
 *	GROWTH        R += delivered - lost
 *	always        R >= in flight + delivered, and the minimum window; cwnd = min(W, R)
 *
 * The state of the transport's own recovery plays no part. W is kept in prior_cwnd.
 *
 * Source: quiche bbr_sender.cc, UpdateRecoveryState and CalculateRecoveryWindow, which count bytes
 * and packet numbers where this counts segments and `delivered`.
 */
#ifndef BBR1_RECOVERY_H
#define BBR1_RECOVERY_H

#include "cwnd.h"

/* Begin, go on to GROWTH (packet_conservation ends), or end. */
static void bbr_step_recovery(const struct sock *sk, struct bbr *bbr, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (!bbr->in_recovery) {
		if (!rs->losses)
			return;
		bbr->in_recovery = 1;
		bbr->packet_conservation = 1;
		bbr->recovery_cwnd = 0;
		bbr->recovery_end = tp->delivered;
		bbr->next_rtt_delivered = tp->delivered;
	} else if (rs->losses) {
		bbr->recovery_end = tp->delivered;
	} else if (rs->acked_sacked && !before(rs->prior_delivered, bbr->recovery_end)) {
		bbr->in_recovery = 0;
		bbr->packet_conservation = 0;
	}
}

/* R after this ACK. */
static u32 bbr_next_recovery_cwnd(const struct sock *sk, const struct bbr *bbr,
				  const struct rate_sample *rs)
{
	u32 floor = max(tcp_packets_in_flight(tcp_sk(sk)) + rs->acked_sacked, param(sk, cwnd_min));
	u32 cwnd = bbr->recovery_cwnd, losses = (u32)rs->losses;

	if (!cwnd)
		return floor;
	cwnd = cwnd > losses ? cwnd - losses : 1;
	if (!bbr->packet_conservation)
		cwnd += rs->acked_sacked;
	return max(cwnd, floor);
}

/* Before PROBE_BW there is no bound but the growth itself; PROBE_RTT leaves W as it is. */
static void bbr_set_cwnd_chromium(struct sock *sk, struct bbr *bbr, const struct rate_sample *rs,
				  u32 bw)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd;

	bbr_step_recovery(sk, bbr, rs);
	if (bbr->mode != BBR_PROBE_RTT)
		bbr->prior_cwnd =
			bbr_grow_to_target(sk, bbr, bbr->prior_cwnd, rs->acked_sacked, bw);
	cwnd = bbr->prior_cwnd;
	if (bbr->in_recovery) {
		bbr->recovery_cwnd = bbr_next_recovery_cwnd(sk, bbr, rs);
		cwnd = min(cwnd, bbr->recovery_cwnd);
	}
	if (bbr->mode == BBR_PROBE_RTT)
		cwnd = param(sk, cwnd_min);
	tcp_snd_cwnd_set(tp, min(cwnd, tp->snd_cwnd_clamp));
}

#endif /* BBR1_RECOVERY_H */
