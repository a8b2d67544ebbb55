/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/timeline/usage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct gt_busy *busy_of(struct gt_process_breakdown *row,
			       const struct gt_path_operation *operation, bool all)
{
	gt_vec_each (busy, &row->busy)
		if (busy->device == operation->device && busy->all == all &&
		    (all || busy->operation == (enum gt_gpu_operation)operation->operation))
			return busy;
	if (gt_vec_push(&row->busy,
			(struct gt_busy){.device = operation->device,
					 .all = all,
					 .operation = (enum gt_gpu_operation)operation->operation}))
		return NULL;
	return &row->busy.items[row->busy.count - 1];
}

static int count_busy(struct gt_process_breakdown *row, const struct gt_path_operation *operation,
		      bool all)
{
	struct gt_busy *busy = busy_of(row, operation, all);
	uint64_t start = operation->start;

	if (!busy)
		return -ENOMEM;
	busy->count++;
	busy->bytes += operation->bytes;
	busy->sum += operation->end - operation->start;
	if (busy->basis < (enum gt_times_basis)operation->basis)
		busy->basis = (enum gt_times_basis)operation->basis;
	start = start > busy->covered ? start : busy->covered;
	if (operation->end <= start)
		return 0;
	busy->ns += operation->end - start;
	busy->covered = operation->end;
	return 0;
}

/* Names are mostly the same pointers. */
static struct gt_kernel_times *kernel_of(struct gt_process_breakdown *row, const char *name)
{
	gt_vec_each (known, &row->kernels)
		if (known->kernel == name)
			return known;
	gt_vec_each (known, &row->kernels)
		if (known->kernel && name && !strcmp(known->kernel, name))
			return known;
	return NULL;
}

static void count_small_grid(struct gt_small_grids *small,
			     const struct gt_path_operation *operation)
{
	if (!operation->blocks || operation->blocks >= GT_FEW_BLOCKS ||
	    operation->basis == GT_TIMES_ESTIMATED)
		return;
	small->count++;
	small->ns += operation->end - operation->start;
	small->most = small->most > operation->blocks ? small->most : operation->blocks;
}

static int count_kernel(struct gt_process_breakdown *row, const struct gt_path_operation *operation)
{
	struct gt_kernel_times *kernel = kernel_of(row, operation->kernel);
	int error;

	if (!kernel) {
		if (!row->shown)
			row->shown = gt_short_names_new();
		if (!row->shown || gt_vec_push(&row->kernels, (struct gt_kernel_times){
								      .kernel = operation->kernel}))
			return -ENOMEM;
		kernel = &row->kernels.items[row->kernels.count - 1];
		if (kernel->kernel)
			gt_short_names_add(row->shown, kernel->kernel);
	}
	count_small_grid(&row->small_grids, operation);
	kernel->estimated += operation->basis == GT_TIMES_ESTIMATED;
	kernel->exact += operation->basis == GT_TIMES_EXACT;
	error = gt_histogram_add(&kernel->runs, operation->end - operation->start);
	return error ? error
		     : gt_histogram_add(&kernel->queued,
					operation->start > operation->submitted
						? operation->start - operation->submitted
						: 0);
}

/* overlapped: the part in which a kernel ran. */
static int count_copy(struct gt_process_breakdown *row, const struct gt_path_operation *operation,
		      uint64_t overlapped)
{
	struct gt_copy_times *copy = NULL;

	gt_vec_each (known, &row->copies)
		if (known->operation == (enum gt_gpu_operation)operation->operation &&
		    known->memory == (enum gt_host_memory)operation->memory)
			copy = known;
	if (!copy) {
		if (gt_vec_push(&row->copies,
				(struct gt_copy_times){
					.operation = (enum gt_gpu_operation)operation->operation,
					.memory = (enum gt_host_memory)operation->memory,
				}))
			return -ENOMEM;
		copy = &row->copies.items[row->copies.count - 1];
	}
	copy->bytes += operation->bytes;
	copy->overlapped_ns += overlapped;
	copy->estimated += operation->basis == GT_TIMES_ESTIMATED;
	return gt_histogram_add(&copy->runs, operation->end - operation->start);
}

static int keep_longest(struct gt_process_breakdown *row, const struct gt_path_operation *operation,
			size_t top)
{
	size_t place = row->longest.count;

	while (place && row->longest.items[place - 1].end - row->longest.items[place - 1].start <
				operation->end - operation->start)
		place--;
	if (place >= top)
		return 0;
	if (row->longest.count == top)
		row->longest.count--;
	if (gt_vec_push(&row->longest, *operation))
		return -ENOMEM;
	memmove(&row->longest.items[place + 1], &row->longest.items[place],
		(row->longest.count - 1 - place) * sizeof(*operation));
	row->longest.items[place] = *operation;
	return 0;
}

int gt_usage_add(struct gt_process_breakdown *row, const struct gt_path_operation *operation,
		 uint64_t overlapped, size_t top)
{
	int error = count_busy(row, operation, false);

	if (!error)
		error = count_busy(row, operation, true);
	if (!error)
		error = keep_longest(row, operation, top);
	if (!error && operation->operation == GT_GPU_KERNEL)
		error = count_kernel(row, operation);
	else if (!error && operation->operation >= GT_GPU_COPY &&
		 operation->operation <= GT_GPU_COPY_PEER)
		error = count_copy(row, operation, overlapped);
	return error;
}

static int count_wait(struct gt_process_breakdown *row, const struct gt_path *path,
		      const struct gt_path_call *call)
{
	const struct gt_path_operation *waited =
		call->operation ? &path->operations.items[call->operation - 1] : NULL;
	uint64_t behind = waited && waited->end > call->start ? waited->end : call->start;
	struct gt_wait_times *wait = NULL;

	gt_vec_each (known, &row->waits_by_function)
		if (!strcmp(known->function, call->name))
			wait = known;
	if (!wait) {
		if (gt_vec_push(&row->waits_by_function,
				(struct gt_wait_times){.function = call->name}))
			return -ENOMEM;
		wait = &row->waits_by_function.items[row->waits_by_function.count - 1];
	}
	wait->behind_ns += (behind < call->end ? behind : call->end) - call->start;
	return gt_histogram_add(&wait->durations, call->end - call->start);
}

int gt_usage_add_waits(struct gt_process_breakdown *row, const struct gt_path *path, uint64_t begun,
		       uint64_t until)
{
	int error = 0;

	gt_vec_each (thread, &path->threads)
		gt_vec_each (call, &(*thread)->calls)
			if (!error && call->end > begun && call->end <= until &&
			    (call->activity == GT_HOST_WAIT || call->activity == GT_HOST_BLOCKED))
				error = count_wait(row, path, call);
	return error;
}

static int compare_kernels(const void *left, const void *right)
{
	const struct gt_kernel_times *a = left, *b = right;

	return (a->runs.sum < b->runs.sum) - (a->runs.sum > b->runs.sum);
}

static int compare_copies(const void *left, const void *right)
{
	const struct gt_copy_times *a = left, *b = right;

	return (a->runs.sum < b->runs.sum) - (a->runs.sum > b->runs.sum);
}

static int compare_waits(const void *left, const void *right)
{
	const struct gt_wait_times *a = left, *b = right;

	return (a->durations.sum < b->durations.sum) - (a->durations.sum > b->durations.sum);
}

static int compare_busy(const void *left, const void *right)
{
	const struct gt_busy *a = left, *b = right;

	if (a->device != b->device)
		return a->device - b->device;
	return a->all != b->all ? b->all - a->all : (int)a->operation - (int)b->operation;
}

#define sort_rows(vec, compare)                                                                    \
	do {                                                                                       \
		if ((vec)->count)                                                                  \
			qsort((vec)->items, (vec)->count, sizeof(*(vec)->items), compare);         \
	} while (0)

void gt_usage_sort(struct gt_process_breakdown *row)
{
	sort_rows(&row->kernels, compare_kernels);
	sort_rows(&row->copies, compare_copies);
	sort_rows(&row->waits_by_function, compare_waits);
	sort_rows(&row->busy, compare_busy);
}

void gt_usage_free(struct gt_process_breakdown *row)
{
	gt_vec_each (kernel, &row->kernels) {
		gt_histogram_free(&kernel->runs);
		gt_histogram_free(&kernel->queued);
	}
	gt_vec_each (copy, &row->copies)
		gt_histogram_free(&copy->runs);
	gt_vec_each (wait, &row->waits_by_function)
		gt_histogram_free(&wait->durations);
	gt_vec_free(&row->busy);
	gt_vec_free(&row->longest);
	gt_vec_free(&row->kernels);
	gt_short_names_free(row->shown);
	gt_vec_free(&row->copies);
	gt_vec_free(&row->waits_by_function);
}
