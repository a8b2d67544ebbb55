/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "launch/soft_reports.h"

#include <ctype.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/hash.h"

enum {
	MAX_LINES = 32,    /* different ones */
	MAX_ROUND = 10000, /* datagrams that are read at once: senders may be as fast */
};

struct gt_soft_reports {
	int fd;
	char name[40]; /* in the abstract namespace */
	struct gt_hash *seen;
	bool is_full;
};

/* Bind the socket to a name that nobody can guess. */
static bool bind_socket(struct gt_soft_reports *reports)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	uint64_t number[2];
	int on = 1;

	if (getrandom(number, sizeof(number), 0) != (ssize_t)sizeof(number))
		return false;
	snprintf(reports->name, sizeof(reports->name), "%016llx%016llx",
		 (unsigned long long)number[0], (unsigned long long)number[1]);
	memcpy(address.sun_path + 1, reports->name, strlen(reports->name));
	reports->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return reports->fd >= 0 &&
	       !setsockopt(reports->fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) &&
	       !bind(reports->fd, (struct sockaddr *)&address,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
				 strlen(reports->name)));
}

struct gt_soft_reports *gt_soft_reports_open(void)
{
	gt_auto(soft_reports) struct gt_soft_reports *reports = calloc(1, sizeof(*reports));

	if (!reports)
		return NULL;
	reports->fd = -1;
	reports->seen = gt_hash_new();
	return reports->seen && bind_socket(reports) ? gt_take(reports) : NULL;
}

void gt_soft_reports_close(struct gt_soft_reports *reports)
{
	if (!reports)
		return;
	gt_cleanup_close(&reports->fd);
	gt_hash_free(reports->seen);
	free(reports);
}

const char *gt_soft_reports_name(const struct gt_soft_reports *reports)
{
	return reports->name;
}

/* Every process can read the names of sockets: those of other users are not heard. */
static bool is_from_user(struct msghdr *message)
{
	const struct cmsghdr *header = CMSG_FIRSTHDR(message);
	struct ucred peer;

	if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_CREDENTIALS ||
	    header->cmsg_len != CMSG_LEN(sizeof(peer)))
		return false;
	memcpy(&peer, CMSG_DATA(header), sizeof(peer));
	return peer.uid == getuid() || peer.uid == geteuid();
}

/* Receive a line. False: there is none; an empty one is to be ignored. */
static bool receive_line(const struct gt_soft_reports *reports, char line[GT_SOFT_REPORT_SIZE])
{
	struct iovec part = {.iov_base = line, .iov_len = GT_SOFT_REPORT_SIZE - 1};
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(struct ucred))];
	} control = {0};
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.space,
		.msg_controllen = sizeof(control.space),
	};
	ssize_t size = recvmsg(reports->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (size < 0)
		return false;
	line[is_from_user(&message) ? size : 0] = '\0';
	for (char *at = line; *at; at++)
		if (iscntrl((unsigned char)*at))
			*at = '?';
	return true;
}

/* Whether the line is new; *line becomes the last one where they are too many. */
static bool keep_line(struct gt_soft_reports *reports, char line[GT_SOFT_REPORT_SIZE])
{
	if (reports->is_full || !*line || gt_hash_get_str(reports->seen, line))
		return false;
	if (gt_hash_count(reports->seen) == MAX_LINES) {
		reports->is_full = true;
		snprintf(line, GT_SOFT_REPORT_SIZE,
			 "further reports are omitted; SOFTGPU_VERBOSE=1 prints them all");
		return true;
	}
	return !gt_hash_set_str(reports->seen, line, reports);
}

bool gt_soft_reports_next(struct gt_soft_reports *reports, char line[GT_SOFT_REPORT_SIZE])
{
	for (int i = 0; reports && i < MAX_ROUND && receive_line(reports, line); i++)
		if (keep_line(reports, line))
			return true;
	return false;
}
