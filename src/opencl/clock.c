/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Whether kernels of a device can read the counter of this machine's CPUs: LLVM's intrinsic
 * function, imported by its name, as LLVM's converter from SPIR-V passes it on. A kernel that reads
 * it shows that: each value must lie between two that this process reads before and after.
 */
#include <errno.h>
#include <spirv/unified1/spirv.h>
#include <time.h>

#include "base/clock.h"
#include "base/cycle_clock.h"
#include "opencl/private.h"
#include "spirv/builder.h"

enum {
	CHECKS = 4,          /* launches */
	MIN_TIME = 20000000, /* ns between the times that the clock is fitted to */
	LIMIT_S = 15,        /* of a launch: of the first one the device compiles the kernel */
};

static const char kernel_name[] = "gputap_clock";

/* A kernel that stores the counter where its argument points to. 0 or -ENOMEM. */
static int make_module(struct gt_strbuf *ret_module)
{
	struct gt_spirv_builder builder;
	struct gt_spirv_words *functions = &builder.sections[GT_SPIRV_FUNCTIONS];
	uint32_t nothing, wide, pointer, function, to, value, counter;
	int error;

	gt_spirv_init(&builder);
	nothing = gt_spirv_type_void(&builder);
	wide = gt_spirv_type_int(&builder, 64);
	pointer = gt_spirv_type_pointer(&builder, SpvStorageClassCrossWorkgroup, wide);
	counter = gt_spirv_import(&builder, GT_SPIRV_CYCLE_COUNTER, wide, 0);
	function = gt_spirv_id(&builder);
	to = gt_spirv_id(&builder);
	value = gt_spirv_id(&builder);
	gt_spirv_emit(
		functions, SpvOpFunction, nothing, function, SpvFunctionControlMaskNone,
		gt_spirv_global(&builder, SpvOpTypeFunction, 0, (uint32_t[]){nothing, pointer}, 2));
	gt_spirv_emit(functions, SpvOpFunctionParameter, pointer, to);
	gt_spirv_emit(functions, SpvOpLabel, gt_spirv_id(&builder));
	gt_spirv_emit(functions, SpvOpFunctionCall, wide, value, counter);
	gt_spirv_emit(functions, SpvOpStore, to, value, SpvMemoryAccessAlignedMask,
		      sizeof(uint64_t));
	gt_spirv_add(functions, SpvOpReturn, NULL, 0);
	gt_spirv_add(functions, SpvOpFunctionEnd, NULL, 0);
	gt_spirv_add_entry_point(&builder, function, kernel_name, NULL, 0);
	error = gt_spirv_finish(&builder, ret_module);
	gt_spirv_clear(&builder);
	return error;
}

static int launch(struct gt_cl_program *program, uint64_t *ret_ticks, struct gt_diag *diag)
{
	static const uint32_t one[3] = {1, 1, 1};
	uint64_t ticks = 0;
	struct gt_cl_argument argument = {&ticks, sizeof(ticks), true};
	int error = gt_cl_launch(program, kernel_name, one, one, &argument, 1, diag);

	if (!error)
		error = gt_cl_wait(program, LIMIT_S * GT_SECOND_NS, diag);
	if (error == -ETIME)
		gt_cl_device_abandon(program->device);
	*ret_ticks = ticks;
	return error;
}

static int check_counter(struct gt_cl_program *program, struct gt_diag *diag)
{
	for (unsigned i = 0; i < CHECKS; i++) {
		uint64_t before = gt_cycle_ticks(), ticks;
		int error = launch(program, &ticks, diag);

		if (error)
			return error;
		if (ticks <= before || ticks >= gt_cycle_ticks())
			return gt_diag(diag, -EOPNOTSUPP, "device", NULL,
				       "kernels of %s do not read the counter of this CPU",
				       program->device->info.name);
	}
	return 0;
}

/* The second time is read when enough has passed since the first one. */
static int fit(const struct gt_cycle_time *first, struct gt_cycle_clock *ret_clock,
	       struct gt_diag *diag)
{
	struct gt_cycle_time last = gt_cycle_time();
	struct timespec pause = {.tv_nsec = MIN_TIME};

	if (last.time - first->time < MIN_TIME) {
		nanosleep(&pause, NULL);
		last = gt_cycle_time();
	}
	if (!gt_cycle_clock_fit(first, &last, ret_clock))
		return 0;
	return gt_diag(diag, -EOPNOTSUPP, "device", NULL,
		       "the counter of this CPU advances by less than a tick per nanosecond");
}

int gt_cl_device_clock(struct gt_cl_device *device, struct gt_cycle_clock *ret_clock,
		       struct gt_diag *diag)
{
	gt_auto(cl_program) struct gt_cl_program *program = NULL;
	gt_auto_strbuf module = GT_STRBUF_INIT, log = GT_STRBUF_INIT;
	struct gt_cycle_time first;
	int error;

	if (!gt_cl_device_shares_memory(device) || !gt_cycle_clock_exists())
		return gt_diag(diag, -EOPNOTSUPP, "device", NULL,
			       "there is no counter of cycles that %s and this process read",
			       device->info.name);
	first = gt_cycle_time();
	if (make_module(&module))
		return gt_diag(diag, -ENOMEM, "device", NULL, "out of memory");
	error = gt_cl_program_load(device, module.data, module.length, &program, &log, diag);
	if (!error)
		error = check_counter(program, diag);
	return error ? error : fit(&first, ret_clock, diag);
}
