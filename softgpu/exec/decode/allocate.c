/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Register allocation: linear scan over live intervals (Poletto and Sarkar 1999). PTX has a
 * register for every value; here registers that are never live at the same time share a slot, so
 * that a warp's frame fits into the caches. Each lane has its own column of a slot, so divergence
 * does not matter.
 */
#include <errno.h>
#include <string.h>

#include "exec/decode/decode.h"

enum {
	MAX_WORK = 64 << 20, /* blocks × registers; above, every register has its own slot */
	NONE = UINT32_MAX,
};

/* A register that the function uses. */
struct register_value {
	uint32_t number;     /* among the function's registers */
	uint32_t width;      /* bytes of a lane; 0: a predicate */
	uint32_t start, end; /* live interval: instructions in the order of the layout */
};

struct register_allocation {
	struct sg_decoder *decoder;
	const uint32_t *order; /* of blocks */
	uint32_t *indices;     /* of values, by register number; NONE: not used */
	GT_VEC(struct register_value) values;
	uint32_t words; /* of a bit set of values */
	uint64_t *in, *out, *used,
		*defined; /* bit sets by block: live in, live out, used, defined */
	int error;
};

typedef void visit_register(struct register_allocation *allocation, uint32_t number,
			    const struct gt_ptx_variable *variable, bool is_defined, void *context);

/* ---- the registers of an instruction --------------------------------------------------- */

static void visit_operand(struct register_allocation *allocation,
			  const struct gt_ptx_operand *operand, bool is_defined,
			  visit_register *visit, void *context)
{
	switch (operand->kind) {
	case GT_PTX_OPERAND_REGISTER:
		/* A vector register without a selector stands for all its elements. */
		if (operand->variable->vector > 1 && operand->selector == GT_PTX_SELECT_NONE) {
			uint32_t first = operand->variable->first_register +
					 operand->index * operand->variable->vector;

			for (uint32_t i = 0; i < operand->variable->vector; i++)
				visit(allocation, first + i, operand->variable, is_defined,
				      context);
			return;
		}
		visit(allocation, gt_ptx_operand_register(operand), operand->variable, is_defined,
		      context);
		return;
	case GT_PTX_OPERAND_ADDRESS:
		is_defined = false;
		/* fall through */
	case GT_PTX_OPERAND_VECTOR:
	case GT_PTX_OPERAND_PAIR:
		for (uint32_t i = 0; i < operand->count; i++)
			visit_operand(allocation, &operand->items[i], is_defined, visit, context);
		return;
	default:
		return;
	}
}

static void visit_list(struct register_allocation *allocation,
		       const struct gt_ptx_operand *operands, uint32_t count, bool is_defined,
		       visit_register *visit, void *context)
{
	for (uint32_t i = 0; i < count; i++)
		visit_operand(allocation, &operands[i], is_defined, visit, context);
}

/* Visits the registers that are read, then those that are written. */
static void visit_instruction(struct register_allocation *allocation,
			      const struct gt_ptx_instruction *instruction, visit_register *visit,
			      void *context)
{
	enum gt_ptx_destination first = gt_ptx_opcode_destination(instruction->form->opcode);
	const struct gt_ptx_call *call = instruction->call;
	bool has_result = first != GT_PTX_DESTINATION_NONE && instruction->operand_count;

	if (instruction->guard)
		visit_operand(allocation, instruction->guard, false, visit, context);
	if (call) {
		visit_operand(allocation, call->target, false, visit, context);
		visit_list(allocation, call->arguments, call->argument_count, false, visit,
			   context);
		visit_list(allocation, call->returns, call->return_count, true, visit, context);
		return;
	}
	/* If it depends on the modifiers, the first operand counts as both. */
	for (uint32_t i = first == GT_PTX_DESTINATION_FIRST; i < instruction->operand_count; i++)
		visit_operand(allocation, &instruction->operands[i], false, visit, context);
	if (has_result)
		visit_operand(allocation, &instruction->operands[0], true, visit, context);
}

/* ---- values ---------------------------------------------------------------------------- */

static void add_value(struct register_allocation *allocation, uint32_t number,
		      const struct gt_ptx_variable *variable, bool is_defined, void *context)
{
	struct register_value value = {
		.number = number, .width = sg_type_width(variable->type), .start = NONE};

	/* Parameters in registers have their slots already. */
	if (number >= allocation->decoder->source->register_count ||
	    allocation->indices[number] != NONE ||
	    allocation->decoder->registers[number] != SG_NO_SLOT)
		return;
	allocation->indices[number] = (uint32_t)allocation->values.count;
	if (gt_vec_push(&allocation->values, value))
		allocation->error = -ENOMEM;
}

static const struct gt_ptx_instruction *instruction_at(const struct sg_decoder *decoder,
						       uint32_t statement)
{
	const struct gt_ptx_statement *found = decoder->statements.items[statement];

	return found->kind == GT_PTX_STATEMENT_INSTRUCTION ? &found->instruction : NULL;
}

static void find_values(struct register_allocation *allocation)
{
	const struct sg_decoder *decoder = allocation->decoder;

	for (uint32_t i = 0; i < decoder->statements.count; i++)
		if (instruction_at(decoder, i))
			visit_instruction(allocation, instruction_at(decoder, i), add_value, NULL);
}

/* ---- where they are needed ------------------------------------------------------------- */

static bool contains(const uint64_t *set, uint32_t index)
{
	return set[index / 64] >> (index % 64) & 1;
}

static void insert(uint64_t *set, uint32_t index)
{
	set[index / 64] |= 1ull << (index % 64);
}

struct block_sets {
	uint64_t *used, *defined;
	bool is_guarded;
};

/* What a block reads before it writes it, and what it writes whatever happens. */
static void add_to_block(struct register_allocation *allocation, uint32_t number,
			 const struct gt_ptx_variable *variable, bool is_defined, void *context)
{
	struct block_sets *sets = context;
	uint32_t index = number < allocation->decoder->source->register_count
				 ? allocation->indices[number]
				 : NONE;

	if (index == NONE)
		return;
	if (!is_defined && !contains(sets->defined, index))
		insert(sets->used, index);
	/* A write under a guard keeps the value of the other lanes. */
	if (is_defined && sets->is_guarded && !contains(sets->defined, index))
		insert(sets->used, index);
	if (is_defined && !sets->is_guarded)
		insert(sets->defined, index);
}

static void describe_blocks(struct register_allocation *allocation)
{
	const struct sg_decoder *decoder = allocation->decoder;

	for (uint32_t b = 0; b < decoder->blocks.count; b++) {
		const struct sg_basic_block *block = &decoder->blocks.items[b];
		struct block_sets sets = {.used = allocation->used + (size_t)b * allocation->words,
					  .defined = allocation->defined +
						     (size_t)b * allocation->words};

		for (uint32_t i = block->first; i < block->end; i++) {
			const struct gt_ptx_instruction *instruction = instruction_at(decoder, i);

			if (!instruction)
				continue;
			sets.is_guarded = instruction->guard != NULL;
			visit_instruction(allocation, instruction, add_to_block, &sets);
		}
	}
}

/* Liveness of one block, backwards; true if its live-in set has grown. */
static bool flow_through(struct register_allocation *allocation, uint32_t block)
{
	const struct sg_decoder *decoder = allocation->decoder;
	size_t words = allocation->words;
	uint64_t *out = allocation->out + block * words, *in = allocation->in + block * words;
	const uint64_t *used = allocation->used + block * words;
	const uint64_t *defined = allocation->defined + block * words;
	bool grows = false;

	for (uint32_t e = decoder->edge_starts[block]; e < decoder->edge_starts[block + 1]; e++)
		for (size_t w = 0; w < words; w++)
			out[w] |= allocation->in[decoder->edges.items[e] * words + w];
	for (size_t w = 0; w < words; w++) {
		uint64_t needed = used[w] | (out[w] & ~defined[w]);

		grows |= needed != in[w];
		in[w] = needed;
	}
	return grows;
}

static void find_flow(struct register_allocation *allocation)
{
	uint32_t count = (uint32_t)allocation->decoder->blocks.count;
	bool grows = true;

	while (grows) {
		grows = false;
		for (uint32_t i = count; i-- > 0;)
			grows |= flow_through(allocation, allocation->order[i]);
	}
}

static void extend(struct register_value *value, uint32_t position)
{
	if (value->start == NONE || position < value->start)
		value->start = position;
	if (position > value->end)
		value->end = position;
}

static void extend_to(struct register_allocation *allocation, uint32_t number,
		      const struct gt_ptx_variable *variable, bool is_defined, void *context)
{
	uint32_t index = number < allocation->decoder->source->register_count
				 ? allocation->indices[number]
				 : NONE;

	if (index != NONE)
		extend(&allocation->values.items[index], *(const uint32_t *)context);
}

static void extend_set(struct register_allocation *allocation, const uint64_t *set,
		       uint32_t position)
{
	for (uint32_t w = 0; w < allocation->words; w++)
		for (uint64_t bits = set[w]; bits; bits &= bits - 1)
			extend(&allocation->values.items[w * 64 + (uint32_t)__builtin_ctzll(bits)],
			       position);
}

static void find_intervals(struct register_allocation *allocation)
{
	const struct sg_decoder *decoder = allocation->decoder;
	uint32_t position = 0;

	for (uint32_t i = 0; i < decoder->blocks.count; i++) {
		size_t b = allocation->order[i];
		const struct sg_basic_block *block = &decoder->blocks.items[b];

		extend_set(allocation, allocation->in + b * allocation->words, position++);
		for (uint32_t s = block->first; s < block->end; s++) {
			const struct gt_ptx_instruction *instruction = instruction_at(decoder, s);

			if (instruction)
				visit_instruction(allocation, instruction, extend_to, &position);
			position += instruction != NULL;
		}
		extend_set(allocation, allocation->out + b * allocation->words, position++);
	}
}

/* ---- slots ----------------------------------------------------------------------------- */

/* The slots of one width: those in use, and the free ones. */
struct slot_pool {
	GT_VEC(struct register_value *) active; /* a heap by the end of the interval */
	GT_VEC(uint32_t) free;
};

static void push_active(struct slot_pool *pool, struct register_value *value, int *error)
{
	size_t position = pool->active.count;

	if (gt_vec_push(&pool->active, value)) {
		*error = -ENOMEM;
		return;
	}
	while (position && pool->active.items[(position - 1) / 2]->end > value->end) {
		pool->active.items[position] = pool->active.items[(position - 1) / 2];
		position = (position - 1) / 2;
	}
	pool->active.items[position] = value;
}

static struct register_value *pop_active(struct slot_pool *pool)
{
	struct register_value **items = pool->active.items, *first = items[0];
	struct register_value *last = items[--pool->active.count];
	size_t position = 0, count = pool->active.count;

	for (size_t child = 1; child < count; child = 2 * position + 1) {
		if (child + 1 < count && items[child + 1]->end < items[child]->end)
			child++;
		if (items[child]->end >= last->end)
			break;
		items[position] = items[child];
		position = child;
	}
	items[position] = last;
	return first;
}

static int compare_starts(const void *a, const void *b)
{
	const struct register_value *left = a, *right = b;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	return left->number < right->number ? -1 : left->number > right->number;
}

static uint32_t words_of(const struct register_value *value)
{
	return value->width > 4 ? value->width / 4 : value->width > 0;
}

static int assign_slot(struct sg_decoder *decoder, struct slot_pool *pool,
		       struct register_value *value)
{
	struct sg_slot slot = {.width = value->width};
	int error = 0;

	if (pool->free.count) {
		decoder->registers[value->number] = pool->free.items[--pool->free.count];
	} else {
		slot.offset = sg_decode_new_slot(decoder, value->width);
		decoder->registers[value->number] = slot.offset;
		error = gt_vec_push(&decoder->function->slots, slot);
	}
	if (!error)
		push_active(pool, value, &error);
	return error;
}

static int assign_slots(struct register_allocation *allocation)
{
	struct sg_decoder *decoder = allocation->decoder;
	struct slot_pool pools[5] = {0};
	uint32_t live = 0;
	int error = 0;

	qsort(allocation->values.items, allocation->values.count, sizeof(struct register_value),
	      compare_starts);
	gt_vec_each (value, &allocation->values) {
		/* In every pool, since the number of live values counts all of them. */
		for (size_t i = 0; i < gt_countof(pools) && !error; i++)
			while (pools[i].active.count &&
			       pools[i].active.items[0]->end < value->start && !error) {
				struct register_value *ended = pop_active(&pools[i]);

				live -= words_of(ended);
				error = gt_vec_push(&pools[i].free,
						    decoder->registers[ended->number]);
			}
		if (!error)
			error = assign_slot(decoder,
					    &pools[value->width ? __builtin_ctz(value->width) : 0],
					    value);
		if (error)
			break;
		live += words_of(value);
		if (live > decoder->function->register_words)
			decoder->function->register_words = live;
	}
	for (size_t i = 0; i < gt_countof(pools); i++) {
		gt_vec_free(&pools[i].active);
		gt_vec_free(&pools[i].free);
	}
	return error;
}

/* ---- allocation ------------------------------------------------------------------------ */

static int allocate(struct register_allocation *allocation)
{
	uint32_t blocks = (uint32_t)allocation->decoder->blocks.count;
	gt_autofree uint64_t *sets = NULL;
	size_t size;

	find_values(allocation);
	if (allocation->error)
		return allocation->error;
	if ((uint64_t)allocation->values.count * blocks > MAX_WORK || !allocation->values.count)
		return 0;
	allocation->words = (uint32_t)((allocation->values.count + 63) / 64);
	size = (size_t)allocation->words * blocks;
	sets = calloc(size * 4, sizeof(*sets));
	if (!sets)
		return -ENOMEM;
	allocation->in = sets;
	allocation->out = sets + size;
	allocation->used = sets + size * 2;
	allocation->defined = sets + size * 3;
	describe_blocks(allocation);
	find_flow(allocation);
	find_intervals(allocation);
	return assign_slots(allocation);
}

int sg_decode_allocate(struct sg_decoder *decoder, const uint32_t *order)
{
	struct register_allocation allocation = {.decoder = decoder, .order = order};
	size_t count = decoder->source->register_count;
	int error;

	allocation.indices = malloc((count + 1) * sizeof(uint32_t));
	if (!allocation.indices)
		return -ENOMEM;
	memset(allocation.indices, 0xff, (count + 1) * sizeof(uint32_t));
	error = allocate(&allocation);
	free(allocation.indices);
	gt_vec_free(&allocation.values);
	return error;
}
