/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What applications write and read, and when. */
#ifndef AGENT_APPLICATIONS_H
#define AGENT_APPLICATIONS_H

#include "sockets.h"

static void watch(int fd, uint32_t events, uint32_t kind, int i)
{
	struct epoll_event event = { .events = events,
				     .data.u64 = (uint64_t)kind << 32 | (uint32_t)i };

	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event))
		fail("epoll");
}

enum { TIMER, LISTENER, SENDER, RECEIVER, ANSWER, PROBED, ANSWERED };

static void watch_writable(struct flow *flow, int is_writing)
{
	struct epoll_event event = { .events = is_writing ? EPOLLIN | EPOLLOUT : EPOLLIN,
				     .data.u64 =
					     (uint64_t)SENDER << 32 | (uint32_t)(flow - flows) };

	if (flow->is_writing == is_writing)
		return;
	flow->is_writing = is_writing;
	if (epoll_ctl(epoll_fd, EPOLL_CTL_MOD, flow->sender, &event))
		fail("epoll");
}

static void add_message(struct flow *flow, ns_t asked, ns_t t, uint64_t bytes)
{
	struct message *message;
	uint64_t end = flow->messages_n ? flow->messages[flow->messages_n - 1].end
					: (uint64_t)flow->greeting;

	flow->messages = grown(flow->messages, flow->messages_n, sizeof(*message));
	message = &flow->messages[flow->messages_n++];
	*message = (struct message){
		.asked = asked, .written = t, .completed = -1, .bytes = bytes, .end = end + bytes
	};
	flow->to_write += bytes;
	watch_writable(flow, 1);
}

static ns_t length(struct flow *flow)
{
	if (!flow->lengths_n)
		return 0;
	return flow->lengths[flow->length_i++ % flow->lengths_n];
}

/* When message number n of a rate is due. */
static ns_t message_time(const struct flow *flow, ns_t since, uint64_t n)
{
	return since + (ns_t)((__int128)n * flow->message * 8000000000LL / flow->rate);
}

/* The connection carries data from now on. */
static void begin(struct flow *flow, ns_t t)
{
	flow->begun = 1;
	flow->next = NEVER;
	flow->on_since = t;
	is_due = 1;
	if (flow->app == BULK) {
		flow->to_write = flow->size ? (uint64_t)flow->size : ENDLESS;
		flow->closes = flow->size > 0;
		watch_writable(flow, 1);
	} else if (flow->app == RESPONSES) {
		flow->next = flow->receiver < 0 ? NEVER : t;
	} else {
		flow->next = t;
	}
}

/* The receiver has its connection: the first request leaves at once. */
static void on_accepted(struct flow *flow)
{
	if (flow->app != RESPONSES || !flow->begun || flow->next != NEVER)
		return;
	flow->next = now();
	is_due = 1;
}

/* An application's time has come. Called again while that is not in the future. */
static void act(struct flow *flow, ns_t t)
{
	if (!flow->begun) { /* the path has lost the answer to the greeting, or may have */
		send(flow->answers, zeros, 1, 0);
		flow->next = t + 1000000000;
		is_due = 1;
	} else if (flow->app == PACED) {
		add_message(flow, t, t, flow->message);
		flow->next = message_time(flow, flow->on_since, ++flow->on_written);
	} else if (flow->app == RESPONSES) {
		flow->next = NEVER;
		if (send(flow->receiver, zeros, 1, MSG_NOSIGNAL) == 1)
			flow->on_since = t;
	} else if (!flow->is_on) {
		flow->is_on = 1;
		flow->on_since = t;
		flow->on_written = 0;
		flow->on_until = t + length(flow);
		if (!flow->rate) {
			flow->to_write = ENDLESS;
			watch_writable(flow, 1);
		}
		flow->next = flow->rate ? t : flow->on_until;
	} else if (t >= flow->on_until) {
		flow->is_on = 0;
		if (!flow->rate)
			flow->to_write = 0;
		flow->next = t + length(flow);
	} else {
		add_message(flow, t, t, flow->message);
		flow->next = message_time(flow, flow->on_since, ++flow->on_written);
		if (flow->next > flow->on_until)
			flow->next = flow->on_until;
	}
}

/* The sender has a request, or the answer to its greeting. */
static void on_sender_readable(struct flow *flow)
{
	if (recv(flow->sender, sink, sizeof(sink), 0) <= 0 || flow->app != RESPONSES)
		return;
	flow->closes = flow->messages_n + 1 == flow->count;
	add_message(flow, flow->on_since, now(), flow->message);
}

static void on_established(struct flow *flow)
{
	flow->established = now();
	if (!flow->greeting) {
		begin(flow, flow->established);
		return;
	}
	if (send(flow->sender, zeros, flow->greeting, MSG_NOSIGNAL) != flow->greeting)
		fail("flow %td: greeting", flow - flows);
	watch_writable(flow, 0);
}

static void on_writable(struct flow *flow)
{
	uint64_t most = flow->block;
	ssize_t count;

	if (flow->to_write < most)
		most = flow->to_write;
	if (!most) {
		watch_writable(flow, 0);
		return;
	}
	count = send(flow->sender, zeros, most, MSG_NOSIGNAL);
	if (count > 0) {
		if (flow->to_write != ENDLESS)
			flow->to_write -= count;
	} else if (errno != EAGAIN) {
		flow->stop = now();
		is_due = 1;
	}
}

/* Messages that have arrived are complete, and so is a transfer that ends with them. */
static void on_read(struct flow *flow)
{
	while (flow->complete < flow->messages_n &&
	       flow->messages[flow->complete].end <= flow->read) {
		flow->messages[flow->complete].completed = now();
		if (flow->app == RESPONSES && !flow->closes)
			flow->next = flow->messages[flow->complete].completed + length(flow);
		flow->complete++;
		is_due = 1;
	}
	if (!flow->closes || flow->done >= 0)
		return;
	if (flow->app == BULK ? flow->read >= (uint64_t)(flow->size + flow->greeting)
			      : flow->complete == flow->messages_n) {
		flow->done = now();
		is_due = 1;
	}
}

/* The clock is read only where something has happened: every reading is a call of the guest's kernel. */
static void on_readable(struct flow *flow)
{
	ssize_t count = recv(flow->receiver, sink, sizeof(sink), MSG_TRUNC);

	if (count == 0 || (count < 0 && errno != EAGAIN)) {
		look(flow);
		close(flow->receiver);
		flow->receiver = -1;
	}
	if (count <= 0)
		return;
	flow->read += count;
	if (!flow->begun && flow->next == NEVER && flow->greeting &&
	    flow->read >= (uint64_t)flow->greeting)
		act(flow, now());
	on_read(flow);
}

#endif /* AGENT_APPLICATIONS_H */
