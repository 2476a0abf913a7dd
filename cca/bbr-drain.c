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
 * A flow whose min_rtt is too low for the path, as when others keep a queue up, may so drain for long.
 *
 * Sources: Zhang, "An Evaluation of BBR and its variants", arXiv:1909.03673, 2019, section 3.1; drain to target in
 * Chromium's BBRv1, which counts two phases as one there; the core is Linux 6.12's (bbr1/).
 */
#include "cca.h"
#include "bbr1/state.h"

CCA_PARAMS(BBR1_PARAMS);

#include "bbr1/core.h"

static const struct bbr_rules bbr_rules = BBR1_RULES_LINUX_6_12;

static u32 bbr_policy_cycle_gain(const struct sock *sk, const struct bbr *bbr)
{
	return bbr_linux_cycle_gain(sk, bbr);
}

static void bbr_policy_update_cycle(struct sock *sk, struct bbr *bbr, const struct rate_sample *rs)
{
	if (bbr_phase_is_over_and_drained(sk, bbr, rs))
		bbr_next_phase(sk, bbr);
}

static u32 bbr_policy_rtprop_us(const struct sock *sk, const struct bbr *bbr)
{
	(void)sk;
	return bbr->min_rtt_us;
}

CCA_MODULE(bbr_drain, "bbr-drain", TCP_CONG_NON_RESTRICTED, BBR1_HOOKS);
