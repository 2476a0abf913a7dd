// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * First process of a guest. Its root is the host's, read-only; it mounts what a system needs, and the run's folder
 * (which is the current folder of the kernel's own process) at /run/dumbbell-uml. There it runs the shell script
 * "script", leaves its status in "status", and switches the machine off.
 *
 * Called with "insmod FILE [PARAMETER=VALUE]..." it loads a module, so that guests need no package for that.
 *
 * The name of this program, and so the kernel's command line, is the same in every run: the kernel mixes the command
 * line into its random numbers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define FOLDER "/run/dumbbell-uml"

static void off(void)
{
	sync();
	reboot(RB_POWER_OFF);
	_exit(1);
}

static void fail(const char *what)
{
	printf("guest: %s: %s\n", what, strerror(errno));
	fflush(stdout);
	off();
}

static void attach(const char *type, const char *where, const char *options)
{
	if (mount("none", where, type, 0, options))
		fail(where);
}

static void leave(const char *name, const char *text, int flags)
{
	ssize_t length = strlen(text);
	int fd = open(name, flags, 0644);

	if (fd < 0 || write(fd, text, length) != length || close(fd))
		fail(name);
}

static int run(void)
{
	static char *const argv[] = { "sh", FOLDER "/script", NULL };
	static char *const environment[] = { "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/run",
					     "TMPDIR=/run", "LC_ALL=C", NULL };
	pid_t child = fork();
	int status;

	if (child < 0)
		fail("fork");
	if (!child) {
		if (chdir(FOLDER))
			fail(FOLDER);
		execve("/bin/sh", argv, environment);
		fail("/bin/sh");
	}
	/* Whatever else ends is somebody's orphan. */
	while (wait(&status) != child)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int load(int argc, char **argv)
{
	char params[1024] = "";
	int fd = open(argv[2], O_RDONLY | O_CLOEXEC);
	int i;

	for (i = 3; i < argc; i++) {
		if (strlen(params) + strlen(argv[i]) + 2 > sizeof(params)) {
			fprintf(stderr, "%s: parameters of more than %zu letters\n", argv[2],
				sizeof(params) - 1);
			return 1;
		}
		strcat(strcat(params, argv[i]), " ");
	}
	if (fd < 0 || syscall(SYS_finit_module, fd, params, 0)) {
		fprintf(stderr, "%s: %s\n", argv[2], strerror(errno));
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	char text[16];

	if (argc > 2 && !strcmp(argv[1], "insmod"))
		return load(argc, argv);

	attach("proc", "/proc", NULL);
	attach("sysfs", "/sys", NULL);
	attach("tmpfs", "/run", NULL);
	if (mkdir(FOLDER, 0755) || mkdir("/run/netns", 0755))
		fail(FOLDER);
	attach("hostfs", FOLDER, "/proc/self/cwd");
	/* Virtual time may stand still while memory is sought: a guest without enough of it ends. */
	leave("/proc/sys/vm/panic_on_oom", "2\n", O_WRONLY);
	snprintf(text, sizeof(text), "%d\n", run());
	leave(FOLDER "/status", text, O_WRONLY | O_CREAT | O_TRUNC);
	off();
}
