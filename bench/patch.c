// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The cost of inserting programs into a module of 100,000 lines: to read and print it, to find
 * that nothing matches, to insert one program at a kernel's entry, and one at each memory access.
 * The worst case is a site in each line: 100,000 loads in one kernel; in SPIR-V, too.
 */
#include <spirv/unified1/spirv.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "patch/spirv.h"
#include "patch_counter.h"
#include "spirv/builder.h"

/* A hundred kernels of a thousand lines as nvcc writes them: loads, arithmetic, branches. */
static void make_module(struct gt_strbuf *text)
{
	gt_strbuf_puts(text, ".version 8.0\n.target sm_75\n.address_size 64\n");
	for (unsigned kernel = 0; kernel < 100; kernel++) {
		gt_strbuf_printf(text,
				 ".visible .entry kernel%u(\n\t.param .u64 kernel%u_param_0\n)\n{\n"
				 "\t.reg .pred \t%%p<100>;\n\t.reg .b32 \t%%r<1000>;\n"
				 "\t.reg .f32 \t%%f<1000>;\n\t.reg .b64 \t%%rd<1000>;\n",
				 kernel, kernel);
		for (unsigned i = 0; i < 198; i++) {
			gt_strbuf_printf(text, "$L__BB%u_%u:\n", kernel, i);
			gt_strbuf_printf(text,
					 "\tld.global.v2.f32 \t{%%f%u, %%f%u}, [%%rd%u+%u];\n", i,
					 i + 1, i, i * 4);
			gt_strbuf_printf(text, "\tfma.rn.f32 \t%%f%u, %%f%u, 0f3F800000, %%f%u;\n",
					 i, i + 7, i + 9);
			gt_strbuf_printf(text, "\tsetp.lt.s32 \t%%p%u, %%r%u, %%r%u;\n", i % 100, i,
					 i * 3);
			gt_strbuf_printf(text, "\t@%%p%u bra \t$L__BB%u_%u;\n", i % 100, kernel, i);
		}
		gt_strbuf_puts(text, "\tret;\n}\n");
	}
}

static double processor_ms(void)
{
	return (double)gt_clock_ns(CLOCK_PROCESS_CPUTIME_ID) * 1e-6;
}

/* One kernel of 100,000 loads. */
static void make_loads(struct gt_strbuf *text)
{
	gt_strbuf_puts(text, ".version 8.0\n.target sm_75\n.address_size 64\n"
			     ".visible .entry loads(\n\t.param .u64 loads_param_0\n)\n{\n"
			     "\t.reg .f32 \t%f<1000>;\n\t.reg .b64 \t%rd<1000>;\n");
	for (unsigned i = 0; i < 100000; i++)
		gt_strbuf_printf(text, "\tld.global.f32 \t%%f%u, [%%rd%u+%u];\n", i % 1000,
				 i / 7 % 1000, i * 4);
	gt_strbuf_puts(text, "\tret;\n}\n");
}

/* The row of a measurement that began at `start`, or why it failed. */
static void print_row(const char *name, double start, const struct gt_diag *diag)
{
	if (diag)
		fprintf(stderr, "patch: %s: %s\n", diag->place, diag->text);
	else
		printf("%s %.2f ms\n", name, processor_ms() - start);
}

/* One case: read the text, insert the program of a section, drop the result. `called`: sites call
 * it however small it is. */
static int measure(const char *name, const char *section, bool called, const struct gt_strbuf *text)
{
	auto_patch_counter counter = {0};
	struct gt_patch_options options = {.program_count = 1, .call_instructions = called};
	struct gt_patch_result result = {0};
	struct gt_diag diag = {0};
	gt_auto(ptx) struct gt_ptx_module *module = NULL;
	double start;
	int error = patch_counter_make(&counter, section, &diag);

	options.object = counter.object;
	options.programs = &counter.inserted;
	start = processor_ms();
	if (!error)
		error = gt_ptx_parse(text->data, text->length, &module, &diag);
	if (!error)
		error = gt_patch_module(module, &options, &result, &diag);
	print_row(name, start, error ? &diag : NULL);
	gt_patch_result_clear(&result);
	return error;
}

/* An OpenCL kernel of 100,000 loads. 0 or -ENOMEM. */
static int make_spirv_loads(struct gt_strbuf *ret_module)
{
	struct gt_spirv_builder builder;
	struct gt_spirv_words *functions = &builder.sections[GT_SPIRV_FUNCTIONS];
	uint32_t nothing, number, pointer, function, from;
	int error;

	gt_spirv_init(&builder);
	nothing = gt_spirv_type_void(&builder);
	number = gt_spirv_type_int(&builder, 32);
	pointer = gt_spirv_type_pointer(&builder, SpvStorageClassCrossWorkgroup, number);
	function = gt_spirv_id(&builder);
	from = gt_spirv_id(&builder);
	gt_spirv_emit(
		functions, SpvOpFunction, nothing, function, SpvFunctionControlMaskNone,
		gt_spirv_global(&builder, SpvOpTypeFunction, 0, (uint32_t[]){nothing, pointer}, 2));
	gt_spirv_emit(functions, SpvOpFunctionParameter, pointer, from);
	gt_spirv_emit(functions, SpvOpLabel, gt_spirv_id(&builder));
	for (unsigned i = 0; i < 100000; i++)
		gt_spirv_emit(functions, SpvOpLoad, number, gt_spirv_id(&builder), from,
			      SpvMemoryAccessAlignedMask, sizeof(uint32_t));
	gt_spirv_add(functions, SpvOpReturn, NULL, 0);
	gt_spirv_add(functions, SpvOpFunctionEnd, NULL, 0);
	gt_spirv_add_entry_point(&builder, function, "loads", NULL, 0);
	error = gt_spirv_finish(&builder, ret_module);
	gt_spirv_clear(&builder);
	return error;
}

/* The same as `measure` for a module of SPIR-V. */
static int measure_spirv(const char *name, const char *section, const struct gt_strbuf *module)
{
	auto_patch_counter counter = {0};
	struct gt_patch_options options = {.program_count = 1};
	struct gt_patch_image image = {0};
	struct gt_diag diag = {0};
	double start;
	int error = patch_counter_make(&counter, section, &diag);

	options.object = counter.object;
	options.programs = &counter.inserted;
	start = processor_ms();
	if (!error)
		error = gt_patch_spirv(module->data, module->length, false, &options, &image,
				       &diag);
	print_row(name, start, error ? &diag : NULL);
	gt_patch_image_clear(&image);
	return error;
}

int main(void)
{
	static const char *const cases[][2] = {
		{"patch-100000-lines-no-match", "gpu/entry/none"},
		{"patch-100000-lines-one-kernel", "gpu/entry/kernel7"},
		{"patch-100000-lines-entries", "gpu/entry/kernel*"},
		{"patch-100000-lines-accesses", "gpu/memory"},
	};
	gt_auto_strbuf text = GT_STRBUF_INIT, loads = GT_STRBUF_INIT, module = GT_STRBUF_INIT;

	make_module(&text);
	make_loads(&loads);
	if (text.failed || loads.failed || make_spirv_loads(&module))
		return 1;
	for (size_t i = 0; i < gt_countof(cases); i++)
		if (measure(cases[i][0], cases[i][1], false, &text))
			return 1;
	return measure("patch-100000-sites-inline", "gpu/load", false, &loads) ||
	       measure("patch-100000-sites-called", "gpu/load", true, &loads) ||
	       measure_spirv("patch-spirv-100000-sites-no-match", "gpu/entry/none", &module) ||
	       measure_spirv("patch-spirv-100000-sites-called", "gpu/load", &module);
}
