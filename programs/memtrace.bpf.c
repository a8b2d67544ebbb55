// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Counts, for each instruction that accesses memory, what its requests, executions by a warp, cost:
 * global memory transfers sectors of 32 bytes, shared memory with 32 banks takes passes.
 */
#include <gputap/bpf.h>

#include "programs.h"

GPUTAP_ARRAY(sites, struct memtrace_site, MEMTRACE_SITES);
GPUTAP_ARRAY(strides, unsigned long long, MEMTRACE_SITES);

#define ADD(counter, number) __sync_fetch_and_add(&(counter), (number))

/* Passes without conflicts: halves of a warp access 8 bytes, quarters 16 bytes at a time. */
static inline __attribute__((always_inline)) unsigned int min_passes(unsigned int mask,
								     unsigned int width)
{
	if (width <= 4)
		return 1;
	if (width == 8)
		return !!(mask & 0xffff) + !!(mask >> 16);
	return !!(mask & 0xff) + !!(mask >> 8 & 0xff) + !!(mask >> 16 & 0xff) + !!(mask >> 24);
}

static inline __attribute__((always_inline)) void
count_pattern(struct memtrace_site *site, unsigned int key, unsigned int width)
{
	unsigned long long *first = bpf_map_lookup_elem(&strides, &key);
	unsigned long long stride = bpf_warp_stride(GPUTAP_LANE_ADDRESS);

	if (stride == width) {
		ADD(site->unit, 1);
	} else if (!stride) {
		ADD(site->broadcast, 1);
	} else if (stride == GPUTAP_NO_STRIDE) {
		ADD(site->irregular, 1);
	} else if (first) {
		if (!*first)
			*first = stride;
		ADD(site->strided, 1);
		ADD(site->same_stride, *first == stride);
	}
}

static inline __attribute__((always_inline)) int count_request(struct gputap_memory *ctx)
{
	unsigned int key = ctx->site, mask = ctx->mask, width = ctx->width, space = ctx->space;
	struct memtrace_site *site = bpf_map_lookup_elem(&sites, &key);
	unsigned int lanes = __builtin_popcount(mask), addresses;

	if (!site)
		return 0;
	ADD(site->requests, 1);
	ADD(site->lanes, lanes);
	ADD(site->bytes, lanes * width);
	if (space == GPUTAP_SPACE_LOCAL)
		return 0;
	if (lanes > 1)
		count_pattern(site, key, width);
	if (space == GPUTAP_SPACE_SHARED) {
		ADD(site->passes, bpf_warp_bank_passes(GPUTAP_LANE_ADDRESS, width));
		ADD(site->min_passes, min_passes(mask, width));
	} else {
		addresses = bpf_warp_distinct(GPUTAP_LANE_ADDRESS, 0);
		ADD(site->sectors, bpf_warp_distinct(GPUTAP_LANE_ADDRESS, 5));
		ADD(site->min_sectors, (addresses * width + 31) / 32);
	}
	return 0;
}

SEC("gpu/memory.warp")
int count_memory(struct gputap_memory *ctx)
{
	return count_request(ctx);
}

SEC("gpu/atomic.warp")
int count_atomic(struct gputap_memory *ctx)
{
	return count_request(ctx);
}

SEC("gpu/copy.warp")
int count_copy(struct gputap_memory *ctx)
{
	return count_request(ctx);
}

char LICENSE[] SEC("license") = "GPL";
