/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/kernels.h"

#include "analysis.h"

static struct gt_kernels *kernels;
static const struct gt_kernel_row *const *rows;
static size_t count;

static int take(void *analysis, const struct gt_names *names, const struct gt_event *event)
{
	return gt_kernels_take(analysis, names, event);
}

static void start(enum gt_by by)
{
	gt_kernels_free(kernels);
	kernels = gt_kernels_new(by);
	STREAM_INTO(kernels, take);
}

static void look(void)
{
	CHECK_INT(gt_kernels_rows(kernels, stream.names, &rows, &count), 0);
}

TEST("launches are gathered by kernel, the longest calls first")
{
	start(GT_BY_NOTHING);
	launch(0xaaa, 4, 256, 0, 0);
	stream.duration = 3000;
	launch(0xbbb, 4, 256, 0, 0);
	stream.duration = 1000;
	launch(0xaaa, 4, 256, 0, 0);
	launch(0xaaa, 4, 256, 0, 9);
	look();
	CHECK_INT(count, 2);
	CHECK_INT(rows[0]->handle, 0xbbb);
	CHECK_INT(rows[0]->duration.sum, 3000);
	CHECK_INT(rows[1]->handle, 0xaaa);
	CHECK_INT(rows[1]->launches, 2);
	CHECK_INT(rows[1]->failed, 1);
	CHECK_INT(rows[1]->duration.count, 2);
	CHECK(!rows[0]->name);
}

TEST("quantiles are of the calls that succeeded")
{
	start(GT_BY_NOTHING);
	for (uint64_t i = 1; i <= 100; i++) {
		stream.duration = i * 1000;
		launch(0xaaa, 1, 32, 0, 0);
	}
	stream.duration = 1000000000;
	launch(0xaaa, 1, 32, 0, 700);
	look();
	CHECK_INT(gt_histogram_mean(&rows[0]->duration), 50500);
	CHECK(gt_histogram_quantile(&rows[0]->duration, 0.5) > 49000);
	CHECK(gt_histogram_quantile(&rows[0]->duration, 0.5) < 51000);
	CHECK(gt_histogram_quantile(&rows[0]->duration, 0.99) > 97000);
	CHECK(gt_histogram_quantile(&rows[0]->duration, 0.99) <= 100000);
	CHECK_INT(rows[0]->duration.max, 100000);
}

TEST("the time since the launch before is that of the thread, from start to start")
{
	start(GT_BY_NOTHING);
	launch(0xaaa, 1, 32, 0, 0);
	stream.thread = 101;
	launch(0xaaa, 1, 32, 0, 0);
	stream.thread = 100;
	launch(0xbbb, 1, 32, 0, 0);
	look();
	for (size_t i = 0; i < count; i++)
		CHECK_INT(rows[i]->since.count, rows[i]->handle == 0xbbb);
	CHECK_INT(rows[0]->handle == 0xbbb ? rows[0]->since.sum : rows[1]->since.sum, 4000);
}

TEST("the most frequent grid and block come first")
{
	start(GT_BY_NOTHING);
	launch(0xaaa, 1, 32, 0, 0);
	launch(0xaaa, 2, 64, 0, 0);
	launch(0xaaa, 2, 64, 0, 0);
	look();
	CHECK_INT(rows[0]->configuration_count, 2);
	CHECK_INT(rows[0]->configurations[0].launches, 2);
	CHECK_INT(rows[0]->configurations[0].launch.grid[0], 2);
	CHECK_INT(rows[0]->configurations[0].launch.block[0], 64);
	CHECK_INT(rows[0]->configurations[0].launch.block[1], 1);
	for (uint32_t i = 0; i < 100; i++)
		launch(0xaaa, i + 10, 32, 0, 0);
	look();
	CHECK_INT(rows[0]->configuration_count + rows[0]->others, 102);
}

TEST("every launching call has a known grid, block and shared memory")
{
	struct launch_config config = {{3, 2, 1}, {64, 2, 1}, 512, 0x11, 0, 0, 0};
	struct built driver = begin("cuLaunchKernel"), extended = begin("cudaLaunchKernelExC");
	struct built driver_extended = begin("cuLaunchKernelEx");
	struct built new_runtime = begin("__cudaLaunchKernel");

	start(GT_BY_STREAM);
	pass(&driver, "f", 0xa);
	pass(&driver, "gridDimX", 3);
	pass(&driver, "gridDimY", 2);
	pass(&driver, "gridDimZ", 1);
	pass(&driver, "blockDimX", 64);
	pass(&driver, "blockDimY", 2);
	pass(&driver, "blockDimZ", 1);
	pass(&driver, "sharedMemBytes", 512);
	pass(&driver, "hStream", 0x11);
	returns(&driver, 0);
	point(&extended, "config", &config, sizeof(config));
	pass(&extended, "func", 0xa);
	returns(&extended, 0);
	point(&driver_extended, "config", &config, sizeof(config));
	pass(&driver_extended, "f", 0xa);
	returns(&driver_extended, 0);
	pass(&new_runtime, "kernel", 0xa);
	pass_bytes(&new_runtime, "gridDim", (uint32_t[]){3, 2, 1}, 12);
	pass_bytes(&new_runtime, "blockDim", (uint32_t[]){64, 2, 1}, 12);
	pass(&new_runtime, "sharedMem", 512);
	pass(&new_runtime, "stream", 0x11);
	returns(&new_runtime, 0);
	look();
	CHECK_INT(count, 1);
	CHECK_INT(rows[0]->launches, 4);
	CHECK_INT(rows[0]->group.number, 0x11);
	CHECK_INT(rows[0]->configuration_count, 1);
	CHECK_INT(rows[0]->configurations[0].launch.grid[1], 2);
	CHECK_INT(rows[0]->configurations[0].launch.block[0], 64);
	CHECK_INT(rows[0]->configurations[0].launch.shared, 512);
}

TEST("a launch inside of another one is the same launch")
{
	struct built outer = begin("__cudaLaunchKernel");

	start(GT_BY_NOTHING);
	stream.depth = 1;
	launch(0xaaa, 1, 32, 0, 0);
	enclose();
	pass(&outer, "kernel", 0xaaa);
	pass_bytes(&outer, "gridDim", (uint32_t[]){1, 1, 1}, 12);
	pass_bytes(&outer, "blockDim", (uint32_t[]){32, 1, 1}, 12);
	pass(&outer, "sharedMem", 0);
	pass(&outer, "stream", 0);
	returns(&outer, 0);
	look();
	CHECK_INT(count, 1);
	CHECK_INT(rows[0]->launches, 1);
}

TEST("a graph is launched as a whole")
{
	struct built built = begin("cudaGraphLaunch");

	start(GT_BY_NOTHING);
	pass(&built, "graphExec", 0x9a);
	pass(&built, "stream", 0);
	returns(&built, 0);
	look();
	CHECK_INT(count, 1);
	CHECK(rows[0]->graph);
	CHECK_INT(rows[0]->handle, 0x9a);
	CHECK_INT(rows[0]->configuration_count, 0);
}

TEST("kernels of the same handle in two processes are two, unless their name is known")
{
	start(GT_BY_NOTHING);
	launch(0xaaa, 1, 32, 0, 0);
	switch_process(200, "serve");
	launch(0xaaa, 1, 32, 0, 0);
	look();
	CHECK_INT(count, 2);
}

TEST("one device is one row by its UUID, whatever ordinals processes have for it")
{
	static const char one[] = "0123456789abcdef", other[] = "fedcba9876543210";

	start(GT_BY_DEVICE);
	stream.device = 1;
	feed_device(0, other);
	feed_device(1, one);
	register_kernel(0xaaa, "plain");
	launch(0xaaa, 1, 32, 0, 0);
	switch_process(200, "serve");
	feed_device(0, one);
	register_kernel(0xaaa, "plain");
	stream.device = 0;
	launch(0xaaa, 1, 32, 0, 0);
	look();
	CHECK_INT(count, 1);
	CHECK_INT(rows[0]->launches, 2);
	CHECK_INT(rows[0]->group.device, 1);
	CHECK_STR(rows[0]->group.uuid, "30313233-3435-3637-3839-616263646566");
}

TEST("launches from before the UUID of their device was known are that device's")
{
	static const char one[] = "0123456789abcdef";

	start(GT_BY_DEVICE);
	register_kernel(0xaaa, "plain");
	launch(0xaaa, 1, 32, 0, 0);
	switch_process(200, "serve");
	register_kernel(0xaaa, "plain");
	stream.device = 0;
	launch(0xaaa, 2, 32, 0, 0);
	look();
	CHECK_INT(count, 1); /* one ordinal, of which nobody knows more */
	CHECK_INT(rows[0]->launches, 2);
	feed_device(0, one);
	launch(0xaaa, 2, 32, 0, 0);
	look();
	CHECK_INT(count, 2);
	CHECK_INT(rows[0]->launches, 2);
	CHECK_INT(rows[0]->duration.count, 2);
	CHECK_INT(rows[0]->since.count, 1);
	CHECK_INT(rows[0]->configuration_count, 1);
	CHECK_INT(rows[0]->configurations[0].launches, 2);
	CHECK_STR(rows[0]->group.uuid, "30313233-3435-3637-3839-616263646566");
	CHECK_STR(rows[1]->group.uuid, "");
	switch_process(100, "train");
	feed_device(0, one);
	look();
	CHECK_INT(count, 1);
	CHECK_INT(rows[0]->launches, 3);
	CHECK_INT(rows[0]->configuration_count, 2);
}

TEST("launches are distinguished by stack, thread, stream, process, device and context")
{
	static const enum gt_by by[] = {GT_BY_STACK, GT_BY_THREAD, GT_BY_STREAM, GT_BY_DEVICE,
					GT_BY_CONTEXT};

	for (size_t i = 0; i < gt_countof(by); i++) {
		start(by[i]);
		stream.stack = 1;
		launch(0xaaa, 1, 32, 0x11, 0);
		stream.stack = 2;
		stream.thread = 101;
		stream.device = 1;
		stream.context = 1;
		launch(0xaaa, 1, 32, 0x12, 0);
		launch(0xaaa, 1, 32, 0x12, 0);
		look();
		CHECK_INT(count, 2);
		CHECK_INT(rows[0]->launches, 2);
	}
}

TEST("an abandoned call is not a launch")
{
	struct built built = begin("cudaLaunchKernel");

	start(GT_BY_NOTHING);
	built.call.state = GT_CALL_UNFINISHED;
	returns(&built, 0);
	look();
	CHECK_INT(count, 0);
	gt_kernels_free(kernels);
	kernels = NULL;
	gt_names_free(stream.names);
	stream.names = NULL;
}

TEST("a stack that has no callers is none, and one that is unknown is its number")
{
	gt_auto(names) struct gt_names *names = gt_names_new();
	struct gt_event_stack *event = (void *)gt_event_new(GT_EVENT_stack, "", 0);
	gt_auto_strbuf label = GT_STRBUF_INIT;

	event->head.process = 7;
	event->number = 0xabc;
	CHECK_INT(gt_names_take(names, &event->head), 0);
	free(event);
	gt_label_stack(&label, names, 7, 0xabc);
	gt_strbuf_putc(&label, ' ');
	gt_label_stack(&label, names, 7, 0xdef);
	gt_strbuf_putc(&label, ' ');
	gt_label_stack(&label, names, 7, 0);
	CHECK_STR(gt_strbuf_string(&label), "- stack 0xdef -");
}

TEST_MAIN
