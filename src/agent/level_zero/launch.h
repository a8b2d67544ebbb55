/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Launches of patched kernels. Where programs read the number of the launch or the size of local
 * memory, a kernel has two hidden arguments after those of the original (patch/spirv/private.h),
 * which the call that appends a launch to a command list sets; otherwise they are zeros.
 *
 * Programs may append launches of one kernel in several threads at the same time, but not set its
 * arguments then. Therefore the first of such calls sets the hidden ones, and the last one clears
 * them, while no other appends. A call that appends may wait for another one (a list that is
 * synchronous, an event), so no lock is held meanwhile: a later one uses the values of the first.
 */
#pragma once

#include "agent/level_zero/private.h"

/*
 * Whether a patched kernel, which has `count` arguments, has hidden ones; origin->takes_launch.
 * False: it cannot be used.
 */
bool gt_ze_prepare_launches(void *kernel, struct gt_ze_origin *origin, uint32_t count);
