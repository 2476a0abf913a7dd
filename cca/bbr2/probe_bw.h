/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * BBRv2 family: PROBE_BW, its phases and what a probe says about inflight_hi.
 *
 *	     time or rounds are up          one round           1.25 BDP in flight, bound
 *	CRUISE ----------------> REFILL ----------------> UP    reached, or loss too high
 *	  ^                        ^                       |
 *	  |  inflight <= BDP       | time is up            v
 *	  '-- and headroom left ---+-------------------- DOWN
 */
#ifndef BBR2_PROBE_BW_H
#define BBR2_PROBE_BW_H

#include "model.h"

/* ---- The phases begin ---- */

static void bbr2_set_phase(struct bbr2 *bbr, u32 phase)
{
	bbr->down_ended = bbr->phase == BBR2_DOWN && phase != BBR2_DOWN;
	bbr->phase = (u8)phase;
	bbr->try_fast_path = false;
}

/*
 * Fill the pipe before pushing further: in a shallow buffer, probing from a half-empty pipe
 * would find too little. 2^probe_up_rounds segments is the first growth of inflight_hi.
 */
static void bbr2_start_refill(struct sock *sk, struct bbr2 *bbr, u32 probe_up_rounds)
{
	bbr2_reset_lower_bounds(bbr);
	if (bbr->inflight_hi != BBR2_UNSET)
		bbr->inflight_hi += param(sk, refill_add_inc);
	bbr->probe_up_rounds = (u8)probe_up_rounds;
	bbr->probe_up_acks = 0;
	bbr->stopped_risky_probe = false;
	bbr->ack_phase = BBR2_ACKS_REFILLING;
	bbr2_start_round(sk, bbr);
	bbr2_set_phase(bbr, BBR2_REFILL);
}

static void bbr2_start_up(struct sock *sk, struct bbr2 *bbr, u32 bw)
{
	bbr->probe_samples = true;
	bbr->ack_phase = BBR2_ACKS_PROBE_STARTING;
	bbr2_start_round(sk, bbr);
	bbr->cycle_mstamp = tcp_sk(sk)->tcp_mstamp;
	if (bbr2_rules.up_begins)
		bbr2_rules.up_begins(bbr, bw);
	bbr2_set_phase(bbr, BBR2_UP);
	bbr2_raise_slope(sk, bbr);
}

/*
 * Draws how long DOWN and CRUISE take together, in rounds (rounds_since_probe starts there, the wait
 * ends at bw_probe_max_rounds) and in time.
 */
static void bbr2_pick_wait(struct sock *sk, struct bbr2 *bbr)
{
	bbr->rounds_since_probe = (u8)cca_random_below(sk, param(sk, bw_probe_rand_rounds));
	if (bbr2_rules.pick_wait)
		bbr2_rules.pick_wait(sk, bbr);
	bbr->probe_wait_us =
		param(sk, bw_probe_base_us) + cca_random_below(sk, param(sk, bw_probe_rand_us));
}

/* A probe has ended, in `phase`: the clock of the next one starts. */
static void bbr2_start_down_in(struct sock *sk, struct bbr2 *bbr, u32 phase)
{
	bbr2_reset_congestion_signals(bbr);
	bbr->probe_up_cnt = BBR2_UNSET;
	bbr2_pick_wait(sk, bbr);
	bbr->cycle_mstamp = tcp_sk(sk)->tcp_mstamp;
	bbr->ack_phase = BBR2_ACKS_PROBE_STOPPING;
	bbr2_start_round(sk, bbr);
	bbr2_set_phase(bbr, phase);
}

static void bbr2_start_down(struct sock *sk, struct bbr2 *bbr)
{
	bbr2_start_down_in(sk, bbr, BBR2_DOWN);
}

static void bbr2_start_cruise(struct sock *sk, struct bbr2 *bbr)
{
	if (bbr2_rules.cruise_begins)
		bbr2_rules.cruise_begins(sk, bbr);
	if (bbr->inflight_lo != BBR2_UNSET && !bbr2_rules.cruise_keeps_lo)
		bbr->inflight_lo = min(bbr->inflight_lo, bbr->inflight_hi);
	bbr2_set_phase(bbr, BBR2_CRUISE);
}

/* ---- Time for the next probe? ---- */

static inline bool bbr2_is_probe_wait_over(const struct sock *sk, const struct bbr2 *bbr)
{
	return bbr2_phase_is_older_than(sk, bbr, bbr->probe_wait_us);
}

static bool bbr2_is_wait_over(const struct sock *sk, const struct bbr2 *bbr)
{
	return bbr2_rules.is_wait_over ? bbr2_rules.is_wait_over(sk, bbr)
				       : bbr2_is_probe_wait_over(sk, bbr);
}

/*
 * Would Reno, whose sawtooth lasts as many rounds as the BDP has segments, probe by now? Waiting as
 * long as it does leaves it its share.
 */
static u32 bbr2_reno_rounds(const struct sock *sk, const struct bbr2 *bbr)
{
	u32 rounds = param(sk, bw_probe_max_rounds), gain = param(sk, bw_probe_reno_gain);

	if (gain) {
		u64 reno = ((u64)bbr2_target_inflight(sk, bbr) * gain) >> BBR_SCALE;

		rounds = (u32)min_t(u64, rounds, reno);
	}
	return rounds;
}

static bool bbr2_is_reno_probe_time(const struct sock *sk, const struct bbr2 *bbr)
{
	return bbr->rounds_since_probe >= bbr2_reno_rounds(sk, bbr);
}

/* Position of the highest bit, by halves; 0 for 0. (LLVM has no such instruction for BPF.) */
static u32 bbr2_log2(u64 v)
{
	u32 log = 0, half;

	for (half = 32; half; half >>= 1) {
		if (v >> half) {
			v >>= half;
			log += half;
		}
	}
	return log;
}

/* If the next probe is due, enter REFILL. */
static bool bbr2_check_time_to_probe(struct sock *sk, struct bbr2 *bbr)
{
	u32 gain = param(sk, ecn_reprobe_gain), rounds = 0;

	if (gain && bbr->ecn_eligible && bbr->ecn_in_cycle && !bbr->loss_in_cycle &&
	    inet_csk_ca_state(sk) == TCP_CA_Open)
		rounds = min(bbr2_log2(((u64)bbr->inflight_hi * gain) >> BBR_SCALE), 30U);
	else if (!bbr2_is_wait_over(sk, bbr) && !bbr2_is_reno_probe_time(sk, bbr))
		return false;
	bbr2_start_refill(sk, bbr, rounds);
	return true;
}

/* ---- What a probe says about inflight_hi ---- */

/* The probe went too far: lower the bound, once per probe, and end UP. */
static void bbr2_handle_inflight_too_high(struct sock *sk, struct bbr2 *bbr, u32 tx_in_flight,
					  bool is_app_limited)
{
	bbr->prev_probe_too_high |= !bbr2_rule(forgets_failure, sk, bbr);
	bbr->probe_samples = false;
	if (!is_app_limited) {
		u32 floor = bbr2_rule(cuts_to_sample, sk)
				    ? 0
				    : bbr2_less(bbr2_target_inflight(sk, bbr), param(sk, beta));

		bbr->inflight_hi = max(tx_in_flight, floor);
	}
	if (bbr->mode != BBR2_PROBE_BW || bbr->phase != BBR2_UP)
		return;
	if (bbr2_rules.bounded_by_loss)
		bbr2_rules.bounded_by_loss(bbr);
	bbr2_start_down(sk, bbr);
}

/*
 * The last samples of a probe have arrived, and the bandwidth filter advances. If a probe stopped at a
 * bound that had been too high, and met no loss or ECN, another probe follows.
 */
static bool bbr2_end_probe_samples(struct sock *sk, struct bbr2 *bbr, const struct rate_sample *rs)
{
	bbr->probe_samples = false;
	bbr->ack_phase = BBR2_ACKS_INIT;
	if (bbr->mode != BBR2_PROBE_BW)
		return false;
	if (!rs->is_app_limited && !bbr2_rule(keeps_bw_filter, bbr))
		bbr2_advance_bw_filter(bbr);
	if (!bbr->stopped_risky_probe || bbr->prev_probe_too_high)
		return false;
	bbr2_start_refill(sk, bbr, 0);
	return true;
}

/* Learn from this ACK which volume is safe. Returns whether it has also changed the phase. */
static bool bbr2_adapt_upper_bounds(struct sock *sk, struct bbr2 *bbr, const struct rate_sample *rs,
				    const struct bbr2_ack *ack)
{
	if (bbr->ack_phase == BBR2_ACKS_PROBE_STARTING && bbr->round_start)
		bbr->ack_phase = BBR2_ACKS_PROBE_FEEDBACK;
	if (bbr->ack_phase == BBR2_ACKS_PROBE_STOPPING && bbr->round_start &&
	    bbr2_end_probe_samples(sk, bbr, rs))
		return true;
	if (bbr2_rule(learns_nothing, sk, bbr))
		return false;
	if (!bbr2_rule(bears_losses, sk, bbr) && bbr2_is_inflight_too_high(sk, bbr, rs, ack)) {
		if (bbr->probe_samples && !bbr2_rules.acks_only_permit)
			bbr2_handle_inflight_too_high(sk, bbr, ack->tx_in_flight,
						      rs->is_app_limited);
		return false;
	}
	if (bbr->inflight_hi != BBR2_UNSET)
		bbr->inflight_hi = max(bbr->inflight_hi, ack->tx_in_flight);
	if (bbr->mode != BBR2_PROBE_BW || bbr->phase != BBR2_UP)
		return false;
	if (!bbr2_rule(grow_hi, sk, bbr, rs) && bbr->inflight_hi != BBR2_UNSET)
		bbr2_grow_inflight_hi(sk, bbr, rs->acked_sacked);
	return false;
}

/* ---- One ACK ---- */

/* DOWN has left headroom and drained the queue. max_bw: the bandwidth before this ACK's step. */
static bool bbr2_is_time_to_cruise(const struct sock *sk, const struct bbr2 *bbr, u32 in_net,
				   u32 max_bw)
{
	if (bbr2_rule(has_left_down, sk, bbr))
		return true;
	if (in_net > bbr2_inflight_with_headroom(sk, bbr))
		return false;
	if (in_net <= bbr2_inflight(sk, bbr, max_bw, BBR_UNIT))
		return true;
	return !param(sk, drain_to_target) && bbr2_phase_is_older_than(sk, bbr, bbr->min_rtt_us);
}

/* DOWN, in whichever phase it is. */
static void bbr2_step_down(struct sock *sk, struct bbr2 *bbr, u32 in_net, u32 max_bw)
{
	bool is_early = bbr->ack_phase == BBR2_ACKS_PROBE_STOPPING;

	if (!bbr2_check_time_to_probe(sk, bbr) && bbr2_is_time_to_cruise(sk, bbr, in_net, max_bw))
		bbr2_start_cruise(sk, bbr);
	if (bbr->down_ended && is_early && bbr2_rules.down_left)
		bbr2_rules.down_left(sk, bbr);
}

/* UP ends without too much loss or ECN (so far). */
static void bbr2_finish_up(struct sock *sk, struct bbr2 *bbr)
{
	bbr->prev_probe_too_high = false;
	bbr2_start_down(sk, bbr);
}

/* UP has filled the pipe to 1.25 BDP, for which it had at least a min_rtt. */
static inline bool bbr2_has_queued_in_up(const struct sock *sk, const struct bbr2 *bbr, u32 in_net)
{
	return bbr2_phase_is_older_than(sk, bbr, bbr->min_rtt_us) &&
	       in_net >= bbr2_inflight(sk, bbr, bbr2_max_bw(bbr), param(sk, bw_probe_pif_gain));
}

/* If the last probe met loss or ECN at inflight_hi and inflight is there again, stop; else go on. */
static void bbr2_step_up(struct sock *sk, struct bbr2 *bbr, u32 in_net, u32 bw)
{
	if (bbr->prev_probe_too_high && in_net >= bbr->inflight_hi) {
		bbr->stopped_risky_probe = true;
		bbr2_finish_up(sk, bbr);
		return;
	}
	if (bbr2_rules.step_up)
		bbr2_rules.step_up(sk, bbr, in_net, bw);
	else if (bbr2_has_queued_in_up(sk, bbr, in_net))
		bbr2_finish_up(sk, bbr);
}

/* One ACK in PROBE_BW; the upper bound is learnt in DRAIN and PROBE_RTT too. */
static void bbr2_update_cycle(struct sock *sk, struct bbr2 *bbr, const struct rate_sample *rs,
			      const struct bbr2_ack *ack)
{
	u32 in_net, max_bw;

	if (!bbr->full_bw_reached || bbr2_adapt_upper_bounds(sk, bbr, rs, ack))
		return;
	if (bbr->mode != BBR2_PROBE_BW)
		return;
	in_net = bbr2_rules.counts_after_ack ? tcp_packets_in_flight(tcp_sk(sk))
					     : rs->prior_in_flight;
	in_net = bbr2_packets_in_net_at_edt(sk, bbr, in_net);
	max_bw = bbr2_max_bw(bbr);
	if (bbr2_rule(step_phase, sk, bbr, in_net, max_bw, ack->bw))
		return;
	switch (bbr->phase) {
	case BBR2_CRUISE:
		bbr2_check_time_to_probe(sk, bbr);
		break;
	case BBR2_REFILL:
		if (bbr->round_start)
			bbr2_start_up(sk, bbr, ack->bw);
		break;
	case BBR2_UP:
		bbr2_step_up(sk, bbr, in_net, ack->bw);
		break;
	case BBR2_DOWN:
		bbr2_step_down(sk, bbr, in_net, max_bw);
		break;
	}
}

/* ---- Gains ---- */

static u32 bbr2_phase_gain(const struct sock *sk, const struct bbr2 *bbr)
{
	switch (bbr->phase) {
	case BBR2_UP:
		return param(sk, pacing_gain_up);
	case BBR2_DOWN:
		return param(sk, pacing_gain_down);
	case BBR2_CRUISE:
		return param(sk, pacing_gain_cruise);
	case BBR2_REFILL:
		return param(sk, pacing_gain_refill);
	default:
		return bbr2_rules.phase_gain ? bbr2_rules.phase_gain(sk, bbr) : BBR_UNIT;
	}
}

#endif /* BBR2_PROBE_BW_H */
