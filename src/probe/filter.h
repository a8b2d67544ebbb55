/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The filter of threads. BPF programs read it as constants; a thread passes if it passes every
 * part that is set. Shared with BPF: __uNN types only.
 */
#pragma once

#ifndef __bpf__
#include <linux/types.h>
#endif

#define GT_NAME_SIZE 16 /* bytes of a thread's name in the kernel, with its NUL */

struct gt_filter {
	__u64 cgroup;            /* id (inode number) of a cgroup v2; 0: any */
	__u64 executable_inode;  /* inode of the program's file; 0: any */
	__u32 executable_device; /* its st_dev as the kernel has it: major << 20 | minor */
	__u32 pid_namespace;     /* inode number of gputap's own: ids are given as seen there */
	__u32 uid;
	__u32 reserved;
	__u8 by_process; /* only processes in the map, and their children */
	__u8 by_uid;
	__u8 name_length; /* bytes of `name` to compare; 0: any name */
	__u8 name_is_prefix;
	char name[GT_NAME_SIZE]; /* of the process: its first thread's */
};
