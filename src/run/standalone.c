/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "run/standalone.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/launch_limits.h"
#include "gpubpf/interp/interp.h"
#include "run/standalone_device.h"
#include "run/standalone_opencl.h"

enum {
	INTERP_MULTIPROCESSORS = 1,
};

const char *gt_standalone_target_name(const struct gt_standalone_target *target)
{
	return target->cl_device ? gt_cl_device_info(target->cl_device)->name
	       : target->device  ? gt_device_info(target->device)->name
				 : NULL;
}

void gt_standalone_clear(struct gt_standalone_run *run)
{
	if (run->device)
		gt_standalone_device_clear(run);
	if (run->cl_device)
		gt_standalone_opencl_clear(run);
	gt_instance_close(run->instance);
	free(run->memory);
	free(run->results);
	gt_strbuf_free(&run->output);
	gt_strbuf_free(&run->text);
	gt_strbuf_free(&run->log);
	*run = (struct gt_standalone_run){0};
}

/* The limits of every GPU: along x, y and z, and of the product. */
struct size_limit {
	const char *name, *unit;
	uint32_t each[3];
	uint64_t product;
};

static const struct size_limit grid_limit = {"grid", "blocks", GT_MAX_GRID,
					     GT_STANDALONE_MAX_THREADS};
static const struct size_limit block_limit = {"block", "threads", GT_MAX_BLOCK,
					      GT_MAX_BLOCK_THREADS};

static int reject_size(const struct size_limit *limit, const uint32_t *size, uint64_t max,
		       const char *where, struct gt_diag *diag)
{
	return gt_diag(diag, -E2BIG, "run", NULL,
		       "a %s of %ux%ux%u is too large: at most %" PRIu64 " %s%s", limit->name,
		       size[0], size[1], size[2], max, limit->unit, where);
}

static int check_size(const struct size_limit *limit, const uint32_t *size, uint64_t *ret_product,
		      struct gt_diag *diag)
{
	static const char *const along[] = {" along x", " along y", " along z"};
	uint64_t product = 1;

	for (unsigned i = 0; i < 3; i++) {
		if (!size[i])
			return gt_diag(diag, -EINVAL, "run", NULL, "the size of a %s cannot be 0",
				       limit->name);
		product *= size[i];
		if (product > limit->product)
			return reject_size(limit, size, limit->product, "", diag);
	}
	for (unsigned i = 0; i < 3; i++)
		if (size[i] > limit->each[i])
			return reject_size(limit, size, limit->each[i], along[i], diag);
	*ret_product = product;
	return 0;
}

static int check_sizes(const struct gt_standalone_program *program, struct gt_diag *diag)
{
	uint64_t blocks, threads;
	int error = check_size(&grid_limit, program->grid, &blocks, diag);

	if (!error)
		error = check_size(&block_limit, program->block, &threads, diag);
	if (error)
		return error;
	if (blocks * threads > GT_STANDALONE_MAX_THREADS)
		return gt_diag(diag, -E2BIG, "run", NULL,
			       "%" PRIu64 " threads are too many: at most %d", blocks * threads,
			       GT_STANDALONE_MAX_THREADS);
	return 0;
}

static struct gt_interp_grid interp_grid(const struct gt_standalone_program *program)
{
	struct gt_interp_grid grid = {.sms = INTERP_MULTIPROCESSORS, .section = program->section};

	memcpy(grid.grid_size, program->grid, sizeof(grid.grid_size));
	memcpy(grid.block_size, program->block, sizeof(grid.block_size));
	return grid;
}

uint64_t gt_standalone_pid_tgid(void)
{
	return (uint64_t)getpid() << 32 | (uint32_t)gettid();
}

int gt_standalone_translate(struct gt_standalone_run *run, const struct gt_code_target *target,
			    const struct gt_translate_options *options, struct gt_diag *diag)
{
	const struct gt_standalone_program *program = run->program;
	struct gt_translate_job job = {
		.program = program->program,
		.facts = program->facts,
		.name = "run",
		.section = program->section,
		.memory_size = program->memory_size,
	};
	struct gt_translation translation = {0};
	int error = target->translate(options, program->object, &job, &translation, diag);

	if (!error)
		error = target->finish(options, &translation, &run->text, diag);
	gt_translation_clear(&translation);
	if (!error && run->text.failed)
		error = gt_diag(diag, -ENOMEM, "run", NULL, "out of memory");
	return error;
}

static int allocate_results(struct gt_standalone_run *run, struct gt_diag *diag)
{
	const struct gt_standalone_program *program = run->program;
	struct gt_interp_grid grid = interp_grid(program);

	/* One per thread, warp or block: the level of the program. */
	run->result_count = (uint32_t)gt_interp_grid_runs(&grid);
	run->results = calloc(run->result_count, sizeof(*run->results));
	run->memory = program->memory ? malloc(program->memory_size + 1u) : NULL;
	if (!run->results || (program->memory && !run->memory))
		return gt_diag(diag, -ENOMEM, "run", NULL, "out of memory");
	if (program->memory)
		memcpy(run->memory, program->memory, program->memory_size);
	return 0;
}

int gt_standalone_prepare(const struct gt_standalone_program *program, struct gt_shared *shared,
			  const struct gt_standalone_target *target, struct gt_standalone_run *run,
			  struct gt_diag *diag)
{
	struct gt_device *device = target->device;
	struct gt_bpf_map_grid grid = {.multiprocessors = INTERP_MULTIPROCESSORS};
	int error = check_sizes(program, diag);

	if (error)
		return error;
	*run = (struct gt_standalone_run){
		.program = program, .device = device, .cl_device = target->cl_device};
	if (device)
		grid.multiprocessors = gt_device_info(device)->multiprocessors;
	memcpy(grid.grid, program->grid, sizeof(grid.grid));
	memcpy(grid.block, program->block, sizeof(grid.block));
	error = allocate_results(run, diag);
	if (!error)
		error = gt_instance_open(program->object, shared, device, &grid, &run->instance,
					 diag);
	if (!error && device)
		error = gt_standalone_device_prepare(run, diag);
	if (!error && run->cl_device)
		error = gt_standalone_opencl_prepare(run, diag);
	return error;
}

int gt_standalone_start(struct gt_standalone_run *run, struct gt_diag *diag)
{
	if (run->cl_device)
		return gt_standalone_opencl_start(run, diag);
	return run->device ? gt_standalone_device_start(run, diag) : 0;
}

static int run_interpreter(struct gt_standalone_run *run, struct gt_diag *diag)
{
	const struct gt_standalone_program *program = run->program;
	struct gt_interp_grid grid = interp_grid(program);
	struct gt_interp_options options = {
		.object = program->object,
		.map_memory = run->instance->memory,
		.map_copies = run->instance->copies,
		.kernel_maps = gt_shared_arrays(run->instance->shared),
		.memory = run->memory,
		.memory_size = program->memory_size,
		.max_executed = program->facts->bound,
		.output = &run->output,
		.pid_tgid = gt_standalone_pid_tgid(),
	};
	struct gt_interp_result last;

	grid.results = run->results;
	return gt_interp_run_grid(program->program, &options, &grid, &last, diag);
}

int gt_standalone_finish(struct gt_standalone_run *run, struct gt_diag *diag)
{
	if (run->cl_device)
		return gt_standalone_opencl_finish(run, diag);
	return run->device ? gt_standalone_device_finish(run, diag) : run_interpreter(run, diag);
}
