/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sending the messages of protocol.h, for both sides. */
#pragma once

#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

/* Send a message of `size` bytes, with a file where fd is not negative. flags: as of sendmsg(2). */
static inline bool gt_agent_send(int socket, const void *data, size_t size, int fd, int flags)
{
	struct iovec part = {.iov_base = (void *)data, .iov_len = size};
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	if (fd >= 0) {
		message.msg_control = control.space;
		message.msg_controllen = sizeof(control.space);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	}
	return sendmsg(socket, &message, MSG_NOSIGNAL | flags) == (ssize_t)size;
}
