// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Prague: DCTCP for the Internet: it keeps queues of L4S below a millisecond, and shares them whatever its RTT.
 *
 * Model, W the window with fractions of a segment, R the smoothed RTT, T the target RTT (25 ms), F the share of
 * segments delivered in a round whose marks were echoed:
 *
 *	alpha = (1 - g) alpha + g F		once a round, and not more often than once in T; starts at 0, g = 1/16
 *	mark		W = W (1 - alpha / 2)	once a round, and not more often than once in T
 *	first mark	W = W / 2		and slow start is over
 *	loss, timeout	W = W / 2		for any alpha; no growth until Open
 *	growth		W += a / W		for each segment delivered without a mark, in CWR as well;
 *						a = (R / T)^2 below T, so that all flows below T grow alike per second
 *	pacing		W mtu / R		twice that below half of ssthresh
 *	bursts		2^-12 s (0.24 ms) at the pacing rate
 *
 * The target counts from the fourth round after slow start on. A window of at most four packets is too coarse, so
 * there the rate is what grows and shrinks, by the rules above for a round of max(R, T), and W follows from it. The
 * pacing rate is then 3 % above it in the first half of a round and 3 % below it in the second: a queue that marks at
 * a step thus marks a little in each round, instead of all of one round and nothing of the next ones.
 *
 *	             mark                   W <= 4 packets
 *	SLOW_START ---------> AVOIDANCE <------------------> RATE
 *	     |  ^               |    ^                        |
 *	loss |  | timeout       |    | Open                   |
 *	     v  |          loss v    |                        |
 *	     '----------------- LOSS <------------------------'
 *
 * It needs accurate ECN, and it sends ECT(1), also on ACKs and retransmissions. Where the peer has classic ECN only, a
 * mark means what a loss means, packets carry ECT(0), and T is not used: this is a paced Reno (state CLASSIC).
 *
 * Sources: draft-briscoe-iccrg-prague-congestion-control; RFC 9331 (what L4S asks of a sender); De Schepper et al.,
 * "Prague congestion control", and the implementation of the L4S team (L4STeam/linux, net/ipv4/tcp_prague.c, version
 * 0.7), whose arithmetic is followed. Left out of it: smaller packets below 1 Mbit/s, so that two packets a target RTT
 * (0.96 Mbit/s at 25 ms) are the lowest rate that the window itself asks for; pacing goes on below, to 100 kbit/s.
 *
 * Facts:
 *	name	Prague
 *	draws	nothing
 *	sends	ECT(1)
 */
#include "cca.h"

/* clang-format off */
#define PRAGUE_PARAMS(P)							\
	P(rtt_target, 25000, 1, 100000, "us", "flows with less than this RTT grow as if they had it") \
	P(rtt_transition, 4, 0, 1000000, "rounds", "after slow start, until the target counts") \
	P(alpha_on_init, 0, 0, 1, "bool", "alpha of a new connection; 0: halve at the first mark instead") \
	P(rate_mode, 2, 0, 2, "mode", "what grows and shrinks: 0 window, 1 rate, 2 rate in small windows") \
	P(rate_below, 4, 0, 1000000, "packets", "windows up to this are small") \
	P(burst_shift, 12, 0, 20, "bits", "a burst lasts 2^-burst_shift s at most") \
	P(max_tso_segs, 0, 0, 65535, "segments", "largest burst; 0: no such limit")
/* clang-format on */

CCA_PARAMS(PRAGUE_PARAMS);

#define PRAGUE_ALPHA_BITS  24 /* alpha is in 2^-24 */
#define PRAGUE_G_BITS	   4  /* g = 2^-4 */
#define PRAGUE_WINDOW_BITS 20 /* the window is in 2^-20 segments */
#define PRAGUE_RTT_BITS	   7  /* the RTT is averaged over 2^7 rounds */
#define PRAGUE_SWING_BITS  5  /* the pacing rate swings by 2^-5 */
/* 2^23 eighths of 1 us (1.05 s) stand for a second, as in the L4S team's. */
#define PRAGUE_SECOND_BITS 23

static const u64 prague_one_segment = 1ULL << PRAGUE_WINDOW_BITS;
static const u64 prague_alpha_max = 1ULL << PRAGUE_ALPHA_BITS;
static const u64 prague_rate_min = 12500; /* bytes/s: 100 kbit/s */
static const u64 prague_packet = 1500;	  /* bytes; growth is the same in bytes for any MSS */
static const u32 prague_headers = 52;	  /* IPv4, and TCP with timestamps, bytes */
static const u32 prague_cwnd_min = 2;	  /* segments */
static const u32 prague_scaled_rtt_max = 100000U << 3; /* above, growth is never scaled, 1/8 us */

struct prague {
	u64 alpha_at;		/* when alpha was renewed, us */
	u64 cwr_at;		/* when a mark last reduced the window, us */
	u64 alpha;		/* share of marked segments, 2^-28 (g 2^-24) */
	u64 gain;		/* growth per window of segments without marks, 2^-20 segments */
	u64 rtt_sum;		/* average of the smoothed RTT, 2^-7 of 1/8 us */
	u64 window;		/* 2^-20 segments */
	u64 rate;		/* bytes/s, headers included */
	u64 prior_rate;		/* before the last loss */
	u32 prior_cwnd;		/* before the last loss, segments */
	u32 burst;		/* largest burst, segments */
	u32 round_end;		/* the round ends when this is acknowledged, seq */
	u32 round_delivered;	/* tp->delivered when it began */
	u32 round_delivered_ce; /* tp->delivered_ce when it began */
	u32 counted_ce;		/* tp->delivered_ce at the last ACK */
	u32 rounds;		/* since slow start */
	bool saw_ce;		/* something on the path marks */
	bool by_rate;		/* the rate is what grows and shrinks */
	bool in_loss;		/* reducing because of a loss */
	bool is_classic;	/* no accurate ECN: marks mean what losses mean */
};

CCA_STATE(prague, struct prague);

/* ---- Arithmetic ---- */

static u64 prague_div_up(u64 dividend, u64 divisor)
{
	return div64_u64(dividend + divisor - 1, divisor);
}

static u64 prague_div_closest(u64 dividend, u64 divisor)
{
	return div64_u64(dividend + divisor / 2, divisor);
}

/* Bytes of a full packet. */
static u64 prague_mtu(const struct tcp_sock *tp)
{
	return tp->mss_cache + prague_headers;
}

/* 1/8 us, as srtt_us is. */
static u32 prague_target(const struct sock *sk)
{
	return param(sk, rtt_target) << 3;
}

/* The RTT of a round that is at least the target long, 1/8 us. */
static u64 prague_virtual_rtt(const struct sock *sk)
{
	return max(prague_target(sk), tcp_sk(sk)->srtt_us);
}

/* Does the target count? */
static bool prague_has_target(const struct sock *sk, const struct prague *ca)
{
	return !ca->is_classic && !tcp_in_slow_start(tcp_sk(sk)) &&
	       ca->rounds >= param(sk, rtt_transition);
}

static bool prague_grows_by_rate(const struct sock *sk, const struct prague *ca)
{
	return ca->by_rate && prague_has_target(sk, ca);
}

/* Bytes/s at which one segment leaves per RTT. */
static u64 prague_segment_rate(const struct tcp_sock *tp)
{
	u64 rate = 8ULL * USEC_PER_SEC * prague_mtu(tp);

	return tp->srtt_us ? div64_u64(rate, tp->srtt_us) : rate;
}

/* The rate that the window gives. */
static u64 prague_rate_of_window(const struct tcp_sock *tp, const struct prague *ca)
{
	u64 rate = cca_mul_shr(prague_segment_rate(tp), ca->window, PRAGUE_WINDOW_BITS);

	return max(rate, prague_rate_min);
}

/* The window that the rate needs. */
static u64 prague_window_of_rate(const struct tcp_sock *tp, const struct prague *ca)
{
	u64 rtt = ca->rtt_sum >> PRAGUE_RTT_BITS;
	u64 bytes = cca_mul_shr(ca->rate, rtt ? rtt : tp->srtt_us,
				PRAGUE_SECOND_BITS - PRAGUE_WINDOW_BITS);

	return prague_div_up(bytes, prague_mtu(tp));
}

/* The window in whole segments. */
static u32 prague_cwnd(const struct tcp_sock *tp, const struct prague *ca)
{
	u32 cwnd = (u32)((ca->window + prague_one_segment - 1) >> PRAGUE_WINDOW_BITS);

	return min(max(cwnd, prague_cwnd_min), tp->snd_cwnd_clamp);
}

/* ---- Growth ---- */

/* (R / T)^2 segments per window below the target RTT, else one. */
static u64 prague_gain(const struct sock *sk, const struct prague *ca)
{
	u64 rtt = tcp_sk(sk)->srtt_us, target = prague_target(sk);

	if (ca->is_classic || ca->rounds < param(sk, rtt_transition) || !rtt ||
	    rtt > prague_scaled_rtt_max || rtt >= target)
		return prague_one_segment;
	return prague_div_closest((rtt << PRAGUE_WINDOW_BITS) * rtt, target * target);
}

static void prague_grow_window(const struct tcp_sock *tp, struct prague *ca, u32 acked)
{
	u64 growth = acked * ca->gain;

	if (ca->window)
		growth = prague_div_closest(growth << PRAGUE_WINDOW_BITS, ca->window);
	growth = div64_u64(growth * prague_packet, prague_mtu(tp));
	ca->window += max_t(u64, acked, growth);
	ca->rate = max(ca->rate + acked, prague_rate_of_window(tp, ca));
}

/* One packet per virtual round in each virtual round. */
static void prague_grow_rate(const struct sock *sk, struct prague *ca, u32 acked)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 rtt = prague_virtual_rtt(sk);
	u64 growth = div64_u64((acked * prague_packet) << PRAGUE_SECOND_BITS, rtt);
	u64 segments = prague_div_up(ca->rate * rtt, prague_mtu(tp) << PRAGUE_SECOND_BITS);

	if (segments)
		ca->rate += prague_div_closest(growth, segments);
	ca->window = max(ca->window + acked, prague_window_of_rate(tp, ca));
}

static void prague_grow(struct sock *sk, struct prague *ca, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		ca->window = (u64)tcp_snd_cwnd(tp) << PRAGUE_WINDOW_BITS;
		if (!acked) {
			ca->gain = prague_gain(sk, ca);
			return;
		}
	}
	if (prague_grows_by_rate(sk, ca))
		prague_grow_rate(sk, ca, acked);
	else
		prague_grow_window(tp, ca, acked);
}

/* One segment per ACK towards the window: a reduction makes no pause, growth makes no burst. */
static void prague_follow_window(struct sock *sk, struct prague *ca)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tcp_snd_cwnd(tp), goal = prague_cwnd(tp, ca);

	if (cwnd == goal)
		return;
	tcp_snd_cwnd_set(tp, cwnd > goal ? cwnd - 1 : cwnd + 1);
	if (cwnd > goal)
		tp->snd_ssthresh = tcp_snd_cwnd(tp);
	ca->gain = prague_gain(sk, ca);
}

/* Marked segments of this ACK. */
static u32 prague_take_marks(const struct tcp_sock *tp, struct prague *ca)
{
	u32 marked = tp->delivered_ce - ca->counted_ce;

	ca->counted_ce = tp->delivered_ce;
	return ca->is_classic ? 0 : marked;
}

static void prague_update_cwnd(struct sock *sk, struct prague *ca, const struct rate_sample *rs)
{
	u32 marked = prague_take_marks(tcp_sk(sk), ca);

	if (marked && !ca->saw_ce) {
		ca->saw_ce = true;
		if (!param(sk, alpha_on_init))
			ca->window = (ca->window + 1) >> 1;
	}
	if (rs->acked_sacked > marked && !ca->in_loss && tcp_is_cwnd_limited(sk))
		prague_grow(sk, ca, rs->acked_sacked - marked);
	prague_follow_window(sk, ca);
}

/* ---- Rounds and alpha ---- */

static void prague_begin_round(struct sock *sk, struct prague *ca)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	ca->round_end = tp->snd_nxt;
	ca->round_delivered = tp->delivered;
	ca->round_delivered_ce = tp->delivered_ce;
	if (!tcp_in_slow_start(tp) && ca->rounds < ~0U)
		ca->rounds++;
	ca->gain = prague_gain(sk, ca);
}

static bool prague_is_round_over(const struct sock *sk, const struct prague *ca)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (before(tp->snd_una, ca->round_end))
		return false;
	return !prague_has_target(sk, ca) ||
	       tcp_stamp_us_delta(tp->tcp_mstamp, ca->alpha_at) >= param(sk, rtt_target);
}

/* Not before the first mark: until then nobody knows whether anything on the path marks. */
static void prague_update_alpha(const struct tcp_sock *tp, struct prague *ca)
{
	u64 marked = tp->delivered_ce - ca->round_delivered_ce;
	u32 delivered = max(tp->delivered - ca->round_delivered, 1U);
	u64 alpha;

	if (!ca->saw_ce)
		return;
	alpha = ca->alpha - (ca->alpha >> PRAGUE_G_BITS) +
		div64_u64(marked << PRAGUE_ALPHA_BITS, delivered);
	ca->alpha = min(alpha, prague_alpha_max << PRAGUE_G_BITS);
	ca->alpha_at = tp->tcp_mstamp;
}

static void prague_end_round(struct sock *sk, struct prague *ca)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	prague_update_alpha(tp, ca);
	ca->rtt_sum += tp->srtt_us - (ca->rtt_sum >> PRAGUE_RTT_BITS);
	prague_begin_round(sk, ca);
}

/* ---- Pacing ---- */

/* The rate of the window, or of what is in flight, if that is more. */
static u64 prague_window_pacing(const struct tcp_sock *tp, const struct prague *ca)
{
	u32 cwnd = (u32)(ca->window >> PRAGUE_WINDOW_BITS);
	u64 rate = prague_segment_rate(tp) * max(cwnd, tcp_packets_in_flight(tp));

	return max(rate, prague_rate_min);
}

static u64 prague_swung(const struct sock *sk, const struct prague *ca)
{
	u64 swing = ca->rate >> PRAGUE_SWING_BITS;
	u64 half = prague_virtual_rtt(sk) >> (3 + 1);

	if (tcp_stamp_us_delta(tcp_sk(sk)->tcp_mstamp, ca->alpha_at) >= half)
		return ca->rate - swing;
	return ca->rate + swing;
}

static void prague_pace(struct sock *sk, struct prague *ca)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 rate;

	if (prague_grows_by_rate(sk, ca))
		rate = prague_swung(sk, ca);
	else
		rate = ca->rate = prague_window_pacing(tp, ca);
	if (tcp_snd_cwnd(tp) < tp->snd_ssthresh / 2)
		rate <<= 1;
	rate = min_t(u64, rate, sk->sk_max_pacing_rate);
	ca->burst = max((u32)(div64_u64(rate, prague_mtu(tp)) >> param(sk, burst_shift)), 1U);
	sk->sk_pacing_rate = rate;
}

/* Small windows by rate, others by window. */
static void prague_choose_mode(const struct sock *sk, struct prague *ca)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 bytes = tcp_snd_cwnd(tp) * prague_mtu(tp);

	if (param(sk, rate_mode) != 2)
		return;
	ca->by_rate = ca->saw_ce && bytes <= param(sk, rate_below) * prague_packet;
	if (ca->by_rate)
		ca->window = prague_window_of_rate(tp, ca);
	else
		ca->rate = prague_rate_of_window(tp, ca);
}

/* ---- Reductions ---- */

static void prague_reduce_by_mark(const struct sock *sk, struct prague *ca)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 alpha = ca->alpha >> PRAGUE_G_BITS;

	if (prague_has_target(sk, ca) &&
	    tcp_stamp_us_delta(tp->tcp_mstamp, ca->cwr_at) < param(sk, rtt_target))
		return;
	ca->cwr_at = tp->tcp_mstamp;
	if (prague_grows_by_rate(sk, ca)) {
		ca->rate -= cca_mul_shr(ca->rate, alpha, PRAGUE_ALPHA_BITS + 1);
		ca->rate = max(ca->rate, prague_rate_min);
		ca->window = prague_window_of_rate(tp, ca);
	} else {
		ca->window -= (alpha * ca->window + prague_alpha_max) >> (PRAGUE_ALPHA_BITS + 1);
		ca->rate = prague_rate_of_window(tp, ca);
	}
}

static void prague_halve(const struct sock *sk, struct prague *ca)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	ca->prior_cwnd = tcp_snd_cwnd(tp);
	ca->prior_rate = ca->rate;
	if (prague_grows_by_rate(sk, ca)) {
		ca->rate -= ca->rate >> 1;
		ca->window = prague_window_of_rate(tp, ca);
	} else {
		ca->window -= ca->window >> 1;
		ca->rate = prague_rate_of_window(tp, ca);
	}
	ca->in_loss = true;
}

/* ---- Hooks ---- */

CCA_OP(void, prague_init, struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct prague *ca = prague_state(sk);

	*ca = (struct prague){ 0 };
	ca->is_classic = (tp->ecn_flags & TCP_ECN_MODE_ACCECN) == 0;
	ca->alpha_at = tp->tcp_mstamp;
	ca->alpha = param(sk, alpha_on_init) ? prague_alpha_max << PRAGUE_G_BITS : 0;
	ca->window = (u64)tcp_snd_cwnd(tp) << PRAGUE_WINDOW_BITS;
	ca->saw_ce = !ca->is_classic && tp->delivered_ce != 0;
	ca->counted_ce = tp->delivered_ce;
	ca->by_rate = param(sk, rate_mode) == 1;
	ca->rtt_sum = (u64)(tp->srtt_us ? tp->srtt_us : 8) << PRAGUE_RTT_BITS;
	cca_request_pacing(sk);
	prague_pace(sk, ca);
	prague_begin_round(sk, ca);
}

CCA_OP(void, prague_cong_control, struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	struct prague *ca = prague_state(sk);

	prague_update_cwnd(sk, ca, rs);
	if (prague_is_round_over(sk, ca))
		prague_end_round(sk, ca);
	prague_pace(sk, ca);
	prague_choose_mode(sk, ca);
}

/* The threshold moves with the window, one segment per ACK. */
CCA_OP(u32, prague_ssthresh, struct sock *sk)
{
	return tcp_sk(sk)->snd_ssthresh;
}

CCA_OP(void, prague_set_state, struct sock *sk, u8 new_state)
{
	struct prague *ca = prague_state(sk);

	if (new_state == inet_csk_ca_state(sk))
		return;
	if (new_state == TCP_CA_Open)
		ca->in_loss = false;
	else if (new_state == TCP_CA_Recovery || (new_state == TCP_CA_CWR && ca->is_classic))
		prague_halve(sk, ca);
	else if (new_state == TCP_CA_CWR)
		prague_reduce_by_mark(sk, ca);
}

CCA_OP(void, prague_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_LOSS)
		prague_halve(sk, prague_state(sk));
}

CCA_OP(u32, prague_undo_cwnd, struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct prague *ca = prague_state(sk);

	ca->in_loss = false;
	ca->rate = max(ca->rate, ca->prior_rate);
	ca->window = prague_window_of_rate(tp, ca);
	return max(ca->prior_cwnd, tcp_snd_cwnd(tp));
}

CCA_TSO_SEGS_OP(prague_tso_segs)
{
	u32 largest = param(sk, max_tso_segs);
	u32 burst = prague_state(sk)->burst;

	return largest ? min(burst, largest) : burst;
}

enum prague_phase { PRAGUE_SLOW_START, PRAGUE_AVOIDANCE, PRAGUE_RATE, PRAGUE_LOSS, PRAGUE_CLASSIC };
CCA_STATES("SLOW_START", "AVOIDANCE", "RATE", "LOSS", "CLASSIC");

CCA_INFO_OP(prague_info)
{
	const struct prague *ca = prague_state(sk);

	info->flags = CCA_INFO_STATE;
	if (ca->is_classic)
		info->state = PRAGUE_CLASSIC;
	else if (ca->in_loss)
		info->state = PRAGUE_LOSS;
	else if (tcp_in_slow_start(tcp_sk(sk)))
		info->state = PRAGUE_SLOW_START;
	else
		info->state = prague_grows_by_rate(sk, ca) ? PRAGUE_RATE : PRAGUE_AVOIDANCE;
}

/* clang-format off */
#define PRAGUE_VARS(V)								\
	V(alpha, ca->alpha >> (PRAGUE_ALPHA_BITS - 10 + PRAGUE_G_BITS), "1/1024", "smoothed share of marked segments") \
	V(rounds, ca->rounds, "rounds", "round trips since slow start")		\
	V(saw_ce, ca->saw_ce, "bool", "something on the path marks")		\
	V(by_rate, ca->by_rate, "bool", "the rate is what grows and shrinks")	\
	V(in_loss, ca->in_loss, "bool", "reducing because of a loss")		\
	V(prior_cwnd, ca->prior_cwnd, "segments", "window before the last loss")

CCA_VARS(struct prague, ca, prague_state(sk), PRAGUE_VARS);

CCA_MODULE(prague, "prague",
	   TCP_CONG_NON_RESTRICTED | TCP_CONG_NEEDS_ECN | TCP_CONG_NEEDS_ACCECN | TCP_CONG_ECT_1_NEGOTIATION,
	   .init = prague_init,
	   .cong_control = prague_cong_control,
	   .ssthresh = prague_ssthresh,
	   .set_state = prague_set_state,
	   .cwnd_event = prague_cwnd_event,
	   .undo_cwnd = prague_undo_cwnd,
	   CCA_TSO_SEGS(prague_tso_segs)
	   CCA_INFO(prague_info));
/* clang-format on */
