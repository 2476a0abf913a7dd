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
 * Chromium of 2019 (preset `chromium-2019`) besides:
 *
 *	a probe is too high   by the losses of its round, whatever the number of lossy ACKs
 *	inflight_hi then      the sampled flight; below 0.7 of the target, too
 *	in DOWN               such a flight is not remembered as too high
 *	UP ends               at 1.25 BDP and 2 segments
 *	inflight_hi grows     in UP, whenever the window was full; where there is none yet, the sum wraps, and
 *	                      what is in flight becomes the bound
 *	DOWN ends             at its targets, or after a fifth of the wait; the filter of the bandwidth has then advanced
 *	DRAIN, PROBE_RTT      teach nothing about inflight_hi
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
	P(up_full_round, 0, 0, 1, "bool", "UP ends on a queue after a round, and with up_margin and ACK aggregation above bw_probe_pif_gain, as in Chromium; 0: after a min_rtt") \
	P(up_margin, 2, 0, 63, "segments", "with up_full_round: in flight above bw_probe_pif_gain when UP ends") \
	P(up_aggregation, 1, 0, 1, "bool", "with up_full_round: and as many more as aggregation adds to the window; Chromium of 2019: 0") \
	P(hi_step, 1, 1, 63, "segments", "what inflight_hi grows by at a time in UP: a segment of Chromium, in segments of the transport") \
	P(hi_grows_when_full, 0, 0, 1, "bool", "inflight_hi grows in UP whenever the window was full, and appears where there is none, as in Chromium of 2019; 0: while the window is as large as it is") \
	P(hi_floor, 1, 0, 1, "bool", "a probe that went too far leaves inflight_hi at 1 - beta of the target at least; Chromium of 2019: 0") \
	P(down_wait_share, 0, 0, 256, "1/256", "DOWN lasts at most this share of the wait for the next probe, as in Chromium of 2019; 0: longer, too") \
	P(down_remembers, 1, 0, 1, "bool", "a flight that DOWN finds too high makes the next probe careful; Chromium of 2019: 0") \
	P(down_is_last, 0, 0, 1, "bool", "samples of a probe end with DOWN at the latest, and the bandwidth filter advances then, as in Chromium; 0: with their round") \
	P(hi_in_cycle_only, 0, 0, 1, "bool", "only PROBE_BW changes inflight_hi once the pipe is full, as in Chromium; 0: DRAIN and PROBE_RTT, too")

/* Where v2alpha cuts a fraction to 1/256 this takes the nearest: beta 0.3 is 77, drain_gain 1/2.885 is 89. */
#define BBR2_CHROMIUM_ALWAYS(V)							\
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
	V(probe_rtt_after_down, 1)						\
	V(probe_rtt_round, 0)							\
	V(up_full_round, 1)

#define BBR2_CHROMIUM(V)							\
	BBR2_CHROMIUM_ALWAYS(V)							\
	V(probe_loss_cnt, 2)							\
	V(down_max_rtt, 1)

/* A fifth of the wait is 51/256. */
#define BBR2_CHROMIUM_2019(V)							\
	BBR2_CHROMIUM_ALWAYS(V)							\
	V(extra_acked_max_us, 10000000)						\
	V(up_aggregation, 0)							\
	V(hi_grows_when_full, 1)						\
	V(hi_floor, 0)								\
	V(down_wait_share, 51)							\
	V(down_remembers, 0)							\
	V(down_is_last, 1)							\
	V(hi_in_cycle_only, 1)

#define BBR2_PRESETS(PRESET)							\
	PRESET(chromium, "BBRv2 of Chromium in Zhang's framework of 2020", BBR2_CHROMIUM)	\
	PRESET(chromium-2019, "BBRv2 of Chromium in Zhang's framework of 2019 (BBR v2 of Zhang)", BBR2_CHROMIUM_2019)
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

	full += param(sk, up_margin);
	if (param(sk, up_aggregation))
		full += bbr2_ack_aggregation_cwnd(sk, bbr);
	bbr->up_has_round |= bbr->round_start;
	return bbr->up_has_round && in_net >= full;
}

static void bbr2_step_up_either_way(struct sock *sk, struct bbr2 *bbr, u32 in_net, u32 bw)
{
	bool has_queued = param(sk, up_full_round) ? bbr2_has_queued_for_a_round(sk, bbr, in_net)
						   : bbr2_has_queued_in_up(sk, bbr, in_net);

	(void)bw;
	if (has_queued)
		bbr2_finish_up(sk, bbr);
}

/* DOWN has taken its share of the wait, in time or in rounds (HasStayedLongEnoughInProbeDown). */
static bool bbr2_has_spent_its_share(const struct sock *sk, const struct bbr2 *bbr)
{
	u32 share = param(sk, down_wait_share);
	u32 wait_us = (u32)(((u64)bbr->probe_wait_us * share) >> BBR_SCALE);

	return share && (bbr2_phase_is_older_than(sk, bbr, wait_us) ||
			 bbr->rounds_since_probe * BBR_UNIT >= bbr2_reno_rounds(sk, bbr) * share);
}

static bool bbr2_has_left_down(const struct sock *sk, const struct bbr2 *bbr)
{
	if (param(sk, down_max_rtt) && bbr2_phase_is_older_than(sk, bbr, bbr->min_rtt_us))
		return true;
	return bbr2_has_spent_its_share(sk, bbr);
}

/* DOWN is over before the round of the probe's last samples: nobody waits for them. */
static void bbr2_end_with_down(const struct sock *sk, struct bbr2 *bbr)
{
	if (!param(sk, down_is_last))
		return;
	bbr2_advance_bw_filter(bbr);
	bbr->probe_samples = false;
	if (bbr->ack_phase == BBR2_ACKS_PROBE_STOPPING)
		bbr->ack_phase = BBR2_ACKS_INIT;
}

/* ---- inflight_hi ---- */

static u32 bbr2_step_of_hi(const struct sock *sk)
{
	return param(sk, hi_step);
}

/* Where there is no bound the sum wraps to almost nothing; the next ACK raises it to what is in flight. */
static bool bbr2_grow_when_full(const struct sock *sk, struct bbr2 *bbr,
				const struct rate_sample *rs)
{
	if (!param(sk, hi_grows_when_full))
		return false;
	if (rs->prior_in_flight < tcp_snd_cwnd(tcp_sk(sk)))
		return true;
	bbr2_count_growth(sk, bbr, rs->acked_sacked);
	if (bbr->round_start)
		bbr2_raise_slope(sk, bbr);
	return true;
}

static bool bbr2_has_no_hi_floor(const struct sock *sk)
{
	return !param(sk, hi_floor);
}

static bool bbr2_down_forgets(const struct sock *sk, const struct bbr2 *bbr)
{
	return !param(sk, down_remembers) && bbr->mode == BBR2_PROBE_BW && bbr->phase != BBR2_UP;
}

static bool bbr2_is_out_of_cycle(const struct sock *sk, const struct bbr2 *bbr)
{
	return param(sk, hi_in_cycle_only) && bbr->mode != BBR2_PROBE_BW;
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
