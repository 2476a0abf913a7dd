/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * BBRv1 family: constants, private state, and the rules in which variants differ.
 *
 * The variants (bbr, bbr-drain, bbr-hsr, bbrplus, tsunami, tsunami-zhang) share these files. Each includes what
 * it uses, and only files below it in this list:
 *
 *	core.h       the hooks: the steps of an ACK in their order, gains, timeouts, undo
 *	recovery.h   recovery as in Chromium, with a window of its own
 *	cwnd.h       the window: recovery, growth to the target
 *	probe_rtt.h  PROBE_RTT and the minimum RTT
 *	drain.h      DRAIN
 *	startup.h    STARTUP: is the pipe full?
 *	model.h      rounds, bandwidth filter, ACK aggregation
 *	policer.h    long-term bandwidth, for paths with a policer
 *	probe_bw.h   PROBE_BW: the cycle of Linux, whole or in parts, for variants
 *	path.h       bandwidth to pacing rate, BDP, quantisation, packets in the network
 *	state.h      private state, rules
 *	params.h     parameters
 *
 * A variant is one file that includes core.h and defines its parameters (CCA_PARAMS_OF_FAMILY), bbr_rules and
 * CCA_MODULE(..., BBR1_HOOKS).
 */
#ifndef BBR1_STATE_H
#define BBR1_STATE_H

#include "bbr_units.h"
#include "params.h"

/* Phases of the PROBE_BW cycle. */
#define CYCLE_LEN 8

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
	u32	min_rtt_us;		/* minimum RTT of min_rtt_window_s; ~0: none */
	u32	min_rtt_stamp;		/* when it was seen, jiffies */
	u32	probe_rtt_done_stamp;	/* end of PROBE_RTT, jiffies; 0: window still too full */
	u32	lt_bw;			/* long-term bandwidth; 0: none */
	union {
		u32	lt_last_delivered; /* at the start of the long-term interval: delivered, */
		u32	recovery_cwnd;	/* recovery_window: bound on the window; 0: just begun */
	};
	union {
		u32	lt_last_stamp;	/* ... time, ms, */
		u32	recovery_end;	/* recovery_window: `delivered` at the last loss */
	};
	u32	lt_last_lost;		/* ... lost */
	u32	prior_cwnd;		/* window before recovery or PROBE_RTT; recovery_window: without them */
	u32	full_bw;		/* bandwidth to beat by full_bw_thresh */
	u16	extra_acked[2];		/* aggregation, maximum of the last and this 5 rounds */
	u32	mode:3,			/* enum bbr_mode */
		prev_ca_state:3,	/* icsk_ca_state at the previous ACK */
		packet_conservation:1,	/* first round of recovery */
		round_start:1,		/* this ACK begins a round */
		idle_restart:1,		/* sending again after idle */
		probe_rtt_round_done:1,	/* a round at the minimum window has passed */
		lt_is_sampling:1,	/* in a long-term interval */
		lt_rtt_cnt:7,		/* rounds of it */
		lt_use_bw:1,		/* the path has a policer: use lt_bw */
		has_seen_rtt:1,		/* the pacing rate rests on an RTT sample */
		restore_cwnd:1,		/* prior_cwnd comes back when the window is next set */
		gains_due:1,		/* a mode or phase has begun, its gains are not yet set */
		cycle_len:4;		/* of the PROBE_BW cycle, in min_rtt, where a variant draws it */
	u32	pacing_gain:10,
		cwnd_gain:10,
		in_recovery:1,		/* recovery_window: something was lost in the last round */
		keeps_draining:1,	/* the cycle has left phase 1, its gain has not (bbr-drain) */
		full_bw_reached:1,	/* the pipe is full: STARTUP is over */
		full_bw_cnt:2,		/* rounds without growth */
		cycle_idx:3,		/* phase of the PROBE_BW cycle */
		extra_acked_win_idx:1;	/* slot of extra_acked in use */
	u32	ack_epoch_acked:20,	/* segments delivered in the aggregation epoch */
		extra_acked_win_rtts:5;	/* rounds in this slot */
};
/* clang-format on */

CCA_STATE(bbr, struct bbr);

/*
 * How versions of BBRv1 differ besides their parameters. A variant defines one constant of this, bbr_rules.
 *
 * The compiler knows this constant, so a call through it becomes a direct call, or nothing. BPF programs
 * cannot make any other call: cca/Makefile checks that no such table is left in an object.
 */
/* clang-format off */
struct bbr_rules {
	bool	keeps_gains;		/* gains change when a mode or phase begins, not by each ACK */
	bool	cycles_behind_policer;	/* a cycle on a path with a policer has its phase's gain */
	bool	stops_behind_policer;	/* the cycle stands still on a path with a policer */
	bool	is_window_even;		/* windows are rounded up to an even number */
	bool	has_probe_room;		/* two segments more in flight while probing */
	bool	trusts_delayed_acks;	/* a delayed ACK's RTT may replace a minimum RTT too old */
	bool	ends_idle_on_any_ack;	/* not only on one that delivers something */
	bool	ends_probe_rtt_idle;	/* sending from idle ends PROBE_RTT when its time is up */
	bool	waits_for_delivery;	/* only an ACK that delivers sets the window, or brings one back */
	bool	undo_forgets_pipe;	/* an undo restarts the search for a full pipe or a policer */
	bool	shows_bdp;		/* ssthresh shows the BDP after STARTUP */
	bool	halves_in_probe_rtt;	/* each ACK halves the window; else it is cut at once */
	bool	slows_after_startup;	/* the rate may fall in every mode but STARTUP, not once the pipe is full */

	/* What a variant does otherwise; NULL: as Linux 6.12. */
	u32	(*cycle_gain)(const struct sock *sk, const struct bbr *bbr);	/* pacing gain of the phase, 1/256 */
	void	(*step_cycle)(struct sock *sk, struct bbr *bbr, const struct rate_sample *rs);	/* an ACK in PROBE_BW */
	u32	(*bdp_rtt)(const struct sock *sk, const struct bbr *bbr);	/* RTT in a BDP, us; min_rtt */
};

/* Linux since 5.1. */
#define BBR1_LINUX_6_12								\
	.is_window_even = true, .has_probe_room = true, .ends_probe_rtt_idle = true, \
	.undo_forgets_pipe = true, .shows_bdp = true

/* Linux 4.9, and in most of these up to 4.19. */
#define BBR1_LINUX_4_9_RULES							\
	.keeps_gains = true, .cycles_behind_policer = true, .stops_behind_policer = true, \
	.is_window_even = true, .trusts_delayed_acks = true, .ends_idle_on_any_ack = true, \
	.waits_for_delivery = true, .slows_after_startup = true
/* clang-format on */

static const struct bbr_rules bbr_rules;
static const struct bbr_rules bbr_rules_4_9 = { BBR1_LINUX_4_9_RULES };

/* One of the rules that are true or false; with rules_4_9 that of Linux 4.9. */
#define bbr_rule(sk, name) (param(sk, rules_4_9) ? bbr_rules_4_9.name : bbr_rules.name)

/* ---- Modes and phases ---- */

static inline void bbr_enter(struct bbr *bbr, enum bbr_mode mode)
{
	bbr->mode = mode;
	bbr->gains_due = 1;
}

static inline void bbr_set_phase(struct bbr *bbr, u32 phase)
{
	bbr->cycle_idx = phase & (CYCLE_LEN - 1);
	bbr->keeps_draining = 0;
	bbr->gains_due = 1;
}

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
