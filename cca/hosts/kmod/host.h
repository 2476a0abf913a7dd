/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What cca.h promises, inside a kernel module: a controller compiles to NAME.ko, which registers it when it is
 * loaded. Every hook that the controller has is registered, as those of the kernel's own controllers are.
 *
 *	kernel.h  the kernel's headers
 *	params.h  parameters, which are the module's
 *	flight.h  what was in flight and lost when a segment was sent, and the bursts that were lost
 *	flows.h   the sockets that use the controller, and their large state
 *	report.h  what the controller knows of each: /proc/net/dumbbell_NAME, and `ss -ti`
 *
 * CCA_KERNEL_NAME is the controller's name in the kernel, which whoever compiles it chooses.
 */
#ifndef CCA_HOST_H
#define CCA_HOST_H

#ifndef CCA_KERNEL_NAME
#error "define CCA_KERNEL_NAME, the controller's name in the kernel: \"bbr2\""
#endif
_Static_assert(sizeof(CCA_KERNEL_NAME) <= TCP_CA_NAME_MAX, "CCA_KERNEL_NAME is too long");

/* A controller as the host sees it; CCA_MODULE defines it. */
struct cca_module {
	struct cca_host_ops hooks;
	const char *const *states; /* names of its states */
	u32 n_states;
	u32 large_bytes; /* size of the state outside the socket; 0: none */
	const struct cca_vars *vars;
};
static const struct cca_module cca_module;

#include "flight.h"
#include "../../include/hooks.h"
#include "../../include/declare.h"
#include "params.h"
#include "flows.h"
#include "report.h"

/* Bursts are told when the next hook is called, which is after all of an ACK are marked. */
#define CCA_TELLS_LOSSES 1

/* Linux does not say that an ACK ends where a tail loss probe ends, nor what the probe repeats. */
static inline bool cca_acks_loss_probe(const struct rate_sample *rs)
{
	return false;
}

static inline bool cca_probed_app_limited(const struct tcp_sock *tp)
{
	return false;
}

#define CCA_LARGE_STATE_(x, type)                            \
	static inline type *x##_state(const struct sock *sk) \
	{                                                    \
		return cca_large_state(sk);                  \
	}                                                    \
	_Static_assert(1, "ends with a semicolon")

#define CCA_STATES(...) static const char *const cca_state_names[] = { __VA_ARGS__ }
#define CCA_NO_STATES	static const char *const cca_state_names[] = {}

static inline u8 inet_csk_ca_state(const struct sock *sk)
{
	return inet_csk(sk)->icsk_ca_state;
}

static inline bool tcp_cwnd_limited_flag(const struct tcp_sock *tp)
{
	return tp->is_cwnd_limited;
}

/* By the kernel's own function, where it has it, so that a port draws what the kernel's controller draws. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
#define cca_random_below(sk, n) get_random_u32_below(n)
#else
#define cca_random_below(sk, n) ((u32)(((u64)get_random_u32() * (n)) >> 32))
#endif

/* fq sets SK_PACING_FQ without the socket's lock. */
static inline void cca_request_pacing(struct sock *sk)
{
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
}

static inline void cca_bound_pacing(struct sock *sk, u64 bytes_per_s)
{
	WRITE_ONCE(sk->sk_max_pacing_rate, (unsigned long)bytes_per_s);
}

/* ---- Registration ---- */

static struct tcp_congestion_ops cca_ops __read_mostly = {
	.name = CCA_KERNEL_NAME,
	.owner = THIS_MODULE,
	.init = cca_flow_init,
	.release = cca_flow_release,
};

/* Hooks that follow a loss mark, of a controller that wants to know of lost bursts. */
static void cca_tell(struct sock *sk)
{
	cca_tell_losses(sk, cca_module.hooks.skb_marked_lost);
}

static u32 cca_told_ssthresh(struct sock *sk)
{
	cca_tell(sk);
	return cca_module.hooks.ssthresh(sk);
}

static void cca_told_set_state(struct sock *sk, u8 new_state)
{
	cca_tell(sk);
	cca_module.hooks.set_state(sk, new_state);
}

static void __maybe_unused cca_told_control(struct sock *sk, u32 ack, int flag,
					    const struct rate_sample *rs)
{
	cca_tell(sk);
	cca_module.hooks.cong_control(sk, ack, flag, rs);
}

/* cong_control() has four arguments since Linux 6.10; before that the ECE flag comes by in_ack_event(). */
#define CCA_HAS_OLD_CONTROL                                        \
	__builtin_types_compatible_p(typeof(cca_ops.cong_control), \
				     void (*)(struct sock * sk, const struct rate_sample *rs))

static void __maybe_unused cca_old_control(struct sock *sk, const struct rate_sample *rs)
{
	if (cca_module.hooks.skb_marked_lost)
		cca_tell(sk);
	cca_module.hooks.cong_control(sk, 0, cca_is_ece(sk) ? FLAG_ECE : 0, rs);
}

static void cca_old_in_ack_event(struct sock *sk, u32 flags)
{
	cca_note_ece(sk, flags & CA_ACK_ECE);
	if (cca_module.hooks.in_ack_event)
		cca_module.hooks.in_ack_event(sk, flags);
}

#ifdef CCA_HAS_TX_START
/* Since Linux 7.1 this event has a hook of its own. */
static void cca_tx_start(struct sock *sk)
{
	cca_module.hooks.cwnd_event(sk, CA_EVENT_TX_START);
}
#endif

static void __init cca_fill_ops(const struct cca_host_ops *hooks)
{
	cca_ops.flags = hooks->flags;
	cca_ops.ssthresh = hooks->ssthresh;
	cca_ops.cong_avoid = hooks->cong_avoid;
	cca_ops.set_state = hooks->set_state;
	cca_ops.cwnd_event = hooks->cwnd_event;
	cca_ops.in_ack_event = hooks->in_ack_event;
	cca_ops.pkts_acked = hooks->pkts_acked;
	cca_ops.min_tso_segs = hooks->min_tso_segs;
	cca_ops.undo_cwnd = hooks->undo_cwnd;
	cca_ops.sndbuf_expand = hooks->sndbuf_expand;
#ifdef CCA_HAS_TX_START
	if (hooks->cwnd_event)
		cca_ops.cwnd_event_tx_start = cca_tx_start;
#endif
	if (hooks->info)
		cca_ops.get_info = cca_get_info;
	if (hooks->skb_marked_lost) {
		cca_ops.ssthresh = cca_told_ssthresh;
		cca_ops.set_state = hooks->set_state ? cca_told_set_state : NULL;
	}
	if (!hooks->cong_control)
		return;
	cca_ops.cong_control = __builtin_choose_expr(
		CCA_HAS_OLD_CONTROL, cca_old_control,
		hooks->skb_marked_lost ? cca_told_control : cca_module.hooks.cong_control);
	if (CCA_HAS_OLD_CONTROL && cca_module.large_bytes)
		cca_ops.in_ack_event = cca_old_in_ack_event;
}

static int __init cca_module_start(void)
{
	int err;

	if (cca_module.hooks.skb_marked_lost && !cca_module.large_bytes)
		pr_warn("skb_marked_lost is not called: that needs CCA_STATE_LARGE\n");
	cca_fill_ops(&cca_module.hooks);
	if (!cca_report_start())
		return -ENOMEM;
	err = tcp_register_congestion_control(&cca_ops);
	if (err)
		cca_report_stop();
	return err;
}
module_init(cca_module_start);

static void __exit cca_module_stop(void)
{
	tcp_unregister_congestion_control(&cca_ops);
	cca_report_stop();
}
module_exit(cca_module_stop);

#define CCA_MODULE(x, name_, flags_, ...)                                      \
	static const struct cca_module cca_module = {                          \
		.hooks = { .name = name_, .flags = (flags_), __VA_ARGS__ },    \
		.states = cca_state_names,                                     \
		.n_states = ARRAY_SIZE(cca_state_names),                       \
		.large_bytes = CCA_LARGE_BYTES,                                \
		.vars = &cca_module_vars,                                      \
	};                                                                     \
	MODULE_LICENSE("Dual BSD/GPL");                                        \
	MODULE_DESCRIPTION("TCP congestion control " name_ ", of Dumbbell");   \
	/* The kernel loads it by this name for setsockopt(TCP_CONGESTION). */ \
	MODULE_ALIAS("tcp_" CCA_KERNEL_NAME)

#endif /* CCA_HOST_H */
