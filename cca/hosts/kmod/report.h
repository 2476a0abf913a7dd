/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What the controller knows of each socket that uses it, of all network namespaces, for root:
 * /proc/net/dumbbell_NAME, where NAME is the controller's name in the kernel.
 *
 * The file is in the first network namespace only. Its first line names the columns, each other line is a socket,
 * in the order in which they connected. Columns are separated by a space; "-" means that there is no such value.
 *
 *	netns		inode of the socket's network namespace
 *	local		address and port: 10.1.0.2:40000, [2001:db8::1]:40000
 *	remote		the same of the peer
 *	lost		segments marked lost so far (tp->lost)
 *	state		name of the controller's state
 *	limit		what keeps the socket from sending more: the words of limits.parquet
 *	bw		estimated bottleneck bandwidth, payload bytes/s
 *	min_rtt		estimated propagation RTT, us
 *	pacing_gain	in 1/256
 *	cwnd_gain	in 1/256
 *	inflight_lo	short-term bound on inflight, segments
 *	inflight_hi	long-term bound on inflight, segments
 *	.NAME:UNIT	each variable of CCA_VARS; a space in its unit is "_"
 *
 * Controllers that estimate a bandwidth (BBR and its variants) also fill in struct tcp_bbr_info, which `ss -ti` shows.
 */
#ifndef CCA_REPORT_H
#define CCA_REPORT_H

#define CCA_REPORT_FILE "dumbbell_" CCA_KERNEL_NAME

/* Both callers hold cca_lock, and the socket is in the list: it is alive, and its state is the controller's. */
static void cca_ask(struct sock *sk, struct cca_info *info)
{
	memset(info, 0, sizeof(*info));
	if (cca_module.hooks.info)
		cca_module.hooks.info(sk, info);
}

/*
 * Whoever asks need not hold the socket's lock (inet_diag), so the socket may have got another controller meanwhile,
 * and what is in its private memory be that one's.
 */
static size_t cca_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *to)
{
	struct cca_info info = { 0 };

	if (!(ext & (1 << (INET_DIAG_BBRINFO - 1) | 1 << (INET_DIAG_VEGASINFO - 1))))
		return 0;
	spin_lock_bh(&cca_lock);
	if (cca_flow_of(sk))
		cca_ask(sk, &info);
	spin_unlock_bh(&cca_lock);
	if (!(info.flags & CCA_INFO_BW))
		return 0;
	memset(&to->bbr, 0, sizeof(to->bbr));
	to->bbr.bbr_bw_lo = (u32)info.bw_bytes_per_s;
	to->bbr.bbr_bw_hi = (u32)(info.bw_bytes_per_s >> 32);
	to->bbr.bbr_min_rtt = info.flags & CCA_INFO_MIN_RTT ? info.min_rtt_us : ~0U;
	to->bbr.bbr_pacing_gain = info.pacing_gain;
	to->bbr.bbr_cwnd_gain = info.cwnd_gain;
	*attr = INET_DIAG_BBRINFO;
	return sizeof(to->bbr);
}

static void cca_show_addresses(struct seq_file *seq, const struct sock *sk)
{
	u16 remote_port = ntohs(sk->sk_dport);

	seq_printf(seq, "%u ", sock_net(sk)->ns.inum);
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6) {
		seq_printf(seq, "[%pI6c]:%u [%pI6c]:%u", &sk->sk_v6_rcv_saddr, sk->sk_num,
			   &sk->sk_v6_daddr, remote_port);
		return;
	}
#endif
	seq_printf(seq, "%pI4:%u %pI4:%u", &sk->sk_rcv_saddr, sk->sk_num, &sk->sk_daddr,
		   remote_port);
}

static void cca_show_value(struct seq_file *seq, bool is_there, u64 value)
{
	if (is_there)
		seq_printf(seq, " %llu", value);
	else
		seq_puts(seq, " -");
}

static void cca_show_vars(struct seq_file *seq, struct sock *sk)
{
	const struct cca_vars *vars = cca_module.vars;
	s64 values[CCA_VARS_MAX];
	bool is_there;
	u32 i;

	if (!vars->n)
		return;
	is_there = vars->read(sk, values);
	for (i = 0; i < vars->n; i++) {
		if (is_there && values[i] != CCA_UNSET)
			seq_printf(seq, " %lld", values[i]);
		else
			seq_puts(seq, " -");
	}
}

/*
 * What keeps a socket from sending more, in the order in which docs/results.md lists limits; NULL where it is not
 * established. Data that the window takes, and nothing else holds, wait until a larger burst fits.
 */
static const char *cca_limit(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 unsent = READ_ONCE(tp->write_seq) - tp->snd_nxt;
	bool is_full = tcp_packets_in_flight(tp) >= tp->snd_cwnd;

	if (sk->sk_state != TCP_ESTABLISHED)
		return NULL;
	if (inet_csk(sk)->icsk_ca_state >= TCP_CA_Recovery)
		return "recovery";
	if (!unsent) {
		if (!sk->sk_socket || !test_bit(SOCK_NOSPACE, &sk->sk_socket->flags))
			return "application";
		return is_full ? "cwnd" : "send_buffer";
	}
	if (is_full)
		return "cwnd";
	if (tp->chrono_type == TCP_CHRONO_RWND_LIMITED ||
	    after(tp->snd_nxt + min(unsent, tp->mss_cache), tcp_wnd_end(tp)))
		return "receive_window";
	if (sk->sk_pacing_status == SK_PACING_NEEDED && tp->tcp_wstamp_ns > tcp_clock_ns())
		return "pacing";
	if (test_bit(TSQ_THROTTLED, &sk->sk_tsq_flags))
		return sk->sk_pacing_status == SK_PACING_FQ ? "pacing" : "host_queue";
	return unsent < tp->mss_cache ? "application" : "cwnd";
}

static void cca_show_heading(struct seq_file *seq)
{
	const char *unit;
	u32 i;

	seq_puts(seq, "netns local remote lost state limit bw min_rtt pacing_gain cwnd_gain"
		      " inflight_lo inflight_hi");
	for (i = 0; i < cca_module.vars->n; i++) {
		seq_printf(seq, " .%s:", cca_module.vars->list[i].name);
		for (unit = cca_module.vars->list[i].unit; *unit; unit++)
			seq_putc(seq, *unit == ' ' ? '_' : *unit);
	}
	seq_putc(seq, '\n');
}

static void cca_show_flow(struct seq_file *seq, struct sock *sk)
{
	struct cca_info info;
	const char *limit;
	u32 flags;

	cca_ask(sk, &info);
	flags = info.flags;
	cca_show_addresses(seq, sk);
	seq_printf(seq, " %u", tcp_sk(sk)->lost);
	if ((flags & CCA_INFO_STATE) && info.state < cca_module.n_states)
		seq_printf(seq, " %s", cca_module.states[info.state]);
	else
		seq_puts(seq, " -");
	limit = cca_limit(sk);
	seq_printf(seq, " %s", limit ? limit : "-");
	cca_show_value(seq, flags & CCA_INFO_BW, info.bw_bytes_per_s);
	cca_show_value(seq, flags & CCA_INFO_MIN_RTT, info.min_rtt_us);
	cca_show_value(seq, flags & CCA_INFO_PACING_GAIN, info.pacing_gain);
	cca_show_value(seq, flags & CCA_INFO_CWND_GAIN, info.cwnd_gain);
	cca_show_value(seq, flags & CCA_INFO_INFLIGHT_LO, info.inflight_lo);
	cca_show_value(seq, flags & CCA_INFO_INFLIGHT_HI, info.inflight_hi);
	cca_show_vars(seq, sk);
	seq_putc(seq, '\n');
}

/* ---- The file ---- */

static void *cca_seq_start(struct seq_file *seq, loff_t *at)
{
	spin_lock_bh(&cca_lock);
	return seq_list_start_head(&cca_flows, *at);
}

static void *cca_seq_next(struct seq_file *seq, void *flow, loff_t *at)
{
	return seq_list_next(flow, &cca_flows, at);
}

static void cca_seq_stop(struct seq_file *seq, void *flow)
{
	spin_unlock_bh(&cca_lock);
}

static int cca_seq_show(struct seq_file *seq, void *flow)
{
	if (flow == &cca_flows)
		cca_show_heading(seq);
	else
		cca_show_flow(seq, list_entry(flow, struct cca_flow, list)->sk);
	return 0;
}

static const struct seq_operations cca_seq = {
	.start = cca_seq_start,
	.next = cca_seq_next,
	.stop = cca_seq_stop,
	.show = cca_seq_show,
};

static bool cca_report_start(void)
{
	return proc_create_seq(CCA_REPORT_FILE, 0400, init_net.proc_net, &cca_seq);
}

static void cca_report_stop(void)
{
	remove_proc_entry(CCA_REPORT_FILE, init_net.proc_net);
}

#endif /* CCA_REPORT_H */
