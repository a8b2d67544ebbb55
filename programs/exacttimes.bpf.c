// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Records the first and the last instruction of each grid: --gpu-times exact. The first block of a
 * grid takes a slot, its blocks are counted as they end, and the last one writes the record.
 */
#include <gputap/bpf.h>

#include "exacttimes.h"

GPUTAP_RING(exact_grids, EXACTTIMES_RING);
GPUTAP_ARRAY(exact_slots, struct exacttimes_slot, EXACTTIMES_SLOTS);

/* The high bits of both words of a slot are those of its grid's id. */
enum { LOW_BITS = 40 };
#define LOW_MASK ((1ull << LOW_BITS) - 1)

/* Processes and contexts count their launches from 1. */
static __attribute__((always_inline)) unsigned long long grid_id(const struct gputap_context *ctx)
{
	return ctx->launch + (bpf_get_current_pid_tgid() >> 32) * 2654435761ull +
	       ctx->kernel * 2246822519ull;
}

static __attribute__((always_inline)) struct exacttimes_slot *find_slot(unsigned long long id)
{
	unsigned int key = id % EXACTTIMES_SLOTS;

	return bpf_map_lookup_elem(&exact_slots, &key);
}

SEC("gpu/entry.block/*")
int begin_block(struct gputap_context *ctx)
{
	unsigned long long time = bpf_get_globaltimer(), id = grid_id(ctx), old, mine;
	struct exacttimes_slot *slot = find_slot(id);

	if (!slot)
		return 0;
	/* The count is there before the first block ends. */
	mine = id << LOW_BITS;
	old = *(volatile unsigned long long *)&slot->blocks;
	if ((old ^ mine) >> LOW_BITS)
		__sync_val_compare_and_swap(&slot->blocks, old, mine);
	mine |= time & LOW_MASK;
	for (int i = 0; i < 16; i++) {
		old = *(volatile unsigned long long *)&slot->first;
		if (!((old ^ mine) >> LOW_BITS) && (long long)((old - mine) << 24) <= 0)
			return 0;
		if (__sync_val_compare_and_swap(&slot->first, old, mine) == old)
			return 0;
	}
	return 0;
}

SEC("gpu/exit.block/*")
int end_block(struct gputap_context *ctx)
{
	unsigned long long time = bpf_get_globaltimer(), id = grid_id(ctx), first, blocks;
	struct exacttimes_slot *slot = find_slot(id);
	struct exacttimes_grid *grid;

	if (!slot)
		return 0;
	/* Where two grids have one slot, the earlier one is not recorded. */
	if ((*(volatile unsigned long long *)&slot->blocks ^ (id << LOW_BITS)) >> LOW_BITS)
		return 0;
	blocks = (unsigned long long)ctx->grid_size_x * ctx->grid_size_y * ctx->grid_size_z;
	if (__sync_fetch_and_add(&slot->blocks, 1) + 1 != ((id << LOW_BITS) | blocks))
		return 0;
	first = *(volatile unsigned long long *)&slot->first;
	if ((first ^ (id << LOW_BITS)) >> LOW_BITS)
		return 0;
	grid = bpf_ringbuf_reserve(&exact_grids, sizeof(*grid), 0);
	if (!grid)
		return 0;
	grid->launch = ctx->launch;
	grid->first = time - ((time - first) & LOW_MASK);
	grid->last = time;
	grid->pid = bpf_get_current_pid_tgid() >> 32;
	grid->kernel = ctx->kernel;
	bpf_ringbuf_submit(grid, 0);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
