/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Fields of a word by their mask (linux/bitfield.h). */
#ifndef DUMBBELL_MODULE_BITFIELD_H
#define DUMBBELL_MODULE_BITFIELD_H

#include "kernel_module.h"

#define __bf_shf(mask)			(__builtin_ffsll(mask) - 1)
#define FIELD_MAX(mask)			((__typeof__(mask))((mask) >> __bf_shf(mask)))
#define FIELD_FIT(mask, v)		(!((((__typeof__(mask))(v)) << __bf_shf(mask)) & ~(mask)))
#define FIELD_PREP(mask, v)		(((__typeof__(mask))(v) << __bf_shf(mask)) & (mask))
#define FIELD_PREP_CONST(mask, v)	FIELD_PREP(mask, v)
#define FIELD_GET(mask, word)		((__typeof__(mask))(((word) & (mask)) >> __bf_shf(mask)))
#define FIELD_MODIFY(mask, p, v)	((void)(*(p) = (*(p) & ~(mask)) | FIELD_PREP(mask, v)))

#define u32_get_bits(word, mask)	((u32)FIELD_GET((u32)(mask), word))
#define u32_encode_bits(v, mask)	((u32)FIELD_PREP((u32)(mask), v))
#define u32_replace_bits(word, v, mask) (((word) & ~(u32)(mask)) | u32_encode_bits(v, mask))
#define u32p_replace_bits(p, v, mask)	((void)(*(p) = u32_replace_bits(*(p), v, mask)))
#define u64_get_bits(word, mask)	((u64)FIELD_GET((u64)(mask), word))
#define u64_encode_bits(v, mask)	((u64)FIELD_PREP((u64)(mask), v))

#endif /* DUMBBELL_MODULE_BITFIELD_H */
