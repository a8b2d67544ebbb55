/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Whether a thread of a kernel runs. */
#pragma once

#include <gputap/bpf.h>

#include "programs.h"

/*
 * A kernel runs while one of its groups of blocks does, and a group while one of its threads does.
 * One number for all threads would be what all warps of the GPU wait for.
 */
GPUTAP_ARRAY(running_groups, unsigned long long, CUDACOUNTER_KERNELS);
GPUTAP_ARRAY(running_threads, unsigned long long, CUDACOUNTER_KERNELS *CUDACOUNTER_GROUPS);

static __attribute__((always_inline)) unsigned int group_of(const struct gputap_context *ctx)
{
	unsigned int block = ctx->block_x + ctx->block_y + ctx->block_z;

	return ctx->kernel * CUDACOUNTER_GROUPS + block % CUDACOUNTER_GROUPS;
}

/* Count threads that start; true: they are the first of the kernel that run. */
static __attribute__((always_inline)) int begin_threads(const struct gputap_context *ctx,
							unsigned long long lanes)
{
	unsigned int key = ctx->kernel, group = group_of(ctx);
	unsigned long long *groups = bpf_map_lookup_elem(&running_groups, &key);
	unsigned long long *threads = bpf_map_lookup_elem(&running_threads, &group);

	return groups && threads && !__sync_fetch_and_add(threads, lanes) &&
	       !__sync_fetch_and_add(groups, 1);
}

/* Count threads that end; true: none of the kernel runs any more. */
static __attribute__((always_inline)) int end_threads(const struct gputap_context *ctx,
						      unsigned long long lanes)
{
	unsigned int key = ctx->kernel, group = group_of(ctx);
	unsigned long long *groups = bpf_map_lookup_elem(&running_groups, &key);
	unsigned long long *threads = bpf_map_lookup_elem(&running_threads, &group);

	return groups && threads && __sync_fetch_and_add(threads, -lanes) == lanes &&
	       __sync_fetch_and_add(groups, -1ULL) == 1;
}
