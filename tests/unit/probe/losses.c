/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the BPF programs of layer sources cannot record is counted, and nothing else. */
#include <unistd.h>

#include "layer_run.h"
#include "tap.h"

#define NEEDS_BPF "this kernel loads no programs for us"

static struct layer_run run;

static struct gt_layer_counts counts_of(const struct gt_source *source)
{
	struct gt_layer_counts counts = {0};

	gt_layer_add_counts(source->layer, NULL, run.object, &counts);
	return counts;
}

/* A program that shows an event of the current thread, whatever its arguments are. */
static const struct {
	const struct gt_source *source;
	const char *program;
} of_threads[] = {
	{&gt_source_fault, "fault_user"},
	{&gt_source_fence, "fence_init"},
	{&gt_source_fence, "fence_wait_start"},
	{&gt_source_fence, "fence_wait_end"},
};

/* The events in the ring, and those that are counted as lost, of each of these programs. */
static void check_losses(const struct layer_run_options *how, uint64_t shown, uint64_t lost)
{
	for (size_t i = 0; i < gt_countof(of_threads); i++) {
		struct gt_layer_counts counts;

		if (layer_run_open_as(&run, of_threads[i].source, how))
			SKIP(NEEDS_BPF);
		CHECK_INT(LAYER_RUN(&run, of_threads[i].program, 0, 0, 0), 0);
		counts = counts_of(of_threads[i].source);
		CHECK_INT(run.count, shown);
		CHECK_INT(counts.recorded, shown);
		CHECK_INT(counts.lost, lost);
		layer_run_close(&run);
	}
}

TEST("an event of a thread that has no storage is lost, and counted")
{
	check_losses(&(struct layer_run_options){.no_storage = true}, 0, 1);
}

TEST("an event of a thread that is not traced is no loss")
{
	const struct gt_filter others = {.uid_count = 1, .uids = {getuid() + 1}};

	check_losses(&(struct layer_run_options){.no_storage = true, .filter = &others}, 0, 0);
	check_losses(&(struct layer_run_options){.filter = &others}, 0, 0);
}

TEST("an event of a traced thread with storage is shown, and no loss")
{
	check_losses(&(struct layer_run_options){0}, 1, 0);
}

TEST("a hit that both programs of a tracepoint leave, for want of storage, is one loss")
{
	const struct layer_run_options how = {.preemptible = true, .no_storage = true};

	if (layer_run_open_as(&run, &gt_source_fence, &how))
		SKIP(NEEDS_BPF);
	CHECK_INT(LAYER_RUN(&run, "fence_destroy", 0), 0);
	CHECK_INT(LAYER_RUN(&run, "fence_destroy_record", 0), 0);
	CHECK_INT(run.count, 0);
	CHECK_INT(counts_of(&gt_source_fence).lost, 1);
	layer_run_close(&run);
}

TEST("what a full map has no room for is counted as evicted")
{
	static const struct {
		const struct gt_source *source;
		const char *map, *program;
	} cases[] = {
		{&gt_source_block, "requests", "request_created"},
		{&gt_source_block, "requests", "request_issued"},
	};

	for (size_t i = 0; i < gt_countof(cases); i++) {
		const struct layer_run_options how = {.full = cases[i].map};

		if (layer_run_open_as(&run, cases[i].source, &how))
			SKIP(NEEDS_BPF);
		CHECK_INT(LAYER_RUN(&run, cases[i].program, 1), 0);
		CHECK_INT(counts_of(cases[i].source).evicted, 0);
		CHECK_INT(LAYER_RUN(&run, cases[i].program, 1), 0); /* known: it needs no room */
		CHECK_INT(counts_of(cases[i].source).evicted, 0);
		CHECK_INT(LAYER_RUN(&run, cases[i].program, 2), 0);
		CHECK_INT(counts_of(cases[i].source).evicted, 1);
		layer_run_close(&run);
	}
}

TEST_MAIN
