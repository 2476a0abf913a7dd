/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What queue disciplines count, by netlink. */
#ifndef AGENT_QUEUES_H
#define AGENT_QUEUES_H

#include "namespaces.h"

static uint64_t u32_at(const void *data, int length, size_t offset)
{
	uint32_t value = 0;

	if ((int)(offset + sizeof(value)) <= length)
		memcpy(&value, (const char *)data + offset, sizeof(value));
	return value;
}

static uint64_t cake_marks(const struct rtattr *stats, int length)
{
	uint64_t sum = 0;

	for (; RTA_OK(stats, length); stats = RTA_NEXT(stats, length)) {
		int tins_length = RTA_PAYLOAD(stats);

		if ((stats->rta_type & NLA_TYPE_MASK) != TCA_CAKE_STATS_TIN_STATS)
			continue;
		for (struct rtattr *tin = RTA_DATA(stats); RTA_OK(tin, tins_length);
		     tin = RTA_NEXT(tin, tins_length)) {
			int tin_length = RTA_PAYLOAD(tin);

			for (struct rtattr *a = RTA_DATA(tin); RTA_OK(a, tin_length);
			     a = RTA_NEXT(a, tin_length))
				if ((a->rta_type & NLA_TYPE_MASK) ==
				    TCA_CAKE_TIN_STATS_ECN_MARKED_PACKETS)
					sum += u32_at(RTA_DATA(a), RTA_PAYLOAD(a), 0);
		}
	}
	return sum;
}

/* Packets that a queue discipline has marked CE, which each kind tells in its own way. */
static uint64_t marks(const char *kind, const struct rtattr *app)
{
	const void *data = RTA_DATA(app);
	int length = RTA_PAYLOAD(app);

	if (!strcmp(kind, "codel"))
		return u32_at(data, length, offsetof(struct tc_codel_xstats, ecn_mark)) +
		       u32_at(data, length, offsetof(struct tc_codel_xstats, ce_mark));
	if (!strcmp(kind, "fq_codel"))
		return u32_at(data, length,
			      offsetof(struct tc_fq_codel_xstats, qdisc_stats.ecn_mark)) +
		       u32_at(data, length,
			      offsetof(struct tc_fq_codel_xstats, qdisc_stats.ce_mark));
	if (!strcmp(kind, "pie"))
		return u32_at(data, length, offsetof(struct tc_pie_xstats, ecn_mark));
	if (!strcmp(kind, "red"))
		return u32_at(data, length, offsetof(struct tc_red_xstats, marked));
	if (!strcmp(kind, "fq"))
		return u32_at(data, length, offsetof(struct tc_fq_qd_stats, ce_mark));
	if (!strcmp(kind, "cake"))
		return cake_marks(data, length);
	return 0;
}

struct counted {
	struct gnet_stats_queue queue;
	uint64_t bytes, packets, marks;
	uint32_t policed; /* refused in front of the queue */
};

static void count_stats(struct counted *counted, const char *kind, struct rtattr *stats)
{
	int length = RTA_PAYLOAD(stats);

	for (struct rtattr *a = RTA_DATA(stats); RTA_OK(a, length); a = RTA_NEXT(a, length)) {
		size_t size = RTA_PAYLOAD(a);

		if (a->rta_type == TCA_STATS_QUEUE) {
			memcpy(&counted->queue, RTA_DATA(a),
			       size < sizeof(counted->queue) ? size : sizeof(counted->queue));
		} else if (a->rta_type == TCA_STATS_BASIC) {
			memcpy(&counted->bytes, RTA_DATA(a), sizeof(counted->bytes));
			counted->packets = u32_at(RTA_DATA(a), size,
						  offsetof(struct gnet_stats_basic, packets));
		} else if (a->rta_type == TCA_STATS_PKT64) {
			memcpy(&counted->packets, RTA_DATA(a), sizeof(counted->packets));
		} else if (a->rta_type == TCA_STATS_APP) {
			counted->marks = marks(kind, a);
		}
	}
}

/* Adds the marks of every queue discipline of a device, and what filters in front of them dropped, which clsact counts;
 * the other counters are those of its root. */
static void count_message(struct counted *sum, struct nlmsghdr *header, int index)
{
	struct tcmsg *message = NLMSG_DATA(header);
	int length = header->nlmsg_len - NLMSG_LENGTH(sizeof(*message));
	struct counted one = { 0 };
	const char *kind = "";

	if (message->tcm_ifindex != index)
		return;
	for (struct rtattr *a = TCA_RTA(message); RTA_OK(a, length); a = RTA_NEXT(a, length)) {
		if (a->rta_type == TCA_KIND)
			kind = RTA_DATA(a);
		else if ((a->rta_type & NLA_TYPE_MASK) == TCA_STATS2)
			count_stats(&one, kind, a);
	}
	if (!strcmp(kind, "clsact")) {
		sum->policed = one.queue.drops;
	} else if (message->tcm_parent == TC_H_ROOT) {
		one.marks += sum->marks;
		one.policed = sum->policed;
		*sum = one;
	} else {
		sum->marks += one.marks;
	}
}

static struct counted count(int fd, int index)
{
	struct {
		struct nlmsghdr header;
		struct tcmsg message;
	} request = {
		.header = { .nlmsg_len = sizeof(request),
			    .nlmsg_type = RTM_GETQDISC,
			    .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.message = { .tcm_ifindex = index },
	};
	struct counted sum = { 0 };

	if (send(fd, &request, sizeof(request), 0) < 0)
		fail("queue");
	for (;;) {
		int length = recv(fd, answer, sizeof(answer), 0);

		if (length <= 0)
			fail("queue");
		for (struct nlmsghdr *h = (void *)answer; NLMSG_OK(h, length);
		     h = NLMSG_NEXT(h, length)) {
			if (h->nlmsg_type == NLMSG_DONE || h->nlmsg_type == NLMSG_ERROR)
				return sum;
			count_message(&sum, h, index);
		}
	}
}

static int open_netlink(void)
{
	struct sockaddr_nl address = { .nl_family = AF_NETLINK };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (fd < 0 || bind(fd, (void *)&address, sizeof(address)))
		fail("netlink");
	return fd;
}

static void open_queue(struct shaped *queue)
{
	struct sockaddr_ll address = { .sll_family = AF_PACKET };

	enter(queue->place.ns);
	queue->index = if_nametoindex(queue->place.device);
	queue->fd = open_netlink();
	address.sll_ifindex = queue->index;
	queue->kick_fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (queue->kick_fd < 0 || bind(queue->kick_fd, (void *)&address, sizeof(address)))
		fail("%s", queue->place.device);
	leave();
}

static struct counted look_at_queue(const struct shaped *queue)
{
	struct counted counted = count(queue->fd, queue->index);

	counted.packets -= queue->kicks_sent;
	counted.bytes -= (uint64_t)queue->kicks_sent * ETH_HLEN;
	counted.queue.drops -= queue->kicks_dropped;
	return counted;
}

static void print_queue(FILE *file, const struct counted *counted)
{
	const struct gnet_stats_queue *q = &counted->queue;

	fprintf(file, "%u %u %u %llu %llu %llu %u\n", q->backlog, q->qlen,
		q->drops + counted->policed, (unsigned long long)counted->bytes,
		(unsigned long long)counted->packets, (unsigned long long)counted->marks,
		counted->policed);
}

#endif /* AGENT_QUEUES_H */
