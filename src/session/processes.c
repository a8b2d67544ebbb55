/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "session/processes.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <linux/bpf.h>

#include "base/file.h"

int gt_processes_add(int map_fd, pid_t pid)
{
	uint32_t process = pid;
	uint8_t traced = 1;

	return bpf_map_update_elem(map_fd, &process, &traced, BPF_ANY);
}

static int no_such_process(pid_t pid, struct gt_diag *diag)
{
	return gt_diag(diag, -ESRCH, "target", NULL,
		       "no process %d: it has ended, or is in another pid namespace", pid);
}

static bool process_exists(pid_t pid)
{
	return pid > 0 && (!kill(pid, 0) || errno == EPERM);
}

static int no_target(pid_t pid, int error, struct gt_diag *diag)
{
	if (error == -ESRCH)
		return no_such_process(pid, diag);
	/* pidfd_open(2) on a thread that is not its process's first: ENOENT since Linux 6.15. */
	if (process_exists(pid) && (error == -EINVAL || error == -ENOENT))
		return gt_diag(diag, -EINVAL, "target", NULL,
			       "%d is a thread: use its process (Tgid in /proc/%d/status)", pid,
			       pid);
	return gt_diag(diag, error, "target", NULL, "process %d: %s", pid, strerror(-error));
}

int gt_process_open(pid_t pid, int *ret_fd, struct gt_diag *diag)
{
	int fd = syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0)
		return no_target(pid, -errno, diag);
	*ret_fd = fd;
	return 0;
}

/* The fourth field of /proc/PID/stat, behind a name that may hold anything (proc(5)). */
static pid_t parent_of(pid_t pid)
{
	gt_auto_file file = {0};
	char path[64];
	const char *name_end;
	int parent;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (gt_file_read(path, 65536, &file, NULL))
		return 0;
	name_end = strrchr((const char *)file.data, ')');
	if (!name_end || sscanf(name_end + 1, " %*c %d", &parent) != 1)
		return 0;
	return parent;
}

static bool is_in_map(int map_fd, pid_t pid)
{
	uint32_t process = pid;
	uint8_t traced;

	return !bpf_map_lookup_elem(map_fd, &process, &traced);
}

/* Adds children of what is in the map; returns how many. */
static int add_children(int map_fd)
{
	DIR *directory = opendir("/proc");
	struct dirent *entry;
	int added = 0;

	if (!directory)
		return 0;
	while ((entry = readdir(directory))) {
		pid_t pid = isdigit((unsigned char)entry->d_name[0]) ? atoi(entry->d_name) : 0;

		if (pid && !is_in_map(map_fd, pid) && is_in_map(map_fd, parent_of(pid)) &&
		    !gt_processes_add(map_fd, pid))
			added++;
	}
	closedir(directory);
	return added;
}

int gt_processes_add_trees(int map_fd, const pid_t *pids, size_t count, struct gt_diag *diag)
{
	for (size_t i = 0; i < count; i++) {
		int error;

		if (!process_exists(pids[i]))
			return no_such_process(pids[i], diag);
		error = gt_processes_add(map_fd, pids[i]);
		if (error)
			return gt_diag(diag, error, "target", NULL, "process %d: %s", pids[i],
				       strerror(-error));
	}
	while (add_children(map_fd))
		;
	return 0;
}
