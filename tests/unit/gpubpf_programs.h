/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Random eBPF programs with 64 bytes of memory; the same ones in each run. */
#pragma once

#include "gpubpf/program.h"

enum {
	LONGEST = 40, /* instructions of a program */
	MEMORY = 64,  /* bytes it has */
};

static uint64_t random_state = 0x243f6a8885a308d3u;

static uint64_t random_number(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static unsigned below(unsigned limit)
{
	return (unsigned)(random_number() >> 33) % limit;
}

static unsigned some_register(void)
{
	static const uint8_t often[] = {0, 1, 2, 3, 4, 6, 7, 10, 0, 1, 3, 6};

	return often[below(sizeof(often))];
}

static int32_t some_number(void)
{
	static const int32_t edges[] = {0,  1,  -1, 7,   8,         15,       31,
					63, 64, -8, -16, INT32_MAX, INT32_MIN};

	return below(3) ? edges[below(13)] : (int32_t)random_number();
}

static int16_t some_offset(unsigned base)
{
	return (int16_t)(base == 10 ? -8 * (int)(1 + below(6)) : (int)below(MEMORY));
}

static struct bpf_insn some_alu(void)
{
	static const uint8_t operations[] = {BPF_ADD, BPF_SUB, BPF_MUL,  BPF_DIV, BPF_OR,  BPF_AND,
					     BPF_LSH, BPF_RSH, BPF_NEG,  BPF_MOD, BPF_XOR, BPF_MOV,
					     BPF_MOV, BPF_AND, BPF_ARSH, BPF_ADD};
	unsigned operation = operations[below(sizeof(operations))];
	struct bpf_insn insn = {.code = below(3) ? BPF_ALU64 : BPF_ALU};

	insn.code |= operation;
	insn.dst_reg = (uint8_t)(some_register() % 10) & 15;
	if (operation == BPF_NEG)
		return insn;
	if (below(2)) {
		insn.code |= BPF_X;
		insn.src_reg = some_register() & 15;
		if (operation == BPF_MOV && !below(4))
			insn.off = (int16_t)(8 << below(2));
	} else {
		insn.imm = some_number();
		if (operation == BPF_LSH || operation == BPF_RSH || operation == BPF_ARSH)
			insn.imm &= 31;
		if ((operation == BPF_DIV || operation == BPF_MOD) && !insn.imm)
			insn.imm = 3;
	}
	if (operation == BPF_DIV || operation == BPF_MOD)
		insn.off = (int16_t)below(2);
	return insn;
}

static struct bpf_insn some_memory(void)
{
	static const uint8_t sizes[] = {BPF_B, BPF_H, BPF_W, BPF_DW, BPF_DW};
	static const int32_t atomics[] = {BPF_ADD, BPF_OR | BPF_FETCH, BPF_XCHG, BPF_CMPXCHG};
	unsigned base = below(2) ? 10 : below(2) ? 1 : some_register();
	struct bpf_insn insn = {.code = sizes[below(5)], .off = some_offset(base)};

	switch (below(4)) {
	case 0:
		insn.code |= BPF_LDX | BPF_MEM;
		insn.src_reg = base & 15;
		insn.dst_reg = some_register() % 10 & 15;
		return insn;
	case 1:
		insn.code |= BPF_ST | BPF_MEM;
		insn.imm = some_number();
		break;
	case 2:
		insn.code = BPF_STX | BPF_ATOMIC | (below(2) ? BPF_DW : BPF_W);
		insn.off &= ~7;
		insn.imm = atomics[below(4)];
		insn.src_reg = some_register() % 10 & 15;
		break;
	default:
		insn.code |= BPF_STX | BPF_MEM;
		insn.src_reg = some_register() & 15;
	}
	insn.dst_reg = base & 15;
	return insn;
}

static struct bpf_insn some_jump(unsigned at, unsigned count)
{
	static const uint8_t operations[] = {BPF_JEQ,  BPF_JNE,  BPF_JGT,  BPF_JGE,
					     BPF_JLT,  BPF_JLE,  BPF_JSGT, BPF_JSGE,
					     BPF_JSLT, BPF_JSLE, BPF_JSET};
	struct bpf_insn insn = {.code = below(3) ? BPF_JMP : BPF_JMP32};

	insn.code |= operations[below(sizeof(operations))];
	insn.dst_reg = some_register() & 15;
	if (below(3)) {
		insn.imm = some_number();
	} else {
		insn.code |= BPF_X;
		insn.src_reg = some_register() & 15;
	}
	insn.off = (int16_t)below(count - at - 1);
	if (!below(8) && at > 3)
		insn.off = (int16_t) - (int)(2 + below(at > 6 ? 5 : at - 2));
	return insn;
}

/* A program that sets its registers, does something, and ends; often with a short function. */
static unsigned make_program(struct bpf_insn *insns)
{
	unsigned count = 6 + 4 + below(LONGEST - 14), at = 0;

	insns[at++] = (struct bpf_insn){BPF_LDX | BPF_MEM | BPF_DW, 3, 1, 0, 0};
	insns[at++] = (struct bpf_insn){BPF_LDX | BPF_MEM | BPF_W, 4, 1, 8, 0};
	insns[at++] = (struct bpf_insn){BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, some_number()};
	insns[at++] = (struct bpf_insn){BPF_ALU64 | BPF_MOV | BPF_X, 6, 1, 0, 0};
	insns[at++] = (struct bpf_insn){BPF_LDX | BPF_MEM | BPF_B, 7, 1, 16, 0};
	while (at < count - 1) {
		switch (below(6)) {
		case 0:
			insns[at] = some_jump(at, count);
			break;
		case 1:
		case 2:
			insns[at] = some_memory();
			break;
		default:
			insns[at] = some_alu();
		}
		at++;
	}
	insns[at++] = (struct bpf_insn){BPF_JMP | BPF_EXIT, 0, 0, 0, 0};
	return at;
}

/* Memory for a program: bytes of all kinds and small ones. */
static inline void make_memory(uint8_t *memory)
{
	for (unsigned i = 0; i < MEMORY; i++)
		memory[i] = (uint8_t)(below(2) ? random_number() : below(9));
}
