/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Launches of patched kernels. Where programs read the number of the launch or the size of local
 * memory, a kernel has two hidden arguments after those of the original (patch/spirv/private.h),
 * which the call that appends a launch to a command list sets; otherwise they are zeros. While a
 * thread appends a launch of a kernel, others that append one of the same kernel do not set them:
 * no lock is held while the driver is called, and kernels have no clones.
 */
#pragma once

#include "agent/level_zero/private.h"

/*
 * Whether a patched kernel, which has `count` arguments, has hidden ones; origin->takes_launch.
 * False: it cannot be used.
 */
bool gt_ze_prepare_launches(void *kernel, struct gt_ze_origin *origin, uint32_t count);
