/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Locks, counters and what readers without locks use. One thread runs a run and no hook interrupts another, so a lock is
 * always free, and nobody is waited for.
 */
#ifndef DUMBBELL_MODULE_SYNC_H
#define DUMBBELL_MODULE_SYNC_H

/* ---- locks ---- */

typedef struct {
	u8 is_held;
} spinlock_t, raw_spinlock_t, rwlock_t;
struct mutex {
	u8 is_held;
};
struct rw_semaphore {
	u8 is_held;
};
typedef struct {
	unsigned int sequence;
} seqlock_t, seqcount_t;
struct lock_class_key {
};

#define __SPIN_LOCK_UNLOCKED(name) \
	{                          \
		0                  \
	}
#define DEFINE_SPINLOCK(name)	  spinlock_t name = { 0 }
#define DEFINE_RAW_SPINLOCK(name) raw_spinlock_t name = { 0 }
#define DEFINE_RWLOCK(name)	  rwlock_t name = { 0 }
#define DEFINE_MUTEX(name)	  struct mutex name = { 0 }
#define DECLARE_RWSEM(name)	  struct rw_semaphore name = { 0 }
#define DEFINE_SEQLOCK(name)	  seqlock_t name = { 0 }
#define SEQCNT_ZERO(name) \
	{                 \
		0         \
	}

/* Who takes what is held already would wait for ever in a kernel. */
#define CCA_LOCK(lock)                                                                           \
	do {                                                                                     \
		if ((lock)->is_held)                                                             \
			cca_module_bug(__FILE__, __LINE__, #lock " is taken twice: a deadlock"); \
		(lock)->is_held = 1;                                                             \
	} while (0)
#define CCA_UNLOCK(lock)  ((void)((lock)->is_held = 0))
#define CCA_TRYLOCK(lock) ((lock)->is_held ? 0 : ((lock)->is_held = 1))
#define CCA_NEWLOCK(lock) ((void)((lock)->is_held = 0))
/* Readers may be several: they are not counted. */
#define CCA_READ(lock)			 ((void)(lock))

#define spin_lock_init(lock)		 CCA_NEWLOCK(lock)
#define spin_lock(lock)			 CCA_LOCK(lock)
#define spin_lock_bh(lock)		 CCA_LOCK(lock)
#define spin_lock_irq(lock)		 CCA_LOCK(lock)
#define spin_lock_nested(lock, subclass) CCA_LOCK(lock)
#define spin_unlock(lock)		 CCA_UNLOCK(lock)
#define spin_unlock_bh(lock)		 CCA_UNLOCK(lock)
#define spin_unlock_irq(lock)		 CCA_UNLOCK(lock)
#define spin_trylock(lock)		 CCA_TRYLOCK(lock)
#define spin_trylock_bh(lock)		 CCA_TRYLOCK(lock)
#define spin_is_locked(lock)		 ((int)(lock)->is_held)
#define spin_lock_irqsave(lock, flags) \
	do {                           \
		(flags) = 0;           \
		CCA_LOCK(lock);        \
	} while (0)
#define spin_unlock_irqrestore(lock, flags)	((void)(flags), CCA_UNLOCK(lock))
#define raw_spin_lock_init(lock)		CCA_NEWLOCK(lock)
#define raw_spin_lock(lock)			CCA_LOCK(lock)
#define raw_spin_unlock(lock)			CCA_UNLOCK(lock)
#define raw_spin_lock_irqsave(lock, flags)	spin_lock_irqsave(lock, flags)
#define raw_spin_unlock_irqrestore(lock, flags) spin_unlock_irqrestore(lock, flags)
#define rwlock_init(lock)			CCA_NEWLOCK(lock)
#define read_lock(lock)				CCA_READ(lock)
#define read_lock_bh(lock)			CCA_READ(lock)
#define read_unlock(lock)			CCA_READ(lock)
#define read_unlock_bh(lock)			CCA_READ(lock)
#define write_lock(lock)			CCA_LOCK(lock)
#define write_lock_bh(lock)			CCA_LOCK(lock)
#define write_unlock(lock)			CCA_UNLOCK(lock)
#define write_unlock_bh(lock)			CCA_UNLOCK(lock)
#define mutex_init(lock)			CCA_NEWLOCK(lock)
#define mutex_destroy(lock)			((void)(lock))
#define mutex_lock(lock)			CCA_LOCK(lock)
#define mutex_lock_interruptible(lock) \
	({                             \
		CCA_LOCK(lock);        \
		0;                     \
	})
#define mutex_trylock(lock)		 CCA_TRYLOCK(lock)
#define mutex_unlock(lock)		 CCA_UNLOCK(lock)
#define mutex_is_locked(lock)		 ((bool)(lock)->is_held)
#define init_rwsem(lock)		 CCA_NEWLOCK(lock)
#define down_read(lock)			 CCA_READ(lock)
#define up_read(lock)			 CCA_READ(lock)
#define down_write(lock)		 CCA_LOCK(lock)
#define up_write(lock)			 CCA_UNLOCK(lock)
#define seqlock_init(lock)		 ((void)((lock)->sequence = 0))
#define seqcount_init(lock)		 seqlock_init(lock)
#define write_seqlock(lock)		 ((void)(lock)->sequence++)
#define write_sequnlock(lock)		 ((void)(lock)->sequence++)
#define write_seqlock_bh(lock)		 write_seqlock(lock)
#define write_sequnlock_bh(lock)	 write_sequnlock(lock)
#define write_seqcount_begin(lock)	 write_seqlock(lock)
#define write_seqcount_end(lock)	 write_sequnlock(lock)
#define read_seqbegin(lock)		 ((lock)->sequence)
#define read_seqretry(lock, start)	 ((void)(start), (void)(lock), 0)
#define read_seqcount_begin(lock)	 read_seqbegin(lock)
#define read_seqcount_retry(lock, start) read_seqretry(lock, start)
#define local_bh_disable()		 ((void)0)
#define local_bh_enable()		 ((void)0)
#define preempt_disable()		 ((void)0)
#define preempt_enable()		 ((void)0)
#define local_irq_save(flags)		 ((void)((flags) = 0))
#define local_irq_restore(flags)	 ((void)(flags))
#define cond_resched()			 0
#define might_sleep()			 ((void)0)
#define cpu_relax()			 barrier()
#define in_softirq()			 1
#define in_task()			 0

/* What a kernel with lockdep checks; one without it, as most are, takes it for true. */
#define lockdep_assert_held(lock)      ((void)(lock))
#define lockdep_assert_held_once(lock) ((void)(lock))
#define lockdep_assert_not_held(lock)  ((void)(lock))
#define lockdep_assert(cond)	       ((void)0)
#define lockdep_sock_is_held(sk)       ((void)(sk), 1)
#define lockdep_is_held(lock)	       ((void)(lock), 1)
#define lockdep_set_class(lock, key)   ((void)(lock), (void)(key))
#define sock_owned_by_me(sk)	       ((void)(sk))
#define sock_owned_by_user(sk)	       ((void)(sk), false)

/* ---- counters ---- */

typedef struct {
	s64 counter;
} atomic64_t;
typedef struct {
	long counter;
} atomic_long_t;
typedef struct {
	int counter;
} refcount_t;

#define ATOMIC_INIT(i) \
	{              \
		(i)    \
	}
#define ATOMIC64_INIT(i) \
	{                \
		(i)      \
	}
#define ATOMIC_LONG_INIT(i) \
	{                   \
		(i)         \
	}
#define REFCOUNT_INIT(i) \
	{                \
		(i)      \
	}
#define CCA_ATOMIC(a, op, n) ((a)->counter op(n))
#define CCA_ATOMIC_WAS(a, op, n)                            \
	({                                                  \
		__typeof__(a) _a = (a);                     \
		__typeof__(_a->counter) _was = _a->counter; \
		_a->counter op(n);                          \
		_was;                                       \
	})
#define CCA_ATOMIC_SWAP(a, v) xchg(&(a)->counter, v)
#define CCA_ATOMIC_UNLESS(a, n, u)                                       \
	({                                                               \
		__typeof__(a) _u = (a);                                  \
		_u->counter != (u) ? (_u->counter += (n), true) : false; \
	})

#define atomic_add(n, a)	   ((void)CCA_ATOMIC(a, +=, n))
#define atomic_sub(n, a)	   ((void)CCA_ATOMIC(a, -=, n))
#define atomic_inc_return(a)	   CCA_ATOMIC(a, +=, 1)
#define atomic_dec_return(a)	   CCA_ATOMIC(a, -=, 1)
#define atomic_add_return(n, a)	   CCA_ATOMIC(a, +=, n)
#define atomic_sub_return(n, a)	   CCA_ATOMIC(a, -=, n)
#define atomic_inc_and_test(a)	   (CCA_ATOMIC(a, +=, 1) == 0)
#define atomic_dec_and_test(a)	   (CCA_ATOMIC(a, -=, 1) == 0)
#define atomic_sub_and_test(n, a)  (CCA_ATOMIC(a, -=, n) == 0)
#define atomic_fetch_add(n, a)	   CCA_ATOMIC_WAS(a, +=, n)
#define atomic_fetch_sub(n, a)	   CCA_ATOMIC_WAS(a, -=, n)
#define atomic_fetch_inc(a)	   CCA_ATOMIC_WAS(a, +=, 1)
#define atomic_fetch_or(n, a)	   CCA_ATOMIC_WAS(a, |=, n)
#define atomic_fetch_and(n, a)	   CCA_ATOMIC_WAS(a, &=, n)
#define atomic_or(n, a)		   ((void)CCA_ATOMIC(a, |=, n))
#define atomic_and(n, a)	   ((void)CCA_ATOMIC(a, &=, n))
#define atomic_xchg(a, v)	   CCA_ATOMIC_SWAP(a, v)
#define atomic_cmpxchg(a, o, n)	   cmpxchg(&(a)->counter, o, n)
#define atomic_inc_not_zero(a)	   CCA_ATOMIC_UNLESS(a, 1, 0)
#define atomic_add_unless(a, n, u) CCA_ATOMIC_UNLESS(a, n, u)
#define atomic_read_acquire(a)	   atomic_read(a)
#define atomic_set_release(a, v)   atomic_set(a, v)
#define atomic64_read(a)	   atomic_read(a)
#define atomic64_set(a, v)	   atomic_set(a, v)
#define atomic64_inc(a)		   atomic_inc(a)
#define atomic64_dec(a)		   atomic_dec(a)
#define atomic64_add(n, a)	   atomic_add(n, a)
#define atomic64_sub(n, a)	   atomic_sub(n, a)
#define atomic64_inc_return(a)	   atomic_inc_return(a)
#define atomic64_dec_return(a)	   atomic_dec_return(a)
#define atomic64_add_return(n, a)  atomic_add_return(n, a)
#define atomic64_fetch_add(n, a)   atomic_fetch_add(n, a)
#define atomic64_xchg(a, v)	   atomic_xchg(a, v)
#define atomic64_cmpxchg(a, o, n)  atomic_cmpxchg(a, o, n)
#define atomic_long_read(a)	   atomic_read(a)
#define atomic_long_set(a, v)	   atomic_set(a, v)
#define atomic_long_inc(a)	   atomic_inc(a)
#define atomic_long_dec(a)	   atomic_dec(a)
#define atomic_long_add(n, a)	   atomic_add(n, a)
#define refcount_set(r, n)	   atomic_set(r, n)
#define refcount_read(r)	   ((unsigned int)atomic_read(r))
#define refcount_inc(r)		   atomic_inc(r)
#define refcount_dec(r)		   atomic_dec(r)
#define refcount_inc_not_zero(r)   atomic_inc_not_zero(r)
#define refcount_dec_and_test(r)   atomic_dec_and_test(r)

struct kref {
	refcount_t refcount;
};
#define kref_init(k)	     refcount_set(&(k)->refcount, 1)
#define kref_get(k)	     refcount_inc(&(k)->refcount)
#define kref_read(k)	     refcount_read(&(k)->refcount)
#define kref_put(k, release) (refcount_dec_and_test(&(k)->refcount) ? ((release)(k), 1) : 0)

/* ---- order between processors, of which there is one ---- */

#define smp_mb()		   barrier()
#define smp_rmb()		   barrier()
#define smp_wmb()		   barrier()
#define mb()			   barrier()
#define rmb()			   barrier()
#define wmb()			   barrier()
#define smp_mb__before_atomic()	   barrier()
#define smp_mb__after_atomic()	   barrier()
#define smp_store_mb(v, x)	   ((void)((v) = (x)))
#define smp_processor_id()	   0
#define raw_smp_processor_id()	   0
#define num_online_cpus()	   1U
#define num_possible_cpus()	   1U
#define nr_cpu_ids		   1U
#define NR_CPUS			   1
#define for_each_possible_cpu(cpu) for ((cpu) = 0; (cpu) < 1; (cpu)++)
#define for_each_online_cpu(cpu)   for_each_possible_cpu(cpu)

/* ---- readers without locks: they are in the middle of reading until the hook ends, so what they may see goes then ---- */

struct rcu_head {
	struct rcu_head *next;
	void (*func)(struct rcu_head *head);
};
#define callback_head			   rcu_head
#define rcu_read_lock_bh()		   ((void)0)
#define rcu_read_unlock_bh()		   ((void)0)
#define rcu_read_lock_held()		   1
#define rcu_dereference_bh(p)		   (p)
#define rcu_dereference_raw(p)		   (p)
#define rcu_dereference_check(p, cond)	   ((void)(cond), (p))
#define rcu_dereference_protected(p, cond) ((void)(cond), (p))
#define rcu_access_pointer(p)		   (p)
#define rcu_assign_pointer(p, v)	   ((void)((p) = (v)))
#define RCU_INIT_POINTER(p, v)		   ((void)((p) = (v)))
#define rcu_replace_pointer(p, v, cond)	   xchg(&(p), v)
#define synchronize_rcu()		   ((void)0)
#define synchronize_net()		   ((void)0)
#define rcu_barrier()			   ((void)0)
extern void call_rcu(struct rcu_head *head, void (*func)(struct rcu_head *head));
extern void cca_module_free_later(const void *memory);
#define kfree_rcu(p, ...)	 cca_module_free_later(p)
#define kfree_rcu_mightsleep(p)	 cca_module_free_later(p)
#define kvfree_rcu(p, ...)	 cca_module_free_later(p)
#define kvfree_rcu_mightsleep(p) cca_module_free_later(p)

/* ---- one processor has one copy ---- */

#define DEFINE_PER_CPU(type, name)	   __typeof__(type) name
#define DECLARE_PER_CPU(type, name)	   extern __typeof__(type) name
#define DEFINE_PER_CPU_ALIGNED(type, name) __typeof__(type) name
#define this_cpu_ptr(p)			   (p)
#define raw_cpu_ptr(p)			   (p)
#define per_cpu_ptr(p, cpu)		   ((void)(cpu), (p))
#define per_cpu(v, cpu)			   (*((void)(cpu), &(v)))
#define this_cpu_read(v)		   (v)
#define this_cpu_write(v, x)		   ((void)((v) = (x)))
#define this_cpu_inc(v)			   ((void)(v)++)
#define this_cpu_dec(v)			   ((void)(v)--)
#define this_cpu_add(v, n)		   ((void)((v) += (n)))
#define __this_cpu_read(v)		   (v)
#define __this_cpu_write(v, x)		   ((void)((v) = (x)))
#define __this_cpu_inc(v)		   ((void)(v)++)
#define __this_cpu_add(v, n)		   ((void)((v) += (n)))
#define get_cpu()			   0
#define put_cpu()			   ((void)0)
#define get_cpu_ptr(p)			   (p)
#define put_cpu_ptr(p)			   ((void)(p))
#define get_cpu_var(v)			   (v)
#define put_cpu_var(v)			   ((void)0)
#define alloc_percpu(type)		   ((type *)kzalloc(sizeof(type), 0))
#define alloc_percpu_gfp(type, flags)	   alloc_percpu(type)
#define free_percpu(p)			   kfree(p)

#endif /* DUMBBELL_MODULE_SYNC_H */
