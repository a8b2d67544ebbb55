/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "probe/api/arrivals.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/api.h"
#include "base/hash.h"
#include "base/strbuf.h"
#include "event/kinds.h"
#include "probe/target.h"

struct gt_arrivals {
	const struct gt_host *host;
	struct gt_watch *watch;
	struct gt_hash *seen; /* files that were handed on: device and inode -> any */
	gt_arrival arrived;   /* during a poll */
	void *context;
};

void gt_arrivals_close(struct gt_arrivals *arrivals)
{
	if (!arrivals)
		return;
	gt_watch_close(arrivals->watch);
	gt_hash_free(arrivals->seen);
	free(arrivals);
}

int gt_arrivals_open(const struct gt_host *host, struct gt_arrivals **ret_arrivals,
		     struct gt_diag *diag)
{
	gt_auto(arrivals) struct gt_arrivals *arrivals = calloc(1, sizeof(*arrivals));
	int error;

	if (arrivals)
		arrivals->seen = gt_hash_new();
	if (!arrivals || !arrivals->seen)
		return gt_diag(diag, -ENOMEM, "cuda", NULL, "out of memory");
	arrivals->host = host;
	error = gt_watch_open(&arrivals->watch, diag);
	if (error)
		return error;
	*ret_arrivals = gt_take(arrivals);
	return 0;
}

int gt_arrivals_fd(const struct gt_arrivals *arrivals)
{
	return gt_watch_fd(arrivals->watch);
}

/*
 * Whether the path of a mapping leads gputap to the file, too. Some file systems give another
 * device to stat(2) than to the mapping (btrfs, overlayfs): then it is asked where it leads the
 * process, unless that is gone.
 */
static bool leads_there(const struct gt_new_mapping *mapping, const char *through_process)
{
	struct stat own, theirs;

	if (stat(mapping->path, &own) || own.st_ino != mapping->inode)
		return false;
	return own.st_dev == mapping->device || stat(through_process, &theirs) ||
	       (own.st_dev == theirs.st_dev && own.st_ino == theirs.st_ino);
}

/*
 * By which path gputap reaches a file that a process just mapped: its own path where that leads
 * there, since the one through /proc goes away with the process.
 */
static int reach(const struct gt_new_mapping *mapping, struct gt_strbuf *path)
{
	struct stat status;

	gt_strbuf_clear(path);
	gt_strbuf_printf(path, "/proc/%d/root%s", mapping->pid, mapping->path);
	if (leads_there(mapping, gt_strbuf_string(path))) {
		gt_strbuf_clear(path);
		gt_strbuf_puts(path, mapping->path);
		return 0;
	}
	return !stat(gt_strbuf_string(path), &status) && status.st_ino == mapping->inode ? 0
											 : -ENOENT;
}

/* Tells where a file is mapped, so that addresses in it get names. */
static void tell_mapping(const struct gt_host *host, const struct gt_new_mapping *mapping)
{
	gt_auto_strbuf path = GT_STRBUF_INIT;
	struct gt_event_mapping *event;

	if (!host->mappings || mapping->path[0] != '/' ||
	    !host->knows(host->session, mapping->pid) || reach(mapping, &path))
		return;
	event = (void *)gt_event_new(GT_EVENT_mapping, gt_strbuf_string(&path), path.length);
	if (!event)
		return;
	event->head.process = event->head.thread = mapping->pid;
	event->head.time = mapping->time;
	event->start = mapping->start;
	event->end = mapping->end;
	event->offset = mapping->offset;
	event->inode = mapping->inode;
	host->emit(host->session, &event->head);
	free(event);
}

/* Whether a mapping is worth a look: a library by its name, or any file of a named process. */
static bool is_candidate(struct gt_arrivals *arrivals, const struct gt_new_mapping *mapping)
{
	const struct gt_host *host = arrivals->host;
	const char *slash = strrchr(mapping->path, '/');
	uint64_t identity[2] = {mapping->device, mapping->inode};

	if (!slash || host->target->path || !host->knows(host->session, mapping->pid))
		return false;
	if (!host->filter.by_process && !gt_api_library_of(slash + 1))
		return false;
	if (gt_hash_get(arrivals->seen, identity, sizeof(identity)))
		return false;
	gt_hash_set(arrivals->seen, identity, sizeof(identity), arrivals->seen);
	return true;
}

static void take_mapping(void *context, const struct gt_new_mapping *mapping)
{
	struct gt_arrivals *arrivals = context;
	gt_auto_strbuf path = GT_STRBUF_INIT;

	tell_mapping(arrivals->host, mapping);
	if (is_candidate(arrivals, mapping) && !reach(mapping, &path))
		arrivals->arrived(arrivals->context, gt_strbuf_string(&path), mapping);
}

void gt_arrivals_poll(struct gt_arrivals *arrivals, gt_arrival arrived, void *context)
{
	arrivals->arrived = arrived;
	arrivals->context = context;
	gt_watch_poll(arrivals->watch, take_mapping, arrivals);
}
