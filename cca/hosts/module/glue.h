/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What is linked to a kernel module exports to the loader (crates/cca/src/library.rs).
 *
 * The loader calls cca_module_describe(), cca_module_set() for each parameter that is not to
 * have its default, then cca_module_start(), which runs the module's module_init().
 */
#ifndef DUMBBELL_MODULE_GLUE_H
#define DUMBBELL_MODULE_GLUE_H

#include "../sim/table.h"

#define EXPORT __attribute__((visibility("default")))

/* Why cca_module_start() failed; empty when the module gave a reason by number only. */
EXPORT extern const char *cca_module_error;
/* Takes the text of a WARN_ON, a BUG_ON or what ends the run, from which last two it does not return. */
enum { CCA_TELL_WARNING, CCA_TELL_BUG, CCA_TELL_END };
EXPORT extern void (*cca_module_tell)(const char *file, int line, const char *what, int kind);
/* Seed of the random numbers that module_init() draws. */
EXPORT extern u64 cca_module_seed;
/* The module but for its hooks, which it has after cca_module_start(). */
EXPORT extern const struct cca_module *cca_module_describe(void);
/* Sets a parameter by its place in the list; 0 or a negative error number. */
EXPORT extern int cca_module_set(u32 index, s64 value);
EXPORT extern int cca_module_start(void);
EXPORT extern void cca_module_stop(void);

/* Within the glue. */
/* Something is to be done when the hook that asked for it has ended (memory.c). */
extern bool cca_module_has_later;
extern void cca_module_do_later(void);
/* The list of parameters, and the licence. */
extern u32 cca_module_params(const struct cca_param_info **list);
extern const char *cca_module_license(void);

#endif /* DUMBBELL_MODULE_GLUE_H */
