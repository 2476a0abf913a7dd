/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What every kernel source takes for granted: long names of types, hints to the compiler,
 * bits, error numbers, assertions, messages, memory.
 */
#ifndef DUMBBELL_MODULE_BASE_H
#define DUMBBELL_MODULE_BASE_H

#define CCA_HOST_SIM
/* The simulator's hooks; the module's struct tcp_congestion_ops is in ops.h. */
#define CCA_OPS_TAG cca_host_ops
#include "stamp.h"
#define CCA_RO
#include "../../include/kernel.h"
/* How much private state the module's kernel grants (ICSK_CA_PRIV_SIZE there). */
#undef ICSK_CA_PRIV_SIZE
#define ICSK_CA_PRIV_SIZE CCA_MODULE_PRIV_BYTES
#include "../../include/math.h"

#include "types.h"

typedef struct {
	int counter;
} atomic_t;

#define CCA_STRINGIFY_(...)	#__VA_ARGS__
#define __stringify(...)	CCA_STRINGIFY_(__VA_ARGS__)
#define KERNEL_VERSION(a, b, c) (((a) << 16) + ((b) << 8) + (c))
#define LINUX_VERSION_CODE	KERNEL_VERSION(6, 12, 0)
#define IS_ENABLED(option)	0
#define IS_BUILTIN(option)	0
#define IS_MODULE(option)	0

#define __init
#define __exit
#define __initdata
#define __read_mostly
#define __ro_after_init
#define __user
#define __rcu
#define __percpu
#define __force
#define __must_check
#define __maybe_unused	    __attribute__((unused))
#define __always_unused	    __attribute__((unused))
#define __used		    __attribute__((used))
#define __pure		    __attribute__((pure))
#define __attribute_const__ __attribute__((const))
#define __initconst
#define __cold
#define __packed     __attribute__((packed))
#define __aligned(n) __attribute__((aligned(n)))
#define ____cacheline_aligned
#define ____cacheline_aligned_in_smp
#define __always_inline	     inline __attribute__((always_inline))
#define noinline	     __attribute__((noinline))
#define __printf(f, a)	     __attribute__((format(printf, f, a)))
#define fallthrough	     __attribute__((fallthrough))
#define noinline_for_stack   noinline
#define noinline_for_tracing noinline
#define __deprecated
#define __weak __attribute__((weak))
#define __visible
#define __acquires(x)
#define __releases(x)
#define __must_hold(x)
#define __counted_by(member)
#define __nonstring
#define __bitwise
#define __private
#define __section(name) __attribute__((section(name)))
#define __malloc
#define __scanf(f, a) __attribute__((format(scanf, f, a)))
#define __cacheline_aligned_in_smp
#define __cacheline_aligned
#define ____cacheline_internodealigned_in_smp
#define L1_CACHE_BYTES		    64
#define SMP_CACHE_BYTES		    64
#define unreachable()		    __builtin_unreachable()
#define barrier_data(p)		    barrier()
#define OPTIMIZER_HIDE_VAR(v)	    __asm__("" : "=r"(v) : "0"(v))
#define __same_type(a, b)	    __builtin_types_compatible_p(__typeof__(a), __typeof__(b))
#define BUILD_BUG_ON_ZERO(e)	    ((int)(sizeof(struct { int : (-!!(e)); })))
#define offsetofend(t, m)	    (offsetof(t, m) + sizeof_field(t, m))
#define container_of_const(p, t, m) container_of(p, t, m)
#define PAGE_SIZE		    4096UL
#define PAGE_SHIFT		    12
#define CONFIG_64BIT		    1
#define __bpf_kfunc		    __attribute__((used))
#define __bpf_kfunc_start_defs()    _Static_assert(1, "")
#define __bpf_kfunc_end_defs()	    _Static_assert(1, "")
#define barrier()		    __asm__ __volatile__("" : : : "memory")
#define prefetch(x)		    ((void)(x))
#define offsetof(t, m)		    __builtin_offsetof(t, m)
#define container_of(p, t, m)	    ((t *)((char *)(p)-offsetof(t, m)))
#define sizeof_field(t, m)	    (sizeof(((t *)0)->m))
#define FIELD_SIZEOF(t, m)	    sizeof_field(t, m)
#define typeof __typeof__
#define typeof_member(t, m) __typeof__(((t *)0)->m)

/* One thread runs a run, so these need no order between processors. */
#define READ_ONCE(x)		(x)
#define WRITE_ONCE(x, v)	((void)((x) = (v)))
#define ACCESS_ONCE(x)		(x)
#define smp_load_acquire(p)	(*(p))
#define smp_store_release(p, v) ((void)(*(p) = (v)))
#define xchg(p, v)                          \
	({                                  \
		__typeof__(*(p)) _o = *(p); \
		*(p) = (v);                 \
		_o;                         \
	})
#define cmpxchg(p, old, new)                \
	({                                  \
		__typeof__(*(p)) _o = *(p); \
		if (_o == (old))            \
			*(p) = (new);       \
		_o;                         \
	})
#define atomic_read(a)	   ((a)->counter)
#define atomic_set(a, v)   ((void)((a)->counter = (v)))
#define atomic_inc(a)	   ((void)(a)->counter++)
#define atomic_dec(a)	   ((void)(a)->counter--)
#define rcu_read_lock()	   ((void)0)
#define rcu_read_unlock()  ((void)0)
#define rcu_dereference(p) (p)

/* Static keys are plain flags here. */
struct static_key_false {
	bool on;
};
struct static_key_true {
	bool on;
};
#define DEFINE_STATIC_KEY_FALSE(n)   struct static_key_false n = { false }
#define DEFINE_STATIC_KEY_TRUE(n)    struct static_key_true n = { true }
#define static_branch_likely(k)	     ((k)->on)
#define static_branch_unlikely(k)    ((k)->on)
#define static_branch_enable(k)	     ((void)((k)->on = true))
#define static_branch_disable(k)     ((void)((k)->on = false))

#define BUILD_BUG_ON(cond)	     _Static_assert(!(cond), "BUILD_BUG_ON(" #cond ")")
#define BUILD_BUG_ON_MSG(cond, text) _Static_assert(!(cond), text)
#define static_assert(cond, ...) _Static_assert(cond, #cond)

#define BIT(n)		 (1UL << (n))
#define BIT_ULL(n)	 (1ULL << (n))
#define BITS_PER_BYTE	 8
#define BITS_PER_LONG	 64
#define BITS_PER_TYPE(t) (sizeof(t) * BITS_PER_BYTE)
#define GENMASK(h, l)	 ((~0UL << (l)) & (~0UL >> (63 - (h))))
#define U32_C(v)	 v##U
#define U64_C(v)	 v##ULL
#define S64_C(v)	 v##LL
#define U8_MAX		 ((u8)~0U)
#define S8_MAX		 ((s8)(U8_MAX >> 1))
#define S8_MIN		 ((s8)(-S8_MAX - 1))
#define U16_MAX		 ((u16)~0U)
#define U32_MAX		 ((u32)~0U)
#define U64_MAX		 ((u64)~0ULL)
#define S16_MAX		 ((s16)(U16_MAX >> 1))
#define S16_MIN		 ((s16)(-S16_MAX - 1))
#define S32_MAX		 ((s32)(U32_MAX >> 1))
#define S32_MIN		 ((s32)(-S32_MAX - 1))
#define S64_MAX		 ((s64)(U64_MAX >> 1))
#define S64_MIN		 ((s64)(-S64_MAX - 1))
#define INT_MAX		 S32_MAX
#define INT_MIN		 S32_MIN
#define UINT_MAX	 U32_MAX
#define SHRT_MAX	 S16_MAX
#define SHRT_MIN	 S16_MIN
#define USHRT_MAX	 U16_MAX
#define LONG_MAX	 ((long)S64_MAX)
#define LONG_MIN	 ((long)S64_MIN)
#define ULONG_MAX	 (~0UL)
#define LLONG_MAX	 ((long long)S64_MAX)
#define LLONG_MIN	 ((long long)S64_MIN)
#define ULLONG_MAX	 U64_MAX
#define SIZE_MAX	 (~(size_t)0)

#define EPERM		 1
#define ESRCH		 3
#define EINTR		 4
#define EIO		 5
#define ENXIO		 6
#define E2BIG		 7
#define EACCES		 13
#define ENODEV		 19
#define EDOM		 33
#define ENOSYS		 38
#define ENODATA		 61
#define EBADMSG		 74
#define EOVERFLOW	 75
#define EPROTONOSUPPORT	 93
#define EAFNOSUPPORT	 97
#define EADDRINUSE	 98
#define ENOTCONN	 107
#define ETIMEDOUT	 110
#define EALREADY	 114
#define EINPROGRESS	 115
#define ENOTSUPP	 524
#define ENOENT		 2
#define ENOMEM		 12
#define EFAULT		 14
#define EBUSY		 16
#define EEXIST		 17
#define EINVAL		 22
#define ENOSPC		 28
#define ERANGE		 34
#define ENOBUFS		 105
#define ENOPROTOOPT	 92
#define EOPNOTSUPP	 95
#define EAGAIN		 11

/* Messages of a module go nowhere; broken assertions are printed once, as the kernel does. */
#define KERN_EMERG   ""
#define KERN_ALERT   ""
#define KERN_CRIT    ""
#define KERN_NOTICE  ""
#define KERN_DEFAULT ""
#define KERN_CONT    ""
#define KERN_DEBUG   ""
#define KERN_INFO    ""
#define KERN_WARNING ""
#define KERN_ERR     ""
extern void cca_module_warn(const char *file, int line, const char *what);
extern void cca_module_bug(const char *file, int line, const char *what) __attribute__((noreturn));
/* Ends the run; `what` is what the module does, as a predicate. */
extern void cca_module_end(const char *what) __attribute__((noreturn));
static inline __printf(1, 2) int cca_no_print(const char *format, ...)
{
	(void)format;
	return 0;
}
#define printk(...)		  cca_no_print("" __VA_ARGS__)
#define trace_printk(...)	  printk(__VA_ARGS__)
#define pr_emerg(...)		  printk(__VA_ARGS__)
#define pr_alert(...)		  printk(__VA_ARGS__)
#define pr_crit(...)		  printk(__VA_ARGS__)
#define pr_cont(...)		  printk(__VA_ARGS__)
#define pr_devel(...)		  printk(__VA_ARGS__)
#define pr_notice_once(...)	  printk(__VA_ARGS__)
#define pr_err_ratelimited(...)	  printk(__VA_ARGS__)
#define pr_info_ratelimited(...)  printk(__VA_ARGS__)
#define pr_debug_ratelimited(...) printk(__VA_ARGS__)
#define pr_err(...)		  printk(__VA_ARGS__)
#define pr_err_once(...)	  printk(__VA_ARGS__)
#define pr_warn(...)		  printk(__VA_ARGS__)
#define pr_warn_once(...)	  printk(__VA_ARGS__)
#define pr_warn_ratelimited(...)  printk(__VA_ARGS__)
#define pr_notice(...)		  printk(__VA_ARGS__)
#define pr_info(...)		  printk(__VA_ARGS__)
#define pr_info_once(...)	  printk(__VA_ARGS__)
#define pr_debug(...)		  printk(__VA_ARGS__)
#define net_dbg_ratelimited(...)  printk(__VA_ARGS__)
#define net_warn_ratelimited(...) printk(__VA_ARGS__)
#define printk_ratelimited(...)	  printk(__VA_ARGS__)
#define printk_once(...)	  printk(__VA_ARGS__)
static inline int snprintf(char *to, size_t size, const char *format, ...)
{
	(void)format;
	if (size)
		*to = 0;
	return 0;
}
#define scnprintf snprintf
#define CCA_WARN_(cond, text)                                      \
	({                                                         \
		static bool _told;                                 \
		bool _is = !!(cond);                               \
		if (unlikely(_is) && !_told) {                     \
			_told = true;                              \
			cca_module_warn(__FILE__, __LINE__, text); \
		}                                                  \
		unlikely(_is);                                     \
	})
#define WARN_ON(cond)	     CCA_WARN_(cond, "WARN_ON(" #cond ")")
#define WARN_ON_ONCE(cond)   CCA_WARN_(cond, "WARN_ON_ONCE(" #cond ")")
#define WARN(cond, ...)	     CCA_WARN_(cond, "WARN(" #cond ")")
#define WARN_ONCE(cond, ...) CCA_WARN_(cond, "WARN_ONCE(" #cond ")")
#define BUG()		     cca_module_bug(__FILE__, __LINE__, "BUG()")
#define BUG_ON(cond)                                                             \
	do {                                                                     \
		if (unlikely(cond))                                              \
			cca_module_bug(__FILE__, __LINE__, "BUG_ON(" #cond ")"); \
	} while (0)

extern void *memset(void *to, int byte, size_t size);
extern void *memcpy(void *to, const void *from, size_t size);
extern void *memmove(void *to, const void *from, size_t size);
extern int memcmp(const void *a, const void *b, size_t size);
extern size_t strlen(const char *text);
extern int strcmp(const char *a, const char *b);
extern int strncmp(const char *a, const char *b, size_t size);
extern char *strchr(const char *text, int c);
extern char *strstr(const char *text, const char *part);

/* Copies what fits, the closing zero included; its length, or -E2BIG when it was cut. */
static inline ssize_t strscpy(char *to, const char *from, size_t size)
{
	size_t n = strlen(from);

	if (!size)
		return -7;
	memcpy(to, from, n < size ? n + 1 : size);
	to[n < size ? n : size - 1] = 0;
	return n < size ? (ssize_t)n : -7;
}

/* Names that BPF programs would call a module's functions by; there are none here. */
struct btf_kfunc_id_set {
	void *owner;
	const void *set;
	const void *check_set; /* 5.18 and 5.19, with the four below */
	const void *acquire_set, *release_set, *ret_null_set, *kptr_acquire_set;
};
#define BTF_KFUNCS_START(name) static const char name __attribute__((unused)) = 0;
#define BTF_KFUNCS_END(name)
#define BTF_SET8_START(name) BTF_KFUNCS_START(name)
#define BTF_SET8_END(name)
#define BTF_SET_START(name) BTF_KFUNCS_START(name)
#define BTF_SET_END(name)
#define BTF_ID_FLAGS(...)
#define BTF_ID(...)
#define BPF_PROG_TYPE_STRUCT_OPS	     0
#define register_btf_kfunc_id_set(type, set) ((void)(set), 0)
/* 5.16 and 5.17 */
#define DEFINE_KFUNC_BTF_ID_SET(ids, name)     const void *const name __attribute__((unused)) = (ids)
#define register_kfunc_btf_id_set(list, set)   ((void)(set))
#define unregister_kfunc_btf_id_set(list, set) ((void)(set))

#endif /* DUMBBELL_MODULE_BASE_H */
