/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Launches, at the function that programs of nvcc 11 and 12 launch kernels by: at its entry in a
 * program of a name, and at its return in a file that `gputap run --attach` names.
 */
#include "bpftime.h"

#define LAUNCH "_Z16cudaLaunchKernelIcE9cudaErrorPT_4dim3S3_PPvmP11CUstream_st"

MAP(counts, SHARED_WITH_KERNEL_ARRAY, 3, u64);

static __always_inline int count(u32 key)
{
	u64 *value = bpf_map_lookup_elem(&counts, &key);

	if (value)
		__sync_fetch_and_add(value, 1);
	return 0;
}

SEC("uprobe/vectors:" LAUNCH)
int launch_begins(void *ctx)
{
	return count(0);
}

SEC("uretprobe")
int launch_ends(void *ctx)
{
	return count(1);
}

SEC("kretprobe/cuda__Z9vectorAddPKfS0_Pf")
int cuda__retprobe()
{
	return count(2);
}
