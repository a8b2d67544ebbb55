/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* An arena: memory that is allocated in pieces and freed as a whole. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct ptx_arena_chunk;

struct ptx_arena {
	struct ptx_arena_chunk *chunks;
	char *free;
	char *end;
	size_t used;        /* bytes allocated */
	size_t limit;       /* maximum of `used` */
	bool is_over_limit; /* a request failed because of the limit */
};

/* Allocates zeroed memory, aligned to 16 bytes; NULL: out of memory, or the limit is reached. */
void *ptx_arena_take(struct ptx_arena *arena, size_t size);
void ptx_arena_free(struct ptx_arena *arena);
