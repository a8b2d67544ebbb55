/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "base/hash.h"
#include "capture/capture.h"
#include "capture/packer.h"
#include "event/kinds.h"

/* A block in memory; a list from the oldest on. */
struct ring_block {
	struct ring_block *next;
	struct gt_capture_block head;
	uint8_t stored[];
};

struct gt_capture_ring {
	uint64_t size; /* bytes that blocks may have, and kept events as well */
	struct gt_packer *packer;
	ZSTD_DCtx *decompressor;
	struct ring_block *first, *last;
	struct gt_hash *kept; /* identity -> struct gt_event, owned */
	uint64_t kept_bytes;
	struct gt_capture_ring_state state;
	uint8_t events[GT_CAPTURE_BLOCK_SIZE]; /* of a block that is removed */
};

/* Small rings have small blocks, since blocks are removed as a whole. */
static size_t block_limit(uint64_t size)
{
	if (size / 4 < GT_EVENT_MAX_SIZE)
		return GT_EVENT_MAX_SIZE;
	return size / 4 < GT_CAPTURE_BLOCK_SIZE ? (size_t)size / 4 : GT_CAPTURE_BLOCK_SIZE;
}

struct gt_capture_ring *gt_capture_ring_new(uint64_t size)
{
	gt_auto(capture_ring) struct gt_capture_ring *ring = calloc(1, sizeof(*ring));

	if (!ring)
		return NULL;
	ring->size = size;
	ring->packer = gt_packer_new(block_limit(size));
	ring->decompressor = ZSTD_createDCtx();
	ring->kept = gt_hash_new();
	return ring->packer && ring->decompressor && ring->kept ? gt_take(ring) : NULL;
}

void gt_capture_ring_free(struct gt_capture_ring *ring)
{
	if (!ring)
		return;
	for (struct ring_block *block = ring->first, *next; block; block = next) {
		next = block->next;
		free(block);
	}
	if (ring->kept)
		gt_hash_free_with(ring->kept, free);
	ZSTD_freeDCtx(ring->decompressor);
	gt_packer_free(ring->packer);
	free(ring);
}

static void forget_kept(struct gt_capture_ring *ring, const void *key, size_t length)
{
	struct gt_event *event = gt_hash_remove(ring->kept, key, length);

	if (event)
		ring->kept_bytes -= event->size;
	free(event);
}

/* All events of a process that has ended have left the ring. */
static void forget_process(struct gt_capture_ring *ring, __u32 process)
{
	size_t cursor = 0, length;
	const void *key;
	void *value;

	while (gt_hash_next(ring->kept, &cursor, &key, &length, &value)) {
		uint8_t copy[GT_CAPTURE_MAX_IDENTITY];

		if (((const struct gt_event *)value)->process != process)
			continue;
		memcpy(copy, key, length);
		forget_kept(ring, copy, length);
	}
}

static void forget_oldest(struct gt_capture_ring *ring)
{
	while (ring->kept_bytes > ring->size) {
		uint8_t copy[GT_CAPTURE_MAX_IDENTITY];
		size_t cursor = 0, length;
		const void *key;
		void *value;

		if (!gt_hash_next(ring->kept, &cursor, &key, &length, &value))
			return;
		memcpy(copy, key, length);
		forget_kept(ring, copy, length);
		ring->state.names_lost++;
	}
}

static void keep_event(struct gt_capture_ring *ring, const struct gt_event *event)
{
	uint8_t key[GT_CAPTURE_MAX_IDENTITY];
	size_t length = gt_capture_identity(event, key, sizeof(key));
	struct gt_event *copy = malloc(event->size);

	if (!copy) {
		ring->state.names_lost++;
		return;
	}
	memcpy(copy, event, event->size);
	forget_kept(ring, key, length);
	if (gt_hash_set(ring->kept, key, length, copy)) {
		ring->state.names_lost++;
		free(copy);
		return;
	}
	ring->kept_bytes += copy->size;
	forget_oldest(ring);
}

static void keep_events(struct gt_capture_ring *ring, const struct ring_block *block)
{
	size_t size = ZSTD_decompressDCtx(ring->decompressor, ring->events, sizeof(ring->events),
					  block->stored, block->head.stored);
	size_t next = 0;

	while (!ZSTD_isError(size) && next < size) {
		const struct gt_event *event = (const void *)(ring->events + next);

		if (gt_event_check(event, size - next))
			return;
		if (gt_capture_names(event))
			keep_event(ring, event);
		else if (event->kind == GT_EVENT_exit)
			forget_process(ring, event->process);
		next += event->size;
	}
}

static uint64_t block_bytes(const struct ring_block *block)
{
	return sizeof(*block) + block->head.stored;
}

static void remove_first(struct gt_capture_ring *ring)
{
	struct ring_block *block = ring->first;

	keep_events(ring, block);
	ring->state.bytes -= block_bytes(block);
	ring->state.events -= block->head.count;
	ring->state.evicted += block->head.count;
	ring->first = block->next;
	if (!ring->first)
		ring->last = NULL;
	free(block);
}

/* Make a block of the events that are in the buffer. */
static int pack_events(struct gt_capture_ring *ring)
{
	struct gt_capture_block head;
	struct ring_block *block;
	const void *stored;

	if (!gt_packer_count(ring->packer))
		return 0;
	if (gt_packer_pack(ring->packer, &head, &stored))
		return -ENOMEM;
	block = malloc(sizeof(*block) + head.stored);
	if (!block)
		return -ENOMEM;
	block->next = NULL;
	block->head = head;
	memcpy(block->stored, stored, head.stored);
	if (ring->last)
		ring->last->next = block;
	else
		ring->first = block;
	ring->last = block;
	ring->state.bytes += block_bytes(block);
	ring->state.events += head.count;
	while (ring->state.bytes > ring->size && ring->first != ring->last)
		remove_first(ring);
	return 0;
}

int gt_capture_ring_put(struct gt_capture_ring *ring, const struct gt_event *event)
{
	int error = gt_packer_is_full(ring->packer, event) ? pack_events(ring) : 0;

	gt_packer_add(ring->packer, event);
	return error;
}

struct gt_capture_ring_state gt_capture_ring_state(const struct gt_capture_ring *ring)
{
	struct gt_capture_ring_state state = ring->state;

	state.events += gt_packer_count(ring->packer);
	return state;
}

/* Write a kept event as of the time at which the ring begins. */
static int save_kept(struct gt_capture_writer *writer, const struct gt_event *event, uint64_t start)
{
	gt_autofree struct gt_event *copy = malloc(event->size);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, event, event->size);
	/* The relation of the clocks is that of one time. */
	if (copy->time && copy->clock == GT_CLOCK_MONOTONIC && start) {
		if (copy->kind == GT_EVENT_clock)
			((struct gt_event_clock *)copy)->realtime += start - copy->time;
		copy->time = start;
	}
	return gt_capture_write(writer, copy);
}

int gt_capture_ring_save(struct gt_capture_ring *ring, const char *path,
			 const struct gt_event *last, struct gt_capture_totals *ret_totals,
			 struct gt_diag *diag)
{
	struct gt_capture_writer *writer;
	uint64_t start = 0;
	size_t cursor = 0;
	int error = pack_events(ring), closed;
	void *value;

	if (error)
		return gt_diag(diag, error, "capture", path, "out of memory");
	error = gt_capture_create(path, &writer, diag);
	if (error)
		return error;
	for (const struct ring_block *block = ring->first; block && !start; block = block->next)
		start = block->head.start;
	while (!error && gt_hash_next(ring->kept, &cursor, NULL, NULL, &value))
		error = save_kept(writer, value, start);
	if (!error)
		error = gt_capture_sync(writer);
	for (const struct ring_block *block = ring->first; block && !error; block = block->next)
		gt_capture_write_block(writer, &block->head, block->stored);
	if (last && !error)
		error = gt_capture_write(writer, last);
	closed = gt_capture_finish(writer, ret_totals, diag);
	return closed ? closed : error;
}
