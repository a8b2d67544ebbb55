/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/top.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/copies.h"
#include "analysis/counts.h"
#include "analysis/drm_jobs.h"
#include "analysis/flight.h"
#include "analysis/kernels.h"
#include "analysis/leaks.h"
#include "api/api.h"
#include "base/hash.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "event/kinds.h"
#include "layers/layers.h"

struct top_table {
	struct gt_hash *by_key; /* process, a zero, name -> struct gt_top_row */
	GT_VEC(struct gt_top_row *) rows;
};

struct gt_top {
	struct top_table tables[GT_TOP_TABLES];
	struct gt_counts_analysis *counts;
	struct gt_kernels *kernels;
	struct gt_copies *copies;
	struct gt_leaks *leaks;
	struct gt_drm_jobs *jobs;
	struct gt_short_names *shown; /* of kernels that have rows */
	struct gt_hash *ended;        /* processes: id -> the refresh that shows them last */
	struct gt_strbuf text, key;   /* kept for their memory */
	uint64_t refreshed, interval;
	uintptr_t refreshes; /* the number of the next one, from 1 on */
	uint64_t events, events_shown, omitted;
	struct gt_top_sample samples[GT_TOP_MAX_SAMPLES];
	size_t sample_count;
};

struct gt_top *gt_top_new(void)
{
	gt_auto(top) struct gt_top *top = calloc(1, sizeof(*top));

	if (!top)
		return NULL;
	top->refreshes = 1;
	top->counts = gt_counts_new();
	top->kernels = gt_kernels_new(GT_BY_NOTHING);
	top->copies = gt_copies_new(GT_BY_PROCESS, GT_FLIGHT_DEFAULT);
	top->leaks = gt_leaks_new(GT_BY_PROCESS);
	top->jobs = gt_drm_jobs_new();
	top->ended = gt_hash_new();
	top->shown = gt_short_names_new();
	if (!top->counts || !top->kernels || !top->copies || !top->leaks || !top->jobs ||
	    !top->ended || !top->shown)
		return NULL;
	for (int table = 0; table < GT_TOP_TABLES; table++) {
		top->tables[table].by_key = gt_hash_new();
		if (!top->tables[table].by_key)
			return NULL;
	}
	return gt_take(top);
}

static void row_free(void *opaque)
{
	struct gt_top_row *row = opaque;

	free(row->name);
	free(row->kernel);
	free(row);
}

void gt_top_free(struct gt_top *top)
{
	if (!top)
		return;
	for (int table = 0; table < GT_TOP_TABLES; table++) {
		if (top->tables[table].by_key)
			gt_hash_free_with(top->tables[table].by_key, row_free);
		gt_vec_free(&top->tables[table].rows);
	}
	gt_counts_free(top->counts);
	gt_kernels_free(top->kernels);
	gt_copies_free(top->copies);
	gt_leaks_free(top->leaks);
	gt_drm_jobs_free(top->jobs);
	gt_hash_free(top->ended);
	gt_short_names_free(top->shown);
	gt_strbuf_free(&top->text);
	gt_strbuf_free(&top->key);
	free(top);
}

/* ---- rows --------------------------------------------------------------------------------- */

static const struct gt_strbuf *make_key(struct gt_top *top, uint32_t process, const char *name)
{
	gt_strbuf_clear(&top->key);
	gt_strbuf_add(&top->key, (const char *)&process, sizeof(process));
	gt_strbuf_puts(&top->key, name);
	return &top->key;
}

/* Whether a process had ended before an earlier refresh. */
static bool has_gone(const struct gt_top *top, uint32_t process)
{
	uintptr_t last = process ? (uintptr_t)gt_hash_get_u64(top->ended, process) : 0;

	return last && last < top->refreshes;
}

/*
 * Find or add the row of a process and a name: *ret_row, NULL if the table is full or the process
 * has ended. 0 or -ENOMEM.
 */
static int find_row(struct gt_top *top, enum gt_top_table which, uint32_t process, const char *name,
		    struct gt_top_row **ret_row)
{
	struct top_table *table = &top->tables[which];
	const struct gt_strbuf *key = make_key(top, process, name);
	struct gt_top_row *row;

	if (key->failed)
		return -ENOMEM;
	*ret_row = gt_hash_get(table->by_key, key->data, key->length);
	if (*ret_row || has_gone(top, process))
		return 0;
	if (table->rows.count >= GT_TOP_ROWS) {
		top->omitted++;
		return 0;
	}
	row = calloc(1, sizeof(*row));
	if (!row)
		return -ENOMEM;
	row->process = process;
	row->name = strdup(name);
	if (!row->name || gt_vec_push(&table->rows, row)) {
		row_free(row);
		return -ENOMEM;
	}
	if (gt_hash_set(table->by_key, key->data, key->length, row)) {
		table->rows.count--;
		row_free(row);
		return -ENOMEM;
	}
	*ret_row = row;
	return 0;
}

/* Set the first `count` counters of a row. */
static int set_row(struct gt_top *top, enum gt_top_table table, uint32_t process, const char *name,
		   const uint64_t *counters, size_t count)
{
	struct gt_top_row *row = NULL;
	int error = find_row(top, table, process, name, &row);

	if (row)
		memcpy(row->counted, counters, count * sizeof(*counters));
	return error;
}

#define SET_ROW(top, table, process, name, ...)                                                    \
	set_row(top, table, process, name, (uint64_t[]){__VA_ARGS__},                              \
		sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

/* The row of a process has no name in its key: names change. */
static int add_to_process(struct gt_top *top, uint32_t process, unsigned counter, uint64_t value)
{
	struct gt_top_row *row = NULL;
	int error = find_row(top, GT_TOP_PROCESSES, process, "", &row);

	if (row)
		row->counted[counter] += value;
	return error;
}

/* ---- events ------------------------------------------------------------------------------- */

static int take_call(struct gt_top *top, const struct gt_names *names,
		     const struct gt_event_call *call)
{
	const struct gt_api_function *api = gt_names_api(names, call->function);
	uint32_t process = call->head.process;
	struct gt_top_row *row = NULL;
	int error = find_row(top, GT_TOP_PROCESSES, process, "", &row);

	if (error || !row)
		return error;
	row->counted[GT_TOP_PROCESS_CALLS]++;
	if (call->state & GT_CALL_UNFINISHED)
		return 0;
	row->counted[GT_TOP_PROCESS_ERRORS] += api && gt_api_failed(api, call->result);
	if (call->state & GT_CALL_NESTED)
		return 0;
	row->counted[GT_TOP_PROCESS_API] += call->duration;
	row->counted[GT_TOP_PROCESS_LAUNCHES] +=
		api && gt_operation_kind_of(api) == GT_OPERATION_LAUNCH;
	return 0;
}

/*
 * Find or add the row of a kernel: *ret_row as by find_row. Its key is its name as in the rows of
 * the analysis of kernels. 0 or -ENOMEM.
 */
static int find_kernel(struct gt_top *top, uint32_t process, const char *name, uint64_t handle,
		       struct gt_top_row **ret_row)
{
	struct gt_top_row *row = NULL;
	int error;

	gt_strbuf_clear(&top->text);
	gt_label_kernel(&top->text, NULL, name, handle);
	error = find_row(top, GT_TOP_KERNELS, name ? 0 : process, gt_strbuf_string(&top->text),
			 &row);
	if (row && name && !row->kernel) {
		row->kernel = strdup(name);
		gt_short_names_add(top->shown, name);
		error = row->kernel ? error : -ENOMEM;
	}
	*ret_row = row;
	return error;
}

static int take_gpu_work(struct gt_top *top, const struct gt_names *names,
			 const struct gt_event_gpu_work *work)
{
	uint64_t time = work->head.time > work->start ? work->head.time - work->start : 0;
	uint32_t process = work->head.process;
	const char *name = gt_names_kernel(names, process, work->object);
	struct gt_top_row *row = NULL;
	int error = add_to_process(top, process, GT_TOP_PROCESS_GPU, time);

	if (error || work->operation != GT_GPU_KERNEL)
		return error;
	error = find_kernel(top, process, name, work->object, &row);
	if (!row)
		return error;
	row->counted[GT_TOP_KERNEL_RUNS]++;
	row->counted[GT_TOP_KERNEL_GPU] += time;
	return 0;
}

static void take_sample(struct gt_top *top, const struct gt_event_gpu_sample *sample)
{
	struct gt_top_sample *kept = top->samples;
	size_t length;
	const char *model = gt_event_text(&sample->head, &length);

	while (kept < top->samples + top->sample_count && kept->gpu != sample->gpu)
		kept++;
	if (kept == top->samples + GT_TOP_MAX_SAMPLES)
		return;
	if (kept == top->samples + top->sample_count)
		top->sample_count++;
	kept->gpu = sample->gpu;
	kept->sample = *sample;
	if (length >= sizeof(kept->model))
		length = sizeof(kept->model) - 1;
	memcpy(kept->model, model, length);
	kept->model[length] = '\0';
}

static int take_own(struct gt_top *top, const struct gt_names *names, const struct gt_event *event)
{
	switch (event->kind) {
	case GT_EVENT_call:
		return take_call(top, names, (const void *)event);
	case GT_EVENT_gpu_work:
		return take_gpu_work(top, names, (const void *)event);
	case GT_EVENT_gpu_sample:
		take_sample(top, (const void *)event);
		return 0;
	case GT_EVENT_exit:
		return gt_hash_set_u64(top->ended, event->process, (void *)top->refreshes);
	case GT_EVENT_process: /* an id may be used again */
		gt_hash_remove_u64(top->ended, event->process);
		return 0;
	default:
		return 0;
	}
}

int gt_top_take(struct gt_top *top, const struct gt_names *names, const struct gt_event *event)
{
	int error;

	if (!top->refreshed)
		top->refreshed = event->clock == GT_CLOCK_MONOTONIC ? event->time : 0;
	top->events += event->kind == GT_EVENT_call || gt_layer_kind(event->kind);
	error = take_own(top, names, event);
	if (!error)
		error = gt_counts_take(top->counts, names, event);
	if (!error)
		error = gt_kernels_take(top->kernels, names, event);
	if (!error)
		error = gt_copies_take(top->copies, names, event);
	if (!error)
		error = gt_leaks_take(top->leaks, names, event);
	return error ? error : gt_drm_jobs_take(top->jobs, event);
}

/* ---- refresh ------------------------------------------------------------------------------ */

static int collect_functions(struct gt_top *top, const struct gt_names *names)
{
	const struct gt_count *rows;
	size_t count;
	int error = gt_counts_rows(top->counts, &rows, &count);

	for (size_t i = 0; i < count && !error; i++)
		error = SET_ROW(top, GT_TOP_FUNCTIONS, 0, rows[i].name, rows[i].calls,
				rows[i].errors, rows[i].total_ns);
	return error;
}

static int collect_kernels(struct gt_top *top, const struct gt_names *names)
{
	const struct gt_kernel_row *const *rows;
	size_t count;
	int error = gt_kernels_rows(top->kernels, names, &rows, &count);

	for (size_t i = 0; i < count && !error; i++) {
		struct gt_top_row *row = NULL;

		error = find_kernel(top, rows[i]->process, rows[i]->name, rows[i]->handle, &row);
		if (!row)
			continue;
		row->counted[GT_TOP_KERNEL_LAUNCHES] = rows[i]->launches + rows[i]->by_graphs;
		row->counted[GT_TOP_KERNEL_FAILED] = rows[i]->failed;
		row->counted[GT_TOP_KERNEL_CALL] = rows[i]->duration.sum;
	}
	return error;
}

static int collect_copies(struct gt_top *top, const struct gt_names *names)
{
	const struct gt_copies_row *const *rows;
	struct gt_copies_totals totals;
	size_t count;
	int error = gt_copies_rows(top->copies, names, &rows, &count, &totals);

	gt_vec_each (row, &top->tables[GT_TOP_PROCESSES].rows)
		(*row)->counted[GT_TOP_PROCESS_COPIED] = 0;
	for (size_t i = 0; i < count && !error; i++) {
		uint64_t bytes = rows[i]->bytes + rows[i]->by_graphs.bytes;
		uint32_t process = rows[i]->group.process;

		error = SET_ROW(top, GT_TOP_COPIES, process, gt_direction_name(rows[i]->direction),
				rows[i]->count + rows[i]->by_graphs.count, bytes);
		if (!error)
			error = add_to_process(top, process, GT_TOP_PROCESS_COPIED, bytes);
	}
	return error;
}

static int collect_memory(struct gt_top *top, const struct gt_names *names)
{
	const struct gt_memory_process *const *processes;
	size_t count;
	int error = gt_leaks_processes(top->leaks, names, &processes, &count);

	for (size_t i = 0; i < count && !error; i++) {
		const struct gt_memory_use *use = processes[i]->use;
		uint64_t allocations = 0, live = 0, device;
		struct gt_top_row *row = NULL;

		for (int space = 0; space < GT_SPACES; space++) {
			allocations += use[space].allocations;
			live += use[space].live;
		}
		device = use[GT_SPACE_DEVICE].current + use[GT_SPACE_ARRAY].current +
			 use[GT_SPACE_PHYSICAL].current;
		error = SET_ROW(top, GT_TOP_MEMORY, processes[i]->process, "", device,
				use[GT_SPACE_HOST].current, use[GT_SPACE_MANAGED].current,
				processes[i]->peak, allocations, allocations - live,
				processes[i]->failed);
		if (!error)
			error = find_row(top, GT_TOP_PROCESSES, processes[i]->process, "", &row);
		if (row)
			row->counted[GT_TOP_PROCESS_MEMORY] =
				device + use[GT_SPACE_MANAGED].current;
	}
	return error;
}

static int collect_rings(struct gt_top *top, const struct gt_names *names)
{
	int error = 0;

	gt_vec_each (item, &top->jobs->rings.rows) {
		const struct gt_drm_ring *ring = *item;
		const struct gt_drm_jobs_sums *sums = &ring->sums;

		gt_strbuf_clear(&top->text);
		gt_strbuf_printf(&top->text, "%.*s %.*s", GT_DRM_NAME_SIZE, ring->device,
				 GT_DRM_NAME_SIZE, ring->ring);
		error = SET_ROW(top, GT_TOP_RINGS, 0, gt_strbuf_string(&top->text), sums->jobs,
				sums->done, sums->running, sums->ran.sum, sums->waits,
				sums->timeouts);
		if (error)
			break;
	}
	return error;
}

static int collect_sources(struct gt_top *top, const struct gt_names *names)
{
	const struct gt_event_account *account = gt_names_account(names);
	size_t count;
	const struct gt_known_totals *totals = gt_names_totals(names, &count);
	int error = 0;

	if (account)
		error = SET_ROW(top, GT_TOP_SOURCES, 0, "calls", account->made, account->lost);
	for (size_t i = 0; i < count && !error; i++)
		error = SET_ROW(top, GT_TOP_SOURCES, 0, totals[i].source,
				totals[i].recorded + totals[i].lost, totals[i].lost,
				totals[i].evicted);
	if (account && !error)
		error = SET_ROW(top, GT_TOP_SOURCES, 0, "(names, stacks and other events)", 0,
				account->others_lost);
	return error;
}

static void remove_row(struct gt_top *top, struct top_table *table, struct gt_top_row *row)
{
	const struct gt_strbuf *key = make_key(top, row->process, row->name);

	gt_hash_remove(table->by_key, key->data, key->length);
	row_free(row);
}

static void remove_gone(struct gt_top *top, struct top_table *table)
{
	size_t kept = 0;

	for (size_t i = 0; i < table->rows.count; i++) {
		struct gt_top_row *row = table->rows.items[i];

		/* The memory for the key is there: the row was added with it. */
		if (has_gone(top, row->process))
			remove_row(top, table, row);
		else
			table->rows.items[kept++] = row;
	}
	table->rows.count = kept;
}

int gt_top_refresh(struct gt_top *top, const struct gt_names *names, uint64_t now)
{
	int (*const collect[])(struct gt_top *, const struct gt_names *) = {
		collect_functions, collect_kernels, collect_copies,
		collect_memory,    collect_rings,   collect_sources,
	};
	int error = 0;

	for (int table = 0; table < GT_TOP_TABLES; table++)
		remove_gone(top, &top->tables[table]);
	for (size_t i = 0; i < sizeof(collect) / sizeof(*collect) && !error; i++)
		error = collect[i](top, names);
	for (int table = 0; table < GT_TOP_TABLES; table++)
		gt_vec_each (row, &top->tables[table].rows) {
			memcpy((*row)->before, (*row)->now, sizeof((*row)->before));
			memcpy((*row)->now, (*row)->counted, sizeof((*row)->now));
		}
	top->interval = now > top->refreshed && top->refreshed ? now - top->refreshed : 1;
	top->refreshed = now;
	top->refreshes++;
	top->events_shown = top->events;
	top->events = 0;
	return error;
}

const struct gt_top_row *const *gt_top_rows(const struct gt_top *top, enum gt_top_table table,
					    size_t *ret_count)
{
	*ret_count = top->tables[table].rows.count;
	return (const struct gt_top_row *const *)top->tables[table].rows.items;
}

const struct gt_short_names *gt_top_kernels(const struct gt_top *top)
{
	return top->shown;
}

bool gt_top_has_interval(const struct gt_top *top)
{
	return top->interval > 1;
}

uint64_t gt_top_interval(const struct gt_top *top)
{
	return top->interval ? top->interval : 1;
}

uint64_t gt_top_events(const struct gt_top *top)
{
	return top->events_shown;
}

uint64_t gt_top_omitted(const struct gt_top *top)
{
	return top->omitted;
}

const struct gt_top_sample *gt_top_samples(const struct gt_top *top, size_t *ret_count)
{
	*ret_count = top->sample_count;
	return top->samples;
}
