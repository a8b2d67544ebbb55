/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Addresses of a program's memories in the interpreter, where arithmetic and comparisons have their
 * edges: low, around 2^31, 2^32 and other powers of two, with the sign bit set, and at the end of
 * the address space. Handles of maps are any values but 0. A stack or the context may be at 0, as
 * on GPUs. Random, from the source of gpubpf_writer.h.
 */
#pragma once

#include "gpubpf/interp/private.h"
#include "gpubpf/map/map.h"
#include "gpubpf_pointers.h"

enum {
	LAYOUT_MAPS = 16,
	LAYOUT_MEMORIES = GT_INTERP_MAPS + LAYOUT_MAPS,
};

struct layout {
	uint64_t addresses[GT_INTERP_MAPS + 2 * LAYOUT_MAPS];
};

/* Powers of two that memories are around; none is in the range of copies. */
static const uint8_t layout_powers[] = {16, 19, 22, 25, 30, 31, 32, 33, 34, 36, 38, 40,
					42, 44, 46, 47, 48, 50, 52, 54, 56, 58, 60, 63};

static inline void layout_shuffle(uint64_t *numbers, unsigned count)
{
	for (unsigned i = count - 1; i; i--) {
		unsigned j = below(i + 1);
		uint64_t kept = numbers[i];

		numbers[i] = numbers[j];
		numbers[j] = kept;
	}
}

/* Place a memory of `size` bytes, so that it crosses a border or touches it. */
static inline uint64_t layout_place(uint64_t border, uint64_t size)
{
	return border - 8 * (below(4) ? below((unsigned)(size / 8) + 1) : below(2) * size / 8);
}

static inline void layout_make(struct layout *layout, const struct gt_interp_options *options)
{
	static const uint64_t others[] = {UINT64_C(3) << 31, UINT64_C(3) << 62, UINT64_C(5) << 61,
					  UINT64_MAX - (1 << 20) + 1, 24 << 10};
	uint64_t borders[gt_countof(layout_powers) + gt_countof(others)];
	uint64_t handles[2 * LAYOUT_MAPS] = {1, 2, UINT64_MAX, INT64_MAX, UINT64_C(1) << 63};
	const struct gt_bpf_object *object = options->object;
	unsigned count = 0;

	for (unsigned i = 0; i < gt_countof(layout_powers); i++)
		borders[count++] = UINT64_C(1) << layout_powers[i];
	for (unsigned i = 0; i < gt_countof(others); i++)
		borders[count++] = others[i];
	for (unsigned i = 5; i < gt_countof(handles); i++)
		handles[i] = (UINT64_C(1) << 2 * i) - i % 2;
	layout_shuffle(borders, count);
	layout_shuffle(handles, gt_countof(handles));
	for (unsigned i = 0; i < GT_INTERP_MAPS; i++)
		layout->addresses[i] = layout_place(borders[i], GT_BPF_STACK_SIZE);
	for (uint32_t i = 0; i < object->map_count; i++) {
		uint32_t copies = options->map_copies ? options->map_copies[i] : 1;

		layout->addresses[GT_INTERP_MAPS + 2 * i] = layout_place(
			borders[GT_INTERP_MAPS + i],
			(gt_bpf_map_bytes(&object->maps[i], copies) + 7) & ~UINT64_C(7));
		layout->addresses[GT_INTERP_MAPS + 2 * i + 1] = handles[i];
	}
	if (!below(4))
		layout->addresses[GT_INTERP_MAPS] = POINTER_DISTANCE;
	if (!below(3))
		layout->addresses[below(2) ? GT_INTERP_CONTEXT : GT_INTERP_STACKS] = 0;
}
