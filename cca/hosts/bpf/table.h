/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * How a controller describes itself under BPF: tables in sections of their own, which become maps of
 * these names. They stay with the controller in the kernel, so that whoever finds it there can tell what
 * it is called, and what its parameters are, without the object. Mirrored in crates/bpf/src/table.rs.
 *
 *	.rodata.module	struct cca_module_row		its name, and the kernel's
 *	.rodata.params	struct cca_param_row[]		rows of CCA_PARAMS
 *	.data.params	u32[]				their values, which may change at any time
 *	.rodata.states	char[][CCA_STATE_NAME_MAX]	names of CCA_STATES
 *	.rodata.loader	struct cca_loader		what the loader knows of the running kernel
 */
#ifndef CCA_TABLE_H
#define CCA_TABLE_H

#define CCA_STATE_NAME_MAX 24

struct cca_module_row {
	char name[48];			   /* as in CCA_MODULE; that of the file */
	char kernel_name[TCP_CA_NAME_MAX]; /* a loader that changes it does so in the ops, too */
};

struct cca_param_row {
	char name[48];
	char unit[32];
	char doc[160];
	u32 def, min, max;
};

_Static_assert(sizeof(struct cca_module_row) == 64 && sizeof(struct cca_param_row) == 252,
	       "as the reader has them");

struct cca_loader {
	u32 hz;			  /* jiffies per second; any kernel tells it by clock_getres() */
	u32 has_old_cong_control; /* cong_control(sk, rs): kernels before 6.10 */
};

/* The loader must set both before it loads the object, and the verifier takes them for constants. */
const volatile struct cca_loader cca_loader SEC(".rodata.loader") = { .hz = 250 };

/* Parameters are variables that a loader changes while sockets run, so each hook reads them again. */
extern volatile u32 cca_param_values[] SEC(".data.params");

#define CCA_PARAM_VALUE_(name, def, min, max, unit, doc) def,
#define CCA_PARAM_ROW_(name, def, min, max, unit, doc)	 { #name, unit, doc, def, min, max },
#define CCA_PARAM_TABLE_(LIST, OWN)                                               \
	const struct cca_param_row cca_param_rows[] SEC(                          \
		".rodata.params") = { LIST(CCA_PARAM_ROW_) OWN(CCA_PARAM_ROW_) }; \
	volatile u32 cca_param_values[CCA_N_PARAMS] SEC(                          \
		".data.params") = { LIST(CCA_PARAM_VALUE_) OWN(CCA_PARAM_VALUE_) }
#define CCA_NO_PARAMS	_Static_assert(1, "ends with a semicolon")
#define param(sk, name) (cca_param_values[CCA_PARAM_##name])

#define CCA_STATES(...) \
	const char cca_state_names[][CCA_STATE_NAME_MAX] SEC(".rodata.states") = { __VA_ARGS__ }
#define CCA_NO_STATES _Static_assert(1, "ends with a semicolon")

#endif /* CCA_TABLE_H */
