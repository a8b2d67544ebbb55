/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* --max-overhead: decisions from made-up measurements. */
#include "session/budget.h"
#include "tap.h"

#define SECOND 1000000000ull
#define STEP (SECOND / 4)

enum { CALLS, SCHED, FIXED, ITEMS };

static struct gt_budget budget;
static struct gt_budget_item items[ITEMS];
static uint64_t now;
static double spent; /* ns */

static void begin(double limit)
{
	now = 5 * SECOND;
	spent = 0;
	for (size_t i = 0; i < ITEMS; i++)
		items[i] = (struct gt_budget_item){
			.can_sample = i == CALLS,
			.is_fixed = i == FIXED,
		};
	gt_budget_begin(&budget, limit, now);
}

/* A quarter of a second in which the sources cost these parts of their active time. */
static bool pass(double calls, double sched, double fixed)
{
	const double parts[ITEMS] = {calls, sched, fixed};

	now += STEP;
	for (size_t i = 0; i < ITEMS; i++) {
		uint64_t active = items[i].is_dropped ? 0 : STEP >> items[i].level;

		items[i].active += active;
		items[i].cost += (uint64_t)(parts[i] * (double)active);
		spent += parts[i] * (double)active;
	}
	return gt_budget_update(&budget, items, ITEMS, now);
}

TEST("below the limit nothing is reduced")
{
	begin(0.02);
	for (int i = 0; i < 1000; i++)
		CHECK(!pass(0.01, 0.005, 0.004));
	CHECK(!items[CALLS].level && !items[SCHED].is_dropped);
}

TEST("a burst is paid from savings, a second one is not")
{
	begin(0.02);
	CHECK(!pass(0.07, 0, 0)); /* 17.5 of 20 ms saved, and 5 permitted */
	CHECK(!pass(0.001, 0, 0));
	CHECK(pass(0.3, 0, 0));
	CHECK(items[CALLS].level == 5); /* 0.3 / 32 is below 0.018, 0.3 / 16 is not */
	CHECK(!items[CALLS].is_dropped);
}

TEST("the most expensive source is reduced, and others are not")
{
	begin(0.02);
	while (!pass(0.015, 0.5, 0))
		CHECK(now < 10 * SECOND);
	CHECK(items[SCHED].is_dropped);
	CHECK(!items[CALLS].level);
	CHECK(budget.before > 0.5 && budget.cost < 0.018);
}

TEST("in the long run the probes cost no more than the limit")
{
	double limit = 0.01;

	begin(limit);
	for (int i = 0; i < 4000; i++)
		pass(0.9, 0.3, 0.001);
	CHECK(items[SCHED].is_dropped && !items[CALLS].is_dropped && items[CALLS].level == 7);
	/* What may be saved, and what was spent until it was noticed. */
	CHECK(spent <= limit * (double)(now - 5 * SECOND) + limit * 2 * SECOND + 0.30025 * SECOND);
}

TEST("what cannot be sampled enough is dropped, but for fixed sources")
{
	begin(0.0001);
	for (int i = 0; i < 100; i++)
		pass(0.9, 0.3, 0.5);
	CHECK(items[CALLS].is_dropped && items[CALLS].level == GT_BUDGET_MAX_LEVEL);
	CHECK(items[SCHED].is_dropped);
	CHECK(!items[FIXED].is_dropped && !items[FIXED].level);
}

TEST("a cost that grows later is reduced again, and then no more")
{
	begin(0.02);
	for (int i = 0; i < 40; i++)
		pass(0.05, 0, 0);
	CHECK(items[CALLS].level == 2);
	for (int i = 0; i < 40; i++)
		pass(0.2, 0, 0);
	CHECK(items[CALLS].level == 4);
	for (int i = 0; i < 400; i++)
		CHECK(!pass(0.2, 0, 0));
}

/* As pass(), for calls whose hooks stay in place: paused they cost this part of the time. */
static bool pass_hooks(double calls, double paused)
{
	uint64_t active = items[CALLS].is_dropped ? 0 : STEP >> items[CALLS].level;
	uint64_t idle = items[CALLS].is_dropped ? 0 : STEP - active;

	now += STEP;
	items[CALLS].active += active;
	items[CALLS].cost += (uint64_t)(calls * (double)active);
	items[CALLS].idle += idle;
	items[CALLS].idle_cost += (uint64_t)(paused * (double)idle);
	return gt_budget_update(&budget, items, ITEMS, now);
}

TEST("hooks that cost less than the limit while they are paused are traced a part of the time")
{
	begin(0.02);
	for (int i = 0; i < 40; i++)
		pass_hooks(0.3, 0.012);
	/* 0.3 / 32 + 0.012 · 31 / 32 is above the limit, 0.3 / 64 + 0.012 · 63 / 64 is not. */
	CHECK_INT(items[CALLS].level, 6);
	for (int i = 0; i < 400; i++)
		CHECK(!pass_hooks(0.3, 0.012));
	CHECK(!items[CALLS].is_dropped);
}

TEST("hooks that cost more than the limit while they are paused are dropped")
{
	begin(0.02);
	while (!items[CALLS].level && now < 10 * SECOND)
		pass_hooks(0.3, 0.05);
	CHECK_INT(items[CALLS].level, 5); /* what a pause costs is not known yet */
	for (int i = 0; i < 40; i++)
		pass_hooks(0.3, 0.05);
	CHECK(items[CALLS].is_dropped);
}

TEST("a limit is a percentage above 0")
{
	double limit = 0;

	CHECK(gt_budget_parse("2%", &limit) && limit > 0.0199 && limit < 0.0201);
	CHECK(gt_budget_parse("0.5", &limit) && limit > 0.0049 && limit < 0.0051);
	CHECK(gt_budget_parse("150%", &limit) && limit > 1.49 && limit < 1.51);
	CHECK(!gt_budget_parse("", &limit));
	CHECK(!gt_budget_parse("%", &limit));
	CHECK(!gt_budget_parse("0%", &limit));
	CHECK(!gt_budget_parse("-1%", &limit));
	CHECK(!gt_budget_parse("2%%", &limit));
	CHECK(!gt_budget_parse("2 %", &limit));
	CHECK(!gt_budget_parse("nan", &limit));
	CHECK(!gt_budget_parse("inf", &limit));
}

TEST_MAIN
