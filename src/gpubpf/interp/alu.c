/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Arithmetic and comparisons of the interpreter. */
#include "gpubpf/interp/private.h"

static uint64_t swap_bytes(const struct bpf_insn *insn, uint64_t value)
{
	bool swap = BPF_CLASS(insn->code) == BPF_ALU64 || BPF_SRC(insn->code) == BPF_TO_BE;

	switch (insn->imm) {
	case 16:
		return swap ? __builtin_bswap16((uint16_t)value) : (uint16_t)value;
	case 32:
		return swap ? __builtin_bswap32((uint32_t)value) : (uint32_t)value;
	default:
		return swap ? __builtin_bswap64(value) : value;
	}
}

static uint64_t extend(unsigned bits, uint64_t value)
{
	switch (bits) {
	case 8:
		return (uint64_t)(int8_t)value;
	case 16:
		return (uint64_t)(int16_t)value;
	case 32:
		return (uint64_t)(int32_t)value;
	default:
		return value;
	}
}

/* Division by zero is 0, modulo by zero the dividend; the minimum divided by -1 wraps. */
static uint64_t divide(bool is_signed, bool modulo, uint64_t left, uint64_t right)
{
	if (!right)
		return modulo ? left : 0;
	if (!is_signed)
		return modulo ? left % right : left / right;
	if ((int64_t)right == -1)
		return modulo ? 0 : -left;
	return (uint64_t)(modulo ? (int64_t)left % (int64_t)right : (int64_t)left / (int64_t)right);
}

uint64_t gt_interp_alu(const struct bpf_insn *insn, uint64_t destination, uint64_t source)
{
	bool wide = BPF_CLASS(insn->code) == BPF_ALU64;
	bool is_signed = insn->off == 1;
	unsigned operation = BPF_OP(insn->code), shift;
	uint64_t result;

	if (operation == BPF_END)
		return swap_bytes(insn, destination);
	if (BPF_SRC(insn->code) == BPF_K)
		source = (uint64_t)(int64_t)insn->imm;
	shift = source & (wide ? 63 : 31);
	if (!wide) {
		bool extends = (operation == BPF_DIV || operation == BPF_MOD) && is_signed;

		destination = extends || operation == BPF_ARSH ? extend(32, destination)
							       : (uint32_t)destination;
		source = extends ? extend(32, source) : (uint32_t)source;
	}
	switch (operation) {
	case BPF_ADD:
		result = destination + source;
		break;
	case BPF_SUB:
		result = destination - source;
		break;
	case BPF_MUL:
		result = destination * source;
		break;
	case BPF_DIV:
	case BPF_MOD:
		result = divide(is_signed, operation == BPF_MOD, destination, source);
		break;
	case BPF_OR:
		result = destination | source;
		break;
	case BPF_AND:
		result = destination & source;
		break;
	case BPF_XOR:
		result = destination ^ source;
		break;
	case BPF_LSH:
		result = destination << shift;
		break;
	case BPF_RSH:
		result = destination >> shift;
		break;
	case BPF_ARSH:
		result = (uint64_t)((int64_t)destination >> shift);
		break;
	case BPF_NEG:
		result = -destination;
		break;
	default:
		result = insn->off ? extend((unsigned)insn->off, source) : source;
	}
	return wide ? result : (uint32_t)result;
}

bool gt_interp_jumps(const struct bpf_insn *insn, uint64_t destination, uint64_t source)
{
	int64_t left, right;

	if (BPF_SRC(insn->code) == BPF_K)
		source = (uint64_t)(int64_t)insn->imm;
	left = (int64_t)destination;
	right = (int64_t)source;
	if (BPF_CLASS(insn->code) == BPF_JMP32) {
		left = (int32_t)destination;
		right = (int32_t)source;
		destination = (uint32_t)destination;
		source = (uint32_t)source;
	}
	switch (BPF_OP(insn->code)) {
	case BPF_JEQ:
		return destination == source;
	case BPF_JNE:
		return destination != source;
	case BPF_JGT:
		return destination > source;
	case BPF_JGE:
		return destination >= source;
	case BPF_JLT:
		return destination < source;
	case BPF_JLE:
		return destination <= source;
	case BPF_JSET:
		return destination & source;
	case BPF_JSGT:
		return left > right;
	case BPF_JSGE:
		return left >= right;
	case BPF_JSLT:
		return left < right;
	default:
		return left <= right;
	}
}
