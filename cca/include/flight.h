/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What BBRv2 and its variants want to know beyond Linux, for BPF; hosts/kmod/flight.h knows more.
 *
 * Linux does not keep with a segment what was lost when it was sent, but it keeps `delivered`. The log below
 * has totals of losses, each with the `delivered` at which it was first seen, and finds by `delivered` what
 * was lost since the send. The verifier of BPF must accept this text.
 */
#ifndef CCA_FLIGHT_H
#define CCA_FLIGHT_H

/* Totals in the log, a power of two; where more ACKs of a round trip show losses than that, it seems to lose less. */
#ifndef CCA_FLIGHT_MARKS
#define CCA_FLIGHT_MARKS 16
#endif
struct cca_flight_log {
	u32 n; /* marks written so far */
	struct {
		u32 delivered, lost;
	} marks[CCA_FLIGHT_MARKS];
};

/* Segments marked lost since the sampled segment was sent; no more than the log goes back. */
static inline u32 cca_flight_lost(struct cca_flight_log *log, const struct tcp_sock *tp,
				  const struct rate_sample *rs)
{
	u32 last = (log->n - 1) & (CCA_FLIGHT_MARKS - 1), then = 0, i;

	if (!log->n || log->marks[last].lost != tp->lost) {
		last = log->n++ & (CCA_FLIGHT_MARKS - 1);
		log->marks[last].delivered = tp->delivered;
		log->marks[last].lost = tp->lost;
	}
	for (i = 0; i < CCA_FLIGHT_MARKS; i++) {
		u32 at = (last - i) & (CCA_FLIGHT_MARKS - 1);

		if (i >= log->n)
			break;
		then = log->marks[at].lost;
		if (!after(log->marks[at].delivered, rs->prior_delivered))
			break;
	}
	return tp->lost - then;
}

/* What was in flight at the send has since been delivered or lost. */
static inline u32 cca_flight_at_send(const struct tcp_sock *tp, const struct rate_sample *rs,
				     u32 lost)
{
	return rs->delivered > 0 ? (u32)rs->delivered + lost : 0;
}

/* Linux does not say that an ACK ends where a tail loss probe ends, nor what the probe repeats. */
static inline bool cca_acks_loss_probe(const struct rate_sample *rs)
{
	return false;
}

static inline bool cca_probed_app_limited(const struct tcp_sock *tp)
{
	return false;
}

#endif /* CCA_FLIGHT_H */
