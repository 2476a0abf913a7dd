/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * BBRv2 family: private state, and the rules in which variants differ.
 *
 * The variants (bbr2, bbr2plus, bbr3, bbr-draft) share these files. Each includes what it uses, and only files
 * below it in this list:
 *
 *	core.h       the hooks: the steps of an ACK in their order, gains, timeouts, undo
 *	variables.h  what records keep
 *	cwnd.h       the window
 *	probe_rtt.h  PROBE_RTT and the minimum RTT
 *	drain.h      DRAIN
 *	plateau.h    UP ends on a plateau (bbr3, bbr-draft, which include it)
 *	probe_bw.h   PROBE_BW: its phases, and what a probe says about inflight_hi
 *	ecn.h        mean CE ratio
 *	startup.h    STARTUP: full pipe, too much loss or ECN
 *	model.h      rounds, bandwidth, ACK aggregation, congestion signals
 *	bounds.h     inflight_hi, inflight_lo, bw_lo; is inflight too high?
 *	path.h       bandwidth to pacing rate, BDP, bursts, packets in the network
 *	state.h      private state, rules
 *	params.h     parameters
 *
 * chromium.h has Chromium's rules; only bbr2 includes it. Without them the shared files
 * implement v2alpha of Google's tree. A variant is one file that includes core.h and defines its
 * parameters (CCA_PARAMS_OF_FAMILY), its state (CCA_STATE_LARGE, bbr2_of), bbr2_rules, CCA_STATES and
 * CCA_MODULE(..., BBR2_HOOKS).
 */
#ifndef BBR2_STATE_H
#define BBR2_STATE_H

#include "bbr_units.h"
#include "params.h"

/* A bound that is not set, or an RTT that is not known. */
#define BBR2_UNSET (~0U)

enum bbr2_mode {
	BBR2_STARTUP,	/* double the rate each round until the pipe is full */
	BBR2_DRAIN,	/* empty the queue that this has built */
	BBR2_PROBE_BW,	/* cruise, and probe from time to time */
	BBR2_PROBE_RTT, /* shrink the window to see the path's own RTT */
};

/* Phases of PROBE_BW; a variant may have more, from BBR2_PHASES upwards. */
enum bbr2_phase {
	BBR2_UP,     /* push inflight up: is there more? */
	BBR2_DOWN,   /* drain what that has queued, and leave headroom */
	BBR2_CRUISE, /* use the pipe, react to loss and ECN */
	BBR2_REFILL, /* fill the pipe to the brim before pushing */
	BBR2_PHASES,
};

/* Why the pipe was taken for full. */
enum bbr2_full {
	BBR2_NOT_FULL,
	BBR2_FULL_PLATEAU, /* the bandwidth ceased to grow */
	BBR2_FULL_LOSS,	   /* a round met too much loss */
	BBR2_FULL_ECN,	   /* rounds met too many marks */
};

/* What ACKs say about our probing. They refer to segments sent a round trip ago. */
enum bbr2_ack_phase {
	BBR2_ACKS_INIT,		  /* nothing */
	BBR2_ACKS_REFILLING,	  /* about sending at the bandwidth */
	BBR2_ACKS_PROBE_STARTING, /* inflight rises, ACKs are still from before */
	BBR2_ACKS_PROBE_FEEDBACK, /* about the probe */
	BBR2_ACKS_PROBE_STOPPING, /* still about the probe, which has ended */
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
	u32	min_rtt_us;		/* minimum RTT of min_rtt_win_sec; BBR2_UNSET: none */
	u32	min_rtt_stamp;		/* when it was seen, jiffies */
	u32	probe_rtt_min_us;	/* minimum RTT of probe_rtt_win_ms */
	u32	probe_rtt_min_stamp;	/* when it was seen, jiffies */
	u32	bw_hi[2];		/* maximum bandwidth of the last and this probing cycle */
	u32	full_bw;		/* bandwidth to beat by full_bw_thresh */
	u64	ack_epoch_mstamp;	/* start of the aggregation epoch, us */
	u32	ack_epoch_acked;	/* segments delivered in it */
	u16	extra_acked[2];		/* aggregation, maximum of the last and this window */
	u8	extra_acked_win_rtts;	/* rounds in this window */
	u8	extra_acked_win_idx;	/* slot of extra_acked in use */
	/* Rounds. */
	u32	round_count;		/* rounds so far; for records */
	u32	next_rtt_delivered;	/* the round ends when this `delivered` is acknowledged */
	u32	loss_round_delivered;	/* the same for the loss round */
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
	u32	probe_up_cnt;		/* segments acknowledged per segment of growth of inflight_hi */
	u32	probe_up_acks;		/* acknowledged so far, towards that */
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
	u8	startup_ecn_rounds : 2; /* rounds with too many CE marks in a row; wraps, as where it was published */
	u8	startup_end;		/* enum bbr2_full; for records */
	u8	full_bw_cnt;		/* rounds without growth of the bandwidth */
	bool	full_bw_now;		/* the bandwidth does not grow at present (bbr3) */
	bool	full_bw_reached;	/* the pipe is full: STARTUP is over */
	bool	is_app_limited;		/* the sample of this ACK was; for records */
	bool	round_start;		/* this ACK begins a round */
	bool	loss_round_start;	/* this ACK begins a loss round */
	bool	loss_in_round;		/* something was lost in this loss round */
	bool	ecn_in_round;		/* ECE arrived in this loss round */
	bool	loss_in_cycle;		/* something was lost since the last probe */
	bool	ecn_in_cycle;		/* CE was echoed since the last probe */
	bool	ecn_eligible;		/* may respond to ECN */
	bool	probe_samples;		/* samples are about a probe */
	bool	prev_probe_too_high;	/* the last probe met too much loss or ECN */
	bool	down_ended;		/* this ACK has ended DOWN */
	bool	up_has_round;		/* a round trip has passed in UP (chromium.h) */
	bool	stopped_risky_probe;	/* UP ended at an inflight_hi that had been too high */
	bool	probe_rtt_round_done;	/* a round at the small window has passed */
	bool	idle_restart;		/* sending again after idle */
	bool	has_seen_rtt;		/* the pacing rate rests on an RTT sample */
	bool	try_fast_path;		/* the window is where it should be */
	struct cca_flight_log flight;	/* from which the host finds tx_in_flight and lost */
};
/* clang-format on */

/* The family's state of a socket; NULL when the host has no memory for it. */
static struct bbr2 *bbr2_of(struct sock *sk);

/*
 * How a variant differs from v2alpha besides its parameters: each defines one constant, bbr2_rules. All
 * zero is v2alpha.
 *
 * The compiler knows this constant, so a call through it becomes a direct call, or nothing. BPF programs
 * cannot make any other call: cca/Makefile checks that no such table is left in an object.
 */
/* clang-format off */
struct bbr2_rules {
	bool	latest_spans_ack;	/* bw_latest and inflight_latest also see ACKs of the fast path, and
					 * restart at the end of the ACK that ends a loss round */
	bool	keeps_probe_credit;	/* ACKs of UP count although the window was not full */
	bool	alpha_needs_ecn;	/* the mean CE ratio is updated only where ECN is used */
	bool	ce_above_thresh;	/* a CE ratio equal to ecn_thresh is not yet too high */
	bool	hi_as_delivered;	/* inflight_hi after lossy STARTUP is at least what was delivered */
	bool	rto_uses_cwnd;		/* inflight_lo at a timeout is at least the present window */
	bool	rto_restarts_count;	/* a timeout also clears the count of rounds without growth */
	bool	tlp_is_loss;		/* a loss that a tail loss probe repaired counts */
	bool	rounds_by_delivered;	/* a round needs no valid interval */
	bool	plateau_first;		/* an ACK's rate is looked at before its losses */
	bool	acks_only_permit;	/* lost segments alone judge a probe; an ACK's sample can only raise inflight_hi */
	bool	rto_keeps_plateau;	/* a timeout says nothing about growth of the bandwidth */
	bool	cruise_keeps_lo;	/* inflight_lo may be above inflight_hi */
	bool	grows_until_delivered;	/* below a full pipe the window grows until it has been delivered once */
	bool	counts_after_ack;	/* inflight in PROBE_BW is without what this ACK acknowledged */
	bool	restores_after_recovery; /* the window comes back after Recovery, too */

	/* Moments at which a variant does more; NULL: nothing. */
	void	(*init)(const struct sock *sk, struct bbr2 *bbr);
	void	(*ack_begins)(struct bbr2 *bbr, const struct rate_sample *rs); /* its round is known */
	void	(*bw_seen)(struct bbr2 *bbr, u32 bw);	/* a sample has entered the bandwidth filter */
	void	(*model_updated)(const struct sock *sk, struct bbr2 *bbr,
				 const struct rate_sample *rs);	/* window and rate are set next */
	void	(*drained)(const struct sock *sk, struct bbr2 *bbr);	/* DRAIN is over */
	void	(*pick_wait)(struct sock *sk, struct bbr2 *bbr);	/* DOWN begins: draw other waits, too */
	void	(*cruise_begins)(const struct sock *sk, struct bbr2 *bbr);
	void	(*up_begins)(struct bbr2 *bbr, u32 bw);	/* bw, here and below: delivery rate of this ACK */

	void	(*loss_noted)(struct sock *sk, struct bbr2 *bbr);	/* the first loss of a loss round */
	void	(*recovery_ended)(struct sock *sk, struct bbr2 *bbr);	/* state Open */
	void	(*undone)(struct sock *sk, struct bbr2 *bbr);	/* a recovery was spurious */
	void	(*bounded_by_loss)(struct bbr2 *bbr);	/* STARTUP or UP ends, mode and phase are still theirs */

	/* What a variant does otherwise; NULL: as v2alpha. in_net: segments in the network when the next leaves. */
	void	(*check_full_bw)(const struct sock *sk, struct bbr2 *bbr, const struct rate_sample *rs, u32 bw);
	void	(*step_up)(struct sock *sk, struct bbr2 *bbr, u32 in_net, u32 bw); /* an ACK in UP, without loss or risk */
	bool	(*is_wait_over)(const struct sock *sk, const struct bbr2 *bbr);	/* time for the next probe */
	void	(*learn_bw)(const struct sock *sk, struct bbr2 *bbr, u32 bw);	/* a sample for the bandwidth filter */
	bool	(*advance_bw)(struct bbr2 *bbr);	/* true: instead of v2alpha's next cycle of that filter */
	bool	(*update_aggregation)(const struct sock *sk, struct bbr2 *bbr, const struct rate_sample *rs);	/* true: done */
	u32	(*extra_acked)(const struct bbr2 *bbr);	/* the largest aggregation, without a bound in time */
	bool	(*check_startup_loss)(const struct sock *sk, struct bbr2 *bbr, const struct rate_sample *rs);	/* true: done */
	bool	(*check_drain)(struct sock *sk, struct bbr2 *bbr);	/* true: done */
	bool	(*update_rtts)(const struct sock *sk, struct bbr2 *bbr, const struct rate_sample *rs, bool *expired);	/* true: done */
	bool	(*has_saved)(const struct bbr2 *bbr);	/* the bounds of before this episode of loss */
	bool	(*keeps_bw_filter)(const struct bbr2 *bbr);	/* it does not advance when a probe ends */
	u32	(*bdp_rtt)(const struct sock *sk, const struct bbr2 *bbr);	/* RTT in a BDP, us; min_rtt */
	u32	(*cwnd_extra)(const struct sock *sk, struct bbr2 *bbr);	/* added to the target window; 0 */

	/* Phases of PROBE_BW that only a variant has. max_bw: the bandwidth before this step, which may advance
	 * the filter. */
	bool	(*step_phase)(struct sock *sk, struct bbr2 *bbr, u32 in_net, u32 max_bw, u32 bw); /* true: done */
	u32	(*phase_gain)(const struct sock *sk, const struct bbr2 *bbr);
	bool	(*is_probing_phase)(const struct bbr2 *bbr);	/* loss in it does not lower the lower bounds */

	/* Chromium's rules, which bbr2 has parameters for (chromium.h); NULL: v2alpha's. */
	bool	(*has_no_burst_budget)(const struct sock *sk);	/* windows and targets are gain times BDP */
	bool	(*ignores_departures)(const struct sock *sk);	/* inflight counts as it is now */
	bool	(*judges_by_round)(const struct sock *sk);	/* losses count by round trips */
	bool	(*bears_losses)(const struct sock *sk, const struct bbr2 *bbr);	/* too few lossy ACKs to end a probe */
	bool	(*has_left_down)(const struct sock *sk, const struct bbr2 *bbr);	/* DOWN ends, whatever is in flight */
	void	(*down_left)(const struct sock *sk, struct bbr2 *bbr);	/* it has ended before the probe's last samples */
	bool	(*learns_nothing)(const struct sock *sk, const struct bbr2 *bbr);	/* about the upper bound, in this mode */
	bool	(*cuts_to_sample)(const struct sock *sk);	/* a failed probe cuts inflight_hi as low as the sampled flight */
	bool	(*forgets_failure)(const struct sock *sk, const struct bbr2 *bbr);	/* of a probe, in this phase */
	bool	(*grow_hi)(const struct sock *sk, struct bbr2 *bbr, const struct rate_sample *rs);	/* true: instead of v2alpha's growth */
	u32	(*hi_step)(const struct sock *sk);	/* segments by which inflight_hi grows at a time; 1 */
	bool	(*puts_off_probe_rtt)(const struct sock *sk, const struct bbr2 *bbr);
	bool	(*begin_probe_rtt)(const struct sock *sk, struct bbr2 *bbr);	/* true: instead of v2alpha's step */
	bool	(*end_probe_rtt)(struct sock *sk, struct bbr2 *bbr);	/* the same */
	bool	(*needs_no_probe_rtt_round)(const struct sock *sk);
};
/* clang-format on */

static const struct bbr2_rules bbr2_rules;

/* Calls a function of the rules that answers yes or no, if there is one; without it the answer is no. */
#define bbr2_rule(name, ...) (bbr2_rules.name && bbr2_rules.name(__VA_ARGS__))

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
