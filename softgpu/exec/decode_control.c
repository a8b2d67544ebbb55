/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Decoding of branches and calls. Targets are block numbers until the code is laid out. */
#include <errno.h>
#include <string.h>

#include "exec/decode.h"
#include "exec/steps.h"

/* Marks a branch whose target and next are block numbers: see resolve_branches in decode.c. */
static struct sg_instruction *emit_branch(struct sg_decoder *decoder, sg_run *run, uint32_t target)
{
	struct sg_instruction *step = sg_decode_emit(decoder, run);

	if (step)
		step->immediate = target;
	return step;
}

static uint32_t label_block(const struct sg_decoder *decoder, const struct gt_ptx_operand *operand)
{
	if (operand->kind != GT_PTX_OPERAND_LABEL || operand->label->targets ||
	    operand->label->prototype)
		return SG_NO_SLOT;
	return decoder->label_blocks[operand->label->number];
}

int sg_decode_bra(struct sg_decoder *decoder)
{
	const struct gt_ptx_instruction *instruction = decoder->instruction;
	struct sg_instruction *step;
	uint32_t target, p = 0;
	bool negated = false;
	int error = 0;

	if (instruction->operand_count != 1)
		return sg_decode_bad_operand(decoder, 0);
	target = label_block(decoder, &instruction->operands[0]);
	if (target == SG_NO_SLOT)
		return sg_decode_bad_operand(decoder, 0);
	if (instruction->guard)
		error = sg_decode_predicate(decoder, instruction->guard, 0, &p, &negated);
	if (error)
		return error;
	step = emit_branch(decoder, instruction->guard ? sg_run_branch : sg_run_jump, target);
	if (!step)
		return -ENOMEM;
	step->a = p;
	step->flags = negated ? SG_FLAG_NEGATE : 0;
	return 0;
}

/* brx.idx index, list: a guard becomes a branch round it. */
int sg_decode_brx(struct sg_decoder *decoder)
{
	const struct gt_ptx_instruction *instruction = decoder->instruction;
	const struct gt_ptx_targets *targets;
	gt_autofree struct sg_jump_table *table = NULL;
	struct sg_instruction *step;
	uint32_t index, p;
	bool negated;
	int error;

	if (instruction->operand_count != 2 ||
	    instruction->operands[1].kind != GT_PTX_OPERAND_LABEL ||
	    !instruction->operands[1].label->targets)
		return sg_decode_bad_operand(decoder, 1);
	targets = instruction->operands[1].label->targets;
	error = sg_decode_source(decoder, 0, GT_PTX_TYPE_U32, &index);
	if (!error && instruction->guard)
		error = sg_decode_predicate(decoder, instruction->guard, 0, &p, &negated);
	if (error)
		return error;
	if (instruction->guard && decoder->fall_block == SG_NO_SLOT)
		return sg_decode_bad_form(decoder);
	if (instruction->guard) {
		step = emit_branch(decoder, sg_run_branch, decoder->fall_block);
		if (!step)
			return -ENOMEM;
		step->a = p;
		step->flags = negated ? 0 : SG_FLAG_NEGATE;
		step->count = 1; /* not taken: the next instruction */
	}
	table = calloc(1, sizeof(*table));
	step = sg_decode_emit(decoder, sg_run_branch_table);
	if (!table || !step)
		return -ENOMEM;
	table->targets = calloc(targets->count, sizeof(*table->targets));
	if (!table->targets)
		return -ENOMEM;
	for (uint32_t i = 0; i < targets->count; i++) {
		uint32_t block = label_block(decoder, &targets->items[i]);

		if (block == SG_NO_SLOT) {
			free(table->targets);
			return sg_decode_bad_operand(decoder, 1);
		}
		table->targets[i] = (const struct sg_instruction *)(uintptr_t)block;
	}
	table->count = targets->count;
	table->next = decoder->function->tables;
	step->a = index;
	step->table = table;
	decoder->function->tables = gt_take(table);
	return 0;
}

static int emit_plain(struct sg_decoder *decoder, sg_run *run)
{
	return sg_decode_emit(decoder, run) ? 0 : -ENOMEM;
}

int sg_decode_ret(struct sg_decoder *decoder)
{
	return emit_plain(decoder, sg_run_ret);
}

int sg_decode_exit(struct sg_decoder *decoder)
{
	return emit_plain(decoder, sg_run_exit);
}

int sg_decode_trap(struct sg_decoder *decoder)
{
	return emit_plain(decoder, sg_decode_form(decoder)->opcode == GT_PTX_OP_TRAP
					   ? sg_run_trap
					   : sg_run_breakpoint);
}

int sg_decode_nanosleep(struct sg_decoder *decoder)
{
	uint32_t slot;
	int error = sg_decode_source(decoder, 0, GT_PTX_TYPE_U32, &slot);

	return error ? error : emit_plain(decoder, sg_run_nanosleep);
}

/* alloca.u64 p, size{, alignment}; stacksave.u64 d; stackrestore.u64 a */
int sg_decode_stack(struct sg_decoder *decoder)
{
	const struct gt_ptx_instruction *instruction = decoder->instruction;
	enum gt_ptx_opcode opcode = instruction->form->opcode;
	enum gt_ptx_type type =
		instruction->form->type_count == 1 ? instruction->form->types[0] : GT_PTX_TYPE_NONE;
	uint32_t d = 0, a = 0, width = sg_type_width(type);
	uint64_t alignment = 8;
	struct sg_instruction *step;
	int error = 0;

	if (width != 4 && width != 8)
		return sg_decode_bad_form(decoder);
	if (opcode != GT_PTX_OP_STACKRESTORE)
		error = sg_decode_destination(decoder, 0, type, &d);
	if (!error && opcode != GT_PTX_OP_STACKSAVE)
		error = sg_decode_source(decoder, opcode == GT_PTX_OP_ALLOCA, type, &a);
	if (error)
		return error;
	if (opcode == GT_PTX_OP_ALLOCA && instruction->operand_count == 3) {
		alignment = instruction->operands[2].integer;
		if (instruction->operands[2].kind != GT_PTX_OPERAND_INTEGER || !alignment ||
		    (alignment & (alignment - 1)) || alignment > 1 << 16)
			return sg_decode_bad_operand(decoder, 2);
	}
	step = sg_decode_emit(decoder, opcode == GT_PTX_OP_ALLOCA      ? sg_run_alloca
				       : opcode == GT_PTX_OP_STACKSAVE ? sg_run_stack_save
								       : sg_run_stack_restore);
	if (!step)
		return -ENOMEM;
	step->d = d;
	step->a = a;
	step->immediate = alignment;
	step->size = (uint8_t)width;
	decoder->function->uses_stack_pointer = true;
	return 0;
}

/* ---- calls ----------------------------------------------------------------------------- */

static int read_pass(struct sg_decoder *decoder, const struct gt_ptx_operand *operand,
		     const struct gt_ptx_variable *formal, struct sg_pass *pass)
{
	enum gt_ptx_type type;
	uint32_t width;
	int error;

	if (operand->kind == GT_PTX_OPERAND_SYMBOL) {
		if (operand->variable->space != GT_PTX_SPACE_PARAM || operand->offset)
			return sg_decode_error(decoder, "an argument is no .param variable");
		pass->is_register = false;
		pass->place = (uint32_t)decoder->unit->places[operand->variable->number];
		pass->size = (uint32_t)gt_ptx_variable_size(operand->variable);
		return 0;
	}
	pass->is_register = true;
	if (operand->kind == GT_PTX_OPERAND_REGISTER) {
		error = sg_decode_register(decoder, operand, &pass->place, &type);
		pass->size = sg_type_width(type);
		if (!error && !pass->size)
			return sg_decode_error(decoder, "an argument is a predicate");
		return error;
	}
	if (operand->kind == GT_PTX_OPERAND_SINK) {
		pass->place = SG_SINK;
		pass->size = formal ? (uint32_t)gt_ptx_variable_size(formal) : 4;
		return 0;
	}
	type = formal && gt_ptx_variable_size(formal) <= 8 ? formal->type : GT_PTX_TYPE_B32;
	error = sg_decode_source_operand(decoder, operand, 0, type, false, &pass->place, &width);
	pass->size = width;
	return error;
}

static int read_passes(struct sg_decoder *decoder, const struct gt_ptx_operand *operands,
		       uint32_t count, const struct gt_ptx_variable *formals,
		       struct sg_pass **ret_passes)
{
	struct sg_pass *passes = calloc(count + 1, sizeof(*passes));
	int error = 0;

	if (!passes)
		return -ENOMEM;
	for (uint32_t i = 0; i < count && !error; i++) {
		error = read_pass(decoder, &operands[i], formals, &passes[i]);
		formals = formals ? formals->next : NULL;
	}
	if (error)
		free(passes);
	else
		*ret_passes = passes;
	return error;
}

/* What the callee takes, as declared; NULL where nothing says. */
static const struct gt_ptx_function *signature_of(const struct gt_ptx_call *call)
{
	if (call->target->kind == GT_PTX_OPERAND_FUNCTION)
		return call->target->function;
	if (call->prototype && call->prototype->kind == GT_PTX_OPERAND_LABEL)
		return call->prototype->label->prototype;
	return NULL;
}

/* The function that is called, or what is built in under its name. */
static int find_callee(struct sg_decoder *decoder, const struct gt_ptx_call *source,
		       struct sg_call *call, sg_run **ret_run)
{
	struct sg_function *function = decoder->function;
	enum gt_ptx_type type;

	if (source->target->kind == GT_PTX_OPERAND_REGISTER) {
		function->has_indirect_call = true;
		*ret_run = sg_run_call_indirect;
		if (sg_decode_register(decoder, source->target, &call->target, &type) ||
		    sg_type_width(type) != 8)
			return sg_decode_bad_operand(decoder, 0);
		return 0;
	}
	call->callee = decoder->unit->functions[source->target->function->number];
	*ret_run = call->callee ? sg_run_call : sg_builtin_find(source->target->function->name);
	if (!*ret_run)
		return sg_decode_missing(decoder, "function", source->target->function->name);
	if (call->callee && call->callee->is_kernel)
		return sg_decode_error(decoder, "kernel '%s' is called", call->callee->name);
	return call->callee ? gt_vec_push(&function->callees, call->callee) : 0;
}

int sg_decode_call(struct sg_decoder *decoder)
{
	const struct gt_ptx_call *source = decoder->instruction->call;
	const struct gt_ptx_function *signature = signature_of(source);
	struct sg_call *call = calloc(1, sizeof(*call));
	struct sg_instruction *step;
	sg_run *run = NULL;
	int error;

	if (!call)
		return -ENOMEM;
	call->next = decoder->function->calls;
	decoder->function->calls = call;
	error = find_callee(decoder, source, call, &run);
	if (!error && signature &&
	    (signature->parameter_count != source->argument_count ||
	     signature->return_count < source->return_count))
		error = sg_decode_error(decoder, "a call has the wrong number of arguments");
	if (!error)
		error = read_passes(decoder, source->arguments, source->argument_count,
				    signature ? signature->parameters : NULL, &call->arguments);
	if (!error)
		error = read_passes(decoder, source->returns, source->return_count,
				    signature ? signature->returns : NULL, &call->returns);
	if (error)
		return error;
	call->argument_count = source->argument_count;
	call->return_count = source->return_count;
	step = sg_decode_emit(decoder, run);
	if (!step)
		return -ENOMEM;
	step->call = call;
	return 0;
}
