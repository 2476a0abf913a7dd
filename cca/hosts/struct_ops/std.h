/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* What of a C library's or the kernel's public headers a BPF program includes: types, which vmlinux.h has already. */
#ifndef DUMBBELL_STRUCT_OPS_STD_H
#define DUMBBELL_STRUCT_OPS_STD_H

#ifndef NULL
#define NULL ((void *)0)
#endif
#ifndef EPERM
#define EPERM  1
#define ENOENT 2
#define ENOMEM 12
#define EBUSY  16
#define EEXIST 17
#define EINVAL 22
#endif

#endif /* DUMBBELL_STRUCT_OPS_STD_H */
