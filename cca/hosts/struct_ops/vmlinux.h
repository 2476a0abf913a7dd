/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What vmlinux.h of a kernel declares, as far as a BPF program of a congestion control (struct_ops) uses it: types and
 * enums, and no macros or functions, which such programs define themselves.
 *
 * The structs are the simulator's (cca/include/kernel.h), with the kernel's names and nesting; what a BPF program may not
 * write is constant. This file comes before the program, so that the guards below keep copies of the real headers out:
 * their layout is another one.
 */
#ifndef __VMLINUX_H__
#define __VMLINUX_H__
/* The header of the kernel's selftests up to Linux 6.9, whose macros follow at the end. */
#define __BPF_TCP_HELPERS_H

#define CCA_HOST_SIM
#define CCA_OPS_TAG cca_host_ops
#include "../../include/kernel.h"
#include "../module/types.h"
#include "../module/list.h"
#include "../module/ops.h"

#undef TCP_INFINITE_SSTHRESH
#undef TCP_INIT_CWND
#undef TCP_CA_NAME_MAX
#undef ICSK_CA_PRIV_SIZE
#undef MAX_TCP_HEADER
#undef GSO_LEGACY_MAX_SIZE
#undef USEC_PER_MSEC
#undef USEC_PER_SEC
#undef MSEC_PER_SEC
#undef NSEC_PER_USEC
#undef TCP_CONG_NON_RESTRICTED
#undef TCP_CONG_NEEDS_ECN
#undef TCP_ECN_OK
#undef FLAG_ECE

enum bpf_map_type {
	BPF_MAP_TYPE_UNSPEC,
	BPF_MAP_TYPE_HASH,
	BPF_MAP_TYPE_ARRAY,
	BPF_MAP_TYPE_PERCPU_HASH = 5,
	BPF_MAP_TYPE_PERCPU_ARRAY,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_LRU_PERCPU_HASH,
	BPF_MAP_TYPE_SK_STORAGE = 24,
	BPF_MAP_TYPE_RINGBUF = 27,
};
enum {
	BPF_ANY,
	BPF_NOEXIST,
	BPF_EXIST,
	BPF_F_LOCK = 4,
};
enum {
	BPF_F_NO_PREALLOC = 1,
	BPF_F_CLONE = 512,
};
enum {
	BPF_SK_STORAGE_GET_F_CREATE = 1,
	BPF_LOCAL_STORAGE_GET_F_CREATE = 1,
};
struct bpf_spin_lock {
	__u32 val;
};

/* What a program writes for its hooks: BPF_PROG() of libbpf has the arguments of the hook, as here. */
#define BPF_TCP_OPS_0(name, type) __attribute__((section("struct_ops"), used)) type name(void)
#define BPF_TCP_OPS_1(name, type, t1, a1) \
	__attribute__((section("struct_ops"), used)) type name(t1 a1)
#define BPF_TCP_OPS_2(name, type, t1, a1, t2, a2) \
	__attribute__((section("struct_ops"), used)) type name(t1 a1, t2 a2)
#define BPF_TCP_OPS_3(name, type, t1, a1, t2, a2, t3, a3) \
	__attribute__((section("struct_ops"), used)) type name(t1 a1, t2 a2, t3 a3)
#define BPF_TCP_OPS_4(name, type, t1, a1, t2, a2, t3, a3, t4, a4) \
	__attribute__((section("struct_ops"), used)) type name(t1 a1, t2 a2, t3 a3, t4 a4)

#include "bpf.h"

#endif /* __VMLINUX_H__ */
