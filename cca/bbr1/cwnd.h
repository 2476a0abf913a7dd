/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * BBRv1 family: the window. It grows by what is delivered up to a target of cwnd_gain BDP, and is
 * reduced only for packet conservation in the first round of recovery.
 */
#ifndef BBR1_CWND_H
#define BBR1_CWND_H

#include "model.h"
#include "probe_rtt.h"

/*
 * The window after this ACK, with respect to loss recovery: minus what was lost; in the first round of
 * Recovery, as many segments leave as were delivered; the saved window when recovery ends.
 */
static u32 bbr_recover_or_restore(const struct sock *sk, struct bbr *bbr,
				  const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u8 prev = bbr->prev_ca_state, state = inet_csk_ca_state(sk);
	u32 conserved = tcp_packets_in_flight(tp) + rs->acked_sacked;
	u32 cwnd = tcp_snd_cwnd(tp);

	if (rs->losses > 0)
		cwnd = (u32)max_t(s32, (s32)(cwnd - (u32)rs->losses), 1);
	if (state == TCP_CA_Recovery && prev != TCP_CA_Recovery) {
		bbr->packet_conservation = 1;
		bbr->next_rtt_delivered = tp->delivered;
		cwnd = conserved;
	} else if (prev >= TCP_CA_Recovery && state < TCP_CA_Recovery) {
		bbr->restore_cwnd = 1;
		bbr->packet_conservation = 0;
	}
	bbr->prev_ca_state = state;
	if (bbr->restore_cwnd)
		cwnd = max(cwnd, bbr->prior_cwnd);
	bbr->restore_cwnd = 0;
	return bbr->packet_conservation ? max(cwnd, conserved) : cwnd;
}

/* Grow by what was delivered; once the pipe is full, up to the target only. */
static u32 bbr_grow_to_target(const struct sock *sk, const struct bbr *bbr, u32 cwnd, u32 acked,
			      u32 bw)
{
	u32 target = bbr_bdp(sk, bbr, bw, bbr->cwnd_gain) + bbr_ack_aggregation_cwnd(sk, bbr);

	target = bbr_quantization_budget(sk, bbr, target);
	if (bbr->full_bw_reached)
		cwnd = min(cwnd + acked, target);
	else if (cwnd < target || tcp_sk(sk)->delivered < TCP_INIT_CWND)
		cwnd += acked;
	return max(cwnd, param(sk, cwnd_min));
}

static void bbr_set_cwnd(struct sock *sk, struct bbr *bbr, const struct rate_sample *rs, u32 bw)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tcp_snd_cwnd(tp);

	if (!rs->acked_sacked && bbr_rule(sk, waits_for_delivery))
		return;
	if (rs->acked_sacked) {
		cwnd = bbr_recover_or_restore(sk, bbr, rs);
		if (!bbr->packet_conservation)
			cwnd = bbr_grow_to_target(sk, bbr, cwnd, rs->acked_sacked, bw);
	}
	cwnd = min(cwnd, tp->snd_cwnd_clamp);
	if (bbr->mode == BBR_PROBE_RTT)
		cwnd = bbr_probe_rtt_cwnd(sk, cwnd);
	tcp_snd_cwnd_set(tp, cwnd);
}

#endif /* BBR1_CWND_H */
