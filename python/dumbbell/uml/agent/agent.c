/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The program in the guest of a run in virtual time. It opens the flows of a plan between network namespaces,
 * writes and reads as their applications do, changes the path when that is due, and writes down what sockets
 * and queues say.
 *
 *	agent SPEC OUT
 *
 * SPEC has one thing a line, in the order of this list; times are ns from the start of the run.
 *
 *	duration NS
 *	sample NS			interval of the samples
 *	run NETNS WORD ...		a program, at once
 *	set NETNS PATH VALUE		a kernel parameter below /proc/sys; the value is the rest of the line
 *	load FILE PARAMETER=VALUE ...	a kernel module
 *	offloads NETNS DEVICE GSO GRO	GSO is 1 where bursts leave the device whole, GRO where it merges what it receives
 *	queue NETNS DEVICE		where a link of the path is: the bottleneck, then that of the way up
 *	netem NETNS DEVICE FLOW		where packets of a flow are impaired: counters at the end
 *	capture NETNS DEVICE		whose packets are captured
 *	report NAME			/proc/net/dumbbell_NAME is copied at every sample
 *	flow SENDER SOURCE PORT RECEIVER TARGET PORT CCA START STOP
 *	with KEY=NUMBER ...		settings of the flow before; their names are in `keys`
 *	lengths NS ...			of the flow before: on and off times by turns, or times to think
 *	probe SENDER SOURCE PORT RECEIVER TARGET PORT EVERY START STOP
 *	step NS KICK NETNS WORD ...	a program at a time; KICK is the number of the link's queue, from 1, or 0
 *
 * OUT gets samples, queue, flows, messages, probes, counters, where a module reports, reports, and where something is
 * captured, trace.pcap; `progress` holds the virtual time.
 */
#define _GNU_SOURCE
#include "capture.h"
#include "results.h"
#include "specification.h"
#include <sys/random.h>

static void handle(const struct epoll_event *event)
{
	uint32_t kind = event->data.u64 >> 32, i = (uint32_t)event->data.u64;
	struct flow *flow = &flows[i];
	uint64_t count;

	if (kind == PROBED)
		return on_probed(&probes[i]);
	if (kind == ANSWERED)
		return on_answered(&probes[i]);
	if (kind == TIMER) {
		if (read(timer_fd, &count, sizeof(count)) == sizeof(count))
			is_due = 1;
	} else if (kind == LISTENER) {
		accept_one(flow, i);
	} else if (kind == RECEIVER) {
		on_readable(flow);
	} else if (flow->life == RUNNING && kind == ANSWER) {
		if (recv(flow->asks, sink, sizeof(sink), 0) > 0 && !flow->begun)
			begin(flow, now());
	} else if (flow->life == RUNNING && kind == SENDER) {
		if (event->events & (EPOLLIN | EPOLLERR | EPOLLHUP))
			on_sender_readable(flow);
		if (!(event->events & (EPOLLOUT | EPOLLERR | EPOLLHUP)))
			return;
		if (flow->established < 0)
			on_established(flow);
		else
			on_writable(flow);
	}
}

/* Waits for packets and applications until a time, or until something that may bring another one. */
static void wait_until(ns_t t)
{
	ns_t at = zero_time.tv_nsec + t;
	struct itimerspec timer = { .it_value = { zero_time.tv_sec + at / 1000000000,
						  at % 1000000000 } };
	struct epoll_event events[64];

	timerfd_settime(timer_fd, TFD_TIMER_ABSTIME, &timer, NULL);
	for (is_due = 0; !is_due;) {
		int n = epoll_wait(epoll_fd, events, 64, -1);

		for (int i = 0; i < n; i++)
			handle(&events[i]);
		capture();
	}
}

/* Flows that are due open, act or end; when the next of them is due. */
static ns_t run_flows(ns_t t)
{
	ns_t next = NEVER;

	for (int i = 0; i < flows_n; i++) {
		struct flow *flow = &flows[i];

		if (flow->life == WAITING && t >= flow->start)
			open_sender(flow, i, t);
		while (flow->life == RUNNING && flow->next <= t && t < flow->stop)
			act(flow, t);
		if (flow->life == RUNNING && (t >= flow->stop || flow->done >= 0))
			end(flow, t);
		if (flow->life == WAITING && flow->start < next)
			next = flow->start;
		if (flow->life == RUNNING && flow->stop < next)
			next = flow->stop;
		if (flow->life == RUNNING && flow->next < next)
			next = flow->next;
	}
	return next;
}

/* Changes of the path that are due; when the next one is. A shaper whose rate has changed looks at its queue when
 * the time that it had set comes, or a packet: an empty frame, which the receiver does not know, is one. */
static ns_t run_steps(ns_t t)
{
	struct sockaddr_ll nobody = { .sll_family = AF_PACKET, .sll_halen = ETH_ALEN };
	uint8_t frame[ETH_HLEN] = { 2, [12] = 0x88,
				    0xb5 }; /* an EtherType for local experiments (IEEE 802) */
	struct shaped *queue;

	for (; step_i < steps_n && steps[step_i].at <= t; step_i++) {
		run_program(steps[step_i].ns, steps[step_i].words);
		if (!steps[step_i].kick)
			continue;
		queue = &queues[steps[step_i].kick - 1];
		if (!count(queue->fd, queue->index).queue.backlog)
			continue;
		nobody.sll_ifindex = queue->index;
		if (sendto(queue->kick_fd, frame, sizeof(frame), 0, (void *)&nobody,
			   sizeof(nobody)) < 0)
			queue->kicks_dropped++;
		else
			queue->kicks_sent++;
	}
	return step_i < steps_n ? steps[step_i].at : NEVER;
}

static void copy_reports(ns_t t)
{
	char path[64];
	size_t length;

	for (int i = 0; i < reports_n; i++) {
		FILE *file;

		snprintf(path, sizeof(path), "/proc/net/dumbbell_%s", reports[i]);
		file = fopen(path, "re");
		if (!file)
			fail("%s", path);
		fprintf(reports_file, "@%lld %s\n", t, reports[i]);
		while ((length = fread(answer, 1, sizeof(answer), file)))
			fwrite(answer, 1, length, reports_file);
		fclose(file);
	}
}

static void sample(ns_t t)
{
	char text[32];

	for (int i = 0; i < flows_n; i++) {
		if (flows[i].life != RUNNING)
			continue;
		look(&flows[i]);
		print_sample(&flows[i], t);
	}
	for (int i = 0; i < queues_n; i++) {
		struct counted counted = look_at_queue(&queues[i]);

		fprintf(queue_file, "%lld %d ", t, i);
		print_queue(queue_file, &counted);
	}
	copy_reports(t);
	snprintf(text, sizeof(text), "%20lld\n", t);
	if (pwrite(progress_fd, text, strlen(text), 0) < 0)
		fail("progress");
}

/* What is done this soon after it was due was done in time, ns: the guest's clock ticks when it is read. */
#define PROMPT 10000

static void run(void)
{
	ns_t next_sample = every, due = 0;

	for (;;) {
		ns_t t = now(), next, other;

		if (t >= due && t - due < PROMPT)
			t = due;
		if (t >= next_sample || t >= duration) {
			sample(t >= duration ? duration : next_sample);
			while (next_sample <= t)
				next_sample += every;
		}
		next = run_steps(t);
		other = run_flows(t);
		if (t >= duration)
			break;
		next = other < next ? other : next;
		other = run_probes(t);
		next = other < next ? other : next;
		next = next_sample < next ? next_sample : next;
		other = captures_n ? t + CAPTURE_EVERY : NEVER;
		next = other < next ? other : next;
		due = next < duration ? next : duration;
		wait_until(due);
	}
	for (int i = 0; i < flows_n; i++)
		if (flows[i].life == RUNNING)
			end(&flows[i], duration);
}

/* Waits as a testbed does between its set-up and its first flow: the timers of queue disciplines then run, at a phase
 * that the seed draws. */
static void settle(void)
{
	uint32_t draw;

	if (getrandom(&draw, sizeof(draw), 0) != sizeof(draw))
		fail("getrandom");
	nanosleep(&(struct timespec){ 1, draw % 500000000 }, NULL);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return fputs("usage: agent SPEC OUT\n", stderr), 2;
	signal(SIGPIPE, SIG_IGN);
	own_ns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	out_folder = argv[2];
	read_specification(argv[1]);
	settle();
	open_outputs();
	for (int i = 0; i < queues_n; i++)
		open_queue(&queues[i]);
	for (int i = 0; i < flows_n; i++)
		open_listener(&flows[i], i);
	for (int i = 0; i < probes_n; i++)
		open_probe(&probes[i], i);
	for (int i = 0; i < captures_n; i++)
		listen_at(&captures[i]);
	timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	watch(timer_fd, EPOLLIN, TIMER, 0);
	clock_gettime(CLOCK_MONOTONIC, &zero_time);
	if (captures_n)
		clock_gettime(CLOCK_REALTIME, &zero_real);
	run();
	write_counters();
	write_messages();
	write_probes();
	fclose(samples_file);
	fclose(flows_file);
	fclose(queue_file);
	fclose(reports_file);
	return 0;
}
