/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Python frames: what BPF programs need to know of a process that runs CPython 3.9 to 3.13. Shared
 * with BPF.
 */
#pragma once

#ifndef __bpf__
#include <linux/types.h>
#endif

#define GT_PYTHON_FIRST_MINOR 9 /* 3.9 is layout 0 … */
#define GT_PYTHON_LAYOUTS 5     /* … and 3.13 the last one */

/* A process with an interpreter. */
struct gt_python {
	__u64 runtime; /* address of _PyRuntime in the process */
	__u32 layout;  /* below GT_PYTHON_LAYOUTS, or GT_PYTHON_NO_LAYOUT */
	__u32 reserved;
};

/* Of an interpreter whose frames cannot be walked. */
#define GT_PYTHON_NO_LAYOUT (~0u)

/* Offsets in its structures: a row of layouts.def, which describes the fields. */
struct gt_python_layout {
	__u16 tss_key, thread_id, top, current_frame;
	__u16 back, code, instruction, instruction_unit, entry, entry_value;
	__u16 first_line, file, name, line_table, instructions, ascii, wide;
};

/* The parts of a `code` event's tail: the name, the file name, the line table. */
#define GT_PYTHON_NAME 256
#define GT_PYTHON_FILE 512
#define GT_PYTHON_TABLE 8192
#define GT_PYTHON_TAIL (GT_PYTHON_NAME + GT_PYTHON_FILE + GT_PYTHON_TABLE)

/* Of the second word of a frame in a `python` event; the rest is the offset of the instruction. */
#define GT_PYTHON_ENTRY                                                                            \
	(1ull << 63) /* the interpreter was entered by this frame: a native call                   \
		      */
