/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Constants of the network that vmlinux.h lacks, and short names of fields (the selftests' bpf_tracing_net.h). */
#ifndef __BPF_TRACING_NET_H__
#define __BPF_TRACING_NET_H__

#define AF_INET		      2
#define AF_INET6	      10
#define SOL_SOCKET	      1
#define SOL_TCP		      6
#define SO_MAX_PACING_RATE    47
#define TCP_NODELAY	      1
#define TCP_MAXSEG	      2
#define TCP_CONGESTION	      13
#define TCP_CA_NAME_MAX	      16
#define TCP_INFINITE_SSTHRESH 0x7fffffff
#define TCP_ECN_OK	      1
#define TCP_ECN_QUEUE_CWR     2
#define TCP_ECN_DEMAND_CWR    4
#define TCP_ECN_SEEN	      8
#define TCP_CONG_NEEDS_ECN    0x2

#define sk_num		      __sk_common.skc_num
#define sk_dport	      __sk_common.skc_dport
#define sk_family	      __sk_common.skc_family
#define sk_daddr	      __sk_common.skc_daddr
#define sk_rcv_saddr	      __sk_common.skc_rcv_saddr
#define sk_state	      __sk_common.skc_state
#define sk_v6_daddr	      __sk_common.skc_v6_daddr
#define sk_v6_rcv_saddr	      __sk_common.skc_v6_rcv_saddr
#define inet_daddr	      sk.__sk_common.skc_daddr
#define inet_rcv_saddr	      sk.__sk_common.skc_rcv_saddr
#define inet_dport	      sk.__sk_common.skc_dport
#define s6_addr32	      in6_u.u6_addr32

#endif /* __BPF_TRACING_NET_H__ */
