// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Offsets and sizes of the structs that the simulator shares with C, for the test
 * that compares them with their Rust mirrors; and the windowed minimum, so that
 * the simulated TCP uses the very filter that controllers use.
 */
#include "cca.h"

struct cca_layout_row {
	const char *type;
	const char *field;
	u64 offset;
	u64 size;
};

#define ROW(type, mirror, field, path)                                                   \
	{                                                                                \
		mirror, field, __builtin_offsetof(type, path), sizeof(((type *)0)->path) \
	}
#define SK(f)	ROW(struct tcp_sock, "TcpSock", #f, inet_conn.icsk_inet.sk.f)
#define HOST(f) ROW(struct tcp_sock, "TcpSock", #f, inet_conn.icsk_inet.sk.sk_host.f)
#define SKC(f)	ROW(struct tcp_sock, "TcpSock", #f, inet_conn.icsk_inet.sk.__sk_common.f)
#define INET(f) ROW(struct tcp_sock, "TcpSock", #f, inet_conn.icsk_inet.f)
#define CSK(f)	ROW(struct tcp_sock, "TcpSock", #f, inet_conn.f)
#define TP(f)	ROW(struct tcp_sock, "TcpSock", #f, f)
#define RS(f)	ROW(struct rate_sample, "RateSample", #f, f)
#define AS(f)	ROW(struct ack_sample, "AckSample", #f, f)
#define LOST(f) ROW(struct lost_burst, "LostBurst", #f, f)
#define INFO(f) ROW(struct cca_info, "CaInfo", #f, f)
#define SIZE(type, mirror)                  \
	{                                   \
		mirror, "", 0, sizeof(type) \
	}

extern const struct cca_layout_row cca_layout[];
extern const u64 cca_layout_rows;
extern u32 cca_minmax_running_min(struct minmax *m, u32 win, u32 t, u32 v);

/* clang-format off */
const struct cca_layout_row cca_layout[] = {
	SIZE(struct tcp_sock, "TcpSock"), SIZE(struct rate_sample, "RateSample"),
	SIZE(struct ack_sample, "AckSample"), SIZE(struct cca_info, "CaInfo"),
	SIZE(struct lost_burst, "LostBurst"), LOST(segs), LOST(tx_in_flight), LOST(lost_at_send),
	LOST(delivered_at_send), LOST(is_app_limited),
	SK(sk_pacing_rate), SK(sk_max_pacing_rate), SK(sk_pacing_status), SK(sk_gso_max_size),
	SK(sk_gso_max_segs), SK(sk_pacing_shift), SK(sk_state), SK(sk_prot_bits),
	HOST(params), HOST(storage), HOST(rng), HOST(hz), HOST(jiffies),
	SKC(skc_daddr), SKC(skc_rcv_saddr), SKC(skc_hash), SKC(skc_dport), SKC(skc_num),
	SKC(skc_family), SKC(skc_state), SKC(skc_v6_daddr), SKC(skc_v6_rcv_saddr),
	SK(sk_mark), INET(inet_saddr), INET(inet_sport), INET(tos),
	CSK(icsk_rto), CSK(icsk_ca_state), CSK(icsk_retransmits), CSK(icsk_backoff),
	ROW(struct tcp_sock, "TcpSock", "icsk_ack_pending", inet_conn.icsk_ack.pending),
	CSK(icsk_ca_priv), CSK(icsk_ca_ops),
	TP(tcp_mstamp), TP(tcp_clock_cache), TP(tcp_wstamp_ns), TP(lsndtime), TP(snd_una),
	TP(snd_nxt), TP(write_seq), TP(high_seq), TP(undo_marker), TP(undo_retrans), TP(snd_wnd),
	TP(max_window), TP(mss_cache), TP(srtt_us), TP(mdev_us), TP(rttvar_us), TP(rtt_min),
	TP(snd_cwnd), TP(snd_cwnd_cnt), TP(snd_cwnd_clamp), TP(snd_cwnd_stamp), TP(snd_ssthresh),
	TP(prior_cwnd), TP(prior_ssthresh), TP(packets_out), TP(retrans_out), TP(sacked_out),
	TP(lost_out), TP(max_packets_out), TP(cwnd_usage_seq), TP(is_cwnd_limited), TP(ecn_flags),
	TP(delivered), TP(delivered_ce), TP(lost), TP(total_retrans), TP(data_segs_out),
	TP(app_limited), TP(first_tx_mstamp), TP(delivered_mstamp), TP(rate_delivered),
	TP(rate_interval_us), TP(rate_app_limited), TP(reordering),
	ROW(struct tcp_sock, "TcpSock", "rcv_tsval", rx_opt.rcv_tsval),
	ROW(struct tcp_sock, "TcpSock", "rcv_tsecr", rx_opt.rcv_tsecr),
	ROW(struct tcp_sock, "TcpSock", "rack_rtt_us", rack.rtt_us),
	TP(rcv_nxt), TP(reord_seen), TP(fast_ack_mode), TP(is_sack_reneg),
	TP(tlp_orig_data_app_limited), TP(wants_cwr), TP(bytes_acked), TP(bytes_sent),
	TP(bytes_retrans),
	RS(prior_mstamp), RS(prior_delivered), RS(prior_delivered_ce), RS(delivered),
	RS(delivered_ce), RS(interval_us), RS(snd_interval_us), RS(rcv_interval_us), RS(rtt_us),
	RS(losses), RS(acked_sacked), RS(prior_in_flight), RS(last_end_seq), RS(is_app_limited),
	RS(is_retrans), RS(is_ack_delayed), RS(is_ece),
	RS(is_acking_tlp_retrans_seq), RS(tx_in_flight), RS(lost),
	AS(pkts_acked), AS(rtt_us), AS(in_flight),
	INFO(bw_bytes_per_s), INFO(flags), INFO(state), INFO(min_rtt_us), INFO(pacing_gain),
	INFO(cwnd_gain), INFO(inflight_lo), INFO(inflight_hi),
};
/* clang-format on */
const u64 cca_layout_rows = ARRAY_SIZE(cca_layout);

u32 cca_minmax_running_min(struct minmax *m, u32 win, u32 t, u32 v)
{
	return minmax_running_min(m, win, t, v);
}
