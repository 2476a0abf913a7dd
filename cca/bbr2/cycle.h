/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * BBRv2 core: the phases of PROBE_BW.
 *
 *	     time or rounds are up          one round           1.25 BDP in flight, bound
 *	CRUISE ----------------> REFILL ----------------> UP    reached, or loss too high
 *	  ^                        ^                       |
 *	  |  inflight <= BDP       | time is up            v
 *	  '-- and headroom left ---+-------------------- DOWN
 */
#ifndef BBR2_CYCLE_H
#define BBR2_CYCLE_H

static void bbr2_set_phase(struct bbr2 *bbr, u32 phase)
{
	bbr->down_ended = bbr->phase == BBR2_DOWN && phase != BBR2_DOWN;
	bbr->phase = (u8)phase;
	bbr->try_fast_path = false;
}

/* A new round begins now: what is sent from here on is acknowledged in the next. */
static void bbr2_start_round(const struct sock *sk, struct bbr2 *bbr)
{
	bbr->next_rtt_delivered = tcp_sk(sk)->delivered;
	bbr->round_lost = 0;
	bbr->round_loss_events = 0;
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
	bbr2_policy_up_begins(bbr, bw);
	bbr2_set_phase(bbr, BBR2_UP);
	bbr2_raise_slope(sk, bbr);
}

/* A probe has ended, in `phase`: the clock of the next one starts. */
static void bbr2_start_down_in(struct sock *sk, struct bbr2 *bbr, u32 phase)
{
	bbr2_reset_congestion_signals(bbr);
	bbr->probe_up_cnt = BBR2_UNSET;
	bbr2_policy_pick_wait(sk, bbr);
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
	bbr2_policy_cruise_begins(sk, bbr);
	if (bbr->inflight_lo != BBR2_UNSET)
		bbr->inflight_lo = min(bbr->inflight_lo, bbr->inflight_hi);
	bbr2_set_phase(bbr, BBR2_CRUISE);
}

/* The random part of the wait in rounds; the wait ends at bw_probe_max_rounds. */
static void bbr2_pick_wait_rounds(struct sock *sk, struct bbr2 *bbr)
{
	bbr->rounds_since_probe = (u8)cca_random_below(sk, param(sk, bw_probe_rand_rounds));
}

/* The wait in time. */
static void bbr2_pick_wait_us(struct sock *sk, struct bbr2 *bbr)
{
	bbr->probe_wait_us =
		param(sk, bw_probe_base_us) + cca_random_below(sk, param(sk, bw_probe_rand_us));
}

/*
 * Reno, whose sawtooth lasts as many rounds as the BDP has segments, would probe by now: so that
 * it keeps its share, neither do we wait less, nor on long paths more.
 */
static bool bbr2_is_reno_probe_time(const struct sock *sk, const struct bbr2 *bbr)
{
	u32 rounds = param(sk, bw_probe_max_rounds), gain = param(sk, bw_probe_reno_gain);

	if (gain) {
		u64 reno = ((u64)bbr2_target_inflight(sk, bbr) * gain) >> BBR_SCALE;

		rounds = (u32)min_t(u64, rounds, reno);
	}
	return bbr->rounds_since_probe >= rounds;
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

/* Time for the next probe? Then REFILL. */
static bool bbr2_check_time_to_probe(struct sock *sk, struct bbr2 *bbr)
{
	u32 gain = param(sk, ecn_reprobe_gain), rounds = 0;

	if (gain && bbr->ecn_eligible && bbr->ecn_in_cycle && !bbr->loss_in_cycle &&
	    inet_csk_ca_state(sk) == TCP_CA_Open)
		rounds = min(bbr2_log2(((u64)bbr->inflight_hi * gain) >> BBR_SCALE), 30U);
	else if (!bbr2_policy_wait_is_over(sk, bbr) && !bbr2_is_reno_probe_time(sk, bbr))
		return false;
	bbr2_start_refill(sk, bbr, rounds);
	return true;
}

/* DOWN has left headroom and drained the queue, of the bandwidth that this ACK began with. */
static bool bbr2_is_time_to_cruise(const struct sock *sk, const struct bbr2 *bbr, u32 in_net,
				   u32 max_bw)
{
	if (param(sk, down_max_rtt) && bbr2_phase_is_older_than(sk, bbr, bbr->min_rtt_us))
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
	if (!bbr2_check_time_to_probe(sk, bbr) && bbr2_is_time_to_cruise(sk, bbr, in_net, max_bw))
		bbr2_start_cruise(sk, bbr);
}

/* UP did not meet loss or ECN (yet): the drain begins. */
static void bbr2_finish_up(struct sock *sk, struct bbr2 *bbr)
{
	bbr->prev_probe_too_high = false;
	bbr2_start_down(sk, bbr);
}

/* The last probe met trouble at inflight_hi, and we are there again: better stop. */
static void bbr2_step_up(struct sock *sk, struct bbr2 *bbr, u32 in_net, u32 bw)
{
	if (bbr->prev_probe_too_high && in_net >= bbr->inflight_hi) {
		bbr->stopped_risky_probe = true;
		bbr2_finish_up(sk, bbr);
		return;
	}
	bbr2_policy_up(sk, bbr, in_net, bw);
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
	in_net = bbr2_packets_in_net_at_edt(sk, bbr, rs->prior_in_flight);
	max_bw = bbr2_max_bw(bbr);
	if (bbr2_policy_phase(sk, bbr, in_net, max_bw, ack->bw))
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

#endif /* BBR2_CYCLE_H */
