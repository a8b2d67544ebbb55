/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What lanes do together: shuffles, votes, matches, reductions; and barriers.
 *
 * An exchange takes three steps: every lane brings its values, the results are computed for
 * lanes that are complete, and every lane stores its result. In the common case all members
 * are in the running group and the steps follow each other. Else lanes bring their values and
 * wait; who completes the members computes, stores for all of them, and lets them go on.
 */
#include <string.h>

#include "exec/decode.h"
#include "exec/float.h"
#include "exec/half.h"
#include "exec/steps.h"

static uint32_t *slot32(const char *frame, uint32_t slot)
{
	return (uint32_t *)(void *)((char *)frame + slot);
}

/* ---- bringing values ------------------------------------------------------------------- */

/* a: value; b, c: more of them; e: members; c of a vote: its predicate. */
static void bring(struct sg_exchange *exchange, const struct sg_instruction *at, const char *frame,
		  uint32_t lanes)
{
	const uint32_t *value32 = slot32(frame, at->a), *b = slot32(frame, at->b);
	const uint32_t *c = slot32(frame, at->c), *members = slot32(frame, at->e);
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

/* ---- computing ------------------------------------------------------------------------- */

/* PTX ISA 9.0, 9.7.9.6. */
static void compute_shuffle(struct sg_exchange *exchange, uint32_t lanes, uint32_t present,
			    enum sg_shuffle mode)
{
	uint32_t inside = 0;

	for (uint32_t left = lanes; left; left &= left - 1) {
		int32_t lane = __builtin_ctz(left), from;
		uint32_t b = exchange->b[lane] & 31, c = exchange->c[lane];
		int32_t segment = c >> 8 & 31, clamp = c & 31;
		int32_t most = (lane & segment) | (clamp & ~segment), least = lane & segment;
		bool valid;

		switch (mode) {
		case SG_SHUFFLE_UP:
			from = lane - (int32_t)b;
			valid = from >= most;
			break;
		case SG_SHUFFLE_DOWN:
			from = lane + (int32_t)b;
			valid = from <= most;
			break;
		case SG_SHUFFLE_BUTTERFLY:
			from = lane ^ (int32_t)b;
			valid = from <= most;
			break;
		default:
			from = least | ((int32_t)b & ~segment);
			valid = from <= most;
			break;
		}
		if (!valid)
			from = lane;
		inside |= (uint32_t)valid << lane;
		/* From a lane that is not there, nothing certain comes: its own value does here. */
		exchange->result[lane] =
			exchange->value[(present >> (from & 31) & 1) ? from & 31 : lane];
	}
	exchange->predicate_result = (exchange->predicate_result & ~lanes) | inside;
}

static void compute_vote(struct sg_exchange *exchange, uint32_t lanes, uint32_t members,
			 enum sg_vote mode)
{
	uint32_t votes = exchange->predicates & members;
	bool all = votes == members, result;

	switch (mode) {
	case SG_VOTE_ALL:
		result = all;
		break;
	case SG_VOTE_ANY:
		result = votes != 0;
		break;
	default:
		result = all || !votes;
		break;
	}
	exchange->predicate_result = (exchange->predicate_result & ~lanes) | (result ? lanes : 0);
	for (uint32_t left = lanes; left; left &= left - 1)
		exchange->result[__builtin_ctz(left)] = votes;
}

/* selector 1: .all, else .any. */
static void compute_match(struct sg_exchange *exchange, uint32_t lanes, uint32_t members, bool all)
{
	for (uint32_t left = lanes; left; left &= left - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(left), same = 0;

		for (uint32_t others = members; others; others &= others - 1) {
			uint32_t other = (uint32_t)__builtin_ctz(others);

			same |= (uint32_t)(exchange->value[other] == exchange->value[lane])
				<< other;
		}
		if (all && same != members)
			same = 0;
		exchange->result[lane] = same;
		exchange->predicate_result = (exchange->predicate_result & ~(1u << lane)) |
					     (uint32_t)(same != 0) << lane;
	}
}

static uint32_t reduce_floats(uint32_t a, uint32_t b, const struct sg_instruction *at)
{
	double chosen = sg_choose(sg_float_f32(a), sg_float_f32(b), at->selector == SG_REDUCE_MIN,
				  at->flags);

	return sg_bits_f32(sg_canonical_f32((float)chosen));
}

static uint32_t reduce_two(uint32_t a, uint32_t b, const struct sg_instruction *at)
{
	bool is_signed = at->count == SG_REDUCE_SIGNED,
	     is_less = is_signed ? (int32_t)a < (int32_t)b : a < b;

	if (at->count == SG_REDUCE_FLOATS)
		return reduce_floats(a, b, at);
	switch (at->selector) {
	case SG_REDUCE_ADD:
		return a + b;
	case SG_REDUCE_MIN:
		return is_less ? a : b;
	case SG_REDUCE_MAX:
		return is_less ? b : a;
	case SG_REDUCE_AND:
		return a & b;
	case SG_REDUCE_OR:
		return a | b;
	default:
		return a ^ b;
	}
}

static void compute_reduction(struct sg_exchange *exchange, uint32_t lanes, uint32_t members,
			      const struct sg_instruction *at)
{
	uint32_t total = 0;
	bool first = true;

	for (uint32_t left = members; left; left &= left - 1) {
		uint32_t value = (uint32_t)exchange->value[__builtin_ctz(left)];

		/* A lone .f32 is one that is chosen, too: .abs holds for it. */
		if (first && at->count == SG_REDUCE_FLOATS)
			total = value;
		total = first && at->count != SG_REDUCE_FLOATS ? value
							       : reduce_two(total, value, at);
		first = false;
	}
	for (uint32_t left = lanes; left; left &= left - 1)
		exchange->result[__builtin_ctz(left)] = total;
}

/* The lowest lane is elected. */
static void compute_election(struct sg_exchange *exchange, uint32_t lanes, uint32_t members)
{
	exchange->predicate_result =
		(exchange->predicate_result & ~lanes) | (members & -members & lanes);
	for (uint32_t left = lanes; left; left &= left - 1)
		exchange->result[__builtin_ctz(left)] = (uint32_t)__builtin_ctz(members);
}

/* The results of `lanes`, which all name the same members; those present are `members`. */
static void compute(struct sg_exchange *exchange, const struct sg_instruction *at, uint32_t lanes,
		    uint32_t members)
{
	if (at->run == sg_run_shuffle)
		compute_shuffle(exchange, lanes, members, (enum sg_shuffle)at->selector);
	else if (at->run == sg_run_vote)
		compute_vote(exchange, lanes, members, (enum sg_vote)at->selector);
	else if (at->run == sg_run_match)
		compute_match(exchange, lanes, members, at->selector);
	else if (at->run == sg_run_reduce)
		compute_reduction(exchange, lanes, members, at);
	else if (at->run == sg_run_elect)
		compute_election(exchange, lanes, members);
}

/* ---- storing --------------------------------------------------------------------------- */

/* immediate: slot of a predicate result + 1, or 0. d: SG_NO_SLOT: only the predicate. */
static void store(const struct sg_exchange *exchange, const struct sg_instruction *at, char *frame,
		  uint32_t lanes)
{
	if (at->immediate) {
		uint32_t *p = slot32(frame, (uint32_t)at->immediate - 1);

		*p = (*p & ~lanes) | (exchange->predicate_result & lanes);
	}
	if (at->d == SG_NO_SLOT)
		return;
	for (uint32_t left = lanes; left; left &= left - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(left);

		slot32(frame, at->d)[lane] = (uint32_t)exchange->result[lane];
	}
}

/* ---- waiting for each other ------------------------------------------------------------ */

/* Lanes of all groups that wait at this kind of exchange. */
static uint32_t waiting_lanes(const struct sg_warp *warp, const struct sg_instruction *at)
{
	uint32_t lanes = 0;

	for (uint32_t i = 0; i < warp->group_count; i++)
		if (warp->groups[i].state == SG_GROUP_SYNC && warp->groups[i].at->run == at->run &&
		    warp->groups[i].at->selector == at->selector)
			lanes |= warp->groups[i].mask;
	return lanes;
}

/* Finishes the exchange of `lanes`, which wait in any groups. */
static void finish(struct sg_warp *warp, const struct sg_instruction *at, uint32_t lanes,
		   uint32_t members)
{
	uint32_t count = warp->group_count;

	compute(&warp->exchange, at, lanes, members);
	for (uint32_t i = 0; i < count; i++) {
		struct sg_group *group = &warp->groups[i];
		uint32_t mine = group->mask & lanes;

		if (group->state != SG_GROUP_SYNC || !mine)
			continue;
		store(&warp->exchange, group->at, group->frame, mine);
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
		finish(warp, at, same, members);
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
		compute(values, at, same, members & warp->exec);
		left &= ~same;
	}
	return true;
}

static const struct sg_instruction *exchange(struct sg_warp *warp, const struct sg_instruction *at)
{
	uint32_t exec = warp->exec;

	bring(&warp->exchange, at, warp->frame, exec);
	if (!(at->flags & SG_FLAG_SYNC))
		compute(&warp->exchange, at, exec, exec);
	if (!(at->flags & SG_FLAG_SYNC) || sg_likely(compute_at_once(warp, at))) {
		store(&warp->exchange, at, warp->frame, exec);
		return at + 1;
	}
	sg_warp_wait(warp, at, SG_GROUP_SYNC);
	sg_exchange_check(warp);
	return sg_warp_choose(warp);
}

/* ---- quick ways, where the whole group takes part -------------------------------------- */

/* Whether every active lane names all active lanes and no other that is there. */
static bool is_complete(const struct sg_warp *warp, const struct sg_instruction *at)
{
	const uint32_t *members = slot32(warp->frame, at->e);
	uint32_t different = 0, wanted = warp->exec, live = warp->live;

	if (!(at->flags & SG_FLAG_SYNC))
		return true;
	if (wanted == SG_FULL) {
		for (uint32_t lane = 0; lane < SG_WARP_SIZE; lane++)
			different |= (members[lane] & live) ^ wanted;
	} else {
		for (uint32_t left = wanted; left; left &= left - 1)
			different |= (members[__builtin_ctz(left)] & live) ^ wanted;
	}
	return !different;
}

static bool is_uniform(const uint32_t values[SG_WARP_SIZE])
{
	uint32_t different = 0;

	for (uint32_t lane = 0; lane < SG_WARP_SIZE; lane++)
		different |= values[lane] ^ values[0];
	return !different;
}

/* A shuffle of a full warp by one distance or to one place: from[lane] and who is inside. */
static uint32_t plan_shuffle(const struct sg_instruction *at, const uint32_t *b_, uint32_t c,
			     uint32_t from[SG_WARP_SIZE])
{
	uint32_t segment = c >> 8 & 31, clamp = c & 31, inside = 0;

	for (uint32_t lane = 0; lane < SG_WARP_SIZE; lane++) {
		uint32_t b = b_[lane] & 31, most = (lane & segment) | (clamp & ~segment), place;
		bool valid;

		if (at->selector == SG_SHUFFLE_UP) {
			place = lane - b;
			valid = (int32_t)place >= (int32_t)most;
		} else {
			place = at->selector == SG_SHUFFLE_DOWN ? lane + b
				: at->selector == SG_SHUFFLE_BUTTERFLY
					? lane ^ b
					: (lane & segment) | (b & ~segment);
			valid = place <= most;
		}
		from[lane] = valid ? place & 31 : lane;
		inside |= (uint32_t)valid << lane;
	}
	return inside;
}

const struct sg_instruction *sg_run_shuffle(struct sg_warp *warp, const struct sg_instruction *at)
{
	const uint32_t *value = slot32(warp->frame, at->a), *c = slot32(warp->frame, at->c);
	uint32_t *d = slot32(warp->frame, at->d), inside;
	uint32_t from[SG_WARP_SIZE], result[SG_WARP_SIZE];

	if (warp->exec != SG_FULL || !is_complete(warp, at) || !is_uniform(c))
		return exchange(warp, at);
	inside = plan_shuffle(at, slot32(warp->frame, at->b), c[0], from);
	for (uint32_t lane = 0; lane < SG_WARP_SIZE; lane++)
		result[lane] = value[from[lane]];
	memcpy(d, result, sizeof(result));
	if (at->immediate)
		*slot32(warp->frame, (uint32_t)at->immediate - 1) = inside;
	return at + 1;
}

const struct sg_instruction *sg_run_vote(struct sg_warp *warp, const struct sg_instruction *at)
{
	uint32_t exec = warp->exec, votes = *slot32(warp->frame, at->a), *p, *d;
	bool result;

	if (!is_complete(warp, at))
		return exchange(warp, at);
	votes = (at->flags & SG_FLAG_NEGATE ? ~votes : votes) & exec;
	if (at->selector == SG_VOTE_BALLOT) {
		d = slot32(warp->frame, at->d);
		for (uint32_t left = exec; left; left &= left - 1)
			d[__builtin_ctz(left)] = votes;
		return at + 1;
	}
	result = at->selector == SG_VOTE_ANY   ? votes != 0
		 : at->selector == SG_VOTE_ALL ? votes == exec
					       : votes == exec || !votes;
	p = slot32(warp->frame, (uint32_t)at->immediate - 1);
	*p = (*p & ~exec) | (result ? exec : 0);
	return at + 1;
}

const struct sg_instruction *sg_run_match(struct sg_warp *warp, const struct sg_instruction *at)
{
	return exchange(warp, at);
}

const struct sg_instruction *sg_run_reduce(struct sg_warp *warp, const struct sg_instruction *at)
{
	return exchange(warp, at);
}

const struct sg_instruction *sg_run_elect(struct sg_warp *warp, const struct sg_instruction *at)
{
	return exchange(warp, at);
}

const struct sg_instruction *sg_run_sync_warp(struct sg_warp *warp, const struct sg_instruction *at)
{
	return exchange(warp, at);
}

const struct sg_instruction *sg_run_activemask(struct sg_warp *warp,
					       const struct sg_instruction *at)
{
	uint32_t *d = slot32(warp->frame, at->d);

	for (uint32_t left = warp->exec; left; left &= left - 1)
		d[__builtin_ctz(left)] = warp->exec;
	return at + 1;
}

/* ---- barriers -------------------------------------------------------------------------- */

void sg_barrier_result(struct sg_group *group, const struct sg_barrier *barrier)
{
	const struct sg_instruction *at = group->at;
	uint32_t *slot = slot32(group->frame, at->d), value;

	if (at->selector == SG_BARRIER_POPC) {
		for (uint32_t left = group->mask; left; left &= left - 1)
			slot[__builtin_ctz(left)] = barrier->votes;
		return;
	}
	if (at->selector != SG_BARRIER_AND && at->selector != SG_BARRIER_OR)
		return;
	value = at->selector == SG_BARRIER_AND ? barrier->votes == barrier->voters
					       : barrier->votes != 0;
	*slot = (*slot & ~group->mask) | (value ? group->mask : 0);
}

/* a: number; b: threads, SG_NO_SLOT: all; c: a predicate. */
const struct sg_instruction *sg_run_barrier(struct sg_warp *warp, const struct sg_instruction *at)
{
	uint32_t first = (uint32_t)__builtin_ctz(warp->exec);
	uint32_t number = slot32(warp->frame, at->a)[first];
	uint32_t threads = at->b == SG_NO_SLOT ? 0 : slot32(warp->frame, at->b)[first];
	struct sg_barrier *barrier;

	if (number >= SG_BARRIERS || threads % SG_WARP_SIZE)
		return sg_warp_fault(warp, at, SG_FAULT_ILLEGAL_INSTRUCTION, first, number);
	barrier = &warp->block->barriers[number];
	barrier->is_used = true;
	barrier->expected = threads;
	if (at->selector >= SG_BARRIER_POPC) {
		uint32_t p =
			*slot32(warp->frame, at->c) ^ (at->flags & SG_FLAG_NEGATE ? SG_FULL : 0);

		barrier->votes += (uint32_t)__builtin_popcount(p & warp->exec);
		barrier->voters += (uint32_t)__builtin_popcount(warp->exec);
	}
	warp->arrived[number] |= warp->exec;
	if (at->selector == SG_BARRIER_ARRIVE) {
		sg_block_check_barrier(warp->block, number);
		return at + 1;
	}
	sg_warp_wait(warp, at, SG_GROUP_BARRIER);
	warp->groups[warp->waited].barrier = (uint8_t)number;
	sg_block_check_barrier(warp->block, number);
	return sg_warp_choose(warp);
}
