// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * BBR2 (BBR version 2, v2alpha): the model of BBR, within bounds that loss and ECN set.
 *
 * Model, updated by each ACK:
 *
 *	bw_hi       = max over the last two probing cycles of (delivered / elapsed)
 *	bw          = min(bw_hi, bw_lo)
 *	min_rtt     = min over 10 s of rtt, looked at every 5 s
 *	inflight_hi = the most in flight that a probe found safe; less 15 % when cruising
 *	bw_lo, inflight_lo = max(delivered in the last round, 0.7 * itself) after each lossy round
 *	              that is not of our making; forgotten when the next probe begins
 *	pacing_rate = 0.99 * pacing_gain * bw
 *	cwnd        = min(cwnd_gain * bw * min_rtt + aggregation, inflight_hi, inflight_lo), at least 4
 *
 *	            pacing  window
 *	STARTUP     2.89    2.89   until bw grew < 25 % in each of 3 rounds, or a round in
 *	                           recovery had 8 lossy ACKs and more than 2 % loss
 *	DRAIN       0.34    2.89   until inflight <= BDP
 *	UP          1.25    2      until inflight >= 1.25 BDP, loss > 2 %, or a bound that
 *	                           had been too much is reached again; inflight_hi grows by
 *	                           1, 2, 4, ... segments a round while it is the limit
 *	DOWN        0.75    2      until inflight <= BDP and <= 0.85 inflight_hi
 *	CRUISE      1       2      until 2 to 3 s, or as many rounds as the BDP has segments
 *	                           (63 at most), have passed since DOWN began
 *	REFILL      1       2      a round
 *	PROBE_RTT   1       1, cwnd <= 0.5 BDP    200 ms and a round
 *
 *	      |
 *	      v                  PROBE_BW
 *	   STARTUP --> DRAIN --> DOWN --> CRUISE --> REFILL --> UP
 *	      ^                   ^                             |
 *	      |                   '-----------------------------'
 *	      '------ PROBE_RTT: from any state when min_rtt is 5 s old; back to CRUISE,
 *	              or to STARTUP if the pipe was not full
 *
 * ECN (off by default: only marks from shallow thresholds mean what this takes them for) sets the
 * same bounds: inflight_lo *= 1 - alpha/3 each marked round, alpha being the mean CE ratio as in
 * DCTCP; 50 % marks are too much for a probe, or, in two rounds, for STARTUP.
 *
 * Sources: Cardwell et al., "BBR v2: A Model-based Congestion Control", IETF 104 and 106, 2019;
 * google/bbr, branch v2alpha, net/ipv4/tcp_bbr2.c, whose arithmetic and order of steps are
 * followed integer by integer. alpha and beta of Yang et al. are loss_thresh and beta.
 *
 * Facts:
 *	name	BBRv2
 *	family	BBRv2
 */
#include "cca.h"
#include "bbr2/core.h"
#include "bbr2/chromium.h"

CCA_STATE_LARGE(bbr2, struct bbr2);

static struct bbr2 *bbr2_of(struct sock *sk)
{
	return bbr2_state(sk);
}

/* v2alpha, and Chromium's rules where the parameters ask for them. */
static const struct bbr2_rules bbr2_rules = {
	.has_no_burst_budget = bbr2_has_no_burst_budget,
	.ignores_departures = bbr2_ignores_departures,
	.judges_by_round = bbr2_judges_by_round,
	.bears_losses = bbr2_bears_losses,
	.up_begins = bbr2_begin_up,
	.step_up = bbr2_step_up_either_way,
	.has_left_down = bbr2_has_left_down,
	.down_left = bbr2_end_with_down,
	.learns_nothing = bbr2_is_out_of_cycle,
	.cuts_to_sample = bbr2_has_no_hi_floor,
	.forgets_failure = bbr2_down_forgets,
	.grow_hi = bbr2_grow_when_full,
	.hi_step = bbr2_step_of_hi,
	.puts_off_probe_rtt = bbr2_puts_off_probe_rtt,
	.begin_probe_rtt = bbr2_begin_probe_rtt,
	.end_probe_rtt = bbr2_end_probe_rtt,
	.needs_no_probe_rtt_round = bbr2_needs_no_probe_rtt_round,
};

CCA_STATES(BBR2_STATES);
CCA_VARS(struct bbr2, bbr, bbr2_of(sk), BBR2_VARS);
CCA_MODULE(bbr2, "bbr2", TCP_CONG_NON_RESTRICTED, BBR2_HOOKS);
