/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Every arithmetic and every conditional jump, in both widths and forms, on numbers at the edges of
 * types: verified, run on the interpreter, and compared with the same in C.
 */
#include <inttypes.h>

#include "gpubpf/interp/interp.h"
#include "gpubpf/verify/verify.h"
#include "tap.h"

static const uint64_t edges[] = {
	0,          1,          2,           7,           31,
	32,         63,         64,          0x7f,        0x80,
	0xff,       0x7fff,     0x8000,      0xffff,      0x7fffffff,
	0x80000000, 0xffffffff, 0x100000000, 0x123456789, 0x7fffffffffffffff,
	1ull << 63, -1ull,      -2ull,       -7ull,       0xffffffff80000000};

typedef int64_t s64;
typedef int32_t s32;
typedef uint64_t u64;
typedef uint32_t u32;

/* OPERATION(code, offset, 64-bit result, 32-bit result) of u64 a, b and u32 c, d. */
#define OPERATIONS(OPERATION)                                                                      \
	OPERATION(BPF_ADD, 0, a + b, c + d)                                                        \
	OPERATION(BPF_SUB, 0, a - b, c - d)                                                        \
	OPERATION(BPF_MUL, 0, a *b, c *d)                                                          \
	OPERATION(BPF_DIV, 0, b ? a / b : 0, d ? c / d : 0)                                        \
	OPERATION(BPF_MOD, 0, b ? a % b : a, d ? c % d : c)                                        \
	OPERATION(BPF_DIV, 1,                                                                      \
		  !b           ? 0                                                                 \
		  : b == -1ull ? 0 - a                                                             \
			       : (u64)((s64)a / (s64)b),                                           \
		  !d         ? 0                                                                   \
		  : d == -1u ? 0 - c                                                               \
			     : (u32)((s32)c / (s32)d))                                             \
	OPERATION(BPF_MOD, 1,                                                                      \
		  !b           ? a                                                                 \
		  : b == -1ull ? 0                                                                 \
			       : (u64)((s64)a % (s64)b),                                           \
		  !d         ? c                                                                   \
		  : d == -1u ? 0                                                                   \
			     : (u32)((s32)c % (s32)d))                                             \
	OPERATION(BPF_OR, 0, a | b, c | d)                                                         \
	OPERATION(BPF_AND, 0, a &b, c &d)                                                          \
	OPERATION(BPF_XOR, 0, a ^ b, c ^ d)                                                        \
	OPERATION(BPF_LSH, 0, a << (b & 63), c << (d & 31))                                        \
	OPERATION(BPF_RSH, 0, a >> (b & 63), c >> (d & 31))                                        \
	OPERATION(BPF_ARSH, 0, (u64)((s64)a >> (b & 63)), (u32)((s32)c >> (d & 31)))               \
	OPERATION(BPF_MOV, 0, b, d)                                                                \
	OPERATION(BPF_MOV, 8, (u64)(int8_t)b, (u32)(int8_t)d)                                      \
	OPERATION(BPF_MOV, 16, (u64)(int16_t)b, (u32)(int16_t)d)                                   \
	OPERATION(BPF_MOV, 32, (u64)(s32)b, 0)                                                     \
	OPERATION(BPF_NEG, 0, 0 - a, 0 - c)

#define JUMPS(JUMP)                                                                                \
	JUMP(BPF_JEQ, a == b, c == d)                                                              \
	JUMP(BPF_JNE, a != b, c != d)                                                              \
	JUMP(BPF_JGT, a > b, c > d)                                                                \
	JUMP(BPF_JGE, a >= b, c >= d)                                                              \
	JUMP(BPF_JLT, a < b, c < d)                                                                \
	JUMP(BPF_JLE, a <= b, c <= d)                                                              \
	JUMP(BPF_JSET, (a & b) != 0, (c & d) != 0)                                                 \
	JUMP(BPF_JSGT, (s64)a > (s64)b, (s32)c > (s32)d)                                           \
	JUMP(BPF_JSGE, (s64)a >= (s64)b, (s32)c >= (s32)d)                                         \
	JUMP(BPF_JSLT, (s64)a < (s64)b, (s32)c < (s32)d)                                           \
	JUMP(BPF_JSLE, (s64)a <= (s64)b, (s32)c <= (s32)d)

struct operation {
	uint8_t code;
	int16_t offset;
	u64 (*wide)(u64 a, u64 b);
	u32 (*narrow)(u32 c, u32 d);
};

#define WIDE(code, offset, result, unused)                                                         \
	static u64 wide_##code##_##offset(u64 a gt_unused, u64 b gt_unused)                        \
	{                                                                                          \
		return result;                                                                     \
	}
#define NARROW(code, offset, unused, result)                                                       \
	static u32 narrow_##code##_##offset(u32 c gt_unused, u32 d gt_unused)                      \
	{                                                                                          \
		return result;                                                                     \
	}
#define ROW(code, offset, unused, too)                                                             \
	{code, offset, wide_##code##_##offset, narrow_##code##_##offset},
OPERATIONS(WIDE)
OPERATIONS(NARROW)
static const struct operation operations[] = {OPERATIONS(ROW)};

#define JUMP_WIDE(code, result, unused)                                                            \
	static u64 wide_##code(u64 a, u64 b)                                                       \
	{                                                                                          \
		return result;                                                                     \
	}
#define JUMP_NARROW(code, unused, result)                                                          \
	static u32 narrow_##code(u32 c, u32 d)                                                     \
	{                                                                                          \
		return result;                                                                     \
	}
#define JUMP_ROW(code, unused, too) {code, 0, wide_##code, narrow_##code},
JUMPS(JUMP_WIDE)
JUMPS(JUMP_NARROW)
static const struct operation jumps[] = {JUMPS(JUMP_ROW)};

/* Verifies a program with 16 bytes of memory, runs it, and compares r0. */
static bool results_in(struct bpf_insn *insns, uint32_t count, const u64 memory[2], u64 expected)
{
	u64 bytes[2] = {memory[0], memory[1]};
	struct gt_bpf_program program = {.insns = insns, .count = count};
	struct gt_verify_options check = {.input = GT_INPUT_MEMORY, .memory_size = 16};
	struct gt_interp_options run = {.memory = (uint8_t *)bytes, .memory_size = 16};
	struct gt_interp_result result = {0};
	struct gt_facts facts = {0};
	struct gt_diag diag = {0};
	int error = gt_verify(NULL, &program, &check, &facts, NULL, &diag);

	if (!error)
		error = gt_interp_run(&program, &run, &result, &diag);
	gt_facts_clear(&facts);
	if (error) {
		TAP_FAIL("opcode %02x: %s: %s", insns[2].code, diag.place, diag.text);
		return false;
	}
	if (result.r0 == expected)
		return true;
	TAP_FAIL("opcode %02x off %d imm %d of %" PRIx64 " and %" PRIx64 " is %" PRIx64
		 ", not %" PRIx64,
		 insns[2].code, insns[2].off, insns[2].imm, memory[0], memory[1], result.r0,
		 expected);
	return false;
}

#define LOAD(target, offset)                                                                       \
	{                                                                                          \
		BPF_LDX | BPF_MEM | BPF_DW, target, 1, offset, 0                                   \
	}
#define END                                                                                        \
	{                                                                                          \
		BPF_JMP | BPF_EXIT, 0, 0, 0, 0                                                     \
	}

static bool operation_results_in(const struct operation *one, bool wide, bool constant, u64 a,
				 u64 b)
{
	u64 memory[2] = {a, b}, right = constant ? (u64)(s64)(s32)b : b, expected;
	struct bpf_insn insns[] = {LOAD(0, 0), LOAD(3, 8), {0}, END};
	bool shift = one->code == BPF_LSH || one->code == BPF_RSH || one->code == BPF_ARSH;
	bool divides = one->code == BPF_DIV || one->code == BPF_MOD;

	if (constant && shift && right >= (wide ? 64u : 32u))
		return true;
	if (constant && ((divides && !(s32)right) || (one->code == BPF_MOV && one->offset)))
		return true;
	if (!wide && one->offset == 32)
		return true;
	insns[2].code = (wide ? BPF_ALU64 : BPF_ALU) | one->code;
	insns[2].off = one->offset;
	if (one->code != BPF_NEG && constant)
		insns[2].imm = (s32)right;
	else if (one->code != BPF_NEG) {
		insns[2].code |= BPF_X;
		insns[2].src_reg = 3;
	}
	expected = wide ? one->wide(a, right) : one->narrow((u32)a, (u32)right);
	return results_in(insns, 4, memory, expected);
}

static bool jump_results_in(const struct operation *one, bool wide, bool constant, u64 a, u64 b)
{
	u64 memory[2] = {a, b}, right = constant ? (u64)(s64)(s32)b : b, expected;
	struct bpf_insn insns[] = {LOAD(4, 0), LOAD(3, 8),
				   {0},        {BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0},
				   END,        {BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 1},
				   END};

	insns[2].code = (wide ? BPF_JMP : BPF_JMP32) | one->code;
	insns[2].dst_reg = 4;
	insns[2].off = 2;
	if (constant) {
		insns[2].imm = (s32)right;
	} else {
		insns[2].code |= BPF_X;
		insns[2].src_reg = 3;
	}
	expected = wide ? one->wide(a, right) : one->narrow((u32)a, (u32)right);
	return results_in(insns, 7, memory, expected);
}

/* All edges in both forms. */
static bool all_edges(const struct operation *one, bool wide,
		      bool (*check)(const struct operation *, bool, bool, u64, u64))
{
	for (unsigned i = 0; i < gt_countof(edges) * gt_countof(edges); i++) {
		u64 a = edges[i / gt_countof(edges)], b = edges[i % gt_countof(edges)];

		if (!check(one, wide, false, a, b) || !check(one, wide, true, a, b))
			return false;
	}
	return true;
}

TEST("64-bit arithmetic has the results of C")
{
	for (unsigned i = 0; i < gt_countof(operations); i++)
		all_edges(&operations[i], true, operation_results_in);
}

TEST("32-bit arithmetic has the results of C, zero-extended")
{
	for (unsigned i = 0; i < gt_countof(operations); i++)
		all_edges(&operations[i], false, operation_results_in);
}

TEST("64-bit jumps are taken as C compares")
{
	for (unsigned i = 0; i < gt_countof(jumps); i++)
		all_edges(&jumps[i], true, jump_results_in);
}

TEST("32-bit jumps are taken as C compares")
{
	for (unsigned i = 0; i < gt_countof(jumps); i++)
		all_edges(&jumps[i], false, jump_results_in);
}

TEST("byte swaps select and order the bytes of their width")
{
	u64 memory[2] = {0x1122334455667788, 0};
	const struct {
		uint8_t code;
		int32_t bits;
		u64 expected;
	} swaps[] = {
		{BPF_ALU | BPF_END | BPF_TO_LE, 16, 0x7788},
		{BPF_ALU | BPF_END | BPF_TO_LE, 32, 0x55667788},
		{BPF_ALU | BPF_END | BPF_TO_LE, 64, 0x1122334455667788},
		{BPF_ALU | BPF_END | BPF_TO_BE, 16, 0x8877},
		{BPF_ALU | BPF_END | BPF_TO_BE, 32, 0x88776655},
		{BPF_ALU | BPF_END | BPF_TO_BE, 64, 0x8877665544332211},
		{BPF_ALU64 | BPF_END, 16, 0x8877},
		{BPF_ALU64 | BPF_END, 32, 0x88776655},
		{BPF_ALU64 | BPF_END, 64, 0x8877665544332211},
	};

	for (unsigned i = 0; i < gt_countof(swaps); i++) {
		struct bpf_insn insns[] = {LOAD(0, 0), LOAD(3, 8), {0}, END};

		insns[2].code = swaps[i].code;
		insns[2].imm = swaps[i].bits;
		results_in(insns, 4, memory, swaps[i].expected);
	}
}

TEST_MAIN
