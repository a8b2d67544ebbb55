/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "session/live.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#include <bpf/bpf.h>

#include "base/clock.h"
#include "base/vec.h"
#include "names/machine.h"
#include "names/nvidia.h"
#include "probe/api/calls.h"
#include "probe/api/gaps.h"
#include "probe/api/unwind.h"
#include "probe/api/unwind_maps.h"
#include "probe/kernel_types.h"
#include "probe/load.h"
#include "probe/python/find.h"
#include "probe/sample.h"
#include "probe/target.h"
#include "session/command.h"
#include "session/companion.h"
#include "session/event_reader.h"
#include "session/event_ring.h"
#include "session/filter.h"
#include "session/opened.h"
#include "session/overhead.h"
#include "session/pipeline.h"
#include "session/processes.h"
#include "session/reduce.h"
#include "session/signals.h"
#include "session/when.h"

#define MAX_PROCESSES 65536             /* traced at a time */
#define MAX_IDLE_DELAY_NS 1000000000ull /* while records wait without end */
#define POLL_INTERVAL_MS 40             /* for `idle` and the duration */

struct gt_live {
	const struct gt_trace_options *options;
	struct gt_host host;
	struct gt_target target;
	struct gt_session_command command;
	struct gt_when *when; /* NULL: none */
	struct gt_condition conditions[GT_MAX_CONDITIONS];

	int ring_fd, processes_fd, epoll;
	struct gt_pythons *pythons;         /* NULL: not wanted */
	struct gt_unwind_maps *unwind_maps; /* NULL: the stack method needs none */
	struct gt_signals signals;
	struct gt_event_reader *reader;
	gt_opened_list sources;
	struct gt_event_queue records; /* of the companion, not yet in the stream */
	size_t records_put;            /* of these, that are */
	uint64_t polled;               /* when the companion was asked for them last */
	GT_VEC(int) target_fds;        /* pidfds of options->processes */
	size_t targets_left;

	/* With -e all: sources that work here, and others with the reason. */
	struct gt_strbuf enabled, unavailable;
	struct gt_pipeline *pipeline;
	uint64_t start; /* when everything was in place */
	struct gt_overhead overhead;
	struct gt_reduce *reduce; /* --max-overhead; NULL: no limit */
	bool stop;
};

enum wait_kind {
	WAIT_RING,
	WAIT_SIGNAL,
	WAIT_CHILD,
	WAIT_TARGET,
	WAIT_SOURCE,
	WAIT_COMPANION,
};

/* Whether the companion records the calls, so that probes on them are not needed. */
static bool is_via_agent(const struct gt_live *live)
{
	return live->options->via == GT_VIA_AGENT;
}

static void emit_clock(struct gt_live *live)
{
	struct gt_event_clock event = {
		.head.time = gt_clock_monotonic(),
		.head.kind = GT_EVENT_clock,
		.head.size = sizeof(event),
		.head.device = GT_DEVICE_UNKNOWN,
		.realtime = gt_clock_ns(CLOCK_REALTIME),
	};

	gt_event_queue_copy(live->host.events, &event.head);
}

/* Sources of the kernel's own events record no calls. */
static void emit_via(struct gt_live *live)
{
	struct gt_event_via event = {
		.head.time = gt_clock_monotonic(),
		.head.kind = GT_EVENT_via,
		.head.size = sizeof(event),
		.head.device = GT_DEVICE_UNKNOWN,
		.methods = is_via_agent(live) ? GT_CALLS_VIA_AGENT : GT_CALLS_VIA_KERNEL,
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

/* ---- the companion ------------------------------------------------------------------------ */

/* Put the companion's events up to a time into the stream. */
static void put_records(struct gt_live *live, uint64_t until)
{
	struct gt_event_queue *records = &live->records;
	size_t count = records->events.count;

	for (; live->records_put < count; live->records_put++) {
		const struct gt_event *event = records->events.items[live->records_put];

		/* Work of GPUs is late, in no order, and may have any time of a process's choice.
		 */
		if (event->time > until && event->kind != GT_EVENT_gpu_work)
			return;
		gt_pipeline_put(live->pipeline, event, event->size);
	}
	gt_event_queue_clear(records);
	live->records_put = 0;
}

static void poll_companion(struct gt_live *live, bool ended)
{
	const struct gt_companion *companion = live->options->companion;
	struct gt_diag diag = {0};

	live->polled = ended ? UINT64_MAX : gt_clock_monotonic();
	if (companion && companion->poll(companion->context, &live->records, ended, &diag))
		gt_event_queue_note(live->host.events, "%s", diag.text);
	/* The account has the losses of that queue. */
	live->host.events->lost += live->records.lost;
	live->records.lost = 0;
	/* Calls are sorted in the pipeline. */
	if (is_via_agent(live))
		put_records(live, UINT64_MAX);
}

/* Before an event of the ring, which may be later than the last poll. */
static void put_earlier_records(struct gt_live *live, uint64_t time)
{
	if (live->options->companion && time >= live->polled)
		poll_companion(live, false);
	put_records(live, time);
}

/* Whether the companion has events that were not read. */
static bool has_more(const struct gt_live *live)
{
	return live->options->companion && live->options->companion->more;
}

static int poll_interval(const struct gt_live *live)
{
	const struct gt_companion *companion = live->options->companion;

	return companion && companion->interval_ms < POLL_INTERVAL_MS ? companion->interval_ms
								      : POLL_INTERVAL_MS;
}

/* ---- the ring ----------------------------------------------------------------------------- */

/* A record of the ring. */
static void take_record(void *opaque, void *data, size_t size)
{
	struct gt_live *live = opaque;
	const struct gt_event *event = data;

	/*
	 * The mappings that a process had when it recorded a stack must precede the stack. They
	 * come from another buffer, which is read here once more.
	 */
	if (size >= sizeof(*event) &&
	    (event->kind == GT_EVENT_memory || event->kind == GT_EVENT_stack)) {
		gt_opened_poll(&live->sources);
		gt_pipeline_drain(live->pipeline);
	}
	if (size >= sizeof(*event) &&
	    (event->kind == GT_EVENT_call || event->kind == GT_EVENT_entry))
		put_earlier_records(live, event->time);
	gt_pipeline_put(live->pipeline, event, size);
}

/* Returns whether more records wait. Events of the companion come after earlier calls. */
static bool read_ring(struct gt_live *live)
{
	uint64_t complete = live->reader ? gt_event_reader_complete(live->reader) : UINT64_MAX;
	bool more;

	gt_pipeline_drain(live->pipeline);
	more = live->reader && gt_event_reader_take(live->reader, take_record, live);
	if (!more)
		put_records(live, complete);
	if (is_via_agent(live) && live->options->companion->complete < complete)
		complete = live->options->companion->complete;
	if (is_via_agent(live) && !complete)
		return more;
	gt_pipeline_release(live->pipeline, more ? 0 : complete);
	return more;
}

static int wait_for(struct gt_live *live, int fd, enum wait_kind kind, size_t index,
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
	error = gt_pythons_open(gt_pipeline_queue(live->pipeline), MAX_PROCESSES, &live->pythons,
				diag);
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
					    sizeof(__u8), MAX_PROCESSES, NULL);
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

	if (!is_via_agent(live))
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
	int error = is_via_agent(live) && is_of_api(name)
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
	reason = gt_strbuf_string(&missing);
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
	if (is_via_agent(live)) {
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
	emit_clock(live);
	emit_via(live);
	emit_device(live);
	if (options->command && options->companion)
		error = wait_for(live, options->companion->fd, WAIT_COMPANION, 0, diag);
	if (!error && options->command)
		error = start_command(live, diag);
	if (!options->command)
		live->target.loader = gt_loader_of_environment(environ);
	if (!error && is_via_agent(live) && gt_pipeline_sort(live->pipeline))
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

static void take_exit(struct gt_live *live)
{
	gt_session_command_reap(&live->command, live->host.events);
	live->stop |= live->command.ended;
}

/* The last of the pending signals, or 0. */
static int take_signals(struct gt_live *live)
{
	bool alone;
	int number, last = 0;

	while ((number = gt_signals_next(&live->signals, &alone)) > 0) {
		live->stop |= gt_session_command_signal(&live->command, number, alone);
		last = number;
	}
	return last;
}

static void take_target_end(struct gt_live *live, size_t index)
{
	epoll_ctl(live->epoll, EPOLL_CTL_DEL, live->target_fds.items[index], NULL);
	if (!--live->targets_left)
		live->stop = true;
}

static void take_wait(struct gt_live *live, const struct epoll_event *event)
{
	size_t index = (uint32_t)event->data.u64;

	switch ((enum wait_kind)(event->data.u64 >> 32)) {
	case WAIT_RING:
		break; /* read in every round */
	case WAIT_SIGNAL:
		take_signals(live);
		break;
	case WAIT_CHILD:
		take_exit(live);
		break;
	case WAIT_TARGET:
		take_target_end(live, index);
		break;
	case WAIT_SOURCE:
		live->sources.items[index].source->poll(live->sources.items[index].state);
		break;
	case WAIT_COMPANION:
		break; /* polled in every round */
	}
}

/* What `idle` shows are the events up to now. */
static void call_idle(struct gt_live *live, int (*idle)(void *context), void *context)
{
	if (live->reader)
		gt_event_reader_catch_up(live->reader, take_record, live);
	gt_pipeline_fail(live->pipeline, idle(context));
}

static struct gt_counts count_calls(const struct gt_live *live)
{
	const struct gt_companion *companion = live->options->companion;
	struct gt_counts counts = gt_opened_count(&live->sources);

	if (companion && companion->count)
		companion->count(companion->context, &counts);
	return counts;
}

/* What the probes have cost so far. */
static void emit_overhead(struct gt_live *live)
{
	const struct gt_companion *companion = live->options->companion;
	bool has_hooks = companion && companion->cost;
	struct gt_probe_cost hooks = {0};

	if (has_hooks)
		companion->cost(companion->context, &hooks);
	if (live->reader || has_hooks)
		gt_overhead_emit(&live->overhead, &live->sources, has_hooks ? &hooks : NULL,
				 live->host.events, gt_clock_monotonic());
}

static void emit_totals(struct gt_live *live)
{
	struct gt_counts counts;

	gt_opened_collect(&live->sources);
	gt_pipeline_drain(live->pipeline);
	counts = count_calls(live);
	gt_pipeline_account(live->pipeline, &counts);
}

static bool is_over(const struct gt_live *live)
{
	uint64_t duration = live->options->duration;

	return duration && gt_clock_monotonic() - live->start >= duration;
}

static void tick_overhead(struct gt_live *live)
{
	uint64_t now = gt_clock_monotonic();

	if (live->reader)
		gt_overhead_tick(&live->overhead, &live->sources, now);
	if (live->reduce)
		gt_reduce_tick(live->reduce, &live->sources, &live->host, now);
}

static void loop(struct gt_live *live, int (*idle)(void *context), void *context)
{
	uint64_t interval = live->options->totals_interval, next = live->start + interval;
	struct epoll_event events[16];
	uint64_t shown = live->start;
	bool more = false;

	while (!live->stop) {
		int count = epoll_wait(live->epoll, events, gt_countof(events),
				       more || has_more(live) ? 0 : poll_interval(live));

		for (int i = 0; i < count; i++)
			take_wait(live, &events[i]);
		poll_companion(live, false);
		tick_overhead(live);
		gt_session_command_report(&live->command, live->host.events);
		more = read_ring(live);
		/* Nothing is shown of what comes after the end. */
		if (is_over(live))
			break;
		if (interval && gt_clock_monotonic() >= next) {
			emit_overhead(live);
			emit_totals(live);
			next = gt_clock_monotonic() + interval;
		}
		if (idle && !gt_pipeline_result(live->pipeline) &&
		    (!more || gt_clock_monotonic() - shown >= MAX_IDLE_DELAY_NS)) {
			call_idle(live, idle, context);
			shown = gt_clock_monotonic();
		}
		live->stop |= gt_pipeline_is_done(live->pipeline);
	}
}

static void finish(struct gt_live *live)
{
	struct gt_counts counts;

	poll_companion(live, true);
	gt_session_command_report(&live->command, live->host.events);
	gt_opened_detach(&live->sources);
	/* Before the notes of the sources about the whole session. */
	if (live->reader)
		gt_event_reader_finish(live->reader, take_record, live);
	/* Totals follow the events that they count. */
	gt_pipeline_drain(live->pipeline);
	put_records(live, UINT64_MAX);
	gt_pipeline_release(live->pipeline, UINT64_MAX);
	gt_opened_collect(&live->sources);
	emit_overhead(live);
	gt_pipeline_drain(live->pipeline);
	emit_clock(live);
	counts = count_calls(live);
	if (counts.untraced) {
		gt_event_queue_note(
			live->host.events,
			"%llu child processes could not be traced: more than %d at a time",
			(unsigned long long)counts.untraced, MAX_PROCESSES);
		gt_gap_emit(&live->host, GT_GAP_UNTRACED, 0, "", 0, 0);
	}
	gt_pipeline_finish(live->pipeline, &counts);
}

int gt_live_run(struct gt_live *live, gt_event_sink sink, int (*idle)(void *context), void *context,
		struct gt_diag *diag)
{
	int error = 0;

	gt_pipeline_start(live->pipeline, sink, context);
	gt_pipeline_drain(live->pipeline);
	live->stop |= gt_pipeline_is_done(live->pipeline);
	/* Even where nothing more is recorded: a command that waits at its gate would never end. */
	if (live->command.child.pid)
		error = gt_child_resume(&live->command.child, live->command.name, diag);
	if (!error)
		loop(live, idle, context);
	finish(live);
	return error ? error : gt_pipeline_result(live->pipeline);
}

const struct gt_names *gt_live_names(const struct gt_live *live)
{
	return gt_pipeline_names(live->pipeline);
}

void gt_live_sources(const struct gt_live *live, const char **ret_enabled,
		     const char **ret_unavailable)
{
	*ret_enabled = gt_strbuf_string(&live->enabled);
	*ret_unavailable = gt_strbuf_string(&live->unavailable);
}

uint64_t gt_live_start(const struct gt_live *live)
{
	return live->start;
}

void gt_live_collect(struct gt_live *live)
{
	gt_opened_collect(&live->sources);
	gt_pipeline_drain(live->pipeline);
}

void gt_live_account(const struct gt_live *live, struct gt_event_account *ret_account)
{
	const struct gt_counts counts = count_calls(live);

	gt_pipeline_count(live->pipeline, &counts, ret_account);
}

static enum gt_session_wait wait_for_command(struct gt_live *live, int limit_ms, int *ret_signal)
{
	struct pollfd waits[] = {{.fd = live->command.child.pidfd, .events = POLLIN},
				 {.fd = live->signals.fd, .events = POLLIN}};
	uint64_t start = gt_clock_monotonic(), limit_ns = (uint64_t)limit_ms * 1000000;

	while (live->command.child.pid && !live->command.ended) {
		poll(waits, gt_countof(waits), limit_ms < 0 ? 1000 : limit_ms);
		*ret_signal = take_signals(live);
		take_exit(live);
		if (live->command.ended)
			break;
		if (*ret_signal)
			return GT_SESSION_WAIT_SIGNAL;
		if (limit_ms >= 0 && gt_clock_monotonic() - start >= limit_ns)
			return GT_SESSION_WAIT_LATE;
	}
	return GT_SESSION_WAIT_ENDED;
}

enum gt_session_wait gt_live_wait(struct gt_live *live, int limit_ms,
				  struct gt_session_command_state *ret_state)
{
	struct gt_session_command_state state = {.pid = live->command.child.pid,
						 .name = live->command.name};
	enum gt_session_wait result = wait_for_command(live, limit_ms, &state.signal);

	state.status = live->command.exit_status;
	state.signals = live->command.signals;
	*ret_state = state;
	return result;
}

void gt_live_close(struct gt_live *live)
{
	if (!live)
		return;
	gt_overhead_end(&live->overhead);
	gt_reduce_free(live->reduce);
	gt_opened_close(&live->sources);
	gt_event_queue_clear(&live->records);
	gt_vec_each (fd, &live->target_fds)
		close(*fd);
	gt_vec_free(&live->target_fds);
	gt_event_reader_close(live->reader);
	for (int *fd = (int[]){live->ring_fd, live->processes_fd, live->epoll, -2}; *fd != -2; fd++)
		if (*fd >= 0)
			close(*fd);
	gt_signals_release(&live->signals);
	gt_session_command_free(&live->command);
	gt_pipeline_free(live->pipeline);
	gt_unwind_maps_close(live->unwind_maps);
	gt_pythons_close(live->pythons);
	gt_kernel_types_free(live->host.types);
	gt_strbuf_free(&live->enabled);
	gt_strbuf_free(&live->unavailable);
	gt_when_free(live->when);
	free(live);
}
