/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "probe/api/gaps.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/api.h"
#include "base/clock.h"
#include "base/file.h"
#include "elf/proc_maps.h"
#include "event/kinds.h"
#include "probe/api/unwind_maps.h"
#include "probe/python/find.h"
#include "probe/target.h"

static void put_name(struct gt_event_gap *event, pid_t pid)
{
	gt_auto_file name = {0};
	char path[64], text[2 * sizeof(event->name_first)] = {0};
	size_t length;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	if (gt_file_read(path, 4096, &name, NULL))
		return;
	length = strcspn((const char *)name.data, "\n");
	memcpy(text, name.data, length < sizeof(text) ? length : sizeof(text) - 1);
	memcpy(&event->name_first, text, sizeof(event->name_first));
	memcpy(&event->name_last, text + sizeof(event->name_first), sizeof(event->name_last));
}

void gt_gap_emit(const struct gt_host *host, enum gt_gap_reason reason, pid_t process,
		 const char *library, uint64_t start, uint64_t end)
{
	struct gt_event_gap *event = (void *)gt_event_new(GT_EVENT_gap, library, strlen(library));

	if (event) {
		event->head.process = event->head.thread = process;
		event->start = start;
		event->end = end;
		event->reason = reason;
		if (process)
			put_name(event, process);
	}
	gt_event_queue_push(host->events, event ? &event->head : NULL);
}

/* When a process started, on CLOCK_MONOTONIC; field 22 of /proc/PID/stat (proc_pid_stat(5)). */
static uint64_t start_of_process(pid_t pid)
{
	uint64_t since_boot = gt_clock_ns(CLOCK_BOOTTIME), now = gt_clock_monotonic(), start;
	gt_auto_file status = {0};
	unsigned long long ticks;
	const char *field;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (gt_file_read(path, 65536, &status, NULL))
		return 0;
	field = strrchr((const char *)status.data, ')'); /* the end of field 2 */
	for (int number = 2; number < 22 && field; number++)
		field = strchr(field + 1, ' ');
	if (!field || sscanf(field, " %llu", &ticks) != 1)
		return 0;
	start = ticks * (GT_SECOND_NS / (uint64_t)sysconf(_SC_CLK_TCK));
	start = start < since_boot ? since_boot - start : 1;
	return now > start ? now - start : 1;
}

/* Only such files are found in processes that were not named (find.c). */
static bool has_library_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && gt_api_library_of(slash + 1);
}

static void find_in_process(const struct gt_host *host, const struct gt_traced_files *files,
			    pid_t pid)
{
	gt_auto_proc_maps maps = {0};
	gt_auto_strbuf path = GT_STRBUF_INIT;
	const char *last = "";
	bool is_traced = false;

	if (gt_proc_maps_read(pid, &maps, NULL))
		return;
	for (size_t i = 0; i < maps.count; i++) {
		const struct gt_proc_mapping *mapping = &maps.items[i];
		const struct gt_traced_file *file;

		if (!mapping->executable || !gt_proc_mapping_is_file(mapping) ||
		    !strcmp(mapping->path, last) ||
		    (!host->filter.by_process && !has_library_name(mapping->path)) ||
		    gt_proc_mapping_path(&maps, mapping, &path, NULL))
			continue;
		last = mapping->path;
		file = gt_traced_files_at(files, gt_strbuf_string(&path));
		if (!file || !file->attached_at)
			continue;
		is_traced = true;
		gt_gap_emit(host, GT_GAP_RUNNING, pid, mapping->path, start_of_process(pid),
			    file->attached_at);
	}
	if (is_traced && host->unwind_maps)
		gt_unwind_maps_add_process(host->unwind_maps, pid);
	/* It may map a file of the list later, and call it before it is known. */
	if ((is_traced || host->filter.by_process) && host->pythons)
		gt_pythons_add_process(host->pythons, pid);
}

void gt_gaps_find_running(const struct gt_host *host, const struct gt_traced_files *files)
{
	DIR *directory = opendir("/proc");
	struct dirent *entry;

	if (!directory)
		return;
	while ((entry = readdir(directory))) {
		pid_t pid = isdigit((unsigned char)entry->d_name[0]) ? atoi(entry->d_name) : 0;

		if (pid && pid != getpid() && gt_host_traces(host, pid) &&
		    gt_host_passes(host, pid))
			find_in_process(host, files, pid);
	}
	closedir(directory);
}
