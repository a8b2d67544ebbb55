/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Running programs by themselves: what both ways share, and the interpreter. */
#include "run/execute.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpubpf/interp/interp.h"
#include "run/private.h"

enum {
	INTERP_MULTIPROCESSORS = 1,
};

void gt_grid_run_clear(struct gt_grid_run *run)
{
	if (run->device)
		gt_device_run_clear(run);
	gt_instance_close(run->instance);
	free(run->memory);
	free(run->results);
	gt_strbuf_free(&run->output);
	gt_strbuf_free(&run->text);
	gt_strbuf_free(&run->log);
	*run = (struct gt_grid_run){0};
}

/* What every GPU takes, in each direction and in all; what there is of it. */
struct size_limit {
	const char *what, *of;
	uint32_t each[3];
	uint64_t all;
};

static const struct size_limit grid_limit = {
	"grid", "blocks", {INT32_MAX, 65535, 65535}, GT_EXECUTE_MAX_THREADS};
static const struct size_limit block_limit = {
	"block", "threads", {GT_EXECUTE_MAX_BLOCK, GT_EXECUTE_MAX_BLOCK, 64}, GT_EXECUTE_MAX_BLOCK};

static int too_large(const struct size_limit *limit, const uint32_t *size, uint64_t most,
		     const char *where, struct gt_diag *diag)
{
	return gt_diag(diag, -E2BIG, "run", NULL,
		       "a %s of %ux%ux%u is too large: up to %" PRIu64 " %s go here%s", limit->what,
		       size[0], size[1], size[2], most, limit->of, where);
}

static int check_size(const struct size_limit *limit, const uint32_t *size, uint64_t *ret_product,
		      struct gt_diag *diag)
{
	static const char *const along[] = {" along x", " along y", " along z"};
	uint64_t product = 1;

	for (unsigned i = 0; i < 3; i++) {
		if (!size[i])
			return gt_diag(diag, -EINVAL, "run", NULL, "a %s has no size of 0",
				       limit->what);
		product *= size[i];
		if (product > limit->all)
			return too_large(limit, size, limit->all, "", diag);
	}
	for (unsigned i = 0; i < 3; i++)
		if (size[i] > limit->each[i])
			return too_large(limit, size, limit->each[i], along[i], diag);
	*ret_product = product;
	return 0;
}

static int check_sizes(const struct gt_execution *execution, struct gt_diag *diag)
{
	uint64_t blocks, threads;
	int error = check_size(&grid_limit, execution->grid, &blocks, diag);

	if (!error)
		error = check_size(&block_limit, execution->block, &threads, diag);
	if (error)
		return error;
	if (blocks * threads > GT_EXECUTE_MAX_THREADS)
		return gt_diag(diag, -E2BIG, "run", NULL, "%" PRIu64 " threads are more than %d",
			       blocks * threads, GT_EXECUTE_MAX_THREADS);
	return 0;
}

static struct gt_interp_grid interp_grid(const struct gt_execution *execution)
{
	struct gt_interp_grid grid = {.sms = INTERP_MULTIPROCESSORS, .section = execution->section};

	memcpy(grid.grid_size, execution->grid, sizeof(grid.grid_size));
	memcpy(grid.block_size, execution->block, sizeof(grid.block_size));
	return grid;
}

uint64_t gt_execution_thread(void)
{
	return (uint64_t)getpid() << 32 | (uint32_t)gettid();
}

/* Room for what comes of it. */
static int make_room(struct gt_grid_run *run, struct gt_diag *diag)
{
	const struct gt_execution *execution = run->execution;
	struct gt_interp_grid grid = interp_grid(execution);

	/* One a thread, warp or block, as the program's level says. */
	run->result_count = (uint32_t)gt_interp_grid_runs(&grid);
	run->results = calloc(run->result_count, sizeof(*run->results));
	run->memory = execution->memory ? malloc(execution->memory_size + 1u) : NULL;
	if (!run->results || (execution->memory && !run->memory))
		return gt_diag(diag, -ENOMEM, "run", NULL, "out of memory");
	if (execution->memory)
		memcpy(run->memory, execution->memory, execution->memory_size);
	return 0;
}

int gt_grid_run_prepare(const struct gt_execution *execution, struct gt_shared *shared,
			struct gt_device *device, struct gt_grid_run *run, struct gt_diag *diag)
{
	struct gt_bpf_map_grid grid = {.multiprocessors = INTERP_MULTIPROCESSORS};
	int error = check_sizes(execution, diag);

	if (error)
		return error;
	*run = (struct gt_grid_run){.execution = execution, .device = device};
	if (device)
		grid.multiprocessors = gt_device_info(device)->multiprocessors;
	memcpy(grid.grid, execution->grid, sizeof(grid.grid));
	memcpy(grid.block, execution->block, sizeof(grid.block));
	error = make_room(run, diag);
	if (!error)
		error = gt_instance_open(execution->object, shared, device, &grid, &run->instance,
					 diag);
	if (!error && device)
		error = gt_device_run_prepare(run, diag);
	return error;
}

int gt_grid_run_start(struct gt_grid_run *run, struct gt_diag *diag)
{
	return run->device ? gt_device_run_start(run, diag) : 0;
}

static int interpret(struct gt_grid_run *run, struct gt_diag *diag)
{
	const struct gt_execution *execution = run->execution;
	struct gt_interp_grid grid = interp_grid(execution);
	struct gt_interp_options options = {
		.object = execution->object,
		.map_memory = run->instance->memory,
		.map_copies = run->instance->copies,
		.memory = run->memory,
		.memory_size = execution->memory_size,
		.max_executed = execution->facts->bound,
		.output = &run->output,
		.pid_tgid = gt_execution_thread(),
	};
	struct gt_interp_result last;

	grid.results = run->results;
	return gt_interp_run_grid(execution->program, &options, &grid, &last, diag);
}

int gt_grid_run_finish(struct gt_grid_run *run, struct gt_diag *diag)
{
	return run->device ? gt_device_run_finish(run, diag) : interpret(run, diag);
}
