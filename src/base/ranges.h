/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Ranges of addresses that do not overlap, each with a value (not owned): found by any address
 * inside them, in logarithmic time.
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

/* NULL if memory ran out. */
struct gt_ranges *gt_ranges_new(void);
void gt_ranges_free(struct gt_ranges *ranges);
GT_DEFINE_AUTO(ranges, struct gt_ranges, gt_ranges_free)

size_t gt_ranges_count(const struct gt_ranges *ranges);
/* 0, -EEXIST if it overlaps one that is there, -EINVAL if it is empty or goes round, -ENOMEM. */
int gt_ranges_add(struct gt_ranges *ranges, uint64_t start, uint64_t length, void *value);
/* The range that holds an address, or NULL. Valid until the next change. */
const struct gt_range *gt_ranges_find(const struct gt_ranges *ranges, uint64_t address);
/* The first range that ends behind an address, or NULL: begins a walk over what overlaps. */
const struct gt_range *gt_ranges_from(const struct gt_ranges *ranges, uint64_t address);
/* Takes out the range that begins there; returns its value, or NULL. */
void *gt_ranges_remove(struct gt_ranges *ranges, uint64_t start);
