/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The timeline: intervals of host and GPU, their times and joins. */
#include "timeline.h"

TEST("an operation has the times of its gpu_work event, and the calls around it")
{
	uint64_t launched, waited;

	start_timeline();
	launch(KERNEL, 1, 64, 0x11, 0);
	launched = stream.now;
	stream.duration = 9000;
	synchronize_stream(0x11);
	waited = stream.now;
	CHECK_INT(gpu_count, 0);
	feed_work(GT_GPU_KERNEL, launched - 500, launched + 100, launched + 5000);
	CHECK_INT(gpu_count, 1);
	CHECK_INT(gpu[0].operation, GT_GPU_KERNEL);
	CHECK_INT(gpu[0].basis, GT_TIMES_MEASURED);
	CHECK_STR(gpu[0].kernel, "steps");
	CHECK_INT(gpu[0].stream, 0x11);
	CHECK_INT(gpu[0].context, 0xc0);
	CHECK_INT(gpu[0].submitted, launched - 500);
	CHECK_INT(gpu[0].start, launched + 100);
	CHECK_INT(gpu[0].end, launched + 5000);
	CHECK_INT(host_count, 2);
	CHECK_INT(host[0].activity, GT_HOST_LAUNCH);
	CHECK_STR(host[0].name, "cudaLaunchKernel");
	CHECK_INT(host[1].activity, GT_HOST_WAIT);
	CHECK_INT(gpu[0].call.number, host[0].number);
	CHECK_INT(gpu[0].call.end, launched);
	CHECK_INT(host[0].operations, 1);
	CHECK_INT(host[0].first_operation, gpu[0].number);
	CHECK_INT(host[1].operations, 0);
	CHECK_INT(gpu[0].wait.number, host[1].number);
	CHECK_INT(gpu[0].wait.start, waited - 9000);
	CHECK_INT(gpu[0].wait.end, waited);
	CHECK_INT(gt_timeline_totals(timeline)->contradicted, 0);
}

TEST("without a gpu_work event the times are bounds: from the submission to the end of the wait")
{
	uint64_t launched, waited;

	start_timeline();
	launch(KERNEL, 1, 64, 0x11, 0);
	launched = stream.now;
	synchronize_stream(0x11);
	waited = stream.now;
	CHECK_INT(gpu_count, 0);
	finish_timeline();
	CHECK_INT(gpu_count, 1);
	CHECK_INT(gpu[0].basis, GT_TIMES_ESTIMATED);
	CHECK_INT(gpu[0].start, launched - 1000);
	CHECK_INT(gpu[0].end, waited);
	CHECK_INT(gpu[0].shares, 1);
}

TEST("an estimated operation is passed on when its gpu_work event has not come for a second")
{
	start_timeline();
	launch(KERNEL, 1, 64, 0x11, 0);
	synchronize_stream(0x11);
	stream.now += GT_TIMELINE_HORIZON;
	call_with("cudaGetLastError", NULL, 0, 0);
	CHECK_INT(gpu_count, 1);
	CHECK_INT(gpu[0].basis, GT_TIMES_ESTIMATED);
}

TEST("operations that one wait proves share their time, if nothing distinguishes them")
{
	start_timeline();
	copy_async(DEVICE, PINNED, 64, H2D, 0x11);
	launch(KERNEL, 1, 64, 0x11, 0);
	synchronize_stream(0x11);
	launch(KERNEL, 1, 64, 0x11, 0);
	synchronize_stream(0x11);
	finish_timeline();
	CHECK_INT(gpu_count, 3);
	CHECK_INT(gpu[0].operation, GT_GPU_COPY_TO_DEVICE);
	CHECK_INT(gpu[0].memory, GT_MEMORY_PINNED);
	CHECK_INT(gpu[0].bytes, 64);
	CHECK_INT(gpu[0].shares, 2);
	CHECK_INT(gpu[1].shares, 2);
	CHECK_INT(gpu[1].previous, gpu[0].number);
	CHECK_INT(gpu[2].shares, 1);
	CHECK(gpu[2].start >= gpu[1].wait.end);
}

TEST("an estimated operation ends before the next one of its stream, where that was measured")
{
	uint64_t first;

	start_timeline();
	launch(KERNEL, 1, 64, 0x11, 0);
	first = stream.now;
	launch(KERNEL, 1, 64, 0x11, 0);
	feed_work(GT_GPU_KERNEL, stream.now - 500, first + 4000, first + 6000);
	stream.duration = 20000;
	synchronize_stream(0x11);
	CHECK_INT(gpu_count, 2);
	CHECK_INT(gpu[0].basis, GT_TIMES_ESTIMATED);
	CHECK_INT(gpu[0].end, first + 4000);
	CHECK_INT(gpu[1].basis, GT_TIMES_MEASURED);
	CHECK_INT(gpu[1].release, GT_RELEASE_SUBMISSION);
}

TEST("what released an operation is the last of its submission, its stream and its dependencies")
{
	uint64_t base;

	start_timeline();
	create_stream(0x11);
	create_stream(0x12);
	base = stream.now;
	launch(KERNEL, 1, 64, 0x11, 0); /* submitted at base + 2000 at the latest */
	feed_work(GT_GPU_KERNEL, base + 1500, base + 1700, base + 50000);
	record_event(0xe1, 0x11);
	wait_event(0x12, 0xe1);
	launch(KERNEL, 1, 64, 0x12, 0);
	feed_work(GT_GPU_KERNEL, stream.now - 500, base + 50010, base + 60000);
	launch(KERNEL, 1, 64, 0x12, 0);
	feed_work(GT_GPU_KERNEL, stream.now - 500, base + 60000, base + 61000);
	stream.duration = 100000;
	call_with("cudaDeviceSynchronize", NULL, 0, 0);
	CHECK_INT(gpu_count, 3);
	CHECK_INT(gpu[0].release, GT_RELEASE_SUBMISSION);
	CHECK_INT(gpu[0].released, base + 1500);
	CHECK_INT(gpu[1].dependency_count, 1);
	CHECK_INT(gpu[1].dependencies[0], gpu[0].number);
	CHECK_INT(gpu[1].release, GT_RELEASE_DEPENDENCY);
	CHECK_INT(gpu[1].releaser, gpu[0].number);
	CHECK_INT(gpu[1].released, base + 50000);
	CHECK_INT(gpu[2].dependency_count, 0);
	CHECK_INT(gpu[2].release, GT_RELEASE_STREAM);
	CHECK_INT(gpu[2].releaser, gpu[1].number);
}

TEST("work in the default stream depends on the blocking streams")
{
	start_timeline();
	create_stream(0x11);
	launch(KERNEL, 1, 64, 0x11, 0);
	launch(KERNEL, 1, 64, 0, 0);
	call_with("cudaDeviceSynchronize", NULL, 0, 0);
	finish_timeline();
	CHECK_INT(gpu_count, 2);
	CHECK_INT(gpu[1].stream, GT_STREAM_LEGACY);
	CHECK_INT(gpu[1].dependency_count, 1);
	CHECK_INT(gpu[1].dependencies[0], gpu[0].number);
	CHECK(gpu[0].queue != gpu[1].queue);
}

TEST("a copy that waits for itself is a blocked call, and joined to itself")
{
	start_timeline();
	copy(DEVICE, HOST, 4096, H2D);
	finish_timeline();
	CHECK_INT(host[0].activity, GT_HOST_BLOCKED);
	CHECK_INT(gpu_count, 1);
	CHECK_INT(gpu[0].memory, GT_MEMORY_PAGEABLE);
	CHECK_INT(gpu[0].call.number, host[0].number);
	CHECK_INT(gpu[0].wait.number, host[0].number);
	CHECK_INT(gpu[0].start, host[0].start);
	CHECK_INT(gpu[0].end, host[0].end);
}

TEST("a gpu_work event that comes before its call has returned waits for it")
{
	uint64_t submitted;

	start_timeline();
	submitted = stream.now + 1500;
	feed_work(GT_GPU_COPY_TO_DEVICE, submitted, submitted + 10, submitted + 100);
	CHECK_INT(gpu_count, 0);
	copy(DEVICE, HOST, 4096, H2D);
	CHECK_INT(gpu_count, 1);
	CHECK_INT(gpu[0].basis, GT_TIMES_MEASURED);
	CHECK_INT(gpu[0].start, submitted + 10);
}

TEST("a call of the driver is joined to the work that was submitted around it")
{
	uint64_t launched;

	start_timeline();
	launch(KERNEL, 1, 64, 0x11, 0);
	launched = stream.now;
	/* The call took 1000 ns, within the times of the agent, which calls the driver. */
	feed_returned_work(GT_GPU_KERNEL, launched - 1200, launched + 200, launched + 300,
			   launched + 5000);
	synchronize_stream(0x11);
	CHECK_INT(gpu_count, 1);
	CHECK_INT(gpu[0].basis, GT_TIMES_MEASURED);
	CHECK_INT(gpu[0].call.end, launched);
	CHECK_INT(gt_timeline_totals(timeline)->unmatched, 0);
}

TEST("a gpu_work event without a call is an operation of its own")
{
	start_timeline();
	feed_work(GT_GPU_KERNEL, stream.now - 500, stream.now, stream.now + 100);
	CHECK_INT(gpu_count, 1);
	CHECK_STR(gpu[0].kernel, "steps");
	CHECK_INT(gpu[0].call.number, 0);
	CHECK_INT(gpu[0].queue, GT_STREAM_UNNUMBERED);
	CHECK_INT(gt_timeline_totals(timeline)->unmatched, 1);
}

TEST("what a copy waited for itself ends with its call, where the clocks' error says otherwise")
{
	uint64_t submitted;

	start_timeline();
	work_error = 2000;
	for (unsigned late = 1999; late <= 2001; late++) {
		submitted = stream.now + 1500;
		copy(DEVICE, HOST, 4096, H2D);
		feed_work(GT_GPU_COPY_TO_DEVICE, submitted, submitted + 10, stream.now + late);
		/* One that is later than the error of the clocks is a contradiction, and stays. */
		CHECK_INT(gpu[gpu_count - 1].end, stream.now + (late > 2000 ? late : 0));
	}
	work_error = 0;
	CHECK_INT(gpu_count, 3);
	CHECK_INT(gt_timeline_totals(timeline)->contradicted, 1);
}

TEST("times that contradict the calls are counted")
{
	start_timeline();
	launch(KERNEL, 1, 64, 0x11, 0);
	feed_work(GT_GPU_KERNEL, stream.now - 500, stream.now, stream.now + 1000000);
	synchronize_stream(0x11);
	CHECK_INT(gpu_count, 1);
	CHECK_INT(gt_timeline_totals(timeline)->contradicted, 1);
}

TEST("an operation that nothing waits for ends with its process")
{
	start_timeline();
	launch(KERNEL, 1, 64, 0x11, 0);
	ends(100);
	finish_timeline();
	CHECK_INT(gpu_count, 1);
	CHECK_INT(gpu[0].end, stream.now);
	CHECK_INT(gpu[0].wait.number, 0);
}

TEST("a launch inside another call is joined to the outermost call")
{
	start_timeline();
	stream.depth = 1;
	{
		struct built built = begin("cuLaunchKernel");

		pass(&built, "f", KERNEL);
		pass(&built, "hStream", 0x11);
		returns(&built, 0);
	}
	CHECK_INT(host_count, 0);
	enclose();
	call_with("cublasSgemm_v2", NULL, 0, 0);
	reset_times();
	synchronize_stream(0x11);
	finish_timeline();
	CHECK_INT(host_count, 2);
	CHECK_INT(host[0].activity, GT_HOST_API);
	CHECK_STR(host[0].name, "cublasSgemm_v2");
	CHECK_INT(gpu_count, 1);
	CHECK_INT(gpu[0].call.number, host[0].number);
	CHECK_INT(gpu[0].call.start, host[0].start);
}

TEST("a launch into a graph that is being captured is no operation")
{
	start_timeline();
	call_with("cudaStreamBeginCapture", "stream", 0x11, 0);
	launch(KERNEL, 1, 64, 0x11, 0);
	finish_timeline();
	CHECK_INT(gpu_count, 0);
	CHECK_INT(host[1].activity, GT_HOST_API);
}

TEST("memory is bounded: the oldest operation is passed on, and counted")
{
	start_timeline();
	for (unsigned i = 0; i <= GT_TIMELINE_MAX_PENDING; i++)
		launch(KERNEL, 1, 64, 0x11, 0);
	CHECK_INT(gpu_count, 1);
	CHECK_INT(gt_timeline_totals(timeline)->evicted, 1);
	finish_timeline();
	CHECK_INT(gpu_count, GT_TIMELINE_MAX_PENDING + 1);
}

TEST("time off the CPU is an interval of its thread")
{
	struct gt_event *event;

	start_timeline();
	event = gt_event_new(GT_EVENT_off_cpu, "worker", 6);
	event->time = 5000;
	event->process = event->thread = 100;
	((struct gt_event_off_cpu *)event)->duration = 3000;
	feed_event(event);
	free(event);
	CHECK_INT(host_count, 1);
	CHECK_INT(host[0].activity, GT_HOST_OFF_CPU);
	CHECK_INT(host[0].start, 2000);
	CHECK_INT(host[0].end, 5000);
	CHECK_INT(host[0].number, 0);
}

TEST("all that a timeline keeps is released")
{
	gt_timeline_free(timeline);
	timeline = NULL;
	gt_names_free(stream.names);
	stream.names = NULL;
}

TEST_MAIN

/* OpenCL: a queue with flags, and commands in it that wait for events and complete one. */
static void create_queue(uint64_t handle, uint64_t flags)
{
	struct built built = begin("clCreateCommandQueueWithProperties");

	point(&built, "properties", (uint64_t[]){0x1093, flags}, 16);
	returns(&built, handle);
}

static void enqueue(const char *function, uint64_t queue, uint32_t count, const uint64_t *waits,
		    uint64_t event)
{
	struct built built = begin(function);

	pass(&built, "command_queue", queue);
	pass(&built, "num_events_in_wait_list", count);
	if (count)
		point(&built, "event_wait_list", waits, count * sizeof(*waits));
	if (event)
		point(&built, "event", &event, sizeof(event));
	returns(&built, 0);
}

static void enqueue_kernel(uint64_t queue, uint64_t wait, uint64_t event)
{
	enqueue("clEnqueueNDRangeKernel", queue, wait ? 1 : 0, &wait, event);
}

static void wait_for_events(uint32_t count, const uint64_t *events)
{
	struct built built = begin("clWaitForEvents");

	pass(&built, "num_events", count);
	point(&built, "event_list", events, count * sizeof(*events));
	returns(&built, 0);
}

TEST("a command of OpenCL depends on the commands whose events are in its list")
{
	start_timeline();
	create_queue(0x51, 0);
	create_queue(0x52, 0);
	create_queue(0x53, 0);
	enqueue_kernel(0x51, 0, 0xe1);
	enqueue_kernel(0x52, 0, 0xe2);
	enqueue("clEnqueueNDRangeKernel", 0x53, 2, (uint64_t[]){0xe1, 0xe2}, 0xe3);
	enqueue_kernel(0x51, 0, 0);
	wait_for_events(1, (uint64_t[]){0xe3});
	finish_timeline();
	CHECK_INT(gpu_count, 4);
	CHECK_INT(gpu[0].dependency_count, 0);
	CHECK_INT(gpu[1].dependency_count, 0);
	CHECK_INT(gpu[2].dependency_count, 2);
	CHECK_INT(gpu[2].dependencies[0], gpu[0].number);
	CHECK_INT(gpu[2].dependencies[1], gpu[1].number);
	/* The wait for its event proves that these three ended, and nothing of the fourth. */
	CHECK_INT(gpu[0].wait.number, gpu[2].wait.number);
	CHECK(gpu[2].wait.number != 0);
	CHECK_INT(gpu[3].wait.number, 0);
}

TEST("other commands with a list of events, markers and barriers carry dependencies on")
{
	static const char *const functions[] = {
		"clEnqueueMarkerWithWaitList", "clEnqueueBarrierWithWaitList",
		"clEnqueueMigrateMemObjects", "clEnqueueNativeKernel"};

	for (size_t i = 0; i < gt_countof(functions); i++) {
		start_timeline();
		create_queue(0x51, 0);
		create_queue(0x52, 0);
		create_queue(0x53, 0);
		enqueue_kernel(0x51, 0, 0xe1);
		enqueue(functions[i], 0x52, 1, (uint64_t[]){0xe1}, 0xe2);
		enqueue_kernel(0x53, 0xe2, 0);
		finish_timeline();
		CHECK(gpu_count >= 2);
		CHECK_INT(gpu[gpu_count - 1].stream, 0x53);
		CHECK(gpu[gpu_count - 1].dependency_count >= 1);
		CHECK_INT(gpu[gpu_count - 1].dependencies[0], gpu[0].number);
	}
}

TEST("an event whose handle belongs to one of the host now is no dependency")
{
	start_timeline();
	create_queue(0x51, 0);
	create_queue(0x52, 0);
	enqueue_kernel(0x51, 0, 0xe1);
	call_with("clCreateUserEvent", NULL, 0, 0xe1);
	enqueue_kernel(0x52, 0xe1, 0);
	finish_timeline();
	CHECK_INT(gpu_count, 2);
	CHECK_INT(gpu[1].dependency_count, 0);
}

TEST("the event of a command in an out-of-order queue says nothing of those before it")
{
	start_timeline();
	create_queue(0x51, 1);
	enqueue_kernel(0x51, 0, 0xe1);
	enqueue_kernel(0x51, 0, 0xe2);
	wait_for_events(1, (uint64_t[]){0xe2});
	enqueue("clEnqueueMarkerWithWaitList", 0x51, 0, NULL, 0xe3);
	wait_for_events(1, (uint64_t[]){0xe3});
	finish_timeline();
	CHECK_INT(gpu_count, 2);
	CHECK_INT(gpu[0].wait.number, gpu[1].wait.number);
	CHECK_INT(gpu[0].wait.end, stream.now);
	CHECK_INT(gpu[0].previous, 0);
	CHECK_INT(gpu[1].previous, 0);
	CHECK_INT(gpu[1].release, GT_RELEASE_SUBMISSION);
}

TEST("a queue of OpenCL has nothing to do with CUDA's default stream")
{
	start_timeline();
	create_queue(0x51, 0);
	enqueue_kernel(0x51, 0, 0xe1);
	launch(KERNEL, 1, 64, 0, 0);
	finish_timeline();
	CHECK_INT(gpu_count, 2);
	CHECK_INT(gpu[1].dependency_count, 0);
}

TEST("a copy of OpenCL that waits proves what was in its queue before")
{
	static const uint32_t blocking[] = {0, 1};

	for (unsigned i = 0; i < 2; i++) {
		struct built built;

		start_timeline();
		create_queue(0x51, 0);
		enqueue_kernel(0x51, 0, 0);
		built = begin("clEnqueueReadBuffer");
		pass(&built, "command_queue", 0x51);
		pass(&built, "blocking_read", blocking[i]);
		pass(&built, "num_events_in_wait_list", 0);
		returns(&built, 0);
		finish_timeline();
		CHECK_INT(gpu_count, 2);
		CHECK_INT(gpu[0].wait.number != 0, blocking[i]);
		CHECK_INT(gpu[1].wait.number != 0, blocking[i]);
	}
}
