/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Reads the specification; the head of agent.c describes it. */
#ifndef AGENT_SPECIFICATION_H
#define AGENT_SPECIFICATION_H

#include "namespaces.h"

static char *word(char **rest)
{
	char *found;

	do
		found = strsep(rest, " \n");
	while (found && !*found);
	if (!found)
		fail("a word is missing");
	return found;
}

static long long number(char **rest)
{
	return strtoll(word(rest), NULL, 10);
}

#define COPY(to, rest) snprintf(to, sizeof(to), "%s", word(rest))

static void read_flow(char **rest)
{
	struct flow *flow;

	flows = grown(flows, flows_n, sizeof(*flows));
	flow = memset(&flows[flows_n++], 0, sizeof(*flow));
	COPY(flow->from_ns, rest);
	COPY(flow->source, rest);
	flow->source_port = number(rest);
	COPY(flow->to_ns, rest);
	COPY(flow->target, rest);
	flow->target_port = number(rest);
	COPY(flow->cca, rest);
	flow->start = number(rest);
	flow->stop = number(rest);
	flow->block = sizeof(zeros);
	flow->listener = flow->sender = flow->receiver = flow->answers = -1;
	flow->opened = flow->established = flow->done = flow->sampled = -1;
	flow->next = NEVER;
}

static void read_probe(char **rest)
{
	struct probe *probe;

	probes = grown(probes, probes_n, sizeof(*probes));
	probe = memset(&probes[probes_n++], 0, sizeof(*probe));
	COPY(probe->from_ns, rest);
	COPY(probe->source, rest);
	probe->source_port = number(rest);
	COPY(probe->to_ns, rest);
	COPY(probe->target, rest);
	probe->target_port = number(rest);
	probe->every = number(rest);
	probe->next = number(rest);
	probe->stop = number(rest);
}

static void read_settings(struct flow *flow, char *rest)
{
	char *one;

	while ((one = strsep(&rest, " \n"))) {
		char *value = strchr(one, '=');
		size_t i;

		if (!value)
			continue;
		for (i = 0; i < sizeof(keys) / sizeof(*keys); i++)
			if (!strncmp(keys[i].name, one, value - one) && !keys[i].name[value - one])
				break;
		if (i == sizeof(keys) / sizeof(*keys))
			fail("with %s: unknown", one);
		*(long long *)((char *)flow + keys[i].offset) = strtoll(value + 1, NULL, 10);
	}
	if (flow->block > (long long)sizeof(zeros) || flow->block < 1)
		fail("block=%lld: wanted 1 to %zu", flow->block, sizeof(zeros));
}

static void read_lengths(struct flow *flow, char *rest)
{
	char *one;

	while ((one = strsep(&rest, " \n"))) {
		if (!*one)
			continue;
		flow->lengths = grown(flow->lengths, flow->lengths_n, sizeof(ns_t));
		flow->lengths[flow->lengths_n++] = strtoll(one, NULL, 10);
	}
}

static char **read_words(char *rest)
{
	char **words = calloc(strlen(rest) + 1, sizeof(char *)), *one;
	int n = 0;

	if (!words)
		fail("memory");
	while ((one = strsep(&rest, " \n")))
		if (*one)
			words[n++] = strdup(one);
	return words;
}

static void read_step(char *rest)
{
	struct step *step;

	steps = grown(steps, steps_n, sizeof(*steps));
	step = &steps[steps_n++];
	step->at = number(&rest);
	step->kick = number(&rest);
	COPY(step->ns, &rest);
	step->words = read_words(rest);
}

static void read_place(struct place *place, char **rest)
{
	COPY(place->ns, rest);
	COPY(place->device, rest);
}

static void read_line(char *line)
{
	char *rest = line, *what = word(&rest);

	if (!strcmp(what, "duration")) {
		duration = number(&rest);
	} else if (!strcmp(what, "sample")) {
		every = number(&rest);
	} else if (!strcmp(what, "run")) {
		char *ns = word(&rest);

		run_program(ns, read_words(rest));
	} else if (!strcmp(what, "set")) {
		char *ns = word(&rest), *path = word(&rest);

		set_parameter(ns, path, strsep(&rest, "\n"));
	} else if (!strcmp(what, "load")) {
		char *file = word(&rest);

		load_module(file, strsep(&rest, "\n"));
	} else if (!strcmp(what, "offloads")) {
		char *ns = word(&rest), *device = word(&rest);
		int gso = number(&rest);

		set_offloads(ns, device, gso, number(&rest));
	} else if (!strcmp(what, "queue")) {
		queues = grown(queues, queues_n, sizeof(*queues));
		memset(&queues[queues_n], 0, sizeof(*queues));
		read_place(&queues[queues_n++].place, &rest);
	} else if (!strcmp(what, "netem")) {
		netems = grown(netems, netems_n, sizeof(*netems));
		read_place(&netems[netems_n], &rest);
		netems[netems_n++].flow = number(&rest);
	} else if (!strcmp(what, "capture")) {
		captures = grown(captures, captures_n, sizeof(*captures));
		read_place(&captures[captures_n++], &rest);
	} else if (!strcmp(what, "report")) {
		reports = grown(reports, reports_n, sizeof(*reports));
		COPY(reports[reports_n++], &rest);
	} else if (!strcmp(what, "flow")) {
		read_flow(&rest);
	} else if (!strcmp(what, "with")) {
		read_settings(&flows[flows_n - 1], rest);
	} else if (!strcmp(what, "lengths")) {
		read_lengths(&flows[flows_n - 1], rest);
	} else if (!strcmp(what, "probe")) {
		read_probe(&rest);
	} else if (!strcmp(what, "step")) {
		read_step(rest);
	} else {
		errno = 0;
		fail("%s: unknown", what);
	}
}

static void read_specification(const char *path)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t size = 0;

	if (!file)
		fail("%s", path);
	while (getline(&line, &size, file) > 0)
		read_line(line);
	free(line);
	fclose(file);
}

#endif /* AGENT_SPECIFICATION_H */
