// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Counts, for each kernel, threads that start and end, blocks, and the cycles of blocks. */
#include <gputap/bpf.h>

#include "programs.h"

GPUTAP_ARRAY(kernels, struct cudacounter_kernel, CUDACOUNTER_KERNELS);
GPUTAP_WARP_ARRAY(starts, unsigned long long, 1);

SEC("gpu/entry/*")
int count_entry(struct gputap_context *ctx)
{
	unsigned int key = ctx->kernel;
	struct cudacounter_kernel *kernel = bpf_map_lookup_elem(&kernels, &key);

	if (kernel)
		__sync_fetch_and_add(&kernel->entries, 1);
	return 0;
}

SEC("gpu/exit/*")
int count_exit(struct gputap_context *ctx)
{
	unsigned int key = ctx->kernel;
	struct cudacounter_kernel *kernel = bpf_map_lookup_elem(&kernels, &key);

	if (kernel)
		__sync_fetch_and_add(&kernel->exits, 1);
	return 0;
}

SEC("gpu/entry.warp/*")
int start_warp(struct gputap_context *ctx)
{
	unsigned int key = 0;
	unsigned long long *start = bpf_map_lookup_elem(&starts, &key);

	if (start)
		*start = bpf_clock64();
	return 0;
}

SEC("gpu/exit.warp/*")
int end_warp(struct gputap_context *ctx)
{
	unsigned int key = ctx->kernel, first = 0;
	struct cudacounter_kernel *kernel = bpf_map_lookup_elem(&kernels, &key);
	unsigned long long *start = bpf_map_lookup_elem(&starts, &first);

	if (!kernel || !start)
		return 0;
	__sync_fetch_and_add(&kernel->warps, 1);
	__sync_fetch_and_add(&kernel->cycles, bpf_clock64() - *start);
	return 0;
}

SEC("gpu/block_begin")
int count_block(struct gputap_context *ctx)
{
	unsigned int key = ctx->kernel;
	struct cudacounter_kernel *kernel = bpf_map_lookup_elem(&kernels, &key);

	if (kernel)
		__sync_fetch_and_add(&kernel->blocks, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
