/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Branches and what ends a thread. */
#include "exec/decode.h"
#include "exec/steps.h"

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

const struct sg_instruction *sg_run_branch_table(struct sg_warp *warp,
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

const struct sg_instruction *sg_run_exit(struct sg_warp *warp, const struct sg_instruction *at)
{
	return sg_warp_exit(warp, at, warp->exec);
}

const struct sg_instruction *sg_run_trap(struct sg_warp *warp, const struct sg_instruction *at)
{
	return sg_warp_fault(warp, at, SG_FAULT_TRAP, (uint32_t)__builtin_ctz(warp->exec), 0);
}

const struct sg_instruction *sg_run_breakpoint(struct sg_warp *warp,
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

const struct sg_instruction *sg_run_nothing(struct sg_warp *warp, const struct sg_instruction *at)
{
	return at + 1;
}
