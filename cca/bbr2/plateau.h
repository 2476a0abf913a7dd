/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * BBRv2 family: a plateau of the bandwidth ends UP as it ends STARTUP, in bbr3 and bbr-draft.
 */
#ifndef BBR2_PLATEAU_H
#define BBR2_PLATEAU_H

#include "probe_bw.h"

/* Look for growth beyond this bandwidth. */
static void bbr2_restart_full_bw(struct bbr2 *bbr, u32 bw)
{
	bbr->full_bw = bw;
	bbr->full_bw_cnt = 0;
	bbr->full_bw_now = false;
}

/* A round without growth ends: is it the last of a plateau? */
static void bbr2_count_without_growth(const struct sock *sk, struct bbr2 *bbr)
{
	bbr->full_bw_cnt++;
	bbr->full_bw_now = bbr->full_bw_cnt >= param(sk, full_bw_cnt);
	if (bbr->full_bw_now && !bbr->full_bw_reached) {
		bbr->full_bw_reached = true;
		bbr->startup_end = BBR2_FULL_PLATEAU;
	}
}

static bool bbr2_has_grown(const struct sock *sk, const struct bbr2 *bbr, u32 bw)
{
	return bw >= ((u64)bbr->full_bw * param(sk, full_bw_thresh)) >> BBR_SCALE;
}

/* No verdict on the bandwidth while inflight_hi keeps it from growing (5.3.3.4 of the draft). */
static void bbr2_step_up_to_plateau(struct sock *sk, struct bbr2 *bbr, u32 in_net, u32 bw)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	(void)in_net;
	if (tcp_cwnd_limited_flag(tp) && tcp_snd_cwnd(tp) >= bbr->inflight_hi)
		bbr2_restart_full_bw(bbr, bw);
	else if (bbr->full_bw_now)
		bbr2_finish_up(sk, bbr);
}

#endif /* BBR2_PLATEAU_H */
