/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Unwinding rules in 8 bytes, for the BPF program that finds the callers of a call. They hold
 * what functions compiled for x86-64 need to find their caller; everything else is
 * GT_UNWIND_BY_FRAME. Shared with the BPF program.
 */
#pragma once

#ifndef __bpf__
#include <linux/types.h>
#endif

/* The canonical frame address (CFA) is where the caller's stack pointer was before its call. */
enum gt_unwind_rule_kind {
	GT_UNWIND_BY_FRAME,   /* no usable rule: frame pointers */
	GT_UNWIND_BY_STACK,   /* the CFA is the stack pointer + offset */
	GT_UNWIND_BY_BASE,    /* the CFA is the frame pointer + offset */
	GT_UNWIND_BY_POINTER, /* the CFA is stored at the frame pointer + offset: a realigned stack
			       */
	GT_UNWIND_BY_SIGNAL,  /* the registers of interrupted code are at the stack pointer */
	GT_UNWIND_ENDS,       /* the outermost function */
};

/* One rule applies from `offset` up to that of the next row. */
struct gt_unwind_row {
	__u32 offset; /* in the file */
	__u32 rule;   /* GT_UNWIND_RULE */
};

/*
 * Offsets are multiples of 8. `slot`: bytes from the saved frame pointer up to the CFA; 0: the
 * caller's frame pointer is the current one.
 */
#define GT_UNWIND_MAX_OFFSET (65535 * 8)
#define GT_UNWIND_MAX_SLOT (4095 * 8)
#define GT_UNWIND_RULE(kind, offset, slot)                                                         \
	((__u32)(kind) | ((__u32)((offset) / 8) & 0x1ffff) << 3 | (__u32)((slot) / 8) << 20)
#define GT_UNWIND_KIND(rule) ((rule)&7)
#define GT_UNWIND_OFFSET(rule) ((__s64)((__s32)((rule) << 12) >> 15) * 8)
#define GT_UNWIND_SLOT(rule) ((__u64)((rule) >> 20) * 8)
