/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/timeline/explained.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/timeline/causes.h"
#include "base/text.h"

static void free_gaps(struct gt_idle_gaps *gaps)
{
	gt_vec_each (gap, gaps)
		free(gap->causes);
	gt_vec_free(gaps);
}
/* Where one of this length would be. */
static size_t rank_of(const struct gt_idle_gaps *gaps, uint64_t length)
{
	size_t rank = gaps->count;

	while (rank && gaps->items[rank - 1].end - gaps->items[rank - 1].start < length)
		rank--;
	return rank;
}

/* Insert one at its rank; of `top` the shortest is dropped. Takes the causes. 0 or -ENOMEM. */
static int insert_gap(struct gt_idle_gaps *gaps, size_t rank, const struct gt_idle_gap *gap,
		      size_t top)
{
	if (gaps->count == top)
		free(gaps->items[--gaps->count].causes);
	if (gt_vec_push(gaps, *gap)) {
		free(gap->causes);
		return -ENOMEM;
	}
	memmove(&gaps->items[rank + 1], &gaps->items[rank],
		(gaps->count - 1 - rank) * sizeof(*gap));
	gaps->items[rank] = *gap;
	return 0;
}

int gt_explain_gap(const struct gt_explained *explained, struct gt_process_breakdown *row,
		   const struct gt_path *path, const struct gt_path_operation *next, uint64_t begin)
{
	uint64_t length = next->start - begin;
	size_t rank = rank_of(&row->gaps, length);
	struct gt_idle_gap gap;
	int error;

	row->idle_gaps++;
	row->gpu_idle += length;
	if (rank >= explained->top)
		return 0;
	error = gt_causes_find(path, next, begin, false, &gap);
	if (error)
		return error;
	gap.process = row->process;
	return insert_gap(&row->gaps, rank, &gap, explained->top);
}

static int keep_call(const struct gt_explained *explained, struct gt_process_breakdown *row,
		     const struct gt_path *path, const struct gt_path_thread *thread,
		     const struct gt_path_call *call)
{
	const struct gt_strings *globs = explained->calls;
	size_t rank = rank_of(&row->calls, call->end - call->start);
	struct gt_idle_gap gap;
	int error;

	if (!gt_globs_select(globs->words.items, globs->words.count, call->name, false))
		return 0;
	row->explained_calls++;
	if (rank >= explained->top)
		return 0;
	error = gt_causes_find_of_call(path, thread, call, &gap);
	if (error)
		return error;
	gap.process = row->process;
	return insert_gap(&row->calls, rank, &gap, explained->top);
}

int gt_explain_calls(const struct gt_explained *explained, struct gt_process_breakdown *row,
		     const struct gt_path *path, uint64_t begun, uint64_t until)
{
	int error = 0;

	if (!explained->calls)
		return 0;
	gt_vec_each (thread, &path->threads)
		gt_vec_each (call, &(*thread)->calls)
			if (!error && call->end > begun && call->end <= until)
				error = keep_call(explained, row, path, *thread, call);
	return error;
}

void gt_explained_free(struct gt_process_breakdown *row)
{
	free_gaps(&row->gaps);
	free_gaps(&row->calls);
}
