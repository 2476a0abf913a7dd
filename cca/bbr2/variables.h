/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * BBRv2 family: the variables that records keep when they change.
 */
#ifndef BBR2_VARIABLES_H
#define BBR2_VARIABLES_H

#include "model.h"

/* clang-format off */
/* For CCA_VARS; a variant with more state adds rows. */
#define BBR2_VARS(V)								\
	V(max_bw, bbr_bits_per_sec(tcp_sk(sk), bbr2_max_bw(bbr)), "bit/s",		\
	  "largest bandwidth of the last two probing cycles")			\
	V(bw_lo, bbr_bits_per_sec(tcp_sk(sk), bbr->bw_lo), "bit/s", "short-term bound on the bandwidth") \
	V(inflight_lo, cca_set_or_not(bbr->inflight_lo), "segments", "short-term bound on inflight") \
	V(inflight_hi, cca_set_or_not(bbr->inflight_hi), "segments", "long-term bound on inflight") \
	V(full_bw, bbr_bits_per_sec(tcp_sk(sk), bbr->full_bw), "bit/s", "bandwidth to beat, lest the pipe be full") \
	V(full_bw_count, bbr->full_bw_cnt, "rounds", "rounds without growth of the bandwidth") \
	V(full_bw_now, bbr->full_bw_now, "bool", "the bandwidth does not grow at present (bbr3, bbr-draft)") \
	V(full_bw_reached, bbr->full_bw_reached, "bool", "the pipe is full: STARTUP is over") \
	V(startup_end, bbr->startup_end, "none|plateau|loss|ecn", "why STARTUP ended") \
	V(round_count, bbr->round_count, "rounds", "round trips so far")	\
	V(min_rtt_us, cca_set_or_not(bbr->min_rtt_us), "us", "minimum RTT of the model") \
	V(probe_rtt_min_us, cca_set_or_not(bbr->probe_rtt_min_us), "us", "minimum RTT since PROBE_RTT was last due") \
	V(probe_rtt_min_stamp, bbr->probe_rtt_min_stamp, "jiffies", "when that was seen") \
	V(extra_acked, bbr2_extra_acked(bbr), "segments", "aggregation of ACKs") \
	V(idle_restart, bbr->idle_restart, "bool", "sending again after a pause of the application") \
	V(app_limited, bbr->is_app_limited, "bool", "the sample of the last ACK was limited by the application") \
	V(prev_probe_too_high, bbr->prev_probe_too_high, "bool", "the last probe met too much loss or ECN") \
	V(probe_up_rounds, bbr->probe_up_rounds, "rounds", "rounds of growth in this UP: the slope of inflight_hi doubles with each") \
	V(pacing_gain, bbr->pacing_gain, "1/256", "pacing gain")	\
	V(ecn_alpha, bbr->ecn_alpha, "1/256", "mean share of CE marks")	\
	V(prior_cwnd, bbr->prior_cwnd, "segments", "window before recovery or PROBE_RTT") \
	V(undo_bw_lo, bbr_bits_per_sec(tcp_sk(sk), bbr->undo_bw_lo), "bit/s", "bw_lo when recovery began") \
	V(undo_inflight_lo, cca_set_or_not(bbr->undo_inflight_lo), "segments", "inflight_lo then") \
	V(undo_inflight_hi, cca_set_or_not(bbr->undo_inflight_hi), "segments", "inflight_hi then")
/* clang-format on */

#endif /* BBR2_VARIABLES_H */
