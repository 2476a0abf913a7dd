/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * BBRv1 family: STARTUP, which ends when the pipe is full. DRAIN follows (drain.h).
 */
#ifndef BBR1_STARTUP_H
#define BBR1_STARTUP_H

#include "model.h"

/*
 * The pipe is full after full_bw_rounds rounds in which the bandwidth did not grow by
 * full_bw_thresh.
 */
static void bbr_check_full_bw_reached(const struct sock *sk, struct bbr *bbr,
				      const struct rate_sample *rs)
{
	u32 thresh;

	if (bbr->full_bw_reached || !bbr->round_start || rs->is_app_limited)
		return;
	thresh = (u32)(((u64)bbr->full_bw * param(sk, full_bw_thresh)) >> BBR_SCALE);
	if (bbr_max_bw(bbr) >= thresh) {
		bbr->full_bw = bbr_max_bw(bbr);
		bbr->full_bw_cnt = 0;
		return;
	}
	bbr->full_bw_cnt++;
	bbr->full_bw_reached = bbr->full_bw_cnt >= param(sk, full_bw_rounds);
}

#endif /* BBR1_STARTUP_H */
