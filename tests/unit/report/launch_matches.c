/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which grid is which call's: from a log as the host programs write it, and records of grids. */
#include "report/launch_matches.h"

#include <stdlib.h>

#include "base/clean.h"
#include "tap.h"

/* All times are multiples of a step, and so uncertain by it. */
enum { PID = 7, OFFSET = 1000000, STEP = 100 };

static union launchlate_slot *shared;
static struct gt_launch_matches *matches;

static void start(void)
{
	free(shared);
	gt_launch_matches_free(matches);
	shared = calloc(1 + LAUNCHLATE_LOG, sizeof(*shared));
	matches = gt_launch_matches_new();
}

static void stop(void)
{
	free(shared);
	gt_launch_matches_free(matches);
	shared = NULL;
	matches = NULL;
}

static void read_log(void)
{
	gt_launch_matches_read(matches, shared, 1 + LAUNCHLATE_LOG, 0, 0);
}

static void event(struct launchlate_event made)
{
	uint64_t number = shared->clocks.head++;

	made.number = number + 1;
	made.pid = made.pid ? made.pid : PID;
	made.tid = made.tid ? made.tid : PID;
	shared[1 + number % LAUNCHLATE_LOG].event = made;
}

static void name(uint64_t handle, const char *kernel)
{
	event((struct launchlate_event){
		.kind = LAUNCHLATE_NAMED, .handle = handle, .other = gt_launch_name(kernel)});
}

static void call(uint64_t handle, uint64_t begin)
{
	event((struct launchlate_event){.kind = LAUNCHLATE_KERNEL,
					.handle = handle,
					.begin = begin,
					.end = begin + 10,
					.launches = 1});
}

static void graph(uint64_t begin)
{
	event((struct launchlate_event){.kind = LAUNCHLATE_GRAPH,
					.handle = 99,
					.begin = begin,
					.end = begin + 10,
					.launches = 1});
}

/* A grid whose first instruction is at a time of the host; the GPU's clock is ahead. */
static void grid(uint64_t launch, const char *kernel, uint64_t host)
{
	const struct launchlate_grid made = {.launch = launch,
					     .time = host + OFFSET,
					     .read = host + OFFSET,
					     .host = host - 1,
					     .pid = PID};

	gt_launch_matches_add_grid(matches, &made, sizeof(made), gt_launch_name(kernel));
	/* And a call that waits for it. */
	event((struct launchlate_event){
		.kind = LAUNCHLATE_SYNC, .gpu = host + OFFSET, .end = host + 1});
}

static bool knows_step(void *context, uint64_t kernel)
{
	return kernel == gt_launch_name("step");
}

static void solve(void)
{
	read_log();
	CHECK(!gt_launch_matches_solve(matches, knows_step, NULL));
}

/* The latency of the match of a call, or -1. */
static int64_t latency_of(uint64_t begin)
{
	gt_vec_each (match, &matches->items)
		if (match->call->begin == begin)
			return match->latency;
	return -1;
}

TEST("grids are matched with the calls of their kernel in the order of launch ids")
{
	start();
	name(0x10, "step");
	name(0x20, "copy");
	call(0x10, 1000);
	call(0x20, 1100);
	call(0x10, 1200);
	/* They arrive in another order. */
	grid(3, "step", 9200);
	grid(2, "copy", 5100);
	grid(1, "step", 3000);
	solve();
	CHECK(matches->items.count == 3 && matches->fitted);
	CHECK(llabs(latency_of(1000) - 2000) <= STEP);
	CHECK(llabs(latency_of(1100) - 4000) <= STEP);
	CHECK(llabs(latency_of(1200) - 8000) <= STEP);
	CHECK(!matches->calls_unknown && !matches->grids_unknown && !matches->violations);
	CHECK(llabs(matches->fit.offset - OFFSET) <= STEP);
	stop();
}

TEST("where no call has a known kernel, all are matched by their order, and the grids keep their "
     "names")
{
	start();
	call(1, 1000);
	call(2, 2000);
	grid(1, "step", 1500);
	grid(2, "other", 2700);
	solve();
	CHECK_INT(matches->items.count, 2);
	gt_vec_each (match, &matches->items)
		CHECK(match->grid->name ==
		      gt_launch_name(match->call->begin == 1000 ? "step" : "other"));
	stop();
}

TEST("the earliest record of a grid counts")
{
	start();
	name(0x10, "step");
	call(0x10, 1000);
	grid(1, "step", 3000);
	grid(1, "step", 2500);
	grid(1, "step", 2800);
	solve();
	CHECK(matches->grids.count == 1 && matches->items.count == 1);
	CHECK(llabs(latency_of(1000) - 1500) <= STEP);
	stop();
}

TEST("nothing is matched of a kernel that has more calls than grids")
{
	start();
	name(0x10, "step");
	name(0x20, "copy");
	call(0x10, 1000);
	call(0x10, 1200);
	call(0x20, 1300);
	grid(1, "step", 3000);
	grid(3, "copy", 4000);
	solve();
	CHECK(matches->items.count == 1 && latency_of(1300) > 0);
	CHECK(matches->calls_unknown == 2 && matches->grids_unknown == 1);
	stop();
}

TEST("failed calls, captured ones and those of other kernels are counted separately")
{
	start();
	name(0x10, "step");
	name(0x20, "unpatched");
	event((struct launchlate_event){
		.kind = LAUNCHLATE_KERNEL, .handle = 0x10, .begin = 900, .end = 910, .result = 1});
	event((struct launchlate_event){.kind = LAUNCHLATE_CAPTURE_BEGIN, .handle = 0x77});
	event((struct launchlate_event){
		.kind = LAUNCHLATE_KERNEL, .handle = 0x10, .begin = 920, .other = 0x77});
	event((struct launchlate_event){.kind = LAUNCHLATE_CAPTURE_END, .handle = 0x77});
	event((struct launchlate_event){
		.kind = LAUNCHLATE_KERNEL, .handle = 0x10, .begin = 950, .other = 0x77});
	call(0x20, 1000);
	grid(1, "step", 3000);
	solve();
	CHECK(matches->failed == 1 && matches->captured == 1 && matches->not_patched == 1);
	CHECK(matches->items.count == 1 && latency_of(950) > 0);
	CHECK(!matches->calls_unknown && !matches->grids_unknown);
	stop();
}

TEST("a handle has the name that it had when it was launched, also by another handle")
{
	start();
	name(0x10, "copy");
	event((struct launchlate_event){.kind = LAUNCHLATE_ALIAS, .handle = 0x30, .other = 0x10});
	call(0x30, 1000);
	name(0x10, "step");
	call(0x10, 2100);
	grid(1, "copy", 5000);
	grid(2, "step", 6100);
	grid(2, "step", 6300);
	solve();
	CHECK(matches->items.count == 2);
	CHECK(llabs(latency_of(1000) - 4000) <= STEP && llabs(latency_of(2100) - 4000) <= STEP);
	stop();
}

TEST("grids of a graph are shared out to its launches if their number is a multiple")
{
	start();
	graph(1000);
	graph(2000);
	for (uint64_t i = 0; i < 6; i++)
		grid(1 + i, "step", 5000 + i * 100);
	grid(7, "copy", 7000);
	solve();
	CHECK(matches->items.count == 6 && matches->grids_unknown == 1);
	if (matches->items.count == 6)
		for (size_t i = 0; i < 6; i++)
			CHECK(matches->items.items[i].call->begin == (i < 3 ? 1000 : 2000));
	stop();
}

TEST("a grid that begins before its call is a violation, and not changed")
{
	start();
	name(0x10, "step");
	call(0x10, 500000);
	grid(1, "step", 3000);
	solve();
	CHECK(matches->violations == 1 && latency_of(500000) < -490000);
	stop();
}

TEST("calls of several threads at the same time are matched, and counted as ambiguous")
{
	start();
	name(0x10, "step");
	call(0x10, 1000);
	event((struct launchlate_event){.kind = LAUNCHLATE_KERNEL,
					.handle = 0x10,
					.begin = 1005,
					.end = 1015,
					.tid = 8,
					.launches = 1});
	grid(1, "step", 3000);
	grid(2, "step", 4000);
	solve();
	CHECK(matches->items.count == 2 && matches->ambiguous == 1);
	stop();
}

TEST("events that the reader was too late for are counted as lost")
{
	start();
	for (uint64_t i = 0; i < LAUNCHLATE_LOG + 100; i++)
		call(0x10, 1000 + i * 100);
	read_log();
	CHECK(matches->events_lost == 100 && matches->calls.count == LAUNCHLATE_LOG);
	/* One that is not complete waits, and those after it. */
	shared->clocks.head++;
	call(0x10, 1);
	read_log();
	CHECK(matches->calls.count == LAUNCHLATE_LOG);
	stop();
}

TEST("memory that holds anything does no harm")
{
	uint64_t state = 1;
	uint8_t *bytes;

	start();
	bytes = (uint8_t *)shared;
	for (size_t i = 0; i < (1 + LAUNCHLATE_LOG) * sizeof(*shared); i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		bytes[i] = (uint8_t)(state >> 56);
	}
	for (uint64_t i = 0; i < LAUNCHLATE_LOG; i++) {
		shared[1 + i].event.number = i + 1;
		shared[1 + i].event.kind %= 10;
	}
	shared->clocks.head = LAUNCHLATE_LOG;
	read_log();
	CHECK(matches->malformed > 0 && matches->failed > 0);
	gt_launch_matches_add_grid(matches, bytes, 3, 1);
	for (size_t i = 0; i < 1000; i++)
		gt_launch_matches_add_grid(matches, bytes + 64 * i, sizeof(struct launchlate_grid),
					   i % 3);
	solve();
	stop();
}

TEST_MAIN
