/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Work lies in an array of slots, chained twice: all of it by age, for eviction, and each stream's,
 * which a proof takes from the front.
 */
#include "analysis/flight.h"

#include <errno.h>

#include "base/hash.h"
#include "base/vec.h"

#define NONE UINT32_MAX

struct flight_slot {
	struct gt_work work;
	uint32_t process, stream;
	uint32_t older, newer; /* of all; of free slots, newer is the next free one */
	uint32_t next;         /* of the stream */
};

struct flight_chain {
	uint32_t first, last;
	size_t count;
};

struct flight_process {
	GT_VEC(struct flight_chain) streams;
	size_t count;
	size_t tagged; /* of them with a tag */
};

struct gt_flight {
	size_t most;
	GT_VEC(struct flight_slot) slots;
	uint32_t free, oldest, newest;
	size_t count;
	uint64_t evicted;
	struct gt_order *order;
	struct gt_hash *processes;
};

static void process_free(void *opaque)
{
	struct flight_process *process = opaque;

	gt_vec_free(&process->streams);
	free(process);
}

struct gt_flight *gt_flight_new(size_t most)
{
	struct gt_flight *flight = calloc(1, sizeof(*flight));

	if (!flight)
		return NULL;
	flight->most = most < NONE ? most : NONE - 1;
	flight->free = flight->oldest = flight->newest = NONE;
	flight->order = gt_order_new();
	flight->processes = gt_hash_new();
	if (flight->order && flight->processes)
		return flight;
	gt_flight_free(flight);
	return NULL;
}

void gt_flight_free(struct gt_flight *flight)
{
	if (!flight)
		return;
	gt_order_free(flight->order);
	if (flight->processes)
		gt_hash_free_with(flight->processes, process_free);
	gt_vec_free(&flight->slots);
	free(flight);
}

static struct flight_process *process_of(struct gt_flight *flight, uint32_t id)
{
	struct flight_process *process = gt_hash_get_u64(flight->processes, id);

	if (process)
		return process;
	process = calloc(1, sizeof(*process));
	if (process && gt_hash_set_u64(flight->processes, id, process)) {
		free(process);
		return NULL;
	}
	return process;
}

/* Takes the first of a stream's work out of both chains. */
static void take_first(struct gt_flight *flight, struct flight_process *process,
		       struct flight_chain *chain)
{
	uint32_t index = chain->first;
	struct flight_slot *slot = &flight->slots.items[index];

	chain->first = slot->next;
	if (chain->first == NONE)
		chain->last = NONE;
	chain->count--;
	process->count--;
	process->tagged -= slot->work.tag != 0;
	flight->count--;
	if (slot->older != NONE)
		flight->slots.items[slot->older].newer = slot->newer;
	else
		flight->oldest = slot->newer;
	if (slot->newer != NONE)
		flight->slots.items[slot->newer].older = slot->older;
	else
		flight->newest = slot->older;
	slot->newer = flight->free;
	flight->free = index;
}

/* The oldest of all is the first of its stream. */
static void evict_work(struct gt_flight *flight)
{
	const struct flight_slot *slot = &flight->slots.items[flight->oldest];
	struct flight_process *process = gt_hash_get_u64(flight->processes, slot->process);

	take_first(flight, process, &process->streams.items[slot->stream]);
	flight->evicted++;
}

static int make_chains(struct flight_process *process, uint32_t stream)
{
	while (process->streams.count <= stream)
		if (gt_vec_push(&process->streams, (struct flight_chain){NONE, NONE, 0}))
			return -ENOMEM;
	return 0;
}

static int find_slot(struct gt_flight *flight, uint32_t *ret_index)
{
	if (flight->free == NONE) {
		if (gt_vec_push(&flight->slots, (struct flight_slot){.newer = NONE}))
			return -ENOMEM;
		*ret_index = (uint32_t)(flight->slots.count - 1);
		return 0;
	}
	*ret_index = flight->free;
	flight->free = flight->slots.items[flight->free].newer;
	return 0;
}

static int keep_work(struct gt_flight *flight, const struct gt_order_stream *stream,
		     const struct gt_work *work)
{
	struct flight_process *process = process_of(flight, stream->process);
	struct flight_chain *chain;
	uint32_t index;

	if (!process || make_chains(process, stream->number))
		return -ENOMEM;
	if (!flight->most) {
		flight->evicted++;
		return 0;
	}
	if (flight->count >= flight->most)
		evict_work(flight);
	if (find_slot(flight, &index))
		return -ENOMEM;
	chain = &process->streams.items[stream->number];
	flight->slots.items[index] = (struct flight_slot){
		*work, stream->process, stream->number, flight->newest, NONE, NONE};
	if (flight->newest != NONE)
		flight->slots.items[flight->newest].newer = index;
	else
		flight->oldest = index;
	flight->newest = index;
	if (chain->last != NONE)
		flight->slots.items[chain->last].next = index;
	else
		chain->first = index;
	chain->last = index;
	chain->count++;
	process->count++;
	process->tagged += work->tag != 0;
	flight->count++;
	return 0;
}

static void report_completed(struct gt_flight *flight, const struct gt_operation *operation,
			     gt_flight_sink sink, void *context)
{
	struct flight_process *process =
		gt_hash_get_u64(flight->processes, operation->event->head.process);

	for (uint32_t i = 0; process && process->count && i < process->streams.count; i++) {
		struct flight_chain *chain = &process->streams.items[i];
		uint64_t ended = chain->count ? gt_order_ended(flight->order, operation, i) : 0;

		while (chain->count && flight->slots.items[chain->first].work.returned <= ended) {
			struct gt_work work = flight->slots.items[chain->first].work;

			take_first(flight, process, chain);
			sink(context, &work, operation->end);
		}
	}
}

int gt_flight_take(struct gt_flight *flight, const struct gt_operation *operation,
		   const uint64_t *tag, bool blocks, gt_flight_sink sink, void *context)
{
	struct gt_order_stream stream;
	int taken = gt_order_take(flight->order, operation, &stream);
	bool waits = operation->kind == GT_OPERATION_COPY ? blocks : true;

	if (taken < 0)
		return taken;
	if (waits && gt_order_proves(operation))
		report_completed(flight, operation, sink, context);
	if (!tag || taken != 1)
		return 0;
	return keep_work(flight, &stream,
			 &(struct gt_work){operation->start, operation->end, *tag});
}

const struct gt_work *gt_flight_last(const struct gt_flight *flight, uint32_t process,
				     size_t *ret_count)
{
	const struct flight_process *of = gt_hash_get_u64(flight->processes, process);

	*ret_count = of ? of->tagged : 0;
	for (uint32_t i = flight->newest; of && of->tagged && i != NONE;
	     i = flight->slots.items[i].older)
		if (flight->slots.items[i].process == process && flight->slots.items[i].work.tag)
			return &flight->slots.items[i].work;
	return NULL;
}

size_t gt_flight_count_in(const struct gt_flight *flight, uint32_t id)
{
	const struct flight_process *process = gt_hash_get_u64(flight->processes, id);

	return process ? process->count : 0;
}

size_t gt_flight_end_process(struct gt_flight *flight, uint32_t id)
{
	struct flight_process *process = gt_hash_remove_u64(flight->processes, id);
	size_t left = process ? process->count : 0;

	for (uint32_t i = 0; process && i < process->streams.count; i++)
		while (process->streams.items[i].count)
			take_first(flight, process, &process->streams.items[i]);
	if (process)
		process_free(process);
	gt_order_end_process(flight->order, id);
	return left;
}

size_t gt_flight_count(const struct gt_flight *flight)
{
	return flight->count;
}

uint64_t gt_flight_evicted(const struct gt_flight *flight)
{
	return flight->evicted;
}
