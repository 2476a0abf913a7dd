/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The socket and what TCP offers to its controllers: time, segments, Reno's functions.
 *
 * The socket is the simulator's (cca/include/kernel.h). cca_module_sk is the one whose hook
 * runs: the kernel's clocks are global, here each flow has its own. While module_init() runs it is one that stands for
 * the machine (module.c).
 */
#ifndef DUMBBELL_MODULE_SOCK_H
#define DUMBBELL_MODULE_SOCK_H

extern struct sock *cca_module_sk;

/* ---- the socket ---- */

/* ecn_flags */
#define TCP_ECN_OK	      1
#define TCP_ECN_QUEUE_CWR     2
#define TCP_ECN_DEMAND_CWR    4
#define TCP_ECN_SEEN	      8
#define TCP_ECN_LOW	      32
#define TCP_ECN_ECT_PERMANENT 16

/* cwnd_event() of Google's v3 tree: a tail loss probe has repaired a loss. */
#define CA_EVENT_TLP_RECOVERY	 CCA_EVENT_TLP_RECOVERY

#define TCP_CONG_MASK		 (TCP_CONG_NON_RESTRICTED | TCP_CONG_NEEDS_ECN)
#define TCP_CONG_WANTS_CE_EVENTS 0x4
#define TCP_RTO_MIN		 ((unsigned int)(HZ / 5))
#define TCP_RTO_MAX		 ((unsigned int)(120 * HZ))
#define TCP_TIMEOUT_INIT	 ((unsigned int)(1 * HZ))
#define TCP_MIN_SND_MSS		 48
#define TCP_BASE_MSS		 1024
#define TCP_MSS_DEFAULT		 536
#define TCP_NUM_SACKS		 4
#define TCP_FASTRETRANS_THRESH	 3
#define TCPF_CA_Open		 (1 << TCP_CA_Open)
#define TCPF_CA_Disorder	 (1 << TCP_CA_Disorder)
#define TCPF_CA_CWR		 (1 << TCP_CA_CWR)
#define TCPF_CA_Recovery	 (1 << TCP_CA_Recovery)
#define TCPF_CA_Loss		 (1 << TCP_CA_Loss)
#define GSO_MAX_SIZE		 GSO_LEGACY_MAX_SIZE

static inline struct tcp_sock *tcp_sk(const struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static inline struct inet_connection_sock *inet_csk(const struct sock *sk)
{
	return (struct inet_connection_sock *)sk;
}

/* The private state, outside of the socket because it may be larger than Linux allows. */
static inline void *inet_csk_ca(const struct sock *sk)
{
	return sk->sk_host.storage;
}

static inline u8 inet_csk_ca_state(const struct sock *sk)
{
	return inet_csk(sk)->icsk_ca_state;
}

static inline bool tcp_cwnd_limited_flag(const struct tcp_sock *tp)
{
	return tp->is_cwnd_limited;
}

#define tcp_reno_ssthresh    cca_reno_threshold
#define tcp_current_ssthresh cca_current_threshold
#include "../../include/tcp.h"
#undef tcp_reno_ssthresh
#undef tcp_current_ssthresh

/* ---- time ---- */

#define HZ	      CCA_MODULE_HZ
#define TCP_TS_HZ     1000 /* ticks of the timestamp option */
#define NSEC_PER_MSEC 1000000L
#define NSEC_PER_SEC  1000000000L
static inline u32 cca_module_jiffies(void)
{
	return cca_module_sk->sk_host.jiffies;
}

/* `jiffies` is a macro from here on. */
static inline void cca_module_set_jiffies(struct sock *sk, u32 now)
{
	sk->sk_host.jiffies = now;
}

#define tcp_jiffies32		     cca_module_jiffies()
#define jiffies			     ((unsigned long)cca_module_jiffies())
#define jiffies_64		     ((u64)cca_module_jiffies())
#define time_after(a, b)	     ((long)((b) - (a)) < 0)
#define time_before(a, b)	     time_after(b, a)
#define time_after_eq(a, b)	     ((long)((a) - (b)) >= 0)
#define time_before_eq(a, b)	     time_after_eq(b, a)
#define time_in_range(t, a, b)	     (time_after_eq(t, a) && time_before_eq(t, b))
#define time_in_range_open(t, a, b)  (time_after_eq(t, a) && time_before(t, b))
#define time_is_before_jiffies(t)    time_after(jiffies, t)
#define time_is_after_jiffies(t)     time_before(jiffies, t)
#define time_is_before_eq_jiffies(t) time_after_eq(jiffies, t)
#define time_is_after_eq_jiffies(t)  time_before_eq(jiffies, t)
#define time_after64(a, b)	     ((s64)((u64)(b) - (u64)(a)) < 0)
#define time_before64(a, b)	     time_after64(b, a)
#define time_after_eq64(a, b)	     ((s64)((u64)(a) - (u64)(b)) >= 0)
#define time_before_eq64(a, b)	     time_after_eq64(b, a)
#define time_between32(t, from, to)  ((u32)(to) - (u32)(from) >= (u32)(t) - (u32)(from))
#define time_after32(a, b)	     ((s32)((u32)(b) - (u32)(a)) < 0)
#define time_before32(a, b)	     time_after32(b, a)
#define msecs_to_jiffies(ms)	     ((unsigned long)DIV_ROUND_UP((u64)(ms)*HZ, MSEC_PER_SEC))
#define usecs_to_jiffies(us)	     ((unsigned long)DIV_ROUND_UP((u64)(us)*HZ, USEC_PER_SEC))
#define nsecs_to_jiffies(ns)	     ((unsigned long)((u64)(ns)*HZ / NSEC_PER_SEC))
#define jiffies_to_msecs(j)	     ((unsigned int)((u64)(j)*MSEC_PER_SEC / HZ))
#define jiffies_to_usecs(j)	     ((unsigned int)((u64)(j)*USEC_PER_SEC / HZ))
#define jiffies_to_nsecs(j)	     ((u64)(j) * (NSEC_PER_SEC / HZ))
#define jiffies64_to_msecs(j)	     ((u64)(j)*MSEC_PER_SEC / HZ)
#define jiffies64_to_nsecs(j)	     ((u64)(j) * (NSEC_PER_SEC / HZ))
#define nsecs_to_jiffies64(ns)	     ((u64)(ns)*HZ / NSEC_PER_SEC)
#define secs_to_jiffies(s)	     ((unsigned long)(s)*HZ)
#define get_jiffies_64()	     jiffies_64
#define MAX_JIFFY_OFFSET	     ((LONG_MAX >> 1) - 1)
#define INITIAL_JIFFIES		     ((unsigned long)(unsigned int)(-300 * HZ))
#define TICK_NSEC		     ((NSEC_PER_SEC + HZ / 2) / HZ)
#define USEC_PER_JIFFY		     (USEC_PER_SEC / HZ)
#define tcp_clock_ns()		     ((u64)tcp_sk(cca_module_sk)->tcp_clock_cache)
#define tcp_clock_us()		     (tcp_clock_ns() / NSEC_PER_USEC)
#define tcp_clock_ms()		     (tcp_clock_ns() / NSEC_PER_MSEC)
#define ktime_get()		     ((ktime_t)tcp_clock_ns())
#define ktime_get_ns()		     tcp_clock_ns()
#define ktime_get_real()	     ktime_get()
#define ktime_get_real_ns()	     tcp_clock_ns()
#define ktime_to_us(t)		     ((s64)(t) / 1000)
#define ktime_to_ms(t)		     ((s64)(t) / NSEC_PER_MSEC)
#define ktime_to_ns(t)		     ((s64)(t))
#define ktime_get_seconds()	     ((s64)(tcp_clock_ns() / NSEC_PER_SEC))
#define get_seconds()		     ((unsigned long)ktime_get_seconds())
#define ktime_get_boottime()	     ktime_get()
#define ktime_compare(a, b)	     ((a) < (b) ? -1 : (a) > (b))
#define ktime_before(a, b)	     ((a) < (b))
#define ktime_after(a, b)	     ((a) > (b))
#define ktime_add(a, b)		     ((a) + (b))
#define ktime_add_ns(a, b)	     ((a) + (s64)(b))
#define ktime_add_us(a, b)	     ((a) + (s64)(b)*1000)
#define ktime_add_ms(a, b)	     ((a) + (s64)(b)*NSEC_PER_MSEC)
#define ktime_sub_us(a, b)	     ((a) - (s64)(b)*1000)
#define ktime_ms_delta(a, b)	     ktime_to_ms((a) - (b))
#define ktime_us_delta(a, b)	     ktime_to_us((a) - (b))
#define ktime_sub(a, b)		     ((a) - (b))
#define ktime_sub_ns(a, b)	     ((a) - (s64)(b))
#define ktime_sub_ms(a, b)	     ((a) - (s64)(b)*NSEC_PER_MSEC)
#define ktime_add_safe(a, b)	     ktime_add(a, b)
#define ktime_divns(t, n)	     ((s64)(t) / (s64)(n))
#define ktime_set(s, ns)	     ((ktime_t)((s64)(s)*NSEC_PER_SEC + (s64)(ns)))
#define ktime_mono_to_real(t)	     (t)
#define ktime_get_raw()		     ktime_get()
#define ktime_get_raw_ns()	     tcp_clock_ns()
#define ktime_get_coarse()	     ktime_get()
#define ktime_get_coarse_ns()	     tcp_clock_ns()
#define ktime_get_boottime_ns()	     tcp_clock_ns()
#define ktime_get_boottime_seconds() ktime_get_seconds()
#define ktime_get_mono_fast_ns()     tcp_clock_ns()
#define ktime_get_real_seconds()     ktime_get_seconds()
#define ns_to_ktime(ns)		     ((ktime_t)(ns))
#define us_to_ktime(us)		     ((ktime_t)(us)*1000)
#define ms_to_ktime(ms)		     ((ktime_t)(ms)*NSEC_PER_MSEC)
#define KTIME_MAX		     ((ktime_t)S64_MAX)
#define local_clock()		     tcp_clock_ns()
#define sched_clock()		     tcp_clock_ns()
#ifdef CCA_MODULE_OLD_STAMPS
#define tcp_time_stamp tcp_jiffies32
#else
#define tcp_time_stamp(tp) ((u32)((tp)->tcp_mstamp / 1000))
#endif
#define tcp_time_stamp_ms(tp) ((u32)((tp)->tcp_mstamp / 1000))
#define tcp_time_stamp_ts(tp) ((u32)((tp)->tcp_mstamp / 1000))

/* ---- random numbers: the flow's own stream ---- */

extern u64 cca_module_random(void);
#define get_random_u32()		 ((u32)(cca_module_random() >> 32))
#define get_random_u16()		 ((u16)(cca_module_random() >> 48))
#define get_random_u8()			 ((u8)(cca_module_random() >> 56))
#define get_random_u64()		 cca_module_random()
#define get_random_u32_below(n)		 ((u32)((((u64)get_random_u32()) * (n)) >> 32))
#define get_random_u32_inclusive(lo, hi) ((lo) + get_random_u32_below((hi) - (lo) + 1))
#define get_random_long()		 ((unsigned long)cca_module_random())
#define get_random_u32_above(n)		 get_random_u32_inclusive((n) + 1, U32_MAX)
#define prandom_bytes(to, size)		 get_random_bytes(to, size)
#define net_get_random_once(to, size)               \
	({                                          \
		static bool _is_there;              \
		bool _now = !_is_there;             \
		_is_there = true;                   \
		if (_now)                           \
			get_random_bytes(to, size); \
		_now;                               \
	})
#define get_random_once(to, size) net_get_random_once(to, size)
#define prandom_u32()		  get_random_u32()
#define prandom_u32_max(n)	  get_random_u32_below(n)
#define get_random_bytes(to, size)                                 \
	do {                                                       \
		u8 *_to = (u8 *)(to);                              \
		size_t _i, _n = (size);                            \
		for (_i = 0; _i < _n; _i++)                        \
			_to[_i] = (u8)(cca_module_random() >> 56); \
	} while (0)

/* ---- segments, for hooks that get one (skb_marked_lost) ---- */

struct tcp_skb_cb {
	u32 seq, end_seq;
	u16 tcp_gso_segs, tcp_gso_size;
	u8 tcp_flags;
	u8 sacked;
	struct {
		u32 is_app_limited : 1, delivered_ce : 20, unused : 11;
		u32 delivered;
		u64 first_tx_mstamp;
		u64 delivered_mstamp;
		u32 in_flight : 20, unused2 : 12;
		u32 lost;
	} tx;
};
struct sk_buff {
	struct tcp_skb_cb cb;
	unsigned int len;
};
#define TCP_SKB_CB(skb)	     ((struct tcp_skb_cb *)&(skb)->cb)
#define TCPCB_SACKED_ACKED   0x01
#define TCPCB_SACKED_RETRANS 0x02
#define TCPCB_LOST	     0x04
#define TCPCB_EVER_RETRANS   0x80
#define TCPCB_RETRANS	     (TCPCB_SACKED_RETRANS | TCPCB_EVER_RETRANS)
#define tcp_skb_pcount(skb)  ((int)TCP_SKB_CB(skb)->tcp_gso_segs)
#define tcp_skb_mss(skb)     ((int)TCP_SKB_CB(skb)->tcp_gso_size)
#define tcp_skb_tx_in_flight_is_suspicious(pcount, sacked, in_flight) \
	((pcount) > (in_flight) && !((sacked)&TCPCB_LOST))

/* ---- functions of TCP ---- */

/* Is s1 <= s2 <= s3, as wrapping numbers? */
static inline bool between(u32 s1, u32 s2, u32 s3)
{
	return s3 - s2 >= s1 - s2;
}

/* Does TCP pace by a timer of its own (up to 4.19)? */
static inline bool tcp_needs_internal_pacing(const struct sock *sk)
{
	return sk->sk_pacing_status == SK_PACING_NEEDED;
}

static inline u32 tcp_highest_sack_seq(const struct tcp_sock *tp)
{
	return tp->sacked_out ? tp->snd_nxt : tp->snd_una;
}

static inline u32 tcp_left_out(const struct tcp_sock *tp)
{
	return tp->sacked_out + tp->lost_out;
}

static inline bool tcp_in_cwnd_reduction(const struct sock *sk)
{
	return (TCPF_CA_CWR | TCPF_CA_Recovery) & (1 << inet_csk_ca_state(sk));
}

static inline bool tcp_in_initial_slowstart(const struct tcp_sock *tp)
{
	return tp->snd_ssthresh >= TCP_INFINITE_SSTHRESH;
}

/* Three quarters of the window, or the threshold, unless a reduction goes on. */
static inline u32 tcp_current_ssthresh(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (tcp_in_cwnd_reduction(sk))
		return tp->snd_ssthresh;
	return max(tp->snd_ssthresh, (tp->snd_cwnd >> 1) + (tp->snd_cwnd >> 2));
}

/* End of the window that the receiver offers. */
static inline u32 tcp_wnd_end(const struct tcp_sock *tp)
{
	return tp->snd_una + tp->snd_wnd;
}

static inline u32 tcp_snd_wnd_packets(const struct tcp_sock *tp)
{
	return tp->snd_wnd / tp->mss_cache;
}

#define tcp_write_queue_empty(sk) (tcp_sk(sk)->write_seq == tcp_sk(sk)->snd_nxt)

/* The first buffer not yet sent, which holds all that the application wrote; NULL without any. */
static inline struct sk_buff *tcp_send_head(const struct sock *sk)
{
	static struct sk_buff head;
	const struct tcp_sock *tp = tcp_sk(sk);

	head.len = tp->write_seq - tp->snd_nxt;
	TCP_SKB_CB(&head)->seq = tp->snd_nxt;
	TCP_SKB_CB(&head)->end_seq = tp->write_seq;
	return head.len ? &head : NULL;
}

#define tcp_ecn_mode_any(tp)	 ((tp)->ecn_flags & TCP_ECN_OK)
#define tcp_ecn_mode_rfc3168(tp) tcp_ecn_mode_any(tp)
#define tcp_ca_needs_ecn(sk)	 (inet_csk(sk)->icsk_ca_ops->flags & TCP_CONG_NEEDS_ECN)
/* The receiver of a flow keeps its own delayed ACKs, so there is none here to send early. */
/* No BPF program knows a base RTT of the path. */
#define BPF_SOCK_OPS_BASE_RTT		  0
#define tcp_call_bpf(sk, op, n, args)	  ((void)(sk), -EINVAL)
#define tcp_call_bpf_2arg(sk, op, a, b)	  ((void)(sk), -EINVAL)
#define TCP_MAX_QUICKACKS		  16U
#define tcp_enter_quickack_mode(sk, most) ((void)(sk))
#define __tcp_send_ack(sk, ...)		  ((void)(sk))
#define tcp_send_ack(sk)		  ((void)(sk))

/* The size of an IP packet with `mss` bytes of payload and the timestamp option. */
static inline int tcp_mss_to_mtu(struct sock *sk, int mss)
{
	(void)sk;
	return mss + 52;
}

/*
 * Segments of what leaves in 2^-sk_pacing_shift s, as Linux offered it to modules up to 4.19, whose
 * sk_gso_max_size was the device's 64 KiB (6.12's has the headers taken off already).
 */
static inline u32 tcp_tso_autosize(const struct sock *sk, unsigned int mss, int min_segs)
{
	u64 bytes = min_t(u64, sk->sk_pacing_rate >> sk->sk_pacing_shift,
			  GSO_LEGACY_MAX_SIZE - 1 - MAX_TCP_HEADER);

	return max_t(u32, (u32)(bytes / mss), (u32)min_segs);
}

static inline u32 tcp_reno_ssthresh(struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd >> 1U, 2U);
}

static inline void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	(void)ack;
	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
}

static inline u32 tcp_reno_undo_cwnd(struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd, tcp_sk(sk)->prior_cwnd);
}

/* TCP begins the reduction as soon as the hook that asks for it returns. */
static inline void tcp_enter_cwr(struct sock *sk)
{
	tcp_sk(sk)->wants_cwr = 1;
}

/* ---- counters and settings of a network namespace: none are kept ---- */

struct net {
	struct {
		u8 sysctl_tcp_ecn, sysctl_tcp_plb_enabled, sysctl_tcp_plb_idle_rehash_rounds;
		u8 sysctl_tcp_plb_rehash_rounds, sysctl_tcp_plb_suspend_rto_sec;
		u8 sysctl_tcp_slow_start_after_idle, sysctl_tcp_no_ssthresh_metrics_save;
		u8 sysctl_tcp_min_tso_segs, sysctl_tcp_tso_rtt_log, sysctl_tcp_recovery;
		int sysctl_tcp_plb_cong_thresh, sysctl_tcp_pacing_ss_ratio;
		int sysctl_tcp_pacing_ca_ratio, sysctl_tcp_reordering;
	} ipv4;
};
extern struct net init_net;
#define sock_net(sk)		      ((void)(sk), &init_net)
#define NET_INC_STATS(net, item)      ((void)(net))
#define NET_ADD_STATS(net, item, add) ((void)(net), (void)(add))

/* Protective load balancing (net/ipv4/tcp_plb.c) changes paths, of which there is one. */
#define TCP_PLB_SCALE 8
struct tcp_plb_state {
	u8 consec_cong_rounds : 5, unused : 3;
	u32 pause_until;
};
#define tcp_plb_init(sk, plb)		       ((void)(sk), (void)(plb))
#define tcp_plb_update_state(sk, plb, ratio)   ((void)(sk), (void)(plb), (void)(ratio))
#define tcp_plb_check_rehash(sk, plb)	       ((void)(sk), (void)(plb))
#define tcp_plb_update_state_upon_rto(sk, plb) ((void)(sk), (void)(plb))

#endif /* DUMBBELL_MODULE_SOCK_H */
