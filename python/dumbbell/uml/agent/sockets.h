/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What sockets say: TCP_INFO and TCP_CC_INFO as a line of numbers. */
#ifndef AGENT_SOCKETS_H
#define AGENT_SOCKETS_H

#include "run.h"

static const char *const INFO_COLUMNS = "received acks acked sent retrans_total segs_sent "
					"delivered delivered_ce srtt_us min_rtt_us cwnd ssthresh "
					"packets_out sacked lost retrans_out pacing_rate "
					"delivery_rate ca_state busy_us rwnd_us sndbuf_us rtos "
					"bbr_bw bbr_min_rtt_us bbr_pacing_gain bbr_cwnd_gain\n";

/* Timeouts so far, which the kernel tells since 6.7: a 16-bit number after tcpi_snd_wnd, tcpi_rcv_wnd and
 * tcpi_rehash (include/uapi/linux/tcp.h). */
static unsigned int timeouts(const struct flow *flow)
{
	const size_t offset = offsetof(struct tcp_info, tcpi_snd_wnd) + 12;
	uint8_t all[sizeof(struct tcp_info) + sizeof(flow->info_more)];
	uint16_t count;

	memcpy(all, &flow->info, sizeof(flow->info));
	memcpy(all + sizeof(flow->info), flow->info_more, sizeof(flow->info_more));
	memcpy(&count, all + offset, sizeof(count));
	return count;
}

static void look(struct flow *flow)
{
	uint8_t all[sizeof(struct tcp_info) + sizeof(flow->info_more)] = { 0 };
	socklen_t length = sizeof(all);
	struct tcp_info *info = (void *)all;

	if (flow->receiver >= 0 &&
	    !getsockopt(flow->receiver, IPPROTO_TCP, TCP_INFO, all, &length)) {
		flow->received = info->tcpi_bytes_received;
		flow->acks = info->tcpi_segs_out - info->tcpi_data_segs_out;
	}
	memset(all, 0, sizeof(all));
	length = sizeof(all);
	if (flow->sender < 0 || getsockopt(flow->sender, IPPROTO_TCP, TCP_INFO, all, &length))
		return;
	memcpy(&flow->info, all, sizeof(flow->info));
	memcpy(flow->info_more, all + sizeof(flow->info), sizeof(flow->info_more));
	flow->has_info = 1;
}

static void print_info(FILE *file, const struct flow *flow)
{
	const struct tcp_info *i = &flow->info;
	union tcp_cc_info cc = { 0 };
	socklen_t length = sizeof(cc);
	int is_bbr = flow->sender >= 0 &&
		     !getsockopt(flow->sender, IPPROTO_TCP, TCP_CC_INFO_NUMBER, &cc, &length) &&
		     length == sizeof(struct tcp_bbr_info);
	uint64_t bw = is_bbr ? (uint64_t)cc.bbr.bbr_bw_hi << 32 | cc.bbr.bbr_bw_lo : 0;

	fprintf(file,
		"%llu %llu %llu %llu %u %u %u %u %u %u %u %u %u %u %u %u %llu %llu %u %llu %llu "
		"%llu %u",
		(unsigned long long)flow->received, (unsigned long long)flow->acks,
		(unsigned long long)i->tcpi_bytes_acked, (unsigned long long)i->tcpi_bytes_sent,
		i->tcpi_total_retrans, i->tcpi_data_segs_out, i->tcpi_delivered,
		i->tcpi_delivered_ce, i->tcpi_rtt, i->tcpi_min_rtt, i->tcpi_snd_cwnd,
		i->tcpi_snd_ssthresh, i->tcpi_unacked, i->tcpi_sacked, i->tcpi_lost,
		i->tcpi_retrans, (unsigned long long)i->tcpi_pacing_rate,
		(unsigned long long)i->tcpi_delivery_rate, i->tcpi_ca_state,
		(unsigned long long)i->tcpi_busy_time, (unsigned long long)i->tcpi_rwnd_limited,
		(unsigned long long)i->tcpi_sndbuf_limited, timeouts(flow));
	if (is_bbr)
		fprintf(file, " %llu %u %u %u\n", (unsigned long long)bw, cc.bbr.bbr_min_rtt,
			cc.bbr.bbr_pacing_gain, cc.bbr.bbr_cwnd_gain);
	else
		fputs(" - - - -\n", file);
}

/* Not twice at one time: a flow may end at a sample. */
static void print_sample(struct flow *flow, ns_t t)
{
	if (flow->sampled == t)
		return;
	flow->sampled = t;
	fprintf(samples_file, "%lld %td ", t, flow - flows);
	print_info(samples_file, flow);
}

#endif /* AGENT_SOCKETS_H */
