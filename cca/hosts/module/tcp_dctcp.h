/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * For modules that include "tcp_dctcp.h" but do not bring it: echoing marks precisely
 * is the receiver's business here, and the module's socket is the sender's.
 */
#ifndef DUMBBELL_MODULE_TCP_DCTCP_H
#define DUMBBELL_MODULE_TCP_DCTCP_H

#include "kernel_module.h"

static inline void dctcp_ece_ack_cwr(struct sock *sk, u32 ce_state)
{
	(void)sk, (void)ce_state;
}

static inline void dctcp_ece_ack_update(struct sock *sk, enum tcp_ca_event event,
					u32 *prior_rcv_nxt, u32 *ce_state)
{
	*prior_rcv_nxt = tcp_sk(sk)->rcv_nxt;
	*ce_state = event == CA_EVENT_ECN_IS_CE;
}

#endif /* DUMBBELL_MODULE_TCP_DCTCP_H */
