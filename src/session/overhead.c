/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "session/overhead.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "event/kinds.h"

#define FIRST_WINDOW_NS 100000000ull
#define WINDOW_NS 40000000ull
#define PAUSE_NS 960000000ull

/* Of all sources. */
static struct gt_probe_cost cost_of_sources(const gt_opened_list *sources)
{
	struct gt_probe_cost cost = {0};

	gt_vec_each (opened, sources)
		if (opened->source->cost)
			opened->source->cost(opened->state, &cost);
	return cost;
}

static void begin_window(struct gt_overhead *overhead, const gt_opened_list *sources, uint64_t now,
			 uint64_t length)
{
	overhead->stats = gt_probe_cost_start();
	overhead->denied = overhead->stats < 0;
	overhead->base = cost_of_sources(sources);
	overhead->window = now;
	overhead->until = overhead->always ? UINT64_MAX : now + length;
}

/* Counts of programs that were replaced may be gone. */
static uint64_t growth(uint64_t from, uint64_t to)
{
	return to > from ? to - from : 0;
}

/* Add what was measured up to now. */
static void add_window(struct gt_overhead *overhead, const gt_opened_list *sources, uint64_t now)
{
	struct gt_probe_cost cost = cost_of_sources(sources);

	overhead->cost.runs += growth(overhead->base.runs, cost.runs);
	overhead->cost.run_ns += growth(overhead->base.run_ns, cost.run_ns);
	overhead->cost.traps += growth(overhead->base.traps, cost.traps);
	overhead->measured += growth(overhead->window, now);
	overhead->base = cost;
	overhead->window = now;
}

static bool has_traps(const gt_opened_list *sources)
{
	gt_vec_each (opened, sources)
		if (opened->source->group)
			return true;
	return false;
}

/* Beside the session, since it takes a while. */
static void *measure_trap(void *argument)
{
	gt_probe_trap_ns();
	return argument;
}

void gt_overhead_begin(struct gt_overhead *overhead, const gt_opened_list *sources, bool always,
		       uint64_t now)
{
	*overhead = (struct gt_overhead){.always = always, .start = now};
	overhead->has_thread =
		has_traps(sources) && !gt_thread_start(&overhead->thread, measure_trap, NULL);
	begin_window(overhead, sources, now, FIRST_WINDOW_NS);
}

static void end_window(struct gt_overhead *overhead)
{
	if (overhead->stats >= 0)
		close(overhead->stats);
	overhead->stats = -1;
}

void gt_overhead_end(struct gt_overhead *overhead)
{
	end_window(overhead);
	if (overhead->has_thread)
		pthread_join(overhead->thread, NULL);
	overhead->has_thread = false;
}

void gt_overhead_tick(struct gt_overhead *overhead, const gt_opened_list *sources, uint64_t now)
{
	if (overhead->denied || now < overhead->until)
		return;
	if (overhead->stats < 0) {
		begin_window(overhead, sources, now, WINDOW_NS);
		return;
	}
	add_window(overhead, sources, now);
	end_window(overhead);
	overhead->until = now + PAUSE_NS;
}

uint64_t gt_overhead_ns(const struct gt_probe_cost *cost)
{
	return cost->run_ns + (cost->traps ? cost->traps * gt_probe_trap_ns() : 0);
}

void gt_overhead_emit(struct gt_overhead *overhead, const gt_opened_list *sources,
		      const struct gt_probe_cost *hooks, struct gt_event_queue *events,
		      uint64_t now)
{
	struct gt_event_overhead event = {
		.head.time = now,
		.head.kind = GT_EVENT_overhead,
		.head.size = sizeof(event),
		.head.device = GT_DEVICE_UNKNOWN,
		.elapsed = growth(overhead->start, now),
		.own_time = gt_clock_ns(CLOCK_PROCESS_CPUTIME_ID),
	};
	double scale;

	if (overhead->stats >= 0)
		add_window(overhead, sources, now);
	if (overhead->measured) {
		scale = (double)event.elapsed / (double)overhead->measured;
		event.measured = overhead->measured;
		event.runs = (uint64_t)((double)overhead->cost.runs * scale);
		event.run_time = (uint64_t)((double)overhead->cost.run_ns * scale);
		event.traps = (uint64_t)((double)overhead->cost.traps * scale);
		event.trap_time = event.traps ? event.traps * gt_probe_trap_ns() : 0;
	}
	/* Where the kernel must not measure its programs, the sum is not known. */
	if (hooks && hooks->runs && !overhead->denied) {
		event.measured = event.measured ? event.measured : event.elapsed;
		event.runs += hooks->runs;
		event.run_time += hooks->run_ns;
	}
	gt_event_queue_copy(events, &event.head);
}
