/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/kernels.h"

#include <string.h>

#include "analysis/operation.h"
#include "base/map.h"
#include "base/vec.h"

#define MOST_CONFIGURATIONS 32 /* kept of one row */

struct row {
	struct gt_kernel_row kernel;
	char *name;
	GT_VEC(struct gt_configuration) configurations;
};

struct gt_kernels {
	enum gt_by by;
	struct gt_operations *operations;
	struct gt_map *by_key;  /* bytes of what a row is for -> struct row */
	struct gt_map *started; /* thread -> start of its last launch + 1, as a pointer */
	GT_VEC(const struct gt_kernel_row *) rows;
	struct gt_strbuf key; /* kept for its memory */
};

struct gt_kernels *gt_kernels_new(enum gt_by by)
{
	gt_auto(kernels) struct gt_kernels *kernels = calloc(1, sizeof(*kernels));

	if (!kernels)
		return NULL;
	kernels->by = by;
	kernels->operations = gt_operations_new();
	kernels->by_key = gt_map_new();
	kernels->started = gt_map_new();
	if (!kernels->operations || !kernels->by_key || !kernels->started)
		return NULL;
	return gt_take(kernels);
}

static void row_free(void *opaque)
{
	struct row *row = opaque;

	gt_histogram_free(&row->kernel.duration);
	gt_histogram_free(&row->kernel.since);
	gt_vec_free(&row->configurations);
	free(row->name);
	free(row);
}

void gt_kernels_free(struct gt_kernels *kernels)
{
	if (!kernels)
		return;
	gt_operations_free(kernels->operations);
	if (kernels->by_key)
		gt_map_free_with(kernels->by_key, row_free);
	gt_map_free(kernels->started);
	gt_vec_free(&kernels->rows);
	gt_strbuf_free(&kernels->key);
	free(kernels);
}

/* A kernel of no known name is one of its process. */
static int make_key(struct gt_kernels *kernels, const char *name, uint64_t handle, bool graph,
		    const struct gt_operation *operation, const struct gt_group *group)
{
	struct {
		struct gt_group group;
		uint64_t handle, process, graph;
	} head = {*group, 0, 0, graph};

	if (!name) {
		head.handle = handle;
		head.process = operation->call->head.process;
	}
	gt_strbuf_clear(&kernels->key);
	gt_strbuf_add(&kernels->key, (const char *)&head, sizeof(head));
	if (name)
		gt_strbuf_puts(&kernels->key, name);
	return kernels->key.failed ? -ENOMEM : 0;
}

/* The launched graph, where no kernel is. */
static uint64_t graph_of(const struct gt_operation *operation)
{
	uint64_t handle = 0;

	for (unsigned i = 0; i < operation->api->argument_count; i++)
		if (operation->api->arguments[i].role == GT_ROLE_HANDLE &&
		    gt_api_argument_number(operation->api, operation->call, i, &handle))
			return handle;
	return 0;
}

static struct row *row_of(struct gt_kernels *kernels, const struct gt_names *names,
			  const struct gt_operation *operation)
{
	struct gt_group group = gt_group_of(kernels->by, names, operation->call,
					    operation->has_stream ? operation->stream : 0);
	const char *name = gt_names_launched(names, operation->call);
	uint64_t handle = 0;
	bool graph = !gt_api_launched(operation->api, operation->call, &handle);
	struct row *row;

	if (graph)
		handle = graph_of(operation);
	if (make_key(kernels, name, handle, graph, operation, &group))
		return NULL;
	row = gt_map_get(kernels->by_key, kernels->key.data, kernels->key.length);
	if (row)
		return row;
	row = calloc(1, sizeof(*row));
	if (!row)
		return NULL;
	row->name = name ? strdup(name) : NULL;
	row->kernel = (struct gt_kernel_row){
		.name = row->name,
		.handle = handle,
		.graph = graph,
		.process = operation->call->head.process,
		.group = gt_group_told(group, operation->call->head.device),
	};
	if ((name && !row->name) ||
	    gt_map_set(kernels->by_key, kernels->key.data, kernels->key.length, row)) {
		row_free(row);
		return NULL;
	}
	return row;
}

static int count_configuration(struct row *row, const struct gt_operation *operation)
{
	struct gt_configuration configuration = {.launches = 1};

	if (!gt_api_launch(operation->api, operation->call, &configuration.launch))
		return 0;
	gt_vec_each (other, &row->configurations) {
		if (memcmp(&other->launch, &configuration.launch, sizeof(other->launch)))
			continue;
		other->launches++;
		return 0;
	}
	if (row->configurations.count < MOST_CONFIGURATIONS)
		return gt_vec_push(&row->configurations, configuration);
	row->kernel.others++;
	return 0;
}

static int count_since(struct gt_kernels *kernels, struct row *row,
		       const struct gt_operation *operation)
{
	uint32_t thread = operation->call->head.thread;
	uintptr_t before = (uintptr_t)gt_map_get_u64(kernels->started, thread);
	int error = 0;

	if (before && operation->start + 1 >= before)
		error = gt_histogram_add(&row->kernel.since, operation->start + 1 - before);
	return error ? error
		     : gt_map_set_u64(kernels->started, thread,
				      (void *)(uintptr_t)(operation->start + 1));
}

static int take_operation(void *opaque, const struct gt_names *names,
			  const struct gt_operation *operation)
{
	struct gt_kernels *kernels = opaque;
	struct row *row;
	int error;

	if (operation->kind != GT_OPERATION_LAUNCH)
		return 0;
	row = row_of(kernels, names, operation);
	if (!row)
		return -ENOMEM;
	error = count_since(kernels, row, operation);
	if (error)
		return error;
	if (operation->failed) {
		row->kernel.failed++;
		return 0;
	}
	row->kernel.launches++;
	error = gt_histogram_add(&row->kernel.duration, operation->call->duration);
	return error ? error : count_configuration(row, operation);
}

int gt_kernels_take(struct gt_kernels *kernels, const struct gt_names *names,
		    const struct gt_event *event)
{
	return gt_operations_take(kernels->operations, names, event, take_operation, kernels);
}

static int compare_configurations(const void *a, const void *b)
{
	const struct gt_configuration *left = a, *right = b;

	if (left->launches != right->launches)
		return left->launches < right->launches ? 1 : -1;
	return memcmp(&left->launch, &right->launch, sizeof(left->launch));
}

static int compare_rows(const void *a, const void *b)
{
	const struct gt_kernel_row *left = *(const struct gt_kernel_row *const *)a;
	const struct gt_kernel_row *right = *(const struct gt_kernel_row *const *)b;

	if (left->duration.sum != right->duration.sum)
		return left->duration.sum < right->duration.sum ? 1 : -1;
	if (left->launches != right->launches)
		return left->launches < right->launches ? 1 : -1;
	if (left->name && right->name && strcmp(left->name, right->name))
		return strcmp(left->name, right->name);
	return left->handle < right->handle ? -1 : left->handle > right->handle;
}

int gt_kernels_rows(struct gt_kernels *kernels, const struct gt_kernel_row *const **ret_rows,
		    size_t *ret_count)
{
	size_t cursor = 0;
	void *value;

	kernels->rows.count = 0;
	while (gt_map_next(kernels->by_key, &cursor, NULL, NULL, &value)) {
		struct row *row = value;

		if (row->configurations.count)
			qsort(row->configurations.items, row->configurations.count,
			      sizeof(*row->configurations.items), compare_configurations);
		row->kernel.configurations = row->configurations.items;
		row->kernel.configuration_count = row->configurations.count;
		if (gt_vec_push(&kernels->rows, &row->kernel))
			return -ENOMEM;
	}
	if (kernels->rows.count)
		qsort(kernels->rows.items, kernels->rows.count, sizeof(*kernels->rows.items),
		      compare_rows);
	*ret_rows = kernels->rows.items;
	*ret_count = kernels->rows.count;
	return 0;
}
