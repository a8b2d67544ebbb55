/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Python frames of stacks: code objects, their source lines, and where the frames belong among the
 * native ones. In a stack, a Python frame is an address that no process has
 * (gt_python_is_frame).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clean.h"
#include "elf/symbolize.h"
#include "event/event.h"

struct gt_python_names;

/* NULL: out of memory. */
struct gt_python_names *gt_python_names_new(void);
void gt_python_names_free(struct gt_python_names *python);
GT_DEFINE_AUTO(python_names, struct gt_python_names, gt_python_names_free)

/* Learn from a `code` or `python` event. 0 or -ENOMEM. */
int gt_python_names_take(struct gt_python_names *python, const struct gt_event *event);

/* Whether an "address" is a Python frame. */
bool gt_python_is_frame(uint64_t address);
/* The function, file and line of a Python frame, if they are known; they live as `python`. */
void gt_python_location(const struct gt_python_names *python, uint64_t address,
			struct gt_location *ret_location);

/* How a native frame is related to the interpreter. */
enum gt_python_relation {
	GT_PYTHON_FOREIGN,  /* not at all */
	GT_PYTHON_UNKNOWN,  /* in no mapped file: where frame pointers are missing, no address */
	GT_PYTHON_INTERNAL, /* of the interpreter, or between it and a foreign function */
	GT_PYTHON_EVAL,     /* executes Python frames */
	GT_PYTHON_START,    /* of libc, calls main() */
};

/* Return the relation of a native frame. */
enum gt_python_relation gt_python_relation_of(const struct gt_location *location);

/* Whether a stack of a process has Python frames. */
bool gt_python_has_frames(const struct gt_python_names *python, uint32_t process, uint64_t stack);

/*
 * Merge the native callers of a stack, with their relations, with its Python frames: an EVAL frame
 * becomes the frames that it executes, other frames of the interpreter are omitted. Python frames
 * that remain, since an EVAL frame has no symbol, come after the outermost frame of the
 * interpreter, before the START frames. Returns NULL if the stack has no Python frames, or there is
 * no memory; else the merged addresses, which the caller frees.
 */
uint64_t *gt_python_merge(const struct gt_python_names *python, uint32_t process, uint64_t stack,
			  const __u64 *addresses, const enum gt_python_relation *relations,
			  size_t count, size_t *ret_count);

/*
 * The source line of the instruction at `offset` (bytes) in a code object of CPython 3.<minor>.
 * Returns 0 if the instruction has none. Formats of the table: Objects/lnotab_notes.txt (3.9,
 * 3.10), Objects/locations.md (3.11 on) of CPython's sources.
 */
uint32_t gt_python_line(unsigned minor, uint32_t first_line, const uint8_t *table, size_t size,
			int32_t offset);
