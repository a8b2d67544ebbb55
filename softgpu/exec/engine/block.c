/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Blocks: memory, turns of the warps, barriers. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "exec/engine/cluster.h"
#include "exec/engine/special.h"

enum {
	BLOCK_SIZE_UNIT = 64 << 10,   /* bytes: the size of a block's memory is a multiple */
	MAX_CACHED_BYTES = 256 << 20, /* bytes that are cached for later grids */
};

/* ---- memory ---------------------------------------------------------------------------- */

/* Takes cached memory of exactly that size, or returns NULL. */
static struct sg_block *take_cached_block(struct sg_machine *machine, size_t size)
{
	struct sg_block **link = &machine->cached_blocks, *block;

	pthread_mutex_lock(&machine->lock);
	while (*link && (*link)->memory_size != size)
		link = &(*link)->next;
	block = *link;
	if (block) {
		*link = block->next;
		machine->cached_bytes -= size;
	}
	pthread_mutex_unlock(&machine->lock);
	return block;
}

static struct sg_block *map_block(struct sg_machine *machine, size_t size)
{
	struct sg_block *block = take_cached_block(machine, size);

	if (block)
		return block;
	block = mmap(NULL, size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return block == MAP_FAILED ? NULL : block;
}

struct sg_block *sg_block_new(struct sg_grid *grid)
{
	size_t header = sizeof(struct sg_block) + grid->warps * sizeof(struct sg_warp);
	size_t size = ((header + 63) & ~(size_t)63) + grid->block_size;
	struct sg_block *block;
	char *memory;

	size = (size + BLOCK_SIZE_UNIT - 1) & ~(size_t)(BLOCK_SIZE_UNIT - 1);
	block = map_block(grid->machine, size);
	if (!block)
		return NULL;
	memory = (char *)block + ((header + 63) & ~(size_t)63);
	*block = (struct sg_block){.grid = grid,
				   .memory_size = size,
				   .warp_count = grid->warps,
				   .shared = memory + grid->shared_offset};
	for (uint32_t i = 0; i < block->warp_count; i++) {
		struct sg_warp *warp = &block->warps[i];

		warp->block = block;
		warp->grid = grid;
		warp->machine = grid->machine;
		warp->number = i;
		warp->registers = memory + grid->registers_offset + i * grid->registers_size;
		warp->local = memory + grid->local_offset +
			      (uint64_t)i * SG_WARP_SIZE * grid->local_stride;
		warp->levels = NULL;
		warp->level_count = 0;
		warp->lane_instructions = 0;
		warp->last_promoted = 0;
	}
	return block;
}

void sg_block_free(struct sg_block *block)
{
	struct sg_machine *machine = block->grid->machine;
	bool is_kept;

	for (uint32_t i = 0; i < block->warp_count; i++)
		sg_warp_clear(&block->warps[i]);
	pthread_mutex_lock(&machine->lock);
	is_kept = machine->cached_bytes + block->memory_size <= MAX_CACHED_BYTES;
	if (is_kept) {
		machine->cached_bytes += block->memory_size;
		block->next = machine->cached_blocks;
		machine->cached_blocks = block;
	}
	pthread_mutex_unlock(&machine->lock);
	if (!is_kept)
		munmap(block, block->memory_size);
}

void sg_block_free_cache(struct sg_machine *machine)
{
	while (machine->cached_blocks) {
		struct sg_block *next = machine->cached_blocks->next;

		munmap(machine->cached_blocks, machine->cached_blocks->memory_size);
		machine->cached_blocks = next;
	}
}

void sg_block_start(struct sg_block *block, uint64_t number)
{
	struct sg_grid *grid = block->grid;
	const uint32_t *size = grid->launch.shape.grid;
	uint32_t threads = grid->threads;

	block->index[0] = (uint32_t)(number % size[0]);
	block->index[1] = (uint32_t)(number / size[0] % size[1]);
	block->index[2] = (uint32_t)(number / size[0] / size[1]);
	if (grid->cluster_size > 1)
		sg_cluster_block_index(grid, number, block->index);
	block->multiprocessor = (uint32_t)(number % grid->machine->multiprocessors);
	block->done = block->turn = 0;
	memset(block->barriers, 0, sizeof(block->barriers));
	memset(block->shared, 0, grid->shared_size);
	for (uint32_t i = 0; i < block->warp_count; i++) {
		uint32_t rest = threads - i * SG_WARP_SIZE;

		sg_warp_start(&block->warps[i], rest >= SG_WARP_SIZE ? SG_FULL : (1u << rest) - 1);
	}
	sg_block_fill(block, !block->has_fills);
	block->has_fills = true;
	if (block->cluster)
		sg_cluster_enter(block);
}

/* Reports a deadlock: every warp waits for another. */
static enum sg_block_end stuck(struct sg_block *block)
{
	for (uint32_t i = 0; i < block->warp_count; i++) {
		struct sg_warp *warp = &block->warps[i];

		for (uint32_t j = 0; j < warp->group_count; j++) {
			struct sg_group *group = &warp->groups[j];

			warp->function = group->function;
			sg_warp_fault(warp, group->at, SG_FAULT_DEADLOCK,
				      (uint32_t)__builtin_ctz(group->mask), 0);
			return SG_BLOCK_FAULT;
		}
	}
	return SG_BLOCK_FAULT;
}

/* ---- barriers -------------------------------------------------------------------------- */

/*
 * Whether all threads have arrived; a warp whose live lanes have arrived counts as a full one.
 * Lanes that have exited since their bar.arrive count where the number of threads is given.
 */
static bool is_complete(const struct sg_block *block, uint32_t number)
{
	const struct sg_barrier *barrier = &block->barriers[number];
	uint32_t threads = 0;

	if (!barrier->is_used)
		return false;
	for (uint32_t i = 0; i < block->warp_count; i++) {
		const struct sg_warp *warp = &block->warps[i];
		uint32_t arrived = warp->arrived[number];
		bool have_all = (arrived & warp->live) == warp->live;

		if (!barrier->expected && !have_all)
			return false;
		threads +=
			arrived && have_all ? SG_WARP_SIZE : (uint32_t)__builtin_popcount(arrived);
	}
	return threads >= barrier->expected;
}

static void release_warp(struct sg_warp *warp, uint32_t number, const struct sg_barrier *barrier)
{
	uint32_t count = warp->group_count;

	warp->arrived[number] = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct sg_group *group = &warp->groups[i];

		if (group->state != SG_GROUP_BARRIER || group->barrier != number)
			continue;
		sg_barrier_result(group, barrier);
		group->at++;
		group->state = SG_GROUP_READY;
		if (warp->stop == SG_STOP_BLOCKED)
			warp->stop = SG_STOP_NONE;
	}
}

void sg_block_check_barrier(struct sg_block *block, uint32_t number)
{
	struct sg_barrier barrier = block->barriers[number];

	if (!is_complete(block, number))
		return;
	block->barriers[number] = (struct sg_barrier){0};
	for (uint32_t i = 0; i < block->warp_count; i++)
		release_warp(&block->warps[i], number, &barrier);
}

void sg_block_check_barriers(struct sg_block *block)
{
	for (uint32_t i = 0; i < SG_BARRIERS; i++)
		if (block->barriers[i].is_used)
			sg_block_check_barrier(block, i);
}

/* ---- turns ----------------------------------------------------------------------------- */

/* Adds the instructions of a warp's turn. */
static void count_turn(struct sg_block *block, struct sg_warp *warp)
{
	uint64_t issued = warp->issued - warp->pseudo;

	__atomic_fetch_add(&block->grid->machine->clocks[block->multiprocessor], issued,
			   __ATOMIC_RELAXED);
	block->warp_instructions += issued;
	block->thread_instructions += warp->lane_instructions;
	warp->lane_instructions = 0;
}

static void start_turn(struct sg_block *block)
{
	block->clock_base = __atomic_load_n(&block->grid->machine->clocks[block->multiprocessor],
					    __ATOMIC_RELAXED);
	block->turn = block->turn + 1 == block->warp_count ? 0 : block->turn + 1;
}

enum {
	MAX_PARKED_TURNS = 256,
	SPINNING_TURNS = 2, /* per warp, until other blocks run, if all warps only wait */
	WORKING_TURNS = 64,
};

/*
 * Whether a parked warp stays so. It does not for ever, since the warp that it waits for may wait
 * for it: `idle` turns in a row of this block had nothing to run.
 */
static bool is_parked(struct sg_warp *warp, uint32_t idle)
{
	struct sg_park *park = &warp->park;

	if (!park->word)
		return false;
	if ((__atomic_load_n(park->word, __ATOMIC_ACQUIRE) & park->mask) == park->value) {
		if (idle < warp->block->warp_count && ++park->turns < MAX_PARKED_TURNS)
			return true;
		park->is_over = true;
	}
	park->word = NULL;
	return false;
}

enum sg_block_end sg_block_run(struct sg_block *block, bool *ret_spins)
{
	uint32_t idle = 0, turns = 0, spins = 0;

	while (block->done < block->warp_count) {
		struct sg_warp *warp = &block->warps[block->turn];
		bool was_woken;

		start_turn(block);
		if (warp->stop == SG_STOP_DONE || warp->stop == SG_STOP_BLOCKED ||
		    is_parked(warp, idle)) {
			/* After a round without work, a second one wakes those that are parked. */
			if (++idle > 2 * block->warp_count)
				return stuck(block);
			continue;
		}
		idle = 0;
		was_woken = warp->park.is_over;
		sg_warp_run(warp);
		count_turn(block, warp);
		if (warp->stop == SG_STOP_FAULT)
			return SG_BLOCK_FAULT;
		if (warp->stop == SG_STOP_DONE)
			block->done++;
		if (warp->stop != SG_STOP_YIELD && warp->stop != SG_STOP_SPIN)
			continue;
		/* A parked warp is blocked, unless it waited in vain before. */
		if (warp->park.word && !was_woken)
			continue;
		if (sg_grid_must_stop(block->grid))
			return SG_BLOCK_FAULT;
		spins += warp->stop == SG_STOP_SPIN;
		turns++;
		*ret_spins = spins == turns;
		if (turns >= (spins == turns ? SPINNING_TURNS : WORKING_TURNS) * block->warp_count)
			return SG_BLOCK_SUSPENDED;
	}
	return SG_BLOCK_DONE;
}
