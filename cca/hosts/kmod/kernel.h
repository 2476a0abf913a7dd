/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Inside a kernel module, instead of ../../include/kernel.h: the kernel's own headers, and what a controller
 * expects beyond them. 64-bit kernels from 6.1 on.
 */
#ifndef CCA_KMOD_KERNEL_H
#define CCA_KMOD_KERNEL_H

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/hashtable.h>
#include <linux/inet_diag.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/random.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/version.h>
#include <linux/win_minmax.h>
#include <net/tcp.h>

#ifndef CONFIG_64BIT
#error "controllers need a 64-bit kernel"
#endif

/* The bit of cong_control()'s `flag` that says: this ACK carried ECE (net/ipv4/tcp_input.c). */
#define FLAG_ECE 0x40
/* What kernels before 7.0 do not know: flags that say nothing there. */
#ifndef TCP_CONG_NEEDS_ACCECN
#define TCP_CONG_NEEDS_ACCECN 0
#endif
#ifndef TCP_CONG_ECT_1_NEGOTIATION
#define TCP_CONG_ECT_1_NEGOTIATION 0
#endif
/* ... and kernels before 6.18: the bit of ecn_flags is never set there. */
#ifndef TCP_ECN_MODE_ACCECN
#define TCP_ECN_MODE_ACCECN 16
#endif
/* An event that Linux does not have: no hook ever gets it. */
#define CCA_EVENT_TLP_RECOVERY ((enum tcp_ca_event) - 1)

/* Those of math.h and cca.h, so that a text which compiles for one host does so for all: the kernel's
 * min() and max() refuse operands of different types, and its tcp_sk() keeps a `const`.
 */
#undef min
#undef max
#undef min_t
#undef max_t
#undef clamp_t
/* Not exported by all kernels. */
#define minmax_running_min cca_minmax_running_min
#define minmax_running_max cca_minmax_running_max
#undef tcp_sk
#define tcp_sk cca_tcp_sk
#undef inet_csk
#define inet_csk    cca_inet_csk
#define inet_csk_ca cca_inet_csk_ca

/* The controller's hooks; host.h registers them as the kernel's struct tcp_congestion_ops. */
#define CCA_OPS_TAG cca_host_ops
struct cca_info;
#include "../../include/ops.h"

#endif /* CCA_KMOD_KERNEL_H */
