/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The processes whose agents have connected, up to their ends. */
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "run/inject_private.h"

enum {
	MAX_PROCESSES = 256, /* at a time; more are not counted */
};

static bool has_ended(const struct gt_inject_process *process)
{
	struct pollfd end = {.fd = process->pidfd, .events = POLLIN};

	return poll(&end, 1, 0) > 0;
}

static void drop_ended(struct gt_inject *inject)
{
	size_t kept = 0;

	gt_vec_each (process, &inject->processes) {
		if (has_ended(process))
			close(process->pidfd);
		else
			inject->processes.items[kept++] = *process;
	}
	inject->processes.count = kept;
}

void gt_inject_add_process(struct gt_inject *inject, pid_t pid)
{
	struct gt_inject_process added = {.pid = pid};

	gt_vec_each (process, &inject->processes)
		if (process->pid == pid && !has_ended(process))
			return;
	if (inject->processes.count == MAX_PROCESSES)
		drop_ended(inject);
	if (inject->processes.count == MAX_PROCESSES)
		return;
	added.pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (added.pidfd >= 0 && gt_vec_push(&inject->processes, added))
		close(added.pidfd);
}

void gt_inject_processes_close(struct gt_inject *inject)
{
	gt_vec_each (process, &inject->processes)
		close(process->pidfd);
	gt_vec_free(&inject->processes);
}

unsigned gt_inject_count_running(const struct gt_inject *inject)
{
	unsigned count = 0;

	gt_vec_each (process, &inject->processes)
		count += !has_ended(process);
	return count;
}
