/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Probes: datagrams at regular times, which the other end answers at once. */
#ifndef AGENT_PROBES_H
#define AGENT_PROBES_H

#include "connections.h"

#define PROBE_PAYLOAD 56 /* bytes, as ping sends */

static void open_probe(struct probe *probe, int i)
{
	struct sockaddr_in target = address(probe->target, probe->target_port);

	enter(probe->to_ns);
	probe->answers = bound(SOCK_DGRAM, probe->target, probe->target_port);
	watch(probe->answers, EPOLLIN, PROBED, i);
	leave();
	enter(probe->from_ns);
	probe->asks = bound(SOCK_DGRAM, probe->source, probe->source_port);
	if (connect(probe->asks, (void *)&target, sizeof(target)))
		fail("connect");
	watch(probe->asks, EPOLLIN, ANSWERED, i);
	leave();
}

/* Probes that are due leave; when the next of them is due. */
static ns_t run_probes(ns_t t)
{
	ns_t next = NEVER;

	for (int i = 0; i < probes_n; i++) {
		struct probe *probe = &probes[i];

		while (probe->next <= t && probe->next < probe->stop) {
			uint32_t payload[PROBE_PAYLOAD / 4] = { probe->sent_n };

			probe->sent = grown(probe->sent, probe->sent_n, sizeof(*probe->sent));
			probe->sent[probe->sent_n++] =
				(struct probed){ .at = t, .there = -1, .back = -1 };
			send(probe->asks, payload, sizeof(payload), MSG_NOSIGNAL);
			probe->next += probe->every;
		}
		if (probe->next < probe->stop && probe->next < next)
			next = probe->next;
	}
	return next;
}

/* A request has come: it is answered. Of copies the first counts. */
static void on_probed(struct probe *probe)
{
	uint32_t payload[PROBE_PAYLOAD / 4];
	struct sockaddr_in from;
	socklen_t length = sizeof(from);

	if (recvfrom(probe->answers, payload, sizeof(payload), 0, (void *)&from, &length) !=
		    sizeof(payload) ||
	    payload[0] >= (uint32_t)probe->sent_n)
		return;
	if (probe->sent[payload[0]].there < 0)
		probe->sent[payload[0]].there = now();
	sendto(probe->answers, payload, sizeof(payload), MSG_NOSIGNAL, (void *)&from, length);
}

static void on_answered(struct probe *probe)
{
	uint32_t payload[PROBE_PAYLOAD / 4];

	if (recv(probe->asks, payload, sizeof(payload), 0) == sizeof(payload) &&
	    payload[0] < (uint32_t)probe->sent_n && probe->sent[payload[0]].back < 0)
		probe->sent[payload[0]].back = now();
}

#endif /* AGENT_PROBES_H */
