/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "patch/spirv.h"

#include <errno.h>
#include <spirv/unified1/spirv.h>
#include <stdlib.h>
#include <string.h>

#include "elf/demangle.h"
#include "gpubpf/spirvgen/wrap.h"
#include "patch/private.h"

#define PROGRAM(n) (UINT64_C(1) << (n))

enum {
	MAX_VALUES = 4,  /* of a site */
	MAX_NUMBER = 12, /* characters */
};

struct spirv_patcher {
	const struct gt_spirv_module *module;
	const struct gt_patch_options *options;
	struct gt_patch_result *result;
	struct gt_translate_options translate;
	uint64_t tested, rejected; /* programs */
	struct gt_diag *diag;
};

/* A program at a site: what gt_spirv_wrap takes, and what that refers to. */
struct placed_program {
	struct gt_translate_job job;
	struct gt_site_value values[MAX_VALUES];
	char numbers[MAX_VALUES][MAX_NUMBER];
};

/* What is inserted into a kernel. */
struct kernel_programs {
	struct placed_program placed[GT_PATCH_MAX_PROGRAMS];
	struct gt_spirv_program programs[GT_PATCH_MAX_PROGRAMS];
	size_t count;
};

static enum gt_spirv_end end_of(const struct spirv_patcher *patcher, uint32_t program)
{
	return gt_spirv_end_of(&patcher->options->programs[program].section);
}

static int fail_memory(struct gt_diag *diag)
{
	return gt_diag(diag, -ENOMEM, "patch", NULL, "out of memory");
}

/* ---- matching ---- */

/* The programs whose section matches a kernel. */
static uint64_t match_kernel(const struct spirv_patcher *patcher, const char *name)
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
			matched |= PROGRAM(i);
	return matched;
}

/* ---- programs at sites ---- */

static int argument_count(const struct gt_spirv_module *module, const struct gt_spirv_entry *entry)
{
	const struct gt_spirv_function *function = gt_spirv_function(module, entry->function);
	int count = 0;

	for (size_t i = function->begin; i < function->end; i++)
		count += module->instructions.items[i].opcode == SpvOpFunctionParameter;
	return count;
}

static void add_value(struct placed_program *placed, enum gt_context_source source, uint32_t number)
{
	uint32_t at = placed->job.value_count++;

	snprintf(placed->numbers[at], MAX_NUMBER, "%u", number);
	placed->values[at] = (struct gt_site_value){
		.source = source,
		.kind = GT_SITE_OPERAND,
		.bits = 32,
		.operand = placed->numbers[at],
	};
}

static void place_program(const struct spirv_patcher *patcher, const struct gt_spirv_entry *entry,
			  uint32_t number, uint32_t kernel, uint32_t site,
			  struct kernel_programs *programs)
{
	const struct gt_patch_options *options = patcher->options;
	const struct gt_patch_program *program = &options->programs[number];
	struct placed_program *placed = &programs->placed[programs->count];

	*placed = (struct placed_program){
		.job = {.program = program->program,
			.facts = program->facts,
			.section = &program->section,
			.values = placed->values},
	};
	add_value(placed, GT_SOURCE_KERNEL, kernel);
	add_value(placed, GT_SOURCE_SITE, site);
	add_value(placed, GT_SOURCE_ARGUMENT_COUNT,
		  (uint32_t)argument_count(patcher->module, entry));
	programs->programs[programs->count++] = (struct gt_spirv_program){
		.object = options->object,
		.job = &placed->job,
		.options = &patcher->translate,
		.switch_address =
			options->switchable ? options->switches + number * sizeof(uint32_t) : 0,
	};
}

/* ---- what is rejected ---- */

/* Why a program cannot be inserted anywhere; 0 or -Exxx with the diag. */
static int test_program(const struct spirv_patcher *patcher, const struct gt_spirv_entry *entry,
			uint32_t number, struct gt_diag *diag)
{
	const struct gt_patch_program *program = &patcher->options->programs[number];
	struct gt_patch_uses uses;
	struct kernel_programs *programs;
	struct gt_spirv_builder builder;
	int error;

	if (!program->program)
		return 0;
	uses = gt_patch_find_uses(program->program, program->facts, &program->section);
	if (uses.arguments || uses.argument_sizes)
		return gt_diag(diag, -EOPNOTSUPP, "patch", NULL,
			       "the arguments of OpenCL kernels are not available");
	programs = calloc(1, sizeof(*programs));
	if (!programs)
		return fail_memory(diag);
	place_program(patcher, entry, number, 0, 0, programs);
	gt_spirv_init_from(&builder, patcher->module);
	error = gt_spirv_wrap(&builder, patcher->module, entry, programs->programs, 1, diag);
	gt_spirv_clear(&builder);
	free(programs);
	return error;
}

static int reject(struct spirv_patcher *patcher, uint32_t program, const char *reason)
{
	struct gt_patch_rejection rejection = {.program = program};

	snprintf(rejection.reason, sizeof(rejection.reason), "%.*s",
		 (int)sizeof(rejection.reason) - 1, reason);
	patcher->rejected |= PROGRAM(program);
	return gt_vec_push(&patcher->result->rejections, rejection);
}

/* Try each program that is new in the kernel on its own. 0 or -ENOMEM. */
static int test_programs(struct spirv_patcher *patcher, const struct gt_spirv_entry *entry,
			 uint64_t matched)
{
	int error = 0;

	for (uint32_t i = 0; i < patcher->options->program_count && !error; i++) {
		struct gt_diag diag = {0};

		if (!(matched & ~patcher->tested & PROGRAM(i)))
			continue;
		patcher->tested |= PROGRAM(i);
		error = test_program(patcher, entry, i, &diag);
		if (error && error != -ENOMEM)
			error = reject(patcher, i, diag.text);
	}
	return error;
}

/* The sites of rejected programs: one for each kernel that they match. */
static void count_rejected(struct spirv_patcher *patcher, uint64_t matched)
{
	struct gt_patch_result *result = patcher->result;

	gt_vec_each (rejection, &result->rejections)
		if (matched & PROGRAM(rejection->program)) {
			rejection->sites++;
			result->rejected++;
			result->found++;
		}
}

/* ---- kernels ---- */

/* The site of an end of a kernel, where one of its programs runs there; else 0, as after -Exxx. */
static int add_site(struct spirv_patcher *patcher, const struct gt_spirv_entry *entry,
		    uint64_t programs, enum gt_spirv_end end, uint32_t *ret_number)
{
	struct gt_patch_result *result = patcher->result;
	struct gt_patch_site site = {
		.function = entry->name,
		.number = patcher->options->first_site + (uint32_t)result->sites.count,
		.after = end == GT_SPIRV_AT_EXIT,
	};

	for (uint32_t i = 0; i < patcher->options->program_count; i++)
		if (programs & PROGRAM(i) && end_of(patcher, i) == end) {
			site.programs |= PROGRAM(i);
			site.kinds |= 1u << patcher->options->programs[i].section.kind;
			result->found++;
			result->patched++;
		}
	*ret_number = site.number;
	return site.programs ? gt_vec_push(&result->sites, site) : 0;
}

static int add_kernel(struct spirv_patcher *patcher, const struct gt_spirv_entry *entry,
		      uint64_t programs, struct gt_patch_kernel *ret_kernel, uint32_t *ret_sites)
{
	struct gt_patch_result *result = patcher->result;
	int error;

	*ret_kernel = (struct gt_patch_kernel){
		.name = entry->name,
		.number = patcher->options->first_kernel + (uint32_t)result->kernels.count,
		.programs = programs,
	};
	error = gt_vec_push(&result->kernels, *ret_kernel);
	if (!error)
		error = add_site(patcher, entry, programs, GT_SPIRV_AT_ENTRY,
				 &ret_sites[GT_SPIRV_AT_ENTRY]);
	if (!error)
		error = add_site(patcher, entry, programs, GT_SPIRV_AT_EXIT,
				 &ret_sites[GT_SPIRV_AT_EXIT]);
	return error;
}

static int wrap_kernel(struct spirv_patcher *patcher, const struct gt_spirv_entry *entry,
		       uint64_t programs, struct gt_spirv_builder *builder)
{
	uint32_t sites[GT_SPIRV_AT_EXIT + 1] = {0};
	struct kernel_programs *placed = calloc(1, sizeof(*placed));
	struct gt_patch_kernel kernel;
	int error = placed ? add_kernel(patcher, entry, programs, &kernel, sites) : -ENOMEM;

	for (uint32_t i = 0; i < patcher->options->program_count && !error; i++)
		if (programs & PROGRAM(i) && patcher->options->programs[i].program)
			place_program(patcher, entry, i, kernel.number, sites[end_of(patcher, i)],
				      placed);
	if (error)
		error = fail_memory(patcher->diag);
	else
		error = gt_spirv_wrap(builder, patcher->module, entry, placed->programs,
				      placed->count, patcher->diag);
	free(placed);
	return error;
}

static int patch_kernels(struct spirv_patcher *patcher, struct gt_spirv_builder *builder)
{
	int error = 0;

	gt_vec_each (entry, &patcher->module->entries) {
		uint64_t matched = match_kernel(patcher, entry->name);

		if (error)
			break;
		if (test_programs(patcher, entry, matched))
			error = fail_memory(patcher->diag);
		count_rejected(patcher, matched);
		matched &= ~patcher->rejected;
		if (matched && !error)
			error = wrap_kernel(patcher, entry, matched, builder);
	}
	return error;
}

int gt_patch_spirv(const void *module, size_t size, bool for_spir,
		   const struct gt_patch_options *options, struct gt_patch_image *ret_image,
		   struct gt_diag *diag)
{
	struct gt_patch_result *result = &ret_image->result;
	struct spirv_patcher patcher = {
		.options = options,
		.result = result,
		.translate = {.symbols = options->symbols,
			      .output_bytes = options->output_bytes,
			      .for_spir = for_spir},
		.diag = diag,
	};
	struct gt_spirv_builder builder;
	int error;

	*ret_image = (struct gt_patch_image){0};
	error = gt_spirv_parse(module, size, &ret_image->spirv, diag);
	if (error)
		return error;
	patcher.module = ret_image->spirv;
	result->module_kernels = (uint32_t)ret_image->spirv->entries.count;
	gt_spirv_init_from(&builder, ret_image->spirv);
	error = patch_kernels(&patcher, &builder);
	if (!error && result->kernels.count) {
		result->scope = GT_PATCH_SIDE;
		result->compiled = result->module_kernels;
		if (gt_spirv_finish(&builder, &ret_image->fatbin))
			error = fail_memory(diag);
	}
	gt_spirv_clear(&builder);
	return error;
}
