/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The function of a program: parameters, variables, blocks, the store of its result. */
#include <ctype.h>
#include <errno.h>
#include <spirv/unified1/spirv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpubpf/spirvgen/private.h"

enum {
	WORDS_OF_ROW = 8, /* that most programs do not exceed */
	WORDS_OF_VARIABLE = 4,
};

int gt_spirvgen_fail(struct gt_spirvgen *gen, int error, const char *format, ...)
{
	char place[32], text[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	snprintf(place, sizeof(place), "insn %u", gen->row ? gen->row->insn : 0);
	if (gen->error)
		return error;
	gen->error = error;
	return gt_diag(gen->diag, error, "translate", place, "%s", text);
}

uint32_t gt_spirvgen_add(struct gt_spirvgen *gen, unsigned opcode, uint32_t type,
			 const uint32_t *operands, size_t count)
{
	uint32_t id = gt_spirv_id(gen->builder);
	uint32_t *room = gt_spirv_begin(&gen->code, opcode, count + 2);

	if (!room)
		return id;
	room[0] = type;
	room[1] = id;
	for (size_t i = 0; i < count; i++)
		room[i + 2] = operands[i];
	return id;
}

/* ---- blocks ---- */

void gt_spirvgen_begin_block(struct gt_spirvgen *gen, uint32_t label)
{
	size_t begin;

	if (gen->is_open)
		gt_spirvgen_branch(gen, label);
	begin = gen->code.words.count;
	gt_spirv_emit(&gen->code, SpvOpLabel, label);
	if (gt_vec_push(&gen->blocks, (struct gt_spirvgen_block){.label = label, .begin = begin}))
		gen->code.failed = true;
	gen->is_open = true;
	gen->block++;
}

static void end_block(struct gt_spirvgen *gen, const uint32_t *successors, unsigned count)
{
	struct gt_spirvgen_block *block;

	gen->is_open = false;
	if (gen->code.failed || !gen->blocks.count)
		return;
	block = &gen->blocks.items[gen->blocks.count - 1];
	block->end = gen->code.words.count;
	block->successor_count = count;
	for (unsigned i = 0; i < count; i++)
		block->successors[i] = successors[i];
}

void gt_spirvgen_branch(struct gt_spirvgen *gen, uint32_t label)
{
	gt_spirv_emit(&gen->code, SpvOpBranch, label);
	end_block(gen, &label, 1);
}

void gt_spirvgen_branch_if(struct gt_spirvgen *gen, uint32_t condition, uint32_t holds,
			   uint32_t else_label)
{
	const uint32_t successors[2] = {holds, else_label};

	gt_spirv_emit(&gen->code, SpvOpBranchConditional, condition, holds, else_label);
	end_block(gen, successors, 2);
}

void gt_spirvgen_return(struct gt_spirvgen *gen)
{
	gt_spirv_emit(&gen->code, SpvOpReturn);
	end_block(gen, NULL, 0);
}

void gt_spirvgen_return_value(struct gt_spirvgen *gen, uint32_t value)
{
	gt_spirv_emit(&gen->code, SpvOpReturnValue, value);
	end_block(gen, NULL, 0);
}

uint32_t gt_spirvgen_label(struct gt_spirvgen *gen, struct gt_ptxgen_value label)
{
	uint32_t id = (uint32_t)(uintptr_t)gt_hash_get_u64(gen->labels, label.id);

	if (id)
		return id;
	id = gt_spirv_id(gen->builder);
	if (gt_hash_set_u64(gen->labels, label.id, (void *)(uintptr_t)id))
		gen->code.failed = true;
	return id;
}

/* ---- tables ---- */

int gt_spirvgen_open_tables(struct gt_spirvgen *gen)
{
	const struct gt_ptxgen_list *list = &gen->selection->list;
	size_t count = 0;

	memset(gen->common, 0, sizeof(gen->common));
	gen->others = gt_hash_new();
	gen->labels = gt_hash_new();
	for (unsigned i = 0; i < GT_PTXGEN_REGISTER_CLASSES; i++)
		count += list->temporaries[i] + 1u;
	gen->notes = calloc(count, sizeof(*gen->notes));
	if (!gen->notes || !gen->others || !gen->labels || gt_vec_expect(&gen->registers, count))
		return -ENOMEM;
	count = 0;
	for (unsigned i = 0; i < GT_PTXGEN_REGISTER_CLASSES; i++) {
		gen->temporaries[i] = gen->notes + count;
		count += list->temporaries[i] + 1u;
	}
	gt_spirv_expect(&gen->variables, count * WORDS_OF_VARIABLE);
	return 0;
}

void gt_spirvgen_close_tables(struct gt_spirvgen *gen)
{
	gt_hash_free(gen->others);
	gt_hash_free(gen->labels);
	gen->others = gen->labels = NULL;
	free(gen->notes);
	gen->notes = NULL;
	gt_vec_free(&gen->registers);
}

/* ---- registers ---- */

static const unsigned register_bits[GT_PTXGEN_REGISTER_CLASSES] = {
	[GT_PTXGEN_B64] = 64,
	[GT_PTXGEN_B32] = 32,
	[GT_PTXGEN_B16] = 16,
	[GT_PTXGEN_PREDICATE] = 1,
};

static uint32_t type_of_class(struct gt_spirvgen *gen, enum gt_ptxgen_class class)
{
	return class == GT_PTXGEN_PREDICATE ? gt_spirv_type_bool(gen->builder)
					    : gt_spirvgen_int(gen, register_bits[class]);
}

static uint32_t add_variable(struct gt_spirvgen *gen, uint32_t pointer)
{
	uint32_t id = gt_spirv_id(gen->builder);

	gt_spirv_emit(&gen->variables, SpvOpVariable, pointer, id, SpvStorageClassFunction);
	return id;
}

static uint32_t add_register_variable(struct gt_spirvgen *gen, enum gt_ptxgen_class class)
{
	uint32_t *pointer = &gen->pointers[class];

	if (!*pointer)
		*pointer = gt_spirv_type_pointer(gen->builder, SpvStorageClassFunction,
						 type_of_class(gen, class));
	return add_variable(gen, *pointer);
}

/* Where 1 + the index of a register is noted; NULL: in gen->others. */
static uint32_t *find_note(struct gt_spirvgen *gen, struct gt_ptxgen_value value)
{
	enum gt_ptxgen_bank bank = gt_ptxgen_bank_of(value);
	uint32_t number = gt_ptxgen_number_of(value);

	if (bank == GT_PTXGEN_TEMPORARY)
		return &gen->temporaries[value.class][number];
	/* r0 to r10 of the outermost function, and registers of which a list has one. */
	if (bank == GT_PTXGEN_STACK_PIECE || bank > GT_PTXGEN_IS_LEADER ||
	    gt_ptxgen_frame_of(value) || number > 10)
		return NULL;
	_Static_assert(11 + GT_PTXGEN_IS_LEADER < GT_SPIRVGEN_COMMON, "a note for each");
	return &gen->common[value.class][bank > GT_PTXGEN_SAVED ? 11 + bank : number];
}

/* 1 + the index of a register; 0: it has none yet. */
static uint32_t find_register(struct gt_spirvgen *gen, struct gt_ptxgen_value value)
{
	uint64_t key[2] = {value.class, value.id};
	const uint32_t *note = find_note(gen, value);

	if (note)
		return *note;
	return (uint32_t)(uintptr_t)gt_hash_get(gen->others, key, sizeof(key));
}

static void set_register(struct gt_spirvgen *gen, struct gt_ptxgen_value value, uint32_t number)
{
	uint64_t key[2] = {value.class, value.id};
	uint32_t *note = find_note(gen, value);

	if (note)
		*note = number;
	else if (gt_hash_set(gen->others, key, sizeof(key), (void *)(uintptr_t)number))
		gen->code.failed = true;
}

/* The register of a value, valid until the next call. NULL: out of memory. */
static struct gt_spirvgen_register *register_of(struct gt_spirvgen *gen,
						struct gt_ptxgen_value value)
{
	struct gt_spirvgen_register fresh = {0};
	uint32_t number = find_register(gen, value);

	if (number)
		return &gen->registers.items[number - 1];
	fresh.variable = add_register_variable(gen, value.class);
	if (gt_vec_push(&gen->registers, fresh)) {
		gen->code.failed = true;
		return NULL;
	}
	set_register(gen, value, (uint32_t)gen->registers.count);
	return &gen->registers.items[gen->registers.count - 1];
}

/* The value of a register, which this block may know. */
static uint32_t load_register(struct gt_spirvgen *gen, struct gt_ptxgen_value value)
{
	struct gt_spirvgen_register *one = register_of(gen, value);

	if (!one)
		return 0;
	if (one->block != gen->block)
		one->value = gt_spirvgen_emit(gen, SpvOpLoad, type_of_class(gen, value.class),
					      one->variable);
	one->block = gen->block;
	return one->value;
}

uint32_t gt_spirvgen_convert(struct gt_spirvgen *gen, uint32_t id, unsigned from, unsigned to,
			     bool is_signed)
{
	if (from == to)
		return id;
	return gt_spirvgen_emit(gen, is_signed && to > from ? SpvOpSConvert : SpvOpUConvert,
				gt_spirvgen_int(gen, to), id);
}

/* An operand that is text: a value of the site, a special register, or a number. */
static uint32_t read_text(struct gt_spirvgen *gen, const char *text, unsigned bits)
{
	for (uint32_t i = 0; gen->site_values && i < gen->job->value_count; i++) {
		const struct gt_site_value *value = &gen->job->values[i];

		if (gen->site_values[i] && !strcmp(value->operand, text))
			return gt_spirvgen_convert(gen, gen->site_values[i], value->bits, bits,
						   false);
	}
	return gt_spirvgen_special(gen, text, bits);
}

uint32_t gt_spirvgen_read(struct gt_spirvgen *gen, struct gt_ptxgen_value value, unsigned bits)
{
	uint32_t id;

	switch (value.class) {
	case GT_PTXGEN_B64:
	case GT_PTXGEN_B32:
	case GT_PTXGEN_B16:
		id = load_register(gen, value);
		return gt_spirvgen_convert(gen, id, register_bits[value.class], bits, false);
	case GT_PTXGEN_SIGNED:
	case GT_PTXGEN_UNSIGNED:
	case GT_PTXGEN_HEX:
		return gt_spirvgen_constant(gen, bits, value.id);
	case GT_PTXGEN_TEXT:
		return read_text(gen, (const char *)(uintptr_t)value.id, bits);
	case GT_PTXGEN_SYMBOL:
		return gt_spirvgen_constant(
			gen, bits,
			gt_spirvgen_symbol_address(gen, (const char *)(uintptr_t)value.id));
	default:
		gt_spirvgen_fail(gen, -EINVAL, "an operand has no value in SPIR-V");
		return gt_spirvgen_constant(gen, bits, 0);
	}
}

uint32_t gt_spirvgen_read_predicate(struct gt_spirvgen *gen, struct gt_ptxgen_value value)
{
	if (value.class != GT_PTXGEN_PREDICATE)
		return gt_spirv_bool(gen->builder, value.id != 0);
	return load_register(gen, value);
}

void gt_spirvgen_write(struct gt_spirvgen *gen, struct gt_ptxgen_value target, uint32_t id,
		       unsigned bits, bool is_signed)
{
	struct gt_spirvgen_register *one;

	if (target.class != GT_PTXGEN_PREDICATE)
		id = gt_spirvgen_convert(gen, id, bits, register_bits[target.class], is_signed);
	one = register_of(gen, target);
	if (!one)
		return;
	one->value = id;
	one->block = gen->block;
	gt_spirv_emit(&gen->code, SpvOpStore, one->variable, id);
}

/* ---- rows ---- */

static bool is_branch(const struct gt_ptxgen_row *row)
{
	return *row->opcode.name == 'b' && !strcmp(row->opcode.name, "bra");
}

/* Lower an instruction that is executed where a predicate holds. */
static void lower_guarded(struct gt_spirvgen *gen)
{
	uint32_t holds = gt_spirv_id(gen->builder), done = gt_spirv_id(gen->builder);
	uint32_t condition = gt_spirvgen_read_predicate(gen, gen->row->guard.predicate);
	bool branches = is_branch(gen->row);

	if (branches)
		holds = gt_spirvgen_label(gen, gen->row->operands[0].value);
	gt_spirvgen_branch_if(gen, condition, gen->row->guard.holds ? holds : done,
			      gen->row->guard.holds ? done : holds);
	if (!branches) {
		gt_spirvgen_begin_block(gen, holds);
		gt_spirvgen_lower(gen);
	}
	gt_spirvgen_begin_block(gen, done);
}

static void lower_row(struct gt_spirvgen *gen)
{
	if (gen->row->kind == GT_PTXGEN_LABEL_ROW)
		gt_spirvgen_begin_block(gen, gt_spirvgen_label(gen, gen->row->operands[0].value));
	/* Code after a branch, up to the next label, is never executed. */
	else if (gen->row->kind != GT_PTXGEN_INSTRUCTION || !gen->is_open)
		return;
	else if (gen->row->guard.predicate.class == GT_PTXGEN_PREDICATE)
		lower_guarded(gen);
	else if (is_branch(gen->row))
		gt_spirvgen_branch(gen, gt_spirvgen_label(gen, gen->row->operands[0].value));
	else
		gt_spirvgen_lower(gen);
}

/* ---- the result ---- */

static enum gt_level level_of(const struct gt_spirvgen *gen)
{
	return gen->job->section ? gen->job->section->level : GT_LEVEL_THREAD;
}

static uint32_t emit_block_index(struct gt_spirvgen *gen)
{
	uint32_t index = gt_spirvgen_builtin(gen, SpvBuiltInWorkgroupId, 2);

	for (unsigned i = 2; i-- > 0;) {
		index = gt_spirvgen_binary(gen, SpvOpIMul, 64, index,
					   gt_spirvgen_builtin(gen, SpvBuiltInNumWorkgroups, i));
		index = gt_spirvgen_binary(gen, SpvOpIAdd, 64, index,
					   gt_spirvgen_builtin(gen, SpvBuiltInWorkgroupId, i));
	}
	return index;
}

/* The index of the execution's result (translate.h). */
static uint32_t emit_result_index(struct gt_spirvgen *gen)
{
	uint32_t block = emit_block_index(gen), each, index;

	if (level_of(gen) == GT_LEVEL_BLOCK)
		return block;
	if (level_of(gen) == GT_LEVEL_WARP) {
		each = gt_spirvgen_special(gen, GT_PTXGEN_WARP_COUNT, 64);
		index = gt_spirvgen_special(gen, GT_PTXGEN_WARP_NUMBER, 64);
	} else {
		each = gt_spirvgen_local_size(gen);
		index = gt_spirvgen_local_index(gen);
	}
	return gt_spirvgen_binary(gen, SpvOpIAdd, 64,
				  gt_spirvgen_binary(gen, SpvOpIMul, 64, block, each), index);
}

static void emit_result_store(struct gt_spirvgen *gen)
{
	uint32_t store = gt_spirv_id(gen->builder), done = gt_spirv_id(gen->builder), pointer;
	uint32_t type = gt_spirv_type_pointer(gen->builder, SpvStorageClassCrossWorkgroup,
					      gt_spirvgen_int(gen, 64));
	struct gt_ptxgen_value result = {GT_PTXGEN_B64, gt_ptxgen_id(GT_PTXGEN_ARGUMENT, 0, 0)};
	struct gt_ptxgen_value leader = {GT_PTXGEN_PREDICATE,
					 gt_ptxgen_id(GT_PTXGEN_IS_LEADER, 0, 0)};

	if (level_of(gen) == GT_LEVEL_THREAD)
		gt_spirvgen_branch(gen, store);
	else
		gt_spirvgen_branch_if(gen, gt_spirvgen_read_predicate(gen, leader), store, done);
	gt_spirvgen_begin_block(gen, store);
	pointer = gt_spirvgen_emit(gen, SpvOpInBoundsPtrAccessChain, type, gen->results,
				   emit_result_index(gen));
	gt_spirv_emit(&gen->code, SpvOpStore, pointer, gt_spirvgen_read(gen, result, 64),
		      SpvMemoryAccessAlignedMask, 8);
	gt_spirvgen_begin_block(gen, done);
	gt_spirvgen_return(gen);
}

/* ---- the function ---- */

static bool has_context(const struct gt_spirvgen *gen)
{
	return gen->job->section && gen->job->section->kind != GT_KIND_RUN;
}

void gt_spirvgen_declare_local(struct gt_spirvgen *gen)
{
	uint32_t bytes = gt_spirvgen_local_bytes(gen), array;

	gen->local = 0;
	if (!bytes)
		return;
	array = gt_spirv_type_array(gen->builder, gt_spirvgen_int(gen, 64), bytes / 8);
	array = add_variable(gen,
			     gt_spirv_type_pointer(gen->builder, SpvStorageClassFunction, array));
	gen->local = gt_spirvgen_emit(gen, SpvOpBitcast,
				      gt_spirv_type_pointer(gen->builder, SpvStorageClassFunction,
							    gt_spirvgen_int(gen, 8)),
				      array);
}

/* In the first block: arguments in registers, the array of the stack. */
static void emit_arguments(struct gt_spirvgen *gen)
{
	const struct gt_ptxgen_value r1 = {GT_PTXGEN_B64, gt_ptxgen_id(GT_PTXGEN_ARGUMENT, 0, 1)};
	const struct gt_ptxgen_value r2 = {GT_PTXGEN_B64, gt_ptxgen_id(GT_PTXGEN_ARGUMENT, 0, 2)};
	uint32_t memory;

	gt_spirvgen_declare_local(gen);
	if (gen->shared)
		gen->base = gt_spirvgen_emit(gen, SpvOpConvertPtrToU, gt_spirvgen_int(gen, 64),
					     gen->shared);
	if (has_context(gen))
		return;
	memory = gen->job->memory_size ? gt_spirvgen_emit(gen, SpvOpConvertPtrToU,
							  gt_spirvgen_int(gen, 64), gen->memory)
				       : gt_spirvgen_constant(gen, 64, 0);
	gt_spirvgen_write(gen, r1, memory, 64, false);
	gt_spirvgen_write(gen, r2, gen->memory_size, 64, false);
}

/* Blocks by label: 1 + index, from the lowest label on. */
struct labels {
	uint32_t lowest, count;
	uint32_t *blocks;
};

static int index_blocks(const struct gt_spirvgen *gen, struct labels *labels)
{
	uint32_t lowest = UINT32_MAX, highest = 0;

	gt_vec_each (block, &gen->blocks) {
		lowest = block->label < lowest ? block->label : lowest;
		highest = block->label > highest ? block->label : highest;
	}
	labels->lowest = lowest;
	labels->count = highest - lowest + 1;
	labels->blocks = calloc(labels->count, sizeof(*labels->blocks));
	if (!labels->blocks)
		return -ENOMEM;
	for (uint32_t i = 0; i < gen->blocks.count; i++)
		labels->blocks[gen->blocks.items[i].label - lowest] = i + 1;
	return 0;
}

static struct gt_spirvgen_block *find_block(struct gt_spirvgen *gen, const struct labels *labels,
					    uint32_t label)
{
	uint32_t at = label - labels->lowest, number = at < labels->count ? labels->blocks[at] : 0;

	return number ? &gen->blocks.items[number - 1] : NULL;
}

/* The numbers of the blocks that are reached, in postorder. -ENOMEM or their number. */
static long order_blocks(struct gt_spirvgen *gen, const struct labels *labels, uint32_t *order)
{
	size_t count = gen->blocks.count, depth = 0;
	gt_autofree uint32_t *stack = calloc(count + 1, sizeof(*stack));
	gt_autofree uint8_t *next = calloc(count + 1, sizeof(*next));
	long done = 0;

	if (!stack || !next)
		return -ENOMEM;
	gen->blocks.items[0].is_visited = true;
	for (depth = 1; depth;) {
		uint32_t at = stack[depth - 1];
		struct gt_spirvgen_block *block = &gen->blocks.items[at], *successor;

		if (next[at] == block->successor_count) {
			order[done++] = at;
			depth--;
			continue;
		}
		successor = find_block(gen, labels, block->successors[next[at]++]);
		if (successor && !successor->is_visited) {
			successor->is_visited = true;
			stack[depth++] = (uint32_t)(successor - gen->blocks.items);
		}
	}
	return done;
}

int gt_spirvgen_add_blocks(struct gt_spirvgen *gen)
{
	struct gt_spirv_words *functions = &gen->builder->sections[GT_SPIRV_FUNCTIONS];
	gt_autofree uint32_t *order = calloc(gen->blocks.count + 1, sizeof(*order));
	struct labels labels = {0};
	long count;

	if (!order || !gen->blocks.count || index_blocks(gen, &labels))
		return -ENOMEM;
	count = order_blocks(gen, &labels, order);
	free(labels.blocks);
	if (count < 0)
		return (int)count;
	gt_spirv_expect(functions, gen->code.words.count + gen->variables.words.count);
	for (long i = count; i-- > 0;) {
		const struct gt_spirvgen_block *block = &gen->blocks.items[order[i]];
		size_t label_words = 2;

		gt_spirv_append(functions, &gen->code, block->begin, block->begin + label_words);
		if (!order[i])
			gt_spirv_append(functions, &gen->variables, 0, gen->variables.words.count);
		gt_spirv_append(functions, &gen->code, block->begin + label_words, block->end);
	}
	return functions->failed ? -ENOMEM : 0;
}

static uint32_t byte_pointer(struct gt_spirvgen *gen)
{
	return gt_spirv_type_pointer(gen->builder, SpvStorageClassCrossWorkgroup,
				     gt_spirvgen_int(gen, 8));
}

/* The head of the function: its type and parameters (translate.h). */
static uint32_t add_head(struct gt_spirvgen *gen)
{
	struct gt_spirv_builder *builder = gen->builder;
	uint32_t wide = gt_spirvgen_int(gen, 64), nothing = gt_spirv_type_void(builder);
	uint32_t types[6] = {
		nothing,
		byte_pointer(gen),
		wide,
		gt_spirv_type_pointer(builder, SpvStorageClassCrossWorkgroup, wide),
		byte_pointer(gen),
		byte_pointer(gen),
	};
	uint32_t *parameters[5] = {&gen->memory, &gen->memory_size, &gen->results};
	uint32_t count = 3, type, function = gt_spirv_id(builder);

	if (has_context(gen))
		parameters[count++] = &gen->context;
	if (gen->options->relative)
		parameters[count++] = &gen->shared;
	type = gt_spirv_global(builder, SpvOpTypeFunction, 0, types, count + 1);

	gt_spirv_emit(&builder->sections[GT_SPIRV_FUNCTIONS], SpvOpFunction, nothing, function,
		      SpvFunctionControlMaskNone, type);
	for (unsigned i = 0; i < count; i++) {
		*parameters[i] = gt_spirv_id(builder);
		gt_spirv_emit(&builder->sections[GT_SPIRV_FUNCTIONS], SpvOpFunctionParameter,
			      types[i + 1], *parameters[i]);
	}
	return function;
}

/* The name of the kernel: that of the job, as translate.h says. */
static void kernel_name(const struct gt_spirvgen *gen, struct gt_strbuf *ret_name)
{
	const char *name = gen->job->name ? gen->job->name : gen->job->program->name;

	if (!name || !*name)
		name = "program";
	gt_strbuf_puts(ret_name, gen->options->prefix ? gen->options->prefix : "gputap_");
	for (; *name; name++)
		gt_strbuf_putc(ret_name, (char)(isalnum((unsigned char)*name) ? *name : '_'));
}

void gt_spirvgen_lower_rows(struct gt_spirvgen *gen)
{
	gt_spirv_expect(&gen->code, gen->selection->list.rows.count * WORDS_OF_ROW);
	gt_spirvgen_begin_block(gen, gt_spirv_id(gen->builder));
	gt_vec_each (row, &gen->selection->list.rows) {
		gen->row = row;
		lower_row(gen);
	}
	gen->row = NULL;
}

int gt_spirvgen_function(struct gt_spirvgen *gen)
{
	gt_auto_strbuf name = GT_STRBUF_INIT;
	uint32_t function = add_head(gen);
	int error;

	gt_spirvgen_begin_block(gen, gt_spirv_id(gen->builder));
	emit_arguments(gen);
	gt_spirvgen_lower_rows(gen);
	if (gen->is_open)
		emit_result_store(gen);
	if (!gen->error && (gen->code.failed || gen->variables.failed))
		gen->error = gt_diag(gen->diag, -ENOMEM, "translate", NULL, "out of memory");
	if (gen->error)
		return gen->error;
	error = gt_spirvgen_add_blocks(gen);
	gt_spirv_add(&gen->builder->sections[GT_SPIRV_FUNCTIONS], SpvOpFunctionEnd, NULL, 0);
	kernel_name(gen, &name);
	gt_spirvgen_add_modes(gen, function);
	gt_spirv_add_entry_point(gen->builder, function, gt_strbuf_string(&name),
				 gen->interface.items, gen->interface.count);
	return error || name.failed
		       ? gt_diag(gen->diag, -ENOMEM, "translate", NULL, "out of memory")
		       : 0;
}
