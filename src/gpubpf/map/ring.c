/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Rings: the operations, and writing by one thread. ring_reader.c consumes records. */
#include <errno.h>
#include <string.h>

#include "gpubpf/map/private.h"

enum {
	PERF_RING_BYTES =
		1 << 20, /* of a PERF_EVENT_ARRAY, whose max_entries is a number of CPUs */
	THREAD_RINGS = 1024,
	MIN_THREAD_RINGS_BYTES = 1 << 16,
	MAX_THREAD_RINGS_BYTES = 1 << 25,
};

uint64_t gt_bpf_map_thread_ring_bytes(const struct gt_bpf_map *map)
{
	return (gt_bpf_map_stride(map->value_size) + sizeof(struct gt_ring_record)) *
	       map->max_entries;
}

/* The smallest power of two that has room for the rings of THREAD_RINGS threads, within limits. */
static uint32_t sum_of_thread_rings(const struct gt_bpf_map *map)
{
	uint64_t one = gt_bpf_map_thread_ring_bytes(map), bytes = MIN_THREAD_RINGS_BYTES;

	while (bytes < one || (bytes < one * THREAD_RINGS && bytes < MAX_THREAD_RINGS_BYTES))
		bytes *= 2;
	return (uint32_t)bytes;
}

uint32_t gt_bpf_map_ring_bytes(const struct gt_bpf_map *map)
{
	if (map->type == BPF_MAP_TYPE_PERF_EVENT_ARRAY)
		return PERF_RING_BYTES;
	return gt_bpf_map_is_thread_ring(map) ? sum_of_thread_rings(map) : map->max_entries;
}

static size_t ring_bytes(const struct gt_bpf_map *map, uint32_t copies)
{
	(void)copies;
	return sizeof(struct gt_ring_header) + 2 * (size_t)gt_bpf_map_ring_bytes(map);
}

static void ring_initialise(const struct gt_bpf_map *map, uint32_t copies, void *memory)
{
	(void)copies;
	((struct gt_ring_header *)memory)->credit = gt_bpf_map_ring_bytes(map);
}

static int64_t ring_lookup(const struct gt_bpf_map *map, const void *memory, uint32_t copy,
			   const void *key)
{
	(void)map;
	(void)memory;
	(void)copy;
	(void)key;
	return -EINVAL;
}

static int ring_update(const struct gt_bpf_map *map, void *memory, uint32_t copy, const void *key,
		       const void *value, uint64_t flags)
{
	(void)map;
	(void)memory;
	(void)copy;
	(void)key;
	(void)value;
	(void)flags;
	return -EINVAL;
}

static int ring_delete(const struct gt_bpf_map *map, void *memory, const void *key)
{
	(void)map;
	(void)memory;
	(void)key;
	return -EINVAL;
}

static bool ring_read(const struct gt_bpf_map_view *view, struct gt_bpf_map_entry *entry)
{
	const struct gt_ring_header *header = view->memory;
	uint64_t there = header->head - header->tail, bytes = gt_bpf_map_ring_bytes(view->map);
	struct gt_ring_record record;

	while (there <= bytes && entry->next + sizeof(record) <= there) {
		const uint8_t *at = (const uint8_t *)(header + 1) +
				    (header->tail + entry->next) % bytes / 8 * 8;

		memcpy(&record, at, sizeof(record));
		entry->next += sizeof(record);
		if (record.state == GT_RING_BUSY || record.state > GT_RING_DISCARDED ||
		    record.size > there - entry->next)
			break;
		entry->next += gt_bpf_map_stride(record.size);
		if (record.state == GT_RING_DISCARDED)
			continue;
		entry->key = NULL;
		entry->value = at + sizeof(record);
		entry->size = record.size;
		return true;
	}
	return false;
}

static struct gt_bpf_map_losses ring_losses(const struct gt_bpf_map_view *view)
{
	return (struct gt_bpf_map_losses){
		.lost = ((const struct gt_ring_header *)view->memory)->lost};
}

const struct gt_bpf_map_operations gt_bpf_ring_operations = {
	.bytes = ring_bytes,
	.initialise = ring_initialise,
	.lookup = ring_lookup,
	.update = ring_update,
	.delete = ring_delete,
	.read = ring_read,
	.losses = ring_losses,
};

static void take_returned(struct gt_ring_header *header)
{
	uint64_t returned = __atomic_load_n(&header->returned, __ATOMIC_ACQUIRE);

	if (returned <= header->taken)
		return;
	header->credit += (int64_t)(returned - header->taken);
	header->taken = returned;
}

int64_t gt_ring_reserve(const struct gt_bpf_map *map, void *memory, uint64_t size)
{
	uint32_t bytes = gt_bpf_map_ring_bytes(map);
	struct gt_ring_header *header = memory;
	struct gt_ring_record *record;
	uint64_t position, total;

	if (size > bytes - sizeof(*record)) {
		header->lost++;
		return -E2BIG;
	}
	total = (size + sizeof(*record) + 7) & ~(uint64_t)7;
	if (header->credit < (int64_t)total)
		take_returned(header);
	if (header->credit < (int64_t)total) {
		header->lost++;
		return -EAGAIN;
	}
	header->credit -= (int64_t)total;
	position = sizeof(*header) + header->head % bytes;
	header->head += total;
	record = (struct gt_ring_record *)((uint8_t *)memory + position);
	*record = (struct gt_ring_record){(uint32_t)size, GT_RING_BUSY};
	return (int64_t)(position + sizeof(*record));
}

void gt_ring_finish(void *memory, uint64_t offset, enum gt_ring_state state)
{
	struct gt_ring_record *record = (struct gt_ring_record *)((uint8_t *)memory + offset) - 1;

	__atomic_store_n(&record->state, state, __ATOMIC_RELEASE);
}
