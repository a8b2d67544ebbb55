/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Random eBPF programs with 64 bytes of memory and four maps, most of which the verifier accepts:
 * arithmetic, branches, loops, calls of functions, the stack, pointers with bounds, atomics, maps,
 * rings. They call only helpers that give the same on the interpreter and on a device. The same
 * ones in each run, or made from the bytes of a fuzzer.
 */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "base/clean.h"
#include "gpubpf/helpers.h"
#include "gpubpf/program.h"

enum {
	LONGEST = 400, /* slots of a program */
	MEMORY = 64,   /* bytes it has */
	RANDOM_FUNCTIONS = 3,
	RANDOM_ROOM = 40, /* slots that a statement may take */
	/* Where things are on the stack, from its top. */
	SLOTS = 64, /* bytes of numbers */
	SPILL = -72,
	KEY = -80,
	VALUE = -96,
	/* The maps. */
	MAP_ONE = 0, /* an array of one value */
	MAP_ARRAY = 1,
	MAP_HASH = 2,
	MAP_RING = 3,
	RANDOM_MAPS = 4,
	MAP_VALUE = 16, /* bytes of each value */
};

static gt_unused struct gt_bpf_map random_maps[RANDOM_MAPS] = {
	{.name = "one", .type = 2, .key_size = 4, .value_size = MAP_VALUE, .max_entries = 1},
	{.name = "array", .type = 2, .key_size = 4, .value_size = MAP_VALUE, .max_entries = 4},
	{.name = "hash", .type = 1, .key_size = 8, .value_size = MAP_VALUE, .max_entries = 4},
	{.name = "ring", .type = 27, .max_entries = 4096},
};

/* ---- where randomness comes from ------------------------------------------------------- */

static uint64_t random_state = 0x243f6a8885a308d3u;
static const uint8_t *random_bytes; /* instead, if not NULL */
static size_t random_left;

/* Another sequence, if SEED is set: how many programs there are to be is PROGRAMS. */
static gt_unused void random_seed(void)
{
	const char *seed = getenv("SEED");

	if (seed)
		random_state ^= strtoull(seed, NULL, 0) * 0x9e3779b97f4a7c15u;
}

static uint64_t random_number(void)
{
	if (random_bytes) {
		uint64_t number = 0;

		for (unsigned i = 0; i < 8 && random_left; i++, random_left--)
			number = number << 8 | *random_bytes++;
		return number;
	}
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static unsigned below(unsigned limit)
{
	unsigned number;

	if (!random_bytes)
		return (unsigned)(random_number() >> 33) % limit;
	if (!random_left)
		return 0;
	number = *random_bytes++ % limit;
	random_left--;
	return number;
}

static int32_t some_number(void)
{
	static const int32_t edges[] = {0,  1,  -1, 7,   8,         15,       31,
					63, 64, -8, -16, INT32_MAX, INT32_MIN};

	return below(3) ? edges[below(gt_countof(edges))] : (int32_t)random_number();
}

static gt_unused void make_memory(uint8_t *memory)
{
	for (unsigned i = 0; i < MEMORY; i++)
		memory[i] = (uint8_t)(below(2) ? random_number() : below(9));
}

/* ---- a program that is being written --------------------------------------------------- */

struct writer {
	struct bpf_insn *insns;
	unsigned count, limit;
	uint16_t numbers;  /* registers that hold numbers; r6 points to memory, always */
	unsigned function; /* 0: the main program */
	unsigned loops;
	uint16_t calls[16]; /* calls of functions: the slot … */
	uint8_t called[16]; /* … and which */
	unsigned call_count;
	bool used[1 + RANDOM_FUNCTIONS];
};

static void emit(struct writer *writer, struct bpf_insn insn)
{
	if (writer->count < writer->limit)
		writer->insns[writer->count++] = insn;
}

static struct bpf_insn insn_k(unsigned code, unsigned target, int32_t imm)
{
	return (struct bpf_insn){(uint8_t)code, target & 15, 0, 0, imm};
}

static struct bpf_insn insn_x(unsigned code, unsigned target, unsigned source, int offset)
{
	return (struct bpf_insn){(uint8_t)code, target & 15, source & 15, (int16_t)offset, 0};
}

static void move(struct writer *writer, unsigned target, unsigned source)
{
	emit(writer, insn_x(BPF_ALU64 | BPF_MOV | BPF_X, target, source, 0));
}

static void set(struct writer *writer, unsigned target, int32_t number)
{
	emit(writer, insn_k(BPF_ALU64 | BPF_MOV | BPF_K, target, number));
}

static void load_map(struct writer *writer, unsigned target, unsigned map, int offset)
{
	bool value = offset >= 0;
	struct bpf_insn insn = insn_k(BPF_LD | BPF_IMM | BPF_DW, target, (int32_t)map);

	insn.src_reg = value ? GT_BPF_IMM_MAP_INDEX_VALUE : GT_BPF_IMM_MAP_INDEX;
	emit(writer, insn);
	emit(writer, insn_k(0, 0, value ? offset : 0));
}

static void call(struct writer *writer, int32_t helper)
{
	emit(writer, insn_k(BPF_JMP | BPF_CALL, 0, helper));
	writer->numbers = (uint16_t)((writer->numbers & ~0x3f) | 1);
}

/* A register that holds a number: r7 and r8 always do. */
static unsigned number_register(const struct writer *writer)
{
	for (unsigned i = 0; i < 4; i++) {
		unsigned number = below(10);

		if (number != 6 && (writer->numbers >> number & 1))
			return number;
	}
	return 7 + below(2);
}

/* A register that may be set to a number. */
static unsigned target_register(struct writer *writer)
{
	static const uint8_t targets[] = {0, 1, 2, 3, 4, 5, 7, 8};
	unsigned number = targets[below(gt_countof(targets))];

	writer->numbers |= (uint16_t)(1u << number);
	return number;
}

/* One that nothing keeps a number in afterwards. */
static unsigned pointer_register(struct writer *writer)
{
	unsigned number = 1 + below(5);

	writer->numbers &= (uint16_t) ~(1u << number);
	return number;
}

static unsigned some_size(void)
{
	static const uint8_t sizes[] = {BPF_B, BPF_H, BPF_W, BPF_DW, BPF_DW};

	return sizes[below(gt_countof(sizes))];
}

static unsigned bytes_of(unsigned size)
{
	return size == BPF_B ? 1 : size == BPF_H ? 2 : size == BPF_W ? 4 : 8;
}

/* ---- statements ------------------------------------------------------------------------ */

static void add_alu(struct writer *writer)
{
	static const uint8_t operations[] = {BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV,  BPF_OR,
					     BPF_AND, BPF_LSH, BPF_RSH, BPF_MOD,  BPF_XOR,
					     BPF_MOV, BPF_NEG, BPF_END, BPF_ARSH, BPF_AND};
	static const uint8_t widths[] = {16, 32, 64};
	unsigned operation = operations[below(gt_countof(operations))];
	unsigned width = below(3) ? BPF_ALU64 : BPF_ALU;
	unsigned source = number_register(writer);
	unsigned target = operation == BPF_MOV ? target_register(writer) : number_register(writer);
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
		insn.imm = some_number();
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
		set(writer, target, some_number());
		return;
	}
	emit(writer, insn_k(BPF_LD | BPF_IMM | BPF_DW, target, some_number()));
	emit(writer, insn_k(0, 0, some_number()));
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
	if (insn.imm == BPF_CMPXCHG && (!(writer->numbers & 1) || !base))
		insn.imm = BPF_XCHG;
	emit(writer, insn);
}

/* Something at base + offset, where `room` bytes are. */
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
	/* Some go astray by a little: the verifier is to see it. */
	if (!below(24))
		offset += (int)below(9) - 4;
	switch (kind) {
	case 0:
		if (atomic && room >= 8) {
			add_atomic(writer, base, offset > 0 ? offset / 8 * 8 : offset);
			return;
		}
		emit(writer,
		     insn_x(BPF_STX | BPF_MEM | size, base, number_register(writer), offset));
		return;
	case 1:
		emit(writer, insn_x(BPF_ST | BPF_MEM | size, base, 0, offset));
		writer->insns[writer->count - 1].imm = some_number();
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

/* Bounds a register to 0 … mask, in one of several ways. */
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

/* An access at an offset that is not known. */
static void add_indexed(struct writer *writer)
{
	unsigned index = number_register(writer), pointer = pointer_register(writer);
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
	writer->numbers &= (uint16_t) ~(1u << pointer);
	set(writer, pointer, 0);
	writer->numbers |= (uint16_t)(1u << pointer);
}

static void add_spill(struct writer *writer)
{
	unsigned pointer = pointer_register(writer);

	emit(writer, insn_x(BPF_STX | BPF_MEM | BPF_DW, 10, 6, SPILL));
	emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_DW, pointer, 10, SPILL));
	emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_B, pointer, pointer, (int)below(MEMORY)));
	writer->numbers |= (uint16_t)(1u << pointer);
}

static void add_value(struct writer *writer)
{
	unsigned pointer = pointer_register(writer);

	load_map(writer, pointer, MAP_ONE, 0);
	add_access(writer, pointer, 0, MAP_VALUE, false, true);
	/* It may have been the target of a load. */
	set(writer, pointer, some_number());
	writer->numbers |= (uint16_t)(1u << pointer);
}

static void put_key(struct writer *writer, unsigned map)
{
	if (below(2)) {
		emit(writer,
		     insn_x(BPF_ST | BPF_MEM | (map == MAP_HASH ? BPF_DW : BPF_W), 10, 0, KEY));
		writer->insns[writer->count - 1].imm = (int32_t)below(5);
	} else {
		unsigned scratch = pointer_register(writer);

		move(writer, scratch, 7 + below(2));
		emit(writer, insn_k(BPF_ALU64 | BPF_AND | BPF_K, scratch, 7));
		emit(writer, insn_x(BPF_STX | BPF_MEM | (map == MAP_HASH ? BPF_DW : BPF_W), 10,
				    scratch, KEY));
	}
	load_map(writer, 1, map, -1);
	move(writer, 2, 10);
	emit(writer, insn_k(BPF_ALU64 | BPF_ADD, 2, KEY));
}

static void add_lookup(struct writer *writer)
{
	unsigned jump;

	put_key(writer, below(2) ? MAP_ARRAY : MAP_HASH);
	call(writer, GT_HELPER_map_lookup_elem);
	writer->numbers &= 0xfffe;
	jump = writer->count;
	emit(writer, insn_k(BPF_JMP | BPF_JEQ | BPF_K, 0, 0));
	for (unsigned i = below(3) + 1; i; i--) {
		uint16_t numbers = writer->numbers;

		/* No load into r0: it is the pointer. */
		if (below(2))
			add_atomic(writer, 0, (int)below(2) * 8);
		else
			emit(writer, insn_x(BPF_STX | BPF_MEM | some_size(), 0,
					    number_register(writer), (int)below(9)));
		writer->numbers = numbers;
	}
	emit(writer, insn_x(BPF_LDX | BPF_MEM | some_size(), 7, 0, (int)below(9)));
	if (jump < writer->limit)
		writer->insns[jump].off = (int16_t)(writer->count - jump - 1);
	set(writer, 0, 1);
	writer->numbers |= 1;
}

static void add_update(struct writer *writer)
{
	unsigned map = below(3) ? MAP_HASH : MAP_ARRAY;

	emit(writer, insn_x(BPF_STX | BPF_MEM | BPF_DW, 10, 7, VALUE));
	emit(writer, insn_x(BPF_STX | BPF_MEM | BPF_DW, 10, 8, VALUE + 8));
	put_key(writer, map);
	if (map == MAP_HASH && !below(3)) {
		call(writer, GT_HELPER_map_delete_elem);
		return;
	}
	move(writer, 3, 10);
	emit(writer, insn_k(BPF_ALU64 | BPF_ADD, 3, VALUE));
	set(writer, 4, (int32_t)below(3));
	call(writer, GT_HELPER_map_update_elem);
}

static void add_ring(struct writer *writer)
{
	unsigned jump;

	load_map(writer, 1, MAP_RING, -1);
	if (below(2)) {
		emit(writer, insn_x(BPF_STX | BPF_MEM | BPF_DW, 10, 7, VALUE));
		emit(writer, insn_x(BPF_STX | BPF_MEM | BPF_DW, 10, 8, VALUE + 8));
		move(writer, 2, 10);
		emit(writer, insn_k(BPF_ALU64 | BPF_ADD, 2, VALUE));
		set(writer, 3, (int32_t)below(17));
		set(writer, 4, 0);
		call(writer, GT_HELPER_ringbuf_output);
		return;
	}
	set(writer, 2, 16);
	set(writer, 3, 0);
	call(writer, GT_HELPER_ringbuf_reserve);
	writer->numbers &= 0xfffe;
	jump = writer->count;
	emit(writer, insn_k(BPF_JMP | BPF_JEQ | BPF_K, 0, 0));
	emit(writer, insn_x(BPF_STX | BPF_MEM | BPF_DW, 0, 7, 0));
	emit(writer, insn_x(BPF_STX | BPF_MEM | BPF_DW, 0, 8, 8));
	move(writer, 1, 0);
	set(writer, 2, 0);
	call(writer, below(2) ? GT_HELPER_ringbuf_submit : GT_HELPER_ringbuf_discard);
	if (jump < writer->limit)
		writer->insns[jump].off = (int16_t)(writer->count - jump - 1);
	set(writer, 0, 2);
	writer->numbers |= 1;
}

static void add_call(struct writer *writer)
{
	unsigned function = writer->function + 1 + below(RANDOM_FUNCTIONS);

	if (function > RANDOM_FUNCTIONS || writer->call_count == gt_countof(writer->calls)) {
		call(writer, GT_HELPER_flat_thread_id);
		return;
	}
	move(writer, 1, 6);
	move(writer, 2, number_register(writer) % 10);
	if (writer->insns[writer->count - 1].src_reg < 6)
		writer->insns[writer->count - 1].src_reg = 7;
	move(writer, 3, 8);
	writer->calls[writer->call_count] = (uint16_t)writer->count;
	writer->called[writer->call_count++] = (uint8_t)function;
	writer->used[function] = true;
	emit(writer, (struct bpf_insn){BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, 0});
	writer->numbers = (uint16_t)((writer->numbers & ~0x3f) | 1);
}

/* Anything: the verifier is to say whether it may be. */
static void add_noise(struct writer *writer)
{
	uint64_t number = random_number();
	struct bpf_insn insn;

	memcpy(&insn, &number, sizeof(insn));
	insn.imm = some_number();
	insn.dst_reg = below(11) & 15;
	insn.src_reg = below(11) & 15;
	insn.off = (int16_t)(below(2) ? 0 : (int)below(16) - 8);
	emit(writer, insn);
}

static void add_statements(struct writer *writer, unsigned statements, unsigned depth);

static void add_branch(struct writer *writer, unsigned depth)
{
	static const uint8_t operations[] = {BPF_JEQ,  BPF_JNE,  BPF_JGT,  BPF_JGE,
					     BPF_JLT,  BPF_JLE,  BPF_JSGT, BPF_JSGE,
					     BPF_JSLT, BPF_JSLE, BPF_JSET};
	unsigned code =
		(below(3) ? BPF_JMP : BPF_JMP32) | operations[below(gt_countof(operations))];
	unsigned jump = writer->count, target = number_register(writer);
	uint16_t numbers = writer->numbers;

	if (below(2))
		emit(writer, insn_k(code, target, some_number()));
	else
		emit(writer, insn_x(code | BPF_X, target, number_register(writer), 0));
	add_statements(writer, 1 + below(4), depth + 1);
	if (jump < writer->limit)
		writer->insns[jump].off = (int16_t)(writer->count - jump - 1);
	writer->numbers &= numbers;
}

/* Counts r9 up or down, so many times as is known or bounded. */
static void add_loop(struct writer *writer, unsigned depth)
{
	unsigned start, rounds = 1 + below(8);
	bool down = below(2);

	if (writer->loops || writer->limit - writer->count < 3 * RANDOM_ROOM)
		return;
	writer->loops++;
	if (below(2)) {
		set(writer, 9, down ? (int32_t)rounds : 0);
	} else {
		move(writer, 9, 7 + below(2));
		emit(writer, insn_k(BPF_ALU64 | BPF_AND | BPF_K, 9, 7));
		if (down)
			emit(writer, insn_k(BPF_ALU64 | BPF_ADD, 9, 1));
	}
	writer->numbers = 1 << 7 | 1 << 8 | 1 << 9;
	start = writer->count;
	add_statements(writer, 1 + below(4), depth + 1);
	emit(writer, insn_k(BPF_ALU64 | BPF_ADD, 9, down ? -1 : 1));
	emit(writer,
	     insn_k(BPF_JMP | (down ? BPF_JNE : BPF_JLT) | BPF_K, 9, down ? 0 : (int32_t)rounds));
	writer->insns[writer->count - 1].off = (int16_t)((int)start - (int)writer->count);
	writer->numbers = (uint16_t)(1 << 7 | 1 << 8 | 1 << 9);
	writer->loops--;
}

static void add_statements(struct writer *writer, unsigned statements, unsigned depth)
{
	static void (*const plain[])(struct writer *) = {
		add_alu,    add_alu,   add_alu,     add_alu,   add_constant, add_memory,
		add_memory, add_stack, add_stack,   add_value, add_lookup,   add_update,
		add_ring,   add_call,  add_indexed, add_spill};

	while (statements-- && writer->count + RANDOM_ROOM < writer->limit) {
		unsigned kind = below(100);

		if (!kind)
			add_noise(writer);
		else if (kind < 12 && depth < 3)
			add_branch(writer, depth);
		else if (kind < 18 && depth < 2)
			add_loop(writer, depth);
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
	writer->limit = start + (LONGEST - start) / (1 + RANDOM_FUNCTIONS - number);
	if (number == RANDOM_FUNCTIONS)
		writer->limit = LONGEST;
	writer->limit -= 2;
	move(writer, 6, 1);
	if (number) {
		move(writer, 7, 2);
		move(writer, 8, 3);
	} else {
		emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_DW, 7, 1, 0));
		emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_W, 8, 1, 8));
	}
	writer->numbers = 1 << 7 | 1 << 8;
	add_statements(writer, number ? 1 + below(6) : 2 + below(14), 0);
	writer->limit += 2;
	if (!(writer->numbers & 1) || !below(3))
		move(writer, 0, 7 + below(2));
	emit(writer, insn_k(BPF_JMP | BPF_EXIT, 0, 0));
}

/* Writes a program of at most LONGEST slots; how many they are. */
static gt_unused unsigned make_program(struct bpf_insn *insns)
{
	struct writer writer = {.insns = insns};

	writer.used[0] = true;
	for (unsigned i = 0; i <= RANDOM_FUNCTIONS; i++)
		if (writer.used[i])
			add_function(&writer, i);
	return writer.count;
}
