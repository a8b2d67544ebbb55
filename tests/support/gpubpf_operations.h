/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Every arithmetic, swap, conditional jump, load, store and atomic operation, each as a program
 * that applies it to many pairs of operands in its memory, and stores the results there.
 */
#pragma once

#include <string.h>

#include "gpubpf/program.h"

static const uint64_t operands[] = {0,
				    1,
				    7,
				    33,
				    0x7fffffff,
				    0x80000000,
				    0xffffffff,
				    0x123456789abcdef0,
				    0x7fffffffffffffff,
				    1ull << 63,
				    -1ull,
				    -7ull};

enum {
	OPERANDS = sizeof(operands) / sizeof(*operands),
	OPERATION_PAIRS = OPERANDS * OPERANDS,
	OPERATION_MEMORY = 16 * OPERATION_PAIRS,
	OPERATION_INSNS = 8 * OPERATION_PAIRS + 2,
};

/* All pairs of operands. */
static inline void operation_memory(uint64_t *memory)
{
	for (unsigned i = 0; i < OPERATION_PAIRS; i++) {
		memory[2 * i] = operands[i / OPERANDS];
		memory[2 * i + 1] = operands[i % OPERANDS];
	}
}

static inline struct bpf_insn operation_insn(unsigned code, unsigned target, unsigned source,
					     int offset, int32_t imm)
{
	return (struct bpf_insn){(uint8_t)code, target & 15, source & 15, (int16_t)offset, imm};
}

/*
 * Write the program of an operation on r3 and r4 (or r3 and its immediate); a conditional jump
 * stores 0 or 1, an atomic operation changes the left operand in memory. Returns its slots.
 */
static inline unsigned operation_program(const struct bpf_insn *operation, struct bpf_insn *insns)
{
	unsigned class = BPF_CLASS(operation->code), count = 0;
	bool jumps = class == BPF_JMP || class == BPF_JMP32;
	bool in_place = class != BPF_ALU && class != BPF_ALU64 && !jumps;

	for (unsigned i = 0; i < OPERATION_PAIRS; i++) {
		int at = (int)(16 * i);

		insns[count++] = operation_insn(BPF_LDX | BPF_MEM | BPF_DW, 4, 1, at + 8, 0);
		if (in_place) {
			/* For cmpxchg: r0 equals the old value in every third pair. */
			insns[count++] = operation_insn(BPF_LDX | BPF_MEM | BPF_DW, 0, 1,
							i % 3 ? at : at + 8, 0);
			insns[count] = *operation;
			insns[count++].off = (int16_t)at;
			insns[count++] = operation_insn(BPF_STX | BPF_MEM | BPF_DW, 1,
							i % 2 ? 0 : 4, at + 8, 0);
			continue;
		}
		insns[count++] = operation_insn(BPF_LDX | BPF_MEM | BPF_DW, 3, 1, at, 0);
		insns[count++] = *operation;
		if (jumps) {
			insns[count - 1].off = 2;
			insns[count++] = operation_insn(BPF_ALU64 | BPF_MOV | BPF_K, 3, 0, 0, 0);
			insns[count++] = operation_insn(BPF_JMP | BPF_JA, 0, 0, 1, 0);
			insns[count++] = operation_insn(BPF_ALU64 | BPF_MOV | BPF_K, 3, 0, 0, 1);
		}
		insns[count++] = operation_insn(BPF_STX | BPF_MEM | BPF_DW, 1, 3, at, 0);
	}
	insns[count++] = operation_insn(BPF_ALU64 | BPF_MOV | BPF_X, 0, 4, 0, 0);
	insns[count++] = operation_insn(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	return count;
}

/* Whether an operation is defined, and Linux runs it. */
static inline bool operation_exists(const struct bpf_insn *operation)
{
	return !gt_bpf_check_insn(operation, 1, 0, NULL);
}

/* Call run for each defined operation. */
static inline void each_operation(void (*run)(const struct bpf_insn *operation))
{
	static const int32_t numbers[] = {0, 1, 3, 16, 31, 32, 63, 64, -1, INT32_MIN, 0x5a5a5a5a};
	static const int offsets[] = {0, 1, 8, 16, 32};

	for (unsigned code = 0; code < 256; code++) {
		unsigned class = BPF_CLASS(code);
		bool alu = class == BPF_ALU || class == BPF_ALU64;
		bool jump = (class == BPF_JMP || class == BPF_JMP32) && BPF_OP(code) &&
			    BPF_OP(code) != BPF_CALL && BPF_OP(code) != BPF_EXIT;
		bool from_register = BPF_SRC(code) == BPF_X && !(alu && BPF_OP(code) == BPF_END);

		for (unsigned i = 0; (alu || jump) && i < sizeof(offsets) / sizeof(*offsets); i++)
			for (unsigned j = 0; j < sizeof(numbers) / sizeof(*numbers); j++) {
				struct bpf_insn one =
					operation_insn(code, 3, from_register ? 4 : 0, offsets[i],
						       from_register ? 0 : numbers[j]);

				if (operation_exists(&one) && (alu || !i))
					run(&one);
				if (from_register)
					break;
			}
		for (int32_t imm = 0; class == BPF_STX && imm <= BPF_STORE_REL; imm++) {
			struct bpf_insn one = operation_insn(code, 1, 4, 0, imm);

			if (imm == BPF_LOAD_ACQ)
				one = operation_insn(code, 4, 1, 0, imm);
			if (operation_exists(&one))
				run(&one);
		}
		for (unsigned j = 0; class == BPF_ST && j < sizeof(numbers) / sizeof(*numbers);
		     j++) {
			struct bpf_insn one = operation_insn(code, 1, 0, 0, numbers[j]);

			if (operation_exists(&one))
				run(&one);
		}
		if (class == BPF_LDX) {
			struct bpf_insn one = operation_insn(code, 4, 1, 0, 0);

			if (operation_exists(&one))
				run(&one);
		}
	}
}
