/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Branches, and what ends a thread. Targets are block numbers until the code is laid out. */
#include <errno.h>

#include "exec/decode/decode.h"
#include "exec/ops/ops.h"

enum {
	SPIN_COST = 256, /* ticks of a branch back in a loop that seems to wait */
	SPIN_SLOW_COST = 32,
};

static uint32_t read_predicate(const struct sg_warp *warp, const struct sg_instruction *at)
{
	uint32_t p = *(uint32_t *)(void *)(warp->frame + at->a);

	return at->flags & SG_FLAG_NEGATE ? ~p : p;
}

/* A branch back: takes ticks; true when the turn is over. */
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
	/* The others come here again. */
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

/* Sleeping ends at any time up to twice what was asked for: others get their turn. */
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
	step = sg_decode_emit(decoder, run_branch_table);
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

/* Hints, and what is complete when it has begun. */
int sg_decode_nothing(struct sg_decoder *decoder)
{
	return sg_decode_emit_plain(decoder, run_nothing);
}
