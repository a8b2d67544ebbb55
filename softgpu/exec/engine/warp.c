/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Groups of lanes within a warp: divergence, reconvergence, waiting, turns. */
#include <string.h>

#include "exec/engine/cluster.h"

enum {
	TURN_TICKS = 8192, /* backward branches until other warps get their turn */
	MIN_PATIENCE = 64, /* reconvergence points that a promoted group passes */
	MAX_PATIENCE = 1 << 14,
	FIRST_INDEPENDENT = 70, /* sm_70: the first target with independent thread scheduling */
	TURNS_IN_STEP =
		512, /* older targets: turns without promotion, in which lanes run in step */
	MAX_REJOINED = 1 << 14, /* turns of a warp: a loop that computes may be one that spins */
};

#define NEVER ((const struct sg_instruction *)UINTPTR_MAX)
#define ALWAYS ((const struct sg_instruction *)NULL)

void sg_warp_count(struct sg_warp *warp)
{
	uint64_t now = warp->issued - warp->pseudo;

	warp->lane_instructions += (now - warp->counted) * sg_lane_count(warp->mask);
	warp->counted = now;
}

/* Order of groups: deeper in calls first, then lower in the code. */
static bool is_before(const struct sg_group *a, const struct sg_group *b)
{
	return a->depth != b->depth ? a->depth > b->depth : a->at < b->at;
}

static bool are_at_same_point(const struct sg_group *a, const struct sg_group *b)
{
	return a->at == b->at && a->depth == b->depth && a->state == SG_GROUP_READY &&
	       b->state == SG_GROUP_READY;
}

/* Sets the lowest point of the other ready groups, where the running group stops. */
static void set_reconvergence(struct sg_warp *warp)
{
	const struct sg_instruction *reconvergence = NEVER;

	for (uint32_t i = 0; i < warp->group_count; i++) {
		const struct sg_group *group = &warp->groups[i];

		if (i != warp->current && group->state == SG_GROUP_READY &&
		    group->depth == warp->depth && group->at < reconvergence)
			reconvergence = group->at;
	}
	warp->reconvergence = warp->promoted ? ALWAYS : reconvergence;
}

static void count_ready(struct sg_warp *warp)
{
	warp->ready = 0;
	for (uint32_t i = 0; i < warp->group_count; i++)
		warp->ready += warp->groups[i].state == SG_GROUP_READY;
}

static void remove_group(struct sg_warp *warp, uint32_t index)
{
	uint32_t last = --warp->group_count;

	if (index != last) {
		warp->groups[index] = warp->groups[last];
		if (warp->current == last)
			warp->current = index;
	}
}

/* Merges every ready group that is at the point of group `index` into it. */
static uint32_t merge_into(struct sg_warp *warp, uint32_t index)
{
	for (uint32_t i = 0; i < warp->group_count;) {
		if (i == index || !are_at_same_point(&warp->groups[i], &warp->groups[index])) {
			i++;
			continue;
		}
		warp->groups[index].mask |= warp->groups[i].mask;
		if (index == warp->group_count - 1)
			index = i;
		remove_group(warp, i);
	}
	return index;
}

static const struct sg_instruction *load_group(struct sg_warp *warp, uint32_t index)
{
	struct sg_group *group = &warp->groups[index];

	warp->current = index;
	warp->frame = group->frame;
	warp->function = group->function;
	warp->mask = warp->exec = group->mask;
	warp->depth = group->depth;
	count_ready(warp);
	set_reconvergence(warp);
	return group->at;
}

/* Selects the first of the ready groups. NULL if there is none; warp->stop is the reason. */
static const struct sg_instruction *select_first(struct sg_warp *warp)
{
	uint32_t best = UINT32_MAX;

	for (uint32_t i = 0; i < warp->group_count; i++)
		if (warp->groups[i].state == SG_GROUP_READY &&
		    (best == UINT32_MAX || is_before(&warp->groups[i], &warp->groups[best])))
			best = i;
	warp->promoted = 0;
	if (best == UINT32_MAX) {
		warp->ready = 0;
		warp->mask = warp->exec = 0;
		warp->stop = warp->live ? SG_STOP_BLOCKED : SG_STOP_DONE;
		return NULL;
	}
	return load_group(warp, merge_into(warp, best));
}

static void save_group(struct sg_warp *warp, const struct sg_instruction *at)
{
	struct sg_group *group = &warp->groups[warp->current];

	group->at = at;
	group->mask = warp->mask;
	group->frame = warp->frame;
	group->function = warp->function;
	group->depth = warp->depth;
	group->state = SG_GROUP_READY;
}

const struct sg_instruction *sg_warp_select(struct sg_warp *warp)
{
	return select_first(warp);
}

const struct sg_instruction *sg_warp_reconverge(struct sg_warp *warp,
						const struct sg_instruction *to)
{
	sg_warp_count(warp);
	save_group(warp, to);
	if (warp->promoted) {
		warp->promoted--;
		if (warp->promoted)
			return load_group(warp, merge_into(warp, warp->current));
	}
	return select_first(warp);
}

void sg_warp_split(struct sg_warp *warp, uint32_t lanes, const struct sg_instruction *to,
		   const struct sg_function *function, char *frame, uint32_t depth)
{
	struct sg_group *group = NULL;

	for (uint32_t i = 0; i < warp->group_count && !group; i++)
		if (i != warp->current && warp->groups[i].state == SG_GROUP_READY &&
		    warp->groups[i].at == to && warp->groups[i].depth == depth)
			group = &warp->groups[i];
	if (group) {
		group->mask |= lanes;
		return;
	}
	warp->groups[warp->group_count++] = (struct sg_group){.at = to,
							      .function = function,
							      .frame = frame,
							      .mask = lanes,
							      .depth = depth,
							      .state = SG_GROUP_READY};
}

const struct sg_instruction *sg_warp_diverge(struct sg_warp *warp, uint32_t taken,
					     const struct sg_instruction *to,
					     const struct sg_instruction *otherwise)
{
	uint32_t others = warp->mask & ~taken;

	sg_warp_count(warp);
	/* The lower part continues as the running group, and stays promoted if it is. */
	if (to < otherwise) {
		warp->mask = taken;
		sg_warp_split(warp, others, otherwise, warp->function, warp->frame, warp->depth);
		return sg_warp_reconverge(warp, to);
	}
	warp->mask = others;
	sg_warp_split(warp, taken, to, warp->function, warp->frame, warp->depth);
	return sg_warp_reconverge(warp, otherwise);
}

/* Round robin: the ready group whose lowest lane follows that of the last promoted group. */
static uint32_t next_in_turn(const struct sg_warp *warp)
{
	uint32_t best = UINT32_MAX, best_distance = UINT32_MAX;

	for (uint32_t i = 0; i < warp->group_count; i++) {
		const struct sg_group *group = &warp->groups[i];
		uint32_t distance;

		if (i == warp->current || group->state != SG_GROUP_READY)
			continue;
		distance = ((uint32_t)__builtin_ctz(group->mask) - warp->last_promoted - 1) %
			   SG_WARP_SIZE;
		if (distance < best_distance) {
			best = i;
			best_distance = distance;
		}
	}
	return best;
}

/* Votes and shuffles in code for old targets rely on it. */
static bool is_in_step(struct sg_warp *warp)
{
	return warp->function->module->target < FIRST_INDEPENDENT &&
	       ++warp->turns_in_step < TURNS_IN_STEP;
}

const struct sg_instruction *sg_warp_tick(struct sg_warp *warp, const struct sg_instruction *to)
{
	uint32_t next;

	sg_warp_count(warp);
	warp->ticks = TURN_TICKS;
	save_group(warp, to);
	warp->stop = warp->spinning ? SG_STOP_SPIN : SG_STOP_YIELD;
	next = next_in_turn(warp);
	if (next == UINT32_MAX || is_in_step(warp))
		return NULL;
	warp->turns_in_step = 0;
	warp->last_promoted = (uint32_t)__builtin_ctz(warp->groups[next].mask);
	warp->promoted = warp->spinning ? warp->patience : MIN_PATIENCE;
	warp->overtakes = !warp->spinning;
	if (warp->spinning && warp->patience < MAX_PATIENCE)
		warp->patience *= 2;
	load_group(warp, merge_into(warp, next));
	return NULL;
}

/* Whether another group waits at the instruction of the running one, within a block of code. */
static bool is_expected(const struct sg_warp *warp, const struct sg_instruction *at)
{
	for (uint32_t i = 0; i < warp->group_count; i++) {
		const struct sg_group *group = &warp->groups[i];

		if (i != warp->current && group->state == SG_GROUP_READY && group->at == at &&
		    group->depth == warp->depth)
			return true;
	}
	return false;
}

bool sg_warp_rejoin(struct sg_warp *warp, const struct sg_instruction *at)
{
	bool may_wait = warp->promoted && warp->rejoined < MAX_REJOINED;

	if (warp->exec != warp->mask || (!may_wait && !is_expected(warp, at)))
		return false;
	sg_warp_count(warp);
	save_group(warp, at);
	warp->promoted = 0;
	warp->rejoined++;
	warp->stop = SG_STOP_YIELD;
	return true;
}

bool sg_warp_can_park(const struct sg_warp *warp, const void *word)
{
	uint64_t offset = (uint64_t)((const char *)word - warp->block->shared);

	return !warp->park.is_over && warp->ready <= 1 && warp->exec == warp->mask &&
	       offset < warp->grid->shared_size && !(offset % sizeof(uint64_t));
}

const struct sg_instruction *sg_warp_park(struct sg_warp *warp, const struct sg_instruction *at,
					  const uint64_t *word, uint64_t mask)
{
	warp->park = (struct sg_park){
		.word = word,
		.mask = mask,
		.at = at,
		.lanes = warp->exec,
		.value = __atomic_load_n(word, __ATOMIC_RELAXED) & mask,
	};
	warp->spinning = true;
	return sg_warp_tick(warp, at);
}

const struct sg_instruction *sg_warp_exit(struct sg_warp *warp, const struct sg_instruction *at,
					  uint32_t lanes)
{
	uint32_t rest = warp->mask & ~lanes;

	sg_warp_count(warp);
	if (warp->block->cluster)
		sg_cluster_exit(warp, lanes);
	warp->live &= ~lanes;
	warp->mask = rest;
	if (rest)
		save_group(warp, at + 1);
	else
		remove_group(warp, warp->current);
	warp->current = UINT32_MAX;
	if (warp->group_count)
		sg_exchange_check(warp);
	sg_block_check_barriers(warp->block);
	return select_first(warp);
}

void sg_warp_wait(struct sg_warp *warp, const struct sg_instruction *at, enum sg_group_state state)
{
	uint32_t rest = warp->mask & ~warp->exec;
	struct sg_group *group = &warp->groups[warp->current];

	sg_warp_count(warp);
	warp->mask = warp->exec;
	save_group(warp, at);
	group->state = (uint8_t)state;
	if (rest)
		sg_warp_split(warp, rest, at + 1, warp->function, warp->frame, warp->depth);
	warp->waited = warp->current;
	warp->current = UINT32_MAX;
}

void sg_warp_release(struct sg_warp *warp, uint32_t index, uint32_t lanes,
		     const struct sg_instruction *to)
{
	struct sg_group *group = &warp->groups[index];

	lanes &= group->mask;
	if (lanes == group->mask) {
		group->at = to;
		group->state = SG_GROUP_READY;
		return;
	}
	group->mask &= ~lanes;
	sg_warp_split(warp, lanes, to, group->function, group->frame, group->depth);
}

/* Frees the saved frames of lanes that exited within a call. */
static void forget_saved(struct sg_warp *warp)
{
	for (uint32_t i = 0; i < warp->level_count; i++) {
		while (warp->levels[i] && warp->levels[i]->saved) {
			struct sg_saved_frame *saved = warp->levels[i]->saved;

			warp->levels[i]->saved = saved->next;
			free(saved);
		}
	}
}

void sg_warp_start(struct sg_warp *warp, uint32_t lanes)
{
	const struct sg_function *kernel = warp->grid->kernel;

	warp->live = lanes;
	warp->group_count = 1;
	warp->depth = 0;
	warp->carry = 0;
	warp->ticks = TURN_TICKS;
	warp->patience = MIN_PATIENCE;
	warp->promoted = 0;
	warp->turns_in_step = 0;
	warp->rejoined = 0;
	warp->overtakes = false;
	warp->stop = SG_STOP_NONE;
	warp->spinning = false;
	warp->park = (struct sg_park){0};
	warp->cluster_arrived = 0;
	memset(warp->arrived, 0, sizeof(warp->arrived));
	for (uint32_t lane = 0; lane < SG_WARP_SIZE; lane++) {
		warp->stack[lane] = 0;
		warp->top[lane] = (kernel->local_size + 15) & ~15u;
	}
	warp->groups[0] = (struct sg_group){
		.at = kernel->code,
		.function = kernel,
		.frame = warp->registers,
		.mask = lanes,
		.state = SG_GROUP_READY,
	};
	warp->current = 0;
	forget_saved(warp);
}

void sg_warp_run(struct sg_warp *warp)
{
	const struct sg_instruction *at;
	uint64_t issued = 0;

	warp->issued = warp->pseudo = warp->counted = 0;
	warp->stop = SG_STOP_NONE;
	warp->spinning = false;
	if (warp->promoted && warp->current != UINT32_MAX &&
	    warp->groups[warp->current].state == SG_GROUP_READY)
		at = load_group(warp, warp->current);
	else
		at = select_first(warp);
	while (at) {
		warp->issued = ++issued;
		at = at->run(warp, at);
	}
	sg_warp_count(warp);
}

void sg_warp_clear(struct sg_warp *warp)
{
	forget_saved(warp);
	for (uint32_t i = 0; i < warp->level_count; i++)
		free(warp->levels[i]);
	free(warp->levels);
	warp->levels = NULL;
	warp->level_count = 0;
}
