/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "exec/engine/special.h"

#include <string.h>

#include "exec/engine/cluster.h"

bool sg_special_fill_kind(enum gt_ptx_special special, enum sg_fill_kind *ret_kind)
{
	switch (special) {
	case GT_PTX_SPECIAL_CLOCK:
	case GT_PTX_SPECIAL_CLOCK_HI:
	case GT_PTX_SPECIAL_CLOCK64:
	case GT_PTX_SPECIAL_GLOBALTIMER:
	case GT_PTX_SPECIAL_GLOBALTIMER_LO:
	case GT_PTX_SPECIAL_GLOBALTIMER_HI:
		return false;
	case GT_PTX_SPECIAL_TID:
	case GT_PTX_SPECIAL_LANEID:
	case GT_PTX_SPECIAL_WARPID:
	case GT_PTX_SPECIAL_LANEMASK_EQ:
	case GT_PTX_SPECIAL_LANEMASK_LE:
	case GT_PTX_SPECIAL_LANEMASK_LT:
	case GT_PTX_SPECIAL_LANEMASK_GE:
	case GT_PTX_SPECIAL_LANEMASK_GT:
		*ret_kind = SG_FILL_LANE;
		return true;
	case GT_PTX_SPECIAL_CTAID:
	case GT_PTX_SPECIAL_SMID:
	case GT_PTX_SPECIAL_CLUSTERID:
	case GT_PTX_SPECIAL_CLUSTER_CTAID:
	case GT_PTX_SPECIAL_CLUSTER_CTARANK:
		*ret_kind = SG_FILL_BLOCK;
		return true;
	default:
		*ret_kind = SG_FILL_GRID;
		return true;
	}
}

bool sg_special_is_reserved(enum gt_ptx_special special)
{
	switch (special) {
	case GT_PTX_SPECIAL_RESERVED_SMEM_OFFSET:
	case GT_PTX_SPECIAL_RESERVED_SMEM_OFFSET_BEGIN:
	case GT_PTX_SPECIAL_RESERVED_SMEM_OFFSET_END:
	case GT_PTX_SPECIAL_RESERVED_SMEM_OFFSET_CAP:
		return true;
	default:
		return false;
	}
}

/* Returns the dimension of a .x .y .z .w element. */
static uint32_t dimension(const struct sg_fill *fill)
{
	return fill->selector >= GT_PTX_SELECT_X ? fill->selector - GT_PTX_SELECT_X : 0;
}

static uint32_t of_dimension(const uint32_t values[3], uint32_t index, uint32_t otherwise)
{
	return index < 3 ? values[index] : otherwise;
}

static uint64_t lane_value(const struct sg_warp *warp, const struct sg_fill *fill, uint32_t lane)
{
	const uint32_t *block = warp->grid->launch.shape.block;
	uint32_t thread = warp->number * SG_WARP_SIZE + lane;
	uint32_t index[3] = {thread % block[0], thread / block[0] % block[1],
			     thread / block[0] / block[1]};

	switch (fill->special) {
	case GT_PTX_SPECIAL_TID:
		return of_dimension(index, dimension(fill), 0);
	case GT_PTX_SPECIAL_LANEID:
		return lane;
	case GT_PTX_SPECIAL_WARPID:
		return warp->number;
	case GT_PTX_SPECIAL_LANEMASK_EQ:
		return 1u << lane;
	case GT_PTX_SPECIAL_LANEMASK_LE:
		return (2ull << lane) - 1;
	case GT_PTX_SPECIAL_LANEMASK_LT:
		return (1u << lane) - 1;
	case GT_PTX_SPECIAL_LANEMASK_GE:
		return SG_FULL << lane;
	default:
		return SG_FULL & ~((2ull << lane) - 1);
	}
}

static void cluster_shape(const struct sg_grid *grid, uint32_t shape[3])
{
	for (int i = 0; i < 3; i++)
		shape[i] = grid->launch.shape.cluster[i] ? grid->launch.shape.cluster[i] : 1;
}

static uint64_t block_value(const struct sg_block *block, const struct sg_fill *fill)
{
	uint32_t shape[3], index = dimension(fill), inside[3], cluster[3];

	cluster_shape(block->grid, shape);
	for (int i = 0; i < 3; i++) {
		inside[i] = block->index[i] % shape[i];
		cluster[i] = block->index[i] / shape[i];
	}
	switch (fill->special) {
	case GT_PTX_SPECIAL_CTAID:
		return of_dimension(block->index, index, 0);
	case GT_PTX_SPECIAL_SMID:
		return block->multiprocessor;
	case GT_PTX_SPECIAL_CLUSTERID:
		return of_dimension(cluster, index, 0);
	case GT_PTX_SPECIAL_CLUSTER_CTAID:
		return of_dimension(inside, index, 0);
	default:
		return sg_cluster_rank(block);
	}
}

static uint64_t grid_value(const struct sg_grid *grid, const struct sg_fill *fill)
{
	uint32_t shape[3], index = dimension(fill), clusters[3];

	cluster_shape(grid, shape);
	for (int i = 0; i < 3; i++)
		clusters[i] = grid->launch.shape.grid[i] / shape[i];
	switch (fill->special) {
	case GT_PTX_SPECIAL_NTID:
		return of_dimension(grid->launch.shape.block, index, 1);
	case GT_PTX_SPECIAL_NCTAID:
		return of_dimension(grid->launch.shape.grid, index, 1);
	case GT_PTX_SPECIAL_NWARPID:
		return 2048 / SG_WARP_SIZE;
	case GT_PTX_SPECIAL_NSMID:
		return grid->machine->multiprocessors;
	case GT_PTX_SPECIAL_GRIDID:
		return grid->launch.id;
	case GT_PTX_SPECIAL_IS_EXPLICIT_CLUSTER:
		return grid->launch.shape.cluster[0] ? SG_FULL : 0;
	case GT_PTX_SPECIAL_NCLUSTERID:
		return of_dimension(clusters, index, 1);
	case GT_PTX_SPECIAL_CLUSTER_NCTAID:
		return of_dimension(shape, index, 1);
	case GT_PTX_SPECIAL_CLUSTER_NCTARANK:
		return (uint64_t)shape[0] * shape[1] * shape[2];
	case GT_PTX_SPECIAL_TOTAL_SMEM_SIZE:
		return grid->kernel->shared_static + grid->launch.shape.dynamic_shared;
	case GT_PTX_SPECIAL_AGGR_SMEM_SIZE:
		return grid->shared_size;
	case GT_PTX_SPECIAL_RESERVED_SMEM_OFFSET:
	case GT_PTX_SPECIAL_RESERVED_SMEM_OFFSET_BEGIN:
		return grid->reserved_offset;
	case GT_PTX_SPECIAL_RESERVED_SMEM_OFFSET_END:
	case GT_PTX_SPECIAL_RESERVED_SMEM_OFFSET_CAP:
		return grid->reserved_offset + SG_RESERVED_SHARED;
	case GT_PTX_SPECIAL_DYNAMIC_SMEM_SIZE:
		return grid->launch.shape.dynamic_shared;
	/* CUDA's cooperative groups read the address of the grid's workspace from them. */
	case GT_PTX_SPECIAL_ENVREG:
		return fill->selector == 1   ? (uint64_t)(uintptr_t)grid->workspace >> 32
		       : fill->selector == 2 ? (uint32_t)(uintptr_t)grid->workspace
					     : 0;
	default:
		return 0;
	}
}

static void set_lane(char *slot, uint32_t width, uint32_t lane, uint64_t value)
{
	if (width == 2)
		((uint16_t *)(void *)slot)[lane] = (uint16_t)value;
	else if (width == 4)
		((uint32_t *)(void *)slot)[lane] = (uint32_t)value;
	else
		((uint64_t *)(void *)slot)[lane] = value;
}

static void set_all(char *slot, uint32_t width, uint64_t value)
{
	if (width == 4) {
		for (uint32_t lane = 0; lane < SG_WARP_SIZE; lane++)
			((uint32_t *)(void *)slot)[lane] = (uint32_t)value;
	} else if (width == 8) {
		for (uint32_t lane = 0; lane < SG_WARP_SIZE; lane++)
			((uint64_t *)(void *)slot)[lane] = value;
	} else {
		for (uint32_t lane = 0; lane < SG_WARP_SIZE; lane++)
			set_lane(slot, width, lane, value);
	}
}

/* The value of a fill that is the same in all warps of a block. */
static uint64_t common_value(const struct sg_block *block, const struct sg_fill *fill)
{
	switch (fill->kind) {
	case SG_FILL_SHARED:
		return block->grid->kernel->shared_offsets[fill->value] + (uint64_t)fill->addend;
	case SG_FILL_GRID:
		return grid_value(block->grid, fill);
	case SG_FILL_BLOCK:
		return block_value(block, fill);
	default:
		return fill->value;
	}
}

/* Fills a slot in the frame of one function, for all warps. */
static void fill_slots(struct sg_block *block, const struct sg_function *function,
		       const struct sg_fill *fill)
{
	uint64_t value = fill->kind == SG_FILL_LANE ? 0 : common_value(block, fill);

	for (uint32_t i = 0; i < block->warp_count; i++) {
		struct sg_warp *warp = &block->warps[i];
		char *slot = sg_warp_frame(warp, function) + fill->slot;

		if (fill->kind == SG_FILL_LANE) {
			for (uint32_t lane = 0; lane < SG_WARP_SIZE; lane++)
				set_lane(slot, fill->width, lane, lane_value(warp, fill, lane));
		} else if (fill->width == 0) {
			memcpy(slot, &(uint32_t){(uint32_t)value}, sizeof(uint32_t));
		} else {
			set_all(slot, fill->width == 16 ? 8 : fill->width, value);
			if (fill->width == 16)
				set_all(slot + 256, 8, fill->high);
		}
	}
}

void sg_block_fill(struct sg_block *block, bool all)
{
	const struct sg_function *kernel = block->grid->kernel;

	for (uint32_t f = 0; f < kernel->reachable_count; f++) {
		const struct sg_function *function = kernel->reachable[f];
		size_t count = all ? function->fills.count : function->block_fills;

		for (size_t i = 0; i < count; i++)
			fill_slots(block, function, &function->fills.items[i]);
	}
}

static uint64_t changing_value(const struct sg_warp *warp, uint32_t special)
{
	uint64_t cycles = warp->block->clock_base + warp->issued - warp->pseudo;

	switch (special) {
	case GT_PTX_SPECIAL_CLOCK:
	case GT_PTX_SPECIAL_CLOCK64:
		return cycles;
	case GT_PTX_SPECIAL_CLOCK_HI:
		return cycles >> 32;
	case GT_PTX_SPECIAL_GLOBALTIMER_HI:
		return sg_machine_clock(warp->machine) >> 32;
	default:
		return sg_machine_clock(warp->machine);
	}
}

const struct sg_instruction *sg_run_special(struct sg_warp *warp, const struct sg_instruction *at)
{
	uint64_t value = changing_value(warp, at->selector);

	if (warp->exec == SG_FULL) {
		set_all(warp->frame + at->d, at->size, value);
		return at + 1;
	}
	for (uint32_t lanes = warp->exec; lanes; lanes &= lanes - 1)
		set_lane(warp->frame + at->d, at->size, (uint32_t)__builtin_ctz(lanes), value);
	return at + 1;
}
