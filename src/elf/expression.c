/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "elf/expression.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "elf/cursor.h"

#define MAX_DEPTH 64
#define MAX_STEPS 1000 /* DW_OP_bra can go backwards */

struct evaluation {
	struct elf_cursor code;
	const uint8_t *start;
	const struct gt_unwind_registers *registers;
	const struct gt_unwind_stack *memory;
	uint64_t values[MAX_DEPTH];
	size_t depth;
	int error;
};

int gt_unwind_stack_read(const struct gt_unwind_stack *stack, uint64_t address, uint64_t *ret_value)
{
	uint64_t offset = address - stack->start;

	if (address < stack->start)
		return -EFAULT;
	if (stack->size < sizeof(*ret_value) || offset > stack->size - sizeof(*ret_value))
		return -ENODATA;
	memcpy(ret_value, (const uint8_t *)stack->data + offset, sizeof(*ret_value));
	return 0;
}

static void fail(struct evaluation *evaluation, int error)
{
	if (!evaluation->error)
		evaluation->error = error;
}

static void push(struct evaluation *evaluation, uint64_t value)
{
	if (evaluation->depth == MAX_DEPTH)
		fail(evaluation, -EBADMSG);
	else
		evaluation->values[evaluation->depth++] = value;
}

static uint64_t pop(struct evaluation *evaluation)
{
	if (evaluation->depth)
		return evaluation->values[--evaluation->depth];
	fail(evaluation, -EBADMSG);
	return 0;
}

/* Pushes a copy of the value that is `index` below the top. */
static void pick(struct evaluation *evaluation, uint64_t index)
{
	if (index < evaluation->depth)
		push(evaluation, evaluation->values[evaluation->depth - 1 - index]);
	else
		fail(evaluation, -EBADMSG);
}

static void push_register(struct evaluation *evaluation, uint64_t number)
{
	uint64_t offset = (uint64_t)cursor_sleb(&evaluation->code);

	if (number >= GT_CFI_REGISTERS || !(evaluation->registers->known >> number & 1))
		fail(evaluation, -ENXIO);
	else
		push(evaluation, evaluation->registers->values[number] + offset);
}

static void dereference(struct evaluation *evaluation, uint64_t size)
{
	uint64_t value = 0;
	int error = gt_unwind_stack_read(evaluation->memory, pop(evaluation), &value);

	if (!size || size > 8)
		error = -EBADMSG;
	if (error)
		fail(evaluation, error);
	else
		push(evaluation, size == 8 ? value : value & ((UINT64_C(1) << size * 8) - 1));
}

static void jump(struct evaluation *evaluation, bool taken)
{
	int64_t distance = cursor_signed(&evaluation->code, 2);
	int64_t place = evaluation->code.at - evaluation->start;
	int64_t size = evaluation->code.end - evaluation->start;

	if (!taken)
		return;
	if (distance < -place || distance > size - place)
		fail(evaluation, -EBADMSG);
	else
		evaluation->code.at += distance;
}

/* Executes an operation with a constant; false: another operation. */
static bool push_constant(struct evaluation *evaluation, uint8_t operation)
{
	struct elf_cursor *code = &evaluation->code;

	if (operation >= DW_OP_lit0 && operation <= DW_OP_lit31) {
		push(evaluation, operation - DW_OP_lit0);
		return true;
	}
	switch (operation) {
	case DW_OP_const1u:
		push(evaluation, cursor_number(code, 1));
		return true;
	case DW_OP_const1s:
		push(evaluation, (uint64_t)cursor_signed(code, 1));
		return true;
	case DW_OP_const2u:
		push(evaluation, cursor_number(code, 2));
		return true;
	case DW_OP_const2s:
		push(evaluation, (uint64_t)cursor_signed(code, 2));
		return true;
	case DW_OP_const4u:
		push(evaluation, cursor_number(code, 4));
		return true;
	case DW_OP_const4s:
		push(evaluation, (uint64_t)cursor_signed(code, 4));
		return true;
	case DW_OP_const8u:
	case DW_OP_const8s:
		push(evaluation, cursor_number(code, 8));
		return true;
	case DW_OP_constu:
		push(evaluation, cursor_uleb(code));
		return true;
	case DW_OP_consts:
		push(evaluation, (uint64_t)cursor_sleb(code));
		return true;
	}
	return false;
}

/* Executes an operation on the two topmost values, `a` below `b`; false: another operation. */
static bool combine(uint8_t operation, uint64_t a, uint64_t b, uint64_t *ret_value)
{
	int64_t left = (int64_t)a, right = (int64_t)b;

	switch (operation) {
	case DW_OP_and:
		*ret_value = a & b;
		return true;
	case DW_OP_or:
		*ret_value = a | b;
		return true;
	case DW_OP_xor:
		*ret_value = a ^ b;
		return true;
	case DW_OP_plus:
		*ret_value = a + b;
		return true;
	case DW_OP_minus:
		*ret_value = a - b;
		return true;
	case DW_OP_mul:
		*ret_value = a * b;
		return true;
	case DW_OP_shl:
		*ret_value = b < 64 ? a << b : 0;
		return true;
	case DW_OP_shr:
		*ret_value = b < 64 ? a >> b : 0;
		return true;
	case DW_OP_shra:
		b = b < 63 ? b : 63;
		*ret_value = a >> b | (left < 0 ? ~(UINT64_MAX >> b) : 0);
		return true;
	case DW_OP_eq:
		*ret_value = a == b;
		return true;
	case DW_OP_ne:
		*ret_value = a != b;
		return true;
	case DW_OP_ge:
		*ret_value = left >= right;
		return true;
	case DW_OP_gt:
		*ret_value = left > right;
		return true;
	case DW_OP_le:
		*ret_value = left <= right;
		return true;
	case DW_OP_lt:
		*ret_value = left < right;
		return true;
	}
	return false;
}

static void move_values(struct evaluation *evaluation, uint8_t operation)
{
	uint64_t first, second, third;

	switch (operation) {
	case DW_OP_dup:
		pick(evaluation, 0);
		return;
	case DW_OP_over:
		pick(evaluation, 1);
		return;
	case DW_OP_pick:
		pick(evaluation, cursor_number(&evaluation->code, 1));
		return;
	case DW_OP_drop:
		pop(evaluation);
		return;
	case DW_OP_swap:
		first = pop(evaluation);
		second = pop(evaluation);
		push(evaluation, first);
		push(evaluation, second);
		return;
	case DW_OP_rot:
		first = pop(evaluation);
		second = pop(evaluation);
		third = pop(evaluation);
		push(evaluation, first);
		push(evaluation, third);
		push(evaluation, second);
		return;
	}
	fail(evaluation, -EBADMSG);
}

static void step(struct evaluation *evaluation, uint8_t operation)
{
	struct elf_cursor *code = &evaluation->code;

	switch (operation) {
	case DW_OP_nop:
		return;
	case DW_OP_bregx:
		push_register(evaluation, cursor_uleb(code));
		return;
	case DW_OP_deref:
		dereference(evaluation, 8);
		return;
	case DW_OP_deref_size:
		dereference(evaluation, cursor_number(code, 1));
		return;
	case DW_OP_plus_uconst:
		push(evaluation, pop(evaluation) + cursor_uleb(code));
		return;
	case DW_OP_neg:
		push(evaluation, -pop(evaluation));
		return;
	case DW_OP_not:
		push(evaluation, ~pop(evaluation));
		return;
	case DW_OP_skip:
		jump(evaluation, true);
		return;
	case DW_OP_bra:
		jump(evaluation, pop(evaluation) != 0);
		return;
	}
	if (operation >= DW_OP_breg0 && operation <= DW_OP_breg31)
		push_register(evaluation, operation - DW_OP_breg0);
	else if (!push_constant(evaluation, operation))
		move_values(evaluation, operation);
}

int gt_expression_evaluate(const uint8_t *bytes, size_t size, const uint64_t *initial,
			   const struct gt_unwind_registers *registers,
			   const struct gt_unwind_stack *stack, uint64_t *ret_value)
{
	struct evaluation evaluation = {
		.code = {bytes, bytes + size, false},
		.start = bytes,
		.registers = registers,
		.memory = stack,
	};
	uint64_t value;

	if (initial)
		push(&evaluation, *initial);
	for (size_t steps = 0; evaluation.code.at < evaluation.code.end; steps++) {
		uint8_t operation = (uint8_t)cursor_number(&evaluation.code, 1);
		size_t depth = evaluation.depth;

		if (depth >= 2 && combine(operation, evaluation.values[depth - 2],
					  evaluation.values[depth - 1], &value)) {
			evaluation.depth -= 2;
			push(&evaluation, value);
		} else {
			step(&evaluation, operation);
		}
		if (evaluation.code.bad || steps == MAX_STEPS)
			fail(&evaluation, -EBADMSG);
		if (evaluation.error)
			return evaluation.error;
	}
	value = pop(&evaluation);
	if (!evaluation.error)
		*ret_value = value;
	return evaluation.error;
}
