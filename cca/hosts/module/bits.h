/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Bits, bytes in either order, pointers that are errors, sums that tell when they overflow, times of the day. */
#ifndef DUMBBELL_MODULE_BITS_H
#define DUMBBELL_MODULE_BITS_H

/* ---- pointers that are errors (linux/err.h): the last page of addresses ---- */

#define MAX_ERRNO	   4095
#define IS_ERR_VALUE(v)	   unlikely((unsigned long)(void *)(v) >= (unsigned long)-MAX_ERRNO)
#define ERR_PTR(error)	   ((void *)(long)(error))
#define PTR_ERR(p)	   ((long)(p))
#define IS_ERR(p)	   IS_ERR_VALUE(p)
#define IS_ERR_OR_NULL(p)  (!(p) || IS_ERR(p))
#define PTR_ERR_OR_ZERO(p) (IS_ERR(p) ? (int)PTR_ERR(p) : 0)
#define ERR_CAST(p)	   ((void *)(p))

/* ---- bits of words ---- */

#define BIT_MASK(n)		   (1UL << ((n) % BITS_PER_LONG))
#define BIT_WORD(n)		   ((n) / BITS_PER_LONG)
#define BITS_TO_LONGS(n)	   DIV_ROUND_UP(n, BITS_PER_LONG)
#define GENMASK_ULL(h, l)	   ((~0ULL << (l)) & (~0ULL >> (63 - (h))))
#define BITS_PER_LONG_LONG	   64
#define DECLARE_BITMAP(name, bits) unsigned long name[BITS_TO_LONGS(bits)]

#define set_bit(n, p)		   ((void)((p)[BIT_WORD(n)] |= BIT_MASK(n)))
#define clear_bit(n, p)		   ((void)((p)[BIT_WORD(n)] &= ~BIT_MASK(n)))
#define change_bit(n, p)	   ((void)((p)[BIT_WORD(n)] ^= BIT_MASK(n)))
#define test_bit(n, p)		   (!!((p)[BIT_WORD(n)] & BIT_MASK(n)))
#define __set_bit(n, p)		   set_bit(n, p)
#define __clear_bit(n, p)	   clear_bit(n, p)
#define assign_bit(n, p, v)	   ((v) ? set_bit(n, p) : clear_bit(n, p))
#define test_and_set_bit(n, p)              \
	({                                  \
		bool _was = test_bit(n, p); \
		set_bit(n, p);              \
		_was;                       \
	})
#define test_and_clear_bit(n, p)            \
	({                                  \
		bool _was = test_bit(n, p); \
		clear_bit(n, p);            \
		_was;                       \
	})

static inline void bitmap_zero(unsigned long *map, unsigned int bits)
{
	memset(map, 0, BITS_TO_LONGS(bits) * sizeof(*map));
}

static inline void bitmap_fill(unsigned long *map, unsigned int bits)
{
	memset(map, 0xff, BITS_TO_LONGS(bits) * sizeof(*map));
}

static inline unsigned int bitmap_weight(const unsigned long *map, unsigned int bits)
{
	unsigned int i, sum = 0;

	for (i = 0; i < bits; i++)
		sum += test_bit(i, map);
	return sum;
}

/* The first bit from `from` on that has this value; `bits` where there is none. */
static inline unsigned long cca_find_bit(const unsigned long *map, unsigned long bits,
					 unsigned long from, bool value)
{
	while (from < bits && test_bit(from, map) != value)
		from++;
	return min(from, bits);
}
#define find_first_bit(map, bits)	    cca_find_bit(map, bits, 0, true)
#define find_first_zero_bit(map, bits)	    cca_find_bit(map, bits, 0, false)
#define find_next_bit(map, bits, from)	    cca_find_bit(map, bits, from, true)
#define find_next_zero_bit(map, bits, from) cca_find_bit(map, bits, from, false)
#define for_each_set_bit(n, map, bits) \
	for ((n) = find_first_bit(map, bits); (n) < (bits); (n) = find_next_bit(map, bits, (n) + 1))

static inline u32 rol32(u32 v, unsigned int n)
{
	return v << (n & 31) | v >> (-n & 31);
}

static inline u32 ror32(u32 v, unsigned int n)
{
	return rol32(v, -n);
}

static inline u64 rol64(u64 v, unsigned int n)
{
	return v << (n & 63) | v >> (-n & 63);
}

static inline u64 ror64(u64 v, unsigned int n)
{
	return rol64(v, -n);
}

static inline s32 sign_extend32(u32 v, int top)
{
	return (s32)(v << (31 - top)) >> (31 - top);
}

static inline s64 sign_extend64(u64 v, int top)
{
	return (s64)(v << (63 - top)) >> (63 - top);
}

#define hweight8(v)		 __builtin_popcount((u8)(v))
#define hweight16(v)		 __builtin_popcount((u16)(v))
#define hweight_long(v)		 __builtin_popcountl(v)
#define ffz(v)			 __ffs(~(v))
#define __ffs64(v)		 ((unsigned long)__builtin_ctzll(v))
#define fls_long(v)		 fls64(v)
#define upper_32_bits(v)	 ((u32)((u64)(v) >> 32))
#define lower_32_bits(v)	 ((u32)(v))
#define rounddown_pow_of_two_(v) rounddown_pow_of_two(v)
#define get_count_order(v)	 ((v) ? (int)order_base_2(v) : -1)

/* ---- bytes in a stated order (this machine's is little-endian), and anywhere ---- */

#define htobe16_(v)    __builtin_bswap16(v)
#define cpu_to_be16(v) ((__be16)__builtin_bswap16(v))
#define cpu_to_be32(v) ((__be32)__builtin_bswap32(v))
#define cpu_to_be64(v) ((__be64)__builtin_bswap64(v))
#define be16_to_cpu(v) ((u16)__builtin_bswap16(v))
#define be32_to_cpu(v) ((u32)__builtin_bswap32(v))
#define be64_to_cpu(v) ((u64)__builtin_bswap64(v))
#define cpu_to_le16(v) ((__le16)(v))
#define cpu_to_le32(v) ((__le32)(v))
#define cpu_to_le64(v) ((__le64)(v))
#define le16_to_cpu(v) ((u16)(v))
#define le32_to_cpu(v) ((u32)(v))
#define le64_to_cpu(v) ((u64)(v))
#define swab16(v)      __builtin_bswap16(v)
#define swab32(v)      __builtin_bswap32(v)
#define swab64(v)      __builtin_bswap64(v)

#define get_unaligned(p)                        \
	({                                      \
		__typeof__(*(p) + 0) _v = 0;    \
		memcpy(&_v, (p), sizeof(*(p))); \
		(__typeof__(*(p)))_v;           \
	})
#define put_unaligned(v, p)                     \
	do {                                    \
		__typeof__(*(p)) _v = (v);      \
		memcpy((p), &_v, sizeof(*(p))); \
	} while (0)
#define CCA_UNALIGNED(bits)                                                       \
	static inline u##bits get_unaligned_le##bits(const void *p)               \
	{                                                                         \
		u##bits v;                                                        \
		memcpy(&v, p, sizeof(v));                                         \
		return v;                                                         \
	}                                                                         \
	static inline u##bits get_unaligned_be##bits(const void *p)               \
	{                                                                         \
		return (u##bits)__builtin_bswap##bits(get_unaligned_le##bits(p)); \
	}                                                                         \
	static inline void put_unaligned_le##bits(u##bits v, void *p)             \
	{                                                                         \
		memcpy(p, &v, sizeof(v));                                         \
	}                                                                         \
	static inline void put_unaligned_be##bits(u##bits v, void *p)             \
	{                                                                         \
		put_unaligned_le##bits((u##bits)__builtin_bswap##bits(v), p);     \
	}
CCA_UNALIGNED(16)
CCA_UNALIGNED(32)
CCA_UNALIGNED(64)

/* ---- sums and products that tell when they overflow ---- */

#define check_add_overflow(a, b, to) __builtin_add_overflow(a, b, to)
#define check_sub_overflow(a, b, to) __builtin_sub_overflow(a, b, to)
#define check_mul_overflow(a, b, to) __builtin_mul_overflow(a, b, to)

static inline size_t size_mul(size_t a, size_t b)
{
	size_t v;

	return __builtin_mul_overflow(a, b, &v) ? SIZE_MAX : v;
}

static inline size_t size_add(size_t a, size_t b)
{
	size_t v;

	return __builtin_add_overflow(a, b, &v) ? SIZE_MAX : v;
}
#define array_size(a, b)	      size_mul(a, b)
#define array3_size(a, b, c)	      size_mul(size_mul(a, b), c)
#define struct_size(p, member, n)     size_add(sizeof(*(p)), size_mul(sizeof(*(p)->member), n))
#define flex_array_size(p, member, n) size_mul(sizeof(*(p)->member), n)
#define struct_group(name, ...)     \
	union {                     \
		struct {            \
			__VA_ARGS__ \
		};                  \
		struct {            \
			__VA_ARGS__ \
		} name;             \
	}

#endif /* DUMBBELL_MODULE_BITS_H */
