/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What cca.h promises, natively: the simulator owns the socket's memory, so time,
 * parameters and random numbers are read from it (struct cca_host).
 */
#ifndef CCA_HOST_H
#define CCA_HOST_H

#include "table.h"
#include "../../include/declare.h"

#define CCA_PARAM_ROW_(name, def, min, max, unit, doc) { #name, unit, doc, def, min, max },

#define CCA_PARAM_MIN_(name, def, min, max, unit, doc) CCA_PARAM_MIN_##name = (min),
#define CCA_PARAM_MAX_(name, def, min, max, unit, doc) CCA_PARAM_MAX_##name = (max),

#define CCA_PARAM_TABLE_(LIST, OWN)                                                  \
	enum { LIST(CCA_PARAM_MIN_) OWN(CCA_PARAM_MIN_) CCA_PARAM_MIN };             \
	enum { LIST(CCA_PARAM_MAX_) OWN(CCA_PARAM_MAX_) CCA_PARAM_MAX };             \
	static const struct cca_param_info cca_param_rows[] = { LIST(CCA_PARAM_ROW_) \
									OWN(CCA_PARAM_ROW_) }

#define CCA_NO_PARAMS          \
	enum { CCA_N_PARAMS }; \
	static const struct cca_param_info *const cca_param_rows = NULL

/* A value that names no parameter or is out of its range does not compile. The list that CCA_MODULE
 * takes stays empty unless CCA_PRESETS says otherwise.
 */
#define CCA_PRESET_CHECK_(name, value)                                                     \
	_Static_assert((value) >= CCA_PARAM_MIN_##name && (value) <= CCA_PARAM_MAX_##name, \
		       "in a preset: " #name " = " #value " is out of range");
#define CCA_PRESET_VALUE_(name, value) { CCA_PARAM_##name, value },
#define CCA_PRESET_VALUES_(name, doc, VALUES)                                         \
	VALUES(CCA_PRESET_CHECK_)                                                     \
	static const struct cca_preset_value cca_preset_values_##VALUES[] = { VALUES( \
		CCA_PRESET_VALUE_) };
#define CCA_PRESET_ROW_(name, doc, VALUES)        \
	{ #name, doc, cca_preset_values_##VALUES, \
	  sizeof(cca_preset_values_##VALUES) / sizeof(cca_preset_values_##VALUES[0]) },

#define CCA_PRESETS(LIST)                                                             \
	LIST(CCA_PRESET_VALUES_)                                                      \
	static const struct cca_preset cca_preset_list[] = { LIST(CCA_PRESET_ROW_) }; \
	static const struct cca_presets cca_module_presets = {                        \
		cca_preset_list, sizeof(cca_preset_list) / sizeof(cca_preset_list[0]) \
	}
static const struct cca_presets cca_module_presets __attribute__((unused));

#define param(sk, name) ((sk)->sk_host.params[CCA_PARAM_##name])

#define CCA_STATES(...)                                               \
	static const char *const cca_state_names[] = { __VA_ARGS__ }; \
	enum { CCA_N_STATES = sizeof(cca_state_names) / sizeof(cca_state_names[0]) }
#define CCA_NO_STATES          \
	enum { CCA_N_STATES }; \
	static const char *const *const cca_state_names = NULL

#define CCA_LARGE_STATE_(x, type)                            \
	static inline type *x##_state(const struct sock *sk) \
	{                                                    \
		return sk->sk_host.storage;                  \
	}                                                    \
	_Static_assert(1, "ends with a semicolon")

#include "../../include/hooks.h"

/* The simulated TCP tells of lost bursts, as Google's trees do. */
#define CCA_TELLS_LOSSES 1

#define CCA_MODULE(x, name_, flags_, ...)                                     \
	static const struct tcp_congestion_ops x##_ops = { .name = name_,     \
							   .flags = (flags_), \
							   __VA_ARGS__ };     \
	extern const struct cca_module cca_module_##x;                        \
	const struct cca_module cca_module_##x = {                            \
		.ops = &x##_ops,                                              \
		.params = cca_param_rows,                                     \
		.states = cca_state_names,                                    \
		.license = "GPL-2.0 OR BSD-3-Clause",                         \
		.presets = &cca_module_presets,                               \
		.vars = &cca_module_vars,                                     \
		.n_params = CCA_N_PARAMS,                                     \
		.n_states = CCA_N_STATES,                                     \
		.priv_bytes = CCA_PRIV_BYTES + CCA_LARGE_BYTES,               \
		.is_large = CCA_LARGE_BYTES > 0,                              \
	}

#define tcp_jiffies32 ((sk)->sk_host.jiffies)
#define HZ	      ((sk)->sk_host.hz)

static inline u8 inet_csk_ca_state(const struct sock *sk)
{
	return inet_csk(sk)->icsk_ca_state;
}

static inline bool tcp_cwnd_limited_flag(const struct tcp_sock *tp)
{
	return tp->is_cwnd_limited;
}

/* 64 random bits by SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): one word of state. */
static inline u64 cca_random_u64(struct sock *sk)
{
	u64 z = sk->sk_host.rng += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static inline u32 cca_random_below(struct sock *sk, u32 n)
{
	return (u32)(((cca_random_u64(sk) >> 32) * n) >> 32);
}

/* The simulated TCP keeps these with each segment; nothing to log. */
struct cca_flight_log {
};

static inline u32 cca_flight_lost(struct cca_flight_log *log, const struct tcp_sock *tp,
				  const struct rate_sample *rs)
{
	(void)log;
	(void)tp;
	return rs->lost;
}

static inline u32 cca_flight_at_send(const struct tcp_sock *tp, const struct rate_sample *rs,
				     u32 lost)
{
	(void)tp;
	(void)lost;
	return rs->tx_in_flight;
}

static inline bool cca_acks_loss_probe(const struct rate_sample *rs)
{
	return rs->is_acking_tlp_retrans_seq;
}

static inline bool cca_probed_app_limited(const struct tcp_sock *tp)
{
	return tp->tlp_orig_data_app_limited;
}

static inline void cca_request_pacing(struct sock *sk)
{
	if (sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

static inline void cca_bound_pacing(struct sock *sk, u64 bytes_per_s)
{
	*(cca_ulong *)&sk->sk_max_pacing_rate = (cca_ulong)bytes_per_s;
}

#endif /* CCA_HOST_H */
