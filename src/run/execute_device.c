/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Running programs by themselves on a device: translate.h says what the host has to do. */
#include <errno.h>
#include <string.h>

#include "gpubpf/translate.h"
#include "run/private.h"

#define PREFIX "gputap_"

static int translate(struct gt_grid_run *run, struct gt_diag *diag)
{
	const struct gt_execution *execution = run->execution;
	struct gt_translate_options options = {
		.form = GT_FORM_KERNEL,
		.sm = gt_device_info(run->device)->sm,
		.prefix = PREFIX,
	};
	struct gt_translate_job job = {
		.program = execution->program,
		.facts = execution->facts,
		.name = "run",
		.section = execution->section,
		.memory_size = execution->memory_size,
	};
	struct gt_translation translation = {0};
	int error = gt_target_ptx.translate(&options, execution->object, &job, &translation, diag);

	if (!error)
		error = gt_target_ptx.finish(&options, &translation, &run->text, diag);
	gt_translation_clear(&translation);
	if (!error && run->text.failed)
		error = gt_diag(diag, -ENOMEM, "run", NULL, "out of memory");
	return error;
}

static int place_memory(struct gt_grid_run *run, struct gt_diag *diag)
{
	uint32_t size = run->execution->memory_size;
	int error = gt_device_allocate(run->device, ((size_t)size + 7) & ~(size_t)7,
				       &run->device_memory, diag);

	if (!error)
		error = gt_device_write(run->device, run->device_memory.address, run->memory, size,
					diag);
	if (!error)
		error = gt_device_allocate(run->device, run->result_count * sizeof(uint64_t),
					   &run->device_results, diag);
	return error;
}

int gt_device_run_prepare(struct gt_grid_run *run, struct gt_diag *diag)
{
	int error = gt_device_use(run->device, diag);

	if (!error)
		error = translate(run, diag);
	if (!error)
		error = gt_module_load(run->device, gt_strbuf_string(&run->text), &run->module,
				       &run->log, diag);
	/* The kernel is launched by this thread. */
	if (!error)
		error = gt_instance_bind(run->instance, run->module, PREFIX, gt_execution_thread(),
					 diag);
	return error ? error : place_memory(run, diag);
}

int gt_device_run_start(struct gt_grid_run *run, struct gt_diag *diag)
{
	uint64_t memory_size = run->execution->memory_size;
	/* The parameter `context`: nothing is around the program, and so nothing is in it. */
	uint64_t context[GT_CONTEXT_SIZE / sizeof(uint64_t)] = {0};
	void *arguments[] = {&run->device_memory.address, &memory_size,
			     &run->device_results.address, context};
	struct gt_launch kernel = {.kernel = PREFIX "run", .arguments = arguments};
	int error = gt_device_use(run->device, diag);

	memcpy(kernel.grid, run->execution->grid, sizeof(kernel.grid));
	memcpy(kernel.block, run->execution->block, sizeof(kernel.block));
	return error ? error : gt_module_launch(run->module, &kernel, diag);
}

int gt_device_run_finish(struct gt_grid_run *run, struct gt_diag *diag)
{
	int error = gt_device_use(run->device, diag);

	if (!error)
		error = gt_device_wait(run->device, run->execution->time_limit, diag);
	if (!error)
		error = gt_device_read(run->device, run->device_results.address, run->results,
				       run->device_results.size, diag);
	if (!error)
		error = gt_device_read(run->device, run->device_memory.address, run->memory,
				       run->execution->memory_size, diag);
	if (!error)
		error = gt_instance_fetch(run->instance, diag);
	/* The device is done, so all that is there is ready. */
	return error ? error
		     : gt_instance_print(run->instance, &run->output, &run->output_lost, diag);
}

void gt_device_run_clear(struct gt_grid_run *run)
{
	gt_device_use(run->device, NULL);
	gt_device_free(run->device, &run->device_memory);
	gt_device_free(run->device, &run->device_results);
	gt_module_free(run->module);
}
