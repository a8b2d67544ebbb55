/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * From a launch on the CPU to the entry of its kernel: a uprobe and a GPU program that share
 * arrays. A last program belongs to nothing that the section names.
 */
#include "bpftime.h"

#define SHARED(name, entries, value_type)                                                          \
	struct {                                                                                   \
		__uint(type, SHARED_WITH_KERNEL_ARRAY);                                            \
		__uint(max_entries, entries);                                                      \
		__type(key, u32);                                                                  \
		__type(value, value_type);                                                         \
		__uint(map_flags, BPF_F_MMAPABLE);                                                 \
	} name SEC(".maps")

MAP(launch_time, BPF_MAP_TYPE_ARRAY, 1, u64);
SHARED(counts, 4, u64);
MAP(histogram, GPU_ARRAY, 64, u64);

static __always_inline void count(u32 key)
{
	u64 *value = bpf_map_lookup_elem(&counts, &key);

	if (value)
		__sync_fetch_and_add(value, 1);
}

SEC("uprobe/libcudart.so.13:cudaLaunchKernel")
int uprobe_launch(void *ctx)
{
	u64 now = bpf_ktime_get_ns();
	u32 key = 0;

	bpf_map_update_elem(&launch_time, &key, &now, BPF_ANY);
	count(0);
	return 0;
}

SEC("kprobe/cuda__Z9vectorAddPKfS0_Pf")
int cuda__probe()
{
	u64 now = bpf_get_globaltimer(), *launched, *bin;
	u32 key = 0;

	launched = bpf_map_lookup_elem(&launch_time, &key);
	if (!launched || !*launched) {
		count(1);
		return 0;
	}
	count(now >= *launched ? 2 : 3);
	for (key = 0; key < 63 && (now - *launched) >> key > 1; key++)
		;
	bin = bpf_map_lookup_elem(&histogram, &key);
	if (bin)
		__sync_fetch_and_add(bin, 1);
	return 0;
}

SEC("uprobe")
int attached_by_its_loader(void *ctx)
{
	return 0;
}
