/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * BBRv2 family: the rules in which Chromium's BBRv2 differs. Each rule is a parameter of its own, so that its effect
 * can be studied alone; the preset `chromium` sets all of them, and the values that differ.
 *
 *	                      v2alpha                        Chromium
 *	windows, targets      room for bursts, 2 more in UP  gain times BDP, at least cwnd_min_target
 *	inflight              at the next departure          now
 *	losses                of the sampled flight          of the round trip
 *	a probe is too high   loss_thresh                    and probe_loss_cnt lossy ACKs
 *	lossy STARTUP ends    in Recovery                    in any round
 *	UP ends               at 1.25 BDP, after a min_rtt   at 1.25 BDP, 2 segments and the aggregation more,
 *	                                                     after a round
 *	DOWN ends             at its targets                 or after a min_rtt
 *	PROBE_RTT begins      from any state                 when DOWN ends
 *	PROBE_RTT ends        after a round at least         when its time is up
 *	after PROBE_RTT       CRUISE, the old window         what PROBE_RTT had interrupted as it began,
 *	                                                     the wait starts again, the window grows back
 *
 * Only bbr2 includes this file. Sources: quiche, bbr2_*.cc, of 2019 and 2020, as in Zhang's framework
 * (DrainQueueCongestion, quic_bbr2_*.cc); docs/cca/chromium.md says what is left out.
 */
#ifndef BBR2_CHROMIUM_H
#define BBR2_CHROMIUM_H

#include "probe_bw.h"

/* clang-format off */
#define BBR2_CHROMIUM_PARAMS(P)							\
	P(burst_budget, 1, 0, 1, "bool", "room for bursts in windows and inflight, and 2 in UP; 0: gain times BDP, at least cwnd_min_target, as Chromium") \
	P(count_departures, 1, 0, 1, "bool", "judge inflight as of the next departure, not as it is; Chromium: 0") \
	P(loss_by_round, 0, 0, 1, "bool", "losses count and are judged by round trips, as in Chromium; 0: by the sampled flight, in rounds that a loss begins, STARTUP in Recovery only") \
	P(probe_loss_cnt, 0, 0, 15, "ACKs", "with loss_by_round: lossy ACKs in a round without which a probe did not go too far") \
	P(down_max_rtt, 0, 0, 1, "bool", "DOWN lasts at most a min_rtt, as in Chromium") \
	P(probe_rtt_after_down, 0, 0, 1, "bool", "PROBE_RTT begins when DOWN ends only, and leads back to what followed with the window to grow again, as in Chromium") \
	P(probe_rtt_round, 1, 0, 1, "bool", "PROBE_RTT lasts for a round at least; Chromium: 0") \
	P(up_full_round, 0, 0, 1, "bool", "UP ends on a queue after a round, and with 2 segments and ACK aggregation above bw_probe_pif_gain, as in Chromium; 0: after a min_rtt")

/* Where v2alpha cuts a fraction to 1/256 this takes the nearest: beta 0.3 is 77, drain_gain 1/2.885 is 89. */
#define BBR2_CHROMIUM(V)							\
	V(drain_gain, 89)							\
	V(pacing_margin_percent, 0)						\
	V(beta, 77)								\
	V(probe_rtt_win_ms, 10000)						\
	V(extra_acked_in_startup, 0)						\
	V(undo, 0)								\
	V(fast_path, 0)								\
	V(renew_equal_rtt, 0)							\
	V(burst_budget, 0)							\
	V(count_departures, 0)							\
	V(loss_by_round, 1)							\
	V(probe_loss_cnt, 2)							\
	V(down_max_rtt, 1)							\
	V(probe_rtt_after_down, 1)						\
	V(probe_rtt_round, 0)							\
	V(up_full_round, 1)

#define BBR2_PRESETS(PRESET)							\
	PRESET(chromium, "BBRv2 of Chromium in Zhang's framework (BBR v2 of Zhang)", BBR2_CHROMIUM)
/* clang-format on */

CCA_PARAMS_OF_FAMILY(BBR2_NAMES, BBR2_CHROMIUM_PARAMS);
CCA_PRESETS(BBR2_PRESETS);

/* ---- Windows and inflight ---- */

static bool bbr2_has_no_burst_budget(const struct sock *sk)
{
	return !param(sk, burst_budget);
}

static bool bbr2_ignores_departures(const struct sock *sk)
{
	return !param(sk, count_departures);
}

/* ---- Losses ---- */

static bool bbr2_judges_by_round(const struct sock *sk)
{
	return param(sk, loss_by_round);
}

static bool bbr2_bears_losses(const struct sock *sk, const struct bbr2 *bbr)
{
	return param(sk, loss_by_round) && bbr->round_loss_events < param(sk, probe_loss_cnt);
}

/* ---- UP and DOWN ---- */

static void bbr2_begin_up(struct bbr2 *bbr, u32 bw)
{
	(void)bw;
	bbr->up_has_round = false;
}

/* A round has passed, and there is more in flight than aggregation explains. */
static bool bbr2_has_queued_for_a_round(const struct sock *sk, struct bbr2 *bbr, u32 in_net)
{
	u32 full = bbr2_inflight(sk, bbr, bbr2_max_bw(bbr), param(sk, bw_probe_pif_gain));

	bbr->up_has_round |= bbr->round_start;
	return bbr->up_has_round && in_net >= full + 2 + bbr2_ack_aggregation_cwnd(sk, bbr);
}

static void bbr2_step_up_either_way(struct sock *sk, struct bbr2 *bbr, u32 in_net, u32 bw)
{
	bool has_queued = param(sk, up_full_round) ? bbr2_has_queued_for_a_round(sk, bbr, in_net)
						   : bbr2_has_queued_in_up(sk, bbr, in_net);

	(void)bw;
	if (has_queued)
		bbr2_finish_up(sk, bbr);
}

static bool bbr2_has_left_down(const struct sock *sk, const struct bbr2 *bbr)
{
	return param(sk, down_max_rtt) && bbr2_phase_is_older_than(sk, bbr, bbr->min_rtt_us);
}

/* ---- PROBE_RTT ---- */

static bool bbr2_puts_off_probe_rtt(const struct sock *sk, const struct bbr2 *bbr)
{
	return param(sk, probe_rtt_after_down) && !bbr->down_ended;
}

/* What DOWN would do at the end of its round, the step of the bandwidth filter, is done now. */
static bool bbr2_begin_probe_rtt(const struct sock *sk, struct bbr2 *bbr)
{
	if (!param(sk, probe_rtt_after_down))
		return false;
	if (bbr->ack_phase == BBR2_ACKS_PROBE_STOPPING)
		bbr2_advance_bw_filter(bbr);
	bbr->probe_samples = false;
	bbr->ack_phase = BBR2_ACKS_INIT;
	return true;
}

/* Continue with the phase that PROBE_RTT interrupted at its start; the wait starts again. */
static bool bbr2_end_probe_rtt(struct sock *sk, struct bbr2 *bbr)
{
	if (!param(sk, probe_rtt_after_down))
		return false;
	bbr->mode = BBR2_PROBE_BW;
	bbr->cycle_mstamp = tcp_sk(sk)->tcp_mstamp;
	if (bbr->phase == BBR2_REFILL)
		bbr2_start_refill(sk, bbr, bbr->probe_up_rounds);
	else
		bbr2_start_cruise(sk, bbr);
	return true;
}

static bool bbr2_needs_no_probe_rtt_round(const struct sock *sk)
{
	return !param(sk, probe_rtt_round);
}

#endif /* BBR2_CHROMIUM_H */
