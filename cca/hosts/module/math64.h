/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Arithmetic of the kernel: division, rounding, logarithms, roots, random numbers. */
#ifndef DUMBBELL_MODULE_MATH64_H
#define DUMBBELL_MODULE_MATH64_H

/* Divides n in place and gives the remainder. */
#define do_div(n, base)                       \
	({                                    \
		u32 _base = (base);           \
		u32 _rest = (u64)(n) % _base; \
		(n) = (u64)(n) / _base;       \
		_rest;                        \
	})
#define div64_ul(a, b)	 ((unsigned long)((u64)(a) / (unsigned long)(b)))
#define div64_long(a, b) ((long)((s64)(a) / (long)(b)))

static inline u64 div_u64(u64 a, u32 b)
{
	return a / b;
}

static inline s64 div_s64(s64 a, s32 b)
{
	return a / b;
}

static inline s64 div64_s64(s64 a, s64 b)
{
	return a / b;
}

static inline u64 div_u64_rem(u64 a, u32 b, u32 *rest)
{
	*rest = (u32)(a % b);
	return a / b;
}

static inline u64 div64_u64_rem(u64 a, u64 b, u64 *rest)
{
	*rest = a % b;
	return a / b;
}

static inline u64 mul_u64_u32_shr(u64 a, u32 b, unsigned int shift)
{
	return (u64)(((unsigned __int128)a * b) >> shift);
}

static inline u64 mul_u64_u64_shr(u64 a, u64 b, unsigned int shift)
{
	return (u64)(((unsigned __int128)a * b) >> shift);
}

static inline u64 mul_u64_u32_div(u64 a, u32 b, u32 c)
{
	return (u64)((unsigned __int128)a * b / c);
}

static inline u64 mul_u64_u64_div_u64(u64 a, u64 b, u64 c)
{
	return (u64)((unsigned __int128)a * b / c);
}

#define DIV_ROUND_UP(a, b)	 (((a) + (b)-1) / (b))
#define DIV_ROUND_UP_ULL(a, b)	 DIV_ROUND_UP((unsigned long long)(a), (unsigned long long)(b))
#define DIV_ROUND_CLOSEST(a, b)	 (((a) + (b) / 2) / (b))
#define DIV64_U64_ROUND_UP(a, b) DIV_ROUND_UP((u64)(a), (u64)(b))
#define roundup(a, b)		 (DIV_ROUND_UP(a, b) * (b))
#define rounddown(a, b)		 ((a) - (a) % (b))
#define round_up(a, b)		 ((((a)-1) | ((__typeof__(a))((b)-1))) + 1)
#define round_down(a, b)	 ((a) & ~((__typeof__(a))((b)-1)))
#define ALIGN(a, b)		 round_up(a, b)
#define umin(a, b)		 min_t(u64, a, b)
#define umax(a, b)		 max_t(u64, a, b)
#define min3(a, b, c)		 min((__typeof__(a))min(a, b), c)
#define max3(a, b, c)		 max((__typeof__(a))max(a, b), c)
#define clamp(v, lo, hi)	 min((__typeof__(v))max(v, lo), hi)
#define clamp_val(v, lo, hi)	 clamp_t(__typeof__(v), v, lo, hi)
#define min_not_zero(a, b)                                   \
	({                                                   \
		__typeof__(a) _x = (a);                      \
		__typeof__(b) _y = (b);                      \
		_x == 0 ? _y : (_y == 0 ? _x : min(_x, _y)); \
	})
/* As the kernel's: an unsigned value is read as a signed one, so a - b may have wrapped. */
#define CCA_ABS_(v, type)          \
	({                         \
		type _v = (v);     \
		_v < 0 ? -_v : _v; \
	})
#define CCA_ABS_OF_(v, type, other)                                                               \
	__builtin_choose_expr(__builtin_types_compatible_p(__typeof__(v), type) ||                \
				      __builtin_types_compatible_p(__typeof__(v), unsigned type), \
			      CCA_ABS_(v, type), other)
#define abs(v) \
	CCA_ABS_OF_(v, long long, CCA_ABS_OF_(v, long, CCA_ABS_OF_(v, short, CCA_ABS_(v, int))))
#define swap(a, b)                      \
	do {                            \
		__typeof__(a) _s = (a); \
		(a) = (b);              \
		(b) = _s;               \
	} while (0)

/* Number of the highest bit set, from 1; 0 for 0. */
static inline int fls(unsigned int v)
{
	return v ? 32 - __builtin_clz(v) : 0;
}

static inline int fls64(u64 v)
{
	return v ? 64 - __builtin_clzll(v) : 0;
}

static inline unsigned long __fls(unsigned long v)
{
	return 63 - __builtin_clzl(v);
}

static inline unsigned long __ffs(unsigned long v)
{
	return __builtin_ctzl(v);
}

#define ffs(v)			__builtin_ffs(v)
#define hweight32(v)		__builtin_popcount(v)
#define hweight64(v)		__builtin_popcountll(v)
#define ilog2(v)		((int)fls64(v) - 1)
#define order_base_2(v)		((v) > 1 ? ilog2((v)-1) + 1 : 0)
#define roundup_pow_of_two(v)	(1UL << order_base_2((unsigned long)(v)))
#define rounddown_pow_of_two(v) (1UL << ilog2((unsigned long)(v)))
#define is_power_of_2(v)	((v) != 0 && ((v) & ((v)-1)) == 0)

/* Integer square root, rounded down, bit by bit from the top. */
static inline unsigned long int_sqrt(unsigned long v)
{
	unsigned long root = 0;
	int shift;

	for (shift = 31; shift >= 0; shift--) {
		unsigned long next = root | 1UL << shift;

		if (next * next <= v)
			root = next;
	}
	return root;
}

#define int_sqrt64(v) ((u32)int_sqrt(v))
#define htons(v)      __builtin_bswap16(v)
#define ntohs(v)      __builtin_bswap16(v)
#define htonl(v)      __builtin_bswap32(v)
#define ntohl(v)      __builtin_bswap32(v)

#endif /* DUMBBELL_MODULE_MATH64_H */
