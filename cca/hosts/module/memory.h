/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Memory of a module. It is cleared, whatever it was asked for by; it belongs to the run, whose end frees it; and a
 * module that takes a gigabyte of it is ended (memory.c). Flags of allocations mean nothing.
 */
#ifndef DUMBBELL_MODULE_MEMORY_H
#define DUMBBELL_MODULE_MEMORY_H

extern void *cca_module_alloc(size_t count, size_t size);
extern void *cca_module_realloc(const void *memory, size_t count, size_t size);
extern void cca_module_free(const void *memory);
extern void *kmemdup(const void *from, size_t size, gfp_t flags);
extern char *kstrdup(const char *text, gfp_t flags);
extern size_t ksize(const void *memory);

#define GFP_KERNEL			  0
#define GFP_ATOMIC			  0
#define GFP_NOWAIT			  0
#define GFP_USER			  0
#define __GFP_NOWARN			  0
#define __GFP_ZERO			  0
#define __GFP_NORETRY			  0
#define __GFP_NOFAIL			  0
#define SLAB_HWCACHE_ALIGN		  0
#define SLAB_PANIC			  0
#define SLAB_ACCOUNT			  0
#define SLAB_RECLAIM_ACCOUNT		  0

#define kmalloc(size, flags)		  ((void)(flags), cca_module_alloc(1, size))
#define kzalloc(size, flags)		  ((void)(flags), cca_module_alloc(1, size))
#define kmalloc_array(count, size, flags) ((void)(flags), cca_module_alloc(count, size))
#define kcalloc(count, size, flags)	  ((void)(flags), cca_module_alloc(count, size))
#define kmalloc_node(size, flags, node)	  kmalloc(size, flags)
#define kzalloc_node(size, flags, node)	  kzalloc(size, flags)
#define krealloc(memory, size, flags)	  ((void)(flags), cca_module_realloc(memory, 1, size))
#define krealloc_array(memory, count, size, flags) \
	((void)(flags), cca_module_realloc(memory, count, size))
#define kvmalloc(size, flags)		   kmalloc(size, flags)
#define kvzalloc(size, flags)		   kzalloc(size, flags)
#define kvmalloc_array(count, size, flags) kcalloc(count, size, flags)
#define kvcalloc(count, size, flags)	   kcalloc(count, size, flags)
#define vmalloc(size)			   cca_module_alloc(1, size)
#define vzalloc(size)			   cca_module_alloc(1, size)
#define kfree(memory)			   cca_module_free(memory)
#define kvfree(memory)			   cca_module_free(memory)
#define vfree(memory)			   cca_module_free(memory)
#define kfree_sensitive(memory)		   cca_module_free(memory)

/* ---- objects of one size ---- */

struct kmem_cache {
	size_t size;
	void (*ctor)(void *object);
};
extern struct kmem_cache *kmem_cache_create(const char *name, size_t size, size_t align,
					    unsigned long flags, void (*ctor)(void *object));
extern void *kmem_cache_alloc(struct kmem_cache *cache, gfp_t flags);
#define KMEM_CACHE(type, flags)		kmem_cache_create(#type, sizeof(struct type), 0, flags, NULL)
#define kmem_cache_zalloc(cache, flags) kmem_cache_alloc(cache, flags)
#define kmem_cache_free(cache, object)	((void)(cache), cca_module_free(object))
#define kmem_cache_destroy(cache)	cca_module_free(cache)

#endif /* DUMBBELL_MODULE_MEMORY_H */
