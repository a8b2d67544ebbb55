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

#define GT_FILTER_MAX 8 /* of names, cgroups and users each */

/* A name of processes: that of their first thread. */
struct gt_filter_name {
	char text[GT_NAME_SIZE];
	__u8 length; /* bytes of `text` to compare */
	__u8 is_prefix;
	__u8 reserved[6];
};

/* A thread passes a part if it passes one of its values, or the part has none. */
struct gt_filter {
	__u64 cgroups[GT_FILTER_MAX]; /* ids (inode numbers) of cgroups v2 */
	struct gt_filter_name names[GT_FILTER_MAX];
	__u32 uids[GT_FILTER_MAX];
	__u64 executable_inode;  /* inode of the program's file; 0: any */
	__u32 executable_device; /* its st_dev as the kernel has it: major << 20 | minor */
	__u32 pid_namespace;     /* inode number of gputap's own: ids are given as seen there */
	__u8 by_process;         /* only processes in the map, and their children */
	__u8 cgroup_count;
	__u8 name_count;
	__u8 uid_count;
	__u32 reserved;
};

/* Whether a user is one of those that are traced. */
static inline _Bool gt_filter_has_uid(const volatile struct gt_filter *filter, __u32 uid)
{
	for (__u32 i = 0; i < GT_FILTER_MAX && i < filter->uid_count; i++)
		if (filter->uids[i] == uid)
			return 1;
	return 0;
}

/* Whether a cgroup is one of those that are traced. */
static inline _Bool gt_filter_has_cgroup(const volatile struct gt_filter *filter, __u64 id)
{
	for (__u32 i = 0; i < GT_FILTER_MAX && i < filter->cgroup_count; i++)
		if (filter->cgroups[i] == id)
			return 1;
	return 0;
}
