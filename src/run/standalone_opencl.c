/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "run/standalone_opencl.h"

#include <errno.h>
#include <string.h>

#include "gpubpf/helpers.h"
#include "gpubpf/translate.h"
#include "opencl/opencl.h"
#include "run/host_call_service.h"
#include "run/standalone_device.h"

#define PREFIX "gputap_"

static int check_device(const struct gt_standalone_run *run, struct gt_diag *diag)
{
	if (gt_cl_device_shares_memory(run->cl_device))
		return 0;
	return gt_diag(diag, -EOPNOTSUPP, "device", NULL,
		       "%s cannot access the memory of this process: a CPU, or a device with "
		       "fine-grain system SVM, is needed",
		       gt_cl_device_info(run->cl_device)->name);
}

/* The clock of the device, if the program needs it. False: it does not, or there is none. */
static bool find_clock(const struct gt_standalone_run *run, struct gt_cycle_clock *ret_clock)
{
	struct gt_diag reason = {0};

	return gt_helpers_used(run->program->program, run->program->facts, GT_TRAIT_CLOCK) &&
	       !gt_cl_device_clock(run->cl_device, ret_clock, &reason);
}

int gt_standalone_opencl_prepare(struct gt_standalone_run *run, struct gt_diag *diag)
{
	struct gt_symbol_values symbols = {.pid_tgid = gt_standalone_pid_tgid()};
	struct gt_translate_options options = {
		.form = GT_FORM_KERNEL,
		.prefix = PREFIX,
		.symbols = &symbols,
		.for_spir = !gt_cl_device_info(run->cl_device)->takes_spirv,
	};
	gt_autofree uint64_t(*maps)[2] = NULL;
	struct gt_cycle_clock clock;
	int error;

	if (find_clock(run, &clock))
		options.clock = &clock;
	error = gt_instance_symbols(run->instance, &symbols, &maps, diag);
	if (!error)
		error = gt_standalone_translate(run, &gt_target_spirv, &options, diag);
	if (!error)
		error = gt_cl_program_load(run->cl_device, run->text.data, run->text.length,
					   &run->cl_program, &run->log, diag);
	/* Last, since PoCL ends the process where it cannot execute a kernel for lack of tools. */
	return error ? error : check_device(run, diag);
}

int gt_standalone_opencl_start(struct gt_standalone_run *run, struct gt_diag *diag)
{
	/* The parameter `context`: there is no kernel around the program, so it is all zeros. */
	static uint64_t context[GT_CONTEXT_SIZE / sizeof(uint64_t)];
	const struct gt_section *section = run->program->section;
	uint64_t memory_size = run->program->memory_size;
	struct gt_cl_argument arguments[] = {
		{run->memory, run->memory ? memory_size : 0, true},
		{&memory_size, sizeof(memory_size), false},
		{run->results, run->result_count * sizeof(*run->results), true},
		{context, sizeof(context), true},
	};
	bool has_context = section && section->kind != GT_KIND_RUN;
	int error = 0;

	if (run->instance->call_area)
		error = gt_host_call_service_start(&run->instance->calls, &run->service, diag);
	return error ? error
		     : gt_cl_launch(run->cl_program, PREFIX "run", run->program->grid,
				    run->program->block, arguments, has_context ? 4 : 3, diag);
}

static void stop_service(struct gt_standalone_run *run)
{
	gt_host_call_service_stop(run->service);
	run->service = NULL;
	if (run->instance->call_area)
		run->calls_lost = gt_host_calls_lost(&run->instance->calls);
}

int gt_standalone_opencl_finish(struct gt_standalone_run *run, struct gt_diag *diag)
{
	int error = gt_cl_wait(run->cl_program, run->program->time_limit, diag);

	stop_service(run);
	run->is_abandoned = error == -ETIME;
	return error ? error
		     : gt_instance_print(run->instance, &run->output, &run->output_lost, diag);
}

void gt_standalone_opencl_clear(struct gt_standalone_run *run)
{
	gt_host_call_service_stop(run->service);
	run->service = NULL;
	if (run->is_abandoned) {
		gt_cl_device_abandon(run->cl_device);
		run->instance = NULL;
	}
	gt_cl_program_free(run->cl_program);
}
