// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Sums, for each load, atomic and barrier, the cycles that warps wait for it. */
#include <gputap/bpf.h>

#include "programs.h"

GPUTAP_ARRAY(sites, struct stall_site, STALL_SITES);
GPUTAP_ARRAY(longest, unsigned long long, STALL_SITES);

/* Few waits are longer than all before them: mostly one quick load, of any earlier value, will do.
 */
static __attribute__((always_inline)) void raise(unsigned long long *max, unsigned long long cycles)
{
	unsigned long long old = *max;

	for (int i = 0; i < 4 && cycles > old; i++) {
		old = *(volatile unsigned long long *)max;
		if (cycles > old && __sync_val_compare_and_swap(max, old, cycles) == old)
			break;
	}
}

static __attribute__((always_inline)) int add_wait(unsigned int key)
{
	struct stall_site *site = bpf_map_lookup_elem(&sites, &key);
	unsigned long long *max = bpf_map_lookup_elem(&longest, &key);
	unsigned long long cycles = bpf_instruction_cycles();

	if (!site || !max)
		return 0;
	__sync_fetch_and_add(&site->executions, 1);
	__sync_fetch_and_add(&site->cycles, cycles);
	raise(max, cycles);
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
