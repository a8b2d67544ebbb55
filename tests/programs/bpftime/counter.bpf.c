/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Entries and exits of kernels per process, in hashes; the blocks that ran, and a line for each. */
#include "bpftime.h"

MAP(entries, BPF_MAP_TYPE_HASH, 64, u64);
MAP(exits, GPU_HASH, 64, u64);
MAP(started, BPF_MAP_TYPE_HASH, 64, u64);

static __always_inline void count(void *map, u32 key)
{
	u64 zero = 0, *value = bpf_map_lookup_elem(map, &key);

	if (!value) {
		bpf_map_update_elem(map, &key, &zero, BPF_NOEXIST);
		value = bpf_map_lookup_elem(map, &key);
	}
	if (value)
		__atomic_add_fetch(value, 1, __ATOMIC_SEQ_CST);
}

SEC("kprobe/_Z9vectorAddPKfS0_Pf, plain")
int cuda__probe()
{
	u64 x, y, z, now = bpf_get_globaltimer();
	u32 block;

	count(&entries, bpf_get_current_pid_tgid() >> 32);
	bpf_get_block_idx(&x, &y, &z);
	block = x;
	bpf_map_update_elem(&started, &block, &now, BPF_ANY);
	return 0;
}

SEC("kretprobe/_Z9vectorAddPKfS0_Pf")
int cuda__retprobe()
{
	u64 bx, by, bz, x, y, z, *start;
	u32 block;

	count(&exits, bpf_get_current_pid_tgid() >> 32);
	bpf_get_block_idx(&bx, &by, &bz);
	bpf_get_thread_idx(&x, &y, &z);
	block = bx;
	start = bpf_map_lookup_elem(&started, &block);
	if (x == 0)
		bpf_printk("block %lu ended, started: %d\n", bx, start && *start > 0);
	return 0;
}
