/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Opening a live session: maps, the command, sources, signals. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include <bpf/bpf.h>

#include "base/clock.h"
#include "names/machine.h"
#include "names/nvidia.h"
#include "probe/api/unwind.h"
#include "probe/api/unwind_maps.h"
#include "probe/kernel_types.h"
#include "probe/load.h"
#include "probe/python/find.h"
#include "probe/sample.h"
#include "session/event_ring.h"
#include "session/filter.h"
#include "session/live_private.h"
#include "session/processes.h"

/* Sources of the kernel's own events record no calls. */
static void emit_via(struct gt_live *live)
{
	struct gt_event_via event = {
		.head.time = gt_clock_monotonic(),
		.head.kind = GT_EVENT_via,
		.head.size = sizeof(event),
		.head.device = GT_DEVICE_UNKNOWN,
		.methods = live_is_via_agent(live) ? GT_CALLS_VIA_AGENT : GT_CALLS_VIA_KERNEL,
	};

	if (live->host.groups)
		gt_event_queue_copy(live->host.events, &event.head);
}

/* The software GPU has ordinals of its own. */
static void emit_device(struct gt_live *live)
{
	struct gt_event *event =
		live->options->gpu == GT_GPU_SOFT ? NULL : gt_nvidia_only_device("");

	if (event)
		gt_event_queue_push(live->host.events, event);
}

static int wait_for(struct gt_live *live, int fd, enum live_wait kind, size_t index,
		    struct gt_diag *diag)
{
	struct epoll_event event = {
		.events = EPOLLIN,
		.data.u64 = (uint64_t)kind << 32 | index,
	};

	if (epoll_ctl(live->epoll, EPOLL_CTL_ADD, fd, &event) < 0)
		return gt_diag(diag, -errno, "session", NULL, "epoll_ctl: %s", strerror(errno));
	return 0;
}

/* Interpreters are of interest where callers are recorded. */
static int make_map_of_pythons(struct gt_live *live, struct gt_diag *diag)
{
	int error;

	if (live->options->python == GT_PYTHON_OFF || live->options->stack == GT_STACK_NONE)
		return 0;
	error = gt_pythons_open(gt_pipeline_queue(live->pipeline), LIVE_MAX_PROCESSES,
				&live->pythons, diag);
	if (!error)
		gt_pipeline_find_pythons(live->pipeline, live->pythons);
	return error;
}

/* Unwinding rules in the kernel. */
static int make_unwind_maps(struct gt_live *live, struct gt_diag *diag)
{
	int error;

	if (live->options->stack != GT_STACK_MIXED)
		return 0;
	error = gt_unwind_maps_open(gt_pipeline_queue(live->pipeline), GT_UNWIND_MAX_ROWS,
				    &live->unwind_maps, diag);
	if (!error)
		gt_pipeline_fill_unwind_maps(live->pipeline, live->unwind_maps);
	return error;
}

static int make_maps(struct gt_live *live, struct gt_diag *diag)
{
	uint64_t limit =
		live->options->buffer_size ? live->options->buffer_size : GT_DEFAULT_BUFFER_SIZE;
	uint32_t size = 0;
	int error = gt_event_ring_create(live->options, &live->ring_fd, &size, diag);

	if (error)
		return error;
	live->processes_fd = bpf_map_create(BPF_MAP_TYPE_HASH, "gputap_procs", sizeof(__u32),
					    sizeof(__u8), LIVE_MAX_PROCESSES, NULL);
	if (live->processes_fd < 0)
		return gt_load_failed(-errno, "session", diag);
	error = make_map_of_pythons(live, diag);
	if (!error)
		error = make_unwind_maps(live, diag);
	if (error)
		return error;
	live->host.ring_fd = live->ring_fd;
	live->host.processes_fd = live->processes_fd;
	live->host.pythons = live->pythons;
	live->host.unwind_maps = live->unwind_maps;
	live->host.wakeup_bytes = size / 8;
	error = gt_event_reader_open(live->ring_fd, limit, &live->reader, diag);
	return error ? error : wait_for(live, gt_event_reader_fd(live->reader), WAIT_RING, 0, diag);
}

/* Whether files that the command maps later may get probes: held, they get them in time. */
static bool wants_hold(const struct gt_trace_options *options)
{
	return options->late != GT_LATE_WATCH && !options->path && options->via != GT_VIA_AGENT &&
	       gt_opened_groups(&options->sources);
}

/* Before maps and sources exist: processes that outlive gputap must not keep them. */
static int start_command(struct gt_live *live, struct gt_diag *diag)
{
	struct gt_session_command *command = &live->command;
	int error = gt_session_command_start(command, live->options, wants_hold(live->options),
					     live->host.events, diag);

	if (error)
		return error;
	live->host.command = command->child.pid;
	live->host.hold = command->hold;
	live->target.command = &command->files;
	live->target.loader = gt_loader_of_environment(command->environment.variables);
	return command->child.pidfd < 0 ? 0
					: wait_for(live, command->child.pidfd, WAIT_CHILD, 0, diag);
}

/* The session ends when all processes that were named have ended. */
static int watch_targets(struct gt_live *live, struct gt_diag *diag)
{
	for (size_t i = 0; i < live->options->process_count; i++) {
		int fd, error = gt_process_open(live->options->processes[i], &fd, diag);

		if (error)
			return error;
		error = gt_vec_push(&live->target_fds, fd);
		if (!error)
			error = wait_for(live, fd, WAIT_TARGET, i, diag);
		if (error)
			return error;
		live->targets_left++;
	}
	return 0;
}

/* Whether a source traces calls of an API. */
static bool is_of_api(const char *name)
{
	const struct gt_source *source = gt_source_find(name);

	return source && source->group;
}

/* Whether BPF programs are needed: not where the agent records all that is asked for. */
static bool needs_kernel(const struct gt_live *live)
{
	const struct gt_strings *sources = &live->options->sources;
	struct gt_diag why = {0};

	if (!live_is_via_agent(live))
		return true;
	gt_vec_each (name, &sources->words) {
		if (strcmp(*name, GT_ALL_SOURCES) ? !is_of_api(*name) : !gt_load_check(&why))
			return true;
	}
	return false;
}

static int open_source(struct gt_live *live, const char *name, struct gt_diag *diag)
{
	size_t index = live->sources.count;
	int error = live_is_via_agent(live) && is_of_api(name)
			    ? 0
			    : gt_opened_add(&live->sources, &live->host, name, diag);
	const struct gt_opened *opened;
	int fd;

	if (error || live->sources.count == index)
		return error;
	opened = &live->sources.items[index];
	/* Calls alone have an order by thread, which the ring keeps. */
	if (opened->source->layer && gt_pipeline_sort(live->pipeline))
		return gt_diag(diag, -ENOMEM, "session", NULL, "out of memory");
	fd = gt_opened_fd(opened);
	return fd < 0 ? 0 : wait_for(live, fd, WAIT_SOURCE, index, diag);
}

/* The reason without the name of the source in front, which the list has. */
static const char *skip_name(const char *reason, const char *name)
{
	size_t length = strlen(name);

	return strncmp(reason, name, length) || strncmp(reason + length, ": ", 2)
		       ? reason
		       : reason + length + 2;
}

static void list_source(struct gt_live *live, const struct gt_source *source, int error,
			const struct gt_diag *diag)
{
	gt_auto_strbuf missing = GT_STRBUF_INIT;
	const char *reason;
	struct gt_strbuf *list;

	if (error)
		gt_strbuf_puts(&missing, diag->text);
	else if (source->missing)
		gt_vec_each (opened, &live->sources)
			if (opened->source == source)
				source->missing(opened->state, &missing);
	reason = skip_name(gt_strbuf_string(&missing), source->name);
	list = missing.length ? &live->unavailable : &live->enabled;
	gt_strbuf_printf(list, "%s%s", list->length ? ", " : "", source->name);
	if (missing.length)
		gt_strbuf_printf(list, " (%.*s)", (int)strcspn(reason, ":;"), reason);
}

/* Each source that works here; why the others do not is a note with -v, and in 'gputap doctor'. */
static int open_all_sources(struct gt_live *live)
{
	size_t count;
	const struct gt_source *const *sources = gt_sources(&count);

	for (size_t i = 0; i < count; i++) {
		struct gt_diag diag = {0};
		int error;

		/* Without BPF programs there is no ring for them. */
		if (sources[i]->on_request || (!live->reader && strcmp(sources[i]->name, "nvml")))
			continue;
		error = open_source(live, sources[i]->name, &diag);
		if (error == -ENOMEM)
			return error;
		list_source(live, sources[i], error, &diag);
		if (error && live->options->verbose)
			gt_event_queue_note(live->host.events, "%s is not enabled: %s",
					    sources[i]->name, diag.text);
	}
	return 0;
}

static int open_sources(struct gt_live *live, struct gt_diag *diag)
{
	const struct gt_strings *sources = &live->options->sources;
	/* First the one that sees forks, so that no child of a target is missed. */
	int error = live->reader ? open_source(live, "process", diag) : 0;

	if (!error && live->options->process_count)
		error = gt_processes_add_trees(live->processes_fd, live->options->processes,
					       live->options->process_count, diag);
	for (size_t i = 0; i < sources->words.count && !error; i++)
		error = !strcmp(sources->words.items[i], GT_ALL_SOURCES)
				? open_all_sources(live)
				: open_source(live, sources->words.items[i], diag);
	if (!error && !sources->words.count)
		error = open_source(live, "cuda", diag);
	return error;
}

/* The kernel tests what it can of a condition, the pipeline the whole. */
static int prepare_condition(struct gt_live *live, struct gt_diag *diag)
{
	int error;

	if (!live->options->condition)
		return 0;
	error = gt_when_parse(live->options->condition, &live->when, diag);
	if (error)
		return error;
	live->host.conditions = live->conditions;
	if (live_is_via_agent(live)) {
		gt_pipeline_filter(live->pipeline, live->when);
		return 0;
	}
	if (!gt_when_kernel_part(live->when, live->conditions, &live->host.condition_count))
		gt_pipeline_filter(live->pipeline, live->when);
	return 0;
}

static void fill_host(struct gt_live *live)
{
	live->target.options = live->options;
	live->host.options = live->options;
	live->host.target = &live->target;
	live->host.groups = gt_opened_groups(&live->options->sources);
	live->host.events = gt_pipeline_queue(live->pipeline);
	live->host.named = gt_pipeline_processes(live->pipeline);
}

static struct gt_live *live_new(const struct gt_trace_options *options)
{
	struct gt_live *live = calloc(1, sizeof(*live));

	if (!live)
		return NULL;
	live->options = options;
	live->command = GT_SESSION_COMMAND_NONE;
	live->ring_fd = live->processes_fd = -1;
	live->signals = GT_SIGNALS_NONE;
	live->overhead.stats = -1;
	live->epoll = epoll_create1(EPOLL_CLOEXEC);
	live->pipeline = gt_pipeline_new(options);
	live->host.types = gt_kernel_types_new();
	return live;
}

/* Measure what the probes cost, and limit it. */
static int begin_overhead(struct gt_live *live, struct gt_diag *diag)
{
	const char *limit_text = live->options->max_overhead;
	double limit = 0;

	if (limit_text && !gt_budget_parse(limit_text, &limit))
		return gt_diag(diag, -EINVAL, "session", NULL,
			       "invalid value '%s' for --max-overhead (a percentage, such as 2%%)",
			       limit_text);
	/* Without BPF programs the kernel measures nothing. */
	live->overhead.start = live->start;
	if (live->reader)
		gt_overhead_begin(&live->overhead, &live->sources, limit_text, live->start);
	if (!limit_text)
		return 0;
	if (live->reader && live->overhead.denied)
		return gt_diag(diag, -EPERM, "session", NULL,
			       "--max-overhead needs the run times of BPF programs: run as root or "
			       "with CAP_SYS_ADMIN");
	live->reduce = gt_reduce_new(limit, &live->sources, live->options->companion, live->start);
	return live->reduce ? 0 : gt_diag(diag, -ENOMEM, "session", NULL, "out of memory");
}

int gt_live_open(const struct gt_trace_options *options, struct gt_live **ret_live,
		 struct gt_diag *diag)
{
	gt_auto(live) struct gt_live *live = live_new(options);
	int error;

	if (!live || live->epoll < 0 || !live->pipeline || !live->host.types)
		return gt_diag(diag, -ENOMEM, "session", NULL, "out of memory");
	gt_load_set_verbose(options->verbose);
	error = gt_sample_check(&options->sample, diag);
	if (!error)
		error = gt_filter_make(options, &live->host.filter, diag);
	if (!error)
		error = prepare_condition(live, diag);
	if (!error)
		error = watch_targets(live, diag);
	if (error)
		return error;
	fill_host(live);
	gt_event_queue_push(live->host.events, gt_machine_event(""));
	live_emit_clock(live);
	emit_via(live);
	emit_device(live);
	if (options->command && options->companion)
		error = wait_for(live, options->companion->fd, WAIT_COMPANION, 0, diag);
	if (!error && options->command)
		error = start_command(live, diag);
	if (!options->command)
		live->target.loader = gt_loader_of_environment(environ);
	if (!error && live_is_via_agent(live) && gt_pipeline_sort(live->pipeline))
		error = gt_diag(diag, -ENOMEM, "session", NULL, "out of memory");
	if (!error && needs_kernel(live))
		error = make_maps(live, diag);
	if (!error && options->command && live->reader)
		error = gt_processes_add(live->processes_fd, live->command.child.pid);
	if (!error)
		error = open_sources(live, diag);
	if (!error)
		error = gt_signals_take(&live->signals, options->command, diag);
	if (!error)
		error = wait_for(live, live->signals.fd, WAIT_SIGNAL, 0, diag);
	if (!error && live->reader)
		error = gt_event_reader_start(live->reader, diag);
	if (error)
		return error;
	live->start = gt_clock_monotonic();
	error = begin_overhead(live, diag);
	if (error)
		return error;
	*ret_live = gt_take(live);
	return 0;
}
