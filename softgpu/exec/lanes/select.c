/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "exec/lanes/lanes.h"

const struct sg_lane_table *sg_lanes_select(void)
{
#ifdef SG_HAS_V3
	/* CPUs with these have all of -march=x86-64-v3 (Haswell, Zen). */
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
	    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2"))
		return &sg_lanes_v3;
#endif
	return &sg_lanes_baseline;
}
