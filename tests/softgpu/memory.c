/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory of the software device. There are two, with 64M each. */
#include <stdint.h>

#include "driver.h"
#include "gate.h"

static uint64_t free_memory(void)
{
	size_t available = 0, total = 0;

	CHECK_OK(cuMemGetInfo(&available, &total));
	return available;
}

TEST("memory is aligned to 256 bytes and counted")
{
	struct driver driver = begin();
	uint64_t before = free_memory();
	CUdeviceptr a, b;

	CHECK_OK(cuMemAlloc(&a, 1));
	CHECK_OK(cuMemAlloc(&b, 257));
	CHECK_INT(a % 256, 0);
	CHECK_INT(b % 256, 0);
	CHECK_INT(before - free_memory(), 256 + 512);
	CHECK_OK(cuMemFree(a));
	CHECK_OK(cuMemFree(b));
	CHECK_INT(free_memory(), before);
	end(&driver);
}

TEST("all of the memory can be allocated, and not a byte more")
{
	struct driver driver = begin();
	uint64_t available = free_memory();
	CUdeviceptr all, more;

	CHECK_CUDA(cuMemAlloc(&all, available + 1), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK_OK(cuMemAlloc(&all, available));
	CHECK_CUDA(cuMemAlloc(&more, 1), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK_OK(cuMemFree(all));
	CHECK_OK(cuMemAlloc(&more, 1));
	end(&driver);
}

TEST("memory can be allocated again after it was freed in any order")
{
	struct driver driver = begin();
	uint64_t part = free_memory() / 64 & ~UINT64_C(255);
	CUdeviceptr parts[64], all;

	for (int i = 0; i < 64; i++)
		CHECK_OK(cuMemAlloc(&parts[i], part));
	for (int i = 0; i < 64; i += 2)
		CHECK_OK(cuMemFree(parts[i]));
	for (int i = 63; i > 0; i -= 2)
		CHECK_OK(cuMemFree(parts[i]));
	CHECK_OK(cuMemAlloc(&all, part * 64));
	end(&driver);
}

TEST("freeing what was not allocated is an invalid value")
{
	struct driver driver = begin();
	int local;

	CHECK_CUDA(cuMemFree(driver.memory + 4), CUDA_ERROR_INVALID_VALUE);
	CHECK_CUDA(cuMemFree(0x1000), CUDA_ERROR_INVALID_VALUE);
	CHECK_CUDA(cuMemFree((uintptr_t)&local), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuMemFree(driver.memory));
	CHECK_CUDA(cuMemFree(driver.memory), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuMemFree(0));
	end(&driver);
}

TEST("an allocation of no bytes is an invalid value")
{
	struct driver driver = begin();
	CUdeviceptr a;

	CHECK_CUDA(cuMemAlloc(&a, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_CUDA(cuMemAlloc(NULL, 4), CUDA_ERROR_INVALID_VALUE);
	end(&driver);
}

TEST("a copy past the end of an allocation is rejected and changes nothing")
{
	struct driver driver = begin();
	char bytes[4097] = {1};

	CHECK_CUDA(cuMemcpyHtoD(driver.memory, bytes, 4097), CUDA_ERROR_INVALID_VALUE);
	CHECK_CUDA(cuMemcpyHtoD(driver.memory + 1, bytes, 4096), CUDA_ERROR_INVALID_VALUE);
	CHECK_CUDA(cuMemcpyDtoH(bytes, driver.memory + 4095, 2), CUDA_ERROR_INVALID_VALUE);
	CHECK_CUDA(cuMemcpyHtoD((uintptr_t)bytes, bytes, 4), CUDA_ERROR_INVALID_VALUE);
	CHECK_CUDA(cuMemsetD8(driver.memory, 1, 4097), CUDA_ERROR_INVALID_VALUE);
	CHECK_CUDA(cuMemsetD32(driver.memory + 2, 1, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(value(&driver, 0), 0);
	CHECK_OK(cuMemcpyHtoD(driver.memory + 4095, bytes, 1));
	end(&driver);
}

TEST("memsets write elements of one, two and four bytes, in rows too")
{
	struct driver driver = begin();
	unsigned char seen[64];

	CHECK_OK(cuMemsetD8(driver.memory, 0x11, 3));
	CHECK_OK(cuMemsetD16(driver.memory + 4, 0x2233, 2));
	CHECK_OK(cuMemsetD32(driver.memory + 8, 0x44556677, 1));
	CHECK_OK(cuMemsetD2D8(driver.memory + 16, 16, 0x88, 3, 2));
	CHECK_OK(cuMemcpyDtoH(seen, driver.memory, sizeof(seen)));
	CHECK(!memcmp(seen, "\x11\x11\x11\0\x33\x22\x33\x22\x77\x66\x55\x44\0\0\0\0", 16));
	CHECK(!memcmp(seen + 16, "\x88\x88\x88\0", 4));
	CHECK(!memcmp(seen + 32, "\x88\x88\x88\0", 4));
	CHECK_INT(seen[19], 0);
	end(&driver);
}

TEST("3D copies copy only the bytes of their box")
{
	struct driver driver = begin();
	unsigned char from[4][8][16], to[2][3][5] = {{{0}}};
	CUDA_MEMCPY3D copy = {
		.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = from,
		.srcPitch = 16,
		.srcHeight = 8,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = driver.memory,
		.dstPitch = 16,
		.dstHeight = 8,
		.WidthInBytes = 16,
		.Height = 8,
		.Depth = 4,
	};

	for (int i = 0; i < 512; i++)
		((unsigned char *)from)[i] = (unsigned char)i;
	CHECK_OK(cuMemcpy3D(&copy));
	copy = (CUDA_MEMCPY3D){
		.srcMemoryType = CU_MEMORYTYPE_DEVICE,
		.srcDevice = driver.memory,
		.srcPitch = 16,
		.srcHeight = 8,
		.srcXInBytes = 2,
		.srcY = 3,
		.srcZ = 1,
		.dstMemoryType = CU_MEMORYTYPE_HOST,
		.dstHost = to,
		.dstPitch = 5,
		.dstHeight = 3,
		.WidthInBytes = 5,
		.Height = 3,
		.Depth = 2,
	};
	CHECK_OK(cuMemcpy3D(&copy));
	for (int z = 0; z < 2; z++) {
		for (int y = 0; y < 3; y++)
			CHECK(!memcmp(to[z][y], &from[z + 1][y + 3][2], 5));
	}
	copy.srcPitch = 4;
	CHECK_CUDA(cuMemcpy3D(&copy), CUDA_ERROR_INVALID_VALUE);
	end(&driver);
}

TEST("arrays keep what is copied into them")
{
	struct driver driver = begin();
	CUDA_ARRAY_DESCRIPTOR shape = {
		.Width = 5, .Height = 3, .Format = CU_AD_FORMAT_UNSIGNED_INT16, .NumChannels = 2};
	uint16_t from[3][5][2], to[3][5][2] = {{{0}}};
	CUarray array;

	for (int i = 0; i < 30; i++)
		((uint16_t *)from)[i] = (uint16_t)(i * 1001);
	CHECK_OK(cuArrayCreate(&array, &shape));
	CHECK_OK(cuMemcpyHtoA(array, 0, from, sizeof(from)));
	CHECK_OK(cuMemcpyAtoH(to, array, 0, sizeof(to)));
	CHECK(!memcmp(from, to, sizeof(from)));
	shape = (CUDA_ARRAY_DESCRIPTOR){0};
	CHECK_OK(cuArrayGetDescriptor(&shape, array));
	CHECK_INT(shape.Width, 5);
	CHECK_INT(shape.NumChannels, 2);
	CHECK_OK(cuArrayDestroy(array));
	CHECK_CUDA(cuArrayDestroy(array), CUDA_ERROR_INVALID_HANDLE);
	end(&driver);
}

TEST("kernels and the host share pinned memory")
{
	struct driver driver = begin();
	CUdeviceptr address;
	int *pinned;

	CHECK_OK(cuMemHostAlloc((void **)&pinned, 100, CU_MEMHOSTALLOC_DEVICEMAP));
	CHECK_OK(cuMemHostGetDevicePointer(&address, pinned, 0));
	*pinned = 5;
	CHECK_OK(launch(find(&driver, "count"), 1, 32, NULL, (void *[]){&address}));
	CHECK_OK(cuCtxSynchronize());
	CHECK_INT(*pinned, 37);
	CHECK_OK(cuMemFreeHost(pinned));
	CHECK_CUDA(cuMemFreeHost(pinned), CUDA_ERROR_INVALID_VALUE);
	end(&driver);
}

TEST("kernels can access registered memory until it is unregistered")
{
	struct driver driver = begin();
	static int registered[1024];
	CUdeviceptr address;

	CHECK_CUDA(cuMemHostUnregister(registered), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
	CHECK_OK(cuMemHostRegister(registered, sizeof(registered), 0));
	CHECK_CUDA(cuMemHostRegister(registered + 4, 16, 0),
		   CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
	CHECK_OK(cuMemHostGetDevicePointer(&address, registered, 0));
	CHECK_OK(launch(find(&driver, "count"), 1, 1, NULL, (void *[]){&address}));
	CHECK_OK(cuCtxSynchronize());
	CHECK_INT(registered[0], 1);
	CHECK_OK(cuMemHostUnregister(registered));
	CHECK_OK(launch(find(&driver, "count"), 1, 1, NULL, (void *[]){&address}));
	CHECK_CUDA(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
	end(&driver);
}

TEST("the attributes of a pointer describe its memory")
{
	struct driver driver = begin();
	unsigned int type = 0;
	CUdeviceptr managed, base;
	size_t size;
	bool is_managed = false;
	int local;

	CHECK_OK(cuMemAllocManaged(&managed, 1000, CU_MEM_ATTACH_GLOBAL));
	CHECK_OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, managed));
	CHECK_INT(type, CU_MEMORYTYPE_DEVICE);
	CHECK_OK(cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, managed));
	CHECK(is_managed);
	CHECK_OK(cuMemGetAddressRange(&base, &size, managed + 999));
	CHECK(base == managed);
	CHECK_INT(size, 1000);
	CHECK_CUDA(
		cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (uintptr_t)&local),
		CUDA_ERROR_INVALID_VALUE);
	end(&driver);
}

/* Physical memory, and how mappings of it are used. */
static const CUmemAllocationProp on_device = {
	.type = CU_MEM_ALLOCATION_TYPE_PINNED,
	.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0},
};
static const CUmemAccessDesc may_write = {{CU_MEM_LOCATION_TYPE_DEVICE, 0},
					  CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

TEST("physical memory can be mapped, used, unmapped and mapped elsewhere")
{
	struct driver driver = begin();
	CUmemGenericAllocationHandle handle;
	CUdeviceptr place;
	size_t size = 0;
	int seen = 0;

	CHECK_OK(
		cuMemGetAllocationGranularity(&size, &on_device, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	CHECK_CUDA(cuMemCreate(&handle, size + 1, &on_device, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuMemCreate(&handle, size, &on_device, 0));
	CHECK_OK(cuMemAddressReserve(&place, 2 * size, 0, 0, 0));
	CHECK_OK(cuMemMap(place, size, 0, handle, 0));
	CHECK_CUDA(cuMemsetD8(place, 1, 4), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuMemSetAccess(place, size, &may_write, 1));
	CHECK_OK(cuMemsetD32(place, 7, size / 4));
	CHECK_OK(launch(find(&driver, "count"), 1, 1, NULL, (void *[]){&place}));
	CHECK_OK(cuMemUnmap(place, size));
	place += size;
	CHECK_OK(cuMemMap(place, size, 0, handle, 0));
	CHECK_OK(cuMemSetAccess(place, size, &may_write, 1));
	CHECK_OK(cuMemRelease(handle));
	CHECK_OK(cuMemcpyDtoH(&seen, place, 4));
	CHECK_INT(seen, 8);
	CHECK_OK(cuMemUnmap(place, size));
	CHECK_OK(cuMemAddressFree(place - size, 2 * size));
	end(&driver);
}

TEST("a handle of physical memory is valid until each of its references is released")
{
	struct driver driver = begin();
	CUmemGenericAllocationHandle handle, retained;
	const size_t size = 2 << 20;
	size_t before, after, total;
	CUdeviceptr place;
	int seen = 0;

	CHECK_OK(cuMemGetInfo(&before, &total));
	CHECK_OK(cuMemCreate(&handle, size, &on_device, 0));
	CHECK_OK(cuMemAddressReserve(&place, 2 * size, 0, 0, 0));
	CHECK_OK(cuMemMap(place, size, 0, handle, 0));
	CHECK_OK(cuMemRetainAllocationHandle(&retained, (void *)(uintptr_t)(place + 100)));
	CHECK(retained == handle);
	CHECK_OK(cuMemRelease(retained));
	/* The handle of cuMemCreate remains: the memory can have a second address. */
	CHECK_OK(cuMemMap(place + size, size, 0, handle, 0));
	CHECK_OK(cuMemSetAccess(place, 2 * size, &may_write, 1));
	CHECK_OK(cuMemsetD32(place, 7, 1));
	CHECK_OK(cuMemcpyDtoH(&seen, place + size, 4));
	CHECK_INT(seen, 7);
	CHECK_OK(cuMemRelease(handle));
	CHECK_CUDA(cuMemRelease(handle), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuMemRetainAllocationHandle(&retained, (void *)(uintptr_t)(place + size)));
	CHECK_OK(cuMemUnmap(place, 2 * size));
	CHECK_OK(cuMemGetInfo(&after, &total));
	CHECK_INT(before - after, size);
	CHECK_OK(cuMemRelease(retained));
	CHECK_CUDA(cuMemRelease(retained), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuMemGetInfo(&after, &total));
	CHECK_INT(before - after, 0);
	CHECK_OK(cuMemAddressFree(place, 2 * size));
	end(&driver);
}

TEST("adjacent mappings are one range of memory")
{
	struct driver driver = begin();
	CUmemGenericAllocationHandle handle;
	const size_t size = 2 << 20;
	CUdeviceptr place;
	int seen[2] = {0};

	CHECK_OK(cuMemAddressReserve(&place, 3 * size, 0, 0, 0));
	for (size_t i = 0; i < 2; i++) {
		CHECK_OK(cuMemCreate(&handle, size, &on_device, 0));
		CHECK_OK(cuMemMap(place + i * size, size, 0, handle, 0));
		CHECK_OK(cuMemRelease(handle));
	}
	CHECK_OK(cuMemSetAccess(place, 2 * size, &may_write, 1));
	CHECK_OK(cuMemsetD32(place, 9, 2 * size / 4));
	CHECK_OK(cuMemcpyDtoH(seen, place + size - 4, 8));
	CHECK(seen[0] == 9 && seen[1] == 9);
	CHECK_CUDA(cuMemsetD32(place, 9, 2 * size / 4 + 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_CUDA(cuMemUnmap(place, 2 * size - 4096), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuMemUnmap(place, 2 * size));
	CHECK_CUDA(cuMemsetD32(place, 9, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuMemAddressFree(place, 3 * size));
	end(&driver);
}

static const char managed_ptx[] =
	".version 7.0\n.target sm_75\n.address_size 64\n"
	".visible .global .attribute(.managed) .align 8 .u64 cell = 40;\n"
	".visible .global .attribute(.managed) .align 4 .b8 bytes[5000];\n"
	".visible .global .align 8 .u64 own = 7;\n"
	".visible .entry add()\n{\n"
	"\t.reg .u64 %r<3>;\n"
	"\tld.global.u64 %r0, [own];\n"
	"\tatom.global.add.u64 %r1, [cell], %r0;\n"
	"\tst.global.u64 [own], 1;\n"
	"\tret;\n}\n";

static void add_in_context(CUcontext context, CUlibrary library, volatile uint64_t *expected_cell)
{
	CUdeviceptr cell, own;
	CUkernel kernel;
	size_t size;

	CHECK_OK(cuCtxSetCurrent(context));
	CHECK_OK(cuLibraryGetKernel(&kernel, library, "add"));
	CHECK_OK(launch((CUfunction)kernel, 1, 1, NULL, NULL));
	CHECK_OK(cuCtxSynchronize());
	CHECK_OK(cuLibraryGetManaged(&cell, &size, library, "cell"));
	CHECK(cell == (uintptr_t)expected_cell);
	CHECK_INT(size, 8);
	CHECK_OK(cuLibraryGetGlobal(&own, &size, library, "own"));
	CHECK_INT(*(uint64_t *)(uintptr_t)own, 1);
}

TEST("managed variables are the same memory in every context, initialized once")
{
	struct driver driver = begin();
	CUmemLocation device = {CU_MEM_LOCATION_TYPE_DEVICE, 1};
	volatile uint64_t *cell;
	CUdeviceptr address;
	CUlibrary library;
	CUcontext other;
	uint64_t before;
	bool is_managed = false;
	size_t size;

	CHECK_OK(cuCtxCreate(&other, NULL, 0, 1));
	CHECK_OK(cuCtxSetCurrent(driver.context));
	before = free_memory();
	CHECK_OK(cuLibraryLoadData(&library, managed_ptx, NULL, NULL, 0, NULL, NULL, 0));
	CHECK_OK(cuLibraryGetManaged(&address, &size, library, "cell"));
	cell = (uint64_t *)(uintptr_t)address;
	CHECK_INT(*cell, 40);
	add_in_context(driver.context, library, cell);
	CHECK_INT(*cell, 47);
	add_in_context(other, library, cell);
	CHECK_INT(*cell, 54);
	add_in_context(driver.context, library, cell);
	CHECK_INT(*cell, 55);
	/* A context that loads the program after the first one has gone gets its values, too. */
	CHECK_OK(cuCtxDestroy(other));
	CHECK_OK(cuCtxCreate(&other, NULL, 0, 1));
	add_in_context(other, library, cell);
	CHECK_INT(*cell, 62);

	CHECK_OK(cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address));
	CHECK(is_managed);
	CHECK_OK(cuMemPrefetchAsync(address, 8, device, 0, NULL));
	CHECK_OK(cuMemAdvise(address, 8, CU_MEM_ADVISE_SET_READ_MOSTLY, device));
	CHECK_CUDA(cuMemFree(address & ~UINT64_C(511)), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuLibraryUnload(library));
	CHECK_CUDA(cuMemsetD8(address, 0, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuCtxDestroy(other));
	CHECK_OK(cuCtxSetCurrent(driver.context));
	CHECK_INT(free_memory(), before);
	end(&driver);
}

static int range_attribute(CUdeviceptr memory, CUmem_range_attribute attribute)
{
	int value = -99;

	CHECK_OK(cuMemRangeGetAttribute(&value, sizeof(value), attribute, memory, 64));
	return value;
}

TEST("hints about managed memory can be queried")
{
	struct driver driver = begin();
	CUmemLocation device = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
	CUmemLocation host = {CU_MEM_LOCATION_TYPE_HOST, 0};
	int accessors[2] = {-99, -99};
	CUdeviceptr memory;

	CHECK_OK(cuMemAllocManaged(&memory, 64, CU_MEM_ATTACH_GLOBAL));
	CHECK_INT(range_attribute(memory, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY), 0);
	CHECK_INT(range_attribute(memory, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION),
		  CU_DEVICE_INVALID);
	CHECK_OK(cuMemAdvise(memory, 64, CU_MEM_ADVISE_SET_READ_MOSTLY, device));
	CHECK_OK(cuMemAdvise(memory, 64, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, device));
	CHECK_OK(cuMemAdvise(memory, 64, CU_MEM_ADVISE_SET_ACCESSED_BY, host));
	CHECK_OK(cuMemPrefetchAsync(memory, 64, host, 0, NULL));
	CHECK_INT(range_attribute(memory, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY), 1);
	CHECK_INT(range_attribute(memory, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION), 0);
	CHECK_INT(range_attribute(memory, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION),
		  CU_DEVICE_CPU);
	CHECK_OK(cuMemRangeGetAttribute(accessors, sizeof(accessors),
					CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, memory, 64));
	CHECK(accessors[0] == CU_DEVICE_CPU && accessors[1] == CU_DEVICE_INVALID);
	CHECK_OK(cuMemAdvise(memory, 64, CU_MEM_ADVISE_UNSET_READ_MOSTLY, device));
	CHECK_INT(range_attribute(memory, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY), 0);
	CHECK_CUDA(cuMemAdvise(driver.memory, 64, CU_MEM_ADVISE_SET_READ_MOSTLY, device),
		   CUDA_ERROR_INVALID_VALUE);
	device.id = 7;
	CHECK_CUDA(cuMemAdvise(memory, 64, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, device),
		   CUDA_ERROR_INVALID_DEVICE);
	end(&driver);
}

TEST("the host may read managed memory when a memset or a copy returns")
{
	struct driver driver = begin();
	const size_t size = 8 << 20;
	CUdeviceptr managed;
	int wrong = 0;

	CHECK_OK(cuMemAllocManaged(&managed, size, CU_MEM_ATTACH_GLOBAL));
	for (int i = 1; i <= 20; i++) {
		CHECK_OK(cuMemsetD8(managed, (unsigned char)i, size));
		wrong += ((volatile char *)(uintptr_t)managed)[size - 1] != i;
	}
	CHECK_INT(wrong, 0);
	end(&driver);
}

TEST("stream-ordered memory is freed in stream order, once")
{
	struct driver driver = begin();
	uint64_t before = free_memory();
	cuuint64_t used = 1;
	CUmemoryPool pool;
	CUstream stream;
	CUdeviceptr memory;
	int seen = 0;

	CHECK_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK_OK(cuMemAllocAsync(&memory, 256, stream));
	CHECK_OK(cuMemsetD32Async(memory, 9, 1, stream));
	CHECK_OK(launch(find(&driver, "count"), 1, 1, stream, (void *[]){&memory}));
	CHECK_OK(cuMemcpyDtoHAsync(&seen, memory, 4, stream));
	CHECK_OK(cuMemFreeAsync(memory, stream));
	CHECK_CUDA(cuMemFreeAsync(memory, stream), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuStreamSynchronize(stream));
	CHECK_INT(seen, 10);
	CHECK_OK(cuDeviceGetDefaultMemPool(&pool, 0));
	CHECK_OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
	CHECK_INT(used, 0);
	CHECK_INT(free_memory(), before);
	end(&driver);
}

/* The bytes that a pool holds, and the most that it held. */
#define CHECK_RESERVED(pool, now, high)                                                            \
	do {                                                                                       \
		cuuint64_t bytes = 1;                                                              \
		CHECK_OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT,         \
					       &bytes));                                           \
		CHECK_INT(bytes, now);                                                             \
		CHECK_OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &bytes));  \
		CHECK_INT(bytes, high);                                                            \
	} while (0)

TEST("a pool holds freed memory until a synchronization, and up to its threshold after it")
{
	struct driver driver = begin();
	CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				     .location.type = CU_MEM_LOCATION_TYPE_DEVICE};
	cuuint64_t threshold = 4096, zero = 0;
	CUmemoryPool pool;
	CUstream stream;
	CUdeviceptr first, second;

	CHECK_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK_OK(cuMemPoolCreate(&pool, &properties));
	CHECK_OK(cuMemAllocFromPoolAsync(&first, 8192, pool, stream));
	CHECK_OK(cuMemAllocFromPoolAsync(&second, 1024, pool, stream));
	CHECK_OK(cuStreamSynchronize(stream));
	CHECK_RESERVED(pool, 9216, 9216);
	CHECK_OK(cuMemFreeAsync(first, stream));
	CHECK_RESERVED(pool, 9216, 9216);
	CHECK_OK(cuStreamSynchronize(stream));
	CHECK_RESERVED(pool, 1024, 9216);
	CHECK_OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &zero));
	CHECK_RESERVED(pool, 1024, 1024);
	/* With a threshold, only what exceeds it is released, and the rest by a trim. */
	CHECK_OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
	CHECK_OK(cuMemAllocFromPoolAsync(&first, 8192, pool, stream));
	CHECK_OK(cuMemFreeAsync(first, stream));
	CHECK_OK(cuMemFreeAsync(second, stream));
	CHECK_OK(cuCtxSynchronize());
	CHECK_RESERVED(pool, 4096, 9216);
	CHECK_OK(cuMemPoolTrimTo(pool, 1000));
	CHECK_RESERVED(pool, 1000, 9216);
	CHECK_OK(cuMemPoolDestroy(pool));
	CHECK_OK(cuStreamDestroy(stream));
	end(&driver);
}

/* ---- memory that is freed while it is used ------------------------------------------------ */

enum {
	FREED_SIZE = 2 << 20,
};

/* Memory of FREED_SIZE in the current context, which both devices can access. */
struct freed_kind {
	const char *name; /* of the function that frees it */
	CUdeviceptr (*make)(void);
	CUresult (*free)(CUdeviceptr memory);
};

static CUdeviceptr make_device_memory(void)
{
	CUdeviceptr memory = 0;

	CHECK_OK(cuMemAlloc(&memory, FREED_SIZE));
	return memory;
}

static CUresult free_device_memory(CUdeviceptr memory)
{
	return cuMemFree(memory);
}

static CUdeviceptr make_host_memory(void)
{
	void *host = NULL;

	CHECK_OK(cuMemAllocHost(&host, FREED_SIZE));
	return (CUdeviceptr)host;
}

static CUresult free_host_memory(CUdeviceptr memory)
{
	return cuMemFreeHost((void *)memory);
}

static CUdeviceptr make_registered_memory(void)
{
	static char bytes[FREED_SIZE] __attribute__((aligned(4096)));

	CHECK_OK(cuMemHostRegister(bytes, sizeof(bytes), CU_MEMHOSTREGISTER_PORTABLE));
	return (CUdeviceptr)bytes;
}

static CUresult free_registered_memory(CUdeviceptr memory)
{
	return cuMemHostUnregister((void *)memory);
}

static CUdeviceptr make_mapped_memory(void)
{
	const CUmemAllocationProp properties = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0},
	};
	const CUmemAccessDesc access[] = {
		{{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE},
		{{CU_MEM_LOCATION_TYPE_DEVICE, 1}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE},
	};
	CUmemGenericAllocationHandle handle;
	CUdeviceptr memory = 0;

	CHECK_OK(cuMemCreate(&handle, FREED_SIZE, &properties, 0));
	CHECK_OK(cuMemAddressReserve(&memory, FREED_SIZE, 0, 0, 0));
	CHECK_OK(cuMemMap(memory, FREED_SIZE, 0, handle, 0));
	CHECK_OK(cuMemRelease(handle));
	CHECK_OK(cuMemSetAccess(memory, FREED_SIZE, access, 2));
	return memory;
}

static CUresult free_mapped_memory(CUdeviceptr memory)
{
	return cuMemUnmap(memory, FREED_SIZE);
}

static const struct freed_kind freed_kinds[] = {
	{"cuMemFree", make_device_memory, free_device_memory},
	{"cuMemFreeHost", make_host_memory, free_host_memory},
	{"cuMemHostUnregister", make_registered_memory, free_registered_memory},
	{"cuMemUnmap", make_mapped_memory, free_mapped_memory},
};

/* Free memory of the driver's context that a stream of the other context is about to write. */
static void free_used_memory(const struct driver *driver, CUcontext other,
			     const struct freed_kind *kind)
{
	struct gate gate = {0};
	CUdeviceptr memory;
	CUstream stream;
	pthread_t thread;

	CHECK_OK(cuCtxSetCurrent(driver->context));
	memory = kind->make();
	CHECK_OK(cuCtxSetCurrent(other));
	CHECK_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK_OK(cuLaunchHostFunc(stream, pass_gate, &gate));
	CHECK_OK(cuMemsetD8Async(memory, 7, FREED_SIZE, stream));
	CHECK_OK(cuCtxSetCurrent(driver->context));
	CHECK(!pthread_create(&thread, NULL, open_gate_later, &gate));
	CHECK_OK(kind->free(memory));
	if (!atomic_load(&gate.open))
		TAP_FAIL("%s did not wait", kind->name);
	pthread_join(thread, NULL);
	CHECK_OK(cuStreamSynchronize(stream));
	CHECK_OK(cuStreamDestroy(stream));
}

TEST("freeing memory waits for the work of every context")
{
	for (int device = 0; device < 2; device++) {
		struct driver driver = begin();
		CUcontext other;

		CHECK_OK(cuCtxCreate(&other, NULL, 0, device));
		if (device)
			CHECK_OK(cuCtxEnablePeerAccess(driver.context, 0));
		for (size_t i = 0; i < sizeof(freed_kinds) / sizeof(*freed_kinds); i++)
			free_used_memory(&driver, other, &freed_kinds[i]);
		CHECK_OK(cuCtxDestroy(other));
		end(&driver);
	}
}

/* Frees memory while a host function, as a kernel may, holds up a stream of another context. */
static void free_beside(struct driver *driver, CUcontext other, void *host)
{
	struct gate gate = {0};
	CUdeviceptr memory;
	CUstream stream;
	pthread_t thread;

	CHECK_OK(cuCtxSetCurrent(driver->context));
	CHECK_OK(cuMemAlloc(&memory, 4096));
	CHECK_OK(cuCtxSetCurrent(other));
	CHECK_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK_OK(cuLaunchHostFunc(stream, pass_gate, &gate));
	CHECK_OK(cuCtxSetCurrent(driver->context));
	CHECK_OK(cuMemFree(memory));
	CHECK(!atomic_load(&gate.open));
	/* Host memory is reached from every context. */
	CHECK(!pthread_create(&thread, NULL, open_gate_later, &gate));
	CHECK_OK(cuMemFreeHost(host));
	CHECK(atomic_load(&gate.open));
	pthread_join(thread, NULL);
}

TEST("freeing memory does not wait for kernels of contexts that cannot reach it")
{
	struct driver driver = begin();
	CUcontext other;
	void *host;

	CHECK_OK(cuMemAllocHost(&host, 4096));
	CHECK_OK(cuCtxCreate(&other, NULL, 0, 0));
	free_beside(&driver, other, host);
	CHECK_OK(cuCtxDestroy(other));
	end(&driver);
}

TEST("memory can be freed without a current context")
{
	struct driver driver = begin();
	static char bytes[4096] __attribute__((aligned(4096)));
	CUdeviceptr memory;
	CUcontext popped;
	void *host;

	CHECK_OK(cuMemAlloc(&memory, 4096));
	CHECK_OK(cuMemAllocHost(&host, 4096));
	CHECK_OK(cuMemHostRegister(bytes, sizeof(bytes), 0));
	while (!cuCtxPopCurrent(&popped))
		continue;
	CHECK_OK(cuMemFree(memory));
	CHECK_CUDA(cuMemFree(memory), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_OK(cuMemFreeHost(host));
	CHECK_OK(cuMemHostUnregister(bytes));
	CHECK_CUDA(cuIpcCloseMemHandle(driver.memory), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_OK(cuCtxSetCurrent(driver.context));
	end(&driver);
}

TEST("destroying a context frees its memory")
{
	struct driver driver = begin();
	struct driver other = begin();
	uint64_t before;
	CUdeviceptr memory;

	end(&other);
	CHECK_OK(cuCtxSetCurrent(driver.context));
	before = free_memory();
	other = begin();
	CHECK_OK(cuMemAlloc(&memory, 1 << 20));
	end(&other);
	CHECK_OK(cuCtxSetCurrent(driver.context));
	CHECK_INT(free_memory(), before);
	CHECK_CUDA(cuMemFree(memory), CUDA_ERROR_INVALID_VALUE);
	end(&driver);
}

TEST_MAIN
