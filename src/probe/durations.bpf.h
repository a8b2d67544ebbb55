/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Buckets of durations, in BPF programs. */
#pragma once

#include "probe/vmlinux_min.h"

#include <bpf/bpf_helpers.h>

#include "event/durations.h"

/* The bucket of a duration in ns. The verifier does not know that GT_DURATION_BUCKETS limits it. */
static __always_inline __u32 bucket_of_duration(__u64 duration)
{
	return gt_duration_bucket(duration);
}
