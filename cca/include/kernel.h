/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The slice of the Linux kernel that a congestion controller may see.
 *
 * Names and nesting are Linux's (6.12): struct sock inside struct inet_sock
 * inside struct inet_connection_sock inside struct tcp_sock. This one header is
 *  - the documentation of what a controller may read and write,
 *  - under BPF, the view of the running kernel's structs: they carry
 *    preserve_access_index, so that the loader (CO-RE) replaces every offset
 *    below by that of the running kernel,
 *  - natively, the memory that the simulated TCP keeps per flow.
 *
 * "W" marks what a controller may write. The other fields are CCA_RO, so that the
 * compiler refuses what the kernel refuses of a BPF program (net/ipv4/bpf_tcp_ca.c).
 *
 * Units: "segments" are packets of mss_cache bytes of payload, "jiffies" are
 * ticks of 1/HZ s, "seq" are 32-bit byte sequence numbers that wrap (compare
 * them with before() and after()).
 */
#ifndef CCA_KERNEL_H
#define CCA_KERNEL_H

#include "types.h"

/* ssthresh of a connection that has met no congestion yet, in segments. */
#define TCP_INFINITE_SSTHRESH 0x7fffffff
/* Initial window in segments (RFC 6928). */
#define TCP_INIT_CWND 10
/* Longest name of a controller, closing zero included. */
#define TCP_CA_NAME_MAX 16
/* Room for private state inside the socket, in bytes. */
#define ICSK_CA_PRIV_SIZE 104
/* Room that Linux reserves for headers in a buffer, in bytes (MAX_TCP_HEADER of
 * a common x86-64 configuration: 128 + MAX_HEADER, rounded to cache lines).
 */
#define MAX_TCP_HEADER 320
/* Largest packet that GSO built before BIG TCP, in bytes. */
#define GSO_LEGACY_MAX_SIZE 65536

#define USEC_PER_MSEC	    1000U
#define USEC_PER_SEC	    1000000U
#define MSEC_PER_SEC	    1000U
#define NSEC_PER_USEC	    1000U

/* Flags of struct tcp_congestion_ops. */
#define TCP_CONG_NON_RESTRICTED 0x1 /* any user may choose it */
#define TCP_CONG_NEEDS_ECN	0x2 /* negotiate ECN, mark every packet ECT */
/* Since Linux 7.0; hosts whose kernel does not know them leave them out. */
#define TCP_CONG_NEEDS_ACCECN	   0x4 /* ... accurate ECN */
#define TCP_CONG_ECT_1_NEGOTIATION 0x8 /* ... and ECT(1) on every packet then */

/* The bits of ecn_flags that say: ECN was negotiated; it is accurate ECN (since Linux 6.18). */
#define TCP_ECN_OK	    1
#define TCP_ECN_MODE_ACCECN 16

/* The bit of cong_control()'s `flag` that says: this ACK carried ECE. */
#define FLAG_ECE 0x40

/* States of loss recovery (icsk_ca_state). */
enum tcp_ca_state {
	TCP_CA_Open = 0,     /* nothing is wrong */
	TCP_CA_Disorder = 1, /* something was SACKed or duplicated */
	TCP_CA_CWR = 2,	     /* reducing because of ECN or a local event */
	TCP_CA_Recovery = 3, /* fast retransmission */
	TCP_CA_Loss = 4,     /* retransmission timeout */
};

/* Events of cwnd_event(). */
enum tcp_ca_event {
	CA_EVENT_TX_START,     /* data is sent and nothing was in flight */
	CA_EVENT_CWND_RESTART, /* window restarts after idle */
	CA_EVENT_COMPLETE_CWR, /* CWR or Recovery ended (not with cong_control) */
	CA_EVENT_LOSS,	       /* retransmission timeout */
	CA_EVENT_ECN_NO_CE,    /* receiver: ECT packet without CE */
	CA_EVENT_ECN_IS_CE,    /* receiver: CE packet */
	/* Beyond Linux 6.12 (as in Google's v3 tree); simulator only. */
	CCA_EVENT_TLP_RECOVERY, /* a tail loss probe has repaired a loss */
};

/* Flags of in_ack_event(). */
enum tcp_ca_ack_event_flags {
	CA_ACK_SLOWPATH = 1 << 0,   /* took the slow path of ACK processing */
	CA_ACK_WIN_UPDATE = 1 << 1, /* updated the send window */
	CA_ACK_ECE = 1 << 2,	    /* carried ECE */
};

/* Who paces the socket (sk_pacing_status). */
enum sk_pacing {
	SK_PACING_NONE = 0,   /* nobody */
	SK_PACING_NEEDED = 1, /* TCP itself, with a timer per socket */
	SK_PACING_FQ = 2,     /* the fq queue discipline */
};

/* One sample of a windowed minimum or maximum. */
struct minmax_sample {
	u32 t; /* when, in the unit of the filter's window */
	u32 v; /* value */
};

/* Windowed minimum or maximum, best sample first; see math.h. */
struct minmax {
	struct minmax_sample s[3];
};

/* Ours (info.h), not the kernel's, whose structs follow. */
struct cca_info;

/*
 * What only TCP writes. Modules (hosts/module) are bound by no such rule: a kernel
 * loads them whatever they write.
 */
#ifndef CCA_RO
#define CCA_RO const
#endif

/* A stamp in us, which was a struct before Linux 4.13 (hosts/module/stamp.h). */
#ifndef CCA_STAMP
#define CCA_STAMP u64
#endif

#ifdef CCA_HOST_BPF
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
/* A bit-field of the kernel; read it through its accessor in the host header. */
#define CCA_BITS(type, name, bits) type name : bits
#else
#define CCA_BITS(type, name, bits) type name
/*
 * What the simulator keeps for a flow besides the kernel's fields. Controllers
 * reach it only through cca.h (param(), tcp_jiffies32, HZ, random numbers,
 * large private state).
 */
struct cca_host {
	u64 rng;	   /* state of the flow's random numbers */
	const u32 *params; /* values of the controller's parameters */
	void *storage;	   /* large private state, or NULL */
	u32 hz;		   /* jiffies per second, > 0 */
	u32 jiffies;	   /* now, in jiffies; wraps */
};
#endif

#ifndef CCA_HOST_BPF
/* Addresses and ports of the flow, as in its capture; for loaded modules, under the kernel's names. */
struct in6_addr {
	union {
		u8 u6_addr8[16];
		u16 u6_addr16[8];
		u32 u6_addr32[4];
	} in6_u;
};

struct sock_common {
	u32 skc_daddr;	   /* the receiver's address, network byte order */
	u32 skc_rcv_saddr; /* the sender's, network byte order */
	u32 skc_hash;	   /* of both addresses and ports */
	u16 skc_dport;	   /* the receiver's port, network byte order */
	u16 skc_num;	   /* the sender's, in this machine's byte order */
	u16 skc_family;	   /* AF_INET */
	u8 skc_state;	   /* 1: TCP_ESTABLISHED */
	struct in6_addr skc_v6_daddr, skc_v6_rcv_saddr; /* none: all 0 */
};
#endif

struct sock {
	cca_ulong sk_pacing_rate;	     /* W bytes (payload) per s; ~0: unlimited */
	CCA_RO cca_ulong sk_max_pacing_rate; /* bytes per s; set by the application */
	u32 sk_pacing_status;		     /* W enum sk_pacing */
	CCA_RO u32 sk_gso_max_size;	     /* largest burst, bytes */
	CCA_RO u16 sk_gso_max_segs;	     /* largest burst, segments */
	CCA_RO u8 sk_pacing_shift;	     /* a burst lasts 2^-shift s at the pacing rate */
#ifndef CCA_HOST_BPF
	u8 sk_state; /* 1: TCP_ESTABLISHED; for loaded modules */
	struct cca_host sk_host;
	union {
		struct proto *sk_prot; /* W its operations (setsockopt); for loaded modules */
		u64 sk_prot_bits;      /* 64 bits whatever a pointer has */
	};
	struct sock_common __sk_common;
	u32 sk_mark; /* mark of its packets, which nobody sets: 0 */
#endif
};

struct tcp_congestion_ops;

struct inet_sock {
	struct sock sk; /* must be first */
#ifndef CCA_HOST_BPF
	u32 inet_saddr; /* the sender's address, network byte order; for loaded modules */
	u16 inet_sport; /* its port, network byte order */
	u8 tos;		/* type of service that the application asked for: 0 */
#endif
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;	       /* must be first */
	CCA_RO u32 icsk_rto;		       /* retransmission timeout, jiffies */
	CCA_RO CCA_BITS(u8, icsk_ca_state, 5); /* enum tcp_ca_state; inet_csk_ca_state(sk) */
	CCA_RO u8 icsk_retransmits;	       /* timeouts in a row */
	CCA_RO u8 icsk_backoff;		       /* doublings of icsk_rto in force */
	struct {
		u8 pending; /* W state of the delayed ACK */
	} icsk_ack;
	u64 icsk_ca_priv[ICSK_CA_PRIV_SIZE / sizeof(u64)]; /* W private state */
	const struct tcp_congestion_ops *icsk_ca_ops;	   /* its hooks; W of a loaded module */
};

struct tcp_sock {
	struct inet_connection_sock inet_conn; /* must be first */

	/* Clocks. */
	CCA_RO CCA_STAMP tcp_mstamp; /* now, us */
	CCA_RO u64 tcp_clock_cache;  /* now, ns */
	CCA_RO u64 tcp_wstamp_ns;    /* earliest departure of the next packet, ns */
	CCA_RO u32 lsndtime;	     /* last data sent, jiffies */

	/* Sequence space. */
	CCA_RO u32 snd_una;	 /* first byte not acknowledged, seq */
	CCA_RO u32 snd_nxt;	 /* next byte to send, seq */
	CCA_RO u32 write_seq;	 /* end of what the application wrote, seq */
	CCA_RO u32 high_seq;	 /* snd_nxt when congestion began, seq */
	CCA_RO u32 undo_marker;	 /* snd_una when recovery began; 0: no undo */
	CCA_RO s32 undo_retrans; /* retransmissions not yet reported as duplicates */
	CCA_RO u32 snd_wnd;	 /* window offered by the receiver, bytes */
	CCA_RO u32 max_window;	 /* largest snd_wnd seen, bytes */
	CCA_RO u32 mss_cache;	 /* payload of a full segment, bytes */

	/* Round-trip time. */
	CCA_RO u32 srtt_us;	      /* smoothed RTT, 1/8 us; 0: none yet */
	CCA_RO u32 mdev_us;	      /* mean deviation, 1/4 us */
	CCA_RO u32 rttvar_us;	      /* variance used for the RTO, 1/4 us */
	CCA_RO struct minmax rtt_min; /* minimum RTT of 300 s, us; time in jiffies */

	/* Window, in segments. */
	u32 snd_cwnd;		   /* W congestion window */
	u32 snd_cwnd_cnt;	   /* W linear increase: segments credited */
	CCA_RO u32 snd_cwnd_clamp; /* never above */
	CCA_RO u32 snd_cwnd_stamp; /* last change or validation, jiffies */
	u32 snd_ssthresh;	   /* W slow-start threshold */
	CCA_RO u32 prior_cwnd;	   /* window when recovery began */
	CCA_RO u32 prior_ssthresh; /* threshold to restore on undo; 0: none */

	/* Segments out. */
	CCA_RO u32 packets_out;	    /* sent, not cumulatively acknowledged */
	CCA_RO u32 retrans_out;	    /* of these: retransmissions in flight */
	CCA_RO u32 sacked_out;	    /* of these: SACKed */
	CCA_RO u32 lost_out;	    /* of these: marked lost */
	CCA_RO u32 max_packets_out; /* largest packets_out of the last window */
	CCA_RO u32 cwnd_usage_seq;  /* end of that window, seq */
	CCA_RO CCA_BITS(u8, is_cwnd_limited,
			1); /* cwnd held data back; tcp_cwnd_limited_flag(tp) */
	u8 ecn_flags;	    /* W state of ECN */

	/* Totals of the connection, in segments; they wrap. */
	CCA_RO u32 delivered;	  /* delivered, retransmissions included */
	CCA_RO u32 delivered_ce;  /* of these: echoed as CE-marked */
	CCA_RO u32 lost;	  /* marked lost, again lost ones included */
	CCA_RO u32 total_retrans; /* retransmitted */
	CCA_RO u32 data_segs_out; /* data segments sent, retransmissions included */

	/* Delivery rate. */
	u32 app_limited; /* W samples up to this `delivered` are limited; 0: none */
	CCA_RO CCA_STAMP first_tx_mstamp;	  /* start of the current sending interval, us */
	CCA_RO CCA_STAMP delivered_mstamp;	  /* time of the last delivery, us */
	CCA_RO u32 rate_delivered;		  /* last good rate sample: segments ... */
	CCA_RO u32 rate_interval_us;		  /* ... in this time, us */
	CCA_RO CCA_BITS(u8, rate_app_limited, 1); /* ... while application-limited */

	CCA_RO u32 reordering; /* tolerated reordering, segments */

#ifndef CCA_HOST_BPF
	/* For loaded modules (cca/hosts/module), which may ask for more. */
	struct {
		u32 rcv_tsval; /* timestamp of the last ACK, ms */
		u32 rcv_tsecr; /* ... and the one that it echoes, ms */
	} rx_opt;
	struct {
		u32 rtt_us; /* RTT of the segment last delivered, us */
	} rack;
	u32 rcv_nxt;		      /* next byte expected of the peer, seq */
	u8 reord_seen;		      /* reordering was seen */
	u8 fast_ack_mode;	      /* W of Google's trees; no effect here */
	u8 is_sack_reneg;	      /* the receiver took back a SACK; always 0 here */
	u8 tlp_orig_data_app_limited; /* what a tail loss probe repeats was app-limited */
	u8 wants_cwr;		      /* W a hook asked for a reduction (tcp_enter_cwr) */
	u64 bytes_acked;	      /* acknowledged, the SYN counts as one, bytes */
	u64 bytes_sent;		      /* payload sent, retransmissions included, bytes */
	u64 bytes_retrans;	      /* of these: retransmitted, bytes */
#endif
};

/* Delivery-rate sample of one ACK, argument of cong_control() (net/ipv4/tcp_rate.c). */
struct rate_sample {
	u64 prior_mstamp;	/* start of the interval, us */
	u32 prior_delivered;	/* tp->delivered at that time */
	u32 prior_delivered_ce; /* tp->delivered_ce at that time */
	s32 delivered;		/* segments delivered over the interval; < 0: invalid */
	s32 delivered_ce;	/* of these: CE-marked */
	cca_long interval_us;	/* length of the interval, us; <= 0: invalid */
	u32 snd_interval_us;	/* time in which they were sent, us */
	u32 rcv_interval_us;	/* time in which they were acknowledged, us */
	cca_long rtt_us;	/* RTT of the last newly (S)ACKed segment, us; -1: none */
	int losses;		/* segments newly marked lost by this ACK */
	u32 acked_sacked;	/* segments newly (S)ACKed by this ACK */
	u32 prior_in_flight;	/* segments in flight before this ACK */
	u32 last_end_seq;	/* end of the sampled segment, seq */
	bool is_app_limited;	/* the sampled segment was sent with a bubble in the pipe */
	bool is_retrans;	/* the sampled segment was a retransmission */
	bool is_ack_delayed;	/* this was probably a delayed ACK */
#ifndef CCA_HOST_BPF
	/* Beyond Linux 6.12 (as in Google's v2alpha and v3 trees); simulator only. */
	bool is_ece;			/* this ACK carried ECE */
	bool is_acking_tlp_retrans_seq; /* ... ends at a tail loss probe: original or probe? (v3) */
	u32 tx_in_flight; /* in flight when the sampled segment was sent, itself included */
	u32 lost;	  /* segments marked lost since the sampled segment was sent */
#endif
};

/* Argument of pkts_acked(). */
struct ack_sample {
	u32 pkts_acked; /* segments cumulatively acknowledged by this ACK */
	s32 rtt_us;	/* RTT of the last newly (S)ACKed segment, us; < 0: none */
	u32 in_flight;	/* bytes delivered between the sample's sending and now */
};

/* Inside the attribute of BPF above: the loader fits the hooks to the running kernel as well. */
#include "ops.h"

#ifdef CCA_HOST_BPF
#pragma clang attribute pop
#endif

#endif /* CCA_KERNEL_H */
