/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How many blocks of a kernel a multiprocessor can run at once. The limits are those of the table
 * "Technical Specifications per Compute Capability" in the CUDA C++ Programming Guide; how
 * registers and shared memory are allocated is described by cuda_occupancy.h of the CUDA toolkit.
 */
#pragma once

#include <stdint.h>

/* What limits the number of blocks. */
enum gt_occupancy_limit {
	GT_OCCUPANCY_WARPS,
	GT_OCCUPANCY_BLOCKS,
	GT_OCCUPANCY_SHARED_MEMORY,
	GT_OCCUPANCY_REGISTERS,
};

/* "warps", "blocks", "shared memory", "registers". */
extern const char *const gt_occupancy_limits[];

struct gt_occupancy_launch {
	uint32_t capability;    /* of the device: 75 for 7.5 */
	uint32_t block_threads; /* 1 to 1024 */
	uint32_t shared;        /* bytes of a block, static and dynamic */
	uint32_t registers;     /* of a thread; 0: unknown, so that they do not limit */
};

struct gt_occupancy {
	uint32_t blocks;    /* of a multiprocessor at once; 0: it cannot be launched */
	uint32_t warps;     /* of these blocks */
	uint32_t max_warps; /* of a multiprocessor */
	enum gt_occupancy_limit limit;
};

/*
 * The occupancy of a multiprocessor with its maximum of shared memory. 0; -ENOENT: the device is
 * not in the table, or the block is invalid.
 */
int gt_occupancy(const struct gt_occupancy_launch *launch, struct gt_occupancy *ret_occupancy);
