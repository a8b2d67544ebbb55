/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Runs only the blocks of one partition; its loader writes the number of partitions into a map. */
#include "bpftime.h"

MAP(partitions, GPU_ARRAY, 1, u64);
MAP(ended, GPU_ARRAY, 1, u64);

SEC("kprobe/_Z9vectorAddPKfS0_Pf")
int cuda__probe()
{
	u64 x, y, z, blocks_x, blocks_y, blocks_z, *number, *count;
	u32 key = 0;

	number = bpf_map_lookup_elem(&partitions, &key);
	if (!number || !*number) {
		bpf_printk("no partitions: %d\n", 0);
		return 0;
	}
	bpf_get_block_idx(&x, &y, &z);
	bpf_get_grid_dim(&blocks_x, &blocks_y, &blocks_z);
	if (x < blocks_x / *number)
		return 0;
	count = bpf_map_lookup_elem(&ended, &key);
	if (count)
		__sync_fetch_and_add(count, 1);
	bpf_cuda_exit();
	return 0;
}
