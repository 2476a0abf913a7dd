/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Hashes of the kernel, with its values: by multiplication (linux/hash.h, after Knuth, TAOCP vol. 3, 6.4) and Bob
 * Jenkins' lookup3 of 2006 (linux/jhash.h; burtleburtle.net/bob/c/lookup3.c, public domain).
 */
#ifndef DUMBBELL_MODULE_HASH_H
#define DUMBBELL_MODULE_HASH_H

/* The golden ratio less one, negative, in 32 and 64 bits. */
#define GOLDEN_RATIO_32	   0x61C88647
#define GOLDEN_RATIO_64	   0x61C8864680B583EBull
#define GOLDEN_RATIO_PRIME GOLDEN_RATIO_64

static inline u32 __hash_32(u32 v)
{
	return v * GOLDEN_RATIO_32;
}
#define __hash_32_generic(v) __hash_32(v)

static inline u32 hash_32(u32 v, unsigned int bits)
{
	return __hash_32(v) >> (32 - bits);
}

static inline u32 hash_64(u64 v, unsigned int bits)
{
	return (u32)(v * GOLDEN_RATIO_64 >> (64 - bits));
}

#define hash_long(v, bits)	 hash_64(v, bits)
#define hash_32_generic(v, bits) hash_32(v, bits)
#define hash_64_generic(v, bits) hash_64(v, bits)

static inline u32 hash_ptr(const void *p, unsigned int bits)
{
	return hash_64((u64)(unsigned long)p, bits);
}

static inline u32 hash32_ptr(const void *p)
{
	u64 v = (u64)(unsigned long)p;

	return (u32)(v ^ v >> 32);
}

#define JHASH_INITVAL 0xdeadbeef
#define jhash_size(n) ((u32)1 << (n))
#define jhash_mask(n) (jhash_size(n) - 1)

static inline u32 cca_rol(u32 v, unsigned int bits)
{
	return v << bits | v >> (32 - bits);
}

/* One round of lookup3's mixing: `from` into `to`, rotated by `bits` bits. */
#define CCA_JHASH_MIX(to, from, next, bits) \
	do {                                \
		to -= from;                 \
		to ^= cca_rol(from, bits);  \
		from += next;               \
	} while (0)
#define __jhash_mix(a, b, c)                \
	do {                                \
		CCA_JHASH_MIX(a, c, b, 4);  \
		CCA_JHASH_MIX(b, a, c, 6);  \
		CCA_JHASH_MIX(c, b, a, 8);  \
		CCA_JHASH_MIX(a, c, b, 16); \
		CCA_JHASH_MIX(b, a, c, 19); \
		CCA_JHASH_MIX(c, b, a, 4);  \
	} while (0)
#define CCA_JHASH_END(to, from, bits)      \
	do {                               \
		to ^= from;                \
		to -= cca_rol(from, bits); \
	} while (0)
#define __jhash_final(a, b, c)           \
	do {                             \
		CCA_JHASH_END(c, b, 14); \
		CCA_JHASH_END(a, c, 11); \
		CCA_JHASH_END(b, a, 25); \
		CCA_JHASH_END(c, b, 16); \
		CCA_JHASH_END(a, c, 4);  \
		CCA_JHASH_END(b, a, 14); \
		CCA_JHASH_END(c, b, 24); \
	} while (0)

/* Of three words, the start value included in each. */
static inline u32 __jhash_nwords(u32 a, u32 b, u32 c, u32 start)
{
	a += start;
	b += start;
	c += start;
	__jhash_final(a, b, c);
	return c;
}

static inline u32 jhash_3words(u32 a, u32 b, u32 c, u32 start)
{
	return __jhash_nwords(a, b, c, start + JHASH_INITVAL + (3 << 2));
}

static inline u32 jhash_2words(u32 a, u32 b, u32 start)
{
	return __jhash_nwords(a, b, 0, start + JHASH_INITVAL + (2 << 2));
}

static inline u32 jhash_1word(u32 a, u32 start)
{
	return __jhash_nwords(a, 0, 0, start + JHASH_INITVAL + (1 << 2));
}

/* Of bytes, in groups of twelve: the words are read as a little-endian machine has them. */
static inline u32 jhash(const void *key, u32 length, u32 start)
{
	const u8 *at = key;
	u32 words[3], a, b, c;

	a = b = c = JHASH_INITVAL + length + start;
	for (; length > 12; length -= 12, at += 12) {
		memcpy(words, at, 12);
		a += words[0];
		b += words[1];
		c += words[2];
		__jhash_mix(a, b, c);
	}
	if (!length)
		return c;
	memset(words, 0, sizeof(words));
	memcpy(words, at, length);
	a += words[0];
	b += words[1];
	c += words[2];
	__jhash_final(a, b, c);
	return c;
}

/* Of words; the same as jhash() of their bytes. */
static inline u32 jhash2(const u32 *key, u32 words, u32 start)
{
	return jhash(key, words << 2, start);
}

#endif /* DUMBBELL_MODULE_HASH_H */
