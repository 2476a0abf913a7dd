/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What BBRv2 and its variants want to know beyond Linux: the bursts that were lost, and what was in flight, and
 * lost already, when a segment was sent. Google's tree keeps that with each segment. Linux keeps `delivered` there,
 * from which it follows:
 *
 *	lost in total    the log has the totals, each with the `delivered` at which it was first seen
 *	in flight        the segments sent until then, minus those delivered by then. Segments sent are those
 *			 delivered today and those in the retransmission queue that are not, minus those behind it
 *			 in sequence. So what was sent once is counted exactly, unless lost segments waited for
 *			 their retransmission when it was sent; they would have gone first.
 *	lost bursts      buffers of the retransmission queue marked lost, sent after the last that was told
 *
 * What was sent again has other segments behind it: what was delivered or lost since then is counted instead.
 */
#ifndef CCA_KMOD_FLIGHT_H
#define CCA_KMOD_FLIGHT_H

/* Totals in the log, a power of two; where more ACKs of a round trip show losses than that, it seems to lose less. */
#define CCA_FLIGHT_MARKS 256

/* Of a socket whose controller has skb_marked_lost(). */
struct cca_flight {
	u32 told;	  /* tp->lost when bursts were told last */
	u32 told_end_seq; /* end and ... */
	u64 told_sent_ns; /* ... time of sending of the last that was told */
	u32 n;		  /* marks written so far */
	struct {
		u32 delivered, lost;
	} marks[CCA_FLIGHT_MARKS];
};

static struct cca_flight *cca_flight_of(const struct sock *sk); /* flows.h; NULL without one */

/* The host keeps it (struct cca_flight), and not the controller. */
struct cca_flight_log {
};

/* Segments marked lost before `delivered` became what it was at a send; no more than the log goes back. */
static u32 cca_lost_at(const struct cca_flight *flight, u32 delivered)
{
	u32 lost = 0, i;

	for (i = 1; i <= min(flight->n, (u32)CCA_FLIGHT_MARKS); i++) {
		u32 at = (flight->n - i) & (CCA_FLIGHT_MARKS - 1);

		lost = flight->marks[at].lost;
		if (!after(flight->marks[at].delivered, delivered))
			break;
	}
	return lost;
}

/* Segments marked lost since the sampled segment was sent. */
static inline u32 cca_flight_lost(struct cca_flight_log *log, const struct tcp_sock *tp,
				  const struct rate_sample *rs)
{
	struct cca_flight *flight = cca_flight_of((const struct sock *)tp);
	u32 at;

	if (!flight)
		return 0;
	if (!flight->n ||
	    flight->marks[(flight->n - 1) & (CCA_FLIGHT_MARKS - 1)].lost != tp->lost) {
		at = flight->n++ & (CCA_FLIGHT_MARKS - 1);
		flight->marks[at].delivered = tp->delivered;
		flight->marks[at].lost = tp->lost;
	}
	return tp->lost - cca_lost_at(flight, rs->prior_delivered);
}

/* Segments in the retransmission queue behind a sequence number. */
static u32 cca_segs_behind(const struct tcp_sock *tp, u32 seq)
{
	const struct sock *sk = (const struct sock *)tp;
	u32 mss = max(tp->mss_cache, 1U), segs = 0;
	struct sk_buff *skb;

	if (!before(seq, tp->snd_nxt))
		return 0;
	/* All have the full size, but perhaps the last: no need to count them. */
	if (tp->snd_nxt - tp->snd_una > (tp->packets_out - 1) * mss)
		return DIV_ROUND_UP(tp->snd_nxt - seq, mss);
	for (skb = tcp_rtx_queue_tail(sk); skb && !before(TCP_SKB_CB(skb)->seq, seq);
	     skb = skb_rb_prev(skb))
		segs += tcp_skb_pcount(skb);
	return segs;
}

/* Segments in flight once the sampled segment had been sent; 0: not known. */
static inline u32 cca_flight_at_send(const struct tcp_sock *tp, const struct rate_sample *rs,
				     u32 lost)
{
	if (rs->delivered <= 0)
		return 0;
	if (rs->is_retrans)
		return rs->delivered + lost;
	return rs->delivered + tp->packets_out - tp->sacked_out -
	       cca_segs_behind(tp, rs->last_end_seq);
}

static bool cca_is_untold(const struct cca_flight *flight, const struct sk_buff *skb)
{
	const struct tcp_skb_cb *scb = TCP_SKB_CB(skb);

	if ((scb->sacked & (TCPCB_LOST | TCPCB_SACKED_RETRANS | TCPCB_SACKED_ACKED)) != TCPCB_LOST)
		return false;
	if (skb->skb_mstamp_ns != flight->told_sent_ns)
		return skb->skb_mstamp_ns > flight->told_sent_ns;
	return after(scb->end_seq, flight->told_end_seq);
}

/*
 * What a lost buffer was sent with; `segs` are those of the queue up to its end. A hook takes the losses since the
 * send from tp->lost, which counts bursts that it has not been told yet (`untold`): they move `lost_at_send`.
 */
static struct lost_burst cca_burst_of(const struct tcp_sock *tp, const struct cca_flight *flight,
				      const struct sk_buff *skb, u32 segs, u32 untold)
{
	const struct tcp_skb_cb *scb = TCP_SKB_CB(skb);
	u32 delivered = tp->delivered - scb->tx.delivered,
	    lost = cca_lost_at(flight, scb->tx.delivered);
	bool is_sent_once = !(scb->sacked & TCPCB_EVER_RETRANS);
	struct lost_burst burst = {
		.segs = tcp_skb_pcount(skb),
		.lost_at_send = lost + untold,
		.delivered_at_send = scb->tx.delivered,
		.is_app_limited = scb->tx.is_app_limited,
	};

	if (scb->tx.delivered_mstamp) /* otherwise it was delivered once, and its stamps were used */
		burst.tx_in_flight = delivered + (is_sent_once ? segs - tp->sacked_out
							       : tp->lost - untold - lost);
	return burst;
}

/* Calls skb_marked_lost() for the bursts that were marked lost since it was called last. */
static void cca_tell_losses(struct sock *sk,
			    void (*marked_lost)(struct sock *sk, const struct lost_burst *lost))
{
	struct cca_flight *flight = cca_flight_of(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	const struct sk_buff *last = NULL;
	struct lost_burst burst;
	struct sk_buff *skb;
	u32 segs = 0, untold;

	if (!flight || flight->told == tp->lost)
		return;
	untold = tp->lost - flight->told;
	flight->told = tp->lost;
	skb_rbtree_walk(skb, &sk->tcp_rtx_queue)
	{
		segs += tcp_skb_pcount(skb);
		if (!cca_is_untold(flight, skb))
			continue;
		untold -= min(untold, (u32)tcp_skb_pcount(skb));
		burst = cca_burst_of(tp, flight, skb, segs, untold);
		marked_lost(sk, &burst);
		if (!last || skb->skb_mstamp_ns >= last->skb_mstamp_ns)
			last = skb;
		if (!untold)
			break;
	}
	if (last) {
		flight->told_sent_ns = last->skb_mstamp_ns;
		flight->told_end_seq = TCP_SKB_CB(last)->end_seq;
	}
}

#endif /* CCA_KMOD_FLIGHT_H */
