/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Unwinding by .eh_frame: from a thread's registers and a copy of its stack to the addresses
 * that its functions return to. Where a function has no rules (code made at run time, a program
 * built without them), its frame pointer is followed instead, and that is counted.
 * Rules: DWARF 5, section 6.4; LSB 5.0 Core, "Exception Frames"; the psABIs of x86-64 and
 * AArch64 for the numbers of registers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clean.h"
#include "elf/cfi.h"
#include "elf/space.h"

/* Registers by their DWARF numbers; those that are not known cannot be asked for by a rule. */
struct gt_unwind_registers {
	uint64_t values[GT_CFI_REGISTERS];
	uint64_t known; /* bit n: values[n] is */
	uint64_t pc;    /* of the instruction that is executed next */
	bool is_entry;  /* which is a function's first: without rules, its caller is known still */
};

/* The four that matter. link is AArch64's x30; on x86-64 it is not used. */
void gt_unwind_registers_set(struct gt_unwind_registers *registers, uint64_t pc, uint64_t stack,
			     uint64_t frame, uint64_t link);

/* A copy of memory, from the stack pointer upwards. */
struct gt_unwind_stack {
	uint64_t start; /* address of its first byte */
	const void *data;
	size_t size; /* bytes */
};

enum gt_unwind_end {
	GT_UNWIND_OUTERMOST, /* the thread's first function was reached */
	GT_UNWIND_FULL,      /* the array is full */
	GT_UNWIND_STACK_END, /* the copy of the stack ended: there are more callers */
	GT_UNWIND_NO_CODE,   /* a return address is in no mapping: not told, or no address */
	GT_UNWIND_NO_RULES,  /* no rules, and no frame pointer that leads on */
	GT_UNWIND_BROKEN,    /* the rules are damaged, or the stack is not what they say */
};

struct gt_unwound {
	size_t count;           /* addresses */
	size_t guessed;         /* of them by frame pointers */
	enum gt_unwind_end end; /* why there are no more */
};

struct gt_unwinder;

/* The space is borrowed. NULL if memory ran out. */
struct gt_unwinder *gt_unwinder_new(const struct gt_space *space);
void gt_unwinder_free(struct gt_unwinder *unwinder);
GT_DEFINE_AUTO(unwinder, struct gt_unwinder, gt_unwinder_free)

/*
 * Writes the return addresses of a thread of a process, the innermost caller's first; pc itself
 * is not among them. Whatever is wrong shortens the list and stands in ret->end.
 */
void gt_unwind(struct gt_unwinder *unwinder, uint32_t process,
	       const struct gt_unwind_registers *registers, const struct gt_unwind_stack *stack,
	       uint64_t *ret_addresses, size_t capacity, struct gt_unwound *ret_unwound);
