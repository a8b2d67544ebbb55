/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "run/standalone_opencl.h"

#include <errno.h>
#include <string.h>

#include "base/launch_limits.h"
#include "gpubpf/helpers.h"
#include "gpubpf/translate.h"
#include "opencl/opencl.h"
#include "run/host_call_service.h"
#include "run/standalone_device.h"

#define PREFIX "gputap_"

/* The clock of the device, if the program needs it. False: it does not, or there is none. */
static bool find_clock(const struct gt_standalone_run *run, struct gt_cycle_clock *ret_clock)
{
	struct gt_diag reason = {0};

	return gt_helpers_used(run->program->program, run->program->facts, GT_TRAIT_CLOCK) &&
	       !gt_cl_device_clock(run->cl_device, ret_clock, &reason);
}

/*
 * What the device has. Its sub-groups may be those of the whole work-group alone: what all lanes of
 * a warp execute, all of a block with one warp do.
 */
static unsigned find_features(const struct gt_standalone_run *run)
{
	const uint32_t *block = run->program->block;
	unsigned features = gt_cl_device_features(run->cl_device);

	if ((uint64_t)block[0] * block[1] * block[2] > GT_WARP_SIZE)
		features &= ~(unsigned)GT_SPIRV_UNIFORM_SUB_GROUPS;
	return features;
}

/* Translate the program; if it needs what not every device has, for what this one has. */
static int translate(struct gt_standalone_run *run, struct gt_translate_options *options,
		     struct gt_diag *diag)
{
	int error = gt_standalone_translate(run, &gt_target_spirv, options, diag);

	if (error != -EOPNOTSUPP || options->features)
		return error;
	options->features = find_features(run);
	if (!options->features)
		return error;
	*diag = (struct gt_diag){0};
	gt_strbuf_free(&run->text);
	return gt_standalone_translate(run, &gt_target_spirv, options, diag);
}

static int load_program(struct gt_standalone_run *run, struct gt_translate_options *options,
			struct gt_diag *diag)
{
	int error = translate(run, options, diag);

	return error ? error
		     : gt_cl_program_load(run->cl_device, run->text.data, run->text.length,
					  &run->cl_program, &run->log, diag);
}

/* Load the program again, with a parameter in place of addresses of this process. */
static int load_with_copies(struct gt_standalone_run *run, uint64_t (*maps)[2],
			    struct gt_symbol_values *symbols, struct gt_translate_options *options,
			    struct gt_diag *diag)
{
	int error = gt_standalone_copies_new(run->instance, symbols, maps, &run->copies, diag);

	gt_cl_program_free(run->cl_program);
	run->cl_program = NULL;
	gt_strbuf_free(&run->text);
	options->relative = true;
	options->clock = NULL;
	return error ? error : load_program(run, options, diag);
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
		error = load_program(run, &options, diag);
	/* Last, since PoCL ends the process where it cannot execute a kernel for lack of tools. */
	if (!error && !gt_cl_device_shares_memory(run->cl_device))
		error = load_with_copies(run, maps, &symbols, &options, diag);
	return error;
}

int gt_standalone_opencl_start(struct gt_standalone_run *run, struct gt_diag *diag)
{
	/* The parameter `context`: there is no kernel around the program, so it is all zeros. */
	static uint64_t context[GT_CONTEXT_SIZE / sizeof(uint64_t)];
	const struct gt_section *section = run->program->section;
	uint64_t memory_size = run->program->memory_size;
	struct gt_cl_argument arguments[GT_CL_MAX_ARGUMENTS] = {
		{run->memory, run->memory ? memory_size : 0, true},
		{&memory_size, sizeof(memory_size), false},
		{run->results, run->result_count * sizeof(*run->results), true},
	};
	size_t count = 3;
	int error = 0;

	if (section && section->kind != GT_KIND_RUN)
		arguments[count++] = (struct gt_cl_argument){context, sizeof(context), true};
	if (run->copies) {
		gt_standalone_copies_fill(run->copies);
		arguments[count++] =
			(struct gt_cl_argument){gt_standalone_copies_memory(run->copies),
						gt_standalone_copies_size(run->copies), true};
	}
	if (run->instance->call_area)
		error = gt_host_call_service_start(&run->instance->calls, &run->service, diag);
	return error ? error
		     : gt_cl_launch(run->cl_program, PREFIX "run", run->program->grid,
				    run->program->block, arguments, count, diag);
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
	if (!error && run->copies)
		gt_standalone_copies_merge(run->copies);
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
	if (!run->is_abandoned)
		gt_standalone_copies_free(run->copies);
}
