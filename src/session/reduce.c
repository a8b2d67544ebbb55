/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "session/reduce.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "probe/api/gaps.h"
#include "session/overhead.h"

#define UPDATE_NS 250000000ull /* between decisions */
#define WINDOW_NS 100000000ull /* in which a sampled source is traced */

/* One source of the session's list, or the hooks of its companion. */
struct reduced_source {
	const struct gt_companion *hooks; /* NULL: … */
	size_t index;                     /* … in the list */
	bool is_paused, is_announced;
	unsigned level;     /* that was carried out */
	uint64_t cost;      /* as read last */
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

struct gt_reduce *gt_reduce_new(double limit, const gt_opened_list *sources,
				const struct gt_companion *companion, uint64_t now)
{
	bool has_hooks = companion && companion->cost;
	size_t count = sources->count + has_hooks;
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
	for (size_t i = 0; i < sources->count; i++) {
		const struct gt_source *source = sources->items[i].source;

		reduce->sources[i].index = i;
		reduce->items[i].is_fixed = !strcmp(source->name, "process");
		reduce->items[i].can_sample = source->pause;
	}
	if (has_hooks) {
		reduce->sources[sources->count].hooks = companion;
		reduce->items[sources->count].can_sample = true;
	}
	for (size_t i = 0; i < count; i++)
		reduce->sources[i].last = now;
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

/* ---- a source, or hooks ---- */

static const char *label_of(const struct reduced_source *reduced, const gt_opened_list *sources)
{
	const struct gt_source *source =
		reduced->hooks ? NULL : sources->items[reduced->index].source;

	return !source || source->group ? "calls" : source->name;
}

static uint64_t cost_of(const struct reduced_source *reduced, const gt_opened_list *sources)
{
	struct gt_probe_cost cost = {0};

	if (reduced->hooks) {
		reduced->hooks->cost(reduced->hooks->context, &cost);
	} else {
		const struct gt_opened *opened = &sources->items[reduced->index];

		if (opened->source->cost)
			opened->source->cost(opened->state, &cost);
	}
	return gt_overhead_ns(&cost);
}

/*
 * Add what a source has cost since the last time, to what it costs while it is traced or, hooks,
 * paused. Counts of programs that were replaced may be gone.
 */
static void charge_source(struct reduced_source *reduced, const gt_opened_list *sources,
			  struct gt_budget_item *item)
{
	uint64_t cost = cost_of(reduced, sources);
	uint64_t growth = cost > reduced->cost ? cost - reduced->cost : 0;

	if (reduced->hooks && reduced->is_paused)
		item->idle_cost += growth;
	else
		item->cost += growth;
	reduced->cost = cost;
}

static void pause_source(const struct reduced_source *reduced, const gt_opened_list *sources)
{
	if (reduced->hooks) {
		reduced->hooks->pause(reduced->hooks->context, reduced->is_paused);
	} else {
		const struct gt_opened *opened = &sources->items[reduced->index];

		opened->source->pause(opened->state, reduced->is_paused);
	}
}

static void drop_source(const struct reduced_source *reduced, const gt_opened_list *sources)
{
	if (reduced->hooks) {
		reduced->hooks->drop(reduced->hooks->context);
	} else {
		struct gt_opened *opened = &sources->items[reduced->index];

		opened->source->detach(opened->state);
		opened->is_dropped = true;
	}
}

/* ---- decisions ---- */

static void announce(struct gt_reduce *reduce, size_t index, const char *label,
		     const struct gt_host *host)
{
	struct reduced_source *reduced = &reduce->sources[index];
	const struct gt_budget_item *item = &reduce->items[index];
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

static void update_items(struct gt_reduce *reduce, const gt_opened_list *sources,
			 const struct gt_host *host, uint64_t now)
{
	for (size_t i = 0; i < reduce->count; i++)
		charge_source(&reduce->sources[i], sources, &reduce->items[i]);
	if (!gt_budget_update(&reduce->budget, reduce->items, reduce->count, now))
		return;
	for (size_t i = 0; i < reduce->count; i++) {
		const struct gt_budget_item *item = &reduce->items[i];
		struct reduced_source *reduced = &reduce->sources[i];

		if (item->level + item->is_dropped == reduced->level)
			continue;
		reduced->level = item->level + item->is_dropped;
		announce(reduce, i, label_of(reduced, sources), host);
		if (item->is_dropped)
			drop_source(reduced, sources);
	}
}

/* Begin or end the window of a sampled source. */
static void switch_window(struct reduced_source *reduced, struct gt_budget_item *item,
			  const gt_opened_list *sources)
{
	uint64_t pause = WINDOW_NS * ((1ull << item->level) - 1);

	charge_source(reduced, sources, item);
	reduced->is_paused = !reduced->is_paused;
	pause_source(reduced, sources);
	reduced->last = gt_clock_monotonic();
	reduced->switch_at = reduced->last + (reduced->is_paused ? pause : WINDOW_NS);
}

void gt_reduce_tick(struct gt_reduce *reduce, gt_opened_list *sources, const struct gt_host *host,
		    uint64_t now)
{
	for (size_t i = 0; i < reduce->count; i++) {
		struct reduced_source *reduced = &reduce->sources[i];

		if (reduce->items[i].is_dropped)
			continue;
		if (now > reduced->last)
			*(reduced->is_paused ? &reduce->items[i].idle : &reduce->items[i].active) +=
				now - reduced->last;
		reduced->last = now;
		if (reduce->items[i].level && now >= reduced->switch_at)
			switch_window(reduced, &reduce->items[i], sources);
	}
	if (now < reduce->next)
		return;
	reduce->next = now + UPDATE_NS;
	update_items(reduce, sources, host, now);
}
