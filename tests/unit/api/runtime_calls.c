/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Decoded calls of the runtime API. */
#include "api_record.h"

TEST("cudaMalloc shows its size, then its result and the address that it returned")
{
	struct built call = begin("cudaMalloc");
	uint64_t pointer = 0x7f1234568000;

	pass(&call, "devPtr", 0x7ffc00001000);
	pass(&call, "size", 4000);
	CHECK_STR(details(&call), "size=4000 bytes");
	CHECK_STR(arguments(&call), "size=4000");
	CHECK_STR(json(&call), "{\"devPtr\":null,\"size\":4000}");
	back(&call, 0);
	point(&call, "devPtr", &pointer, sizeof(pointer));
	CHECK_STR(details(&call), "returned=Success devPtr=0x7f1234568000");
	CHECK_STR(arguments(&call), "devPtr=0x7f1234568000, size=4000");
	CHECK_STR(json(&call), "{\"devPtr\":\"0x7f1234568000\",\"size\":4000}");
}

TEST("a failed cudaMalloc gives nothing back, whatever the record holds")
{
	struct built call = begin("cudaMalloc");
	uint64_t pointer = 0x7f1234568000;

	pass(&call, "size", 4000);
	back(&call, 2);
	point(&call, "devPtr", &pointer, sizeof(pointer));
	CHECK_STR(details(&call), "returned=MemoryAllocation");
	CHECK_STR(arguments(&call), "size=4000");
	CHECK_STR(json(&call), "{\"devPtr\":null,\"size\":4000}");
}

TEST("an abandoned call is unfinished and has no result")
{
	struct built call = begin("cudaMalloc");
	uint64_t pointer = 0x7f1234568000;

	pass(&call, "size", 4000);
	back(&call, 0);
	point(&call, "devPtr", &pointer, sizeof(pointer));
	call.call.state = GT_CALL_UNFINISHED;
	CHECK_STR(details(&call), "unfinished");
	CHECK_STR(json(&call), "{\"devPtr\":null,\"size\":4000}");
}

TEST("cudaMallocPitch shows the pitch that it chose")
{
	struct built call = begin("cudaMallocPitch");
	uint64_t pointer = 0x7f1234568000, pitch = 512;

	pass(&call, "width", 400);
	pass(&call, "height", 10);
	CHECK_STR(details(&call), "width=400 bytes height=10");
	back(&call, 0);
	point(&call, "devPtr", &pointer, sizeof(pointer));
	point(&call, "pitch", &pitch, sizeof(pitch));
	CHECK_STR(details(&call), "returned=Success devPtr=0x7f1234568000 pitch=512");
}

TEST("cudaMalloc3D takes its extent by value and gives a pitched pointer back")
{
	struct built call = begin("cudaMalloc3D");
	uint64_t extent[] = {64, 32, 2}, pitched[] = {0x7f1234568000, 512, 64, 32}, bytes;

	pass_bytes(&call, "extent", extent, sizeof(extent));
	CHECK_STR(details(&call), "extent=64x32x2");
	CHECK(gt_call_bytes(decoded(&call), &bytes));
	CHECK_INT(bytes, 64 * 32 * 2);
	back(&call, 0);
	point(&call, "pitchedDevPtr", pitched, sizeof(pitched));
	CHECK_STR(json(&call), "{\"pitchedDevPtr\":{\"ptr\":\"0x7f1234568000\",\"pitch\":512,"
			       "\"xsize\":64,\"ysize\":32},"
			       "\"extent\":{\"width\":64,\"height\":32,\"depth\":2}}");
}

TEST("cudaHostAlloc and cudaMallocManaged show their flags by name")
{
	struct built host = begin("cudaHostAlloc"), managed = begin("cudaMallocManaged");

	pass(&host, "size", 16);
	pass(&host, "flags", 5);
	CHECK_STR(details(&host),
		  "size=16 bytes flags=cudaHostAllocPortable|cudaHostAllocWriteCombined");
	pass(&host, "flags", 0);
	CHECK_STR(details(&host), "size=16 bytes flags=cudaHostAllocDefault");
	pass(&host, "flags", 0x1001);
	CHECK_STR(details(&host), "size=16 bytes flags=cudaHostAllocPortable|0x1000");
	pass(&managed, "size", 16);
	pass(&managed, "flags", 1);
	CHECK_STR(json(&managed),
		  "{\"devPtr\":null,\"size\":16,\"flags\":\"cudaMemAttachGlobal\"}");
}

TEST("cudaFree shows the address")
{
	struct built call = begin("cudaFree"), later = begin("cudaFreeAsync");

	pass(&call, "devPtr", 0x7f1234568000);
	CHECK_STR(details(&call), "ptr=0x7f1234568000");
	CHECK_STR(arguments(&call), "devPtr=0x7f1234568000");
	CHECK_STR(json(&call), "{\"devPtr\":\"0x7f1234568000\"}");
	back(&call, 0);
	CHECK_STR(details(&call), "returned=Success");
	pass(&later, "devPtr", 0x7f1234568000);
	pass(&later, "hStream", 0x55aa00);
	CHECK_STR(details(&later), "ptr=0x7f1234568000 stream=0x55aa00");
}

TEST("the default streams are distinguished: the legacy one, the thread's own, and what 0 means")
{
	struct built call = begin("cudaFreeAsync"), config = begin("cudaLaunchKernelExC");
	uint64_t launch[8] = {[4] = 0};

	pass(&call, "devPtr", 0x7f1234568000);
	pass(&call, "hStream", 0);
	CHECK_STR(details(&call), "ptr=0x7f1234568000 stream=0x0");
	call.call.state = GT_CALL_PER_THREAD;
	CHECK_STR(details(&call), "ptr=0x7f1234568000 stream=per-thread");
	CHECK_STR(arguments(&call), "devPtr=0x7f1234568000, hStream=per-thread");
	CHECK_STR(json(&call), "{\"devPtr\":\"0x7f1234568000\",\"hStream\":\"per-thread\"}");
	pass(&call, "hStream", 1);
	CHECK_STR(details(&call), "ptr=0x7f1234568000 stream=legacy");
	pass(&call, "hStream", 0x55aa00);
	CHECK_STR(details(&call), "ptr=0x7f1234568000 stream=0x55aa00");
	point(&config, "config", launch, sizeof(launch));
	CHECK(strstr(json(&config), "\"stream\":\"0x0\""));
	config.call.state = GT_CALL_PER_THREAD;
	CHECK(strstr(json(&config), "\"stream\":\"per-thread\""));
	CHECK(strstr(details(&config), " stream=per-thread"));
	call = begin("cudaMemset");
	pass(&call, "devPtr", 0x7f1234568000);
	pass(&call, "value", 0);
	pass(&call, "count", 64);
	CHECK(!strstr(details(&call), "stream"));
	call.call.state = GT_CALL_PER_THREAD;
	CHECK(strstr(details(&call), "size=64 bytes stream=per-thread"));
}

TEST("a function's variants are known by their names")
{
	CHECK(gt_api_is_per_thread("cudaMemcpyAsync_ptsz"));
	CHECK(gt_api_is_per_thread("cuMemcpyHtoD_v2_ptds"));
	CHECK(!gt_api_is_per_thread("cudaMemcpyAsync"));
	CHECK(!gt_api_is_per_thread("cuMemcpyHtoD_v2"));
	CHECK(!gt_api_is_per_thread("_ptsz"));
}

TEST("cudaMemcpy shows its size, its direction in short, and both ends")
{
	static const char *const kinds[] = {"H2H", "H2D", "D2H", "D2D", "default"};

	for (unsigned kind = 0; kind < gt_countof(kinds); kind++) {
		struct built call = begin("cudaMemcpy");
		char expected[128];

		pass(&call, "dst", 0x7f1234568000);
		pass(&call, "src", 0x55aa00001000);
		pass(&call, "count", 4000);
		pass(&call, "kind", kind);
		snprintf(expected, sizeof(expected),
			 "size=4000 bytes kind=%s dst=0x7f1234568000 src=0x55aa00001000",
			 kinds[kind]);
		CHECK_STR(details(&call), expected);
		snprintf(expected, sizeof(expected), "%u", kind);
		CHECK_INT(gt_call_direction(decoded(&call)), kind);
	}
}

TEST("a copy's arguments have the names of the header")
{
	struct built call = begin("cudaMemcpyAsync");

	pass(&call, "dst", 0x7f1234568000);
	pass(&call, "src", 0x55aa00001000);
	pass(&call, "count", 4000);
	pass(&call, "kind", 1);
	pass(&call, "stream", 0);
	CHECK_STR(details(&call),
		  "size=4000 bytes kind=H2D stream=0x0 dst=0x7f1234568000 src=0x55aa00001000");
	CHECK_STR(arguments(&call), "dst=0x7f1234568000, src=0x55aa00001000, count=4000, "
				    "kind=H2D, stream=0x0");
	CHECK_STR(json(&call), "{\"dst\":\"0x7f1234568000\",\"src\":\"0x55aa00001000\","
			       "\"count\":4000,\"kind\":\"H2D\",\"stream\":\"0x0\"}");
}

TEST("a direction that does not exist is its number")
{
	struct built call = begin("cudaMemcpy");

	pass(&call, "dst", 1);
	pass(&call, "src", 2);
	pass(&call, "count", 3);
	pass(&call, "kind", 77);
	CHECK_STR(details(&call), "size=3 bytes kind=77 dst=0x1 src=0x2");
	CHECK_STR(json(&call), "{\"dst\":\"0x1\",\"src\":\"0x2\",\"count\":3,\"kind\":77}");
	CHECK_INT(gt_call_direction(decoded(&call)), -1);
}

TEST("cudaMemcpy2D's bytes are its width times its height")
{
	struct built call = begin("cudaMemcpy2D");
	uint64_t bytes;

	pass(&call, "dst", 0x7f1234568000);
	pass(&call, "dpitch", 512);
	pass(&call, "src", 0x55aa00001000);
	pass(&call, "spitch", 400);
	pass(&call, "width", 400);
	pass(&call, "height", 10);
	pass(&call, "kind", 2);
	CHECK_STR(details(&call),
		  "width=400 bytes height=10 kind=D2H dst=0x7f1234568000 src=0x55aa00001000");
	CHECK(gt_call_bytes(decoded(&call), &bytes));
	CHECK_INT(bytes, 4000);
}

TEST("cudaMemcpyToSymbol shows size and direction")
{
	struct built call = begin("cudaMemcpyToSymbol");

	pass(&call, "symbol", 0x404040);
	pass(&call, "src", 0x55aa00001000);
	pass(&call, "count", 64);
	pass(&call, "offset", 0);
	pass(&call, "kind", 1);
	CHECK_STR(details(&call), "size=64 bytes kind=H2D src=0x55aa00001000");
}

TEST("cudaMemcpyPeer goes from device to device")
{
	struct built call = begin("cudaMemcpyPeer");

	pass(&call, "dst", 0x7f1234568000);
	pass(&call, "dstDevice", 1);
	pass(&call, "src", 0x7f2234568000);
	pass(&call, "srcDevice", 0);
	pass(&call, "count", 64);
	CHECK_STR(details(&call), "size=64 bytes kind=D2D dst=0x7f1234568000 src=0x7f2234568000");
	CHECK_INT(gt_call_direction(decoded(&call)), 3);
}

/* struct cudaMemcpy3DParms as the runtime reads it. */
struct parms3d {
	uint64_t source_array, source_position[3], source[4];
	uint64_t target_array, target_position[3], target[4];
	uint64_t extent[3];
	uint32_t kind, padding;
};

TEST("cudaMemcpy3D shows the extent and the kind that its structure holds")
{
	struct built call = begin("cudaMemcpy3D");
	struct parms3d parms = {.source = {0x55aa00001000, 64, 64, 32},
				.target = {0x7f1234568000, 512, 64, 32},
				.extent = {64, 32, 2},
				.kind = 1};
	uint64_t bytes;

	pass(&call, "p", 0x7ffc00002000);
	CHECK_STR(details(&call), "p=0x7ffc00002000");
	CHECK_INT(gt_call_direction(decoded(&call)), -1);
	CHECK(!gt_call_bytes(decoded(&call), &bytes));
	point(&call, "p", &parms, sizeof(parms));
	CHECK_STR(details(&call), "extent=64x32x2 kind=H2D");
	CHECK_INT(gt_call_direction(decoded(&call)), 1);
	CHECK(gt_call_bytes(decoded(&call), &bytes));
	CHECK_INT(bytes, 4096);
	CHECK_STR(json(&call),
		  "{\"p\":{\"srcArray\":\"0x0\",\"srcPos\":[0,0,0],\"srcPtr\":{\"ptr\":"
		  "\"0x55aa00001000\",\"pitch\":64,\"xsize\":64,\"ysize\":32},\"dstArray\":\"0x0\","
		  "\"dstPos\":[0,0,0],\"dstPtr\":{\"ptr\":\"0x7f1234568000\",\"pitch\":512,"
		  "\"xsize\":64,\"ysize\":32},\"extent\":{\"width\":64,\"height\":32,\"depth\":2},"
		  "\"kind\":\"H2D\"}}");
	parms.target_array = 0x55bb00;
	point(&call, "p", &parms, sizeof(parms));
	CHECK(!gt_call_bytes(decoded(&call), &bytes)); /* elements, not bytes */
}

TEST("cudaMemset shows address, value and size")
{
	struct built call = begin("cudaMemset"), big = begin("cudaMemset3D");
	uint64_t pitched[] = {0x7f1234568000, 512, 64, 32}, extent[] = {64, 32, 2}, bytes;

	pass(&call, "devPtr", 0x7f1234568000);
	pass(&call, "value", (uint32_t)-1);
	pass(&call, "count", 4096);
	CHECK_STR(details(&call), "ptr=0x7f1234568000 value=-1 size=4096 bytes");
	pass_bytes(&big, "pitchedDevPtr", pitched, sizeof(pitched));
	pass(&big, "value", 0);
	pass_bytes(&big, "extent", extent, sizeof(extent));
	CHECK_STR(details(&big), "ptr=0x7f1234568000 value=0 extent=64x32x2");
	CHECK(gt_call_bytes(decoded(&big), &bytes));
	CHECK_INT(bytes, 4096);
}

TEST("a launch shows function, grid, block, shared memory and stream")
{
	struct built call = begin("cudaLaunchKernel");

	pass(&call, "func", 0x401136);
	pass_launch(&call);
	CHECK_STR(details(&call), "func=0x401136 grid=4x1x1 block=256x2x1 shared=1024 stream=0x0");
	CHECK_STR(arguments(&call), "func=0x401136, gridDim=4x1x1, blockDim=256x2x1, "
				    "args=0x7ffc00003000, sharedMem=1024, stream=0x0");
	CHECK_STR(json(&call),
		  "{\"func\":\"0x401136\",\"gridDim\":[4,1,1],\"blockDim\":[256,2,1],"
		  "\"args\":\"0x7ffc00003000\",\"sharedMem\":1024,\"stream\":\"0x0\"}");
	back(&call, 9);
	CHECK_STR(details(&call), "returned=InvalidConfiguration");
}

TEST("CUDA 13's launch and the cooperative one look the same")
{
	struct built thirteen = begin("__cudaLaunchKernel_ptsz");
	struct built cooperative = begin("cudaLaunchCooperativeKernel");

	pass(&thirteen, "kernel", 0x55cc00);
	pass_launch(&thirteen);
	CHECK_STR(details(&thirteen),
		  "func=0x55cc00 grid=4x1x1 block=256x2x1 shared=1024 stream=0x0");
	pass(&cooperative, "func", 0x401136);
	pass_launch(&cooperative);
	CHECK_STR(details(&cooperative),
		  "func=0x401136 grid=4x1x1 block=256x2x1 shared=1024 stream=0x0");
}

TEST("a launch in threads has the blocks that they make")
{
	static const char *const names[] = {"globalWorkSizeX", "globalWorkSizeY", "globalWorkSizeZ",
					    "localWorkSizeX",  "localWorkSizeY",  "localWorkSizeZ"};
	static const uint64_t numbers[] = {1000, 4, 1, 256, 2, 1};
	struct built built = begin("hipExtModuleLaunchKernel");
	struct gt_call_launch launch;

	for (size_t i = 0; i < gt_countof(names); i++)
		pass(&built, names[i], numbers[i]);
	pass(&built, "sharedMemBytes", 64);
	CHECK(gt_call_launch(decoded(&built), &launch));
	CHECK_INT(launch.grid[0], 4);
	CHECK_INT(launch.grid[1], 2);
	CHECK_INT(launch.grid[2], 1);
	CHECK_INT(launch.block[0], 256);
	CHECK_INT(launch.block[1], 2);
	CHECK_INT(launch.shared, 64);
}

TEST("an extended launch shows what its configuration holds")
{
	struct built runtime = begin("cudaLaunchKernelExC"), driver = begin("cuLaunchKernelEx");
	struct launch_config config = {{4, 2, 1}, {256, 1, 1}, 128, 0x55aa00, 0, 0, 0};

	pass(&runtime, "config", 0x7ffc00004000);
	pass(&runtime, "func", 0x401136);
	pass(&runtime, "args", 0x7ffc00003000);
	CHECK_STR(details(&runtime), "config=0x7ffc00004000 func=0x401136");
	point(&runtime, "config", &config, sizeof(config));
	CHECK_STR(details(&runtime),
		  "grid=4x2x1 block=256x1x1 shared=128 stream=0x55aa00 func=0x401136");
	pass(&driver, "config", 0x7ffc00004000);
	pass(&driver, "f", 0x55cc00);
	point(&driver, "config", &config, sizeof(config));
	CHECK_STR(details(&driver),
		  "grid=4x2x1 block=256x1x1 shared=128 stream=0x55aa00 func=0x55cc00");
}

TEST("streams and events are shown by handle, flags by name")
{
	struct built stream = begin("cudaStreamCreateWithFlags");
	struct built event = begin("cudaEventCreateWithFlags");
	struct built wait = begin("cudaStreamWaitEvent"), time = begin("cudaEventElapsedTime");
	uint64_t handle = 0x55aa00;
	float ms = 1.5f;

	pass(&stream, "flags", 1);
	CHECK_STR(details(&stream), "flags=cudaStreamNonBlocking");
	back(&stream, 0);
	point(&stream, "pStream", &handle, sizeof(handle));
	CHECK_STR(details(&stream), "returned=Success pStream=0x55aa00");
	pass(&event, "flags", 3);
	CHECK_STR(details(&event), "flags=cudaEventBlockingSync|cudaEventDisableTiming");
	pass(&wait, "stream", 0x55aa00);
	pass(&wait, "event", 0x55bb00);
	pass(&wait, "flags", 0);
	CHECK_STR(details(&wait), "stream=0x55aa00 event=0x55bb00 flags=cudaEventWaitDefault");
	pass(&time, "start", 0x1000);
	pass(&time, "end", 0x2000);
	CHECK_STR(details(&time), "start=0x1000 end=0x2000");
	back(&time, 0);
	point(&time, "ms", &ms, sizeof(ms));
	CHECK_STR(details(&time), "returned=Success ms=1.5");
	CHECK_STR(json(&time), "{\"ms\":1.5,\"start\":\"0x1000\",\"end\":\"0x2000\"}");
}

TEST("cudaGetDevice gives a number back that is 32 bits wide")
{
	struct built call = begin("cudaGetDevice"), set = begin("cudaSetDevice");
	uint64_t device = 0xffffffff00000003, number;

	back(&call, 0);
	point(&call, "device", &device, 4);
	CHECK_STR(details(&call), "returned=Success device=3");
	CHECK(gt_call_number(decoded(&call), 0, &number));
	CHECK_INT(number, 3);
	pass(&set, "device", 1);
	CHECK_STR(details(&set), "device=1");
}

TEST("attributes of devices are shown by name")
{
	struct built call = begin("cudaDeviceGetAttribute");

	pass(&call, "attr", 16);
	pass(&call, "device", 0);
	CHECK_STR(details(&call), "attr=cudaDevAttrMultiProcessorCount device=0");
}

TEST("functions without arguments show nothing, and return")
{
	struct built call = begin("cudaDeviceSynchronize"),
		     internal = begin("__cudaRegisterFatBinaryEnd");

	CHECK_STR(details(&call), "");
	CHECK_STR(arguments(&call), "");
	CHECK_STR(json(&call), "{}");
	back(&call, 719);
	CHECK_STR(details(&call), "returned=LaunchFailure");
	pass(&internal, "fatCubinHandle", 0x55dd00);
	CHECK_STR(details(&internal), "fatCubinHandle=0x55dd00");
	back(&internal, 77);
	CHECK_STR(details(&internal), "returned");
}

TEST("the launch configuration that is popped is the one that the call returned")
{
	struct built call = begin("__cudaPopCallConfiguration");
	uint64_t shared = 64, stream = 0;

	back(&call, 0);
	point(&call, "gridDim", (uint32_t[]){4, 1, 1}, 12);
	point(&call, "blockDim", (uint32_t[]){256, 1, 1}, 12);
	point(&call, "sharedMem", &shared, sizeof(shared));
	point(&call, "stream", &stream, sizeof(stream));
	CHECK_STR(details(&call), "returned=Success gridDim=4x1x1 blockDim=256x1x1 shared=64 "
				  "stream=0x0");
	CHECK_STR(json(&call), "{\"gridDim\":[4,1,1],\"blockDim\":[256,1,1],\"sharedMem\":64,"
			       "\"stream\":\"0x0\"}");
}

TEST_MAIN
