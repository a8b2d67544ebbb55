/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/occupancy.h"

#include <errno.h>

#include "base/clean.h"
#include "tap.h"

/* The calculator that NVIDIA ships, as the reference. */
#if __has_include(<cuda_occupancy.h>)
#define HAVE_REFERENCE 1
#include <cuda_occupancy.h>
#endif

static struct gt_occupancy occupancy_of(uint32_t capability, uint32_t threads, uint32_t shared,
					uint32_t registers)
{
	const struct gt_occupancy_launch launch = {
		.capability = capability,
		.block_threads = threads,
		.shared = shared,
		.registers = registers,
	};
	struct gt_occupancy result = {0};

	CHECK(!gt_occupancy(&launch, &result));
	return result;
}

TEST("the occupancy is that of the resource that runs out first")
{
	struct gt_occupancy result = occupancy_of(90, 256, 0, 0);

	CHECK(result.blocks == 8 && result.warps == 64 && result.max_warps == 64);
	CHECK(result.limit == GT_OCCUPANCY_WARPS);
	result = occupancy_of(90, 32, 0, 0);
	CHECK(result.blocks == 32 && result.warps == 32 && result.limit == GT_OCCUPANCY_BLOCKS);
	result = occupancy_of(75, 128, 20000, 0);
	CHECK(result.blocks == 3 && result.warps == 12 && result.max_warps == 32);
	CHECK(result.limit == GT_OCCUPANCY_SHARED_MEMORY);
	result = occupancy_of(80, 256, 0, 128);
	CHECK(result.blocks == 2 && result.warps == 16 && result.limit == GT_OCCUPANCY_REGISTERS);
}

TEST("a block that has more shared memory than there is cannot be launched")
{
	CHECK(occupancy_of(75, 128, 65537, 0).blocks == 0);
}

TEST("the occupancy of an unknown device, and of a block that cannot be, is unknown")
{
	struct gt_occupancy_launch launch = {.capability = 35, .block_threads = 32};
	struct gt_occupancy result;

	CHECK(gt_occupancy(&launch, &result) == -ENOENT);
	launch = (struct gt_occupancy_launch){.capability = 90};
	CHECK(gt_occupancy(&launch, &result) == -ENOENT);
	launch.block_threads = 1025;
	CHECK(gt_occupancy(&launch, &result) == -ENOENT);
}

#ifdef HAVE_REFERENCE
static const struct reference_device {
	int major, minor, threads, shared;
} reference_devices[] = {
	{6, 0, 2048, 65536},  {6, 1, 2048, 98304},   {7, 0, 2048, 98304},   {7, 5, 1024, 65536},
	{8, 0, 2048, 167936}, {8, 6, 1536, 102400},  {8, 7, 1536, 167936},  {8, 9, 1536, 102400},
	{9, 0, 2048, 233472}, {10, 0, 2048, 233472}, {12, 0, 1536, 102400},
};

static int reference_blocks(const struct reference_device *device, int threads, int shared,
			    int registers)
{
	const cudaOccDeviceProp properties = {
		.computeMajor = device->major,
		.computeMinor = device->minor,
		.maxThreadsPerBlock = 1024,
		.maxThreadsPerMultiprocessor = device->threads,
		.regsPerBlock = 65536,
		.regsPerMultiprocessor = 65536,
		.warpSize = 32,
		.sharedMemPerBlock = 49152,
		.sharedMemPerMultiprocessor = (size_t)device->shared,
		.numSms = 4,
		.sharedMemPerBlockOptin = (size_t)device->shared,
		.reservedSharedMemPerBlock = device->major >= 8 ? 1024 : 0,
	};
	const cudaOccFuncAttributes attributes = {
		.maxThreadsPerBlock = 1024,
		.numRegs = registers,
		.sharedSizeBytes = (size_t)shared,
		.partitionedGCConfig = PARTITIONED_GC_OFF,
		.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN,
		.maxDynamicSharedSizeBytes = (size_t)device->shared,
	};
	const cudaOccDeviceState state = {.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED};
	cudaOccResult result;

	if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &properties, &attributes, &state,
						    threads, 0))
		return -1;
	return result.activeBlocksPerMultiprocessor;
}
#endif

TEST("the occupancy is that of NVIDIA's calculator")
{
#ifdef HAVE_REFERENCE
	static const int shared[] = {0, 1, 1000, 4096, 16384, 20000, 47000};
	static const int registers[] = {16, 32, 40, 63, 64, 100, 128};

	for (size_t i = 0; i < gt_countof(reference_devices); i++) {
		const struct reference_device *device = &reference_devices[i];
		uint32_t capability = (uint32_t)(device->major * 10 + device->minor);

		for (int threads = 32; threads <= 512; threads += 48)
			for (size_t s = 0; s < gt_countof(shared); s++)
				for (size_t r = 0; r < gt_countof(registers); r++) {
					int expected = reference_blocks(device, threads, shared[s],
									registers[r]);
					uint32_t blocks =
						occupancy_of(capability, (uint32_t)threads,
							     (uint32_t)shared[s],
							     (uint32_t)registers[r])
							.blocks;

					if ((int)blocks != expected)
						TAP_FAIL("%u: %d threads, %d bytes, %d registers: "
							 "%u blocks, not %d",
							 capability, threads, shared[s],
							 registers[r], blocks, expected);
				}
	}
#else
	SKIP("cuda_occupancy.h is not installed");
#endif
}

TEST_MAIN
