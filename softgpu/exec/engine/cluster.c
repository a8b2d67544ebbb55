/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Clusters: blocks that run at the same time, with a barrier and access to each other's shared
 * memory (PTX ISA 9.0, 9.7.13.4 and 5.1.7.1). The window of shared memory begins with the block's
 * own memory; then follows, SG_CLUSTER_STRIDE bytes apart, that of the blocks with rank 0, 1, ….
 */
#include "exec/engine/cluster.h"

#include <errno.h>
#include <stdlib.h>

/* ---- blocks ---------------------------------------------------------------------------- */

/* Opens a cluster for the blocks that are started next; grid->lock is held. */
static struct sg_cluster *open_cluster(struct sg_grid *grid)
{
	struct sg_cluster *cluster = grid->free_clusters;

	if (cluster) {
		grid->free_clusters = cluster->next_free;
	} else {
		cluster = calloc(1, sizeof(*cluster));
		if (!cluster)
			return NULL;
		cluster->next = grid->clusters;
		grid->clusters = cluster;
	}
	cluster->blocks = grid->cluster_size;
	cluster->live = grid->cluster_size * grid->threads;
	cluster->arrived = 0;
	return cluster;
}

/*
 * Blocks are started cluster by cluster, and a whole cluster can be resident: so all blocks of the
 * first cluster that has not ended are resident, and its waits end.
 */
int sg_cluster_take(struct sg_grid *grid, struct sg_block *block, uint64_t *ret_number)
{
	uint64_t number;
	int error = 0;

	pthread_mutex_lock(&grid->lock);
	number = grid->next_block;
	if (number >= grid->block_count)
		error = -ENOENT;
	else if (number % grid->cluster_size == 0)
		grid->open_cluster = open_cluster(grid);
	if (!error && !grid->open_cluster)
		error = -ENOMEM;
	if (!error) {
		block->cluster = grid->open_cluster;
		__atomic_store_n(&grid->next_block, number + 1, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&grid->lock);
	if (!error)
		*ret_number = number;
	return error;
}

void sg_cluster_block_index(const struct sg_grid *grid, uint64_t number, uint32_t ret_index[3])
{
	const uint32_t *shape = grid->launch.shape.cluster, *size = grid->launch.shape.grid;
	uint64_t cluster = number / grid->cluster_size;
	uint32_t rank = (uint32_t)(number % grid->cluster_size);

	for (int i = 0; i < 3; i++) {
		uint32_t clusters = size[i] / shape[i];

		ret_index[i] = (uint32_t)(cluster % clusters) * shape[i] + rank % shape[i];
		cluster /= clusters;
		rank /= shape[i];
	}
}

static uint64_t *shared_of(const struct sg_block *block)
{
	return &block->cluster->shared[sg_cluster_rank(block)];
}

void sg_cluster_enter(struct sg_block *block)
{
	__atomic_store_n(shared_of(block), (uint64_t)(uintptr_t)block->shared, __ATOMIC_RELEASE);
}

void sg_cluster_leave(struct sg_block *block)
{
	struct sg_cluster *cluster = block->cluster;
	struct sg_grid *grid = block->grid;

	pthread_mutex_lock(&grid->lock);
	__atomic_store_n(shared_of(block), 0, __ATOMIC_RELAXED);
	if (--cluster->blocks == 0) {
		cluster->next_free = grid->free_clusters;
		grid->free_clusters = cluster;
	}
	pthread_mutex_unlock(&grid->lock);
}

void sg_cluster_free_all(struct sg_grid *grid)
{
	while (grid->clusters) {
		struct sg_cluster *next = grid->clusters->next;

		free(grid->clusters);
		grid->clusters = next;
	}
}

uint32_t sg_cluster_rank(const struct sg_block *block)
{
	const uint32_t *shape = block->grid->launch.shape.cluster;
	uint32_t rank = 0;

	for (int i = 2; i >= 0; i--)
		if (shape[i])
			rank = rank * shape[i] + block->index[i] % shape[i];
	return rank;
}

uint64_t sg_cluster_pointer(const struct sg_warp *warp, uint64_t offset, uint64_t size)
{
	const struct sg_grid *grid = warp->grid;
	uint64_t rank = offset / SG_CLUSTER_STRIDE - 1, shared;

	offset %= SG_CLUSTER_STRIDE;
	if (rank >= grid->cluster_size || offset > grid->shared_size ||
	    size > grid->shared_size - offset)
		return 0;
	/* 0: the block has not started, or has ended. */
	shared = __atomic_load_n(&warp->block->cluster->shared[rank], __ATOMIC_ACQUIRE);
	return shared ? shared + offset : 0;
}

/* ---- the barrier ----------------------------------------------------------------------- */

/* grid->lock is held. */
static void check_complete(struct sg_cluster *cluster)
{
	if (!cluster->arrived || cluster->arrived < cluster->live)
		return;
	cluster->arrived = 0;
	__atomic_store_n(&cluster->phase, cluster->phase + 1, __ATOMIC_RELEASE);
}

void sg_cluster_arrive(struct sg_warp *warp)
{
	struct sg_cluster *cluster = warp->block->cluster;

	sg_fence(warp->machine);
	pthread_mutex_lock(&warp->grid->lock);
	for (uint32_t lanes = warp->exec; lanes; lanes &= lanes - 1)
		warp->cluster_phase[__builtin_ctz(lanes)] = cluster->phase;
	warp->cluster_arrived |= warp->exec;
	cluster->arrived += (uint32_t)__builtin_popcount(warp->exec);
	check_complete(cluster);
	pthread_mutex_unlock(&warp->grid->lock);
}

void sg_cluster_exit(struct sg_warp *warp, uint32_t exited)
{
	struct sg_cluster *cluster = warp->block->cluster;

	pthread_mutex_lock(&warp->grid->lock);
	cluster->live -= (uint32_t)__builtin_popcount(exited);
	for (uint32_t lanes = exited & warp->cluster_arrived; lanes; lanes &= lanes - 1)
		if (warp->cluster_phase[__builtin_ctz(lanes)] == cluster->phase)
			cluster->arrived--;
	warp->cluster_arrived &= ~exited;
	check_complete(cluster);
	pthread_mutex_unlock(&warp->grid->lock);
}
