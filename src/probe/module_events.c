/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "probe/module_events.h"

#include <errno.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define FROM_KERNEL 1 /* the multicast group of the kernel's own events */
#define MAX_EVENT 8192

int gt_module_events_open(void)
{
	const struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = FROM_KERNEL};
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			NETLINK_KOBJECT_UEVENT);

	if (fd < 0)
		return -1;
	if (!bind(fd, (const struct sockaddr *)&address, sizeof(address)))
		return fd;
	close(fd);
	return -1;
}

bool gt_module_events_read(int fd)
{
	static const char added[] = "add@/module/";
	char text[MAX_EVENT];
	bool loaded = false;

	for (;;) {
		ssize_t size = recv(fd, text, sizeof(text), 0);

		if (size < 0 && errno == ENOBUFS)
			loaded = true;
		else if (size < 0 && errno != EINTR)
			return loaded;
		else if (size >= (ssize_t)sizeof(added) && !memcmp(text, added, sizeof(added) - 1))
			loaded = true;
	}
}

bool gt_module_is_loaded(const char *name)
{
	char path[128];
	int length = snprintf(path, sizeof(path), "/sys/module/%s", name);

	if (length < 0 || (size_t)length >= sizeof(path))
		return false;
	for (char *c = path; *c; c++)
		if (*c == '-')
			*c = '_';
	return !access(path, F_OK);
}
