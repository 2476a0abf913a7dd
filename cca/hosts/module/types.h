/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The kernel's longer names of types. */
#ifndef DUMBBELL_MODULE_TYPES_H
#define DUMBBELL_MODULE_TYPES_H

typedef u8 __u8, uint8_t, u_int8_t, __be8, uchar;
typedef u16 __u16, uint16_t, __be16, __le16, u_int16_t, ushort;
typedef u32 __u32, uint32_t, __be32, __le32, u_int32_t;
typedef u64 __u64, uint64_t, __be64, __le64;
typedef s8 __s8, int8_t;
typedef s16 __s16, int16_t;
typedef s32 __s32, int32_t;
typedef s64 __s64, int64_t, ktime_t, loff_t;
typedef unsigned int uint, gfp_t;
typedef unsigned long ulong, uintptr_t;
typedef __SIZE_TYPE__ size_t;
typedef long ssize_t, ptrdiff_t, __kernel_long_t;
typedef u16 __sum16;
typedef u32 __wsum;

#endif /* DUMBBELL_MODULE_TYPES_H */
