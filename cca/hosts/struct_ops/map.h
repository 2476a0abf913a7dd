/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* A map of a BPF program at one call, as bpf.h describes it. */
#ifndef DUMBBELL_STRUCT_OPS_MAP_H
#define DUMBBELL_STRUCT_OPS_MAP_H

/* Kinds (enum bpf_map_type), as the kernel numbers them. */
enum {
	MAP_HASH = 1,
	MAP_ARRAY = 2,
	MAP_PERCPU_HASH = 5,
	MAP_PERCPU_ARRAY = 6,
	MAP_LRU_HASH = 9,
	MAP_LRU_PERCPU_HASH = 10,
	MAP_SK_STORAGE = 24,
};

struct cca_map {
	const void *map;
	u32 type, most, key_bytes, value_bytes;
};
extern void *cca_map_find(const struct cca_map *map, const void *key);
extern long cca_map_put(const struct cca_map *map, const void *key, const void *value, u64 flags);
extern long cca_map_remove(const struct cca_map *map, const void *key);
extern void *cca_map_of_socket(const struct cca_map *map, const void *sk, const void *value,
			       u64 flags);

#endif /* DUMBBELL_STRUCT_OPS_MAP_H */
