/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Executions of each thread, in arrays with a value per thread; all of them, in shared arrays. */
#include "bpftime.h"

MAP(per_thread, PER_THREAD_ARRAY, 1, u64);
MAP(per_thread_on_host, PER_THREAD_HOST_ARRAY, 3, u64);
MAP(all, GPU_ARRAY, 4, u64);
MAP(all_on_host, HOST_ARRAY, 4, u64);

SEC("kretprobe/vectorAdd")
int cuda__retprobe()
{
	u64 x, y, z, one = 1, *count;
	u32 key = 0;

	bpf_get_thread_idx(&x, &y, &z);
	count = bpf_map_lookup_elem(&per_thread, &key);
	if (count)
		*count += 1;
	count = bpf_map_lookup_elem(&per_thread_on_host, &key);
	if (count) {
		one = *count + 1;
		bpf_map_update_elem(&per_thread_on_host, &key, &one, BPF_ANY);
	}
	key = 2;
	bpf_map_update_elem(&per_thread_on_host, &key, &x, BPF_ANY);
	key = x % 4;
	count = bpf_map_lookup_elem(&all, &key);
	if (count)
		__sync_fetch_and_add(count, 1);
	count = bpf_map_lookup_elem(&all_on_host, &key);
	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}
