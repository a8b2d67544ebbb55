/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The source "cuda": calls of the CUDA runtime and driver APIs, seen by uprobes. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "api/api.h"
#include "base/map.h"
#include "base/text.h"
#include "elf/elf.h"
#include "event/kinds.h"
#include "probe/api/attach.h"
#include "probe/api/calls.h"
#include "probe/api/condition.h"
#include "probe/api/find.h"
#include "probe/api/watch.h"
#include "probe/load.h"
#include "probe/source.h"

/* Last: it uses the types above. */
#include "calls.skel.h"

struct state {
	const struct gt_host *host;
	struct calls_bpf *skeleton;
	struct bpf_link *thread_exit, *process_exec;
	bool multi;
	bool *selected; /* per row: to be traced */
	bool *told;     /* per row: its `function` event was written */
	struct gt_places places;
	size_t attached_places; /* of places.found, in its order */
	GT_VEC(struct gt_attachment *) attachments;
	size_t wanted, attached; /* functions */
	struct gt_watch *watch;
	struct gt_map *seen; /* files that were looked at: device and inode -> any */
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static void calls_close(void *opaque)
{
	struct state *state = opaque;

	if (!state)
		return;
	gt_vec_each (attachment, &state->attachments)
		gt_detach(*attachment);
	gt_vec_free(&state->attachments);
	gt_watch_close(state->watch);
	bpf_link__destroy(state->thread_exit);
	bpf_link__destroy(state->process_exec);
	calls_bpf__destroy(state->skeleton);
	gt_places_free(&state->places);
	gt_map_free(state->seen);
	free(state->selected);
	free(state->told);
	free(state);
}
GT_DEFINE_AUTO(state, struct state, calls_close)

static bool is_switched_on(const struct gt_host *host, const struct gt_api_function *function)
{
	return host->groups & gt_api_group_bit(function->library);
}

static int refuse_glob(const struct gt_host *host, const char *glob, struct gt_diag *diag)
{
	unsigned count = gt_api_count();
	gt_autofree const char **names = calloc(count, sizeof(*names));
	const char *nearest;

	if (!names)
		return gt_diag(diag, -ENOMEM, "cuda", NULL, "out of memory");
	for (unsigned row = 0; row < count; row++) {
		const struct gt_api_function *function = gt_api_function(row);

		names[row] = function->name;
		if (gt_glob(glob, function->name) && !is_switched_on(host, function))
			return gt_diag(diag, -EINVAL, "cuda", NULL,
				       "'%s' is of %s, which is not switched on: add -e %s", glob,
				       function->library, gt_api_group_of(function->library));
	}
	nearest = gt_nearest(glob, names, count);
	return gt_diag(diag, -EINVAL, "cuda", NULL,
		       "no function is called '%s'%s%s%s; 'gputap list --functions' shows all",
		       glob, nearest ? ": did you mean '" : "", nearest ? nearest : "",
		       nearest ? "'?" : "");
}

/* Of what is switched on: without a list, what has a meaning; with one, what its globs match. */
static int select_functions(struct state *state, struct gt_diag *diag)
{
	const struct gt_host *host = state->host;
	unsigned count = gt_api_count();

	for (unsigned row = 0; row < count && !host->function_count; row++) {
		const struct gt_api_function *function = gt_api_function(row);

		state->selected[row] =
			function->meaning != GT_MEANS_NOTHING && is_switched_on(host, function);
	}
	for (size_t i = 0; i < host->function_count; i++) {
		bool matched = false;

		for (unsigned row = 0; row < count; row++) {
			const struct gt_api_function *function = gt_api_function(row);

			if (gt_glob(host->functions[i], function->name) &&
			    is_switched_on(host, function))
				matched = state->selected[row] = true;
		}
		if (!matched)
			return refuse_glob(host, host->functions[i], diag);
	}
	return 0;
}

static int choose_way(struct state *state, struct gt_diag *diag)
{
	int error = 0;

	if (state->host->way != GT_ATTACH_PERF)
		error = gt_attach_check_multi();
	state->multi = state->host->way != GT_ATTACH_PERF && !error;
	if (error == -EPERM || error == -EACCES)
		return gt_load_failed(error, "cuda", diag);
	if (error && state->host->way == GT_ATTACH_MULTI)
		return gt_diag(diag, error, "cuda", NULL,
			       "this kernel has no uprobe_multi links (%s): they came with Linux "
			       "6.6; use --attach perf",
			       strerror(-error));
	return 0;
}

static int fill_plans(struct state *state)
{
	int map = bpf_map__fd(state->skeleton->maps.plans);

	for (unsigned row = 0; row < gt_api_count(); row++) {
		struct gt_plan plan = {0};
		int error;

		gt_api_plan(gt_api_function(row), &plan);
		error = bpf_map_update_elem(map, &row, &plan, BPF_ANY);
		if (error)
			return error;
	}
	return 0;
}

static int load_programs(struct state *state, struct gt_diag *diag)
{
	const struct gt_host *host = state->host;
	struct gt_call_settings settings = {
		.failed_only = host->failed_only,
		.marks = host->marks,
		.stack_copy = host->stack_copy,
		.kernel_arguments = host->kernel_arguments,
		.first_device = host->target->command ? 0 : GT_DEVICE_UNKNOWN,
		.stack_depth = host->stack_depth < GT_MAX_STACK ? host->stack_depth : GT_MAX_STACK,
	};
	int error = 0;

	if (host->condition)
		error = gt_conditions_parse(host->condition, settings.conditions,
					    &settings.condition_count, diag);
	if (error)
		return error;
	state->skeleton = calls_bpf__open();
	if (!state->skeleton)
		return gt_load_failed(-errno, "cuda", diag);
	state->skeleton->rodata->filter = host->filter;
	state->skeleton->rodata->wakeup_bytes = host->wakeup_bytes;
	memcpy((void *)&state->skeleton->rodata->settings, &settings, sizeof(settings));
	error = gt_load_shared_maps(state->skeleton->maps.events, state->skeleton->maps.processes,
				    host, diag);
	if (error)
		return error;
	bpf_map__set_max_entries(state->skeleton->maps.plans, gt_api_count());
	if (state->multi) {
		gt_attach_prepare_multi(state->skeleton->progs.call_entry);
		gt_attach_prepare_multi(state->skeleton->progs.call_return);
	}
	error = calls_bpf__load(state->skeleton);
	if (!error)
		error = fill_plans(state);
	if (error)
		return gt_load_failed(error, "cuda", diag);
	state->thread_exit = bpf_program__attach(state->skeleton->progs.thread_exit);
	if (state->thread_exit)
		state->process_exec = bpf_program__attach(state->skeleton->progs.process_exec);
	return state->process_exec ? 0 : gt_load_failed(-errno, "cuda", diag);
}

static void tell_library(const struct state *state, const struct gt_place *place, unsigned number,
			 size_t probes)
{
	struct gt_event_library *event =
		(void *)gt_event_new(GT_EVENT_library, place->path, strlen(place->path));

	if (!event)
		return;
	event->number = number;
	event->probes = probes;
	state->host->emit(state->host->session, &event->head);
	free(event);
}

static void tell_function(struct state *state, unsigned row)
{
	const char *name = gt_api_function(row)->name;
	struct gt_event_function *event;

	if (state->told[row])
		return;
	event = (void *)gt_event_new(GT_EVENT_function, name, strlen(name));
	if (!event)
		return;
	state->told[row] = true;
	event->number = row;
	state->host->emit(state->host->session, &event->head);
	free(event);
}

typedef GT_VEC(struct gt_site) site_list;

static int compare_sites(const void *a, const void *b)
{
	const struct gt_site *left = a, *right = b;

	if (left->offset != right->offset)
		return left->offset < right->offset ? -1 : 1;
	return strcmp(left->name, right->name);
}

/* Several names of one place in the file are one site. */
static void drop_twins(site_list *sites)
{
	size_t kept = 0;

	qsort(sites->items, sites->count, sizeof(*sites->items), compare_sites);
	for (size_t i = 0; i < sites->count; i++)
		if (!kept || sites->items[i].offset != sites->items[kept - 1].offset)
			sites->items[kept++] = sites->items[i];
	sites->count = kept;
}

/* The driver's calls are left out inside the runtime's, unless all layers were asked for. */
static uint64_t cookie_flags(const struct state *state, const struct gt_place *place, int row,
			     const char *symbol)
{
	bool runtime = gt_place_is_runtime(place);
	uint64_t flags = runtime ? GT_COOKIE_RUNTIME : 0;

	if (gt_place_is_above(place))
		flags |= GT_COOKIE_LIBRARY;
	if (!state->selected[row])
		flags |= GT_COOKIE_ASIDE;
	else if (gt_place_is_driver(place) && !state->host->verbose)
		flags |= GT_COOKIE_ONLY_OUTERMOST;
	return flags | (gt_api_is_per_thread(symbol) ? GT_COOKIE_PER_THREAD : 0);
}

/* What was asked for, and what tells of kernels and devices. */
static bool is_attached(const struct state *state, const struct gt_place *place, int row)
{
	const struct gt_api_function *function = gt_api_function(row);

	return function && !strcmp(function->library, place->library) &&
	       (state->selected[row] || gt_api_tells(function));
}

static int collect_sites(struct state *state, const struct gt_place *place, unsigned number,
			 struct gt_elf *elf, site_list *sites, struct gt_diag *diag)
{
	const struct gt_elf_symbol *symbols;
	size_t count;
	int error = gt_elf_symbols(elf, &symbols, &count, diag);

	for (size_t i = 0; i < count && !error; i++) {
		struct gt_site site = {.name = symbols[i].name, .offset = symbols[i].offset};
		int row = symbols[i].kind == GT_ELF_FUNCTION ? gt_api_find(symbols[i].name) : -1;

		if (row < 0 || !is_attached(state, place, row))
			continue;
		site.cookie = GT_COOKIE((uint64_t)row, number,
					cookie_flags(state, place, row, symbols[i].name));
		error = gt_vec_push(sites, site);
	}
	if (error)
		return gt_diag(diag, error, "cuda", place->path, "%s", strerror(-error));
	if (sites->count)
		drop_twins(sites);
	return 0;
}

static void tell_refused(void *context, const struct gt_site *site, int error)
{
	struct state *state = context;

	state->host->note(state->host->session, "no probe on %s: %s", site->name, strerror(-error));
}

static int attach_sites(struct state *state, struct gt_place *place, unsigned number,
			const site_list *sites, struct gt_diag *diag)
{
	struct gt_attachment *attachment;
	int error;

	for (size_t i = 0; i < sites->count; i++)
		tell_function(state, (uint32_t)sites->items[i].cookie);
	state->wanted += sites->count;
	error = gt_attach(place->path, sites->items, sites->count, state->multi,
			  state->skeleton->progs.call_entry, state->skeleton->progs.call_return,
			  tell_refused, state, &attachment, diag);
	if (error)
		return error;
	state->attached += gt_attachment_count(attachment);
	tell_library(state, place, number, gt_attachment_count(attachment));
	error = gt_vec_push(&state->attachments, attachment);
	if (error) {
		gt_detach(attachment);
		return gt_diag(diag, error, "cuda", place->path, "out of memory");
	}
	return 0;
}

static int attach_place(struct state *state, unsigned number, struct gt_diag *diag)
{
	struct gt_place *place = &state->places.found.items[number - 1];
	gt_auto(elf) struct gt_elf *elf = NULL;
	site_list sites = {0};
	int error = gt_elf_open(place->path, &elf, diag);

	if (!error)
		error = collect_sites(state, place, number, elf, &sites, diag);
	if (!error && sites.count)
		error = attach_sites(state, place, number, &sites, diag);
	gt_vec_free(&sites);
	return error;
}

/* Attaches what was found since the last time. One file that refuses does not stop the others. */
static int attach_found(struct state *state, struct gt_diag *diag)
{
	int error = 0;

	while (state->attached_places < state->places.found.count) {
		struct gt_diag why = {0};
		unsigned number = ++state->attached_places;

		error = attach_place(state, number, &why);
		if (error == -EPERM || error == -EACCES || error == -ENOMEM)
			return gt_diag(diag, error, why.stage, why.place, "%s", why.text);
		if (error)
			state->host->note(state->host->session, "%s: %s", why.place, why.text);
	}
	return 0;
}

static int tell_nothing_found(struct state *state, struct gt_diag *diag)
{
	const char *refusals = gt_strbuf_string(&state->places.refusals);
	const struct gt_host *host = state->host;

	if (host->target->path)
		/* It was looked at first, and of what it loads nothing was found, either. */
		return gt_diag(diag, -ENOENT, "find", NULL,
			       "%.*s; name a library such as libcudart.so.13 or libcuda.so.1, or "
			       "a program that uses one",
			       (int)strcspn(refusals, "\n"), refusals);
	host->note(host->session,
		   "nothing to attach to so far: no libcudart, no libcuda, no runtime inside the "
		   "program; waiting for one to be loaded%s%s",
		   host->verbose && *refusals ? "; looked at:\n" : "",
		   host->verbose ? refusals : "");
	return 0;
}

static const struct gt_place *find_driver(const struct gt_places *places)
{
	gt_vec_each (place, &places->found)
		if (gt_place_is_driver(place))
			return place;
	return NULL;
}

static bool have_guessed_runtime(const struct gt_places *places)
{
	gt_vec_each (place, &places->found)
		if (gt_place_is_runtime(place) && place->guessed)
			return true;
	return false;
}

/*
 * A static program without symbols, say: its calls are seen one layer lower. A program with
 * symbols may still open a runtime that was found for this case.
 */
static void tell_fallback(struct state *state)
{
	const struct gt_places *places = &state->places;
	const struct gt_place *driver = find_driver(places);

	if (!driver || gt_places_have_runtime(places) || state->host->target->path ||
	    state->host->function_count || (have_guessed_runtime(places) && !places->stripped))
		return;
	state->host->note(state->host->session,
			  "no CUDA runtime was found in the program or what it loads (%s); tracing "
			  "the driver API in %s instead",
			  places->stripped ? "it is stripped: one inside would not be seen"
					   : "no libcudart, and none inside",
			  driver->path);
}

static int find_and_attach(struct state *state, struct gt_diag *diag)
{
	uint64_t start = now_ns();
	int error = gt_places_find(&state->places, state->host->target, diag);

	if (error)
		return error;
	tell_fallback(state);
	error = attach_found(state, diag);
	if (error)
		return error;
	if (state->host->verbose)
		state->host->note(state->host->session, "attached %zu of %zu in %.1f ms by %s",
				  state->attached, state->wanted, (now_ns() - start) / 1e6,
				  state->multi ? "uprobe_multi" : "perf events");
	return state->attached ? 0 : tell_nothing_found(state, diag);
}

static int calls_open(const struct gt_host *host, void **ret_state, struct gt_diag *diag)
{
	gt_auto(state) struct state *state = calloc(1, sizeof(*state));
	struct gt_diag why = {0};
	int error;

	if (!state)
		return gt_diag(diag, -ENOMEM, "cuda", NULL, "out of memory");
	state->host = host;
	state->places.groups = host->groups;
	state->selected = calloc(gt_api_count(), sizeof(bool));
	state->told = calloc(gt_api_count(), sizeof(bool));
	state->seen = gt_map_new();
	if (!state->selected || !state->told || !state->seen)
		return gt_diag(diag, -ENOMEM, "cuda", NULL, "out of memory");
	error = select_functions(state, diag);
	if (!error)
		error = choose_way(state, diag);
	if (!error)
		error = load_programs(state, diag);
	if (error)
		return error;
	/* Before the search, so that nothing is mapped between the two unseen. */
	if (gt_watch_open(&state->watch, &why))
		host->note(host->session, "%s", why.text);
	error = find_and_attach(state, diag);
	if (error)
		return error;
	state->skeleton->bss->phase = GT_PHASE_TRACING;
	*ret_state = gt_take(state);
	return 0;
}

/*
 * By which path gputap reaches a file that a process just mapped. Its own path first: the one
 * through /proc goes away with the process. Some file systems give another device to stat(2)
 * than to the mapping (btrfs, overlayfs): those go through /proc.
 */
static int reach(const struct gt_new_mapping *mapping, struct gt_strbuf *path)
{
	struct stat status;

	gt_strbuf_clear(path);
	gt_strbuf_puts(path, mapping->path);
	if (!stat(mapping->path, &status) && status.st_ino == mapping->inode &&
	    status.st_dev == mapping->device)
		return 0;
	gt_strbuf_clear(path);
	gt_strbuf_printf(path, "/proc/%d/root%s", mapping->pid, mapping->path);
	if (!stat(gt_strbuf_string(path), &status) && status.st_ino == mapping->inode)
		return 0;
	return -ENOENT;
}

/* Tells where a file is mapped, so that addresses in it get names. */
static void tell_mapping(const struct state *state, const struct gt_new_mapping *mapping)
{
	gt_auto_strbuf path = GT_STRBUF_INIT;
	struct gt_event_mapping *event;

	if (!state->host->mappings || mapping->path[0] != '/' ||
	    !state->host->knows(state->host->session, mapping->pid) || reach(mapping, &path))
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
	state->host->emit(state->host->session, &event->head);
	free(event);
}

/* Whether a mapping is worth a look: a library by its name, or any file of a named process. */
static bool is_candidate(const struct state *state, const struct gt_new_mapping *mapping)
{
	const struct gt_host *host = state->host;
	const char *slash = strrchr(mapping->path, '/');
	uint64_t identity[2] = {mapping->device, mapping->inode};

	if (!slash || host->target->path || !host->knows(host->session, mapping->pid))
		return false;
	if (!host->filter.by_process && !gt_api_library_of(slash + 1))
		return false;
	if (gt_map_get(state->seen, identity, sizeof(identity)))
		return false;
	gt_map_set(state->seen, identity, sizeof(identity), state->seen);
	return true;
}

/* A file was mapped: if it has functions that nobody looked at, probes go there now. */
static void take_mapping(void *context, const struct gt_new_mapping *mapping)
{
	struct state *state = context;
	gt_auto_strbuf path = GT_STRBUF_INIT;
	size_t attached = state->attached;
	struct gt_diag diag = {0};

	tell_mapping(state, mapping);
	if (!is_candidate(state, mapping) || reach(mapping, &path) ||
	    gt_places_look(&state->places, gt_strbuf_string(&path), state->host->filter.by_process,
			   &diag) <= 0)
		return;
	if (attach_found(state, &diag))
		state->host->note(state->host->session, "%s: %s", diag.place, diag.text);
	else if (state->attached > attached)
		state->host->note(state->host->session,
				  "%s was mapped by process %d %.1f ms before its probes were in "
				  "place: calls in between are not seen",
				  mapping->path, mapping->pid, (now_ns() - mapping->time) / 1e6);
}

static int calls_wait_on(void *opaque)
{
	struct state *state = opaque;

	return state->watch ? gt_watch_fd(state->watch) : -1;
}

static void calls_poll(void *opaque)
{
	struct state *state = opaque;

	if (state->watch)
		gt_watch_poll(state->watch, take_mapping, state);
}

/* Runs the iterator over all threads: it ends the calls that have not returned. */
static void end_unfinished_calls(struct state *state)
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

/* Silence is explained: where probes were, and why there were none in what was looked at first. */
static void tell_silence(const struct state *state)
{
	const char *refusals = gt_strbuf_string(&state->places.refusals);
	const struct gt_host *host = state->host;
	gt_auto_strbuf probed = GT_STRBUF_INIT;
	struct gt_call_counts sums = {0};

	gt_load_sum_counters(bpf_map__fd(state->skeleton->maps.counts), &sums,
			     sizeof(sums) / sizeof(__u64));
	if (sums.made || sums.orphans || !state->attached)
		return;
	gt_vec_each (place, &state->places.found)
		gt_strbuf_printf(&probed, "%s%s", probed.length ? ", " : "", place->path);
	if (!*refusals || (gt_target_is_all(host->target) && !host->target->path))
		host->note(host->session, "no call was seen; the probes were in %s",
			   gt_strbuf_string(&probed));
	else
		host->note(host->session,
			   "no call was seen; the probes were in %s, and none in %.*s",
			   gt_strbuf_string(&probed), (int)strcspn(refusals, "\n"), refusals);
}

static void calls_detach(void *opaque)
{
	struct state *state = opaque;

	state->skeleton->bss->phase = GT_PHASE_ENDING;
	calls_poll(state); /* what was mapped last is told, even if its calls are missed */
	gt_watch_close(gt_take(state->watch));
	gt_vec_each (attachment, &state->attachments)
		gt_detach(*attachment);
	gt_vec_free(&state->attachments);
	end_unfinished_calls(state);
	tell_silence(state);
}

static void calls_count(void *opaque, struct gt_counts *counts)
{
	struct state *state = opaque;
	struct gt_call_counts sums = {0};

	gt_load_sum_counters(bpf_map__fd(state->skeleton->maps.counts), &sums,
			     sizeof(sums) / sizeof(__u64));
	counts->made += sums.made;
	counts->unfinished += sums.unfinished;
	counts->lost += sums.lost;
	counts->filtered += sums.filtered;
	counts->orphans += sums.orphans;
	counts->marks_lost += sums.marks_lost;
	counts->others_lost += sums.others_lost;
}

#define CALLS_SOURCE(what, text)                                                                   \
	const struct gt_source gt_source_##what = {                                                \
		.name = #what,                                                                     \
		.summary = text,                                                                   \
		.needs = "uprobes and BTF of the kernel; root, or CAP_BPF and CAP_PERFMON with "   \
			 "Linux 6.6",                                                              \
		.group = #what,                                                                    \
		.check = gt_load_check,                                                            \
		.open = calls_open,                                                                \
		.wait_on = calls_wait_on,                                                          \
		.poll = calls_poll,                                                                \
		.detach = calls_detach,                                                            \
		.count = calls_count,                                                              \
		.close = calls_close,                                                              \
	}

CALLS_SOURCE(cuda, "calls of the CUDA runtime and driver APIs");
CALLS_SOURCE(cublas, "main calls of cuBLAS and cuBLASLt (linear algebra)");
CALLS_SOURCE(cudnn, "main calls of cuDNN (neural networks)");
CALLS_SOURCE(nccl, "main calls of NCCL (communication between GPUs)");
