// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Counts, for each kernel, threads that start and end, blocks, and the time of the kernel, of its
 * blocks and of its warps. A sum of durations is the sum of the ends less that of the starts.
 */
#include <gputap/bpf.h>

#include "programs.h"
#include "running.h"

GPUTAP_ARRAY(kernels, struct cudacounter_kernel, CUDACOUNTER_KERNELS);
GPUTAP_WARP_ARRAY(starts, unsigned long long, 1);

static __attribute__((always_inline)) struct cudacounter_kernel *
kernel_of(const struct gputap_context *ctx)
{
	unsigned int key = ctx->kernel;

	return bpf_map_lookup_elem(&kernels, &key);
}

SEC("gpu/entry.warp/*")
int start_lanes(struct gputap_context *ctx)
{
	unsigned int key = 0, lanes = __builtin_popcount(ctx->mask);
	struct cudacounter_kernel *kernel = kernel_of(ctx);
	unsigned long long *start = bpf_map_lookup_elem(&starts, &key);

	if (start)
		*start = bpf_clock64();
	if (!kernel)
		return 0;
	__sync_fetch_and_add(&kernel->entries, lanes);
	if (begin_threads(ctx, lanes))
		__sync_fetch_and_add(&kernel->time, -bpf_get_globaltimer());
	return 0;
}

SEC("gpu/block_begin")
int begin_block(struct gputap_context *ctx)
{
	struct cudacounter_kernel *kernel = kernel_of(ctx);

	if (!kernel)
		return 0;
	__sync_fetch_and_add(&kernel->blocks, 1);
	__sync_fetch_and_add(&kernel->block_time, -bpf_get_globaltimer());
	return 0;
}

SEC("gpu/block_end")
int end_block(struct gputap_context *ctx)
{
	struct cudacounter_kernel *kernel = kernel_of(ctx);

	if (!kernel)
		return 0;
	__sync_fetch_and_add(&kernel->blocks_ended, 1);
	__sync_fetch_and_add(&kernel->block_time, bpf_get_globaltimer());
	return 0;
}

SEC("gpu/exit.warp/*")
int end_lanes(struct gputap_context *ctx)
{
	unsigned int key = 0, lanes = __builtin_popcount(ctx->mask);
	struct cudacounter_kernel *kernel = kernel_of(ctx);
	unsigned long long *start = bpf_map_lookup_elem(&starts, &key);

	if (!kernel)
		return 0;
	__sync_fetch_and_add(&kernel->exits, lanes);
	if (end_threads(ctx, lanes))
		__sync_fetch_and_add(&kernel->time, bpf_get_globaltimer());
	if (!start)
		return 0;
	__sync_fetch_and_add(&kernel->warps, 1);
	__sync_fetch_and_add(&kernel->cycles, bpf_clock64() - *start);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
