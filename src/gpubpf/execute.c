/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Running programs by themselves: what both ways share, and the interpreter. */
#include "gpubpf/execute.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "gpubpf/execute_private.h"
#include "gpubpf/interp.h"

void gt_execution_clear(struct gt_execution *execution)
{
	for (uint32_t i = 0; execution->map_memory && i < execution->map_count; i++)
		free(execution->map_memory[i]);
	free(execution->map_memory);
	free(execution->map_copies);
	free(execution->results);
	gt_strbuf_free(&execution->output);
	gt_strbuf_free(&execution->text);
	gt_strbuf_free(&execution->log);
	execution->map_memory = NULL;
	execution->map_copies = NULL;
	execution->results = NULL;
	execution->map_count = 0;
	execution->result_count = 0;
	execution->output_lost = 0;
}

static int check_size(const char *what, const uint32_t *size, uint64_t limit, uint64_t *ret_product,
		      struct gt_diag *diag)
{
	uint64_t product = 1;

	for (unsigned i = 0; i < 3; i++) {
		if (!size[i])
			return gt_diag(diag, -EINVAL, "run", NULL, "a %s has no size of 0", what);
		product *= size[i];
		if (product > limit)
			return gt_diag(diag, -E2BIG, "run", NULL,
				       "a %s of %ux%ux%u is too large: up to %llu %s go here", what,
				       size[0], size[1], size[2], (unsigned long long)limit,
				       limit == GT_EXECUTE_MAX_BLOCK ? "threads" : "blocks");
	}
	*ret_product = product;
	return 0;
}

static int allocate_maps(struct gt_execution *execution, const struct gt_map_grid *grid,
			 struct gt_diag *diag)
{
	uint32_t count = execution->object ? execution->object->map_count : 0;

	execution->map_memory = calloc(count + 1u, sizeof(*execution->map_memory));
	execution->map_copies = calloc(count + 1u, sizeof(*execution->map_copies));
	if (!execution->map_memory || !execution->map_copies)
		return gt_diag(diag, -ENOMEM, "run", NULL, "out of memory");
	execution->map_count = count;
	for (uint32_t i = 0; i < count; i++) {
		const struct gt_bpf_map *map = &execution->object->maps[i];
		uint32_t copies;
		size_t bytes;
		int error;

		if (map->host_only)
			continue;
		error = gt_map_check(map, diag);
		if (error)
			return error;
		copies = gt_map_copies_for(map, grid);
		bytes = copies ? gt_map_bytes(map, copies) : 0;
		execution->map_copies[i] = copies;
		execution->map_memory[i] = bytes ? calloc(bytes, 1) : NULL;
		if (!execution->map_memory[i])
			return gt_diag(diag, -ENOMEM, "run", map->name,
				       "there is no memory for %u copies of this map", copies);
		gt_map_initialise(map, copies, execution->map_memory[i]);
	}
	return 0;
}

/* One a thread, warp or block, as the program's level says. */
static uint32_t count_results(const struct gt_execution *execution)
{
	struct gt_interp_grid grid = {.section = execution->section};

	for (unsigned i = 0; i < 3; i++) {
		grid.grid_size[i] = execution->grid[i];
		grid.block_size[i] = execution->block[i];
	}
	return (uint32_t)gt_interp_grid_runs(&grid);
}

uint64_t gt_execution_thread(void)
{
	return (uint64_t)getpid() << 32 | (uint32_t)gettid();
}

int gt_execution_prepare(struct gt_execution *execution, uint32_t multiprocessors,
			 struct gt_diag *diag)
{
	struct gt_map_grid grid = {.multiprocessors = multiprocessors};
	uint64_t blocks, threads;
	int error = check_size("grid", execution->grid, GT_EXECUTE_MAX_THREADS, &blocks, diag);

	if (!error)
		error = check_size("block", execution->block, GT_EXECUTE_MAX_BLOCK, &threads, diag);
	if (error)
		return error;
	if (blocks * threads > GT_EXECUTE_MAX_THREADS)
		return gt_diag(diag, -E2BIG, "run", NULL, "%" PRIu64 " threads are more than %d",
			       blocks * threads, GT_EXECUTE_MAX_THREADS);
	for (unsigned i = 0; i < 3; i++) {
		grid.grid[i] = execution->grid[i];
		grid.block[i] = execution->block[i];
	}
	execution->result_count = count_results(execution);
	execution->results = calloc(execution->result_count, sizeof(*execution->results));
	if (!execution->results)
		return gt_diag(diag, -ENOMEM, "run", NULL, "out of memory");
	return allocate_maps(execution, &grid, diag);
}

int gt_execute_on_interp(struct gt_execution *execution, struct gt_diag *diag)
{
	struct gt_interp_grid grid = {.sms = 1, .section = execution->section};
	struct gt_interp_options options = {
		.object = execution->object,
		.memory = execution->memory,
		.memory_size = execution->memory_size,
		.max_executed = execution->facts->bound,
		.output = &execution->output,
		.pid_tgid = gt_execution_thread(),
	};
	struct gt_interp_result last;
	int error = gt_execution_prepare(execution, grid.sms, diag);

	if (error)
		return error;
	for (unsigned i = 0; i < 3; i++) {
		grid.grid_size[i] = execution->grid[i];
		grid.block_size[i] = execution->block[i];
	}
	grid.results = execution->results;
	options.map_memory = execution->map_memory;
	options.map_copies = execution->map_copies;
	return gt_interp_run_grid(execution->program, &options, &grid, &last, diag);
}
