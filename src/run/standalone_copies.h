/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The maps of an instance, one after the other in memory that is copied to a device and back: for
 * devices that do not access the memory of this process.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

struct gt_instance;
struct gt_symbol_values;
struct gt_standalone_copies;

/*
 * Place the maps, and replace their addresses (gt_instance_symbols) by offsets in the memory:
 * those of the maps are in `maps`. The instance must outlive the copies. 0 or -ENOMEM.
 */
int gt_standalone_copies_new(const struct gt_instance *instance, struct gt_symbol_values *symbols,
			     uint64_t (*maps)[2], struct gt_standalone_copies **ret_copies,
			     struct gt_diag *diag);
void gt_standalone_copies_free(struct gt_standalone_copies *copies);
/* What the device gets, and returns here. */
void *gt_standalone_copies_memory(const struct gt_standalone_copies *copies);
size_t gt_standalone_copies_size(const struct gt_standalone_copies *copies);
/* Before a launch: copy the maps to the memory. */
void gt_standalone_copies_fill(struct gt_standalone_copies *copies);
/* After it: merge what the device has changed into the maps (opencl/merge.h). */
void gt_standalone_copies_merge(struct gt_standalone_copies *copies);
