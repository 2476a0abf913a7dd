// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Tsunami-Zhang: BBRv1 with the gains that Zhang gives for Tsunami, and drain to target.
 *
 * Model: that of bbr (bbr.c), with another PROBE_BW cycle:
 *
 *	           pacing gain          phase ends
 *	phase 0    1.5                  after min_rtt, and with inflight >= 1.5 BDP or loss
 *	phase 1    0.75                 with inflight <= BDP
 *	phase 2-7  1.25                 after min_rtt, and with inflight >= 1.25 BDP or loss
 *
 *	STARTUP ---> DRAIN ---> PROBE_BW <---> PROBE_RTT
 *
 *	PROBE_BW:  0 probe ---> 1 drain ---> 2 ... 7 probe gently ---> 0
 *	                        '--' as long as inflight > BDP
 *
 * The mean gain is 1.22. It is not the Tsunami of the kernel patch (tsunami.c), which also changes filters,
 * PROBE_RTT and what inflight is.
 *
 * Sources: Zhang, "An Evaluation of BBR and its variants", arXiv:1909.03673, 2019, section 3.3, who gives the gains
 * only and builds on Chromium's BBRv1 with drain to target; the core is Linux 6.12's (bbr1/).
 */
#include "cca.h"
#include "bbr1/state.h"

/* clang-format off */
#define TSUNAMI_ZHANG_PARAMS(P)							\
	BBR1_SHARED_PARAMS(P)							\
	BBR1_DRAIN_GAIN(P, 88)							\
	BBR1_UP_GAIN(P, 384)							\
	BBR1_DOWN_GAIN(P, 192)							\
	BBR1_CRUISE_GAIN(P, 320)						\
	BBR1_BW_WINDOW(P, 10)							\
	BBR1_MIN_RTT_WINDOW(P, 10)						\
	BBR1_PROBE_RTT_MS(P, 200)						\
	BBR1_PACING(P, 1)							\
	BBR1_EXTRA_ACKED_GAIN(P, 256)						\
	BBR1_LINUX_PARAMS(P)							\
	P(drain_to_target, 1, 0, 1, "bool", "phase 1 lasts until inflight is at the BDP; 0: or a min_rtt has passed")

/* Zhang's code asks for drain to target, but Chromium's test for it looks for a next phase of gain 1; there is none. */
#define TSUNAMI_ZHANG_CHROMIUM(V)						\
	BBR1_CHROMIUM(V)							\
	V(drain_to_target, 0)

#define TSUNAMI_ZHANG_PRESETS(PRESET)						\
	PRESET(chromium, "BBRv1 of Chromium in Zhang's framework with these gains (Tsunami of Zhang)", TSUNAMI_ZHANG_CHROMIUM)
/* clang-format on */

CCA_PARAMS(TSUNAMI_ZHANG_PARAMS);
CCA_PRESETS(TSUNAMI_ZHANG_PRESETS);

#include "bbr1/core.h"

static const struct bbr_rules bbr_rules = BBR1_RULES_LINUX_6_12;

static u32 bbr_policy_cycle_gain(const struct sock *sk, const struct bbr *bbr)
{
	return bbr->cycle_idx < 2 ? bbr_linux_cycle_gain(sk, bbr) : param(sk, cruise_gain);
}

static void bbr_policy_update_cycle(struct sock *sk, struct bbr *bbr, const struct rate_sample *rs)
{
	bool is_over = param(sk, drain_to_target) ? bbr_phase_is_over_and_drained(sk, bbr, rs)
						  : bbr_phase_is_over(sk, bbr, rs);

	if (is_over)
		bbr_next_phase(sk, bbr);
}

static u32 bbr_policy_rtprop_us(const struct sock *sk, const struct bbr *bbr)
{
	(void)sk;
	return bbr->min_rtt_us;
}

CCA_MODULE(tsunami_zhang, "tsunami-zhang", TCP_CONG_NON_RESTRICTED, BBR1_HOOKS);
