/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/gpu_times.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "agent/protocol.h"
#include "analysis/context_clock.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/text.h"
#include "cli/agent_calls.h"
#include "cli/exact_grids.h"
#include "run/inject_command.h"
#include "session/session.h"

enum {
	INTERVAL_MS = 5, /* between two reads of the rings */
	MAX_CLOCKS = 16, /* of a process; then the one that was used the longest ago is forgotten */
	MAX_ROUNDS = 512, /* of reading at the end, while processes continue */
	MAX_HELD = 1024,  /* operations that wait; then the earliest is settled */
};

#define TIMES_RING (4u << 20)         /* bytes of a ring with times alone */
#define SETTLE_NS (GT_SECOND_NS / 20) /* until operations that overlapped it have been reported */
#define FUTURE_NS GT_SECOND_NS        /* an event that is later than this is not true */

/* A clock of a context. */
struct times_clock {
	uint16_t number;
	uint64_t used;                    /* the order of uses; 0: never */
	struct gt_context_clock relation; /* to CLOCK_MONOTONIC */
	struct gt_exact_clock exact;
};

/* An operation that waits until those that overlapped it are known, too: --gpu-times exact. */
struct times_held {
	struct gt_event_gpu_work work; /* as it was written */
	const struct times_process *process;
	struct times_clock *clock;
	uint64_t arrived;
	bool is_settled, is_matched;
	struct gt_exact_launch exact;
};

struct times_process {
	struct times_clock clocks[MAX_CLOCKS];
	uint64_t uses;
	uint32_t pid;
};

struct gt_gpu_times {
	const struct gt_trace_options *options;
	uint64_t period;
	struct gt_companion companion;
	const struct gt_companion *inner; /* NULL: none */
	struct gt_inject *inject;
	bool owns_inject;
	struct gt_hash *processes;     /* by ring */
	struct gt_event_queue *events; /* of this round */
	uint64_t read, lost, malformed;
	struct gt_exact_grids *grids; /* NULL: times are measured alone */
	GT_VEC(struct times_held) held;
	GT_VEC(struct gt_exact_launch) launches; /* that are being matched */
	uint64_t kernels, exact;                 /* operations */
	struct gt_agent_calls *calls;            /* NULL: they are seen by uprobes */
};

int gt_gpu_times_parse(const char *text, uint64_t *ret_period, bool *ret_exact)
{
	static const char sampled[] = "sampled=";
	bool exact = text && !strcmp(text, "exact");
	uint64_t period = 0;

	if (exact || (text && !strcmp(text, "all")))
		period = 1;
	else if (text && !strncmp(text, sampled, strlen(sampled))) {
		if (gt_parse_u64(text + strlen(sampled), &period) || !period)
			return -EINVAL;
	} else if (text && strcmp(text, "off")) {
		return -EINVAL;
	}
	*ret_period = period;
	*ret_exact = exact;
	return 0;
}

/* ---- clocks ------------------------------------------------------------------------------ */

static void clear_clock(struct times_clock *clock)
{
	gt_context_clock_clear(&clock->relation);
	*clock = (struct times_clock){0};
}

static void free_process(void *opaque)
{
	struct times_process *process = opaque;

	for (unsigned i = 0; i < MAX_CLOCKS; i++)
		clear_clock(&process->clocks[i]);
	free(process);
}

static struct times_clock *find_clock(struct times_process *process, uint16_t number)
{
	for (unsigned i = 0; i < MAX_CLOCKS; i++)
		if (process->clocks[i].number == number)
			return &process->clocks[i];
	return NULL;
}

static struct times_clock *oldest_clock(struct times_process *process)
{
	struct times_clock *oldest = process->clocks;

	for (unsigned i = 1; i < MAX_CLOCKS; i++)
		if (process->clocks[i].used < oldest->used)
			oldest = &process->clocks[i];
	return oldest;
}

/* NULL: no memory. */
static struct times_process *find_process(struct gt_gpu_times *times, uint64_t ring)
{
	struct times_process *process = gt_hash_get_u64(times->processes, ring);

	if (process)
		return process;
	process = calloc(1, sizeof(*process));
	if (process && gt_hash_set_u64(times->processes, ring, process)) {
		free(process);
		return NULL;
	}
	return process;
}

/* ---- events ------------------------------------------------------------------------------ */

static void settle_process(struct gt_gpu_times *times, const struct times_process *process);

static bool take_moment(struct gt_gpu_times *times, struct times_process *process,
			const struct gt_agent_clock *record)
{
	const struct gt_context_moment moment = {
		.gpu = record->head.time,
		.before = record->before,
		.after = record->after,
	};
	struct times_clock *clock = find_clock(process, record->head.clock);

	if (record->head.size != sizeof(*record) || record->head.clock < GT_AGENT_FIRST_CLOCK ||
	    record->before > record->after || record->after > gt_clock_monotonic() + FUTURE_NS)
		return false;
	if (!clock) {
		settle_process(times, process);
		clock = oldest_clock(process);
		clear_clock(clock);
		clock->number = record->head.clock;
	}
	clock->used = ++process->uses;
	if (gt_context_clock_add(&clock->relation, &moment))
		times->lost++;
	return true;
}

/*
 * Narrow the bounds: nothing begins before it is submitted, and what the driver waited for is done
 * when it returns. An operation whose duration is known is moved.
 */
static void apply_causes(struct gt_event_gpu_work *work, uint32_t flags)
{
	bool is_synchronous = flags & GT_AGENT_SYNCHRONOUS;

	if (flags & GT_AGENT_PROFILED) {
		uint64_t early = work->submitted > work->start ? work->submitted - work->start : 0;

		work->start += early;
		work->head.time += early;
		return;
	}
	if (is_synchronous && work->returned > work->start && work->head.time > work->returned)
		work->head.time = work->returned;
	if (work->start < work->submitted)
		work->start = work->submitted < work->head.time ? work->submitted : work->head.time;
}

/*
 * Queue an operation, on CLOCK_MONOTONIC. exact: times of its kernel on the same clock, or NULL.
 * False: the times cannot be true.
 */
static bool queue_work(struct gt_gpu_times *times, const struct times_clock *clock,
		       const struct gt_event_gpu_work *record, const struct gt_exact_launch *exact)
{
	struct gt_event_gpu_work work = *record;

	work.start = gt_context_clock_host(&clock->relation, exact ? exact->first : record->start);
	work.head.time =
		gt_context_clock_host(&clock->relation, exact ? exact->last : record->head.time);
	work.head.clock = GT_CLOCK_MONOTONIC;
	work.error = gt_context_clock_error(&clock->relation) + (exact ? exact->error : 0);
	work.flags &= ~(uint32_t)(GT_AGENT_SYNCHRONOUS | GT_AGENT_PROFILED | GT_GPU_EXACT);
	if (exact)
		work.flags |= GT_GPU_EXACT;
	if (!clock->relation.is_virtual)
		apply_causes(&work, record->flags);
	if (work.start > work.head.time || work.head.time > gt_clock_monotonic() + FUTURE_NS)
		return false;
	times->read++;
	gt_event_queue_copy(times->events, &work.head);
	return true;
}

static bool take_work(struct gt_gpu_times *times, struct times_process *process,
		      const struct gt_event_gpu_work *record)
{
	struct times_clock *clock = record->head.clock >= GT_AGENT_FIRST_CLOCK
					    ? find_clock(process, record->head.clock)
					    : NULL;
	struct times_held held = {.work = *record, .process = process, .clock = clock};

	if (!clock || record->start > record->head.time || record->operation > GT_GPU_GRAPH)
		return false;
	clock->relation.is_used = true;
	held.arrived = times->grids ? gt_clock_monotonic() : 0;
	return times->grids && !gt_vec_push(&times->held, held)
		       ? true
		       : queue_work(times, clock, record, NULL);
}

/* ---- exact times -------------------------------------------------------------------------- */

static int compare_submitted(const void *one, const void *other)
{
	const struct gt_exact_launch *left = one, *right = other;

	return (left->submitted > right->submitted) - (left->submitted < right->submitted);
}

/* List the held kernels of one clock, from `first` on, in the order of their submission. */
static int list_launches(struct gt_gpu_times *times, size_t first)
{
	const struct times_clock *clock = times->held.items[first].clock;

	times->launches.count = 0;
	for (size_t i = first; i < times->held.count; i++) {
		struct times_held *held = &times->held.items[i];

		if (held->clock != clock)
			continue;
		held->is_matched = true;
		if (held->work.operation == GT_GPU_KERNEL &&
		    gt_vec_push(&times->launches,
				(struct gt_exact_launch){.start = held->work.start,
							 .end = held->work.head.time,
							 .submitted = held->work.submitted,
							 .returned = held->work.returned,
							 .function = held->work.object,
							 .is_settled = held->is_settled,
							 .number = i}))
			return -ENOMEM;
	}
	if (times->launches.count)
		qsort(times->launches.items, times->launches.count, sizeof(*times->launches.items),
		      compare_submitted);
	return 0;
}

/* Match the held kernels of one clock, from `first` on, to the grids of their process. */
static void match_clock(struct gt_gpu_times *times, size_t first)
{
	struct times_clock *clock = times->held.items[first].clock;
	const struct gt_event_gpu_work *work = &times->held.items[first].work;
	struct gt_exact_times *grids = gt_exact_grids_of(times->grids, work->head.process);

	if (list_launches(times, first))
		times->lost++;
	if (!grids || !times->launches.count || clock->relation.is_virtual)
		return;
	clock->exact.host_offset =
		(int64_t)(gt_context_clock_host(&clock->relation, work->head.time) -
			  work->head.time);
	clock->exact.host_error = gt_context_clock_error(&clock->relation);
	gt_exact_times_match(grids, &clock->exact, times->launches.items, times->launches.count);
	gt_vec_each (launch, &times->launches)
		times->held.items[launch->number].exact = *launch;
}

/* Queue the operations that are settled, with exact times where there are. */
static void queue_settled(struct gt_gpu_times *times)
{
	size_t kept = 0;

	gt_exact_grids_read(times->grids);
	gt_vec_each (held, &times->held)
		held->is_matched = false;
	for (size_t i = 0; i < times->held.count; i++)
		if (times->held.items[i].is_settled && !times->held.items[i].is_matched)
			match_clock(times, i);
	gt_vec_each (held, &times->held) {
		const struct gt_exact_launch *exact = held->exact.is_exact ? &held->exact : NULL;
		bool valid;

		if (!held->is_settled) {
			times->held.items[kept++] = *held;
			continue;
		}
		valid = queue_work(times, held->clock, &held->work, exact);
		times->malformed += !valid;
		times->kernels += valid && held->work.operation == GT_GPU_KERNEL;
		times->exact += valid && exact;
	}
	times->held.count = kept;
}

static void settle_process(struct gt_gpu_times *times, const struct times_process *process)
{
	bool has_any = false;

	gt_vec_each (held, &times->held) {
		held->is_settled = held->process == process;
		has_any |= held->is_settled;
	}
	if (has_any)
		queue_settled(times);
}

/* Settle the operations that have waited long enough, or all. */
static void settle_old(struct gt_gpu_times *times, bool all)
{
	size_t surplus = times->held.count > MAX_HELD ? times->held.count - MAX_HELD : 0;
	uint64_t now = gt_clock_monotonic();
	bool has_any = false;

	gt_vec_each (held, &times->held) {
		held->is_settled = all || (size_t)(held - times->held.items) < surplus ||
				   held->arrived + SETTLE_NS <= now;
		has_any |= held->is_settled;
	}
	if (has_any)
		queue_settled(times);
}

static void end_process(struct gt_gpu_times *times, uint64_t ring)
{
	struct times_process *process = gt_hash_remove_u64(times->processes, ring);

	if (process)
		settle_process(times, process);
	if (process && times->grids)
		gt_exact_grids_forget(times->grids, process->pid);
	if (process)
		free_process(process);
}

/* The name of a kernel, on CLOCK_MONOTONIC. */
static bool take_kernel(struct gt_gpu_times *times, const struct gt_event *event)
{
	if (event->clock != GT_CLOCK_MONOTONIC || event->time > gt_clock_monotonic() + FUTURE_NS)
		return false;
	gt_event_queue_copy(times->events, event);
	return true;
}

static void take_event(void *context, uint64_t ring, const struct gt_event *event)
{
	struct gt_gpu_times *times = context;
	struct times_process *process;
	bool valid = false;

	if (event && times->calls && gt_agent_calls_take(times->calls, event, times->events))
		return;
	if (!event) {
		end_process(times, ring);
		return;
	}
	/* That of the source "process" has the time and the status. */
	if (event->kind == GT_EVENT_exit)
		return;
	process = find_process(times, ring);
	if (!process) {
		times->lost++;
		return;
	}
	process->pid = event->process;
	if (event->kind == GT_AGENT_EVENT_CLOCK)
		valid = take_moment(times, process, (const void *)event);
	else if (event->kind == GT_EVENT_gpu_work)
		valid = take_work(times, process, (const void *)event);
	else if (event->kind == GT_EVENT_kernel)
		valid = take_kernel(times, event);
	times->malformed += !valid;
}

/* ---- the end ----------------------------------------------------------------------------- */

static void put_part(struct gt_strbuf *text, uint64_t count, const char *what)
{
	if (count)
		gt_strbuf_printf(text, "%s%" PRIu64 " %s", text->length ? ", " : "", count, what);
}

/* How many kernels have exact times. */
static void note_exact(const struct gt_gpu_times *times, struct gt_event_queue *events)
{
	uint64_t lost = gt_exact_grids_lost(times->grids);
	gt_auto_strbuf text = GT_STRBUF_INIT;

	if (times->exact < times->kernels)
		gt_strbuf_puts(&text, "; the others were not patched, or their records are lost, "
				      "or in virtual time");
	if (lost)
		gt_strbuf_printf(&text, "; %" PRIu64 " records lost", lost);
	gt_event_queue_note(events, "GPU times: exact for %" PRIu64 " of %" PRIu64 " kernels%s",
			    times->exact, times->kernels, gt_strbuf_string(&text));
}

/* Which operations have no times, and why. */
static void note_coverage(const struct gt_gpu_times *times, struct gt_event_queue *events)
{
	struct gt_inject_event_counts all = gt_inject_event_counts(times->inject);
	const uint64_t *counts = all.counts;
	uint64_t known = times->read + counts[GT_AGENT_LOST] + times->malformed;
	gt_auto_strbuf text = GT_STRBUF_INIT;

	put_part(&text, counts[GT_AGENT_UNSAMPLED], "not sampled");
	put_part(&text, counts[GT_AGENT_CAPTURED], "not timed: in stream capture");
	put_part(&text, counts[GT_AGENT_EXHAUSTED], "not timed: too many not complete at a time");
	put_part(&text, counts[GT_AGENT_CROWDED], "not timed: too many contexts or devices");
	put_part(&text, counts[GT_AGENT_UNPROFILED],
		 "not timed: their OpenCL queue has no profiling");
	put_part(&text, counts[GT_AGENT_LEVEL_ZERO], "not timed: of Level Zero");
	put_part(&text, counts[GT_AGENT_UNTIMED], "not timed: the driver rejected an event");
	if (counts[GT_AGENT_TIMED] > known)
		put_part(&text, counts[GT_AGENT_TIMED] - known,
			 "not timed: not complete when their process or context ended");
	put_part(&text, counts[GT_AGENT_LOST], "lost: the ring was full");
	if (!all.rings && all.rings_dropped)
		gt_event_queue_note(events, "GPU times: %u process%s got no ring for events",
				    all.rings_dropped, all.rings_dropped == 1 ? "" : "es");
	else if (!all.rings)
		gt_event_queue_note(events,
				    "GPU times: no work was seen: the command submitted none, or "
				    "could not load the agent (a static or set-user-ID program)");
	else
		gt_event_queue_note(events, "GPU times: %" PRIu64 " operation%s timed%s%s",
				    times->read, times->read == 1 ? "" : "s",
				    text.length ? "; " : "", gt_strbuf_string(&text));
	if (times->grids && times->kernels)
		note_exact(times, events);
}

/* ---- the companion ----------------------------------------------------------------------- */

static int prepare(void *context, struct gt_environment *environment, bool filtered,
		   struct gt_diag *diag)
{
	struct gt_gpu_times *times = context;
	char period[24];
	int error;

	if (times->inner)
		error = times->inner->prepare(times->inner->context, environment, filtered, diag);
	else
		error = gt_inject_environment(times->inject, environment, filtered, diag);
	if (!error && times->calls)
		error = gt_agent_calls_prepare(environment, diag);
	snprintf(period, sizeof(period), "%" PRIu64, times->period);
	if (!error)
		error = gt_environment_set(environment, GT_AGENT_GPU_TIMES, period);
	/* The software GPU gets the PTX of cubins from the collector. */
	if (!error && !times->inner && !times->grids && !environment->soft_gpu)
		error = gt_environment_set(environment, GT_AGENT_IMAGES, "0");
	return error;
}

static int attach(void *context, const struct gt_command *files,
		  const struct gt_environment *environment, int pidfd, struct gt_diag *diag)
{
	const struct gt_gpu_times *times = context;
	int error =
		times->calls ? gt_agent_calls_attach(times->calls, files, environment, diag) : 0;

	return !error && times->inner ? times->inner->attach(times->inner->context, files,
							     environment, pidfd, diag)
				      : error;
}

static int poll_agents(void *context, struct gt_event_queue *events, bool ended,
		       struct gt_diag *diag)
{
	struct gt_gpu_times *times = context;
	uint64_t lost = gt_inject_event_counts(times->inject).counts[GT_AGENT_LOST];
	int error, rounds = ended ? MAX_ROUNDS : 1;
	uint64_t now = gt_clock_monotonic();
	bool more;

	if (times->inner)
		error = times->inner->poll(times->inner->context, events, ended, diag);
	else
		error = ended ? gt_inject_finish(times->inject, diag)
			      : gt_inject_poll(times->inject, diag);
	times->events = events;
	do {
		more = gt_inject_read_events(times->inject, take_event, times);
		if (times->grids) {
			gt_exact_grids_read(times->grids);
			settle_old(times, false);
		}
	} while (more && --rounds > 0);
	if (ended)
		settle_old(times, true);
	times->companion.more = more;
	if (!more)
		times->companion.complete = now;
	if (times->calls)
		gt_agent_calls_poll(times->calls, events, ended);
	if (ended) {
		if (times->period)
			note_coverage(times, events);
		events->lost += lost + times->lost + times->malformed +
				gt_inject_event_counts(times->inject).malformed;
	}
	return error;
}

const struct gt_companion *gt_gpu_times_companion(const struct gt_gpu_times *times)
{
	return &times->companion;
}

static void count_calls(const void *context, struct gt_counts *counts)
{
	const struct gt_gpu_times *times = context;

	gt_agent_calls_count(times->calls, counts);
}

static unsigned count_running(const void *context)
{
	const struct gt_gpu_times *times = context;

	return gt_inject_count_running(times->inject);
}

static void cost_of_calls(const void *context, struct gt_probe_cost *cost)
{
	const struct gt_gpu_times *times = context;
	struct gt_inject_event_counts all = gt_inject_event_counts(times->inject);

	cost->runs += all.counts[GT_AGENT_CALL_RUNS] * GT_AGENT_COST_PERIOD;
	cost->run_ns += all.counts[GT_AGENT_CALL_RUN_NS] * GT_AGENT_COST_PERIOD +
			all.counts[GT_AGENT_CALL_WAIT_NS];
}

static void pause_calls(void *context, bool is_paused)
{
	const struct gt_gpu_times *times = context;

	gt_inject_set_calls_mode(times->inject,
				 is_paused ? GT_AGENT_CALLS_PAUSED : GT_AGENT_CALLS_RECORDED);
}

static void drop_calls(void *context)
{
	const struct gt_gpu_times *times = context;

	gt_inject_set_calls_mode(times->inject, GT_AGENT_CALLS_OFF);
}

uint32_t gt_gpu_times_ring(const struct gt_trace_options *options, uint64_t period)
{
	bool has_calls = options->via == GT_VIA_AGENT;
	uint64_t wanted = has_calls && options->ring_size ? options->ring_size
			  : has_calls                     ? GT_DEFAULT_RING_SIZE
							  : TIMES_RING;
	uint32_t size = GT_AGENT_RING_MIN;

	if (!has_calls && !period)
		return 0;
	while (size < wanted && size < GT_AGENT_RING_MAX)
		size *= 2;
	return size;
}

static int open_collector(struct gt_gpu_times *times, struct gt_diag *diag)
{
	const struct gt_inject_options options = {
		.event_bytes = gt_gpu_times_ring(times->options, times->period),
	};
	int error;

	if (times->options->gpu_times_exact) {
		error = gt_exact_grids_open(times->inner, options.event_bytes,
					    times->options->verbose, &times->grids, diag);
		times->inject = error ? NULL : gt_exact_grids_inject(times->grids);
		return error;
	}
	if (times->inner) {
		times->inject = times->inner->inject;
		return 0;
	}
	times->owns_inject = true;
	return gt_inject_open(&options, &times->inject, diag);
}

int gt_gpu_times_open(const struct gt_trace_options *options, uint64_t period,
		      struct gt_gpu_times **ret_times, struct gt_diag *diag)
{
	gt_auto(gpu_times) struct gt_gpu_times *times = calloc(1, sizeof(*times));
	int error;

	if (times)
		times->processes = gt_hash_new();
	if (!times || !times->processes)
		return gt_diag(diag, -ENOMEM, "session", NULL, "out of memory");
	times->options = options;
	times->period = period;
	times->inner = options->companion;
	error = open_collector(times, diag);
	if (error)
		return error;
	times->companion = (struct gt_companion){
		.context = times,
		.prepare = prepare,
		.attach = attach,
		.inject = times->inject,
		.fd = gt_inject_fd(times->inject),
		.interval_ms = times->inner && times->inner->interval_ms < INTERVAL_MS
				       ? times->inner->interval_ms
				       : INTERVAL_MS,
		.poll = poll_agents,
		.running = count_running,
	};
	if (options->via == GT_VIA_AGENT) {
		error = gt_agent_calls_open(options, times->inject, &times->calls, diag);
		times->companion.count = count_calls;
		times->companion.cost = cost_of_calls;
		times->companion.pause = pause_calls;
		times->companion.drop = drop_calls;
	}
	if (!error)
		*ret_times = gt_take(times);
	return error;
}

void gt_gpu_times_close(struct gt_gpu_times *times)
{
	if (!times)
		return;
	gt_agent_calls_close(times->calls);
	if (times->owns_inject)
		gt_inject_close(times->inject);
	gt_exact_grids_close(times->grids);
	gt_vec_free(&times->held);
	gt_vec_free(&times->launches);
	gt_hash_free_with(times->processes, free_process);
	free(times);
}
