/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "probe/api/perf_link.h"

#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <bpf/bpf.h>
#include <linux/perf_event.h>

#include "base/clean.h"

#define UPROBE_EVENTS "/sys/bus/event_source/devices/uprobe/"
#define MAX_FILES (1 << 20) /* that Linux lets a process open (/proc/sys/fs/nr_open) */

/* Read a number from a file of sysfs, in this format. */
static int read_number(const char *path, const char *form, unsigned *ret_number)
{
	gt_autofclose FILE *file = fopen(path, "re");

	if (!file)
		return -errno;
	return fscanf(file, form, ret_number) == 1 ? 0 : -EINVAL;
}

static int link_event(int program, struct perf_event_attr *event, uint64_t cookie)
{
	LIBBPF_OPTS(bpf_link_create_opts, options, .perf_event.bpf_cookie = cookie);
	/* Opened on one CPU; programs run on any CPU that hits the breakpoint. */
	gt_autoclose int fd = syscall(SYS_perf_event_open, event, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : bpf_link_create(program, fd, BPF_PERF_EVENT, &options);
}

int gt_perf_link_function(int program, const char *path, uint64_t offset, uint64_t cookie,
			  bool is_return)
{
	struct perf_event_attr event = {
		.size = sizeof(event),
		.uprobe_path = (uintptr_t)path,
		.probe_offset = offset,
	};
	unsigned return_bit;
	int error = read_number(UPROBE_EVENTS "type", "%u", &event.type);

	if (!error)
		error = read_number(UPROBE_EVENTS "format/retprobe", "config:%u", &return_bit);
	if (error)
		return error;
	event.config = is_return ? 1ull << return_bit : 0;
	return link_event(program, &event, cookie);
}

int gt_perf_link_event(int program, int id, uint64_t cookie)
{
	struct perf_event_attr event = {
		.size = sizeof(event),
		.type = PERF_TYPE_TRACEPOINT,
		.config = id,
	};

	return link_event(program, &event, cookie);
}

void gt_perf_link_allow_many(void)
{
	struct rlimit limit = {.rlim_cur = MAX_FILES, .rlim_max = MAX_FILES};

	if (!setrlimit(RLIMIT_NOFILE, &limit) || getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}
