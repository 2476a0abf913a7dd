/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * BBRv2 family: the hooks that every variant registers. bbr2_main takes an ACK through its steps: the model
 * learns from it (model.h), the mode moves on (startup.h, drain.h, probe_bw.h, probe_rtt.h), then rate and
 * window follow (path.h, cwnd.h). Where a variant differs, bbr2_rules in its own file says so.
 */
#ifndef BBR2_CORE_H
#define BBR2_CORE_H

#include "startup.h"
#include "ecn.h"
#include "drain.h"
#include "probe_bw.h"
#include "probe_rtt.h"
#include "cwnd.h"
#include "variables.h"

/* ---- An ACK ---- */

static void bbr2_update_model(struct sock *sk, struct bbr2 *bbr, const struct rate_sample *rs,
			      const struct bbr2_ack *ack)
{
	bbr2_update_congestion_signals(sk, bbr, rs, ack->bw);
	bbr2_update_ack_aggregation(sk, bbr, rs);
	if (bbr2_rules.plateau_first)
		bbr2_check_full_bw(sk, bbr, rs, ack->bw);
	bbr2_check_loss_in_startup(sk, bbr, rs, ack);
	if (!bbr2_rules.plateau_first)
		bbr2_check_full_bw(sk, bbr, rs, ack->bw);
	bbr2_check_drain(sk, bbr);
	bbr2_update_cycle(sk, bbr, rs, ack);
	bbr2_update_min_rtt(sk, bbr, rs);
}

enum bbr2_path {
	BBR2_FULL,    /* update model and control */
	BBR2_CONTROL, /* the model is done, control must follow */
	BBR2_NOTHING, /* neither has anything to learn */
};

/*
 * An app-limited ACK without loss, ECN or a new maximum says little about the path: only time and
 * the RTT can change what we do.
 */
static enum bbr2_path bbr2_fast_path(struct sock *sk, struct bbr2 *bbr,
				     const struct rate_sample *rs, const struct bbr2_ack *ack)
{
	u32 mode = bbr->mode, min_rtt_us = bbr->min_rtt_us;

	if (!param(sk, fast_path) || !bbr->try_fast_path || !rs->is_app_limited ||
	    ack->bw >= bbr2_max_bw(bbr) || bbr->loss_in_round || bbr->ecn_in_round)
		return BBR2_FULL;
	bbr2_check_drain(sk, bbr);
	bbr2_update_cycle(sk, bbr, rs, ack);
	bbr2_update_min_rtt(sk, bbr, rs);
	if (bbr->mode == mode && bbr->min_rtt_us == min_rtt_us && bbr->try_fast_path)
		return BBR2_NOTHING;
	return BBR2_CONTROL;
}

static void bbr2_update_gains(const struct sock *sk, struct bbr2 *bbr)
{
	switch (bbr->mode) {
	case BBR2_STARTUP:
		bbr->pacing_gain = param(sk, high_gain);
		bbr->cwnd_gain = param(sk, startup_cwnd_gain);
		break;
	case BBR2_DRAIN:
		bbr->pacing_gain = param(sk, drain_gain);
		bbr->cwnd_gain = param(sk, startup_cwnd_gain);
		break;
	case BBR2_PROBE_BW:
		bbr->pacing_gain = bbr2_phase_gain(sk, bbr);
		bbr->cwnd_gain = param(sk, cwnd_gain);
		if (bbr->phase == BBR2_UP)
			bbr->cwnd_gain += param(sk, bw_probe_cwnd_gain);
		break;
	case BBR2_PROBE_RTT:
		bbr->pacing_gain = BBR_UNIT;
		bbr->cwnd_gain = BBR_UNIT;
		break;
	}
}

static void bbr2_control(struct sock *sk, struct bbr2 *bbr, const struct rate_sample *rs)
{
	u32 bw;

	bbr2_update_gains(sk, bbr);
	bw = bbr2_bw(bbr);
	bbr2_set_pacing_rate(sk, bbr, bw, bbr->pacing_gain);
	bbr2_set_cwnd(sk, bbr, rs->acked_sacked, bw);
}

/* Saves what the next ACK needs to know about this one. */
static void bbr2_end_ack(const struct sock *sk, struct bbr2 *bbr, const struct rate_sample *rs,
			 const struct bbr2_ack *ack)
{
	if (bbr->round_start) {
		bbr->round_lost = 0;
		bbr->round_loss_events = 0;
	}
	bbr->is_app_limited = rs->is_app_limited;
	bbr->prev_ca_state = inet_csk_ca_state(sk);
	bbr->loss_in_cycle |= ack->lost > 0;
	bbr->ecn_in_cycle |= rs->delivered_ce > 0;
}

CCA_OP(void, bbr2_main, struct sock *sk, u32 ack_seq, int flag, const struct rate_sample *rs)
{
	struct bbr2 *bbr = bbr2_of(sk);
	struct bbr2_ack ack = { .is_ece = flag & FLAG_ECE };
	enum bbr2_path path;

	if (!bbr)
		return;
	bbr2_update_round(sk, bbr, rs);
	if (bbr->round_start)
		bbr2_update_ecn_alpha(sk, bbr);
	bbr->ecn_in_round |= ack.is_ece && (bbr->ecn_eligible || !bbr2_rules.alpha_needs_ecn);
	ack.bw = bbr2_sample_bw(rs);
	ack.lost = cca_flight_lost(&bbr->flight, tcp_sk(sk), rs);
	ack.tx_in_flight = cca_flight_at_send(tcp_sk(sk), rs, ack.lost);
	bbr->down_ended = false;
	if (bbr2_rules.judges_by_round)
		bbr2_count_losses(bbr, rs);
	if (bbr2_rules.ack_begins)
		bbr2_rules.ack_begins(bbr, rs);
	if (!CCA_TELLS_LOSSES && rs->losses > 0)
		bbr2_note_loss(sk, bbr);
	if (bbr2_rules.latest_spans_ack)
		bbr2_note_latest(sk, bbr, rs, ack.bw);

	path = bbr2_fast_path(sk, bbr, rs, &ack);
	if (path == BBR2_FULL)
		bbr2_update_model(sk, bbr, rs, &ack);
	if (path != BBR2_NOTHING) {
		if (bbr2_rules.model_updated)
			bbr2_rules.model_updated(sk, bbr, rs);
		bbr2_control(sk, bbr, rs);
	}
	if (bbr2_rules.latest_spans_ack && bbr->loss_round_start && !cca_acks_loss_probe(rs))
		bbr2_restart_latest(bbr, rs, ack.bw);
	bbr2_end_ack(sk, bbr, rs, &ack);
}

/* ---- Start, idle times ---- */

CCA_OP(void, bbr2_init, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct bbr2 *bbr = bbr2_of(sk);

	if (!bbr)
		return;
	*bbr = (struct bbr2){ 0 };
	bbr->init_cwnd = (u8)min(tcp_snd_cwnd(tp), 127U);
	bbr->prior_cwnd = tp->prior_cwnd;
	bbr->next_rtt_delivered = tp->delivered;
	bbr->loss_round_delivered = tp->delivered + 1;
	bbr->probe_rtt_min_us = tcp_min_rtt(tp);
	bbr->probe_rtt_min_stamp = tcp_jiffies32;
	bbr->min_rtt_us = tcp_min_rtt(tp);
	bbr->min_rtt_stamp = tcp_jiffies32;
	bbr->ack_epoch_mstamp = tp->tcp_mstamp;
	bbr->ecn_alpha = param(sk, ecn_alpha_init);
	bbr->inflight_hi = BBR2_UNSET;
	bbr->probe_up_cnt = BBR2_UNSET;
	bbr2_reset_lower_bounds(bbr);
	if (bbr2_rules.init)
		bbr2_rules.init(sk, bbr);
	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	bbr2_init_pacing_rate_from_rtt(sk, bbr);
	cca_request_pacing(sk);
}

/* Sending again when the application, not the network, had paused us. */
static void bbr2_restart_from_idle(struct sock *sk, struct bbr2 *bbr)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tp->app_limited)
		return;
	bbr->idle_restart = true;
	bbr->ack_epoch_mstamp = tp->tcp_mstamp;
	bbr->ack_epoch_acked = 0;
	if (bbr->mode == BBR2_PROBE_BW)
		bbr2_set_pacing_rate(sk, bbr, bbr2_bw(bbr), BBR_UNIT);
	else if (bbr->mode == BBR2_PROBE_RTT)
		bbr2_check_probe_rtt_done(sk, bbr);
}

/* ---- Losses and timeouts ---- */

/* A tail loss probe repaired the loss of a single segment, which no ACK shows. */
static void bbr2_tlp_recovered(struct sock *sk, struct bbr2 *bbr)
{
	u32 tx_in_flight = bbr->inflight_latest + 1;

	bbr2_note_loss(sk, bbr);
	if (bbr->probe_samples && bbr2_is_loss_too_high(sk, 1, tx_in_flight))
		bbr2_handle_inflight_too_high(sk, bbr, tx_in_flight,
					      cca_probed_app_limited(tcp_sk(sk)));
}

CCA_OP(void, bbr2_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct bbr2 *bbr = bbr2_of(sk);

	if (!bbr)
		return;
	if (event == CA_EVENT_TX_START)
		bbr2_restart_from_idle(sk, bbr);
	else if (bbr2_rules.tlp_is_loss && event == CCA_EVENT_TLP_RECOVERY)
		bbr2_tlp_recovered(sk, bbr);
}

/* A timeout restarts the search for a full pipe; its end restores the window, within the bounds. */
CCA_OP(void, bbr2_set_state, struct sock *sk, u8 new_state)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct bbr2 *bbr = bbr2_of(sk);

	if (!bbr)
		return;
	if (new_state == TCP_CA_Loss) {
		bbr->prev_ca_state = TCP_CA_Loss;
		if (!bbr2_rules.rto_keeps_plateau)
			bbr->full_bw = 0;
		if (bbr2_rules.rto_restarts_count) {
			bbr->full_bw_cnt = 0;
			bbr->full_bw_now = false;
		}
		if (bbr2_is_probing(bbr) || bbr->inflight_lo != BBR2_UNSET)
			return;
		bbr->inflight_lo = bbr->prior_cwnd;
		if (bbr2_rules.rto_uses_cwnd)
			bbr->inflight_lo = max(bbr->inflight_lo, tcp_snd_cwnd(tp));
	} else if (bbr->prev_ca_state == TCP_CA_Loss) {
		tcp_snd_cwnd_set(tp, max(tcp_snd_cwnd(tp), bbr->prior_cwnd));
		bbr->try_fast_path = false;
	} else if (bbr2_rules.restores_after_recovery && new_state == TCP_CA_Open &&
		   bbr->prev_ca_state == TCP_CA_Recovery) {
		tcp_snd_cwnd_set(tp, max(tcp_snd_cwnd(tp), bbr->prior_cwnd));
	}
	if (new_state == TCP_CA_Open && bbr2_rules.recovery_ended)
		bbr2_rules.recovery_ended(sk, bbr);
}

/* Recovery begins: remember window and bounds; there is no threshold to lower. */
CCA_OP(u32, bbr2_ssthresh, struct sock *sk)
{
	struct bbr2 *bbr = bbr2_of(sk);

	if (bbr) {
		bbr2_save_cwnd(sk, bbr);
		if (!bbr2_rule(has_saved, bbr))
			bbr2_save_bounds(bbr);
	}
	return tcp_sk(sk)->snd_ssthresh;
}

/* The loss was spurious: restore the bounds; the pipe may not have been full. */
CCA_OP(u32, bbr2_undo_cwnd, struct sock *sk)
{
	struct bbr2 *bbr = bbr2_of(sk);

	if (!bbr)
		return tcp_reno_undo(sk);
	bbr->full_bw = 0;
	bbr->full_bw_cnt = 0;
	bbr->full_bw_now = false;
	bbr->loss_in_round = false;
	if (!param(sk, undo))
		return tcp_snd_cwnd(tcp_sk(sk));
	if (bbr2_rules.latest_spans_ack)
		bbr->try_fast_path = false;
	bbr->bw_lo = max(bbr->bw_lo, bbr->undo_bw_lo);
	bbr->inflight_lo = max(bbr->inflight_lo, bbr->undo_inflight_lo);
	bbr->inflight_hi = max(bbr->inflight_hi, bbr->undo_inflight_hi);
	if (bbr2_rules.undone)
		bbr2_rules.undone(sk, bbr);
	return bbr->prior_cwnd;
}

/* A burst was marked lost. If it was part of a probe: did it cross the threshold, and where? */
CCA_LOST_OP(bbr2_skb_marked_lost)
{
	struct bbr2 *bbr = bbr2_of(sk);
	u32 lost_since, crossing;

	if (!bbr)
		return;
	bbr2_note_loss(sk, bbr);
	if (!bbr->probe_samples || bbr2_rule(judges_by_round, sk))
		return;
	lost_since = tcp_sk(sk)->lost - lost->lost_at_send;
	if (!bbr2_is_loss_too_high(sk, lost_since, lost->tx_in_flight))
		return;
	crossing = bbr2_inflight_at_crossing(sk, lost->tx_in_flight, lost_since, lost->segs);
	bbr2_handle_inflight_too_high(sk, bbr, crossing, lost->is_app_limited);
}

/* Three windows of send buffer: the window may double while recovery lasts. */
CCA_SNDBUF_OP(bbr2_sndbuf_expand)
{
	return 3;
}

CCA_MIN_TSO_OP(bbr2_min_tso_segs)
{
	return bbr2_min_tso(sk);
}

CCA_TSO_SEGS_OP(bbr2_tso_segs_now)
{
	return bbr2_tso_segs(sk, bbr2_of(sk), mss, sk->sk_gso_max_size);
}

/* ---- What the flow reports ---- */

/* For CCA_STATES; a variant with more phases adds their names. */
#define BBR2_STATES                                                                         \
	"STARTUP", "DRAIN", "PROBE_RTT", "PROBE_BW_UP", "PROBE_BW_DOWN", "PROBE_BW_CRUISE", \
		"PROBE_BW_REFILL"

/* Index of mode and phase in these names. */
static inline u32 bbr2_state_index(const struct bbr2 *bbr)
{
	switch (bbr->mode) {
	case BBR2_STARTUP:
		return 0;
	case BBR2_DRAIN:
		return 1;
	case BBR2_PROBE_RTT:
		return 2;
	default:
		return 3U + bbr->phase;
	}
}

CCA_INFO_OP(bbr2_info)
{
	const struct bbr2 *bbr = bbr2_of(sk);

	if (!bbr)
		return;
	info->flags = CCA_INFO_STATE | CCA_INFO_BW | CCA_INFO_PACING_GAIN | CCA_INFO_CWND_GAIN;
	info->state = bbr2_state_index(bbr);
	info->bw_bytes_per_s = bbr2_rate_bytes_per_sec(sk, bbr2_bw(bbr), BBR_UNIT, 0);
	info->pacing_gain = bbr->pacing_gain;
	info->cwnd_gain = bbr->cwnd_gain;
	info->min_rtt_us = bbr->min_rtt_us;
	info->inflight_lo = bbr->inflight_lo;
	info->inflight_hi = bbr->inflight_hi;
	if (bbr->min_rtt_us != BBR2_UNSET)
		info->flags |= CCA_INFO_MIN_RTT;
	if (bbr->inflight_lo != BBR2_UNSET)
		info->flags |= CCA_INFO_INFLIGHT_LO;
	if (bbr->inflight_hi != BBR2_UNSET)
		info->flags |= CCA_INFO_INFLIGHT_HI;
}

/* clang-format off */
#define BBR2_HOOKS				\
	.init = bbr2_init,			\
	.cong_control = bbr2_main,		\
	.cwnd_event = bbr2_cwnd_event,		\
	.set_state = bbr2_set_state,		\
	.ssthresh = bbr2_ssthresh,		\
	.undo_cwnd = bbr2_undo_cwnd,		\
	CCA_SNDBUF(bbr2_sndbuf_expand)		\
	CCA_MIN_TSO(bbr2_min_tso_segs)		\
	CCA_TSO_SEGS(bbr2_tso_segs_now)		\
	CCA_LOST(bbr2_skb_marked_lost)		\
	CCA_INFO(bbr2_info)
/* clang-format on */

#endif /* BBR2_CORE_H */
