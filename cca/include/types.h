/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The kernel's short names for fixed-width integers.
 *
 * Controllers are compiled without any C library, natively and for BPF, so the
 * types are spelled out here rather than taken from <stdint.h>. Inside a kernel
 * module they are the kernel's.
 */
#ifndef CCA_TYPES_H
#define CCA_TYPES_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char s8;
typedef signed short s16;
typedef signed int s32;
typedef signed long long s64;
typedef _Bool bool;

#define true 1
#define false 0
#define NULL		((void *)0)

#define __always_inline inline __attribute__((always_inline))
#endif

/*
 * The kernel's `long` and `unsigned long`: 64 bits, as on every kernel that a
 * controller can be loaded into. WebAssembly, for the simulator, has 32-bit ones.
 */
#ifdef __wasm__
typedef s64 cca_long;
typedef u64 cca_ulong;
#else
typedef long cca_long;
typedef unsigned long cca_ulong;
#endif

_Static_assert(sizeof(cca_long) == 8, "controllers need an LP64 target");

#endif /* CCA_TYPES_H */
