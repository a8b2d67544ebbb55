/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Grids: launches, and the scheduling of their blocks on workers. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "exec/engine/cluster.h"
#include "exec/engine/nested.h"

/* Limits of a multiprocessor, as of compute capability 7.5 to 9.0. */
enum {
	MP_THREADS = 1536,
	MP_BLOCKS = 16,
	MP_SHARED = 228 << 10,
};

uint32_t sg_function_occupancy(const struct sg_function *function, uint32_t block_threads,
			       uint32_t dynamic_shared)
{
	uint32_t warps = (block_threads + SG_WARP_SIZE - 1) / SG_WARP_SIZE, count = MP_BLOCKS;
	uint64_t shared = (uint64_t)function->shared_static + dynamic_shared;
	uint32_t registers = ((function->register_words + 7) & ~7u) * SG_WARP_SIZE;

	if (!warps || block_threads > function->max_threads || shared > SG_MAX_SHARED_SIZE)
		return 0;
	if (MP_THREADS / SG_WARP_SIZE / warps < count)
		count = MP_THREADS / SG_WARP_SIZE / warps;
	if (MP_SHARED / (shared + SG_RESERVED_SHARED) < count)
		count = (uint32_t)(MP_SHARED / (shared + SG_RESERVED_SHARED));
	/* The number of registers is an estimate: one block always fits. */
	if (count > 1 && SG_MAX_REGISTERS / (registers * warps) < count)
		count = registers * warps > SG_MAX_REGISTERS
				? 1
				: SG_MAX_REGISTERS / (registers * warps);
	return count;
}

/* ---- blocks of a grid ------------------------------------------------------------------ */

static bool has_work(struct sg_grid *grid)
{
	return !__atomic_load_n(&grid->stop, __ATOMIC_RELAXED) &&
	       (__atomic_load_n(&grid->next_block, __ATOMIC_RELAXED) < grid->block_count ||
		__atomic_load_n(&grid->suspended, __ATOMIC_RELAXED));
}

/* Takes a block that has run and can continue. */
static struct sg_block *take_suspended(struct sg_grid *grid)
{
	struct sg_block *block;

	pthread_mutex_lock(&grid->lock);
	block = grid->suspended;
	if (block) {
		__atomic_store_n(&grid->suspended, block->next, __ATOMIC_RELAXED);
		if (!block->next)
			grid->suspended_last = &grid->suspended;
		block->next = NULL;
	}
	pthread_mutex_unlock(&grid->lock);
	return block;
}

static void suspend(struct sg_grid *grid, struct sg_block *block)
{
	pthread_mutex_lock(&grid->lock);
	block->next = NULL;
	__atomic_store_n(grid->suspended_last, block, __ATOMIC_RELAXED);
	grid->suspended_last = &block->next;
	pthread_mutex_unlock(&grid->lock);
}

/* Takes free memory of a block, or allocates it; NULL: limit of resident blocks, or no memory. */
static struct sg_block *take_memory(struct sg_grid *grid)
{
	struct sg_block *block;
	bool is_new = false;

	pthread_mutex_lock(&grid->lock);
	block = grid->free_blocks;
	if (block) {
		grid->free_blocks = block->next;
	} else if (grid->resident < grid->resident_limit) {
		grid->resident++;
		is_new = true;
	}
	pthread_mutex_unlock(&grid->lock);
	if (!is_new)
		return block;
	block = sg_block_new(grid);
	if (block)
		return block;
	pthread_mutex_lock(&grid->lock);
	grid->resident--;
	/* It continues with fewer resident blocks, but not without any. */
	grid->resident_limit = grid->resident;
	grid->out_of_memory |=
		grid->resident < grid->cluster_size || grid->launch.shape.cooperative;
	pthread_mutex_unlock(&grid->lock);
	if (grid->out_of_memory)
		__atomic_store_n(&grid->stop, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void release_memory(struct sg_grid *grid, struct sg_block *block)
{
	pthread_mutex_lock(&grid->lock);
	block->next = grid->free_blocks;
	grid->free_blocks = block;
	pthread_mutex_unlock(&grid->lock);
}

/* Takes the number of the next block to run in that memory; false: all have been started. */
static bool take_number(struct sg_grid *grid, struct sg_block *block, uint64_t *ret_number)
{
	int error;

	if (!grid->has_clusters) {
		*ret_number = __atomic_fetch_add(&grid->next_block, 1, __ATOMIC_RELAXED);
		return *ret_number < grid->block_count;
	}
	error = sg_cluster_take(grid, block, ret_number);
	if (error == -ENOMEM) {
		__atomic_store_n(&grid->out_of_memory, true, __ATOMIC_RELAXED);
		__atomic_store_n(&grid->stop, 1, __ATOMIC_RELEASE);
	}
	return !error;
}

/* Starts the next block in *mine, which is allocated if it is NULL. */
static struct sg_block *take_new(struct sg_grid *grid, struct sg_block **mine)
{
	uint64_t number;

	if (__atomic_load_n(&grid->next_block, __ATOMIC_RELAXED) >= grid->block_count)
		return NULL;
	if (!*mine)
		*mine = take_memory(grid);
	if (!*mine)
		return NULL;
	if (!take_number(grid, *mine, &number))
		return NULL;
	sg_block_start(*mine, number);
	return gt_take(*mine);
}

static void count_block(struct sg_grid *grid, struct sg_block *block)
{
	__atomic_fetch_add(&grid->cycles[block->multiprocessor], block->warp_instructions,
			   __ATOMIC_RELAXED);
	__atomic_fetch_add(&grid->warp_instructions, block->warp_instructions, __ATOMIC_RELAXED);
	__atomic_fetch_add(&grid->thread_instructions, block->thread_instructions,
			   __ATOMIC_RELAXED);
	block->warp_instructions = block->thread_instructions = 0;
}

/* Runs blocks as long as there are blocks to run. */
static void run_blocks(struct sg_grid *grid)
{
	struct sg_block *mine = NULL;

	while (!sg_grid_must_stop(grid)) {
		struct sg_block *block = take_new(grid, &mine);
		bool spins = false, is_last = false;
		enum sg_block_end end;

		if (!block)
			block = take_suspended(grid);
		if (!block)
			break;
		end = sg_block_run(block, &spins);
		count_block(grid, block);
		if (end == SG_BLOCK_SUSPENDED) {
			suspend(grid, block);
			if (spins)
				sched_yield();
			continue;
		}
		if (end == SG_BLOCK_DONE && block->cluster)
			sg_cluster_leave(block);
		if (end == SG_BLOCK_DONE)
			is_last = __atomic_add_fetch(&grid->finished, 1, __ATOMIC_ACQ_REL) ==
				  grid->block_count;
		if (!mine)
			mine = block;
		else
			release_memory(grid, block);
		if (is_last)
			break;
	}
	if (mine)
		release_memory(grid, mine);
}

/* ---- workers --------------------------------------------------------------------------- */

/* Finds a grid with work for another worker; machine->lock is held. */
static struct sg_grid *find_work(struct sg_machine *machine)
{
	struct sg_grid *best = NULL;

	for (struct sg_grid *grid = machine->grids; grid; grid = grid->next)
		if (has_work(grid) && (!best || grid->workers < best->workers))
			best = grid;
	return best;
}

void *sg_worker_run(void *context)
{
	struct sg_machine *machine = context;

	pthread_mutex_lock(&machine->lock);
	while (!machine->ends) {
		struct sg_grid *grid = find_work(machine);

		if (!grid) {
			pthread_cond_wait(&machine->work, &machine->lock);
			continue;
		}
		grid->workers++;
		pthread_mutex_unlock(&machine->lock);
		run_blocks(grid);
		pthread_mutex_lock(&machine->lock);
		if (--grid->workers == 0)
			pthread_cond_broadcast(&grid->changed);
	}
	pthread_mutex_unlock(&machine->lock);
	return NULL;
}

/* ---- launching ------------------------------------------------------------------------- */

static int out_of_resources(const struct sg_launch *launch, struct sg_fault *fault,
			    const char *what)
{
	fault->kind = SG_FAULT_OUT_OF_RESOURCES;
	snprintf(fault->function, sizeof(fault->function), "%.127s", launch->function->name);
	snprintf(fault->text, sizeof(fault->text), "%s in kernel %.100s: %s",
		 sg_fault_text(SG_FAULT_OUT_OF_RESOURCES), launch->function->name, what);
	return -EFAULT;
}

static bool has_cluster(const struct sg_launch *launch)
{
	return launch->shape.cluster[0] || launch->shape.cluster[1] || launch->shape.cluster[2];
}

static bool cluster_is_possible(const struct sg_launch *launch)
{
	const uint32_t *required = launch->function->required_cluster;
	uint64_t blocks = 1;

	for (int i = 0; i < 3; i++) {
		uint32_t size = launch->shape.cluster[i];

		if (!size || size > SG_MAX_CLUSTER || launch->shape.grid[i] % size ||
		    (required[0] && required[i] != size))
			return false;
		blocks *= size;
	}
	return blocks <= SG_MAX_CLUSTER;
}

static int check_launch(const struct sg_machine *machine, const struct sg_launch *launch,
			struct sg_fault *fault)
{
	const struct sg_function *function = launch->function;
	const uint32_t *block = launch->shape.block, *required = function->required_block;
	uint64_t shared = (uint64_t)function->shared_static + launch->shape.dynamic_shared;

	if (!function->is_kernel || function->module->machine != machine ||
	    !gt_launch_grid_is_valid(launch->shape.grid) || !gt_launch_block_is_valid(block) ||
	    launch->parameter_size < function->parameter_size ||
	    launch->parameter_size > SG_MAX_PARAMETER_SIZE)
		return -EINVAL;
	if (has_cluster(launch) && !cluster_is_possible(launch))
		return -EINVAL;
	if (block[0] * block[1] * block[2] > function->max_threads)
		return out_of_resources(launch, fault, "more threads than .maxntid");
	if (required[0] && memcmp(required, block, 3 * sizeof(*block)) != 0)
		return out_of_resources(launch, fault, "the block differs from .reqntid");
	if (shared > SG_MAX_SHARED_SIZE)
		return out_of_resources(launch, fault, "too much shared memory");
	if (function->stack_need > SG_MAX_LOCAL_SIZE)
		return out_of_resources(launch, fault, "too much local memory");
	return 0;
}

static uint64_t round_up(uint64_t size, uint64_t to)
{
	return (size + to - 1) & ~(to - 1);
}

/* Lays out a block's memory. */
static void lay_out(struct sg_grid *grid)
{
	const struct sg_function *kernel = grid->kernel;
	uint64_t lanes = (uint64_t)grid->warps * SG_WARP_SIZE;

	grid->registers_size = round_up(kernel->registers_size, 64);
	grid->local_size = kernel->stack_need;
	if (kernel->needs_stack)
		grid->local_size += __atomic_load_n(&grid->machine->stack_size, __ATOMIC_RELAXED);
	/* Neighbouring lanes map to different cache sets. */
	grid->local_stride = round_up(grid->local_size, 64) + 64;
	grid->shared_offset = 0;
	grid->registers_offset = round_up(grid->shared_size, 64);
	grid->local_offset = grid->registers_offset + grid->warps * grid->registers_size;
	grid->block_size = grid->local_offset + lanes * grid->local_stride + 64;
}

/*
 * The workspace of CUDA's cooperative groups for a grid: a word with its size, a word that counts
 * arrivals at the grid's barrier (cooperative_groups/details/driver_abi.h of the toolkit).
 */
static int open_workspace(struct sg_grid *grid)
{
	if (!grid->launch.shape.cooperative)
		return 0;
	grid->workspace = aligned_alloc(SG_GRANULE, SG_GRANULE);
	if (!grid->workspace)
		return -ENOMEM;
	memset(grid->workspace, 0, SG_GRANULE);
	grid->workspace[0] = SG_GRANULE;
	return sg_memory_allow(grid->machine, (uint64_t)(uintptr_t)grid->workspace, SG_GRANULE);
}

static void close_workspace(struct sg_grid *grid)
{
	if (!grid->workspace)
		return;
	sg_memory_deny(grid->machine, (uint64_t)(uintptr_t)grid->workspace, SG_GRANULE);
	free(grid->workspace);
}

static int open_grid(struct sg_grid *grid)
{
	const struct sg_launch *launch = &grid->launch;
	const uint32_t *size = launch->shape.grid;
	uint32_t occupancy;

	grid->block_count = (uint64_t)size[0] * size[1] * size[2];
	grid->threads = launch->shape.block[0] * launch->shape.block[1] * launch->shape.block[2];
	grid->warps = (grid->threads + SG_WARP_SIZE - 1) / SG_WARP_SIZE;
	grid->shared_size = grid->kernel->shared_static + launch->shape.dynamic_shared;
	if (grid->kernel->needs_reserved_shared) {
		grid->reserved_offset = (uint32_t)round_up(grid->shared_size, 128);
		grid->shared_size = grid->reserved_offset + SG_RESERVED_SHARED;
	}
	occupancy =
		sg_function_occupancy(grid->kernel, grid->threads, launch->shape.dynamic_shared);
	grid->resident_limit =
		(uint64_t)(occupancy ? occupancy : 1) * grid->machine->multiprocessors;
	if (grid->resident_limit < grid->machine->worker_count + 1)
		grid->resident_limit = grid->machine->worker_count + 1;
	grid->cluster_size = has_cluster(launch)
				     ? launch->shape.cluster[0] * launch->shape.cluster[1] *
					       launch->shape.cluster[2]
				     : 1;
	grid->has_clusters = grid->cluster_size > 1 || grid->kernel->needs_cluster;
	if (grid->resident_limit < grid->cluster_size)
		grid->resident_limit = grid->cluster_size;
	if (launch->shape.cooperative)
		grid->resident_limit = grid->block_count;
	grid->suspended_last = &grid->suspended;
	lay_out(grid);
	grid->cycles = calloc(grid->machine->multiprocessors, sizeof(*grid->cycles));
	grid->parameters = malloc(launch->parameter_size + 16);
	if (!grid->cycles || !grid->parameters)
		return -ENOMEM;
	if (launch->parameter_size)
		memcpy(grid->parameters, launch->parameters, launch->parameter_size);
	memset(grid->parameters + launch->parameter_size, 0, 16);
	return open_workspace(grid);
}

static void close_grid(struct sg_grid *grid)
{
	struct sg_block *lists[] = {grid->free_blocks, grid->suspended};

	for (size_t i = 0; i < gt_countof(lists); i++)
		while (lists[i]) {
			struct sg_block *next = lists[i]->next;

			sg_block_free(lists[i]);
			lists[i] = next;
		}
	close_workspace(grid);
	sg_cluster_free_all(grid);
	free(grid->cycles);
	free(grid->parameters);
	pthread_mutex_destroy(&grid->lock);
	pthread_cond_destroy(&grid->changed);
}

static void add_grid(struct sg_machine *machine, struct sg_grid *grid)
{
	uint64_t helpers = grid->block_count - 1;

	pthread_mutex_lock(&machine->lock);
	grid->next = machine->grids;
	machine->grids = grid;
	if (helpers > machine->worker_count / 2)
		pthread_cond_broadcast(&machine->work);
	else
		for (; helpers; helpers--)
			pthread_cond_signal(&machine->work);
	pthread_mutex_unlock(&machine->lock);
}

static void remove_grid(struct sg_machine *machine, struct sg_grid *grid)
{
	struct sg_grid **link = &machine->grids;

	pthread_mutex_lock(&machine->lock);
	while (grid->workers)
		pthread_cond_wait(&grid->changed, &machine->lock);
	while (*link != grid)
		link = &(*link)->next;
	*link = grid->next;
	pthread_mutex_unlock(&machine->lock);
}

/* Runs until every block has ended; workers may run all blocks, and suspend some again. */
static void run_to_end(struct sg_grid *grid)
{
	struct sg_machine *machine = grid->machine;

	for (;;) {
		run_blocks(grid);
		pthread_mutex_lock(&machine->lock);
		while (grid->workers && !has_work(grid))
			pthread_cond_wait(&grid->changed, &machine->lock);
		pthread_mutex_unlock(&machine->lock);
		if (__atomic_load_n(&grid->stop, __ATOMIC_ACQUIRE) ||
		    __atomic_load_n(&grid->finished, __ATOMIC_ACQUIRE) == grid->block_count)
			return;
	}
}

static void add_result(const struct sg_grid *grid, struct sg_grid_result *result)
{
	uint64_t max = 0;

	result->fault = grid->fault;
	result->warp_instructions += grid->warp_instructions;
	result->thread_instructions += grid->thread_instructions;
	for (uint32_t i = 0; i < grid->machine->multiprocessors; i++)
		if (grid->cycles[i] > max)
			max = grid->cycles[i];
	result->cycles += max;
}

/* Runs one grid and adds to the result's counts; the caller runs the grids that it launched. */
static int run_grid(struct sg_machine *machine, const struct sg_launch *launch, uint32_t depth,
		    uint64_t deadline, struct sg_nested **ret_nested, struct sg_grid_result *result)
{
	struct sg_grid grid = {.machine = machine, .kernel = launch->function, .launch = *launch};
	int error;

	/* .reqnctapercluster applies without a launch attribute. */
	if (!has_cluster(launch))
		memcpy(grid.launch.shape.cluster, launch->function->required_cluster,
		       sizeof(grid.launch.shape.cluster));
	error = check_launch(machine, &grid.launch, &result->fault);
	if (error)
		return error;
	grid.depth = depth;
	grid.deadline = deadline;
	pthread_mutex_init(&grid.lock, NULL);
	pthread_cond_init(&grid.changed, NULL);
	error = open_grid(&grid);
	if (!error) {
		sg_memory_enter(&machine->memory);
		sg_textures_enter(&machine->textures);
		add_grid(machine, &grid);
		run_to_end(&grid);
		remove_grid(machine, &grid);
		sg_textures_leave(&machine->textures);
		sg_memory_leave(&machine->memory);
		add_result(&grid, result);
		error = result->fault.kind ? -EFAULT : grid.out_of_memory ? -ENOMEM : 0;
	}
	*ret_nested = sg_nested_take(&grid);
	close_grid(&grid);
	return error;
}

/* Executes a copy or memset of a kernel; first: the launch from the host. */
static int run_transfer(struct sg_machine *machine, const struct sg_launch *first,
			const struct sg_nested_transfer *transfer, struct sg_grid_result *result)
{
	struct sg_fault *fault = &result->fault;
	uint64_t address;
	bool good;

	sg_memory_enter(&machine->memory);
	good = sg_nested_execute(machine, transfer, &address);
	sg_memory_leave(&machine->memory);
	if (good)
		return 0;
	fault->kind = SG_FAULT_ILLEGAL_ADDRESS;
	fault->address = address;
	snprintf(fault->function, sizeof(fault->function), "%.127s", first->function->name);
	snprintf(fault->text, sizeof(fault->text), "%s at %#llx in a %s by kernel %.100s",
		 sg_fault_text(fault->kind), (unsigned long long)address,
		 transfer->is_set ? "memset" : "copy", first->function->name);
	return -EFAULT;
}

uint64_t sg_grid_next_id(struct sg_machine *machine)
{
	return __atomic_add_fetch(&machine->last_grid, 1, __ATOMIC_RELAXED);
}

static int run_nested(struct sg_machine *machine, const struct sg_launch *first,
		      const struct sg_nested *nested, uint64_t deadline,
		      struct sg_nested **ret_nested, struct sg_grid_result *result)
{
	struct sg_launch launch = {
		.function = nested->function,
		.shape = nested->shape,
		.parameters = nested->parameters,
		.device = first->device,
		.limits = first->limits,
		.limit_count = first->limit_count,
	};
	int error;

	if (!nested->function)
		return run_transfer(machine, first, &nested->transfer, result);
	launch.parameter_size = nested->function->parameter_size;
	launch.id = sg_grid_next_id(machine);
	error = run_grid(machine, &launch, nested->depth, deadline, ret_nested, result);
	/* An invalid shape is a fault of the kernel that launched it. */
	if (error == -EINVAL)
		error = out_of_resources(&launch, &result->fault, "invalid grid or block size");
	return error;
}

/* Sets the depth of launches and puts them before others. */
static struct sg_nested *prepend_launches(struct sg_nested *nested, uint32_t depth,
					  struct sg_nested *others)
{
	struct sg_nested **link = &nested;

	for (; *link; link = &(*link)->next)
		(*link)->depth = depth;
	*link = others;
	return nested;
}

int sg_grid_run(struct sg_machine *machine, const struct sg_launch *launch,
		struct sg_grid_result *ret_result)
{
	struct sg_grid_result result = {0};
	struct sg_nested *pending = NULL;
	/* The timeout is for all grids together: nested launches may never end. */
	uint64_t timeout = __atomic_load_n(&machine->timeout_ns, __ATOMIC_RELAXED);
	uint64_t deadline = timeout ? gt_clock_monotonic() + timeout : 0;
	int error = run_grid(machine, launch, 0, deadline, &pending, &result);

	pending = prepend_launches(pending, 1, NULL);
	while (pending && !error) {
		struct sg_nested *nested = pending, *more = NULL;

		pending = nested->next;
		nested->next = NULL;
		error = run_nested(machine, launch, nested, deadline, &more, &result);
		pending = prepend_launches(more, nested->depth + 1, pending);
		sg_nested_free(nested);
	}
	sg_nested_free(pending);
	if (!error || error == -EFAULT)
		*ret_result = result;
	return error;
}
