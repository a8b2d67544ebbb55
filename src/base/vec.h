/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Growing arrays of any type: `GT_VEC(struct thing) things = {0};`
 * gt_vec_push(&things, value) returns 0 or -ENOMEM; free with gt_vec_free(&things).
 */
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#define GT_VEC(type)                                                                               \
	struct {                                                                                   \
		type *items;                                                                       \
		size_t count;                                                                      \
		size_t capacity;                                                                   \
	}

/* Grows *items for at least one more item. 0 or -ENOMEM. */
int gt_vec_grow(void **items, size_t *capacity, size_t count, size_t item_size);

#define gt_vec_push(vec, ...)                                                                      \
	({                                                                                         \
		int gt_vec_error = 0;                                                              \
		if ((vec)->count == (vec)->capacity)                                               \
			gt_vec_error = gt_vec_grow((void **)&(vec)->items, &(vec)->capacity,       \
						   (vec)->count, sizeof(*(vec)->items));           \
		if (!gt_vec_error)                                                                 \
			(vec)->items[(vec)->count++] = (__VA_ARGS__);                              \
		gt_vec_error;                                                                      \
	})

/* Allocates the room for `more` further items at once. 0 or -ENOMEM. */
#define gt_vec_expect(vec, more)                                                                   \
	({                                                                                         \
		size_t gt_vec_wanted = (vec)->count + (more);                                      \
		gt_vec_wanted <= (vec)->capacity                                                   \
			? 0                                                                        \
			: gt_vec_grow((void **)&(vec)->items, &(vec)->capacity,                    \
				      (gt_vec_wanted + 1) / 2, sizeof(*(vec)->items));             \
	})

#define gt_vec_each(item, vec)                                                                     \
	for (__typeof__((vec)->items + 0) item = (vec)->items;                                     \
	     item && item < (vec)->items + (vec)->count; item++)

#define gt_vec_free(vec)                                                                           \
	do {                                                                                       \
		free((vec)->items);                                                                \
		(vec)->items = NULL;                                                               \
		(vec)->count = (vec)->capacity = 0;                                                \
	} while (0)
