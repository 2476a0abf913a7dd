// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * BBRPlus: BBRv1 of Linux 4.14 with a cycle of random length that drains to target, and ACK aggregation.
 *
 * Model: that of bbr (bbr.c), with another PROBE_BW cycle. A cycle is L min_rtt long, L drawn from 2 to 8:
 *
 *	        pacing gain   ends
 *	UP      1.25          after min_rtt, and with inflight >= 1.25 BDP, or loss, or nothing more to send
 *	DOWN    0.75          with inflight <= BDP
 *	CRUISE  1             with the cycle
 *
 *	STARTUP ---> DRAIN ---> PROBE_BW <---> PROBE_RTT
 *
 *	PROBE_BW:    .----------------- cycle is over -----------------.
 *	             v                                                 |
 *	            UP ---> DOWN ---> CRUISE --------------------------'
 *
 * The first cycle ends at once: a flow comes from DRAIN and probes. Aggregation is that of BBR in later kernels, with
 * twice the memory (10 to 20 round trips). bbr_rules below has the other rules in which 4.14 differs.
 *
 * zhang_algorithm: the cycle as Zhang prints it (Algorithm 1): current inflight against the plain BDP, UP does not end
 * for lack of data, and a loss after min_rtt sends the flow from every state but CRUISE back to DOWN, even in the
 * call in which DOWN had just ended.
 *
 * Sources: the module tcp_bbrplus.c for Linux 4.14 (dog250, cx9208); Zhang, "An Evaluation of BBR and its variants",
 * arXiv:1909.03673, 2019, section 3.2. The module paces by IP packets and without a margin, which suited 4.14's
 * pacing: pacing_margin_percent = 0 and pacing_header_bytes = 52; the default is what later kernels do.
 *
 * Facts:
 *	name	BBRPlus
 *	family	BBRv1
 */
#include "cca.h"
#include "bbr1/core.h"

/* The defaults in which variants of BBRv1 differ (bbr1/params.h has those of Linux 6.12). */
enum {
	BBRPLUS_DRAIN_GAIN = BBR1_DRAIN_GAIN,
	BBRPLUS_UP_GAIN = BBR1_UP_GAIN,
	BBRPLUS_DOWN_GAIN = BBR1_DOWN_GAIN,
	BBRPLUS_BW_WINDOW = BBR1_BW_WINDOW,
	BBRPLUS_MIN_RTT_WINDOW = BBR1_MIN_RTT_WINDOW,
	BBRPLUS_PROBE_RTT_MS = BBR1_PROBE_RTT_MS,
	BBRPLUS_EXTRA_ACKED_GAIN = BBR1_EXTRA_ACKED_GAIN,
	BBRPLUS_COUNT_DEPARTURES = 0,
	BBRPLUS_RENEW_EQUAL_RTT = 1,
	BBRPLUS_EXTRA_ACKED_ROUNDS = 10,
};

/* clang-format off */
#define BBRPLUS_FAMILY_PARAMS(P) BBR1_PARAMS(P, BBRPLUS)
#define BBRPLUS_PARAMS(P)							\
	P(zhang_algorithm, 0, 0, 2, "version",					\
	  "1: the cycle as in Zhang's Algorithm 1; 2: and as in his code, where an app-limited sample acts as a loss")

#define BBRPLUS_CHROMIUM(V)							\
	BBR1_CHROMIUM(V)							\
	V(zhang_algorithm, 2)

#define BBRPLUS_PRESETS(PRESET)							\
	PRESET(chromium, "BBRPlus of Zhang's framework, on Chromium's BBRv1 (BBRPlus of Zhang)", BBRPLUS_CHROMIUM)
/* clang-format on */

CCA_PARAMS_OF_FAMILY(BBRPLUS_FAMILY_PARAMS, BBRPLUS_PARAMS);
CCA_PRESETS(BBRPLUS_PRESETS);

/* Phases of the cycle; the others that PROBE_BW may start in are CRUISE too. */
enum bbrplus_phase { BBRPLUS_UP, BBRPLUS_DOWN, BBRPLUS_CRUISE };

/* Lengths of a cycle are CYCLE_LEN less 0 to 6. */
static const u32 bbrplus_cycle_lengths = 7;

/* Behind a policer the cycle goes on at a gain of 1; the phase that PROBE_BW begins with has its own. */
static void bbrplus_set_phase(struct bbr *bbr, enum bbrplus_phase phase)
{
	bbr_set_phase(bbr, phase);
	if (bbr->lt_use_bw) {
		bbr->pacing_gain = BBR_UNIT;
		bbr->gains_due = 0;
	}
}

/* Nothing to send, or the receiver's window does not take a segment more. */
static bool bbrplus_is_out_of_data(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return tp->snd_nxt == tp->write_seq ||
	       after(tp->snd_nxt + tp->mss_cache, tp->snd_una + tp->snd_wnd);
}

static void bbrplus_update_phase(struct sock *sk, struct bbr *bbr, const struct rate_sample *rs)
{
	u32 bw = bbr_max_bw(bbr);

	if (bbr->pacing_gain < BBR_UNIT) {
		if (rs->prior_in_flight <= bbr_inflight(sk, bbr, bw, BBR_UNIT))
			bbrplus_set_phase(bbr, BBRPLUS_CRUISE);
		return;
	}
	if (bbr_phase_has_lasted(sk, bbr) &&
	    (rs->prior_in_flight >= bbr_inflight(sk, bbr, bw, bbr->pacing_gain) || rs->losses ||
	     rs->is_app_limited || bbrplus_is_out_of_data(sk)))
		bbrplus_set_phase(bbr, BBRPLUS_DOWN);
}

/* Zhang's Algorithm 1, lines 8 to 16; the windows have a floor, lest a small BDP never be reached. */
static void bbrplus_update_phase_zhang(struct sock *sk, struct bbr *bbr,
				       const struct rate_sample *rs)
{
	u32 in_flight = tcp_packets_in_flight(tcp_sk(sk));
	u32 bdp = max(bbr_bdp(sk, bbr, bbr_max_bw(bbr), BBR_UNIT), param(sk, cwnd_min));
	u32 high = max(bbr_bdp(sk, bbr, bbr_max_bw(bbr), param(sk, probe_up_gain)),
		       param(sk, cwnd_min));

	if (bbr->pacing_gain < BBR_UNIT && in_flight <= bdp)
		bbrplus_set_phase(bbr, BBRPLUS_CRUISE);
	if (bbr_phase_has_lasted(sk, bbr) &&
	    (in_flight > high || rs->losses ||
	     (param(sk, zhang_algorithm) == 2 && rs->is_app_limited)))
		bbrplus_set_phase(bbr, BBRPLUS_DOWN);
}

/* The clock of the phase is that of the cycle: only a new cycle starts it. */
static void bbrplus_step_cycle(struct sock *sk, struct bbr *bbr, const struct rate_sample *rs)
{
	u64 now_us = tcp_sk(sk)->delivered_mstamp;
	u32 age_us = tcp_stamp_us_delta(now_us, bbr->cycle_mstamp);

	if (age_us > bbr->cycle_len * bbr->min_rtt_us) {
		bbr->cycle_mstamp = now_us;
		bbr->cycle_len = CYCLE_LEN - cca_random_below(sk, bbrplus_cycle_lengths);
		bbrplus_set_phase(bbr, BBRPLUS_UP);
	} else if (bbr->pacing_gain != BBR_UNIT) {
		if (param(sk, zhang_algorithm))
			bbrplus_update_phase_zhang(sk, bbr, rs);
		else
			bbrplus_update_phase(sk, bbr, rs);
	}
}

static const struct bbr_rules bbr_rules = {
	.keeps_gains = true,
	.cycles_behind_policer = true,
	.waits_for_delivery = true,
	.trusts_delayed_acks = true,
	.ends_idle_on_any_ack = true,
	.step_cycle = bbrplus_step_cycle,
};

CCA_MODULE(bbrplus, "bbrplus", TCP_CONG_NON_RESTRICTED, BBR1_HOOKS);
