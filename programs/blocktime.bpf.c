// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Records where and when blocks run: one record when a block starts, and one for each group of
 * lanes of a warp that exit together. A block ends with the last of them.
 */
#include <gputap/bpf.h>

#include "programs.h"

GPUTAP_RING(times, BLOCKTIME_RING);

static __attribute__((always_inline)) void record_time(struct gputap_context *ctx,
						       unsigned int lanes)
{
	unsigned long long time = bpf_get_globaltimer();
	struct blocktime_record *record = bpf_ringbuf_reserve(&times, sizeof(*record), 0);

	if (!record)
		return;
	record->launch = ctx->launch;
	record->time = time;
	record->pid = bpf_get_current_pid_tgid() >> 32;
	record->kernel = ctx->kernel;
	record->block_x = ctx->block_x;
	record->block_y = ctx->block_y;
	record->block_z = ctx->block_z;
	record->sm = ctx->sm;
	record->lanes = lanes;
	record->threads = ctx->block_size_x * ctx->block_size_y * ctx->block_size_z;
	record->shared = bpf_shared_size();
	bpf_ringbuf_submit(record, 0);
}

SEC("gpu/entry.block/*")
int begin_block(struct gputap_context *ctx)
{
	record_time(ctx, 0);
	return 0;
}

SEC("gpu/exit.warp/*")
int end_lanes(struct gputap_context *ctx)
{
	record_time(ctx, ctx->mask);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
