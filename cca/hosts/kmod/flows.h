/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The sockets that use the controller, each from its init() to its release(), and their large state.
 *
 * Who reads the list holds cca_lock and not the socket's lock, so the values that it reads may be a moment old.
 * init() and release() run with the socket locked, and take cca_lock within; a reader must not lock a socket.
 * A socket leaves the list, under cca_lock, before its state is freed.
 */
#ifndef CCA_FLOWS_H
#define CCA_FLOWS_H

struct cca_flow {
	struct list_head list;	 /* in cca_flows */
	struct hlist_node by_sk; /* in cca_flows_by_sk */
	struct sock *sk;
	bool is_ece; /* the last ACK carried ECE; before Linux 6.10 */
	u64 state[]; /* large state, and struct cca_flight */
};

static LIST_HEAD(cca_flows); /* in the order of their start */
static DEFINE_HASHTABLE(cca_flows_by_sk, 10);
static DEFINE_SPINLOCK(cca_lock);

/* The caller holds cca_lock. */
static struct cca_flow *cca_flow_of(const struct sock *sk)
{
	struct cca_flow *flow;

	hash_for_each_possible(cca_flows_by_sk, flow, by_sk,
			       (unsigned long)sk) if (flow->sk == sk) return flow;
	return NULL;
}

static inline void **cca_large_slot(const struct sock *sk)
{
	return (void **)inet_csk_ca(sk);
}

/* NULL before init(): TCP calls hooks when a SYN is lost. */
static inline void *cca_large_state(const struct sock *sk)
{
	return *cca_large_slot(sk);
}

/* It is behind the large state. */
static struct cca_flight *cca_flight_of(const struct sock *sk)
{
	u64 *state = cca_large_state(sk);

	if (!cca_module.hooks.skb_marked_lost || !cca_module.large_bytes || !state)
		return NULL;
	return (struct cca_flight *)(state + DIV_ROUND_UP(cca_module.large_bytes, sizeof(u64)));
}

/* Before Linux 6.10, for controllers with large state. */
static bool cca_is_ece(const struct sock *sk)
{
	u64 *state = cca_large_state(sk);

	return cca_module.large_bytes && state &&
	       container_of(state, struct cca_flow, state[0])->is_ece;
}

static void cca_note_ece(const struct sock *sk, bool is_ece)
{
	u64 *state = cca_large_state(sk);

	if (state)
		container_of(state, struct cca_flow, state[0])->is_ece = is_ece;
}

/* Of a socket whose state got no memory, as the kernel's DCTCP does without ECN. */
static struct tcp_congestion_ops cca_without_state = {
	.name = CCA_KERNEL_NAME,
	.owner = THIS_MODULE,
	.ssthresh = tcp_reno_ssthresh,
	.cong_avoid = tcp_reno_cong_avoid,
	.undo_cwnd = tcp_reno_undo_cwnd,
};

static size_t cca_flow_bytes(void)
{
	size_t bytes = sizeof(struct cca_flow) + round_up(cca_module.large_bytes, sizeof(u64));

	return bytes + (cca_module.hooks.skb_marked_lost ? sizeof(struct cca_flight) : 0);
}

static void cca_flow_init(struct sock *sk)
{
	struct cca_flow *flow = kzalloc(cca_flow_bytes(), GFP_ATOMIC);

	if (cca_module.large_bytes) {
		if (!flow) {
			inet_csk(sk)->icsk_ca_ops = &cca_without_state;
			return;
		}
		*cca_large_slot(sk) = flow->state;
		if (cca_flight_of(sk))
			cca_flight_of(sk)->told = tcp_sk(sk)->lost;
	}
	if (cca_module.hooks.init)
		cca_module.hooks.init(sk);
	if (!flow) /* it works, and is not in the report */
		return;
	flow->sk = sk;
	spin_lock_bh(&cca_lock);
	list_add_tail(&flow->list, &cca_flows);
	hash_add(cca_flows_by_sk, &flow->by_sk, (unsigned long)sk);
	spin_unlock_bh(&cca_lock);
}

static void cca_flow_release(struct sock *sk)
{
	struct cca_flow *flow;

	if (cca_module.hooks.release)
		cca_module.hooks.release(sk);
	spin_lock_bh(&cca_lock);
	flow = cca_flow_of(sk);
	if (flow) {
		list_del(&flow->list);
		hash_del(&flow->by_sk);
	}
	spin_unlock_bh(&cca_lock);
	if (cca_module.large_bytes)
		*cca_large_slot(sk) = NULL;
	kfree(flow);
}

#endif /* CCA_FLOWS_H */
