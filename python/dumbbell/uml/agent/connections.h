/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Connections of flows, from opening to end. */
#ifndef AGENT_CONNECTIONS_H
#define AGENT_CONNECTIONS_H

#include "applications.h"
#include "namespaces.h"

static struct sockaddr_in address(const char *text, int port)
{
	struct sockaddr_in made = { .sin_family = AF_INET, .sin_port = htons(port) };

	inet_pton(AF_INET, text, &made.sin_addr);
	return made;
}

static int bound(int type, const char *text, int port)
{
	struct sockaddr_in here = address(text, port);
	int one = 1, fd = socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (fd < 0 || bind(fd, (void *)&here, sizeof(here)))
		fail("%s:%d", text, port);
	return fd;
}

static void choose_controller(int fd, const struct flow *flow)
{
	if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, flow->cca, strlen(flow->cca)))
		fail("controller %s", flow->cca);
}

/* The receiver's end. iperf3 answers a greeting on its control connection: here by a datagram, which crosses
 * the path back as that answer does. */
static void open_listener(struct flow *flow, int i)
{
	struct sockaddr_in sender = address(flow->source, flow->source_port);

	enter(flow->to_ns);
	flow->listener = bound(SOCK_STREAM, flow->target, flow->target_port);
	choose_controller(flow->listener,
			  flow); /* DCTCP echoes marks only where it is at both ends */
	if (listen(flow->listener, 4))
		fail("listen");
	watch(flow->listener, EPOLLIN, LISTENER, i);
	if (flow->greeting) {
		flow->answers = bound(SOCK_DGRAM, flow->target, flow->target_port);
		if (connect(flow->answers, (void *)&sender, sizeof(sender)))
			fail("connect");
	}
	leave();
}

static void open_sender(struct flow *flow, int i, ns_t t)
{
	struct sockaddr_in target = address(flow->target, flow->target_port);
	uint64_t max_rate = flow->max_rate;
	int one = 1, unsent = flow->unsent;

	enter(flow->from_ns);
	flow->sender = bound(SOCK_STREAM, flow->source, flow->source_port);
	choose_controller(flow->sender, flow);
	if (flow->nodelay)
		setsockopt(flow->sender, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (unsent)
		setsockopt(flow->sender, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof(unsent));
	if (max_rate &&
	    setsockopt(flow->sender, SOL_SOCKET, SO_MAX_PACING_RATE, &max_rate, sizeof(max_rate)))
		fail("SO_MAX_PACING_RATE");
	if (flow->greeting) {
		flow->asks = bound(SOCK_DGRAM, flow->source, flow->source_port);
		watch(flow->asks, EPOLLIN, ANSWER, i);
	}
	if (connect(flow->sender, (void *)&target, sizeof(target)) && errno != EINPROGRESS)
		fail("connect");
	watch(flow->sender, EPOLLOUT | EPOLLIN, SENDER, i);
	flow->is_writing = 1;
	leave();
	flow->life = RUNNING;
	flow->opened = t;
}

static void accept_one(struct flow *flow, int i)
{
	int fd = accept4(flow->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC),
	    lowat = flow->lowat;

	if (fd < 0)
		return;
	flow->receiver = fd;
	if (lowat > 1)
		setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &lowat, sizeof(lowat));
	watch(fd, EPOLLIN, RECEIVER, i);
	on_accepted(flow);
}

/*
 * The application leaves. What it has written and the network has not taken goes with it; but a connection whose data has
 * all arrived stays open, because its last acknowledgements are still under way and each would be answered by a reset; its
 * controller is released now, as when a socket closes, so that the next flow finds what a module has learned of this one.
 */
static void end(struct flow *flow, ns_t t)
{
	struct linger none = { .l_onoff = 1 };

	look(flow);
	fprintf(flows_file, "%td %lld %lld %lld %lld %d ", flow - flows, flow->opened,
		flow->established, flow->done, t, flow->has_info);
	print_info(flows_file, flow);
	print_sample(flow, t);
	if (flow->done >= 0) {
		epoll_ctl(epoll_fd, EPOLL_CTL_DEL, flow->sender, NULL);
		setsockopt(flow->sender, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
	} else {
		setsockopt(flow->sender, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
		close(flow->sender);
	}
	flow->sender = -1;
	flow->life = ENDED;
	flow->next = NEVER;
}

#endif /* AGENT_CONNECTIONS_H */
