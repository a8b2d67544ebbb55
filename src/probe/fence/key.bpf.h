/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The key of a fence: for all BPF programs of layer sources that remember fences or jobs. */
#pragma once

#include "probe/vmlinux_min.h"

#include <bpf/bpf_core_read.h>

struct fence_key {
	__u64 context;
	__u64 seqno;
};

static __always_inline struct fence_key key_of(struct dma_fence *fence)
{
	return (struct fence_key){BPF_CORE_READ(fence, context), BPF_CORE_READ(fence, seqno)};
}
