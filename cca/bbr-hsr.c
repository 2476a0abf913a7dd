// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * BBR-HSR: BBRv1 for high-speed rail that probes in every other phase (BBR+ of Wang and others).
 *
 * Model: that of bbr (bbr.c), with another PROBE_BW cycle and, as an option, a longer round-trip time:
 *
 *	gains	1.5 0.5 1.5 0.5 1.5 0.5 1.5 0.5		a phase lasts about one min_rtt
 *	RTprop	min_rtt + lambda sigma			in the BDP; lambda is 0 by default
 *
 *	STARTUP ---> DRAIN ---> PROBE_BW <---> PROBE_RTT
 *
 *	PROBE_BW:  probe ---> drain ---> probe ---> ...
 *
 * On a path whose bandwidth changes within seconds (a train) the wide and frequent probing follows it, at the price of a
 * queue of half a BDP every other round trip. On a path with jitter the BDP of the minimum RTT is too small, which lambda
 * makes up for. sigma is estimated from the mean deviation that TCP keeps for its timer, which for a normal distribution
 * is 0.8 sigma. With RTTs of a gamma distribution of shape lambda^2 above min_rtt, min_rtt + lambda sigma is their mean.
 *
 * Sources: Wang et al., BBR+ for high-speed rail, 2019, as described by Zhang, "An Evaluation of BBR and its
 * variants", arXiv:1909.03673, 2019, section 3.3 and eq. 7, who evaluates it without the compensation; the core is
 * Linux 6.12's (bbr1/).
 *
 * Facts:
 *	name	BBR-HSR
 *	family	BBRv1
 */
#include "cca.h"
#include "bbr1/core.h"

/* The defaults in which variants of BBRv1 differ (bbr1/params.h has those of Linux 6.12). */
enum {
	BBR_HSR_DRAIN_GAIN = BBR1_DRAIN_GAIN,
	BBR_HSR_UP_GAIN = 384,
	BBR_HSR_DOWN_GAIN = 128,
	BBR_HSR_BW_WINDOW = BBR1_BW_WINDOW,
	BBR_HSR_MIN_RTT_WINDOW = BBR1_MIN_RTT_WINDOW,
	BBR_HSR_PROBE_RTT_MS = BBR1_PROBE_RTT_MS,
	BBR_HSR_EXTRA_ACKED_GAIN = BBR1_EXTRA_ACKED_GAIN,
	BBR_HSR_COUNT_DEPARTURES = BBR1_COUNT_DEPARTURES,
	BBR_HSR_RENEW_EQUAL_RTT = BBR1_RENEW_EQUAL_RTT,
	BBR_HSR_EXTRA_ACKED_ROUNDS = BBR1_EXTRA_ACKED_ROUNDS,
};

/* clang-format off */
#define BBR_HSR_FAMILY_PARAMS(P) BBR1_PARAMS(P, BBR_HSR)
#define BBR_HSR_PARAMS(P)							\
	P(rtprop_lambda, 0, 0, 2560, "1/256",					\
	  "standard deviations of the RTT added to the minimum RTT in the BDP; 0: none")

#define BBR_HSR_PRESETS(PRESET)							\
	PRESET(chromium, "BBRv1 of Chromium in Zhang's framework with these gains (BBR+ of Zhang)", BBR1_CHROMIUM)
/* clang-format on */

CCA_PARAMS_OF_FAMILY(BBR_HSR_FAMILY_PARAMS, BBR_HSR_PARAMS);
CCA_PRESETS(BBR_HSR_PRESETS);

static u32 bbr_hsr_cycle_gain(const struct sock *sk, const struct bbr *bbr)
{
	return bbr->cycle_idx % 2 ? param(sk, probe_down_gain) : param(sk, probe_up_gain);
}

/* Standard deviation of the RTT, us: 5/4 of the mean deviation, of which mdev_us holds four. */
static u64 bbr_hsr_sigma_us(const struct sock *sk)
{
	return (u64)tcp_sk(sk)->mdev_us * 5 / 16;
}

/* Zhang eq. 7. */
static u32 bbr_hsr_bdp_rtt(const struct sock *sk, const struct bbr *bbr)
{
	return bbr->min_rtt_us +
	       (u32)((bbr_hsr_sigma_us(sk) * param(sk, rtprop_lambda)) >> BBR_SCALE);
}

static const struct bbr_rules bbr_rules = {
	BBR1_LINUX_6_12,
	.cycle_gain = bbr_hsr_cycle_gain,
	.bdp_rtt = bbr_hsr_bdp_rtt,
};

CCA_MODULE(bbr_hsr, "bbr-hsr", TCP_CONG_NON_RESTRICTED, BBR1_HOOKS);
