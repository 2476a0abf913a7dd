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

/* A parameter, or an element of one that is a list. */
struct setting {
	const struct kernel_param *kp; /* NULL: no such */
	u32 index;
};

static struct cca_param_info rows[MAX_PARAMS];
static char names[MAX_PARAMS][TEXT_BYTES]; /* of elements */

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

int param_set_uint_minmax(const char *text, const struct kernel_param *kp, unsigned int minimum,
			  unsigned int maximum)
{
	unsigned int value;
	int error = kstrtouint(text, 0, &value);

	if (error)
		return error;
	if (value < minimum || value > maximum)
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

/* The types of module_param(): name, C type, minimum and maximum. */
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

#define IF_READ(type_, c, minimum, maximum)            \
	if (!strcmp(kp->type, type_)) {                \
		row->def = (s64)((c *)kp->arg)[index]; \
		row->min = (s64)(minimum);             \
		row->max = (s64)(maximum);             \
		return true;                           \
	}
#define IF_WRITE(type_, c, minimum, maximum)                          \
	if (!strcmp(kp->type, type_)) {                               \
		if (value < (s64)(minimum) || value > (s64)(maximum)) \
			return -ERANGE;                               \
		((c *)kp->arg)[index] = (c)value;                     \
		return 0;                                             \
	}

/* Fills in default and range; false for a type that has no number (charp). */
static bool read_param(const struct kernel_param *kp, u32 index, struct cca_param_info *row)
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

static int write_param(const struct kernel_param *kp, u32 index, s64 value)
{
	char text[TEXT_BYTES];

	if (kp->num && *kp->num <= index)
		*kp->num = index + 1;
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

/* The next parameter of the source that can be set, after this line. The linker has an order of its own. */
static const struct kernel_param *next_after(unsigned long line)
{
	const struct kernel_param *kp, *next = NULL;
	struct cca_param_info unused;

	for (kp = __start_cca_params; kp < __stop_cca_params; kp++)
		if (kp->line > line && (!next || kp->line < next->line) &&
		    read_param(kp, 0, &unused))
			next = kp;
	return next;
}

/* The n-th that can be set, elements of lists counted one by one. */
static struct setting settable(u32 n)
{
	struct setting found = { next_after(0), n };

	while (found.kp && found.index >= max(found.kp->size, 1UL)) {
		found.index -= max(found.kp->size, 1UL);
		found.kp = next_after(found.kp->line);
	}
	return found;
}

/* The parameter's name, followed by the index if it is an element of a list. */
static const char *name_of(struct setting what, char *buffer)
{
	size_t length = strlen(what.kp->name);

	if (!what.kp->size || length > TEXT_BYTES - 24)
		return what.kp->name;
	memcpy(buffer, what.kp->name, length);
	buffer[length] = '_';
	decimal(buffer + length + 1, what.index);
	return buffer;
}

u32 cca_module_params(const struct cca_param_info **list)
{
	struct setting what;
	u32 n;

	for (n = 0; n < MAX_PARAMS && (what = settable(n)).kp; n++) {
		const struct cca_module_text *doc = text_of(what.kp->name, false);

		read_param(what.kp, what.index, &rows[n]);
		rows[n].name = name_of(what, names[n]);
		rows[n].unit = *what.kp->type ? what.kp->type : "checked by the module";
		rows[n].doc = doc ? doc->text : "";
	}
	*list = rows;
	return n;
}

/* Of a BPF program, which has it elsewhere (cca/hosts/struct_ops/host.c). */
extern const char *cca_struct_ops_license(void) __weak;

const char *cca_module_license(void)
{
	const struct cca_module_text *license = text_of("license", true);

	if (cca_struct_ops_license && cca_struct_ops_license())
		return cca_struct_ops_license();
	return license ? license->text : "none given";
}

int cca_module_set(u32 index, s64 value)
{
	struct setting what = settable(index);

	return what.kp ? write_param(what.kp, what.index, value) : -ENOENT;
}
