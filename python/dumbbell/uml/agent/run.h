/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the agent knows of a run: flows, changes of the path, files. */
#ifndef AGENT_RUN_H
#define AGENT_RUN_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/gen_stats.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef long long ns_t; /* since the start of the run, or -1 */
#define NEVER		   INT64_MAX
#define ENDLESS		   UINT64_MAX
#define TCP_CC_INFO_NUMBER 26 /* TCP_CC_INFO, include/uapi/linux/tcp.h */

enum app { BULK, ON_OFF, PACED, RESPONSES };
enum life { WAITING, RUNNING, ENDED };

/* What an application wrote at once, and when it had arrived. */
struct message {
	ns_t asked, written, completed;
	uint64_t bytes, end; /* bytes of the stream before its end */
};

struct flow {
	/* from the specification */
	char from_ns[32], to_ns[32], source[32], target[32], cca[16];
	int source_port, target_port;
	ns_t start, stop;
	/* settings, see `keys` */
	long long app, size, block, lowat, nodelay, max_rate, greeting, message, rate, count,
		unsent;
	ns_t *lengths;
	int lengths_n, length_i;
	/* the run */
	enum life life;
	int listener, sender, receiver, answers, asks; /* file descriptors, or -1 */
	int is_writing;				       /* EPOLLOUT is asked for */
	uint64_t to_write, read;
	int begun, is_on, closes; /* data may go; on time; nothing follows what is written */
	ns_t opened, established, done, next, on_since, on_until;
	uint64_t on_written;
	struct message *messages;
	int messages_n, complete;
	struct tcp_info info; /* last known */
	uint8_t info_more[64];
	int has_info;
	uint64_t received, acks;
	ns_t sampled;
};

/* When a probe was sent, reached the other end, and was answered; -1 where it was not. */
struct probed {
	ns_t at, there, back;
};

struct probe {
	char from_ns[32], to_ns[32], source[32], target[32];
	int source_port, target_port, asks, answers;
	ns_t every, stop, next;
	struct probed *sent;
	int sent_n;
};

struct step {
	ns_t at;
	int kick;
	char ns[32];
	char **words;
};

struct place {
	char ns[32], device[32];
	int flow, fd;
};

static struct flow *flows;
static struct step *steps;
/* A link of the path: its queue, and an empty frame that makes it look at that. */
struct shaped {
	struct place place;
	int fd, index, kick_fd, kicks_sent, kicks_dropped;
};

static struct place *netems, *captures;
static struct shaped *queues;
static struct probe *probes;
static char (*reports)[32];
static int flows_n, steps_n, step_i, netems_n, captures_n, queues_n, reports_n, probes_n;
static int epoll_fd, own_ns, progress_fd = -1, timer_fd, is_due;
static ns_t duration, every;
static struct timespec zero_time, zero_real; /* by the monotonic clock and by the time of day */
static FILE *samples_file, *queue_file, *flows_file, *reports_file;
static char *out_folder;
static char zeros[1 << 18], sink[1 << 20], answer[1 << 16];

static const struct {
	const char *name;
	size_t offset;
} keys[] = {
#define KEY(name)                                  \
	{                                          \
#name, offsetof(struct flow, name) \
	}
	KEY(app),      KEY(size),     /* an application; bytes of a finite transfer */
	KEY(block),    KEY(lowat),    /* bytes of a write; bytes that wake the reader */
	KEY(nodelay),  KEY(max_rate), /* TCP_NODELAY; SO_MAX_PACING_RATE, bytes/s */
	KEY(greeting), KEY(unsent),   /* bytes that must be answered first; TCP_NOTSENT_LOWAT */
	KEY(message),  KEY(rate),     /* of paced writes: bytes, bit/s; of responses: bytes */
	KEY(count),		      /* responses until it closes, 0 for no end */
#undef KEY
};

__attribute__((noreturn, format(printf, 1, 2))) static void fail(const char *format, ...)
{
	int error = errno;
	va_list words;

	va_start(words, format);
	fprintf(stderr, "agent: ");
	vfprintf(stderr, format, words);
	fprintf(stderr, error ? ": %s\n" : "\n", strerror(error));
	va_end(words);
	exit(1);
}

static ns_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (t.tv_sec - zero_time.tv_sec) * 1000000000LL + (t.tv_nsec - zero_time.tv_nsec);
}

static void *grown(void *array, int count, size_t size)
{
	if (count & (count - 1))
		return array;
	array = realloc(array, (count ? 2 * count : 1) * size);
	if (!array)
		fail("memory");
	return array;
}

#endif /* AGENT_RUN_H */
