/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "patch/loops.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clean.h"

enum {
	NO_BLOCK = UINT32_MAX,
	/* Visits of basic blocks in one function: loops beyond them are rejected. */
	MAX_VISITS = 1 << 22,
};

/* A basic block; it ends with a branch, a ret or exit, or before a label. */
struct loop_block {
	const struct gt_ptx_label *label;    /* that it begins with; NULL: none */
	const struct gt_ptx_statement *last; /* the instruction that ends it; NULL: none */
	uint32_t next, taken;                /* blocks, or NO_BLOCK */
	uint32_t first_from;                 /* index into `from` of its first predecessor */
	uint32_t loop;                       /* the last loop that it is in, from 1 */
	/* Where a depth-first search enters and leaves it, from 1; 0: it does not get there. */
	uint32_t entered, left;
};

/* An edge to the header of a loop from inside it. */
struct loop_back_edge {
	const struct gt_ptx_label *label; /* of the header */
	uint32_t block;                   /* where it begins */
};

struct loop_search {
	const struct gt_ptx_function *function;
	struct gt_patch_loops *found;
	GT_VEC(struct loop_block) blocks;
	uint32_t *by_label; /* the block that begins at a label, by number */
	uint32_t *from;     /* the predecessors of all blocks */
	GT_VEC(struct loop_back_edge) edges;
	GT_VEC(uint32_t) body; /* the blocks of a loop; of the search, those that it is in */
	uint32_t visits;
	bool is_indirect;
};

static void clear_search(struct loop_search *search)
{
	gt_vec_free(&search->blocks);
	gt_vec_free(&search->edges);
	gt_vec_free(&search->body);
	free(search->by_label);
	free(search->from);
}

/* ---- control flow ---------------------------------------------------------------------- */

/* Whether an instruction ends a basic block. */
static bool ends_block(const struct gt_ptx_statement *statement)
{
	return statement->kind == GT_PTX_STATEMENT_INSTRUCTION &&
	       (gt_ptx_is_jump(&statement->instruction) ||
		statement->instruction.form->opcode == GT_PTX_OP_TRAP);
}

/* The label of a direct branch that is executed by this statement; NULL: it is none. */
static const struct gt_ptx_label *branch_label(const struct gt_ptx_statement *statement)
{
	const struct gt_ptx_instruction *instruction;

	if (!statement)
		return NULL;
	instruction = &statement->instruction;
	if (instruction->form->opcode != GT_PTX_OP_BRA || !instruction->operand_count ||
	    instruction->operands[0].kind != GT_PTX_OPERAND_LABEL ||
	    !instruction->operands[0].label->statement ||
	    !gt_ptx_label_is_target(instruction->operands[0].label))
		return NULL;
	return instruction->operands[0].label;
}

/* Split the body into blocks. */
static int find_blocks(struct loop_search *search)
{
	struct loop_block *block = NULL;
	int error = gt_vec_push(&search->blocks, (struct loop_block){0});

	for (const struct gt_ptx_statement *statement = search->function->body->first;
	     statement && !error; statement = gt_ptx_statement_next(statement)) {
		block = &search->blocks.items[search->blocks.count - 1];
		if (statement->kind == GT_PTX_STATEMENT_LABEL &&
		    gt_ptx_label_is_target(statement->label)) {
			error = gt_vec_push(&search->blocks,
					    (struct loop_block){.label = statement->label});
			search->by_label[statement->label->number] =
				(uint32_t)search->blocks.count - 1;
		} else if (ends_block(statement)) {
			block->last = statement;
			search->is_indirect |= statement->instruction.form->opcode == GT_PTX_OP_BRX;
			error = gt_vec_push(&search->blocks, (struct loop_block){0});
		}
	}
	return error;
}

static void find_successors(struct loop_search *search)
{
	for (uint32_t i = 0; i < search->blocks.count; i++) {
		struct loop_block *block = &search->blocks.items[i];
		const struct gt_ptx_label *label = branch_label(block->last);
		bool falls = !block->last || block->last->instruction.guard;

		block->next = falls && i + 1 < search->blocks.count ? i + 1 : NO_BLOCK;
		block->taken = label ? search->by_label[label->number] : NO_BLOCK;
	}
}

static int enter_block(struct loop_search *search, uint32_t block, uint32_t *clock)
{
	if (block == NO_BLOCK || search->blocks.items[block].entered)
		return 0;
	search->blocks.items[block].entered = ++*clock;
	return gt_vec_push(&search->body, block);
}

/* Search the blocks from the start of the function, depth first. */
static int order_blocks(struct loop_search *search)
{
	uint32_t clock = 0;
	int error = enter_block(search, 0, &clock);

	while (search->body.count && !error) {
		size_t depth = search->body.count;
		struct loop_block *block = &search->blocks.items[search->body.items[depth - 1]];

		error = enter_block(search, block->next, &clock);
		if (search->body.count == depth && !error)
			error = enter_block(search, block->taken, &clock);
		if (search->body.count == depth) {
			block->left = ++clock;
			search->body.count--;
		}
	}
	return error;
}

/* Whether the search is still in a block where it finds the edge to it: one that closes a loop. */
static bool is_retreating(const struct loop_search *search, const struct loop_block *from,
			  uint32_t to)
{
	const struct loop_block *block;

	if (to == NO_BLOCK || !from->entered)
		return false;
	block = &search->blocks.items[to];
	return block->entered <= from->entered && block->left >= from->left;
}

static void reject_loop(struct loop_search *search, const char *reason)
{
	search->found->rejected++;
	search->found->reason = reason;
}

/* A block that several edges enter begins with a label. */
static int add_back_edge(struct loop_search *search, uint32_t from, uint32_t to)
{
	struct loop_back_edge edge = {.block = from};

	if (!is_retreating(search, &search->blocks.items[from], to))
		return 0;
	edge.label = search->blocks.items[to].label;
	return edge.label ? gt_vec_push(&search->edges, edge) : 0;
}

/* Other branches to earlier labels, as from code that was moved to the end, close no loop. */
static int find_back_edges(struct loop_search *search)
{
	int error = 0;

	for (uint32_t i = 0; i < search->blocks.count && !error; i++) {
		error = add_back_edge(search, i, search->blocks.items[i].taken);
		if (!error)
			error = add_back_edge(search, i, search->blocks.items[i].next);
	}
	return error;
}

/* Predecessors in one array, by a counting sort. */
static int find_predecessors(struct loop_search *search)
{
	struct loop_block *blocks = search->blocks.items;
	uint32_t count = (uint32_t)search->blocks.count, sum = 0;

	search->from = calloc(2 * (size_t)count + 1, sizeof(*search->from));
	if (!search->from)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		if (blocks[i].next != NO_BLOCK)
			blocks[blocks[i].next].first_from++;
		if (blocks[i].taken != NO_BLOCK)
			blocks[blocks[i].taken].first_from++;
	}
	for (uint32_t i = 0; i < count; i++)
		sum = blocks[i].first_from += sum;
	for (uint32_t i = 0; i < count; i++) {
		if (blocks[i].next != NO_BLOCK)
			search->from[--blocks[blocks[i].next].first_from] = i;
		if (blocks[i].taken != NO_BLOCK)
			search->from[--blocks[blocks[i].taken].first_from] = i;
	}
	/* The end of the last block's predecessors. */
	return gt_vec_push(&search->blocks, (struct loop_block){.first_from = sum});
}

/* ---- loops ----------------------------------------------------------------------------- */

static int add_to_body(struct loop_search *search, uint32_t block, uint32_t loop)
{
	if (search->blocks.items[block].loop == loop)
		return 0;
	search->blocks.items[block].loop = loop;
	return gt_vec_push(&search->body, block);
}

/*
 * The blocks from which the back edges are reached without passing the header. The header does
 * not dominate them if the start of the function is among these: then it is no natural loop.
 */
static int find_body(struct loop_search *search, const struct loop_back_edge *edges, size_t count,
		     uint32_t loop, const char **ret_reason)
{
	uint32_t header = search->by_label[edges[0].label->number];
	int error;

	*ret_reason = NULL;
	search->body.count = 0;
	error = add_to_body(search, header, loop);
	for (size_t i = 0; i < count && !error; i++)
		error = add_to_body(search, edges[i].block, loop);
	for (size_t i = 1; i < search->body.count && !error; i++) {
		uint32_t block = search->body.items[i];
		uint32_t end = search->blocks.items[block + 1].first_from;

		if (!block)
			*ret_reason = "a loop has several entries";
		else if (++search->visits > MAX_VISITS)
			*ret_reason = "the loops of the function are too large";
		if (*ret_reason)
			break;
		for (uint32_t j = search->blocks.items[block].first_from; j < end && !error; j++)
			error = add_to_body(search, search->from[j], loop);
	}
	return error;
}

static bool is_in(const struct loop_search *search, uint32_t block, uint32_t loop)
{
	return block != NO_BLOCK && search->blocks.items[block].loop == loop;
}

/* The label of a branch from a block to an earlier one; NULL: it ends with none. */
static const struct gt_ptx_label *backward_label(const struct loop_block *block)
{
	const struct gt_ptx_label *label = branch_label(block->last);

	return label && label->statement->number < block->last->number ? label : NULL;
}

/*
 * The label that the branches of a loop lead back to: that of its header, if one does. Else the
 * header comes after the body in the text; of its branches back, that to the first label is taken,
 * unless it is a loop of its own.
 */
static const struct gt_ptx_label *find_back_label(const struct loop_search *search,
						  const struct loop_back_edge *edges, size_t count,
						  uint32_t loop)
{
	const struct gt_ptx_label *header = edges[0].label, *first = header;

	for (size_t i = 0; i < count; i++)
		if (backward_label(&search->blocks.items[edges[i].block]) == header)
			return header;
	gt_vec_each (number, &search->body) {
		const struct loop_block *block = &search->blocks.items[*number];
		const struct gt_ptx_label *label = backward_label(block);

		if (label && is_in(search, block->taken, loop) &&
		    !is_retreating(search, block, block->taken) &&
		    label->statement->number < first->statement->number)
			first = label;
	}
	return first;
}

/* The branches from blocks of a loop to others. Each has a path that stays in it. */
static int add_ends(struct loop_search *search, const struct loop_back_edge *edges, size_t count,
		    uint32_t loop)
{
	const struct gt_ptx_label *back = find_back_label(search, edges, count, loop);
	int error = 0;

	for (size_t i = 0; i < search->body.count && !error; i++) {
		const struct loop_block *block = &search->blocks.items[search->body.items[i]];
		struct gt_patch_loop_end end = {
			.statement = block->last,
			.loop = edges[0].label,
			.back = back,
		};

		if (!block->last || !block->last->instruction.guard)
			continue;
		if (!is_in(search, block->taken, loop)) {
			error = gt_vec_push(&search->found->ends, end);
		} else if (!is_in(search, block->next, loop)) {
			end.after = true;
			error = gt_vec_push(&search->found->ends, end);
		}
	}
	return error;
}

/* A loop with all back edges to its header. */
static int add_loop(struct loop_search *search, const struct loop_back_edge *edges, size_t count,
		    uint32_t loop)
{
	const char *reason = NULL;
	int error = 0;

	if (search->is_indirect)
		reason = "an indirect branch may leave a loop";
	else
		error = find_body(search, edges, count, loop, &reason);
	if (error)
		return error;
	if (reason) {
		reject_loop(search, reason);
		return 0;
	}
	error = gt_vec_push(&search->found->labels, edges[0].label);
	return error ? error : add_ends(search, edges, count, loop);
}

static int compare_edges(const void *a, const void *b)
{
	const struct loop_back_edge *one = a, *other = b;
	uint32_t first = one->label->statement->number, second = other->label->statement->number;

	return (first > second) - (first < second);
}

static int compare_ends(const void *a, const void *b)
{
	const struct gt_patch_loop_end *one = a, *other = b;

	if (one->statement != other->statement)
		return one->statement->number < other->statement->number ? -1 : 1;
	if (one->after != other->after)
		return one->after ? 1 : -1;
	/* The inner loop first. */
	return one->back->statement->number < other->back->statement->number ? 1 : -1;
}

static int add_loops(struct loop_search *search)
{
	struct gt_patch_loops *found = search->found;
	size_t count = search->edges.count, next;
	uint32_t loop = 0;
	int error = 0;

	if (count)
		qsort(search->edges.items, count, sizeof(*search->edges.items), compare_edges);
	for (size_t i = 0; i < count && !error; i = next) {
		const struct loop_back_edge *edges = &search->edges.items[i];

		for (next = i + 1; next < count && search->edges.items[next].label == edges->label;)
			next++;
		error = add_loop(search, edges, next - i, ++loop);
	}
	if (found->ends.count)
		qsort(found->ends.items, found->ends.count, sizeof(*found->ends.items),
		      compare_ends);
	return error;
}

int gt_patch_loops_find(const struct gt_ptx_function *function, struct gt_patch_loops *ret_loops)
{
	struct loop_search search = {.function = function, .found = ret_loops};
	int error = 0;

	*ret_loops = (struct gt_patch_loops){0};
	search.by_label = calloc((size_t)function->label_count + 1, sizeof(*search.by_label));
	if (!search.by_label)
		error = -ENOMEM;
	if (!error)
		error = find_blocks(&search);
	if (!error) {
		find_successors(&search);
		error = order_blocks(&search);
	}
	if (!error)
		error = find_back_edges(&search);
	if (!error && search.edges.count)
		error = find_predecessors(&search);
	if (!error && search.edges.count)
		error = add_loops(&search);
	clear_search(&search);
	return error;
}

void gt_patch_loops_clear(struct gt_patch_loops *loops)
{
	gt_vec_free(&loops->labels);
	gt_vec_free(&loops->ends);
	*loops = (struct gt_patch_loops){0};
}
