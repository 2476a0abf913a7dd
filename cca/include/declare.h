/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * How a controller declares its parameters and its private state, as far as that is the same on every host. A host
 * defines
 *
 *	CCA_PARAM_TABLE_(LIST, OWN)	the tables of its parameters, made of the rows of LIST and then those of OWN
 *	CCA_LARGE_STATE_(x, type)	x_state(sk), for a state that is kept outside of the socket
 */
#ifndef CCA_DECLARE_H
#define CCA_DECLARE_H

#define CCA_PARAM_INDEX_(name, def, min, max, unit, doc) CCA_PARAM_##name,
#define CCA_NO_ROWS(P)
#define CCA_PARAMS(LIST)                              \
	enum { LIST(CCA_PARAM_INDEX_) CCA_N_PARAMS }; \
	CCA_PARAM_TABLE_(LIST, CCA_NO_ROWS)
#define CCA_FAMILY_PARAMS(LIST) enum { LIST(CCA_PARAM_INDEX_) CCA_N_FAMILY_PARAMS }
#define CCA_PARAMS_OF_FAMILY(LIST, OWN)                                                          \
	enum { CCA_PARAMS_LAST_ = CCA_N_FAMILY_PARAMS - 1, OWN(CCA_PARAM_INDEX_) CCA_N_PARAMS }; \
	CCA_PARAM_TABLE_(LIST, OWN)

/* Bytes of the state, inside the socket and outside of it. */
#define CCA_STATE_BYTES_(inside, outside) \
	enum { CCA_PRIV_BYTES = (inside), CCA_LARGE_BYTES = (outside) }
#define CCA_NO_STATE CCA_STATE_BYTES_(0, 0)
#define CCA_STATE(x, type)                                                       \
	_Static_assert(sizeof(type) <= ICSK_CA_PRIV_SIZE,                        \
		       "private state exceeds the socket: use CCA_STATE_LARGE"); \
	CCA_STATE_BYTES_(sizeof(type), 0);                                       \
	static inline type *x##_state(const struct sock *sk)                     \
	{                                                                        \
		return inet_csk_ca(sk);                                          \
	}                                                                        \
	_Static_assert(1, "ends with a semicolon")
#define CCA_STATE_LARGE(x, type)           \
	CCA_STATE_BYTES_(0, sizeof(type)); \
	CCA_LARGE_STATE_(x, type)

/*
 * The variables of CCA_VARS, and one function that reads them all. The table that CCA_MODULE takes stays empty unless
 * CCA_VARS says otherwise. BPF programs report no variables.
 */
#ifdef CCA_HOST_BPF
#define CCA_VARS(type, name, state, LIST) _Static_assert(1, "ends with a semicolon")
#else
#define CCA_VAR_ROW_(name, value, unit, doc)   { #name, unit, doc },
#define CCA_VAR_VALUE_(name, value, unit, doc) *values++ = (s64)(value);
#define CCA_VARS(type, name, state, LIST)                                                   \
	static bool cca_read_vars(struct sock *sk, s64 *values)                             \
	{                                                                                   \
		const type *name = (state);                                                 \
                                                                                            \
		if (!name)                                                                  \
			return false;                                                       \
		LIST(CCA_VAR_VALUE_)                                                        \
		return true;                                                                \
	}                                                                                   \
	static const struct cca_var_info cca_var_rows[] = { LIST(CCA_VAR_ROW_) };           \
	_Static_assert(sizeof(cca_var_rows) / sizeof(cca_var_rows[0]) <= CCA_VARS_MAX,      \
		       "more than CCA_VARS_MAX variables");                                 \
	static const struct cca_vars cca_module_vars = {                                    \
		cca_var_rows, sizeof(cca_var_rows) / sizeof(cca_var_rows[0]), cca_read_vars \
	}
static const struct cca_vars cca_module_vars __attribute__((unused));
#endif

#endif /* CCA_DECLARE_H */
