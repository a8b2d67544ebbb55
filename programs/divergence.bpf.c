// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Counts, for each conditional branch, the lanes that execute it and those that take it. */
#include <gputap/bpf.h>

#include "programs.h"

GPUTAP_ARRAY(sites, struct divergence_site, DIVERGENCE_SITES);

SEC("gpu/branch.warp")
int count_branch(struct gputap_branch *ctx)
{
	unsigned int key = ctx->site, mask = ctx->mask, taken = ctx->taken_mask;
	struct divergence_site *site = bpf_map_lookup_elem(&sites, &key);

	if (!site)
		return 0;
	__sync_fetch_and_add(&site->executions, 1);
	__sync_fetch_and_add(&site->lanes, __builtin_popcount(mask));
	__sync_fetch_and_add(&site->taken, __builtin_popcount(taken));
	__sync_fetch_and_add(&site->divergent, taken && taken != mask);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
