/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A treap: a search tree by start, balanced as a heap by random priorities. */
#include "base/ranges.h"

#include <errno.h>
#include <stdlib.h>

struct range_node {
	struct gt_range range;
	struct range_node *left, *right;
	uint64_t priority;
};

struct gt_ranges {
	struct range_node *root;
	size_t count;
	uint64_t random;
};

struct gt_ranges *gt_ranges_new(void)
{
	struct gt_ranges *ranges = calloc(1, sizeof(*ranges));

	if (ranges)
		ranges->random = 0x9e3779b97f4a7c15ull;
	return ranges;
}

/* Rotates the tree into a list, to free it without recursion. */
void gt_ranges_free(struct gt_ranges *ranges)
{
	struct range_node *node = ranges ? ranges->root : NULL;

	while (node) {
		struct range_node *left = node->left;

		if (left) {
			node->left = left->right;
			left->right = node;
			node = left;
			continue;
		}
		left = node->right;
		free(node);
		node = left;
	}
	free(ranges);
}

size_t gt_ranges_count(const struct gt_ranges *ranges)
{
	return ranges->count;
}

/* xorshift64 */
static uint64_t next_random(struct gt_ranges *ranges)
{
	ranges->random ^= ranges->random << 13;
	ranges->random ^= ranges->random >> 7;
	ranges->random ^= ranges->random << 17;
	return ranges->random;
}

const struct gt_range *gt_ranges_from(const struct gt_ranges *ranges, uint64_t address)
{
	const struct gt_range *best = NULL;

	for (const struct range_node *node = ranges->root; node;) {
		if (node->range.start + (node->range.length - 1) < address) {
			node = node->right;
		} else {
			best = &node->range;
			node = node->left;
		}
	}
	return best;
}

const struct gt_range *gt_ranges_find(const struct gt_ranges *ranges, uint64_t address)
{
	const struct gt_range *range = gt_ranges_from(ranges, address);

	return range && range->start <= address ? range : NULL;
}

/* Splits a tree into the ranges that start before `start`, and the others. */
static void split(struct range_node *tree, uint64_t start, struct range_node **ret_before,
		  struct range_node **ret_behind)
{
	struct range_node **before = ret_before, **behind = ret_behind;

	while (tree) {
		if (tree->range.start < start) {
			*before = tree;
			before = &tree->right;
			tree = tree->right;
		} else {
			*behind = tree;
			behind = &tree->left;
			tree = tree->left;
		}
	}
	*before = *behind = NULL;
}

int gt_ranges_add(struct gt_ranges *ranges, uint64_t start, uint64_t length, void *value)
{
	const struct gt_range *next = gt_ranges_from(ranges, start);
	struct range_node **place = &ranges->root, *node;
	uint64_t last;

	if (!length || __builtin_add_overflow(start, length - 1, &last))
		return -EINVAL;
	if (next && next->start <= last)
		return -EEXIST;
	node = malloc(sizeof(*node));
	if (!node)
		return -ENOMEM;
	*node = (struct range_node){.range = {start, length, value},
				    .priority = next_random(ranges)};
	while (*place && (*place)->priority > node->priority)
		place = start < (*place)->range.start ? &(*place)->left : &(*place)->right;
	split(*place, start, &node->left, &node->right);
	*place = node;
	ranges->count++;
	return 0;
}

static void join(struct range_node **place, struct range_node *left, struct range_node *right)
{
	while (left && right) {
		if (left->priority > right->priority) {
			*place = left;
			place = &left->right;
			left = left->right;
		} else {
			*place = right;
			place = &right->left;
			right = right->left;
		}
	}
	*place = left ? left : right;
}

void *gt_ranges_remove(struct gt_ranges *ranges, uint64_t start)
{
	struct range_node **place = &ranges->root, *node;
	void *value;

	while (*place && (*place)->range.start != start)
		place = start < (*place)->range.start ? &(*place)->left : &(*place)->right;
	node = *place;
	if (!node)
		return NULL;
	value = node->range.value;
	join(place, node->left, node->right);
	free(node);
	ranges->count--;
	return value;
}
