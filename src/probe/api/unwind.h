/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The maps of unwinding rules, which user space fills and the programs on calls read: a table of
 * rows (elf/unwind_row.h), and which of them belong to a file.
 */
#pragma once

#ifndef __bpf__
#include <linux/types.h>
#endif

#define GT_UNWIND_MAX_ROWS (1u << GT_UNWIND_MAX_ROWS_BITS) /* of all files: 32 MiB */
#define GT_UNWIND_MAX_ROWS_BITS 22
#define GT_UNWIND_MAX_FILES (1u << GT_UNWIND_FILE_BITS)
#define GT_UNWIND_FILE_BITS 12

/* A file as the kernel and stat(2) both know it: devices differ for overlayfs and btrfs. */
struct gt_unwind_file {
	__u64 inode;
	__u64 size; /* bytes */
};

/* The rows of a file, by offset. */
struct gt_unwind_range {
	__u32 first;
	__u32 count;
	__u32 file; /* its number, below GT_UNWIND_MAX_FILES */
};

/* Executable memory. */
struct gt_code_mapping {
	__u64 start, end;             /* addresses; end is exclusive */
	__u64 offset;                 /* of `start` in the file */
	struct gt_unwind_range range; /* of the file; count 0: it has no rules */
	__u32 padding;
};

/*
 * The mappings of a process that overlap a block of addresses: used where the kernel's own list is
 * locked, since another thread of the process changes it.
 */
#define GT_CODE_BLOCK_SHIFT 19 /* 512 KiB */
#define GT_CODE_BLOCK_MAPPINGS 4
#define GT_CODE_MAX_BLOCKS 16384

struct gt_code_block_key {
	__u64 block; /* address >> GT_CODE_BLOCK_SHIFT */
	__u32 process;
	__u32 padding;
};

struct gt_code_block {
	struct gt_code_mapping mappings[GT_CODE_BLOCK_MAPPINGS]; /* the latest first */
};
