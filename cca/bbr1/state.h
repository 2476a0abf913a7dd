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
 *	cycle.h     the PROBE_BW cycle of Linux, whole or in parts, for the policies
 *	cwnd.h      window: recovery, growth to the target
 *	recovery.h  recovery as in Chromium, with a window of its own
 *	core.h      includes all, and holds the hooks
 *
 * A variant is one file with its parameters, its rules and policy functions (declared below) and
 * CCA_MODULE(..., BBR1_HOOKS).
 */
#ifndef BBR1_STATE_H
#define BBR1_STATE_H

#include "bbr_units.h"

/* Phases of the PROBE_BW cycle. */
#define CYCLE_LEN 8

/*
 * Gains: 2/ln 2 = 2.885 is the least gain that doubles the delivery rate each round trip;
 * its inverse drains what that has queued in one round trip. Fields for gains have 10 bits.
 */
/* clang-format off */
/* Parameters whose default is the same in all variants. */
#define BBR1_SHARED_PARAMS(P)							\
	P(startup_gain, 739, 256, 1023, "1/256", "pacing and window gain in STARTUP: 2/ln 2") \
	P(cwnd_gain, 512, 256, 1023, "1/256", "window gain in PROBE_BW: room for delayed ACKs") \
	P(cwnd_min, 4, 1, 1000, "segments", "least window, and window in PROBE_RTT") \
	P(full_bw_thresh, 320, 256, 1023, "1/256", "growth of bandwidth per round that is still growth") \
	P(full_bw_rounds, 3, 1, 3, "round trips", "rounds without it after which the pipe is full") \
	P(lt_bw, 1, 0, 1, "bool", "look for token-bucket policers (long-term bandwidth)") \
	P(burst_budget, 1, 0, 1, "bool",					\
	  "room for bursts in windows and inflight; 0: gain times BDP, at least cwnd_min, as Chromium") \
	P(drain_by_current, 0, 0, 1, "bool",					\
	  "draining ends by what is in flight after the ACK, as in Chromium, not before it") \
	P(recovery_window, 0, 0, 1, "bool",					\
	  "recovery as in Chromium: a window beside the other, which grows again after a round; lt_bw is off then")

/* Parameters whose default a variant may choose. */
#define BBR1_DRAIN_GAIN(P, def)	P(drain_gain, def, 1, 256, "1/256", "pacing gain in DRAIN")
#define BBR1_UP_GAIN(P, def)							\
	P(probe_up_gain, def, 256, 1023, "1/256", "pacing gain of the probing phase")
#define BBR1_DOWN_GAIN(P, def)							\
	P(probe_down_gain, def, 1, 256, "1/256", "pacing gain of the draining phase")
#define BBR1_CRUISE_GAIN(P, def)						\
	P(cruise_gain, def, 256, 1023, "1/256", "pacing gain of the other six phases")
#define BBR1_BW_WINDOW(P, def)							\
	P(bw_window, def, 1, 1000, "round trips", "window of the bandwidth maximum")
#define BBR1_MIN_RTT_WINDOW(P, def)						\
	P(min_rtt_window_s, def, 1, 3600, "s", "age at which the least RTT is measured anew")
#define BBR1_PROBE_RTT_MS(P, def)						\
	P(probe_rtt_ms, def, 0, 10000, "ms", "time at the least window in PROBE_RTT; 0: never probe")
#define BBR1_PACING(P, margin)							\
	P(pacing_margin_percent, margin, 0, 50, "%", "how far below the bandwidth to pace") \
	P(pacing_header_bytes, 0, 0, 100, "bytes",				\
	  "headers that a segment counts for in the pacing rate; 52 in kernels before 4.20")
#define BBR1_EXTRA_ACKED_GAIN(P, def)						\
	P(extra_acked_gain, def, 0, 1023, "1/256", "share of ACK aggregation added to the window")

#define BBR1_COUNT_DEPARTURES(P, def)						\
	P(count_departures, def, 0, 1, "bool",					\
	  "judge inflight as of the next departure, not as it is; Chromium and Linux before 4.20: 0")
#define BBR1_RENEW_EQUAL_RTT(P, def)						\
	P(renew_equal_rtt, def, 0, 1, "bool",					\
	  "a sample equal to the least RTT makes it young again; Chromium and Linux since 4.20: 0")
#define BBR1_EXTRA_ACKED_ROUNDS(P, def)						\
	P(extra_acked_rounds, def, 1, 31, "round trips",			\
	  "half of the window of the maximum of ACK aggregation")

/* Linux since 5.1. */
#define BBR1_LINUX_PARAMS(P)							\
	BBR1_COUNT_DEPARTURES(P, 1)						\
	BBR1_RENEW_EQUAL_RTT(P, 0)						\
	BBR1_EXTRA_ACKED_ROUNDS(P, 5)

/*
 * Chromium's BBRv1 (quiche, bbr_sender.cc) with the gains that Zhang's framework gives it (DrainQueueCongestion,
 * proto_bbr_sender.cc): STARTUP at 2 and DRAIN at a half, where Chromium has 2.885 and its inverse.
 */
#define BBR1_CHROMIUM(V)							\
	V(startup_gain, 512)							\
	V(drain_gain, 128)							\
	V(pacing_margin_percent, 0)						\
	V(lt_bw, 0)								\
	V(burst_budget, 0)							\
	V(count_departures, 0)							\
	V(drain_by_current, 1)							\
	V(recovery_window, 1)							\
	V(renew_equal_rtt, 0)							\
	V(extra_acked_rounds, 5)

/* What Linux 6.12 has: 1.25 and 0.75 in the first two phases, drained in a round by ln 2 / 2. */
#define BBR1_PARAMS(P)								\
	BBR1_SHARED_PARAMS(P)							\
	BBR1_DRAIN_GAIN(P, 88)							\
	BBR1_UP_GAIN(P, 320)							\
	BBR1_DOWN_GAIN(P, 192)							\
	BBR1_BW_WINDOW(P, 10)							\
	BBR1_MIN_RTT_WINDOW(P, 10)						\
	BBR1_PROBE_RTT_MS(P, 200)						\
	BBR1_PACING(P, 1)							\
	BBR1_EXTRA_ACKED_GAIN(P, 256)						\
	BBR1_LINUX_PARAMS(P)
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
		probe_rtt_round_done:1,	/* a round at the least window has passed */
		lt_is_sampling:1,	/* in a long-term interval */
		lt_rtt_cnt:7,		/* rounds of it */
		lt_use_bw:1,		/* behind a policer: use lt_bw */
		has_seen_rtt:1,		/* the pacing rate rests on an RTT sample */
		restore_cwnd:1,		/* prior_cwnd comes back when the window is next set */
		gains_due:1,		/* a mode or phase has begun, its gains are not yet set */
		cycle_len:4;		/* of the PROBE_BW cycle, least RTTs, where a variant draws it */
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

/* ---- Policy: what makes a variant (defined in the variant's own file) ---- */

/* How versions of BBRv1 differ beside their gains. A variant defines one constant of this, `bbr_rules`. */
/* clang-format off */
struct bbr_rules {
	bool	keeps_gains;		/* gains change when a mode or phase begins, not by each ACK */
	bool	cycles_behind_policer;	/* a cycle that begins behind a policer has its phase's gain */
	bool	is_window_even;		/* windows are rounded up to an even number */
	bool	has_probe_room;		/* two segments more in flight while probing */
	bool	trusts_delayed_acks;	/* a delayed ACK's RTT may replace a least RTT too old */
	bool	ends_idle_on_any_ack;	/* not only on one that delivers something */
	bool	ends_probe_rtt_idle;	/* sending from idle ends PROBE_RTT when its time is up */
	bool	waits_for_delivery;	/* only an ACK that delivers sets the window, or brings one back */
	bool	undo_forgets_pipe;	/* an undo restarts the search for a full pipe or a policer */
	bool	shows_bdp;		/* ssthresh shows the BDP after STARTUP */
	bool	halves_in_probe_rtt;	/* each ACK halves the window; else it is cut at once */
};

/* Linux since 5.1. */
#define BBR1_RULES_LINUX_6_12							\
	{									\
		.is_window_even = true, .has_probe_room = true,			\
		.ends_probe_rtt_idle = true, .undo_forgets_pipe = true,		\
		.shows_bdp = true,						\
	}
/* clang-format on */

static const struct bbr_rules bbr_rules;

/* Pacing gain of the current phase of the PROBE_BW cycle, in 1/256. */
static u32 bbr_policy_cycle_gain(const struct sock *sk, const struct bbr *bbr);
/* An ACK in PROBE_BW: move on to another phase if it is time. */
static void bbr_policy_update_cycle(struct sock *sk, struct bbr *bbr, const struct rate_sample *rs);
/* RTT for the BDP, us. */
static u32 bbr_policy_rtprop_us(const struct sock *sk, const struct bbr *bbr);

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
