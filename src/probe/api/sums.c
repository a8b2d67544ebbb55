/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "probe/api/sums.h"

#include <errno.h>
#include <stdlib.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/clean.h"
#include "base/clock.h"
#include "event/kinds.h"
#include "probe/api/calls.h"

#define MAX_ARRAY_BYTES (32u << 20)
#define BATCH_BYTES (1u << 20)
#define MIN_BATCH 16 /* rows */
#define ROW_BYTES(cpus) (uint32_t)(sizeof(struct gt_call_sums) * (size_t)(cpus))

/* One function's sums over all CPUs. */
typedef void (*sums_visitor)(void *context, uint32_t key, const struct gt_call_sums *sums);

void gt_call_sums_prepare(struct bpf_map *map, size_t functions)
{
	int cpus = libbpf_num_possible_cpus();

	bpf_map__set_max_entries(map, functions ? (uint32_t)functions : 1);
	if (cpus <= 0 || functions > MAX_ARRAY_BYTES / sizeof(struct gt_call_sums) / (size_t)cpus)
		return;
	bpf_map__set_type(map, BPF_MAP_TYPE_PERCPU_ARRAY);
	bpf_map__set_map_flags(map, 0);
}

static struct gt_call_sums add_cpus(const struct gt_call_sums *per_cpu, int cpus)
{
	struct gt_call_sums total = per_cpu[0];

	for (int i = 1; i < cpus; i++) {
		total.errors += per_cpu[i].errors;
		total.unfinished += per_cpu[i].unfinished;
		total.begun += per_cpu[i].begun;
		total.total += per_cpu[i].total;
		if (per_cpu[i].longest > total.longest)
			total.longest = per_cpu[i].longest;
		for (size_t bucket = 0; bucket < GT_DURATION_BUCKETS; bucket++)
			total.durations[bucket] += per_cpu[i].durations[bucket];
	}
	return total;
}

/* Rows are only added: a traversal misses none that was there before it. */
static int visit_one_by_one(int map_fd, int cpus, sums_visitor visit, void *context)
{
	gt_autofree struct gt_call_sums *per_cpu = calloc((size_t)cpus, sizeof(*per_cpu));
	uint32_t key, *previous = NULL;

	if (!per_cpu)
		return -ENOMEM;
	while (!bpf_map_get_next_key(map_fd, previous, &key)) {
		previous = &key;
		if (!bpf_map_lookup_elem(map_fd, &key, per_cpu)) {
			struct gt_call_sums total = add_cpus(per_cpu, cpus);

			visit(context, key, &total);
		}
	}
	return 0;
}

/* Rows that are read by one system call. */
struct sums_batch {
	uint32_t *keys;
	struct gt_call_sums *per_cpu; /* one for each CPU, of each row */
	uint32_t room;                /* rows */
};

static void free_batch(struct sums_batch *batch)
{
	free(batch->keys);
	free(batch->per_cpu);
}

static int resize_batch(struct sums_batch *batch, uint32_t room, int cpus)
{
	free_batch(batch);
	batch->room = room;
	batch->keys = calloc(room, sizeof(*batch->keys));
	batch->per_cpu = calloc((size_t)room * (size_t)cpus, sizeof(*batch->per_cpu));
	return batch->keys && batch->per_cpu ? 0 : -ENOMEM;
}

static void visit_rows(const struct sums_batch *batch, uint32_t count, int cpus, sums_visitor visit,
		       void *context)
{
	for (uint32_t row = 0; row < count; row++) {
		struct gt_call_sums total = add_cpus(&batch->per_cpu[row * (size_t)cpus], cpus);

		visit(context, batch->keys[row], &total);
	}
}

/* Where the first batch fails, as before Linux 5.13 for arrays, *ret_was_read stays the same. */
static int visit_batches(int map_fd, int cpus, sums_visitor visit, void *context,
			 bool *ret_was_read)
{
	struct sums_batch batch = {0};
	uint32_t position, *from = NULL, count;
	int error = resize_batch(&batch, MIN_BATCH + BATCH_BYTES / ROW_BYTES(cpus), cpus);

	while (!error) {
		count = batch.room;
		error = bpf_map_lookup_batch(map_fd, from, &position, batch.keys, batch.per_cpu,
					     &count, NULL);
		if (error == -ENOSPC) { /* more keys have the same hash than there is room for */
			error = resize_batch(&batch, 2 * batch.room, cpus);
			continue;
		}
		if (error && error != -ENOENT)
			break;
		*ret_was_read = true;
		from = &position;
		visit_rows(&batch, count, cpus, visit, context);
	}
	free_batch(&batch);
	return error == -ENOENT && *ret_was_read ? 0 : error; /* -ENOENT: that was all */
}

static int visit_sums(int map_fd, sums_visitor visit, void *context)
{
	int cpus = libbpf_num_possible_cpus();
	bool was_read = false;
	int error;

	if (cpus <= 0)
		return -ENOMEM;
	error = visit_batches(map_fd, cpus, visit, context, &was_read);
	return error && !was_read ? visit_one_by_one(map_fd, cpus, visit, context) : error;
}

static uint64_t returned_calls(const struct gt_call_sums *sums)
{
	uint64_t calls = 0;

	for (size_t bucket = 0; bucket < GT_DURATION_BUCKETS; bucket++)
		calls += sums->durations[bucket];
	return calls;
}

/* Of calls that count_session saw begin, those that did not return; once all is over. */
static uint64_t unreturned_calls(const struct gt_call_sums *sums)
{
	uint64_t returned = returned_calls(sums);

	return sums->begun > returned ? sums->begun - returned : 0;
}

struct emission {
	const gt_summed_functions *functions;
	bool is_over;
	struct gt_event_queue *events;
};

static void emit_sums(void *context, uint32_t key, const struct gt_call_sums *sums)
{
	const struct emission *emission = context;
	uint64_t unfinished = sums->unfinished + (emission->is_over ? unreturned_calls(sums) : 0);
	size_t buckets = GT_DURATION_BUCKETS;
	struct gt_event_sums *event;

	while (buckets && !sums->durations[buckets - 1])
		buckets--;
	if ((!buckets && !unfinished) || key >= emission->functions->count)
		return;
	event = (void *)gt_event_new(GT_EVENT_sums, (const char *)sums->durations,
				     buckets * sizeof(*sums->durations));
	if (event) {
		event->head.time = gt_clock_monotonic();
		event->function = emission->functions->items[key];
		event->errors = sums->errors;
		event->unfinished = unfinished;
		event->total = sums->total;
		event->longest = sums->longest;
	}
	gt_event_queue_push(emission->events, event ? &event->head : NULL);
}

void gt_call_sums_emit(int map_fd, const gt_summed_functions *functions, bool is_over,
		       struct gt_event_queue *events)
{
	struct emission emission = {functions, is_over, events};

	if (visit_sums(map_fd, emit_sums, &emission))
		gt_event_queue_push(events, NULL);
}

static void add_returned(void *context, uint32_t key, const struct gt_call_sums *sums)
{
	*(uint64_t *)context += returned_calls(sums);
}

uint64_t gt_call_sums_complete(int map_fd)
{
	uint64_t calls = 0;

	visit_sums(map_fd, add_returned, &calls);
	return calls;
}

static void add_begun(void *context, uint32_t key, const struct gt_call_sums *sums)
{
	*(uint64_t *)context += sums->begun;
}

uint64_t gt_call_sums_begun(int map_fd)
{
	uint64_t calls = 0;

	visit_sums(map_fd, add_begun, &calls);
	return calls;
}

static void add_unreturned(void *context, uint32_t key, const struct gt_call_sums *sums)
{
	*(uint64_t *)context += unreturned_calls(sums);
}

uint64_t gt_call_sums_unfinished(int map_fd)
{
	uint64_t calls = 0;

	visit_sums(map_fd, add_unreturned, &calls);
	return calls;
}
