/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The table of operations on lanes. */
#include "exec/lanes/lanes.h"

#define BIT4(i) 1u << (i), 1u << ((i) + 1), 1u << ((i) + 2), 1u << ((i) + 3)
#define BIT16(i) BIT4(i), BIT4((i) + 4), BIT4((i) + 8), BIT4((i) + 12)

const u32 SG_PASTE(sg_bits32_, SG_VARIANT)[SG_WARP_SIZE]
	__attribute__((aligned(64))) = {BIT16(0), BIT16(16)};
const u64 SG_PASTE(sg_bits64_, SG_VARIANT)[SG_WARP_SIZE]
	__attribute__((aligned(64))) = {BIT16(0), BIT16(16)};

const struct sg_lane_table SG_PASTE(sg_lanes_, SG_VARIANT) = {
	.run =
		{
#define SG_OPERATION(id) [SG_LANE_##id] = SG_NAME(id),
#include "exec/lanes/all.def"
		},
	.global = SG_NAME(resolve_global),
	.shared = SG_NAME(resolve_shared),
};
