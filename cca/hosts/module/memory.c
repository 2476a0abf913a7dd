// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Linked to a kernel module: its memory, from the C library, counted; and what is freed when no reader is left, which is
 * when the hook that gave it away has ended.
 */
#include "kernel_module.h"
#include "glue.h"

extern void *calloc(size_t count, size_t size);
extern void free(void *memory);

/* The most that a module may have at a time: what large tables of a real one take a thousand times. */
#define MOST_BYTES (1UL << 30)

/* Before each piece; as long as what any type is aligned by. */
struct piece {
	size_t size;
	struct piece *next; /* to be freed later */
} __aligned(16);

static size_t taken;
static struct piece *later;
static struct rcu_head *calls;

static struct piece *piece_of(const void *memory)
{
	return (struct piece *)((unsigned long)memory - sizeof(struct piece));
}

void *cca_module_alloc(size_t count, size_t size)
{
	struct piece *piece;
	size_t bytes;

	/* The kernel answers so as well to sizes that overflow. */
	if (__builtin_mul_overflow(count, size, &bytes))
		return NULL;
	if (bytes > MOST_BYTES || taken + bytes > MOST_BYTES)
		cca_module_end("asks for more memory than the 1 GiB that a module may have");
	piece = calloc(1, sizeof(*piece) + bytes);
	if (!piece)
		cca_module_end("asks for memory that this machine does not have");
	piece->size = bytes;
	taken += bytes;
	return piece + 1;
}

void cca_module_free(const void *memory)
{
	if (!memory)
		return;
	taken -= piece_of(memory)->size;
	free(piece_of(memory));
}

size_t ksize(const void *memory)
{
	return memory ? piece_of(memory)->size : 0;
}

void *cca_module_realloc(const void *memory, size_t count, size_t size)
{
	void *made = cca_module_alloc(count, size);

	if (made && memory) {
		memcpy(made, memory, min(ksize(memory), ksize(made)));
		cca_module_free(memory);
	}
	return made;
}

void *kmemdup(const void *from, size_t size, gfp_t flags)
{
	(void)flags;
	return memcpy(cca_module_alloc(1, size), from, size);
}

char *kstrdup(const char *text, gfp_t flags)
{
	return text ? kmemdup(text, strlen(text) + 1, flags) : NULL;
}

struct kmem_cache *kmem_cache_create(const char *name, size_t size, size_t align,
				     unsigned long flags, void (*ctor)(void *object))
{
	struct kmem_cache *cache = cca_module_alloc(1, sizeof(*cache));

	(void)name, (void)align, (void)flags;
	cache->size = size;
	cache->ctor = ctor;
	return cache;
}

void *kmem_cache_alloc(struct kmem_cache *cache, gfp_t flags)
{
	void *object = cca_module_alloc(1, cache->size);

	(void)flags;
	if (cache->ctor)
		cache->ctor(object);
	return object;
}

/* ---- when no reader is left ---- */

void call_rcu(struct rcu_head *head, void (*func)(struct rcu_head *head))
{
	head->func = func;
	head->next = calls;
	calls = head;
	cca_module_has_later = true;
}

void cca_module_free_later(const void *memory)
{
	if (!memory)
		return;
	piece_of(memory)->next = later;
	later = piece_of(memory);
	cca_module_has_later = true;
}

bool cca_module_has_later;

void cca_module_do_later(void)
{
	cca_module_has_later = false;
	while (calls) {
		struct rcu_head *head = calls;

		calls = head->next;
		head->func(head);
	}
	while (later) {
		struct piece *piece = later;

		later = piece->next;
		cca_module_free(piece + 1);
	}
}
