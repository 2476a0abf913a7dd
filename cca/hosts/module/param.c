// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Linked to a kernel module: its parameters, from the sections that param.h fills; their
 * ranges are those of their C types.
 */
#include "kernel_module.h"
#include "glue.h"

extern long long strtoll(const char *text, char **end, int base);

extern const struct kernel_param __start_cca_params[] __attribute__((weak));
extern const struct kernel_param __stop_cca_params[] __attribute__((weak));
extern const struct cca_module_text __start_cca_texts[] __attribute__((weak));
extern const struct cca_module_text __stop_cca_texts[] __attribute__((weak));

enum { MAX_PARAMS = 256, TEXT_BYTES = 64 };

static struct cca_param_info rows[MAX_PARAMS];

int kstrtouint(const char *text, unsigned int base, unsigned int *value)
{
	long long v = strtoll(text, NULL, base);

	if (v < 0 || v > U32_MAX)
		return -ERANGE;
	*value = (unsigned int)v;
	return 0;
}

int kstrtoint(const char *text, unsigned int base, int *value)
{
	long long v = strtoll(text, NULL, base);

	if (v < S32_MIN || v > S32_MAX)
		return -ERANGE;
	*value = (int)v;
	return 0;
}

int kstrtobool(const char *text, bool *value)
{
	*value = strtoll(text, NULL, 10) != 0;
	return 0;
}

int param_set_int(const char *text, const struct kernel_param *kp)
{
	return kstrtoint(text, 0, kp->arg);
}

int param_set_uint(const char *text, const struct kernel_param *kp)
{
	return kstrtouint(text, 0, kp->arg);
}

int param_set_bool(const char *text, const struct kernel_param *kp)
{
	return kstrtobool(text, kp->arg);
}

int param_set_uint_minmax(const char *text, const struct kernel_param *kp, unsigned int least,
			  unsigned int most)
{
	unsigned int value;
	int error = kstrtouint(text, 0, &value);

	if (error)
		return error;
	if (value < least || value > most)
		return -EINVAL;
	*(unsigned int *)kp->arg = value;
	return 0;
}

/* Decimal digits of v into buffer, which has room for 24; returns their number. */
static int decimal(char *buffer, s64 v)
{
	char digits[24];
	u64 rest = v < 0 ? -(u64)v : (u64)v;
	int n = 0, length = 0;

	do {
		digits[n++] = (char)('0' + rest % 10);
		rest /= 10;
	} while (rest);
	if (v < 0)
		buffer[length++] = '-';
	while (n)
		buffer[length++] = digits[--n];
	buffer[length] = 0;
	return length;
}

int param_get_int(char *buffer, const struct kernel_param *kp)
{
	return decimal(buffer, *(int *)kp->arg);
}

int param_get_uint(char *buffer, const struct kernel_param *kp)
{
	return decimal(buffer, *(unsigned int *)kp->arg);
}

int param_get_bool(char *buffer, const struct kernel_param *kp)
{
	return decimal(buffer, *(bool *)kp->arg);
}

const struct kernel_param_ops param_ops_int = { .set = param_set_int, .get = param_get_int };
const struct kernel_param_ops param_ops_uint = { .set = param_set_uint, .get = param_get_uint };
const struct kernel_param_ops param_ops_bool = { .set = param_set_bool, .get = param_get_bool };

/* The types of module_param(): name, C type, least and largest value. */
#define TYPES(T)                                 \
	T("byte", u8, 0, U8_MAX)                 \
	T("hexint", unsigned int, 0, U32_MAX)    \
	T("short", short, -S16_MAX - 1, S16_MAX) \
	T("ushort", unsigned short, 0, U16_MAX)  \
	T("int", int, S32_MIN, S32_MAX)          \
	T("uint", unsigned int, 0, U32_MAX)      \
	T("long", long, -S64_MAX - 1, S64_MAX)   \
	T("ulong", unsigned long, 0, S64_MAX)    \
	T("ullong", u64, 0, S64_MAX)             \
	T("bool", bool, 0, 1)                    \
	T("invbool", bool, 0, 1)

#define IF_READ(type_, c, least, most)           \
	if (!strcmp(kp->type, type_)) {          \
		row->def = (s64) * (c *)kp->arg; \
		row->min = (s64)(least);         \
		row->max = (s64)(most);          \
		return true;                     \
	}
#define IF_WRITE(type_, c, least, most)                          \
	if (!strcmp(kp->type, type_)) {                          \
		if (value < (s64)(least) || value > (s64)(most)) \
			return -ERANGE;                          \
		*(c *)kp->arg = (c)value;                        \
		return 0;                                        \
	}

/* Fills in default and range; false for a type that has no number (charp). */
static bool read_param(const struct kernel_param *kp, struct cca_param_info *row)
{
	char text[TEXT_BYTES] = { 0 };

	if (*kp->type) {
		TYPES(IF_READ)
		return false;
	}
	if (!kp->ops->set)
		return false;
	if (kp->ops->get)
		kp->ops->get(text, kp);
	row->def = strtoll(text, NULL, 10);
	row->min = S32_MIN;
	row->max = U32_MAX;
	return true;
}

static int write_param(const struct kernel_param *kp, s64 value)
{
	char text[TEXT_BYTES];

	if (*kp->type) {
		TYPES(IF_WRITE)
		return -EINVAL;
	}
	decimal(text, value);
	return kp->ops->set(text, kp);
}

static const struct cca_module_text *text_of(const char *name, bool is_info)
{
	const struct cca_module_text *t;

	for (t = __start_cca_texts; t < __stop_cca_texts; t++)
		if (t->is_info == is_info && !strcmp(t->name, name))
			return t;
	return NULL;
}

/* The n-th parameter of the source that can be set, or NULL. The linker has an order of its own. */
static const struct kernel_param *settable(u32 n)
{
	const struct kernel_param *kp, *next = NULL;
	struct cca_param_info unused;
	unsigned long past = 0;

	do {
		next = NULL;
		for (kp = __start_cca_params; kp < __stop_cca_params; kp++)
			if (kp->line > past && (!next || kp->line < next->line) &&
			    read_param(kp, &unused))
				next = kp;
		past = next ? next->line : past;
	} while (next && n--);
	return next;
}

u32 cca_module_params(const struct cca_param_info **list)
{
	const struct kernel_param *kp;
	u32 n;

	for (n = 0; n < MAX_PARAMS && (kp = settable(n)); n++) {
		const struct cca_module_text *doc = text_of(kp->name, false);

		read_param(kp, &rows[n]);
		rows[n].name = kp->name;
		rows[n].unit = *kp->type ? kp->type : "checked by the module";
		rows[n].doc = doc ? doc->text : "";
	}
	*list = rows;
	return n;
}

const char *cca_module_license(void)
{
	const struct cca_module_text *license = text_of("license", true);

	return license ? license->text : "none given";
}

int cca_module_set(u32 index, s64 value)
{
	const struct kernel_param *kp = settable(index);

	return kp ? write_param(kp, value) : -ENOENT;
}
