/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Integer arithmetic for controllers: comparisons, sequence numbers, division,
 * cube root, windowed minimum and maximum. Nothing here depends on the host, but inside
 * a kernel module (CCA_HOST_KMOD) what the kernel offers under these names is the kernel's.
 */
#ifndef CCA_MATH_H
#define CCA_MATH_H

#ifndef CCA_HOST_KMOD
#include "kernel.h"
#endif

/* Both sides must have one type; each argument is evaluated once. */
#define min(a, b)                       \
	({                              \
		__typeof__(a) _a = (a); \
		__typeof__(b) _b = (b); \
		_a < _b ? _a : _b;      \
	})
#define max(a, b)                       \
	({                              \
		__typeof__(a) _a = (a); \
		__typeof__(b) _b = (b); \
		_a > _b ? _a : _b;      \
	})
#define min_t(type, a, b)              \
	({                             \
		type _ta = (a);        \
		type _tb = (b);        \
		_ta < _tb ? _ta : _tb; \
	})
#define max_t(type, a, b)              \
	({                             \
		type _ta = (a);        \
		type _tb = (b);        \
		_ta > _tb ? _ta : _tb; \
	})
#define clamp_t(type, v, lo, hi) min_t(type, max_t(type, v, lo), hi)

#ifndef CCA_HOST_KMOD
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define likely(x)     __builtin_expect(!!(x), 1)
#define unlikely(x)   __builtin_expect(!!(x), 0)

/* Order of wrapping 32-bit numbers (RFC 1982): is a earlier than b? */
static inline bool before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}

static inline bool after(u32 a, u32 b)
{
	return before(b, a);
}

/* Unsigned division; the divisor must not be 0 (natively that traps, under BPF it gives 0). */
static inline u64 div64_u64(u64 dividend, u64 divisor)
{
	return dividend / divisor;
}

/* later - earlier in us, 0 when the order is the other way round. */
static inline u32 tcp_stamp_us_delta(u64 later, u64 earlier)
{
	return later > earlier ? (u32)(later - earlier) : 0;
}
#endif

/* (a b) >> shift of the product's 128 bits, shift from 1 to 63; what does not fit into 64 bits is cut off. */
static inline u64 cca_mul_shr(u64 a, u64 b, unsigned int shift)
{
	u64 low = (u64)(u32)a * (u32)b, high = (a >> 32) * (b >> 32);
	u64 middle = (a >> 32) * (u32)b, other = (u32)a * (b >> 32);
	u64 carried = (low >> 32) + (u32)middle + (u32)other;

	low = carried << 32 | (u32)low;
	high += (middle >> 32) + (other >> 32) + (carried >> 32);
	return low >> shift | high << (64 - shift);
}

/*
 * Integer cube root, floor(a^(1/3)), exact for every a.
 *
 * Three bits of the argument give one bit of the result, highest first. With
 * root 2r so far, the next bit is set if (2r+1)^3 fits in what is seen of a:
 *   (2r+1)^3 - (2r)^3 = 3 * 2r * (2r + 1) + 1.
 * The root stays below 2^22 (cbrt(2^64) = 2642245.9), so both sides of the comparison
 * stay below 2^50 and the sign of their difference is its bit 63. Comparing that way
 * needs no branch: a verifier that follows both sides of a branch in each of the 22
 * steps never ends.
 */
static inline u32 cube_root(u64 a)
{
	u64 rest = a, root = 0;
	int shift;

	for (shift = 63; shift >= 0; shift -= 3) {
		u64 bit, is_less;

		root <<= 1;
		bit = 3 * root * (root + 1) + 1;
		is_less = ((rest >> shift) - bit) >> 63;
		rest -= (bit << shift) & (is_less - 1);
		root += 1 - is_less;
	}
	return (u32)root;
}

/*
 * Windowed minimum and maximum (Kathleen Nichols' filter).
 *
 * Three samples are kept, best first, each newer than or as old as the one before.
 * A new best replaces all. Otherwise the second choice comes from the second
 * quarter of the window and the third from its second half, so that when the
 * best falls out of the window a fair successor is at hand.
 */
#ifndef CCA_HOST_KMOD
static inline u32 minmax_get(const struct minmax *m)
{
	return m->s[0].v;
}

static inline u32 minmax_reset(struct minmax *m, u32 t, u32 v)
{
	const struct minmax_sample now = { .t = t, .v = v };

	m->s[0] = now;
	m->s[1] = now;
	m->s[2] = now;
	return v;
}
#endif

/* Drop what is older than the window, and fill the empty sub-windows. */
static inline u32 minmax_age(struct minmax *m, u32 win, struct minmax_sample now)
{
	u32 age = now.t - m->s[0].t;

	if (age > win) {
		m->s[0] = m->s[1];
		m->s[1] = m->s[2];
		m->s[2] = now;
		if (now.t - m->s[0].t > win) {
			m->s[0] = m->s[1];
			m->s[1] = m->s[2];
			m->s[2] = now;
		}
	} else if (m->s[1].t == m->s[0].t && age > win / 4) {
		m->s[1] = now;
		m->s[2] = now;
	} else if (m->s[2].t == m->s[1].t && age > win / 2) {
		m->s[2] = now;
	}
	return m->s[0].v;
}

/* Feed (t, v) to the maximum over the last `win` units of t; return the maximum. */
static inline u32 minmax_running_max(struct minmax *m, u32 win, u32 t, u32 v)
{
	const struct minmax_sample now = { .t = t, .v = v };

	if (v >= m->s[0].v || t - m->s[2].t > win)
		return minmax_reset(m, t, v);
	if (v >= m->s[1].v) {
		m->s[1] = now;
		m->s[2] = now;
	} else if (v >= m->s[2].v) {
		m->s[2] = now;
	}
	return minmax_age(m, win, now);
}

/* Feed (t, v) to the minimum over the last `win` units of t; return the minimum. */
static inline u32 minmax_running_min(struct minmax *m, u32 win, u32 t, u32 v)
{
	const struct minmax_sample now = { .t = t, .v = v };

	if (v <= m->s[0].v || t - m->s[2].t > win)
		return minmax_reset(m, t, v);
	if (v <= m->s[1].v) {
		m->s[1] = now;
		m->s[2] = now;
	} else if (v <= m->s[2].v) {
		m->s[2] = now;
	}
	return minmax_age(m, win, now);
}
#endif /* CCA_MATH_H */
