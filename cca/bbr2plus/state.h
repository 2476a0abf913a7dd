/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * BBRv2+: parameters besides those of the family, and private state.
 */
#ifndef BBR2PLUS_STATE_H
#define BBR2PLUS_STATE_H

#include "../bbr2/state.h"

/* clang-format off */
#define BBR2PLUS_PARAMS(P)							\
	P(fast_conv_on, 1, 0, 1, "bool", "start in the mode of BBRv2+; 0: in that of BBRv2") \
	P(pacing_gain_pre_up, 281, 256, 1023, "1/256", "pacing gain in PRE_UP: 1.1") \
	P(pacing_gain_down_slightly, 230, 1, 1023, "1/256", "pacing gain in DOWN_SLIGHTLY: 0.9") \
	P(fast_conv_probe_cycle_base, 8, 0, 1024, "round trips", "rounds of CRUISE between probes") \
	P(fast_conv_probe_cycle_random, 4, 0, 1024, "round trips", "random part of these: less than this") \
	P(fast_conv_srtt_round, 1, 1, 8, "round trips", "rounds that an RTT statistic covers") \
	P(fast_conv_preup_rtt_thresh, 5, 0, 256, "1/256", "rise of the RTT in ProbeTry that is none: gamma - 1, 2 %") \
	P(fast_conv_probe_again_thresh, 5, 0, 512, "1/256", "rise of the RTT in UP after which to go UP again: gamma - 1") \
	P(fast_conv_rtt_error_us, 2000, 0, 10000000, "us", "bound on both rises") \
	P(copa_style, 0, 0, 1, "bool", "ProbeTry compares minimum RTTs of rounds (the paper); 0: smoothed RTTs") \
	P(fast_conv_rtt_thresh, 281, 0, 1024, "1/256", "Algorithm 1's theta: 1.1")	\
	P(rc_min_rtt_win_sz, 4, 1, 10, "round trips", "window of the minimum RTT that theta refers to") \
	P(advance_by_min_rtt, 0, 0, 1, "bool", "theta refers to min_rtt (Algorithm 1 as printed)") \
	P(fast_conv_rounds_to_advance_bw_filter, 25, 1, 1000000000, "round trips", "advance the filter after this many without a new maximum") \
	P(switch_to_bbr2_thresh, 2, 0, 20, "cycles", "Algorithm 2's eta1; 0: never switch") \
	P(switch_to_bbr2p_thresh, 4, 0, 20, "cycles", "Algorithm 2's eta2")	\
	P(mode_switch_rtt_high_thresh, 25, 0, 1280, "1/256", "lambda1 - 1: 10 %")	\
	P(mode_switch_rtt_low_thresh, 12, 0, 1280, "1/256", "lambda2 - 1: 5 %")	\
	P(mode_switch_by_min_rtt, 0, 0, 1, "bool", "both refer to min_rtt alone (Algorithm 2 as printed)") \
	P(rtt_comp_on, 1, 0, 1, "bool", "Algorithm 3: compensate jitter")	\
	P(rtt_comp_rtt_var_thresh, 102, 0, 256, "1/256", "Algorithm 3's mu: 0.4; the paper says about 0.5") \
	P(rtt_comp_startup_thresh, 739, 0, 2560, "1/256", "jitter that is added until the first DRAIN is over: 2.89 times") \
	P(rtt_comp_thresh, 512, 0, 2560, "1/256", "and afterwards: 2 times")	\
	P(rtt_comp_jitter_win_sz, 4, 1, 100, "round trips", "window of the maximum of jitter") \
	P(rtt_comp_in_bdp, 0, 0, 1, "bool", "jitter lengthens the RTT of every BDP (Algorithm 3 as printed), not the window alone")

/* Algorithms 1 to 3 and alpha as the paper prints them, where the published module differs. */
#define BBR2PLUS_PAPER(V)							\
	V(loss_thresh, 51)							\
	V(copa_style, 1)							\
	V(fast_conv_rtt_error_us, 10000000)					\
	V(advance_by_min_rtt, 1)						\
	V(fast_conv_rounds_to_advance_bw_filter, 1000000000)			\
	V(mode_switch_by_min_rtt, 1)						\
	V(rtt_comp_in_bdp, 1)							\
	V(rtt_comp_rtt_var_thresh, 128)

#define BBR2PLUS_PRESETS(PRESET)						\
	PRESET(paper, "BBRv2+ as printed: Algorithms 1 to 3 and a loss threshold of 20 % (Yang et al.)", BBR2PLUS_PAPER)
/* clang-format on */

CCA_PARAMS_OF_FAMILY(BBR2_NAMES, BBR2PLUS_PARAMS);
CCA_PRESETS(BBR2PLUS_PRESETS);

enum bbr2plus_phase {
	BBR2PLUS_PRE_UP = BBR2_PHASES, /* ProbeTry's first round: push a little */
	BBR2PLUS_GUARD,		       /* its second: did the RTT rise? */
	BBR2PLUS_POST_UP,	       /* a round to see what UP has done to the RTT */
	BBR2PLUS_DOWN_SLIGHTLY,	       /* drain what ProbeTry has queued */
};

/* clang-format off */
struct bbr2plus {
	struct bbr2 bbr;		/* must be first */
	struct minmax rc_min_rtt;	/* minimum RTT of the last rounds, us */
	struct minmax jitter;		/* maximum jitter of the last rounds, us */
	u32	rounds;			/* rounds so far */
	u32	jitter_factor;		/* how much of the jitter is compensated, 1/256 */
	u32	last_mean_rtt;		/* smoothed RTT of the last statistic, us; BBR2_UNSET: none */
	u32	mean_rtt;		/* ... of this */
	u32	last_round_rtt;		/* minimum RTT of the last rounds, us */
	u32	round_rtt;		/* ... of this */
	u32	round_rtt_before_up;	/* ... when UP began */
	u32	cruise_rtt;		/* minimum RTT of this CRUISE, us */
	u32	last_cruise_rtt;	/* ... of the last */
	u32	reference_rtt;		/* to what Algorithm 2's percentages refer, us */
	u32	cycles_in_favour;	/* cycles in a row that say: switch */
	u32	rounds_since_advance;	/* since the filter advanced or saw a new maximum */
	u32	stat_rounds;		/* rounds that this RTT statistic covers */
	s32	wait_rounds;		/* rounds of CRUISE until the next probe */
	bool	is_plus;		/* the mode: BBRv2+, or BBRv2 */
};
/* clang-format on */

CCA_STATE_LARGE(bbr2plus, struct bbr2plus);

static struct bbr2 *bbr2_of(struct sock *sk)
{
	struct bbr2plus *plus = bbr2plus_state(sk);

	return plus ? &plus->bbr : NULL;
}

static struct bbr2plus *bbr2plus_of(struct bbr2 *bbr)
{
	return (struct bbr2plus *)bbr;
}

static const struct bbr2plus *bbr2plus_view(const struct bbr2 *bbr)
{
	return (const struct bbr2plus *)bbr;
}

#endif /* BBR2PLUS_STATE_H */
