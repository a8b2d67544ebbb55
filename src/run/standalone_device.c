/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* translate.h specifies what the host does for a translated kernel. */
#include <errno.h>
#include <string.h>

#include "gpubpf/translate.h"
#include "run/host_call_service.h"
#include "run/standalone_device.h"

#define PREFIX "gputap_"

static int allocate_memory(struct gt_standalone_run *run, struct gt_diag *diag)
{
	uint32_t size = run->program->memory_size;
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

int gt_standalone_device_prepare(struct gt_standalone_run *run, struct gt_diag *diag)
{
	struct gt_translate_options options = {
		.form = GT_FORM_KERNEL,
		.sm = gt_device_info(run->device)->sm,
		.prefix = PREFIX,
	};
	int error = gt_device_use(run->device, diag);

	if (!error)
		error = gt_standalone_translate(run, &gt_target_ptx, &options, diag);
	if (!error)
		error = gt_module_load(run->device, gt_strbuf_string(&run->text), &run->module,
				       &run->log, diag);
	/* This thread launches the kernel. */
	if (!error)
		error = gt_instance_bind(run->instance, run->module, PREFIX,
					 gt_standalone_pid_tgid(), diag);
	return error ? error : allocate_memory(run, diag);
}

int gt_standalone_device_start(struct gt_standalone_run *run, struct gt_diag *diag)
{
	uint64_t memory_size = run->program->memory_size;
	/* The parameter `context`: there is no kernel around the program, so it is all zeros. */
	uint64_t context[GT_CONTEXT_SIZE / sizeof(uint64_t)] = {0};
	void *arguments[] = {&run->device_memory.address, &memory_size,
			     &run->device_results.address, context};
	struct gt_launch kernel = {.kernel = PREFIX "run", .arguments = arguments};
	int error = gt_device_use(run->device, diag);

	memcpy(kernel.grid, run->program->grid, sizeof(kernel.grid));
	memcpy(kernel.block, run->program->block, sizeof(kernel.block));
	if (!error && run->instance->call_area)
		error = gt_host_call_service_start(&run->instance->calls, &run->service, diag);
	return error ? error : gt_module_launch(run->module, &kernel, diag);
}

static void stop_service(struct gt_standalone_run *run)
{
	gt_host_call_service_stop(run->service);
	run->service = NULL;
	run->calls_lost = gt_host_calls_lost(&run->instance->calls);
}

int gt_standalone_device_finish(struct gt_standalone_run *run, struct gt_diag *diag)
{
	int error = gt_device_use(run->device, diag);

	if (!error)
		error = gt_device_wait(run->device, run->program->time_limit, diag);
	stop_service(run);
	if (!error)
		error = gt_device_read(run->device, run->device_results.address, run->results,
				       run->device_results.size, diag);
	if (!error)
		error = gt_device_read(run->device, run->device_memory.address, run->memory,
				       run->program->memory_size, diag);
	if (!error)
		error = gt_instance_fetch(run->instance, diag);
	/* The device is idle, so all records are complete. */
	return error ? error
		     : gt_instance_print(run->instance, &run->output, &run->output_lost, diag);
}

void gt_standalone_device_clear(struct gt_standalone_run *run)
{
	gt_host_call_service_stop(run->service);
	run->service = NULL;
	gt_device_use(run->device, NULL);
	gt_device_free(run->device, &run->device_memory);
	gt_device_free(run->device, &run->device_results);
	gt_module_free(run->module);
}
