/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What cca.h promises, under BPF: the controller becomes a struct_ops object that a stock kernel
 * registers (6.4 or newer: struct_ops links), with a program that reports on its sockets (report.h).
 *
 * An object names itself after its file with the prefix "d_", lest it clash with the kernel's own, and "_" for "-", which
 * the kernel refuses in names from BPF; a loader registers it under whatever name it likes. table.h says what a loader
 * finds, and what it must set.
 */
#ifndef CCA_HOST_H
#define CCA_HOST_H

/* The names that libbpf's headers take from the kernel's. */
typedef u8 __u8;
typedef u16 __u16;
typedef u32 __u32;
typedef u64 __u64;
typedef s8 __s8;
typedef s16 __s16;
typedef s32 __s32;
typedef s64 __s64;
typedef u16 __be16;
typedef u32 __be32;
typedef u64 __be64;
typedef u32 __wsum;

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

/* libbpf attaches ".struct_ops.link" maps by a link, which detaches when its owner ends;
 * libbpf before 1.2 only knows ".struct_ops".
 */
#ifndef CCA_STRUCT_OPS_SECTION
#define CCA_STRUCT_OPS_SECTION ".struct_ops.link"
#endif

/* Hooks become programs that take the kernel's arguments as an array, so their C types differ
 * from the members of tcp_congestion_ops; the kernel checks them.
 */
#pragma clang diagnostic ignored "-Wincompatible-function-pointer-types"
#pragma clang diagnostic ignored "-Wunused-parameter"

/* Kernel constants (include/uapi/linux/bpf.h). */
#define CCA_BPF_MAP_TYPE_SK_STORAGE 24
#define CCA_BPF_F_NO_PREALLOC	    1
#define CCA_BPF_SK_STORAGE_CREATE   1
/* (include/uapi/asm-generic/socket.h) */
#define CCA_SOL_SOCKET	       1
#define CCA_SO_MAX_PACING_RATE 47

static inline u8 inet_csk_ca_state(const struct sock *sk)
{
	return BPF_CORE_READ_BITFIELD(inet_csk(sk), icsk_ca_state);
}

static inline bool tcp_cwnd_limited_flag(const struct tcp_sock *tp)
{
	return BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited);
}

#include "../../include/declare.h"
#include "table.h"
#include "report.h"

#define tcp_jiffies32 ((u32)bpf_jiffies64())
#define HZ	      (cca_loader.hz)

#define CCA_LARGE_STATE_(x, T)                                                             \
	struct {                                                                           \
		__uint(type, CCA_BPF_MAP_TYPE_SK_STORAGE);                                 \
		__uint(map_flags, CCA_BPF_F_NO_PREALLOC);                                  \
		__type(key, int);                                                          \
		__type(value, T);                                                          \
	} x##_storage SEC(".maps");                                                        \
	static inline T *x##_state(struct sock *sk)                                        \
	{                                                                                  \
		return bpf_sk_storage_get(&x##_storage, sk, 0, CCA_BPF_SK_STORAGE_CREATE); \
	}                                                                                  \
	static bool x##_has_state(struct sock *sk)                                         \
	{                                                                                  \
		return bpf_sk_storage_get(&x##_storage, sk, 0, 0);                         \
	}                                                                                  \
	static const cca_has_state_fn cca_has_state_op = x##_has_state;                    \
	_Static_assert(1, "ends with a semicolon")

/*
 * A hook with four arguments is cong_control, which had but two, (sk, rs), before Linux 6.10. The
 * verifier knows which of the two branches is never taken, and removes it. Arguments are read where they
 * are in the kernel's array by instructions that the compiler cannot merge into one at a computed place.
 */
#define CCA_HOOK_ARG_(to, ctx, at) asm volatile("%0 = *(u64 *)(%1 + " #at ")" : "=r"(to) : "r"(ctx))
#define CCA_CONTROL_OP_(type, name, sk_, ack_, flag_, rs_)              \
	static __always_inline type name##_body(sk_, ack_, flag_, rs_); \
	SEC("struct_ops/" #name)                                        \
	type name(unsigned long long *ctx)                              \
	{                                                               \
		struct sock *sk;                                        \
		const struct rate_sample *rs;                           \
		u64 ack = 0, flag = 0;                                  \
                                                                        \
		CCA_HOOK_ARG_(sk, ctx, 0);                              \
		if (cca_loader.has_old_cong_control) {                  \
			CCA_HOOK_ARG_(rs, ctx, 8);                      \
		} else {                                                \
			CCA_HOOK_ARG_(ack, ctx, 8);                     \
			CCA_HOOK_ARG_(flag, ctx, 16);                   \
			CCA_HOOK_ARG_(rs, ctx, 24);                     \
		}                                                       \
		return name##_body(sk, (u32)ack, (int)flag, rs);        \
	}                                                               \
	static __always_inline type name##_body(sk_, ack_, flag_, rs_)
#define CCA_HOOK_OP_(type, name, ...)  SEC("struct_ops/" #name) type BPF_PROG(name, __VA_ARGS__)
#define CCA_FIFTH_(a, b, c, d, e, ...) e
#define CCA_OP(type, name, ...)                                                                  \
	CCA_FIFTH_(__VA_ARGS__, CCA_CONTROL_OP_, CCA_HOOK_OP_, CCA_HOOK_OP_, CCA_HOOK_OP_, none) \
	(type, name, __VA_ARGS__)

#define CCA_INFO_OP(name)                                         \
	static void name(struct sock *sk, struct cca_info *info); \
	static const cca_info_fn cca_info_op = name;              \
	static void name(struct sock *sk, struct cca_info *info)
#define CCA_INFO(name)

/* Presets are for who sets parameters. */
#define CCA_PRESETS(LIST) _Static_assert(1, "ends with a semicolon")

/* Linux tells neither of lost bursts nor asks for the size of one. */
#define CCA_TELLS_LOSSES 0
#define CCA_LOST(name)
#define CCA_TSO_SEGS(name)

/*
 * Hooks with an answer, and kernels that do not run every hook: some run no BPF program in an interrupt of certain
 * tasks, and what TCP then takes for the answer is what was on the stack, by its size mostly a pointer.
 *
 *	min_tso_segs	not registered: TCP takes two segments (net.ipv4.tcp_min_tso_segs), as BBR does above
 *			1.2 Mbit/s. With garbage it sent all that the window allowed in one buffer, unpaced.
 *	sndbuf_expand	not registered: TCP takes 2, where BBR says 3. With garbage a socket got a send buffer of
 *			1 GiB, and 700 MB of the kernel's memory.
 *	ssthresh	required. guard.h repairs what cannot be its answer where it counts (CCA_SSTHRESH_OP).
 *	undo_cwnd	required; likewise.
 */
#define CCA_MIN_TSO(name)
#define CCA_MIN_TSO_OP(name) static __attribute__((unused)) u32 name(struct sock *sk)
#define CCA_SNDBUF(name)
#define CCA_SNDBUF_OP(name) static __attribute__((unused)) u32 name(struct sock *sk)
#define CCA_LOST_OP(name) \
	static __attribute__((unused)) void name(struct sock *sk, const struct lost_burst *lost)
#define CCA_TSO_SEGS_OP(name) static __attribute__((unused)) u32 name(struct sock *sk, u32 mss)

static inline u32 cca_random_below(struct sock *sk, u32 n)
{
	return (u32)(((u64)bpf_get_prandom_u32() * n) >> 32);
}

#include "../../include/flight.h"

/* Two writers cannot meet here: hooks run with the socket locked. (fq may set SK_PACING_FQ
 * at the same time; it does so on each packet, hence soon again.)
 */
static inline void cca_request_pacing(struct sock *sk)
{
	if (sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

/* A BPF program may not write the bound, but ask for it as an application does: in 32 bits, of which all set are none. */
static inline void cca_bound_pacing(struct sock *sk, u64 bytes_per_s)
{
	u32 bound = bytes_per_s < ~0U ? (u32)bytes_per_s : ~0U;

	bpf_setsockopt(sk, CCA_SOL_SOCKET, CCA_SO_MAX_PACING_RATE, &bound, sizeof(bound));
}

/* Loops by the kernel's iterator over numbers (Linux 6.4). */
struct bpf_iter_num {
	u64 opaque;
} __attribute__((aligned(8)));
#define CCA_FOR(i, n) bpf_for(i, 0, n)

/* A kernel refuses flags that it does not know, and these are the ones that all know. */
#define CCA_BPF_FLAGS (TCP_CONG_NON_RESTRICTED | TCP_CONG_NEEDS_ECN)

#define CCA_MODULE(x, name_, flags_, ...)                                                        \
	_Static_assert(sizeof("d_" #x) <= TCP_CA_NAME_MAX, "name too long");                     \
	const volatile struct cca_module_row cca_module_row SEC(".rodata.module") = { name_,     \
										      "d_" #x }; \
	SEC("iter/tcp")                                                                          \
	int cca_report(struct bpf_iter__tcp *ctx)                                                \
	{                                                                                        \
		return cca_report_one(ctx, cca_module_row.kernel_name);                          \
	}                                                                                        \
	SEC(CCA_STRUCT_OPS_SECTION)                                                              \
	struct tcp_congestion_ops x##_ops = { .name = "d_" #x,                                   \
					      .flags = (flags_)&CCA_BPF_FLAGS,                   \
					      __VA_ARGS__ };                                     \
	char _license[] SEC("license") = "Dual BSD/GPL"

#endif /* CCA_HOST_H */
