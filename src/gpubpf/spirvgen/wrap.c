/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "gpubpf/spirvgen/wrap.h"

#include <errno.h>
#include <spirv/unified1/spirv.h>
#include <stdlib.h>
#include <string.h>

#include "gpubpf/section.h"
#include "gpubpf/spirvgen/private.h"

enum {
	MAX_PARAMETERS = 1024, /* of a kernel */
};

/* A kernel that is wrapped. */
struct wrapped_kernel {
	struct gt_spirvgen gen;
	const struct gt_spirv_module *module;
	const struct gt_spirv_entry *entry;
	const struct gt_spirv_function *function;
	uint32_t wrapper;
	uint32_t body; /* another function that had the kernel's name; 0: none */
	uint32_t parameters[MAX_PARAMETERS], own_parameters[MAX_PARAMETERS]; /* ids */
	unsigned parameter_count;
};

/* ---- the programs ---- */

enum gt_spirv_end gt_spirv_end_of(const struct gt_section *section)
{
	switch (section->kind) {
	case GT_KIND_ENTRY:
	case GT_KIND_BLOCK_BEGIN:
		return GT_SPIRV_AT_ENTRY;
	case GT_KIND_EXIT:
	case GT_KIND_FINISH:
	case GT_KIND_BLOCK_END:
		return GT_SPIRV_AT_EXIT;
	default:
		return GT_SPIRV_NOWHERE;
	}
}

static bool is_at_exit(const struct gt_spirv_program *program)
{
	return gt_spirv_end_of(program->job->section) == GT_SPIRV_AT_EXIT;
}

static int check_program(const struct gt_spirv_program *program, struct gt_diag *diag)
{
	const struct gt_section *section = program->job->section;

	if (section && gt_spirv_end_of(section) != GT_SPIRV_NOWHERE)
		return 0;
	return gt_diag(diag, -EOPNOTSUPP, "translate", section ? section->text : NULL,
		       "programs run at the entry and exit of OpenCL kernels only");
}

/* A condition: this work-item runs a program of the level block. */
static uint32_t emit_runs_for_block(struct gt_spirvgen *gen, bool at_exit)
{
	uint32_t wide = gt_spirvgen_int(gen, 64), wanted = gt_spirvgen_constant(gen, 64, 0);

	if (at_exit)
		wanted = gt_spirvgen_emit(gen, SpvOpISub, wide, gt_spirvgen_local_size(gen),
					  gt_spirvgen_constant(gen, 64, 1));
	return gt_spirvgen_emit(gen, SpvOpIEqual, gt_spirv_type_bool(gen->builder),
				gt_spirvgen_local_index(gen), wanted);
}

/* A condition: the program is switched on. */
static uint32_t emit_is_on(struct gt_spirvgen *gen, uint64_t address)
{
	uint32_t word = gt_spirvgen_load_shared(gen, address);

	return gt_spirvgen_emit(gen, SpvOpINotEqual, gt_spirv_type_bool(gen->builder), word,
				gt_spirvgen_constant(gen, 32, 0));
}

/* Continue where a condition holds, else at `over`. */
static void begin_block_if(struct gt_spirvgen *gen, uint32_t condition, uint32_t over)
{
	uint32_t runs = gt_spirv_id(gen->builder);

	gt_spirvgen_branch_if(gen, condition, runs, over);
	gt_spirvgen_begin_block(gen, runs);
}

/* Lower a program that is selected; its registers and labels are its own. */
static int lower_selected(struct gt_spirvgen *gen, const struct gt_spirv_program *program,
			  uint32_t over)
{
	int error = gt_spirvgen_open_tables(gen);

	if (error)
		return error;
	gt_spirvgen_begin_block(gen, gt_spirv_id(gen->builder));
	gt_spirvgen_declare_local(gen);
	if (program->job->section->level == GT_LEVEL_BLOCK)
		begin_block_if(gen, emit_runs_for_block(gen, is_at_exit(program)), over);
	if (program->switch_address)
		begin_block_if(gen, emit_is_on(gen, program->switch_address), over);
	gt_spirvgen_lower_rows(gen);
	gt_spirvgen_begin_block(gen, over);
	return gen->error;
}

static int add_program(struct wrapped_kernel *kernel, const struct gt_spirv_program *program)
{
	struct gt_translate_options options = *program->options;
	struct gt_ptxgen_selection selection = {0};
	struct gt_spirvgen *gen = &kernel->gen;
	int error;

	options.form = GT_FORM_SPLICE;
	error = gt_ptxgen_select(&options, program->object, program->job, &selection, gen->diag);
	gen->options = &options;
	gen->object = program->object;
	gen->job = program->job;
	gen->selection = &selection;
	if (!error)
		error = lower_selected(gen, program, gt_spirv_id(gen->builder));
	gt_spirvgen_close_tables(gen);
	gen->selection = NULL;
	gt_ptxgen_selection_clear(&selection);
	return error;
}

static int add_programs(struct wrapped_kernel *kernel, const struct gt_spirv_program *programs,
			size_t count, bool at_exit)
{
	int error = 0;

	for (size_t i = 0; !error && i < count; i++)
		if (is_at_exit(&programs[i]) == at_exit)
			error = add_program(kernel, &programs[i]);
	return error;
}

/* ---- the function ---- */

static int find_kernel_function(struct wrapped_kernel *kernel)
{
	const struct gt_spirv_module *module = kernel->module;
	const struct gt_spirv_function *function =
		gt_spirv_function(module, kernel->entry->function);

	kernel->function = function;
	for (size_t i = function->begin + 1; i < function->end; i++) {
		const struct gt_spirv_instruction *one = &module->instructions.items[i];

		if (one->opcode == SpvOpLabel)
			return 0;
		if (one->opcode != SpvOpFunctionParameter)
			continue;
		if (one->count != 3 || kernel->parameter_count == MAX_PARAMETERS)
			break;
		kernel->parameters[kernel->parameter_count++] = one->words[2];
	}
	return gt_diag(kernel->gen.diag, -EINVAL, "SPIR-V", kernel->entry->name,
		       "the parameters of the kernel are malformed, or more than %d",
		       MAX_PARAMETERS);
}

/* Add the wrapper's head; its type and parameters are those of the kernel. */
static void add_wrapper_head(struct wrapped_kernel *kernel)
{
	const struct gt_spirv_instruction *items = kernel->module->instructions.items;
	const uint32_t *original = items[kernel->function->begin].words;
	struct gt_spirv_builder *builder = kernel->gen.builder;
	struct gt_spirv_words *functions = &builder->sections[GT_SPIRV_FUNCTIONS];

	kernel->wrapper = gt_spirv_id(builder);
	gt_spirv_emit(functions, SpvOpFunction, original[1], kernel->wrapper, original[3],
		      original[4]);
	for (unsigned i = 0; i < kernel->parameter_count; i++) {
		uint32_t type =
			gt_spirv_definition(kernel->module, kernel->parameters[i])->words[1];

		kernel->own_parameters[i] = gt_spirv_id(builder);
		gt_spirv_emit(functions, SpvOpFunctionParameter, type, kernel->own_parameters[i]);
	}
}

static void add_call(struct wrapped_kernel *kernel)
{
	const struct gt_spirv_instruction *items = kernel->module->instructions.items;
	uint32_t words[MAX_PARAMETERS + 3] = {items[kernel->function->begin].words[1],
					      gt_spirv_id(kernel->gen.builder),
					      kernel->function->id};

	memcpy(words + 3, kernel->own_parameters,
	       kernel->parameter_count * sizeof(*kernel->own_parameters));
	gt_spirv_add(&kernel->gen.code, SpvOpFunctionCall, words, kernel->parameter_count + 3);
}

/* ---- what refers to the kernel ---- */

/* The id that takes over from one of the kernel: the function, or a parameter. 0: none does. */
static uint32_t successor_of(const struct wrapped_kernel *kernel, uint32_t id)
{
	if (id == kernel->function->id)
		return kernel->wrapper;
	for (unsigned i = 0; i < kernel->parameter_count; i++)
		if (id == kernel->parameters[i])
			return kernel->own_parameters[i];
	return 0;
}

/* The entry point, with the input variables that the programs use. */
static void add_entry_point(struct wrapped_kernel *kernel,
			    const struct gt_spirv_instruction *original,
			    struct gt_spirv_words *section)
{
	size_t fixed = 2 + strlen(kernel->entry->name) / 4 + 1, count = original->count - 1u;
	uint32_t words[UINT16_MAX];

	memcpy(words, original->words + 1, count * sizeof(*words));
	words[1] = kernel->wrapper;
	gt_vec_each (variable, &kernel->gen.interface) {
		bool known = false;

		for (size_t i = fixed; i < count; i++)
			known |= words[i] == *variable;
		if (!known && count + 1 < UINT16_MAX)
			words[count++] = *variable;
	}
	gt_spirv_add(section, SpvOpEntryPoint, words, count);
}

/*
 * Whether an instruction gives the kernel's name to a function. LLVM's compiler has the kernel's
 * code in a function of that name, which is exported, beside that of the entry point; its reader
 * takes a function with the name of an entry point for it, and would skip the wrapper.
 */
static bool has_kernel_name(const struct wrapped_kernel *kernel,
			    const struct gt_spirv_instruction *one)
{
	bool is_linkage = one->opcode == SpvOpDecorate && one->count > 3 &&
			  one->words[2] == SpvDecorationLinkageAttributes;
	unsigned at = is_linkage ? 3 : 2;
	size_t size = strlen(kernel->entry->name) + 1;

	if ((one->opcode != SpvOpName && !is_linkage) || one->count <= at)
		return false;
	return (one->count - at) * sizeof(uint32_t) >= size &&
	       !memcmp(one->words + at, kernel->entry->name, size);
}

/* Whether an instruction, whose first operand is of the kernel, stays with it as well. */
static bool stays(const struct gt_spirv_instruction *one)
{
	switch (one->opcode) {
	case SpvOpName:
	case SpvOpExecutionMode:
	case SpvOpExecutionModeId:
		return false;
	default:
		return true;
	}
}

/* Write a section again: what is said of the kernel is said of the wrapper. */
static void rewrite_section(struct wrapped_kernel *kernel, enum gt_spirv_section section)
{
	struct gt_spirv_words *words = &kernel->gen.builder->sections[section], old = *words;
	size_t at = 0;

	*words = (struct gt_spirv_words){0};
	while (at < old.words.count) {
		struct gt_spirv_instruction one = {.words = old.words.items + at};
		uint32_t copy[UINT16_MAX], successor;

		one.opcode = (uint16_t)(one.words[0] & SpvOpCodeMask);
		one.count = (uint16_t)(one.words[0] >> SpvWordCountShift);
		at += one.count;
		if (has_kernel_name(kernel, &one)) {
			if (one.words[1] != kernel->function->id)
				kernel->body = one.words[1];
			continue;
		}
		if (one.opcode == SpvOpEntryPoint && one.words[2] == kernel->function->id) {
			add_entry_point(kernel, &one, words);
			continue;
		}
		successor = one.count > 1 && one.opcode != SpvOpEntryPoint
				    ? successor_of(kernel, one.words[1])
				    : 0;
		if (!successor || stays(&one))
			gt_spirv_add(words, one.opcode, one.words + 1, one.count - 1u);
		if (!successor)
			continue;
		memcpy(copy, one.words + 1, (one.count - 1u) * sizeof(*copy));
		copy[0] = successor;
		gt_spirv_add(words, one.opcode, copy, one.count - 1u);
	}
	words->failed |= old.failed;
	gt_spirv_words_clear(&old);
}

/*
 * The functions of the kernel's own code become part of the wrapper: PoCL supports built-in values
 * and barriers in kernels alone.
 */
static void inline_kernel(struct wrapped_kernel *kernel)
{
	struct gt_spirv_words *words = &kernel->gen.builder->sections[GT_SPIRV_FUNCTIONS];
	uint32_t *items = words->words.items;

	for (size_t at = 0; at < words->words.count; at += items[at] >> SpvWordCountShift) {
		if ((items[at] & SpvOpCodeMask) != SpvOpFunction ||
		    (items[at + 2] != kernel->function->id && items[at + 2] != kernel->body))
			continue;
		items[at + 3] &= ~(uint32_t)SpvFunctionControlDontInlineMask;
		items[at + 3] |= SpvFunctionControlInlineMask;
	}
}

/* ---- all of it ---- */

static int add_wrapper(struct wrapped_kernel *kernel, const struct gt_spirv_program *programs,
		       size_t count)
{
	struct gt_spirvgen *gen = &kernel->gen;
	int error = find_kernel_function(kernel);

	if (error)
		return error;
	add_wrapper_head(kernel);
	gt_spirvgen_begin_block(gen, gt_spirv_id(gen->builder));
	error = add_programs(kernel, programs, count, false);
	if (error)
		return error;
	add_call(kernel);
	error = add_programs(kernel, programs, count, true);
	if (error)
		return error;
	gt_spirvgen_return(gen);
	error = gt_spirvgen_add_blocks(gen);
	gt_spirv_add(&gen->builder->sections[GT_SPIRV_FUNCTIONS], SpvOpFunctionEnd, NULL, 0);
	rewrite_section(kernel, GT_SPIRV_ENTRY_POINTS);
	rewrite_section(kernel, GT_SPIRV_MODES);
	rewrite_section(kernel, GT_SPIRV_DEBUG);
	gt_spirv_add_string(&gen->builder->sections[GT_SPIRV_DEBUG], SpvOpName, &kernel->wrapper, 1,
			    kernel->entry->name, NULL, 0);
	rewrite_section(kernel, GT_SPIRV_DECORATIONS);
	if (!error)
		inline_kernel(kernel);
	return error ? error : gen->code.failed || gen->variables.failed ? -ENOMEM : 0;
}

int gt_spirv_wrap(struct gt_spirv_builder *builder, const struct gt_spirv_module *module,
		  const struct gt_spirv_entry *entry, const struct gt_spirv_program *programs,
		  size_t count, struct gt_diag *diag)
{
	static const uint32_t capabilities[] = {SpvCapabilityAddresses, SpvCapabilityInt64,
						SpvCapabilityInt16, SpvCapabilityInt8};
	struct wrapped_kernel *kernel = calloc(1, sizeof(*kernel));
	int error = 0;

	if (!kernel)
		return gt_diag(diag, -ENOMEM, "translate", NULL, "out of memory");
	for (size_t i = 0; i < gt_countof(capabilities); i++)
		gt_spirv_require(builder, capabilities[i]);
	kernel->gen.builder = builder;
	kernel->gen.diag = diag;
	kernel->module = module;
	kernel->entry = entry;
	for (size_t i = 0; !error && i < count; i++)
		error = check_program(&programs[i], diag);
	if (!error && module->address_bits != 64)
		error = gt_diag(diag, -EOPNOTSUPP, "SPIR-V", entry->name,
				"addresses of 32 bits are not supported");
	if (!error)
		error = add_wrapper(kernel, programs, count);
	if (error == -ENOMEM)
		gt_diag(diag, error, "translate", NULL, "out of memory");
	gt_spirvgen_clear(&kernel->gen);
	free(kernel);
	return error;
}
