/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * BBRv2 core: what v2alpha does where bbr3 differs (state.h says what each is).
 */
#ifndef BBR2_V2ALPHA_H
#define BBR2_V2ALPHA_H

enum {
	BBR2_LATEST_SPANS_ACK = 0,
	BBR2_KEEPS_PROBE_CREDIT = 0,
	BBR2_ALPHA_NEEDS_ECN = 0,
	BBR2_CE_AT_THRESH = 1,
	BBR2_HI_AS_DELIVERED = 0,
	BBR2_RTO_USES_CWND = 0,
	BBR2_RTO_RESTARTS_COUNT = 0,
	BBR2_TLP_IS_LOSS = 0,
};

#endif /* BBR2_V2ALPHA_H */
