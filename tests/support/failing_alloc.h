/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An allocator that fails on demand, for tests that are linked with the arguments
 * -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc: calls from the project's own objects come here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);

static struct {
	bool armed;
	bool always;     /* every allocation fails, not only the one */
	uint64_t number; /* allocations since it was armed */
	uint64_t which;  /* the one that fails, from 0 */
	uint64_t failed;
} failing_alloc;

static bool fail_this_allocation(void)
{
	uint64_t number = failing_alloc.number++;

	if (!failing_alloc.armed || (number != failing_alloc.which && !failing_alloc.always))
		return false;
	failing_alloc.failed++;
	return true;
}

void *__wrap_malloc(size_t size)
{
	return fail_this_allocation() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return fail_this_allocation() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
	return fail_this_allocation() ? NULL : __real_realloc(memory, size);
}

/* From now on, allocation `which` fails. */
static inline void fail_allocation(uint64_t which)
{
	failing_alloc.armed = true;
	failing_alloc.always = false;
	failing_alloc.number = failing_alloc.failed = 0;
	failing_alloc.which = which;
}

static inline void fail_all_allocations(void)
{
	fail_allocation(0);
	failing_alloc.always = true;
}

/* Allocations succeed again. How many have failed. */
static inline uint64_t stop_failing(void)
{
	failing_alloc.armed = false;
	return failing_alloc.failed;
}
