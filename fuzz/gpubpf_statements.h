/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Statements of random programs: scalars, memory, and stacks. */
#pragma once

#include "gpubpf_writer.h"

static void add_alu(struct writer *writer)
{
	static const uint8_t operations[] = {BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV,  BPF_OR,
					     BPF_AND, BPF_LSH, BPF_RSH, BPF_MOD,  BPF_XOR,
					     BPF_MOV, BPF_NEG, BPF_END, BPF_ARSH, BPF_AND};
	static const uint8_t widths[] = {16, 32, 64};
	unsigned operation = operations[below(gt_countof(operations))];
	unsigned width = below(3) ? BPF_ALU64 : BPF_ALU;
	unsigned source = scalar_register(writer);
	unsigned target = operation == BPF_MOV ? target_register(writer) : scalar_register(writer);
	struct bpf_insn insn = insn_k(width | operation, target == 9 ? 8 : target, 0);

	if (operation == BPF_END) {
		insn.code |= width == BPF_ALU && below(2) ? BPF_TO_BE : 0;
		insn.imm = widths[below(3)];
	} else if (operation != BPF_NEG && below(2)) {
		insn.code |= BPF_X;
		insn.src_reg = source & 15;
		if (operation == BPF_MOV && !below(3))
			insn.off = (int16_t)(8 << below(width == BPF_ALU64 ? 3 : 2));
	} else if (operation != BPF_NEG) {
		insn.imm = random_immediate();
		if (operation == BPF_LSH || operation == BPF_RSH || operation == BPF_ARSH)
			insn.imm &= width == BPF_ALU64 ? 63 : 31;
		if ((operation == BPF_DIV || operation == BPF_MOD) && !insn.imm)
			insn.imm = 3;
	}
	if (operation == BPF_DIV || operation == BPF_MOD)
		insn.off = (int16_t)below(2);
	emit(writer, insn);
}

static void add_constant(struct writer *writer)
{
	unsigned target = target_register(writer);

	if (below(3)) {
		set(writer, target, random_immediate());
		return;
	}
	emit(writer, insn_k(BPF_LD | BPF_IMM | BPF_DW, target, random_immediate()));
	emit(writer, insn_k(0, 0, random_immediate()));
}

static void add_atomic(struct writer *writer, unsigned base, int offset)
{
	static const int32_t operations[] = {BPF_ADD,
					     BPF_OR,
					     BPF_AND,
					     BPF_XOR,
					     BPF_ADD | BPF_FETCH,
					     BPF_OR | BPF_FETCH,
					     BPF_AND | BPF_FETCH,
					     BPF_XOR | BPF_FETCH,
					     BPF_XCHG,
					     BPF_CMPXCHG};
	struct bpf_insn insn = insn_x(BPF_STX | BPF_ATOMIC | (below(2) ? BPF_DW : BPF_W), base,
				      7 + below(2), offset & ~7);

	insn.imm = operations[below(gt_countof(operations))];
	if (insn.imm == BPF_CMPXCHG && (!(writer->scalars & 1) || !base))
		insn.imm = BPF_XCHG;
	emit(writer, insn);
}

/* An access at base + offset, within `room` bytes. */
static void add_access(struct writer *writer, unsigned base, int offset, unsigned room,
		       bool aligned, bool atomic)
{
	unsigned size = some_size(), bytes = bytes_of(size), kind = below(4), step;

	while (bytes > room) {
		size = BPF_B;
		bytes = 1;
	}
	step = room - bytes + 1;
	offset += (int)(aligned ? below(step) / bytes * bytes : below(step));
	/* Some are slightly out of bounds: the verifier must reject them. */
	if (!below(24))
		offset += (int)below(9) - 4;
	switch (kind) {
	case 0:
		if (atomic && room >= 8) {
			add_atomic(writer, base, offset > 0 ? offset / 8 * 8 : offset);
			return;
		}
		emit(writer,
		     insn_x(BPF_STX | BPF_MEM | size, base, scalar_register(writer), offset));
		return;
	case 1:
		emit(writer, insn_x(BPF_ST | BPF_MEM | size, base, 0, offset));
		writer->insns[writer->count - 1].imm = random_immediate();
		return;
	default: {
		unsigned mode = size != BPF_DW && !below(3) ? BPF_MEMSX : BPF_MEM;

		emit(writer, insn_x(BPF_LDX | mode | size, target_register(writer), base, offset));
	}
	}
}

static void add_memory(struct writer *writer)
{
	add_access(writer, 6, 0, MEMORY, false, true);
}

static void add_stack(struct writer *writer)
{
	add_access(writer, 10, -8 * (int)(1 + below(SLOTS / 8)), 8, true, true);
}

/* Bound a register to 0 … mask by one of several operations. */
static void bound(struct writer *writer, unsigned target, unsigned bits)
{
	int32_t mask = (1 << bits) - 1;

	switch (below(4)) {
	case 0:
		emit(writer, insn_k(BPF_ALU64 | BPF_RSH | BPF_K, target, (int32_t)(64 - bits)));
		break;
	case 1:
		emit(writer, insn_k(BPF_JMP | BPF_JLE | BPF_K, target, mask));
		writer->insns[writer->count - 1].off = 1;
		set(writer, target, (int32_t)below((unsigned)mask + 1));
		break;
	case 2:
		emit(writer, insn_k(BPF_ALU | BPF_AND | BPF_K, target, mask));
		break;
	default:
		emit(writer, insn_k(BPF_ALU64 | BPF_AND | BPF_K, target, mask));
	}
}

/* An access at an unknown offset. */
static void add_indexed(struct writer *writer)
{
	unsigned index = scalar_register(writer), pointer = pointer_register(writer);
	unsigned bits = 3 + below(3);

	if (index == pointer)
		index = 7;
	move(writer, pointer, index);
	bound(writer, pointer, bits + !below(16));
	if (below(3)) {
		emit(writer, insn_x(BPF_ALU64 | BPF_ADD | BPF_X, pointer, 6, 0));
		add_access(writer, pointer, 0, MEMORY - (1u << bits) + 1, false, false);
	} else {
		emit(writer, insn_k(BPF_ALU64 | BPF_AND | BPF_K, pointer, 56));
		emit(writer, insn_k(BPF_ALU64 | BPF_SUB | BPF_K, pointer, SLOTS));
		emit(writer, insn_x(BPF_ALU64 | BPF_ADD | BPF_X, pointer, 10, 0));
		add_access(writer, pointer, 0, 8, true, false);
	}
	writer->scalars &= (uint16_t) ~(1u << pointer);
	set(writer, pointer, 0);
	writer->scalars |= (uint16_t)(1u << pointer);
}

static void add_spill(struct writer *writer)
{
	unsigned pointer = pointer_register(writer);

	emit(writer, insn_x(BPF_STX | BPF_MEM | BPF_DW, 10, 6, SPILL));
	emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_DW, pointer, 10, SPILL));
	emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_B, pointer, pointer, (int)below(MEMORY)));
	writer->scalars |= (uint16_t)(1u << pointer);
}

/* A bounded scalar that was spilled, filled in as many bytes or fewer, is an index. */
static void add_spilled_index(struct writer *writer)
{
	unsigned pointer = pointer_register(writer), index = scalar_register(writer);
	unsigned bits = 3 + below(3), size = some_size(), again = below(3) ? size : some_size();
	int slot = -8 * (int)(1 + below(SLOTS / 8));

	move(writer, pointer, index == pointer ? 7 : index);
	bound(writer, pointer, bits + !below(16));
	if (!below(8))
		slot += (int)bytes_of(size) % 8;
	emit(writer, insn_x(BPF_STX | BPF_MEM | size, 10, pointer, slot));
	if (below(2))
		add_stack(writer);
	emit(writer, insn_x(BPF_LDX | BPF_MEM | again, pointer, 10, slot));
	emit(writer, insn_x(BPF_ALU64 | BPF_ADD | BPF_X, pointer, 6, 0));
	add_access(writer, pointer, 0, MEMORY - (1u << bits) + 1, false, false);
	restore_scalar(writer, pointer);
}

/* The low bytes of a range that does not begin at 0: moved, or spilled and filled. */
static void add_partial_index(struct writer *writer)
{
	static const uint8_t sizes[] = {BPF_B, BPF_H, BPF_W};
	unsigned pointer = pointer_register(writer), size = sizes[below(gt_countof(sizes))];
	int32_t base = (int32_t)(below(6) << (8 * bytes_of(size) & 31) | below(MEMORY / 2));
	int slot = -8 * (int)(1 + below(SLOTS / 8));

	move(writer, pointer, 7 + below(2));
	emit(writer, insn_k(BPF_ALU64 | BPF_AND | BPF_K, pointer,
			    (1 << (1 + below(4) + (below(3) ? 0 : 8))) - 1));
	emit(writer, insn_k(BPF_ALU64 | BPF_ADD, pointer, base));
	if (below(3)) {
		emit(writer, insn_x(BPF_STX | BPF_MEM | BPF_DW, 10, pointer, slot));
		emit(writer,
		     insn_x(BPF_LDX | (below(3) ? BPF_MEM : BPF_MEMSX) | size, pointer, 10, slot));
	} else {
		emit(writer, insn_x(BPF_ALU64 | BPF_MOV | BPF_X, pointer, pointer,
				    (int)(8 * bytes_of(size))));
	}
	emit(writer, insn_x(BPF_ALU64 | BPF_ADD | BPF_X, pointer, 6, 0));
	add_access(writer, pointer, 0, 1 + below(MEMORY / 2), false, false);
	restore_scalar(writer, pointer);
}

static struct bpf_insn some_condition(struct writer *writer)
{
	static const uint8_t operations[] = {BPF_JEQ,  BPF_JNE,  BPF_JGT,  BPF_JGE,
					     BPF_JLT,  BPF_JLE,  BPF_JSGT, BPF_JSGE,
					     BPF_JSLT, BPF_JSLE, BPF_JSET};
	unsigned code =
		(below(3) ? BPF_JMP : BPF_JMP32) | operations[below(gt_countof(operations))];
	unsigned target = scalar_register(writer);

	if (below(2))
		return insn_k(code, target, random_immediate());
	return insn_x(code | BPF_X, target, scalar_register(writer), 0);
}

/* Enough instructions and jumps for the verifier to keep a state at a prune point. */
static void add_filler(struct writer *writer)
{
	for (unsigned i = below(7); i; i--)
		emit(writer, insn_k(BPF_ALU64 | BPF_ADD, 7 + below(2), 1));
	for (unsigned i = below(3); i; i--)
		emit(writer, insn_k(BPF_JMP | BPF_JA, 0, 0));
}

/* On one of two paths, change a copy of a scalar, or a stack slot. */
static void change_link(struct writer *writer, unsigned copy, unsigned number, int slot)
{
	unsigned other = jump(writer, some_condition(writer));

	if (!copy)
		emit(writer, insn_x(BPF_STX | BPF_MEM | BPF_DW, 10, 15 - number, slot));
	else if (below(2))
		emit(writer, insn_k(BPF_ALU64 | BPF_ADD, copy, (int32_t)below(9)));
	else
		move(writer, copy, 15 - number);
	add_filler(writer);
	land(writer, other);
}

/* Bounds of a scalar hold for its copies: in registers, with an added constant, and spilled. */
static void add_linked(struct writer *writer)
{
	unsigned copy = pointer_register(writer), number = 7 + below(2), bits = 3 + below(3), skip;
	int slot = -8 * (int)(1 + below(SLOTS / 8)), more = (int)below(3) * 8;
	bool stored = below(2), narrow = !below(4);
	unsigned code = narrow ? BPF_JMP32 : BPF_JMP;

	if (!below(3))
		emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_W, number, 6, 4 * (int)below(16)));
	if (stored)
		emit(writer, insn_x(BPF_STX | BPF_MEM | BPF_DW, 10, number, slot));
	else
		move(writer, copy, number);
	if (!stored && below(2))
		emit(writer, insn_k(BPF_ALU64 | BPF_ADD, copy, more));
	else
		more = 0;
	if (!below(4))
		change_link(writer, stored ? 0 : copy, number, slot);
	code |= below(4) ? BPF_JGT : BPF_JSGT;
	skip = jump(writer, insn_k(code, below(4) || stored ? number : copy, (1 << bits) - 1));
	if (stored)
		emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_DW, copy, 10, slot));
	emit(writer, insn_x(BPF_ALU64 | BPF_ADD | BPF_X, copy, 6, 0));
	add_access(writer, copy, -more, MEMORY - (1u << bits) + 1, false, false);
	writer->scalars &= (uint16_t)~0x3f;
	land(writer, skip);
	restore_scalar(writer, copy);
}

/*
 * A scalar with different bounds on two paths, stored to a slot unless that is 0. Returns the bound
 * that its users assume, which is not always correct.
 */
static unsigned choose_scalar(struct writer *writer, unsigned target, int slot)
{
	unsigned bits[2] = {below(5), 2 + below(5)}, other, end;
	struct bpf_insn store = insn_x(BPF_STX | BPF_MEM | BPF_DW, 10, target, slot);

	emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_B, target, 6, (int)below(MEMORY)));
	other = jump(writer, some_condition(writer));
	emit(writer, insn_k(BPF_ALU64 | BPF_AND | BPF_K, target, (1 << bits[0]) - 1));
	if (slot)
		emit(writer, store);
	add_filler(writer);
	end = jump(writer, insn_k(BPF_JMP | BPF_JA, 0, 0));
	land(writer, other);
	emit(writer, insn_k(BPF_ALU64 | BPF_AND | BPF_K, target, (1 << bits[1]) - 1));
	if (slot)
		emit(writer, store);
	add_filler(writer);
	land(writer, end);
	if (bits[0] > bits[1] || !below(6))
		return (1u << bits[0]) - 1;
	return (1u << bits[1]) - 1;
}

/* After the paths join, the scalar chosen on them is an index: as it is, or filled. */
static void add_choice(struct writer *writer)
{
	unsigned pointer = pointer_register(writer), other = pointer == 1 ? 2 : 1, max;
	int slot = -8 * (int)(1 + below(SLOTS / 8));
	unsigned size = some_size(), form = below(4);

	writer->scalars &= (uint16_t) ~(1u << other);
	if (form == 1) {
		move(writer, other, 10);
		emit(writer, insn_k(BPF_ALU64 | BPF_ADD, other, slot));
	}
	max = choose_scalar(writer, pointer, form < 2 ? slot : 0);
	if (form == 2) {
		emit(writer, insn_x(BPF_STX | BPF_MEM | size, 10, pointer, slot));
		add_filler(writer);
	}
	if (form < 3)
		emit(writer, insn_x(BPF_LDX | BPF_MEM | (form == 2 ? size : BPF_DW), pointer,
				    form == 1 ? other : 10, form == 1 ? 0 : slot));
	emit(writer, insn_x(BPF_ALU64 | BPF_ADD | BPF_X, pointer, 6, 0));
	add_access(writer, pointer, 0, MEMORY - max, false, false);
	if (form == 1)
		restore_scalar(writer, other);
	restore_scalar(writer, pointer);
}

/* A function stores such a scalar on the stack of its caller. */
static void store_choice(struct writer *writer)
{
	unsigned number = 3, pointer = 4;

	writer->scalars &= (uint16_t) ~(1u << number | 1u << pointer);
	choose_scalar(writer, number, 0);
	emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_DW, pointer, 10, OUTER));
	emit(writer, insn_x(BPF_STX | BPF_MEM | BPF_DW, pointer, number, 0));
}

/* A function uses such a scalar of its caller. */
static void use_choice(struct writer *writer)
{
	emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_DW, 5, 10, OUTER));
	add_filler(writer);
	emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_DW, 5, 5, 0));
	emit(writer, insn_x(BPF_ALU64 | BPF_ADD | BPF_X, 5, 6, 0));
	add_access(writer, 5, 0, 1 + below(8), false, false);
	restore_scalar(writer, 5);
}

/* A function reads and writes the stack of its caller. */
static void add_outer(struct writer *writer)
{
	unsigned pointer = pointer_register(writer);

	if (!writer->function || !writer->passes_stacks) {
		add_stack(writer);
		return;
	}
	emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_DW, pointer, 10, OUTER));
	if (!below(3)) {
		unsigned index = pointer == 1 ? 2 : 1;

		move(writer, index, 7 + below(2));
		emit(writer, insn_k(BPF_ALU64 | BPF_AND | BPF_K, index, below(2) ? 8 : 7));
		emit(writer, insn_x(BPF_ALU64 | BPF_ADD | BPF_X, pointer, index, 0));
		writer->scalars |= (uint16_t)(1u << index);
		add_access(writer, pointer, 0, 8, true, false);
	} else {
		add_access(writer, pointer, 0, OUTER_BYTES, true, true);
	}
	restore_scalar(writer, pointer);
}

/* A value on the stack, perhaps stored there by a function, bounds an index. */
static void add_stack_index(struct writer *writer)
{
	unsigned pointer = pointer_register(writer), bits = 3 + below(3);

	emit(writer, insn_x(BPF_LDX | BPF_MEM | some_size(), pointer, 10,
			    -8 * (int)(1 + below(SLOTS / 8))));
	if (below(8))
		bound(writer, pointer, bits);
	emit(writer, insn_x(BPF_ALU64 | BPF_ADD | BPF_X, pointer, 6, 0));
	add_access(writer, pointer, 0, MEMORY - (1u << bits) + 1, false, false);
	restore_scalar(writer, pointer);
}

static void add_value(struct writer *writer)
{
	unsigned pointer = pointer_register(writer);

	if (random_private) {
		restore_scalar(writer, pointer);
		return;
	}
	load_map(writer, pointer, MAP_ONE, 0);
	add_access(writer, pointer, 0, MAP_VALUE, false, true);
	/* It may have been the target of a load. */
	restore_scalar(writer, pointer);
}
