/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/exact_times.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"

enum {
	MAX_GRIDS = 1 << 14,  /* that wait for their launch: more than the agent times at once */
	MAX_EXCESS = 1 << 11, /* before the first ones are removed, all at once */
	MAX_FUNCTIONS = 4096, /* whose kernels are known */
	MAX_TRIED = 128,      /* launches that the first bounds come from */
	MAX_EDGES = 1 << 18,  /* of the offsets of their pairs with grids */
	MAX_REGIONS = 32,     /* that are tried */
	MIN_COMPARED = 4,     /* launches of a region whose slack counts */
	MAX_YOUNG = 32,       /* matches until the offset is certain */
	MAX_EXAMINED = 256,   /* grids for a launch */
	MAX_CANDIDATES = 64,  /* of those, that it may have */
	MAX_DEPTH = 2,        /* of an augmenting path */
	DRIFT_SHARE = 100000, /* the bounds widen by this share of the time */
};
#define STEP_NS 1000 /* the resolution of both clocks */

/* Offsets that are possible. */
struct exact_bounds {
	int64_t lowest, highest;
};

/* A grid that waits for its launch. */
struct exact_waiting {
	struct gt_exact_grid grid;
	size_t owner; /* of the launches that are being matched, from 1; 0: none */
};

struct gt_exact_times {
	GT_VEC(struct exact_waiting) grids; /* by their last instruction */
	struct gt_hash *kernels;            /* by function: the kernel's number + 1 */
	unsigned functions;                 /* of these */
};

struct gt_exact_times *gt_exact_times_new(void)
{
	struct gt_exact_times *times = calloc(1, sizeof(*times));

	if (times)
		times->kernels = gt_hash_new();
	if (times && !times->kernels) {
		free(times);
		times = NULL;
	}
	return times;
}

void gt_exact_times_free(struct gt_exact_times *times)
{
	if (!times)
		return;
	gt_vec_free(&times->grids);
	gt_hash_free(times->kernels);
	free(times);
}

/* Remove the first grids, of which there are too many. */
static void remove_excess(struct gt_exact_times *times)
{
	times->grids.count -= MAX_EXCESS;
	memmove(times->grids.items, times->grids.items + MAX_EXCESS,
		times->grids.count * sizeof(*times->grids.items));
}

int gt_exact_times_add(struct gt_exact_times *times, const struct gt_exact_grid *grid)
{
	const struct exact_waiting waiting = {.grid = *grid};
	struct exact_waiting *grids;
	size_t at;

	if ((int64_t)(grid->last - grid->first) < 0)
		return -EINVAL;
	if (times->grids.count == MAX_GRIDS + MAX_EXCESS)
		remove_excess(times);
	if (gt_vec_push(&times->grids, waiting))
		return -ENOMEM;
	grids = times->grids.items;
	for (at = times->grids.count - 1; at && (int64_t)(grids[at - 1].grid.last - grid->last) > 0;
	     at--)
		grids[at] = grids[at - 1];
	grids[at] = waiting;
	return 0;
}

/* ---- kernels of functions ----------------------------------------------------------------- */

/* The number + 1, or 0. */
static uint32_t kernel_of(const struct gt_exact_times *times, uint64_t function)
{
	return (uint32_t)(uintptr_t)gt_hash_get_u64(times->kernels, function);
}

/* Without memory, or with too many, it is not known later. */
static void learn_kernel(struct gt_exact_times *times, uint64_t function, uint32_t kernel)
{
	bool is_new = !kernel_of(times, function);

	if (is_new && times->functions == MAX_FUNCTIONS)
		return;
	if (!gt_hash_set_u64(times->kernels, function, (void *)((uintptr_t)kernel + 1)))
		times->functions += is_new;
}

/* ---- what is possible --------------------------------------------------------------------- */

/* The offsets by which the launch contains the grid. */
static struct exact_bounds offsets_between(const struct gt_exact_grid *grid,
					   const struct gt_exact_launch *launch)
{
	return (struct exact_bounds){
		.lowest = (int64_t)(launch->start - grid->first - STEP_NS),
		.highest = (int64_t)(launch->end - grid->last + STEP_NS),
	};
}

static bool intersect(struct exact_bounds *bounds, struct exact_bounds other)
{
	if (other.lowest > bounds->lowest)
		bounds->lowest = other.lowest;
	if (other.highest < bounds->highest)
		bounds->highest = other.highest;
	return bounds->lowest <= bounds->highest;
}

/* What the arrival of a grid's record allows the offset to be. */
static struct exact_bounds offsets_by_arrival(const struct gt_exact_clock *clock,
					      const struct gt_exact_grid *grid)
{
	uint64_t offset = grid->last + (uint64_t)clock->host_offset;

	return (struct exact_bounds){
		.lowest = (int64_t)(grid->not_before - offset - clock->host_error),
		.highest = (int64_t)(grid->not_after - offset + clock->host_error),
	};
}

/* Which grids a launch may have. */
enum exact_pass {
	KNOWN_KERNEL, /* of the kernel that its function is known to be */
	NEW_FUNCTION, /* any, if the function's kernel is not known */
	NEW_KERNEL,   /* any: the handle is another function's now */
	PASSES,
};

static bool may_be_kernel(const struct gt_exact_times *times, enum exact_pass pass,
			  uint64_t function, uint32_t kernel)
{
	uint32_t known = kernel_of(times, function);

	switch (pass) {
	case KNOWN_KERNEL:
		return known == kernel + 1;
	case NEW_FUNCTION:
		return !known;
	default:
		return true;
	}
}

/*
 * Whether a grid may be that of a launch, given what the offset may be; then reduce that. A record
 * may arrive long after its time, if its writer is interrupted before it is complete: so what
 * follows from its arrival counts only while nothing else is known.
 */
static bool is_possible(const struct gt_exact_times *times, const struct gt_exact_clock *clock,
			const struct gt_exact_launch *launch, const struct gt_exact_grid *grid,
			enum exact_pass pass, struct exact_bounds *bounds)
{
	struct exact_bounds result = *bounds, arrival = offsets_by_arrival(clock, grid);

	if (!may_be_kernel(times, pass, launch->function, grid->kernel))
		return false;
	if (!intersect(&result, offsets_between(grid, launch)))
		return false;
	*bounds = result;
	return clock->is_bounded || intersect(&result, arrival);
}

/* ---- the first bounds --------------------------------------------------------------------- */

static const struct exact_bounds anything = {INT64_MIN, INT64_MAX};

/* An end of the offsets by which a launch contains a grid. */
struct exact_edge {
	int64_t at;
	int step; /* 1: the lowest one, -1: the highest one */
	uint32_t launch;
	uint64_t slack; /* ns in the launch beyond the grid */
};

struct exact_edges {
	GT_VEC(struct exact_edge) all;
};

/* Offsets with which a number of launches have a grid. */
struct exact_region {
	struct exact_bounds bounds;
	uint32_t launches, pairs;
	uint64_t slack; /* of the pairs */
};

static enum exact_pass pass_of(const struct gt_exact_times *times,
			       const struct gt_exact_launch *launch)
{
	return kernel_of(times, launch->function) ? KNOWN_KERNEL : NEW_FUNCTION;
}

static int compare_edges(const void *one, const void *other)
{
	const struct exact_edge *left = one, *right = other;

	if (left->at != right->at)
		return left->at < right->at ? -1 : 1;
	return right->step - left->step;
}

/* Of equal ones, the one of the higher offsets: with the earlier grids. */
static bool is_better(const struct exact_region *one, const struct exact_region *best)
{
	uint64_t slack, best_slack;

	if (one->launches != best->launches)
		return one->launches > best->launches;
	slack = one->slack / one->pairs;
	best_slack = best->slack / best->pairs;
	/* One launch may fit another one's grid better by chance. */
	return one->launches < MIN_COMPARED || slack - slack / 8 <= best_slack;
}

/* The best regions so far, from the best one on. */
struct exact_regions {
	struct exact_region items[MAX_REGIONS];
	size_t count;
};

static void add_region(struct exact_regions *regions, const struct exact_region *region)
{
	size_t at = regions->count;

	while (at && is_better(region, &regions->items[at - 1]))
		at--;
	if (at == MAX_REGIONS)
		return;
	regions->count += regions->count < MAX_REGIONS;
	memmove(&regions->items[at + 1], &regions->items[at],
		(regions->count - at - 1) * sizeof(*regions->items));
	regions->items[at] = *region;
}

/* Find the offsets with which the most launches have a grid (Marzullo's algorithm). */
static void find_regions(const struct exact_edge *edges, size_t count,
			 struct exact_regions *ret_regions)
{
	struct exact_region region = {0};
	uint32_t covers[MAX_TRIED] = {0};

	for (size_t i = 0; i < count; i++) {
		const struct exact_edge *edge = &edges[i];

		if (edge->step > 0) {
			region.launches += !covers[edge->launch]++;
			region.pairs++;
			region.slack += edge->slack;
			continue;
		}
		if (edges[i - 1].step > 0) {
			region.bounds = (struct exact_bounds){edges[i - 1].at, edge->at};
			add_region(ret_regions, &region);
		}
		region.launches -= !--covers[edge->launch];
		region.pairs--;
		region.slack -= edge->slack;
	}
}

static uint64_t duration_of(const struct gt_exact_launch *launch)
{
	return launch->end - launch->start;
}

static int compare_durations(const void *one, const void *other)
{
	const struct gt_exact_launch *const *left = one, *const *right = other;
	uint64_t first = duration_of(*left), second = duration_of(*right);

	return (first > second) - (first < second);
}

/* Add the edges of a launch: of its offsets from each grid that it may have. 0 or -ENOMEM. */
static int add_edges(const struct gt_exact_times *times, const struct gt_exact_clock *clock,
		     const struct gt_exact_launch *launch, uint32_t number,
		     struct exact_edges *edges)
{
	gt_vec_each (waiting, &times->grids) {
		const struct gt_exact_grid *grid = &waiting->grid;
		struct exact_edge edge = {.launch = number, .step = 1};
		struct exact_bounds bounds = anything;

		if (edges->all.count >= MAX_EDGES)
			return 0;
		if (!is_possible(times, clock, launch, grid, pass_of(times, launch), &bounds))
			continue;
		edge.slack = duration_of(launch) - (grid->last - grid->first);
		edge.at = bounds.lowest;
		if (gt_vec_push(&edges->all, edge))
			return -ENOMEM;
		edge.at = bounds.highest;
		edge.step = -1;
		if (gt_vec_push(&edges->all, edge))
			return -ENOMEM;
	}
	return 0;
}

/* The edges of the shortest launches: these leave the fewest offsets. 0 or -ENOMEM. */
static int list_edges(const struct gt_exact_times *times, const struct gt_exact_clock *clock,
		      const struct gt_exact_launch *launches, size_t count,
		      struct exact_edges *edges)
{
	GT_VEC(const struct gt_exact_launch *) shortest = {0};
	int error = 0;

	for (size_t i = 0; i < count && !error; i++)
		error = gt_vec_push(&shortest, &launches[i]);
	if (shortest.count)
		qsort(shortest.items, shortest.count, sizeof(*shortest.items), compare_durations);
	for (uint32_t i = 0; i < shortest.count && i < MAX_TRIED && !error; i++)
		error = add_edges(times, clock, shortest.items[i], i, edges);
	gt_vec_free(&shortest);
	return error;
}

/* Find what the offset may be at first. */
static void begin_bounds(const struct gt_exact_times *times, const struct gt_exact_clock *clock,
			 const struct gt_exact_launch *launches, size_t count,
			 struct exact_regions *ret_regions)
{
	struct exact_edges edges = {0};

	ret_regions->count = 0;
	if (!list_edges(times, clock, launches, count, &edges) && edges.all.count) {
		qsort(edges.all.items, edges.all.count, sizeof(*edges.all.items), compare_edges);
		find_regions(edges.all.items, edges.all.count, ret_regions);
	}
	gt_vec_free(&edges.all);
}

/* ---- matching ----------------------------------------------------------------------------- */

/* Whether no other launch of these overlaps this one. */
static bool is_alone(const struct gt_exact_launch *launches, size_t count, size_t number)
{
	for (size_t i = 0; i < count; i++)
		if (i != number && launches[i].start < launches[number].end &&
		    launches[number].start < launches[i].end)
			return false;
	return true;
}

/* The launches that are being matched. */
struct exact_match {
	struct gt_exact_times *times;
	const struct gt_exact_clock *clock;
	struct gt_exact_launch *launches; /* in the order of their submission */
	size_t count;
	enum exact_pass pass;
	struct exact_bounds bounds;
};

/* The first grid whose last instruction is not before a time of the GPU's timer. */
static size_t find_last(const struct gt_exact_times *times, uint64_t time)
{
	size_t low = 0, high = times->grids.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if ((int64_t)(times->grids.items[middle].grid.last - time) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The grids that a launch may have. */
struct exact_candidates {
	struct exact_waiting *items[MAX_CANDIDATES]; /* by launch */
	size_t count;
};

static void add_candidate(struct exact_candidates *candidates, struct exact_waiting *waiting)
{
	size_t at;

	if (candidates->count == MAX_CANDIDATES)
		return;
	for (at = candidates->count++;
	     at && candidates->items[at - 1]->grid.launch > waiting->grid.launch; at--)
		candidates->items[at] = candidates->items[at - 1];
	candidates->items[at] = waiting;
}

static void find_candidates(const struct exact_match *match, size_t number,
			    struct exact_candidates *ret_candidates)
{
	const struct gt_exact_launch *launch = &match->launches[number];
	const struct gt_exact_times *times = match->times;
	uint64_t earliest = launch->start - (uint64_t)match->bounds.highest - STEP_NS,
		 latest = launch->end - (uint64_t)match->bounds.lowest + STEP_NS;
	size_t examined = 0;

	ret_candidates->count = 0;
	for (size_t at = find_last(times, earliest);
	     at < times->grids.count && examined++ < MAX_EXAMINED; at++) {
		struct exact_waiting *waiting = &times->grids.items[at];
		struct exact_bounds bounds = match->bounds;

		if ((int64_t)(waiting->grid.last - latest) > 0)
			return;
		if (is_possible(times, match->clock, launch, &waiting->grid, match->pass, &bounds))
			add_candidate(ret_candidates, waiting);
	}
}

/*
 * Give a launch a grid: the one that was launched first of those that are free; or else one of
 * another launch that can take another one, in at most `depth` steps (an augmenting path of
 * bipartite matching). Whether it has one.
 */
static bool match_launch(const struct exact_match *match, size_t number, unsigned depth)
{
	struct exact_candidates candidates;

	find_candidates(match, number, &candidates);
	for (size_t i = 0; i < candidates.count; i++)
		if (!candidates.items[i]->owner) {
			candidates.items[i]->owner = number + 1;
			return true;
		}
	for (size_t i = 0; depth && i < candidates.count; i++)
		if (match_launch(match, candidates.items[i]->owner - 1, depth - 1)) {
			candidates.items[i]->owner = number + 1;
			return true;
		}
	return false;
}

/* Copy the grids to their launches. */
static void take_grids(struct exact_match *match)
{
	gt_vec_each (waiting, &match->times->grids) {
		struct gt_exact_launch *launch;

		if (!waiting->owner)
			continue;
		launch = &match->launches[waiting->owner - 1];
		launch->is_exact = true;
		launch->first = waiting->grid.first;
		launch->last = waiting->grid.last;
		learn_kernel(match->times, launch->function, waiting->grid.kernel);
	}
}

/* Match with the bounds, and count the launches that have a grid. */
static size_t match_launches(struct exact_match *match)
{
	size_t matched = 0;

	gt_vec_each (waiting, &match->times->grids)
		waiting->owner = 0;
	for (size_t i = 0; i < match->count; i++)
		match->launches[i].is_exact = false;
	for (match->pass = 0; match->pass < PASSES; match->pass++) {
		for (size_t i = 0; i < match->count; i++)
			if (!match->launches[i].is_exact)
				match_launch(match, i, MAX_DEPTH);
		take_grids(match);
	}
	match->pass = NEW_KERNEL;
	for (size_t i = 0; i < match->count; i++)
		matched += match->launches[i].is_exact;
	return matched;
}

/* The launches that would have a grid of their kernel if the offset were another one. */
static size_t count_contradictions(const struct exact_match *match)
{
	const struct gt_exact_times *times = match->times;
	size_t count = 0, examined = 0;

	for (size_t i = 0; i < match->count; i++) {
		struct exact_bounds bounds = anything;
		bool found = match->launches[i].is_exact;

		for (size_t at = 0; at < times->grids.count && !found && examined++ < MAX_GRIDS;
		     at++) {
			found = !times->grids.items[at].owner &&
				is_possible(times, match->clock, &match->launches[i],
					    &times->grids.items[at].grid, KNOWN_KERNEL, &bounds);
			count += found;
		}
	}
	return count;
}

/* Search for bounds with which more than so many launches have a grid. How many have one. */
static size_t search_bounds(struct exact_match *match, struct gt_exact_clock *clock, size_t known)
{
	struct exact_bounds best = match->bounds;
	struct exact_regions regions;
	size_t matched = known;

	clock->is_bounded = false;
	begin_bounds(match->times, clock, match->launches, match->count, &regions);
	clock->is_bounded = known || regions.count;
	for (size_t i = 0; i < regions.count && matched < match->count; i++) {
		size_t other;

		match->bounds = regions.items[i].bounds;
		other = match_launches(match);
		if (other > matched) {
			matched = other;
			best = match->bounds;
		}
	}
	match->bounds = best;
	return clock->is_bounded ? match_launches(match) : 0;
}

/* Match with the known bounds, or with other ones if these prove wrong. How many are matched. */
static size_t match_best(struct exact_match *match, struct gt_exact_clock *clock)
{
	size_t matched = 0, contradictions;

	if (clock->is_bounded) {
		matched = match_launches(match);
		if (matched == match->count)
			return matched;
		contradictions = count_contradictions(match);
		if (!contradictions || (contradictions <= matched && clock->matches > MAX_YOUNG))
			return matched;
	}
	return search_bounds(match, clock, matched);
}

/* Reduce the bounds by the matches that cannot be others. */
static void reduce_bounds(struct exact_match *match)
{
	gt_vec_each (waiting, &match->times->grids) {
		struct exact_bounds bounds = match->bounds;
		size_t number = waiting->owner - 1;
		struct exact_candidates candidates;

		if (!waiting->owner || !match->launches[number].is_settled ||
		    !is_alone(match->launches, match->count, number))
			continue;
		find_candidates(match, number, &candidates);
		if (candidates.count == 1 &&
		    intersect(&bounds, offsets_between(&waiting->grid, &match->launches[number])))
			match->bounds = bounds;
	}
}

/* Whether the launch of one grid was before that of the other one, beyond doubt. */
static bool is_before(const struct exact_match *match, const struct exact_waiting *one,
		      const struct exact_waiting *other)
{
	return one->grid.launch < other->grid.launch &&
	       match->launches[one->owner - 1].returned <=
		       match->launches[other->owner - 1].submitted;
}

/* Whether a launch could as well have a grid that is free, or change grids with another launch. */
static bool is_ambiguous(const struct exact_match *match, const struct exact_waiting *own)
{
	struct exact_candidates candidates;

	find_candidates(match, own->owner - 1, &candidates);
	for (size_t i = 0; i < candidates.count; i++) {
		const struct exact_waiting *other = candidates.items[i];
		struct exact_bounds bounds = match->bounds;

		if (other == own)
			continue;
		if (!other->owner)
			return true;
		if (is_possible(match->times, match->clock, &match->launches[other->owner - 1],
				&own->grid, match->pass, &bounds) &&
		    !is_before(match, own, other) && !is_before(match, other, own))
			return true;
	}
	return false;
}

static void remove_ambiguous(struct exact_match *match)
{
	match->pass = KNOWN_KERNEL;
	gt_vec_each (waiting, &match->times->grids) {
		struct gt_exact_launch *launch;

		if (!waiting->owner)
			continue;
		launch = &match->launches[waiting->owner - 1];
		launch->is_exact = launch->is_settled && !is_ambiguous(match, waiting);
	}
}

/* Remove the grids of settled launches. */
static void remove_settled(struct exact_match *match)
{
	struct gt_exact_times *times = match->times;
	size_t kept = 0;

	gt_vec_each (waiting, &times->grids)
		if (!waiting->owner || !match->launches[waiting->owner - 1].is_settled)
			times->grids.items[kept++] = *waiting;
	times->grids.count = kept;
}

static uint64_t clamp_time(uint64_t time, const struct gt_exact_launch *launch)
{
	return time < launch->start ? launch->start : time > launch->end ? launch->end : time;
}

/* From the GPU's timer to the clock of the context. */
static void convert_times(struct gt_exact_launch *launch, const struct exact_bounds *bounds)
{
	uint64_t width = (uint64_t)bounds->highest - (uint64_t)bounds->lowest;
	uint64_t offset = (uint64_t)bounds->lowest + width / 2;

	launch->first = clamp_time(launch->first + offset, launch);
	launch->last = clamp_time(launch->last + offset, launch);
	if (launch->last < launch->first)
		launch->last = launch->first;
	launch->error = width / 2 + STEP_NS;
}

/* What the offset may be after the time since the last match. */
static struct exact_bounds widened_bounds(struct gt_exact_clock *clock,
					  const struct gt_exact_launch *launches, size_t count)
{
	struct exact_bounds bounds = {clock->lowest, clock->highest};
	uint64_t latest = clock->latest, drift;

	for (size_t i = 0; i < count; i++)
		if (launches[i].end > latest)
			latest = launches[i].end;
	drift = clock->is_bounded ? (latest - clock->latest) / DRIFT_SHARE : 0;
	clock->latest = latest;
	bounds.lowest = (int64_t)((uint64_t)bounds.lowest - drift);
	bounds.highest = (int64_t)((uint64_t)bounds.highest + drift);
	return bounds;
}

void gt_exact_times_match(struct gt_exact_times *times, struct gt_exact_clock *clock,
			  struct gt_exact_launch *launches, size_t count)
{
	struct exact_match match = {
		.times = times,
		.clock = clock,
		.launches = launches,
		.count = count,
		.bounds = widened_bounds(clock, launches, count),
	};
	size_t matched = match_best(&match, clock);

	reduce_bounds(&match);
	remove_ambiguous(&match);
	remove_settled(&match);
	for (size_t i = 0; i < count; i++)
		if (launches[i].is_exact) {
			convert_times(&launches[i], &match.bounds);
			clock->matches++;
		}
	clock->is_bounded |= matched > 0;
	clock->lowest = match.bounds.lowest;
	clock->highest = match.bounds.highest;
}
