/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "patch/spirv.h"

#include <errno.h>
#include <spirv/unified1/spirv.h>
#include <stdlib.h>

#include "elf/demangle.h"
#include "patch/spirv/private.h"
#include "spirv/types.h"

static int fail_memory(struct gt_diag *diag)
{
	return gt_diag(diag, -ENOMEM, "patch", NULL, "out of memory");
}

/* ---- matching ---- */

/* The programs whose section matches a kernel. */
static uint64_t match_kernel(const struct gt_spirv_patcher *patcher, const char *name)
{
	const struct gt_patch_options *options = patcher->options;
	gt_auto_strbuf demangled = GT_STRBUF_INIT;
	uint64_t matched = 0;

	gt_demangle(name, &demangled);
	if (!gt_patch_wants(options, name, gt_strbuf_string(&demangled)))
		return 0;
	for (uint32_t i = 0; i < options->program_count; i++)
		if (!gt_patch_names_functions(&options->programs[i].section) &&
		    gt_section_matches(&options->programs[i].section, name,
				       gt_strbuf_string(&demangled)))
			matched |= GT_SPIRV_PROGRAM(i);
	return matched;
}

/* Match all kernels, and number those that programs match. */
static int match_kernels(struct gt_spirv_patcher *patcher)
{
	struct gt_patch_result *result = patcher->result;
	size_t count = patcher->module->entries.count;
	int error = 0;

	patcher->kernels = calloc(count + 1, sizeof(*patcher->kernels));
	if (!patcher->kernels)
		return -ENOMEM;
	for (size_t i = 0; i < count && !error; i++) {
		const char *name = patcher->module->entries.items[i].name;
		struct gt_spirv_patch_kernel *kernel = &patcher->kernels[i];

		kernel->matched = match_kernel(patcher, name);
		if (!kernel->matched)
			continue;
		kernel->number = patcher->options->first_kernel + (uint32_t)result->kernels.count;
		error = gt_vec_push(&result->kernels,
				    (struct gt_patch_kernel){.name = name,
							     .number = kernel->number,
							     .programs = kernel->matched});
	}
	return error;
}

/* ---- sites ---- */

/* The sites of rejected programs have no program. */
static void count_rejected(struct gt_spirv_patcher *patcher)
{
	struct gt_patch_result *result = patcher->result;

	gt_vec_each (site, &result->sites) {
		uint64_t rejected = site->programs & patcher->rejected;

		gt_vec_each (rejection, &result->rejections)
			if (!rejection->function &&
			    rejected & GT_SPIRV_PROGRAM(rejection->program)) {
				rejection->sites++;
				result->rejected++;
			}
		site->programs &= ~patcher->rejected;
	}
	result->patched = result->found - result->rejected;
}

/* The function that has the code of a kernel. */
static struct gt_spirv_patch_function *find_code(const struct gt_spirv_patcher *patcher,
						 size_t number)
{
	const struct gt_spirv_module *module = patcher->module;
	uint32_t body = patcher->kernels[number].body;
	const struct gt_spirv_function *function =
		gt_spirv_function(module, module->entries.items[number].function);

	return &patcher->functions[body ? body - 1 : function - module->functions.items];
}

/* Those of each kernel in the order of its code, then those of functions that kernels call. */
static int find_all_sites(struct gt_spirv_patcher *patcher)
{
	const struct gt_spirv_module *module = patcher->module;
	int error = 0;

	for (size_t i = 0; i < module->entries.count && !error; i++) {
		struct gt_spirv_patch_function *code = find_code(patcher, i);

		/* A function may have several entry points. */
		if (code->kernel == &module->entries.items[i])
			error = gt_spirv_find_sites(patcher, code);
	}
	for (size_t i = 0; i < module->functions.count && !error; i++)
		if (!patcher->functions[i].kernel)
			error = gt_spirv_find_sites(patcher, &patcher->functions[i]);
	return error;
}

/* ---- the module ---- */

static int write_module(struct gt_spirv_patcher *patcher, struct gt_strbuf *ret_module)
{
	static const uint32_t capabilities[] = {SpvCapabilityAddresses, SpvCapabilityInt64,
						SpvCapabilityInt16, SpvCapabilityInt8};

	for (size_t i = 0; i < gt_countof(capabilities); i++)
		gt_spirv_require(&patcher->builder, capabilities[i]);
	gt_spirv_insert_calls(patcher);
	return gt_spirv_finish(&patcher->builder, ret_module);
}

/* The instruction of the type of the texels that an instruction reads or writes, or NULL. */
static const struct gt_spirv_instruction *texel_type(const struct gt_spirv_module *module,
						     const struct gt_spirv_instruction *one)
{
	switch (one->opcode) {
	case SpvOpImageSampleExplicitLod:
	case SpvOpImageRead:
		return gt_spirv_definition(module, one->words[1]);
	case SpvOpImageWrite:
		return one->count > 3 ? gt_spirv_type_of(module, one->words[3]) : NULL;
	default:
		return NULL;
	}
}

/*
 * Whether the module accesses images of integers. SPIR-V 1.0 does not have their sign, so that
 * llvm-spirv makes read_imagei of read_imageui.
 */
static bool has_integer_images(const struct gt_spirv_module *module)
{
	gt_vec_each (one, &module->instructions) {
		const struct gt_spirv_instruction *type = texel_type(module, one);

		if (type && type->opcode == SpvOpTypeVector)
			type = gt_spirv_definition(module, type->words[2]);
		if (type && type->opcode == SpvOpTypeInt)
			return true;
	}
	return false;
}

static int check_module(const struct gt_spirv_patcher *patcher)
{
	if (patcher->module->address_bits != 64)
		return gt_diag(patcher->diag, -EOPNOTSUPP, "SPIR-V", NULL,
			       "addresses of 32 bits are not supported");
	/* PoCL, whose memory is shared, does not mind. */
	if (patcher->translate.for_spir && patcher->translate.relative &&
	    has_integer_images(patcher->module))
		return gt_diag(patcher->diag, -EOPNOTSUPP, "SPIR-V", NULL,
			       "images of integers lose their sign in SPIR-V 1.0");
	if (patcher->translate.for_spir && gt_spirv_has_generic_events(patcher->module))
		return gt_diag(patcher->diag, -EOPNOTSUPP, "SPIR-V", NULL,
			       "wait_group_events with generic pointers is not supported");
	return 0;
}

/* Find all sites, and what of the programs can be translated. */
static int plan(struct gt_spirv_patcher *patcher)
{
	int error = check_module(patcher);

	patcher->programs =
		calloc(patcher->options->program_count + 1u, sizeof(*patcher->programs));
	patcher->registers = gt_spirv_find_registers(patcher->module);
	if (!patcher->registers || !patcher->programs)
		return -ENOMEM;
	if (!error)
		error = gt_spirv_find_functions(patcher);
	if (!error)
		error = gt_spirv_find_loop_heads(patcher);
	if (!error)
		error = find_all_sites(patcher);
	if (error)
		return error;
	gt_spirv_find_dimensions(patcher);
	gt_spirv_init_from(&patcher->builder, patcher->module);
	/* The module's own functions are written with the calls. */
	patcher->builder.sections[GT_SPIRV_FUNCTIONS].words.count = 0;
	error = gt_spirv_translate_programs(patcher);
	count_rejected(patcher);
	return error;
}

static int patch_module(struct gt_spirv_patcher *patcher, struct gt_strbuf *ret_module)
{
	struct gt_patch_result *result = patcher->result;
	int error = match_kernels(patcher);

	if (error || !result->kernels.count)
		return error;
	error = plan(patcher);
	if (error || !result->patched)
		return error;
	result->scope = GT_PATCH_SIDE;
	result->compiled = result->module_kernels;
	return write_module(patcher, ret_module);
}

static void close_patcher(struct gt_spirv_patcher *patcher)
{
	gt_spirv_clear(&patcher->builder);
	gt_vec_free(&patcher->places);
	gt_vec_free(&patcher->inputs.ids);
	free(patcher->programs);
	free(patcher->functions);
	free(patcher->registers);
	free(patcher->loop_heads);
	free(patcher->kernels);
}

int gt_patch_spirv(const void *module, size_t size, bool for_spir,
		   const struct gt_patch_options *options, struct gt_patch_image *ret_image,
		   struct gt_diag *diag)
{
	struct gt_patch_result *result = &ret_image->result;
	struct gt_spirv_patcher patcher = {
		.options = options,
		.result = result,
		.translate = {.symbols = options->symbols,
			      .output_bytes = options->output_bytes,
			      .for_spir = for_spir,
			      .relative = options->relative,
			      .features = options->features,
			      .clock = options->clock,
			      .clock_address = options->clock_address},
		.diag = diag,
	};
	int error;

	*ret_image = (struct gt_patch_image){0};
	error = gt_spirv_parse(module, size, &ret_image->spirv, diag);
	if (error)
		return error;
	patcher.module = ret_image->spirv;
	result->module_kernels = (uint32_t)ret_image->spirv->entries.count;
	result->by_work_item = !(options->features & GT_SPIRV_SUB_GROUPS);
	error = patch_module(&patcher, &ret_image->fatbin);
	close_patcher(&patcher);
	return error == -ENOMEM ? fail_memory(diag) : error;
}
