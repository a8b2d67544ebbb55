// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Counts the warps and threads that branch back to the start of a loop, and how often threads pass
 * the start from when they enter the loop until they leave it: its trips.
 */
#include <gputap/bpf.h>

#include "programs.h"

GPUTAP_ARRAY(sites, struct hotloop_site, HOTLOOP_SITES);
GPUTAP_ARRAY(extremes, struct hotloop_extremes, HOTLOOP_SITES);

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

static __attribute__((always_inline)) void raise(unsigned long long *max, unsigned long long value)
{
	/* Mostly this is enough, although it may be an earlier value. */
	unsigned long long old = *max;

	if (value <= old)
		return;
	old = *(volatile unsigned long long *)max;
	/* It fails only where another thread has raised it. */
	while (value > old && can_loop) {
		if (__sync_val_compare_and_swap(max, old, value) == old)
			break;
		old = *(volatile unsigned long long *)max;
	}
}

SEC("gpu/loop_end")
int end_loop(struct gputap_context *ctx)
{
	unsigned int key = ctx->site;
	struct hotloop_site *site = bpf_map_lookup_elem(&sites, &key);
	struct hotloop_extremes *found = bpf_map_lookup_elem(&extremes, &key);
	unsigned long long trips = bpf_loop_trips();

	if (!site || !found)
		return 0;
	__sync_fetch_and_add(&site->entries, 1);
	__sync_fetch_and_add(&site->trips, trips);
	raise(&found->max, trips);
	raise(&found->not_min, ~trips);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
