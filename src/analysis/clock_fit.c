/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/clock_fit.h"

#include <math.h>
#include <string.h>

enum {
	MAX_POINTS = 1 << 17, /* of a kind; then only those that bound the line are kept */
	STEPS = 200,          /* of a search: more than a double has bits */
};

/* ns from the first point: 36 years. What is farther is no time, and would overflow. */
#define FARTHEST (INT64_C(1) << 60)

void gt_clock_fit_clear(struct gt_clock_fit *fit)
{
	gt_vec_free(&fit->before.items);
	gt_vec_free(&fit->after.items);
	*fit = (struct gt_clock_fit){0};
}

/* ---- hulls ----------------------------------------------------------------------------- */

static int compare_points(const void *a, const void *b)
{
	const struct gt_clock_point *one = a, *other = b;

	if (one->gpu != other->gpu)
		return one->gpu < other->gpu ? -1 : 1;
	return (one->host > other->host) - (one->host < other->host);
}

/* Twice the area of a triangle; positive: b -> c turns to the left of a -> b. */
static double turn(const struct gt_clock_point *a, const struct gt_clock_point *b,
		   const struct gt_clock_point *c)
{
	return (double)(b->gpu - a->gpu) * (double)(c->host - a->host) -
	       (double)(b->host - a->host) * (double)(c->gpu - a->gpu);
}

/*
 * Leave the points of the hull's upper (sign 1) or lower (sign -1) side, by GPU time (Andrew's
 * monotone chain).
 */
static void keep_hull(struct gt_clock_points *points, int sign)
{
	struct gt_clock_point *items = points->items.items;
	size_t kept = 0;

	if (points->items.count)
		qsort(items, points->items.count, sizeof(*items), compare_points);
	for (size_t i = 0; i < points->items.count; i++) {
		const struct gt_clock_point point = items[i];

		while (kept >= 2 && sign * turn(&items[kept - 2], &items[kept - 1], &point) >= 0)
			kept--;
		items[kept++] = point;
	}
	points->items.count = kept;
}

/* ---- points ---------------------------------------------------------------------------- */

static bool is_far(int64_t ns)
{
	return ns < -FARTHEST || ns > FARTHEST;
}

static int add_point(struct gt_clock_fit *fit, struct gt_clock_points *points, int sign,
		     uint64_t gpu, uint64_t host)
{
	struct gt_clock_point point;

	if (!fit->before.count && !fit->after.count) {
		fit->first_gpu = gpu;
		fit->first_host = host;
		fit->earliest = fit->latest = 0;
	}
	point = (struct gt_clock_point){
		.gpu = (int64_t)(gpu - fit->first_gpu),
		.host = (int64_t)(host - fit->first_host),
	};
	if (is_far(point.gpu) || is_far(point.host)) {
		fit->ignored++;
		return 0;
	}
	if (points->items.count == MAX_POINTS)
		keep_hull(points, sign);
	if (gt_vec_push(&points->items, point))
		return -ENOMEM;
	points->count++;
	if (point.gpu > fit->latest)
		fit->latest = point.gpu;
	if (point.gpu < fit->earliest)
		fit->earliest = point.gpu;
	return 0;
}

int gt_clock_fit_add_before(struct gt_clock_fit *fit, uint64_t host, uint64_t gpu)
{
	return add_point(fit, &fit->before, 1, gpu, host);
}

int gt_clock_fit_add_after(struct gt_clock_fit *fit, uint64_t gpu, uint64_t host)
{
	return add_point(fit, &fit->after, -1, gpu, host);
}

/* ---- lines ----------------------------------------------------------------------------- */

/* The hulls of both kinds, as far as they bound the line. */
struct clock_bounds {
	struct gt_clock_points below, above;
	double step;
};

/*
 * Lines are host - gpu = a + c * gpu. The smallest `a` for this c that no point is above, and the
 * largest one that no point is below. A GPU time is somewhere in its step of the clock: at its end
 * for the first kind, at its start for the second.
 */
static double smallest_a(const struct clock_bounds *bounds, double c)
{
	double most = -INFINITY;

	gt_vec_each (point, &bounds->below.items) {
		double a = (double)(point->host - point->gpu) - bounds->step -
			   c * ((double)point->gpu + bounds->step);

		most = a > most ? a : most;
	}
	return most;
}

static double largest_a(const struct clock_bounds *bounds, double c)
{
	double least = INFINITY;

	gt_vec_each (point, &bounds->above.items) {
		double a = (double)(point->host - point->gpu) - c * (double)point->gpu;

		least = a < least ? a : least;
	}
	return least;
}

/* By how much the points contradict each other for this c: a convex function. */
static double contradiction(const struct clock_bounds *bounds, double c)
{
	return smallest_a(bounds, c) - largest_a(bounds, c);
}

/* The c between two at which a convex function is minimal. */
static double find_minimum(const struct clock_bounds *bounds, double from, double to)
{
	for (int i = 0; i < STEPS; i++) {
		double one = from + (to - from) / 3, other = to - (to - from) / 3;

		if (contradiction(bounds, one) <= contradiction(bounds, other))
			to = other;
		else
			from = one;
	}
	return (from + to) / 2;
}

/* The last c on the way from one that is possible to an outer one. */
static double find_extreme(const struct clock_bounds *bounds, double possible, double outer)
{
	if (contradiction(bounds, outer) <= 0)
		return outer;
	for (int i = 0; i < STEPS; i++) {
		double middle = (possible + outer) / 2;

		if (contradiction(bounds, middle) <= 0)
			possible = middle;
		else
			outer = middle;
	}
	return possible;
}

/* How far above (sign 1) or below (-1) the fit a line of this c can be at a GPU time. */
static double distance(const struct gt_clock_fit *fit, const struct clock_bounds *bounds, int sign,
		       double c, double gpu)
{
	double a = sign > 0 ? largest_a(bounds, c) : smallest_a(bounds, c);

	return sign * (a + c * gpu - fit->a - fit->c * gpu);
}

/* The maximum of it over all lines from one c to another: it is concave. */
static double max_distance(const struct gt_clock_fit *fit, const struct clock_bounds *bounds,
			   int sign, double from, double to, double gpu)
{
	for (int i = 0; i < STEPS; i++) {
		double one = from + (to - from) / 3, other = to - (to - from) / 3;

		if (distance(fit, bounds, sign, one, gpu) >=
		    distance(fit, bounds, sign, other, gpu))
			to = other;
		else
			from = one;
	}
	return distance(fit, bounds, sign, (from + to) / 2, gpu);
}

static double error_at(const struct gt_clock_fit *fit, const struct clock_bounds *bounds,
		       double from, double to, double gpu)
{
	return fmax(max_distance(fit, bounds, 1, from, to, gpu),
		    max_distance(fit, bounds, -1, from, to, gpu));
}

/* ---- solution -------------------------------------------------------------------------- */

static int copy_hull(const struct gt_clock_points *points, int sign,
		     struct gt_clock_points *ret_copy)
{
	size_t size = points->items.count * sizeof(points->items.items[0]);

	*ret_copy = (struct gt_clock_points){0};
	ret_copy->items.items = malloc(size);
	if (!ret_copy->items.items)
		return -ENOMEM;
	memcpy(ret_copy->items.items, points->items.items, size);
	ret_copy->items.count = ret_copy->items.capacity = points->items.count;
	keep_hull(ret_copy, sign);
	return 0;
}

/* A point that contradicts the line by more than rounding. */
static void count_violation(struct gt_clock_fit *fit, double ns)
{
	enum { ROUNDING = 1 };

	if (ns <= ROUNDING)
		return;
	fit->violations++;
	fit->worst_violation = fmax(fit->worst_violation, ns);
}

static void count_violations(struct gt_clock_fit *fit, double step)
{
	fit->violations = 0;
	fit->worst_violation = 0;
	gt_vec_each (point, &fit->before.items)
		count_violation(fit, (double)(point->host - point->gpu) - step - fit->a -
					     fit->c * ((double)point->gpu + step));
	gt_vec_each (point, &fit->after.items)
		count_violation(fit, fit->a + fit->c * (double)point->gpu -
					     (double)(point->host - point->gpu));
}

/* ppm by which the GPU's clock is fast, where host = gpu * (1 + c). */
static double drift_of(double c)
{
	return (1 / (1 + c) - 1) * 1e6;
}

static void solve(struct gt_clock_fit *fit, const struct clock_bounds *bounds)
{
	const double outermost = GT_CLOCK_FIT_MAX_DRIFT / 1e6;
	double best = find_minimum(bounds, -outermost, outermost), from = best, to = best;

	if (contradiction(bounds, best) <= 0) {
		from = find_extreme(bounds, best, -outermost);
		to = find_extreme(bounds, best, outermost);
	}
	fit->c = (from + to) / 2;
	fit->a = (smallest_a(bounds, fit->c) + largest_a(bounds, fit->c)) / 2;
	fit->offset = (int64_t)(fit->first_gpu - fit->first_host - (uint64_t)llround(fit->a));
	fit->drift = drift_of(fit->c);
	fit->drift_error = fmax(drift_of(from) - fit->drift, fit->drift - drift_of(to));
	/* It is convex, and so the largest at an end. */
	fit->error = fmax(error_at(fit, bounds, from, to, (double)fit->earliest),
			  error_at(fit, bounds, from, to, (double)fit->latest));
	count_violations(fit, bounds->step);
}

int gt_clock_fit_solve(struct gt_clock_fit *fit)
{
	struct clock_bounds bounds = {.step = fit->step ? (double)fit->step : 1};
	int error;

	if (!fit->before.count || !fit->after.count)
		return -ENODATA;
	error = copy_hull(&fit->before, 1, &bounds.below);
	if (!error)
		error = copy_hull(&fit->after, -1, &bounds.above);
	if (!error)
		solve(fit, &bounds);
	gt_vec_free(&bounds.below.items);
	gt_vec_free(&bounds.above.items);
	return error;
}

uint64_t gt_clock_fit_host(const struct gt_clock_fit *fit, uint64_t gpu)
{
	double x = (double)(int64_t)(gpu - fit->first_gpu);

	return fit->first_host + (gpu - fit->first_gpu) +
	       (uint64_t)(int64_t)llround(fit->a + fit->c * x);
}
