// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Records calls that launch kernels, in Linux, and the first instruction of each grid, on the GPU.
 * In the first value of a shared array each side leaves its time for the other one: what a side
 * reads was written earlier, which bounds the relation of the clocks. The others are the host's
 * log.
 */
#include "probe/vmlinux_min.h"

#include <bpf/bpf_helpers.h>
#include <gputap/bpf.h>

#include "launchlate.h"

GPUTAP_SHARED_ARRAY(shared, union launchlate_slot, 1 + LAUNCHLATE_LOG);
GPUTAP_RING(grids, LAUNCHLATE_RING);
/* By launch: its low bits, and those of its first time. */
GPUTAP_ARRAY(firsts, unsigned long long, LAUNCHLATE_GRIDS);
/* When the GPU last left its time for the host. */
GPUTAP_ARRAY(reported, unsigned long long, 1);

/* Whether the block is the earliest of its grid so far. Processes count launches from 1. */
static __attribute__((always_inline)) int is_first(unsigned long long launch,
						   unsigned long long time)
{
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
	return 1; /* Others are quicker: it costs no more than a record. */
}

SEC("gpu/entry.block/*")
int begin_block(struct gputap_context *ctx)
{
	unsigned int key = 0;
	union launchlate_slot *slot = bpf_map_lookup_elem(&shared, &key);
	struct launchlate_grid *grid;
	unsigned long long host, time = bpf_get_globaltimer(), read;

	if (!slot || !is_first(ctx->launch, time))
		return 0;
	/* Few blocks do so: it takes a microsecond. The branch waits before the timer is read. */
	host = *(volatile unsigned long long *)&slot->clocks.host;
	if (host == ~0ull)
		return 0;
	read = bpf_get_globaltimer();
	grid = bpf_ringbuf_reserve(&grids, sizeof(*grid), 0);
	if (!grid)
		return 0;
	grid->launch = ctx->launch;
	grid->time = time;
	grid->read = read;
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
	unsigned long long *last = bpf_map_lookup_elem(&reported, &key);
	unsigned long long time = bpf_get_globaltimer(), before;

	if (!slot || !last)
		return 0;
	/* A store to host memory takes a microsecond. One warp does it; any time is right. */
	before = *(volatile unsigned long long *)last;
	if (time - before < LAUNCHLATE_PAUSE ||
	    __sync_val_compare_and_swap(last, before, time) != before)
		return 0;
	*(volatile unsigned long long *)&slot->clocks.gpu = time;
	return 0;
}

#include "launchlate_host.h" /* the host programs */

char LICENSE[] SEC("license") = "GPL";
