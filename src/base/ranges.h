/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Address ranges that do not overlap, each with a value (not owned), found by any of their
 * addresses in logarithmic time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/clean.h"

struct gt_ranges;

struct gt_range {
	uint64_t start;
	uint64_t length; /* not 0 */
	void *value;
};

/* Returns an empty set; NULL: out of memory. */
struct gt_ranges *gt_ranges_new(void);
void gt_ranges_free(struct gt_ranges *ranges);
GT_DEFINE_AUTO(ranges, struct gt_ranges, gt_ranges_free)

size_t gt_ranges_count(const struct gt_ranges *ranges);
/* Adds a range. 0; -EEXIST: it overlaps another one; -EINVAL: it is empty or wraps; -ENOMEM. */
int gt_ranges_add(struct gt_ranges *ranges, uint64_t start, uint64_t length, void *value);
/* Returns the range that contains an address, or NULL. Valid until the next change. */
const struct gt_range *gt_ranges_find(const struct gt_ranges *ranges, uint64_t address);
/* Returns the first range that ends after an address, or NULL. */
const struct gt_range *gt_ranges_from(const struct gt_ranges *ranges, uint64_t address);
/* Removes the range with that start; returns its value, or NULL. */
void *gt_ranges_remove(struct gt_ranges *ranges, uint64_t start);
