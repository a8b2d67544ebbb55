/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the OpenCL devices of this machine have that programs need: clocks, and what
 * spirv/device_features.h lists. A process of its own examines them when a device is asked for:
 * drivers start threads, and may crash.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/cycle_clock.h"

struct gt_inject_opencl;

enum {
	GT_INJECT_MAX_OPENCL = 64, /* devices */
};

/*
 * Create the process, which waits. While the calling process has one thread, or few that allocate
 * nothing. Without `reads_clock`, devices have no clock. NULL: it cannot be created.
 */
struct gt_inject_opencl *gt_inject_opencl_new(bool reads_clock);
void gt_inject_opencl_free(struct gt_inject_opencl *opencl);

/*
 * The clock of the device with a name (GT_AGENT_CHUNK_DEVICE_NAME), or that of any device where it
 * is NULL. NULL: there is none. The first call takes as long as building a kernel, and 30 s at
 * most. One thread at a time. *ret_number: of the clock, from 0, the same in each run on the same
 * devices; ret_number may be NULL.
 */
const struct gt_cycle_clock *gt_inject_opencl_clock(struct gt_inject_opencl *opencl,
						    const char *device, size_t *ret_number);
/*
 * What the device with a name has for kernels that others made (gt_spirv_feature), or any of the
 * devices where the name is NULL. As the function above.
 */
unsigned gt_inject_opencl_features(struct gt_inject_opencl *opencl, const char *device);
