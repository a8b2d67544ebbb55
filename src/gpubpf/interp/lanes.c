/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Helpers that compare the values of all lanes of a group, which runs a program once. */
#include <string.h>

#include "base/launch_limits.h"
#include "gpubpf/helpers.h"
#include "gpubpf/interp/private.h"

/* A field of the lanes of a group, by lane. */
struct lane_values {
	uint32_t mask;
	uint64_t values[GT_WARP_SIZE];
};

/* Without a grid there is no group. */
static struct lane_values read_lanes(const struct gt_interp_machine *machine, uint64_t field)
{
	struct lane_values lanes = {.mask = machine->thread.mask};
	struct gt_interp_thread other = machine->thread;
	uint64_t first = gt_interp_in_block(&other) / GT_WARP_SIZE * GT_WARP_SIZE;
	enum gt_context_source source;

	if (!machine->grid || !machine->grid->section ||
	    gt_lane_source(machine->grid->section, field, &source))
		return (struct lane_values){0};
	for (unsigned lane = 0; lane < GT_WARP_SIZE; lane++) {
		if (!(lanes.mask >> lane & 1))
			continue;
		gt_interp_set_thread(&other, first + lane);
		lanes.values[lane] = gt_interp_source(machine, source, 0, &other);
	}
	return lanes;
}

/* Keep one lane, the lowest, of those with the same value. */
static uint32_t distinct_lanes(const struct lane_values *lanes)
{
	uint32_t distinct = 0;

	for (unsigned lane = 0; lane < GT_WARP_SIZE; lane++) {
		bool is_first = lanes->mask >> lane & 1;

		for (unsigned other = 0; other < lane; other++)
			if (lanes->mask >> other & 1 && lanes->values[other] == lanes->values[lane])
				is_first = false;
		distinct |= (uint32_t)is_first << lane;
	}
	return distinct;
}

int gt_interp_warp_distinct(struct gt_interp_machine *machine)
{
	struct lane_values lanes = read_lanes(machine, machine->registers[1]);
	uint64_t shift = machine->registers[2];

	for (unsigned lane = 0; lane < GT_WARP_SIZE; lane++)
		lanes.values[lane] = shift < 64 ? lanes.values[lane] >> shift : 0;
	machine->registers[0] = (uint64_t)__builtin_popcount(distinct_lanes(&lanes));
	return 0;
}

int gt_interp_warp_stride(struct gt_interp_machine *machine)
{
	struct lane_values lanes = read_lanes(machine, machine->registers[1]);
	uint64_t base = 0, stride = 0, rank = 0;

	for (unsigned lane = 0; lane < GT_WARP_SIZE; lane++) {
		if (!(lanes.mask >> lane & 1))
			continue;
		if (!rank)
			base = lanes.values[lane];
		else if (rank == 1)
			stride = lanes.values[lane] - base;
		if (lanes.values[lane] != base + rank++ * stride) {
			stride = GT_LANE_NO_STRIDE;
			break;
		}
	}
	machine->registers[0] = stride;
	return 0;
}

/* The most accesses to one bank among those of `part`, whose lanes access `unit`s of memory. */
static unsigned count_passes(const struct lane_values *units, uint32_t part, unsigned slots)
{
	struct lane_values own = *units;
	unsigned counts[GT_WARP_SIZE] = {0}, passes = 0;

	own.mask &= part;
	for (uint32_t rest = distinct_lanes(&own); rest; rest &= rest - 1) {
		unsigned slot = own.values[__builtin_ctz(rest)] & (slots - 1);

		counts[slot]++;
		passes = counts[slot] > passes ? counts[slot] : passes;
	}
	return passes;
}

int gt_interp_warp_bank_passes(struct gt_interp_machine *machine)
{
	struct lane_values lanes = read_lanes(machine, machine->registers[1]);
	unsigned shift = gt_bank_unit_shift((uint32_t)machine->registers[2]);
	/* Shared memory is small: the upper 5 bits of units are not compared. */
	unsigned slots = GT_BANK_BYTES >> shift, passes = 0;

	for (unsigned lane = 0; lane < GT_WARP_SIZE; lane++)
		lanes.values[lane] = lanes.values[lane] >> shift & (UINT64_MAX >> 5);
	for (unsigned first = 0; first < GT_WARP_SIZE; first += slots) {
		uint32_t part = (UINT32_MAX >> (GT_WARP_SIZE - slots)) << first;

		passes += count_passes(&lanes, part, slots);
	}
	machine->registers[0] = passes;
	return 0;
}
