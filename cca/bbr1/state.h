/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * BBRv1 core: parameters, constants, private state, and what a variant decides.
 *
 * The family (bbr, and its published variants) shares these files, one per idea:
 *
 *	state.h     parameters, private state, the policy of a variant
 *	path.h      bandwidth to pacing rate, BDP, quantisation, packets in the network
 *	policer.h   long-term bandwidth behind a token-bucket policer
 *	model.h     rounds, bandwidth filter, ACK aggregation, full pipe
 *	modes.h     DRAIN, PROBE_BW, PROBE_RTT: when to enter and leave
 *	cwnd.h      window: recovery, growth to the target
 *	core.h      includes all, and holds the hooks
 *
 * A variant is one file with its parameters, its policy functions (declared below) and
 * CCA_MODULE(..., BBR1_HOOKS).
 */
#ifndef BBR1_STATE_H
#define BBR1_STATE_H

/* Bandwidth is in segments/us scaled by 2^24: a unit is about 715 bit/s with 1500-byte
 * segments, and a u32 holds 256 segments/us, about 3 Tbit/s.
 */
#define BW_SCALE 24
#define BW_UNIT	 (1U << BW_SCALE)
/* Gains are in 1/256. */
#define BBR_SCALE 8
#define BBR_UNIT  (1U << BBR_SCALE)
/* Phases of the PROBE_BW cycle. */
#define CYCLE_LEN 8

/*
 * Gains: 2/ln 2 = 2.885 is the least gain that doubles the delivery rate each round trip;
 * its inverse drains what that has queued in one round trip. Fields for gains have 10 bits.
 */
/* clang-format off */
#define BBR1_PARAMS(P)								\
	P(startup_gain, 739, 256, 1023, "1/256", "pacing and window gain in STARTUP: 2/ln 2") \
	P(drain_gain, 88, 1, 256, "1/256", "pacing gain in DRAIN: ln 2 / 2")	\
	P(cwnd_gain, 512, 256, 1023, "1/256", "window gain in PROBE_BW: room for delayed ACKs") \
	P(probe_up_gain, 320, 256, 1023, "1/256", "pacing gain of the probing phase: 1.25") \
	P(probe_down_gain, 192, 1, 256, "1/256", "pacing gain of the draining phase: 0.75") \
	P(bw_window, 10, 1, 1000, "round trips", "window of the bandwidth maximum") \
	P(min_rtt_window_s, 10, 1, 3600, "s", "age at which the least RTT is measured anew") \
	P(probe_rtt_ms, 200, 0, 10000, "ms", "time at the least window in PROBE_RTT; 0: never probe") \
	P(cwnd_min, 4, 1, 1000, "segments", "least window, and window in PROBE_RTT") \
	P(pacing_margin_percent, 1, 0, 50, "%", "how far below the bandwidth to pace") \
	P(full_bw_thresh, 320, 256, 1023, "1/256", "growth of bandwidth per round that is still growth") \
	P(full_bw_rounds, 3, 1, 3, "round trips", "rounds without it after which the pipe is full") \
	P(lt_bw, 1, 0, 1, "bool", "look for token-bucket policers (long-term bandwidth)") \
	P(extra_acked_gain, 256, 0, 1023, "1/256", "share of ACK aggregation added to the window")
/* clang-format on */

/* Bursts of a single segment below this pacing rate, bytes/s: 1.2 Mbit/s. */
static const u32 bbr_min_tso_rate = 1200000 / 8;
/* Largest burst that is budgeted for, segments (7 bits, as in Linux). */
static const u32 bbr_tso_goal_max = 0x7f;
/* RTT taken for the first pacing rate when there is no sample, us. */
static const u32 bbr_default_rtt_us = USEC_PER_MSEC;

enum bbr_mode {
	BBR_STARTUP,   /* double the rate each round until the pipe is full */
	BBR_DRAIN,     /* empty the queue that this has built */
	BBR_PROBE_BW,  /* cruise at the bandwidth, probe for more each cycle */
	BBR_PROBE_RTT, /* shrink the window to see the path's own RTT */
};

/* clang-format off */
struct bbr {
	u64	cycle_mstamp;		/* start of the cycle phase, us */
	u64	ack_epoch_mstamp;	/* start of the aggregation epoch, us */
	struct minmax bw;		/* bandwidth, maximum over bw_window rounds */
	u32	rtt_cnt;		/* rounds so far */
	u32	next_rtt_delivered;	/* the round ends when this `delivered` is acknowledged */
	u32	min_rtt_us;		/* least RTT of min_rtt_window_s; ~0: none */
	u32	min_rtt_stamp;		/* when it was seen, jiffies */
	u32	probe_rtt_done_stamp;	/* end of PROBE_RTT, jiffies; 0: window still too full */
	u32	lt_bw;			/* long-term bandwidth; 0: none */
	u32	lt_last_delivered;	/* at the start of the long-term interval: delivered, */
	u32	lt_last_stamp;		/* ... time, ms, */
	u32	lt_last_lost;		/* ... lost */
	u32	prior_cwnd;		/* window before recovery or PROBE_RTT */
	u32	full_bw;		/* bandwidth to beat by full_bw_thresh */
	u16	extra_acked[2];		/* aggregation, maximum of the last and this 5 rounds */
	u32	mode:3,			/* enum bbr_mode */
		prev_ca_state:3,	/* icsk_ca_state at the previous ACK */
		packet_conservation:1,	/* first round of recovery */
		round_start:1,		/* this ACK begins a round */
		idle_restart:1,		/* sending again after idle */
		probe_rtt_round_done:1,	/* a round at the least window has passed */
		lt_is_sampling:1,	/* in a long-term interval */
		lt_rtt_cnt:7,		/* rounds of it */
		lt_use_bw:1,		/* behind a policer: use lt_bw */
		has_seen_rtt:1;		/* the pacing rate rests on an RTT sample */
	u32	pacing_gain:10,
		cwnd_gain:10,
		full_bw_reached:1,	/* the pipe is full: STARTUP is over */
		full_bw_cnt:2,		/* rounds without growth */
		cycle_idx:3,		/* phase of the PROBE_BW cycle */
		extra_acked_win_idx:1;	/* slot of extra_acked in use */
	u32	ack_epoch_acked:20,	/* segments delivered in the aggregation epoch */
		extra_acked_win_rtts:5;	/* rounds in this slot */
};
/* clang-format on */

CCA_STATE(bbr, struct bbr);

/* ---- Policy: what makes a variant (defined in the variant's own file) ---- */

/* Pacing gain of the current phase of the PROBE_BW cycle, in 1/256. */
static u32 bbr_policy_cycle_gain(const struct sock *sk, const struct bbr *bbr);
/* Phase, 0 to CYCLE_LEN - 1, in which a flow that enters PROBE_BW starts. */
static u32 bbr_policy_first_phase(struct sock *sk);
/* Is the current phase over? is_full_length: it has lasted for more than min_rtt. */
static bool bbr_policy_phase_is_over(struct sock *sk, const struct bbr *bbr,
				     const struct rate_sample *rs, bool is_full_length);

/* ---- Estimates ---- */

static u32 bbr_max_bw(const struct bbr *bbr)
{
	return minmax_get(&bbr->bw);
}

/* The bandwidth to use: the policer's when there is one. */
static u32 bbr_bw(const struct bbr *bbr)
{
	return bbr->lt_use_bw ? bbr->lt_bw : bbr_max_bw(bbr);
}

#endif /* BBR1_STATE_H */
