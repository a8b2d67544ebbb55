/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Exchanges of values between the lanes of a warp: the protocol. ops/exchange.c has the
 * instructions and what they compute.
 *
 * An exchange takes three steps: each lane deposits its operands, the results are computed once
 * all members are present, and each lane stores its result. In the common case all members are in
 * the running group and the steps follow each other. Otherwise the lanes deposit their operands
 * and wait; the group that completes the members computes and stores for all of them, and
 * releases them.
 */
#include "exec/engine/engine.h"

static void deposit_operands(struct sg_exchange *exchange, const struct sg_instruction *at,
			     const char *frame, uint32_t lanes)
{
	const uint32_t *value32 = sg_slot32(frame, at->a), *b = sg_slot32(frame, at->b);
	const uint32_t *c = sg_slot32(frame, at->c), *members = sg_slot32(frame, at->e);
	const uint64_t *value64 = (const uint64_t *)(const void *)value32;
	uint32_t p = *value32 ^ (at->flags & SG_FLAG_NEGATE ? SG_FULL : 0);

	if (at->size == 0)
		exchange->predicates = (exchange->predicates & ~lanes) | (p & lanes);
	for (uint32_t left = lanes; left; left &= left - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(left);

		if (at->size == 4)
			exchange->value[lane] = value32[lane];
		else if (at->size == 8)
			exchange->value[lane] = value64[lane];
		exchange->b[lane] = b[lane];
		exchange->c[lane] = c[lane];
		exchange->members[lane] = members[lane];
	}
}

static void store_results(const struct sg_exchange *exchange, const struct sg_instruction *at,
			  char *frame, uint32_t lanes)
{
	if (at->immediate) {
		uint32_t *p = sg_slot32(frame, (uint32_t)at->immediate - 1);

		*p = (*p & ~lanes) | (exchange->predicate_result & lanes);
	}
	if (at->d == SG_NO_SLOT)
		return;
	for (uint32_t left = lanes; left; left &= left - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(left);

		sg_slot32(frame, at->d)[lane] = (uint32_t)exchange->result[lane];
	}
}

/* ---- waiting for each other ------------------------------------------------------------ */

/* Lanes of all groups that wait at this kind of exchange. */
static uint32_t waiting_lanes(const struct sg_warp *warp, const struct sg_instruction *at)
{
	uint32_t lanes = 0;

	for (uint32_t i = 0; i < warp->group_count; i++)
		if (warp->groups[i].state == SG_GROUP_SYNC &&
		    warp->groups[i].at->combine == at->combine &&
		    warp->groups[i].at->selector == at->selector)
			lanes |= warp->groups[i].mask;
	return lanes;
}

/* Finishes the exchange of `lanes`, which wait in any groups. */
static void finish_exchange(struct sg_warp *warp, const struct sg_instruction *at, uint32_t lanes,
			    uint32_t members)
{
	uint32_t count = warp->group_count;

	at->combine(&warp->exchange, at, lanes, members);
	for (uint32_t i = 0; i < count; i++) {
		struct sg_group *group = &warp->groups[i];
		uint32_t mine = group->mask & lanes;

		if (group->state != SG_GROUP_SYNC || !mine)
			continue;
		store_results(&warp->exchange, group->at, group->frame, mine);
		sg_warp_release(warp, i, mine, group->at + 1);
	}
}

/* Lanes that wait in group `index` and whose members are all there. True if there were. */
static bool check_group(struct sg_warp *warp, uint32_t index)
{
	const struct sg_instruction *at = warp->groups[index].at;
	uint32_t present = waiting_lanes(warp, at), mask = warp->groups[index].mask;

	for (uint32_t left = mask; left; left &= left - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(left), same = 0;
		uint32_t members = warp->exchange.members[lane] & warp->live;

		members |= 1u << lane;
		if (members & ~present)
			continue;
		for (uint32_t all = members; all; all &= all - 1) {
			uint32_t other = (uint32_t)__builtin_ctz(all);

			if (warp->exchange.members[other] == warp->exchange.members[lane])
				same |= 1u << other;
		}
		finish_exchange(warp, at, same, members);
		return true;
	}
	return false;
}

void sg_exchange_check(struct sg_warp *warp)
{
	for (uint32_t i = 0; i < warp->group_count; i++)
		if (warp->groups[i].state == SG_GROUP_SYNC && check_group(warp, i))
			i = UINT32_MAX;
}

/*
 * Computes for the running group if all members that its lanes name are in it: in the common
 * case one set of them, with tiles of a warp several. False: some must be waited for.
 */
static bool compute_at_once(struct sg_warp *warp, const struct sg_instruction *at)
{
	struct sg_exchange *values = &warp->exchange;
	uint32_t outside = 0;

	for (uint32_t left = warp->exec; left; left &= left - 1)
		outside |= values->members[__builtin_ctz(left)];
	if (outside & warp->live & ~warp->exec)
		return false;
	for (uint32_t left = warp->exec; left;) {
		uint32_t members = values->members[__builtin_ctz(left)], same = 0;

		for (uint32_t others = left; others; others &= others - 1)
			if (values->members[__builtin_ctz(others)] == members)
				same |= others & -others;
		at->combine(values, at, same, members & warp->exec);
		left &= ~same;
	}
	return true;
}

const struct sg_instruction *sg_run_exchange(struct sg_warp *warp, const struct sg_instruction *at)
{
	uint32_t exec = warp->exec;

	deposit_operands(&warp->exchange, at, warp->frame, exec);
	if (!(at->flags & SG_FLAG_SYNC))
		at->combine(&warp->exchange, at, exec, exec);
	if (!(at->flags & SG_FLAG_SYNC) || sg_likely(compute_at_once(warp, at))) {
		store_results(&warp->exchange, at, warp->frame, exec);
		return at + 1;
	}
	sg_warp_wait(warp, at, SG_GROUP_SYNC);
	sg_exchange_check(warp);
	return sg_warp_select(warp);
}
