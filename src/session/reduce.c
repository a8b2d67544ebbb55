/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "session/reduce.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "probe/api/gaps.h"
#include "session/overhead.h"

#define UPDATE_NS 250000000ull /* between decisions */
#define WINDOW_NS 100000000ull /* in which a sampled source is traced */

/* Of one source, in the order of the session's list. */
struct reduced_source {
	bool is_paused, is_announced;
	unsigned level;     /* that was carried out */
	uint64_t last;      /* time of the last tick */
	uint64_t switch_at; /* end of the window or pause */
};

struct gt_reduce {
	struct gt_budget budget;
	uint64_t next; /* decision */
	size_t count;
	struct gt_budget_item *items; /* for gt_budget_update */
	struct reduced_source sources[];
};

struct gt_reduce *gt_reduce_new(double limit, const gt_opened_list *sources, uint64_t now)
{
	size_t count = sources->count;
	struct gt_reduce *reduce = calloc(1, sizeof(*reduce) + count * sizeof(*reduce->sources));

	if (!reduce)
		return NULL;
	reduce->items = calloc(count + 1, sizeof(*reduce->items));
	if (!reduce->items) {
		free(reduce);
		return NULL;
	}
	reduce->count = count;
	reduce->next = now + UPDATE_NS;
	for (size_t i = 0; i < count; i++) {
		const struct gt_source *source = sources->items[i].source;

		reduce->sources[i].last = now;
		reduce->items[i].is_fixed = !strcmp(source->name, "process");
		reduce->items[i].can_sample = source->pause;
	}
	gt_budget_begin(&reduce->budget, limit, now);
	return reduce;
}

void gt_reduce_free(struct gt_reduce *reduce)
{
	if (!reduce)
		return;
	free(reduce->items);
	free(reduce);
}

static const char *label_of(const struct gt_source *source)
{
	return source->group ? "calls" : source->name;
}

static void announce(struct gt_reduce *reduce, size_t index, const struct gt_opened *opened,
		     const struct gt_host *host)
{
	struct reduced_source *reduced = &reduce->sources[index];
	const struct gt_budget_item *item = &reduce->items[index];
	const char *label = label_of(opened->source);
	double percent = reduce->budget.before * 100, limit = reduce->budget.limit * 100;

	if (item->is_dropped)
		gt_event_queue_note(host->events,
				    "probes take %.1f %% of the time (--max-overhead %g%%): %s: no "
				    "longer traced",
				    percent, limit, label);
	else
		gt_event_queue_note(host->events,
				    "probes take %.1f %% of the time (--max-overhead %g%%): %s: "
				    "traced 1/%u of the time",
				    percent, limit, label, 1u << item->level);
	if (!reduced->is_announced)
		gt_gap_emit(host, GT_GAP_REDUCED, 0, label, gt_clock_monotonic(), 0);
	reduced->is_announced = true;
}

static void drop_source(struct gt_opened *opened)
{
	opened->source->detach(opened->state);
	opened->is_dropped = true;
}

static void update_items(struct gt_reduce *reduce, gt_opened_list *sources,
			 const struct gt_host *host, uint64_t now)
{
	for (size_t i = 0; i < reduce->count; i++) {
		struct gt_opened *opened = &sources->items[i];
		struct gt_probe_cost cost = {0};

		if (opened->source->cost)
			opened->source->cost(opened->state, &cost);
		reduce->items[i].cost = gt_overhead_ns(&cost);
	}
	if (!gt_budget_update(&reduce->budget, reduce->items, reduce->count, now))
		return;
	for (size_t i = 0; i < reduce->count; i++) {
		const struct gt_budget_item *item = &reduce->items[i];
		struct gt_opened *opened = &sources->items[i];

		if (opened->is_dropped ||
		    item->level + item->is_dropped == reduce->sources[i].level)
			continue;
		reduce->sources[i].level = item->level + item->is_dropped;
		announce(reduce, i, opened, host);
		if (item->is_dropped)
			drop_source(opened);
	}
}

/* Begin or end the window of a sampled source. */
static void switch_window(struct reduced_source *reduced, const struct gt_budget_item *item,
			  const struct gt_opened *opened)
{
	uint64_t pause = WINDOW_NS * ((1ull << item->level) - 1);

	reduced->is_paused = !reduced->is_paused;
	opened->source->pause(opened->state, reduced->is_paused);
	reduced->last = gt_clock_monotonic();
	reduced->switch_at = reduced->last + (reduced->is_paused ? pause : WINDOW_NS);
}

void gt_reduce_tick(struct gt_reduce *reduce, gt_opened_list *sources, const struct gt_host *host,
		    uint64_t now)
{
	for (size_t i = 0; i < reduce->count; i++) {
		struct reduced_source *reduced = &reduce->sources[i];

		if (sources->items[i].is_dropped)
			continue;
		if (!reduced->is_paused && now > reduced->last)
			reduce->items[i].active += now - reduced->last;
		reduced->last = now;
		if (reduce->items[i].level && now >= reduced->switch_at)
			switch_window(reduced, &reduce->items[i], &sources->items[i]);
	}
	if (now < reduce->next)
		return;
	reduce->next = now + UPDATE_NS;
	update_items(reduce, sources, host, now);
}
