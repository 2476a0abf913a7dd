/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The hooks of a controller; kernel.h, or what a host has instead of it, includes this. */
#ifndef CCA_OPS_H
#define CCA_OPS_H

/*
 * A burst that was just marked lost, argument of skb_marked_lost(); what it was sent with.
 * Beyond Linux 6.12 (as the sk_buff in Google's v2alpha tree); simulator only.
 */
struct lost_burst {
	u32 segs;	       /* segments in it, all marked at once (tp->lost counts them) */
	u32 tx_in_flight;      /* segments in flight when it was sent, itself included */
	u32 lost_at_send;      /* tp->lost then */
	u32 delivered_at_send; /* tp->delivered then */
	bool is_app_limited;   /* it was sent with a bubble in the pipe */
};

/*
 * Where the kernel's own struct of this name is there as well, ours has another one: beside a loaded
 * module (hosts/module/ops.h), and inside a kernel module (hosts/kmod/kernel.h).
 */
#ifndef CCA_OPS_TAG
#define CCA_OPS_TAG tcp_congestion_ops
#endif

/* The controller's hooks; when each is called is in tcp_input.c: tcp_ack(). */
struct CCA_OPS_TAG {
	/* Congestion begins: return the new slow-start threshold, segments (required). */
	u32 (*ssthresh)(struct sock *sk);
	/* `acked` segments delivered, outside recovery: grow (required without cong_control). */
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	/* icsk_ca_state is about to become new_state. */
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event ev);
	/* An ACK arrived; flags: enum tcp_ca_ack_event_flags. */
	void (*in_ack_event)(struct sock *sk, u32 flags);
	/* An ACK arrived; called before state, window and rate are updated. */
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	/* Minimum number of segments in a burst. */
	u32 (*min_tso_segs)(struct sock *sk);
	/* Last step of each ACK: set cwnd and pacing rate. Replaces cong_avoid, PRR
	 * and the stack's own pacing rate.
	 */
	void (*cong_control)(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs);
	/* The reduction was spurious: return the window to go back to, segments (required). */
	u32 (*undo_cwnd)(struct sock *sk);
	/* Factor of the send buffer over the window; 2 when absent. */
	u32 (*sndbuf_expand)(struct sock *sk);
	char name[TCP_CA_NAME_MAX];
	u32 flags; /* TCP_CONG_* */
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
#ifndef CCA_HOST_BPF
	/* Report estimates; stands in for get_info(), which BPF may not have. */
	void (*info)(struct sock *sk, struct cca_info *info);
	/* A burst was marked lost, for each, before the ACK that showed it is reported. */
	void (*skb_marked_lost)(struct sock *sk, const struct lost_burst *lost);
	/* Segments in a burst with segments of `mss` bytes; replaces the stack's autosizing. */
	u32 (*tso_segs)(struct sock *sk, u32 mss);
#endif
};

#endif /* CCA_OPS_H */
