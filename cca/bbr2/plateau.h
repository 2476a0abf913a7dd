/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * BBRv2 core: full pipe and end of UP as in v2alpha, shared by bbr2 and bbr2plus.
 */
#ifndef BBR2_PLATEAU_H
#define BBR2_PLATEAU_H

/*
 * The pipe is full after full_bw_cnt rounds in which the bandwidth did not grow by
 * full_bw_thresh. Three, since the receive window may need two to open.
 */
static void bbr2_policy_check_full_bw(const struct sock *sk, struct bbr2 *bbr,
				      const struct rate_sample *rs, u32 bw)
{
	u64 thresh;

	(void)bw;
	if (bbr->full_bw_reached || !bbr->round_start || rs->is_app_limited)
		return;
	thresh = ((u64)bbr->full_bw * param(sk, full_bw_thresh)) >> BBR_SCALE;
	if (bbr2_max_bw(bbr) >= thresh) {
		bbr->full_bw = bbr2_max_bw(bbr);
		bbr->full_bw_cnt = 0;
		return;
	}
	bbr->full_bw_cnt++;
	bbr->full_bw_reached = bbr->full_bw_cnt >= param(sk, full_bw_cnt);
}

/* UP has filled the pipe to 1.25 BDP, for which it had at least a min_rtt. */
static bool bbr2_has_queued_in_up(const struct sock *sk, const struct bbr2 *bbr, u32 in_net)
{
	return bbr2_phase_is_older_than(sk, bbr, bbr->min_rtt_us) &&
	       in_net >= bbr2_inflight(sk, bbr, bbr2_max_bw(bbr), param(sk, bw_probe_pif_gain));
}

#endif /* BBR2_PLATEAU_H */
