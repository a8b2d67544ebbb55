/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/findings.h"

#include "analysis.h"
#include "analysis/errors.h"

static struct gt_findings *findings;
static struct gt_errors *errors;
static const struct gt_finding *rows;
static size_t count;

static int take(void *analysis, const struct gt_names *names, const struct gt_event *event)
{
	return gt_findings_take(findings, names, event) || gt_errors_take(errors, names, event);
}

static void start(void)
{
	gt_findings_free(findings);
	gt_errors_free(errors);
	findings = gt_findings_new();
	errors = gt_errors_new(GT_BY_STACK);
	STREAM_INTO(NULL, take);
}

/* How many findings there are. */
static size_t found(void)
{
	CHECK_INT(gt_findings_rows(findings, stream.names, &rows, &count), 0);
	return count;
}

static void expect_one(const char *name, uint64_t times, const char *evidence)
{
	CHECK_INT(found(), 1);
	if (!count)
		return;
	CHECK_STR(rows[0].name, name);
	CHECK_INT(rows[0].count, times);
	CHECK_STR(rows[0].evidence, evidence);
	CHECK(strlen(rows[0].advice) > 20);
}

TEST("a program without oddities gives no findings")
{
	start();
	cuda_malloc(0x1000, 1 << 20);
	copy(0x1000, 0x5555, 1 << 20, 1);
	for (int i = 0; i < 100; i++)
		launch(0xaaa, 64, 256, 0, 0);
	call_with("cudaDeviceSynchronize", NULL, 0, 0);
	cuda_free(0x1000);
	session_ends();
	CHECK_INT(found(), 0);
}

TEST("allocating and freeing the same at one site, again and again, is reported")
{
	start();
	stream.stack = 0xabc;
	for (int i = 0; i < 20; i++) {
		cuda_malloc(0x1000, 4096);
		cuda_free(0x1000);
	}
	expect_one("allocation_in_loop", 20,
		   "20 times cudaMalloc of 4.00 KiB was freed again; the calls took 40.0 µs");
	CHECK_INT(rows[0].stack, 0xabc);
	CHECK_INT(rows[0].ns, 40000);
	CHECK_STR(rows[0].process_name, "train");
}

TEST("fewer than sixteen times, or many that are live at once, or memory of a pool, is no loop")
{
	start();
	for (int i = 0; i < 15; i++) {
		cuda_malloc(0x1000, 4096);
		cuda_free(0x1000);
	}
	CHECK_INT(found(), 0);
	start();
	for (uint64_t i = 1; i <= 100; i++)
		cuda_malloc(i * 4096, 4096);
	for (uint64_t i = 1; i <= 100; i++)
		cuda_free(i * 4096);
	CHECK_INT(found(), 0);
	start();
	for (int i = 0; i < 100; i++) {
		allocate("cudaMallocAsync", "size", 0x1000, 4096, 0);
		call_with("cudaFreeAsync", "devPtr", 0x1000, 0);
	}
	CHECK_INT(found(), 0);
}

TEST("a wait after every launch is reported")
{
	start();
	for (int i = 0; i < 30; i++) {
		launch(0xaaa, 64, 256, 0, 0);
		call_with("cudaDeviceSynchronize", NULL, 0, 0);
	}
	expect_one("sync_after_launch", 30,
		   "cudaDeviceSynchronize waited 30 times for a single launch, of 30 launches in "
		   "total, and took 30.0 µs");
}

TEST("a wait while other streams have work is none")
{
	start();
	for (int i = 0; i < 30; i++) {
		launch(0xaaa, 64, 256, 0x70, 0);
		call_with("cudaStreamSynchronize", "stream", 0x70, 0);
		launch(0xbbb, 64, 256, 0x80, 0);
		call_with("cudaStreamSynchronize", "stream", 0x80, 0);
	}
	expect_one("sync_after_launch", 60,
		   "cudaStreamSynchronize waited 60 times for a single launch, of 60 launches in "
		   "total, and took 60.0 µs");
	start();
	launch(0xaaa, 64, 256, 0x70, 0);
	for (int i = 0; i < 30; i++) {
		launch(0xbbb, 64, 256, 0x80, 0);
		call_with("cudaStreamSynchronize", "stream", 0x70, 0);
		launch(0xaaa, 64, 256, 0x70, 0);
		call_with("cudaStreamSynchronize", "stream", 0x80, 0);
	}
	CHECK_INT(found(), 0);
	start();
	copy_async(0x1000, 0x5555, 1 << 20, 1, 0x70);
	for (int i = 0; i < 30; i++) {
		launch(0xaaa, 64, 256, 0x80, 0);
		call_with("cudaStreamSynchronize", "stream", 0x80, 0);
		call_with("cudaStreamSynchronize", "stream", 0x70, 0);
		copy_async(0x1000, 0x5555, 1 << 20, 1, 0x70);
	}
	CHECK_INT(found(), 0);
}

/* A stack of these callers, which the next calls have. */
static void callers(uint64_t number, uint64_t inner, uint64_t outer)
{
	uint64_t addresses[] = {inner, outer};
	struct gt_event_stack *event =
		(void *)gt_event_new(GT_EVENT_stack, (const char *)addresses, sizeof(addresses));

	event->head.process = stream.process;
	event->number = number;
	feed_event(&event->head);
	free(event);
	stream.stack = number;
}

TEST("one caller is one finding, whatever its callers, the kernel's handle and the thread")
{
	start();
	callers(1, 0x4444, 0x5555);
	launch(0xaaa, 64, 8, 0, 0);
	callers(2, 0x4444, 0x6666);
	launch(0xaaa, 64, 8, 0, 0);
	expect_one("small_launches", 2,
		   "0xaaa was launched with fewer than 32 threads in a block, 2 times");
	CHECK_INT(rows[0].stacks, 2);
	CHECK_INT(rows[0].stack, 1);
	callers(3, 0x7777, 0x5555);
	launch(0xaaa, 64, 8, 0, 0);
	launch(0xbbb, 64, 8, 0, 0);
	CHECK_INT(found(), 3);
}

TEST("together, the sites of one caller can be enough for a finding")
{
	start();
	for (int i = 0; i < 32; i++) {
		callers(1 + i % 4, 0x4444, 0x5555 + i % 4);
		launch(0xaaa, 64, 256, 0, 0);
		call_with("cudaDeviceSynchronize", NULL, 0, 0);
	}
	CHECK_INT(found(), 1);
	CHECK_INT(rows[0].count, 32);
	CHECK_INT(rows[0].stacks, 4);
}

TEST("advice names functions of the API that the call site uses")
{
	start();
	for (int i = 0; i < 20; i++) {
		cuda_malloc(0x1000, 4096);
		cuda_free(0x1000);
	}
	CHECK_INT(found(), 1);
	CHECK(strstr(rows[0].advice, "cudaMallocAsync"));
	start();
	for (int i = 0; i < 20; i++) {
		allocate("cuMemAlloc_v2", "bytesize", 0x1000, 4096, 0);
		call_with("cuMemFree_v2", "dptr", 0x1000, 0);
	}
	CHECK_INT(found(), 1);
	CHECK(strstr(rows[0].advice, "cuMemAllocAsync"));
	start();
	for (int i = 0; i < 20; i++) {
		allocate("hipMalloc", "size", 0x1000, 4096, 0);
		call_with("hipFree", "ptr", 0x1000, 0);
	}
	CHECK_INT(found(), 1);
	CHECK(strstr(rows[0].advice, "hipMallocAsync"));
	start();
	for (int i = 0; i < 20; i++) {
		allocate("zeMemAllocHost", "size", 0x1000, 4096, 0);
		call_with("zeMemFree", "ptr", 0x1000, 0);
	}
	CHECK_INT(found(), 1);
	CHECK_STR(rows[0].advice,
		  "Allocate once before the loop: each allocation costs the time of a call.");
}

TEST("waits after several launches are none")
{
	start();
	for (int i = 0; i < 90; i++) {
		launch(0xaaa, 64, 256, 0, 0);
		if (i % 3 == 2)
			call_with("cudaDeviceSynchronize", NULL, 0, 0);
	}
	CHECK_INT(found(), 0);
}

TEST("many tiny copies at one site are reported, with what they cost")
{
	start();
	for (int i = 0; i < 64; i++)
		copy(0x1000, 0x5555, 16, 1);
	copy(0x1000, 0x5555, 1 << 20, 1);
	expect_one("tiny_copies", 64,
		   "64 of 65 copies by cudaMemcpy had at most 4.00 KiB, together 1.00 KiB in "
		   "64.0 µs");
	CHECK_INT(rows[0].bytes, 1024);
}

TEST("launches of less than a warp are reported by kernel")
{
	start();
	launch(0xaaa, 64, 31, 0, 0);
	launch(0xaaa, 64, 31, 0, 0);
	launch(0xaaa, 64, 32, 0, 0);
	launch(0xbbb, 1, 1, 0, 9); /* it failed */
	expect_one("small_launches", 2,
		   "0xaaa was launched with fewer than 32 threads in a block, 2 times");
}

TEST("an allocation that failed and is retried is reported, and how it went")
{
	start();
	allocate("cudaMalloc", "size", 0, 1 << 30, 2);
	cuda_free(0x1000);
	allocate("cudaMalloc", "size", 0, 1 << 30, 2);
	allocate("cudaMalloc", "size", 0x7000, 1 << 30, 0);
	expect_one("allocation_retried", 2,
		   "cudaMalloc failed and was retried 2 times, without success once");
}

TEST("an allocation that failed and is given up is not")
{
	start();
	allocate("cudaMalloc", "size", 0, 1 << 30, 2);
	cuda_malloc(0x1000, 512);
	CHECK_INT(found(), 0);
}

TEST("memory freed twice and pointers from nowhere are reported")
{
	start();
	cuda_malloc(0x1000, 64);
	cuda_free(0x1000);
	call_with("cudaFree", "devPtr", 0x1000, 1);
	expect_one("freed_twice", 1,
		   "cudaFree was called with memory that was already freed, once");
	start();
	call_with("cudaFree", "devPtr", 0x12345678, 1);
	expect_one("freed_foreign", 1,
		   "cudaFree was called with a pointer that was never allocated, once");
}

TEST("an error that stays names the last launch that was not waited for")
{
	start();
	stream.stack = 1;
	launch(0xaaa, 64, 256, 0, 0);
	call_with("cudaDeviceSynchronize", NULL, 0, 0);
	stream.stack = 2;
	launch(0xbbb, 64, 256, 0, 0);
	launch(0xccc, 64, 2048, 0, 9); /* rejected: it did not run */
	stream.stack = 3;
	call_with("cudaDeviceSynchronize", NULL, 0, 700);
	call_with("cudaFree", "devPtr", 0x1000, 700);
	expect_one("sticky_error", 1,
		   "cudaErrorIllegalAddress, first returned by cudaDeviceSynchronize; probably "
		   "caused by the "
		   "launch of 0xbbb");
	CHECK_INT(rows[0].stack, 2);
}

TEST("of several launches that were not waited for, the last is named and the others counted")
{
	start();
	launch(0xaaa, 64, 256, 0, 0);
	launch(0xbbb, 64, 256, 0, 0);
	copy(0x1000, 0x5555, 1 << 20, 0); /* H2H: waits for nothing */
	launch(0xccc, 64, 256, 0, 0);
	call_with("cudaStreamSynchronize", "stream", 0, 719);
	expect_one("sticky_error", 1,
		   "cudaErrorLaunchFailure, first returned by cudaStreamSynchronize; probably "
		   "caused by the "
		   "launch of 0xccc, the last of 3 that were not yet synchronized");
}

TEST("an error that stays without any launch says so")
{
	start();
	call_with("cudaDeviceSynchronize", NULL, 0, 700);
	expect_one(
		"sticky_error", 1,
		"cudaErrorIllegalAddress, first returned by cudaDeviceSynchronize; no launch was "
		"seen that could have caused it");
}

TEST("failed calls are gathered by function, error, process and stack")
{
	const struct gt_error *const *failed;
	size_t number;

	start();
	stream.stack = 1;
	for (int i = 0; i < 3; i++)
		allocate("cudaMalloc", "size", 0, 100 + i, 2);
	allocate("cudaMalloc", "size", 0, 100, 700);
	stream.stack = 2;
	allocate("cudaMalloc", "size", 0, 100, 2);
	switch_process(200, "serve");
	allocate("cudaMalloc", "size", 0, 100, 2);
	call_with("cudaStreamQuery", "stream", 0, 600); /* not ready: no error */
	cuda_malloc(0x1000, 10);
	CHECK_INT(gt_errors_rows(errors, stream.names, &failed, &number), 0);
	CHECK_INT(number, 4);
	CHECK_INT(failed[0]->count, 3);
	CHECK_STR(failed[0]->function, "cudaMalloc");
	CHECK_STR(failed[0]->result, "cudaErrorMemoryAllocation");
	CHECK_STR(failed[0]->process_name, "train");
	CHECK(!failed[0]->sticky);
	CHECK_INT(failed[0]->last - failed[0]->first, 4000);
	CHECK_STR(failed[1]->result, "cudaErrorIllegalAddress");
	CHECK(failed[1]->sticky);
	CHECK_INT(failed[3]->process, 200);
}

TEST("failed calls of one caller are one row, and launches one of each kernel")
{
	const struct gt_error *const *failed;
	size_t number;

	start();
	for (uint64_t i = 0; i < 4; i++) {
		callers(1 + i, 0x4444, 0x5555 + i);
		allocate("cudaMalloc", "size", 0, 100, 2);
		launch(i % 2 ? 0xaaa : 0xbbb, 64, 2048, 0, 9);
	}
	CHECK_INT(gt_errors_rows(errors, stream.names, &failed, &number), 0);
	CHECK_INT(number, 3);
	CHECK_INT(failed[0]->count, 4);
	CHECK(!failed[0]->kernel);
	CHECK_INT(failed[1]->count, 2);
	CHECK_STR(failed[1]->kernel, "0xbbb");
	CHECK_STR(failed[2]->kernel, "0xaaa");
}

TEST("errors from before the UUID of their device was known are that device's")
{
	const struct gt_error *const *failed;
	size_t number;

	start();
	gt_errors_free(errors);
	errors = gt_errors_new(GT_BY_DEVICE);
	allocate("cudaMalloc", "size", 0, 100, 2);
	feed_device(0, "0123456789abcdef");
	allocate("cudaMalloc", "size", 0, 100, 2);
	stream.device = 1;
	allocate("cudaMalloc", "size", 0, 100, 2);
	for (int look = 0; look < 2; look++) {
		CHECK_INT(gt_errors_rows(errors, stream.names, &failed, &number), 0);
		CHECK_INT(number, 2);
		CHECK_INT(failed[0]->count, 2);
		CHECK_INT(failed[0]->last - failed[0]->first, 2000);
		CHECK_STR(failed[0]->group.uuid, "30313233-3435-3637-3839-616263646566");
		CHECK_INT(failed[1]->group.device, 1);
	}
}

TEST("a driver's failure inside of the runtime's is the same failure")
{
	const struct gt_error *const *failed;
	size_t number;

	start();
	stream.depth = 1;
	allocate("cuMemAlloc_v2", "bytesize", 0, 100, 2);
	call_with("cuCtxGetDevice", NULL, 0, 201);
	enclose();
	stream.now -= 4000;
	stream.duration *= 2;
	allocate("cudaMalloc", "size", 0, 100, 2);
	CHECK_INT(gt_errors_rows(errors, stream.names, &failed, &number), 0);
	CHECK_INT(number, 1);
	CHECK_STR(failed[0]->function, "cudaMalloc");
	gt_findings_free(findings);
	gt_errors_free(errors);
	findings = NULL;
	errors = NULL;
	gt_names_free(stream.names);
	stream.names = NULL;
}

TEST_MAIN
