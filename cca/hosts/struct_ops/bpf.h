/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * libbpf's headers for BPF programs (bpf_helpers.h, bpf_tracing.h, bpf_core_read.h, bpf_endian.h) in the simulator: the
 * program is compiled for this machine, its hooks are called as functions, and reading the kernel's memory is reading.
 */
#ifndef DUMBBELL_STRUCT_OPS_BPF_H
#define DUMBBELL_STRUCT_OPS_BPF_H

#define SEC(name)	     __attribute__((section(name), used))
#define BPF_PROG(name, ...)  name(__VA_ARGS__)
#define BPF_PROG2(name, ...) BPF_PROG(name, ##__VA_ARGS__)

#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define __noinline	__attribute__((noinline))
#define __weak		__attribute__((weak))
#define __hidden	__attribute__((visibility("hidden")))
#define __ksym
#define __kconfig
#define __kptr
#define __kptr_untrusted
#define __arg_ctx
#define __arg_nonnull
#define __arg_trusted
#define __bpf_unreachable()   __builtin_trap()
#define bpf_unreachable()     __builtin_trap()
#define barrier()	      __asm__ __volatile__("" : : : "memory")
#define barrier_var(v)	      __asm__ __volatile__("" : "+r"(v))
#define offsetof(t, m)	      __builtin_offsetof(t, m)
#define container_of(p, t, m) ((t *)((char *)(p)-offsetof(t, m)))
#define typeof __typeof__
#define KERNEL_VERSION(a, b, c) (((a) << 16) + ((b) << 8) + ((c) > 255 ? 255 : (c)))

/* ---- maps: the kind, the size and the types are in the types of these members ---- */

#define __uint(name, v)	 int(*name)[v]
#define __type(name, v)	 __typeof__(v) *name
#define __array(name, v) __typeof__(v) *name[]
#define __ulong(name, v) enum { CCA_JOIN_(cca_unique_, __COUNTER__) = v } name
#define CCA_JOIN__(a, b) a##b
#define CCA_JOIN_(a, b)	 CCA_JOIN__(a, b)

struct cca_map {
	const void *map;
	u32 type, most, key_bytes, value_bytes;
};
#define CCA_UINT_(member) ((u32)(sizeof(*(member)) / sizeof(int)))
#define CCA_MAP_(m)                                                                 \
	(&(struct cca_map){ (m), CCA_UINT_((m)->type), CCA_UINT_((m)->max_entries), \
			    sizeof(*(m)->key), sizeof(*(m)->value) })
#define CCA_STORAGE_(m) \
	(&(struct cca_map){ (m), CCA_UINT_((m)->type), 0, sizeof(void *), sizeof(*(m)->value) })
extern void *cca_map_find(const struct cca_map *map, const void *key);
extern long cca_map_put(const struct cca_map *map, const void *key, const void *value, u64 flags);
extern long cca_map_remove(const struct cca_map *map, const void *key);
extern void *cca_map_of_socket(const struct cca_map *map, const void *sk, const void *value,
			       u64 flags);
#define bpf_map_lookup_elem(m, k)	      cca_map_find(CCA_MAP_(m), k)
#define bpf_map_lookup_percpu_elem(m, k, cpu) ((void)(cpu), bpf_map_lookup_elem(m, k))
#define bpf_map_update_elem(m, k, v, flags)   cca_map_put(CCA_MAP_(m), k, v, flags)
#define bpf_map_delete_elem(m, k)	      cca_map_remove(CCA_MAP_(m), k)
#define bpf_sk_storage_get(m, sk, v, flags)   cca_map_of_socket(CCA_STORAGE_(m), sk, v, flags)
#define bpf_sk_storage_delete(m, sk) \
	cca_map_remove(CCA_STORAGE_(m), &(const void *){ (const void *)(sk) })
/* Messages to user space go nowhere. */
#define bpf_ringbuf_reserve(m, size, flags)	   ((void)(m), (void *)0)
#define bpf_ringbuf_submit(data, flags)		   ((void)(data))
#define bpf_ringbuf_discard(data, flags)	   ((void)(data))
#define bpf_ringbuf_output(m, data, size, flags)   ((void)(m), (void)(data), 0L)
#define bpf_perf_event_output(c, m, f, data, size) ((void)(data), 0L)

/* ---- functions ---- */

extern u64 bpf_ktime_get_ns(void);
extern u64 bpf_jiffies64(void);
extern u32 bpf_get_prandom_u32(void);
extern long bpf_setsockopt(const void *sk, int level, int option, const void *value, int size);
extern long bpf_getsockopt(const void *sk, int level, int option, void *value, int size);
extern void cca_module_bug(const char *file, int line, const char *what);
#define bpf_ktime_get_boot_ns()		      bpf_ktime_get_ns()
#define bpf_ktime_get_coarse_ns()	      bpf_ktime_get_ns()
#define bpf_ktime_get_tai_ns()		      bpf_ktime_get_ns()
#define bpf_get_smp_processor_id()	      0U
#define bpf_tcp_send_ack(sk, next)	      ((void)(sk), (void)(next), 0L)
#define bpf_tcp_sock(sk)		      ((struct tcp_sock *)(sk))
#define bpf_skc_to_tcp_sock(sk)		      ((struct tcp_sock *)(sk))
#define bpf_sk_fullsock(sk)		      (sk)
#define bpf_spin_lock(lock)		      ((void)(lock))
#define bpf_spin_unlock(lock)		      ((void)(lock))
#define bpf_rcu_read_lock()		      ((void)0)
#define bpf_rcu_read_unlock()		      ((void)0)
#define bpf_printk(...)			      0
#define bpf_trace_printk(...)		      0
#define bpf_probe_read(to, size, from)	      (__builtin_memcpy(to, from, size), 0L)
#define bpf_probe_read_kernel(to, size, from) (__builtin_memcpy(to, from, size), 0L)
#define bpf_loop(count, f, data, flags)                       \
	({                                                    \
		u32 _i, _n = (count);                         \
		for (_i = 0; _i < _n && !(f)(_i, data); _i++) \
			;                                     \
		(long)(_i < _n ? _i + 1 : _i);                \
	})
#define bpf_for(i, from, to) for ((i) = (from); (i) < (to); (i)++)
#define bpf_repeat(count)    for (int _r = 0; _r < (count); _r++)
#define can_loop	     1
#define cond_break	     ((void)0)

/* ---- reading: the structs have no other layout here ---- */

#define preserve_access_index			cca_ignored
#define __builtin_preserve_access_index(x)	(x)
#define bpf_core_read(to, size, from)		(__builtin_memcpy(to, from, size), 0L)
#define bpf_core_field_exists(...)		1
#define bpf_core_type_exists(...)		1
#define bpf_core_enum_value_exists(...)		1
#define bpf_core_field_size(field)		sizeof(field)
#define bpf_core_type_size(type)		sizeof(type)
#define bpf_core_enum_value(type, value)	(value)
#define bpf_core_cast(p, type)			((__typeof__(type) *)(p))
#define bpf_rdonly_cast(p, id)			((void *)(p))
#define BPF_CORE_READ_BITFIELD(s, field)	((s)->field)
#define BPF_CORE_READ_BITFIELD_PROBED(s, field) ((s)->field)
#define CCA_READ_1(s, a)			((s)->a)
#define CCA_READ_2(s, a, b)			((s)->a->b)
#define CCA_READ_3(s, a, b, c)			((s)->a->b->c)
#define CCA_READ_4(s, a, b, c, d)		((s)->a->b->c->d)
#define CCA_READ_N_(s, a, b, c, d, n, ...)	n
#define BPF_CORE_READ(...) \
	CCA_READ_N_(__VA_ARGS__, CCA_READ_4, CCA_READ_3, CCA_READ_2, CCA_READ_1)(__VA_ARGS__)
#define BPF_PROBE_READ(...)	    BPF_CORE_READ(__VA_ARGS__)
#define BPF_CORE_READ_INTO(to, ...) (*(to) = BPF_CORE_READ(__VA_ARGS__), 0L)
#define READ_ONCE(v)		    (v)
#define WRITE_ONCE(v, x)	    ((void)((v) = (x)))

/* ---- order of bytes ---- */

#define bpf_htons(v)	   __builtin_bswap16(v)
#define bpf_ntohs(v)	   __builtin_bswap16(v)
#define bpf_htonl(v)	   __builtin_bswap32(v)
#define bpf_ntohl(v)	   __builtin_bswap32(v)
#define bpf_cpu_to_be64(v) __builtin_bswap64(v)
#define bpf_be64_to_cpu(v) __builtin_bswap64(v)

#endif /* DUMBBELL_STRUCT_OPS_BPF_H */
