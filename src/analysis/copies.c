/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/copies.h"

#include <errno.h>
#include <string.h>

#include "analysis/chains.h"
#include "analysis/flight.h"
#include "analysis/graphs.h"
#include "analysis/memory.h"
#include "base/hash.h"
#include "base/vec.h"

#define POWERS 64

struct copies_key {
	struct gt_group group;
	uint64_t direction;
};

/* Bytes and time of copies that waited, by powers of two of their sizes. */
struct copy_speed {
	uint64_t bytes[POWERS], ns[POWERS];
};

struct gt_copies {
	enum gt_by by;
	struct gt_operations *operations;
	struct gt_memory *memory;
	struct gt_graphs *graphs;
	uint64_t unknown_graphs;
	struct gt_flight *flight;
	struct gt_hash *queued; /* processes with work that may be running: id -> any */
	struct gt_hash *by_key; /* struct copies_key -> struct gt_copies_row */
	struct gt_hash *shown;  /* by device: the same as of now */
	GT_VEC(const struct gt_copies_row *) rows;
	struct copy_speed speeds[2][GT_HOST_MEMORIES]; /* to the device, from the device */
};

static int ignore_change(void *context, const struct gt_names *names,
			 const struct gt_memory_change *change)
{
	return 0;
}

struct gt_copies *gt_copies_new(enum gt_by by, size_t most)
{
	gt_auto(copies) struct gt_copies *copies = calloc(1, sizeof(*copies));

	if (!copies)
		return NULL;
	copies->by = by;
	copies->operations = gt_operations_new();
	copies->memory = gt_memory_new(true, ignore_change, NULL);
	copies->graphs = gt_graphs_new();
	copies->flight = gt_flight_new(most);
	copies->queued = gt_hash_new();
	copies->by_key = gt_hash_new();
	if (!copies->queued || !copies->operations || !copies->memory || !copies->graphs ||
	    !copies->flight || !copies->by_key)
		return NULL;
	return gt_take(copies);
}

static void row_free(void *opaque)
{
	struct gt_copies_row *row = opaque;

	gt_histogram_free(&row->sizes);
	gt_histogram_free(&row->bound);
	free(row);
}

void gt_copies_free(struct gt_copies *copies)
{
	if (!copies)
		return;
	gt_operations_free(copies->operations);
	gt_memory_free(copies->memory);
	gt_graphs_free(copies->graphs);
	gt_flight_free(copies->flight);
	if (copies->queued)
		gt_hash_free(copies->queued);
	if (copies->by_key)
		gt_hash_free_with(copies->by_key, row_free);
	if (copies->shown)
		gt_hash_free_with(copies->shown, row_free);
	gt_vec_free(&copies->rows);
	free(copies);
}

/* The row of a key, whose group was first seen with that ordinal of a device. NULL: no memory. */
static struct gt_copies_row *row_in(struct gt_hash *rows, const struct copies_key *key, int device)
{
	struct gt_copies_row *row = gt_hash_get(rows, key, sizeof(*key));

	if (row)
		return row;
	row = calloc(1, sizeof(*row));
	if (!row)
		return NULL;
	row->direction = (enum gt_direction)key->direction;
	row->group = gt_group_with_ordinal(key->group, device);
	if (gt_hash_set(rows, key, sizeof(*key), row)) {
		free(row);
		return NULL;
	}
	return row;
}

static struct gt_copies_row *row_of(struct gt_copies *copies, const struct gt_names *names,
				    const struct gt_operation *operation,
				    enum gt_direction direction)
{
	struct copies_key key = {
		.group = gt_group_of(copies->by, names, operation->event,
				     operation->has_stream ? operation->stream : 0),
		.direction = direction,
	};

	return row_in(copies->by_key, &key, operation->event->head.device);
}

static void count_speed(struct gt_copies *copies, const struct gt_copy_traits *copy, uint64_t bytes,
			uint64_t ns)
{
	struct copy_speed *speed =
		&copies->speeds[copy->direction == GT_DEVICE_TO_HOST][copy->host];
	unsigned power = 63 - __builtin_clzll(bytes | 1);

	speed->bytes[power] += bytes;
	speed->ns[power] += ns;
}

static bool crosses_bus(enum gt_direction direction)
{
	return direction == GT_HOST_TO_DEVICE || direction == GT_DEVICE_TO_HOST;
}

/* A list has as many sizes as copies, if these are known. */
static int count_sizes(struct gt_copies_row *row, const struct gt_operation *operation)
{
	uint64_t sizes[GT_API_MAX_SIZES] = {operation->bytes};
	unsigned count = operation->has_other ? gt_call_list_sizes(&operation->call, sizes)
					      : operation->has_bytes;
	int error = 0;

	for (unsigned i = 0; i < count && !error; i++)
		error = gt_histogram_add(&row->sizes, sizes[i]);
	return error;
}

static int count_copy(struct gt_copies *copies, struct gt_copies_row *row,
		      const struct gt_operation *operation, const struct gt_copy_traits *copy)
{
	uint64_t bytes = operation->has_bytes ? operation->bytes : 0;
	struct gt_copies_part *part = copy->waits ? &row->waited : &row->asynchronous;
	uint64_t count = operation->has_other ? operation->other : 1;
	int error = count_sizes(row, operation);

	row->count += count;
	row->bytes += bytes;
	row->unknown += operation->has_bytes ? 0 : count;
	part->count += count;
	part->bytes += bytes;
	if (copy->waits) {
		row->waited_ns += operation->event->duration;
		if (gt_hash_get_u64(copies->queued, operation->event->head.process))
			row->waited_behind += count;
	}
	if (!crosses_bus(copy->direction))
		return error;
	row->host[copy->host].count += count;
	row->host[copy->host].bytes += bytes;
	if (copy->waits && operation->has_bytes)
		count_speed(copies, copy, bytes, operation->event->duration);
	return error;
}

static void report_completed(void *opaque, const struct gt_work *work, uint64_t end)
{
	struct gt_copies_row *row = (struct gt_copies_row *)(uintptr_t)work->tag;

	/* Without memory for it one bound is missing, and the counts say so. */
	gt_histogram_add(&row->bound, end - work->issued);
}

/* A copy that becomes a node of a graph. */
static int take_node(struct gt_copies *copies, const struct gt_operation *operation)
{
	struct gt_copy_traits copy = gt_copy_traits_of(copies->memory, operation);

	return gt_graphs_add(copies->graphs, operation, copy.direction,
			     operation->has_bytes ? operation->bytes : 0);
}

static int take_graph(struct gt_copies *copies, const struct gt_names *names,
		      const struct gt_operation *operation)
{
	const struct gt_graph_item *items;
	size_t count;

	if (!gt_graphs_items(copies->graphs, operation, &items, &count))
		copies->unknown_graphs++;
	for (size_t i = 0; i < count; i++) {
		struct gt_copies_row *row =
			row_of(copies, names, operation, (enum gt_direction)items[i].tag);

		if (!row)
			return -ENOMEM;
		row->by_graphs.count += items[i].count;
		row->by_graphs.bytes += items[i].count * items[i].bytes;
	}
	return 0;
}

/* Whether it waits for all work of the device that may be queued: not for that of one stream. */
static bool waits_for_all(const struct gt_operation *operation)
{
	return operation->kind == GT_OPERATION_SYNC &&
	       (!operation->has_stream || operation->stream <= GT_STREAM_LEGACY);
}

/* Note whether a process has work in a stream which the next copy that waits may wait for. */
static int take_queued(struct gt_copies *copies, const struct gt_operation *operation, bool waits)
{
	uint32_t process = operation->event->head.process;
	bool queues = operation->kind == GT_OPERATION_LAUNCH ||
		      operation->kind == GT_OPERATION_COPY || operation->kind == GT_OPERATION_SET;

	if (operation->failed || operation->capture)
		return 0;
	if (waits || waits_for_all(operation)) {
		gt_hash_remove_u64(copies->queued, process);
		return 0;
	}
	return queues ? gt_hash_set_u64(copies->queued, process, copies->queued) : 0;
}

static int take_copy(struct gt_copies *copies, const struct gt_names *names,
		     const struct gt_operation *operation)
{
	struct gt_copy_traits copy = gt_copy_traits_of(copies->memory, operation);
	struct gt_copies_row *row = row_of(copies, names, operation, copy.direction);
	uint64_t tag = (uintptr_t)row;
	int error;

	if (!row)
		return -ENOMEM;
	if (operation->failed) {
		row->failed++;
		return 0;
	}
	error = count_copy(copies, row, operation, &copy);
	if (!error)
		error = take_queued(copies, operation, copy.waits);
	return error ? error
		     : gt_flight_take(copies->flight, operation, copy.waits ? NULL : &tag,
				      copy.waits, report_completed, copies);
}

static int take_operation(void *opaque, const struct gt_names *names,
			  const struct gt_operation *operation)
{
	struct gt_copies *copies = opaque;
	bool is_copy = operation->kind == GT_OPERATION_COPY;
	int error = gt_memory_take(copies->memory, names, operation);

	if (!error)
		error = gt_graphs_take(copies->graphs, operation);
	if (error)
		return error;
	if (!operation->failed &&
	    (operation->kind == GT_OPERATION_GRAPH_COPY || (is_copy && operation->capture)))
		return take_node(copies, operation);
	if (is_copy)
		return take_copy(copies, names, operation);
	error = take_queued(copies, operation, false);
	if (!error && gt_graphs_launches(operation))
		error = take_graph(copies, names, operation);
	return error ? error
		     : gt_flight_take(copies->flight, operation, NULL, false, report_completed,
				      copies);
}

int gt_copies_take(struct gt_copies *copies, const struct gt_names *names,
		   const struct gt_event *event)
{
	int error = gt_operations_take(copies->operations, names, event, take_operation, copies);

	if (error || event->kind != GT_EVENT_exit)
		return error;
	gt_flight_end_process(copies->flight, event->process);
	gt_hash_remove_u64(copies->queued, event->process);
	gt_graphs_end_process(copies->graphs, event->process);
	return gt_memory_end_process(copies->memory, names, event->process, event->time);
}

static struct gt_pinning compare_speeds(const struct copy_speed *pageable,
					const struct copy_speed *pinned)
{
	struct gt_pinning pinning = {0};

	for (unsigned i = 0; i < POWERS; i++) {
		pinning.pageable_bytes += pageable->bytes[i];
		pinning.pageable_ns += pageable->ns[i];
		if (!pageable->bytes[i] || !pinned->bytes[i])
			continue;
		pinning.compared_bytes += pageable->bytes[i];
		pinning.compared_ns += pageable->ns[i];
		pinning.pinned_ns += (uint64_t)((double)pageable->bytes[i] * (double)pinned->ns[i] /
						(double)pinned->bytes[i]);
	}
	return pinning;
}

static int compare_rows(const void *a, const void *b)
{
	const struct gt_copies_row *left = *(const struct gt_copies_row *const *)a;
	const struct gt_copies_row *right = *(const struct gt_copies_row *const *)b;

	uint64_t left_bytes = left->bytes + left->by_graphs.bytes;
	uint64_t right_bytes = right->bytes + right->by_graphs.bytes;

	if (left_bytes != right_bytes)
		return left_bytes < right_bytes ? 1 : -1;
	if (left->count != right->count)
		return left->count < right->count ? 1 : -1;
	return (int)left->direction - (int)right->direction;
}

static void fill_totals(const struct gt_copies *copies, struct gt_copies_totals *totals)
{
	uint64_t pageable[GT_DIRECTIONS] = {0}, pinned[GT_DIRECTIONS] = {0};

	totals->in_flight = gt_flight_count(copies->flight);
	totals->evicted = gt_flight_evicted(copies->flight);
	totals->unknown_graphs = copies->unknown_graphs;
	gt_vec_each (row, &copies->rows) {
		pageable[(*row)->direction] += (*row)->host[GT_MEMORY_PAGEABLE].bytes;
		pinned[(*row)->direction] += (*row)->host[GT_MEMORY_PINNED].bytes;
	}
	for (int from = 0; from < 2; from++) {
		enum gt_direction direction = from ? GT_DEVICE_TO_HOST : GT_HOST_TO_DEVICE;
		const struct copy_speed *speeds = copies->speeds[from];

		totals->pinning[direction] =
			compare_speeds(&speeds[GT_MEMORY_PAGEABLE], &speeds[GT_MEMORY_PINNED]);
		totals->pinning[direction].dominates = pageable[direction] > pinned[direction];
	}
}

static void add_part(struct gt_copies_part *to, const struct gt_copies_part *part)
{
	to->count += part->count;
	to->bytes += part->bytes;
}

static int add_row(struct gt_copies_row *to, const struct gt_copies_row *row)
{
	to->count += row->count;
	to->failed += row->failed;
	to->bytes += row->bytes;
	to->unknown += row->unknown;
	to->waited_ns += row->waited_ns;
	add_part(&to->waited, &row->waited);
	add_part(&to->asynchronous, &row->asynchronous);
	add_part(&to->by_graphs, &row->by_graphs);
	for (int host = 0; host < GT_HOST_MEMORIES; host++)
		add_part(&to->host[host], &row->host[host]);
	return gt_histogram_merge(&to->sizes, &row->sizes) ||
			       gt_histogram_merge(&to->bound, &row->bound)
		       ? -ENOMEM
		       : 0;
}

/* Merge rows of a device whose UUID became known later, and rows of stacks with equal callers. */
static int merge_rows(struct gt_copies *copies, const struct gt_names *names)
{
	gt_auto(chains) struct gt_chains *chains = gt_chains_new(names);
	size_t cursor = 0;
	const void *key;
	void *value;

	if (copies->shown)
		gt_hash_free_with(copies->shown, row_free);
	copies->shown = gt_hash_new();
	if (!copies->shown || !chains)
		return -ENOMEM;
	while (gt_hash_next(copies->by_key, &cursor, &key, NULL, &value)) {
		const struct gt_copies_row *row = value;
		struct gt_copies_row *to;
		struct copies_key now;

		memcpy(&now, key, sizeof(now));
		now.group = gt_group_now(copies->by, names, chains, &now.group);
		to = row_in(copies->shown, &now, (int)row->group.device);
		if (!to || add_row(to, row))
			return -ENOMEM;
	}
	return 0;
}

int gt_copies_rows(struct gt_copies *copies, const struct gt_names *names,
		   const struct gt_copies_row *const **ret_rows, size_t *ret_count,
		   struct gt_copies_totals *ret_totals)
{
	const bool merged = copies->by == GT_BY_DEVICE || copies->by == GT_BY_STACK;
	struct gt_copies_totals totals = {0};
	size_t cursor = 0;
	void *value;

	copies->rows.count = 0;
	if (merged && merge_rows(copies, names))
		return -ENOMEM;
	while (gt_hash_next(merged ? copies->shown : copies->by_key, &cursor, NULL, NULL, &value))
		if (gt_vec_push(&copies->rows, value))
			return -ENOMEM;
	if (copies->rows.count)
		qsort(copies->rows.items, copies->rows.count, sizeof(*copies->rows.items),
		      compare_rows);
	fill_totals(copies, &totals);
	*ret_rows = copies->rows.items;
	*ret_count = copies->rows.count;
	*ret_totals = totals;
	return 0;
}
