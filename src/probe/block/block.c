/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The source "block". */
#include "probe/layer.h"

/* Last: it uses the types above. */
#include "block.skel.h"

#define TRACEPOINT(name, where, what)                                                              \
	{                                                                                          \
		.program = name, .kind = GT_HOOK_TRACEPOINT, .point = where, .lacks = what         \
	}

static const struct gt_hook hooks[] = {
	TRACEPOINT("request_completed", "block_rq_complete", "block I/O"),
	TRACEPOINT("request_requeued", "block_rq_requeue", NULL),
	TRACEPOINT("request_issued", "block_rq_issue", "block I/O"),
	TRACEPOINT("request_created", "block_io_start", "times before the issue"),
	{.program = "request_inserted",
	 .kind = GT_HOOK_TRACEPOINT,
	 .point = "block_rq_insert",
	 .fallback_of = "request_created"},
};

static const struct gt_layer block_layer = {
	.name = "block",
	.object = block_bpf__elf_bytes,
	.hooks = hooks,
	.hook_count = gt_countof(hooks),
};

GT_DEFINE_LAYER_SOURCE(block, "requests of block I/O: bytes, direction, disk, latency",
		       "tracepoints of the block layer");
