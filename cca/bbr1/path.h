/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * BBRv1 family: from estimates to a pacing rate and to numbers of segments.
 */
#ifndef BBR1_PATH_H
#define BBR1_PATH_H

#include "state.h"

/*
 * Bursts of a single segment below this pacing rate, bytes/s: 1.2 Mbit/s, where a segment of 1500 bytes takes
 * 10 ms.
 */
static const u32 bbr_min_tso_rate = 1200000 / 8;
/* Largest burst that is budgeted for, segments (7 bits, as in Linux). */
static const u32 bbr_tso_goal_max = 0x7f;
/* RTT assumed for the first pacing rate when there is no sample, us. */
static const u32 bbr_default_rtt_us = USEC_PER_MSEC;

/*
 * Bandwidth times gain in bytes/s, minus the pacing margin. In this order 64 bits hold up to
 * 2.9 Tbit/s with a gain of 2.89.
 */
static u64 bbr_rate_bytes_per_sec(const struct sock *sk, u64 bw, u32 gain)
{
	u32 segment_bytes = tcp_sk(sk)->mss_cache + param(sk, pacing_header_bytes);
	u64 rate = (bw * segment_bytes * gain) >> BBR_SCALE;

	rate *= USEC_PER_SEC / 100 * (100 - param(sk, pacing_margin_percent));
	return rate >> BW_SCALE;
}

static u64 bbr_bw_to_pacing_rate(const struct sock *sk, u32 bw, u32 gain)
{
	return min_t(u64, bbr_rate_bytes_per_sec(sk, bw, gain), sk->sk_max_pacing_rate);
}

/* First rate: startup_gain windows per RTT. */
static void bbr_init_pacing_rate_from_rtt(struct sock *sk, struct bbr *bbr)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 rtt_us = bbr_default_rtt_us;
	u32 bw;

	if (tp->srtt_us) {
		rtt_us = max(tp->srtt_us >> 3, 1U);
		bbr->has_seen_rtt = 1;
	}
	bw = bbr_window_bw(tp, rtt_us);
	sk->sk_pacing_rate = bbr_bw_to_pacing_rate(sk, bw, param(sk, startup_gain));
}

/* Until the pipe is full the rate only grows: early samples are too low. */
static void bbr_set_pacing_rate(struct sock *sk, struct bbr *bbr, u32 bw, u32 gain)
{
	u64 rate = bbr_bw_to_pacing_rate(sk, bw, gain);
	bool may_fall;

	if (unlikely(!bbr->has_seen_rtt && tcp_sk(sk)->srtt_us))
		bbr_init_pacing_rate_from_rtt(sk, bbr);
	may_fall =
		bbr_rule(sk, slows_after_startup) ? bbr->mode != BBR_STARTUP : bbr->full_bw_reached;
	if (may_fall || rate > sk->sk_pacing_rate)
		sk->sk_pacing_rate = rate;
}

static u32 bbr_min_tso(const struct sock *sk)
{
	return sk->sk_pacing_rate < bbr_min_tso_rate ? 1 : 2;
}

/* Segments in a burst at the current pacing rate, without the device's limit. */
static u32 bbr_tso_segs_goal(const struct sock *sk)
{
	u64 bytes = min_t(u64, sk->sk_pacing_rate >> sk->sk_pacing_shift,
			  GSO_LEGACY_MAX_SIZE - 1 - MAX_TCP_HEADER);
	u32 segs = (u32)bytes / tcp_sk(sk)->mss_cache;

	return min(max(segs, bbr_min_tso(sk)), bbr_tso_goal_max);
}

static u32 bbr_bdp_rtt(const struct sock *sk, const struct bbr *bbr)
{
	return bbr_rules.bdp_rtt ? bbr_rules.bdp_rtt(sk, bbr) : bbr->min_rtt_us;
}

/*
 * Bandwidth-delay product times gain, in segments, or without any RTT sample the initial
 * window.
 */
static u32 bbr_bdp(const struct sock *sk, const struct bbr *bbr, u32 bw, u32 gain)
{
	if (unlikely(bbr->min_rtt_us == ~0U))
		return TCP_INIT_CWND;
	return bbr_bdp_segs(bw, bbr_bdp_rtt(sk, bbr), gain);
}

/*
 * Room for what the end hosts hold: a burst each in the queue discipline, the sender's GSO
 * and the receiver's GRO. Then an even number, for ACKs of every other segment, and two more
 * while probing, which must exceed the BDP even when that is small.
 */
static u32 bbr_quantization_budget(const struct sock *sk, const struct bbr *bbr, u32 cwnd)
{
	if (!param(sk, burst_budget))
		return max(cwnd, param(sk, cwnd_min));
	cwnd += 3 * bbr_tso_segs_goal(sk);
	if (bbr_rule(sk, is_window_even))
		cwnd = (cwnd + 1) & ~1U;
	if (bbr_rule(sk, has_probe_room) && bbr->mode == BBR_PROBE_BW && bbr->cycle_idx == 0)
		cwnd += 2;
	return cwnd;
}

/* Segments in flight that fill the path `gain` times. */
static u32 bbr_inflight(const struct sock *sk, const struct bbr *bbr, u32 bw, u32 gain)
{
	return bbr_quantization_budget(sk, bbr, bbr_bdp(sk, bbr, bw, gain));
}

/*
 * Segments in the network when the next packet departs (its earliest departure time, EDT):
 * those in flight, minus what is delivered until then. When inflight is to grow, the burst
 * that departs then counts too; when it is to shrink, it does not. (Before Linux 4.20, and in
 * Chromium: those in flight.)
 */
static u32 bbr_packets_in_net_at_edt(const struct sock *sk, const struct bbr *bbr, u32 in_flight)
{
	u32 delivered;

	if (!param(sk, count_departures))
		return in_flight;
	delivered = bbr_delivered_by_edt(tcp_sk(sk), bbr_bw(bbr));
	if (bbr->pacing_gain > BBR_UNIT)
		in_flight += bbr_tso_segs_goal(sk);
	return in_flight > delivered ? in_flight - delivered : 0;
}

#endif /* BBR1_PATH_H */
