/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* DWARF expressions of call frame information (DWARF 5, sections 2.5.1 and 6.4.2). */
#pragma once

#include "elf/unwind.h"

/*
 * Reads 8 bytes of the copied stack. 0; -ENODATA: after its end; -EFAULT: before its start.
 */
int gt_unwind_stack_read(const struct gt_unwind_stack *stack, uint64_t address,
			 uint64_t *ret_value);

/*
 * Evaluates an expression. *initial (or NULL) is on the stack at the start: the CFA. 0; errors of
 * gt_unwind_stack_read; -EBADMSG: malformed, endless, or with an operation that is not allowed;
 * -ENXIO: the value of a register is not known.
 */
int gt_expression_evaluate(const uint8_t *bytes, size_t size, const uint64_t *initial,
			   const struct gt_unwind_registers *registers,
			   const struct gt_unwind_stack *stack, uint64_t *ret_value);
