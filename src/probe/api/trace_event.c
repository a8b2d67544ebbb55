/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "probe/api/trace_event.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/mount.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clean.h"
#include "base/file.h"
#include "base/strbuf.h"

#define REMOVAL_TRIES 200
#define BETWEEN_TRIES (5 * 1000 * 1000) /* ns */
#define LIST "uprobe_events"
#define MAX_TEXT (64u << 20)

/* Not every machine and container has it mounted: use a mount private to this process. */
static int open_tracefs(void)
{
	/* glibc has functions for these since 2.36. */
	gt_autoclose int context = (int)syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC);

	if (context < 0 || syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		return -errno;
	return (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, 0);
}

/* Appends to the kernel's list of uprobe events. */
static int change_list(int tracefs, const char *text, size_t length)
{
	gt_autoclose int list = openat(tracefs, LIST, O_WRONLY | O_APPEND | O_CLOEXEC);

	return list < 0 ? -errno : gt_write_all(list, text, length);
}

static int read_id(int tracefs, unsigned number)
{
	char path[64], text[16] = {0};
	gt_autoclose int file = -1;

	snprintf(path, sizeof(path), "events/gputap_%d/probes%u/id", getpid(), number);
	file = openat(tracefs, path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return -errno;
	return gt_read_all(file, text, sizeof(text) - 1) > 0 ? atoi(text) : -EINVAL;
}

int gt_trace_event_create(unsigned number, int file, const uint64_t *offsets, size_t count,
			  bool is_return)
{
	gt_autoclose int tracefs = open_tracefs();
	gt_auto_strbuf text = GT_STRBUF_INIT;
	int error, id;

	if (tracefs < 0)
		return -EOPNOTSUPP;
	/* A line cannot have a path with blanks: use the open file. */
	for (size_t i = 0; i < count; i++)
		gt_strbuf_printf(&text, "%c:gputap_%d/probes%u /proc/self/fd/%d:0x%" PRIx64 "\n",
				 is_return ? 'r' : 'p', getpid(), number, file, offsets[i]);
	error = change_list(tracefs, gt_strbuf_string(&text), text.length);
	id = error ? error : read_id(tracefs, number);
	if (id < 0)
		gt_trace_event_remove(number);
	return id;
}

static int remove_event(int tracefs, int process, const char *name)
{
	char line[96];
	int length = snprintf(line, sizeof(line), "-:gputap_%d/%s\n", process, name);

	return change_list(tracefs, line, length);
}

void gt_trace_event_remove(unsigned number)
{
	gt_autoclose int tracefs = open_tracefs();
	char name[32];

	snprintf(name, sizeof(name), "probes%u", number);
	for (int i = 0; tracefs >= 0 && i < REMOVAL_TRIES; i++) {
		if (remove_event(tracefs, getpid(), name) != -EBUSY)
			return;
		nanosleep(&(struct timespec){.tv_nsec = BETWEEN_TRIES}, NULL);
	}
}

static bool is_gone(int process)
{
	return kill(process, 0) < 0 && errno == ESRCH;
}

/* An event in use, such as that of a process in another pid namespace, is not removed. */
void gt_trace_events_sweep(void)
{
	gt_autoclose int tracefs = open_tracefs();
	gt_autoclose int fd = tracefs < 0 ? -1 : openat(tracefs, LIST, O_RDONLY | O_CLOEXEC);
	gt_auto_file list = {0};
	char path[32], name[32];
	int process;

	/* Read all of it first: a reader misses lines while it changes. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd < 0 || gt_file_read(path, MAX_TEXT, &list, NULL))
		return;
	for (char *line = (char *)list.data; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (sscanf(line, "%*[pr]:gputap_%d/%31s", &process, name) == 2 && is_gone(process))
			remove_event(tracefs, process, name);
	}
}
