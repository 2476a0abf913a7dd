/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Socket options that a module answers itself: it gives the socket a struct proto of its own. No
 * application calls setsockopt() here; module.c does for the option that it knows (tcp-brutal's).
 */
#ifndef DUMBBELL_MODULE_SOCKOPT_H
#define DUMBBELL_MODULE_SOCKOPT_H

#define SOL_TCP	    6
#define IPPROTO_TCP 6
#define _LINUX_SOCKPTR_H

typedef struct {
	union {
		void *kernel;
		void *user;
	};
	bool is_kernel;
} sockptr_t;

struct proto {
	int (*setsockopt)(struct sock *sk, int level, int optname, sockptr_t optval,
			  unsigned int optlen);
	int (*getsockopt)(struct sock *sk, int level, int optname, char *optval, int *optlen);
	char name[32];
};
extern struct proto tcp_prot;

/* All memory is this process's: 0 bytes are left over. */
static inline unsigned long copy_from_user(void *to, const void *from, unsigned long size)
{
	memcpy(to, from, size);
	return 0;
}

static inline unsigned long copy_to_user(void *to, const void *from, unsigned long size)
{
	memcpy(to, from, size);
	return 0;
}

static inline int copy_from_sockptr(void *to, sockptr_t from, size_t size)
{
	return (int)copy_from_user(to, from.kernel, size);
}

#define get_user(value, from) ((value) = *(from), 0)
#define put_user(value, to)   (*(to) = (value), 0)

#endif /* DUMBBELL_MODULE_SOCKOPT_H */
