/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Tables of chains, by hash (linux/hashtable.h). */
#ifndef DUMBBELL_MODULE_HASHTABLE_H
#define DUMBBELL_MODULE_HASHTABLE_H

#include "kernel_module.h"
#include "hash.h"

#define DECLARE_HASHTABLE(name, bits)		 struct hlist_head name[1 << (bits)]
#define DEFINE_HASHTABLE(name, bits)		 struct hlist_head name[1 << (bits)] = { HLIST_HEAD_INIT }
#define DEFINE_READ_MOSTLY_HASHTABLE(name, bits) DEFINE_HASHTABLE(name, bits)
#define HASH_SIZE(table)			 ARRAY_SIZE(table)
#define HASH_BITS(table)			 ilog2(HASH_SIZE(table))
#define hash_min(v, bits)			 (sizeof(v) <= 4 ? hash_32((u32)(v), bits) : hash_64((u64)(v), bits))

static inline void __hash_init(struct hlist_head *table, unsigned int size)
{
	unsigned int i;

	for (i = 0; i < size; i++)
		INIT_HLIST_HEAD(&table[i]);
}

static inline bool __hash_empty(struct hlist_head *table, unsigned int size)
{
	unsigned int i;

	for (i = 0; i < size; i++)
		if (!hlist_empty(&table[i]))
			return false;
	return true;
}

#define hash_init(table)	       __hash_init(table, HASH_SIZE(table))
#define hash_empty(table)	       __hash_empty(table, HASH_SIZE(table))
#define hash_add(table, node, key)     hlist_add_head(node, &(table)[hash_min(key, HASH_BITS(table))])
#define hash_add_rcu(table, node, key) hash_add(table, node, key)
#define hash_hashed(node)	       (!hlist_unhashed(node))
#define hash_del(node)		       hlist_del_init(node)
#define hash_del_rcu(node)	       hlist_del_init_rcu(node)

#define hash_for_each_possible(table, pos, member, key) \
	hlist_for_each_entry(pos, &(table)[hash_min(key, HASH_BITS(table))], member)
#define hash_for_each_possible_rcu(table, pos, member, key, ...) \
	hash_for_each_possible(table, pos, member, key)
#define hash_for_each_possible_rcu_notrace(table, pos, member, key) \
	hash_for_each_possible(table, pos, member, key)
#define hash_for_each_possible_safe(table, pos, n, member, key) \
	hlist_for_each_entry_safe(pos, n, &(table)[hash_min(key, HASH_BITS(table))], member)
#define hash_for_each(table, bucket, pos, member)                                       \
	for ((bucket) = 0, pos = NULL; pos == NULL && (bucket) < (int)HASH_SIZE(table); \
	     (bucket)++)                                                                \
	hlist_for_each_entry(pos, &(table)[bucket], member)
#define hash_for_each_rcu(table, bucket, pos, member) hash_for_each(table, bucket, pos, member)
#define hash_for_each_safe(table, bucket, n, pos, member)                               \
	for ((bucket) = 0, pos = NULL; pos == NULL && (bucket) < (int)HASH_SIZE(table); \
	     (bucket)++)                                                                \
	hlist_for_each_entry_safe(pos, n, &(table)[bucket], member)

#endif /* DUMBBELL_MODULE_HASHTABLE_H */
