/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A small network of dense layers in integers: the same numbers in the simulator and in a kernel, which has no floating
 * point. A policy's file has its tables (python/dumbbell/policy).
 *
 *	activations	s32, 1/65536 (Q16)
 *	weights		s32, 1/2^shift of each layer
 *	sums		s64, 1/2^(16 + shift): a row of 256 products of 31 and 20 bits needs 60
 *
 * A layer is a constant, and these functions go into the one that names it: so a compiler knows all sizes and tables, and
 * BPF, which has no tables with pointers in them, needs none.
 *
 * The last layer has one output, whose sum is compared with a table of thresholds: the answer is how many it reaches. So
 * tanh and powers are in the table, and integers decide.
 */
#ifndef ORCA_NETWORK_H
#define ORCA_NETWORK_H

#define NET_ONE_SHIFT 16
#define NET_ONE	      (1 << NET_ONE_SHIFT)
/* Largest activation, so that a sum fits: 2^15 in Q16. */
#define NET_MAX ((s64)0x7fffffff)
/* tanh is 1 from 8 on, to half of 1/65536, and so is a line between two of 1024 steps (1/8 x 0.77 / 128^2). */
#define NET_TANH_STEPS 1024
#define NET_TANH_SHIFT (NET_ONE_SHIFT + 3 - 10)

enum net_kind { NET_LEAKY, NET_TANH };

struct net_layer {
	const s32 *weights; /* [outputs][inputs] */
	const s64 *bias;    /* [outputs] */
	const s32 *tanh;    /* [NET_TANH_STEPS + 2], Q16; with NET_TANH */
	u32 inputs, outputs;
	u32 shift;
	u32 kind;  /* enum net_kind */
	s32 slope; /* below zero, Q16; 0: ReLU, NET_ONE: none */
};

static __always_inline s64 net_sum(const struct net_layer *layer, u32 output, const s32 *in)
{
	const s32 *weights = layer->weights + (u64)output * layer->inputs;
	s64 sum = layer->bias[output];
	u32 i;

	for (i = 0; i < layer->inputs; i++)
		sum += (s64)weights[i] * in[i];
	return sum;
}

/* Linear between the steps of the table. */
static __always_inline s32 net_tanh(const s32 *table, s64 x)
{
	u64 size = (u64)(x < 0 ? -x : x);
	u32 step = (u32)min_t(u64, size >> NET_TANH_SHIFT, NET_TANH_STEPS);
	s64 part = step < NET_TANH_STEPS ? (s64)(size & ((1 << NET_TANH_SHIFT) - 1)) : 0;
	s32 y = table[step] + (s32)(((table[step + 1] - table[step]) * part) >> NET_TANH_SHIFT);

	return x < 0 ? -y : y;
}

/* A hidden layer. */
static __always_inline void net_forward(const struct net_layer *layer, const s32 *in, s32 *out)
{
	u32 j;

	CCA_FOR(j, layer->outputs) {
		s64 x = net_sum(layer, j, in) >> layer->shift;

		if (layer->kind == NET_TANH) {
			out[j] = net_tanh(layer->tanh, x);
			continue;
		}
		if (x < 0)
			x = (x * layer->slope) >> NET_ONE_SHIFT;
		out[j] = (s32)(x > NET_MAX ? NET_MAX : x < -NET_MAX ? -NET_MAX : x);
	}
}

/* How many of the thresholds, which ascend, a sum reaches. */
static u32 net_reached(s64 sum, const s64 *thresholds, u32 n)
{
	u32 low = 0, high = n;

	while (low < high) {
		u32 middle = (low + high) / 2;

		if (sum >= thresholds[middle])
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

#endif /* ORCA_NETWORK_H */
