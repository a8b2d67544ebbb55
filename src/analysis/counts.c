/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/counts.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "event/kinds.h"

struct gt_counts_analysis {
	struct gt_hash *by_function; /* its number in the events -> its row's number + 1 */
	GT_VEC(struct gt_count) rows;
	GT_VEC(struct gt_count) sorted; /* of the last gt_counts_rows */
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
	gt_vec_free(&counts->sorted);
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

static void add_call(struct gt_count *row, const struct gt_event_call *call,
		     const struct gt_api_function *api)
{
	row->calls++;
	if (call->state & GT_CALL_UNFINISHED) {
		row->unfinished++;
		return;
	}
	row->errors += api && gt_api_failed(api, call->result);
	row->total_ns += call->duration;
	row->durations[gt_duration_bucket(call->duration)]++;
	if (call->duration > row->max_ns)
		row->max_ns = call->duration;
}

/* The totals of the kernel replace the earlier ones. */
static void set_sums(struct gt_count *row, const struct gt_event_sums *sums)
{
	size_t buckets = gt_event_tail_size(&sums->head) / sizeof(sums->durations[0]);

	row->unfinished = row->calls = sums->unfinished;
	row->errors = sums->errors;
	row->total_ns = sums->total;
	row->max_ns = sums->longest;
	for (size_t i = 0; i < buckets && i < GT_DURATION_BUCKETS; i++) {
		row->durations[i] = sums->durations[i];
		row->calls += sums->durations[i];
	}
}

int gt_counts_take(struct gt_counts_analysis *counts, const struct gt_names *names,
		   const struct gt_event *event)
{
	const struct gt_event_call *call = (const void *)event;
	const struct gt_event_sums *sums = (const void *)event;
	struct gt_count *row;

	if (event->kind != GT_EVENT_call && event->kind != GT_EVENT_sums)
		return 0;
	row = row_of(counts, names, event->kind == GT_EVENT_call ? call->function : sums->function);
	if (!row)
		return -ENOMEM;
	if (event->kind == GT_EVENT_call)
		add_call(row, call, gt_names_api(names, call->function));
	else
		set_sums(row, sums);
	return 0;
}

uint64_t gt_count_quantile(const struct gt_count *row, double fraction)
{
	uint64_t returned = row->calls - row->unfinished, seen = 0, middle;
	double rank = fraction * (double)returned;
	uint32_t i = 0;

	if (!returned)
		return 0;
	if (rank > (double)(returned - 1))
		return row->max_ns;
	for (; i + 1 < GT_DURATION_BUCKETS; i++) {
		seen += row->durations[i];
		if (seen && (double)seen >= rank)
			break;
	}
	/* The middle of the bucket, but no longer than any call was. */
	middle = (gt_duration_of_bucket(i) + gt_duration_of_bucket(i + 1)) / 2;
	return middle < row->max_ns ? middle : row->max_ns;
}

static int compare_rows(const void *a, const void *b)
{
	const struct gt_count *left = a, *right = b;

	if (left->total_ns != right->total_ns)
		return left->total_ns < right->total_ns ? 1 : -1;
	return strcmp(left->name, right->name);
}

int gt_counts_rows(struct gt_counts_analysis *counts, const struct gt_count **ret_rows,
		   size_t *ret_count)
{
	counts->sorted.count = 0;
	gt_vec_each (row, &counts->rows)
		if (gt_vec_push(&counts->sorted, *row))
			return -ENOMEM;
	if (counts->sorted.count)
		qsort(counts->sorted.items, counts->sorted.count, sizeof(*counts->sorted.items),
		      compare_rows);
	*ret_rows = counts->sorted.items;
	*ret_count = counts->sorted.count;
	return 0;
}
