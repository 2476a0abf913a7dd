/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Lists of the kernel: rings (list_head) and chains with one pointer as their head (hlist_head). One thread runs a run,
 * so the variants for readers without a lock (_rcu) are the plain ones; but who is taken out by one still leads on to
 * the next, because a loop may stand on it.
 */
#ifndef DUMBBELL_MODULE_LIST_H
#define DUMBBELL_MODULE_LIST_H

struct list_head {
	struct list_head *next, *prev;
};
struct hlist_node {
	struct hlist_node *next, **pprev;
};
struct hlist_head {
	struct hlist_node *first;
};

/* ---- rings ---- */

#define LIST_HEAD_INIT(name)     \
	{                        \
		&(name), &(name) \
	}
#define LIST_HEAD(name) struct list_head name = LIST_HEAD_INIT(name)

static inline void INIT_LIST_HEAD(struct list_head *list)
{
	list->next = list->prev = list;
}

static inline void cca_list_join(struct list_head *one, struct list_head *other)
{
	one->next = other;
	other->prev = one;
}

static inline void list_add(struct list_head *entry, struct list_head *head)
{
	cca_list_join(entry, head->next);
	cca_list_join(head, entry);
}

static inline void list_add_tail(struct list_head *entry, struct list_head *head)
{
	list_add(entry, head->prev);
}

/* The entry points nowhere afterwards: a second removal follows a NULL pointer. */
static inline void list_del(struct list_head *entry)
{
	cca_list_join(entry->prev, entry->next);
	entry->next = entry->prev = NULL;
}

static inline void list_del_init(struct list_head *entry)
{
	cca_list_join(entry->prev, entry->next);
	INIT_LIST_HEAD(entry);
}

static inline void list_replace(struct list_head *old, struct list_head *entry)
{
	cca_list_join(entry, old->next);
	cca_list_join(old->prev, entry);
}

static inline void list_move(struct list_head *entry, struct list_head *head)
{
	cca_list_join(entry->prev, entry->next);
	list_add(entry, head);
}

static inline void list_move_tail(struct list_head *entry, struct list_head *head)
{
	cca_list_join(entry->prev, entry->next);
	list_add_tail(entry, head);
}

static inline int list_empty(const struct list_head *head)
{
	return head->next == head;
}

static inline int list_is_first(const struct list_head *entry, const struct list_head *head)
{
	return entry->prev == head;
}

static inline int list_is_last(const struct list_head *entry, const struct list_head *head)
{
	return entry->next == head;
}

static inline int list_is_head(const struct list_head *entry, const struct list_head *head)
{
	return entry == head;
}

static inline int list_is_singular(const struct list_head *head)
{
	return !list_empty(head) && head->next == head->prev;
}

/* All of `list` to the front, or the end, of `head`; `list` is empty afterwards with _init. */
static inline void list_splice_init(struct list_head *list, struct list_head *head)
{
	if (list_empty(list))
		return;
	cca_list_join(list->prev, head->next);
	cca_list_join(head, list->next);
	INIT_LIST_HEAD(list);
}

static inline void list_splice_tail_init(struct list_head *list, struct list_head *head)
{
	list_splice_init(list, head->prev);
}

#define list_splice(list, head)		  list_splice_init(list, head)
#define list_splice_tail(list, head)	  list_splice_tail_init(list, head)

#define list_entry(p, type, member)	  container_of(p, type, member)
#define list_first_entry(p, type, member) list_entry((p)->next, type, member)
#define list_last_entry(p, type, member)  list_entry((p)->prev, type, member)
#define list_first_entry_or_null(p, type, member) \
	(list_empty(p) ? NULL : list_first_entry(p, type, member))
#define list_next_entry(pos, member)	      list_entry((pos)->member.next, __typeof__(*(pos)), member)
#define list_prev_entry(pos, member)	      list_entry((pos)->member.prev, __typeof__(*(pos)), member)
#define list_entry_is_head(pos, head, member) (&(pos)->member == (head))

#define list_for_each(pos, head)	      for (pos = (head)->next; pos != (head); pos = pos->next)
#define list_for_each_prev(pos, head)	      for (pos = (head)->prev; pos != (head); pos = pos->prev)
#define list_for_each_safe(pos, n, head) \
	for (pos = (head)->next, n = pos->next; pos != (head); pos = n, n = pos->next)
#define list_for_each_entry(pos, head, member)                       \
	for (pos = list_first_entry(head, __typeof__(*pos), member); \
	     !list_entry_is_head(pos, head, member); pos = list_next_entry(pos, member))
#define list_for_each_entry_reverse(pos, head, member)              \
	for (pos = list_last_entry(head, __typeof__(*pos), member); \
	     !list_entry_is_head(pos, head, member); pos = list_prev_entry(pos, member))
#define list_for_each_entry_continue(pos, head, member)                                  \
	for (pos = list_next_entry(pos, member); !list_entry_is_head(pos, head, member); \
	     pos = list_next_entry(pos, member))
#define list_for_each_entry_from(pos, head, member) \
	for (; !list_entry_is_head(pos, head, member); pos = list_next_entry(pos, member))
#define list_for_each_entry_safe(pos, n, head, member)               \
	for (pos = list_first_entry(head, __typeof__(*pos), member), \
	    n = list_next_entry(pos, member);                        \
	     !list_entry_is_head(pos, head, member); pos = n, n = list_next_entry(n, member))
#define list_for_each_entry_safe_reverse(pos, n, head, member)      \
	for (pos = list_last_entry(head, __typeof__(*pos), member), \
	    n = list_prev_entry(pos, member);                       \
	     !list_entry_is_head(pos, head, member); pos = n, n = list_prev_entry(n, member))

static inline void list_del_rcu(struct list_head *entry)
{
	cca_list_join(entry->prev, entry->next);
	entry->prev = NULL;
}

#define list_add_rcu(entry, head)			list_add(entry, head)
#define list_add_tail_rcu(entry, head)			list_add_tail(entry, head)
#define list_replace_rcu(old, entry)			list_replace(old, entry)
#define list_for_each_entry_rcu(pos, head, member, ...) list_for_each_entry(pos, head, member)
#define list_first_or_null_rcu(p, type, member)		list_first_entry_or_null(p, type, member)
#define list_entry_rcu(p, type, member)			list_entry(p, type, member)

/* ---- chains ---- */

#define HLIST_HEAD_INIT \
	{               \
		NULL    \
	}
#define HLIST_HEAD(name)   struct hlist_head name = HLIST_HEAD_INIT
#define INIT_HLIST_HEAD(p) ((void)((p)->first = NULL))

static inline void INIT_HLIST_NODE(struct hlist_node *node)
{
	node->next = NULL;
	node->pprev = NULL;
}

static inline int hlist_unhashed(const struct hlist_node *node)
{
	return !node->pprev;
}

static inline int hlist_empty(const struct hlist_head *head)
{
	return !head->first;
}

/* Between the place that points to the next node, and that. */
static inline void cca_hlist_put(struct hlist_node *node, struct hlist_node **place)
{
	node->next = *place;
	if (node->next)
		node->next->pprev = &node->next;
	*place = node;
	node->pprev = place;
}

static inline void hlist_add_head(struct hlist_node *node, struct hlist_head *head)
{
	cca_hlist_put(node, &head->first);
}

static inline void hlist_add_before(struct hlist_node *node, struct hlist_node *next)
{
	cca_hlist_put(node, next->pprev);
}

static inline void hlist_add_behind(struct hlist_node *node, struct hlist_node *prev)
{
	cca_hlist_put(node, &prev->next);
}

static inline void cca_hlist_take(struct hlist_node *node)
{
	*node->pprev = node->next;
	if (node->next)
		node->next->pprev = node->pprev;
}

static inline void hlist_del(struct hlist_node *node)
{
	cca_hlist_take(node);
	INIT_HLIST_NODE(node);
}

static inline void hlist_del_init(struct hlist_node *node)
{
	if (!hlist_unhashed(node))
		hlist_del(node);
}

static inline void hlist_del_rcu(struct hlist_node *node)
{
	cca_hlist_take(node);
	node->pprev = NULL;
}

static inline void hlist_del_init_rcu(struct hlist_node *node)
{
	if (!hlist_unhashed(node))
		hlist_del_rcu(node);
}

#define hlist_entry(p, type, member) container_of(p, type, member)
#define hlist_entry_safe(p, type, member)                          \
	({                                                         \
		__typeof__(p) _p = (p);                            \
		_p ? hlist_entry(_p, type, member) : (type *)NULL; \
	})
#define hlist_for_each(pos, head) for (pos = (head)->first; pos; pos = pos->next)
#define hlist_for_each_safe(pos, n, head)                \
	for (pos = (head)->first; pos && ({              \
					  n = pos->next; \
					  1;             \
				  });                    \
	     pos = n)
#define hlist_for_each_entry(pos, head, member)                                      \
	for (pos = hlist_entry_safe((head)->first, __typeof__(*(pos)), member); pos; \
	     pos = hlist_entry_safe((pos)->member.next, __typeof__(*(pos)), member))
#define hlist_for_each_entry_continue(pos, member)                                        \
	for (pos = hlist_entry_safe((pos)->member.next, __typeof__(*(pos)), member); pos; \
	     pos = hlist_entry_safe((pos)->member.next, __typeof__(*(pos)), member))
#define hlist_for_each_entry_safe(pos, n, head, member)                       \
	for (pos = hlist_entry_safe((head)->first, __typeof__(*pos), member); \
	     pos && ({                                                        \
		     n = pos->member.next;                                    \
		     1;                                                       \
	     });                                                              \
	     pos = hlist_entry_safe(n, __typeof__(*pos), member))

#define hlist_add_head_rcu(node, head)			    hlist_add_head(node, head)
#define hlist_add_before_rcu(node, next)		    hlist_add_before(node, next)
#define hlist_add_behind_rcu(node, prev)		    hlist_add_behind(node, prev)
#define hlist_add_tail_rcu(node, head)			    cca_hlist_add_tail(node, head)
#define hlist_for_each_entry_rcu(pos, head, member, ...)    hlist_for_each_entry(pos, head, member)
#define hlist_for_each_entry_rcu_bh(pos, head, member)	    hlist_for_each_entry(pos, head, member)
#define hlist_for_each_entry_rcu_notrace(pos, head, member) hlist_for_each_entry(pos, head, member)

static inline void cca_hlist_add_tail(struct hlist_node *node, struct hlist_head *head)
{
	struct hlist_node **place = &head->first;

	while (*place)
		place = &(*place)->next;
	cca_hlist_put(node, place);
}

#endif /* DUMBBELL_MODULE_LIST_H */
