/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the BPF programs on the life of processes and their user-space half share. */
#pragma once

#ifndef __bpf__
#include <linux/types.h>
#endif

/* One per CPU. */
struct gt_process_counts {
	__u64 lost;     /* process and exit events that found no room */
	__u64 untraced; /* children that could not be added to the map: it was full */
};
