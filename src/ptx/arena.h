/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory that is taken in pieces and given back as a whole. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct ptx_arena_chunk;

struct ptx_arena {
	struct ptx_arena_chunk *chunks;
	char *free;
	char *end;
	size_t used;        /* bytes taken from the system */
	size_t limit;       /* bytes that may be taken */
	bool is_over_limit; /* a request failed because of the limit */
};

/* Zeroed memory, aligned to 16 bytes; NULL if memory ran out or the limit is reached. */
void *ptx_arena_take(struct ptx_arena *arena, size_t size);
void ptx_arena_free(struct ptx_arena *arena);
