/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Units of every BBR, and the arithmetic on them that no version changes.
 */
#ifndef CCA_BBR_UNITS_H
#define CCA_BBR_UNITS_H

#include "cca.h"

/* Bandwidth is in segments/us scaled by 2^24: a unit is about 715 bit/s with 1500-byte
 * segments, and a u32 holds 256 segments/us, about 3 Tbit/s.
 */
#define BW_SCALE 24
#define BW_UNIT	 (1U << BW_SCALE)
/* Gains and fractions are in 1/256. */
#define BBR_SCALE 8
#define BBR_UNIT  (1U << BBR_SCALE)

/* Bandwidth of a window a round trip. */
static inline u32 bbr_window_bw(const struct tcp_sock *tp, u32 rtt_us)
{
	return (u32)div64_u64((u64)tcp_snd_cwnd(tp) << BW_SCALE, rtt_us);
}

/* For records: payload bit/s; ~0 is no bandwidth. */
static inline s64 bbr_bits_per_sec(const struct tcp_sock *tp, u32 bw)
{
	if (bw == ~0U)
		return CCA_UNSET;
	return (s64)(((u64)bw * tp->mss_cache * USEC_PER_SEC) >> BW_SCALE) * 8;
}

/*
 * Bandwidth-delay product times gain, in segments, rounded up lest a small window lower the
 * bandwidth, which lowers the window.
 */
static inline u32 bbr_bdp_segs(u32 bw, u32 rtt_us, u32 gain)
{
	u64 bdp = (u64)bw * rtt_us;

	return (u32)((((bdp * gain) >> BBR_SCALE) + BW_UNIT - 1) >> BW_SCALE);
}

/* Segments delivered until the next packet departs (its earliest departure time, EDT). */
static inline u32 bbr_delivered_by_edt(const struct tcp_sock *tp, u32 bw)
{
	u64 now_ns = tp->tcp_clock_cache;
	u64 edt_ns = max(tp->tcp_wstamp_ns, now_ns);
	u64 wait_us = div64_u64(edt_ns - now_ns, NSEC_PER_USEC);

	return (u32)((bw * wait_us) >> BW_SCALE);
}

#endif /* CCA_BBR_UNITS_H */
