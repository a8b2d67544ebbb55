/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Executions of a basic block, the end of vectorAdd, and of those that a branch led to it: its
 * predicate is a register of PTX. A second program is for a block that its kernel does not have.
 */
#include "bpftime.h"

struct block_counts {
	u64 executions, branches;
};

MAP(counts, SHARED_WITH_KERNEL_ARRAY, 1, struct block_counts);

static const u64 (*bpf_get_ptx_reg)(u64 number, u64 ctx, u64, u64, u64) = (void *)512;

SEC("kprobe/_Z9vectorAddPKfS0_Pf__BB2__rd1__p1")
int cuda__at_block(void *ctx)
{
	u32 key = 0;
	struct block_counts *value = bpf_map_lookup_elem(&counts, &key);

	if (!value)
		return 0;
	__sync_fetch_and_add(&value->executions, 1);
	__sync_fetch_and_add(&value->branches, bpf_get_ptx_reg(1, (u64)ctx, 0, 0, 0));
	return 0;
}

SEC("kprobe/plain__BB9")
int cuda__at_no_block(void *ctx)
{
	return 0;
}
