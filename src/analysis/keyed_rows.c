/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/keyed_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clean.h"
#include "event/kinds.h"

int gt_keyed_rows_init(struct gt_keyed_rows *rows)
{
	rows->by_key = gt_hash_new();
	return rows->by_key ? 0 : -ENOMEM;
}

void gt_keyed_rows_free(struct gt_keyed_rows *rows, void (*release)(void *row))
{
	gt_vec_each (row, &rows->rows) {
		if (release)
			release(*row);
		free(*row);
	}
	gt_vec_free(&rows->rows);
	if (rows->by_key)
		gt_hash_free(rows->by_key);
	rows->by_key = NULL;
}

void *gt_keyed_rows_get(struct gt_keyed_rows *rows, const void *key, size_t key_size, size_t size)
{
	void *row = gt_hash_get(rows->by_key, key, key_size);

	if (row)
		return row;
	row = calloc(1, size);
	if (!row)
		return NULL;
	memcpy(row, key, key_size);
	if (gt_vec_push(&rows->rows, row)) {
		free(row);
		return NULL;
	}
	if (!gt_hash_set(rows->by_key, key, key_size, row))
		return row;
	free(row);
	rows->rows.count--;
	return NULL;
}

/* A row with its value, and its place before. */
struct valued_row {
	void *row;
	uint64_t value;
	size_t place;
};

static int compare_values(const void *a, const void *b)
{
	const struct valued_row *left = a, *right = b;

	if (left->value != right->value)
		return left->value < right->value ? 1 : -1;
	return left->place < right->place ? -1 : left->place > right->place;
}

void gt_keyed_rows_sort(struct gt_keyed_rows *rows, uint64_t (*value)(const void *row))
{
	size_t count = rows->rows.count;
	gt_autofree struct valued_row *valued = calloc(count, sizeof(*valued));

	/* Without memory the order stays. */
	if (!count || !valued)
		return;
	for (size_t i = 0; i < count; i++)
		valued[i] = (struct valued_row){rows->rows.items[i], value(rows->rows.items[i]), i};
	qsort(valued, count, sizeof(*valued), compare_values);
	for (size_t i = 0; i < count; i++)
		rows->rows.items[i] = valued[i].row;
}

void gt_tail_names(const struct gt_event *event, char names[GT_TAIL_NAMES])
{
	const char *tail = (const char *)event + gt_event_kind(event->kind)->size;
	size_t size = gt_event_tail_size(event);

	memset(names, 0, GT_TAIL_NAMES);
	memcpy(names, tail, size < GT_TAIL_NAMES ? size : GT_TAIL_NAMES);
}
