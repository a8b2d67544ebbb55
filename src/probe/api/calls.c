/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The source "cuda": calls of the CUDA runtime and driver APIs, seen by uprobes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "api/api.h"
#include "base/clean.h"
#include "base/clock.h"
#include "base/vec.h"
#include "elf/elf.h"
#include "event/kinds.h"
#include "probe/api/attach.h"
#include "probe/api/calls.h"
#include "probe/api/count_program.h"
#include "probe/api/explain.h"
#include "probe/api/find.h"
#include "probe/api/gaps.h"
#include "probe/api/late_mappings.h"
#include "probe/api/multi_link.h"
#include "probe/api/select.h"
#include "probe/api/sums.h"
#include "probe/api/unwind_maps.h"
#include "probe/cost.h"
#include "probe/hold/hold.h"
#include "probe/load.h"
#include "probe/python/find.h"
#include "probe/source.h"

/* Last: it uses the types above. */
#include "calls.skel.h"

struct call_source {
	const struct gt_host *host;
	struct calls_bpf *skeleton;
	struct gt_attacher attacher;
	struct gt_selection selection;
	bool *emitted;              /* per row: its `function` event was written */
	gt_summed_functions summed; /* only if calls are counted by function … */
	bool counts_only;           /* … and by count_session */
	struct gt_traced_files files;
	size_t attached_files;  /* of files.found, in its order … */
	size_t announced_files; /* … and those whose names were emitted */
	bool is_paused, is_detached;
	GT_VEC(struct gt_attachment *) attachments;
	size_t wanted, attached;                /* functions */
	struct gt_late_mappings *late_mappings; /* NULL: they are not seen */
	uint64_t late_mappings_lost;
};

static void calls_close(void *opaque)
{
	struct call_source *state = opaque;

	if (!state)
		return;
	gt_vec_each (attachment, &state->attachments)
		gt_detach(*attachment);
	gt_vec_free(&state->attachments);
	gt_late_mappings_close(state->late_mappings);
	calls_bpf__destroy(state->skeleton);
	gt_traced_files_free(&state->files);
	gt_selection_free(&state->selection);
	gt_vec_free(&state->summed);
	free(state->emitted);
	free(state);
}
GT_DEFINE_AUTO(call_source, struct call_source, calls_close)

/* Methods by links, the preferred one first. */
static const struct link_method {
	enum gt_attach_method method;
	enum gt_multi_link kind;
	const char *name, *version;
} link_methods[] = {
	{GT_ATTACH_SESSION, GT_MULTI_SESSION, "uprobe sessions", "6.13"},
	{GT_ATTACH_MULTI, GT_MULTI_ENTRY, "uprobe_multi links", "6.6"},
};

static int choose_attach_method(struct call_source *state, struct gt_diag *diag)
{
	enum gt_attach_method wanted = state->host->options->attach;

	for (size_t i = 0; i < gt_countof(link_methods); i++) {
		const struct link_method *method = &link_methods[i];
		int error;

		if (wanted != GT_ATTACH_AUTO && wanted != method->method)
			continue;
		error = gt_multi_link_check(method->kind);
		state->attacher.method = method->method;
		if (!error)
			return 0;
		if (error == -EPERM || error == -EACCES)
			return gt_load_failed(error, "cuda", diag);
		if (wanted == method->method)
			return gt_diag(diag, error, "cuda", NULL,
				       "this kernel has no %s (%s): they require Linux %s; use "
				       "--attach auto",
				       method->name, strerror(-error), method->version);
	}
	state->attacher.method = GT_ATTACH_PERF;
	return 0;
}

static const char *method_name(enum gt_attach_method used)
{
	for (size_t i = 0; i < gt_countof(link_methods); i++)
		if (link_methods[i].method == used)
			return link_methods[i].name;
	return "perf events";
}

/* Choose the programs that the method needs, and prepare them. */
static void prepare_programs(struct call_source *state)
{
	struct gt_attacher *attacher = &state->attacher;
	struct bpf_program *session = state->skeleton->progs.call_session;
	bool is_session = attacher->method == GT_ATTACH_SESSION;

	state->counts_only = is_session &&
			     gt_count_program_suits(state->host, state->summed.count) &&
			     !gt_count_program_prepare(state->skeleton->progs.count_session);
	if (state->counts_only)
		session = state->skeleton->progs.count_session;
	bpf_program__set_autoload(state->skeleton->progs.call_session,
				  is_session && !state->counts_only);
	bpf_program__set_autoload(state->skeleton->progs.count_session, state->counts_only);
	bpf_program__set_autoload(state->skeleton->progs.process_fork, !state->counts_only);
	bpf_program__set_autoload(state->skeleton->progs.call_entry, !is_session);
	bpf_program__set_autoload(state->skeleton->progs.call_return, !is_session);
	attacher->entry = is_session ? session : state->skeleton->progs.call_entry;
	attacher->at_return = is_session ? session : state->skeleton->progs.call_return;
	if (is_session)
		gt_multi_link_prepare(session, GT_MULTI_SESSION);
	if (attacher->method == GT_ATTACH_MULTI) {
		gt_multi_link_prepare(attacher->entry, GT_MULTI_ENTRY);
		gt_multi_link_prepare(attacher->at_return, GT_MULTI_RETURN);
	}
}

/* The functions whose calls can be counted: not those that only hide the calls inside them. */
static int find_summed(struct call_source *state)
{
	for (unsigned row = 0; row < gt_api_count(); row++) {
		uint64_t flags = 0;
		int error;

		if (!gt_selection_flags(&state->selection, row, &flags) ||
		    flags & GT_COOKIE_BOUNDARY)
			continue;
		error = gt_vec_push(&state->summed, row);
		if (error)
			return error;
	}
	gt_call_sums_prepare(state->skeleton->maps.sums, state->summed.count);
	return 0;
}

static int fill_plans(struct call_source *state)
{
	gt_autofree struct gt_plan *plans = calloc(gt_api_count(), sizeof(*plans));
	uint32_t summed = 0;

	if (!plans)
		return -ENOMEM;
	for (unsigned row = 0; row < gt_api_count(); row++) {
		gt_api_plan(gt_api_function(row), &plans[row]);
		if (summed < state->summed.count && state->summed.items[summed] == row)
			plans[row].sums = summed++;
	}
	return gt_load_fill_array(state->skeleton->maps.plans, plans);
}

/* What an option needs is small without it: entries are allocated when a map is created. */
static void size_maps(struct call_source *state, const struct gt_call_settings *settings)
{
	bpf_map__set_max_entries(state->skeleton->maps.plans, gt_api_count());
	if (state->attacher.method != GT_ATTACH_PERF)
		bpf_map__set_max_entries(state->skeleton->maps.sites, 1);
	if (!settings->python)
		bpf_map__set_max_entries(state->skeleton->maps.python_codes, 1);
}

static int reuse_unwind_maps(struct call_source *state, const struct gt_unwind_maps *maps)
{
	struct gt_unwind_fds fds = gt_unwind_maps_fds(maps);
	int error = bpf_map__reuse_fd(state->skeleton->maps.unwind_rows, fds.rows);

	if (!error)
		error = bpf_map__reuse_fd(state->skeleton->maps.unwind_files, fds.files);
	return error ? error : bpf_map__reuse_fd(state->skeleton->maps.code_blocks, fds.blocks);
}

static struct gt_call_settings make_settings(const struct gt_host *host)
{
	const struct gt_trace_options *options = host->options;
	struct gt_call_settings settings = {
		.failed_only = options->failed_only,
		.entries = options->entries,
		.sums = options->sums,
		.stack_copy = options->stack == GT_STACK_DWARF,
		.unwind = host->unwind_maps != NULL,
		.kernel_arguments = options->kernel_arguments,
		.python = host->pythons != NULL,
		.has_agent = options->companion != NULL,
		.condition_count = host->condition_count,
		.first_device = host->target->command ? 0 : GT_DEVICE_UNKNOWN,
		.stack_depth = options->stack_depth < GT_MAX_CALLERS ? options->stack_depth
								     : GT_MAX_CALLERS,
		.loaded = gt_clock_monotonic(),
	};

	if (host->condition_count)
		memcpy(settings.conditions, host->conditions,
		       host->condition_count * sizeof(*host->conditions));
	return settings;
}

/* What happens to threads that have calls. The links are destroyed with the skeleton. */
static int attach_tracepoints(struct calls_bpf *skeleton, struct gt_diag *diag)
{
	const struct {
		struct bpf_program *program;
		struct bpf_link **link;
	} tracepoints[] = {
		{skeleton->progs.process_fork, &skeleton->links.process_fork},
		{skeleton->progs.process_exec, &skeleton->links.process_exec},
		{skeleton->progs.thread_exit, &skeleton->links.thread_exit},
	};

	for (size_t i = 0; i < gt_countof(tracepoints); i++) {
		if (!bpf_program__autoload(tracepoints[i].program))
			continue;
		*tracepoints[i].link = bpf_program__attach(tracepoints[i].program);
		if (!*tracepoints[i].link)
			return gt_load_failed(-errno, "cuda", diag);
	}
	return 0;
}

static int load_programs(struct call_source *state, struct gt_diag *diag)
{
	const struct gt_host *host = state->host;
	struct gt_call_settings settings;
	uint64_t key;
	int error = gt_count_program_key(&key);

	if (error)
		return gt_diag(diag, error, "cuda", NULL, "the kernel returns no random number");
	settings = make_settings(host);
	state->skeleton = calls_bpf__open();
	if (!state->skeleton)
		return gt_load_failed(-errno, "cuda", diag);
	state->skeleton->rodata->filter = host->filter;
	state->skeleton->rodata->wakeup_bytes = host->wakeup_bytes;
	memcpy((void *)&state->skeleton->rodata->settings, &settings, sizeof(settings));
	state->skeleton->bss->word_key = key;
	error = gt_load_shared_maps(state->skeleton->maps.events, state->skeleton->maps.processes,
				    host, diag);
	if (!error && settings.python)
		error = bpf_map__reuse_fd(state->skeleton->maps.pythons,
					  gt_pythons_fd(host->pythons));
	if (!error && settings.unwind)
		error = reuse_unwind_maps(state, host->unwind_maps);
	if (!error && settings.sums)
		error = find_summed(state);
	if (error)
		return gt_load_failed(error, "cuda", diag);
	size_maps(state, &settings);
	prepare_programs(state);
	error = calls_bpf__load(state->skeleton);
	if (!error)
		error = fill_plans(state);
	if (error)
		return gt_load_failed(error, "cuda", diag);
	state->attacher.sites = bpf_map__fd(state->skeleton->maps.sites);
	return attach_tracepoints(state->skeleton, diag);
}

static void emit_library(const struct call_source *state, const struct gt_traced_file *file,
			 unsigned number, size_t probes)
{
	struct gt_event_library *event =
		(void *)gt_event_new(GT_EVENT_library, file->path, strlen(file->path));

	if (event) {
		event->number = number;
		event->probes = probes;
	}
	gt_event_queue_push(state->host->events, event ? &event->head : NULL);
}

/* The name of a function, once. */
static void emit_function(struct call_source *state, unsigned row)
{
	const char *name = gt_api_function(row)->name;
	struct gt_event_function *event;

	if (state->emitted[row])
		return;
	event = (void *)gt_event_new(GT_EVENT_function, name, strlen(name));
	if (event) {
		state->emitted[row] = true;
		event->number = row;
	}
	gt_event_queue_push(state->host->events, event ? &event->head : NULL);
}

static void note_failed_site(void *context, const struct gt_site *site, int error)
{
	struct call_source *state = context;

	gt_event_queue_note(state->host->events, "cannot probe %s: %s", site->name,
			    strerror(-error));
}

static int attach_sites(struct call_source *state, struct gt_traced_file *file, unsigned number,
			const gt_site_list *sites, struct gt_diag *diag)
{
	const struct gt_attach_request request = {
		.path = file->path,
		.sites = sites->items,
		.count = sites->count,
		.failed = note_failed_site,
		.context = state,
	};
	struct gt_attachment *attachment;
	int error;

	for (size_t i = 0; i < sites->count; i++)
		emit_function(state, (uint32_t)sites->items[i].cookie);
	state->wanted += sites->count;
	error = gt_attach(&state->attacher, &request, &attachment, diag);
	if (error)
		return error;
	if (!file->attached_at)
		file->attached_at = gt_clock_monotonic();
	state->attached += gt_attachment_count(attachment);
	if (number > state->announced_files)
		emit_library(state, file, number, gt_attachment_count(attachment));
	error = gt_vec_push(&state->attachments, attachment);
	if (error) {
		gt_detach(attachment);
		return gt_diag(diag, error, "cuda", file->path, "out of memory");
	}
	return 0;
}

static int attach_file(struct call_source *state, unsigned number, struct gt_diag *diag)
{
	struct gt_traced_file *file = &state->files.found.items[number - 1];
	gt_auto(elf) struct gt_elf *elf = NULL;
	gt_site_list sites = {0};
	int error = gt_elf_open(file->path, &elf, diag);

	if (!error)
		error = gt_selection_find(&state->selection, file, number, elf, &sites, diag);
	for (size_t i = 0; i < sites.count && state->counts_only; i++)
		sites.items[i].cookie =
			gt_count_program_cookie(sites.items[i].cookie, &state->summed);
	if (!error && sites.count)
		error = attach_sites(state, file, number, &sites, diag);
	gt_vec_free(&sites);
	return error;
}

static void report_unattached(struct call_source *state, unsigned number, const struct gt_diag *why)
{
	gt_event_queue_note(state->host->events, "%s: %s", why->place, why->text);
	gt_gap_emit(state->host, GT_GAP_UNATTACHED, 0, state->files.found.items[number - 1].path, 0,
		    0);
}

/* Attach to the files found since the last time. A file that fails does not stop the others. */
static int attach_found(struct call_source *state, struct gt_diag *diag)
{
	int error = 0;

	while (state->attached_files < state->files.found.count) {
		struct gt_diag why = {0};
		unsigned number = ++state->attached_files;

		error = attach_file(state, number, &why);
		if (error == -EPERM || error == -EACCES || error == -ENOMEM)
			return gt_diag(diag, error, why.stage, why.place, "%s", why.text);
		if (error && number > state->announced_files)
			report_unattached(state, number, &why);
		if (number > state->announced_files)
			state->announced_files = number;
	}
	return 0;
}

static int find_and_attach(struct call_source *state, struct gt_diag *diag)
{
	uint64_t start = gt_clock_monotonic();
	int error = gt_traced_files_find(&state->files, state->host->target, &state->host->filter,
					 diag);

	if (error)
		return error;
	error = attach_found(state, diag);
	if (error)
		return error;
	if (state->host->options->verbose)
		gt_event_queue_note(state->host->events, "attached %zu of %zu in %.1f ms by %s",
				    state->attached, state->wanted,
				    (gt_clock_monotonic() - start) / 1e6,
				    method_name(state->attacher.method));
	if (!state->host->command)
		gt_gaps_find_running(state->host, &state->files);
	return state->attached ? 0 : gt_explain_nothing(state->host, &state->files, diag);
}

/* Files that are mapped later are not seen. */
static void report_no_watch(struct call_source *state, const struct gt_diag *why)
{
	gt_event_queue_note(state->host->events, "%s", why->text);
	if (!state->host->options->path)
		gt_gap_emit(state->host, GT_GAP_UNWATCHED, 0, "", gt_clock_monotonic(), 0);
	if (state->host->hold)
		gt_hold_stop(state->host->hold);
}

static int calls_open(const struct gt_host *host, void **ret_state, struct gt_diag *diag)
{
	gt_auto(call_source) struct call_source *state = calloc(1, sizeof(*state));
	struct gt_diag why = {0};
	int error;

	if (!state)
		return gt_diag(diag, -ENOMEM, "cuda", NULL, "out of memory");
	state->host = host;
	state->files.groups = host->groups;
	state->emitted = calloc(gt_api_count(), sizeof(bool));
	if (!state->emitted)
		return gt_diag(diag, -ENOMEM, "cuda", NULL, "out of memory");
	error = gt_selection_make(host, &state->selection, diag);
	if (!error)
		error = choose_attach_method(state, diag);
	if (!error)
		error = load_programs(state, diag);
	if (error)
		return error;
	/* Before the search, so that nothing is mapped between the two unseen. */
	if (gt_late_mappings_open(host, &state->late_mappings, &why))
		report_no_watch(state, &why);
	error = find_and_attach(state, diag);
	if (error)
		return error;
	state->skeleton->bss->phase = GT_PHASE_TRACING;
	*ret_state = gt_take(state);
	return 0;
}

/* A file was mapped, or is about to be: if it has functions of an API, attach to them now. */
static struct gt_late_probes attach_late_file(void *context, const char *path, const char *name)
{
	struct call_source *state = context;
	const struct gt_traced_file *file;
	struct gt_diag diag = {0};

	if (gt_traced_files_examine(&state->files, path, name, state->host->filter.by_process,
				    &diag) > 0 &&
	    !state->is_paused && attach_found(state, &diag))
		gt_event_queue_note(state->host->events, "%s: %s", diag.place, diag.text);
	file = gt_traced_files_at(&state->files, path);
	return file ? (struct gt_late_probes){file->attached_at, file->is_program}
		    : (struct gt_late_probes){0};
}

/* "process 4711"; or one that has no number here. */
static const char *put_process(struct gt_strbuf *text, pid_t process)
{
	if (process)
		gt_strbuf_printf(text, "process %d", (int)process);
	else
		gt_strbuf_puts(text, GT_PROCESS_OUTSIDE);
	return gt_strbuf_string(text);
}

static void record_gap(void *context, pid_t process, const char *name, uint64_t start, uint64_t end)
{
	struct call_source *state = context;
	gt_auto_strbuf who = GT_STRBUF_INIT;

	gt_event_queue_note(state->host->events,
			    "%s was mapped by %s %.1f ms before its probes were attached: calls "
			    "in between are missing",
			    name, put_process(&who, process), (end - start) / 1e6);
	gt_gap_emit(state->host, GT_GAP_MAPPED, process, name, start, end);
}

static void record_unreachable(void *context, pid_t process, const char *name, uint64_t time,
			       int error)
{
	struct call_source *state = context;
	gt_auto_strbuf who = GT_STRBUF_INIT;

	gt_event_queue_note(
		state->host->events, "%s, mapped by %s, cannot be reached: its calls are missing%s",
		name, put_process(&who, process),
		error == -EACCES ? "; run gputap as root or give it CAP_SYS_PTRACE" : "");
	gt_gap_emit(state->host, GT_GAP_UNATTACHED, process, name, time, 0);
}

static int calls_wait_on(void *opaque)
{
	struct call_source *state = opaque;

	return state->late_mappings ? gt_late_mappings_fd(state->late_mappings) : -1;
}

static void calls_poll(void *opaque)
{
	struct call_source *state = opaque;
	const struct gt_late_handlers handlers = {
		.file = attach_late_file,
		.gap = record_gap,
		.unreachable = record_unreachable,
		.context = state,
	};

	if (state->late_mappings)
		gt_late_mappings_poll(state->late_mappings, &handlers);
}

/* Runs the iterator over all threads: it ends the calls that have not returned. */
static void end_unfinished_calls(struct call_source *state)
{
	struct bpf_link *link =
		bpf_program__attach_iter(state->skeleton->progs.unfinished_calls, NULL);
	char buffer[64];
	int fd;

	if (!link)
		return;
	fd = bpf_iter_create(bpf_link__fd(link));
	while (fd >= 0 && read(fd, buffer, sizeof(buffer)) > 0)
		;
	if (fd >= 0)
		close(fd);
	bpf_link__destroy(link);
}

static struct gt_call_counts sum_counts(const struct call_source *state)
{
	struct gt_call_counts sums = {0};

	gt_load_sum_counters(bpf_map__fd(state->skeleton->maps.counts), &sums,
			     sizeof(sums) / sizeof(__u64));
	if (state->counts_only)
		sums.made += gt_call_sums_begun(bpf_map__fd(state->skeleton->maps.sums));
	return sums;
}

/*
 * New calls are ignored from now on. A session sees no return once it is detached, so let those
 * that run return before. (Without sessions entries are detached first, which takes as long.)
 */
static void end_phase(struct call_source *state)
{
	static const struct timespec grace = {.tv_nsec = 10000000};

	state->skeleton->bss->phase = GT_PHASE_ENDING;
	if (state->attacher.method == GT_ATTACH_SESSION)
		nanosleep(&grace, NULL);
}

static void detach_all(struct call_source *state)
{
	gt_vec_each (attachment, &state->attachments)
		gt_detach(*attachment);
	gt_vec_free(&state->attachments);
}

/* Calls that run when a pause begins are unfinished: their returns are not seen. */
static void calls_pause(void *opaque, bool is_paused)
{
	struct call_source *state = opaque;
	struct gt_diag diag = {0};

	state->is_paused = is_paused;
	if (is_paused) {
		end_phase(state);
		detach_all(state);
		return;
	}
	state->skeleton->bss->phase = GT_PHASE_ATTACHING;
	state->attached_files = 0;
	if (attach_found(state, &diag))
		gt_event_queue_note(state->host->events, "%s: %s", diag.place, diag.text);
	state->skeleton->bss->phase = GT_PHASE_TRACING;
}

static void calls_detach(void *opaque)
{
	struct call_source *state = opaque;
	struct gt_call_counts sums;

	end_phase(state);
	calls_poll(state); /* the last mappings are reported, even if calls into them are missed */
	if (state->late_mappings)
		state->late_mappings_lost = gt_late_mappings_lost(state->late_mappings);
	gt_late_mappings_close(gt_take(state->late_mappings));
	detach_all(state);
	state->is_detached = true;
	end_unfinished_calls(state);
	sums = sum_counts(state);
	if (!sums.made && !sums.orphans)
		gt_explain_silence(state->host, &state->files);
	else if (!state->skeleton->bss->runtime_called)
		gt_explain_fallback(state->host, &state->files);
}

static void calls_collect(void *opaque)
{
	struct call_source *state = opaque;

	if (state->host->options->sums)
		gt_call_sums_emit(bpf_map__fd(state->skeleton->maps.sums), &state->summed,
				  state->is_detached, state->host->events);
}

static void calls_count(void *opaque, struct gt_counts *counts)
{
	struct call_source *state = opaque;
	struct gt_call_counts sums = sum_counts(state);
	int map = bpf_map__fd(state->skeleton->maps.sums);

	if (state->host->options->sums)
		counts->complete += gt_call_sums_complete(map);
	if (state->counts_only && state->is_detached)
		counts->unfinished += gt_call_sums_unfinished(map);
	counts->made += sums.made;
	counts->unfinished += sums.unfinished;
	counts->lost += sums.lost;
	counts->filtered += sums.filtered;
	counts->orphans += sums.orphans;
	counts->entries_lost += sums.entries_lost;
	counts->others_lost += sums.others_lost + state->late_mappings_lost;
}

static void calls_cost(void *opaque, struct gt_probe_cost *cost)
{
	struct call_source *state = opaque;

	gt_probe_cost_add(state->skeleton->obj, cost);
}

/* A kernel may accept simple programs and reject these. */
static int calls_check(struct gt_kernel_types *types, struct gt_diag *diag)
{
	int error = gt_load_check(diag);
	struct calls_bpf *skeleton;

	if (error)
		return error;
	skeleton = calls_bpf__open_and_load();
	if (!skeleton)
		return gt_load_failed(-errno, "cuda", diag);
	calls_bpf__destroy(skeleton);
	return 0;
}

#define CALLS_SOURCE(what, label, text)                                                            \
	const struct gt_source gt_source_##what = {                                                \
		.name = label,                                                                     \
		.summary = text,                                                                   \
		.needs = "uprobes and BTF of the kernel; root, or CAP_BPF and CAP_PERFMON with "   \
			 "Linux 6.6",                                                              \
		.group = label,                                                                    \
		.check = calls_check,                                                              \
		.open = calls_open,                                                                \
		.wait_on = calls_wait_on,                                                          \
		.poll = calls_poll,                                                                \
		.detach = calls_detach,                                                            \
		.pause = calls_pause,                                                              \
		.collect = calls_collect,                                                          \
		.count = calls_count,                                                              \
		.cost = calls_cost,                                                                \
		.close = calls_close,                                                              \
	}

CALLS_SOURCE(cuda, "cuda", "calls of the CUDA runtime and driver APIs");
CALLS_SOURCE(cublas, "cublas", "main calls of cuBLAS and cuBLASLt (linear algebra)");
CALLS_SOURCE(cudnn, "cudnn", "main calls of cuDNN (neural networks)");
CALLS_SOURCE(nccl, "nccl", "main calls of NCCL and RCCL (communication between GPUs)");
CALLS_SOURCE(opencl, "opencl", "calls of OpenCL, of any vendor");
CALLS_SOURCE(hip, "hip", "calls of AMD's HIP runtime API");
CALLS_SOURCE(hiprtc, "hiprtc", "calls of hipRTC (compilation at run time)");
CALLS_SOURCE(rocblas, "rocblas", "main calls of rocBLAS (linear algebra)");
CALLS_SOURCE(miopen, "miopen", "main calls of MIOpen (neural networks)");
CALLS_SOURCE(level_zero, "level-zero", "calls of Intel's Level Zero core API");
