// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Linked to a kernel module: stands between its hooks and the simulator's, and starts and
 * stops it.
 */
#include "kernel_module.h"
#include "../../include/info.h"
#include "glue.h"

extern void abort(void) __attribute__((noreturn));

extern int cca_module_init(void) __attribute__((weak));
extern void cca_module_exit(void) __attribute__((weak));

/*
 * Stands for the machine where no flow's hook runs, as in module_init(): its clock is that of the start, its random
 * numbers are a stream of the run's own.
 */
static struct tcp_sock machine;
struct sock *cca_module_sk = (struct sock *)&machine;
u64 cca_module_seed;
/* As a kernel has them that nobody has set up (tcp_sk_init() of tcp_ipv4.c). */
struct net init_net = { .ipv4 = {
				.sysctl_tcp_ecn = 2,
				.sysctl_tcp_plb_idle_rehash_rounds = 3,
				.sysctl_tcp_plb_rehash_rounds = 12,
				.sysctl_tcp_plb_suspend_rto_sec = 60,
				.sysctl_tcp_plb_cong_thresh = (1 << TCP_PLB_SCALE) / 2,
				.sysctl_tcp_slow_start_after_idle = 1,
				.sysctl_tcp_no_ssthresh_metrics_save = 1,
				.sysctl_tcp_min_tso_segs = 2,
				.sysctl_tcp_tso_rtt_log = 9,
				.sysctl_tcp_recovery = 1,
				.sysctl_tcp_pacing_ss_ratio = 200,
				.sysctl_tcp_pacing_ca_ratio = 120,
				.sysctl_tcp_reordering = 3,
			} };

/*
 * Private state of a flow. Modules whose authors have switched off the check against ICSK_CA_PRIV_SIZE
 * have more than Linux grants; Google's trees grant more.
 */
enum { GRANTED_BYTES = 512 };
/* Simulated machines booted this long before a run (BOOT of crates/units). */
#define BOOT_NS 1000000000000ULL

static struct tcp_congestion_ops *registered;
static struct cca_host_ops host_ops;
static struct cca_module described;

const char *cca_module_error = "";
void (*cca_module_tell)(const char *file, int line, const char *what, int is_bug);

/* ---- what base.h and sock.h promise ---- */

void cca_module_warn(const char *file, int line, const char *what)
{
	cca_module_tell(file, line, what, CCA_TELL_WARNING);
}

void cca_module_bug(const char *file, int line, const char *what)
{
	cca_module_tell(file, line, what, CCA_TELL_BUG);
	abort();
}

void cca_module_end(const char *what)
{
	cca_module_tell("", 0, what, CCA_TELL_END);
	abort();
}

/* SplitMix64 on the flow's state, as cca_random_u64() of hosts/sim/host.h. */
u64 cca_module_random(void)
{
	u64 z = cca_module_sk->sk_host.rng += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/* ---- description ---- */

const struct cca_module *cca_module_describe(void)
{
	described.n_params = cca_module_params(&described.params);
	described.license = cca_module_license();
	described.priv_bytes = GRANTED_BYTES;
	described.is_large = 1;
	return &described;
}

/* ---- hooks ---- */

/* Every hook starts here: the clocks and random numbers are those of this flow. */
static inline const struct tcp_congestion_ops *enter(struct sock *sk)
{
	if (unlikely(cca_module_has_later))
		cca_module_do_later();
	cca_module_sk = sk;
	return inet_csk(sk)->icsk_ca_ops;
}

static int no_option(struct sock *sk, int level, int optname, sockptr_t optval, unsigned int optlen)
{
	(void)sk, (void)level, (void)optname, (void)optval, (void)optlen;
	return -ENOPROTOOPT;
}

struct proto tcp_prot = { .setsockopt = no_option, .name = "TCP" };

/* tcp-brutal has its rate from the application, by an option of the socket; here from parameters. */
#ifdef CCA_MODULE_BRUTAL
#define TCP_BRUTAL_PARAMS 23301

static unsigned long long rate;
module_param(rate, ullong, 0);
MODULE_PARM_DESC(rate, "rate that the application asks for, bytes/s; 0: it does not ask");
static unsigned int cwnd_gain = 20;
module_param(cwnd_gain, uint, 0);
MODULE_PARM_DESC(cwnd_gain, "window over rate times RTT, in tenths");

static void set_options(struct sock *sk)
{
	struct {
		u64 rate;
		u32 cwnd_gain;
	} __packed wanted = { rate, cwnd_gain };
	sockptr_t option = { .kernel = &wanted, .is_kernel = true };

	if (rate)
		BUG_ON(sk->sk_prot->setsockopt(sk, IPPROTO_TCP, TCP_BRUTAL_PARAMS, option,
					       sizeof(wanted)));
}
#else
static void set_options(struct sock *sk)
{
	(void)sk;
}
#endif

static void host_init(struct sock *sk)
{
	enter(sk);
	sk->sk_prot = &tcp_prot;
	inet_csk(sk)->icsk_ca_ops = registered;
	if (registered->init)
		registered->init(sk);
	set_options(sk);
}

/* A socket whose init() never ran (a test, a flow that never opened) has no hooks yet. */
static void host_release(struct sock *sk)
{
	const struct tcp_congestion_ops *ops = enter(sk);

	if (ops && ops->release)
		ops->release(sk);
}

static u32 host_ssthresh(struct sock *sk)
{
	return enter(sk)->ssthresh(sk);
}

static void host_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	const struct tcp_congestion_ops *ops = enter(sk);

	if (ops->cong_avoid)
		ops->cong_avoid(sk, ack, acked);
}

static void host_set_state(struct sock *sk, u8 new_state)
{
	const struct tcp_congestion_ops *ops = enter(sk);

	if (ops && ops->set_state)
		ops->set_state(sk, new_state);
}

static void host_cwnd_event(struct sock *sk, enum tcp_ca_event ev)
{
	const struct tcp_congestion_ops *ops = enter(sk);

	if (ops && ops->cwnd_event)
		ops->cwnd_event(sk, ev);
}

static void host_in_ack_event(struct sock *sk, u32 flags)
{
	const struct tcp_congestion_ops *ops = enter(sk);

	if (ops->in_ack_event)
		ops->in_ack_event(sk, flags);
}

static void host_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	const struct tcp_congestion_ops *ops = enter(sk);

	if (ops->pkts_acked)
		ops->pkts_acked(sk, sample);
}

static u32 host_min_tso_segs(struct sock *sk)
{
	return enter(sk)->min_tso_segs(sk);
}

static u32 host_tso_segs(struct sock *sk, u32 mss)
{
	const struct tcp_congestion_ops *ops = enter(sk);
	u32 segs;

	if (ops->tso_segs)
		return ops->tso_segs(sk, mss);
	segs = ops->tso_segs_goal(sk);
	return segs ? segs : tcp_tso_autosize(sk, mss, init_net.ipv4.sysctl_tcp_min_tso_segs);
}

/* The skb that a module of Google's trees expects, with the stamps that it looks at. */
static void host_skb_marked_lost(struct sock *sk, const struct lost_burst *lost)
{
	const struct tcp_congestion_ops *ops = enter(sk);
	struct sk_buff skb = { 0 };
	struct tcp_skb_cb *cb = TCP_SKB_CB(&skb);

	cb->tcp_gso_segs = (u16)lost->segs;
	cb->sacked = TCPCB_LOST;
	cb->tx.is_app_limited = lost->is_app_limited;
	cb->tx.delivered = lost->delivered_at_send;
	cb->tx.delivered_mstamp = lost->tx_in_flight ? 1 : 0;
	cb->tx.in_flight = lost->tx_in_flight;
	cb->tx.lost = lost->lost_at_send;
	ops->skb_marked_lost(sk, &skb);
}

static void host_cong_control(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
#ifdef CCA_MODULE_OLD_CONTROL
	(void)ack, (void)flag;
	enter(sk)->cong_control(sk, rs);
#else
	enter(sk)->cong_control(sk, ack, flag, rs);
#endif
}

static u32 host_undo_cwnd(struct sock *sk)
{
	return enter(sk)->undo_cwnd(sk);
}

static u32 host_sndbuf_expand(struct sock *sk)
{
	return enter(sk)->sndbuf_expand(sk);
}

static void bbr_info(const struct tcp_bbr_info *bbr, struct cca_info *info)
{
	info->bw_bytes_per_s = (u64)bbr->bbr_bw_hi << 32 | bbr->bbr_bw_lo;
	info->min_rtt_us = bbr->bbr_min_rtt;
	info->pacing_gain = bbr->bbr_pacing_gain;
	info->cwnd_gain = bbr->bbr_cwnd_gain;
	info->flags = CCA_INFO_BW | CCA_INFO_MIN_RTT | CCA_INFO_PACING_GAIN | CCA_INFO_CWND_GAIN;
	if (bbr->bbr_version >= 2) {
		info->inflight_lo = bbr->bbr_inflight_lo;
		info->inflight_hi = bbr->bbr_inflight_hi;
		info->flags |= CCA_INFO_INFLIGHT_LO | CCA_INFO_INFLIGHT_HI;
	}
}

/* What `ss -i` would show. */
static void host_info(struct sock *sk, struct cca_info *info)
{
	const struct tcp_congestion_ops *ops = enter(sk);
	union tcp_cc_info kernel_info;
	int kind = 0;

	memset(&kernel_info, 0, sizeof(kernel_info));
	if (!ops || !ops->get_info || !ops->get_info(sk, ~0U, &kind, &kernel_info))
		return;
	if (kind == INET_DIAG_BBRINFO) {
		bbr_info(&kernel_info.bbr, info);
	} else if (kind == INET_DIAG_VEGASINFO && kernel_info.vegas.tcpv_enabled) {
		/* Vegas and YeAH have the path's minimum in tcpv_rtt and the last round's beside it;
		 * others the path's minimum in tcpv_minrtt and a later RTT, or 0, beside it.
		 */
		info->min_rtt_us =
			min_not_zero(kernel_info.vegas.tcpv_rtt, kernel_info.vegas.tcpv_minrtt);
		info->flags = info->min_rtt_us < S32_MAX ? CCA_INFO_MIN_RTT : 0;
	}
}

/* ---- registration ---- */

int tcp_register_congestion_control(struct tcp_congestion_ops *ops)
{
	if (registered) {
		cca_module_error = "it registers a second congestion control; wanted one";
		return -EEXIST;
	}
	if (!ops->ssthresh || !ops->undo_cwnd || !(ops->cong_avoid || ops->cong_control)) {
		cca_module_error = "it registers hooks without ssthresh, undo_cwnd and one of "
				   "cong_avoid and cong_control";
		return -EINVAL;
	}
	registered = ops;
	return 0;
}

void tcp_unregister_congestion_control(struct tcp_congestion_ops *ops)
{
	(void)ops;
}

#define HOOK(hook) host_ops.hook = registered->hook ? host_##hook : NULL

int cca_module_start(void)
{
	int error;

	if (!cca_module_init) {
		cca_module_error = "it has no module_init()";
		return -ENOENT;
	}
	machine.inet_conn.icsk_inet.sk.sk_host.rng = cca_module_seed;
	machine.inet_conn.icsk_inet.sk.sk_host.hz = HZ;
	cca_module_set_jiffies(cca_module_sk, (u32)(BOOT_NS / (NSEC_PER_SEC / HZ)));
	machine.tcp_clock_cache = BOOT_NS;
	memcpy(&machine.tcp_mstamp, &(u64){ BOOT_NS / NSEC_PER_USEC }, sizeof(u64));
	error = cca_module_init();
	if (!error && !registered && !*cca_module_error)
		cca_module_error = "its module_init() registers no congestion control";
	if (error || !registered || *cca_module_error)
		return error ? error : -ENOENT;
	memcpy(host_ops.name, registered->name, TCP_CA_NAME_MAX - 1);
	host_ops.flags = registered->flags & TCP_CONG_MASK;
	host_ops.init = host_init;
	host_ops.info = host_info;
	HOOK(release);
	HOOK(ssthresh);
	HOOK(cong_avoid);
	HOOK(set_state);
	HOOK(cwnd_event);
	HOOK(in_ack_event);
	HOOK(pkts_acked);
	HOOK(min_tso_segs);
	HOOK(cong_control);
	HOOK(undo_cwnd);
	HOOK(sndbuf_expand);
	host_ops.tso_segs =
		registered->tso_segs || registered->tso_segs_goal ? host_tso_segs : NULL;
	HOOK(skb_marked_lost);
	described.ops = &host_ops;
	return 0;
}

void cca_module_stop(void)
{
	cca_module_sk = (struct sock *)&machine;
	cca_module_do_later();
	if (cca_module_exit)
		cca_module_exit();
	cca_module_do_later();
}
