/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Network namespaces: entering one, its kernel parameters and devices. */
#ifndef AGENT_NAMESPACES_H
#define AGENT_NAMESPACES_H

#include "run.h"

static void enter(const char *ns)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/run/netns/%s", ns);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		fail("%s", path);
	close(fd);
}

static void leave(void)
{
	if (setns(own_ns, CLONE_NEWNET))
		fail("setns");
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		fail("%s = %s", path, text);
	close(fd);
}

/* A kernel without IPv6, or an older one, may lack a parameter: that is an error, said by its name. */
static void set_parameter(const char *ns, const char *name, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), "/proc/sys/%s", name);
	if (strcmp(ns, "-"))
		enter(ns);
	write_file(path, value);
	leave();
}

/* Runs a program in a namespace, and waits for it. In the guest's time that is no time at all. */
static void run_program(const char *ns, char **words)
{
	pid_t pid;
	int status;

	enter(ns);
	errno = posix_spawnp(&pid, words[0], NULL, NULL, words, environ);
	leave();
	if (errno)
		fail("%s", words[0]);
	if (waitpid(pid, &status, 0) != pid || status)
		fail("%s %s %s ... in %s", words[0], words[1], words[2], ns);
}

/* Loads a kernel module; what it says of its parameters is in the kernel's log. */
static void load_module(const char *file, const char *parameters)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || syscall(SYS_finit_module, fd, parameters, 0))
		fail("module %s %s", file, parameters);
	close(fd);
}

static void set_offloads(const char *ns, const char *device, int gso, int gro)
{
	static const struct {
		int command, is_gro;
	} offloads[] = {
		{ ETHTOOL_STSO, 0 },
		{ ETHTOOL_SGSO, 0 },
		{ ETHTOOL_SGRO, 1 },
	};
	int fd;

	enter(ns);
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	for (int i = 0; i < 3; i++) {
		struct ethtool_value value = { offloads[i].command, offloads[i].is_gro ? gro : gso };
		struct ifreq request = { .ifr_data = (void *)&value };

		snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", device);
		if (ioctl(fd, SIOCETHTOOL, &request))
			fail("%s %s: offloads", ns, device);
	}
	close(fd);
	leave();
}

#endif /* AGENT_NAMESPACES_H */
