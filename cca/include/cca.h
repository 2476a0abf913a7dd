/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The only header that a controller includes.
 *
 * A controller is one C file in kernel style. It is compiled natively for the
 * simulator, with clang for BPF, and as a kernel module, unmodified. What these
 * hosts do differently has these names:
 *
 *   CCA_PARAMS(LIST)        declare the parameters of an X-macro list; each row is
 *                           P(name, default, min, max, "unit", "what it does").
 *                           CCA_NO_PARAMS when there are none.
 *   CCA_FAMILY_PARAMS(LIST) in a header that several controllers share: the parameters that all
 *                           of them have, so that its functions may use param(). The defaults
 *                           in these rows are ignored.
 *   CCA_PARAMS_OF_FAMILY(LIST, OWN) in such a controller, instead of CCA_PARAMS: the same rows with
 *                           its defaults, and then its own rows (CCA_NO_ROWS: none).
 *   CCA_PRESETS(LIST)       named sets of values for these, after CCA_PARAMS, if there are any: rows are
 *                           PRESET(name, "what it stands for", VALUES), and VALUES is again an X-macro
 *                           list, of V(parameter, value).
 *   param(sk, name)         value of a parameter, u32. Natively from the flow's
 *                           table; in a kernel a variable that all its sockets share, which
 *                           may change between two hooks (dumbbell kernel set, /sys/module).
 *   CCA_STATE(x, type)      private state inside the socket (104 bytes at most);
 *                           defines x_state(sk), never NULL.
 *   CCA_STATE_LARGE(x, type) private state of any size, kept per socket outside it;
 *                           defines x_state(sk), which may be NULL in a kernel:
 *                           every hook must check. Under BPF hooks that run before init(), as pkts_acked
 *                           for the handshake, find one of zeros.
 *   CCA_OP(type, name, args) define a hook of struct tcp_congestion_ops. Hooks are
 *                           entry points; they do not call each other. One with four
 *                           arguments is cong_control, which had two before Linux 6.10:
 *                           ack and flag are 0 there.
 *   CCA_INFO_OP(name)       define void name(struct sock *sk, struct cca_info *info); under BPF
 *                           whoever asks for the state of a socket runs it, so it only reads.
 *   CCA_LOST_OP(name)       define void name(struct sock *sk, const struct lost_burst *lost),
 *                           and CCA_TSO_SEGS_OP(name) u32 name(struct sock *sk, u32 mss). Linux
 *                           has neither hook. In a kernel the stack sizes bursts; a module calls the
 *                           first, with CCA_STATE_LARGE, before the next hook; under BPF nobody does:
 *                           CCA_TELLS_LOSSES is 0.
 *   CCA_MIN_TSO_OP(name)    define u32 name(struct sock *sk), the hook min_tso_segs; under BPF it is
 *                           left to Linux, which then asks for two segments.
 *   CCA_SNDBUF_OP(name)     define u32 name(struct sock *sk), the hook sndbuf_expand; under BPF it is
 *                           left to Linux, which then takes 2.
 *   CCA_SSTHRESH_OP(name)   for a controller that obeys snd_ssthresh, like CCA_OP: define u32 name(struct sock *sk),
 *   CCA_AVOID_OP(name)      the hook ssthresh; void name(struct sock *sk, u32 ack, u32 acked), cong_avoid; void
 *   CCA_ACKED_OP(name)      name(struct sock *sk, const struct ack_sample *sample), pkts_acked. Under BPF the
 *   CCA_GUARD_OP(name);     last two also repair what cannot be an answer of the first, or of undo_cwnd
 *                           (hosts/bpf/guard.h). Without a pkts_acked of its own: CCA_GUARD_OP, and
 *                           CCA_GUARD(name) inside CCA_MODULE.
 *   struct cca_flight_log   kept in the private state, so that every host can tell what was lost
 *                           since the sampled segment was sent, and how much was in flight then:
 *                           cca_flight_lost(log, tp, rs), cca_flight_at_send(tp, rs, lost).
 *   cca_acks_loss_probe(rs)  this ACK ends where a retransmitted tail loss probe ends, and
 *                           cca_probed_app_limited(tp) what that repeats was app-limited; Linux
 *                           tells neither, so in a kernel both are false.
 *   CCA_STATES(...)         names of the controller's states, for cca_info.state;
 *                           CCA_NO_STATES when there are none.
 *   CCA_VARS(type, v, state, LIST)  variables that records keep when they change: rows are
 *                           V(name, value, "unit", "what it is"), and a value is an expression of v, the
 *                           private state (type *v = state), and sk. CCA_UNSET is no value; a unit
 *                           "a|b" makes words of the values 0 and 1. Simulator and kernel modules.
 *   CCA_MODULE(x, "name", flags, hooks...)  register; x is the file name with "_" for "-".
 *   CCA_INFO(name)          the info hook inside CCA_MODULE; so CCA_LOST, CCA_MIN_TSO,
 *                           CCA_SNDBUF, CCA_TSO_SEGS.
 *   tcp_jiffies32, HZ       now in ticks, and ticks per second; both need `sk` in scope.
 *                           usecs_to_jiffies(sk, us), msecs_to_jiffies(sk, ms) round up.
 *   cca_random_below(sk, n) uniform in 0 .. n-1; seeded per flow natively.
 *   cca_request_pacing(sk)  ask TCP to pace unless fq already does.
 *   cca_bound_pacing(sk, bytes_per_s)  pace at this rate at most from now on, for a controller whose rate TCP sets
 *                           (cong_avoid); it replaces the application's bound, sk_max_pacing_rate. Under BPF 4 GB/s
 *                           and more are no bound.
 *   cca_own_window(sk)      after setting the window outside of cong_avoid, in a controller with CCA_SSTHRESH_OP: under BPF
 *                           a window that more than doubles is repaired otherwise (hosts/bpf/guard.h).
 *   CCA_FOR(i, n)           for (i = 0; i < n; i++), for long loops: BPF's verifier follows a plain loop step by step, and
 *                           this one once. Each step costs a call there, so of two loops use it for the outer one.
 *
 * Not available, on purpose: libc, floating point, signed division, unbounded
 * loops, mutable globals.
 */
#ifndef CCA_H
#define CCA_H

#if defined(__bpf__)
#define CCA_HOST_BPF
#elif defined(__KERNEL__)
#define CCA_HOST_KMOD
#else
#define CCA_HOST_SIM
#endif

#ifdef CCA_HOST_KMOD
#include "../hosts/kmod/kernel.h"
#else
#include "kernel.h"
#endif
#include "info.h"
#include "math.h"

static inline struct tcp_sock *tcp_sk(const struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static inline struct inet_connection_sock *inet_csk(const struct sock *sk)
{
	return (struct inet_connection_sock *)sk;
}

static inline void *inet_csk_ca(const struct sock *sk)
{
	return (void *)inet_csk(sk)->icsk_ca_priv;
}

#if defined(CCA_HOST_BPF)
#include "../hosts/bpf/host.h"
#elif defined(CCA_HOST_KMOD)
#include "../hosts/kmod/host.h"
#else
#include "../hosts/sim/host.h"
#endif

/*
 * Ticks, rounded up. HZ is at most 1000 in Linux and at most 10^6 here, so the
 * product of 2^32 us and HZ stays below 2^52.
 */
static inline u32 cca_usecs_to_jiffies(u64 us, u32 hz)
{
	return (u32)((us * hz + USEC_PER_SEC - 1) / USEC_PER_SEC);
}

#define usecs_to_jiffies(sk, us) cca_usecs_to_jiffies((us), HZ)
#define msecs_to_jiffies(sk, ms) cca_usecs_to_jiffies((u64)(ms)*USEC_PER_MSEC, HZ)

#include "tcp.h"
#ifdef CCA_HOST_BPF
#include "../hosts/bpf/guard.h"
#endif

#endif /* CCA_H */
