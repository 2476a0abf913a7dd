/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* What a controller reports of itself, for records and pictures. */
#ifndef CCA_INFO_H
#define CCA_INFO_H

#include "types.h"

/* Which fields of struct cca_info a controller has filled in. */
enum cca_info_flags {
	CCA_INFO_BW = 1 << 0,
	CCA_INFO_MIN_RTT = 1 << 1,
	CCA_INFO_PACING_GAIN = 1 << 2,
	CCA_INFO_CWND_GAIN = 1 << 3,
	CCA_INFO_INFLIGHT_LO = 1 << 4,
	CCA_INFO_INFLIGHT_HI = 1 << 5,
	CCA_INFO_STATE = 1 << 6,
};

/* A controller's view of the path, for records and pictures. */
struct cca_info {
	u64 bw_bytes_per_s; /* estimated bottleneck bandwidth, payload bytes/s */
	u32 flags;	    /* enum cca_info_flags */
	u32 state;	    /* index into the names of CCA_STATES */
	u32 min_rtt_us;	    /* estimated propagation RTT, us */
	u32 pacing_gain;    /* in 1/256 */
	u32 cwnd_gain;	    /* in 1/256 */
	u32 inflight_lo;    /* short-term bound on inflight, segments */
	u32 inflight_hi;    /* long-term bound on inflight, segments */
};

/* The value of a variable that is not set (cca_set_or_not: of one where ~0 says so). */
#define CCA_UNSET ((s64)(1ULL << 63))

static inline s64 cca_set_or_not(u32 value)
{
	return value == ~0U ? CCA_UNSET : (s64)value;
}

/* The most variables a controller may declare: readers keep them on the stack. */
#define CCA_VARS_MAX 32

struct sock;

/* A variable of a controller that records may keep; a unit of "a|b|c" means words, which values number from 0. */
struct cca_var_info {
	const char *name;
	const char *unit;
	const char *doc;
};

/* The variables that a controller declares (CCA_VARS). */
struct cca_vars {
	const struct cca_var_info *list;
	u32 n;
	bool (*read)(struct sock *sk, s64 *values); /* false: the socket has no state */
};

#endif /* CCA_INFO_H */
