/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls of programs at their sites. A site adds instructions to its block: those that make the
 * values of the context, and a call for each program. Branches at the heads of loops (edges.c) have
 * both in blocks on their edges.
 */
#include <errno.h>
#include <spirv/unified1/spirv.h>
#include <stdlib.h>
#include <string.h>

#include "patch/spirv/private.h"

#define SOURCE(name) (UINT64_C(1) << GT_SOURCE_##name)

/* ---- translation ---- */

/* The programs of all sites, translated or not. */
static uint64_t programs_with_places(const struct gt_spirv_patcher *patcher)
{
	uint64_t programs = 0;

	gt_vec_each (place, &patcher->places)
		programs |= patcher->result->sites.items[place->site].programs;
	return programs;
}

/*
 * The values of the launch are parameters of kernels. An OpenCL device does not number its compute
 * units: GPUTAP_SM_UNKNOWN.
 */
static const struct gt_site_value launch_values[] = {
	{.source = GT_SOURCE_LAUNCH, .bits = 64, .operand = "launch"},
	{.source = GT_SOURCE_SHARED_SIZE, .bits = 64, .operand = "local_size"},
};
static const struct gt_site_value unknown_sm = {
	.source = GT_SOURCE_SM, .bits = 32, .operand = "1023"};
_Static_assert(GT_MAX_SM == 1023, "the operand of an unknown SM");

/*
 * The group of a program of the level warp: the active lanes of the sub-group. Without sub-groups,
 * each lane alone in bodies, and at the ends of kernels all lanes of the warp (NULL).
 */
static const char *group_of(const struct gt_spirv_patcher *patcher,
			    const struct gt_section *section)
{
	if (patcher->translate.features & GT_SPIRV_SUB_GROUPS)
		return GT_SPIRV_ACTIVE_MASK;
	return gt_spirv_end_of(section) == GT_SPIRV_NOWHERE ? "%lanemask_eq" : NULL;
}

static void prepare_job(const struct gt_spirv_patcher *patcher, uint32_t number)
{
	const struct gt_patch_program *program = &patcher->options->programs[number];
	struct gt_spirv_patch_program *prepared = &patcher->programs[number];
	uint64_t sources;
	uint32_t count;

	prepared->uses = gt_patch_find_uses(program->program, program->facts, &program->section);
	sources = prepared->uses.sources;
	gt_patch_list_values("", prepared->uses, &prepared->values);
	count = prepared->values.count;
	for (uint32_t i = 0; i < count; i++)
		prepared->items[i] = prepared->values.items[i];
	for (size_t i = 0; i < gt_countof(launch_values); i++)
		if (sources >> launch_values[i].source & 1)
			prepared->items[count++] = launch_values[i];
	prepared->argument_count = count;
	if (sources & SOURCE(SM))
		prepared->items[count++] = unknown_sm;
	if (program->section.level == GT_LEVEL_WARP && group_of(patcher, &program->section))
		prepared->items[count++] =
			(struct gt_site_value){.source = GT_SOURCE_MASK,
					       .bits = 32,
					       .operand = group_of(patcher, &program->section)};
	prepared->job = (struct gt_translate_job){
		.program = program->program,
		.facts = program->facts,
		.section = &program->section,
		.values = prepared->items,
		.value_count = count,
	};
}

static int translate_program(struct gt_spirv_patcher *patcher, uint32_t number,
			     struct gt_diag *diag)
{
	const struct gt_patch_options *options = patcher->options;
	struct gt_spirv_patch_program *prepared = &patcher->programs[number];
	struct gt_spirv_program program = {
		.object = options->object,
		.job = &prepared->job,
		.options = &patcher->translate,
		.switch_address =
			options->switchable ? options->switches + number * sizeof(uint32_t) : 0,
	};

	prepare_job(patcher, number);
	if (prepared->uses.sources & SOURCE(CYCLES))
		return gt_diag(diag, -EOPNOTSUPP, "translate", NULL,
			       "the target spirv does not have the cycles of an instruction");
	prepared->ends_items = gt_spirv_ends_items(&program);
	return gt_spirv_add_program(&patcher->builder, &program, &prepared->function,
				    &patcher->inputs, diag);
}

/* Reject a program everywhere; its sites are counted later. */
static int reject_program(struct gt_spirv_patcher *patcher, uint32_t program, const char *reason)
{
	struct gt_patch_rejection rejection = {.program = program};

	snprintf(rejection.reason, sizeof(rejection.reason), "%.*s",
		 (int)sizeof(rejection.reason) - 1, reason);
	patcher->rejected |= GT_SPIRV_PROGRAM(program);
	return gt_vec_push(&patcher->result->rejections, rejection);
}

int gt_spirv_translate_programs(struct gt_spirv_patcher *patcher)
{
	uint64_t programs = programs_with_places(patcher);
	int error = 0;

	for (; programs && !error; programs &= programs - 1) {
		uint32_t number = (uint32_t)__builtin_ctzll(programs);
		struct gt_diag diag = {0};

		if (!patcher->options->programs[number].program)
			continue;
		error = translate_program(patcher, number, &diag);
		if (error && error != -ENOMEM)
			error = reject_program(patcher, number, diag.text);
		else if (patcher->translate.relative ||
			 patcher->programs[number].uses.sources &
				 (SOURCE(LAUNCH) | SOURCE(SHARED_SIZE)))
			patcher->launched |= GT_SPIRV_PROGRAM(number);
	}
	return error;
}

/* Whether the patcher accepts programs of a kind. */
static bool is_accepted(enum gt_section_kind kind)
{
	return kind != GT_KIND_CALL && kind != GT_KIND_RETURN && kind != GT_KIND_LINE &&
	       kind != GT_KIND_LOOP_END && kind != GT_KIND_COPY && kind != GT_KIND_BASIC_BLOCK;
}

int gt_patch_spirv_check(const struct gt_patch_options *options, uint32_t program,
			 struct gt_diag *diag)
{
	struct gt_spirv_patcher patcher = {
		.options = options,
		.translate = {.symbols = options->symbols,
			      .output_bytes = options->output_bytes,
			      .features = options->features,
			      .clock = options->clock,
			      .clock_address = options->clock_address},
		.diag = diag,
	};
	const struct gt_section *section = &options->programs[program].section;
	int error;

	if (!is_accepted(section->kind))
		return gt_diag(diag, -EOPNOTSUPP, "patch", NULL, "%s is for CUDA kernels alone",
			       section->text);
	patcher.programs = calloc(options->program_count, sizeof(*patcher.programs));
	if (!patcher.programs)
		return gt_diag(diag, -ENOMEM, "patch", NULL, "out of memory");
	gt_spirv_init(&patcher.builder);
	error = translate_program(&patcher, program, diag);
	gt_spirv_clear(&patcher.builder);
	gt_vec_free(&patcher.inputs.ids);
	free(patcher.programs);
	return error;
}

/* ---- calls ---- */

/* The condition on which a program at the end of a loop's pass runs. */
static uint32_t put_condition(const struct gt_spirv_value_site *at, size_t instruction)
{
	struct gt_spirv_builder *builder = &at->patcher->builder;
	uint32_t condition, id;
	bool is_inverse;

	gt_spirv_leads_back(at->patcher, instruction, &condition, &is_inverse);
	if (!condition)
		return gt_spirv_bool(builder, true);
	if (!is_inverse)
		return condition;
	id = gt_spirv_id(builder);
	gt_spirv_emit(at->words, SpvOpLogicalNot, gt_spirv_type_bool(builder), id, condition);
	return id;
}

/* Return where the function of a program says so. */
static void put_return(const struct gt_spirv_value_site *at, uint32_t condition)
{
	struct gt_spirv_builder *builder = &at->patcher->builder;
	uint32_t ends = gt_spirv_id(builder), goes_on = gt_spirv_id(builder);

	gt_spirv_emit(at->words, SpvOpBranchConditional, condition, ends, goes_on);
	gt_spirv_emit(at->words, SpvOpLabel, ends);
	gt_spirv_add(at->words, SpvOpReturn, NULL, 0);
	gt_spirv_emit(at->words, SpvOpLabel, goes_on);
}

static void put_call(struct gt_spirv_value_site *at, const struct gt_spirv_place *place,
		     uint32_t number)
{
	const struct gt_spirv_patch_program *program = &at->patcher->programs[number];
	struct gt_spirv_builder *builder = &at->patcher->builder;
	uint32_t words[GT_PATCH_MAX_VALUES + GT_SPIRV_MORE_VALUES + 5], count = 3;

	if (gt_spirv_has_condition(program->job.section))
		words[count++] = put_condition(at, place->instruction);
	for (uint32_t i = 0; i < program->argument_count; i++)
		words[count++] = gt_spirv_put_source(at, &program->items[i]);
	if (at->patcher->translate.relative)
		words[count++] = gt_spirv_put_shared(at->patcher, at->function, at->words);
	words[0] = program->ends_items ? gt_spirv_type_bool(builder) : gt_spirv_type_void(builder);
	words[1] = gt_spirv_id(builder);
	words[2] = program->function;
	gt_spirv_add(at->words, SpvOpFunctionCall, words, count);
	if (program->ends_items)
		put_return(at, words[1]);
}

/* taken: the id of whether the branch is taken, where that is known; else 0. */
static void put_site(struct gt_spirv_patcher *patcher,
		     const struct gt_spirv_patch_function *function,
		     const struct gt_spirv_place *place, uint32_t taken,
		     struct gt_spirv_words *words)
{
	struct gt_spirv_value_site at = {
		.patcher = patcher,
		.words = words,
		.function = function,
		.site = &patcher->result->sites.items[place->site],
		.known = {[GT_SOURCE_TAKEN] = taken, [GT_SOURCE_TAKEN_MASK] = taken},
	};

	if (place->instruction != GT_SPIRV_NO_INSTRUCTION) {
		at.instruction = &patcher->module->instructions.items[place->instruction];
		at.has_access = !gt_spirv_read_access(patcher->module, at.instruction, &at.access);
	}
	for (uint64_t rest = at.site->programs; rest; rest &= rest - 1) {
		uint32_t number = (uint32_t)__builtin_ctzll(rest);

		if (patcher->programs[number].function)
			put_call(&at, place, number);
	}
}

/* Write a branch again, with the calls in a block between it and each of its targets. */
static void put_edges(struct gt_spirv_patcher *patcher,
		      const struct gt_spirv_patch_function *function,
		      const struct gt_spirv_place *place, struct gt_spirv_words *words)
{
	const struct gt_spirv_instruction *branch =
		&patcher->module->instructions.items[place->instruction];
	uint32_t edges[2] = {gt_spirv_id(&patcher->builder), gt_spirv_id(&patcher->builder)};

	gt_spirv_add_more(words, branch->opcode, (uint32_t[]){branch->words[1], edges[0], edges[1]},
			  3, branch->words + 4, branch->count - 4u);
	for (unsigned i = 0; i < 2; i++) {
		gt_spirv_emit(words, SpvOpLabel, edges[i]);
		put_site(patcher, function, place, gt_spirv_constant(&patcher->builder, 32, 1 - i),
			 words);
		gt_spirv_emit(words, SpvOpBranch, branch->words[2 + i]);
	}
}

/* ---- the functions of the module ---- */

/* A function that is written again. */
struct written_function {
	struct gt_spirv_patch_function *function;
	const struct gt_spirv_place *place; /* the next one */
	size_t places;                      /* from it on */
	size_t body; /* where the first block is split, see add_label; 0: it is not */
	const struct gt_spirv_instruction *label; /* of the first block; NULL: not reached yet */
	bool diverges, takes_launch;
};

/*
 * A function that calls programs, directly or by others, becomes part of the kernels that call it:
 * PoCL supports built-in values in kernels alone. A kernel's own code does not: PoCL makes local
 * memory private to work-groups where a kernel itself refers to it.
 */
static void add_head(struct gt_spirv_patcher *patcher, const struct written_function *written,
		     const struct gt_spirv_instruction *head, struct gt_spirv_words *words)
{
	const struct gt_spirv_patch_function *function = written->function;
	uint32_t control = head->words[3], type = head->words[4];

	if (patcher->translate.for_spir && function->matched && !function->kernel) {
		control &= ~(uint32_t)SpvFunctionControlDontInlineMask;
		control |= SpvFunctionControlInlineMask;
	}
	if (written->takes_launch)
		type = gt_spirv_launch_type(patcher, type);
	gt_spirv_emit(words, SpvOpFunction, head->words[1], head->words[2], control, type);
}

static void copy_instruction(const struct gt_spirv_instruction *one, struct gt_spirv_words *words)
{
	gt_spirv_add(words, one->opcode, one->words + 1, one->count - 1u);
}

/*
 * The parameters end before the first block. What is added at the entry is in blocks of its own,
 * the first one with the variables. So the rest of the first block keeps its label, which others
 * may refer to.
 */
static void add_label(struct gt_spirv_patcher *patcher, struct written_function *written,
		      const struct gt_spirv_instruction *one, struct gt_spirv_words *words)
{
	if (written->takes_launch && !written->function->launch[0])
		gt_spirv_add_launch_parameters(patcher, written->function, words);
	if (written->body && !written->label) {
		written->label = one;
		gt_spirv_emit(words, SpvOpLabel, gt_spirv_id(&patcher->builder));
		return;
	}
	copy_instruction(one, words);
}

static void add_place(struct gt_spirv_patcher *patcher, struct written_function *written,
		      struct gt_spirv_words *words)
{
	if (written->place->on_edges)
		put_edges(patcher, written->function, written->place, words);
	else
		put_site(patcher, written->function, written->place, 0, words);
	written->place++;
	written->places--;
}

/* Add what is inserted before an instruction. False: the last of it has the instruction in it. */
static bool add_places(struct gt_spirv_patcher *patcher, struct written_function *written,
		       size_t instruction, struct gt_spirv_words *words)
{
	bool is_written = false;

	while (written->places && written->place->position == instruction) {
		is_written = written->place->on_edges;
		add_place(patcher, written, words);
	}
	return !is_written;
}

static void begin_body(struct gt_spirv_patcher *patcher, struct written_function *written,
		       struct gt_spirv_words *words)
{
	if (written->diverges)
		gt_spirv_put_divergence(patcher, words);
	if (written->places && written->place->is_entry)
		add_place(patcher, written, words);
	gt_spirv_emit(words, SpvOpBranch, written->label->words[1]);
	copy_instruction(written->label, words);
}

static void add_function(struct gt_spirv_patcher *patcher, size_t number,
			 struct gt_spirv_words *words)
{
	const struct gt_spirv_module *module = patcher->module;
	const struct gt_spirv_function *code = &module->functions.items[number];
	struct written_function written = {.function = &patcher->functions[number]};

	written.places = written.function->place_count;
	if (written.places)
		written.place = patcher->places.items + written.function->first_place;
	written.diverges = gt_spirv_diverges(patcher, written.function);
	if (written.diverges || (written.places && written.place->is_entry))
		written.body = gt_spirv_after_variables(module, code);
	written.takes_launch = gt_spirv_takes_launch(patcher, code);
	for (size_t i = code->begin; i < code->end; i++) {
		const struct gt_spirv_instruction *one = &module->instructions.items[i];

		if (i == written.body)
			begin_body(patcher, &written, words);
		if (!add_places(patcher, &written, i, words))
			continue;
		if (i == code->begin)
			add_head(patcher, &written, one, words);
		else if (one->opcode == SpvOpLabel)
			add_label(patcher, &written, one, words);
		else if (!gt_spirv_pass_launch(patcher, written.function, one, words) &&
			 !gt_spirv_rewrite(patcher, one, words))
			copy_instruction(one, words);
	}
}

static void write_functions(struct gt_spirv_patcher *patcher, struct gt_spirv_words *words)
{
	const struct gt_spirv_module *module = patcher->module;
	size_t at = module->sections[GT_SPIRV_FUNCTIONS];

	for (size_t i = 0; i < module->functions.count; i++) {
		/* Lines between functions. */
		for (; at < module->functions.items[i].begin; at++)
			copy_instruction(&module->instructions.items[at], words);
		add_function(patcher, i, words);
		at = module->functions.items[i].end;
	}
}

/* The entry points of a kernel that calls programs have their input variables. */
static void write_entry_point(struct gt_spirv_patcher *patcher,
			      const struct gt_spirv_instruction *one, struct gt_spirv_words *words)
{
	size_t fixed = 3 + strlen((const char *)(one->words + 3)) / 4 + 1;
	uint32_t inputs[256], count = 0;

	gt_vec_each (input, &patcher->inputs.ids) {
		bool is_known = count == gt_countof(inputs);

		for (size_t i = fixed; i < one->count; i++)
			is_known |= one->words[i] == *input;
		if (!is_known)
			inputs[count++] = *input;
	}
	if (one->count + count > UINT16_MAX)
		count = 0;
	gt_spirv_add_more(words, one->opcode, one->words + 1, one->count - 1u, inputs, count);
}

static void write_entry_points(struct gt_spirv_patcher *patcher)
{
	const struct gt_spirv_module *module = patcher->module;
	struct gt_spirv_words words = {0};

	gt_vec_each (entry, &module->entries) {
		const struct gt_spirv_instruction *one =
			&module->instructions.items[entry->instruction];

		if (patcher->kernels[entry - module->entries.items].matched)
			write_entry_point(patcher, one, &words);
		else
			copy_instruction(one, &words);
	}
	gt_spirv_words_clear(&patcher->builder.sections[GT_SPIRV_ENTRY_POINTS]);
	patcher->builder.sections[GT_SPIRV_ENTRY_POINTS] = words;
}

void gt_spirv_insert_calls(struct gt_spirv_patcher *patcher)
{
	struct gt_spirv_words *section = &patcher->builder.sections[GT_SPIRV_FUNCTIONS];
	struct gt_spirv_words words = {0};

	write_functions(patcher, &words);
	gt_spirv_append(&words, section, 0, SIZE_MAX);
	gt_spirv_words_clear(section);
	*section = words;
	write_entry_points(patcher);
}
