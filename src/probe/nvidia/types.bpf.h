/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Types that functions of NVIDIA's driver have as arguments. */
#pragma once

#include "probe/vmlinux_min.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct inode___nvidia {
	__u32 i_rdev;
};

struct file___nvidia {
	struct inode___nvidia *f_inode;
};

struct vm_area_struct___nvidia {
	unsigned long vm_start, vm_end;
	unsigned long vm_pgoff;
};

struct vm_fault___nvidia {
	unsigned long address;
};

#pragma clang attribute pop

/*
 * Of the driver's public headers and never changed there. Its module may have no BTF: the offsets
 * are these.
 */
struct nvidia_page_table { /* struct nvidia_p2p_page_table, nv-p2p.h */
	__u32 version;
	__u32 page_size; /* 0: 4 KiB, 1: 64 KiB, 2: 128 KiB */
	__u64 pages;
	__u32 entries;
};

struct nvidia_control { /* NVOS54_PARAMETERS, nvos.h */
	__u32 client, object;
	__u32 command;
	__u32 flags;
	__u64 parameters;
	__u32 size;
	__u32 status;
};

struct nvidia_alloc { /* the beginning of NVOS21_PARAMETERS and NVOS64_PARAMETERS */
	__u32 root, parent, object;
	__u32 class;
};

struct nvidia_transfer { /* nv_ioctl_xfer_t, nv-ioctl.h: the real command */
	__u32 command;
	__u32 size;
	__u64 argument;
};
