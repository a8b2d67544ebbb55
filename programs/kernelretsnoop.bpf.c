// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Records when threads exit: one record for each group of lanes of a warp that exit together, so
 * that a grid of a million threads fits into the ring even if nobody reads it meanwhile.
 */
#include <gputap/bpf.h>

#include "programs.h"

GPUTAP_RING(exits, KERNELRETSNOOP_RING);

SEC("gpu/finish.warp/*")
int record_exit(struct gputap_context *ctx)
{
	unsigned long long time = bpf_get_globaltimer(), clock = bpf_clock64();
	struct kernelretsnoop_exit *record = bpf_ringbuf_reserve(&exits, sizeof(*record), 0);

	if (!record)
		return 0;
	record->launch = ctx->launch;
	record->time = time;
	record->clock = clock;
	record->pid = bpf_get_current_pid_tgid() >> 32;
	record->kernel = ctx->kernel;
	record->lanes = ctx->mask;
	record->block_x = ctx->block_x;
	record->block_y = ctx->block_y;
	record->block_z = ctx->block_z;
	record->warp = ctx->warp;
	record->size_x = ctx->block_size_x;
	record->size_y = ctx->block_size_y;
	record->size_z = ctx->block_size_z;
	bpf_ringbuf_submit(record, 0);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
