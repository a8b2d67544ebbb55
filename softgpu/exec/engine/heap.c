/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "exec/engine/heap.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

enum {
	HEAP_ALIGNMENT = 16,
};

struct heap_piece {
	uint64_t address, size;
};

struct sg_heap {
	pthread_mutex_t lock;
	uint64_t size; /* of the region */
	uint64_t address;
	GT_VEC(struct heap_piece) free_pieces; /* sorted by address, never adjacent */
	GT_VEC(struct heap_piece) used;        /* sorted by address */
};

struct sg_heap *sg_heap_new(void)
{
	struct sg_heap *heap = calloc(1, sizeof(*heap));

	if (!heap)
		return NULL;
	heap->size = SG_DEFAULT_HEAP_SIZE;
	pthread_mutex_init(&heap->lock, NULL);
	return heap;
}

void sg_heap_free(struct sg_heap *heap, const struct sg_host *host)
{
	if (!heap)
		return;
	if (heap->address && host->release)
		host->release(host->user, heap->address, heap->size);
	gt_vec_free(&heap->free_pieces);
	gt_vec_free(&heap->used);
	pthread_mutex_destroy(&heap->lock);
	free(heap);
}

int sg_heap_set_size(struct sg_heap *heap, uint64_t size)
{
	int error = 0;

	pthread_mutex_lock(&heap->lock);
	if (heap->address)
		error = -EBUSY;
	else
		heap->size = size;
	pthread_mutex_unlock(&heap->lock);
	return error;
}

/* Returns the index of the first piece that begins after the address. */
static size_t find_after(const struct heap_piece *pieces, size_t count, uint64_t address)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (pieces[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

#define insert_piece(list, index, added)                                                           \
	({                                                                                         \
		size_t insert_at = (index); /* evaluated before the list grows */                  \
		int insert_error = gt_vec_push(list, added);                                       \
		if (!insert_error) {                                                               \
			memmove((list)->items + insert_at + 1, (list)->items + insert_at,          \
				((list)->count - 1 - insert_at) * sizeof(struct heap_piece));      \
			(list)->items[insert_at] = added;                                          \
		}                                                                                  \
		insert_error;                                                                      \
	})

#define remove_piece(list, index)                                                                  \
	do {                                                                                       \
		memmove((list)->items + (index), (list)->items + (index) + 1,                      \
			((list)->count - 1 - (index)) * sizeof(struct heap_piece));                \
		(list)->count--;                                                                   \
	} while (0)

static bool open_region(struct sg_heap *heap, const struct sg_host *host)
{
	struct heap_piece all;

	if (heap->address)
		return true;
	if (!host->allocate || !heap->size ||
	    host->allocate(host->user, heap->size, SG_GRANULE, &heap->address))
		return false;
	all = (struct heap_piece){heap->address, heap->size};
	return gt_vec_push(&heap->free_pieces, all) == 0;
}

static uint64_t take(struct sg_heap *heap, uint64_t size)
{
	for (size_t i = 0; i < heap->free_pieces.count; i++) {
		struct heap_piece *piece = &heap->free_pieces.items[i];
		struct heap_piece taken = {piece->address, size};

		if (piece->size < size)
			continue;
		if (insert_piece(&heap->used,
				 find_after(heap->used.items, heap->used.count, taken.address),
				 taken))
			return 0;
		piece->address += size;
		piece->size -= size;
		if (!piece->size)
			remove_piece(&heap->free_pieces, i);
		return taken.address;
	}
	return 0;
}

uint64_t sg_heap_allocate(struct sg_heap *heap, const struct sg_host *host, uint64_t size)
{
	uint64_t address = 0;

	if (!size || size > UINT64_MAX / 2)
		return 0;
	size = (size + HEAP_ALIGNMENT - 1) & ~(uint64_t)(HEAP_ALIGNMENT - 1);
	pthread_mutex_lock(&heap->lock);
	if (open_region(heap, host))
		address = take(heap, size);
	pthread_mutex_unlock(&heap->lock);
	return address;
}

/* Frees a piece and merges it with its neighbours. */
static void give(struct sg_heap *heap, struct heap_piece piece)
{
	struct heap_piece *items = heap->free_pieces.items;
	size_t count = heap->free_pieces.count;
	size_t index = find_after(items, count, piece.address);
	bool joins_before =
		index && items[index - 1].address + items[index - 1].size == piece.address;
	bool joins_after = index < count && piece.address + piece.size == items[index].address;

	if (joins_before && joins_after) {
		items[index - 1].size += piece.size + items[index].size;
		remove_piece(&heap->free_pieces, index);
	} else if (joins_before) {
		items[index - 1].size += piece.size;
	} else if (joins_after) {
		items[index].address = piece.address;
		items[index].size += piece.size;
	} else {
		(void)insert_piece(&heap->free_pieces, index, piece);
	}
}

bool sg_heap_release(struct sg_heap *heap, uint64_t address)
{
	size_t index;
	bool found;

	pthread_mutex_lock(&heap->lock);
	index = find_after(heap->used.items, heap->used.count, address);
	found = index && heap->used.items[index - 1].address == address;
	if (found) {
		struct heap_piece piece = heap->used.items[index - 1];

		remove_piece(&heap->used, index - 1);
		give(heap, piece);
	}
	pthread_mutex_unlock(&heap->lock);
	return found;
}
