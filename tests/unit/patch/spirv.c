/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Programs in the bodies of OpenCL kernels: where they run, how often, and what they see. The
 * kernels run on an OpenCL device (PoCL), from SPIR-V that clang and llvm-spirv write.
 */
#include <spirv/unified1/spirv.h>

#include "amount.h"
#include "opencl_module.h"
#include "spirv/builder.h"
#include "spirv_words.h"

enum {
	ITEMS = 64,
	GROUP = 32,
};

static const char source[] =
	"int twice(int x, __global int *log) { *log = 77; return x * 2; }\n"
	"__kernel void work(__global int *in, __global int *out, ulong scale) {\n"
	"	__local int part[32];\n"
	"	int i = get_local_id(0), id = get_global_id(0), sum = 0;\n"
	"	part[i] = in[id];\n"
	"	barrier(CLK_LOCAL_MEM_FENCE);\n"
	"	for (int k = 0; k < 4; k++)\n"
	"		sum += part[(i + k) & 31];\n"
	"	if (i & 1)\n"
	"		atomic_add(&out[64], 3);\n"
	"	vstore2((int2)(sum, 5), id, out + 72);\n"
	"	out[id] = twice(sum, out + 65) * (int)scale;\n"
	"}\n"
	"__kernel void other(__global int *in, __global int *out, ulong scale) {\n"
	"	out[get_global_id(0)] = twice(in[0], out + 65);\n"
	"}\n";

/*
 * Run a kernel of a module on numbers; then again, with the same results: work-groups that run at
 * the same time do not share their local memory.
 */
static void run_kernel(struct gt_cl_device *device, const struct gt_strbuf *module,
		       const char *kernel, uint64_t *hidden, int32_t out[ITEMS * 4])
{
	static const uint32_t groups[3] = {ITEMS / GROUP, 1, 1}, group[3] = {GROUP, 1, 1};
	gt_auto(cl_program) struct gt_cl_program *program = NULL;
	gt_auto_strbuf log = GT_STRBUF_INIT;
	int32_t in[ITEMS];
	uint64_t scale = 9;
	struct gt_cl_argument arguments[] = {{in, sizeof(in), true},
					     {out, ITEMS * 4 * sizeof(*out), true},
					     {&scale, sizeof(scale), false},
					     {hidden, sizeof(*hidden), false},
					     {hidden ? hidden + 1 : NULL, sizeof(*hidden), false}};
	struct gt_diag diag = {0};

	for (int i = 0; i < ITEMS; i++)
		in[i] = i;
	memset(out, 0, ITEMS * 4 * sizeof(*out));
	if (gt_cl_program_load(device, module->data, module->length, &program, &log, &diag) ||
	    gt_cl_launch(program, kernel, groups, group, arguments, hidden ? 5 : 3, &diag) ||
	    gt_cl_wait(program, 0, &diag))
		TAP_FAIL("%s: %s %s", diag.place, diag.text, gt_strbuf_string(&log));
}

/* Patch and run both kernels: their results are those of the original. False: skip. */
static bool run_patched(struct patched_program *patched)
{
	gt_auto(cl_device) struct gt_cl_device *device = open_device();
	gt_auto_strbuf module = GT_STRBUF_INIT;
	int32_t plain[2][ITEMS * 4], found[ITEMS * 4];
	uint64_t *hidden = patched->has_hidden ? patched->hidden : NULL;

	if (!device || !compile_kernels(source, &module))
		return false;
	patch_program(patched, &module);
	run_kernel(device, &module, "work", NULL, plain[0]);
	run_kernel(device, &module, "other", NULL, plain[1]);
	CHECK_INT(plain[0][64], 3 * ITEMS / 2);
	run_kernel(device, &patched->image.fatbin, "work", hidden, found);
	CHECK(!memcmp(found, plain[0], sizeof(found)));
	run_kernel(device, &patched->image.fatbin, "other", hidden, found);
	CHECK(!memcmp(found, plain[1], sizeof(found)));
	return true;
}

TEST("programs run at loads, stores, atomic operations, barriers and branches of kernels")
{
	auto_program patched = {0};

	add_probe(&patched.probes, "gpu/load", NULL);
	add_probe(&patched.probes, "gpu/load_begin", NULL);
	add_probe(&patched.probes, "gpu/store", NULL);
	add_probe(&patched.probes, "gpu/memory", NULL);
	add_probe(&patched.probes, "gpu/atomic", NULL);
	add_probe(&patched.probes, "gpu/barrier", NULL);
	add_probe(&patched.probes, "gpu/barrier_end", NULL);
	add_probe(&patched.probes, "gpu/branch", NULL);
	add_probe(&patched.probes, "gpu/loop", NULL);
	add_probe(&patched.probes, "gpu/load/other", NULL);
	if (!run_patched(&patched))
		SKIP(NO_DEVICE);
	/* In `work`: in[id] and four of part; in `other`: in[0]. */
	CHECK_INT(count_of(&patched, 0), ITEMS * 5 + ITEMS);
	CHECK_INT(count_of(&patched, 1), ITEMS * 6);
	/* part[i], two elements by vstore2, out[id], *log; in `other`: out[…], *log. */
	CHECK_INT(count_of(&patched, 2), ITEMS * 4 + ITEMS * 2);
	CHECK_INT(count_of(&patched, 3), ITEMS * 12);
	CHECK_INT(count_of(&patched, 4), ITEMS / 2);
	CHECK_INT(count_of(&patched, 5), ITEMS);
	CHECK_INT(count_of(&patched, 6), ITEMS);
	/* The loop's condition, five times, and that of the atomic operation. */
	CHECK_INT(count_of(&patched, 7), ITEMS * 6);
	CHECK_INT(count_of(&patched, 8), ITEMS * 4);
	CHECK_INT(count_of(&patched, 9), ITEMS);
	CHECK_INT(patched.image.result.rejected, 0);
}

TEST("a program at an access sees its address, its value, its width and its space")
{
	auto_program patched = {0};

	/* Addresses are those of elements: out[64] and out[65] are 4 bytes apart. */
	add_probe(&patched.probes, "gpu/load/work",
		  "mov r6, 0\nldxw r2, [r1+504]\njne r2, 1, +1\nldxdw r6, [r1+480]");
	add_probe(&patched.probes, "gpu/load/work",
		  "mov r6, 0\nldxw r2, [r1+504]\njne r2, 2, +1\nldxdw r6, [r1+480]");
	add_probe(&patched.probes, "gpu/store/work", "ldxw r6, [r1+500]");
	add_probe(&patched.probes, "gpu/store/work",
		  "mov r6, 0\nldxw r2, [r1+500]\njne r2, 8, +2\nldxdw r6, [r1+480]\nrsh r6, 32");
	add_probe(&patched.probes, "gpu/atomic", "ldxdw r6, [r1+480]");
	add_probe(&patched.probes, "gpu/store/work",
		  "mov r6, 0\nldxw r2, [r1+500]\njne r2, 8, +6\nldxdw r6, [r1+472]\n"
		  "ldxdw r3, [r1+216]\nsub r6, r3\nsub r6, 288\nrsh r6, 3\nadd r6, 1");
	add_probe(&patched.probes, "gpu/atomic", "ldxw r6, [r1+508]");
	add_probe(&patched.probes, "gpu/branch", "ldxw r6, [r1+472]");
	if (!run_patched(&patched))
		SKIP(NO_DEVICE);
	CHECK_INT(count_of(&patched, 0), ITEMS * (ITEMS - 1) / 2);
	CHECK_INT(count_of(&patched, 1), 4 * ITEMS * (ITEMS - 1) / 2);
	/* part[i], vstore2, out[id]; twice is called by another kernel, too. */
	CHECK_INT(count_of(&patched, 2), ITEMS * (4 + 8 + 4));
	CHECK_INT(count_of(&patched, 3), ITEMS * 5);
	CHECK_INT(count_of(&patched, 4), ITEMS / 2 * 3);
	CHECK_INT(count_of(&patched, 5), ITEMS * (ITEMS + 1) / 2);
	CHECK_INT(count_of(&patched, 6), ITEMS / 2 * 3);
	CHECK_INT(count_of(&patched, 7), ITEMS * 4 + ITEMS / 2);
}

TEST("a program in a function that other kernels call, too, is rejected with the reason")
{
	auto_program patched = {0};
	const struct gt_patch_rejection *rejection;

	add_probe(&patched.probes, "gpu/store/work", NULL);
	if (!run_patched(&patched))
		SKIP(NO_DEVICE);
	CHECK_INT(count_of(&patched, 0), ITEMS * 3);
	CHECK_INT(patched.image.result.patched, 3);
	CHECK_INT(patched.image.result.rejections.count, 1);
	rejection = patched.image.result.rejections.items;
	CHECK_STR(rejection->function, "twice");
	CHECK_INT(rejection->sites, 1);
	CHECK_STR(rejection->reason,
		  "kernels that the program does not match call the function, too");
}

TEST("a program of a warp runs for each work-item, whose group is its own lane")
{
	auto_program patched = {0};

	add_probe(&patched.probes, "gpu/load.warp/work", "ldxw r6, [r1+60]");
	add_probe(&patched.probes, "gpu/branch.warp/work", "ldxw r6, [r1+476]");
	/* bpf_warp_distinct of the address; bpf_warp_active_mask; bpf_warp_sum. */
	add_probe(&patched.probes, "gpu/load.warp/work",
		  "mov r1, 0\nmov r2, 0\ncall 540\nmov r6, r0");
	add_probe(&patched.probes, "gpu/barrier", "call 520\nmov r6, r0");
	add_probe(&patched.probes, "gpu/barrier", "mov r1, 7\ncall 523\nmov r6, r0");
	if (!run_patched(&patched))
		SKIP(NO_DEVICE);
	CHECK_INT(count_of(&patched, 0), UINT64_C(5) * 2 * UINT32_MAX);
	CHECK_INT(count_of(&patched, 1), UINT64_C(4) * 2 * UINT32_MAX + UINT64_C(2) * 0xaaaaaaaa);
	CHECK_INT(count_of(&patched, 2), ITEMS * 5);
	CHECK_INT(count_of(&patched, 3), UINT64_C(2) * UINT32_MAX);
	CHECK_INT(count_of(&patched, 4), ITEMS * 7);
}

/* Add programs of warps, at an end of the kernel and in its body, and threads'. */
static void add_warp_probes(struct patched_program *patched)
{
	/* bpf_warp_lane_value, bpf_warp_distinct and the field taken_mask. */
	add_probe(&patched->probes, "gpu/entry.warp/work",
		  "mov r1, 4\nmov r2, 3\ncall 524\nmov r6, r0");
	add_probe(&patched->probes, "gpu/load.warp/work",
		  "mov r1, 0\nmov r2, 0\ncall 540\nmov r6, r0");
	add_probe(&patched->probes, "gpu/branch.warp/work", "ldxw r6, [r1+476]");
	/* The field mask, which is that of all lanes where the leader reads it. */
	add_probe(&patched->probes, "gpu/atomic.warp/work", "ldxw r6, [r1+60]");
	/* bpf_warp_active_mask; bpf_warp_sum; bpf_flat_warp_id. */
	add_probe(&patched->probes, "gpu/barrier", "call 520\nmov r6, r0");
	add_probe(&patched->probes, "gpu/barrier", "mov r1, 7\ncall 523\nmov r6, r0");
	add_probe(&patched->probes, "gpu/exit/work", "call 529\nmov r6, r0");
	patched->is_spirv = true;
}

TEST("a group of a warp is the active work-items of a sub-group, on a device that has them")
{
	auto_program with = {.features = GT_SPIRV_SUB_GROUPS}, without = {0};
	const struct gt_strbuf *patched = &with.image.fatbin;
	gt_auto_strbuf module = GT_STRBUF_INIT;

	if (!compile_kernels(source, &module))
		SKIP(NO_DEVICE);
	add_warp_probes(&with);
	patch_program(&with, &module);
	CHECK_INT(with.image.result.rejected, 0);
	CHECK(!with.image.result.by_work_item);
	/* The groups of four programs, one of distinct values, the lanes that take the branch, the
	 * active mask and that of the sum. */
	CHECK_INT(count_spirv_instructions(patched, SpvOpGroupNonUniformBallot), 8);
	/* Of 64 bits: 32 for distinct values; two halves of the lane's value, and of the sum's. */
	CHECK_INT(count_spirv_instructions(patched, SpvOpGroupNonUniformShuffle), 36);
	CHECK_INT(count_spirv_instructions(patched, SpvOpExecutionMode), 0);
	CHECK_INT(((const uint32_t *)patched->data)[1], 0x10300);

	add_warp_probes(&without);
	patch_program(&without, &module);
	CHECK_INT(without.image.result.rejected, 1);
	CHECK_STR(without.image.result.rejections.items[0].reason,
		  "the target spirv does not support warp_lane_value, which needs values of other "
		  "lanes");
	CHECK(without.image.result.by_work_item);
	CHECK_INT(count_spirv_instructions(&without.image.fatbin, SpvOpGroupNonUniformBallot), 0);
	CHECK_INT(count_spirv_instructions(&without.image.fatbin, SpvOpGroupNonUniformShuffle), 0);
}

TEST("programs see the arguments of kernels, their number and their sizes")
{
	auto_program patched = {0};

	add_probe(&patched.probes, "gpu/entry/work", "ldxdw r6, [r1+224]");
	add_probe(&patched.probes, "gpu/barrier", "ldxdw r6, [r1+224]");
	add_probe(&patched.probes, "gpu/exit.warp/*", "ldxw r6, [r1+84]");
	add_probe(&patched.probes, "gpu/atomic", "ldxw r6, [r1+76]");
	add_probe(&patched.probes, "gpu/entry/work", "ldxw r6, [r1+92]");
	if (!run_patched(&patched))
		SKIP(NO_DEVICE);
	CHECK_INT(count_of(&patched, 0), ITEMS * 9);
	CHECK_INT(count_of(&patched, 1), ITEMS * 9);
	CHECK_INT(count_of(&patched, 2), 2 * (ITEMS / 32) * 8);
	CHECK_INT(count_of(&patched, 3), ITEMS / 2 * 3);
	CHECK_INT(count_of(&patched, 4), 0);
}

TEST("kernels, and what they call, have the number and the local memory of a launch")
{
	auto_program patched = {.hidden = {7, 128}, .has_hidden = true};

	add_probe(&patched.probes, "gpu/entry/*", "ldxdw r6, [r1+64]");
	/* In `twice`, too, which both kernels call. */
	add_probe(&patched.probes, "gpu/store", "ldxdw r6, [r1+64]");
	add_probe(&patched.probes, "gpu/barrier", "call 532\nmov r6, r0");
	add_probe(&patched.probes, "gpu/exit.block/*", "call 526\nmov r6, r0");
	/* Where no one knows the compute unit. */
	add_probe(&patched.probes, "gpu/exit.block/*", "ldxw r6, [r1+44]");
	if (!run_patched(&patched))
		SKIP(NO_DEVICE);
	CHECK_INT(patched.image.result.rejected, 0);
	CHECK_INT(count_of(&patched, 0), 2 * ITEMS * 7);
	CHECK_INT(count_of(&patched, 1), 6 * ITEMS * 7);
	CHECK_INT(count_of(&patched, 2), ITEMS * 128);
	CHECK_INT(count_of(&patched, 3), 2 * (ITEMS / GROUP) * 7);
	CHECK_INT(count_of(&patched, 4), 2 * (ITEMS / GROUP) * 1023);
}

TEST("a kernel without programs gives functions that others call, too, no launch")
{
	gt_auto(cl_device) struct gt_cl_device *device = open_device();
	auto_program patched = {0};
	gt_auto_strbuf module = GT_STRBUF_INIT;
	uint64_t hidden[2] = {7, 128};
	int32_t out[ITEMS * 4];

	if (!device || !compile_kernels(source, &module))
		SKIP(NO_DEVICE);
	/* `twice` has the parameters, which `other` does not have. */
	add_probe(&patched.probes, "gpu/load/work", "ldxdw r6, [r1+64]");
	patch_program(&patched, &module);
	run_kernel(device, &patched.image.fatbin, "other", NULL, out);
	CHECK_INT(out[65], 77);
	CHECK_INT(count_of(&patched, 0), 0);
	run_kernel(device, &patched.image.fatbin, "work", hidden, out);
	CHECK_INT(out[65], 77);
	CHECK_INT(count_of(&patched, 0), 5 * ITEMS * 7);
}

TEST("programs of the ends of kernels run for each work-item, warp and work-group")
{
	auto_program patched = {0};

	add_probe(&patched.probes, "gpu/entry/work", NULL);
	add_probe(&patched.probes, "gpu/exit/*", NULL);
	add_probe(&patched.probes, "gpu/exit.block/*", NULL);
	add_probe(&patched.probes, "gpu/entry.warp/*", NULL);
	add_probe(&patched.probes, "gpu/block_begin", "ldxw r6, [r1+72]");
	add_probe(&patched.probes, "gpu/finish.warp/*", "ldxw r6, [r1+464]");
	add_probe(&patched.probes, "gpu/block_end", NULL);
	if (!run_patched(&patched))
		SKIP(NO_DEVICE);
	CHECK_INT(count_of(&patched, 0), ITEMS);
	CHECK_INT(count_of(&patched, 1), ITEMS * 2);
	CHECK_INT(count_of(&patched, 2), ITEMS / GROUP * 2);
	CHECK_INT(count_of(&patched, 3), ITEMS / 32 * 2);
	/* Kernels 3 and 4; sites 11 and 13. */
	CHECK_INT(count_of(&patched, 4), ITEMS / GROUP * (3 + 4));
	CHECK_INT(count_of(&patched, 5), ITEMS / 32 * (11 + 13));
	CHECK_INT(count_of(&patched, 6), ITEMS / GROUP * 2);
}

TEST("programs run while their switch is on")
{
	auto_program patched = {.switchable = true, .switches = {1, 0, 0, 1}};

	add_probe(&patched.probes, "gpu/entry/*", NULL);
	add_probe(&patched.probes, "gpu/exit/*", NULL);
	add_probe(&patched.probes, "gpu/store", NULL);
	add_probe(&patched.probes, "gpu/load", NULL);
	if (!run_patched(&patched))
		SKIP(NO_DEVICE);
	CHECK_INT(count_of(&patched, 0), ITEMS * 2);
	CHECK_INT(count_of(&patched, 1), 0);
	CHECK_INT(count_of(&patched, 2), 0);
	CHECK_INT(count_of(&patched, 3), ITEMS * 6);
}

static const char ending[] =
	"__kernel void work(__global int *in, __global int *out, ulong scale) {\n"
	"	int id = get_global_id(0);\n"
	"	if (id < 16) { out[id] = 1; return; }\n"
	"	for (int k = 0; k < 3; k++)\n"
	"		out[id] += 2;\n"
	"}\n";

TEST("a program that ends a work-item at the entry ends it alone, and every return is an exit")
{
	gt_auto(cl_device) struct gt_cl_device *device = open_device();
	gt_auto_strbuf module = GT_STRBUF_INIT;
	auto_program patched = {0};
	int32_t out[ITEMS * 4];

	/* Those with an even number in their work-group; the next program does not run for them. */
	add_probe(&patched.probes, "gpu/entry/*",
		  "mov r6, 1\nldxw r2, [r1+0]\nand r2, 1\njne r2, 0, +1\ncall 507\nmov r6, 1");
	add_probe(&patched.probes, "gpu/entry/*", NULL);
	add_probe(&patched.probes, "gpu/exit/*", NULL);
	if (!device || !compile_kernels(ending, &module))
		SKIP(NO_DEVICE);
	patch_program(&patched, &module);
	run_kernel(device, &patched.image.fatbin, "work", NULL, out);
	for (int i = 0; i < ITEMS; i++)
		CHECK_INT(out[i], i % 2 ? (i < 16 ? 1 : 6) : 0);
	CHECK_INT(count_of(&patched, 0), ITEMS / 2);
	CHECK_INT(count_of(&patched, 1), ITEMS / 2);
	CHECK_INT(count_of(&patched, 2), ITEMS / 2);
	CHECK_INT(patched.image.result.sites.count, 2);
}

static const char calling[] =
	"__kernel void work(__global int *in, __global int *out, ulong scale) {\n"
	"	out[get_global_id(0)] = 5;\n"
	"}\n"
	"__kernel void other(__global int *in, __global int *out, ulong scale) {\n"
	"	work(in, out, scale);\n"
	"}\n";

TEST("the ends of a kernel that another kernel calls are rejected with the reason")
{
	gt_auto_strbuf module = GT_STRBUF_INIT;
	auto_program patched = {0};

	add_probe(&patched.probes, "gpu/entry/*", NULL);
	if (!compile_kernels(calling, &module))
		SKIP(NO_DEVICE);
	patch_program(&patched, &module);
	CHECK_INT(patched.image.result.patched, 1);
	CHECK_INT(patched.image.result.rejected, 1);
	CHECK_STR(patched.image.result.rejections.items[0].function, "work");
	CHECK_STR(patched.image.result.rejections.items[0].reason,
		  "another kernel calls the kernel as a function");
}

/* PoCL makes local memory private to work-groups where the kernel's own code refers to it. */
TEST("the code of a kernel stays that of its entry point, and is not inlined into another function")
{
	enum { INLINE = 1 };
	gt_auto(spirv_module) struct gt_spirv_module *again = NULL;
	gt_auto_strbuf module = GT_STRBUF_INIT;
	auto_program patched = {0};

	add_probe(&patched.probes, "gpu/entry/*", NULL);
	add_probe(&patched.probes, "gpu/exit/*", NULL);
	add_probe(&patched.probes, "gpu/barrier", NULL);
	if (!compile_kernels(source, &module))
		SKIP(NO_DEVICE);
	patch_program(&patched, &module);
	CHECK(!gt_spirv_parse(patched.image.fatbin.data, patched.image.fatbin.length, &again,
			      NULL));
	for (size_t i = 0; i < again->entries.count; i++)
		CHECK_INT(again->entries.items[i].function,
			  patched.image.spirv->entries.items[i].function);
	for (size_t i = 0; i < patched.image.spirv->functions.count; i++) {
		uint32_t id = patched.image.spirv->functions.items[i].id;
		const struct gt_spirv_instruction *head = gt_spirv_definition(again, id);

		/* All but `twice`, which the kernels call. */
		CHECK_INT(head->words[3] & INLINE, !i);
	}
}

TEST("a kernel whose code is in another module has no sites")
{
	struct gt_spirv_builder builder;
	struct gt_spirv_words *functions = &builder.sections[GT_SPIRV_FUNCTIONS];
	gt_auto_strbuf module = GT_STRBUF_INIT;
	auto_program patched = {0};
	uint32_t nothing, type, function, code;

	gt_spirv_init(&builder);
	nothing = gt_spirv_type_void(&builder);
	type = gt_spirv_global(&builder, SpvOpTypeFunction, 0, &nothing, 1);
	code = gt_spirv_import(&builder, "work", nothing, 0);
	function = gt_spirv_id(&builder);
	gt_spirv_emit(functions, SpvOpFunction, nothing, function, 0, type);
	gt_spirv_emit(functions, SpvOpLabel, gt_spirv_id(&builder));
	gt_spirv_emit(functions, SpvOpFunctionCall, nothing, gt_spirv_id(&builder), code);
	gt_spirv_add(functions, SpvOpReturn, NULL, 0);
	gt_spirv_add(functions, SpvOpFunctionEnd, NULL, 0);
	gt_spirv_add_entry_point(&builder, function, "work", NULL, 0);
	CHECK(!gt_spirv_finish(&builder, &module));
	gt_spirv_clear(&builder);
	add_probe(&patched.probes, "gpu/entry/*", NULL);
	patch_program(&patched, &module);
	CHECK_INT(patched.image.result.kernels.count, 1);
	CHECK_INT(patched.image.result.found, 0);
}

/*
 * PoCL 3.1 takes what such a loop counts for the same in all work-items of a group, with or without
 * programs.
 */
TEST("work-items of a kernel with programs leave a loop after different numbers of passes")
{
	static const char counting[] =
		"__kernel void work(__global int *in, __global int *out, ulong scale) {\n"
		"	int id = get_global_id(0), passes = 0, tripled = 2, rest = in[id] + 2;\n"
		"	barrier(CLK_LOCAL_MEM_FENCE);\n"
		"	do { passes++; tripled *= 3; rest /= 2; } while (rest);\n"
		"	barrier(CLK_LOCAL_MEM_FENCE);\n"
		"	out[id] = passes; out[id + 64] = tripled;\n"
		"	if (passes & 1) return;\n"
		"	for (int k = 0; k < scale; k++) out[id + 128] += in[k];\n"
		"}\n";
	gt_auto(cl_device) struct gt_cl_device *device = open_device();
	gt_auto_strbuf module = GT_STRBUF_INIT;
	auto_program patched = {0};
	int32_t out[ITEMS * 4];

	add_probe(&patched.probes, "gpu/load", NULL);
	if (!device || !compile_kernels(counting, &module))
		SKIP(NO_DEVICE);
	patch_program(&patched, &module);
	run_kernel(device, &patched.image.fatbin, "work", NULL, out);
	for (int id = 0; id < ITEMS; id++) {
		int passes = 32 - __builtin_clz((unsigned)id + 2), tripled = 2;

		for (int i = 0; i < passes; i++)
			tripled *= 3;
		CHECK_INT(out[id], passes);
		CHECK_INT(out[id + 64], tripled);
		CHECK_INT(out[id + 128], passes & 1 ? 0 : 36);
	}
}

/* Run a kernel with one program on a device of one kind. False: skip. */
static bool run_with_entry(const char *text, bool is_spirv, int32_t out[ITEMS * 4])
{
	gt_auto(cl_device) struct gt_cl_device *device = open_device();
	gt_auto_strbuf module = GT_STRBUF_INIT;
	auto_program patched = {.is_spirv = is_spirv};

	add_probe(&patched.probes, "gpu/entry/*", NULL);
	if (!device || !compile_kernels(text, &module))
		return false;
	patch_program(&patched, &module);
	run_kernel(device, &patched.image.fatbin, "work", NULL, out);
	CHECK_INT(count_of(&patched, 0), ITEMS);
	return true;
}

TEST("dimensions above those of a launch have the sizes and numbers of OpenCL C")
{
	static const char reading[] =
		"__kernel void work(__global int *in, __global int *out, ulong scale) {\n"
		"	int id = get_global_id(0), n = in[id];\n"
		"	out[id] = get_global_size(n) * 100 + get_local_size(n) * 10 + "
		"get_num_groups(n);\n"
		"	out[id + 64] = get_global_id(n) + get_local_id(n) + get_group_id(n) +\n"
		"		       get_global_offset(n);\n"
		"	out[id + 128] = get_global_size(3) * 100 + get_local_size(5) * 10 + "
		"get_num_groups(9);\n"
		"	out[id + 192] = get_global_id(3) + get_local_id(4) + get_group_id(5) + "
		"id;\n"
		"}\n";
	int32_t out[ITEMS * 4];

	/* What PoCL's own functions return above dimension 2 is not what the standard says. */
	if (!run_with_entry(reading, false, out))
		SKIP(NO_DEVICE);
	CHECK_INT(out[0], ITEMS * 100 + GROUP * 10 + ITEMS / GROUP);
	CHECK_INT(out[1], 111);
	CHECK(run_with_entry(reading, true, out));
	CHECK_INT(out[0], ITEMS * 100 + GROUP * 10 + ITEMS / GROUP);
	for (int id = 0; id < ITEMS; id++) {
		CHECK(!id || out[id] == 111);
		CHECK_INT(out[id + 64], 0);
		CHECK_INT(out[id + 128], 111);
		CHECK_INT(out[id + 192], id);
	}
}

TEST("sites are numbered in the order of the code of each kernel, its entry and exit included")
{
	gt_auto_strbuf module = GT_STRBUF_INIT;
	auto_program patched = {0};
	const struct gt_patch_result *result = &patched.image.result;

	add_probe(&patched.probes, "gpu/exit/*", NULL);
	add_probe(&patched.probes, "gpu/barrier", NULL);
	add_probe(&patched.probes, "gpu/entry/*", NULL);
	if (!compile_kernels(source, &module))
		SKIP(NO_DEVICE);
	patch_program(&patched, &module);
	CHECK_INT(result->sites.count, 5);
	CHECK_INT(result->kernels.count, 2);
	CHECK_INT(result->kernels.items[1].number, 4);
	for (uint32_t i = 0; i < 5; i++) {
		static const uint64_t programs[] = {4, 2, 1, 4, 1};

		CHECK_INT(result->sites.items[i].number, 10 + i);
		CHECK_INT(result->sites.items[i].programs, programs[i]);
		CHECK_STR(result->sites.items[i].function, i < 3 ? "work" : "other");
	}
}

static const char unsuitable[] =
	"__kernel void odd(__global int16 *wide, __global half *halves, int n, __local int *near) "
	"{\n"
	"	event_t event = async_work_group_copy(near, (__global int *)wide, 16, 0);\n"
	"	wait_group_events(1, &event);\n"
	"	vstore_half(vload_half(0, halves), 1, halves);\n"
	"	wide[1] = wide[0];\n"
	"	switch (n) { case 1: wide[0].x = 1; break; case 2: wide[0].y = 2; break; }\n"
	"}\n";

TEST("what cannot be a site is found and rejected with the reason")
{
	static const char *const reasons[] = {
		"copies by a work-group (async_work_group_copy) are no sites",
		"accesses that convert half numbers (vload_half …) are no sites",
		"accesses of more than 32 bytes, or of an unknown size, are no sites",
		"branches to one of several targets (OpSwitch) are no sites",
	};
	gt_auto_strbuf module = GT_STRBUF_INIT;
	auto_program patched = {0};

	add_probe(&patched.probes, "gpu/load", NULL);
	add_probe(&patched.probes, "gpu/copy", NULL);
	add_probe(&patched.probes, "gpu/branch", NULL);
	if (!compile_kernels(unsuitable, &module))
		SKIP(NO_DEVICE);
	patch_program(&patched, &module);
	for (size_t i = 0; i < gt_countof(reasons); i++) {
		bool found = false;

		gt_vec_each (rejection, &patched.image.result.rejections)
			found |= !strcmp(rejection->reason, reasons[i]);
		if (!found)
			TAP_FAIL("not found: %s", reasons[i]);
	}
}

TEST("programs read each clock of a device that has one, at the ends of kernels and in bodies")
{
	static const struct gt_cycle_clock clock = {{1000, 500}, UINT64_MAX / 3};
	static const char *const reads[] = {
		"call 5\nmov r6, r0",
		"call 7\nmov r6, r0",
		"call 502\nmov r6, r0",
		"call 525\nmov r6, r0",
	};
	gt_auto_strbuf module = GT_STRBUF_INIT;

	if (!compile_kernels(source, &module))
		SKIP(NO_DEVICE);
	for (size_t i = 0; i < gt_countof(reads); i++) {
		auto_program patched = {.clock = &clock};

		add_probe(&patched.probes, "gpu/load", reads[i]);
		add_probe(&patched.probes, "gpu/exit/*", reads[i]);
		patch_program(&patched, &module);
		CHECK_INT(patched.image.result.rejected, 0);
		CHECK_INT(patched.image.result.patched, 5);
	}
}

/* A module whose kernels read the clock at an address; 0: constants. */
static void patch_with_clock(const struct gt_strbuf *module, const struct gt_cycle_clock *clock,
			     uint64_t address, struct gt_patch_image *ret_image)
{
	static const uint64_t words[1][2] = {{0x10000, 1}};
	static const struct gt_symbol_values symbols = {.maps = words};
	auto_program patched = {0};
	struct gt_patch_options options = {
		.object = &object, .symbols = &symbols, .clock = clock, .clock_address = address};
	struct gt_diag diag = {0};

	add_probe(&patched.probes, "gpu/load", "call 5\nmov r6, r0");
	options.programs = patched.probes.programs;
	options.program_count = patched.probes.count;
	if (gt_patch_spirv(module->data, module->length, true, &options, ret_image, &diag))
		TAP_FAIL("%s: %s", diag.place, diag.text);
	check_validity(&ret_image->fatbin);
}

TEST("kernels that read a clock from memory are the same for each clock, and no constant is in "
     "them")
{
	static const struct gt_cycle_clock clocks[] = {{{1000, 500}, UINT64_MAX / 3},
						       {{1001, 501}, UINT64_MAX / 5}};
	gt_auto_strbuf module = GT_STRBUF_INIT;

	if (!compile_kernels(source, &module))
		SKIP(NO_DEVICE);
	for (uint64_t address = 0; address <= 0x20000; address += 0x20000) {
		struct gt_patch_image images[2] = {0};

		for (size_t i = 0; i < gt_countof(clocks); i++)
			patch_with_clock(&module, &clocks[i], address, &images[i]);
		CHECK(images[0].fatbin.length &&
		      images[0].fatbin.length == images[1].fatbin.length);
		CHECK_INT(!memcmp(images[0].fatbin.data, images[1].fatbin.data,
				  images[0].fatbin.length),
			  address != 0);
		for (size_t i = 0; i < gt_countof(clocks); i++)
			gt_patch_image_clear(&images[i]);
	}
}

TEST("a program that cannot run in a body is rejected with the sites that it would have")
{
	static const struct {
		const char *section, *read, *reason;
		uint32_t sites;
	} cases[] = {
		{"gpu/load", "call 525\nmov r6, r0",
		 "the target spirv does not have a clock of the device", 3},
		{"gpu/load", "call 533\nmov r6, r0",
		 "the target spirv does not have the cycles of an instruction", 3},
		{"gpu/loop_end", "mov r6, 1", "the ends of loops are no sites", 1},
		{"gpu/store", "call 507\nmov r6, r0",
		 "programs end work-items at the entry and exit of OpenCL kernels only (bpf_exit)",
		 5},
	};
	gt_auto_strbuf module = GT_STRBUF_INIT;

	if (!compile_kernels(source, &module))
		SKIP(NO_DEVICE);
	for (size_t i = 0; i < gt_countof(cases); i++) {
		auto_program patched = {0};

		add_probe(&patched.probes, cases[i].section, cases[i].read);
		patch_program(&patched, &module);
		CHECK_INT(patched.image.fatbin.length, 0);
		CHECK_INT(patched.image.result.rejected, cases[i].sites);
		CHECK_INT(patched.image.result.rejections.count, 1);
		CHECK_STR(patched.image.result.rejections.items[0].reason, cases[i].reason);
	}
}

TEST_MAIN
