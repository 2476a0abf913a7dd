/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The parameters of a controller as parameters of its module: `insmod bbr2.ko loss_thresh=10`, and later
 * /sys/module/bbr2/parameters/loss_thresh. All sockets of the module share them; each obeys from its next ACK.
 */
#ifndef CCA_PARAMS_H
#define CCA_PARAMS_H

struct cca_param {
	u32 value, min, max;
};
extern struct cca_param cca_params[];

static int cca_param_set(const char *text, const struct kernel_param *kp)
{
	struct cca_param *param = kp->arg;
	u32 value;
	int err = kstrtou32(text, 0, &value);

	if (!err && (value < param->min || value > param->max))
		err = -ERANGE;
	if (err)
		pr_err("%s: got %.*s, wanted a whole number from %u to %u\n", kp->name,
		       (int)strcspn(text, "\n"), text, param->min, param->max);
	else
		WRITE_ONCE(param->value, value);
	return err;
}

static int cca_param_get(char *buffer, const struct kernel_param *kp)
{
	const struct cca_param *param = kp->arg;

	return sysfs_emit(buffer, "%u\n", READ_ONCE(param->value));
}

static const struct kernel_param_ops cca_param_ops __maybe_unused = {
	.set = cca_param_set,
	.get = cca_param_get,
};

#define CCA_PARAM_VALUE_(name, def, min, max, unit, doc) { def, min, max },
#define CCA_PARAM_OF_MODULE_(name, def, min, max, unit, doc)                        \
	module_param_cb(name, &cca_param_ops, &cca_params[CCA_PARAM_##name], 0644); \
	MODULE_PARM_DESC(name, doc " [" unit "]");

#define CCA_PARAM_TABLE_(LIST, OWN)                                                       \
	struct cca_param cca_params[] = { LIST(CCA_PARAM_VALUE_) OWN(CCA_PARAM_VALUE_) }; \
	LIST(CCA_PARAM_OF_MODULE_)                                                        \
	OWN(CCA_PARAM_OF_MODULE_)                                                         \
	_Static_assert(1, "ends with a semicolon")
#define CCA_NO_PARAMS	_Static_assert(1, "ends with a semicolon")
#define param(sk, name) READ_ONCE(cca_params[CCA_PARAM_##name].value)

/* Presets are for who sets parameters. */
#define CCA_PRESETS(LIST) _Static_assert(1, "ends with a semicolon")

#endif /* CCA_PARAMS_H */
