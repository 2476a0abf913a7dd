/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A capture of the packets at the senders' devices: classic pcap with times in ns since the start of the run, headers
 * only, as docs/results.md describes it. Each device has a packet socket of its own, and the kernel stamps each packet.
 *
 * The sockets are read when this program is awake anyway, and no packet wakes it. A program that a packet wakes while
 * another packet is on its way between devices leaves the rest of that way to ksoftirqd, in which no packet that has
 * left wakes a sender that TCP small queues hold (`tcp_wfree`): a captured flow would send other bursts.
 *
 * Packets are written in the order of their times. A packet is in its socket when the kernel stamps the next one, so
 * all packets up to the last one that was read at the wake before have been read now: these are written, the others
 * held.
 */
#ifndef AGENT_CAPTURE_H
#define AGENT_CAPTURE_H

#include "applications.h"
#include "namespaces.h"

#define CAPTURE_BUFFER (64 << 20)	/* of a socket, bytes: what comes between two readings */
#define CAPTURE_EVERY  10000000		/* a reading comes this soon after the one before, ns */
#define TCP_OFFSET     (ETH_HLEN + 20u) /* hosts send no IP options */
#define HEADERS_MAX    (TCP_OFFSET + 60)

struct captured {
	ns_t at;
	uint32_t length, stored; /* on the wire; in the file */
	uint8_t bytes[HEADERS_MAX];
};

static struct captured *held;
static int held_n;
static ns_t safe = -1, latest = -1; /* what may be written; the last packet that was read */
static FILE *capture_file;
static uint8_t packet[1 << 17];

static FILE *open_capture(void)
{
	const struct {
		uint32_t magic;
		uint16_t major, minor;
		uint32_t zone, accuracy, snap, link_type;
	} header = { 0xa1b23c4d, 2, 4, 0, 0, HEADERS_MAX, 1 }; /* times in ns; Ethernet */
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/trace.pcap", out_folder);
	file = fopen(path, "we");
	if (!file || fwrite(&header, sizeof(header), 1, file) != 1)
		fail("%s", path);
	setvbuf(file, NULL, _IOFBF, 1 << 20);
	return file;
}

static void listen_at(struct place *place)
{
	struct sockaddr_ll here = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	int one = 1, size = CAPTURE_BUFFER;

	if (!capture_file)
		capture_file = open_capture();
	enter(place->ns);
	place->fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	here.sll_ifindex = if_nametoindex(place->device);
	if (place->fd < 0 ||
	    setsockopt(place->fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) ||
	    setsockopt(place->fd, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof(one)) ||
	    setsockopt(place->fd, SOL_PACKET, PACKET_AUXDATA, &one, sizeof(one)) ||
	    bind(place->fd, (void *)&here, sizeof(here)))
		fail("capture at %s %s", place->ns, place->device);
	leave();
}

static uint32_t sum16(const uint8_t *bytes, size_t length, uint32_t sum)
{
	for (size_t i = 0; i + 1 < length; i += 2)
		sum += bytes[i] << 8 | bytes[i + 1];
	if (length & 1)
		sum += bytes[length - 1] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* A device that computes checksums gets packets without: what the device would compute (RFC 9293 section 3.1). */
static void complete_checksum(uint8_t *frame, size_t length)
{
	uint8_t *field = frame + TCP_OFFSET + 16;
	uint32_t sum;

	length -= TCP_OFFSET;
	field[0] = field[1] = 0;
	sum = sum16(frame + ETH_HLEN + 12, 8, IPPROTO_TCP + length); /* both addresses */
	sum = ~sum16(frame + TCP_OFFSET, length, sum) & 0xffff;
	field[0] = sum >> 8;
	field[1] = sum;
}

static void hold(ns_t at, size_t length)
{
	int is_tcp = packet[12] == 8 && packet[13] == 0;
	size_t stored = is_tcp ? TCP_OFFSET + (packet[TCP_OFFSET + 12] >> 4) * 4 : length;
	int i;

	if (at >= duration)
		return; /* of connections that are reset at the end */
	held = grown(held, held_n, sizeof(*held));
	for (i = held_n++; i && held[i - 1].at > at; i--)
		held[i] = held[i - 1];
	held[i].at = at;
	held[i].length = length;
	held[i].stored = stored < HEADERS_MAX ? stored : HEADERS_MAX;
	memcpy(held[i].bytes, packet, held[i].stored);
	if (at > latest)
		latest = at;
}

static int is_wanted(size_t length)
{
	int is_arp = length >= ETH_HLEN && packet[12] == 8 && packet[13] == 6;

	return is_arp || (length >= TCP_OFFSET + 20 && packet[12] == 8 && packet[13] == 0 &&
			  packet[ETH_HLEN + 9] == IPPROTO_TCP);
}

/* Reads what a socket has. Of UDP, which carries an answer to a greeting, nothing is kept. */
static void read_captured(const struct place *place)
{
	union {
		struct cmsghdr header;
		char space[256];
	} more;
	struct iovec into = { packet, sizeof(packet) };

	for (;;) {
		struct msghdr message = {
			.msg_iov = &into,
			.msg_iovlen = 1,
			.msg_control = &more,
			.msg_controllen = sizeof(more),
		};
		ssize_t length = recvmsg(place->fd, &message, 0);
		struct timespec at = { 0 };
		struct tpacket_auxdata what = { 0 };

		if (length < 0)
			return;
		for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
			if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS)
				memcpy(&at, CMSG_DATA(c), sizeof(at));
			else if (c->cmsg_level == SOL_PACKET && c->cmsg_type == PACKET_AUXDATA)
				memcpy(&what, CMSG_DATA(c), sizeof(what));
		}
		if (!is_wanted(length))
			continue;
		if (what.tp_status & TP_STATUS_CSUMNOTREADY)
			complete_checksum(packet, length);
		hold((at.tv_sec - zero_real.tv_sec) * 1000000000LL + at.tv_nsec - zero_real.tv_nsec,
		     length);
	}
}

static void write_captured(ns_t until)
{
	int n = 0;

	for (; n < held_n && held[n].at <= until; n++) {
		const struct captured *one = &held[n];
		uint32_t header[] = { one->at / 1000000000, one->at % 1000000000, one->stored,
				      one->length };

		if (fwrite(header, sizeof(header), 1, capture_file) != 1 ||
		    fwrite(one->bytes, one->stored, 1, capture_file) != 1)
			fail("trace.pcap");
	}
	held_n -= n;
	memmove(held, held + n, held_n * sizeof(*held));
}

static void read_captures(void)
{
	for (int i = 0; i < captures_n; i++)
		read_captured(&captures[i]);
}

/* At the end of a wake. */
static void capture(void)
{
	if (!capture_file)
		return;
	read_captures();
	write_captured(safe);
	safe = latest;
}

/* Packets that the sockets had no room for, which the result warns of. */
static void end_capture(FILE *counters)
{
	struct tpacket_stats counted;
	unsigned int dropped = 0;

	if (!capture_file)
		return;
	read_captures();
	for (int i = 0; i < captures_n; i++) {
		socklen_t length = sizeof(counted);

		if (getsockopt(captures[i].fd, SOL_PACKET, PACKET_STATISTICS, &counted, &length))
			fail("capture");
		dropped += counted.tp_drops;
	}
	write_captured(NEVER);
	if (fclose(capture_file))
		fail("trace.pcap");
	fprintf(counters, "@- capture\n%u\n", dropped);
}

#endif /* AGENT_CAPTURE_H */
