// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Maps of a BPF program, one list of entries for all: a run has few of them. The flows of a run share a map, as a kernel's
 * sockets do; a run begins with empty ones, arrays with zeros.
 */
#include "../module/kernel_module.h"
#include "../module/hash.h"
#include "map.h"

/* Key and value are behind it. */
struct entry {
	struct hlist_node node;
	const void *map;
	u64 used; /* when it was, for the maps that forget */
};

enum { BUCKETS_BITS = 12 };
static struct hlist_head buckets[1 << BUCKETS_BITS];
static u64 uses;

static u8 *key_of(struct entry *entry)
{
	return (u8 *)(entry + 1);
}

static u8 *value_of(struct entry *entry, const struct cca_map *map)
{
	return key_of(entry) + ALIGN(map->key_bytes, 8);
}

/* By the key alone: addresses differ from run to run. */
static struct hlist_head *bucket_of(const struct cca_map *map, const void *key)
{
	return &buckets[hash_32(jhash(key, map->key_bytes, 0), BUCKETS_BITS)];
}

static struct entry *entry_of(const struct cca_map *map, const void *key)
{
	struct entry *entry;

	hlist_for_each_entry(entry, bucket_of(map, key),
			     node) if (entry->map == map->map &&
				       !memcmp(key_of(entry), key, map->key_bytes))
	{
		entry->used = ++uses;
		return entry;
	}
	return NULL;
}

static bool is_array(const struct cca_map *map)
{
	return map->type == MAP_ARRAY || map->type == MAP_PERCPU_ARRAY;
}

/* How many entries a map has, and the one that was not used for longest. */
static u32 count(const struct cca_map *map, struct entry **oldest)
{
	struct entry *entry;
	u32 i, n = 0;

	*oldest = NULL;
	for (i = 0; i < ARRAY_SIZE(buckets); i++)
		hlist_for_each_entry(entry, &buckets[i], node) if (entry->map == map->map)
		{
			n++;
			if (!*oldest || entry->used < (*oldest)->used)
				*oldest = entry;
		}
	return n;
}

static void drop(struct entry *entry)
{
	hlist_del(&entry->node);
	kfree_rcu_mightsleep(entry);
}

static void check_kind(const struct cca_map *map)
{
	switch (map->type) {
	case MAP_HASH:
	case MAP_ARRAY:
	case MAP_PERCPU_HASH:
	case MAP_PERCPU_ARRAY:
	case MAP_LRU_HASH:
	case MAP_LRU_PERCPU_HASH:
	case MAP_SK_STORAGE:
		return;
	default:
		cca_module_end("uses a map that is no hash, array or storage of sockets, which the "
			       "simulator does not have");
	}
}

static struct entry *make(const struct cca_map *map, const void *key)
{
	struct entry *entry =
		kzalloc(sizeof(*entry) + ALIGN(map->key_bytes, 8) + map->value_bytes, GFP_ATOMIC);

	entry->map = map->map;
	entry->used = ++uses;
	memcpy(key_of(entry), key, map->key_bytes);
	hlist_add_head(&entry->node, bucket_of(map, key));
	return entry;
}

void *cca_map_find(const struct cca_map *map, const void *key)
{
	struct entry *entry = entry_of(map, key);

	check_kind(map);
	if (!entry && is_array(map) && *(const u32 *)key < map->most)
		entry = make(map, key);
	return entry ? value_of(entry, map) : NULL;
}

long cca_map_put(const struct cca_map *map, const void *key, const void *value, u64 flags)
{
	struct entry *entry = entry_of(map, key), *oldest;
	bool forgets = map->type == MAP_LRU_HASH || map->type == MAP_LRU_PERCPU_HASH;
	enum { NOEXIST = 1, EXIST = 2 };

	check_kind(map);
	if (is_array(map) && *(const u32 *)key >= map->most)
		return -E2BIG;
	if ((entry || is_array(map)) && flags & NOEXIST)
		return -EEXIST;
	if (!entry && !is_array(map) && flags & EXIST)
		return -ENOENT;
	if (!entry && !is_array(map) && count(map, &oldest) >= map->most) {
		if (!forgets || !oldest)
			return -E2BIG;
		drop(oldest);
	}
	if (!entry)
		entry = make(map, key);
	memcpy(value_of(entry, map), value, map->value_bytes);
	return 0;
}

long cca_map_remove(const struct cca_map *map, const void *key)
{
	struct entry *entry = entry_of(map, key);

	if (is_array(map))
		return -EINVAL;
	if (!entry)
		return -ENOENT;
	drop(entry);
	return 0;
}

void *cca_map_of_socket(const struct cca_map *map, const void *sk, const void *value, u64 flags)
{
	struct entry *entry = entry_of(map, &sk);

	if (!entry && flags & 1) {
		entry = make(map, &sk);
		if (value)
			memcpy(value_of(entry, map), value, map->value_bytes);
	}
	return entry ? value_of(entry, map) : NULL;
}
