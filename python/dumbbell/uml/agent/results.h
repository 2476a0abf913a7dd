/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Files that the agent writes. */
#ifndef AGENT_RESULTS_H
#define AGENT_RESULTS_H

#include "capture.h"
#include "probes.h"
#include "queues.h"

static FILE *output(const char *name, const char *heading)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", out_folder, name);
	file = fopen(path, "we");
	if (!file)
		fail("%s", path);
	setvbuf(file, NULL, _IOFBF, 1 << 20);
	fputs(heading, file);
	return file;
}

static void copy_counters(FILE *file, const char *ns, const char *path)
{
	FILE *from = fopen(path, "re");
	size_t length;

	if (!from)
		fail("%s", path);
	fprintf(file, "@%s %s\n", ns, path);
	while ((length = fread(answer, 1, sizeof(answer), from)))
		fwrite(answer, 1, length, file);
	fclose(from);
}

static void write_counters(void)
{
	FILE *file = output("counters", "");

	copy_counters(file, "-", "/proc/net/softnet_stat");
	copy_counters(file, "-", "/proc/net/sockstat");
	for (int i = 0; i < flows_n; i++) {
		enter(flows[i].from_ns);
		copy_counters(file, flows[i].from_ns, "/proc/self/net/netstat");
		leave();
		if (i && !strcmp(flows[i].to_ns, flows[i - 1].to_ns))
			continue;
		enter(flows[i].to_ns);
		copy_counters(file, flows[i].to_ns, "/proc/self/net/netstat");
		leave();
	}
	for (int i = 0; i < netems_n; i++) {
		struct counted counted;
		int fd;

		enter(netems[i].ns);
		fd = open_netlink();
		counted = count(fd, if_nametoindex(netems[i].device));
		close(fd);
		leave();
		fprintf(file, "@%s netem %d %s\n", netems[i].ns, netems[i].flow, netems[i].device);
		print_queue(file, &counted);
	}
	end_capture(file);
	fclose(file);
}

static void write_messages(void)
{
	FILE *file = output("messages", "flow asked written bytes completed\n");

	for (int i = 0; i < flows_n; i++)
		for (int n = 0; n < flows[i].messages_n; n++) {
			struct message *m = &flows[i].messages[n];

			fprintf(file, "%d %lld %lld %llu %lld\n", i, m->asked, m->written,
				(unsigned long long)m->bytes, m->completed);
		}
	fclose(file);
}

static void write_probes(void)
{
	FILE *file = output("probes", "probe sent there back\n");

	for (int i = 0; i < probes_n; i++)
		for (int n = 0; n < probes[i].sent_n; n++) {
			struct probed *p = &probes[i].sent[n];

			fprintf(file, "%d %lld %lld %lld\n", i, p->at, p->there, p->back);
		}
	fclose(file);
}

static void open_outputs(void)
{
	char heading[1024], path[256];

	snprintf(heading, sizeof(heading), "t flow %s", INFO_COLUMNS);
	samples_file = output("samples", heading);
	snprintf(heading, sizeof(heading), "flow opened established done ended has_info %s",
		 INFO_COLUMNS);
	flows_file = output("flows", heading);
	queue_file = output("queue", "t link backlog_bytes backlog_packets dropped sent_bytes "
				     "sent_packets marked policed\n");
	reports_file = output("reports", "");
	snprintf(path, sizeof(path), "%s/progress", out_folder);
	progress_fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (progress_fd < 0)
		fail("%s", path);
}

#endif /* AGENT_RESULTS_H */
