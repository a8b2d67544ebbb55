/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A program of its own: an element of the product of two matrices in each thread. How many steps it
 * takes is known at run time alone.
 */
#include "bpftime.h"

enum { ROWS, COLUMNS, STEPS };

MAP(sizes, GPU_ARRAY, 3, u32);
MAP(left, GPU_ARRAY, 1024, __s32);
MAP(right, GPU_ARRAY, 1024, __s32);
MAP(product, GPU_ARRAY, 1024, __s32);

static u32 size_of(u32 which)
{
	u32 *size = bpf_map_lookup_elem(&sizes, &which);

	return size ? *size : 0;
}

SEC("kprobe/__directly_run")
int cuda__multiply()
{
	u64 block_x, block_y, width, height, x, y, z;
	u32 row, column, at, steps = size_of(STEPS), columns = size_of(COLUMNS);
	__s32 sum = 0;

	bpf_get_block_idx(&block_x, &block_y, &z);
	bpf_get_block_dim(&width, &height, &z);
	bpf_get_thread_idx(&x, &y, &z);
	row = (u32)(block_y * height + y);
	column = (u32)(block_x * width + x);
	if (row >= size_of(ROWS) || column >= columns)
		return 0;
	for (u32 step = 0; step < steps; step++) {
		u32 from_left = row * steps + step, from_right = step * columns + column;
		__s32 *one = bpf_map_lookup_elem(&left, &from_left);
		__s32 *other = bpf_map_lookup_elem(&right, &from_right);

		sum += (one ? *one : 0) * (other ? *other : 0);
	}
	at = row * columns + column;
	bpf_map_update_elem(&product, &at, &sum, BPF_ANY);
	return 0;
}
