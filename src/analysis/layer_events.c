/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/layer_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "event/kinds.h"

struct gt_layer_events {
	GT_VEC(struct gt_layer_event_row) rows;
	GT_VEC(struct gt_layer_process_row) processes;
	struct gt_hash *by_name;    /* -> the row's number + 1 */
	struct gt_hash *by_process; /* -> the row's number + 1 */
};

struct gt_layer_events *gt_layer_events_new(void)
{
	gt_auto(layer_events) struct gt_layer_events *events = calloc(1, sizeof(*events));

	if (!events)
		return NULL;
	events->by_name = gt_hash_new();
	events->by_process = gt_hash_new();
	return events->by_name && events->by_process ? gt_take(events) : NULL;
}

void gt_layer_events_free(struct gt_layer_events *events)
{
	if (!events)
		return;
	gt_vec_each (row, &events->rows) {
		free((char *)row->name);
		gt_histogram_free(&row->durations);
	}
	gt_vec_free(&events->rows);
	gt_vec_free(&events->processes);
	if (events->by_name)
		gt_hash_free(events->by_name);
	if (events->by_process)
		gt_hash_free(events->by_process);
	free(events);
}

static struct gt_layer_event_row *find_row(struct gt_layer_events *events, const char *name)
{
	uintptr_t number = (uintptr_t)gt_hash_get(events->by_name, name, strlen(name));
	struct gt_layer_event_row row = {0};

	if (number)
		return &events->rows.items[number - 1];
	row.name = strdup(name);
	if (!row.name || gt_vec_push(&events->rows, row)) {
		free((char *)row.name);
		return NULL;
	}
	if (gt_hash_set(events->by_name, name, strlen(name), (void *)events->rows.count))
		return NULL;
	return &events->rows.items[events->rows.count - 1];
}

static struct gt_layer_process_row *find_process(struct gt_layer_events *events, uint32_t process)
{
	uintptr_t number = (uintptr_t)gt_hash_get_u64(events->by_process, process);
	struct gt_layer_process_row row = {.process = process};

	if (number)
		return &events->processes.items[number - 1];
	if (gt_vec_push(&events->processes, row) ||
	    gt_hash_set_u64(events->by_process, process, (void *)events->processes.count))
		return NULL;
	return &events->processes.items[events->processes.count - 1];
}

int gt_layer_events_take(struct gt_layer_events *events, const struct gt_event *event)
{
	const struct gt_layer_kind *kind = gt_layer_kind(event->kind);
	struct gt_layer_process_row *process;
	struct gt_layer_event_row *row;
	uint64_t duration = 0;

	if (!kind)
		return 0;
	row = find_row(events, gt_layer_event_name(kind, event));
	process = find_process(events, event->process);
	if (!row || !process)
		return -ENOMEM;
	row->count++;
	process->count++;
	row->can_fail = kind->error;
	if (kind->error && kind->error(event)) {
		row->errors++;
		process->errors++;
	}
	if (!gt_event_duration(event, &duration))
		return 0;
	process->total_ns += duration;
	return gt_histogram_add(&row->durations, duration);
}

static int compare_rows(const void *left, const void *right)
{
	const struct gt_layer_event_row *a = left, *b = right;

	return a->count != b->count ? (a->count < b->count) - (a->count > b->count)
				    : strcmp(a->name, b->name);
}

static int compare_processes(const void *left, const void *right)
{
	const struct gt_layer_process_row *a = left, *b = right;

	return a->count != b->count ? (a->count < b->count) - (a->count > b->count)
				    : (a->process > b->process) - (a->process < b->process);
}

/* The numbers of rows change: the tables are made anew. */
static void index_rows(struct gt_layer_events *events)
{
	for (size_t i = 0; i < events->rows.count; i++)
		gt_hash_set(events->by_name, events->rows.items[i].name,
			    strlen(events->rows.items[i].name), (void *)(i + 1));
	for (size_t i = 0; i < events->processes.count; i++)
		gt_hash_set_u64(events->by_process, events->processes.items[i].process,
				(void *)(i + 1));
}

const struct gt_layer_event_row *gt_layer_events_rows(struct gt_layer_events *events,
						      size_t *ret_count)
{
	*ret_count = events->rows.count;
	if (events->rows.count)
		qsort(events->rows.items, events->rows.count, sizeof(*events->rows.items),
		      compare_rows);
	index_rows(events);
	return events->rows.items;
}

const struct gt_layer_process_row *gt_layer_events_processes(struct gt_layer_events *events,
							     size_t *ret_count)
{
	*ret_count = events->processes.count;
	if (events->processes.count)
		qsort(events->processes.items, events->processes.count,
		      sizeof(*events->processes.items), compare_processes);
	index_rows(events);
	return events->processes.items;
}
