/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * BBRv2 family: from estimates to a pacing rate and to numbers of segments.
 */
#ifndef BBR2_PATH_H
#define BBR2_PATH_H

#include "state.h"

/* RTT taken for the first pacing rate when there is no sample, us. */
static const u32 bbr2_default_rtt_us = USEC_PER_MSEC;

/*
 * Bandwidth times gain in bytes/s, minus a margin in percent. In this order 64 bits hold up to
 * 2.9 Tbit/s with a gain of 2.89. Never 0: a rate of 0 would not be paced at all.
 */
static u64 bbr2_rate_bytes_per_sec(const struct sock *sk, u64 bw, u32 gain, u32 margin_percent)
{
	u64 rate = (bw * tcp_sk(sk)->mss_cache * gain) >> BBR_SCALE;

	rate *= USEC_PER_SEC / 100 * (100 - margin_percent);
	return max_t(u64, rate >> BW_SCALE, 1);
}

static u64 bbr2_bw_to_pacing_rate(const struct sock *sk, u32 bw, u32 gain)
{
	u64 rate = bbr2_rate_bytes_per_sec(sk, bw, gain, param(sk, pacing_margin_percent));

	return min_t(u64, rate, sk->sk_max_pacing_rate);
}

/* First rate: high_gain windows per RTT. */
static void bbr2_init_pacing_rate_from_rtt(struct sock *sk, struct bbr2 *bbr)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 rtt_us = bbr2_default_rtt_us;
	u32 bw;

	if (tp->srtt_us) {
		rtt_us = max(tp->srtt_us >> 3, 1U);
		bbr->has_seen_rtt = true;
	}
	bw = bbr_window_bw(tp, rtt_us);
	sk->sk_pacing_rate = bbr2_bw_to_pacing_rate(sk, bw, param(sk, high_gain));
}

/* Until the pipe is full the rate only grows: early samples are too low. */
static void bbr2_set_pacing_rate(struct sock *sk, struct bbr2 *bbr, u32 bw, u32 gain)
{
	u64 rate = bbr2_bw_to_pacing_rate(sk, bw, gain);

	if (unlikely(!bbr->has_seen_rtt && tcp_sk(sk)->srtt_us))
		bbr2_init_pacing_rate_from_rtt(sk, bbr);
	if (bbr->full_bw_reached || rate > sk->sk_pacing_rate)
		sk->sk_pacing_rate = rate;
}

static u32 bbr2_min_tso(const struct sock *sk)
{
	return sk->sk_pacing_rate < (param(sk, min_tso_rate) >> 3) ? 1 : 2;
}

/*
 * Segments in a burst that may have gso_max bytes: what leaves in 2^-shift s, and 64 KB, halved for
 * every 2^tso_rtt_shift us of RTT, since on short paths the hosts' cost matters more than queues.
 */
static u32 bbr2_tso_segs(const struct sock *sk, const struct bbr2 *bbr, u32 mss, u32 gso_max)
{
	u64 bytes = sk->sk_pacing_rate >> sk->sk_pacing_shift;
	u32 shift = param(sk, tso_rtt_shift);

	if (shift && bbr->min_rtt_us >> shift < 32)
		bytes += GSO_LEGACY_MAX_SIZE >> (bbr->min_rtt_us >> shift);
	bytes = min_t(u64, bytes, gso_max - 1 - MAX_TCP_HEADER);
	return max((u32)bytes / mss, bbr2_min_tso(sk));
}

/* Segments in a burst at the current pacing rate, without the device's limit. */
static u32 bbr2_tso_segs_goal(const struct sock *sk, const struct bbr2 *bbr)
{
	return bbr2_tso_segs(sk, bbr, tcp_sk(sk)->mss_cache, GSO_LEGACY_MAX_SIZE);
}

static u32 bbr2_bdp_rtt(const struct sock *sk, const struct bbr2 *bbr)
{
	return bbr2_rules.bdp_rtt ? bbr2_rules.bdp_rtt(sk, bbr) : bbr->min_rtt_us;
}

/*
 * Bandwidth-delay product times gain, in segments, or without any RTT sample the initial
 * window.
 */
static u32 bbr2_bdp(const struct sock *sk, const struct bbr2 *bbr, u32 bw, u32 gain)
{
	if (unlikely(bbr->min_rtt_us == BBR2_UNSET))
		return bbr->init_cwnd;
	return bbr_bdp_segs(bw, bbr2_bdp_rtt(sk, bbr), gain);
}

/*
 * Room for what the end hosts hold: a burst each in the queue discipline, the sender's GSO
 * and the receiver's GRO. And two more in UP, which must exceed even a small BDP.
 */
static u32 bbr2_quantization_budget(const struct sock *sk, const struct bbr2 *bbr, u32 cwnd)
{
	u32 bursts;

	if (bbr2_rule(has_no_burst_budget, sk))
		return max(cwnd, param(sk, cwnd_min_target));
	bursts = 3 * bbr2_tso_segs_goal(sk, bbr);
	if (param(sk, cwnd_tso_budget))
		cwnd = max(max(cwnd, bursts), param(sk, cwnd_min_target));
	else
		cwnd = (cwnd + bursts + 1) & ~1U;
	if (bbr->mode == BBR2_PROBE_BW && bbr->phase == BBR2_UP)
		cwnd += 2;
	return cwnd;
}

/* Segments in flight that fill the path `gain` times. */
static u32 bbr2_inflight(const struct sock *sk, const struct bbr2 *bbr, u32 bw, u32 gain)
{
	return bbr2_quantization_budget(sk, bbr, bbr2_bdp(sk, bbr, bw, gain));
}

/* What we want in flight: the BDP, unless congestion has cut the window. */
static u32 bbr2_target_inflight(const struct sock *sk, const struct bbr2 *bbr)
{
	u32 bdp = bbr2_inflight(sk, bbr, bbr2_bw(bbr), BBR_UNIT);

	return min(bdp, tcp_snd_cwnd(tcp_sk(sk)));
}

/*
 * Segments in the network when the next packet departs (its earliest departure time, EDT):
 * those in flight, minus what is delivered until then. When inflight is to grow, the burst
 * that departs then counts too; when it is to shrink, it does not.
 */
static u32 bbr2_packets_in_net_at_edt(const struct sock *sk, const struct bbr2 *bbr, u32 in_flight)
{
	u32 delivered;

	if (bbr2_rule(ignores_departures, sk))
		return in_flight;
	delivered = bbr_delivered_by_edt(tcp_sk(sk), bbr2_bw(bbr));
	if (bbr->pacing_gain > BBR_UNIT)
		in_flight += bbr2_tso_segs_goal(sk, bbr);
	return in_flight > delivered ? in_flight - delivered : 0;
}

/* Has more than this time passed since the phase began? */
static bool bbr2_phase_is_older_than(const struct sock *sk, const struct bbr2 *bbr, u32 us)
{
	return tcp_sk(sk)->tcp_mstamp > bbr->cycle_mstamp + us;
}

#endif /* BBR2_PATH_H */
