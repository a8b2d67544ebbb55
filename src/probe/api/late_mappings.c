/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "probe/api/late_mappings.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "api/api.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/strbuf.h"
#include "elf/proc_maps.h"
#include "event/kinds.h"
#include "probe/api/unwind_maps.h"
#include "probe/hold/hold.h"
#include "probe/python/find.h"
#include "probe/target.h"

/* When a process last executed a program, and when it was last let continue; 0: never. */
struct held_process {
	uint64_t executed, resumed;
};

struct gt_late_mappings {
	const struct gt_host *host;
	struct gt_watch *watch;
	int epoll;                   /* `watch`, and what is held */
	struct gt_hash *mapped;      /* files by struct mapped_identity -> struct gt_late_probes */
	struct gt_hash *held;        /* files by struct held_identity -> any */
	struct gt_hash *tree;        /* processes that were traced, also if they ended -> any */
	struct gt_hash *unreachable; /* names of files that were reported -> any */
	struct gt_hash *processes;   /* process id -> struct held_process */
	const struct gt_late_handlers *handlers; /* during a poll */
};

/* A file as the kernel reports its mapping. */
struct mapped_identity {
	uint64_t device, inode, generation;
};

/* A file that is about to be mapped. A change of its inode makes it another one. */
struct held_identity {
	uint64_t device, inode, seconds, nanoseconds;
};

void gt_late_mappings_close(struct gt_late_mappings *late)
{
	if (!late)
		return;
	if (late->host->hold)
		gt_hold_stop(late->host->hold);
	gt_watch_close(late->watch);
	if (late->epoll >= 0)
		close(late->epoll);
	gt_hash_free_with(late->mapped, free);
	gt_hash_free(late->held);
	gt_hash_free(late->tree);
	gt_hash_free(late->unreachable);
	gt_hash_free_with(late->processes, free);
	free(late);
}

/* Remember the processes that are traced now: they and their children are traced to their end. */
static void learn_tree(struct gt_late_mappings *late)
{
	uint32_t next, *last = NULL, process;

	while (!bpf_map_get_next_key(late->host->processes_fd, last, &next)) {
		gt_hash_set_u64(late->tree, next, late);
		process = next;
		last = &process;
	}
}

/* Whether a process is traced, or was before it ended. */
static bool is_traced(const struct gt_late_mappings *late, pid_t pid)
{
	return gt_host_traces(late->host, pid) || gt_hash_get_u64(late->tree, pid);
}

static int wait_on(struct gt_late_mappings *late, int fd)
{
	struct epoll_event wait = {.events = EPOLLIN};

	return epoll_ctl(late->epoll, EPOLL_CTL_ADD, fd, &wait) < 0 ? -errno : 0;
}

int gt_late_mappings_open(const struct gt_host *host, struct gt_late_mappings **ret_late,
			  struct gt_diag *diag)
{
	gt_auto(late_mappings) struct gt_late_mappings *late = calloc(1, sizeof(*late));
	int error;

	if (!late)
		return gt_diag(diag, -ENOMEM, "cuda", NULL, "out of memory");
	late->host = host;
	late->epoll = epoll_create1(EPOLL_CLOEXEC);
	late->mapped = gt_hash_new();
	late->held = gt_hash_new();
	late->unreachable = gt_hash_new();
	late->tree = gt_hash_new();
	late->processes = gt_hash_new();
	if (late->epoll < 0 || !late->mapped || !late->held || !late->unreachable || !late->tree ||
	    !late->processes)
		return gt_diag(diag, -ENOMEM, "cuda", NULL, "out of memory");
	error = gt_watch_open(&late->watch, diag);
	if (error)
		return error;
	error = wait_on(late, gt_watch_fd(late->watch));
	if (!error && host->hold)
		error = wait_on(late, gt_hold_fd(host->hold));
	if (error)
		return gt_diag(diag, error, "cuda", NULL, "epoll_ctl: %s", strerror(-error));
	learn_tree(late);
	*ret_late = gt_take(late);
	return 0;
}

int gt_late_mappings_fd(const struct gt_late_mappings *late)
{
	return late->epoll;
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
static void emit_mapping(const struct gt_late_mappings *late, const struct gt_new_mapping *mapping)
{
	const struct gt_host *host = late->host;
	gt_auto_strbuf path = GT_STRBUF_INIT;
	struct gt_event_mapping *event = NULL;
	int error;

	if (mapping->path[0] != '/' || !is_traced(late, mapping->pid))
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
		if (host->unwind_maps)
			gt_unwind_maps_add_mapping(host->unwind_maps, event);
		if (host->pythons)
			gt_pythons_add_mapping(host->pythons, event);
	}
	gt_event_queue_push(host->events, event ? &event->head : NULL);
}

/* Whether a file may have functions of an API: a library by its name, or any file of a target. */
static bool is_candidate(const struct gt_late_mappings *late, const struct gt_new_mapping *mapping)
{
	const struct gt_host *host = late->host;
	const char *slash = strrchr(mapping->path, '/');

	return slash && !host->options->path && is_traced(late, mapping->pid) &&
	       (host->filter.by_process || gt_api_library_of(slash + 1));
}

static struct held_process *find_process(struct gt_late_mappings *late, pid_t pid)
{
	struct held_process *process = gt_hash_get_u64(late->processes, pid);

	if (process)
		return process;
	process = calloc(1, sizeof(*process));
	if (!process || !gt_hash_set_u64(late->processes, pid, process))
		return process;
	free(process);
	return NULL;
}

/*
 * Whether code of a file can have run since it was mapped. A program that was executed has not run
 * while its loader waits for the first time to map a library.
 */
static bool may_have_run(const struct gt_late_mappings *late, const struct gt_new_mapping *mapping,
			 const struct gt_late_probes *probes)
{
	const struct held_process *process = gt_hash_get_u64(late->processes, mapping->pid);

	return !late->host->hold || !probes->is_program || !process || !process->executed ||
	       mapping->time < process->executed || process->resumed >= process->executed ||
	       gt_hold_missed_at(late->host->hold) >= process->executed;
}

/* A file that was held has its probes, even if nobody can reach it any more. */
static void report_unreachable(struct gt_late_mappings *late, const struct gt_new_mapping *mapping,
			       int error)
{
	const struct gt_late_handlers *handlers = late->handlers;
	const struct gt_host *host = late->host;
	const char *slash = strrchr(mapping->path, '/');

	if (!mapping->pid || !gt_api_library_of(slash + 1) ||
	    (host->hold && !gt_hold_missed_at(host->hold)) ||
	    gt_hash_get_str(late->unreachable, mapping->path) ||
	    !gt_host_passes(host, mapping->pid))
		return;
	gt_hash_set_str(late->unreachable, mapping->path, late);
	handlers->unreachable(handlers->context, mapping->pid, mapping->path, mapping->time, error);
}

/* Pass a file on; NULL: it cannot be opened, or there is no memory. */
static struct gt_late_probes *pass_on(struct gt_late_mappings *late,
				      const struct gt_new_mapping *mapping,
				      const struct mapped_identity *identity)
{
	const struct gt_late_handlers *handlers = late->handlers;
	gt_auto_strbuf path = GT_STRBUF_INIT;
	gt_autofree struct gt_late_probes *probes = NULL;
	int error;

	error = find_path(mapping, &path);
	if (error) {
		report_unreachable(late, mapping, error);
		return NULL;
	}
	probes = calloc(1, sizeof(*probes));
	if (!probes || gt_hash_set(late->mapped, identity, sizeof(*identity), probes))
		return NULL;
	*probes = handlers->file(handlers->context, gt_strbuf_string(&path), mapping->path);
	return gt_take(probes);
}

static void take_mapping(void *context, const struct gt_new_mapping *mapping)
{
	struct gt_late_mappings *late = context;
	const struct gt_late_handlers *handlers = late->handlers;
	struct mapped_identity identity = {mapping->device, mapping->inode, mapping->generation};
	struct gt_late_probes *probes;

	emit_mapping(late, mapping);
	if (!is_candidate(late, mapping))
		return;
	probes = gt_hash_get(late->mapped, &identity, sizeof(identity));
	if (!probes)
		probes = pass_on(late, mapping, &identity);
	if (probes && mapping->time < probes->attached_at && may_have_run(late, mapping, probes) &&
	    gt_host_passes(late->host, mapping->pid))
		handlers->gap(handlers->context, mapping->pid, mapping->path, mapping->time,
			      probes->attached_at);
}

static void take_execution(void *context, pid_t pid, uint64_t time)
{
	struct gt_late_mappings *late = context;
	struct held_process *process =
		late->host->hold && is_traced(late, pid) ? find_process(late, pid) : NULL;

	if (process)
		process->executed = time;
}

static void take_fork(void *context, pid_t parent, pid_t child)
{
	struct gt_late_mappings *late = context;

	if (!late->host->filter.by_process)
		return;
	if (is_traced(late, parent))
		gt_hash_set_u64(late->tree, child, late);
	else /* the number of a process that has ended is used again */
		gt_hash_remove_u64(late->tree, child);
}

static void take_end(void *context, pid_t pid)
{
	struct gt_late_mappings *late = context;

	gt_hash_remove_u64(late->tree, pid);
	free(gt_hash_remove_u64(late->processes, pid));
}

static void poll_watch(struct gt_late_mappings *late)
{
	const struct gt_watch_handlers handlers = {
		.mapped = take_mapping,
		.executed = take_execution,
		.forked = take_fork,
		.ended = take_end,
		.context = late,
	};

	gt_watch_poll(late->watch, &handlers);
}

/* ---- files that a command is about to map -------------------------------------------------- */

/* Whether it is the first time; if not, it has its probes. */
static bool is_new_file(struct gt_late_mappings *late, const struct stat *status)
{
	struct held_identity identity = {status->st_dev, status->st_ino, status->st_ctim.tv_sec,
					 status->st_ctim.tv_nsec};

	if (gt_hash_get(late->held, &identity, sizeof(identity)))
		return false;
	gt_hash_set(late->held, &identity, sizeof(identity), late->held);
	return true;
}

/* The name of an open file as its process sees it; false if it has none. */
static bool read_name(const char *descriptor, char *name, size_t size)
{
	static const char deleted[] = " (deleted)";
	ssize_t length = readlink(descriptor, name, size - 1);

	if (length <= 0 || name[0] != '/')
		return false;
	name[length] = '\0';
	if ((size_t)length >= sizeof(deleted) &&
	    !strcmp(name + length - (sizeof(deleted) - 1), deleted))
		name[length - (sizeof(deleted) - 1)] = '\0';
	return true;
}

/*
 * The file has a lasting path in most cases; otherwise it is reached by the descriptor of the
 * process, which waits.
 */
static void attach_held_file(struct gt_late_mappings *late, const struct gt_held *held)
{
	const struct gt_late_handlers *handlers = late->handlers;
	gt_auto_strbuf path = GT_STRBUF_INIT;
	char descriptor[64], name[PATH_MAX];
	struct stat status, own;

	snprintf(descriptor, sizeof(descriptor), "/proc/%d/fd/%d", held->thread, held->file);
	if (!held->thread || stat(descriptor, &status) || !S_ISREG(status.st_mode) ||
	    !is_new_file(late, &status) || !read_name(descriptor, name, sizeof(name)))
		return;
	gt_strbuf_puts(&path, name);
	if (stat(name, &own) || own.st_dev != status.st_dev || own.st_ino != status.st_ino) {
		gt_strbuf_clear(&path);
		gt_strbuf_printf(&path, "/proc/%d/root%s", held->thread, name);
		if (stat(gt_strbuf_string(&path), &own) || own.st_dev != status.st_dev ||
		    own.st_ino != status.st_ino) {
			gt_strbuf_clear(&path);
			gt_strbuf_puts(&path, descriptor);
		}
	}
	if (path.failed)
		return;
	if (late->host->unwind_maps)
		gt_unwind_maps_add(late->host->unwind_maps, gt_strbuf_string(&path), status.st_ino);
	handlers->file(handlers->context, gt_strbuf_string(&path), name);
}

/* Mappings up to now come first: a program that was executed is among them, and waits, too. */
static void attach_held(struct gt_late_mappings *late, const struct gt_held *held)
{
	struct held_process *process;

	poll_watch(late);
	attach_held_file(late, held);
	process = held->thread ? find_process(late, held->thread) : NULL;
	if (process)
		process->resumed = gt_clock_monotonic();
	gt_hold_resume(late->host->hold, held);
}

void gt_late_mappings_poll(struct gt_late_mappings *late, const struct gt_late_handlers *handlers)
{
	struct gt_held held;

	late->handlers = handlers;
	poll_watch(late);
	while (late->host->hold && gt_hold_next(late->host->hold, &held))
		attach_held(late, &held);
}

uint64_t gt_late_mappings_lost(const struct gt_late_mappings *late)
{
	return gt_watch_lost(late->watch);
}
