/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Decodes a function's body: basic blocks, their order, instructions, branches. */
#include "exec/decode/decode.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "exec/decode/layout.h"
#include "exec/ops/ops.h"

/* ---- errors ---------------------------------------------------------------------------- */

int sg_decode_error(const struct sg_decoder *decoder, const char *format, ...)
{
	char what[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(what, sizeof(what), format, arguments);
	va_end(arguments);
	return gt_diag(decoder->diag, -EINVAL, "load", NULL, "line %u: %s in function '%s'",
		       decoder->statement ? decoder->statement->position.line
					  : decoder->source->position.line,
		       what, decoder->source->name);
}

int sg_decode_unsupported(const struct sg_decoder *decoder)
{
	return gt_diag(decoder->diag, -EINVAL, "load", NULL,
		       "line %u: opcode '%s' in function '%s' is not supported by the software "
		       "device",
		       decoder->statement->position.line,
		       gt_ptx_opcode_name(sg_decode_form(decoder)->opcode), decoder->source->name);
}

int sg_decode_bad_form(const struct sg_decoder *decoder)
{
	return gt_diag(decoder->diag, -EINVAL, "load", NULL,
		       "line %u: '%s' in function '%s' is not supported by the software device",
		       decoder->statement->position.line, sg_decode_form(decoder)->text,
		       decoder->source->name);
}

int sg_decode_missing(const struct sg_decoder *decoder, const char *what, const char *name)
{
	return gt_diag(decoder->diag, -ENOENT, "load", NULL,
		       "line %u: %s '%s', used in function '%s', is not defined",
		       decoder->statement->position.line, what, name, decoder->source->name);
}

int sg_decode_bad_operand(const struct sg_decoder *decoder, uint32_t index)
{
	return gt_diag(decoder->diag, -EINVAL, "load", NULL,
		       "line %u: operand %u of '%s' in function '%s' is missing or has the wrong "
		       "kind or size",
		       decoder->statement->position.line, index + 1, sg_decode_form(decoder)->text,
		       decoder->source->name);
}

struct sg_instruction *sg_decode_emit(struct sg_decoder *decoder, sg_run *run)
{
	struct sg_instruction step = {
		.run = run, .line = decoder->statement ? decoder->statement->position.line : 0};

	if (gt_vec_push(&decoder->code, step))
		return NULL;
	return &decoder->code.items[decoder->code.count - 1];
}

int sg_decode_emit_step(struct sg_decoder *decoder, sg_run *run,
			const struct sg_instruction *wanted)
{
	struct sg_instruction *step = sg_decode_emit(decoder, run);
	uint32_t line;

	if (!step)
		return -ENOMEM;
	line = step->line;
	*step = *wanted;
	step->run = run;
	step->line = line;
	return 0;
}

int sg_decode_emit_plain(struct sg_decoder *decoder, sg_run *run)
{
	return sg_decode_emit(decoder, run) ? 0 : -ENOMEM;
}

/* ---- decoders -------------------------------------------------------------------------- */

static sg_decode *const decoders[GT_PTX_OP_COUNT] = {
#define SG_OPCODE(opcode, decoder) [GT_PTX_OP_##opcode] = decoder,
#include "exec/decode/opcodes.def"
#undef SG_OPCODE
};

static bool has_half_type(const struct gt_ptx_form *form)
{
	return form->type_count == 1 && sg_half_format(form->types[0]) != SG_HALF_NONE;
}

/* Pairs of .f32, or .f32 with sources of 16 bits. */
static bool is_mixed(const struct gt_ptx_form *form)
{
	return (form->type_count == 1 && form->types[0] == GT_PTX_TYPE_F32X2) ||
	       (form->type_count == 2 && form->types[0] == GT_PTX_TYPE_F32);
}

static sg_decode *find_decoder(const struct gt_ptx_form *form)
{
	switch (form->opcode) {
	case GT_PTX_OP_ADD:
	case GT_PTX_OP_SUB:
	case GT_PTX_OP_MAD:
		if (gt_ptx_form_has(form, GT_PTX_MOD_CC))
			return sg_decode_carry;
		break;
	default:
		break;
	}
	if (decoders[form->opcode] != sg_decode_arithmetic)
		return decoders[form->opcode];
	if (has_half_type(form))
		return sg_decode_half;
	if (is_mixed(form))
		return sg_decode_mixed;
	return decoders[form->opcode];
}

/* ---- blocks ---------------------------------------------------------------------------- */

static bool is_code_label(const struct gt_ptx_statement *statement)
{
	return statement->kind == GT_PTX_STATEMENT_LABEL && !statement->label->targets &&
	       !statement->label->prototype;
}

static bool ends_block(const struct gt_ptx_statement *statement)
{
	return statement->kind == GT_PTX_STATEMENT_INSTRUCTION &&
	       gt_ptx_is_jump(&statement->instruction);
}

static int start_block(struct sg_decoder *decoder, uint32_t first)
{
	size_t count = decoder->blocks.count;

	if (count && decoder->blocks.items[count - 1].first == first)
		return 0;
	if (count)
		decoder->blocks.items[count - 1].end = first;
	return gt_vec_push(&decoder->blocks,
			   (struct sg_basic_block){.first = first, .fall = SG_NO_SLOT});
}

static int find_blocks(struct sg_decoder *decoder)
{
	const struct gt_ptx_statement *statement = decoder->source->body->first;
	bool starts = true;

	for (; statement; statement = gt_ptx_statement_next(statement)) {
		uint32_t index = (uint32_t)decoder->statements.count;

		if (is_code_label(statement))
			starts = true;
		if (starts &&
		    (is_code_label(statement) || statement->kind == GT_PTX_STATEMENT_INSTRUCTION)) {
			if (start_block(decoder, index))
				return -ENOMEM;
			starts = false;
		}
		if (gt_vec_push(&decoder->statements, statement))
			return -ENOMEM;
		if (is_code_label(statement)) {
			decoder->label_blocks[statement->label->number] =
				(uint32_t)decoder->blocks.count - 1;
			starts = false;
		}
		if (ends_block(statement))
			starts = true;
	}
	if (!decoder->blocks.count || starts)
		if (start_block(decoder, (uint32_t)decoder->statements.count))
			return -ENOMEM;
	decoder->blocks.items[decoder->blocks.count - 1].end = (uint32_t)decoder->statements.count;
	return 0;
}

/* Returns the last instruction of a block, or NULL. */
static const struct gt_ptx_instruction *last_of(const struct sg_decoder *decoder,
						const struct sg_basic_block *block)
{
	for (uint32_t i = block->end; i-- > block->first;)
		if (decoder->statements.items[i]->kind == GT_PTX_STATEMENT_INSTRUCTION)
			return &decoder->statements.items[i]->instruction;
	return NULL;
}

static int add_edge(struct sg_decoder *decoder, uint32_t to)
{
	decoder->blocks.items[to].entries++;
	return gt_vec_push(&decoder->edges, to);
}

static int add_label_edge(struct sg_decoder *decoder, const struct gt_ptx_operand *operand)
{
	uint32_t block = SG_NO_SLOT;

	if (operand->kind == GT_PTX_OPERAND_LABEL)
		block = decoder->label_blocks[operand->label->number];
	return block == SG_NO_SLOT ? 0 : add_edge(decoder, block);
}

static int find_edges_of(struct sg_decoder *decoder, uint32_t index)
{
	struct sg_basic_block *block = &decoder->blocks.items[index];
	const struct gt_ptx_instruction *last = last_of(decoder, block);
	enum gt_ptx_opcode opcode = last ? last->form->opcode : GT_PTX_OP_COUNT;
	bool ends = opcode == GT_PTX_OP_RET || opcode == GT_PTX_OP_EXIT ||
		    opcode == GT_PTX_OP_BRA || opcode == GT_PTX_OP_BRX;
	int error = 0;

	block->is_branch = opcode == GT_PTX_OP_BRA || opcode == GT_PTX_OP_BRX;
	block->ends = ends && !last->guard;
	if (opcode == GT_PTX_OP_BRA && last->operand_count == 1)
		error = add_label_edge(decoder, &last->operands[0]);
	if (opcode == GT_PTX_OP_BRX && last->operand_count == 2 &&
	    last->operands[1].kind == GT_PTX_OPERAND_LABEL && last->operands[1].label->targets) {
		const struct gt_ptx_targets *targets = last->operands[1].label->targets;

		for (uint32_t i = 0; i < targets->count && !error; i++)
			error = add_label_edge(decoder, &targets->items[i]);
	}
	if (!error && !block->ends && index + 1 < decoder->blocks.count) {
		decoder->blocks.items[index].fall = index + 1;
		error = add_edge(decoder, index + 1);
	}
	return error;
}

static int find_edges(struct sg_decoder *decoder)
{
	uint32_t count = (uint32_t)decoder->blocks.count;
	int error = 0;

	decoder->edge_starts = calloc(count + 1, sizeof(*decoder->edge_starts));
	if (!decoder->edge_starts)
		return -ENOMEM;
	for (uint32_t i = 0; i < count && !error; i++) {
		decoder->edge_starts[i] = (uint32_t)decoder->edges.count;
		error = find_edges_of(decoder, i);
	}
	decoder->edge_starts[count] = (uint32_t)decoder->edges.count;
	return error;
}

/* ---- instructions ---------------------------------------------------------------------- */

/* Decodes an instruction with a guard; the guard covers all instructions that it becomes. */
static int decode_guarded(struct sg_decoder *decoder, sg_decode *decode)
{
	struct sg_instruction *guard;
	size_t start = decoder->code.count;
	uint32_t p;
	bool negated;
	int error = sg_decode_predicate(decoder, decoder->instruction->guard, 0, &p, &negated);

	if (error)
		return error;
	guard = sg_decode_emit(decoder, sg_run_guard);
	if (!guard)
		return -ENOMEM;
	guard->a = p;
	guard->flags = negated ? SG_FLAG_NEGATE : 0;
	error = decode(decoder);
	if (decoder->code.count - start - 1 > UINT8_MAX)
		return sg_decode_bad_form(decoder);
	decoder->code.items[start].count = (uint8_t)(decoder->code.count - start - 1);
	return error;
}

static int decode_instruction(struct sg_decoder *decoder)
{
	const struct gt_ptx_form *form = decoder->instruction->form;
	sg_decode *decode = find_decoder(form);

	decoder->function->instructions++;
	if (!decode)
		return sg_decode_unsupported(decoder);
	if (!decoder->instruction->guard || form->opcode == GT_PTX_OP_BRA ||
	    form->opcode == GT_PTX_OP_BRX)
		return decode(decoder);
	return decode_guarded(decoder, decode);
}

static int emit_at(struct sg_decoder *decoder, sg_run *run, uint32_t target)
{
	/* count: a jump that is not in the PTX is not counted. */
	return sg_decode_emit_step(
		decoder, run,
		&(struct sg_instruction){.immediate = target, .count = run == sg_run_jump});
}

/* Decodes a block; next: the block that is laid out after it. */
static int decode_block(struct sg_decoder *decoder, uint32_t index, uint32_t next, bool falls_in)
{
	struct sg_basic_block *block = &decoder->blocks.items[index];
	int error = 0;

	decoder->statement = NULL;
	if (falls_in && block->entries > 1)
		error = emit_at(decoder, sg_run_join, 0);
	block->start = (uint32_t)decoder->code.count;
	decoder->fall_block = block->fall;
	for (uint32_t i = block->first; i < block->end && !error; i++) {
		decoder->statement = decoder->statements.items[i];
		if (decoder->statement->kind != GT_PTX_STATEMENT_INSTRUCTION)
			continue;
		decoder->instruction = &decoder->statement->instruction;
		error = decode_instruction(decoder);
	}
	if (error)
		return error;
	/* The end of the text returns from the function. */
	if (block->fall == SG_NO_SLOT)
		return block->ends ? 0 : emit_at(decoder, sg_run_ret, 0);
	if (block->is_branch)
		return 0;
	return block->fall == next ? 0 : emit_at(decoder, sg_run_jump, block->fall);
}

/* Whether a block falls through to the one that is laid out next. */
static bool falls_to(const struct sg_decoder *decoder, uint32_t index, uint32_t next)
{
	const struct sg_basic_block *block = &decoder->blocks.items[index];

	return block->fall == next && !block->is_branch;
}

static int decode_blocks(struct sg_decoder *decoder)
{
	uint32_t count = (uint32_t)decoder->blocks.count;
	gt_autofree uint32_t *order = calloc(count, sizeof(*order));
	struct sg_graph graph = {
		.count = count, .starts = decoder->edge_starts, .edges = decoder->edges.items};
	int error;

	if (!order)
		return -ENOMEM;
	error = sg_layout_order(&graph, order);
	if (!error)
		error = sg_decode_allocate(decoder, order);
	for (uint32_t i = 0; i < count && !error; i++)
		error = decode_block(decoder, order[i], i + 1 < count ? order[i + 1] : SG_NO_SLOT,
				     i > 0 && falls_to(decoder, order[i - 1], order[i]));
	return error;
}

/* ---- branches -------------------------------------------------------------------------- */

/* Returns the flag of a loop with that instruction, which may wait for another thread. */
static uint32_t waiting_weight(const struct sg_instruction *step)
{
	if (step->run == sg_run_nanosleep || sg_is_mbarrier_wait(step))
		return SG_FLAG_SPIN;
	if (step->run == sg_run_atomic || step->run == sg_run_atomic_wide)
		return step->selector == SG_ATOMIC_COMPARE || step->selector == SG_ATOMIC_EXCHANGE
			       ? SG_FLAG_SPIN
			       : SG_FLAG_SPIN_SLOW;
	/* A .volatile load, or one with memory order. */
	return step->flags & SG_FLAG_ATOMIC ? SG_FLAG_SPIN : 0;
}

static const struct sg_instruction *block_start(const struct sg_decoder *decoder,
						struct sg_instruction *code, uint64_t block)
{
	return &code[decoder->blocks.items[block].start];
}

static void resolve_branch(const struct sg_decoder *decoder, struct sg_instruction *code,
			   struct sg_instruction *step, const uint32_t *spins,
			   const uint32_t *slow_spins)
{
	const struct sg_instruction *target = block_start(decoder, code, step->immediate);
	uint32_t from = (uint32_t)(target - code), to = (uint32_t)(step - code);

	step->target = target;
	if (target > step)
		return;
	step->run = step->run == sg_run_branch ? sg_run_branch_back : sg_run_jump_back;
	if (spins[to] != spins[from])
		step->flags |= SG_FLAG_SPIN;
	else if (slow_spins[to] != slow_spins[from])
		step->flags |= SG_FLAG_SPIN_SLOW;
}

/* Returns where a branch continues that is not taken. */
static const struct sg_instruction *not_taken(const struct sg_decoder *decoder,
					      struct sg_instruction *code, uint32_t block,
					      const struct sg_instruction *step)
{
	uint32_t fall = decoder->blocks.items[block].fall;

	if (step->count || fall == SG_NO_SLOT)
		return step + 1;
	return block_start(decoder, code, fall);
}

static int resolve_branches(struct sg_decoder *decoder, struct sg_instruction *code,
			    const uint32_t *owners)
{
	size_t count = decoder->code.count;
	gt_autofree uint32_t *sums = calloc(2 * (count + 1), sizeof(*sums));
	uint32_t *slow_sums;

	if (!sums)
		return -ENOMEM;
	slow_sums = sums + count + 1;
	for (size_t i = 0; i < count; i++) {
		uint32_t weight = waiting_weight(&code[i]);

		sums[i + 1] = sums[i] + (weight == SG_FLAG_SPIN);
		slow_sums[i + 1] = slow_sums[i] + (weight == SG_FLAG_SPIN_SLOW);
	}
	for (size_t i = 0; i < count; i++) {
		struct sg_instruction *step = &code[i];

		if (step->run == sg_run_branch)
			step->next = not_taken(decoder, code, owners[i], step);
		if (step->run == sg_run_branch || step->run == sg_run_jump)
			resolve_branch(decoder, code, step, sums, slow_sums);
	}
	for (struct sg_jump_table *table = decoder->function->tables; table; table = table->next)
		for (uint32_t i = 0; i < table->count; i++)
			table->targets[i] =
				block_start(decoder, code, (uintptr_t)table->targets[i]);
	return 0;
}

/* Moves the code to its final memory and resolves the branches. */
static int finish_code(struct sg_decoder *decoder)
{
	size_t count = decoder->code.count;
	struct sg_instruction *code = reallocarray(decoder->code.items, count, sizeof(*code));
	gt_autofree uint32_t *owners = calloc(count + 1, sizeof(*owners));
	int error;

	if (!code || !owners)
		return -ENOMEM;
	decoder->code.items = code;
	decoder->code.capacity = count;
	for (size_t b = 0; b < decoder->blocks.count; b++)
		owners[decoder->blocks.items[b].start] = (uint32_t)b + 1;
	for (size_t i = 0, owner = 0; i < count; i++) {
		owner = owners[i] ? owners[i] - 1 : owner;
		owners[i] = (uint32_t)owner;
	}
	error = resolve_branches(decoder, code, owners);
	if (error)
		return error;
	decoder->function->code = code;
	decoder->function->code_count = (uint32_t)count;
	decoder->code.items = NULL;
	return 0;
}

/* ---- the whole ------------------------------------------------------------------------- */

/* Slots that change from block to block come first. */
static void sort_fills(struct sg_function *function)
{
	for (size_t i = 0; i < function->fills.count; i++) {
		struct sg_fill fill = function->fills.items[i];

		if (fill.kind != SG_FILL_BLOCK)
			continue;
		function->fills.items[i] = function->fills.items[function->block_fills];
		function->fills.items[function->block_fills++] = fill;
	}
}

/* Estimates the registers that a compiler would need: live values, and some for addresses. */
static uint32_t estimate_registers(const struct sg_function *function)
{
	uint32_t words = function->register_words + 6;
	uint32_t max = SG_MAX_REGISTERS / (function->max_threads ? function->max_threads : 1);

	max = max > 255 ? 255 : max;
	words = words > max ? max : words < 16 ? 16 : words;
	return function->register_limit && words > function->register_limit
		       ? function->register_limit
		       : words;
}

static void release(struct sg_decoder *decoder)
{
	gt_vec_free(&decoder->code);
	gt_vec_free(&decoder->statements);
	gt_vec_free(&decoder->blocks);
	gt_vec_free(&decoder->edges);
	free(decoder->edge_starts);
	free(decoder->label_blocks);
	free(decoder->registers);
	gt_hash_free(decoder->constants);
}

static int prepare(struct sg_decoder *decoder)
{
	const struct gt_ptx_function *source = decoder->source;

	decoder->registers = malloc((source->register_count + 1) * sizeof(uint32_t));
	decoder->label_blocks = malloc((source->label_count + 1) * sizeof(uint32_t));
	decoder->constants = gt_hash_new();
	if (!decoder->registers || !decoder->label_blocks || !decoder->constants)
		return -ENOMEM;
	memset(decoder->registers, 0xff, (source->register_count + 1) * sizeof(uint32_t));
	memset(decoder->label_blocks, 0xff, (source->label_count + 1) * sizeof(uint32_t));
	memset(decoder->temporary, 0xff, sizeof(decoder->temporary));
	decoder->frame_size = SG_SINK_SIZE;
	return 0;
}

int sg_decode_function(struct sg_module *module, struct sg_unit *unit,
		       const struct gt_ptx_function *source, struct sg_function *function,
		       struct gt_diag *diag)
{
	struct sg_decoder decoder = {.module = module,
				     .machine = module->machine,
				     .unit = unit,
				     .source = source,
				     .function = function,
				     .diag = diag};
	int error = prepare(&decoder);

	if (!error)
		error = sg_decode_signature(&decoder);
	if (!error)
		error = sg_decode_variables(&decoder);
	if (!error)
		error = find_blocks(&decoder);
	if (!error)
		error = find_edges(&decoder);
	if (!error)
		error = decode_blocks(&decoder);
	if (!error)
		error = finish_code(&decoder);
	if (!error && decoder.frame_size > SG_MAX_FRAME)
		error = gt_diag(diag, -EINVAL, "load", NULL,
				"function '%s' has too many registers for the software device",
				source->name);
	if (!error) {
		function->frame_size = (decoder.frame_size + 63) & ~63u;
		function->register_words = estimate_registers(function);
		sort_fills(function);
	}
	release(&decoder);
	return error;
}
