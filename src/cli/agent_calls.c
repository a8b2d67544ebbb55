/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/agent_calls.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "agent/call_table.h"
#include "agent/ring.h"
#include "api/api.h"
#include "base/clean.h"
#include "base/hash.h"
#include "base/installed.h"
#include "elf/elf.h"
#include "event/kinds.h"
#include "probe/api/calls.h"
#include "probe/api/find.h"
#include "probe/api/gaps.h"
#include "probe/api/select.h"
#include "probe/target.h"
#include "run/inject.h"
#include "session/opened.h"

enum { MAX_LIBRARIES = 32 };

struct gt_agent_calls {
	struct gt_host host;
	struct gt_inject *inject;
	struct gt_selection selection;
	struct gt_traced_files files;  /* of the command */
	struct gt_hash *runtimes;      /* paths of libraries with a runtime that were reported */
	bool *emitted;                 /* per row: its `function` event was written */
	uint32_t libraries;            /* bit n: the event of library n was written */
	uint64_t complete, unfinished; /* calls that were read */
	char *excluded;        /* a program of the command that loads no agent, or NULL … */
	const char *exclusion; /* … and which kind of program it is */
	bool reported;         /* the gaps of `files` and `excluded` */
	bool ended;
};

/* Pairs of a flag of cookies and the agent's. */
static const struct {
	uint16_t cookie, agent;
} flags[] = {
	{GT_COOKIE_ONLY_OUTERMOST, GT_AGENT_CALL_OUTERMOST},
	{GT_COOKIE_IMPLICIT, GT_AGENT_CALL_IMPLICIT},
	{GT_COOKIE_RUNTIME, GT_AGENT_CALL_RUNTIME},
	{GT_COOKIE_LIBRARY, GT_AGENT_CALL_LIBRARY},
	{GT_COOKIE_WATCHED, GT_AGENT_CALL_WATCHED},
	{GT_COOKIE_BOUNDARY, GT_AGENT_CALL_BOUNDARY},
};

/* 1 + that of the API table. */
static uint16_t library_of(const struct gt_api_function *function)
{
	uint16_t number = 1;

	for (unsigned row = 0; row < gt_api_count(); row++) {
		const struct gt_api_function *other = gt_api_function(row);

		if (!strcmp(other->library, function->library))
			break;
		if (row + 1 < gt_api_count() &&
		    strcmp(other->library, gt_api_function(row + 1)->library))
			number++;
	}
	return number;
}

static void fill_row(const struct gt_agent_calls *calls, unsigned number,
		     struct gt_agent_call_row *row)
{
	uint64_t cookie;

	gt_api_plan(gt_api_function(number), &row->plan);
	row->library = library_of(gt_api_function(number));
	row->stack_words = gt_api_stack_words(gt_api_function(number));
	if (!calls->selection.rows || !gt_selection_flags(&calls->selection, number, &cookie))
		return;
	row->flags = GT_AGENT_CALL_HOOKED;
	for (size_t i = 0; i < gt_countof(flags); i++)
		if (cookie & flags[i].cookie)
			row->flags |= flags[i].agent;
}

static int send_table(struct gt_agent_calls *calls, struct gt_diag *diag)
{
	const struct gt_trace_options *options = calls->host.options;
	unsigned count = gt_api_count();
	size_t size = sizeof(struct gt_agent_call_table) + count * sizeof(struct gt_agent_call_row);
	gt_autofree struct gt_agent_call_table *table = calloc(1, size);

	if (!table)
		return gt_diag(diag, -ENOMEM, "session", NULL, "out of memory");
	table->row_count = count;
	table->failed_only = options->failed_only;
	table->entries = options->entries;
	table->kernel_arguments = options->kernel_arguments;
	table->drops = options->full_ring == GT_FULL_RING_DROP;
	table->stack_depth = options->stack_depth < GT_MAX_CALLERS ? (uint8_t)options->stack_depth
								   : GT_MAX_CALLERS;
	for (unsigned row = 0; row < count; row++)
		fill_row(calls, row, &table->rows[row]);
	return gt_inject_set_calls(calls->inject, table, size, diag);
}

int gt_agent_calls_open(const struct gt_trace_options *options, struct gt_inject *inject,
			struct gt_agent_calls **ret_calls, struct gt_diag *diag)
{
	struct gt_agent_calls *calls = calloc(1, sizeof(*calls));
	int error;

	if (calls) {
		calls->emitted = calloc(gt_api_count(), sizeof(bool));
		calls->runtimes = gt_hash_new();
	}
	if (!calls || !calls->emitted || !calls->runtimes) {
		gt_agent_calls_close(calls);
		return gt_diag(diag, -ENOMEM, "session", NULL, "out of memory");
	}
	calls->inject = inject;
	calls->host.options = options;
	calls->host.groups = gt_opened_groups(&options->sources);
	calls->files.groups = calls->host.groups;
	/* Without a source of calls, -e names others: no call is recorded. */
	error = calls->host.groups ? gt_selection_make(&calls->host, &calls->selection, diag) : 0;
	if (!error)
		error = send_table(calls, diag);
	if (error) {
		gt_agent_calls_close(calls);
		return error;
	}
	*ret_calls = calls;
	return 0;
}

void gt_agent_calls_close(struct gt_agent_calls *calls)
{
	if (!calls)
		return;
	gt_selection_free(&calls->selection);
	gt_traced_files_free(&calls->files);
	free(calls->emitted);
	free(calls->excluded);
	gt_hash_free(calls->runtimes);
	free(calls);
}

int gt_agent_calls_prepare(struct gt_environment *environment, struct gt_diag *diag)
{
	gt_autofree char *hooks = NULL;
	int error = gt_installed_file("src/agent", "", "libgputap-calls.so", &hooks, diag);

	return error ? error : gt_environment_prepend(environment, "LD_PRELOAD", ':', hooks);
}

/* Whether execve(2) of the file changes the privileges: the loader ignores LD_PRELOAD then. */
static bool changes_privileges(const char *path)
{
	struct stat status;
	struct statvfs mount;

	if (stat(path, &status) || statvfs(path, &mount) || mount.f_flag & ST_NOSUID ||
	    prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		return false;
	return (status.st_mode & S_ISUID && status.st_uid != getuid()) ||
	       (status.st_mode & S_ISGID && status.st_mode & S_IXGRP &&
		status.st_gid != getgid()) ||
	       (getuid() && getxattr(path, "security.capability", NULL, 0) > 0);
}

/* The kind of a program that loads no agent; NULL: it is another one, or a script. */
static const char *find_exclusion(const char *path)
{
	gt_auto(elf) struct gt_elf *elf = NULL;
	struct gt_diag ignored = {0};

	if (gt_elf_open(path, &elf, &ignored))
		return NULL;
	if (gt_elf_info(elf)->is_static)
		return "static program";
	return changes_privileges(path) ? "set-user-ID program" : NULL;
}

static int find_excluded(struct gt_agent_calls *calls, const struct gt_command *files,
			 struct gt_diag *diag)
{
	for (size_t i = 0; i < files->count && !calls->exclusion; i++) {
		calls->exclusion = find_exclusion(files->paths[i]);
		if (calls->exclusion && !(calls->excluded = strdup(files->paths[i])))
			return gt_diag(diag, -ENOMEM, "session", NULL, "out of memory");
	}
	return 0;
}

int gt_agent_calls_attach(struct gt_agent_calls *calls, const struct gt_command *files,
			  const struct gt_environment *environment, struct gt_diag *diag)
{
	const struct gt_target target = {
		.options = calls->host.options,
		.command = files,
		.loader = gt_loader_of_environment(environment->variables),
	};

	int error = find_excluded(calls, files, diag);

	return error ? error
		     : gt_traced_files_find(&calls->files, &target, &calls->host.filter, diag);
}

/* ---- runtimes that are linked statically ------------------------------------------------- */

/* Such a runtime has no symbols that the loader binds. */
static void report_runtime(struct gt_agent_calls *calls, const char *path,
			   struct gt_event_queue *events)
{
	gt_event_queue_note(events,
			    "%s: its CUDA runtime is linked statically, so that the agent sees its "
			    "calls of the driver only; use --via kernel, or link it with -cudart "
			    "shared",
			    path);
	calls->host.events = events;
	gt_gap_emit(&calls->host, GT_GAP_UNATTACHED, 0, path, 0, 0);
}

static void report_programs(struct gt_agent_calls *calls, struct gt_event_queue *events)
{
	gt_vec_each (file, &calls->files.found)
		if (file->is_program && gt_traced_file_is_runtime(file))
			report_runtime(calls, file->path, events);
}

/* A file that uses the driver. The runtime's own libraries do, and what has a runtime inside. */
static bool take_caller(struct gt_agent_calls *calls, const struct gt_event *event,
			struct gt_event_queue *events)
{
	size_t room = event->size - sizeof(struct gt_event_library);
	const char *text = ((const struct gt_event_library *)event)->path;
	gt_autofree char *path =
		event->size >= sizeof(struct gt_event_library) ? strndup(text, room) : NULL;
	const char *name = path ? strrchr(path, '/') : NULL;
	const struct gt_traced_file *file;
	struct gt_diag ignored = {0};

	/* Another process's relative path, or one in a container, may be another file's here. */
	if (!name || path[0] != '/' || gt_api_library_of(name + 1) ||
	    gt_hash_get(calls->runtimes, path, strlen(path)))
		return true;
	gt_traced_files_examine(&calls->files, path, path, true, &ignored);
	file = gt_traced_files_at(&calls->files, path);
	if (!file || file->is_program || !gt_traced_file_is_runtime(file))
		return true;
	if (!gt_hash_set(calls->runtimes, path, strlen(path), calls))
		report_runtime(calls, path, events);
	return true;
}

/* ---- events ------------------------------------------------------------------------------ */

/* The name of a function, once, before its first call and what precedes this. */
static void emit_function(struct gt_agent_calls *calls, uint32_t row, uint64_t time,
			  struct gt_event_queue *events)
{
	const struct gt_api_function *function = gt_api_function(row);
	const char *name = function ? function->name : NULL;
	struct gt_event_function *event;

	if (!name || calls->emitted[row])
		return;
	event = (void *)gt_event_new(GT_EVENT_function, name, strlen(name));
	if (event) {
		event->head.time = time;
		event->number = row;
		calls->emitted[row] = true;
	}
	gt_event_queue_push(events, event ? &event->head : NULL);
}

/* Libraries have the same numbers in all processes: those of their APIs. */
static bool take_library(struct gt_agent_calls *calls, const struct gt_event_library *library,
			 struct gt_event_queue *events)
{
	if (library->number >= MAX_LIBRARIES)
		return false;
	if (!(calls->libraries & 1u << library->number))
		gt_event_queue_copy(events, &library->head);
	calls->libraries |= 1u << library->number;
	return true;
}

static bool take_call(struct gt_agent_calls *calls, const struct gt_event_call *call,
		      struct gt_event_queue *events)
{
	if (call->function >= gt_api_count())
		return false;
	emit_function(calls, call->function, call->head.time, events);
	if (call->head.kind == GT_EVENT_call) {
		calls->complete += !(call->state & GT_CALL_UNFINISHED);
		calls->unfinished += !!(call->state & GT_CALL_UNFINISHED);
	}
	gt_event_queue_copy(events, &call->head);
	return true;
}

bool gt_agent_calls_take(struct gt_agent_calls *calls, const struct gt_event *event,
			 struct gt_event_queue *events)
{
	switch (event->kind) {
	case GT_EVENT_call:
	case GT_EVENT_entry:
	case GT_EVENT_implicit:
		return take_call(calls, (const void *)event, events);
	case GT_EVENT_library:
		return take_library(calls, (const void *)event, events);
	case GT_EVENT_string:
		emit_function(calls, ((const struct gt_event_string *)event)->function, event->time,
			      events);
		gt_event_queue_copy(events, event);
		return true;
	case GT_EVENT_arguments:
		emit_function(calls, ((const struct gt_event_arguments *)event)->function,
			      event->time, events);
		gt_event_queue_copy(events, event);
		return true;
	case GT_AGENT_EVENT_CALLER:
		return take_caller(calls, event, events);
	case GT_EVENT_process:
	case GT_EVENT_exit:
	case GT_EVENT_stack:
	case GT_EVENT_mapping:
	case GT_EVENT_context:
	case GT_EVENT_device:
		gt_event_queue_copy(events, event);
		return true;
	default:
		return false;
	}
}

/* ---- what is not seen -------------------------------------------------------------------- */

static void report_excluded(struct gt_agent_calls *calls, struct gt_event_queue *events)
{
	if (!calls->excluded)
		return;
	gt_event_queue_note(events,
			    "%s: a %s does not load the agent: its calls are not traced; use "
			    "--via kernel",
			    calls->excluded, calls->exclusion);
	calls->host.events = events;
	gt_gap_emit(&calls->host, GT_GAP_UNATTACHED, 0, calls->excluded, 0, 0);
}

void gt_agent_calls_poll(struct gt_agent_calls *calls, struct gt_event_queue *events, bool ended)
{
	struct gt_inject_event_counts counts = gt_inject_event_counts(calls->inject);

	if (!calls->reported) {
		report_programs(calls, events);
		report_excluded(calls, events);
	}
	calls->reported = true;
	calls->ended |= ended;
	if (!ended)
		return;
	if (counts.rings_dropped)
		gt_event_queue_note(events, "calls: %u process%s got no ring for events",
				    counts.rings_dropped, counts.rings_dropped == 1 ? "" : "es");
	else if (!counts.rings && !calls->excluded)
		gt_event_queue_note(events,
				    "the agent saw no call: the command made none, or could not "
				    "load it (it started a static or set-user-ID program); --via "
				    "kernel sees calls in every program");
	if (counts.counts[GT_AGENT_CALL_UNHOOKED])
		gt_event_queue_note(events,
				    "calls: %" PRIu64 " functions that programs looked up could "
				    "not be hooked; use --via kernel",
				    counts.counts[GT_AGENT_CALL_UNHOOKED]);
}

void gt_agent_calls_count(const struct gt_agent_calls *calls, struct gt_counts *counts)
{
	struct gt_inject_event_counts all = gt_inject_event_counts(calls->inject);
	const uint64_t *seen = all.counts;
	uint64_t known =
		calls->complete + seen[GT_AGENT_CALLS_LOST] + seen[GT_AGENT_CALLS_FILTERED];

	counts->made += seen[GT_AGENT_CALLS_MADE];
	counts->lost += seen[GT_AGENT_CALLS_LOST];
	counts->filtered += seen[GT_AGENT_CALLS_FILTERED];
	counts->entries_lost += seen[GT_AGENT_CALL_ENTRIES_LOST];
	counts->others_lost += seen[GT_AGENT_CALL_OTHERS_LOST];
	/* At the end, all that has not returned: processes ended inside calls. */
	if (!calls->ended)
		counts->unfinished += calls->unfinished;
	else if (seen[GT_AGENT_CALLS_MADE] > known)
		counts->unfinished += seen[GT_AGENT_CALLS_MADE] - known;
}
