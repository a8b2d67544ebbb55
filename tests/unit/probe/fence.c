/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The BPF programs of the source "fence", on fences that are made up. */
#include <bpf/btf.h>

#include "kernel_memory.h"
#include "layer_run.h"
#include "probe/fence/fence.h"
#include "tap.h"

static struct kernel_memory memory;
static struct layer_run run;

static size_t offset_of(const char *structure, const char *member)
{
	struct btf *btf = btf__load_vmlinux_btf();
	size_t offset = layer_run_offset(btf, structure, member);

	btf__free(btf);
	return offset;
}

/* Make the fence that the kernel sees; false: it has no such type. */
static bool make_fence(uint64_t context, uint64_t seqno, int error)
{
	size_t at = offset_of("dma_fence", "context");

	if (at == SIZE_MAX)
		return false;
	kernel_memory_put(&memory, at, &context, sizeof(context));
	kernel_memory_put(&memory, offset_of("dma_fence", "seqno"), &seqno, sizeof(seqno));
	kernel_memory_put(&memory, offset_of("dma_fence", "error"), &error, sizeof(error));
	return !kernel_memory_write(&memory);
}

static bool set_up(const struct gt_filter *filter)
{
	return !kernel_memory_open(&memory) &&
	       !layer_run_open(&run, &gt_source_fence, NULL, filter) && make_fence(1, 1, 0);
}

/* As where threads are preempted in programs of raw tracepoints. */
static bool set_up_preemptible(void)
{
	const struct layer_run_options how = {.preemptible = true};

	return !kernel_memory_open(&memory) && !layer_run_open_as(&run, &gt_source_fence, &how) &&
	       make_fence(1, 1, 0);
}

static void tear_down(void)
{
	layer_run_close(&run);
	kernel_memory_close(&memory);
}

#define FIRE(operation) CHECK_INT(LAYER_RUN(&run, "fence_" operation, memory.address), 0)

static const struct gt_event_fence *fence_at(size_t number)
{
	return (const void *)run.events[number];
}

TEST("a fence has its whole context and number, and belongs to the process that initialized it")
{
	const uint64_t context = 0x123456789abcdef0, seqno = 0xfedcba9876543210;

	if (!set_up(NULL))
		SKIP("this kernel loads no programs for us, or has no fences");
	make_fence(context, seqno, 0);
	FIRE("init");
	FIRE("emit");
	make_fence(context, seqno, -ETIME);
	FIRE("signaled");
	FIRE("destroy");
	CHECK_INT(run.count, 4);
	for (size_t i = 0; i < run.count; i++) {
		CHECK(fence_at(i)->context == context && fence_at(i)->seqno == seqno);
		CHECK_INT(fence_at(i)->head.process, getpid());
	}
	CHECK_INT(fence_at(0)->operation, GT_FENCE_INIT);
	CHECK_INT(fence_at(0)->error, 0);
	CHECK_INT(fence_at(1)->operation, GT_FENCE_EMIT);
	CHECK_INT(fence_at(2)->operation, GT_FENCE_SIGNALED);
	CHECK_INT(fence_at(2)->error, -ETIME);
	CHECK(fence_at(2)->age > 0 &&
	      fence_at(2)->age <= fence_at(2)->head.time - fence_at(1)->head.time);
	CHECK_INT(fence_at(3)->operation, GT_FENCE_DESTROY);
	tear_down();
}

TEST("a destroyed fence is forgotten; one that is older than the session has no process")
{
	if (!set_up(NULL))
		SKIP("this kernel loads no programs for us, or has no fences");
	FIRE("init");
	FIRE("destroy");
	FIRE("signaled");
	CHECK_INT(run.count, 3);
	CHECK_INT(fence_at(1)->head.process, getpid());
	CHECK_INT(fence_at(2)->head.process, 0);
	CHECK_INT(fence_at(2)->age, 0);
	tear_down();
}

TEST("a wait is matched by context and number, also inside another one")
{
	const struct gt_event_fence_wait *inner, *outer;

	if (!set_up(NULL))
		SKIP("this kernel loads no programs for us, or has no fences");
	make_fence(1, 1, 0);
	FIRE("wait_start");
	make_fence(1, 1ULL << 32 | 1, 0); /* the same low 32 bits */
	FIRE("wait_start");
	FIRE("wait_end");
	make_fence(1, 1, 0);
	FIRE("wait_end");
	CHECK_INT(run.count, 4);
	inner = (const void *)run.events[2];
	outer = (const void *)run.events[3];
	CHECK_INT(inner->head.kind, GT_EVENT_fence_wait);
	CHECK(inner->seqno == (1ULL << 32 | 1) && outer->seqno == 1);
	CHECK(inner->duration > 0 && outer->duration > inner->duration);
	CHECK(outer->head.time - outer->duration <= inner->head.time - inner->duration);
	/* It ended: another end has no beginning. */
	FIRE("wait_end");
	outer = (const void *)run.events[4];
	CHECK_INT(outer->duration, 0);
	tear_down();
}

TEST("with a filter, fences of other processes are not shown, and unknown ones are counted")
{
	const struct gt_filter filter = {.uid_count = 1, .uids = {getuid() + 1}};
	struct gt_layer_counts counts = {0};

	if (!set_up(&filter))
		SKIP("this kernel loads no programs for us, or has no fences");
	FIRE("init");
	FIRE("signaled");
	FIRE("wait_start");
	FIRE("destroy");
	FIRE("signaled");
	CHECK_INT(run.count, 0);
	gt_load_sum_counters(bpf_object__find_map_fd_by_name(run.object, "layer_counts"), &counts,
			     sizeof(counts) / sizeof(__u64));
	CHECK_INT(counts.unattributed, 1);
	CHECK_INT(counts.recorded, 0);
	tear_down();
}

/* The offsets in a record, which are looked up once. */
static struct {
	size_t driver, timeline, context, seqno;
} at;

static void find_record(void)
{
	const char *structure = "trace_event_raw_dma_fence";

	if (at.context)
		return;
	at.driver = offset_of(structure, "__data_loc_driver");
	at.timeline = offset_of(structure, "__data_loc_timeline");
	at.context = offset_of(structure, "context");
	at.seqno = offset_of(structure, "seqno");
}

/* Run a program on the record of a fence of a timeline "ring" of a driver "gpu". */
static void fire_record(const char *program, uint32_t context, uint32_t seqno)
{
	const uint32_t driver = 4 << 16 | 48, timeline = 5 << 16 | 56;
	uint64_t room[12] = {0}; /* the most that a test run takes */
	char *record = (char *)room;

	find_record();
	memcpy(record + at.driver, &driver, 4);
	memcpy(record + at.timeline, &timeline, 4);
	memcpy(record + 48, "gpu", 4);
	memcpy(record + 56, "ring", 5);
	memcpy(record + at.context, &context, 4);
	memcpy(record + at.seqno, &seqno, 4);
	CHECK_INT(layer_run_program(&run, program, room, gt_countof(room)), 0);
}

static void name_timelines(uint32_t first, uint32_t last)
{
	for (uint32_t context = first; context <= last; context++)
		fire_record("name_init", context, 1);
}

TEST("timelines that there is no room for evict the names of others, and each eviction is counted")
{
	const uint32_t more = GT_MAX_TIMELINES + 300;
	struct gt_layer_counts counts = {0};
	uint64_t known;

	if (!set_up(NULL))
		SKIP("this kernel loads no programs for us, or has no fences");
	name_timelines(1, more);
	name_timelines(more, more); /* known: not added again */
	known = gt_load_count_entries(bpf_object__find_map_by_name(run.object, "timelines"));
	gt_layer_add_counts(gt_source_fence.layer, NULL, run.object, &counts);
	CHECK(counts.evicted >= 300);
	CHECK_INT(counts.evicted + known, more);
	make_fence(more, 1, 0);
	FIRE("signaled");
	CHECK_INT(run.count, 1);
	CHECK_STR((const char *)fence_at(0)->names, "gpu");
	tear_down();
}

#define RECORD(operation, context, seqno) fire_record("fence_" operation "_record", context, seqno)

static int64_t count_recovered(void)
{
	struct gt_layer_counts counts = {0};

	gt_load_sum_counters(bpf_object__find_map_fd_by_name(run.object, "layer_counts"), &counts,
			     sizeof(counts) / sizeof(__u64));
	return (int64_t)counts.recovered;
}

TEST("where tracepoints are preemptible, each step of a fence is shown once, and has its names")
{
	if (!set_up_preemptible())
		SKIP("this kernel loads no programs for us, or has no fences");
	for (uint64_t seqno = 1; seqno <= 2; seqno++) {
		make_fence(5, seqno, 0);
		FIRE("init"); /* of the first fence: left to the record, which has the names */
		RECORD("init", 5, (uint32_t)seqno);
		FIRE("enable_signal");
		RECORD("enable_signal", 5, (uint32_t)seqno);
		RECORD("signaled", 5, (uint32_t)seqno);
		FIRE("signaled");
		FIRE("destroy");
		RECORD("destroy", 5, (uint32_t)seqno);
	}
	CHECK_INT(run.count, 8);
	for (size_t i = 0; i < run.count; i++) {
		CHECK_INT(fence_at(i)->context, 5);
		CHECK_INT(fence_at(i)->seqno, i / 4 + 1);
		CHECK_INT(fence_at(i)->head.process, getpid());
		CHECK_STR((const char *)fence_at(i)->names, "gpu");
	}
	CHECK_INT(count_recovered(), 0);
	tear_down();
}

TEST("steps of which there are records only are shown, with the error of a fence that is known")
{
	const struct gt_event_fence_wait *wait;

	if (!set_up_preemptible())
		SKIP("this kernel loads no programs for us, or has no fences");
	RECORD("init", 5, 1);
	make_fence(5, 2, -ETIME);
	FIRE("init");
	RECORD("init", 5, 2);
	RECORD("wait_start", 5, 2);
	RECORD("signaled", 5, 2);
	RECORD("wait_end", 5, 2);
	RECORD("signaled", 5, 1);
	CHECK_INT(run.count, 6);
	CHECK_INT(fence_at(3)->operation, GT_FENCE_SIGNALED);
	CHECK_INT(fence_at(3)->error, -ETIME);
	wait = (const void *)run.events[4];
	CHECK_INT(wait->head.kind, GT_EVENT_fence_wait);
	CHECK(wait->duration > 0);
	CHECK_INT(fence_at(5)->seqno, 1);
	CHECK_INT(fence_at(5)->error, 0);
	CHECK_INT(count_recovered(), 5);
	tear_down();
}

TEST("a hit that a raw tracepoint left to a record that is omitted is counted as lost")
{
	struct gt_layer_counts counts = {0};

	if (!set_up_preemptible())
		SKIP("this kernel loads no programs for us, or has no fences");
	FIRE("init");
	gt_layer_add_counts(gt_source_fence.layer, NULL, run.object, &counts);
	CHECK_INT(run.count, 0);
	CHECK_INT(counts.lost, 1);
	tear_down();
}

TEST_MAIN
