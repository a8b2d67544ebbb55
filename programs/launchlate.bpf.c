// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Records calls that launch kernels, in Linux, and the first instruction of each grid, on the GPU.
 * Both sides share an array. In its first value each side leaves its time for the other one: what a
 * side reads there was written earlier, so that each such pair of times bounds the relation of the
 * clocks. The other values are the log of the host programs.
 */
#include "probe/vmlinux_min.h"

#include <bpf/bpf_helpers.h>
#include <gputap/bpf.h>

#include "launchlate.h"

GPUTAP_SHARED_ARRAY(shared, union launchlate_slot, 1 + LAUNCHLATE_LOG);
GPUTAP_RING(grids, LAUNCHLATE_RING);
/* By launch: its low bits, and those of its first time. */
GPUTAP_ARRAY(firsts, unsigned long long, LAUNCHLATE_GRIDS);

/* Whether the block is the earliest of its grid so far: only such blocks are recorded. */
static __attribute__((always_inline)) int is_first(unsigned long long launch,
						   unsigned long long time)
{
	/* Processes count their launches from 1. */
	unsigned long long id = launch + (bpf_get_current_pid_tgid() >> 32) * 2654435761ull;
	unsigned int key = id % LAUNCHLATE_GRIDS;
	unsigned long long *first = bpf_map_lookup_elem(&firsts, &key), old;
	unsigned long long mine = id << 40 | (time & (1ull << 40) - 1);

	for (int i = 0; first && i < 16; i++) {
		old = *(volatile unsigned long long *)first;
		if (old >> 40 == mine >> 40 && (long long)((old - mine) << 24) <= 0)
			return 0;
		if (__sync_val_compare_and_swap(first, old, mine) == old)
			return 1;
	}
	/* Others are quicker: it costs no more than a record. */
	return 1;
}

SEC("gpu/entry.block/*")
int begin_block(struct gputap_context *ctx)
{
	unsigned int key = 0;
	union launchlate_slot *slot = bpf_map_lookup_elem(&shared, &key);
	struct launchlate_grid *grid;
	unsigned long long host, time;

	if (!slot)
		return 0;
	host = *(volatile unsigned long long *)&slot->clocks.host;
	/* The branch waits for the value: the timer is read after it. */
	if (host == ~0ull)
		return 0;
	time = bpf_get_globaltimer();
	if (!is_first(ctx->launch, time))
		return 0;
	grid = bpf_ringbuf_reserve(&grids, sizeof(*grid), 0);
	if (!grid)
		return 0;
	grid->launch = ctx->launch;
	grid->time = time;
	grid->host = host;
	grid->pid = bpf_get_current_pid_tgid() >> 32;
	grid->kernel = ctx->kernel;
	bpf_ringbuf_submit(grid, 0);
	return 0;
}

SEC("gpu/exit.warp/*")
int end_warp(struct gputap_context *ctx)
{
	unsigned int key = 0;
	union launchlate_slot *slot = bpf_map_lookup_elem(&shared, &key);
	unsigned long long time = bpf_get_globaltimer();

	/* Any value that was read from the timer is right; the latest is the best. */
	if (slot && *(volatile unsigned long long *)&slot->clocks.gpu < time)
		*(volatile unsigned long long *)&slot->clocks.gpu = time;
	return 0;
}

#include "launchlate_host.h" /* the host programs */

char LICENSE[] SEC("license") = "GPL";
