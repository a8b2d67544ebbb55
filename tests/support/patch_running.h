/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Patched kernels, run on the software device beside the unpatched ones. */
#pragma once

#include "exec_fixture.h"
#include "patch_probes.h"

enum {
	WORDS = 256, /* of the kernels' memory */
};

struct launch_shape {
	unsigned blocks, threads;
};

/* Run kernel k(memory) and copy out its memory, and the counters where the module has them. */
static void run_kernel(const char *text, const char *prefix, struct launch_shape shape,
		       uint32_t memory[WORDS], uint64_t counts[SLOTS])
{
	auto_device device = {0};
	struct sg_variable_info info = {0};
	struct sg_module *module;
	gt_auto_strbuf symbol = GT_STRBUF_INIT;
	uint32_t *words;
	uint64_t *array;

	device_open(&device);
	module = device_load(&device, text);
	if (!module)
		return;
	words = device_memory(&device, WORDS * sizeof(*words));
	for (unsigned i = 0; i < WORDS; i++)
		words[i] = memory[i];
	array = device_memory(&device, gt_bpf_map_bytes(&maps[0], 1));
	gt_strbuf_printf(&symbol, "%smap_0", prefix);
	if (!sg_module_variable(module, gt_strbuf_string(&symbol), &info))
		memcpy((void *)(uintptr_t)info.address, (uint64_t[]){address_of(array), 1}, 16);
	device_run(&device, module, "k", shape.blocks, shape.threads, address_of(words));
	memcpy(memory, words, WORDS * sizeof(*words));
	memcpy(counts, array, SLOTS * sizeof(*counts));
	sg_module_free(module);
}

/* The same programs as functions count the same, and leave the same memory. */
static void check_called(const struct patched_module *patched, const char *text,
			 struct launch_shape shape, struct gt_patch_options options,
			 const uint32_t plain[WORDS])
{
	struct patched_module called = {.count = patched->count};
	uint32_t memory[WORDS];

	memcpy(called.programs, patched->programs, sizeof(called.programs));
	options.call_sites = options.call_instructions = 1;
	if (!patch_text(&called, text, options))
		return;
	for (unsigned i = 0; i < WORDS; i++)
		memory[i] = i;
	run_kernel(gt_strbuf_string(&called.result.text), called.result.prefix, shape, memory,
		   called.counts);
	CHECK(!memcmp(plain, memory, sizeof(memory)));
	CHECK(!memcmp(patched->counts, called.counts, sizeof(called.counts)));
	called.count = 0; /* the probes are not its own */
	patched_clear(&called);
}

/*
 * Patch, run, and see that the kernel's memory is what the unpatched one leaves, with bodies at
 * their sites and in functions.
 */
static bool run_patched(struct patched_module *patched, const char *text, struct launch_shape shape,
			struct gt_patch_options options)
{
	uint32_t plain[WORDS], memory[WORDS];
	uint64_t none[SLOTS];

	for (unsigned i = 0; i < WORDS; i++)
		plain[i] = memory[i] = i;
	if (!patch_text(patched, text, options) || !patched->result.text.length)
		return false;
	run_kernel(text, "none_", shape, plain, none);
	run_kernel(gt_strbuf_string(&patched->result.text), patched->result.prefix, shape, memory,
		   patched->counts);
	CHECK(!memcmp(plain, memory, sizeof(plain)));
	check_called(patched, text, shape, options, plain);
	return true;
}

#define HEADER ".version 7.8\n.target sm_75\n.address_size 64\n"
#define KERNEL(body)                                                                               \
	HEADER ".visible .entry k(.param .u64 p)\n{\n"                                             \
	       "\t.reg .pred %p<8>;\n\t.reg .b16 %h<4>;\n\t.reg .b32 %r<16>;\n"                    \
	       "\t.reg .f32 %f<8>;\n\t.reg .b64 %rd<16>;\n"                                        \
	       "\tld.param.u64 %rd1, [p];\n\tmov.u32 %r1, %tid.x;\n"                               \
	       "\tmul.wide.u32 %rd2, %r1, 4;\n\tadd.s64 %rd3, %rd1, %rd2;\n" body "}\n"
