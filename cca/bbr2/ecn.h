/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * BBRv2 family: the mean CE ratio alpha, by which ECN lowers inflight_lo (bounds.h), and whether the flow
 * may respond to ECN at all.
 */
#ifndef BBR2_ECN_H
#define BBR2_ECN_H

#include "startup.h"

/* Once per round: alpha is updated as DCTCP's (RFC 8257 sec. 3.3). */
static void bbr2_update_ecn_alpha(const struct sock *sk, struct bbr2 *bbr)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 delivered = tp->delivered - bbr->alpha_last_delivered;
	u32 marked = tp->delivered_ce - bbr->alpha_last_delivered_ce;
	u32 gain = param(sk, ecn_alpha_gain), max_rtt_us = param(sk, ecn_max_rtt_us);
	u32 ce_ratio, alpha;

	if (!param(sk, ecn_factor) || !delivered)
		return;
	if (param(sk, ecn_enable) && (!max_rtt_us || bbr->min_rtt_us <= max_rtt_us))
		bbr->ecn_eligible = true;
	if (bbr2_rules.alpha_needs_ecn && !bbr->ecn_eligible)
		return;
	ce_ratio = (u32)div64_u64((u64)marked << BBR_SCALE, delivered);
	alpha = ((BBR_UNIT - gain) * bbr->ecn_alpha) >> BBR_SCALE;
	alpha += (gain * ce_ratio) >> BBR_SCALE;
	bbr->ecn_alpha = min(alpha, BBR_UNIT);
	bbr->alpha_last_delivered = tp->delivered;
	bbr->alpha_last_delivered_ce = tp->delivered_ce;
	bbr2_check_ecn_in_startup(sk, bbr, ce_ratio);
}

#endif /* BBR2_ECN_H */
