/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Decoded calls of the driver API. */
#include "api_record.h"

TEST("cuMemAlloc_v2 shows its size and the address that it returned")
{
	struct built call = begin("cuMemAlloc_v2"), release = begin("cuMemFree_v2");
	uint64_t pointer = 0x7f1234568000;

	pass(&call, "bytesize", 4000);
	CHECK_STR(details(&call), "size=4000 bytes");
	back(&call, 0);
	point(&call, "dptr", &pointer, sizeof(pointer));
	CHECK_STR(details(&call), "returned=Success dptr=0x7f1234568000");
	CHECK_STR(json(&call), "{\"dptr\":\"0x7f1234568000\",\"bytesize\":4000}");
	back(&call, 2);
	CHECK_STR(details(&call), "returned=OUT_OF_MEMORY");
	pass(&release, "dptr", pointer);
	CHECK_STR(details(&release), "ptr=0x7f1234568000");
}

TEST("the driver's copies imply their direction by their ends")
{
	static const struct {
		const char *name, *target, *source, *text;
		int direction;
	} copies[] = {
		{"cuMemcpyHtoD_v2", "dstDevice", "srcHost",
		 "size=4000 bytes kind=H2D dst=0x7f1234568000 src=0x55aa00001000", 1},
		{"cuMemcpyDtoH_v2", "dstHost", "srcDevice",
		 "size=4000 bytes kind=D2H dst=0x7f1234568000 src=0x55aa00001000", 2},
		{"cuMemcpyDtoD_v2", "dstDevice", "srcDevice",
		 "size=4000 bytes kind=D2D dst=0x7f1234568000 src=0x55aa00001000", 3},
		{"cuMemcpy", "dst", "src",
		 "size=4000 bytes kind=default dst=0x7f1234568000 src=0x55aa00001000", 4},
	};

	for (size_t i = 0; i < gt_countof(copies); i++) {
		struct built call = begin(copies[i].name);

		pass(&call, copies[i].target, 0x7f1234568000);
		pass(&call, copies[i].source, 0x55aa00001000);
		pass(&call, "ByteCount", 4000);
		CHECK_STR(details(&call), copies[i].text);
		CHECK_INT(gt_call_direction(decoded(&call)), copies[i].direction);
	}
}

TEST("an asynchronous driver copy shows its stream before its ends")
{
	struct built call = begin("cuMemcpyDtoHAsync_v2");

	pass(&call, "dstHost", 0x55aa00001000);
	pass(&call, "srcDevice", 0x7f1234568000);
	pass(&call, "ByteCount", 4000);
	pass(&call, "hStream", 0x55aa00);
	CHECK_STR(details(&call), "size=4000 bytes kind=D2H stream=0x55aa00 "
				  "dst=0x55aa00001000 src=0x7f1234568000");
}

/* CUDA_MEMCPY2D */
struct driver_2d {
	uint64_t source_x, source_y;
	uint32_t source_type, padding1;
	uint64_t source_host, source_device, source_array, source_pitch;
	uint64_t target_x, target_y;
	uint32_t target_type, padding2;
	uint64_t target_host, target_device, target_array, target_pitch;
	uint64_t width, height;
};

TEST("cuMemcpy2D_v2 shows what its structure holds")
{
	struct built call = begin("cuMemcpy2D_v2");
	struct driver_2d copy = {.source_type = 2,
				 .source_device = 0x7f1234568000,
				 .target_type = 1,
				 .target_host = 0x55aa00001000,
				 .width = 400,
				 .height = 10};
	uint64_t bytes;

	pass(&call, "pCopy", 0x7ffc00005000);
	point(&call, "pCopy", &copy, sizeof(copy));
	CHECK_STR(details(&call), "width=400 bytes height=10 kind=D2H");
	CHECK(gt_call_bytes(decoded(&call), &bytes));
	CHECK_INT(bytes, 4000);
	copy.target_type = 4;
	point(&call, "pCopy", &copy, sizeof(copy));
	CHECK_INT(gt_call_direction(decoded(&call)), 4);
}

TEST("a fill's bytes are its elements times the width of its pattern")
{
	struct built bytes = begin("cuMemsetD8_v2"), words = begin("cuMemsetD32_v2");
	struct built rows = begin("cuMemsetD2D16_v2");
	uint64_t size;

	pass(&bytes, "dstDevice", 0x7f1234568000);
	pass(&bytes, "uc", 0xab);
	pass(&bytes, "N", 4096);
	CHECK_STR(details(&bytes), "ptr=0x7f1234568000 value=171 size=4096 bytes");
	CHECK(gt_call_bytes(decoded(&bytes), &size));
	CHECK_INT(size, 4096);
	pass(&words, "dstDevice", 0x7f1234568000);
	pass(&words, "ui", 0xffffffff);
	pass(&words, "N", 1024);
	CHECK_STR(details(&words), "ptr=0x7f1234568000 value=4294967295 count=1024");
	CHECK(gt_call_bytes(decoded(&words), &size));
	CHECK_INT(size, 4096);
	pass(&rows, "dstDevice", 0x7f1234568000);
	pass(&rows, "dstPitch", 512);
	pass(&rows, "us", 7);
	pass(&rows, "Width", 100);
	pass(&rows, "Height", 3);
	CHECK_STR(details(&rows), "ptr=0x7f1234568000 value=7 width=100 height=3");
	CHECK(gt_call_bytes(decoded(&rows), &size));
	CHECK_INT(size, 600);
}

TEST("cuLaunchKernel joins its dimensions")
{
	static const char *const names[] = {"gridDimX",  "gridDimY",  "gridDimZ",
					    "blockDimX", "blockDimY", "blockDimZ"};
	struct built call = begin("cuLaunchKernel");

	pass(&call, "f", 0x55cc00);
	for (unsigned i = 0; i < gt_countof(names); i++)
		pass(&call, names[i], i + 1);
	pass(&call, "sharedMemBytes", 48);
	pass(&call, "hStream", 0x2);
	pass(&call, "kernelParams", 0x7ffc00003000);
	pass(&call, "extra", 0);
	CHECK_STR(details(&call),
		  "func=0x55cc00 grid=1x2x3 block=4x5x6 shared=48 stream=per-thread");
	CHECK_STR(json(&call),
		  "{\"f\":\"0x55cc00\",\"gridDimX\":1,\"gridDimY\":2,\"gridDimZ\":3,"
		  "\"blockDimX\":4,\"blockDimY\":5,\"blockDimZ\":6,\"sharedMemBytes\":48,"
		  "\"hStream\":\"per-thread\",\"kernelParams\":\"0x7ffc00003000\",\"extra\":"
		  "\"0x0\"}");
}

TEST("a driver array shows what its description holds")
{
	struct built call = begin("cuArrayCreate_v2");
	struct {
		uint64_t width, height;
		uint32_t format, channels;
	} description = {64, 32, 0x20, 4};
	uint64_t bytes;

	pass(&call, "pAllocateArray", 0x7ffc00007000);
	point(&call, "pAllocateArray", &description, sizeof(description));
	CHECK_STR(details(&call), "width=64 height=32 format=CU_AD_FORMAT_FLOAT");
	CHECK(!gt_call_bytes(decoded(&call), &bytes)); /* elements, not bytes */
}

TEST("a kernel node of a graph shows its launch")
{
	struct built call = begin("cudaGraphAddKernelNode");
	struct {
		uint64_t function;
		uint32_t grid[3], block[3], shared, padding;
		uint64_t parameters, extra;
	} node = {0x401136, {4, 1, 1}, {256, 1, 1}, 0, 0, 0x7ffc00003000, 0};
	uint64_t handle = 0x55ee00;

	pass(&call, "graph", 0x55ff00);
	pass(&call, "pDependencies", 0);
	pass(&call, "numDependencies", 0);
	pass(&call, "pNodeParams", 0x7ffc00008000);
	point(&call, "pNodeParams", &node, sizeof(node));
	CHECK_STR(details(&call), "graph=0x55ff00 numDependencies=0 "
				  "func=0x401136 grid=4x1x1 block=256x1x1 shared=0");
	back(&call, 0);
	point(&call, "pGraphNode", &handle, sizeof(handle));
	CHECK_STR(details(&call), "returned=Success pGraphNode=0x55ee00");
}

TEST("graph launches show graph and stream")
{
	struct built runtime = begin("cudaGraphLaunch"), driver = begin("cuGraphLaunch");

	pass(&runtime, "graphExec", 0x55ee00);
	pass(&runtime, "stream", 0);
	CHECK_STR(details(&runtime), "graph=0x55ee00 stream=0x0");
	pass(&driver, "hGraph", 0x55ee00);
	pass(&driver, "hStream", 0);
	CHECK_STR(details(&driver), "graph=0x55ee00 stream=0x0");
}

TEST("virtual memory shows handle, size and what it is made of")
{
	struct built create = begin("cuMemCreate"), map = begin("cuMemMap");
	uint64_t handle = 0x1d0000;
	struct {
		uint32_t type, handles, location_type, location;
		uint64_t metadata;
		uint8_t compression, rdma;
		uint16_t usage;
		uint8_t reserved[4];
	} property = {.type = 1, .location_type = 1, .location = 2};

	pass(&create, "size", 2097152);
	pass(&create, "prop", 0x7ffc00006000);
	pass(&create, "flags", 0);
	CHECK_STR(details(&create), "size=2097152 bytes prop=0x7ffc00006000 flags=0");
	point(&create, "prop", &property, sizeof(property));
	back(&create, 0);
	point(&create, "handle", &handle, sizeof(handle));
	CHECK_STR(details(&create), "returned=Success handle=0x1d0000");
	CHECK_STR(json(&create),
		  "{\"handle\":\"0x1d0000\",\"size\":2097152,\"prop\":{\"type\":"
		  "\"CU_MEM_ALLOCATION_TYPE_PINNED\",\"requestedHandleTypes\":"
		  "\"CU_MEM_HANDLE_TYPE_NONE\",\"location\":{\"type\":"
		  "\"CU_MEM_LOCATION_TYPE_DEVICE\",\"id\":2},\"win32HandleMetaData\":\"0x0\","
		  "\"allocFlags\":{\"compressionType\":0,\"gpuDirectRDMACapable\":0,"
		  "\"usage\":0}},\"flags\":0}");
	pass(&map, "ptr", 0x7f0000000000);
	pass(&map, "size", 2097152);
	pass(&map, "offset", 0);
	pass(&map, "handle", handle);
	pass(&map, "flags", 0);
	CHECK_STR(details(&map), "ptr=0x7f0000000000 size=2097152 bytes offset=0 handle=0x1d0000 "
				 "flags=0");
}

TEST("an identifier is shown as its bytes")
{
	struct built call = begin("cuDeviceGetUuid_v2");
	uint8_t bytes[16] = {0x01, 0x23, [15] = 0xff};

	back(&call, 0);
	point(&call, "uuid", bytes, sizeof(bytes));
	pass(&call, "dev", 0);
	CHECK_STR(json(&call),
		  "{\"uuid\":{\"bytes\":\"0x012300000000000000000000000000ff\"},\"dev\":0}");
}

TEST("a float that is passed is shown as not captured")
{
	struct built call = begin("cuParamSetf");

	pass(&call, "hfunc", 0x55cc00);
	pass(&call, "offset", 8);
	CHECK_STR(details(&call), "hfunc=0x55cc00 offset=8 value=?");
	CHECK_STR(json(&call), "{\"hfunc\":\"0x55cc00\",\"offset\":8,\"value\":null}");
}

TEST("calls that move nothing have no bytes and no direction")
{
	struct built call = begin("cudaSetDevice"), batch = begin("cudaMemcpyBatchAsync");
	uint64_t bytes;

	pass(&call, "device", 1);
	CHECK(!gt_call_bytes(decoded(&call), &bytes));
	CHECK_INT(gt_call_direction(decoded(&call)), -1);
	pass(&batch, "count", 3);
	pass(&batch, "stream", 0);
	CHECK(!gt_call_bytes(decoded(&batch), &bytes));
	CHECK_STR(details(&batch), "count=3 stream=0x0");
}

TEST_MAIN
