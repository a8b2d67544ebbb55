/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sending and receiving the messages of protocol.h, for both sides. */
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

/*
 * Receive a message of exactly `size` bytes, without waiting. *ret_fd: the file that came with it,
 * or -1; the caller closes it, also after a failure.
 */
static inline bool gt_agent_receive(int socket, void *data, size_t size, int *ret_fd)
{
	struct iovec part = {.iov_base = data, .iov_len = size};
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.space,
		/* CMSG_SPACE has room for two descriptors; the second one would stay open. */
		.msg_controllen = CMSG_LEN(sizeof(int)),
	};
	ssize_t received = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	struct cmsghdr *header = received >= 0 ? CMSG_FIRSTHDR(&message) : NULL;

	*ret_fd = -1;
	if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
	    header->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(ret_fd, CMSG_DATA(header), sizeof(*ret_fd));
	return received == (ssize_t)size && !(message.msg_flags & MSG_TRUNC);
}
