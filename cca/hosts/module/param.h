/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Parameters and description of a module, collected by the linker into sections that the
 * loader walks (module.c). A file that is linked along only because it exports a symbol
 * (tcp_vegas.c for tcp_yeah.c) is compiled with CCA_MODULE_COMPANION: its parameters stay
 * at their defaults, and its registration is ignored.
 */
#ifndef DUMBBELL_MODULE_PARAM_H
#define DUMBBELL_MODULE_PARAM_H

struct kernel_param;
struct kernel_param_ops {
	unsigned int flags;
	int (*set)(const char *text, const struct kernel_param *kp);
	int (*get)(char *buffer, const struct kernel_param *kp);
	void (*free)(void *arg);
};
struct kernel_param {
	const char *name;
	const struct kernel_param_ops *ops;
	void *arg;
	const char *type;   /* "int", "bool", ...; "" for one with operations of its own */
	unsigned long line; /* of the source, for their order */
	unsigned long size; /* elements of a list of values, 0 when it is none */
	unsigned int *num;  /* how many of them are given, or NULL */
};
struct cca_module_text {
	const char *name; /* of the parameter, or "license", "description" with is_info */
	const char *text;
	u64 is_info;
};

extern const struct kernel_param_ops param_ops_int, param_ops_uint, param_ops_bool;
extern int param_set_int(const char *text, const struct kernel_param *kp);
extern int param_set_uint(const char *text, const struct kernel_param *kp);
extern int param_set_bool(const char *text, const struct kernel_param *kp);
extern int param_set_uint_minmax(const char *text, const struct kernel_param *kp,
				 unsigned int minimum, unsigned int maximum);
extern int param_get_int(char *buffer, const struct kernel_param *kp);
extern int param_get_uint(char *buffer, const struct kernel_param *kp);
extern int param_get_bool(char *buffer, const struct kernel_param *kp);
extern int kstrtouint(const char *text, unsigned int base, unsigned int *value);
extern int kstrtoint(const char *text, unsigned int base, int *value);
extern int kstrtobool(const char *text, bool *value);

#define CCA_PASTE__(a, b) a##b
#define CCA_PASTE_(a, b)  CCA_PASTE__(a, b)

#ifdef CCA_MODULE_COMPANION
#define CCA_PARAM_ROW_(name, ops, arg, type, size, num) _Static_assert(1, "")
#define CCA_TEXT_ROW_(name, text, is_info)		_Static_assert(1, "")
#define module_init(start)				static void *const cca_init_ __used = (void *)(start)
#define module_exit(stop)				static void *const cca_exit_ __used = (void *)(stop)
#define tcp_register_congestion_control(ops)		((void)(ops), 0)
#else
#define CCA_PARAM_ROW_(name_, ops_, arg_, type_, size_, num_)                    \
	static const struct kernel_param cca_param_##name_                       \
		__attribute__((used, section("cca_params"), aligned(8))) = {     \
			#name_, ops_, arg_, type_, __LINE__, size_, (void *)num_ \
		}
#define CCA_TEXT_ROW_(name_, text_, is_info_)                                             \
	static const struct cca_module_text CCA_PASTE_(cca_text_, __COUNTER__)            \
		__attribute__((used, section("cca_texts"), aligned(8))) = { name_, text_, \
									    is_info_ }
#define module_init(start)                \
	extern int cca_module_init(void); \
	int cca_module_init(void)         \
	{                                 \
		return start();           \
	}
#define module_exit(stop)                  \
	extern void cca_module_exit(void); \
	void cca_module_exit(void)         \
	{                                  \
		stop();                    \
	}
#endif

#define module_param(name, type, perm)	      module_param_named(name, name, type, perm)
#define module_param_unsafe(name, type, perm) module_param(name, type, perm)
#define module_param_named_unsafe(name, value, type, perm) \
	module_param_named(name, value, type, perm)
#define module_param_named(name, value, type, perm) \
	CCA_PARAM_ROW_(name, NULL, (void *)&(value), #type, 0, NULL)
#define module_param_cb(name, ops, arg, perm) CCA_PARAM_ROW_(name, ops, (void *)(arg), "", 0, NULL)
/* The elements of a list of values are parameters of their own: name_0, name_1, ... */
#define module_param_array(name, type, num, perm) \
	module_param_array_named(name, name, type, num, perm)
#define module_param_array_named(name, array, type, num, perm) \
	CCA_PARAM_ROW_(name, NULL, (void *)(array), #type, ARRAY_SIZE(array), num)
/* Texts stay as the source has them. */
#define module_param_string(name, string, size, perm) _Static_assert(1, "")
#define MODULE_PARM_DESC(name, text)		      CCA_TEXT_ROW_(#name, text, 0)
#define MODULE_LICENSE(text)			      CCA_TEXT_ROW_("license", text, 1)
#define MODULE_DESCRIPTION(text)		      CCA_TEXT_ROW_("description", text, 1)
#define MODULE_AUTHOR(text)			      _Static_assert(1, "")
#define MODULE_VERSION(text)			      _Static_assert(1, "")
#define MODULE_ALIAS(text)			      _Static_assert(1, "")
#define MODULE_ALIAS_TCP_CA(text)		      _Static_assert(1, "")
#define MODULE_INFO(tag, text)			      _Static_assert(1, "")
#define MODULE_SOFTDEP(text)			      _Static_assert(1, "")
#define EXPORT_SYMBOL(name)			      _Static_assert(1, "")
#define EXPORT_SYMBOL_GPL(name)			      _Static_assert(1, "")
#define late_initcall(start)			      module_init(start)
#define device_initcall(start)			      module_init(start)
#define subsys_initcall(start)			      module_init(start)
#define THIS_MODULE				      ((struct module *)0)
#define KBUILD_MODNAME				      CCA_MODULE_NAME

#endif /* DUMBBELL_MODULE_PARAM_H */
