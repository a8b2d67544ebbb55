/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/occupancy.h"

#include <errno.h>
#include <stddef.h>

#include "base/clean.h"
#include "base/launch_limits.h"

const char *const gt_occupancy_limits[] = {
	[GT_OCCUPANCY_WARPS] = "warps",
	[GT_OCCUPANCY_BLOCKS] = "blocks",
	[GT_OCCUPANCY_SHARED_MEMORY] = "shared memory",
	[GT_OCCUPANCY_REGISTERS] = "registers",
};

enum {
	REGISTERS = 65536,      /* of a multiprocessor, on each device of the table */
	REGISTER_UNIT = 256,    /* allocated for a warp */
	RESERVED_SHARED = 1024, /* bytes of a block for the system, from 8.0 on */
};

/* Per multiprocessor; shared memory in KiB, its unit in bytes. */
static const struct occupancy_device {
	uint32_t capability, warps, blocks, shared, shared_unit, partitions;
} devices[] = {
	{60, 64, 32, 64, 256, 2},   {61, 64, 32, 96, 256, 4},   {62, 64, 32, 64, 256, 4},
	{70, 64, 32, 96, 256, 4},   {72, 64, 32, 96, 256, 4},   {75, 32, 16, 64, 256, 4},
	{80, 64, 32, 164, 128, 4},  {86, 48, 16, 100, 128, 4},  {87, 48, 16, 164, 128, 4},
	{89, 48, 24, 100, 128, 4},  {90, 64, 32, 228, 128, 4},  {100, 64, 32, 228, 128, 4},
	{103, 64, 32, 228, 128, 4}, {110, 48, 24, 228, 128, 4}, {120, 48, 24, 100, 128, 4},
	{121, 48, 24, 100, 128, 4},
};

static const struct occupancy_device *find_device(uint32_t capability)
{
	for (size_t i = 0; i < gt_countof(devices); i++)
		if (devices[i].capability == capability)
			return &devices[i];
	return NULL;
}

static uint32_t round_up(uint32_t value, uint32_t unit)
{
	return (value + unit - 1) / unit * unit;
}

static uint32_t blocks_by_shared_memory(const struct occupancy_device *device, uint32_t shared)
{
	uint32_t reserved = device->capability >= 80 ? RESERVED_SHARED : 0;
	uint32_t bytes = device->shared * 1024;

	if (shared > bytes)
		return 0;
	shared = round_up(shared + reserved, device->shared_unit);
	return shared ? bytes / shared : UINT32_MAX;
}

/* Each partition of the multiprocessor has its share of the registers, and of the warps. */
static uint32_t blocks_by_registers(const struct occupancy_device *device, uint32_t registers,
				    uint32_t block_warps)
{
	uint32_t of_warp = round_up(registers * GT_WARP_SIZE, REGISTER_UNIT);
	uint32_t warps;

	if (!registers)
		return UINT32_MAX;
	warps = REGISTERS / device->partitions / of_warp * device->partitions;
	return warps / block_warps;
}

int gt_occupancy(const struct gt_occupancy_launch *launch, struct gt_occupancy *ret_occupancy)
{
	const struct occupancy_device *device = find_device(launch->capability);
	uint32_t block_warps = round_up(launch->block_threads, GT_WARP_SIZE) / GT_WARP_SIZE;
	uint32_t limits[4];
	struct gt_occupancy result = {0};

	if (!device || !launch->block_threads || launch->block_threads > GT_MAX_BLOCK_THREADS ||
	    launch->registers > 256)
		return -ENOENT;
	limits[GT_OCCUPANCY_WARPS] = device->warps / block_warps;
	limits[GT_OCCUPANCY_BLOCKS] = device->blocks;
	limits[GT_OCCUPANCY_SHARED_MEMORY] = blocks_by_shared_memory(device, launch->shared);
	limits[GT_OCCUPANCY_REGISTERS] =
		blocks_by_registers(device, launch->registers, block_warps);
	for (unsigned i = 1; i < gt_countof(limits); i++)
		if (limits[i] < limits[result.limit])
			result.limit = (enum gt_occupancy_limit)i;
	result.blocks = limits[result.limit];
	result.warps = result.blocks * block_warps;
	result.max_warps = device->warps;
	*ret_occupancy = result;
	return 0;
}
