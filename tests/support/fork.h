/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Children that may allocate memory and start threads, of processes that have threads. */
#pragma once

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whether a thread of this process sleeps: "PID (NAME) STATE …", proc_pid_stat(5). */
static inline bool thread_sleeps(const char *thread)
{
	char path[64], text[256], *state;
	ssize_t size;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%.20s/stat", thread);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return true; /* it has ended */
	size = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[size > 0 ? size : 0] = '\0';
	state = strrchr(text, ')');
	return state && state[1] && state[2] == 'S';
}

static inline bool other_threads_sleep(void)
{
	bool all_sleep = true;
	DIR *threads = opendir("/proc/self/task");
	struct dirent *entry;

	while (threads && all_sleep && (entry = readdir(threads)))
		all_sleep = !isdigit(entry->d_name[0]) || atoi(entry->d_name) == gettid() ||
			    thread_sleeps(entry->d_name);
	if (threads)
		closedir(threads);
	return all_sleep;
}

/*
 * fork(2), once every other thread of this process sleeps. A child has only the thread that forks:
 * it waits for ever for a lock that another one held then. The C library's allocator has no such
 * locks after fork, the sanitizers' (gcc 12) have.
 */
static inline pid_t fork_beside_sleeping_threads(void)
{
	while (!other_threads_sleep())
		usleep(1000);
	return fork();
}
