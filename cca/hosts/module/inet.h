/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Addresses and ports of the flow under the kernel's names, and what is asked of addresses. Flows of the simulator are
 * IPv4: the addresses of IPv6 are there, and all 0.
 */
#ifndef DUMBBELL_MODULE_INET_H
#define DUMBBELL_MODULE_INET_H

#define AF_UNSPEC	 0
#define AF_INET		 2
#define AF_INET6	 10
#define PF_INET		 AF_INET
#define PF_INET6	 AF_INET6
#define INET_ADDRSTRLEN	 16
#define INET6_ADDRSTRLEN 48
#define IPPROTO_IP	 0
#define IPPROTO_UDP	 17
#define IPPROTO_IPV6	 41
#define INADDR_ANY	 0U
#define INADDR_LOOPBACK	 0x7f000001U
#define INADDR_BROADCAST 0xffffffffU
#define SOCK_DBG	 0

#define sk_daddr	 __sk_common.skc_daddr
#define sk_rcv_saddr	 __sk_common.skc_rcv_saddr
#define sk_dport	 __sk_common.skc_dport
#define sk_num		 __sk_common.skc_num
#define sk_family	 __sk_common.skc_family
#define sk_hash		 __sk_common.skc_hash
#define sk_v6_daddr	 __sk_common.skc_v6_daddr
#define sk_v6_rcv_saddr	 __sk_common.skc_v6_rcv_saddr
#define inet_daddr	 sk.sk_daddr
#define inet_rcv_saddr	 sk.sk_rcv_saddr
#define inet_dport	 sk.sk_dport
#define inet_num	 sk.sk_num
#define s6_addr		 in6_u.u6_addr8
#define s6_addr16	 in6_u.u6_addr16
#define s6_addr32	 in6_u.u6_addr32

struct in_addr {
	__be32 s_addr;
};
struct sockaddr_in {
	u16 sin_family;
	__be16 sin_port;
	struct in_addr sin_addr;
	u8 sin_zero[8];
};
struct sockaddr_in6 {
	u16 sin6_family;
	__be16 sin6_port;
	__be32 sin6_flowinfo;
	struct in6_addr sin6_addr;
	u32 sin6_scope_id;
};

static inline struct inet_sock *inet_sk(const struct sock *sk)
{
	return (struct inet_sock *)sk;
}

#define sock_flag(sk, flag)	 ((void)(sk), false)
#define ipv4_is_loopback(a)	 (((a)&htonl(0xff000000)) == htonl(0x7f000000))
#define ipv4_is_multicast(a)	 (((a)&htonl(0xf0000000)) == htonl(0xe0000000))
#define ipv4_is_private_10(a)	 (((a)&htonl(0xff000000)) == htonl(0x0a000000))
#define ipv4_is_private_172(a)	 (((a)&htonl(0xfff00000)) == htonl(0xac100000))
#define ipv4_is_private_192(a)	 (((a)&htonl(0xffff0000)) == htonl(0xc0a80000))
#define ipv4_is_zeronet(a)	 (!((a)&htonl(0xff000000)))
#define ipv4_is_lbcast(a)	 ((a) == htonl(INADDR_BROADCAST))
#define ipv4_is_linklocal_169(a) (((a)&htonl(0xffff0000)) == htonl(0xa9fe0000))
#define ntohll_(v)		 be64_to_cpu(v)

/* ---- IPv6 ---- */

#define IPV6_ADDR_ANY 0x0000U
static const struct in6_addr in6addr_any __maybe_unused = { { { 0 } } };

static inline int ipv6_addr_cmp(const struct in6_addr *a, const struct in6_addr *b)
{
	return memcmp(a, b, sizeof(*a));
}

static inline bool ipv6_addr_equal(const struct in6_addr *a, const struct in6_addr *b)
{
	return !ipv6_addr_cmp(a, b);
}

static inline bool ipv6_addr_any(const struct in6_addr *a)
{
	return ipv6_addr_equal(a, &in6addr_any);
}

static inline bool ipv6_addr_v4mapped(const struct in6_addr *a)
{
	return !a->s6_addr32[0] && !a->s6_addr32[1] && a->s6_addr32[2] == htonl(0x0000ffff);
}

static inline void ipv6_addr_set_v4mapped(__be32 address, struct in6_addr *to)
{
	to->s6_addr32[0] = to->s6_addr32[1] = 0;
	to->s6_addr32[2] = htonl(0x0000ffff);
	to->s6_addr32[3] = address;
}

static inline bool ipv6_addr_loopback(const struct in6_addr *a)
{
	return !a->s6_addr32[0] && !a->s6_addr32[1] && !a->s6_addr32[2] &&
	       a->s6_addr32[3] == htonl(1);
}

/* Of the leading bits. */
static inline bool ipv6_prefix_equal(const struct in6_addr *a, const struct in6_addr *b,
				     unsigned int bits)
{
	unsigned int bytes = bits / 8, rest = bits % 8;

	if (memcmp(a, b, bytes))
		return false;
	return !rest || !((a->s6_addr[bytes] ^ b->s6_addr[bytes]) >> (8 - rest));
}

static inline void ipv6_addr_prefix(struct in6_addr *to, const struct in6_addr *from, int bits)
{
	int i;

	for (i = 0; i < 16; i++, bits -= 8)
		to->s6_addr[i] = bits >= 8  ? from->s6_addr[i]
				 : bits > 0 ? (u8)(from->s6_addr[i] & 0xff << (8 - bits))
					    : 0;
}

#define ipv6_only_sock(sk) ((void)(sk), 0)

/* ---- ECN of IP headers ---- */

enum {
	INET_ECN_NOT_ECT = 0,
	INET_ECN_ECT_1 = 1,
	INET_ECN_ECT_0 = 2,
	INET_ECN_CE = 3,
	INET_ECN_MASK = 3,
};

static inline int INET_ECN_is_ce(u8 tos)
{
	return (tos & INET_ECN_MASK) == INET_ECN_CE;
}

static inline int INET_ECN_is_not_ect(u8 tos)
{
	return (tos & INET_ECN_MASK) == INET_ECN_NOT_ECT;
}

static inline int INET_ECN_is_capable(u8 tos)
{
	return tos & INET_ECN_ECT_0;
}

/* Which marks packets bear is the stack's: with TCP_CONG_NEEDS_ECN all of them. */
#define INET_ECN_xmit(sk)     ((void)(sk))
#define INET_ECN_dontxmit(sk) ((void)(sk))

#endif /* DUMBBELL_MODULE_INET_H */
