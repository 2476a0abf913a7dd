/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What a controller knows of each socket that uses it: a program that walks the TCP sockets of a network
 * namespace (that of whoever reads it), asks the controller's own info hook, and writes a record for each.
 * Every socket is locked meanwhile, so a record is of one instant.
 *
 * Linux cannot ask a controller from BPF itself: tcp_congestion_ops.get_info is not available to struct_ops.
 */
#ifndef CCA_REPORT_H
#define CCA_REPORT_H

#define CCA_AF_INET6 10

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct in6_addr {
	union {
		u32 u6_addr32[4];
	} in6_u;
};
struct sock_common {
	u32 skc_daddr;
	u32 skc_rcv_saddr;
	u16 skc_dport; /* network order */
	u16 skc_num;
	u16 skc_family;
	u8 skc_state;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
};
struct seq_file;
struct bpf_iter_meta {
	struct seq_file *seq;
};
struct bpf_iter__tcp {
	struct bpf_iter_meta *meta;
	struct sock_common *sk_common;
	u32 uid;
};
#pragma clang attribute pop

/* One socket; mirrored in crates/bpf/src/report.rs. */
struct cca_report {
	u64 instance; /* address of its tcp_congestion_ops: differs if the name was loaded again */
	u32 local[4]; /* addresses, network order; IPv4 in the first word */
	u32 remote[4];
	u16 local_port;	 /* host order */
	u16 remote_port; /* network order */
	u16 family;
	u8 tcp_state;
	u8 ca_state; /* enum tcp_ca_state */
	u32 uid;
	u32 cwnd;
	u32 ssthresh;
	u32 in_flight;
	u32 mss;
	u32 srtt_us;	/* 1/8 us */
	u32 min_rtt_us; /* of TCP, 300 s */
	u32 delivered;
	u32 lost;
	u32 retrans;
	u64 pacing_rate; /* bytes/s */
	struct cca_info info;
};
_Static_assert(sizeof(struct cca_report) == 136, "as the reader has it");

static void cca_report_addresses(struct cca_report *report, const struct sock_common *skc)
{
	report->local_port = skc->skc_num;
	report->remote_port = skc->skc_dport;
	report->family = skc->skc_family;
	report->tcp_state = skc->skc_state;
	if (report->family == CCA_AF_INET6 && bpf_core_field_exists(skc->skc_v6_daddr)) {
		for (u32 i = 0; i < 4; i++) {
			report->local[i] = skc->skc_v6_rcv_saddr.in6_u.u6_addr32[i];
			report->remote[i] = skc->skc_v6_daddr.in6_u.u6_addr32[i];
		}
	} else {
		report->local[0] = skc->skc_rcv_saddr;
		report->remote[0] = skc->skc_daddr;
	}
}

static void cca_report_socket(struct cca_report *report, const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	report->ca_state = inet_csk_ca_state(sk);
	report->cwnd = tp->snd_cwnd;
	report->ssthresh = tp->snd_ssthresh;
	report->in_flight = tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
	report->mss = tp->mss_cache;
	report->srtt_us = tp->srtt_us;
	report->min_rtt_us = tp->rtt_min.s[0].v;
	report->delivered = tp->delivered;
	report->lost = tp->lost;
	report->retrans = tp->total_retrans;
	report->pacing_rate = sk->sk_pacing_rate;
}

/* A controller without CCA_INFO_OP, or without CCA_STATE_LARGE, leaves these as they are here. */
typedef void (*cca_info_fn)(struct sock *sk, struct cca_info *info);
typedef bool (*cca_has_state_fn)(struct sock *sk);
static const cca_info_fn cca_info_op;
static const cca_has_state_fn cca_has_state_op;

/* Does the socket use the controller of this name? */
static bool cca_is_used_by(struct sock *sk, const volatile char *name)
{
	const struct tcp_congestion_ops *ops = inet_csk(sk)->icsk_ca_ops;
	char its[TCP_CA_NAME_MAX];

	if (!ops || bpf_probe_read_kernel(its, sizeof(its), ops->name))
		return false;
	for (u32 i = 0; i < TCP_CA_NAME_MAX; i++) {
		char wanted = name[i];

		if (its[i] != wanted)
			return false;
		if (!wanted)
			break;
	}
	return true;
}

static inline int cca_report_one(struct bpf_iter__tcp *ctx, const volatile char *name)
{
	struct cca_report report = { 0 };
	struct sock_common *skc = ctx->sk_common;
	struct sock *sk;

	if (!skc)
		return 0;
	sk = (struct sock *)bpf_skc_to_tcp_sock(skc);
	if (!sk || !cca_is_used_by(sk, name))
		return 0;
	report.instance = (u64)inet_csk(sk)->icsk_ca_ops;
	report.uid = ctx->uid;
	cca_report_addresses(&report, skc);
	cca_report_socket(&report, sk);
	if (cca_info_op && (!cca_has_state_op || cca_has_state_op(sk)))
		cca_info_op(sk, &report.info);
	bpf_seq_write(ctx->meta->seq, &report, sizeof(report));
	return 0;
}

#endif /* CCA_REPORT_H */
