// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Linked to a BPF program of a congestion control: registers its struct tcp_congestion_ops, and has the helpers and kfuncs
 * that it calls. Compiled as a module's part (cca/hosts/module), whose hooks, clocks and random numbers these are.
 *
 * The kfuncs are weak: a program may have a function of such a name itself.
 */
#include "../module/kernel_module.h"
#include "../module/glue.h"
#include "map.h"

/* All that the program declares in SEC(".struct_ops"), NULL behind the last; written by crates/cca/src/struct_ops.rs. */
extern struct tcp_congestion_ops *const cca_struct_ops[];
/* What SEC("license") holds. */
extern const char __start_license[] __weak, __stop_license[] __weak;

const char *cca_struct_ops_license(void)
{
	return &__start_license[0] != &__stop_license[0] ? __start_license : NULL;
}

static bool is_complete(const struct tcp_congestion_ops *ops)
{
	return ops->ssthresh && ops->undo_cwnd && (ops->cong_avoid || ops->cong_control);
}

/* As the kernel refuses it; a test program may have others beside the one that it is about. */
static int register_ops(void)
{
	struct tcp_congestion_ops *const *ops, *whole = NULL;

	for (ops = cca_struct_ops; *ops; ops++) {
		if (!is_complete(*ops))
			continue;
		if (whole) {
			cca_module_error = "a BPF program (SEC(\".struct_ops\")) with several "
					   "struct tcp_congestion_ops; wanted one a file";
			return -EEXIST;
		}
		whole = *ops;
	}
	if (!whole) {
		cca_module_error =
			"a BPF program (SEC(\".struct_ops\")) whose struct "
			"tcp_congestion_ops lacks ssthresh, undo_cwnd, or one of cong_avoid "
			"and cong_control, without which the kernel refuses it as well; "
			"docs/own-controller.md says what is read";
		return -EINVAL;
	}
	return tcp_register_congestion_control(whole);
}
module_init(register_ops);

/* ---- settings of the kernel (__kconfig) ---- */

unsigned long CONFIG_HZ = HZ;
int LINUX_KERNEL_VERSION = LINUX_VERSION_CODE;

/* ---- kfuncs ---- */

#define KFUNC(name) __asm__(name) __weak
u32 cca_kfunc_slow_start(struct tcp_sock *tp, u32 acked) KFUNC("tcp_slow_start");
u32 cca_kfunc_slow_start(struct tcp_sock *tp, u32 acked)
{
	return tcp_slow_start(tp, acked);
}

void cca_kfunc_avoid(struct tcp_sock *tp, u32 w, u32 acked) KFUNC("tcp_cong_avoid_ai");
void cca_kfunc_avoid(struct tcp_sock *tp, u32 w, u32 acked)
{
	tcp_cong_avoid_ai(tp, w, acked);
}

u32 cca_kfunc_ssthresh(struct sock *sk) KFUNC("tcp_reno_ssthresh");
u32 cca_kfunc_ssthresh(struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}

void cca_kfunc_reno(struct sock *sk, u32 ack, u32 acked) KFUNC("tcp_reno_cong_avoid");
void cca_kfunc_reno(struct sock *sk, u32 ack, u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
}

u32 cca_kfunc_undo(struct sock *sk) KFUNC("tcp_reno_undo_cwnd");
u32 cca_kfunc_undo(struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

/* ---- helpers ---- */

u64 bpf_ktime_get_ns(void)
{
	return tcp_clock_ns();
}

u64 bpf_jiffies64(void)
{
	return jiffies_64;
}

u32 bpf_get_prandom_u32(void)
{
	return get_random_u32();
}

/* A flow keeps its controller and its options for the whole run. */
long bpf_setsockopt(const void *sk, int level, int option, const void *value, int size)
{
	(void)sk, (void)level, (void)option, (void)value, (void)size;
	WARN(true, "refused");
	return -EOPNOTSUPP;
}

long bpf_getsockopt(const void *sk, int level, int option, void *value, int size)
{
	(void)sk, (void)level, (void)option, (void)value, (void)size;
	return -EOPNOTSUPP;
}
