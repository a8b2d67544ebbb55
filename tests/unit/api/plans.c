/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Layouts and plans: which registers, stack words and memory are recorded. */
#include <errno.h>

#include "api_record.h"

static void check_plan(const struct gt_api_function *function, const struct gt_plan *plan)
{
	unsigned words = 0, slots = plan->registers + plan->stack;
	unsigned in_record = plan->copies - plan->apart;

	if (plan->registers > GT_PLAN_MAX_REGISTERS || plan->stack > GT_PLAN_MAX_STACK ||
	    slots > GT_PLAN_MAX_SLOTS || plan->copies > GT_PLAN_MAX_COPIES)
		TAP_FAIL("%s: %u registers, %u stack words, %u copies", function->name,
			 plan->registers, plan->stack, plan->copies);
	for (unsigned i = 0; i < plan->copies; i++) {
		if ((i < in_record) != (plan->copy[i].bytes > 0) || plan->copy[i].slot >= slots)
			TAP_FAIL("%s: copy %u of %u bytes behind slot %u", function->name, i,
				 plan->copy[i].bytes, plan->copy[i].slot);
		if (i && i < in_record && plan->copy[i - 1].when > plan->copy[i].when)
			TAP_FAIL("%s: a copy at success stands before one at entry",
				 function->name);
		if ((i < in_record) != (plan->copy[i].when <= GT_COPY_AT_SUCCESS))
			TAP_FAIL("%s: an event of its own does not stand behind the copies",
				 function->name);
		words += (plan->copy[i].bytes + 7u) / 8;
	}
	if (words > GT_PLAN_MAX_COPIED)
		TAP_FAIL("%s: %u words are copied", function->name, words);
}

TEST("arrays are copied by their number of elements, errors are read behind their pointer")
{
	struct gt_plan plan;

	gt_api_plan(gt_api_function((unsigned)gt_api_find("clCreateBuffer")), &plan);
	CHECK_INT(plan.result, GT_RESULT_POINTER);
	CHECK_INT(plan.error, 5);
	gt_api_plan(gt_api_function((unsigned)gt_api_find("clEnqueueNDRangeKernel")), &plan);
	CHECK_INT(plan.result, GT_RESULT_ERROR);
	CHECK_INT(plan.copies, 5);
	for (int i = 0; i < 3; i++) { /* offset, global, local: as many as work_dim */
		CHECK_INT(plan.copy[i].bytes, 24);
		CHECK_INT(plan.copy[i].count, 3);
		CHECK_INT(plan.copy[i].element, 8);
	}
	gt_api_plan(gt_api_function((unsigned)gt_api_find("clSetKernelArg")), &plan);
	CHECK_INT(plan.copy[0].bytes, 8);
	CHECK_INT(plan.copy[0].count, 3);
	CHECK_INT(plan.copy[0].element, 1);
	/* The name of a kernel is in the description that the call gets. */
	gt_api_plan(gt_api_function((unsigned)gt_api_find("zeKernelCreate")), &plan);
	CHECK_INT(plan.copy[1].when, GT_COPY_STRING);
	CHECK_INT(plan.copy[1].field, 25);
}

TEST("the plan of each row keeps to the limits, on both machines")
{
	for (unsigned i = 0; i < gt_api_count(); i++)
		for (unsigned machine = 0; machine < GT_MACHINES; machine++) {
			struct gt_api_layout layout;

			gt_api_lay_out(gt_api_function(i), (enum gt_machine)machine, &layout);
			check_plan(gt_api_function(i), &layout.plan);
		}
}

TEST("every argument but a float is captured, on both machines, up to the 32nd")
{
	for (unsigned i = 0; i < gt_api_count(); i++)
		for (unsigned machine = 0; machine < GT_MACHINES; machine++) {
			const struct gt_api_function *function = gt_api_function(i);
			struct gt_api_layout layout;

			gt_api_lay_out(function, (enum gt_machine)machine, &layout);
			for (unsigned j = 0; j < function->argument_count; j++) {
				bool is_float = function->arguments[j].type->kind == GT_KIND_FLOAT;

				if (j < 32 && (layout.locations[j].slot < 0) != is_float)
					TAP_FAIL("%s: %s is in slot %d", function->name,
						 function->arguments[j].name,
						 layout.locations[j].slot);
			}
		}
}

static struct gt_api_layout laid_out(const char *name, enum gt_machine machine)
{
	struct gt_api_layout layout;

	gt_api_lay_out(row(name), machine, &layout);
	return layout;
}

static void check_slots(const char *name, enum gt_machine machine, unsigned registers,
			unsigned stack, const int *slots)
{
	struct gt_api_layout layout = laid_out(name, machine);

	if (layout.plan.registers != registers || layout.plan.stack != stack)
		TAP_FAIL("%s: %u registers and %u stack words", name, layout.plan.registers,
			 layout.plan.stack);
	for (unsigned i = 0; i < row(name)->argument_count; i++)
		if (layout.locations[i].slot != slots[i])
			TAP_FAIL("%s: %s is in slot %d, not %d", name, row(name)->arguments[i].name,
				 layout.locations[i].slot, slots[i]);
}

TEST("a runtime launch takes six registers and two stack words on x86-64")
{
	check_slots("cudaLaunchKernel", GT_MACHINE_X86_64, 6, 2, (int[]){0, 1, 3, 5, 6, 7});
}

TEST("a runtime launch takes eight registers on aarch64")
{
	check_slots("cudaLaunchKernel", GT_MACHINE_AARCH64, 8, 0, (int[]){0, 1, 3, 5, 6, 7});
}

TEST("a driver launch has its last arguments on the stack, on both machines")
{
	static const int slots[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};

	check_slots("cuLaunchKernel", GT_MACHINE_X86_64, 6, 5, slots);
	check_slots("cuLaunchKernel", GT_MACHINE_AARCH64, 8, 3, slots);
}

TEST("a structure over 16 bytes is on the stack on x86-64, later arguments keep registers")
{
	/* pitchedDevPtr (32 bytes), value, extent (24 bytes), stream */
	check_slots("cudaMemset3DAsync", GT_MACHINE_X86_64, 2, 7, (int[]){2, 0, 6, 1});
}

TEST("a structure over 16 bytes is copied from where its reference points on aarch64")
{
	struct gt_api_layout layout = laid_out("cudaMemset3DAsync", GT_MACHINE_AARCH64);

	check_slots("cudaMemset3DAsync", GT_MACHINE_AARCH64, 4, 0, (int[]){0, 1, 2, 3});
	CHECK(layout.locations[0].reference && layout.locations[2].reference);
	CHECK_INT(layout.plan.copies, 2);
	CHECK_INT(layout.plan.copy[0].bytes, 32);
	CHECK_INT(layout.plan.copy[1].bytes, 24);
	CHECK_INT(layout.plan.copy[1].when, GT_COPY_AT_ENTRY);
}

TEST("a structure that finds too few registers goes to the stack as a whole")
{
	const struct gt_api_argument *launch = row("cudaLaunchKernel")->arguments;
	struct gt_api_argument list[] = {launch[4], launch[1], launch[1],
					 launch[1], launch[1], launch[4]};
	struct gt_api_function function = *row("cudaLaunchKernel");
	struct gt_api_layout layout;

	function.arguments = list;
	function.argument_count = gt_countof(list);
	gt_api_lay_out(&function, GT_MACHINE_X86_64, &layout);
	CHECK_INT(layout.locations[2].slot, 3);
	CHECK_INT(layout.locations[3].slot, 6);
	CHECK_INT(layout.locations[4].slot, 8);
	CHECK_INT(layout.locations[5].slot, 5); /* the register that was left */
	gt_api_lay_out(&function, GT_MACHINE_AARCH64, &layout);
	CHECK_INT(layout.locations[3].slot, 5);
	CHECK_INT(layout.locations[4].slot, 7);
	CHECK_INT(layout.locations[5].slot, 9); /* registers were closed */
	CHECK_INT(layout.plan.registers, 7);
	CHECK_INT(layout.plan.stack, 3);
}

TEST("registers and stack words together keep to the limit of slots")
{
	const struct gt_api_argument *frame =
		&row("cudaEGLStreamProducerPresentFrame")->arguments[1];
	const struct gt_api_argument *size = &row("cudaMalloc")->arguments[1];
	struct gt_api_argument list[] = {*size, *size, *size, *size, *size, *size, *frame, *size};
	struct gt_api_function function = *row("cudaMalloc");
	struct gt_api_layout layout;

	function.arguments = list;
	function.argument_count = gt_countof(list);
	gt_api_lay_out(&function, GT_MACHINE_X86_64, &layout);
	CHECK_INT(layout.plan.registers, 6);
	CHECK_INT(layout.plan.stack, 26);
	CHECK_INT(layout.locations[6].slots, 26);
	CHECK_INT(layout.locations[7].slot, GT_LAYOUT_NONE);
}

TEST("a structure returned takes the first argument register on x86-64 only")
{
	check_slots("cudaCreateChannelDesc", GT_MACHINE_X86_64, 6, 0, (int[]){1, 2, 3, 4, 5});
	check_slots("cudaCreateChannelDesc", GT_MACHINE_AARCH64, 5, 0, (int[]){0, 1, 2, 3, 4});
}

TEST("a call's output is copied at success, in its own size")
{
	struct gt_plan plan;

	gt_api_plan(row("cudaMallocPitch"), &plan);
	CHECK_INT(plan.copies, 2);
	CHECK_INT(plan.copy[0].when, GT_COPY_AT_SUCCESS);
	CHECK_INT(plan.copy[0].bytes, 8);
	CHECK_INT(plan.copy[1].slot, 1);
	gt_api_plan(row("cudaGetDevice"), &plan);
	CHECK_INT(plan.copy[0].bytes, 4);
	CHECK_INT(plan.result, GT_RESULT_ERROR);
	gt_api_plan(row("__cudaPushCallConfiguration"), &plan);
	CHECK_INT(plan.result, GT_RESULT_ANY);
	gt_api_plan(row("cudaGetLastError"), &plan);
	CHECK_INT(plan.result, GT_RESULT_ANY);
}

TEST("the effect of a call on contexts and devices is in its plan, with the arguments that it "
     "needs")
{
	static const struct {
		const char *name, *value, *device;
	} effects[] = {
#define EFFECT(function, effect, value, device) {#function, #value, #device},
#include "api/effects.def"
#undef EFFECT
	};

	for (size_t i = 0; i < gt_countof(effects); i++) {
		struct gt_plan plan;

		gt_api_plan(row(effects[i].name), &plan);
		CHECK(plan.effect != GT_EFFECT_NONE);
		CHECK_INT(plan.result, GT_RESULT_ERROR);
		CHECK_INT(!plan.effect_value, !strcmp(effects[i].value, "_"));
		CHECK_INT(!plan.effect_device, !strcmp(effects[i].device, "_"));
	}
}

TEST("calls that change the context are traced implicitly, those that only ask for it are not")
{
	struct gt_plan plan;

	gt_api_plan(row("cuCtxCreate_v4"), &plan);
	CHECK_INT(plan.effect, GT_EFFECT_CONTEXT_CREATE);
	CHECK_INT(plan.effect_value, 1);
	CHECK_INT(plan.effect_device, 4);
	gt_api_plan(row("cudaMalloc"), &plan);
	CHECK_INT(plan.effect, GT_EFFECT_NONE);
	CHECK(gt_api_is_implicit(row("cuCtxSetCurrent")));
	CHECK(gt_api_is_implicit(row("cudaSetDevice")));
	CHECK(!gt_api_is_implicit(row("cuCtxGetCurrent")));
	CHECK(!gt_api_is_implicit(row("cudaMalloc")));
}

TEST("a handle returned is kept when big structures are read, too")
{
	struct gt_api_layout layout = laid_out("cudaCreateTextureObject", GT_MACHINE_X86_64);

	CHECK(layout.locations[0].copy >= 0);
	CHECK_INT(layout.plan.copy[layout.locations[0].copy].when, GT_COPY_AT_SUCCESS);
}

TEST("structures that a call reads are copied at entry")
{
	struct gt_plan plan;

	gt_api_plan(row("cudaLaunchKernelExC"), &plan);
	CHECK_INT(plan.copies, 2);
	CHECK_INT(plan.copy[1].when, GT_COPY_ARGUMENTS);
	CHECK_INT(plan.copy[0].when, GT_COPY_AT_ENTRY);
	CHECK_INT(plan.copy[0].slot, 0);
	CHECK_INT(plan.copy[0].bytes, 56);
	gt_api_plan(row("cudaMemcpy3D"), &plan);
	CHECK_INT(plan.copy[0].bytes, 160);
	gt_api_plan(row("cuMemcpy2D_v2"), &plan);
	CHECK_INT(plan.copy[0].bytes, 128);
}

TEST_MAIN
