// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Linked to a user's controller with CCA_SANITIZE=1: what the sanitizer finds ends the run as a
 * crash does, so that the run's error says in which hook, and when (crates/cca/src/watch.rs).
 * Without it the sanitizer leaves by exit(), which nobody sees but the caller of wait().
 */

extern const char *__ubsan_default_options(void);

const char *__ubsan_default_options(void)
{
	return "abort_on_error=1";
}
