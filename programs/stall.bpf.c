// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Sums, for each load, atomic and barrier, the cycles that warps wait for it. */
#include <gputap/bpf.h>

#include "programs.h"

GPUTAP_ARRAY(sites, struct stall_site, STALL_SITES);

static __attribute__((always_inline)) int add_wait(unsigned int key)
{
	struct stall_site *site = bpf_map_lookup_elem(&sites, &key);
	unsigned long long cycles = bpf_instruction_cycles();

	if (!site)
		return 0;
	__sync_fetch_and_add(&site->executions, 1);
	__sync_fetch_and_add(&site->cycles, cycles);
	/* Of the maximum, few are longer than all before them. */
	for (int i = 0; i < 4; i++) {
		unsigned long long max = *(volatile unsigned long long *)&site->max;

		if (cycles <= max || __sync_val_compare_and_swap(&site->max, max, cycles) == max)
			break;
	}
	return 0;
}

SEC("gpu/load.warp")
int after_load(struct gputap_memory *ctx)
{
	return add_wait(ctx->site);
}

SEC("gpu/atomic.warp")
int after_atomic(struct gputap_memory *ctx)
{
	return add_wait(ctx->site);
}

SEC("gpu/barrier_end.warp")
int after_barrier(struct gputap_barrier *ctx)
{
	return add_wait(ctx->site);
}

char LICENSE[] SEC("license") = "GPL";
