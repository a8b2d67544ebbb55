/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/graphs.h"

#include <errno.h>

#include "base/hash.h"
#include "base/vec.h"

#define MAX_ITEMS 65536 /* of a graph; one with more is unknown */

/* Handles of different kinds may be equal numbers. */
enum graph_kind {
	SORT_GRAPH,
	SORT_EXEC,
	SORT_CAPTURE, /* a graph that is being captured, by the capture's number */
	SORT_NODE,
};

struct graph_key {
	uint64_t handle;
	uint32_t process;
	uint32_t sort;
};

struct graph_content {
	GT_VEC(struct gt_graph_item) items;
	bool unknown;
	bool unlisted; /* it has nodes whose handles are unknown */
};

struct gt_graphs {
	struct gt_hash *contents; /* struct graph_key -> struct graph_content */
	struct gt_hash *nodes;    /* struct graph_key -> handle of its graph, as a pointer */
};

static void content_free(void *opaque)
{
	struct graph_content *content = opaque;

	gt_vec_free(&content->items);
	free(content);
}

struct gt_graphs *gt_graphs_new(void)
{
	struct gt_graphs *graphs = calloc(1, sizeof(*graphs));

	if (!graphs)
		return NULL;
	graphs->contents = gt_hash_new();
	graphs->nodes = gt_hash_new();
	if (graphs->contents && graphs->nodes)
		return graphs;
	gt_graphs_free(graphs);
	return NULL;
}

void gt_graphs_free(struct gt_graphs *graphs)
{
	if (!graphs)
		return;
	if (graphs->contents)
		gt_hash_free_with(graphs->contents, content_free);
	gt_hash_free(graphs->nodes);
	free(graphs);
}

static struct graph_key key_of(const struct gt_operation *operation, enum graph_kind sort,
			       uint64_t handle)
{
	return (struct graph_key){handle, operation->event->head.process, sort};
}

static struct graph_content *find_graph(const struct gt_graphs *graphs, struct graph_key key)
{
	return gt_hash_get(graphs->contents, &key, sizeof(key));
}

static void forget_graph(struct gt_graphs *graphs, struct graph_key key)
{
	struct graph_content *content = gt_hash_remove(graphs->contents, &key, sizeof(key));

	if (content)
		content_free(content);
}

/* An empty one in place of what was there; NULL: no memory. */
static struct graph_content *begin_graph(struct gt_graphs *graphs, struct graph_key key)
{
	struct graph_content *content = calloc(1, sizeof(*content));

	forget_graph(graphs, key);
	if (content && gt_hash_set(graphs->contents, &key, sizeof(key), content)) {
		free(content);
		return NULL;
	}
	return content;
}

/* One without a known beginning began before tracing. */
static struct graph_content *find_or_begin(struct gt_graphs *graphs, struct graph_key key)
{
	struct graph_content *content = find_graph(graphs, key);

	if (content)
		return content;
	content = begin_graph(graphs, key);
	if (content)
		content->unknown = true;
	return content;
}

static int add_node(struct graph_content *content, const struct gt_graph_item *item)
{
	for (size_t i = content->items.count; i-- > 0;) {
		struct gt_graph_item *other = &content->items.items[i];

		if (other->tag != item->tag || other->bytes != item->bytes)
			continue;
		other->count += item->count;
		return 0;
	}
	if (content->items.count == MAX_ITEMS) {
		content->unknown = true;
		return 0;
	}
	return gt_vec_push(&content->items, *item);
}

/* Adds all of a graph to another one; NULL: it is not known. */
static int merge_child(struct graph_content *content, const struct graph_content *other)
{
	int error = 0;

	if (!other || content == other) {
		content->unknown = true;
		return 0;
	}
	content->unknown |= other->unknown;
	content->unlisted = true;
	for (size_t i = 0; i < other->items.count && !error; i++)
		error = add_node(content, &other->items.items[i]);
	return error;
}

/* A graph is the same as another one from now on. */
static int copy_graph(struct gt_graphs *graphs, struct graph_key key, struct graph_key from)
{
	struct graph_content *content = begin_graph(graphs, key);

	return content ? merge_child(content, find_graph(graphs, from)) : -ENOMEM;
}

static struct graph_key graph_of_node_key(const struct gt_operation *operation)
{
	return key_of(operation, SORT_NODE, operation->other);
}

/* The graph in which something was changed, we do not know how. */
static int change_graph(struct gt_graphs *graphs, struct graph_key key)
{
	struct graph_content *content = find_or_begin(graphs, key);

	if (!content)
		return -ENOMEM;
	content->unknown = true;
	return 0;
}

/* An unknown node may be in any graph that has unknown nodes. */
static int change_node(struct gt_graphs *graphs, const struct gt_operation *operation)
{
	struct graph_key node = key_of(operation, SORT_NODE, operation->address);
	void *graph = gt_hash_get(graphs->nodes, &node, sizeof(node));
	size_t cursor = 0, length;
	const void *key;
	void *value;

	if (graph)
		return change_graph(graphs, key_of(operation, SORT_GRAPH, (uintptr_t)graph));
	while (gt_hash_next(graphs->contents, &cursor, &key, &length, &value)) {
		const struct graph_key *of = key;
		struct graph_content *content = value;

		if (of->process == node.process && of->sort == SORT_GRAPH && content->unlisted)
			content->unknown = true;
	}
	return 0;
}

static int begin_capture(struct gt_graphs *graphs, const struct gt_operation *operation)
{
	struct graph_content *content =
		begin_graph(graphs, key_of(operation, SORT_CAPTURE, operation->capture));

	if (!content)
		return -ENOMEM;
	content->unlisted = true;
	/* Into a graph that is there. */
	return operation->has_other
		       ? merge_child(content, find_graph(graphs, key_of(operation, SORT_GRAPH,
									operation->other)))
		       : 0;
}

static int end_capture(struct gt_graphs *graphs, const struct gt_operation *operation)
{
	struct graph_key capture = key_of(operation, SORT_CAPTURE, operation->capture);
	int error = 0;

	if (!operation->failed)
		error = copy_graph(graphs, key_of(operation, SORT_GRAPH, operation->address),
				   capture);
	forget_graph(graphs, capture);
	return error;
}

bool gt_graphs_launches(const struct gt_operation *operation)
{
	return operation->kind == GT_OPERATION_LAUNCH && operation->has_address &&
	       !operation->failed && !operation->capture;
}

/* A graph that is launched into a stream that is captured is a node of the captured one. */
static int capture_launch(struct gt_graphs *graphs, const struct gt_operation *operation)
{
	struct graph_content *content =
		find_or_begin(graphs, key_of(operation, SORT_CAPTURE, operation->capture));

	return content ? merge_child(content, find_graph(graphs, key_of(operation, SORT_EXEC,
									operation->address)))
		       : -ENOMEM;
}

static int add_child(struct gt_graphs *graphs, const struct gt_operation *operation)
{
	struct graph_content *content =
		find_or_begin(graphs, key_of(operation, SORT_GRAPH, operation->address));

	return content ? merge_child(content, find_graph(graphs, key_of(operation, SORT_GRAPH,
									operation->other)))
		       : -ENOMEM;
}

static int take_graph(struct gt_graphs *graphs, const struct gt_operation *operation)
{
	struct graph_key graph = key_of(operation, SORT_GRAPH, operation->address);
	struct graph_key exec = key_of(operation, SORT_EXEC, operation->address);

	switch (operation->kind) {
	case GT_OPERATION_GRAPH_CREATE:
		return begin_graph(graphs, graph) ? 0 : -ENOMEM;
	case GT_OPERATION_GRAPH_CLONE:
		return copy_graph(graphs, graph, key_of(operation, SORT_GRAPH, operation->other));
	case GT_OPERATION_GRAPH_INSTANTIATE:
		return copy_graph(graphs, exec, key_of(operation, SORT_GRAPH, operation->other));
	case GT_OPERATION_GRAPH_CHILD:
		return add_child(graphs, operation);
	case GT_OPERATION_GRAPH_CHANGE:
		return change_graph(graphs, graph);
	case GT_OPERATION_GRAPH_CHANGE_EXEC:
		return change_graph(graphs, exec);
	case GT_OPERATION_GRAPH_CHANGE_NODE:
		return change_node(graphs, operation);
	case GT_OPERATION_GRAPH_DESTROY:
		forget_graph(graphs, graph);
		return 0;
	case GT_OPERATION_GRAPH_DESTROY_EXEC:
		forget_graph(graphs, exec);
		return 0;
	default:
		return 0;
	}
}

int gt_graphs_take(struct gt_graphs *graphs, const struct gt_operation *operation)
{
	switch (operation->kind) {
	case GT_OPERATION_CAPTURE_BEGIN:
		return operation->failed ? 0 : begin_capture(graphs, operation);
	case GT_OPERATION_CAPTURE_END:
		return operation->capture ? end_capture(graphs, operation) : 0;
	case GT_OPERATION_CAPTURE_CHANGE:
		return operation->capture ? change_graph(graphs, key_of(operation, SORT_CAPTURE,
									operation->capture))
					  : 0;
	case GT_OPERATION_LAUNCH:
		return operation->capture && operation->has_address && !operation->failed
			       ? capture_launch(graphs, operation)
			       : 0;
	default:
		return operation->failed || !operation->has_address ? 0
								    : take_graph(graphs, operation);
	}
}

int gt_graphs_add(struct gt_graphs *graphs, const struct gt_operation *operation, uint64_t tag,
		  uint64_t bytes)
{
	struct graph_key key = operation->capture
				       ? key_of(operation, SORT_CAPTURE, operation->capture)
				       : key_of(operation, SORT_GRAPH, operation->address);
	struct graph_key node = graph_of_node_key(operation);
	struct graph_content *content = find_or_begin(graphs, key);

	if (!content)
		return -ENOMEM;
	/* No graph has the handle 0, except in malformed captures. */
	if (!operation->capture && operation->has_other && key.handle &&
	    gt_hash_set(graphs->nodes, &node, sizeof(node), (void *)(uintptr_t)key.handle))
		return -ENOMEM;
	return add_node(content, &(struct gt_graph_item){tag, bytes, 1});
}

bool gt_graphs_items(const struct gt_graphs *graphs, const struct gt_operation *operation,
		     const struct gt_graph_item **ret_items, size_t *ret_count)
{
	const struct graph_content *content =
		find_graph(graphs, key_of(operation, SORT_EXEC, operation->address));

	*ret_count = 0;
	if (!content || content->unknown)
		return false;
	*ret_items = content->items.items;
	*ret_count = content->items.count;
	return true;
}

void gt_graphs_end_process(struct gt_graphs *graphs, uint32_t process)
{
	size_t cursor = 0, length;
	const void *key;
	void *value;

	while (gt_hash_next(graphs->contents, &cursor, &key, &length, &value)) {
		if (((const struct graph_key *)key)->process != process)
			continue;
		gt_hash_remove(graphs->contents, key, length);
		content_free(value);
	}
	cursor = 0;
	while (gt_hash_next(graphs->nodes, &cursor, &key, &length, &value))
		if (((const struct graph_key *)key)->process == process)
			gt_hash_remove(graphs->nodes, key, length);
}

bool gt_graphs_needs(enum gt_operation_kind kind)
{
	return (kind >= GT_OPERATION_CAPTURE_BEGIN && kind <= GT_OPERATION_GRAPH_DESTROY_EXEC) ||
	       kind == GT_OPERATION_EVENT_RECORD || kind == GT_OPERATION_EVENT_WAIT;
}
