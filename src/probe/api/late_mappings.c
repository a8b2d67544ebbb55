/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "probe/api/late_mappings.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/api.h"
#include "base/hash.h"
#include "base/strbuf.h"
#include "elf/proc_maps.h"
#include "event/kinds.h"
#include "probe/target.h"

struct gt_late_mappings {
	const struct gt_host *host;
	struct gt_watch *watch;
	struct gt_hash *seen; /* files that were passed on: device and inode -> any */
	gt_late_file found;   /* during a poll */
	void *context;
};

void gt_late_mappings_close(struct gt_late_mappings *late)
{
	if (!late)
		return;
	gt_watch_close(late->watch);
	gt_hash_free(late->seen);
	free(late);
}

int gt_late_mappings_open(const struct gt_host *host, struct gt_late_mappings **ret_late,
			  struct gt_diag *diag)
{
	gt_auto(late_mappings) struct gt_late_mappings *late = calloc(1, sizeof(*late));
	int error;

	if (late)
		late->seen = gt_hash_new();
	if (!late || !late->seen)
		return gt_diag(diag, -ENOMEM, "cuda", NULL, "out of memory");
	late->host = host;
	error = gt_watch_open(&late->watch, diag);
	if (error)
		return error;
	*ret_late = gt_take(late);
	return 0;
}

int gt_late_mappings_fd(const struct gt_late_mappings *late)
{
	return gt_watch_fd(late->watch);
}

/*
 * Whether the path of a mapping leads gputap to the same file. On some file systems (btrfs,
 * overlayfs) stat(2) and the mapping have different devices: there, compare with the process's own
 * view of the path, if it still exists.
 */
static bool is_same_file(const struct gt_new_mapping *mapping, const char *through_process)
{
	struct stat own, theirs;

	if (stat(mapping->path, &own) || own.st_ino != mapping->inode)
		return false;
	return own.st_dev == mapping->device || stat(through_process, &theirs) ||
	       (own.st_dev == theirs.st_dev && own.st_ino == theirs.st_ino);
}

/*
 * The path by which gputap reaches a mapped file: the process's path if it leads to the same file,
 * else through /proc/PID/root, which disappears with the process. -ENOENT, -ENOMEM, or -EACCES:
 * that may not be read, and the path leads to another file or to none.
 */
static int find_path(const struct gt_new_mapping *mapping, struct gt_strbuf *path)
{
	struct stat status;

	gt_strbuf_clear(path);
	gt_strbuf_printf(path, "/proc/%d/root%s", mapping->pid, mapping->path);
	if (path->failed)
		return -ENOMEM;
	if (stat(gt_strbuf_string(path), &status) && errno == EACCES) {
		if (!gt_proc_maps_is_same_file(mapping->path, mapping->device, mapping->inode))
			return -EACCES;
		gt_strbuf_clear(path);
		gt_strbuf_puts(path, mapping->path);
		return path->failed ? -ENOMEM : 0;
	}
	if (is_same_file(mapping, gt_strbuf_string(path))) {
		gt_strbuf_clear(path);
		gt_strbuf_puts(path, mapping->path);
		return 0;
	}
	return !stat(gt_strbuf_string(path), &status) && status.st_ino == mapping->inode ? 0
											 : -ENOENT;
}

/* Report a mapping, so that addresses in it can be symbolized. */
static void emit_mapping(const struct gt_host *host, const struct gt_new_mapping *mapping)
{
	gt_auto_strbuf path = GT_STRBUF_INIT;
	struct gt_event_mapping *event = NULL;
	int error;

	if (mapping->path[0] != '/' || !gt_host_traces(host, mapping->pid))
		return;
	error = find_path(mapping, &path);
	if (error && error != -ENOMEM)
		return;
	if (!error)
		event = (void *)gt_event_new(GT_EVENT_mapping, gt_strbuf_string(&path),
					     path.length);
	if (event) {
		event->head.process = event->head.thread = mapping->pid;
		event->head.time = mapping->time;
		event->start = mapping->start;
		event->end = mapping->end;
		event->offset = mapping->offset;
		event->inode = mapping->inode;
	}
	gt_event_queue_push(host->events, event ? &event->head : NULL);
}

/* Whether a file may have functions of an API: a library by its name, or any file of a target. */
static bool is_candidate(struct gt_late_mappings *late, const struct gt_new_mapping *mapping)
{
	const struct gt_host *host = late->host;
	const char *slash = strrchr(mapping->path, '/');
	uint64_t identity[2] = {mapping->device, mapping->inode};

	if (!slash || host->options->path || !gt_host_traces(host, mapping->pid))
		return false;
	if (!host->filter.by_process && !gt_api_library_of(slash + 1))
		return false;
	if (gt_hash_get(late->seen, identity, sizeof(identity)))
		return false;
	gt_hash_set(late->seen, identity, sizeof(identity), late->seen);
	return true;
}

static void take_mapping(void *context, const struct gt_new_mapping *mapping)
{
	struct gt_late_mappings *late = context;
	gt_auto_strbuf path = GT_STRBUF_INIT;
	int error;

	emit_mapping(late->host, mapping);
	if (!is_candidate(late, mapping))
		return;
	error = find_path(mapping, &path);
	if (!error)
		late->found(late->context, gt_strbuf_string(&path), mapping);
	else if (error == -EACCES && gt_api_library_of(strrchr(mapping->path, '/') + 1))
		gt_event_queue_note(late->host->events,
				    "%s, mapped by process %d, cannot be reached: its calls are "
				    "missing; run gputap as root or give it CAP_SYS_PTRACE",
				    mapping->path, mapping->pid);
}

void gt_late_mappings_poll(struct gt_late_mappings *late, gt_late_file found, void *context)
{
	late->found = found;
	late->context = context;
	gt_watch_poll(late->watch, take_mapping, late);
}

uint64_t gt_late_mappings_lost(const struct gt_late_mappings *late)
{
	return gt_watch_lost(late->watch);
}
