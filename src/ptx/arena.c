/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ptx/arena.h"

#include <stdlib.h>

#include "base/clean.h"

enum {
	ALIGNMENT = 16,
	SMALLEST_CHUNK = 16 << 10,
	MAX_CHUNK = 1 << 20,
};

struct ptx_arena_chunk {
	struct ptx_arena_chunk *next;
	_Alignas(ALIGNMENT) char memory[];
};

/* Adds a chunk for `size` bytes; chunks grow with the memory in use, so small texts need little. */
static int add_chunk(struct ptx_arena *arena, size_t size)
{
	size_t room = arena->used;
	struct ptx_arena_chunk *chunk;

	if (room < SMALLEST_CHUNK)
		room = SMALLEST_CHUNK;
	if (room > MAX_CHUNK)
		room = MAX_CHUNK;
	if (room < size)
		room = size;
	if (room > arena->limit - arena->used) {
		room = size;
		if (room > arena->limit - arena->used) {
			arena->is_over_limit = true;
			return -1;
		}
	}
	chunk = calloc(1, sizeof(*chunk) + room);
	if (!chunk)
		return -1;
	chunk->next = arena->chunks;
	arena->chunks = chunk;
	arena->free = chunk->memory;
	arena->end = chunk->memory + room;
	arena->used += room;
	return 0;
}

void *ptx_arena_take(struct ptx_arena *arena, size_t size)
{
	char *taken;

	if (size > arena->limit) {
		arena->is_over_limit = true;
		return NULL;
	}
	size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	if (size > (size_t)(arena->end - arena->free) && add_chunk(arena, size))
		return NULL;
	taken = arena->free;
	arena->free += size;
	return taken;
}

void ptx_arena_free(struct ptx_arena *arena)
{
	struct ptx_arena_chunk *next;

	for (struct ptx_arena_chunk *chunk = arena->chunks; chunk; chunk = next) {
		next = chunk->next;
		free(chunk);
	}
	*arena = (struct ptx_arena){.limit = arena->limit};
}
