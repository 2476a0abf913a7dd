// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * BBR-HSR: BBRv1 for high-speed rail that probes in every other phase (BBR+ of Wang and others).
 *
 * Model: that of bbr (bbr.c), with another PROBE_BW cycle and, if asked for, a longer round-trip time:
 *
 *	gains	1.5 0.5 1.5 0.5 1.5 0.5 1.5 0.5		a phase lasts about one min_rtt
 *	RTprop	min_rtt + lambda sigma			in the BDP; lambda is 0 by default
 *
 *	STARTUP ---> DRAIN ---> PROBE_BW <---> PROBE_RTT
 *
 *	PROBE_BW:  probe ---> drain ---> probe ---> ...
 *
 * On a path whose bandwidth changes within seconds (a train) the wide and frequent probing follows it; the price is a
 * queue of half a BDP every other round trip. The least RTT of a jittery path stands for too small a BDP, which lambda
 * makes up for. sigma is estimated from the mean deviation that TCP keeps for its timer, which for a normal distribution
 * is 0.8 sigma. With RTTs of a gamma distribution of shape lambda^2 above min_rtt, min_rtt + lambda sigma is their mean.
 *
 * Sources: Wang et al., BBR+ for high-speed rail, 2019, as described by Zhang, "An Evaluation of BBR and its
 * variants", arXiv:1909.03673, 2019, section 3.3 and eq. 7, who evaluates it without the compensation; the core is
 * Linux 6.12's (bbr1/).
 */
#include "cca.h"
#include "bbr1/state.h"

/* clang-format off */
#define BBR_HSR_PARAMS(P)							\
	BBR1_SHARED_PARAMS(P)							\
	BBR1_DRAIN_GAIN(P, 88)							\
	BBR1_UP_GAIN(P, 384)							\
	BBR1_DOWN_GAIN(P, 128)							\
	BBR1_BW_WINDOW(P, 10)							\
	BBR1_MIN_RTT_WINDOW(P, 10)						\
	BBR1_PROBE_RTT_MS(P, 200)						\
	BBR1_PACING(P, 1)							\
	BBR1_EXTRA_ACKED_GAIN(P, 256)						\
	BBR1_LINUX_PARAMS(P)							\
	P(rtprop_lambda, 0, 0, 2560, "1/256",					\
	  "standard deviations of the RTT added to the least RTT in the BDP; 0: none")

#define BBR_HSR_PRESETS(PRESET)							\
	PRESET(chromium, "BBRv1 of Chromium in Zhang's framework with these gains (BBR+ of Zhang)", BBR1_CHROMIUM)
/* clang-format on */

CCA_PARAMS(BBR_HSR_PARAMS);
CCA_PRESETS(BBR_HSR_PRESETS);

#include "bbr1/core.h"

static const struct bbr_rules bbr_rules = BBR1_RULES_LINUX_6_12;

static u32 bbr_policy_cycle_gain(const struct sock *sk, const struct bbr *bbr)
{
	return bbr->cycle_idx % 2 ? param(sk, probe_down_gain) : param(sk, probe_up_gain);
}

static void bbr_policy_update_cycle(struct sock *sk, struct bbr *bbr, const struct rate_sample *rs)
{
	if (bbr_phase_is_over(sk, bbr, rs))
		bbr_next_phase(sk, bbr);
}

/* Standard deviation of the RTT, us: 5/4 of the mean deviation, of which mdev_us holds four. */
static u64 bbr_rtt_sigma_us(const struct sock *sk)
{
	return (u64)tcp_sk(sk)->mdev_us * 5 / 16;
}

/* Zhang eq. 7. */
static u32 bbr_policy_rtprop_us(const struct sock *sk, const struct bbr *bbr)
{
	return bbr->min_rtt_us +
	       (u32)((bbr_rtt_sigma_us(sk) * param(sk, rtprop_lambda)) >> BBR_SCALE);
}

CCA_MODULE(bbr_hsr, "bbr-hsr", TCP_CONG_NON_RESTRICTED, BBR1_HOOKS);
