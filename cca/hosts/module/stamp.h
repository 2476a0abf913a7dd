/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Stamps as they were before Linux 4.13: a struct with the time in us and in jiffies. Both come from
 * one value here, the socket's stamp in us. Little-endian machines only, as all that this runs on.
 */
#ifndef DUMBBELL_MODULE_STAMP_H
#define DUMBBELL_MODULE_STAMP_H

#ifdef CCA_MODULE_OLD_STAMPS
#include "../../include/types.h"

struct skb_mstamp {
	union {
		u64 v64;
		u32 stamp_us;
	};
};
#define CCA_STAMP     struct skb_mstamp
#define stamp_jiffies v64 / (USEC_PER_SEC / HZ)

static inline u32 skb_mstamp_us_delta(const struct skb_mstamp *later,
				      const struct skb_mstamp *earlier)
{
	return later->v64 > earlier->v64 ? (u32)(later->v64 - earlier->v64) : 0;
}
#endif

#endif /* DUMBBELL_MODULE_STAMP_H */
