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
 * The mean gain is 1.125, so the queue stays at the window's limit of two BDP and other flows get little; a phase above
 * 1 with loss ends after min_rtt. With long-term bandwidth (a policer) the cycle stops.
 *
 * Sources: the kernel patch that circulates as tcp_tsunami.c, built on BBR of Linux 4.9 to 4.13; Zhang's Tsunami is
 * another one (tsunami-zhang.c). The patch paces by IP packets and without a margin, which suited its kernels' pacing:
 * pacing_margin_percent = 0 and pacing_header_bytes = 52; the default is what later kernels do.
 *
 * Facts:
 *	name	Tsunami
 *	family	BBRv1
 */
#include "cca.h"
#include "bbr1/core.h"

/* The defaults in which variants of BBRv1 differ (bbr1/params.h has those of Linux 6.12). */
enum {
	TSUNAMI_DRAIN_GAIN = 106,
	TSUNAMI_UP_GAIN = 384,
	TSUNAMI_DOWN_GAIN = BBR1_DOWN_GAIN,
	TSUNAMI_BW_WINDOW = 15,
	TSUNAMI_MIN_RTT_WINDOW = 20,
	TSUNAMI_PROBE_RTT_MS = 100,
	TSUNAMI_EXTRA_ACKED_GAIN = 0,
	TSUNAMI_COUNT_DEPARTURES = 0,
	TSUNAMI_RENEW_EQUAL_RTT = 1,
	TSUNAMI_EXTRA_ACKED_ROUNDS = BBR1_EXTRA_ACKED_ROUNDS,
};

#define TSUNAMI_FAMILY_PARAMS(P) BBR1_PARAMS(P, TSUNAMI)
#define TSUNAMI_PARAMS(P)	 BBR1_CRUISE_GAIN_ROW(P, 288)

CCA_PARAMS_OF_FAMILY(TSUNAMI_FAMILY_PARAMS, TSUNAMI_PARAMS);

static u32 tsunami_cycle_gain(const struct sock *sk, const struct bbr *bbr)
{
	return bbr->cycle_idx < 2 ? bbr_linux_cycle_gain(sk, bbr) : param(sk, cruise_gain);
}

static const struct bbr_rules bbr_rules = {
	.keeps_gains = true,
	.cycles_behind_policer = true,
	.stops_behind_policer = true,
	.waits_for_delivery = true,
	.undo_forgets_pipe = true,
	.is_window_even = true,
	.trusts_delayed_acks = true,
	.ends_idle_on_any_ack = true,
	.halves_in_probe_rtt = true,
	.cycle_gain = tsunami_cycle_gain,
};

CCA_MODULE(tsunami, "tsunami", TCP_CONG_NON_RESTRICTED, BBR1_HOOKS);
