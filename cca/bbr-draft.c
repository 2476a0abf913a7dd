// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * BBR-draft (draft-ietf-ccwg-bbr): BBRv3 by the text of the IETF, where that differs from Google's code.
 *
 * Model, states and their diagram are those of BBRv2 (bbr2.c) and BBRv3 (bbr3.c). What differs from bbr3:
 *
 *	             bbr3                          the draft
 *	STARTUP      growth is seen at each ACK    only at the starts of rounds: a plateau is three full rounds
 *	             losses before growth          growth before losses; losses of a whole round in recovery
 *	DRAIN        gain 0.34, until the BDP      gain 0.5, until the BDP or the fourth round
 *	DOWN         gain 0.906                    0.90
 *	UP           ACKs and lost segments judge  lost segments alone
 *	CRUISE       inflight_lo <= inflight_hi    not
 *	aggregation  maximum of 5 to 10 rounds,    of the last 10 rounds (1 in STARTUP), without a bound in time
 *	             at most 100 ms of bandwidth
 *	max_bw       an empty cycle does not count it does
 *	min_rtt      a delayed ACK does not renew  it does
 *	undo         bounds and window             back to STARTUP or to a probe, too
 *	bursts       64 KB more on short paths     1 ms of the rate
 *	inflight     at the next departure         as it is
 *
 * The text has no ECN; a flow that negotiates it must answer to CE, so do not. Readings, where the text
 * contradicts itself or is silent (docs/cca/bbr-draft.md has them all): STARTUP needs losses in six separate
 * ranges, which a controller in Linux is not told; six ACKs that report losses stand for them, as in bbr3.
 * Thresholds are in 1/256, as in the family: 2 % is 5/256.
 *
 * Sources: draft-ietf-ccwg-bbr of 3 August 2026 (commit 4ce5e87), sections 4 and 5; Cardwell et al., "BBRv3:
 * Algorithm Bug Fixes and Public Internet Deployment", IETF 117, 2023.
 *
 * Facts:
 *	name	BBR (draft)
 *	family	BBRv2
 */
#include "cca.h"
#include "bbr2/core.h"
#include "bbr2/plateau.h"

/* The defaults in which variants of BBRv2 differ (bbr2/params.h has those of v2alpha). */
enum {
	BBR_DRAFT_HIGH_GAIN = 710, /* 4 ln 2 = 2.77 (5.3.1.1) */
	BBR_DRAFT_STARTUP_CWND_GAIN = 512,
	BBR_DRAFT_PACING_GAIN_DOWN = 230, /* 0.90 (5.3.3.1) */
	BBR_DRAFT_PROBE_CWND_GAIN = 64,
	BBR_DRAFT_FULL_LOSS_CNT = 6,
	BBR_DRAFT_ECN_REPROBE_GAIN = 0,
	BBR_DRAFT_MIN_TSO_RATE = 0,
	BBR_DRAFT_RENEW_EQUAL_RTT = 0,
	BBR_DRAFT_DRAIN_GAIN = 128,  /* 0.5 (5.3.2) */
	BBR_DRAFT_TSO_RTT_SHIFT = 0, /* 5.6.3 has no such term */
	BBR_DRAFT_FAST_PATH = 0,
};

/* clang-format off */
#define BBR_DRAFT_PARAMS(P)	BBR2_PARAMS(P, BBR_DRAFT)
#define BBR_DRAFT_OWN(P)							\
	P(drain_max_rounds, 3, 0, 255, "round trips", "DRAIN ends after more than this many (5.3.2); 0: never for that") \
	P(extra_acked_rounds, 10, 1, 255, "round trips", "window of the maximum of ACK aggregation (5.5.9)")
/* clang-format on */

CCA_PARAMS_OF_FAMILY(BBR_DRAFT_PARAMS, BBR_DRAFT_OWN);

/* Where an undo goes back to (5.5.11.2). */
enum bbr_draft_undo {
	BBR_DRAFT_STAY,
	BBR_DRAFT_TO_STARTUP,
	BBR_DRAFT_TO_UP,
};

/* clang-format off */
struct bbr_draft {
	struct bbr2	bbr;
	u32		drain_start;		/* round_count when DRAIN began */
	u32		recovery_start;		/* round_count before Recovery */
	u32		delivered_at_round;	/* `delivered` when this round began */
	u32		lost_at_round;		/* `lost` then */
	u32		cycles;			/* cycles of the bandwidth filter */
	u32		bw_cycle;		/* the cycle of bw_hi[1] */
	struct minmax	extra_acked;		/* by rounds */
	u8		lossy_acks;		/* of this round, at most 15 */
	u8		undo_to;		/* enum bbr_draft_undo */
	bool		has_saved;		/* bounds of before this episode of loss */
};
/* clang-format on */

CCA_STATE_LARGE(bbr_draft, struct bbr_draft);

static struct bbr2 *bbr2_of(struct sock *sk)
{
	struct bbr_draft *draft = bbr_draft_state(sk);

	return draft ? &draft->bbr : NULL;
}

static struct bbr_draft *bbr_draft_of(struct bbr2 *bbr)
{
	return (struct bbr_draft *)bbr;
}

static const struct bbr_draft *bbr_draft_view(const struct bbr2 *bbr)
{
	return (const struct bbr_draft *)bbr;
}

static void bbr_draft_init(const struct sock *sk, struct bbr2 *bbr)
{
	struct bbr_draft *draft = bbr_draft_of(bbr);

	(void)sk;
	draft->drain_start = 0;
	draft->recovery_start = 0;
	draft->delivered_at_round = 0;
	draft->lost_at_round = 0;
	draft->cycles = 0;
	draft->bw_cycle = 0;
	draft->lossy_acks = 0;
	draft->undo_to = BBR_DRAFT_STAY;
	draft->has_saved = false;
	minmax_reset(&draft->extra_acked, 0, 0);
	bbr->probe_rtt_min_us = BBR2_UNSET; /* 5.2.1: infinite, now */
}

/* ---- STARTUP ---- */

/* 5.3.1.2: at the start of a round, with the rate of the ACK that starts it. */
static void bbr_draft_check_full_bw(const struct sock *sk, struct bbr2 *bbr,
				    const struct rate_sample *rs, u32 bw)
{
	if (bbr->full_bw_now || !bbr->round_start || rs->is_app_limited)
		return;
	if (bbr2_has_grown(sk, bbr, bw))
		bbr2_restart_full_bw(bbr, bw);
	else
		bbr2_count_without_growth(sk, bbr);
}

/* Losses of the round that ends now, of what it delivered and lost. */
static bool bbr_draft_lost_too_much(const struct sock *sk, const struct bbr_draft *draft)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 lost = tp->lost - draft->lost_at_round;

	return bbr2_is_loss_too_high(sk, lost, lost + tp->delivered - draft->delivered_at_round);
}

/* 5.3.1.3: a whole round in Recovery, and in it too much loss, in enough places. */
static bool bbr_draft_check_startup_loss(const struct sock *sk, struct bbr2 *bbr,
					 const struct rate_sample *rs)
{
	struct bbr_draft *draft = bbr_draft_of(bbr);
	u32 enough = param(sk, full_loss_cnt);

	if (rs->losses > 0 && draft->lossy_acks < 15)
		draft->lossy_acks++;
	if (inet_csk_ca_state(sk) != TCP_CA_Recovery)
		draft->recovery_start = bbr->round_count;
	if (!bbr->round_start)
		return true;
	if (enough && bbr->round_count > draft->recovery_start && draft->lossy_acks >= enough &&
	    bbr_draft_lost_too_much(sk, draft)) {
		bbr2_end_startup(sk, bbr, BBR2_FULL_LOSS);
		bbr->full_bw_now =
			true; /* case 2 of the appendix; the prose has the next line only */
	}
	draft->lossy_acks = 0;
	draft->lost_at_round = tcp_sk(sk)->lost;
	draft->delivered_at_round = tcp_sk(sk)->delivered;
	return true;
}

/* ---- DRAIN ---- */

/* 5.3.2: until what is in flight fits the path, or a few rounds. */
static bool bbr_draft_check_drain(struct sock *sk, struct bbr2 *bbr)
{
	struct bbr_draft *draft = bbr_draft_of(bbr);
	u32 most = param(sk, drain_max_rounds);

	if (bbr->mode == BBR2_STARTUP && bbr->full_bw_reached) {
		bbr->mode = BBR2_DRAIN;
		draft->drain_start = bbr->round_count;
	}
	if (bbr->mode != BBR2_DRAIN)
		return true;
	if (tcp_packets_in_flight(tcp_sk(sk)) > bbr2_inflight(sk, bbr, bbr2_bw(bbr), BBR_UNIT) &&
	    (!most || bbr->round_count <= draft->drain_start + most))
		return true;
	bbr->mode = BBR2_PROBE_BW;
	bbr2_start_down(sk, bbr);
	return true;
}

/* ---- Filters ---- */

/* 5.5.3: the maximum of two cycles; what has no sample ages all the same, when the next one comes. */
static void bbr_draft_learn_bw(const struct sock *sk, struct bbr2 *bbr, u32 bw)
{
	struct bbr_draft *draft = bbr_draft_of(bbr);
	u32 passed = draft->cycles - draft->bw_cycle;

	(void)sk;
	if (passed) {
		bbr->bw_hi[0] = passed == 1 ? bbr->bw_hi[1] : 0;
		bbr->bw_hi[1] = bw;
		draft->bw_cycle = draft->cycles;
	} else {
		bbr->bw_hi[1] = max(bbr->bw_hi[1], bw);
	}
}

static bool bbr_draft_advance_bw(struct bbr2 *bbr)
{
	bbr_draft_of(bbr)->cycles++;
	return true;
}

/* 5.5.9: an epoch ends as soon as ACKs are no longer ahead. */
static bool bbr_draft_update_aggregation(const struct sock *sk, struct bbr2 *bbr,
					 const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct bbr_draft *draft = bbr_draft_of(bbr);
	u32 window = bbr->full_bw_reached ? param(sk, extra_acked_rounds) : 1;
	u32 epoch_us = tcp_stamp_us_delta(tp->delivered_mstamp, bbr->ack_epoch_mstamp);
	u64 expected = ((u64)bbr2_bw(bbr) * epoch_us) >> BW_SCALE;

	if (bbr->ack_epoch_acked <= expected) {
		bbr->ack_epoch_acked = 0;
		bbr->ack_epoch_mstamp = tp->delivered_mstamp;
		expected = 0;
	}
	bbr->ack_epoch_acked += rs->acked_sacked;
	minmax_running_max(&draft->extra_acked, window, bbr->round_count,
			   min(bbr->ack_epoch_acked - (u32)expected, tcp_snd_cwnd(tp)));
	return true;
}

static u32 bbr_draft_extra_acked(const struct bbr2 *bbr)
{
	return minmax_get(&bbr_draft_view(bbr)->extra_acked);
}

/* 5.3.4.3: the younger minimum enters the older one where it is smaller, or that one has expired. */
static bool bbr_draft_update_rtts(const struct sock *sk, struct bbr2 *bbr,
				  const struct rate_sample *rs, bool *expired)
{
	u32 window_ms = param(sk, probe_rtt_win_ms);

	*expired = after(tcp_jiffies32, bbr->probe_rtt_min_stamp + msecs_to_jiffies(sk, window_ms));
	if (rs->rtt_us >= 0 && ((u32)rs->rtt_us < bbr->probe_rtt_min_us || *expired)) {
		bbr->probe_rtt_min_us = (u32)rs->rtt_us;
		bbr->probe_rtt_min_stamp = tcp_jiffies32;
	}
	if (bbr->probe_rtt_min_us < bbr->min_rtt_us ||
	    after(tcp_jiffies32, bbr->min_rtt_stamp + param(sk, min_rtt_win_sec) * HZ)) {
		bbr->min_rtt_us = bbr->probe_rtt_min_us;
		bbr->min_rtt_stamp = bbr->probe_rtt_min_stamp;
	}
	return true;
}

/* ---- Recovery and undo (5.5.11) ---- */

/* The first loss of an episode: its cuts come after this. */
static void bbr_draft_note_loss(struct sock *sk, struct bbr2 *bbr)
{
	struct bbr_draft *draft = bbr_draft_of(bbr);

	if (inet_csk_ca_state(sk) >= TCP_CA_Recovery || draft->has_saved)
		return;
	bbr2_save_cwnd(sk, bbr);
	bbr2_save_bounds(bbr);
	draft->has_saved = true;
}

static bool bbr_draft_has_saved(const struct bbr2 *bbr)
{
	return bbr_draft_view(bbr)->has_saved;
}

static void bbr_draft_end_recovery(struct sock *sk, struct bbr2 *bbr)
{
	struct bbr_draft *draft = bbr_draft_of(bbr);

	(void)sk;
	draft->has_saved = false;
	draft->undo_to = BBR_DRAFT_STAY;
}

static void bbr_draft_note_bound(struct bbr2 *bbr)
{
	bbr_draft_of(bbr)->undo_to =
		bbr->mode == BBR2_STARTUP ? BBR_DRAFT_TO_STARTUP : BBR_DRAFT_TO_UP;
}

/* Nothing was lost: what ended for loss goes on. */
static void bbr_draft_undo(struct sock *sk, struct bbr2 *bbr)
{
	struct bbr_draft *draft = bbr_draft_of(bbr);

	if (draft->undo_to == BBR_DRAFT_TO_STARTUP && bbr->mode != BBR2_STARTUP) {
		bbr->full_bw_reached = false;
		if (bbr->mode != BBR2_PROBE_RTT)
			bbr->mode = BBR2_STARTUP;
	} else if (draft->undo_to == BBR_DRAFT_TO_UP && bbr->mode == BBR2_PROBE_BW &&
		   bbr->phase != BBR2_UP) {
		bbr2_start_refill(sk, bbr, 0);
	}
	draft->undo_to = BBR_DRAFT_STAY;
}

static bool bbr_draft_ignores_departures(const struct sock *sk)
{
	(void)sk;
	return true;
}

static const struct bbr2_rules bbr2_rules = {
	.latest_spans_ack = true,
	.keeps_probe_credit = true,
	.hi_as_delivered = true,
	.rto_uses_cwnd = true,
	.rounds_by_delivered = true,
	.plateau_first = true,
	.acks_only_permit = true,
	.rto_keeps_plateau = true,
	.cruise_keeps_lo = true,
	.grows_until_delivered = true,
	.counts_after_ack = true,
	.restores_after_recovery = true,
	.init = bbr_draft_init,
	.up_begins = bbr2_restart_full_bw,
	.loss_noted = bbr_draft_note_loss,
	.recovery_ended = bbr_draft_end_recovery,
	.undone = bbr_draft_undo,
	.bounded_by_loss = bbr_draft_note_bound,
	.learn_bw = bbr_draft_learn_bw,
	.advance_bw = bbr_draft_advance_bw,
	.update_aggregation = bbr_draft_update_aggregation,
	.extra_acked = bbr_draft_extra_acked,
	.check_full_bw = bbr_draft_check_full_bw,
	.check_startup_loss = bbr_draft_check_startup_loss,
	.check_drain = bbr_draft_check_drain,
	.step_up = bbr2_step_up_to_plateau,
	.has_saved = bbr_draft_has_saved,
	.update_rtts = bbr_draft_update_rtts,
	.ignores_departures = bbr_draft_ignores_departures,
};

/* clang-format off */
#define BBR_DRAFT_VARS(V)							\
	BBR2_VARS(V)								\
	V(drain_start_round, bbr_draft_view(bbr)->drain_start, "rounds", "round_count when DRAIN began") \
	V(undo_to, bbr_draft_view(bbr)->undo_to, "none|STARTUP|UP", "where an undo goes back to")
/* clang-format on */

CCA_STATES(BBR2_STATES);
CCA_VARS(struct bbr2, bbr, bbr2_of(sk), BBR_DRAFT_VARS);
CCA_MODULE(bbr_draft, "bbr-draft", TCP_CONG_NON_RESTRICTED, BBR2_HOOKS);
