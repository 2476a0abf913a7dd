/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * BBRv2 core: constants, private state, and what a variant decides.
 *
 * The family (bbr2, bbr2plus, bbr3) shares these files, one per idea:
 *
 *	params.h    parameters
 *	state.h     private state, the policy of a variant
 *	path.h      bandwidth to pacing rate, BDP, bursts, packets in the network
 *	model.h     rounds, bandwidth filter, ACK aggregation, loss rounds and lower bounds
 *	bounds.h    is inflight too high? upper bound, headroom, mean CE ratio, lossy STARTUP
 *	cycle.h     the phases of PROBE_BW
 *	modes.h     full pipe, DRAIN, PROBE_RTT, gains
 *	cwnd.h      window
 *	core.h      includes all, and holds the hooks
 *	v2alpha.h   what v2alpha does where bbr3 differs (bbr2, bbr2plus)
 *
 * A variant is one file with its parameters, its policy (declared below), CCA_STATE_LARGE,
 * bbr2_of(sk) and CCA_MODULE(..., BBR2_HOOKS).
 */
#ifndef BBR2_STATE_H
#define BBR2_STATE_H

#include "bbr_units.h"

/* A bound that is not set, or an RTT that is not known. */
#define BBR2_UNSET (~0U)

enum bbr2_mode {
	BBR2_STARTUP,	/* double the rate each round until the pipe is full */
	BBR2_DRAIN,	/* empty the queue that this has built */
	BBR2_PROBE_BW,	/* cruise, and probe now and then */
	BBR2_PROBE_RTT, /* shrink the window to see the path's own RTT */
};

/* Phases of PROBE_BW; a variant may have more, from BBR2_PHASES up. */
enum bbr2_phase {
	BBR2_UP,     /* push inflight up: is there more? */
	BBR2_DOWN,   /* drain what that has queued, and leave headroom */
	BBR2_CRUISE, /* use the pipe, react to loss and ECN */
	BBR2_REFILL, /* fill the pipe to the brim before pushing */
	BBR2_PHASES,
};

/* What do ACKs tell of our probing? They speak of what was sent a round trip ago. */
enum bbr2_ack_phase {
	BBR2_ACKS_INIT,		  /* nothing */
	BBR2_ACKS_REFILLING,	  /* of sending at the bandwidth */
	BBR2_ACKS_PROBE_STARTING, /* inflight rises, ACKs are still from before */
	BBR2_ACKS_PROBE_FEEDBACK, /* of the probe */
	BBR2_ACKS_PROBE_STOPPING, /* still of the probe, which has ended */
};

/* One ACK, as far as the model is concerned. */
struct bbr2_ack {
	u32 bw;		  /* delivery rate, or 0: no valid sample */
	u32 tx_in_flight; /* segments in flight when the sampled segment was sent */
	u32 lost;	  /* segments marked lost since then */
	bool is_ece;	  /* it carried ECE */
};

/* clang-format off */
struct bbr2 {
	/* Path. */
	u32	min_rtt_us;		/* least RTT of min_rtt_win_sec; BBR2_UNSET: none */
	u32	min_rtt_stamp;		/* when it was seen, jiffies */
	u32	probe_rtt_min_us;	/* least RTT of probe_rtt_win_ms */
	u32	probe_rtt_min_stamp;	/* when it was seen, jiffies */
	u32	bw_hi[2];		/* maximum bandwidth of the last and this probing cycle */
	u32	full_bw;		/* bandwidth to beat by full_bw_thresh */
	u64	ack_epoch_mstamp;	/* start of the aggregation epoch, us */
	u32	ack_epoch_acked;	/* segments delivered in it */
	u16	extra_acked[2];		/* aggregation, maximum of the last and this window */
	u8	extra_acked_win_rtts;	/* rounds in this window */
	u8	extra_acked_win_idx;	/* slot of extra_acked in use */
	/* Rounds. */
	u32	next_rtt_delivered;	/* the round ends when this `delivered` is acknowledged */
	u32	loss_round_delivered;	/* ditto for the loss round */
	/* Lower bounds, of the last rounds; BBR2_UNSET: none. */
	u32	bw_latest;		/* largest bandwidth of this loss round */
	u32	inflight_latest;	/* largest volume delivered in a round trip of it */
	u32	bw_lo;
	u32	inflight_lo;
	/* Upper bound, of the last probes; BBR2_UNSET: none. */
	u32	inflight_hi;
	/* As they were when recovery began. */
	u32	undo_bw_lo;
	u32	undo_inflight_lo;
	u32	undo_inflight_hi;
	u32	prior_cwnd;		/* window before recovery or PROBE_RTT */
	/* Probing. */
	u64	cycle_mstamp;		/* start of the phase, us */
	u32	probe_wait_us;		/* from DOWN to the next probe */
	u32	probe_up_cnt;		/* segments acknowledged for each that inflight_hi grows by */
	u32	probe_up_acks;		/* of these, acknowledged so far */
	u32	probe_rtt_done_stamp;	/* end of PROBE_RTT, jiffies; 0: window still too full */
	u32	round_lost;		/* segments marked lost in this round trip */
	/* ECN. */
	u32	ecn_alpha;		/* mean CE ratio, 1/256 */
	u32	alpha_last_delivered;	/* `delivered` when it was updated */
	u32	alpha_last_delivered_ce;
	/* Control. */
	u32	pacing_gain;
	u32	cwnd_gain;
	u8	init_cwnd;		/* initial window, at most 127 */
	u8	mode;			/* enum bbr2_mode */
	u8	phase;			/* enum bbr2_phase */
	u8	ack_phase;		/* enum bbr2_ack_phase */
	u8	prev_ca_state;		/* icsk_ca_state at the previous ACK */
	u8	rounds_since_probe;	/* saturates */
	u8	probe_up_rounds;	/* rounds of growth in this UP, at most 30 */
	u8	loss_events_in_round;	/* lossy ACKs of the round, in STARTUP; at most 15 */
	u8	round_loss_events;	/* lossy ACKs of this round trip, at most 15 */
	u8	startup_ecn_rounds;	/* rounds with too many CE marks in a row */
	u8	full_bw_cnt;		/* rounds without growth of the bandwidth */
	bool	full_bw_now;		/* the bandwidth does not grow at present (bbr3) */
	bool	full_bw_reached;	/* the pipe is full: STARTUP is over */
	bool	round_start;		/* this ACK begins a round */
	bool	loss_round_start;	/* this ACK begins a loss round */
	bool	loss_in_round;		/* something was lost in this loss round */
	bool	ecn_in_round;		/* ECE arrived in this loss round */
	bool	loss_in_cycle;		/* something was lost since the last probe */
	bool	ecn_in_cycle;		/* CE was echoed since the last probe */
	bool	ecn_eligible;		/* may respond to ECN */
	bool	probe_samples;		/* samples tell of a probe */
	bool	prev_probe_too_high;	/* the last probe met too much loss or ECN */
	bool	down_ended;		/* this ACK has ended DOWN */
	bool	up_has_round;		/* a round trip has passed in UP (bbr2) */
	bool	stopped_risky_probe;	/* UP ended at an inflight_hi that had been too high */
	bool	probe_rtt_round_done;	/* a round at the small window has passed */
	bool	idle_restart;		/* sending again after idle */
	bool	has_seen_rtt;		/* the pacing rate rests on an RTT sample */
	bool	try_fast_path;		/* the window is where it should be */
	struct cca_flight_log flight;	/* what the host needs to tell tx_in_flight and lost */
};
/* clang-format on */

/* The core's state of a socket; NULL when the host has no memory for it. */
static struct bbr2 *bbr2_of(struct sock *sk);

/*
 * ---- Policy: what makes a variant (defined in the variant's own file) ----
 *
 * and an enum of these constants, 0 or 1:
 *	BBR2_LATEST_SPANS_ACK	bw_latest and inflight_latest also see ACKs of the fast path, and
 *				restart at the end of the ACK that ends a loss round
 *	BBR2_KEEPS_PROBE_CREDIT	ACKs of UP count although the window was not full
 *	BBR2_ALPHA_NEEDS_ECN	the mean CE ratio is updated only where ECN is used
 *	BBR2_CE_AT_THRESH	a CE ratio equal to ecn_thresh is too high already
 *	BBR2_HI_AS_DELIVERED	inflight_hi after lossy STARTUP is at least what was delivered
 *	BBR2_RTO_USES_CWND	inflight_lo at a timeout is at least the present window
 *	BBR2_RTO_RESTARTS_COUNT	a timeout also clears the count of rounds without growth
 *	BBR2_TLP_IS_LOSS	a loss that a tail loss probe repaired counts
 */

/* Has the bandwidth ceased to grow? Sets full_bw_reached. */
static void bbr2_policy_check_full_bw(const struct sock *sk, struct bbr2 *bbr,
				      const struct rate_sample *rs, u32 bw);
/* UP begins; bw: delivery rate of this ACK. */
static void bbr2_policy_up_begins(struct bbr2 *bbr, u32 bw);
/*
 * UP lasts as long as neither loss nor risk nor this ends it: take the next step when it is time.
 * in_net: segments in the network when the next packet departs; bw: delivery rate of this ACK.
 */
static void bbr2_policy_up(struct sock *sk, struct bbr2 *bbr, u32 in_net, u32 bw);
/* DOWN begins: draw the random waits until the next probe. */
static void bbr2_policy_pick_wait(struct sock *sk, struct bbr2 *bbr);
/* The wait, in time or otherwise, is over. */
static bool bbr2_policy_wait_is_over(const struct sock *sk, const struct bbr2 *bbr);
/*
 * Phases that differ from the core's: true when this ACK's step is done. max_bw: the bandwidth before
 * this step, which may itself advance the filter.
 */
static bool bbr2_policy_phase(struct sock *sk, struct bbr2 *bbr, u32 in_net, u32 max_bw, u32 bw);
/* Pacing gain of a phase that is not the core's. */
static u32 bbr2_policy_phase_gain(const struct sock *sk, const struct bbr2 *bbr);
/* Is the phase one of probing, in which loss does not lower the lower bounds? */
static bool bbr2_policy_is_probing_phase(const struct bbr2 *bbr);
/* Does the bandwidth filter advance when a probe ends? */
static bool bbr2_policy_advances_with_probe(const struct bbr2 *bbr);
/* A sample has entered the bandwidth filter. */
static void bbr2_policy_bw_seen(struct bbr2 *bbr, u32 bw);
/* DRAIN is over. */
static void bbr2_policy_drained(struct sock *sk, struct bbr2 *bbr);
/* CRUISE begins. */
static void bbr2_policy_cruise_begins(struct sock *sk, struct bbr2 *bbr);
/* The connection begins; the core's state is set. */
static void bbr2_policy_init(const struct sock *sk, struct bbr2 *bbr);
/* An ACK begins, its round is known; and: the model is up to date, control follows. */
static void bbr2_policy_ack_begins(struct bbr2 *bbr, const struct rate_sample *rs);
static void bbr2_policy_model_updated(const struct sock *sk, struct bbr2 *bbr,
				      const struct rate_sample *rs);
/* RTT that a BDP is computed with, us; and what is added to the target of the window, segments. */
static u32 bbr2_policy_bdp_rtt(const struct sock *sk, const struct bbr2 *bbr);
static u32 bbr2_policy_cwnd_extra(struct sock *sk, struct bbr2 *bbr);

/* ---- Estimates ---- */

static u32 bbr2_max_bw(const struct bbr2 *bbr)
{
	return max(bbr->bw_hi[0], bbr->bw_hi[1]);
}

/* The bandwidth to use. */
static u32 bbr2_bw(const struct bbr2 *bbr)
{
	return min(bbr2_max_bw(bbr), bbr->bw_lo);
}

/* v less a share of it in 1/256. */
static u32 bbr2_less(u32 v, u32 share)
{
	return (u32)(((u64)v * (BBR_UNIT - share)) >> BBR_SCALE);
}

#endif /* BBR2_STATE_H */
