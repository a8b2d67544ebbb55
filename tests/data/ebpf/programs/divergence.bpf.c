/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Divergent branches of warps, by line of the PTX text. */
#include <gputap/bpf.h>

struct line {
	unsigned long long seen, parted;
};

GPUTAP_MAP(lines, GPUTAP_MAP_HASH, unsigned int, struct line, 4096);
const volatile unsigned int only_kernel; /* 0: all kernels */

SEC("gpu/branch.warp/*")
int branch(struct gputap_branch *ctx)
{
	unsigned int key = ctx->line;
	struct line none = {}, *line;

	if (only_kernel && ctx->kernel != only_kernel)
		return 0;
	bpf_map_update_elem(&lines, &key, &none, GPUTAP_NOEXIST);
	line = bpf_map_lookup_elem(&lines, &key);
	if (!line)
		return 0;
	__sync_fetch_and_add(&line->seen, 1);
	if (ctx->taken_mask && ctx->taken_mask != ctx->mask)
		__sync_fetch_and_add(&line->parted, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
