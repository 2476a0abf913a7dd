// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Orca's monitor without a network: whoever steps the simulator answers each reading with a percentage. It may answer
 * when the event that asked is over, because the window is set at a later ACK. Mirrored in crates/cca/src/agent.rs.
 */
#include "cca.h"

#define ORCA_AGENT
#define POLICY_PERIOD_US    31000
#define POLICY_AGE_US	    10000
#define POLICY_GROW_PERCENT 110

#include "../../cubic/core.h"
#include "../../orca/network.h"
#include "../../orca/controller.h"

struct cca_reading {
	u64 at_us;
	u64 dt_us;
	u64 thr;     /* bytes/s */
	u64 thr_max; /* bytes/s */
	u64 pacing;  /* bytes/s */
	u64 lost;    /* bytes */
	u32 acks;
	u32 cwnd; /* segments */
	u32 srtt_us;
	u32 min_rtt_us;
	s32 state[ORCA_INPUTS];
};

extern bool cca_agent_asks(const struct sock *sk);
extern void cca_agent_read(const struct sock *sk, struct cca_reading *reading);
extern void cca_agent_answer(struct sock *sk, u32 percent);

/* A socket whose controller has not begun has no state yet. */
bool cca_agent_asks(const struct sock *sk)
{
	const struct orca *orca = orca_state(sk);

	return orca && orca->is_asking;
}

void cca_agent_read(const struct sock *sk, struct cca_reading *reading)
{
	const struct orca *orca = orca_state(sk);
	u32 i;

	reading->at_us = orca->read_us;
	reading->dt_us = orca->dt_us;
	reading->thr = orca->thr;
	reading->thr_max = orca->thr_max;
	reading->pacing = sk->sk_pacing_rate;
	reading->lost = orca->lost_bytes;
	reading->acks = orca->acks;
	reading->cwnd = orca->read_cwnd;
	reading->srtt_us = tcp_sk(sk)->srtt_us >> 3;
	reading->min_rtt_us = orca->min_rtt_us;
	for (i = 0; i < ORCA_INPUTS; i++)
		reading->state[i] = orca->state[i];
}

void cca_agent_answer(struct sock *sk, u32 percent)
{
	struct orca *orca = orca_state(sk);

	orca->is_asking = false;
	orca_decide(orca, percent);
}

/* A policy whose tables are data, and what it answers to a state. */
struct cca_policy {
	const struct net_layer *layers;
	const s64 *thresholds;
	u32 n_layers;
	u32 n_thresholds;
	u32 first; /* percentage below the first threshold */
};

extern u32 cca_policy_answer(const struct cca_policy *policy, const s32 *state);

u32 cca_policy_answer(const struct cca_policy *policy, const s32 *state)
{
	s32 hidden[2][ORCA_WIDTH];
	const s32 *in = state;
	u32 i;

	for (i = 0; i + 1 < policy->n_layers; i++) {
		net_forward(&policy->layers[i], in, hidden[i & 1]);
		in = hidden[i & 1];
	}
	return policy->first + net_reached(net_sum(&policy->layers[i], 0, in), policy->thresholds,
					   policy->n_thresholds);
}

ORCA_MODULE(agent, "agent");
