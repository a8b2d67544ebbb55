/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Unwinding by .eh_frame: from a thread's registers and a copy of its stack to its return
 * addresses. If a function has no rules (JIT-compiled code, a program built without them), the
 * frame pointer is followed instead, and counted. Rules: DWARF 5, section 6.4; LSB 5.0 Core,
 * "Exception Frames"; the psABIs of x86-64 and AArch64 for the numbers of registers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clean.h"
#include "elf/cfi.h"
#include "elf/space.h"

/* Registers by their DWARF numbers. */
struct gt_unwind_registers {
	uint64_t values[GT_CFI_REGISTERS];
	uint64_t known; /* bit n: values[n] is known */
	uint64_t pc;    /* address of the next instruction */
	bool is_entry;  /* pc is at a function's start: its caller is known without rules */
};

/* Sets the registers that unwinding needs. link: x30 of AArch64; not used on x86-64. */
void gt_unwind_registers_set(struct gt_unwind_registers *registers, uint64_t pc, uint64_t stack,
			     uint64_t frame, uint64_t link);

/* A copy of memory, from the stack pointer upwards. */
struct gt_unwind_stack {
	uint64_t start; /* address of its first byte */
	const void *data;
	size_t size; /* bytes */
};

enum gt_unwind_end {
	GT_UNWIND_OUTERMOST, /* the thread's first function */
	GT_UNWIND_FULL,      /* the array is full */
	GT_UNWIND_STACK_END, /* the copy of the stack is too short: there are more callers */
	GT_UNWIND_NO_CODE,   /* a return address is in no known mapping */
	GT_UNWIND_NO_RULES,  /* no rules, and no usable frame pointer */
	GT_UNWIND_BROKEN,    /* the rules are malformed, or do not fit the stack */
};

struct gt_unwound {
	size_t count;           /* addresses */
	size_t guessed;         /* of these, found by frame pointers */
	enum gt_unwind_end end; /* why the list ends */
};

struct gt_unwinder;

/* Returns an unwinder; NULL: out of memory. The space is borrowed. */
struct gt_unwinder *gt_unwinder_new(const struct gt_space *space);
void gt_unwinder_free(struct gt_unwinder *unwinder);
GT_DEFINE_AUTO(unwinder, struct gt_unwinder, gt_unwinder_free)

/*
 * Writes the return addresses of a thread of a process, innermost caller first, without pc. An
 * error ends the list and is in ret_unwound->end.
 */
void gt_unwind(struct gt_unwinder *unwinder, uint32_t process,
	       const struct gt_unwind_registers *registers, const struct gt_unwind_stack *stack,
	       uint64_t *ret_addresses, size_t capacity, struct gt_unwound *ret_unwound);
