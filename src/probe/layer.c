/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "probe/layer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "base/clock.h"
#include "event/kinds.h"
#include "probe/cost.h"
#include "probe/kernel_symbol.h"
#include "probe/kernel_types.h"
#include "probe/layer_counts.h"
#include "probe/layer_missing.h"
#include "probe/load.h"
#include "probe/module_events.h"

struct gt_layer_state {
	const struct gt_layer *layer;
	const struct gt_host *host; /* NULL: it is only checked what works here */
	struct gt_kernel_types *types;
	struct bpf_object *object;
	struct gt_hook_state *hooks;   /* as many as the layer has */
	bool has_symbols;              /* they were looked up */
	bool no_trampolines;           /* of functions: they cannot be loaded or attached */
	bool whole_types;              /* it is relocated by the whole BTF of the kernel */
	struct gt_layer_counts before; /* the counts of objects that were replaced */
	int module_events;
	struct {
		void *data;
		int fd;
		uint64_t emitted;
	} extra;
	int wait_on; /* an epoll set of both descriptors; -1: there is only that of modules */
	bool detached;
};

/* ---- loading ------------------------------------------------------------------------------ */

static bool can_attach_trace_events(void)
{
	return !access("/sys/kernel/tracing/events", R_OK) ||
	       !access("/sys/kernel/debug/tracing/events", R_OK);
}

/* Only for sources for which it matters, and where something can be done about it. */
static bool is_preemptible(const struct gt_layer *layer, struct gt_kernel_types *types)
{
	for (size_t i = 0; i < layer->hook_count; i++)
		if (gt_hook_depends_on_preemption(&layer->hooks[i]))
			return can_attach_trace_events() &&
			       gt_kernel_types_have_preemptible_tracepoints(types);
	return false;
}

/* What decides which programs are loaded. */
struct layer_loading {
	bool trampolines; /* those of entries and exits of functions (fentry, fexit) are */
	bool preemptible; /* is_preemptible() */
	struct gt_kernel_types *types;
};

static bool has_trampoline(const struct gt_hook *hook)
{
	return hook->kind == GT_HOOK_TYPED_ENTRY || hook->kind == GT_HOOK_EXIT;
}

static bool is_typed(const struct gt_hook *hook)
{
	return has_trampoline(hook) || hook->kind == GT_HOOK_BTF_TRACEPOINT;
}

/*
 * Whether the kernel's BTF has what a program with typed arguments is attached to: a function, or
 * the type of a tracepoint.
 */
static bool has_typed_point(const struct gt_hook *hook, const struct layer_loading *how)
{
	char name[128];

	if (has_trampoline(hook))
		return gt_kernel_types_has_function(how->types, hook->point);
	snprintf(name, sizeof(name), "btf_trace_%s", hook->point);
	return gt_kernel_types_has_typedef(how->types, name);
}

/*
 * Programs whose attachment point is known at loading must not be loaded where it is missing, nor
 * those that read types of a module that is not loaded.
 */
static bool is_loadable(const struct gt_hook *hook, const struct layer_loading *how)
{
	if ((has_trampoline(hook) && !how->trampolines) || gt_hook_waits_for_module(hook) ||
	    (gt_hook_depends_on_preemption(hook) && how->preemptible == hook->unless_preemptible) ||
	    (hook->can_load && !hook->can_load(how->types)))
		return false;
	return !is_typed(hook) || has_typed_point(hook, how);
}

static const struct gt_hook *find_hook(const struct gt_layer *layer, const char *program)
{
	for (size_t i = 0; i < layer->hook_count; i++)
		if (!strcmp(layer->hooks[i].program, program))
			return &layer->hooks[i];
	return NULL;
}

/* A program in place of a trampoline's is not, where that one is. */
static bool is_loaded(const struct gt_layer *layer, const struct gt_hook *hook,
		      const struct layer_loading *how)
{
	const struct gt_hook *first =
		hook->fallback_of ? find_hook(layer, hook->fallback_of) : NULL;

	return is_loadable(hook, how) &&
	       !(first && has_trampoline(first) && is_loadable(first, how));
}

static int select_programs(const struct gt_layer *layer, struct bpf_object *object,
			   const struct layer_loading *how, struct gt_diag *diag)
{
	int error = 0;

	for (size_t i = 0; i < layer->hook_count && !error; i++) {
		const struct gt_hook *hook = &layer->hooks[i];
		struct bpf_program *program =
			bpf_object__find_program_by_name(object, hook->program);

		if (program)
			bpf_program__set_autoload(program, is_loaded(layer, hook, how));
		else
			error = gt_diag(diag, -ENOENT, layer->name, NULL,
					"the BPF object has no program %s", hook->program);
	}
	return error;
}

static struct layer_loading how_to_load(const struct gt_layer_state *state)
{
	return (struct layer_loading){.trampolines = !state->no_trampolines,
				      .preemptible = is_preemptible(state->layer, state->types),
				      .types = state->types};
}

static int set_sample_rates(const struct gt_layer *layer, const struct gt_host *host,
			    struct bpf_object *object, struct gt_diag *diag)
{
	uint64_t rates[GT_MAX_SAMPLED] = {0};

	if (!layer->sampled_count)
		return 0;
	for (size_t i = 0; i < layer->sampled_count; i++) {
		double rate = gt_sample_rate(&host->options->sample, &layer->sampled[i]);

		rates[i] = (uint64_t)(rate * (double)GT_SAMPLE_ALL + 0.5);
	}
	return gt_load_set_constant(object, "sample_rates", rates, sizeof(rates), diag);
}

static int configure_object(struct gt_layer_state *state, struct gt_diag *diag)
{
	const struct gt_layer *layer = state->layer;
	struct bpf_object *object = state->object;
	const struct gt_host *host = state->host;
	const struct layer_loading how = how_to_load(state);
	const __u8 preemptible = how.preemptible;
	int error = select_programs(layer, object, &how, diag);

	if (!error && preemptible)
		error = gt_load_set_constant(object, "has_preemptible_tracepoints", &preemptible,
					     sizeof(preemptible), diag);
	if (error || !host)
		return error;
	error = gt_load_set_constant(object, "filter", &host->filter, sizeof(host->filter), diag);
	if (!error)
		error = gt_load_set_constant(object, "wakeup_bytes", &host->wakeup_bytes,
					     sizeof(host->wakeup_bytes), diag);
	if (!error)
		error = gt_load_shared_maps(bpf_object__find_map_by_name(object, "events"),
					    bpf_object__find_map_by_name(object, "processes"), host,
					    diag);
	if (!error)
		error = set_sample_rates(layer, host, object, diag);
	if (!error && layer->prepare)
		error = layer->prepare(host, object, diag);
	return error;
}

/* -Exxx without a message: the kernel rejects the programs. */
static int load_object(struct gt_layer_state *state, struct gt_diag *diag)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = state->layer->name);
	size_t size;
	const void *elf = state->layer->object(&size);
	int error;

	if (!state->whole_types)
		options.btf_custom_path = gt_kernel_types_for(state->types, elf);
	state->whole_types = !options.btf_custom_path;

	bpf_object__close(state->object);
	state->object = bpf_object__open_mem(elf, size, &options);
	if (!state->object)
		return gt_diag(diag, -errno, state->layer->name, NULL,
			       "the BPF object cannot be opened: %s", strerror(errno));
	error = configure_object(state, diag);
	return error ? error : bpf_object__load(state->object);
}

/* Kernels without trampolines of functions reject these programs when they are loaded. */
static int load(struct gt_layer_state *state, struct gt_diag *diag)
{
	int error = load_object(state, diag);

	if (error && !gt_diag_is_set(diag) && !state->no_trampolines) {
		state->no_trampolines = true;
		error = load_object(state, diag);
	}
	/* Should a part of the types be the reason, as of a module that is loaded just now. */
	if (error && !gt_diag_is_set(diag) && !state->whole_types) {
		state->whole_types = true;
		error = load_object(state, diag);
	}
	if (error && !gt_diag_is_set(diag))
		return gt_load_failed(error, state->layer->name, diag);
	return error;
}

/* ---- attaching ---------------------------------------------------------------------------- */

static bool is_of_function(const struct gt_hook *hook)
{
	return hook->kind == GT_HOOK_ENTRY || hook->kind == GT_HOOK_RETURN;
}

/* All at once. */
static int find_symbols(struct gt_layer_state *state)
{
	size_t count = state->layer->hook_count;
	gt_autofree const char **functions = calloc(count, sizeof(*functions));
	gt_autofree char **symbols = calloc(count, sizeof(*symbols));
	int error;

	if (!functions || !symbols)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (is_of_function(&state->layer->hooks[i]) && !state->hooks[i].link)
			functions[i] = state->layer->hooks[i].point;
	error = gt_kernel_symbols_find(gt_kernel_types_symbols(state->types), functions, count,
				       symbols);
	for (size_t i = 0; i < count; i++)
		state->hooks[i].symbol = symbols[i];
	state->has_symbols = !error;
	return error;
}

static void forget_symbols(struct gt_layer_state *state)
{
	state->has_symbols = false;
	for (size_t i = 0; i < state->layer->hook_count; i++) {
		free(state->hooks[i].symbol);
		state->hooks[i].symbol = NULL;
	}
}

/* By its exact name; the kernel's symbols are searched only for one with a compiler's suffix. */
static struct bpf_link *attach_function(struct gt_layer_state *state, struct bpf_program *program,
					size_t index)
{
	const struct gt_hook *hook = &state->layer->hooks[index];
	const bool is_return = hook->kind == GT_HOOK_RETURN;
	struct bpf_link *link = bpf_program__attach_kprobe(program, is_return, hook->point);
	int error;

	if (link || errno != ENOENT)
		return link;
	error = state->has_symbols ? 0 : find_symbols(state);
	if (!error && state->hooks[index].symbol)
		return bpf_program__attach_kprobe(program, is_return, state->hooks[index].symbol);
	errno = error ? -error : ENOENT;
	return NULL;
}

static struct bpf_link *attach_trace_event(struct bpf_program *program, const struct gt_hook *hook)
{
	const char *name = strchr(hook->point, '/');
	gt_autofree char *group = name ? strndup(hook->point, name - hook->point) : NULL;

	if (group)
		return bpf_program__attach_tracepoint(program, group, name + 1);
	errno = ENOMEM;
	return NULL;
}

static void attach_hook(struct gt_layer_state *state, size_t index)
{
	const struct gt_hook *hook = &state->layer->hooks[index];
	struct gt_hook_state *at = &state->hooks[index];
	struct bpf_program *program =
		bpf_object__find_program_by_name(state->object, hook->program);

	if (at->link)
		return;
	at->error = 0;
	if (bpf_program__fd(program) < 0)
		at->error = -ENOENT;
	else if (hook->kind == GT_HOOK_TRACEPOINT)
		at->link = bpf_program__attach_raw_tracepoint(program, hook->point);
	else if (hook->kind == GT_HOOK_TRACE_EVENT)
		at->link = attach_trace_event(program, hook);
	else if (is_of_function(hook))
		at->link = attach_function(state, program, index);
	else
		at->link = bpf_program__attach_trace(program);
	if (!at->link && !at->error)
		at->error = -errno;
	at->was_attached = at->link;
}

/* In the order of the table: a fallback follows the hook that it may replace. */
static void attach_all(struct gt_layer_state *state)
{
	for (size_t i = 0; i < state->layer->hook_count; i++)
		if (!gt_hook_is_superseded(state->layer, state->hooks, &state->layer->hooks[i]))
			attach_hook(state, i);
	forget_symbols(state);
}

/* Whether a program was loaded for a trampoline and could not be attached, so that the one in its
 * place was not loaded. */
static bool lacks_trampoline(const struct gt_layer_state *state)
{
	for (size_t i = 0; i < state->layer->hook_count && !state->no_trampolines; i++) {
		const char *first = state->layer->hooks[i].fallback_of;
		const struct gt_hook *hook = first ? find_hook(state->layer, first) : NULL;
		const struct gt_hook_state *at =
			first ? gt_hook_state_of(state->layer, state->hooks, first) : NULL;

		if (hook && has_trampoline(hook) && at->error && at->error != -ENOENT)
			return true;
	}
	return false;
}

/* ---- counts ------------------------------------------------------------------------------- */

static struct gt_layer_counts sum_counts(const struct gt_layer_state *state)
{
	struct gt_layer_counts sums = state->before;

	gt_layer_add_counts(state->layer, state->hooks, state->object, &sums);
	return sums;
}

/* ---- replacing the object ----------------------------------------------------------------- */

/* The first of the table last: what others rely on. */
static void detach_hooks(struct gt_layer_state *state)
{
	for (size_t i = state->layer->hook_count; i--;) {
		bpf_link__destroy(state->hooks[i].link);
		state->hooks[i].link = NULL;
	}
}

/*
 * Load the object again, in the place of the present one, to attach programs that were not loaded.
 * What the maps of the old one remember of unfinished operations is lost.
 */
static int replace_object(struct gt_layer_state *state, struct gt_diag *diag)
{
	struct bpf_object *old = state->object, *new;
	int error;

	state->object = NULL;
	error = load(state, diag);
	if (!error && state->layer->start && state->host)
		error = state->layer->start(state->host, state->object, diag);
	new = state->object;
	state->object = old;
	if (error) {
		bpf_object__close(new);
		return error;
	}
	detach_hooks(state);
	state->before = sum_counts(state);
	bpf_object__close(old);
	state->object = new;
	return 0;
}

static void note_failure(const struct gt_layer_state *state, const struct gt_diag *diag)
{
	if (state->host)
		gt_event_queue_note(state->host->events, "%s: %s", state->layer->name, diag->text);
}

/* Where a trampoline cannot be attached, the source uses none. */
static void attach_hooks(struct gt_layer_state *state)
{
	struct gt_diag diag = {0};

	attach_all(state);
	if (!lacks_trampoline(state))
		return;
	state->no_trampolines = true;
	if (replace_object(state, &diag))
		note_failure(state, &diag);
	else
		attach_all(state);
}

/* ---- the source --------------------------------------------------------------------------- */

static struct gt_layer_state *new_state(const struct gt_layer *layer, const struct gt_host *host,
					struct gt_kernel_types *types)
{
	struct gt_layer_state *state = calloc(1, sizeof(*state));

	if (!state)
		return NULL;
	state->layer = layer;
	state->host = host;
	state->types = types;
	state->module_events = state->extra.fd = state->wait_on = -1;
	state->hooks = calloc(layer->hook_count, sizeof(*state->hooks));
	if (state->hooks)
		return state;
	free(state);
	return NULL;
}

void gt_layer_close(void *opaque)
{
	struct gt_layer_state *state = opaque;

	if (!state)
		return;
	gt_layer_detach(state);
	bpf_object__close(state->object);
	if (state->module_events >= 0)
		close(state->module_events);
	if (state->wait_on >= 0)
		close(state->wait_on);
	if (state->extra.data)
		state->layer->extra->close(state->extra.data);
	free(state->hooks);
	free(state);
}
GT_DEFINE_AUTO(layer, struct gt_layer_state, gt_layer_close)

void gt_layer_missing(void *opaque, struct gt_strbuf *text)
{
	const struct gt_layer_state *state = opaque;

	gt_layer_put_missing(state->layer, state->hooks, text);
}

int gt_layer_check(const struct gt_layer *layer, struct gt_kernel_types *types,
		   struct gt_diag *diag)
{
	gt_auto(layer) struct gt_layer_state *state = new_state(layer, NULL, types);
	gt_auto_strbuf missing = GT_STRBUF_INIT, optional = GT_STRBUF_INIT;
	int error = state ? gt_load_check(diag) : -ENOMEM;

	if (!error)
		error = load(state, diag);
	if (error)
		return error;
	attach_hooks(state);
	gt_layer_put_missing(state->layer, state->hooks, &missing);
	if (missing.length)
		return gt_diag(diag, -ENOENT, layer->name, NULL, "%s", gt_strbuf_string(&missing));
	gt_layer_put_optional(state->layer, state->hooks, &optional);
	return optional.length
		       ? gt_diag(diag, 0, layer->name, NULL, "%s", gt_strbuf_string(&optional))
		       : 0;
}

/* With -e all, what is missing is said with -v only. */
static bool is_wanted_by_name(const struct gt_layer_state *state)
{
	const struct gt_trace_options *options = state->host->options;

	gt_vec_each (name, &options->sources.words)
		if (!strcmp(*name, state->layer->name))
			return true;
	return options->verbose;
}

/* Say what the session will not show. Nothing at all is an error, unless a module may come. */
static int report_missing(struct gt_layer_state *state, struct gt_diag *diag)
{
	gt_auto_strbuf missing = GT_STRBUF_INIT;
	size_t attached = gt_layer_put_missing(state->layer, state->hooks, &missing);

	if (!attached && !state->extra.emitted &&
	    !gt_layer_waits_for_modules(state->layer, state->hooks))
		return gt_diag(diag, -ENOENT, state->layer->name, NULL,
			       "%s: this kernel has none of its events: %s", state->layer->name,
			       gt_strbuf_string(&missing));
	if (missing.length && is_wanted_by_name(state))
		gt_event_queue_note(state->host->events, "%s: %s%s", state->layer->name,
				    gt_strbuf_string(&missing),
				    gt_layer_waits_for_modules(state->layer, state->hooks)
					    ? " (events are shown once it is)"
					    : "");
	return 0;
}

/* Without the set, the events of the extra part are those of the start. */
static int open_extra(struct gt_layer_state *state, struct gt_diag *diag)
{
	const struct gt_layer_extra *extra = state->layer->extra;
	struct epoll_event event = {.events = EPOLLIN};
	int error = extra ? extra->open(state->host, &state->extra.data, &state->extra.fd,
					&state->extra.emitted)
			  : 0;

	if (error)
		return gt_diag(diag, error, state->layer->name, NULL, "out of memory");
	if (state->extra.fd < 0)
		return 0;
	state->wait_on = epoll_create1(EPOLL_CLOEXEC);
	if (state->wait_on < 0)
		return 0;
	epoll_ctl(state->wait_on, EPOLL_CTL_ADD, state->extra.fd, &event);
	if (state->module_events >= 0)
		epoll_ctl(state->wait_on, EPOLL_CTL_ADD, state->module_events, &event);
	return 0;
}

int gt_layer_open(const struct gt_layer *layer, const struct gt_host *host, void **ret_state,
		  struct gt_diag *diag)
{
	gt_auto(layer) struct gt_layer_state *state = new_state(layer, host, host->types);
	int error;

	if (!state)
		return gt_diag(diag, -ENOMEM, layer->name, NULL, "out of memory");
	error = load(state, diag);
	if (!error && layer->start)
		error = layer->start(host, state->object, diag);
	if (error)
		return error;
	/* Before the first attempt, so that no module is missed between the two. */
	state->module_events = gt_module_events_open();
	attach_hooks(state);
	error = open_extra(state, diag);
	if (!error)
		error = report_missing(state, diag);
	if (!error)
		*ret_state = gt_take(state);
	return error;
}

int gt_layer_wait_on(void *opaque)
{
	const struct gt_layer_state *state = opaque;

	return state->wait_on >= 0 ? state->wait_on : state->module_events;
}

void gt_layer_detach(void *opaque)
{
	struct gt_layer_state *state = opaque;

	bool first = !state->detached;

	state->detached = true;
	detach_hooks(state);
	if (first && state->extra.data)
		state->extra.emitted +=
			state->layer->extra->poll(state->extra.data, state->object, true);
	/* The session reads the ring after this. */
	if (first && state->layer->finish && state->host && state->object)
		state->layer->finish(state->host, state->object);
}

/* Whether a program was not loaded for want of a module that has been loaded since. */
static bool is_late_loadable(const struct gt_layer_state *state)
{
	const struct layer_loading how = how_to_load(state);
	bool found = false;

	for (size_t i = 0; i < state->layer->hook_count && !found; i++) {
		const struct gt_hook *hook = &state->layer->hooks[i];
		const struct bpf_program *program =
			bpf_object__find_program_by_name(state->object, hook->program);

		found = hook->module && bpf_program__fd(program) < 0 &&
			is_loaded(state->layer, hook, &how);
	}
	return found;
}

void gt_layer_poll(void *opaque)
{
	struct gt_layer_state *state = opaque;
	struct gt_diag diag = {0};

	if (state->extra.data)
		state->extra.emitted +=
			state->layer->extra->poll(state->extra.data, state->object, false);
	if (state->module_events < 0 || state->detached ||
	    !gt_module_events_read(state->module_events))
		return;
	if (is_late_loadable(state) && replace_object(state, &diag))
		note_failure(state, &diag);
	attach_hooks(state);
}

void gt_layer_collect(void *opaque)
{
	struct gt_layer_state *state = opaque;
	const struct gt_layer_counts sums = sum_counts(state);
	struct gt_event_totals *event = (void *)gt_event_new(GT_EVENT_totals, state->layer->name,
							     strlen(state->layer->name));

	if (event) {
		event->head.time = gt_clock_monotonic();
		event->recorded = sums.recorded + state->extra.emitted;
		event->lost = sums.lost;
		event->unsampled = sums.unsampled;
		event->evicted = sums.evicted;
		event->unattributed = sums.unattributed;
	}
	gt_event_queue_push(state->host->events, event ? &event->head : NULL);
}

void gt_layer_count(void *opaque, struct gt_counts *counts)
{
	const struct gt_layer_counts sums = sum_counts(opaque);

	counts->others_lost += sums.lost + sums.names_lost;
}

void gt_layer_cost(void *opaque, struct gt_probe_cost *cost)
{
	const struct gt_layer_state *state = opaque;

	gt_probe_cost_add(state->object, cost);
}
