/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * BBRv2 core: the policy of a variant that adds nothing to PROBE_BW. Four phases, a wait in time,
 * a bandwidth filter that advances with each probe, BDP from the least RTT.
 */
#ifndef BBR2_PLAIN_H
#define BBR2_PLAIN_H

static void bbr2_policy_init(const struct sock *sk, struct bbr2 *bbr)
{
	(void)sk;
	(void)bbr;
}

static void bbr2_policy_ack_begins(struct bbr2 *bbr, const struct rate_sample *rs)
{
	(void)bbr;
	(void)rs;
}

static void bbr2_policy_model_updated(const struct sock *sk, struct bbr2 *bbr,
				      const struct rate_sample *rs)
{
	(void)sk;
	(void)bbr;
	(void)rs;
}

static void bbr2_policy_pick_wait(struct sock *sk, struct bbr2 *bbr)
{
	bbr2_pick_wait_rounds(sk, bbr);
	bbr2_pick_wait_us(sk, bbr);
}

static bool bbr2_policy_wait_is_over(const struct sock *sk, const struct bbr2 *bbr)
{
	return bbr2_phase_is_older_than(sk, bbr, bbr->probe_wait_us);
}

static bool bbr2_policy_phase(struct sock *sk, struct bbr2 *bbr, u32 in_net, u32 max_bw, u32 bw)
{
	(void)sk;
	(void)bbr;
	(void)in_net;
	(void)max_bw;
	(void)bw;
	return false;
}

static u32 bbr2_policy_phase_gain(const struct sock *sk, const struct bbr2 *bbr)
{
	(void)sk;
	(void)bbr;
	return BBR_UNIT;
}

static bool bbr2_policy_is_probing_phase(const struct bbr2 *bbr)
{
	return bbr->phase == BBR2_REFILL || bbr->phase == BBR2_UP;
}

static bool bbr2_policy_advances_with_probe(const struct bbr2 *bbr)
{
	(void)bbr;
	return true;
}

static void bbr2_policy_bw_seen(struct bbr2 *bbr, u32 bw)
{
	(void)bbr;
	(void)bw;
}

static void bbr2_policy_drained(struct sock *sk, struct bbr2 *bbr)
{
	(void)sk;
	(void)bbr;
}

static void bbr2_policy_cruise_begins(struct sock *sk, struct bbr2 *bbr)
{
	(void)sk;
	(void)bbr;
}

static u32 bbr2_policy_bdp_rtt(const struct sock *sk, const struct bbr2 *bbr)
{
	(void)sk;
	return bbr->min_rtt_us;
}

static u32 bbr2_policy_cwnd_extra(struct sock *sk, struct bbr2 *bbr)
{
	(void)sk;
	(void)bbr;
	return 0;
}

#endif /* BBR2_PLAIN_H */
