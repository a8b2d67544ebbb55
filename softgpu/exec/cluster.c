/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Clusters: blocks that run together, with a barrier of their own and shared memory that each of
 * them may touch (PTX ISA 9.0, 9.7.13.4 and 5.1.7.1). In the window of shared memory a block's own
 * comes first, and then, SG_CLUSTER_STRIDE bytes apart, that of the block with rank 0, 1 and so on.
 */
#include "exec/cluster.h"

#include <errno.h>

#include "exec/decode.h"

/* ---- blocks that belong together ------------------------------------------------------- */

/* A cluster for the blocks that are started next; grid->lock is held. */
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
 * Blocks are taken cluster by cluster, and as many as a cluster has can be resident: so all blocks
 * of the first cluster that has not ended are there, and whoever waits in it gets on.
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

void sg_cluster_place(const struct sg_grid *grid, uint64_t number, uint32_t ret_index[3])
{
	const uint32_t *shape = grid->launch.cluster, *size = grid->launch.grid;
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
	const uint32_t *shape = block->grid->launch.cluster;
	uint32_t rank = 0;

	for (int i = 2; i >= 0; i--)
		if (shape[i])
			rank = rank * shape[i] + block->index[i] % shape[i];
	return rank;
}

uint64_t sg_cluster_pointer(const struct sg_warp *warp, uint64_t place, uint64_t size)
{
	const struct sg_grid *grid = warp->grid;
	uint64_t rank = place / SG_CLUSTER_STRIDE - 1, shared;

	place %= SG_CLUSTER_STRIDE;
	if (rank >= grid->cluster_size || place > grid->shared_size ||
	    size > grid->shared_size - place)
		return 0;
	/* One that has not begun or has ended has none. */
	shared = __atomic_load_n(&warp->block->cluster->shared[rank], __ATOMIC_ACQUIRE);
	return shared ? shared + place : 0;
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

static const struct sg_instruction *run_arrive(struct sg_warp *warp,
					       const struct sg_instruction *at)
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
	return at + 1;
}

/* Threads that have exited are not waited for. */
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

/* Lanes whose phase is complete go on; the others come here again. */
static const struct sg_instruction *run_wait(struct sg_warp *warp, const struct sg_instruction *at)
{
	uint32_t waiting = warp->exec & warp->cluster_arrived, phase, rest;

	phase = __atomic_load_n(&warp->block->cluster->phase, __ATOMIC_ACQUIRE);
	for (uint32_t lanes = waiting; lanes; lanes &= lanes - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(lanes);

		if (warp->cluster_phase[lane] != phase)
			waiting &= ~(1u << lane);
	}
	warp->cluster_arrived &= ~warp->exec | waiting;
	sg_fence(warp->machine);
	if (!waiting)
		return at + 1;
	/* How often it looks is chance, and no part of the kernel's cycles. */
	warp->pseudo++;
	sg_warp_count(warp);
	rest = warp->mask & ~waiting;
	warp->mask = waiting;
	if (rest)
		sg_warp_split(warp, rest, at + 1, warp->function, warp->frame, warp->depth);
	warp->spinning = true;
	return sg_warp_tick(warp, at);
}

/* ---- addresses ------------------------------------------------------------------------- */

/* The window of an address, if it is a generic one; false: it is not in shared memory. */
static bool take_window(const struct sg_warp *warp, const struct sg_instruction *at,
			uint64_t *address, uint64_t *ret_window)
{
	const struct sg_windows *windows = &warp->machine->windows;

	*ret_window = 0;
	if (at->space == GT_PTX_SPACE_SHARED)
		return true;
	if (*address < windows->shared || *address >= windows->local)
		return false;
	*address -= windows->shared;
	*ret_window = windows->shared;
	return true;
}

static uint64_t read_lane(const char *slot, uint32_t size, uint32_t lane)
{
	uint64_t value = 0;

	memcpy(&value, slot + lane * size, size);
	return value;
}

/* mapa d, a, b: the same place in the memory of block b. size: of d and a. */
static const struct sg_instruction *run_map(struct sg_warp *warp, const struct sg_instruction *at)
{
	const uint32_t *ranks = (uint32_t *)(void *)(warp->frame + at->b);
	uint32_t own = sg_cluster_rank(warp->block);

	for (uint32_t lanes = warp->exec; lanes; lanes &= lanes - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(lanes);
		uint64_t address = read_lane(warp->frame + at->a, at->size, lane), window;

		if (take_window(warp, at, &address, &window)) {
			address %= SG_CLUSTER_STRIDE;
			if (ranks[lane] != own)
				address += (ranks[lane] + 1ull) * SG_CLUSTER_STRIDE;
			address += window;
		}
		memcpy(warp->frame + at->d + lane * at->size, &address, at->size);
	}
	return at + 1;
}

/* getctarank d, a: whose memory it is. size: of a. */
static const struct sg_instruction *run_rank(struct sg_warp *warp, const struct sg_instruction *at)
{
	uint32_t *d = (uint32_t *)(void *)(warp->frame + at->d), own = sg_cluster_rank(warp->block);

	for (uint32_t lanes = warp->exec; lanes; lanes &= lanes - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(lanes);
		uint64_t address = read_lane(warp->frame + at->a, at->size, lane), window;

		if (!take_window(warp, at, &address, &window) || address < SG_CLUSTER_STRIDE)
			d[lane] = own;
		else
			d[lane] = (uint32_t)(address / SG_CLUSTER_STRIDE - 1);
	}
	return at + 1;
}

/* ---- decoding -------------------------------------------------------------------------- */

static bool has(const struct sg_decoder *decoder, enum gt_ptx_modifier_id id)
{
	return gt_ptx_form_has(sg_decode_form(decoder), id);
}

/* barrier.cluster.arrive{.release, .relaxed}{.aligned} and .wait{.acquire}{.aligned} */
int sg_decode_cluster_barrier(struct sg_decoder *decoder)
{
	struct sg_instruction step = {0};
	bool arrives = has(decoder, GT_PTX_MOD_ARRIVE), waits = has(decoder, GT_PTX_MOD_WAIT);
	uint32_t words = 2u + has(decoder, GT_PTX_MOD_ALIGNED);

	if (arrives)
		words += has(decoder, GT_PTX_MOD_RELEASE) + has(decoder, GT_PTX_MOD_RELAXED);
	else
		words += has(decoder, GT_PTX_MOD_ACQUIRE);
	if (arrives == waits || sg_decode_form(decoder)->modifier_count != words)
		return sg_decode_bad_form(decoder);
	if (decoder->instruction->operand_count)
		return sg_decode_bad_operand(decoder, 0);
	decoder->function->uses_cluster_barrier = true;
	return sg_decode_emit_step(decoder, arrives ? run_arrive : run_wait, &step);
}

/* An address in shared memory of a block of the cluster: a register, or a shared variable. */
static int read_address(struct sg_decoder *decoder, struct sg_instruction *step)
{
	const struct gt_ptx_form *form = sg_decode_form(decoder);
	enum gt_ptx_type type = form->type_count == 1 ? form->types[0] : GT_PTX_TYPE_NONE;
	bool is_shared = has(decoder, GT_PTX_MOD_SHARED_CLUSTER);

	if ((type != GT_PTX_TYPE_U32 && type != GT_PTX_TYPE_U64) ||
	    form->modifier_count != 1u + is_shared || (!is_shared && type != GT_PTX_TYPE_U64))
		return sg_decode_bad_form(decoder);
	step->size = type == GT_PTX_TYPE_U32 ? 4 : 8;
	step->space = is_shared ? GT_PTX_SPACE_SHARED : GT_PTX_SPACE_NONE;
	if (decoder->instruction->operand_count > 1 &&
	    decoder->instruction->operands[1].kind == GT_PTX_OPERAND_SYMBOL)
		return sg_decode_symbol(decoder, &decoder->instruction->operands[1], step->size,
					&step->a);
	return sg_decode_source(decoder, 1, type, &step->a);
}

int sg_decode_mapa(struct sg_decoder *decoder)
{
	struct sg_instruction step = {0};
	int error = read_address(decoder, &step);

	if (!error)
		error = sg_decode_source(decoder, 2, GT_PTX_TYPE_U32, &step.b);
	if (!error)
		error = sg_decode_destination(
			decoder, 0, step.size == 4 ? GT_PTX_TYPE_U32 : GT_PTX_TYPE_U64, &step.d);
	return error ? error : sg_decode_emit_step(decoder, run_map, &step);
}

int sg_decode_getctarank(struct sg_decoder *decoder)
{
	struct sg_instruction step = {0};
	int error = read_address(decoder, &step);

	if (!error)
		error = sg_decode_destination(decoder, 0, GT_PTX_TYPE_U32, &step.d);
	return error ? error : sg_decode_emit_step(decoder, run_rank, &step);
}
