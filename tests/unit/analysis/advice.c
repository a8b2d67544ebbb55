/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Each advice: a program that is given it, with its evidence, and one like it that is not. */
#include "analysis/timeline/advice.h"
#include "breakdown.h"

enum { STEPS = 32 };

/* NULL: it is not given. */
static void expect_advice(enum gt_advice_kind kind, const char *expected)
{
	gt_auto_strbuf evidence = GT_STRBUF_INIT;
	bool is_given = gt_advice_evidence(kind, found, &evidence);

	if (is_given != (expected != NULL))
		TAP_FAIL("%s: %s", gt_advice_name(kind),
			 is_given ? gt_strbuf_string(&evidence) : "not given");
	else
		CHECK_STR(gt_strbuf_string(&evidence), expected ? expected : "");
}

static void pass_time(uint64_t ns)
{
	stream.now += ns;
}

/* Steps of a kernel of 8 µs and a wait for it, or with one wait for all of them. */
static void run_kernels(bool wait_for_each)
{
	uint64_t end = 0;

	start_breakdown();
	for (unsigned i = 0; i < STEPS; i++) {
		uint64_t now = stream.now, begin = end > now + 2000 ? end : now + 2000;

		end = begin + 8000;
		launch_kernel(0x11, begin, end);
		if (wait_for_each)
			wait_until(0x11, end + 1000);
	}
	wait_until(0x11, end + 1000);
	finish_breakdown();
}

TEST("waits after every kernel are advised against, one wait for many is not")
{
	run_kernels(true);
	expect_advice(GT_ADVICE_avoid_waits,
		      "33 waits for 32 operations; between operations the GPU was "
		      "idle for 93.0 µs (27 %) of its time.");
	run_kernels(false);
	expect_advice(GT_ADVICE_avoid_waits, NULL);
}

TEST("idle times of a fifth of the GPU's time are advised against, without idle time nothing is")
{
	run_kernels(true);
	expect_advice(GT_ADVICE_fill_idle_time,
		      "The GPU was idle for 93.0 µs (27 %) in 31 gaps; the longest,"
		      " 3.00 µs, is mostly CPU (1.00 µs).");
	run_kernels(false);
	for (unsigned kind = 0; kind < GT_ADVICES; kind++)
		expect_advice((enum gt_advice_kind)kind, NULL);
}

static void copy_from(uint64_t source)
{
	uint64_t begin;

	start_breakdown();
	cuda_malloc(DEVICE, 1 << 20);
	allocate("cudaMallocHost", "size", PINNED, 1 << 20, 0);
	begin = stream.now + 1500;
	stream.duration = 20000;
	copy(DEVICE, source, 4096, H2D);
	feed_work(GT_GPU_COPY_TO_DEVICE, begin, begin + 500, begin + 18000);
	finish_breakdown();
}

TEST("copies of pageable memory are advised against, those of pinned memory are not")
{
	copy_from(HOST);
	expect_advice(GT_ADVICE_pin_memory,
		      "1 copy from or to pageable memory (4.00 KiB) took 17.5 µs "
		      "(70 %) of the wall time.");
	copy_from(PINNED);
	expect_advice(GT_ADVICE_pin_memory, NULL);
}

/* Kernels without a wait between them: so short that the GPU waits for launches, or not. */
static void run_launches(unsigned count, uint64_t length)
{
	uint64_t end = 0;

	start_breakdown();
	for (unsigned i = 0; i < count; i++) {
		uint64_t begin = stream.now + 1600 > end ? stream.now + 1600 : end;

		end = begin + length;
		launch_kernel(0x11, begin, end);
	}
	wait_until(0x11, (end > stream.now + 1000 ? end : stream.now + 1000) + 500);
	finish_breakdown();
}

TEST("many launches for which the GPU waits should be batched, a few or long ones need not")
{
	run_launches(STEPS, 300);
	expect_advice(GT_ADVICE_batch_launches,
		      "32 launches; no GPU worked for 22.4 µs (34 %) of the wall "
		      "time while a launch was made or waited to start.");
	run_launches(8, 300);
	expect_advice(GT_ADVICE_batch_launches, NULL);
	run_launches(STEPS, 9000);
	expect_advice(GT_ADVICE_batch_launches, NULL);
}

/* A copy of 12 µs before each kernel of 10 µs, in its stream, or beside it in another one. */
static void run_copies(bool overlap)
{
	uint64_t end = 0;

	start_breakdown();
	create_stream(0x11);
	create_stream(0x12);
	for (unsigned i = 0; i < 4; i++) {
		uint64_t begin = stream.now + 5000 > end ? stream.now + 5000 : end;

		copy_in(overlap ? 0x12 : 0x11, begin, begin + 12000);
		end = begin + 12000;
		begin = overlap ? begin : end;
		launch_kernel(0x11, begin, begin + 10000);
		end = begin + 10000 > end ? begin + 10000 : end;
	}
	wait_until(overlap ? 0x12 : 0x11, end + 500);
	finish_breakdown();
}

TEST("copies between kernels should overlap with them, those that do are no reason")
{
	run_copies(false);
	expect_advice(GT_ADVICE_overlap_copies,
		      "Copies are 48.0 µs (49 %) of the critical path; kernels ran "
		      "during 0 ns (0 %) of their time.");
	run_copies(true);
	CHECK(found->spent[GT_SPENT_H2D] > found->wall / 2);
	expect_advice(GT_ADVICE_overlap_copies, NULL);
}

/* The thread computes for a while between its kernels, or there are two threads. */
static void run_computation(uint64_t computed, unsigned threads)
{
	start_breakdown();
	for (unsigned i = 0; i < 4; i++) {
		uint64_t now = stream.now;

		stream.thread = stream.process + i % threads;
		launch_kernel(0x11, now + 2000, now + 12000);
		wait_until(0x11, now + 13000);
		pass_time(computed);
	}
	finish_breakdown();
}

TEST("one thread that computes while the GPU is idle should prepare in others, two need not")
{
	run_computation(10000, 1);
	expect_advice(GT_ADVICE_prepare_in_threads,
		      "One thread uses the API; it computed for 33.0 µs (42 %) of "
		      "the GPU's time while no GPU worked.");
	run_computation(10000, 2);
	expect_advice(GT_ADVICE_prepare_in_threads, NULL);
	run_computation(1000, 1);
	expect_advice(GT_ADVICE_prepare_in_threads, NULL);
}

/* Kernels of 8 µs with so many blocks, in two streams at a time or in one. */
static void run_grids(unsigned count, unsigned blocks, bool beside)
{
	uint64_t end = 0;

	start_breakdown();
	for (unsigned i = 0; i < count; i++) {
		uint64_t begin = stream.now + 2000 > end ? stream.now + 2000 : end;

		if (beside && i % 2)
			begin -= 7000;
		end = begin + 8000;
		launch(KERNEL, blocks, 64, beside && i % 2 ? 0x22 : 0x11, 0);
		feed_work(GT_GPU_KERNEL, stream.now - 500, begin, end);
	}
	wait_until(0x11, end + 1000);
	finish_breakdown();
}

TEST("kernels of few blocks that run alone are advised against, larger or parallel ones are not")
{
	run_grids(STEPS, 15, false);
	expect_advice(GT_ADVICE_more_blocks,
		      "32 kernels of at most 15 blocks ran for 256 µs (100 %) of the time in which "
		      "a GPU worked.");
	run_grids(STEPS, 1, false);
	expect_advice(GT_ADVICE_more_blocks,
		      "32 kernels of at most 1 block ran for 256 µs (100 %) of the time in which a "
		      "GPU worked.");
	run_grids(STEPS, 16, false);
	expect_advice(GT_ADVICE_more_blocks, NULL);
	run_grids(15, 1, false);
	expect_advice(GT_ADVICE_more_blocks, NULL);
	run_grids(STEPS, 1, true);
	expect_advice(GT_ADVICE_more_blocks, NULL);
}

TEST("kernels of few blocks that take little of the GPU's time are none, nor are estimated times")
{
	start_breakdown();
	for (unsigned i = 0; i < STEPS; i++) {
		launch(KERNEL, 1, 64, 0x11, 0);
		feed_work(GT_GPU_KERNEL, stream.now - 500, stream.now + 2000, stream.now + 3000);
		wait_until(0x11, stream.now + 4000);
	}
	launch(KERNEL, 1024, 64, 0x11, 0);
	feed_work(GT_GPU_KERNEL, stream.now - 500, stream.now + 1000, stream.now + 200000);
	wait_until(0x11, stream.now + 201000);
	finish_breakdown();
	CHECK_INT(found->small_grids.count, STEPS);
	CHECK_INT(found->small_grids.ns, STEPS * 1000);
	expect_advice(GT_ADVICE_more_blocks, NULL);

	start_breakdown();
	for (unsigned i = 0; i < STEPS; i++) {
		launch(KERNEL, 1, 64, 0x11, 0);
		wait_until(0x11, stream.now + 4000);
	}
	finish_breakdown();
	CHECK_INT(found->operations, STEPS);
	CHECK_INT(found->small_grids.count, 0);
}

TEST("each advice has a name and a sentence, and times of two clocks are no evidence")
{
	gt_auto_strbuf evidence = GT_STRBUF_INIT;
	struct gt_process_breakdown apart;

	run_kernels(true);
	apart = *found;
	apart.host_only = true;
	for (unsigned i = 0; i < GT_ADVICES; i++) {
		enum gt_advice_kind kind = (enum gt_advice_kind)i;
		const char *sentence = gt_advice_text(kind);

		CHECK(gt_advice_name(kind)[0] && sentence[strlen(sentence) - 1] == '.');
		CHECK(!gt_advice_evidence(kind, &apart, &evidence));
	}
	gt_breakdown_free(breakdown);
	gt_timeline_free(timeline);
	gt_names_free(stream.names);
}

TEST_MAIN
