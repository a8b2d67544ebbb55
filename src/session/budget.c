/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "session/budget.h"

#include <math.h>
#include <stdlib.h>

#define SAVED_AT_FIRST 1e9  /* ns, times the limit */
#define MAX_SAVED 2e9       /* likewise */
#define MIN_ACTIVE 10000000 /* ns for a rate */
#define TARGET 0.9          /* of the limit: what is expected after a reduction */

void gt_budget_begin(struct gt_budget *budget, double limit, uint64_t now)
{
	*budget = (struct gt_budget){
		.limit = limit,
		.saved = limit * SAVED_AT_FIRST,
		.last = now,
	};
}

/* The expected part of the time that an item takes. */
static double cost_of(const struct gt_budget_item *item)
{
	double part = ldexp(1, -(int)item->level);

	return item->is_dropped ? 0 : item->rate * part + item->idle_rate * (1 - part);
}

static double sum_costs(const struct gt_budget_item *items, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += cost_of(&items[i]);
	return sum;
}

/* Returns the ns that were spent since the last time; after a short time only the next time. */
static double update_rate(uint64_t cost, uint64_t time, double *rate, uint64_t *last_cost,
			  uint64_t *last_time)
{
	double spent = (double)(cost - *last_cost);

	if (time - *last_time < MIN_ACTIVE)
		return 0;
	*rate = spent / (double)(time - *last_time);
	*last_cost = cost;
	*last_time = time;
	return spent;
}

static double update_item(struct gt_budget_item *item)
{
	return update_rate(item->cost, item->active, &item->rate, &item->last_cost,
			   &item->last_active) +
	       update_rate(item->idle_cost, item->idle, &item->idle_rate, &item->last_idle_cost,
			   &item->last_idle);
}

static struct gt_budget_item *most_expensive(struct gt_budget_item *items, size_t count)
{
	struct gt_budget_item *most = NULL;

	for (size_t i = 0; i < count; i++)
		if (!items[i].is_fixed && cost_of(&items[i]) > 0 &&
		    (!most || cost_of(&items[i]) > cost_of(most)))
			most = &items[i];
	return most;
}

static void reduce_item(struct gt_budget_item *item)
{
	if (item->can_sample && item->level < GT_BUDGET_MAX_LEVEL)
		item->level++;
	else
		item->is_dropped = true;
}

bool gt_budget_update(struct gt_budget *budget, struct gt_budget_item *items, size_t count,
		      uint64_t now)
{
	double permitted = budget->limit * (double)(now - budget->last), spent = 0;
	struct gt_budget_item *most;
	bool reduced = false;

	for (size_t i = 0; i < count; i++)
		spent += update_item(&items[i]);
	budget->last = now;
	budget->saved = fmin(budget->saved + permitted - spent, budget->limit * MAX_SAVED);
	budget->cost = budget->before = sum_costs(items, count);
	if (budget->saved >= 0 || budget->cost <= budget->limit)
		return false;
	while (budget->cost > budget->limit * TARGET && (most = most_expensive(items, count))) {
		reduce_item(most);
		reduced = true;
		budget->cost = sum_costs(items, count);
	}
	return reduced;
}

bool gt_budget_parse(const char *text, double *ret_limit)
{
	char *end;
	double percent = strtod(text, &end);

	if (end == text || (*end && (*end != '%' || end[1])) || !(percent > 0) || percent > 1e6)
		return false;
	*ret_limit = percent / 100;
	return true;
}
