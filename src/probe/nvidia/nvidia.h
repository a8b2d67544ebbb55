/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the BPF programs of the source "nvidia" share with user space. */
#pragma once

#include "event/durations.h"
#include "event/event.h"

/* The calls that are counted together. */
struct nvidia_sums_key {
	__u32 process; /* 0: of none, as interrupts */
	__u32 function;
	__u32 command, control;
};

struct nvidia_sums {
	__u64 count, errors;
	__u64 total, longest; /* ns */
	__u64 durations[GT_DURATION_BUCKETS];
};

#define NVIDIA_SAMPLED_IOCTL 0 /* the order in struct gt_layer.sampled */

#define NVIDIA_MAX_XID_CODE 256 /* Xids of larger numbers are counted as this one */
