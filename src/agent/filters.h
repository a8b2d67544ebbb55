/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * System call filters (seccomp) of a thread, for both sides. A filter may end the process at a call
 * that the agent makes and the program does not, and there is no means of asking. So the agent
 * works only where the filters are those that gputap itself runs under, such as those of a
 * container.
 */
#pragma once

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The number after `key` in a text of lines "key\tnumber"; -1: there is none. */
static inline long gt_agent_status_number(const char *text, const char *key)
{
	const char *found = strstr(text, key);

	return found ? strtol(found + strlen(key), NULL, 10) : -1;
}

/*
 * Count the filters of the calling thread. Linux before 5.9 says only whether there are any: then
 * it is 0 or 1. -1: unknown, without /proc.
 */
static inline long gt_agent_count_filters(void)
{
	char text[4096];
	int fd = open("/proc/thread-self/status", O_RDONLY | O_CLOEXEC);
	ssize_t size = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	long count;

	if (fd >= 0)
		close(fd);
	if (size < 0)
		return -1;
	text[size] = '\0';
	count = gt_agent_status_number(text, "\nSeccomp_filters:");
	return count >= 0 ? count : gt_agent_status_number(text, "\nSeccomp:") > 0;
}
