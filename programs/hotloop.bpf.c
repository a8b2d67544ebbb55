// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Counts the warps and threads that branch back to the start of a loop, and those that execute a
 * conditional branch: the first one in a loop is executed by each iteration.
 */
#include <gputap/bpf.h>

#include "programs.h"

GPUTAP_ARRAY(sites, struct hotloop_site, HOTLOOP_SITES);

SEC("gpu/loop.warp")
int count_loop(struct gputap_context *ctx)
{
	unsigned int key = ctx->site;
	struct hotloop_site *site = bpf_map_lookup_elem(&sites, &key);

	if (!site)
		return 0;
	__sync_fetch_and_add(&site->warps, 1);
	__sync_fetch_and_add(&site->threads, __builtin_popcount(ctx->mask));
	return 0;
}

SEC("gpu/branch.warp")
int count_branch(struct gputap_branch *ctx)
{
	unsigned int key = ctx->site;
	struct hotloop_site *site = bpf_map_lookup_elem(&sites, &key);

	if (site)
		__sync_fetch_and_add(&site->executions, __builtin_popcount(ctx->mask));
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
