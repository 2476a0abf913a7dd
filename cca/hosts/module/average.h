/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Exponentially weighted moving averages in fixed point (linux/average.h): `precision` bits behind the point, a new value
 * counts 1/weight, a power of two, and the first one counts whole.
 */
#ifndef DUMBBELL_MODULE_AVERAGE_H
#define DUMBBELL_MODULE_AVERAGE_H

#include "kernel_module.h"

#define DECLARE_EWMA(name, precision, weight)                                            \
	struct ewma_##name {                                                             \
		unsigned long internal;                                                  \
	};                                                                               \
	static inline void ewma_##name##_init(struct ewma_##name *e)                     \
	{                                                                                \
		BUILD_BUG_ON((precision) > 30 || ((weight) & ((weight)-1)));             \
		e->internal = 0;                                                         \
	}                                                                                \
	static inline unsigned long ewma_##name##_read(struct ewma_##name *e)            \
	{                                                                                \
		return e->internal >> (precision);                                       \
	}                                                                                \
	static inline void ewma_##name##_add(struct ewma_##name *e, unsigned long v)     \
	{                                                                                \
		unsigned long was = e->internal, shift = ilog2(weight);                  \
		e->internal = was ? ((was << shift) - was + (v << (precision))) >> shift \
				  : v << (precision);                                    \
	}                                                                                \
	_Static_assert(1, "")

#endif /* DUMBBELL_MODULE_AVERAGE_H */
