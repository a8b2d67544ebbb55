/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/nvidia.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "event/kinds.h"

#define MAX_ROWS 4096 /* of a group: a capture may have any */

struct gt_nvidia_calls {
	GT_VEC(struct gt_nvidia_row) groups[GT_NVIDIA_GROUPS];
};

struct gt_nvidia_calls *gt_nvidia_calls_new(void)
{
	return calloc(1, sizeof(struct gt_nvidia_calls));
}

void gt_nvidia_calls_free(struct gt_nvidia_calls *calls)
{
	if (!calls)
		return;
	for (unsigned i = 0; i < GT_NVIDIA_GROUPS; i++)
		gt_vec_free(&calls->groups[i]);
	free(calls);
}

/* The row of a key; *ret_row is NULL where there are too many. 0 or -ENOMEM. */
static int find_row(struct gt_nvidia_calls *calls, enum gt_nvidia_group group, uint32_t first,
		    uint32_t second, uint32_t function, struct gt_nvidia_row **ret_row)
{
	struct gt_nvidia_row row = {.first = first, .second = second, .function = function};

	*ret_row = NULL;
	gt_vec_each (known, &calls->groups[group])
		if (known->first == first && known->second == second &&
		    known->function == function) {
			*ret_row = known;
			return 0;
		}
	if (calls->groups[group].count >= MAX_ROWS)
		return 0;
	if (gt_vec_push(&calls->groups[group], row))
		return -ENOMEM;
	*ret_row = &calls->groups[group].items[calls->groups[group].count - 1];
	return 0;
}

static int add_sums(struct gt_nvidia_calls *calls, enum gt_nvidia_group group, uint32_t first,
		    uint32_t second, const struct gt_event_nvidia_sums *event)
{
	size_t buckets = gt_event_tail_size(&event->head) / sizeof(*event->durations);
	struct gt_nvidia_row *row;
	int error = find_row(calls, group, first, second,
			     group == GT_NVIDIA_BY_COMMAND ? event->function : 0, &row);

	if (!row)
		return error;
	row->count += event->count;
	row->errors += event->errors;
	row->total += event->total;
	if (event->longest > row->longest)
		row->longest = event->longest;
	for (size_t i = 0; i < buckets && i < GT_DURATION_BUCKETS; i++) {
		row->durations[i] += event->durations[i];
		row->timed += event->durations[i];
	}
	if (event->function < GT_NVIDIA_FUNCTION_COUNT)
		row->calls[event->function] += event->count;
	return 0;
}

static int take_sums(struct gt_nvidia_calls *calls, const struct gt_event_nvidia_sums *event)
{
	int error = add_sums(calls, GT_NVIDIA_BY_FUNCTION, event->function, 0, event);

	if (!error && event->head.process)
		error = add_sums(calls, GT_NVIDIA_BY_PROCESS, event->head.process, 0, event);
	if (error)
		return error;
	switch (event->function) {
	case GT_NVIDIA_ioctl:
	case GT_NVIDIA_uvm_ioctl:
		return add_sums(calls, GT_NVIDIA_BY_COMMAND, event->command, event->control, event);
	case GT_NVIDIA_open:
		return add_sums(calls, GT_NVIDIA_BY_MINOR, event->command, 0, event);
	case GT_NVIDIA_isr_bottom_half:
		return add_sums(calls, GT_NVIDIA_BY_INTERRUPT, event->command, 0, event);
	}
	return 0;
}

int gt_nvidia_calls_take(struct gt_nvidia_calls *calls, const struct gt_event *event)
{
	struct gt_nvidia_row *row;
	int error;

	if (event->kind == GT_EVENT_nvidia_sums)
		return take_sums(calls, (const struct gt_event_nvidia_sums *)event);
	if (event->kind != GT_EVENT_nvidia_xid)
		return 0;
	error = find_row(calls, GT_NVIDIA_BY_XID, ((const struct gt_event_nvidia_xid *)event)->code,
			 0, 0, &row);
	if (row)
		row->count++;
	return error;
}

static int compare_rows(const void *a, const void *b)
{
	const struct gt_nvidia_row *left = a, *right = b;

	if (left->count != right->count)
		return left->count < right->count ? 1 : -1;
	if (left->first != right->first)
		return left->first < right->first ? -1 : 1;
	return left->second < right->second ? -1 : left->second > right->second;
}

const struct gt_nvidia_row *gt_nvidia_calls_rows(struct gt_nvidia_calls *calls,
						 enum gt_nvidia_group group, size_t *ret_count)
{
	*ret_count = calls->groups[group].count;
	if (*ret_count)
		qsort(calls->groups[group].items, *ret_count, sizeof(struct gt_nvidia_row),
		      compare_rows);
	return calls->groups[group].items;
}

uint64_t gt_nvidia_quantile(const struct gt_nvidia_row *row, double fraction)
{
	uint64_t seen = 0, middle;
	__u32 i = 0;

	if (!row->timed)
		return 0;
	for (; i + 1 < GT_DURATION_BUCKETS; i++) {
		seen += row->durations[i];
		if (seen && (double)seen >= fraction * (double)row->timed)
			break;
	}
	/* The middle of the bucket, but no longer than any call was. */
	middle = (gt_duration_of_bucket(i) + gt_duration_of_bucket(i + 1)) / 2;
	return middle < row->longest ? middle : row->longest;
}

uint64_t gt_nvidia_held(const struct gt_nvidia_row *process)
{
	uint64_t opens = process->calls[GT_NVIDIA_open], closes = process->calls[GT_NVIDIA_close];

	return opens > closes ? opens - closes : 0;
}
