/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Clusters: blocks that run together and see each other's shared memory. */
#pragma once

#include "exec/engine/engine.h"

enum {
	/* Bytes from the shared memory of one block of a cluster to the next one's. */
	SG_CLUSTER_STRIDE = 256 << 10,
};

struct sg_cluster {
	uint64_t shared[SG_MAX_CLUSTER]; /* by rank; 0: not started, or ended */
	uint32_t blocks;                 /* that have not ended */
	/* The barrier: */
	uint32_t live;    /* threads that have not exited */
	uint32_t arrived; /* of them, in this phase */
	uint32_t phase;
	struct sg_cluster *next; /* of the grid's */
	struct sg_cluster *next_free;
};

/* Takes a block that has not run yet, and its cluster. 0; -ENOENT: there is none; -ENOMEM. */
int sg_cluster_take(struct sg_grid *grid, struct sg_block *block, uint64_t *ret_number);
/* Returns the index of block `number` in the grid. */
void sg_cluster_block_index(const struct sg_grid *grid, uint64_t number, uint32_t ret_index[3]);
/* Starts a block: others can access its shared memory from now on. */
void sg_cluster_enter(struct sg_block *block);
/* Ends a block. */
void sg_cluster_leave(struct sg_block *block);
void sg_cluster_free_all(struct sg_grid *grid);
uint32_t sg_cluster_rank(const struct sg_block *block);
/* Translates an offset in the window that lies in another block's memory; 0: invalid. */
uint64_t sg_cluster_pointer(const struct sg_warp *warp, uint64_t offset, uint64_t size);
/* The active lanes of the warp arrive at the cluster's barrier. */
void sg_cluster_arrive(struct sg_warp *warp);
/* Removes lanes of the warp that have exited from the barrier. */
void sg_cluster_exit(struct sg_warp *warp, uint32_t exited);
