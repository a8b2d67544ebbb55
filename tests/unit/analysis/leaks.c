/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/leaks.h"

#include "analysis.h"

static int take(void *analysis, const struct gt_names *names, const struct gt_event *event)
{
	return gt_leaks_take(analysis, names, event);
}

static struct gt_leaks *leaks;
static const struct gt_leak *rows;
static size_t count;
static struct gt_leaks_totals totals;

static void start(enum gt_by by)
{
	gt_leaks_free(leaks);
	leaks = gt_leaks_new(by);
	STREAM_INTO(leaks, take);
}

static void look(void)
{
	CHECK_INT(gt_leaks_rows(leaks, stream.names, stream.now, &rows, &count, &totals), 0);
}

static const struct gt_memory_process *process_at(size_t index)
{
	const struct gt_memory_process *const *processes;
	size_t number;

	CHECK_INT(gt_leaks_processes(leaks, stream.names, &processes, &number), 0);
	if (index < number)
		return processes[index];
	TAP_FAIL("there are %zu processes only", number);
	exit(1);
}

/* Live, left to exit, to reset, to the end of a context. */
static void expect_totals(uint64_t live, uint64_t at_exit, uint64_t reset, uint64_t context)
{
	look();
	CHECK_INT(totals.count[GT_LEAK_LIVE], live);
	CHECK_INT(totals.count[GT_LEAK_EXIT], at_exit);
	CHECK_INT(totals.count[GT_LEAK_RESET], reset);
	CHECK_INT(totals.count[GT_LEAK_CONTEXT], context);
}

TEST("what is freed is no leak")
{
	start(GT_BY_STACK);
	cuda_malloc(0x1000, 4096);
	cuda_free(0x1000);
	ends(100);
	expect_totals(0, 0, 0, 0);
	CHECK_INT(count, 0);
	CHECK_INT(process_at(0)->use[GT_SPACE_DEVICE].allocations, 1);
	CHECK_INT(process_at(0)->use[GT_SPACE_DEVICE].frees, 1);
}

TEST("what stood when its process ended is a leak, with its stack, bytes and age")
{
	start(GT_BY_STACK);
	stream.stack = 0xabc;
	cuda_malloc(0x1000, 4096);
	cuda_malloc(0x3000, 4096);
	stream.stack = 0xdef;
	cuda_malloc(0x8000, 10);
	look();
	CHECK_INT(count, 2);
	CHECK_INT(rows[0].state, GT_LEAK_LIVE);
	ends(100);
	expect_totals(0, 3, 0, 0);
	CHECK_INT(count, 2);
	CHECK_INT(rows[0].state, GT_LEAK_EXIT);
	CHECK_INT(rows[0].group.number, 0xabc);
	CHECK_INT(rows[0].count, 2);
	CHECK_INT(rows[0].bytes, 8192);
	CHECK_STR(rows[0].function, "cudaMalloc");
	CHECK_STR(rows[0].process_name, "train");
	CHECK_INT(rows[0].oldest, 5000);
	CHECK_INT(rows[0].newest, 3000);
	CHECK_INT(rows[1].bytes, 10);
	CHECK(process_at(0)->ended);
}

TEST("a failed cudaMalloc is no leak")
{
	start(GT_BY_STACK);
	allocate("cudaMalloc", "size", 0, 1 << 20, 2);
	ends(100);
	expect_totals(0, 0, 0, 0);
	CHECK_INT(process_at(0)->failed, 1);
	CHECK_INT(process_at(0)->use[GT_SPACE_DEVICE].allocations, 0);
}

TEST("an allocation of no bytes gives a null pointer and is no leak, and freeing null is nothing")
{
	start(GT_BY_STACK);
	cuda_malloc(0, 0);
	cuda_free(0);
	call_with("cudaFreeHost", "ptr", 0, 0);
	session_ends();
	expect_totals(0, 0, 0, 0);
}

/* Each allocator with what frees it; sizes are those of one argument. */
static const struct {
	const char *allocate, *size, *release, *argument;
	enum gt_memory_space space;
} allocators[] = {
	{"cudaMalloc", "size", "cudaFree", "devPtr", GT_SPACE_DEVICE},
	{"cudaMallocAsync", "size", "cudaFreeAsync", "devPtr", GT_SPACE_DEVICE},
	{"cudaMallocFromPoolAsync", "size", "cudaFreeAsync", "devPtr", GT_SPACE_DEVICE},
	{"cudaMallocAsync", "size", "cudaFree", "devPtr", GT_SPACE_DEVICE},
	{"cudaMallocManaged", "size", "cudaFree", "devPtr", GT_SPACE_MANAGED},
	{"cudaMallocHost", "size", "cudaFreeHost", "ptr", GT_SPACE_HOST},
	{"cudaHostAlloc", "size", "cudaFreeHost", "ptr", GT_SPACE_HOST},
	{"cuMemAlloc_v2", "bytesize", "cuMemFree_v2", "dptr", GT_SPACE_DEVICE},
	{"cuMemAllocAsync", "bytesize", "cuMemFreeAsync", "dptr", GT_SPACE_DEVICE},
	{"cuMemAllocFromPoolAsync", "bytesize", "cuMemFreeAsync", "dptr", GT_SPACE_DEVICE},
	{"cuMemAllocManaged", "bytesize", "cuMemFree_v2", "dptr", GT_SPACE_MANAGED},
	{"cuMemAllocHost_v2", "bytesize", "cuMemFreeHost", "p", GT_SPACE_HOST},
	{"cuMemHostAlloc", "bytesize", "cuMemFreeHost", "p", GT_SPACE_HOST},
	{"cuMemCreate", "size", "cuMemRelease", "handle", GT_SPACE_PHYSICAL},
	{"clSVMAlloc", "size", "clSVMFree", "svm_pointer", GT_SPACE_MANAGED},
	{"clSVMAllocARM", "size", "clSVMFreeARM", "svm_pointer", GT_SPACE_MANAGED},
	{"clHostMemAllocINTEL", "size", "clMemFreeINTEL", "ptr", GT_SPACE_HOST},
	{"clDeviceMemAllocINTEL", "size", "clMemFreeINTEL", "ptr", GT_SPACE_DEVICE},
	{"clSharedMemAllocINTEL", "size", "clMemBlockingFreeINTEL", "ptr", GT_SPACE_MANAGED},
	{"zeMemAllocHost", "size", "zeMemFree", "ptr", GT_SPACE_HOST},
	{"zeMemAllocShared", "size", "zeMemFree", "ptr", GT_SPACE_MANAGED},
	{"zeMemAllocDevice", "size", "zeMemFreeExt", "ptr", GT_SPACE_DEVICE},
};

TEST("every allocator is counted, and freed by its counterpart")
{
	for (size_t i = 0; i < gt_countof(allocators); i++) {
		start(GT_BY_STACK);
		allocate(allocators[i].allocate, allocators[i].size, 0x7f0000001000, 12345, 0);
		expect_totals(1, 0, 0, 0);
		CHECK_INT(rows[0].bytes, 12345);
		CHECK_INT(rows[0].space, allocators[i].space);
		CHECK_STR(rows[0].function, allocators[i].allocate);
		call_with(allocators[i].release, allocators[i].argument, 0x7f0000001000, 0);
		expect_totals(0, 0, 0, 0);
		CHECK_INT(process_at(0)->use[allocators[i].space].frees, 1);
		CHECK_INT(process_at(0)->freed_unseen, 0);
	}
}

/* A call that puts the release of two addresses into a queue. */
static void free_list(const char *function, uint64_t callback)
{
	struct built built = begin(function);

	pass(&built, "num_svm_pointers", 2);
	point(&built, "svm_pointers", (uint64_t[]){0x1000, 0x3000}, 16);
	pass(&built, "pfn_free_func", callback);
	pass(&built, "num_events_in_wait_list", 0);
	returns(&built, 0);
}

TEST("what clEnqueueSVMFree frees of its list is no leak, unless a callback is to free it")
{
	static const char *const functions[] = {"clEnqueueSVMFree", "clEnqueueSVMFreeARM"};

	for (size_t i = 0; i < gt_countof(functions); i++) {
		start(GT_BY_STACK);
		allocate("clSVMAlloc", "size", 0x1000, 100, 0);
		allocate("clSVMAlloc", "size", 0x2000, 200, 0);
		allocate("clSVMAlloc", "size", 0x3000, 300, 0);
		free_list(functions[i], 0x401000);
		expect_totals(3, 0, 0, 0);
		free_list(functions[i], 0);
		expect_totals(1, 0, 0, 0);
		CHECK_INT(rows[0].bytes, 200);
		CHECK_INT(process_at(0)->use[GT_SPACE_MANAGED].frees, 2);
	}
}

TEST("pitched memory counts rows times width")
{
	struct built built = begin("cudaMallocPitch");

	start(GT_BY_STACK);
	pass(&built, "width", 100);
	pass(&built, "height", 7);
	point(&built, "devPtr", &(uint64_t){0x1000}, 8);
	point(&built, "pitch", &(uint64_t){512}, 8);
	returns(&built, 0);
	look();
	CHECK_INT(rows[0].bytes, 700);
	cuda_free(0x1000);
	expect_totals(0, 0, 0, 0);
}

TEST("memory of three dimensions is known by the pointer in its structure")
{
	struct built built = begin("cudaMalloc3D");

	start(GT_BY_STACK);
	pass_bytes(&built, "extent", (uint64_t[]){64, 4, 3}, 24);
	point(&built, "pitchedDevPtr", (uint64_t[]){0x5000, 512, 64, 4}, 32);
	returns(&built, 0);
	look();
	CHECK_INT(count, 1);
	CHECK_INT(rows[0].bytes, 64 * 4 * 3);
	cuda_free(0x5000);
	expect_totals(0, 0, 0, 0);
}

TEST("an array counts its elements, all levels of a mipmapped one")
{
	struct built array = begin("cudaMallocArray"),
		     mipmapped = begin("cudaMallocMipmappedArray");
	struct built driver = begin("cuArrayCreate_v2");
	struct {
		uint64_t width, height;
		uint32_t format, channels;
	} descriptor = {32, 8, 0x20, 2};

	start(GT_BY_STACK);
	point(&array, "desc", (int32_t[]){8, 8, 8, 8, 1}, 20);
	pass(&array, "width", 16);
	pass(&array, "height", 0);
	point(&array, "array", &(uint64_t){0xa1}, 8);
	returns(&array, 0);
	look();
	CHECK_INT(rows[0].bytes, 64);
	CHECK_INT(rows[0].space, GT_SPACE_ARRAY);
	call_with("cudaFreeArray", "array", 0xa1, 0);

	point(&mipmapped, "desc", (int32_t[]){32, 0, 0, 0, 2}, 20);
	pass_bytes(&mipmapped, "extent", (uint64_t[]){8, 4, 0}, 24);
	pass(&mipmapped, "numLevels", 3);
	point(&mipmapped, "mipmappedArray", &(uint64_t){0xa2}, 8);
	returns(&mipmapped, 0);
	look();
	CHECK_INT(rows[0].bytes, (32 + 8 + 2) * 4);
	call_with("cudaFreeMipmappedArray", "mipmappedArray", 0xa2, 0);

	point(&driver, "pAllocateArray", &descriptor, sizeof(descriptor));
	point(&driver, "pHandle", &(uint64_t){0xa3}, 8);
	returns(&driver, 0);
	look();
	CHECK_INT(rows[0].bytes, 32 * 8 * 4 * 2);
	call_with("cuArrayDestroy", "hArray", 0xa3, 0);
	expect_totals(0, 0, 0, 0);
}

TEST("a release of memory freed before is reported, and one of a pointer from nowhere")
{
	start(GT_BY_STACK);
	cuda_malloc(0x1000, 64);
	cuda_free(0x1000);
	call_with("cudaFree", "devPtr", 0x1000, 1);
	call_with("cudaFree", "devPtr", 0x1000, 1);
	call_with("cudaFree", "devPtr", 0x12345678, 1);
	CHECK_INT(process_at(0)->freed_twice, 2);
	CHECK_INT(process_at(0)->freed_foreign, 1);
	CHECK_INT(process_at(0)->use[GT_SPACE_DEVICE].frees, 1);
}

TEST("a release that fails leaves the memory where it is")
{
	start(GT_BY_STACK);
	cuda_malloc(0x1000, 64);
	call_with("cudaFree", "devPtr", 0x1000, 700);
	call_with("cudaFree", "devPtr", 0x2000, 700); /* says nothing of that pointer */
	expect_totals(1, 0, 0, 0);
	CHECK_INT(process_at(0)->free_failed, 2);
	CHECK_INT(process_at(0)->freed_foreign, 0);
}

TEST("a release of memory that was allocated before the tracing is neither leak nor error")
{
	start(GT_BY_STACK);
	cuda_free(0x1000);
	expect_totals(0, 0, 0, 0);
	CHECK_INT(process_at(0)->freed_unseen, 1);
	CHECK_INT(process_at(0)->freed_foreign, 0);
}

TEST("the driver's call inside of the runtime's is not counted again")
{
	start(GT_BY_STACK);
	stream.depth = 1;
	allocate("cuMemAlloc_v2", "bytesize", 0x1000, 512, 0);
	enclose();
	stream.stack = 0xabc;
	cuda_malloc(0x1000, 500);
	reset_times();
	expect_totals(1, 0, 0, 0);
	CHECK_INT(rows[0].bytes, 500);
	CHECK_INT(rows[0].group.number, 0xabc);
	stream.depth = 1;
	call_with("cuMemFree_v2", "dptr", 0x1000, 0);
	enclose();
	cuda_free(0x1000);
	expect_totals(0, 0, 0, 0);
	CHECK_INT(process_at(0)->use[GT_SPACE_DEVICE].allocations, 1);
	CHECK_INT(process_at(0)->use[GT_SPACE_DEVICE].frees, 1);
	CHECK_INT(process_at(0)->freed_unseen, 0);
}

TEST("an allocation inside of a call that means something else counts on its own")
{
	start(GT_BY_STACK);
	stream.depth = 1;
	allocate("cuMemAlloc_v2", "bytesize", 0x1000, 512, 0);
	enclose();
	call_with("cudaSetDevice", "device", 0, 0);
	expect_totals(1, 0, 0, 0);
}

TEST("an allocation inside of a call whose record was lost counts on its own")
{
	start(GT_BY_STACK);
	stream.depth = 1;
	allocate("cuMemAlloc_v2", "bytesize", 0x1000, 512, 0);
	expect_totals(0, 0, 0, 0);
	stream.depth = 0;
	cuda_malloc(0x2000, 100); /* began after that one had returned */
	expect_totals(2, 0, 0, 0);
}

TEST("an address given out again before its free was seen belongs to both allocations in turn")
{
	start(GT_BY_STACK);
	cuda_malloc(0x1000, 64);
	stream.thread = 101;
	cuda_malloc(0x1000, 32); /* while thread 100 frees the first */
	look();
	CHECK_INT(totals.bytes[GT_LEAK_LIVE], 32);
	CHECK_INT(process_at(0)->replaced, 1);
	stream.thread = 100;
	stream.duration = 5000;
	stream.gap = 0;
	stream.now -= 4000;
	cuda_free(0x1000); /* began before the second allocation returned */
	CHECK_INT(process_at(0)->replaced, 0);
	CHECK_INT(process_at(0)->use[GT_SPACE_DEVICE].frees, 1);
	expect_totals(1, 0, 0, 0);
	stream.duration = 1000;
	stream.gap = 1000;
	cuda_free(0x1000);
	expect_totals(0, 0, 0, 0);
	CHECK_INT(process_at(0)->use[GT_SPACE_DEVICE].frees, 2);
	CHECK_INT(process_at(0)->freed_unseen, 0);
}

TEST("an address that comes again, without any release, is counted as one whose release was not "
     "seen")
{
	start(GT_BY_STACK);
	cuda_malloc(0x1000, 64);
	cuda_malloc(0x1000, 64);
	cuda_free(0x1000);
	session_ends();
	expect_totals(0, 0, 0, 0);
	CHECK_INT(process_at(0)->replaced, 1);
	CHECK_INT(process_at(0)->use[GT_SPACE_DEVICE].frees, 1);
	CHECK_INT(process_at(0)->use[GT_SPACE_DEVICE].current, 0);
}

TEST("a release that began before an allocation returned is not of that allocation")
{
	start(GT_BY_STACK);
	cuda_malloc(0x1000, 64); /* what was there before was not seen */
	stream.gap = 0;
	stream.duration = 5000;
	stream.now -= 4000;
	cuda_free(0x1000);
	expect_totals(1, 0, 0, 0);
	CHECK_INT(process_at(0)->freed_unseen, 1);
}

TEST("a reset of the device frees its allocations, and is shown with them")
{
	start(GT_BY_STACK);
	stream.device = 0;
	cuda_malloc(0x1000, 64);
	stream.device = 1;
	cuda_malloc(0x2000, 32);
	stream.device = 0;
	call_with("cudaDeviceReset", NULL, 0, 0);
	expect_totals(1, 0, 1, 0);
	CHECK_INT(totals.bytes[GT_LEAK_RESET], 64);
	ends(100);
	expect_totals(0, 1, 1, 0);
	CHECK_INT(totals.bytes[GT_LEAK_EXIT], 32);
}

TEST("a reset that fails frees nothing")
{
	start(GT_BY_STACK);
	cuda_malloc(0x1000, 64);
	call_with("cudaDeviceReset", NULL, 0, 700);
	expect_totals(1, 0, 0, 0);
}

TEST("the end of a context frees what was allocated while it was current, and nothing else")
{
	struct built create = begin("cuCtxCreate_v2");

	start(GT_BY_STACK);
	allocate("cuMemAlloc_v2", "bytesize", 0x1000, 1, 0); /* in the primary context */
	point(&create, "pctx", &(uint64_t){0xc0}, 8);
	returns(&create, 0);
	allocate("cuMemAlloc_v2", "bytesize", 0x2000, 2, 0);
	call_with("cuCtxPushCurrent_v2", "ctx", 0xc1, 0);
	allocate("cuMemAlloc_v2", "bytesize", 0x3000, 4, 0);
	call_with("cuCtxPopCurrent_v2", NULL, 0, 0);
	allocate("cuMemAlloc_v2", "bytesize", 0x4000, 8, 0);
	stream.thread = 101; /* in which it is not current */
	allocate("cuMemAlloc_v2", "bytesize", 0x5000, 16, 0);
	stream.thread = 100;
	call_with("cuCtxDestroy_v2", "ctx", 0xc0, 0);
	expect_totals(3, 0, 0, 2);
	CHECK_INT(totals.bytes[GT_LEAK_CONTEXT], 2 + 8);
	CHECK_INT(totals.bytes[GT_LEAK_LIVE], 1 + 4 + 16);
}

TEST("a primary context by its handle is the runtime's")
{
	struct built retain = begin("cuDevicePrimaryCtxRetain");

	start(GT_BY_STACK);
	pass(&retain, "dev", 0);
	point(&retain, "pctx", &(uint64_t){0xc0}, 8);
	returns(&retain, 0);
	call_with("cuCtxSetCurrent", "ctx", 0xc0, 0);
	allocate("cuMemAlloc_v2", "bytesize", 0x1000, 64, 0);
	call_with("cudaDeviceReset", NULL, 0, 0);
	expect_totals(0, 0, 1, 0);
}

static void retain_primary(void)
{
	struct built retain = begin("cuDevicePrimaryCtxRetain");

	pass(&retain, "dev", 0);
	point(&retain, "pctx", &(uint64_t){0xc0}, 8);
	returns(&retain, 0);
}

TEST("the last release of a primary context frees its allocations")
{
	start(GT_BY_STACK);
	retain_primary();
	retain_primary();
	call_with("cuCtxSetCurrent", "ctx", 0xc0, 0);
	allocate("cuMemAlloc_v2", "bytesize", 0x1000, 64, 0);
	call_with("cuDevicePrimaryCtxRelease_v2", "dev", 0, 0);
	expect_totals(1, 0, 0, 0);
	call_with("cuDevicePrimaryCtxRelease_v2", "dev", 1, 0);
	expect_totals(1, 0, 0, 0);
	call_with("cuDevicePrimaryCtxRelease_v2", "dev", 0, 0);
	expect_totals(0, 0, 0, 1);
}

TEST("a primary context that the runtime API or somebody unseen has retained, too, stays")
{
	start(GT_BY_STACK);
	retain_primary();
	cuda_malloc(0x1000, 64);
	call_with("cuDevicePrimaryCtxRelease_v2", "dev", 0, 0);
	expect_totals(1, 0, 0, 0);
	start(GT_BY_STACK);
	allocate("cuMemAlloc_v2", "bytesize", 0x1000, 64, 0);
	call_with("cuDevicePrimaryCtxRelease_v2", "dev", 0, 0);
	expect_totals(1, 0, 0, 0);
}

static void map(uint64_t address, uint64_t bytes, uint64_t handle)
{
	struct built built = begin("cuMemMap");

	pass(&built, "ptr", address);
	pass(&built, "size", bytes);
	pass(&built, "offset", 0);
	pass(&built, "handle", handle);
	pass(&built, "flags", 0);
	returns(&built, 0);
}

static void unmap(uint64_t address, uint64_t bytes)
{
	struct built built = begin("cuMemUnmap");

	pass(&built, "ptr", address);
	pass(&built, "size", bytes);
	returns(&built, 0);
}

TEST("physical memory stays until it is released and no longer mapped")
{
	start(GT_BY_STACK);
	allocate("cuMemCreate", "size", 7, 4096, 0);
	allocate("cuMemCreate", "size", 8, 4096, 0);
	map(0x10000, 4096, 7);
	map(0x11000, 4096, 8);
	call_with("cuMemRelease", "handle", 7, 0);
	expect_totals(2, 0, 0, 0);
	unmap(0x10000, 8192);
	expect_totals(1, 0, 0, 0);
	call_with("cuMemRelease", "handle", 8, 0);
	expect_totals(0, 0, 0, 0);
	call_with("cuMemRelease", "handle", 8, 1);
	CHECK_INT(process_at(0)->freed_twice, 1);
	CHECK_INT(process_at(0)->use[GT_SPACE_PHYSICAL].frees, 2);
}

TEST("physical memory that was imported is another process's and no leak")
{
	struct built import = begin("cuMemImportFromShareableHandle");

	start(GT_BY_STACK);
	point(&import, "handle", &(uint64_t){9}, 8);
	returns(&import, 0);
	map(0x10000, 4096, 9);
	ends(100);
	expect_totals(0, 0, 0, 0);
}

TEST("the end of a process leaves what others have")
{
	start(GT_BY_PROCESS);
	cuda_malloc(0x1000, 64);
	switch_process(200, "serve");
	cuda_malloc(0x1000, 32);
	ends(100);
	expect_totals(1, 1, 0, 0);
	CHECK_INT(rows[0].bytes, 64);
	CHECK_STR(rows[0].process_name, "train");
	CHECK_INT(rows[1].group.process, 200);
	/* Another process may get the number. */
	switch_process(100, "again");
	cuda_malloc(0x1000, 8);
	ends(100);
	look();
	CHECK_INT(count, 3);
	CHECK_STR(rows[2].process_name, "again");
}

TEST("rows by size gather what has as many bytes, and rows by age what is live as long")
{
	start(GT_BY_SIZE);
	for (uint64_t i = 1; i <= 10; i++)
		cuda_malloc(i * 0x10000, i % 2 ? 100 : 5000);
	look();
	CHECK_INT(count, 2);
	CHECK_INT(rows[0].group.number, 5000);
	CHECK_INT(rows[0].count, 5);
	CHECK(!rows[0].function);

	start(GT_BY_AGE);
	cuda_malloc(0x1000, 1);
	stream.now += 30000000000;
	cuda_malloc(0x2000, 2);
	look();
	CHECK_INT(count, 2);
	CHECK_STR(gt_age_name((unsigned)rows[0].group.number), "< 1 s");
	CHECK_STR(gt_age_name((unsigned)rows[1].group.number), "10 s - 1 min");
}

TEST("rows by device show whose memory is live, of each process")
{
	start(GT_BY_DEVICE);
	cuda_malloc(0x1000, 10);
	stream.device = 1;
	cuda_malloc(0x2000, 30);
	cuda_malloc(0x3000, 30);
	look();
	CHECK_INT(count, 2);
	CHECK_INT(rows[0].group.device, 1);
	CHECK_INT(rows[0].bytes, 60);
	CHECK_INT(rows[1].group.device, 0);
	CHECK_INT(rows[1].group.process, 100);
}

TEST("rows by context show which context was current")
{
	start(GT_BY_CONTEXT);
	stream.context = 1;
	cuda_malloc(0x1000, 10);
	stream.context = 2;
	cuda_malloc(0x2000, 30);
	cuda_malloc(0x3000, 30);
	look();
	CHECK_INT(count, 2);
	CHECK_INT(rows[0].group.number, 2);
	CHECK_INT(rows[0].bytes, 60);
	CHECK_INT(rows[1].group.number, 1);
}

TEST("a process's current and greatest use are reported by kind of memory, and its calls' times")
{
	const struct gt_memory_process *process;

	start(GT_BY_STACK);
	cuda_malloc(0x1000, 1000);
	stream.duration = 9000;
	cuda_malloc(0x2000, 500);
	allocate("cudaMallocHost", "size", 0x7000, 4000, 0);
	cuda_free(0x1000);
	cuda_malloc(0x1000, 100);
	process = process_at(0);
	CHECK_INT(process->use[GT_SPACE_DEVICE].current, 600);
	CHECK_INT(process->use[GT_SPACE_DEVICE].peak, 1500);
	CHECK_INT(process->use[GT_SPACE_DEVICE].allocated_bytes, 1600);
	CHECK_INT(process->use[GT_SPACE_HOST].current, 4000);
	CHECK_INT(process->peak, 1500);
	CHECK_INT(process->latency.count, 4);
	CHECK_INT(process->latency.min, 1000);
	CHECK_INT(process->latency.max, 9000);
}

TEST("an allocation whose address could not be read is reported, and no leak")
{
	struct built built = begin("cudaMalloc");

	start(GT_BY_STACK);
	pass(&built, "size", 64);
	returns(&built, 0);
	expect_totals(0, 0, 0, 0);
	CHECK_INT(process_at(0)->untracked, 1);
}

TEST("a hundred thousand live allocations are reported one by one")
{
	start(GT_BY_SIZE);
	for (uint64_t i = 1; i <= 100000; i++)
		cuda_malloc(i * 512, 512);
	for (uint64_t i = 2; i <= 100000; i += 2)
		cuda_free(i * 512);
	expect_totals(50000, 0, 0, 0);
	CHECK_INT(rows[0].count, 50000);
	CHECK_INT(rows[0].bytes, 50000 * 512);
	gt_leaks_free(leaks);
	leaks = NULL;
	gt_names_free(stream.names);
	stream.names = NULL;
}

TEST_MAIN
