/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Functions that a process compiled at run time, from /tmp/perf-PID.map of its own root directory
 * and PID namespace, as JIT compilers write it for perf: lines "START SIZE NAME", both numbers
 * hexadecimal (tools/perf/Documentation/ jit-interface.txt of Linux). The file grows; it is
 * untrusted.
 */
#pragma once

#include <stdint.h>

#include "base/clean.h"
#include "elf/symbolize.h"

struct gt_perf_maps;

/* NULL: out of memory. */
struct gt_perf_maps *gt_perf_maps_new(void);
void gt_perf_maps_free(struct gt_perf_maps *maps);
GT_DEFINE_AUTO(perf_maps, struct gt_perf_maps, gt_perf_maps_free)

/*
 * Find the function at an address; with is_return, that of the call before it. The location's path
 * is the map's; no function is found: the location stays as it is. What it refers to lives as
 * `maps`. For an address beyond what was read, the file is read further.
 */
void gt_perf_maps_find(struct gt_perf_maps *maps, uint32_t process, uint64_t address,
		       bool is_return, struct gt_location *location);
