/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Random eBPF programs with 64 bytes of memory and some maps, most of which the verifier accepts:
 * arithmetic, branches, loops, functions that access their callers' stacks, spilled scalars and
 * pointers, bounded indices, atomics, maps, rings, lanes, compared pointers, fields of contexts.
 * They only call helpers with the same results on the interpreter and on a device. The same
 * programs in each run, or generated from the bytes of a fuzzer; and mutations of programs.
 */
#pragma once

#include "gpubpf_pointers.h"

/* An arbitrary instruction: the verifier decides whether it is safe. */
static void add_noise(struct writer *writer)
{
	uint64_t number = random_number();
	struct bpf_insn insn;

	memcpy(&insn, &number, sizeof(insn));
	insn.imm = random_immediate();
	insn.dst_reg = below(11) & 15;
	insn.src_reg = below(11) & 15;
	insn.off = (int16_t)(below(2) ? 0 : (int)below(16) - 8);
	emit(writer, insn);
}

static void add_statements(struct writer *writer, unsigned statements);

/* if, or if and else: with a jump of either form over the second block. */
static void add_branch(struct writer *writer)
{
	unsigned other = jump(writer, some_condition(writer)), end;
	uint16_t before = writer->scalars, scalars;

	writer->depth++;
	add_statements(writer, 1 + below(4));
	scalars = writer->scalars & before;
	if (!below(3) && writer->count + RANDOM_ROOM < writer->limit) {
		bool wide = below(2);

		end = jump(writer, insn_k((wide ? BPF_JMP32 : BPF_JMP) | BPF_JA, 0, 0));
		land(writer, other);
		writer->scalars = before;
		add_statements(writer, 1 + below(3));
		scalars &= writer->scalars;
		if (wide && end < writer->limit)
			writer->insns[end].imm = (int32_t)(writer->count - end - 1);
		else
			land(writer, end);
	} else {
		land(writer, other);
	}
	writer->scalars = scalars;
	writer->depth--;
}

/* Count r9 up or down, for a known or bounded number of iterations, or to a bounded register. */
static void add_counted_loop(struct writer *writer)
{
	unsigned start, rounds = 1 + below(8);
	bool down = below(2), by_register = !down && !below(4);

	if (below(2) || by_register) {
		set(writer, 9, down ? (int32_t)rounds : 0);
	} else {
		move(writer, 9, 7 + below(2));
		emit(writer, insn_k(BPF_ALU64 | BPF_AND | BPF_K, 9, 7));
		if (down)
			emit(writer, insn_k(BPF_ALU64 | BPF_ADD, 9, 1));
	}
	writer->scalars = 1 << 7 | 1 << 8 | 1 << 9;
	start = writer->count;
	add_statements(writer, 1 + below(4));
	emit(writer, insn_k(BPF_ALU64 | BPF_ADD, 9, down ? -1 : 1));
	if (by_register) {
		emit(writer, insn_k(BPF_ALU64 | BPF_AND | BPF_K, 8, 7));
		emit(writer, insn_x(BPF_JMP | BPF_JLT | BPF_X, 9, 8, 0));
	} else {
		emit(writer, insn_k(BPF_JMP | (down ? BPF_JNE : BPF_JLT) | BPF_K, 9,
				    down ? 0 : (int32_t)rounds));
	}
	writer->insns[writer->count - 1].off = (int16_t)((int)start - (int)writer->count);
	writer->scalars = (uint16_t)(1 << 7 | 1 << 8 | 1 << 9);
}

/* Count in the stack. */
static void add_stack_loop(struct writer *writer)
{
	unsigned start, rounds = 1 + below(4), size = below(2) ? BPF_DW : BPF_W;

	emit(writer, insn_x(BPF_ST | BPF_MEM | size, 10, 0, ROUND));
	writer->scalars &= 1 << 7 | 1 << 8 | 1 << 9;
	start = writer->count;
	add_statements(writer, 1 + below(2));
	emit(writer, insn_x(BPF_LDX | BPF_MEM | size, 5, 10, ROUND));
	emit(writer, insn_k(BPF_ALU64 | BPF_ADD, 5, 1));
	emit(writer, insn_x(BPF_STX | BPF_MEM | size, 10, 5, ROUND));
	emit(writer, insn_k(BPF_JMP | BPF_JLT | BPF_K, 5, (int32_t)rounds));
	writer->insns[writer->count - 1].off = (int16_t)((int)start - (int)writer->count);
	writer->scalars &= 1 << 7 | 1 << 8 | 1 << 9;
}

/* Load through a pointer that advances in each iteration, sometimes too far. */
static void add_walk(struct writer *writer, unsigned step)
{
	emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_DW, 5, 10, WALK));
	emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_B, 4, 5, (int)below(4)));
	emit(writer, insn_k(BPF_ALU64 | BPF_ADD, 5, (int32_t)step));
	emit(writer, insn_x(BPF_STX | BPF_MEM | BPF_DW, 10, 5, WALK));
	writer->scalars &= (uint16_t) ~(1u << 5);
	writer->scalars |= 1 << 4;
	set(writer, 5, 1);
	writer->scalars |= 1 << 5;
}

/* Test r9 against the limit in the stack: the loop continues while r9 is less, or another number.
 */
static void add_limit_test(struct writer *writer, unsigned start, bool down)
{
	static const uint8_t less[] = {BPF_JLT, BPF_JSLT, BPF_JNE, BPF_JNE};
	unsigned width = below(3) ? BPF_JMP : BPF_JMP32;

	emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_DW, 3, 10, LIMIT));
	if (down)
		emit(writer,
		     insn_k(width | (below(2) ? BPF_JNE : BPF_JSGT) | BPF_K, 9, below(12) ? 0 : 1));
	else if (below(2))
		emit(writer, insn_x(width | less[below(4)] | BPF_X, 9, 3, 0));
	else
		emit(writer, insn_x(width | (below(3) ? BPF_JGT : BPF_JSGT) | BPF_X, 3, 9, 0));
	writer->insns[writer->count - 1].off = (int16_t)((int)start - (int)writer->count);
}

/*
 * Count to a limit that is known at run time alone, or down from it, as compilers do: with a test
 * before the loop and one at its end. Some have a may_goto, too.
 */
static void add_limited_loop(struct writer *writer)
{
	static const uint8_t steps[] = {1, 1, 1, 2, 4};
	unsigned step = steps[below(gt_countof(steps))], start, skip = 0, budget = 0;
	bool down = !below(3), walks = below(2), guarded = below(8), limited = !below(4);

	move(writer, 3, 7 + below(2));
	emit(writer, insn_k(BPF_ALU64 | BPF_AND | BPF_K, 3, (int32_t)(15 & ~(step - 1))));
	emit(writer, insn_x(BPF_STX | BPF_MEM | BPF_DW, 10, 3, LIMIT));
	if (guarded)
		skip = jump(writer, insn_k(BPF_JMP | BPF_JEQ | BPF_K, 3, 0));
	if (walks)
		emit(writer, insn_x(BPF_STX | BPF_MEM | BPF_DW, 10, 6, WALK));
	if (down)
		move(writer, 9, 3);
	else
		set(writer, 9, 0);
	writer->scalars = 1 << 7 | 1 << 8 | 1 << 9;
	start = writer->count;
	if (limited)
		budget = jump(writer, insn_k(BPF_JMP | BPF_JCOND, 0, 0));
	if (walks)
		add_walk(writer, below(12) ? 4 : 5);
	add_statements(writer, 1 + below(3));
	emit(writer, insn_k((below(3) ? BPF_ALU64 : BPF_ALU) | BPF_ADD, 9,
			    down ? -(int32_t)step : (int32_t)step));
	add_limit_test(writer, start, down);
	if (limited)
		land(writer, budget);
	if (guarded)
		land(writer, skip);
	writer->scalars = 1 << 7 | 1 << 8;
	set(writer, 9, 0);
	writer->scalars |= 1 << 9;
}

/* Call the function of bpf_loop: for a known number of times or for one that is not. */
static void add_callback_loop(struct writer *writer)
{
	if (writer->function > RANDOM_FUNCTIONS ||
	    writer->address_count == gt_countof(writer->addresses))
		return;
	emit(writer, insn_x(BPF_STX | BPF_MEM | BPF_DW, 10, 7, SHARED));
	emit(writer, insn_x(BPF_STX | BPF_MEM | BPF_DW, 10, 8, SHARED + 8));
	emit(writer, insn_x(BPF_STX | BPF_MEM | BPF_DW, 10, 6, SHARED + OUTER_BYTES));
	if (below(2)) {
		set(writer, 1, (int32_t)below(6));
	} else {
		move(writer, 1, 7);
		emit(writer, insn_k(BPF_ALU64 | BPF_AND | BPF_K, 1, 7));
	}
	writer->addresses[writer->address_count++] = (uint16_t)writer->count;
	emit(writer, (struct bpf_insn){BPF_LD | BPF_IMM | BPF_DW, 2, BPF_PSEUDO_FUNC, 0, 0});
	emit(writer, insn_k(0, 0, 0));
	move(writer, 3, 10);
	emit(writer, insn_k(BPF_ALU64 | BPF_ADD, 3, SHARED));
	set(writer, 4, below(16) ? 0 : 1);
	call(writer, GT_HELPER_loop);
	emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_DW, 4, 10, SHARED + 8 * (int)below(2)));
	writer->scalars |= 1 << 4;
}

/* The function of bpf_loop: r1 is the index, r2 points to the caller's stack. */
static void add_callback(struct writer *writer)
{
	for (unsigned i = 0; i < writer->address_count; i++)
		writer->insns[writer->addresses[i]].imm =
			(int32_t)(writer->count - writer->addresses[i] - 1);
	writer->function = RANDOM_FUNCTIONS + 1;
	writer->limit = writer->count + RANDOM_CALLBACK;
	writer->depth = 2;
	emit(writer, insn_x(BPF_STX | BPF_MEM | BPF_DW, 10, 2, OUTER));
	emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_DW, 6, 2, OUTER_BYTES));
	move(writer, 7, 1);
	emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_DW, 8, 2, 8));
	writer->scalars = 1 << 7 | 1 << 8;
	for (unsigned i = below(4); i > 0; i--)
		add_alu(writer);
	emit(writer, insn_k(BPF_ALU64 | BPF_ADD, 8, (int32_t)below(3)));
	emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_DW, 5, 10, OUTER));
	emit(writer, insn_x(BPF_STX | BPF_MEM | BPF_DW, 5, 8, 8 * (int)below(2)));
	/* An index that counts the calls. */
	if (below(2)) {
		emit(writer, insn_k(BPF_ALU64 | BPF_AND | BPF_K, 8, 63 + !below(8)));
		emit(writer, insn_x(BPF_ALU64 | BPF_ADD | BPF_X, 6, 8, 0));
		emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_B, 0, 6, 0));
	}
	set(writer, 0, 0);
	if (below(2)) {
		emit(writer, insn_k(BPF_JMP | BPF_JLT | BPF_K, 7, (int32_t)below(6)));
		writer->insns[writer->count - 1].off = 1;
		set(writer, 0, 1);
	}
	emit(writer, insn_k(BPF_JMP | BPF_EXIT, 0, 0));
}

static void add_loop(struct writer *writer)
{
	if (writer->loops > 1 || writer->limit - writer->count < 3 * RANDOM_ROOM)
		return;
	writer->loops++;
	writer->depth++;
	/* gputap bounds more of these than Linux, so that verdicts would differ. */
	if (!random_for_linux && writer->loops == 1 && below(2))
		add_limited_loop(writer);
	else if (!random_for_linux && !below(4))
		add_callback_loop(writer);
	else if (writer->loops > 1 || !below(4))
		add_stack_loop(writer);
	else
		add_counted_loop(writer);
	writer->depth--;
	writer->loops--;
}

static void add_statements(struct writer *writer, unsigned statements)
{
	static void (*const plain[])(struct writer *) = {
		add_alu,          add_alu,         add_alu,   add_alu,        add_constant,
		add_memory,       add_memory,      add_stack, add_stack,      add_value,
		add_lookup,       add_lookup,      add_ring,  add_update,     add_call,
		add_indexed,      add_spill,       add_outer, add_linked,     add_spilled_index,
		add_outer,        add_stack_index, add_lanes, add_call,       add_constant_value,
		add_choice,       add_choice,      add_call,  add_comparison, add_field,
		add_partial_index};

	while (statements-- && writer->count + RANDOM_ROOM < writer->limit) {
		unsigned kind = below(100);

		if (!kind)
			add_noise(writer);
		else if (kind < 12 && writer->depth < 3)
			add_branch(writer);
		else if (kind < 18 && writer->depth < 2)
			add_loop(writer);
		else
			plain[below(gt_countof(plain))](writer);
	}
}

static void add_function(struct writer *writer, unsigned number)
{
	unsigned start = writer->count;

	for (unsigned i = 0; i < writer->call_count; i++)
		if (writer->called[i] == number)
			writer->insns[writer->calls[i]].imm =
				(int32_t)(start - writer->calls[i] - 1);
	writer->function = number;
	writer->limit = start + (RANDOM_MAX_INSNS - RANDOM_CALLBACK - start) /
					(1 + RANDOM_FUNCTIONS - number);
	if (number == RANDOM_FUNCTIONS)
		writer->limit = RANDOM_MAX_INSNS - RANDOM_CALLBACK;
	writer->limit -= 2;
	if (random_section && !number)
		begin_context(writer, MAP_OWN);
	else
		move(writer, 6, 1);
	if (number) {
		move(writer, 7, 2);
		move(writer, 8, 3);
		if (writer->passes_stacks)
			emit(writer, insn_x(BPF_STX | BPF_MEM | BPF_DW, 10, 4, OUTER));
	} else {
		emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_DW, 7, 6, 0));
		emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_W, 8, 6, 8));
	}
	writer->scalars = 1 << 7 | 1 << 8;
	if (number && writer->passes_choices)
		use_choice(writer);
	/* Short programs with loops are accepted more often than long ones. */
	if (below(3)) {
		add_statements(writer, number ? 1 + below(6) : 2 + below(14));
	} else {
		add_statements(writer, below(3));
		add_loop(writer);
		add_statements(writer, below(3));
	}
	if (number && writer->passes_stacks && below(2) &&
	    writer->count + RANDOM_ROOM < writer->limit)
		store_choice(writer);
	writer->limit += 2;
	if (!(writer->scalars & 1) || !below(3))
		move(writer, 0, 7 + below(2));
	emit(writer, insn_k(BPF_JMP | BPF_EXIT, 0, 0));
}

/* Write a program of at most RANDOM_MAX_INSNS slots. Returns how many. */
static gt_unused unsigned make_program(struct bpf_insn *insns)
{
	struct writer writer = {.insns = insns, .passes_stacks = below(2)};

	writer.used[0] = true;
	writer.passes_choices = writer.passes_stacks && below(2);
	for (unsigned i = 0; i <= RANDOM_FUNCTIONS; i++)
		if (writer.used[i])
			add_function(&writer, i);
	if (writer.address_count)
		add_callback(&writer);
	return writer.count;
}

/* Mutate a program: a bound, a register, an offset, a test, or a size. */
static gt_unused void break_program(struct bpf_insn *insns, unsigned count)
{
	struct bpf_insn *insn = &insns[below(count)];
	unsigned class = BPF_CLASS(insn->code);
	bool moves = class == BPF_LDX || class == BPF_ST || class == BPF_STX;
	bool jumps = (class == BPF_JMP || class == BPF_JMP32) && BPF_OP(insn->code) != BPF_CALL &&
		     BPF_OP(insn->code) != BPF_EXIT && BPF_OP(insn->code) != BPF_JA;

	switch (below(5)) {
	case 0:
		insn->imm = (int32_t)((uint32_t)insn->imm + (below(2) ? 1u : UINT32_MAX));
		break;
	case 1:
		if (moves)
			insn->off = (int16_t)(insn->off + (below(2) ? 1 : -1) * (1 << below(4)));
		else if (jumps)
			insn->code ^= below(2) ? BPF_JMP ^ BPF_JMP32 : BPF_JGT ^ BPF_JGE;
		break;
	case 2:
		if (below(2))
			insn->dst_reg = below(11) & 15;
		else
			insn->src_reg = below(11) & 15;
		break;
	case 3:
		if (moves)
			insn->code = (uint8_t)((insn->code & ~BPF_DW) | some_size());
		else if (jumps)
			*insn = insn_k(BPF_JMP | BPF_JA, 0, 0);
		break;
	default:
		if (class == BPF_ALU || class == BPF_ALU64)
			insn->code ^= BPF_ALU ^ BPF_ALU64;
		else if (jumps)
			insn->off = (int16_t)(insn->off + (below(2) ? 1 : -1));
	}
}
