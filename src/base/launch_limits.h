/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The size of a warp and the limits of a launch, the same on every GPU of compute capability 3.0
 * and later (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum gt_launch_limit {
	GT_WARP_SIZE = 32, /* threads */

	GT_MAX_GRID_X = 2147483647, /* blocks */
	GT_MAX_GRID_Y = 65535,
	GT_MAX_GRID_Z = 65535,
	GT_MAX_BLOCK_X = 1024, /* threads */
	GT_MAX_BLOCK_Y = 1024,
	GT_MAX_BLOCK_Z = 64,
	GT_MAX_BLOCK_THREADS = 1024,
};

#define GT_MAX_GRID                                                                                \
	{                                                                                          \
		GT_MAX_GRID_X, GT_MAX_GRID_Y, GT_MAX_GRID_Z                                        \
	}
#define GT_MAX_BLOCK                                                                               \
	{                                                                                          \
		GT_MAX_BLOCK_X, GT_MAX_BLOCK_Y, GT_MAX_BLOCK_Z                                     \
	}

/* Return whether a grid has blocks, and no more than can be launched. */
static inline bool gt_launch_grid_is_valid(const uint32_t grid[3])
{
	return grid[0] && grid[0] <= GT_MAX_GRID_X && grid[1] && grid[1] <= GT_MAX_GRID_Y &&
	       grid[2] && grid[2] <= GT_MAX_GRID_Z;
}

/* Return whether a block has threads, and no more than can be launched. */
static inline bool gt_launch_block_is_valid(const uint32_t block[3])
{
	return block[0] && block[0] <= GT_MAX_BLOCK_X && block[1] && block[1] <= GT_MAX_BLOCK_Y &&
	       block[2] && block[2] <= GT_MAX_BLOCK_Z &&
	       block[0] * block[1] * block[2] <= GT_MAX_BLOCK_THREADS;
}
