/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The key of a fence: for all BPF programs of layer sources that remember fences or jobs. */
#pragma once

#include "probe/layer.bpf.h"

struct fence_key {
	__u64 context;
	__u64 seqno;
};

static __always_inline struct fence_key key_of(struct dma_fence *fence)
{
	return (struct fence_key){BPF_CORE_READ(fence, context), BPF_CORE_READ(fence, seqno)};
}

/* The name of a hit of a tracepoint of fences, whose records have 32 bits of each number. */
static __always_inline __u64 name_fence_hit(__u32 operation, const struct fence_key *key)
{
	return name_hit(operation, (__u32)key->context, (__u32)key->seqno);
}
