/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Definitions shared by the BPF programs on processes and user space. */
#pragma once

#ifndef __bpf__
#include <linux/types.h>
#endif

/* One per CPU. */
struct gt_process_counts {
	__u64 lost;     /* process and exit events that were dropped (ring full) */
	__u64 untraced; /* children that could not be added to the map (full) */
};
