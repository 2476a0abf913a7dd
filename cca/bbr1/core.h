/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * BBRv1 family: the hooks that every variant registers. bbr_main takes an ACK through its steps: the model
 * learns from it (model.h), the mode moves on (startup.h, drain.h, probe_bw.h, probe_rtt.h), then rate and
 * window follow (path.h, cwnd.h). Where a variant differs, bbr_rules in its own file says so.
 */
#ifndef BBR1_CORE_H
#define BBR1_CORE_H

#include "model.h"
#include "startup.h"
#include "drain.h"
#include "probe_bw.h"
#include "probe_rtt.h"
#include "cwnd.h"
#include "recovery.h"

/* Those of mode and phase; before Linux 4.20 a policer's gain of 1 stayed until one of these began. */
static void bbr_update_gains(const struct sock *sk, struct bbr *bbr)
{
	if (bbr_rule(sk, keeps_gains) && !bbr->gains_due)
		return;
	bbr->gains_due = 0;
	switch (bbr->mode) {
	case BBR_STARTUP:
		bbr->pacing_gain = param(sk, startup_gain);
		bbr->cwnd_gain = param(sk, startup_gain);
		break;
	case BBR_DRAIN:
		bbr->pacing_gain = param(sk, drain_gain);
		bbr->cwnd_gain = param(sk, startup_gain);
		break;
	case BBR_PROBE_BW:
		bbr->pacing_gain = bbr_cycle_gain(sk, bbr);
		bbr->cwnd_gain = param(sk, cwnd_gain);
		break;
	case BBR_PROBE_RTT:
		bbr->pacing_gain = BBR_UNIT;
		bbr->cwnd_gain = BBR_UNIT;
		break;
	}
}

static void bbr_update_model(struct sock *sk, struct bbr *bbr, const struct rate_sample *rs)
{
	bbr_update_bw(sk, bbr, rs);
	bbr_update_ack_aggregation(sk, bbr, rs);
	bbr_update_cycle_phase(sk, bbr, rs);
	bbr_check_full_bw_reached(sk, bbr, rs);
	bbr_check_drain(sk, bbr);
	bbr_update_min_rtt(sk, bbr, rs);
	bbr_update_gains(sk, bbr);
}

CCA_OP(void, bbr_main, struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	struct bbr *bbr = bbr_state(sk);
	u32 bw;

	bbr_update_model(sk, bbr, rs);
	bw = bbr_bw(bbr);
	bbr_set_pacing_rate(sk, bbr, bw, bbr->pacing_gain);
	if (param(sk, recovery_window))
		bbr_set_cwnd_chromium(sk, bbr, rs, bw);
	else
		bbr_set_cwnd(sk, bbr, rs, bw);
}

CCA_OP(void, bbr_init, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct bbr *bbr = bbr_state(sk);

	*bbr = (struct bbr){ 0 };
	bbr->next_rtt_delivered = tp->delivered;
	bbr->min_rtt_us = tcp_min_rtt(tp);
	bbr->min_rtt_stamp = tcp_jiffies32;
	bbr->ack_epoch_mstamp = tp->tcp_mstamp;
	bbr->prev_ca_state = TCP_CA_Open;
	if (param(sk, recovery_window))
		bbr->prior_cwnd = tcp_snd_cwnd(tp);
	bbr_enter(bbr, BBR_STARTUP);
	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	bbr_lt_reset(sk, bbr);
	bbr_init_pacing_rate_from_rtt(sk, bbr);
	cca_request_pacing(sk);
}

/* Sending again when the application, not the network, had paused us. */
CCA_OP(void, bbr_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct bbr *bbr = bbr_state(sk);

	if (event != CA_EVENT_TX_START || !tp->app_limited)
		return;
	bbr->idle_restart = 1;
	bbr->ack_epoch_mstamp = tp->tcp_mstamp;
	bbr->ack_epoch_acked = 0;
	if (bbr->mode == BBR_PROBE_BW)
		bbr_set_pacing_rate(sk, bbr, bbr_bw(bbr), BBR_UNIT);
	else if (bbr_rule(sk, ends_probe_rtt_idle) && bbr->mode == BBR_PROBE_RTT)
		bbr_check_probe_rtt_done(sk, bbr);
}

/* A timeout ends a round, and a policer may be its cause. */
CCA_OP(void, bbr_set_state, struct sock *sk, u8 new_state)
{
	struct bbr *bbr = bbr_state(sk);

	if (new_state != TCP_CA_Loss)
		return;
	bbr->prev_ca_state = TCP_CA_Loss;
	bbr->full_bw = 0;
	bbr->round_start = 1;
	bbr_lt_bw_sampling(sk, bbr, true, false);
}

/* Recovery begins: remember the window; there is no threshold to lower. */
CCA_OP(u32, bbr_ssthresh, struct sock *sk)
{
	bbr_save_cwnd(sk, bbr_state(sk));
	return tcp_sk(sk)->snd_ssthresh;
}

/* The loss was spurious, so a full pipe or a policer that was found may be spurious as well. */
CCA_OP(u32, bbr_undo_cwnd, struct sock *sk)
{
	struct bbr *bbr = bbr_state(sk);

	if (bbr_rule(sk, undo_forgets_pipe) && !param(sk, recovery_window)) {
		bbr->full_bw = 0;
		bbr->full_bw_cnt = 0;
		bbr_lt_reset(sk, bbr);
	}
	return tcp_snd_cwnd(tcp_sk(sk));
}

/* Three windows of send buffer: the window may double while recovery lasts. */
CCA_SNDBUF_OP(bbr_sndbuf_expand)
{
	return 3;
}

CCA_MIN_TSO_OP(bbr_min_tso_segs)
{
	return bbr_min_tso(sk);
}

CCA_STATES("STARTUP", "DRAIN", "PROBE_BW", "PROBE_RTT");

CCA_INFO_OP(bbr_info)
{
	const struct bbr *bbr = bbr_state(sk);
	u64 segment_bw = (u64)bbr_bw(bbr) * tcp_sk(sk)->mss_cache;

	info->flags = CCA_INFO_STATE | CCA_INFO_BW | CCA_INFO_PACING_GAIN | CCA_INFO_CWND_GAIN;
	info->state = bbr->mode;
	info->bw_bytes_per_s = (segment_bw * USEC_PER_SEC) >> BW_SCALE;
	info->pacing_gain = bbr->pacing_gain;
	info->cwnd_gain = bbr->cwnd_gain;
	if (bbr->min_rtt_us != ~0U) {
		info->flags |= CCA_INFO_MIN_RTT;
		info->min_rtt_us = bbr->min_rtt_us;
	}
}

/* clang-format off */
#define BBR1_VARS(V)								\
	V(max_bw, bbr_bits_per_sec(tcp_sk(sk), bbr_max_bw(bbr)), "bit/s", "largest bandwidth of bw_window rounds") \
	V(full_bw, bbr_bits_per_sec(tcp_sk(sk), bbr->full_bw), "bit/s", "bandwidth to beat, lest the pipe be full") \
	V(full_bw_count, bbr->full_bw_cnt, "rounds", "rounds without growth of the bandwidth") \
	V(full_bw_reached, bbr->full_bw_reached, "bool", "the pipe is full: STARTUP is over") \
	V(round_count, bbr->rtt_cnt, "rounds", "round trips so far")		\
	V(min_rtt_us, cca_set_or_not(bbr->min_rtt_us), "us", "minimum RTT of the model") \
	V(min_rtt_stamp, bbr->min_rtt_stamp, "jiffies", "when that was seen")	\
	V(cycle_phase, bbr->cycle_idx, "-", "phase of the cycle of PROBE_BW")	\
	V(extra_acked, max(bbr->extra_acked[0], bbr->extra_acked[1]), "segments", "aggregation of ACKs") \
	V(idle_restart, bbr->idle_restart, "bool", "sending again after a pause of the application") \
	V(packet_conservation, bbr->packet_conservation, "bool", "first round of recovery") \
	V(prior_cwnd, bbr->prior_cwnd, "segments", "window before recovery or PROBE_RTT") \
	V(lt_bw, bbr->lt_use_bw ? bbr_bits_per_sec(tcp_sk(sk), bbr->lt_bw) : CCA_UNSET, "bit/s", \
	  "bandwidth of the policer that was found")

CCA_VARS(struct bbr, bbr, bbr_state(sk), BBR1_VARS);

#define BBR1_HOOKS				\
	.init = bbr_init,			\
	.cong_control = bbr_main,		\
	.cwnd_event = bbr_cwnd_event,		\
	.set_state = bbr_set_state,		\
	.ssthresh = bbr_ssthresh,		\
	.undo_cwnd = bbr_undo_cwnd,		\
	CCA_SNDBUF(bbr_sndbuf_expand)		\
	CCA_MIN_TSO(bbr_min_tso_segs)		\
	CCA_INFO(bbr_info)
/* clang-format on */

#endif /* BBR1_CORE_H */
