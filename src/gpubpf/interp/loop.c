/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The helper bpf_loop: the machine executes its function as a call, once per iteration. */
#include <errno.h>

#include "gpubpf/interp/private.h"

/* Call the function for the current index. */
static int call_function(struct gt_interp_machine *machine, const struct gt_interp_loop *loop)
{
	unsigned caller = machine->frame;
	int error = gt_interp_enter(machine, loop->function);

	if (error)
		return error;
	machine->calls[caller].loop = *loop;
	gt_interp_drop_arguments(machine);
	machine->registers[1] = loop->index;
	machine->registers[2] = loop->context;
	return 0;
}

static int end_loop(struct gt_interp_machine *machine, int64_t result)
{
	gt_interp_drop_arguments(machine);
	machine->registers[0] = (uint64_t)result;
	return 0;
}

int gt_interp_call_back(struct gt_interp_machine *machine)
{
	struct gt_interp_loop loop = {
		.runs = true,
		.count = (uint32_t)machine->registers[1],
		.function = (uint32_t)machine->registers[2],
		.context = machine->registers[3],
	};

	if (machine->registers[2] != gt_function_address(loop.function) ||
	    loop.function >= machine->program->count)
		return gt_interp_fail(machine, -EINVAL, "bpf_loop of no function");
	if (machine->registers[4])
		return end_loop(machine, -EINVAL);
	if (loop.count > GT_BPF_MAX_LOOPS)
		return end_loop(machine, -E2BIG);
	return loop.count ? call_function(machine, &loop) : end_loop(machine, 0);
}

int gt_interp_continue_loop(struct gt_interp_machine *machine)
{
	struct gt_interp_loop loop = machine->calls[machine->frame].loop;

	machine->calls[machine->frame].loop.runs = false;
	loop.index++;
	if (machine->registers[0] || loop.index == loop.count)
		return end_loop(machine, loop.index);
	return call_function(machine, &loop);
}
