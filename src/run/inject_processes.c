/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "run/inject_processes.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clean.h"

enum {
	MAX_PROCESSES = 1024, /* at a time */
	ENDED_AT_ONCE = 16,
};

struct gt_inject_process {
	struct gt_inject_process *next;
	pid_t pid;
	int pidfd; /* -1: it has ended */
	unsigned references;
};

struct gt_inject_processes {
	struct gt_inject_process *first; /* that have not ended */
	unsigned count;
	int epoll; /* of their ends */
};

struct gt_inject_processes *gt_inject_processes_new(void)
{
	struct gt_inject_processes *processes = calloc(1, sizeof(*processes));

	if (!processes)
		return NULL;
	processes->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (processes->epoll >= 0)
		return processes;
	free(processes);
	return NULL;
}

struct gt_inject_process *gt_inject_process_get(struct gt_inject_process *process)
{
	if (process)
		process->references++;
	return process;
}

void gt_inject_process_put(struct gt_inject_process *process)
{
	if (process && !--process->references)
		free(process);
}

static void end_process(struct gt_inject_processes *processes, struct gt_inject_process *process)
{
	struct gt_inject_process **link = &processes->first;

	while (*link != process)
		link = &(*link)->next;
	*link = process->next;
	processes->count--;
	/* close() does not do it where a child of this process has the descriptor, too. */
	epoll_ctl(processes->epoll, EPOLL_CTL_DEL, process->pidfd, NULL);
	close(process->pidfd);
	process->pidfd = -1;
	gt_inject_process_put(process);
}

void gt_inject_processes_free(struct gt_inject_processes *processes)
{
	if (!processes)
		return;
	while (processes->first)
		end_process(processes, processes->first);
	close(processes->epoll);
	free(processes);
}

void gt_inject_processes_update(struct gt_inject_processes *processes)
{
	struct epoll_event ends[ENDED_AT_ONCE];
	int count;

	do {
		count = epoll_wait(processes->epoll, ends, ENDED_AT_ONCE, 0);
		for (int i = 0; i < count; i++)
			end_process(processes, ends[i].data.ptr);
	} while (count == ENDED_AT_ONCE);
}

static struct gt_inject_process *find_process(const struct gt_inject_processes *processes,
					      pid_t pid)
{
	struct gt_inject_process *process = processes->first;

	while (process && process->pid != pid)
		process = process->next;
	return process;
}

/* Follow a process. NULL: it cannot be. */
static struct gt_inject_process *new_process(struct gt_inject_processes *processes, pid_t pid)
{
	gt_autofree struct gt_inject_process *process = calloc(1, sizeof(*process));
	gt_autoclose int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct epoll_event end = {.events = EPOLLIN, .data.ptr = process};

	if (!process || pidfd < 0 || epoll_ctl(processes->epoll, EPOLL_CTL_ADD, pidfd, &end))
		return NULL;
	process->pid = pid;
	process->pidfd = gt_take_fd(&pidfd);
	process->references = 1;
	process->next = processes->first;
	processes->first = process;
	processes->count++;
	return gt_take(process);
}

struct gt_inject_process *gt_inject_processes_add(struct gt_inject_processes *processes, pid_t pid)
{
	struct gt_inject_process *process;

	gt_inject_processes_update(processes); /* one that has ended may have had this number */
	process = find_process(processes, pid);
	if (!process && processes->count < MAX_PROCESSES)
		process = new_process(processes, pid);
	return gt_inject_process_get(process);
}

unsigned gt_inject_processes_count(struct gt_inject_processes *processes)
{
	gt_inject_processes_update(processes);
	return processes->count;
}

bool gt_inject_process_has_ended(const struct gt_inject_process *process)
{
	return process && process->pidfd < 0;
}
