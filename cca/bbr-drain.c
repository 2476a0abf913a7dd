// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * BBR-drain: BBRv1 that leaves the draining phase only when its queue is gone (BBR' of Zhang).
 *
 * Model: that of bbr (bbr.c), with another end of phase 1 of the PROBE_BW cycle:
 *
 *	           pacing gain          phase ends
 *	phase 0    1.25                 after min_rtt, and with inflight >= 1.25 BDP or loss
 *	phase 1    0.75                 with inflight <= BDP             (bbr: or after min_rtt)
 *	phase 2-7  1                    after min_rtt
 *
 *	STARTUP ---> DRAIN ---> PROBE_BW <---> PROBE_RTT
 *
 *	PROBE_BW:  0 probe ---> 1 drain ---> 2 ... 7 cruise ---> 0
 *	                        '--' as long as inflight > BDP
 *
 * A flow may drain for a long time if its min_rtt is too low for the present path, for example because other flows
 * keep a queue.
 *
 * Sources: Zhang, "An Evaluation of BBR and its variants", arXiv:1909.03673, 2019, section 3.1; drain to target in
 * Chromium's BBRv1, whose cycle continues during draining (drain_counts_phases); the core is Linux 6.12's (bbr1/).
 *
 * Facts:
 *	name	BBR-drain
 *	family	BBRv1
 */
#include "cca.h"
#include "bbr1/core.h"

/* clang-format off */
#define BBR_DRAIN_PARAMS(P)							\
	P(drain_counts_phases, 0, 0, 1, "bool",					\
	  "the cycle goes on while draining lasts, a phase each min_rtt, and ends it at the latest, as in Chromium")

#define BBR_DRAIN_CHROMIUM(V)							\
	BBR1_CHROMIUM(V)							\
	V(drain_counts_phases, 1)

#define BBR_DRAIN_PRESETS(PRESET)						\
	PRESET(chromium, "BBRv1 of Chromium in Zhang's framework with drain to target (BBR' of Zhang)", BBR_DRAIN_CHROMIUM)
/* clang-format on */

CCA_PARAMS_OF_FAMILY(BBR1_NAMES, BBR_DRAIN_PARAMS);
CCA_PRESETS(BBR_DRAIN_PRESETS);

static u32 bbr_drain_cycle_gain(const struct sock *sk, const struct bbr *bbr)
{
	return bbr->keeps_draining ? param(sk, probe_down_gain) : bbr_linux_cycle_gain(sk, bbr);
}

/* Chromium: phases go by as in bbr, but the gain of phase 1 stays until the queue is gone or phase 0. */
static void bbr_drain_while_cycling(struct sock *sk, struct bbr *bbr, const struct rate_sample *rs)
{
	bool was_draining = bbr->pacing_gain < BBR_UNIT;

	if (!bbr_phase_is_over(sk, bbr, rs))
		return;
	bbr_next_phase(sk, bbr);
	bbr->keeps_draining =
		was_draining && bbr->cycle_idx > 1 && !bbr_queue_is_drained(sk, bbr, rs);
}

static void bbr_drain_step_cycle(struct sock *sk, struct bbr *bbr, const struct rate_sample *rs)
{
	if (param(sk, drain_counts_phases))
		bbr_drain_while_cycling(sk, bbr, rs);
	else if (bbr_phase_is_over_and_drained(sk, bbr, rs))
		bbr_next_phase(sk, bbr);
}

static const struct bbr_rules bbr_rules = {
	BBR1_LINUX_6_12,
	.cycle_gain = bbr_drain_cycle_gain,
	.step_cycle = bbr_drain_step_cycle,
};

CCA_MODULE(bbr_drain, "bbr-drain", TCP_CONG_NON_RESTRICTED, BBR1_HOOKS);
