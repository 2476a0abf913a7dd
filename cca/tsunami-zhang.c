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
 *
 * Facts:
 *	name	Tsunami (Zhang)
 *	family	BBRv1
 */
#include "cca.h"
#include "bbr1/core.h"

/* The defaults in which variants of BBRv1 differ (bbr1/params.h has those of Linux 6.12). */
enum {
	TSUNAMI_ZHANG_DRAIN_GAIN = BBR1_DRAIN_GAIN,
	TSUNAMI_ZHANG_UP_GAIN = 384,
	TSUNAMI_ZHANG_DOWN_GAIN = BBR1_DOWN_GAIN,
	TSUNAMI_ZHANG_BW_WINDOW = BBR1_BW_WINDOW,
	TSUNAMI_ZHANG_MIN_RTT_WINDOW = BBR1_MIN_RTT_WINDOW,
	TSUNAMI_ZHANG_PROBE_RTT_MS = BBR1_PROBE_RTT_MS,
	TSUNAMI_ZHANG_EXTRA_ACKED_GAIN = BBR1_EXTRA_ACKED_GAIN,
	TSUNAMI_ZHANG_COUNT_DEPARTURES = BBR1_COUNT_DEPARTURES,
	TSUNAMI_ZHANG_RENEW_EQUAL_RTT = BBR1_RENEW_EQUAL_RTT,
	TSUNAMI_ZHANG_EXTRA_ACKED_ROUNDS = BBR1_EXTRA_ACKED_ROUNDS,
};

/* clang-format off */
#define TSUNAMI_ZHANG_FAMILY_PARAMS(P) BBR1_PARAMS(P, TSUNAMI_ZHANG)
#define TSUNAMI_ZHANG_PARAMS(P)							\
	BBR1_CRUISE_GAIN_ROW(P, 320)						\
	P(drain_to_target, 1, 0, 1, "bool", "phase 1 lasts until inflight is at the BDP; 0: or a min_rtt has passed")

/* Zhang's code asks for drain to target, but Chromium's test for it looks for a next phase of gain 1; there is none. */
#define TSUNAMI_ZHANG_CHROMIUM(V)						\
	BBR1_CHROMIUM(V)							\
	V(drain_to_target, 0)

#define TSUNAMI_ZHANG_PRESETS(PRESET)						\
	PRESET(chromium, "BBRv1 of Chromium in Zhang's framework with these gains (Tsunami of Zhang)", TSUNAMI_ZHANG_CHROMIUM)
/* clang-format on */

CCA_PARAMS_OF_FAMILY(TSUNAMI_ZHANG_FAMILY_PARAMS, TSUNAMI_ZHANG_PARAMS);
CCA_PRESETS(TSUNAMI_ZHANG_PRESETS);

static u32 tsunami_zhang_cycle_gain(const struct sock *sk, const struct bbr *bbr)
{
	return bbr->cycle_idx < 2 ? bbr_linux_cycle_gain(sk, bbr) : param(sk, cruise_gain);
}

static void tsunami_zhang_step_cycle(struct sock *sk, struct bbr *bbr, const struct rate_sample *rs)
{
	bool is_over = param(sk, drain_to_target) ? bbr_phase_is_over_and_drained(sk, bbr, rs)
						  : bbr_phase_is_over(sk, bbr, rs);

	if (is_over)
		bbr_next_phase(sk, bbr);
}

static const struct bbr_rules bbr_rules = {
	BBR1_LINUX_6_12,
	.cycle_gain = tsunami_zhang_cycle_gain,
	.step_cycle = tsunami_zhang_step_cycle,
};

CCA_MODULE(tsunami_zhang, "tsunami-zhang", TCP_CONG_NON_RESTRICTED, BBR1_HOOKS);
