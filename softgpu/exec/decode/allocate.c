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
	MAX_WORK =
		64 << 20, /* edges that values are followed along; above, each has its own slot */
	NONE = UINT32_MAX,
};

/* A register that the function uses. */
struct register_value {
	uint32_t number;     /* among the function's registers */
	uint32_t width;      /* bytes of a lane; 0: a predicate */
	uint32_t start, end; /* live interval: instructions in the order of the layout */
};

/* A value and a block that reads it before it writes it, or writes it whatever happens. */
struct value_block {
	uint32_t value, block;
};
typedef GT_VEC(struct value_block) value_blocks;

struct register_allocation {
	struct sg_decoder *decoder;
	const uint32_t *order; /* of blocks */
	uint32_t *indices;     /* of values, by register number; NONE: not used */
	GT_VEC(struct register_value) values;
	value_blocks reads, writes;     /* by value, once they are all known */
	uint32_t *starts, *ends;        /* positions of blocks in the layout */
	uint32_t *edge_starts, *edges;  /* to predecessors, as decoder->edges to successors */
	uint32_t *read_in, *written_in; /* by value: 1 + the last block known to do so */
	uint32_t *live_in, *kills;      /* by block: 1 + the last value known to be so */
	GT_VEC(uint32_t) queue;         /* blocks where a value is live in */
	uint64_t work;
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

struct block_visit {
	uint32_t block;
	bool is_guarded;
};

static void add_block(struct register_allocation *allocation, value_blocks *list, uint32_t *last,
		      uint32_t value, uint32_t block)
{
	if (last[value] == block + 1)
		return;
	last[value] = block + 1;
	if (gt_vec_push(list, ((struct value_block){value, block})))
		allocation->error = -ENOMEM;
}

/* What a block reads before it writes it, and what it writes whatever happens. */
static void add_to_block(struct register_allocation *allocation, uint32_t number,
			 const struct gt_ptx_variable *variable, bool is_defined, void *context)
{
	const struct block_visit *visit = context;
	uint32_t index = number < allocation->decoder->source->register_count
				 ? allocation->indices[number]
				 : NONE;

	if (index == NONE)
		return;
	/* A write under a guard keeps the value of the other lanes. */
	if ((!is_defined || visit->is_guarded) && allocation->written_in[index] != visit->block + 1)
		add_block(allocation, &allocation->reads, allocation->read_in, index, visit->block);
	if (is_defined && !visit->is_guarded)
		add_block(allocation, &allocation->writes, allocation->written_in, index,
			  visit->block);
}

static void describe_blocks(struct register_allocation *allocation)
{
	const struct sg_decoder *decoder = allocation->decoder;

	for (uint32_t b = 0; b < decoder->blocks.count; b++) {
		const struct sg_basic_block *block = &decoder->blocks.items[b];

		for (uint32_t i = block->first; i < block->end; i++) {
			const struct gt_ptx_instruction *instruction = instruction_at(decoder, i);
			struct block_visit visit = {.block = b};

			if (!instruction)
				continue;
			visit.is_guarded = instruction->guard != NULL;
			visit_instruction(allocation, instruction, add_to_block, &visit);
		}
	}
}

static int compare_values(const void *a, const void *b)
{
	const struct value_block *left = a, *right = b;

	if (left->value != right->value)
		return left->value < right->value ? -1 : 1;
	return left->block < right->block ? -1 : left->block > right->block;
}

static void sort_by_value(value_blocks *list)
{
	if (list->count)
		qsort(list->items, list->count, sizeof(*list->items), compare_values);
}

/* The predecessors of block b: edges[edge_starts[b]] to edges[edge_starts[b + 1] - 1]. */
static void find_predecessors(struct register_allocation *allocation)
{
	const struct sg_decoder *decoder = allocation->decoder;
	uint32_t count = (uint32_t)decoder->blocks.count;
	uint32_t *starts = allocation->edge_starts;

	for (uint32_t e = 0; e < decoder->edge_starts[count]; e++)
		starts[decoder->edges.items[e] + 1]++;
	for (uint32_t b = 0; b < count; b++)
		starts[b + 1] += starts[b];
	/* Filled from the end of each list, whose start moves there and back. */
	for (uint32_t b = count; b-- > 0;)
		for (uint32_t e = decoder->edge_starts[b]; e < decoder->edge_starts[b + 1]; e++)
			allocation->edges[--starts[decoder->edges.items[e] + 1]] = b;
	memmove(starts, starts + 1, count * sizeof(*starts));
	starts[count] = decoder->edge_starts[count];
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

/* The positions of blocks, and those of the instructions in the intervals of their registers. */
static void find_positions(struct register_allocation *allocation)
{
	const struct sg_decoder *decoder = allocation->decoder;
	uint32_t position = 0;

	for (uint32_t i = 0; i < decoder->blocks.count; i++) {
		size_t b = allocation->order[i];
		const struct sg_basic_block *block = &decoder->blocks.items[b];

		allocation->starts[b] = position++;
		for (uint32_t s = block->first; s < block->end; s++) {
			const struct gt_ptx_instruction *instruction = instruction_at(decoder, s);

			if (instruction)
				visit_instruction(allocation, instruction, extend_to, &position);
			position += instruction != NULL;
		}
		allocation->ends[b] = position++;
	}
}

static void set_live_in(struct register_allocation *allocation, uint32_t value, uint32_t block)
{
	if (allocation->live_in[block] == value + 1)
		return;
	allocation->live_in[block] = value + 1;
	extend(&allocation->values.items[value], allocation->starts[block]);
	if (gt_vec_push(&allocation->queue, block))
		allocation->error = -ENOMEM;
}

/* Follow a value from the blocks that read it to those that write it, against the edges. */
static void follow_value(struct register_allocation *allocation, uint32_t value)
{
	while (allocation->queue.count && !allocation->error) {
		uint32_t block = allocation->queue.items[--allocation->queue.count];
		uint32_t end = allocation->edge_starts[block + 1];

		for (uint32_t e = allocation->edge_starts[block]; e < end; e++) {
			uint32_t before = allocation->edges[e];

			extend(&allocation->values.items[value], allocation->ends[before]);
			if (allocation->kills[before] != value + 1)
				set_live_in(allocation, value, before);
		}
		allocation->work += end - allocation->edge_starts[block];
		if (allocation->work > MAX_WORK)
			allocation->queue.count = 0;
	}
}

/*
 * Liveness value by value (Boissinot et al., Computing Liveness Sets for SSA-Form Programs, 2011,
 * "by use"): most values of a large function are live in few of its blocks.
 */
static void find_intervals(struct register_allocation *allocation)
{
	size_t read = 0, written = 0;

	for (uint32_t value = 0; value < allocation->values.count && !allocation->error; value++) {
		for (; written < allocation->writes.count &&
		       allocation->writes.items[written].value == value;
		     written++)
			allocation->kills[allocation->writes.items[written].block] = value + 1;
		for (;
		     read < allocation->reads.count && allocation->reads.items[read].value == value;
		     read++)
			set_live_in(allocation, value, allocation->reads.items[read].block);
		follow_value(allocation, value);
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

/* Arrays of a function, of zeros, in one piece of memory. */
static uint32_t *make_arrays(struct register_allocation *allocation)
{
	size_t blocks = allocation->decoder->blocks.count, values = allocation->values.count;
	size_t edges = allocation->decoder->edge_starts[blocks];
	uint32_t *arrays = calloc(blocks * 5 + values * 2 + edges + 1, sizeof(*arrays));

	if (!arrays)
		return NULL;
	allocation->starts = arrays;
	allocation->ends = allocation->starts + blocks;
	allocation->live_in = allocation->ends + blocks;
	allocation->kills = allocation->live_in + blocks;
	allocation->edge_starts = allocation->kills + blocks;
	allocation->edges = allocation->edge_starts + blocks + 1;
	allocation->read_in = allocation->edges + edges;
	allocation->written_in = allocation->read_in + values;
	return arrays;
}

static int allocate(struct register_allocation *allocation)
{
	gt_autofree uint32_t *arrays = NULL;

	find_values(allocation);
	if (allocation->error || !allocation->values.count)
		return allocation->error;
	arrays = make_arrays(allocation);
	if (!arrays)
		return -ENOMEM;
	describe_blocks(allocation);
	if (allocation->error)
		return allocation->error;
	sort_by_value(&allocation->reads);
	sort_by_value(&allocation->writes);
	find_predecessors(allocation);
	find_positions(allocation);
	find_intervals(allocation);
	if (allocation->error || allocation->work > MAX_WORK)
		return allocation->error;
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
	gt_vec_free(&allocation.reads);
	gt_vec_free(&allocation.writes);
	gt_vec_free(&allocation.queue);
	return error;
}
