/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/counts.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"

struct gt_counts_analysis {
	struct gt_hash *by_function; /* its number in the events -> its row's number + 1 */
	GT_VEC(struct gt_count) rows;
};

struct gt_counts_analysis *gt_counts_new(void)
{
	struct gt_counts_analysis *counts = calloc(1, sizeof(*counts));

	if (counts)
		counts->by_function = gt_hash_new();
	if (counts && !counts->by_function) {
		free(counts);
		return NULL;
	}
	return counts;
}

void gt_counts_free(struct gt_counts_analysis *counts)
{
	if (!counts)
		return;
	gt_vec_each (row, &counts->rows)
		free((char *)row->name);
	gt_vec_free(&counts->rows);
	gt_hash_free(counts->by_function);
	free(counts);
}

static struct gt_count *row_of(struct gt_counts_analysis *counts, const struct gt_names *names,
			       uint32_t function)
{
	uintptr_t number = (uintptr_t)gt_hash_get_u64(counts->by_function, function);
	struct gt_count row = {0};

	if (number)
		return &counts->rows.items[number - 1];
	row.name = strdup(gt_names_function(names, function));
	if (!row.name)
		return NULL;
	if (gt_vec_push(&counts->rows, row) ||
	    gt_hash_set_u64(counts->by_function, function, (void *)counts->rows.count))
		return NULL;
	return &counts->rows.items[counts->rows.count - 1];
}

int gt_counts_take(struct gt_counts_analysis *counts, const struct gt_names *names,
		   const struct gt_event *event)
{
	const struct gt_event_call *call = (const void *)event;
	const struct gt_api_function *api;
	struct gt_count *row;

	if (event->kind != GT_EVENT_call)
		return 0;
	row = row_of(counts, names, call->function);
	if (!row)
		return -ENOMEM;
	row->calls++;
	if (call->state & GT_CALL_UNFINISHED) {
		row->unfinished++;
		return 0;
	}
	api = gt_names_api(names, call->function);
	row->errors += api && gt_api_failed(api, call->result);
	row->total_ns += call->duration;
	if (call->duration > row->max_ns)
		row->max_ns = call->duration;
	return 0;
}

static int compare_rows(const void *a, const void *b)
{
	const struct gt_count *left = a, *right = b;

	if (left->total_ns != right->total_ns)
		return left->total_ns < right->total_ns ? 1 : -1;
	return strcmp(left->name, right->name);
}

const struct gt_count *gt_counts_rows(struct gt_counts_analysis *counts, size_t *ret_count)
{
	if (counts->rows.count)
		qsort(counts->rows.items, counts->rows.count, sizeof(*counts->rows.items),
		      compare_rows);
	*ret_count = counts->rows.count;
	return counts->rows.items;
}
