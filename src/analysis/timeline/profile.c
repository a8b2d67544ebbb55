/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/timeline/profile.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"

struct profile_function {
	char *name;
	struct gt_histogram durations;
};

struct gt_profile {
	struct gt_breakdown *breakdown;
	struct gt_hash *functions; /* number -> struct profile_function */
	GT_VEC(struct gt_profile_row) rows;
	uint64_t wall;
};

const char *gt_profile_part_name(enum gt_profile_part part)
{
	static const char *const names[GT_PROFILE_PARTS] = {"path", "kernel", "copy", "call"};

	return names[part];
}

static void free_function(void *opaque)
{
	struct profile_function *function = opaque;

	gt_histogram_free(&function->durations);
	free(function->name);
	free(function);
}

void gt_profile_free(struct gt_profile *profile)
{
	if (!profile)
		return;
	gt_breakdown_free(profile->breakdown);
	if (profile->functions)
		gt_hash_free_with(profile->functions, free_function);
	gt_vec_each (row, &profile->rows) {
		gt_histogram_free(&row->times);
		free(row->name);
		free(row->kernel);
	}
	gt_vec_free(&profile->rows);
	free(profile);
}

struct gt_profile *gt_profile_new(void)
{
	gt_auto(profile) struct gt_profile *profile = calloc(1, sizeof(*profile));

	if (!profile)
		return NULL;
	profile->breakdown = gt_breakdown_new(1);
	profile->functions = gt_hash_new();
	if (!profile->breakdown || !profile->functions)
		return NULL;
	return gt_take(profile);
}

static struct profile_function *function_of(struct gt_profile *profile,
					    const struct gt_names *names, uint32_t number)
{
	struct profile_function *function = gt_hash_get_u64(profile->functions, number);

	if (function)
		return function;
	function = calloc(1, sizeof(*function));
	if (!function)
		return NULL;
	function->name = strdup(gt_names_function(names, number));
	if (function->name && !gt_hash_set_u64(profile->functions, number, function))
		return function;
	free_function(function);
	return NULL;
}

int gt_profile_take(struct gt_profile *profile, const struct gt_names *names,
		    const struct gt_event *event)
{
	const struct gt_event_call *call = (const void *)event;
	struct profile_function *function;
	int error = gt_breakdown_take(profile->breakdown, names, event);

	if (error || event->kind != GT_EVENT_call || call->state & GT_CALL_UNFINISHED)
		return error;
	function = function_of(profile, names, call->function);
	return function ? gt_histogram_add(&function->durations, call->duration) : -ENOMEM;
}

/* kernel: mangled, or NULL. */
static int add_row(struct gt_profile *profile, enum gt_profile_part part, const char *name,
		   const char *kernel, const struct gt_histogram *times, bool estimated)
{
	struct gt_profile_row row = {
		.part = part,
		.name = strdup(name),
		.kernel = kernel ? strdup(kernel) : NULL,
		.count = times->count,
		.total = times->sum,
		.median = part == GT_PROFILE_PATH ? times->sum : gt_histogram_quantile(times, 0.5),
		.estimated = estimated,
	};

	if (row.name && (row.kernel || !kernel) &&
	    (part == GT_PROFILE_PATH || !gt_histogram_merge(&row.times, times)) &&
	    !gt_vec_push(&profile->rows, row))
		return 0;
	gt_histogram_free(&row.times);
	free(row.name);
	free(row.kernel);
	return -ENOMEM;
}

static int add_path(struct gt_profile *profile, const uint64_t *spent)
{
	for (unsigned i = 0; i < GT_SPENDINGS; i++) {
		const struct gt_histogram time = {.count = 1, .sum = spent[i]};

		if (spent[i] && add_row(profile, GT_PROFILE_PATH,
					gt_spending_title((enum gt_spending)i), NULL, &time, false))
			return -ENOMEM;
	}
	return 0;
}

/* Kernels and copies of all processes, by their names. */
struct profile_merged {
	enum gt_profile_part part;
	const char *kernel; /* mangled; NULL: unknown, or not of a kernel */
	struct gt_histogram times;
	bool estimated;
	char name[];
};

static void free_merged(void *opaque)
{
	struct profile_merged *merged = opaque;

	gt_histogram_free(&merged->times);
	free(merged);
}

/* kernel: mangled, or NULL. */
static int merge_times(struct gt_hash *all, enum gt_profile_part part, const char *name,
		       const char *kernel, const struct gt_histogram *times, bool estimated)
{
	struct profile_merged *merged = gt_hash_get_str(all, name);

	if (!merged) {
		merged = calloc(1, sizeof(*merged) + strlen(name) + 1);
		if (!merged || gt_hash_set_str(all, name, merged)) {
			free(merged);
			return -ENOMEM;
		}
		merged->part = part;
		merged->kernel = kernel;
		memcpy(merged->name, name, strlen(name) + 1);
	}
	merged->estimated |= estimated;
	return gt_histogram_merge(&merged->times, times);
}

static int merge_kernels(struct gt_hash *all, const struct gt_process_breakdown *row)
{
	int error = 0;

	gt_vec_each (kernel, &row->kernels) {
		gt_auto_strbuf name = GT_STRBUF_INIT;

		if (kernel->kernel)
			gt_label_kernel(&name, NULL, kernel->kernel, 0);
		else
			gt_strbuf_puts(&name, "?");
		if (!error)
			error = merge_times(all, GT_PROFILE_KERNEL, gt_strbuf_string(&name),
					    kernel->kernel, &kernel->runs, kernel->estimated);
	}
	return error;
}

static int merge_copies(struct gt_hash *all, const struct gt_process_breakdown *row)
{
	static const char *const memories[GT_HOST_MEMORIES] = {" pageable", " pinned", " managed"};
	int error = 0;

	gt_vec_each (copy, &row->copies) {
		gt_auto_strbuf name = GT_STRBUF_INIT;

		gt_strbuf_puts(&name, gt_gpu_operation_name(copy->operation));
		if (copy->operation == GT_GPU_COPY_TO_DEVICE ||
		    copy->operation == GT_GPU_COPY_TO_HOST)
			gt_strbuf_puts(&name, memories[copy->memory]);
		if (!error)
			error = merge_times(all, GT_PROFILE_COPY, gt_strbuf_string(&name), NULL,
					    &copy->runs, copy->estimated);
	}
	return error;
}

static int add_merged(struct gt_profile *profile, const struct gt_hash *all)
{
	size_t cursor = 0;
	void *value;

	while (gt_hash_next(all, &cursor, NULL, NULL, &value)) {
		const struct profile_merged *merged = value;

		if (add_row(profile, merged->part, merged->name, merged->kernel, &merged->times,
			    merged->estimated))
			return -ENOMEM;
	}
	return 0;
}

static int add_functions(struct gt_profile *profile)
{
	size_t cursor = 0;
	void *value;

	while (gt_hash_next(profile->functions, &cursor, NULL, NULL, &value)) {
		const struct profile_function *function = value;

		if (add_row(profile, GT_PROFILE_CALL, function->name, NULL, &function->durations,
			    false))
			return -ENOMEM;
	}
	return 0;
}

int gt_profile_finish(struct gt_profile *profile, const struct gt_names *names)
{
	struct gt_hash *all = gt_hash_new();
	const struct gt_process_breakdown *const *rows;
	uint64_t spent[GT_SPENDINGS] = {0};
	size_t count = 0;
	int error =
		all ? gt_breakdown_rows(profile->breakdown, names, true, &rows, &count) : -ENOMEM;

	for (size_t i = 0; i < count && !error; i++) {
		for (unsigned k = 0; k < GT_SPENDINGS; k++)
			spent[k] += rows[i]->spent[k];
		profile->wall += rows[i]->wall;
		error = merge_kernels(all, rows[i]);
		if (!error)
			error = merge_copies(all, rows[i]);
	}
	if (!error)
		error = add_path(profile, spent);
	if (!error)
		error = add_merged(profile, all);
	if (!error)
		error = add_functions(profile);
	if (all)
		gt_hash_free_with(all, free_merged);
	return error;
}

uint64_t gt_profile_wall(const struct gt_profile *profile)
{
	return profile->wall;
}

static const struct gt_profile_row *find_row(const struct gt_profile *profile,
					     const struct gt_profile_row *like)
{
	gt_vec_each (row, &profile->rows)
		if (row->part == like->part && !strcmp(row->name, like->name))
			return row;
	return NULL;
}

static int64_t growth_of(const struct gt_profile_change *change)
{
	return (int64_t)(change->after ? change->after->total : 0) -
	       (int64_t)(change->before ? change->before->total : 0);
}

static int compare_changes(const void *left, const void *right)
{
	const struct gt_profile_change *a = left, *b = right;
	enum gt_profile_part of_a = a->after ? a->after->part : a->before->part;
	enum gt_profile_part of_b = b->after ? b->after->part : b->before->part;

	if (of_a != of_b)
		return (int)of_a - (int)of_b;
	return (growth_of(a) < growth_of(b)) - (growth_of(a) > growth_of(b));
}

int gt_profiles_compare(const struct gt_profile *before, const struct gt_profile *after,
			struct gt_profile_change **ret_rows, size_t *ret_count)
{
	GT_VEC(struct gt_profile_change) rows = {0};
	int error = 0;

	gt_vec_each (row, &before->rows)
		if (!error)
			error = gt_vec_push(&rows,
					    (struct gt_profile_change){row, find_row(after, row)});
	gt_vec_each (row, &after->rows)
		if (!error && !find_row(before, row))
			error = gt_vec_push(&rows, (struct gt_profile_change){NULL, row});
	if (error) {
		gt_vec_free(&rows);
		return error;
	}
	if (rows.count)
		qsort(rows.items, rows.count, sizeof(*rows.items), compare_changes);
	*ret_rows = rows.items;
	*ret_count = rows.count;
	return 0;
}

double gt_profile_p(const struct gt_profile_change *change)
{
	if (!change->before || !change->after || change->before->times.count < GT_PROFILE_ENOUGH ||
	    change->after->times.count < GT_PROFILE_ENOUGH)
		return -1;
	return gt_histogram_rank_test(&change->before->times, &change->after->times);
}

int gt_profile_verdict(const struct gt_profile_change *change, uint64_t threshold)
{
	double before, after;

	if (!change->before || !change->after || gt_profile_p(change) >= GT_PROFILE_NOISE)
		return 0;
	before = (double)change->before->median;
	after = (double)change->after->median;
	if ((after - before) * 100 > before * (double)threshold)
		return 1;
	return (before - after) * 100 > before * (double)threshold ? -1 : 0;
}
