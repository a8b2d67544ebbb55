/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Special registers and clocks. */
#include "exec_kernel.h"

TEST("special registers have the position of a thread")
{
	static const char text[] = PTX_HEADER
		".visible .entry k(.param .u64 out)\n"
		"{	.reg .b32 %r<40>;	.reg .b64 %rd<9>;\n"
		"	ld.param.u64 %rd1, [out];\n	mov.u32 %r1, %tid.x;\n	mov.u32 %r2, "
		"%tid.y;\n"
		"	mov.u32 %r3, %tid.z;\n	mov.u32 %r4, %ntid.x;\n	mov.u32 %r5, %ntid.y;\n"
		"	mov.u32 %r6, %ntid.z;\n	mov.u32 %r7, %ctaid.x;\n	mov.u32 %r8, "
		"%ctaid.y;\n"
		"	mov.u32 %r9, %ctaid.z;\n	mov.u32 %r10, %nctaid.x;\n"
		"	mov.u32 %r11, %nctaid.y;\n	mov.u32 %r12, %nctaid.z;\n"
		"	mad.lo.u32 %r13, %r3, %r5, %r2;\n	mad.lo.u32 %r13, %r13, %r4, %r1;\n"
		"	mad.lo.u32 %r14, %r9, %r11, %r8;\n	mad.lo.u32 %r14, %r14, %r10, %r7;\n"
		"	mul.lo.u32 %r15, %r4, %r5;\n	mul.lo.u32 %r15, %r15, %r6;\n"
		"	mad.lo.u32 %r16, %r14, %r15, %r13;\n	mad.wide.u32 %rd2, %r16, 64, "
		"%rd1;\n"
		"	mov.u32 %r17, %laneid;\n	mov.u32 %r18, %warpid;\n	mov.u32 "
		"%r19, %smid;\n"
		"	mov.u32 %r20, %nsmid;\n	mov.u32 %r21, %lanemask_eq;\n"
		"	mov.u32 %r22, %lanemask_le;\n	mov.u32 %r23, %lanemask_lt;\n"
		"	mov.u32 %r24, %lanemask_ge;\n	mov.u32 %r25, %lanemask_gt;\n"
		"	mov.u64 %rd3, %gridid;\n	cvt.u32.u64 %r26, %rd3;\n"
		"	mov.u32 %r27, %dynamic_smem_size;\n	mov.u32 %r28, %envreg3;\n"
		"	st.global.v4.u32 [%rd2], {%r13, %r14, %r17, %r18};\n"
		"	st.global.v4.u32 [%rd2+16], {%r19, %r20, %r21, %r22};\n"
		"	st.global.v4.u32 [%rd2+32], {%r23, %r24, %r25, %r26};\n"
		"	st.global.v4.u32 [%rd2+48], {%r27, %r28, WARP_SZ, %r12};\n	ret;\n}\n";
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = NULL;
	uint32_t *out;
	struct sg_grid_result result;

	device_open_with(&device, (struct sg_machine_options){.multiprocessors = 3});
	module = device_load(&device, text);
	out = device_memory(&device, 64 * 60 * 12);
	device_run_with(&device, module, "k",
			(struct sg_launch){.shape.grid = {3, 2, 2},
					   .shape.block = {5, 4, 3},
					   .shape.dynamic_shared = 48,
					   .id = 1234},
			(uint64_t[]){address_of(out)}, 1, &result);
	for (uint32_t i = 0; i < 60 * 12; i++) {
		const uint32_t *row = out + 16 * i;
		uint32_t lane = i % 60 % 32, bit = 1u << lane;
		uint32_t expected[] = {i % 60,      i / 60,  lane, i % 60 / 32, i / 60 % 3, 3,  bit,
				       bit * 2 - 1, bit - 1, -bit, -bit - bit,  1234,       48, 0,
				       32,          2};

		for (int j = 0; j < 16; j++)
			CHECK_INT(row[j], expected[j]);
	}
}

TEST("a vector of special registers is moved as one")
{
	static const char text[] = PTX_HEADER KERNEL(
		"k", "	.reg .v4 .u32 %v;\n	mov.v4.u32 %v, %tid;\n	mov.v2.u32 {%r1, %r2}, "
		     "{%r0, 9};\n"
		     "	mov.v2.u32 {%r1, %r2}, {%r2, %r1};\n	mad.lo.u32 %r3, %v.x, 100, %r1;\n"
		     "	mad.lo.u32 %r3, %r2, 10000, %r3;\n	add.u32 %r3, %r3, %v.y;\n"
		     "	st.global.u32 [%rd19], %r3;\n");
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device, text);
	uint32_t *out = device_memory(&device, 4096);

	device_run(&device, module, "k", 1, 40, 0, address_of(out), 0);
	for (uint32_t i = 0; i < 40; i++)
		CHECK_INT(out[i], i * 10000 + i * 100 + 9);
}

static uint64_t seven(void *user)
{
	return 0x700000007;
}

TEST("clocks are monotonic, and the global one is the owner's")
{
	static const char text[] = PTX_HEADER KERNEL(
		"k", "	mov.u64 %rd3, %clock64;\n	mov.u32 %r1, %clock;\n	mov.u64 %rd4, "
		     "%clock64;\n"
		     "	sub.u64 %rd4, %rd4, %rd3;\n	cvt.u32.u64 %r2, %rd4;\n"
		     "	cvt.u32.u64 %r3, %rd3;\n	sub.u32 %r1, %r1, %r3;\n"
		     "	mov.u64 %rd5, %globaltimer;\n	mov.u32 %r4, %globaltimer_hi;\n"
		     "	mov.u32 %r5, %globaltimer_lo;\n	cvt.u32.u64 %r6, %rd5;\n"
		     "	st.global.v4.u32 [%rd1], {%r1, %r2, %r4, %r5};\n"
		     "	st.global.u32 [%rd1+16], %r6;\n");
	struct sg_machine_options options = {.host = {.clock = seven}};
	gt_auto(sg_machine) struct sg_machine *machine = NULL;
	struct sg_module *module = NULL;
	static uint32_t out[8];
	uint64_t parameters[] = {0, address_of(out), 0};
	struct sg_grid_result result;
	struct sg_launch launch = {.shape.grid = {1, 1, 1},
				   .shape.block = {1, 1, 1},
				   .parameters = parameters,
				   .parameter_size = sizeof(parameters)};

	CHECK_INT(sg_machine_new(&options, &machine, NULL), 0);
	CHECK_INT(sg_memory_allow(machine, address_of(out), sizeof(out)), 0);
	CHECK_INT(sg_module_load_text(machine, text, strlen(text), &module, NULL), 0);
	launch.function = sg_module_function(module, "k");
	CHECK_INT(sg_grid_run(machine, &launch, &result), 0);
	CHECK(out[0] > 0 && out[1] > out[0] && out[1] < 10);
	CHECK_INT(out[2], 7);
	CHECK_INT(out[3], 7);
	CHECK_INT(out[4], 7);
	CHECK_INT(result.warp_instructions, 19);
	CHECK_INT(result.thread_instructions, 19);
	sg_module_free(module);
}

TEST("ptxas accepts every module of these tests")
{
	check_with_ptxas();
}

TEST_MAIN
