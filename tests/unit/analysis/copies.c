/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Directions, memory, sizes and rates of copies. */
#include "copies.h"

TEST("a direction that the call has is taken as it is")
{
	static const enum gt_direction directions[] = {GT_HOST_TO_HOST, GT_HOST_TO_DEVICE,
						       GT_DEVICE_TO_HOST, GT_DEVICE_TO_DEVICE};

	for (uint64_t kind = H2H; kind <= D2D; kind++) {
		start();
		copy(1, 2, 100, kind);
		CHECK_INT(only(directions[kind])->bytes, 100);
		CHECK_INT(rows[0]->count, 1);
	}
}

TEST("a default direction is that of what lies at the pointers")
{
	static const struct {
		uint64_t target, source;
		enum gt_direction direction;
	} cases[] = {
		{DEVICE, HOST, GT_HOST_TO_DEVICE},
		{HOST, DEVICE, GT_DEVICE_TO_HOST},
		{DEVICE + 4096, PINNED + 5, GT_HOST_TO_DEVICE},
		{PINNED, DEVICE, GT_DEVICE_TO_HOST},
		{DEVICE, DEVICE + 65536, GT_DEVICE_TO_DEVICE},
		{PINNED, HOST, GT_HOST_TO_HOST},
		{HOST, HOST + 4096, GT_DIRECTION_UNKNOWN},
	};

	for (size_t i = 0; i < gt_countof(cases); i++) {
		start();
		copy(cases[i].target, cases[i].source, 64, DEFAULT);
		only(cases[i].direction);
	}
}

TEST("device memory that was freed is none any more")
{
	start();
	cuda_free(DEVICE);
	copy(DEVICE, PINNED, 64, DEFAULT);
	only(GT_HOST_TO_HOST);
}

TEST("the driver's copies imply their direction by their arguments")
{
	struct built to = begin("cuMemcpyHtoD_v2"), from = begin("cuMemcpyDtoH_v2");

	start();
	pass(&to, "dstDevice", DEVICE);
	pass(&to, "srcHost", PINNED);
	pass(&to, "ByteCount", 300);
	returns(&to, 0);
	CHECK_INT(only(GT_HOST_TO_DEVICE)->host[GT_MEMORY_PINNED].bytes, 300);
	start();
	pass(&from, "dstHost", HOST);
	pass(&from, "srcDevice", DEVICE);
	pass(&from, "ByteCount", 200);
	returns(&from, 0);
	CHECK_INT(only(GT_DEVICE_TO_HOST)->host[GT_MEMORY_PAGEABLE].bytes, 200);
}

TEST("a copy between two devices is one between peers, by its call or by whose memory it is")
{
	struct built peer = begin("cudaMemcpyPeer"), same = begin("cudaMemcpyPeer");

	start();
	pass(&peer, "dst", DEVICE);
	pass(&peer, "dstDevice", 1);
	pass(&peer, "src", DEVICE + 4096);
	pass(&peer, "srcDevice", 0);
	pass(&peer, "count", 64);
	returns(&peer, 0);
	only(GT_PEER_TO_PEER);
	start();
	pass(&same, "dst", DEVICE);
	pass(&same, "dstDevice", 1);
	pass(&same, "src", DEVICE + 4096);
	pass(&same, "srcDevice", 1);
	pass(&same, "count", 64);
	returns(&same, 0);
	only(GT_DEVICE_TO_DEVICE);
	start();
	stream.device = 1;
	cuda_malloc(DEVICE + 0x10000000, 4096);
	copy(DEVICE, DEVICE + 0x10000000, 64, D2D);
	only(GT_PEER_TO_PEER);
}

/* CUDA_MEMCPY3D_PEER and the like are covered by CUDA_MEMCPY2D: they have the same fields. */
struct memcpy2d {
	uint64_t source_x, source_y;
	uint32_t source_type, padding1;
	uint64_t source_host, source_device, source_array, source_pitch;
	uint64_t target_x, target_y;
	uint32_t target_type, padding2;
	uint64_t target_host, target_device, target_array, target_pitch;
	uint64_t width, height;
};

TEST("a structure's memory types choose among its pointers")
{
	struct memcpy2d plan = {
		.source_type = 1,
		.source_host = PINNED,
		.source_device = 0xdead,
		.target_type = 2,
		.target_host = 0xbeef,
		.target_device = DEVICE,
		.width = 100,
		.height = 3,
	};
	struct built built = begin("cuMemcpy2D_v2"), unified = begin("cuMemcpy2D_v2");

	start();
	point(&built, "pCopy", &plan, sizeof(plan));
	returns(&built, 0);
	CHECK_INT(only(GT_HOST_TO_DEVICE)->bytes, 300);
	CHECK_INT(rows[0]->host[GT_MEMORY_PINNED].bytes, 300);

	start();
	plan.source_type = plan.target_type = 4; /* unified: the addresses decide */
	plan.source_host = plan.target_host = 0;
	plan.source_device = PINNED;
	point(&unified, "pCopy", &plan, sizeof(plan));
	returns(&unified, 0);
	CHECK_INT(only(GT_HOST_TO_DEVICE)->host[GT_MEMORY_PINNED].bytes, 300);
}

/* hip_Memcpy2D, whose memory types have other numbers since HIP 6. */
TEST("without memory types, the pointer that is set is the end of a copy")
{
	struct memcpy2d plan = {
		.source_device = DEVICE, .target_host = PINNED, .width = 100, .height = 3};
	struct built built = begin("hipMemcpyParam2D"), array = begin("hipMemcpyParam2D");

	start();
	point(&built, "pCopy", &plan, sizeof(plan));
	returns(&built, 0);
	CHECK_INT(only(GT_DEVICE_TO_HOST)->bytes, 300);

	start();
	plan.source_device = 0;
	plan.source_array = 0xa55a;
	point(&array, "pCopy", &plan, sizeof(plan));
	returns(&array, 0);
	CHECK_INT(only(GT_DEVICE_TO_HOST)->bytes, 300);
}

TEST("hipMemcpyWithStream waits, hipMemcpyAsync does not")
{
	static const char *const functions[] = {"hipMemcpyWithStream", "hipMemcpyAsync"};

	for (int i = 0; i < 2; i++) {
		struct built built = begin(functions[i]);

		start();
		pass(&built, "dst", DEVICE);
		pass(&built, "src", 0xbeef);
		pass(&built, "sizeBytes", 16);
		pass(&built, "kind", 1);
		returns(&built, 0);
		CHECK_INT(only(GT_HOST_TO_DEVICE)->waited.count, !i);
	}
}

TEST("a region of Level Zero without slices has one")
{
	uint32_t region[6] = {0, 0, 0, 16, 4, 0};
	struct built flat = begin("zeCommandListAppendMemoryCopyRegion"),
		     deep = begin("zeCommandListAppendMemoryCopyRegion");

	start();
	pass(&flat, "dstptr", DEVICE);
	pass(&flat, "srcptr", HOST);
	point(&flat, "dstRegion", region, sizeof(region));
	returns(&flat, 0);
	CHECK_INT(only(GT_HOST_TO_DEVICE)->bytes, 64);
	start();
	region[5] = 3;
	pass(&deep, "dstptr", DEVICE);
	pass(&deep, "srcptr", HOST);
	point(&deep, "dstRegion", region, sizeof(region));
	returns(&deep, 0);
	CHECK_INT(only(GT_HOST_TO_DEVICE)->bytes, 192);
}

TEST("host memory is pinned if it was allocated so, registered or inside of that, else pageable")
{
	struct built built = begin("cudaHostRegister");

	start();
	copy(DEVICE, PINNED + 1000, 10, H2D);
	copy(DEVICE, HOST, 20, H2D);
	pass(&built, "ptr", HOST);
	pass(&built, "size", 4096);
	pass(&built, "flags", 0);
	returns(&built, 0);
	copy(DEVICE, HOST + 4095, 40, H2D);
	copy(DEVICE, HOST + 4096, 80, H2D);
	call_with("cudaHostUnregister", "ptr", HOST, 0);
	copy(DEVICE, HOST, 160, H2D);
	allocate("cudaMallocManaged", "size", 0x900000, 4096, 0);
	copy(DEVICE, 0x900000, 320, H2D);
	CHECK_INT(only(GT_HOST_TO_DEVICE)->host[GT_MEMORY_PINNED].bytes, 10 + 40);
	CHECK_INT(rows[0]->host[GT_MEMORY_PAGEABLE].bytes, 20 + 80 + 160);
	CHECK_INT(rows[0]->host[GT_MEMORY_MANAGED].bytes, 320);
}

TEST("a copy that waits has a bandwidth by its call's time, an asynchronous one has none")
{
	start();
	stream.duration = 5000;
	copy(DEVICE, HOST, 1000, H2D);
	copy_async(DEVICE, HOST, 7000, H2D, 0x11);
	CHECK_INT(only(GT_HOST_TO_DEVICE)->waited.bytes, 1000);
	CHECK_INT(rows[0]->waited_ns, 5000);
	CHECK_INT(rows[0]->asynchronous.bytes, 7000);
	CHECK_INT(rows[0]->bytes, 8000);
}

TEST("a copy that waits for work before it is counted: its time includes that work")
{
	start();
	copy(DEVICE, HOST, 1000, H2D);
	CHECK_INT(only(GT_HOST_TO_DEVICE)->waited_behind, 0);
	launch(0xaaa, 1, 32, 0, 0);
	copy(DEVICE, HOST, 1000, H2D);
	copy(DEVICE, HOST, 1000, H2D);
	CHECK_INT(only(GT_HOST_TO_DEVICE)->waited_behind, 1);
	launch(0xaaa, 1, 32, 0, 0);
	call_with("cudaDeviceSynchronize", NULL, 0, 0);
	copy(DEVICE, HOST, 1000, H2D);
	CHECK_INT(only(GT_HOST_TO_DEVICE)->waited_behind, 1);
	launch(0xaaa, 1, 32, 0x11, 0);
	call_with("cudaStreamSynchronize", "stream", 0x22, 0);
	copy(DEVICE, HOST, 1000, H2D);
	CHECK_INT(only(GT_HOST_TO_DEVICE)->waited_behind, 2);
	CHECK_INT(rows[0]->waited.count, 5);
}

TEST("a copy within the device does not wait, with or without a stream")
{
	start();
	copy(DEVICE, DEVICE + 4096, 1000, D2D);
	CHECK_INT(only(GT_DEVICE_TO_DEVICE)->waited.count, 0);
	CHECK_INT(rows[0]->asynchronous.count, 1);
	expect_done(0);
	call_with("cudaDeviceSynchronize", NULL, 0, 0);
	expect_done(1);
}

TEST("a copy that fails counts as failed and moves nothing")
{
	struct built built = begin("cudaMemcpy");

	start();
	pass(&built, "dst", DEVICE);
	pass(&built, "src", HOST);
	pass(&built, "count", 64);
	pass(&built, "kind", H2D);
	returns(&built, 1);
	CHECK_INT(only(GT_HOST_TO_DEVICE)->failed, 1);
	CHECK_INT(rows[0]->count, 0);
	CHECK_INT(rows[0]->bytes, 0);
}

TEST("sizes are reported by powers of two")
{
	start();
	copy(DEVICE, HOST, 1023, H2D);
	copy(DEVICE, HOST, 1024, H2D);
	copy(DEVICE, HOST, 2047, H2D);
	only(GT_HOST_TO_DEVICE);
	CHECK_INT(gt_histogram_power(&rows[0]->sizes, 9), 1);
	CHECK_INT(gt_histogram_power(&rows[0]->sizes, 10), 2);
}

TEST("what pinning would gain is reported from pinned copies of the same size in this run")
{
	start();
	stream.duration = 4000;
	copy(DEVICE, HOST, 4096, H2D);
	copy(DEVICE, HOST, 4096, H2D);
	copy(DEVICE, HOST, 1 << 20, H2D); /* no pinned one has that size */
	stream.duration = 1000;
	copy(DEVICE, PINNED, 4096, H2D);
	look();
	CHECK(totals.pinning[GT_HOST_TO_DEVICE].dominates);
	CHECK_INT(totals.pinning[GT_HOST_TO_DEVICE].pageable_ns, 12000);
	CHECK_INT(totals.pinning[GT_HOST_TO_DEVICE].compared_bytes, 8192);
	CHECK_INT(totals.pinning[GT_HOST_TO_DEVICE].compared_ns, 8000);
	CHECK_INT(totals.pinning[GT_HOST_TO_DEVICE].pinned_ns, 2000);
	CHECK(!totals.pinning[GT_DEVICE_TO_HOST].dominates);
}

TEST("copies of rows and of volumes count their bytes, without pitch")
{
	const uint64_t volume[20] = {
		[5] = HOST, [13] = DEVICE, [16] = 64, [17] = 4, [18] = 2, [19] = H2D};
	struct built plain = begin("cudaMemcpy2D"), array = begin("cudaMemcpy2DToArrayAsync");
	struct built driver = begin("cuMemcpyDtoHAsync_v2"), cube = begin("cudaMemcpy3DAsync");

	start();
	pass(&plain, "dst", DEVICE);
	pass(&plain, "dpitch", 512);
	pass(&plain, "src", HOST);
	pass(&plain, "spitch", 300);
	pass(&plain, "width", 300);
	pass(&plain, "height", 10);
	pass(&plain, "kind", H2D);
	returns(&plain, 0);
	CHECK_INT(only(GT_HOST_TO_DEVICE)->bytes, 3000);
	CHECK_INT(rows[0]->waited.count, 1);
	pass(&array, "width", 100);
	pass(&array, "height", 4);
	pass(&array, "kind", H2D);
	pass(&array, "stream", 0x11);
	returns(&array, 0);
	CHECK_INT(only(GT_HOST_TO_DEVICE)->bytes, 3400);
	CHECK_INT(rows[0]->asynchronous.bytes, 400);
	point(&cube, "p", volume, sizeof(volume));
	pass(&cube, "stream", 0x11);
	returns(&cube, 0);
	CHECK_INT(only(GT_HOST_TO_DEVICE)->bytes, 3400 + 512);
	start();
	pass(&driver, "dstHost", HOST);
	pass(&driver, "srcDevice", DEVICE);
	pass(&driver, "ByteCount", 77);
	pass(&driver, "hStream", 0x11);
	returns(&driver, 0);
	CHECK_INT(only(GT_DEVICE_TO_HOST)->asynchronous.bytes, 77);
}

TEST("a list of copies counts as many, of unknown bytes")
{
	struct built batch = begin("cudaMemcpyBatchAsync"), cubes = begin("cudaMemcpy3DBatchAsync");

	start();
	pass(&batch, "count", 12);
	pass(&batch, "stream", 0x11);
	returns(&batch, 0);
	pass(&cubes, "numOps", 3);
	pass(&cubes, "stream", 0x11);
	returns(&cubes, 0);
	CHECK_INT(only(GT_DIRECTION_UNKNOWN)->count, 15);
	CHECK_INT(rows[0]->unknown, 15);
	CHECK_INT(rows[0]->bytes, 0);
	CHECK_INT(rows[0]->asynchronous.count, 15);
}

TEST("the bytes of a list are the sum of its sizes, of up to 16 copies")
{
	struct built batch = begin("cudaMemcpyBatchAsync"), driver = begin("cuMemcpyBatchAsync");
	struct built many = begin("cudaMemcpyBatchAsync");
	/* What lies behind the array is copied, too, and does not count. */
	const uint64_t sizes[16] = {100, 20, 3, 4000};

	start();
	pass(&batch, "count", 3);
	pass(&batch, "stream", 0x11);
	point(&batch, "sizes", sizes, sizeof(sizes));
	returns(&batch, 0);
	CHECK_INT(only(GT_DIRECTION_UNKNOWN)->bytes, 123);
	CHECK_INT(rows[0]->unknown, 0);
	CHECK_INT(rows[0]->sizes.count, 3);
	CHECK_INT(rows[0]->sizes.max, 100);
	pass(&driver, "count", 4);
	pass(&driver, "hStream", 0x11);
	point(&driver, "sizes", sizes, sizeof(sizes));
	returns(&driver, 0);
	CHECK_INT(only(GT_DIRECTION_UNKNOWN)->bytes, 123 + 4123);
	pass(&many, "count", 17);
	pass(&many, "stream", 0x11);
	point(&many, "sizes", sizes, sizeof(sizes));
	returns(&many, 0);
	CHECK_INT(only(GT_DIRECTION_UNKNOWN)->bytes, 123 + 4123);
	CHECK_INT(rows[0]->count, 3 + 4 + 17);
	CHECK_INT(rows[0]->unknown, 17);
}

TEST("a symbol is on the device")
{
	struct built to = begin("cudaMemcpyToSymbol"), from = begin("cudaMemcpyFromSymbol");

	start();
	pass(&to, "symbol", 0x401000);
	pass(&to, "src", PINNED);
	pass(&to, "count", 40);
	pass(&to, "kind", DEFAULT);
	returns(&to, 0);
	CHECK_INT(only(GT_HOST_TO_DEVICE)->host[GT_MEMORY_PINNED].bytes, 40);
	start();
	pass(&from, "dst", HOST);
	pass(&from, "symbol", 0x401000);
	pass(&from, "count", 8);
	pass(&from, "kind", DEFAULT);
	returns(&from, 0);
	CHECK_INT(only(GT_DEVICE_TO_HOST)->host[GT_MEMORY_PAGEABLE].bytes, 8);
}

TEST("filling memory is no copy")
{
	start();
	call_with("cudaMemset", "count", 4096, 0);
	call_with("cudaMemsetAsync", "count", 4096, 0);
	call_with("cuMemsetD32_v2", "N", 4096, 0);
	look();
	CHECK_INT(count, 0);
	CHECK_INT(totals.in_flight, 0);
}

TEST("copies from before the UUID of their device was known are that device's")
{
	start_with(GT_BY_DEVICE, 10);
	copy_async(DEVICE, PINNED, 64, H2D, 0x11);
	look();
	feed_device(0, "0123456789abcdef");
	copy_async(DEVICE, PINNED, 32, H2D, 0x11);
	call_with("cudaDeviceSynchronize", NULL, 0, 0);
	CHECK_INT(only(GT_HOST_TO_DEVICE)->count, 2);
	CHECK_INT(rows[0]->bytes, 96);
	CHECK_INT(rows[0]->sizes.count, 2);
	CHECK_INT(rows[0]->bound.count, 2);
	CHECK_INT(rows[0]->asynchronous.bytes, 96);
	CHECK_INT(rows[0]->host[GT_MEMORY_PINNED].bytes, 96);
	CHECK(rows[0]->group.uuid[0]);
}

TEST("copies are distinguished by stream, thread, stack, process and device")
{
	static const enum gt_by by[] = {GT_BY_STREAM, GT_BY_THREAD, GT_BY_STACK, GT_BY_PROCESS,
					GT_BY_DEVICE};

	for (size_t i = 0; i < gt_countof(by); i++) {
		start_with(by[i], 10);
		copy_async(DEVICE, PINNED, 64, H2D, 0x11);
		stream.thread = 101;
		stream.stack = 5;
		stream.device = 1;
		copy_async(DEVICE, PINNED, 32, H2D, 0x12);
		if (by[i] == GT_BY_PROCESS)
			switch_process(200, "serve");
		copy_async(DEVICE, PINNED, 16, H2D, 0x12);
		look();
		CHECK_INT(count, 2);
	}
	gt_copies_free(copies);
	copies = NULL;
	gt_names_free(stream.names);
	stream.names = NULL;
}

TEST_MAIN
