/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "exec/decode/layout.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clean.h"

enum {
	MAX_LOOP = 48, /* depth of nested loops that are laid out */
	NONE = UINT32_MAX,
};

struct block_layout {
	const struct sg_graph *graph;
	uint32_t *region;    /* of a block, at present */
	uint32_t *component; /* its strongly connected component in the region */
	uint32_t *number, *low, *stack, *path, *edge;
	uint32_t next_region;
	uint32_t *order;
	uint32_t placed;
};

/* Blocks that are laid out together; edges to the header (or NONE) are back edges. */
struct layout_region {
	uint32_t number, header;
	uint32_t *blocks, count;
};

/* A strongly connected component of a region: a part of the region's list of blocks. */
struct loop_component {
	uint32_t start, count;
	uint32_t min;   /* lowest block number: the key of the order */
	uint32_t waits; /* edges from components that are not laid out yet */
};

static bool is_inside(const struct block_layout *layout, uint32_t block,
		      const struct layout_region *region)
{
	return layout->region[block] == region->number && block != region->header;
}

/* Tarjan's algorithm from one root; numbers the components from *count upwards. */
static void find_components(struct block_layout *layout, uint32_t root,
			    const struct layout_region *region, uint32_t *next_number,
			    uint32_t *count, uint32_t *stack_depth)
{
	const struct sg_graph *graph = layout->graph;
	uint32_t depth = 0;

	layout->path[depth++] = root;
	layout->edge[root] = graph->starts[root];
	layout->number[root] = layout->low[root] = (*next_number)++;
	layout->stack[(*stack_depth)++] = root;
	while (depth) {
		uint32_t block = layout->path[depth - 1], to;

		if (layout->edge[block] < graph->starts[block + 1]) {
			to = graph->edges[layout->edge[block]++];
			if (!is_inside(layout, to, region))
				continue;
			if (layout->number[to] == NONE) {
				layout->path[depth++] = to;
				layout->edge[to] = graph->starts[to];
				layout->number[to] = layout->low[to] = (*next_number)++;
				layout->stack[(*stack_depth)++] = to;
			} else if (layout->component[to] == NONE &&
				   layout->number[to] < layout->low[block]) {
				layout->low[block] = layout->number[to];
			}
			continue;
		}
		if (--depth && layout->low[block] < layout->low[layout->path[depth - 1]])
			layout->low[layout->path[depth - 1]] = layout->low[block];
		if (layout->low[block] != layout->number[block])
			continue;
		do {
			to = layout->stack[--*stack_depth];
			layout->component[to] = *count;
		} while (to != block);
		++*count;
	}
}

/* Sorts the region's blocks by component; returns the components. */
static struct loop_component *group_components(struct block_layout *layout, uint32_t *blocks,
					       uint32_t count, uint32_t components)
{
	struct loop_component *list = calloc(components, sizeof(*list));
	gt_autofree uint32_t *sorted = malloc(count * sizeof(*sorted));
	uint32_t start = 0;

	if (!list || !sorted) {
		free(list);
		return NULL;
	}
	for (uint32_t i = 0; i < components; i++)
		list[i].min = NONE;
	for (uint32_t i = 0; i < count; i++) {
		struct loop_component *component = &list[layout->component[blocks[i]]];

		component->count++;
		if (blocks[i] < component->min)
			component->min = blocks[i];
	}
	for (uint32_t i = 0; i < components; i++) {
		list[i].start = start;
		start += list[i].count;
		list[i].count = 0;
	}
	for (uint32_t i = 0; i < count; i++) {
		struct loop_component *component = &list[layout->component[blocks[i]]];

		sorted[component->start + component->count++] = blocks[i];
	}
	memcpy(blocks, sorted, count * sizeof(*blocks));
	return list;
}

static void heap_push(uint32_t *heap, uint32_t *count, const struct loop_component *list,
		      uint32_t item)
{
	uint32_t position = (*count)++;

	while (position && list[heap[(position - 1) / 2]].min > list[item].min) {
		heap[position] = heap[(position - 1) / 2];
		position = (position - 1) / 2;
	}
	heap[position] = item;
}

static uint32_t heap_pop(uint32_t *heap, uint32_t *count, const struct loop_component *list)
{
	uint32_t first = heap[0], item = heap[--*count], position = 0;

	for (;;) {
		uint32_t child = 2 * position + 1;

		if (child >= *count)
			break;
		if (child + 1 < *count && list[heap[child + 1]].min < list[heap[child]].min)
			child++;
		if (list[heap[child]].min >= list[item].min)
			break;
		heap[position] = heap[child];
		position = child;
	}
	heap[position] = item;
	return first;
}

/* Sorts the components topologically, the lowest first among those that are ready. */
static int sort_components(struct block_layout *layout, const struct layout_region *region,
			   struct loop_component *list, uint32_t components, uint32_t *ret_sorted)
{
	const uint32_t *blocks = region->blocks;
	const struct sg_graph *graph = layout->graph;
	gt_autofree uint32_t *heap = malloc(components * sizeof(*heap));
	uint32_t ready = 0, done = 0;

	if (!heap)
		return -ENOMEM;
	for (uint32_t i = 0; i < region->count; i++)
		for (uint32_t e = graph->starts[blocks[i]]; e < graph->starts[blocks[i] + 1]; e++) {
			uint32_t to = graph->edges[e];

			if (is_inside(layout, to, region) &&
			    layout->component[to] != layout->component[blocks[i]])
				list[layout->component[to]].waits++;
		}
	for (uint32_t i = 0; i < components; i++)
		if (!list[i].waits)
			heap_push(heap, &ready, list, i);
	while (ready) {
		uint32_t next = heap_pop(heap, &ready, list);

		ret_sorted[done++] = next;
		for (uint32_t i = list[next].start; i < list[next].start + list[next].count; i++)
			for (uint32_t e = graph->starts[blocks[i]];
			     e < graph->starts[blocks[i] + 1]; e++) {
				uint32_t to = graph->edges[e];

				if (!is_inside(layout, to, region) || layout->component[to] == next)
					continue;
				if (--list[layout->component[to]].waits == 0)
					heap_push(heap, &ready, list, layout->component[to]);
			}
	}
	return 0;
}

/* Returns the header of a loop: the block through which blocks that are laid out enter it. */
static uint32_t find_header(const struct block_layout *layout, const bool *is_entered,
			    const uint32_t *blocks, uint32_t count)
{
	uint32_t header = NONE, min = NONE;

	for (uint32_t i = 0; i < count; i++) {
		if (blocks[i] < min)
			min = blocks[i];
		if (is_entered[blocks[i]] && blocks[i] < header)
			header = blocks[i];
	}
	return header != NONE && min != 0 ? header : min;
}

static int compare_blocks(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return left < right ? -1 : left > right;
}

static void place_block(struct block_layout *layout, bool *is_entered, uint32_t block)
{
	const struct sg_graph *graph = layout->graph;

	layout->order[layout->placed++] = block;
	for (uint32_t e = graph->starts[block]; e < graph->starts[block + 1]; e++)
		is_entered[graph->edges[e]] = true;
}

/* Lays out all blocks of a region; edges to the header (or NONE) are back edges. */
static int order_region(struct block_layout *layout, bool *is_entered, uint32_t *blocks,
			uint32_t count, uint32_t header, uint32_t depth)
{
	struct layout_region region = {.number = ++layout->next_region,
				       .header = header,
				       .blocks = blocks,
				       .count = count};
	uint32_t next_number = 0, components = 0, stack = 0;
	gt_autofree struct loop_component *list = NULL;
	gt_autofree uint32_t *sorted = NULL;
	int error;

	if (depth > MAX_LOOP) {
		qsort(blocks, count, sizeof(*blocks), compare_blocks);
		for (uint32_t i = 0; i < count; i++)
			place_block(layout, is_entered, blocks[i]);
		return 0;
	}
	for (uint32_t i = 0; i < count; i++) {
		layout->region[blocks[i]] = region.number;
		layout->component[blocks[i]] = layout->number[blocks[i]] = NONE;
	}
	for (uint32_t i = 0; i < count; i++)
		if (layout->number[blocks[i]] == NONE)
			find_components(layout, blocks[i], &region, &next_number, &components,
					&stack);
	list = group_components(layout, blocks, count, components);
	sorted = malloc(components * sizeof(*sorted));
	if (!list || !sorted)
		return -ENOMEM;
	error = sort_components(layout, &region, list, components, sorted);
	for (uint32_t i = 0; i < components && !error; i++) {
		uint32_t *inner = blocks + list[sorted[i]].start, size = list[sorted[i]].count;

		if (size == 1)
			place_block(layout, is_entered, inner[0]);
		else
			error = order_region(layout, is_entered, inner, size,
					     find_header(layout, is_entered, inner, size),
					     depth + 1);
	}
	return error;
}

/* Lists the blocks that are reachable from block 0; returns their number. */
static uint32_t find_reachable(struct block_layout *layout, bool *is_reachable, uint32_t *blocks)
{
	const struct sg_graph *graph = layout->graph;
	uint32_t depth = 0, count = 0;

	layout->stack[depth++] = 0;
	is_reachable[0] = true;
	while (depth) {
		uint32_t block = layout->stack[--depth];

		blocks[count++] = block;
		for (uint32_t e = graph->starts[block]; e < graph->starts[block + 1]; e++)
			if (!is_reachable[graph->edges[e]]) {
				is_reachable[graph->edges[e]] = true;
				layout->stack[depth++] = graph->edges[e];
			}
	}
	return count;
}

int sg_layout_order(const struct sg_graph *graph, uint32_t *order)
{
	uint32_t count = graph->count, reachable;
	gt_autofree uint32_t *memory = calloc((size_t)count * 8 + 1, sizeof(*memory));
	gt_autofree bool *flags = calloc((size_t)count * 2 + 1, sizeof(*flags));
	uint32_t *blocks = memory;
	struct block_layout layout = {.graph = graph,
				      .region = memory + count,
				      .component = memory + (size_t)count * 2,
				      .number = memory + (size_t)count * 3,
				      .low = memory + (size_t)count * 4,
				      .stack = memory + (size_t)count * 5,
				      .path = memory + (size_t)count * 6,
				      .edge = memory + (size_t)count * 7,
				      .order = order};
	int error;

	if (!memory || !flags)
		return -ENOMEM;
	if (!count)
		return 0;
	reachable = find_reachable(&layout, flags, blocks);
	error = order_region(&layout, flags + count, blocks, reachable, NONE, 0);
	if (error)
		return error;
	for (uint32_t i = 0; i < count; i++)
		if (!flags[i])
			order[layout.placed++] = i;
	return 0;
}
