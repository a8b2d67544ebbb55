/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Accesses to memory, in all kernels. */
#include "bpftime.h"

MAP(accesses, GPU_ARRAY, 4, u64);

SEC("kprobe/__memcapture")
int cuda__trace_memory(struct pt_regs *ctx)
{
	u32 key = 0;
	u64 *value = bpf_map_lookup_elem(&accesses, &key);

	if (value)
		__sync_fetch_and_add(value, 1);
	return 0;
}
