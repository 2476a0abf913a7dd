/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * How a controller describes itself to the simulator: one built in (host.h) and one that is
 * loaded (cca/hosts/module) alike. Mirrored in crates/cca/src/module.rs.
 */
#ifndef CCA_TABLE_H
#define CCA_TABLE_H

/* One row of a parameter table, as the simulator lists it. */
struct cca_param_info {
	const char *name;
	const char *unit;
	const char *doc;
	s64 def;
	s64 min;
	s64 max;
};

/* One value of a preset. */
struct cca_preset_value {
	u32 param; /* index of the parameter */
	s64 value;
};

/* A set of parameter values that has a name. */
struct cca_preset {
	const char *name;
	const char *doc;
	const struct cca_preset_value *values;
	u32 n_values;
};

struct cca_presets {
	const struct cca_preset *list;
	u32 n;
};

/* What the simulator knows of a controller. */
struct cca_module {
	const struct CCA_OPS_TAG *ops;
	const struct cca_param_info *params;
	const char *const *states;
	const char *license;
	const struct cca_presets *presets; /* NULL: none */
	const struct cca_vars *vars;	   /* NULL: none */
	u32 n_params;
	u32 n_states;
	u32 priv_bytes; /* size of the private state */
	u32 is_large;	/* kept outside the socket (CCA_STATE_LARGE) */
};

#endif /* CCA_TABLE_H */
