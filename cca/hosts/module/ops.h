/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * States of a socket, and the hooks that a module registers: those of Linux 6.12 and those that Google's v2alpha and
 * v3 trees add. cong_control() had two arguments before Linux 6.10; CCA_MODULE_OLD_CONTROL
 * says that this module is of that time.
 */
#ifndef DUMBBELL_MODULE_OPS_H
#define DUMBBELL_MODULE_OPS_H

struct module;
struct sk_buff;

/* sk_state */
enum {
	TCP_ESTABLISHED = 1,
	TCP_SYN_SENT,
	TCP_SYN_RECV,
	TCP_FIN_WAIT1,
	TCP_FIN_WAIT2,
	TCP_TIME_WAIT,
	TCP_CLOSE,
	TCP_CLOSE_WAIT,
	TCP_LAST_ACK,
	TCP_LISTEN,
	TCP_CLOSING,
};

/* icsk_ack.pending */
enum inet_csk_ack_state_t {
	ICSK_ACK_SCHED = 1,
	ICSK_ACK_TIMER = 2,
	ICSK_ACK_PUSHED = 4,
	ICSK_ACK_PUSHED2 = 8,
	ICSK_ACK_NOW = 16,
	ICSK_ACK_NOMEM = 32,
};

/* Estimates that `ss -i` shows (linux/inet_diag.h). */
enum {
	INET_DIAG_NONE,
	INET_DIAG_MEMINFO,
	INET_DIAG_INFO,
	INET_DIAG_VEGASINFO,
	INET_DIAG_CONG,
	INET_DIAG_DCTCPINFO = 9,
	INET_DIAG_BBRINFO = 16,
};

struct tcpvegas_info {
	u32 tcpv_enabled; /* the estimates below are in use */
	u32 tcpv_rttcnt;  /* RTT samples of this round */
	u32 tcpv_rtt;	  /* RTT, us */
	u32 tcpv_minrtt;  /* minimum RTT, us */
};

struct tcp_dctcp_info {
	u16 dctcp_enabled;
	u16 dctcp_ce_state;
	u32 dctcp_alpha;
	u32 dctcp_ab_ecn;
	u32 dctcp_ab_tot;
};

struct tcp_bbr_info {
	u32 bbr_bw_lo;	     /* bandwidth, bytes/s: lower half */
	u32 bbr_bw_hi;	     /* ... and upper half */
	u32 bbr_min_rtt;     /* us */
	u32 bbr_pacing_gain; /* in 1/256 */
	u32 bbr_cwnd_gain;   /* in 1/256 */
	/* Since Google's v3. */
	u32 bbr_bw_hi_lsb, bbr_bw_hi_msb, bbr_bw_lo_lsb, bbr_bw_lo_msb;
	u8 bbr_mode, bbr_phase, unused1, bbr_version;
	u32 bbr_inflight_lo, bbr_inflight_hi, bbr_extra_acked;
};

/* Of Google's v2alpha tree; its first five words mean what those of tcp_bbr_info do. */
struct tcp_bbr2_info {
	u32 bbr_bw_lsb, bbr_bw_msb, bbr_min_rtt, bbr_pacing_gain, bbr_cwnd_gain;
	u32 bbr_bw_hi_lsb, bbr_bw_hi_msb, bbr_bw_lo_lsb, bbr_bw_lo_msb;
	u8 bbr_mode, bbr_phase, unused1, bbr_version;
	u32 bbr_inflight_lo, bbr_inflight_hi, bbr_extra_acked;
};

enum tcp_bbr2_phase {
	BBR2_PHASE_INVALID,
	BBR2_PHASE_STARTUP,
	BBR2_PHASE_DRAIN,
	BBR2_PHASE_PROBE_RTT,
	BBR2_PHASE_PROBE_BW_UP,
	BBR2_PHASE_PROBE_BW_DOWN,
	BBR2_PHASE_PROBE_BW_CRUISE,
	BBR2_PHASE_PROBE_BW_REFILL,
};
enum tcp_bbr_phase {
	BBR_PHASE_INVALID,
	BBR_PHASE_STARTUP,
	BBR_PHASE_DRAIN,
	BBR_PHASE_PROBE_RTT,
	BBR_PHASE_PROBE_BW_UP,
	BBR_PHASE_PROBE_BW_DOWN,
	BBR_PHASE_PROBE_BW_CRUISE,
	BBR_PHASE_PROBE_BW_REFILL,
};

union tcp_cc_info {
	struct tcpvegas_info vegas;
	struct tcp_dctcp_info dctcp;
	struct tcp_bbr_info bbr;
	struct tcp_bbr2_info bbr2;
};

struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event ev);
	void (*in_ack_event)(struct sock *sk, u32 flags);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*min_tso_segs)(struct sock *sk);
#ifdef CCA_MODULE_OLD_CONTROL
	void (*cong_control)(struct sock *sk, const struct rate_sample *rs);
#else
	void (*cong_control)(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs);
#endif
	u32 (*undo_cwnd)(struct sock *sk);
	u32 (*sndbuf_expand)(struct sock *sk);
	size_t (*get_info)(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info);
	char name[TCP_CA_NAME_MAX];
	struct module *owner;
	struct list_head list;
	u32 key;
	u32 flags;
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
	/* Of Google's trees. */
	u32 (*tso_segs)(struct sock *sk, unsigned int mss_now);
	void (*skb_marked_lost)(struct sock *sk, const struct sk_buff *skb);
	/* Of Linux 4.9 to 4.19: segments wanted in a burst, 0 for the stack's own number. */
	u32 (*tso_segs_goal)(struct sock *sk);
};

extern int tcp_register_congestion_control(struct tcp_congestion_ops *ops);
extern void tcp_unregister_congestion_control(struct tcp_congestion_ops *ops);

#endif /* DUMBBELL_MODULE_OPS_H */
