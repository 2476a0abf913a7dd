/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What the Makefile of hrimfaxi/tcp_bbr_modules writes after it has tried what the kernel has; one
 * beside the module comes first.
 */
#ifndef DUMBBELL_MODULE_KERNEL_CONFIG_H
#define DUMBBELL_MODULE_KERNEL_CONFIG_H

#ifndef CCA_MODULE_OLD_CONTROL
#define TCP_CONGESTION_OPS_CONG_CONTROL_HAS_4_ARGS
#endif

#endif /* DUMBBELL_MODULE_KERNEL_CONFIG_H */
