/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Lines for users who ask why something failed: on stderr (SOFTGPU_VERBOSE), and to a tool that
 * asks for them. SOFTGPU_REPORTS is the name of its datagram socket in the abstract namespace. A
 * line that cannot be sent at once is dropped.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static inline void sg_send_report(const char *name, const char *line)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t length = strlen(name);
	int before = errno, fd;

	if (length >= sizeof(address.sun_path))
		return;
	memcpy(address.sun_path + 1, name, length);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0) {
		sendto(fd, line, strlen(line), MSG_DONTWAIT | MSG_NOSIGNAL,
		       (struct sockaddr *)&address,
		       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length));
		close(fd);
	}
	errno = before;
}

/* reports: the name of the socket, or NULL. */
static inline void sg_report_line(bool verbose, const char *reports, const char *line)
{
	if (verbose)
		fprintf(stderr, "softgpu: %s\n", line);
	if (reports && *reports)
		sg_send_report(reports, line);
}
