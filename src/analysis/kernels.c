/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/kernels.h"

#include <errno.h>
#include <string.h>

#include "analysis/chains.h"
#include "analysis/graphs.h"
#include "base/hash.h"
#include "base/vec.h"

#define MAX_CONFIGURATIONS 32 /* kept of one row */

struct kernel_group;

/* How a graph launches the kernel of a row. */
struct graph_launch {
	struct kernel_group *row;
	bool known;
	struct gt_call_launch launch;
};

struct kernel_group {
	struct gt_kernel_row kernel;
	char *name;
	GT_VEC(struct gt_configuration) configurations;
	GT_VEC(struct graph_launch *) nodes; /* the last one collects those beyond the limit */
};

struct gt_kernels {
	enum gt_by by;
	struct gt_operations *operations;
	struct gt_graphs *graphs;
	struct gt_hash *by_key;  /* bytes of what a row is for -> struct kernel_group */
	struct gt_hash *shown;   /* by device: the same as of now */
	struct gt_hash *started; /* thread -> start of its last launch + 1, as a pointer */
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
	kernels->graphs = gt_graphs_new();
	kernels->by_key = gt_hash_new();
	kernels->started = gt_hash_new();
	if (!kernels->operations || !kernels->graphs || !kernels->by_key || !kernels->started)
		return NULL;
	return gt_take(kernels);
}

static void row_free(void *opaque)
{
	struct kernel_group *row = opaque;

	gt_histogram_free(&row->kernel.duration);
	gt_histogram_free(&row->kernel.since);
	gt_vec_free(&row->configurations);
	gt_vec_each (node, &row->nodes)
		free(*node);
	gt_vec_free(&row->nodes);
	free(row->name);
	free(row);
}

void gt_kernels_free(struct gt_kernels *kernels)
{
	if (!kernels)
		return;
	gt_operations_free(kernels->operations);
	gt_graphs_free(kernels->graphs);
	if (kernels->by_key)
		gt_hash_free_with(kernels->by_key, row_free);
	if (kernels->shown)
		gt_hash_free_with(kernels->shown, row_free);
	gt_hash_free(kernels->started);
	gt_vec_free(&kernels->rows);
	gt_strbuf_free(&kernels->key);
	free(kernels);
}

/* What is launched: a kernel, or all of a graph. */
struct launched_kernel {
	const char *name;
	uint64_t handle;
	bool graph;
};

static struct launched_kernel launched_by(const struct gt_names *names,
					  const struct gt_operation *operation)
{
	struct launched_kernel launched = {0};

	if (operation->kind == GT_OPERATION_GRAPH_KERNEL) {
		launched.handle = operation->kernel;
		launched.name =
			gt_names_kernel(names, operation->event->head.process, operation->kernel);
		return launched;
	}
	launched.name = gt_names_launched(names, &operation->call);
	launched.graph =
		!gt_call_kernel(&operation->call, &launched.handle) && operation->has_address;
	if (launched.graph)
		launched.handle = operation->address;
	return launched;
}

/* A kernel of no known name is one of its process. */
static int make_key(struct gt_kernels *kernels, const struct gt_kernel_row *kernel)
{
	struct {
		struct gt_group group;
		uint64_t handle, process, graph;
	} head = {kernel->group, 0, 0, kernel->graph};

	if (head.group.uuid[0])
		head.group.device = 0;
	if (!kernel->name) {
		head.handle = kernel->handle;
		head.process = kernel->process;
	}
	gt_strbuf_clear(&kernels->key);
	gt_strbuf_add(&kernels->key, (const char *)&head, sizeof(head));
	if (kernel->name)
		gt_strbuf_puts(&kernels->key, kernel->name);
	return kernels->key.failed ? -ENOMEM : 0;
}

/* The row that has the name, handle, process and group of this one. NULL: no memory. */
static struct kernel_group *row_in(struct gt_kernels *kernels, struct gt_hash *rows,
				   const struct gt_kernel_row *like)
{
	struct kernel_group *row;

	if (make_key(kernels, like))
		return NULL;
	row = gt_hash_get(rows, kernels->key.data, kernels->key.length);
	if (row)
		return row;
	row = calloc(1, sizeof(*row));
	if (!row)
		return NULL;
	row->name = like->name ? strdup(like->name) : NULL;
	row->kernel = (struct gt_kernel_row){
		.name = row->name,
		.handle = like->handle,
		.graph = like->graph,
		.process = like->process,
		.group = like->group,
	};
	if ((like->name && !row->name) ||
	    gt_hash_set(rows, kernels->key.data, kernels->key.length, row)) {
		row_free(row);
		return NULL;
	}
	return row;
}

static struct kernel_group *row_of(struct gt_kernels *kernels, const struct gt_names *names,
				   const struct gt_operation *operation)
{
	struct gt_group group = gt_group_of(kernels->by, names, operation->event,
					    operation->has_stream ? operation->stream : 0);
	struct launched_kernel launched = launched_by(names, operation);
	struct gt_kernel_row like = {
		.name = launched.name,
		.handle = launched.handle,
		.graph = launched.graph,
		.process = operation->event->head.process,
		.group = gt_group_with_ordinal(group, operation->event->head.device),
	};

	return row_in(kernels, kernels->by_key, &like);
}

static int count_configuration(struct kernel_group *row, const struct gt_call_launch *launch,
			       uint64_t launches)
{
	gt_vec_each (other, &row->configurations) {
		if (memcmp(&other->launch, launch, sizeof(*launch)))
			continue;
		other->launches += launches;
		return 0;
	}
	if (row->configurations.count < MAX_CONFIGURATIONS)
		return gt_vec_push(&row->configurations,
				   ((struct gt_configuration){launches, *launch}));
	row->kernel.others += launches;
	return 0;
}

static int count_since(struct gt_kernels *kernels, struct kernel_group *row,
		       const struct gt_operation *operation)
{
	uint32_t thread = operation->event->head.thread;
	uintptr_t before = (uintptr_t)gt_hash_get_u64(kernels->started, thread);
	int error = 0;

	if (before && operation->start + 1 >= before)
		error = gt_histogram_add(&row->kernel.since, operation->start + 1 - before);
	return error ? error
		     : gt_hash_set_u64(kernels->started, thread,
				       (void *)(uintptr_t)(operation->start + 1));
}

static bool is_same(const struct graph_launch *node, bool known,
		    const struct gt_call_launch *launch)
{
	return node->known == known && !memcmp(&node->launch, launch, sizeof(*launch));
}

/* Nodes that are launched alike are one. NULL: no memory. */
static struct graph_launch *node_of(struct kernel_group *row, const struct gt_operation *operation)
{
	struct gt_call_launch launch = {0};
	bool known = gt_call_launch(&operation->call, &launch);
	struct graph_launch *node;

	if (row->nodes.count >= MAX_CONFIGURATIONS) {
		known = false;
		launch = (struct gt_call_launch){0};
	}
	gt_vec_each (other, &row->nodes)
		if (is_same(*other, known, &launch))
			return *other;
	node = calloc(1, sizeof(*node));
	if (!node)
		return NULL;
	*node = (struct graph_launch){row, known, launch};
	if (gt_vec_push(&row->nodes, node)) {
		free(node);
		return NULL;
	}
	return node;
}

/* A launch that becomes a node of a graph. */
static int take_node(struct gt_kernels *kernels, const struct gt_operation *operation,
		     struct kernel_group *row)
{
	struct graph_launch *node;

	if (operation->failed) {
		row->kernel.failed++;
		return 0;
	}
	row->kernel.captured++;
	node = node_of(row, operation);
	return node ? gt_graphs_add(kernels->graphs, operation, (uintptr_t)node, 0) : -ENOMEM;
}

static int count_graph(struct gt_kernels *kernels, const struct gt_operation *operation,
		       struct kernel_group *graph)
{
	const struct gt_graph_item *items;
	size_t count;
	int error = 0;

	if (!gt_graphs_items(kernels->graphs, operation, &items, &count))
		graph->kernel.unknown++;
	for (size_t i = 0; i < count && !error; i++) {
		const struct graph_launch *node =
			(const struct graph_launch *)(uintptr_t)items[i].tag;

		node->row->kernel.by_graphs += items[i].count;
		if (node->known)
			error = count_configuration(node->row, &node->launch, items[i].count);
	}
	return error;
}

static int take_launch(struct gt_kernels *kernels, const struct gt_operation *operation,
		       struct kernel_group *row)
{
	int error = count_since(kernels, row, operation);
	struct gt_call_launch launch;

	if (error)
		return error;
	if (operation->failed) {
		row->kernel.failed++;
		return 0;
	}
	row->kernel.launches++;
	if (gt_graphs_launches(operation))
		error = count_graph(kernels, operation, row);
	if (!error)
		error = gt_histogram_add(&row->kernel.duration, operation->event->duration);
	if (!error && gt_call_launch(&operation->call, &launch))
		error = count_configuration(row, &launch, 1);
	return error;
}

static int take_operation(void *opaque, const struct gt_names *names,
			  const struct gt_operation *operation)
{
	struct gt_kernels *kernels = opaque;
	int error = gt_graphs_take(kernels->graphs, operation);
	bool is_node = operation->kind == GT_OPERATION_GRAPH_KERNEL || operation->capture;
	struct kernel_group *row;

	if (error || (operation->kind != GT_OPERATION_LAUNCH &&
		      operation->kind != GT_OPERATION_GRAPH_KERNEL))
		return error;
	/* A graph that is captured into another one is that one's nodes. */
	if (operation->capture && operation->has_address)
		return 0;
	row = row_of(kernels, names, operation);
	if (!row)
		return -ENOMEM;
	return is_node ? take_node(kernels, operation, row) : take_launch(kernels, operation, row);
}

int gt_kernels_take(struct gt_kernels *kernels, const struct gt_names *names,
		    const struct gt_event *event)
{
	int error = gt_operations_take(kernels->operations, names, event, take_operation, kernels);

	if (event->kind == GT_EVENT_exit)
		gt_graphs_end_process(kernels->graphs, event->process);
	return error;
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

static int add_row(struct kernel_group *to, const struct kernel_group *row)
{
	const struct gt_kernel_row *kernel = &row->kernel;
	int error;

	to->kernel.launches += kernel->launches;
	to->kernel.failed += kernel->failed;
	to->kernel.captured += kernel->captured;
	to->kernel.by_graphs += kernel->by_graphs;
	to->kernel.unknown += kernel->unknown;
	to->kernel.others += kernel->others;
	error = gt_histogram_merge(&to->kernel.duration, &kernel->duration);
	if (!error)
		error = gt_histogram_merge(&to->kernel.since, &kernel->since);
	gt_vec_each (configuration, &row->configurations)
		if (!error)
			error = count_configuration(to, &configuration->launch,
						    configuration->launches);
	return error;
}

/* Merge rows of a device whose UUID became known later, and rows of stacks with equal callers. */
static int merge_rows(struct gt_kernels *kernels, const struct gt_names *names)
{
	gt_auto(chains) struct gt_chains *chains = gt_chains_new(names);
	size_t cursor = 0;
	void *value;

	if (kernels->shown)
		gt_hash_free_with(kernels->shown, row_free);
	kernels->shown = gt_hash_new();
	if (!kernels->shown || !chains)
		return -ENOMEM;
	while (gt_hash_next(kernels->by_key, &cursor, NULL, NULL, &value)) {
		const struct kernel_group *row = value;
		struct gt_kernel_row like = row->kernel;
		struct kernel_group *to;

		like.group =
			gt_group_with_ordinal(gt_group_now(kernels->by, names, chains, &like.group),
					      (int)row->kernel.group.device);
		to = row_in(kernels, kernels->shown, &like);
		if (!to || add_row(to, row))
			return -ENOMEM;
	}
	return 0;
}

int gt_kernels_rows(struct gt_kernels *kernels, const struct gt_names *names,
		    const struct gt_kernel_row *const **ret_rows, size_t *ret_count)
{
	const bool merged = kernels->by == GT_BY_DEVICE || kernels->by == GT_BY_STACK;
	size_t cursor = 0;
	void *value;

	kernels->rows.count = 0;
	if (merged && merge_rows(kernels, names))
		return -ENOMEM;
	while (gt_hash_next(merged ? kernels->shown : kernels->by_key, &cursor, NULL, NULL,
			    &value)) {
		struct kernel_group *row = value;

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
