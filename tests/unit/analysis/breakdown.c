/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Where the wall time went: the critical path, busy and idle times, and the causes of idle times.
 */
#include "breakdown.h"

static void expect_spent(enum gt_spending spending, uint64_t ns, uint64_t idle)
{
	if (found->spent[spending] != ns || found->spent_idle[spending] != idle)
		TAP_FAIL("%s: %llu, idle %llu, not %llu, %llu", gt_spending_name(spending),
			 (unsigned long long)found->spent[spending],
			 (unsigned long long)found->spent_idle[spending], (unsigned long long)ns,
			 (unsigned long long)idle);
}

TEST("a copy, a kernel and a wait, one after the other, are each on the path with their time")
{
	uint64_t zero;

	start_breakdown();
	zero = stream.now;
	copy_in(0x11, zero + 1600, zero + 5000);        /* called from 1000 to 2000 */
	launch_kernel(0x11, zero + 5100, zero + 20000); /* called from 3000 to 4000 */
	wait_until(0x11, zero + 21000);                 /* called from 5000 on */
	finish_breakdown();
	CHECK_INT(found->wall, 21000);
	expect_spent(GT_SPENT_CPU, 1000, 1000);
	expect_spent(GT_SPENT_COPY, 500, 500);  /* up to the submission */
	expect_spent(GT_SPENT_QUEUE, 200, 200); /* 100 to the copy, 100 to the kernel */
	expect_spent(GT_SPENT_H2D, 3400, 0);
	expect_spent(GT_SPENT_KERNEL, 14900, 0);
	expect_spent(GT_SPENT_WAIT, 1000, 1000);
	CHECK_INT(found->gpu_busy, 3400 + 14900);
	CHECK_INT(found->gpu_idle, 100);
	CHECK_INT(found->gpu_overlap, 0);
	CHECK_INT(found->longest.items[0].number, 2);
}

/* The times of an operation in stream 0x11, which begins 100 ns after the one before it. */
static void follow(enum gt_gpu_operation operation, uint64_t *last, uint64_t ns)
{
	feed_work(operation, stream.now - 500, *last + 100, *last + 100 + ns);
	*last += 100 + ns;
}

static void set_memory(void)
{
	struct built built = begin("cudaMemsetAsync");

	pass(&built, "devPtr", DEVICE);
	pass(&built, "value", 0);
	pass(&built, "count", 4096);
	pass(&built, "stream", 0x11);
	returns(&built, 0);
}

static void launch_graph(void)
{
	struct built built = begin("cudaGraphLaunch");

	pass(&built, "graphExec", 0x9000);
	pass(&built, "stream", 0x11);
	returns(&built, 0);
}

TEST("an operation of each kind is on the path with its time, and in the use of its kind")
{
	static const struct {
		enum gt_gpu_operation operation;
		enum gt_spending spending;
		uint64_t ns;
	} kinds[] = {
		{GT_GPU_COPY_TO_DEVICE, GT_SPENT_H2D, 30000},
		{GT_GPU_KERNEL, GT_SPENT_KERNEL, 31000},
		{GT_GPU_COPY_TO_HOST, GT_SPENT_D2H, 32000},
		{GT_GPU_COPY_ON_DEVICE, GT_SPENT_D2D, 33000},
		{GT_GPU_SET, GT_SPENT_SET, 34000},
		{GT_GPU_GRAPH, GT_SPENT_GRAPH, 35000},
	};
	uint64_t last;

	start_breakdown();
	last = stream.now + 1600;
	copy_async(DEVICE, PINNED, 64, H2D, 0x11);
	follow(GT_GPU_COPY_TO_DEVICE, &last, 30000);
	launch(KERNEL, 64, 64, 0x11, 0);
	follow(GT_GPU_KERNEL, &last, 31000);
	copy_async(PINNED, DEVICE, 64, D2H, 0x11);
	follow(GT_GPU_COPY_TO_HOST, &last, 32000);
	copy_async(DEVICE, DEVICE + 4096, 64, 3, 0x11);
	follow(GT_GPU_COPY_ON_DEVICE, &last, 33000);
	set_memory();
	follow(GT_GPU_SET, &last, 34000);
	launch_graph();
	follow(GT_GPU_GRAPH, &last, 35000);
	wait_until(0x11, last + 700);
	finish_breakdown();
	CHECK_INT(found->operations, gt_countof(kinds));
	CHECK_INT(found->contradicted, 0);
	for (size_t i = 0; i < gt_countof(kinds); i++) {
		uint64_t busy = 0;

		expect_spent(kinds[i].spending, kinds[i].ns, 0);
		gt_vec_each (use, &found->busy)
			if (!use->all && use->operation == kinds[i].operation)
				busy += use->ns;
		CHECK_INT(busy, kinds[i].ns);
	}
	expect_spent(GT_SPENT_WAIT, 700, 700);
	CHECK_INT(found->gpu_idle, 500);
	CHECK_INT(found->idle_gaps, 5);
	CHECK_INT(found->gpu_busy, 30000 + 31000 + 32000 + 33000 + 34000 + 35000);
}

TEST("waits are counted by function, with the part in which a GPU worked for them")
{
	const struct gt_wait_times *waits;
	uint64_t zero;

	start_breakdown();
	zero = stream.now;
	launch_kernel(0x11, zero + 2000, zero + 12000);
	wait_until(0x11, zero + 15000); /* from 3 µs on: 9 µs for the kernel, 3 µs after it */
	launch_kernel(0x11, zero + 18000, zero + 18500);
	wait_until(0x11, zero + 21000); /* from 18 µs on */
	stream.duration = 40000;
	copy(HOST, DEVICE, 64, D2H); /* from 22 µs on */
	feed_work(GT_GPU_COPY_TO_HOST, zero + 23000, zero + 30000, zero + 52000);
	stream.duration = 1000;
	launch_kernel(0x11, zero + 65000, zero + 66000);
	finish_breakdown();
	CHECK_INT(found->waits_by_function.count, 2);
	waits = found->waits_by_function.items;
	CHECK_STR(waits[0].function, "cudaMemcpy"); /* most time first */
	CHECK_INT(waits[0].durations.count, 1);
	CHECK_INT(waits[0].durations.sum, 40000);
	CHECK_INT(waits[0].behind_ns, 30000);
	CHECK_STR(waits[1].function, "cudaStreamSynchronize");
	CHECK_INT(waits[1].durations.count, 2);
	CHECK_INT(waits[1].durations.sum, 12000 + 3000);
	CHECK_INT(waits[1].behind_ns, 9000 + 500);
}

TEST("of streams that overlap, the path has the operation that ended last, and what it waited for")
{
	uint64_t zero;

	start_breakdown();
	zero = stream.now;
	create_stream(0x11);                             /* up to 2000 */
	create_stream(0x12);                             /* up to 4000 */
	launch_kernel(0x11, zero + 5500, zero + 30000);  /* up to 6000 */
	record_event(0xe1, 0x11);                        /* up to 8000 */
	copy_in(0x12, zero + 9500, zero + 12000);        /* up to 10000 */
	wait_event(0x12, 0xe1);                          /* up to 12000 */
	launch_kernel(0x12, zero + 30200, zero + 40000); /* up to 14000 */
	wait_until(0x12, zero + 40500);
	finish_breakdown();
	expect_spent(GT_SPENT_KERNEL, 24500 + 9800, 0);
	expect_spent(GT_SPENT_H2D, 0, 0);
	expect_spent(GT_SPENT_QUEUE, 200, 200);
	expect_spent(GT_SPENT_WAIT, 500, 500);
	CHECK_INT(found->gpu_overlap, 2500);
	CHECK_INT(found->gpu_busy, 24500 + 9800);
	CHECK_INT(found->idle_gaps, 1);
	CHECK_INT(found->copies.items[0].overlapped_ns, 2500);
	CHECK_INT(found->busy.items[0].all, true);
	CHECK_INT(found->busy.items[0].ns, 24500 + 9800);
	CHECK_INT(found->busy.items[0].sum, 24500 + 9800 + 2500);
}

TEST("the time of a late launch is the host's, and the cause of the gap")
{
	const struct gt_idle_gap *gap;
	uint64_t zero;

	start_breakdown();
	zero = stream.now;
	launch_kernel(0x11, zero + 2000, zero + 5000);
	wait_until(0x11, zero + 6000);
	stream.now = zero + 50000; /* the host computes */
	launch_kernel(0x11, zero + 52000, zero + 53000);
	wait_until(0x11, zero + 54000);
	finish_breakdown();
	CHECK_INT(found->gpu_idle, 47000);
	CHECK_INT(found->gaps.count, 1);
	gap = &found->gaps.items[0];
	CHECK_INT(gap->start, zero + 5000);
	CHECK_INT(gap->end, zero + 52000);
	CHECK_INT(gap->spent[GT_SPENT_CPU], 45000);
	CHECK_INT(gap->spent[GT_SPENT_WAIT], 1000);
	CHECK_INT(gap->spent[GT_SPENT_LAUNCH], 500);
	CHECK_INT(gap->spent[GT_SPENT_QUEUE], 500);
	CHECK_INT(gap->causes[2].spending, GT_SPENT_CPU);
	CHECK_INT(gap->causes[2].thread, 100);
}

/* A thread was off the CPU up to a time. */
static void feed_sleep(uint32_t thread, uint64_t begin, uint64_t end, uint32_t waker,
		       uint64_t runnable)
{
	struct gt_event_off_cpu *event = (void *)gt_event_new(GT_EVENT_off_cpu, "worker", 6);

	event->head.time = end;
	event->head.process = stream.process;
	event->head.thread = thread;
	event->duration = end - begin;
	event->runnable = runnable;
	event->state = 1;
	event->waker_process = stream.process;
	event->waker_thread = waker;
	feed_event(&event->head);
	free(event);
}

static void feed_off_cpu(uint32_t thread, uint64_t begin, uint64_t end, uint32_t waker)
{
	feed_sleep(thread, begin, end, waker, 0);
}

/* The last part of it, it waited for a CPU. */
static void feed_waiting(uint32_t thread, uint64_t begin, uint64_t end, uint64_t runnable)
{
	feed_sleep(thread, begin, end, 0, runnable);
}

TEST("a thread that makes no call, and only leaves the CPU, is no thread with calls")
{
	uint64_t zero;

	start_breakdown();
	zero = stream.now;
	feed_off_cpu(999, zero + 400, zero + 900, 0);
	launch_kernel(0x11, zero + 3000, zero + 20000);
	wait_until(0x11, zero + 21000);
	finish_breakdown();
	CHECK_INT(found->host_threads, 1);
}

static void feed_syscall(uint32_t thread, uint64_t begin, uint64_t end)
{
	struct gt_event_syscall event = {
		.head = {.kind = GT_EVENT_syscall,
			 .size = sizeof(event),
			 .process = stream.process,
			 .thread = thread,
			 .time = end},
		.duration = end - begin,
		.number = 202, /* futex on x86-64 */
	};

	feed_event(&event.head);
}

TEST("a thread that slept in a system call is the cause, with the one that woke it")
{
	const struct gt_cause *cause;
	uint64_t zero;

	start_breakdown();
	zero = stream.now;
	launch_kernel(0x11, zero + 2000, zero + 5000);
	wait_until(0x11, zero + 6000);
	feed_off_cpu(100, zero + 7000, zero + 48000, 4712);
	feed_syscall(100, zero + 6500, zero + 48500);
	stream.now = zero + 50000;
	launch_kernel(0x11, zero + 52000, zero + 53000);
	wait_until(0x11, zero + 54000);
	finish_breakdown();
	expect_spent(GT_SPENT_OFF_CPU, 41000, 41000);
	expect_spent(GT_SPENT_SYSCALL, 1000, 1000);
	CHECK_INT(found->gaps.count, 1);
	cause = NULL;
	for (size_t i = 0; i < found->gaps.items[0].cause_count; i++)
		if (found->gaps.items[0].causes[i].spending == GT_SPENT_OFF_CPU)
			cause = &found->gaps.items[0].causes[i];
	CHECK(cause);
	CHECK_INT(cause->thread, 100);
	CHECK_INT(cause->waker, 4712);
	CHECK_STR(cause->waker_name, "worker");
	CHECK_STR(cause->syscall, "futex");
	CHECK_INT(cause->end - cause->start, 41000);
}

TEST("where the waker uses the API, too, the path continues with what it did")
{
	uint64_t zero;

	start_breakdown();
	zero = stream.now;
	launch_kernel(0x11, zero + 1600, zero + 1900);
	wait_until(0x11, zero + 4000);
	stream.thread = 101;
	stream.now = zero + 10000;
	stream.duration = 20000;
	call_with("cudaGetLastError", NULL, 0, 0); /* from 11000 to 31000 */
	stream.duration = 1000;
	stream.thread = 100;
	feed_off_cpu(100, zero + 5000, zero + 40000, 101);
	stream.now = zero + 40000;
	launch_kernel(0x11, zero + 41600, zero + 45000);
	wait_until(0x11, zero + 46000);
	finish_breakdown();
	expect_spent(GT_SPENT_API, 20000, 20000);
	expect_spent(GT_SPENT_OFF_CPU, 0, 0);
	CHECK_INT(found->gaps.items[0].spent[GT_SPENT_API], 20000);
}

TEST("times of a clock that is not the host's leave the path to the calls")
{
	start_breakdown();
	launch_kernel(0x11, 1000, 4000);
	launch_kernel(0x11, 4000, 9000);
	synchronize_stream(0x11);
	finish_breakdown();
	CHECK(found->host_only);
	CHECK_INT(found->contradicted, 2);
	expect_spent(GT_SPENT_KERNEL, 0, 0);
	CHECK_INT(found->spent[GT_SPENT_LAUNCH], 2000);
	CHECK_INT(found->gpu_busy, 8000);
	CHECK_INT(found->gpu_idle, 0);
}

TEST("operations that one wait proves and nothing distinguishes are mixed work")
{
	uint64_t zero;

	start_breakdown();
	zero = stream.now;
	copy_async(DEVICE, PINNED, 64, H2D, 0x11); /* from 1000 to 2000 */
	launch(KERNEL, 1, 64, 0x11, 0);
	wait_until(0x11, zero + 20000);
	finish_breakdown();
	expect_spent(GT_SPENT_WORK, 17000, 0); /* from the last submission on */
	expect_spent(GT_SPENT_KERNEL, 0, 0);
	CHECK_INT(found->busy.items[0].basis, GT_TIMES_ESTIMATED);
	/* They share their bounds, and ran one after the other. */
	CHECK_INT(found->gpu_overlap, 0);
	CHECK_INT(found->copies.items[0].overlapped_ns, 0);
}

TEST("estimated times overlap with those of other streams, measured ones with all")
{
	uint64_t zero;

	start_breakdown();
	zero = stream.now;
	create_stream(0x11);                           /* up to 2000 */
	create_stream(0x12);                           /* up to 4000 */
	launch(KERNEL, 1, 64, 0x12, 0);                /* from 4000 or 5000, estimated */
	copy_async(DEVICE, PINNED, 64, H2D, 0x11);     /* from 6000 or 7000, estimated */
	launch_kernel(0x11, zero + 9500, zero + 9900); /* up to 10000 */
	wait_until(0x11, zero + 10100);
	wait_until(0x12, zero + 20000);
	finish_breakdown();
	CHECK_INT(found->copies.items[0].overlapped_ns, found->copies.items[0].runs.sum);
	CHECK(found->copies.items[0].runs.sum > 0);
	CHECK_INT(found->gpu_overlap, found->copies.items[0].runs.sum + 400);
}

TEST("a session longer than what is collected is attributed in parts")
{
	uint64_t zero;

	start_breakdown();
	zero = stream.now;
	for (unsigned i = 0; i < 600000; i++) {
		uint64_t now = stream.now;

		launch_kernel(0x11, now + 2000, now + 3000);
		synchronize_stream(0x11); /* from 3000 to 4000 */
	}
	finish_breakdown();
	CHECK_INT(found->wall, stream.now - zero);
	CHECK_INT(found->operations, 600000);
	CHECK_INT(found->gpu_busy, 600000ULL * 1000);
	CHECK_INT(found->gpu_idle, 599999ULL * 3000);
	expect_spent(GT_SPENT_LAUNCH, 600000ULL * 1000, 600000ULL * 1000);
	CHECK_INT(found->gaps.count, 4);
}

TEST("an operation is explained by the path to its end")
{
	const struct gt_idle_gap *explained;
	uint64_t zero;

	start_breakdown();
	gt_breakdown_explain(breakdown, 2);
	zero = stream.now;
	launch_kernel(0x11, zero + 2000, zero + 5000);
	launch_kernel(0x11, zero + 5000, zero + 7000);
	wait_until(0x11, zero + 8000);
	finish_breakdown();
	explained = gt_breakdown_explained(breakdown);
	CHECK(explained);
	CHECK_INT(explained->next, 2);
	CHECK_INT(explained->end, zero + 7000);
	CHECK_INT(explained->causes[0].spending, GT_SPENT_KERNEL);
	CHECK_INT(explained->causes[0].start, zero + 2000);
	CHECK_INT(explained->causes[0].count, 2);
}

/* The headline of the first gap. */
static const struct gt_cause *expect_headline(enum gt_spending spending, uint64_t ns)
{
	const struct gt_cause *headline = &found->gaps.items[0].headline;

	CHECK_INT(headline->spending, spending);
	CHECK_INT(headline->end - headline->start, ns);
	return headline;
}

TEST("the headline of a late launch is the sleep, also if it is in parts shorter than a call")
{
	const struct gt_cause *headline;
	uint64_t zero;

	start_breakdown();
	zero = stream.now;
	launch_kernel(0x11, zero + 1600, zero + 2000);
	wait_until(0x11, zero + 4000);
	for (unsigned i = 0; i < 3; i++)
		feed_off_cpu(100, zero + 5000 + i * 11000, zero + 15000 + i * 11000, 0);
	feed_syscall(100, zero + 4500, zero + 37500);
	stream.now = zero + 37000;
	stream.duration = 12000;
	launch_kernel(0x11, zero + 51000, zero + 52000); /* called from 38000 to 50000 */
	finish_breakdown();
	headline = expect_headline(GT_SPENT_OFF_CPU, 30000);
	CHECK_STR(headline->syscall, "futex");
	CHECK_INT(headline->count, 3);
	CHECK_INT(headline->thread, 100);
}

TEST("waits for a CPU are not part of the sleep that is the headline")
{
	uint64_t zero;

	start_breakdown();
	zero = stream.now;
	launch_kernel(0x11, zero + 1600, zero + 2000);
	wait_until(0x11, zero + 4000);
	feed_waiting(100, zero + 5000, zero + 35000, 12000);
	stream.now = zero + 37000;
	launch_kernel(0x11, zero + 39000, zero + 42000);
	finish_breakdown();
	expect_headline(GT_SPENT_OFF_CPU, 18000);
}

TEST("the headline of a lock is the sleep of the thread, not what its waker did meanwhile")
{
	const struct gt_cause *headline;
	uint64_t zero;

	start_breakdown();
	zero = stream.now;
	launch_kernel(0x11, zero + 1600, zero + 1900);
	wait_until(0x11, zero + 4000);
	stream.thread = 101;
	stream.now = zero + 4500;
	stream.duration = 500;
	call_with("cudaGetLastError", NULL, 0, 0);
	stream.thread = 100;
	feed_off_cpu(101, zero + 6500, zero + 39500, 0);
	feed_off_cpu(100, zero + 5500, zero + 40000, 101);
	feed_syscall(100, zero + 5000, zero + 40500);
	stream.now = zero + 40500;
	launch_kernel(0x11, zero + 43000, zero + 45000);
	finish_breakdown();
	headline = expect_headline(GT_SPENT_OFF_CPU, 34500);
	CHECK_INT(headline->thread, 100);
	CHECK_INT(headline->waker, 101);
	CHECK(headline->woken);
}

TEST("the headline of a blocking copy is its time after the end of the copy")
{
	const struct gt_cause *headline;
	uint64_t zero;

	start_breakdown();
	zero = stream.now;
	stream.duration = 60000;
	copy(PINNED, DEVICE, 64, D2H); /* from 1000 to 61000 */
	feed_work(GT_GPU_COPY_TO_HOST, zero + 2000, zero + 3000, zero + 9000);
	stream.duration = 1000;
	launch_kernel(0x11, zero + 64000, zero + 65000);
	finish_breakdown();
	headline = expect_headline(GT_SPENT_WAIT, 52000);
	CHECK_STR(headline->name, "cudaMemcpy");
	CHECK_INT(headline->number, 1);
}

TEST("the headline of a dependency is the operation of the other stream")
{
	const struct gt_idle_gap *explained;
	uint64_t zero;

	start_breakdown();
	gt_breakdown_explain(breakdown, 2);
	zero = stream.now;
	launch_kernel(0x11, zero + 1600, zero + 30000);
	record_event(0xe1, 0x11);
	wait_event(0x12, 0xe1);
	launch_kernel(0x12, zero + 30200, zero + 31000);
	wait_until(0x12, zero + 32000);
	finish_breakdown();
	explained = gt_breakdown_explained(breakdown);
	CHECK_INT(explained->headline.spending, GT_SPENT_KERNEL);
	CHECK_INT(explained->headline.number, 1);
	CHECK_INT(explained->headline.end - explained->headline.start, 28400);
	CHECK_INT(explained->causes[0].release, GT_RELEASE_DEPENDENCY);
}

/*
 * Four kernels of 100 µs in a stream, then a launch in it from 9 to 104 µs; the first kernel ends
 * at `first_end`. A kernel in another stream follows and is explained.
 */
static const struct gt_cause *fill_queue(uint64_t first_end)
{
	uint64_t zero;

	start_breakdown();
	gt_breakdown_explain(breakdown, 6);
	zero = stream.now;
	launch_kernel(0x11, zero + 2000, zero + first_end);
	for (unsigned i = 1; i < 4; i++)
		launch_kernel(0x11, zero + first_end + (i - 1) * 100000,
			      zero + first_end + i * 100000);
	stream.duration = 95000;
	launch_kernel(0x11, zero + 402000, zero + 502000);
	stream.duration = 1000;
	launch_kernel(0x12, zero + 106000, zero + 107000);
	finish_breakdown();
	return &gt_breakdown_explained(breakdown)->headline;
}

TEST("the headline of a full queue is the launch, with the evidence that it waited for space")
{
	const struct gt_cause *headline = fill_queue(102000);

	CHECK_INT(headline->spending, GT_SPENT_LAUNCH);
	CHECK(headline->queued.is_full);
	CHECK_INT(headline->queued.depth, 4);
	CHECK_INT(headline->queued.returned, 2000);
	CHECK_INT(headline->queued.usual, 1000);
}

TEST("a long launch that returned long after the end of an operation did not wait for space")
{
	const struct gt_cause *headline;
	uint64_t zero;

	start_breakdown();
	gt_breakdown_explain(breakdown, 3);
	zero = stream.now;
	launch_kernel(0x11, zero + 2000, zero + 12000);
	stream.duration = 900000;
	launch_kernel(0x11, zero + 903000, zero + 904000);
	stream.duration = 1000;
	launch_kernel(0x12, zero + 905000, zero + 906000);
	finish_breakdown();
	headline = &gt_breakdown_explained(breakdown)->headline;
	CHECK_INT(headline->spending, GT_SPENT_LAUNCH);
	CHECK_INT(headline->queued.depth, 1);
	CHECK(!headline->queued.is_full);
}

TEST("launches that always take long do not show that the queue is full")
{
	uint64_t zero, now;

	start_breakdown();
	gt_breakdown_explain(breakdown, 6);
	zero = stream.now;
	stream.duration = 95000;
	for (unsigned i = 0; i < 5; i++) {
		now = stream.now;
		launch_kernel(0x11, now + 96000, now + 96000 + 95000);
	}
	launch_kernel(0x12, stream.now + 96000, stream.now + 97000);
	stream.duration = 1000;
	finish_breakdown();
	CHECK(stream.now > zero);
	CHECK(gt_breakdown_explained(breakdown)->headline.queued.usual >= 95000);
	CHECK(!gt_breakdown_explained(breakdown)->headline.queued.is_full);
}

/* Feed an event of the process at a time. */
static void feed_at(struct gt_event *event, uint64_t time, uint32_t thread)
{
	event->process = stream.process;
	event->thread = thread;
	event->time = time;
	feed_event(event);
}

static void feed_job(uint64_t context, uint64_t time, uint32_t process, unsigned operation)
{
	struct gt_event_drm_job job = {.head.kind = GT_EVENT_drm_job, .head.size = sizeof(job)};

	job.context = context;
	job.seqno = 1;
	job.operation = (__u16)operation;
	job.head.process = process;
	job.head.thread = process;
	job.head.time = time;
	feed_event(&job.head);
}

static void feed_dependency(uint64_t time, unsigned operation, uint64_t blocked)
{
	struct gt_event_drm_dependency event = {.head.kind = GT_EVENT_drm_dependency,
						.head.size = sizeof(event)};

	event.context = 7;
	event.seqno = 1;
	event.on_context = 9;
	event.on_seqno = 1;
	event.operation = operation;
	event.blocked = blocked;
	feed_at(&event.head, time, 0);
}

static void feed_ioctl(uint64_t begin, uint64_t end)
{
	struct gt_event_syscall event = {.head.kind = GT_EVENT_syscall, .head.size = sizeof(event)};

	event.duration = end - begin;
	event.number = 16; /* ioctl on x86-64 */
	event.argument1 = 0xc0104640;
	feed_at(&event.head, end, 100);
}

TEST("a call that waited in an ioctl has the job, the other process's job and the fence")
{
	const struct gt_call_evidence *inside;
	uint64_t zero;

	start_breakdown();
	gt_breakdown_explain(breakdown, 1);
	zero = stream.now;
	feed_job(9, zero + 500, 4711, GT_DRM_QUEUE);
	feed_job(7, zero + 3000, 100, GT_DRM_QUEUE);
	feed_dependency(zero + 3100, GT_DRM_DEPENDS, 0);
	feed_job(9, zero + 40000, 4711, GT_DRM_DONE);
	feed_dependency(zero + 40100, GT_DRM_UNBLOCKED, 37000);
	feed_job(7, zero + 40200, 100, GT_DRM_RUN);
	feed_job(7, zero + 50000, 100, GT_DRM_DONE);
	feed_ioctl(zero + 2000, zero + 51000);
	stream.duration = 52000;
	launch_kernel(0x11, zero + 53000, zero + 54000); /* from 1000 to 53000 */
	stream.duration = 1000;
	finish_breakdown();
	inside = &gt_breakdown_explained(breakdown)->headline.inside;
	CHECK(inside->syscall && !strncmp(inside->syscall, "ioctl ", 6));
	CHECK_INT(inside->syscall_ns, 49000);
	CHECK_INT(inside->jobs, 1);
	CHECK_INT(inside->job.context, 7);
	CHECK_INT(inside->job.run, zero + 40200);
	CHECK_INT(inside->job.dependency.blocked, 37000);
	CHECK_INT(inside->job.dependency.context, 9);
	CHECK_INT(inside->job.dependency.process, 4711);
}

TEST("a late call has its page faults, block I/O and times off the CPU")
{
	struct gt_event_page_fault fault = {.head.kind = GT_EVENT_page_fault,
					    .head.size = sizeof(fault)};
	const char disk[GT_DEVICE_NAME_SIZE] = "nvme0n1";
	gt_autofree struct gt_event *request = gt_event_new(GT_EVENT_block_io, disk, sizeof(disk));
	struct gt_event_block_io *io = (void *)request;
	const struct gt_call_evidence *inside;
	uint64_t zero;

	start_breakdown();
	gt_breakdown_explain(breakdown, 1);
	zero = stream.now;
	call_with("cudaGetLastError", NULL, 0, 0); /* from 1000 to 2000 */
	io->duration = 20000;
	io->queued = 1000;
	io->bytes = 4096;
	feed_at(request, zero + 25000, 100);
	feed_waiting(100, zero + 5000, zero + 26000, 1000);
	fault.duration = 23000;
	feed_at(&fault.head, zero + 27000, 100);
	stream.duration = 50000;
	launch_kernel(0x11, zero + 54000, zero + 55000); /* from 3000 to 53000 */
	stream.duration = 1000;
	finish_breakdown();
	inside = &gt_breakdown_explained(breakdown)->headline.inside;
	CHECK_INT(inside->faults, 1);
	CHECK_INT(inside->fault_ns, 23000);
	CHECK_INT(inside->io, 1);
	CHECK_INT(inside->io_ns, 21000);
	CHECK_INT(inside->io_bytes, 4096);
	CHECK_INT(inside->off_cpu_ns, 21000);
	CHECK_INT(inside->runnable_ns, 1000);
	CHECK_INT(inside->xid, 0);
}

TEST("what was seen in a call that began before the gap is the part in the gap")
{
	const struct gt_idle_gap *gap;
	const struct gt_call_evidence *inside;
	uint64_t zero;

	start_breakdown();
	launch_kernel(0x11, stream.now + 1000, stream.now + 80000);
	zero = stream.now; /* the kernel ends 78000 later */
	feed_waiting(100, zero + 10000, zero + 110000, 1000);
	feed_ioctl(zero + 5000, zero + 115000);
	feed_job(7, zero + 6000, 100, GT_DRM_QUEUE);
	feed_job(7, zero + 20000, 100, GT_DRM_DONE);
	stream.duration = 120000;
	launch_kernel(0x12, zero + 121000, zero + 122000); /* from 1000 to 121000 */
	stream.duration = 1000;
	finish_breakdown();
	CHECK_INT(found->gaps.count, 1);
	gap = &found->gaps.items[0];
	inside = &gap->headline.inside;
	CHECK_INT(gap->end - gap->start, 43000);
	CHECK_INT(inside->off_cpu_ns, 32000);
	CHECK_INT(inside->runnable_ns, 1000);
	CHECK_STR(inside->syscall, "ioctl");
	CHECK_INT(inside->syscall_ns, 37000);
	CHECK_INT(inside->syscall_whole_ns, 110000);
	CHECK_INT(inside->jobs, 0);
}

TEST("a call that failed has the Xid before it")
{
	gt_autofree struct gt_event *event = gt_event_new(GT_EVENT_nvidia_xid, "0000:01:00.0", 12);
	const struct gt_idle_gap *explained;
	uint64_t zero;

	start_breakdown();
	gt_breakdown_explain(breakdown, 1);
	zero = stream.now;
	((struct gt_event_nvidia_xid *)event)->code = 31;
	feed_at(event, zero + 1200, 0);
	stream.now = zero + 1000;
	stream.duration = 30000;
	call_with("cudaDeviceSynchronize", NULL, 0, 700); /* up to 32000 */
	stream.duration = 1000;
	launch_kernel(0x11, zero + 35000, zero + 36000);
	finish_breakdown();
	explained = gt_breakdown_explained(breakdown);
	CHECK_INT(explained->headline.spending, GT_SPENT_WAIT);
	CHECK_INT(explained->headline.inside.xid, 31);
	CHECK_INT(explained->headline.inside.xid_before, 30800);
}

TEST("all that a breakdown keeps is released")
{
	gt_breakdown_free(breakdown);
	breakdown = NULL;
	gt_timeline_free(timeline);
	gt_names_free(stream.names);
	stream.names = NULL;
}

TEST_MAIN
