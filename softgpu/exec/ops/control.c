/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Branches, exit, trap, nanosleep. The targets of branches are block numbers until the code is laid
 * out (resolve_branches in decode/decode.c).
 */
#include <errno.h>

#include "exec/decode/decode.h"
#include "exec/ops/ops.h"

enum {
	SPIN_COST = 256, /* ticks of a backward branch in a loop that appears to wait */
	SPIN_SLOW_COST = 32,
};

static uint32_t read_predicate(const struct sg_warp *warp, const struct sg_instruction *at)
{
	uint32_t p = *(uint32_t *)(void *)(warp->frame + at->a);

	return at->flags & SG_FLAG_NEGATE ? ~p : p;
}

/* Counts a backward branch; true when the turn is over. */
static inline bool is_turn_over(struct sg_warp *warp, const struct sg_instruction *at)
{
	uint32_t spin = at->flags & (SG_FLAG_SPIN | SG_FLAG_SPIN_SLOW);

	if (sg_likely(!spin))
		return --warp->ticks <= 0;
	warp->ticks -= spin & SG_FLAG_SPIN ? SPIN_COST : SPIN_SLOW_COST;
	warp->spinning = (spin & SG_FLAG_SPIN) != 0;
	return warp->ticks <= 0;
}

const struct sg_instruction *sg_run_join(struct sg_warp *warp, const struct sg_instruction *at)
{
	warp->pseudo++;
	return sg_warp_go(warp, at + 1);
}

const struct sg_instruction *sg_run_jump(struct sg_warp *warp, const struct sg_instruction *at)
{
	warp->pseudo += at->count;
	return sg_warp_go(warp, at->target);
}

const struct sg_instruction *sg_run_jump_back(struct sg_warp *warp, const struct sg_instruction *at)
{
	warp->pseudo += at->count;
	if (sg_unlikely(is_turn_over(warp, at)))
		return sg_warp_tick(warp, at->target);
	return sg_warp_go(warp, at->target);
}

const struct sg_instruction *sg_run_branch(struct sg_warp *warp, const struct sg_instruction *at)
{
	uint32_t taken = warp->mask & read_predicate(warp, at);

	if (taken == warp->mask)
		return sg_warp_go(warp, at->target);
	if (!taken)
		return sg_warp_go(warp, at->next);
	return sg_warp_diverge(warp, taken, at->target, at->next);
}

const struct sg_instruction *sg_run_branch_back(struct sg_warp *warp,
						const struct sg_instruction *at)
{
	uint32_t taken = warp->mask & read_predicate(warp, at);

	if (!taken)
		return sg_warp_go(warp, at->next);
	if (sg_likely(taken == warp->mask)) {
		if (sg_unlikely(is_turn_over(warp, at)))
			return sg_warp_tick(warp, at->target);
		return sg_warp_go(warp, at->target);
	}
	if (is_turn_over(warp, at)) {
		const struct sg_instruction *to =
			sg_warp_diverge(warp, taken, at->target, at->next);

		return to ? sg_warp_tick(warp, to) : NULL;
	}
	return sg_warp_diverge(warp, taken, at->target, at->next);
}

static const struct sg_instruction *run_branch_table(struct sg_warp *warp,
						     const struct sg_instruction *at)
{
	const uint32_t *index = (uint32_t *)(void *)(warp->frame + at->a);
	uint32_t first = (uint32_t)__builtin_ctz(warp->exec), same = 0;
	const struct sg_instruction *to;

	if (index[first] >= at->table->count)
		return sg_warp_fault(warp, at, SG_FAULT_INVALID_PC, first, index[first]);
	for (uint32_t lane = 0; lane < SG_WARP_SIZE; lane++)
		same |= (uint32_t)(index[lane] == index[first]) << lane;
	to = at->table->targets[index[first]];
	same &= warp->exec;
	if (to <= at && is_turn_over(warp, at))
		warp->ticks = 1;
	if (same == warp->mask)
		return sg_warp_go(warp, to);
	/* The other lanes execute the branch again. */
	return sg_warp_diverge(warp, same, to, at);
}

const struct sg_instruction *sg_run_guard(struct sg_warp *warp, const struct sg_instruction *at)
{
	uint32_t exec = warp->mask & read_predicate(warp, at);
	const struct sg_instruction *next = at + 1;

	if (!exec)
		return at + 1 + at->count;
	warp->exec = exec;
	for (uint32_t i = 1; i <= at->count && next == at + i; i++)
		next = next->run(warp, next);
	warp->exec = warp->mask;
	return next;
}

static const struct sg_instruction *run_exit(struct sg_warp *warp, const struct sg_instruction *at)
{
	return sg_warp_exit(warp, at, warp->exec);
}

static const struct sg_instruction *run_trap(struct sg_warp *warp, const struct sg_instruction *at)
{
	return sg_warp_fault(warp, at, SG_FAULT_TRAP, (uint32_t)__builtin_ctz(warp->exec), 0);
}

static const struct sg_instruction *run_breakpoint(struct sg_warp *warp,
						   const struct sg_instruction *at)
{
	return sg_warp_fault(warp, at, SG_FAULT_BREAKPOINT, (uint32_t)__builtin_ctz(warp->exec), 0);
}

/* The sleep may end at any time up to twice the duration: it only ends the turn. */
const struct sg_instruction *sg_run_nanosleep(struct sg_warp *warp, const struct sg_instruction *at)
{
	warp->spinning = true;
	warp->ticks = 1;
	return at + 1;
}

static const struct sg_instruction *run_nothing(struct sg_warp *warp,
						const struct sg_instruction *at)
{
	return at + 1;
}

/* ---- decoding -------------------------------------------------------------------------- */

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
	struct sg_instruction step = {0};
	bool negated = false;
	uint32_t target;
	int error = 0;

	if (instruction->operand_count != 1)
		return sg_decode_bad_operand(decoder, 0);
	target = label_block(decoder, &instruction->operands[0]);
	if (target == SG_NO_SLOT)
		return sg_decode_bad_operand(decoder, 0);
	if (instruction->guard)
		error = sg_decode_predicate(decoder, instruction->guard, 0, &step.a, &negated);
	step.immediate = target;
	step.flags = negated ? SG_FLAG_NEGATE : 0;
	return error ? error
		     : sg_decode_emit_step(decoder,
					   instruction->guard ? sg_run_branch : sg_run_jump, &step);
}

/* The targets of brx, as block numbers; owned by the function. */
static int read_jump_table(struct sg_decoder *decoder, const struct gt_ptx_targets *targets,
			   struct sg_jump_table **ret_table)
{
	gt_autofree const struct sg_instruction **blocks =
		calloc(targets->count, sizeof(struct sg_instruction *));
	struct sg_jump_table *table;

	if (!blocks)
		return -ENOMEM;
	for (uint32_t i = 0; i < targets->count; i++) {
		uint32_t block = label_block(decoder, &targets->items[i]);

		if (block == SG_NO_SLOT)
			return sg_decode_bad_operand(decoder, 1);
		blocks[i] = (const struct sg_instruction *)(uintptr_t)block;
	}
	table = calloc(1, sizeof(*table));
	if (!table)
		return -ENOMEM;
	table->count = targets->count;
	table->targets = gt_take(blocks);
	table->next = decoder->function->tables;
	decoder->function->tables = *ret_table = table;
	return 0;
}

/* brx.idx index, list: a guard becomes a branch around it. */
int sg_decode_brx(struct sg_decoder *decoder)
{
	const struct gt_ptx_instruction *instruction = decoder->instruction;
	struct sg_instruction step = {0}, guard = {.count = 1 /* not taken: the next one */};
	struct sg_jump_table *table = NULL;
	bool negated = false;
	int error;

	if (instruction->operand_count != 2 ||
	    instruction->operands[1].kind != GT_PTX_OPERAND_LABEL ||
	    !instruction->operands[1].label->targets)
		return sg_decode_bad_operand(decoder, 1);
	error = sg_decode_source(decoder, 0, GT_PTX_TYPE_U32, &step.a);
	if (!error && instruction->guard)
		error = sg_decode_predicate(decoder, instruction->guard, 0, &guard.a, &negated);
	if (error)
		return error;
	if (instruction->guard && decoder->fall_block == SG_NO_SLOT)
		return sg_decode_bad_form(decoder);
	guard.immediate = decoder->fall_block;
	guard.flags = negated ? 0 : SG_FLAG_NEGATE;
	if (instruction->guard)
		error = sg_decode_emit_step(decoder, sg_run_branch, &guard);
	if (!error)
		error = read_jump_table(decoder, instruction->operands[1].label->targets, &table);
	if (error)
		return error;
	step.table = table;
	return sg_decode_emit_step(decoder, run_branch_table, &step);
}

int sg_decode_exit(struct sg_decoder *decoder)
{
	return sg_decode_emit_plain(decoder, run_exit);
}

int sg_decode_trap(struct sg_decoder *decoder)
{
	return sg_decode_emit_plain(decoder, sg_decode_form(decoder)->opcode == GT_PTX_OP_TRAP
						     ? run_trap
						     : run_breakpoint);
}

int sg_decode_nanosleep(struct sg_decoder *decoder)
{
	uint32_t slot;
	int error = sg_decode_source(decoder, 0, GT_PTX_TYPE_U32, &slot);

	return error ? error : sg_decode_emit_plain(decoder, sg_run_nanosleep);
}

/* Hints, and waits for copies, which are complete already. */
int sg_decode_nothing(struct sg_decoder *decoder)
{
	return sg_decode_emit_plain(decoder, run_nothing);
}
