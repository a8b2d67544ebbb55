/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* OpenCL kernels from source, with programs that count (patch_probes.h), and a device for them. */
#pragma once

#include <unistd.h>

#include "amount.h"
#include "base/file.h"
#include "opencl/opencl.h"
#include "patch/spirv.h"
#include "patch_probes.h"
#include "temporary.h"

/* A module with programs, and what it counted. */
struct patched_program {
	struct patched_module probes;
	struct gt_patch_image image;
	uint64_t *memory;
	bool switchable;
	uint32_t switches[MAX_PROBES];
	const struct gt_cycle_clock *clock; /* of the device; NULL: none */
	/* Arguments after those of the kernels: a launch's number, the bytes of local memory. */
	uint64_t hidden[2];
	bool has_hidden;
	bool is_spirv; /* for a device that takes SPIR-V, not SPIR */
	unsigned features;
};

static inline void program_clear(struct patched_program *patched)
{
	gt_patch_image_clear(&patched->image);
	patched_clear(&patched->probes);
	free(patched->memory);
}
#define auto_program __attribute__((cleanup(program_clear))) struct patched_program

/* False: the compilers are missing. */
static inline bool compile_kernels(const char *text, struct gt_strbuf *ret_module)
{
	const struct gt_cl_source code = {
		.language = GT_CL_SOURCE, .bytes = text, .size = strlen(text), .options = "-w"};
	const struct gt_cl_compilation compilation = {
		.sources = &code, .count = 1, .directory = -1};
	gt_auto_strbuf log = GT_STRBUF_INIT;
	struct gt_diag diag = {0};
	int error = gt_cl_compile(&compilation, ret_module, &log, &diag);

	if (error && error != -ENOENT)
		TAP_FAIL("%s: %s", diag.text, gt_strbuf_string(&log));
	return !error;
}

/* The module is valid, by the validator of the SPIR-V tools, if they are installed. */
static inline void check_validity_as(const struct gt_strbuf *module, const char *environment)
{
	gt_auto_strbuf command = GT_STRBUF_INIT;
	struct temporary input;
	int file = make_temporary_file(&input);

	CHECK(file >= 0 && !gt_write_all(file, module->data, module->length));
	close(file);
	gt_strbuf_printf(&command, "spirv-val --target-env %s %s", environment, input.path);
	if (!system("command -v spirv-val >/dev/null"))
		CHECK(!system(gt_strbuf_string(&command)));
	unlink(input.path);
}

static inline void check_validity(const struct gt_strbuf *module)
{
	check_validity_as(module, "spv1.0");
}

/* Insert the programs of patched->probes. */
static inline void patch_program(struct patched_program *patched, const struct gt_strbuf *module)
{
	static uint64_t words[1][2] = {{0, 1}};
	static const struct gt_symbol_values symbols = {.maps = (const uint64_t(*)[2])words};
	const struct gt_patch_options options = {
		.object = &object,
		.programs = patched->probes.programs,
		.program_count = patched->probes.count,
		.symbols = &symbols,
		.switchable = patched->switchable,
		.switches = (uintptr_t)patched->switches,
		.first_site = 10,
		.first_kernel = 3,
		.clock = patched->clock,
		.features = patched->features,
	};
	struct gt_diag diag = {0};

	patched->memory = calloc(1, gt_bpf_map_bytes(&maps[0], 1));
	gt_bpf_map_initialise(&maps[0], 1, patched->memory);
	words[0][0] = (uintptr_t)patched->memory;
	if (gt_patch_spirv(module->data, module->length, !patched->is_spirv, &options,
			   &patched->image, &diag))
		TAP_FAIL("%s: %s", diag.place, diag.text);
	CHECK_INT(patched->image.result.found,
		  patched->image.result.patched + patched->image.result.rejected);
	if (patched->image.fatbin.length)
		check_validity_as(&patched->image.fatbin,
				  patched->features & GT_SPIRV_ANY_SUB_GROUPS ? "spv1.3"
									      : "spv1.0");
}

static inline uint64_t count_of(const struct patched_program *patched, unsigned slot)
{
	return patched->memory[slot * gt_bpf_map_stride(8) / sizeof(uint64_t)];
}

static struct gt_cl *cl;

static inline struct gt_cl_device *open_device(void)
{
	struct gt_cl_device *device = NULL;

	if (IS_SANITIZED)
		return NULL;
	setenv("POCL_KERNEL_CACHE", "0", 1);
	if ((!cl && gt_cl_open(&cl, NULL)) || gt_cl_device_open(cl, 0, &device, NULL))
		return NULL;
	return device;
}

#define NO_DEVICE "there is no OpenCL device, or no clang and llvm-spirv of one version"
