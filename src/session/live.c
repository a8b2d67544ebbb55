/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <poll.h>
#include <sys/epoll.h>
#include <time.h>

#include <bpf/bpf.h>

#include "base/clock.h"
#include "probe/api/gaps.h"
#include "probe/api/unwind_maps.h"
#include "probe/kernel_types.h"
#include "probe/python/find.h"
#include "session/live_private.h"

#define MAX_IDLE_DELAY_NS 1000000000ull /* while records wait without end */
#define POLL_INTERVAL_MS 40             /* for `idle` and the duration */

void live_emit_clock(struct gt_live *live)
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
	if (live_is_via_agent(live))
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
	if (live_is_via_agent(live) && live->options->companion->complete < complete)
		complete = live->options->companion->complete;
	if (live_is_via_agent(live) && !complete)
		return more;
	gt_pipeline_release(live->pipeline, more ? 0 : complete);
	return more;
}

/* ---- the loop ----------------------------------------------------------------------------- */

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

	switch ((enum live_wait)(event->data.u64 >> 32)) {
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

/* Traced processes besides the command, once the probes that remove processes are detached. */
static unsigned count_running(const struct gt_live *live)
{
	const struct gt_companion *companion = live->options->companion;
	uint32_t next, process, *last = NULL;
	unsigned count = 0;

	if (!live->reader)
		return companion && companion->running ? companion->running(companion->context) : 0;
	while (count < LIVE_MAX_PROCESSES &&
	       !bpf_map_get_next_key(live->processes_fd, last, &next)) {
		process = next;
		last = &process;
		count += (pid_t)process != live->command.child.pid;
	}
	return count;
}

/* Processes, such as daemons, that the command has started and that did not end with it. */
static void note_running(struct gt_live *live)
{
	unsigned count = live->command.ended ? count_running(live) : 0;
	gt_auto_strbuf text = GT_STRBUF_INIT;

	if (!count)
		return;
	gt_child_put_running(&text, count, "the tracing of it ends here",
			     "the tracing of them ends here");
	gt_event_queue_note(live->host.events, "%s", gt_strbuf_string(&text));
}

static void finish(struct gt_live *live)
{
	struct gt_counts counts;

	poll_companion(live, true);
	gt_session_command_report(&live->command, live->host.events);
	gt_opened_detach(&live->sources);
	note_running(live);
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
	live_emit_clock(live);
	counts = count_calls(live);
	if (counts.untraced) {
		gt_event_queue_note(
			live->host.events,
			"%llu child processes could not be traced: more than %d at a time",
			(unsigned long long)counts.untraced, LIVE_MAX_PROCESSES);
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
