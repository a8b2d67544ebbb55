/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The functions of programs in kernels that others made. */
#include "gpubpf/spirvgen/program.h"

#include <ctype.h>
#include <errno.h>
#include <spirv/unified1/spirv.h>
#include <string.h>

#include "gpubpf/helpers.h"
#include "gpubpf/section.h"
#include "gpubpf/spirvgen/private.h"

enum {
	MAX_PARAMETERS = GT_PTXGEN_SELECT_VALUES + 2, /* of the function of a program */
};

/* ---- sections ---- */

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

bool gt_spirv_has_condition(const struct gt_section *section)
{
	return section->kind == GT_KIND_LOOP || section->kind == GT_KIND_LOOP_END;
}

bool gt_spirv_ends_items(const struct gt_spirv_program *program)
{
	const struct gt_translate_job *job = program->job;

	return gt_spirv_end_of(job->section) != GT_SPIRV_NOWHERE &&
	       gt_helpers_used(job->program, job->facts, GT_TRAIT_ENDS);
}

/* ---- lowering ---- */

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
	uint32_t word = gt_spirvgen_load_shared(gen, address, 32);

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

/* Lower a program that is selected. `over` is the block after it. */
static int lower_selected(struct gt_spirvgen *gen, const struct gt_spirv_program *program,
			  uint32_t over)
{
	const struct gt_section *section = program->job->section;
	int error = gt_spirvgen_open_tables(gen);

	if (error)
		return error;
	gt_spirvgen_begin_block(gen, gt_spirv_id(gen->builder));
	gt_spirvgen_declare_local(gen);
	if (section->level == GT_LEVEL_BLOCK)
		begin_block_if(
			gen, emit_runs_for_block(gen, gt_spirv_end_of(section) == GT_SPIRV_AT_EXIT),
			over);
	if (program->switch_address)
		begin_block_if(gen, emit_is_on(gen, program->switch_address), over);
	gt_spirvgen_lower_rows(gen);
	gt_spirvgen_begin_block(gen, over);
	return gen->error;
}

static int select_and_lower(struct gt_spirvgen *gen, const struct gt_spirv_program *program,
			    uint32_t over)
{
	struct gt_translate_options options = *program->options;
	struct gt_ptxgen_selection selection = {0};
	int error;

	options.form = GT_FORM_SPLICE;
	error = gt_ptxgen_select(&options, program->object, program->job, &selection, gen->diag);
	gen->options = &options;
	gen->object = program->object;
	gen->selection = &selection;
	if (!error)
		error = lower_selected(gen, program, over);
	gt_spirvgen_close_tables(gen);
	gen->selection = NULL;
	gen->options = program->options;
	gt_ptxgen_selection_clear(&selection);
	return error;
}

/* ---- functions ---- */

/* Whether a value of a job is a parameter of the function: its operand is a name. */
static bool is_parameter(const struct gt_site_value *value)
{
	return isalpha((unsigned char)*value->operand);
}

static uint32_t add_parameter(struct gt_spirv_builder *builder, uint32_t type)
{
	uint32_t id = gt_spirv_id(builder);

	gt_spirv_emit(&builder->sections[GT_SPIRV_FUNCTIONS], SpvOpFunctionParameter, type, id);
	return id;
}

/*
 * Add the function's head. *ret_condition, *ret_base: a parameter, or 0; values: ids of the
 * parameters.
 */
static uint32_t add_head(struct gt_spirv_builder *builder, const struct gt_spirv_program *program,
			 uint32_t *ret_condition, uint32_t *values, uint32_t *ret_base)
{
	const struct gt_translate_job *job = program->job;
	struct gt_spirv_words *functions = &builder->sections[GT_SPIRV_FUNCTIONS];
	uint32_t result = gt_spirv_ends_items(program) ? gt_spirv_type_bool(builder)
						       : gt_spirv_type_void(builder);
	uint32_t types[MAX_PARAMETERS + 1] = {result}, function, type, count = 1;
	bool is_conditional = gt_spirv_has_condition(job->section);

	if (is_conditional)
		types[count++] = gt_spirv_type_bool(builder);
	for (uint32_t i = 0; i < job->value_count; i++)
		if (is_parameter(&job->values[i]))
			types[count++] = gt_spirv_type_int(builder, job->values[i].bits);
	if (program->options->relative)
		types[count++] = gt_spirv_type_int(builder, 64);
	type = gt_spirv_global(builder, SpvOpTypeFunction, 0, types, count);
	function = gt_spirv_id(builder);
	/* PoCL has built-in values in kernels alone. */
	gt_spirv_emit(functions, SpvOpFunction, result, function,
		      program->options->for_spir ? SpvFunctionControlInlineMask
						 : SpvFunctionControlMaskNone,
		      type);
	*ret_condition = is_conditional ? add_parameter(builder, types[1]) : 0;
	for (uint32_t i = 0; i < job->value_count; i++)
		if (is_parameter(&job->values[i]))
			values[i] = add_parameter(builder,
						  gt_spirv_type_int(builder, job->values[i].bits));
	*ret_base = program->options->relative ? add_parameter(builder, types[count - 1]) : 0;
	return function;
}

/* The lanes of the group that take a branch; `taken` is 1 where this one does. */
static uint32_t emit_taken_mask(struct gt_spirvgen *gen, uint32_t taken)
{
	if (!gt_spirvgen_has_sub_groups(gen))
		return gt_spirvgen_binary(gen, SpvOpIMul, 32, taken,
					  gt_spirvgen_special(gen, "%lanemask_eq", 32));
	taken = gt_spirvgen_emit(gen, SpvOpINotEqual, gt_spirv_type_bool(gen->builder), taken,
				 gt_spirvgen_constant(gen, 32, 0));
	return gt_spirvgen_ballot(gen, taken);
}

/* Masks are those of the lanes that are active here: later, the leader of a group may be alone. */
static void emit_masks(struct gt_spirvgen *gen, uint32_t *values)
{
	for (uint32_t i = 0; i < gen->job->value_count; i++) {
		const struct gt_site_value *value = &gen->job->values[i];

		if (values[i] && value->source == GT_SOURCE_TAKEN_MASK)
			values[i] = emit_taken_mask(gen, values[i]);
		else if (!strcmp(value->operand, GT_SPIRV_ACTIVE_MASK))
			values[i] = gt_spirvgen_active_lanes(gen);
	}
}

/* The blocks of the function. */
static int add_body(struct gt_spirvgen *gen, const struct gt_spirv_program *program,
		    uint32_t condition, uint32_t *values)
{
	uint32_t over = gt_spirv_id(gen->builder);
	int error;

	gt_spirvgen_begin_block(gen, gt_spirv_id(gen->builder));
	if (condition)
		begin_block_if(gen, condition, over);
	emit_masks(gen, values);
	error = select_and_lower(gen, program, over);
	if (error)
		return error;
	if (gt_spirv_ends_items(program))
		gt_spirvgen_return_value(gen, gt_spirv_bool(gen->builder, false));
	else
		gt_spirvgen_return(gen);
	error = gt_spirvgen_add_blocks(gen);
	gt_spirv_add(&gen->builder->sections[GT_SPIRV_FUNCTIONS], SpvOpFunctionEnd, NULL, 0);
	return error;
}

int gt_spirv_add_input(struct gt_spirv_inputs *inputs, uint32_t variable)
{
	gt_vec_each (known, &inputs->ids)
		if (*known == variable)
			return 0;
	return gt_vec_push(&inputs->ids, variable);
}

static int add_inputs(const struct gt_spirvgen *gen, struct gt_spirv_inputs *inputs)
{
	int error = 0;

	gt_vec_each (variable, &gen->interface)
		if (!error)
			error = gt_spirv_add_input(inputs, *variable);
	return error;
}

int gt_spirv_add_program(struct gt_spirv_builder *builder, const struct gt_spirv_program *program,
			 uint32_t *ret_function, struct gt_spirv_inputs *inputs,
			 struct gt_diag *diag)
{
	size_t words = builder->sections[GT_SPIRV_FUNCTIONS].words.count;
	uint32_t values[GT_PTXGEN_SELECT_VALUES] = {0}, condition, function;
	struct gt_spirvgen gen = {
		.builder = builder,
		.options = program->options,
		.job = program->job,
		.diag = diag,
		.site_values = values,
		.is_called = true,
		.in_body = gt_spirv_end_of(program->job->section) == GT_SPIRV_NOWHERE,
	};
	int error;

	if (program->job->value_count > GT_PTXGEN_SELECT_VALUES)
		return gt_diag(diag, -E2BIG, "translate", NULL, "too many values");
	function = add_head(builder, program, &condition, values, &gen.base);
	error = add_body(&gen, program, condition, values);
	if (!error && (gen.code.failed || gen.variables.failed || builder->failed))
		error = -ENOMEM;
	if (!error)
		error = add_inputs(&gen, inputs);
	if (error == -ENOMEM)
		gt_diag(diag, error, "translate", NULL, "out of memory");
	gt_spirvgen_clear(&gen);
	if (error)
		builder->sections[GT_SPIRV_FUNCTIONS].words.count = words;
	else
		*ret_function = function;
	return error;
}
