/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* What happens when a variable goes out of scope (linux/cleanup.h): memory is freed, locks are released. */
#ifndef DUMBBELL_MODULE_CLEANUP_H
#define DUMBBELL_MODULE_CLEANUP_H

#include "kernel_module.h"

#define __cleanup(f) __attribute__((cleanup(f)))

#define DEFINE_FREE(name, type, free)             \
	static inline void __free_##name(void *p) \
	{                                         \
		type _T = *(type *)p;             \
		free;                             \
	}
#define __free(name) __cleanup(__free_##name)
#define no_free_ptr(p)                     \
	({                                 \
		__typeof__(p) _kept = (p); \
		(p) = NULL;                \
		_kept;                     \
	})
#define return_ptr(p)	       return no_free_ptr(p)
#define retain_and_null_ptr(p) ((void)((p) = NULL))

DEFINE_FREE(kfree, void *, if (!IS_ERR_OR_NULL(_T)) kfree(_T))
DEFINE_FREE(kvfree, void *, if (!IS_ERR_OR_NULL(_T)) kvfree(_T))

/* A guard is a variable that holds the lock; the type is the lock's name in DEFINE_GUARD. */
#define DEFINE_GUARD(name, type, lock, unlock)                        \
	typedef type class_##name##_t;                                \
	static inline class_##name##_t class_##name##_begin(type _T)  \
	{                                                             \
		lock;                                                 \
		return _T;                                            \
	}                                                             \
	static inline void class_##name##_end(class_##name##_t *held) \
	{                                                             \
		type _T = *held;                                      \
		(void)_T;                                             \
		unlock;                                               \
	}
#define CCA_GUARD_NAME_ CCA_PASTE_(cca_guard_, __COUNTER__)
#define guard(name)	CCA_GUARD_OF_(name, CCA_GUARD_NAME_)
#define CCA_GUARD_OF_(name, variable)                                                    \
	class_##name##_t variable __attribute__((cleanup(class_##name##_end), unused)) = \
		class_##name##_begin
#define scoped_guard(name, ...)                                                 \
	for (class_##name##_t cca_held                                          \
	     __attribute__((cleanup(class_##name##_end), unused)) =             \
		     class_##name##_begin(__VA_ARGS__),                         \
							 *cca_once = (void *)1; \
	     cca_once; cca_once = NULL)

DEFINE_GUARD(spinlock, spinlock_t *, spin_lock(_T), spin_unlock(_T))
DEFINE_GUARD(spinlock_bh, spinlock_t *, spin_lock_bh(_T), spin_unlock_bh(_T))
DEFINE_GUARD(spinlock_irqsave, spinlock_t *, spin_lock(_T), spin_unlock(_T))
DEFINE_GUARD(raw_spinlock, raw_spinlock_t *, spin_lock(_T), spin_unlock(_T))
DEFINE_GUARD(mutex, struct mutex *, mutex_lock(_T), mutex_unlock(_T))

typedef u8 class_rcu_t;
static inline class_rcu_t class_rcu_begin(void)
{
	return 0;
}
static inline void class_rcu_end(class_rcu_t *held)
{
	(void)held;
}

#endif /* DUMBBELL_MODULE_CLEANUP_H */
