// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Tsunami: BBRv1 of the 2017 kernels with gains that never stop probing.
 *
 * Model: that of bbr (bbr.c), with these differences:
 *
 *	                 tsunami                            bbr
 *	gains            1.5 0.75 and six times 1.125       1.25 0.75 and six times 1
 *	DRAIN            0.414                              0.344
 *	bandwidth        maximum over 15 round trips        10
 *	min_rtt          minimum over 20 s                  10 s
 *	PROBE_RTT        window halved by each ACK down     window 4 at once, for 200 ms
 *	                 to 4, for 100 ms
 *	ACK aggregation  not counted                        added to the window
 *
 *	STARTUP ---> DRAIN ---> PROBE_BW <---> PROBE_RTT
 *
 *	PROBE_BW:  0 probe ---> 1 drain ---> 2 ... 7 probe gently ---> 0
 *
 * The mean gain is 1.125, so a queue stands at the window's limit of two BDP and others are pushed aside; a phase above
 * 1 that meets loss ends after min_rtt. Behind a policer (long-term bandwidth) the cycle stands still.
 *
 * Sources: the kernel patch that circulates as tcp_tsunami.c, built on BBR of Linux 4.9 to 4.13; Zhang's Tsunami is
 * another one (tsunami-zhang.c). The patch paces by IP packets and without a margin, which suited its kernels' pacing:
 * pacing_margin_percent = 0 and pacing_header_bytes = 52; the default is what later kernels do.
 */
#include "cca.h"
#include "bbr1/state.h"

/* clang-format off */
#define TSUNAMI_PARAMS(P)							\
	BBR1_SHARED_PARAMS(P)							\
	BBR1_DRAIN_GAIN(P, 106)							\
	BBR1_UP_GAIN(P, 384)							\
	BBR1_DOWN_GAIN(P, 192)							\
	BBR1_CRUISE_GAIN(P, 288)						\
	BBR1_BW_WINDOW(P, 15)							\
	BBR1_MIN_RTT_WINDOW(P, 20)						\
	BBR1_PROBE_RTT_MS(P, 100)						\
	BBR1_PACING(P, 1)							\
	BBR1_EXTRA_ACKED_GAIN(P, 0)						\
	BBR1_COUNT_DEPARTURES(P, 0)						\
	BBR1_RENEW_EQUAL_RTT(P, 1)						\
	BBR1_EXTRA_ACKED_ROUNDS(P, 5)
/* clang-format on */

CCA_PARAMS(TSUNAMI_PARAMS);

#include "bbr1/core.h"

static const struct bbr_rules bbr_rules = {
	.keeps_gains = true,
	.cycles_behind_policer = true,
	.waits_for_delivery = true,
	.undo_forgets_pipe = true,
	.is_window_even = true,
	.trusts_delayed_acks = true,
	.ends_idle_on_any_ack = true,
	.halves_in_probe_rtt = true,
};

static u32 bbr_policy_cycle_gain(const struct sock *sk, const struct bbr *bbr)
{
	return bbr->cycle_idx < 2 ? bbr_linux_cycle_gain(sk, bbr) : param(sk, cruise_gain);
}

static void bbr_policy_update_cycle(struct sock *sk, struct bbr *bbr, const struct rate_sample *rs)
{
	if (!bbr->lt_use_bw && bbr_phase_is_over(sk, bbr, rs))
		bbr_next_phase(sk, bbr);
}

static u32 bbr_policy_rtprop_us(const struct sock *sk, const struct bbr *bbr)
{
	(void)sk;
	return bbr->min_rtt_us;
}

CCA_MODULE(tsunami, "tsunami", TCP_CONG_NON_RESTRICTED, BBR1_HOOKS);
