/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The BPF programs of the source "vblank" on files that are made up: what the queue forgets. */
#include "probe/vblank/vblank.h"
#include "kernel_memory.h"
#include "layer_run.h"
#include "tap.h"
#include "temporary.h"

#define NEEDS_BPF "this kernel loads no programs for us"
#define CRTC 1

static struct kernel_memory memory;
static struct layer_run run;
static struct temporary types;

static bool set_up(void)
{
	if (!make_empty_file(&types) || kernel_memory_open(&memory) ||
	    layer_run_write_types(&gt_source_vblank, types.path) ||
	    layer_run_open(&run, &gt_source_vblank, types.path, NULL))
		return false;
	return !kernel_memory_write(&memory);
}

static void tear_down(void)
{
	layer_run_close(&run);
	kernel_memory_close(&memory);
	unlink(types.path);
}

static struct gt_layer_counts counts(void)
{
	struct gt_layer_counts sums = {0};

	gt_layer_add_counts(gt_source_vblank.layer, NULL, run.object, &sums);
	return sums;
}

static uint64_t queue_length(void)
{
	return gt_load_count_entries(bpf_object__find_map_by_name(run.object, "queue"));
}

/* A file has the address `memory.address`; it has no device. */
static void queue(uint32_t first, uint32_t count)
{
	for (uint32_t i = first; i < first + count; i++)
		CHECK_INT(LAYER_RUN(&run, "vblank_queued", memory.address, CRTC, i), 0);
}

static void deliver(uint32_t first, uint32_t count)
{
	for (uint32_t i = first; i < first + count; i++)
		CHECK_INT(LAYER_RUN(&run, "vblank_delivered", memory.address, CRTC, i), 0);
}

TEST("events that are delivered leave the queue; none is evicted")
{
	if (!set_up())
		SKIP(NEEDS_BPF);
	queue(100, 30);
	CHECK_INT(queue_length(), 30);
	deliver(100, 30);
	CHECK_INT(queue_length(), 0);
	CHECK_INT(counts().evicted, 0);
	CHECK_INT(counts().recorded, 60);
	tear_down();
}

TEST("an event that is asked for twice is in the queue once, until both are delivered")
{
	if (!set_up())
		SKIP(NEEDS_BPF);
	queue(7, 1);
	queue(7, 1);
	CHECK_INT(queue_length(), 1);
	deliver(7, 1);
	CHECK_INT(queue_length(), 1);
	deliver(7, 1);
	CHECK_INT(queue_length(), 0);
	CHECK_INT(counts().evicted, 0);
	tear_down();
}

TEST("events that the queue has no room for evict older ones, and each eviction is counted")
{
	const uint32_t more = GT_MAX_VBLANK_EVENTS + 500;

	if (!set_up())
		SKIP(NEEDS_BPF);
	queue(0, more);
	CHECK(counts().evicted >= 500);
	CHECK_INT(counts().evicted + queue_length(), more);
	/* The newest are there, whatever was evicted. */
	deliver(more - 100, 100);
	CHECK_INT(counts().evicted + queue_length(), more - 100);
	tear_down();
}

TEST_MAIN
