/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How great numbers can be. The verifier keeps what decides something for it; what it need not know
 * (the index of a lookup) is followed here, between one label and the next.
 */
#include <string.h>

#include "gpubpf/ptxgen/private.h"

void gt_ptxgen_forget_numbers(struct gt_ptxgen *gen)
{
	memset(gen->scaled, 0, sizeof(gen->scaled));
	memset(gen->limits, 0xff, sizeof(gen->limits));
	memset(gen->stack_limits, 0, sizeof(gen->stack_limits));
}

static uint64_t all_ones(unsigned bits)
{
	return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

static uint64_t least_of(uint64_t one, uint64_t other)
{
	return one < other ? one : other;
}

/* The greatest number that has no more bits. */
static uint64_t fill(uint64_t number)
{
	return number ? all_ones(64 - (unsigned)__builtin_clzll(number)) : 0;
}

uint64_t gt_ptxgen_limit(const struct gt_ptxgen *gen, unsigned number)
{
	const struct gt_register_fact *fact = gt_ptxgen_fact(gen, number);
	uint64_t limit = gen->limits[number];

	if (fact->type != GT_REG_SCALAR)
		return UINT64_MAX;
	return fact->min >= 0 ? least_of(limit, (uint64_t)fact->max) : limit;
}

static const struct gt_ptxgen_stack_limit *find_stack(const struct gt_ptxgen *gen, unsigned number,
						      int64_t offset, unsigned width)
{
	const struct gt_register_fact *fact = gt_ptxgen_fact(gen, number);

	for (size_t i = 0; gt_ptxgen_is_own_stack(fact) && i < gt_countof(gen->stack_limits); i++)
		if (gen->stack_limits[i].width == width &&
		    gen->stack_limits[i].offset == fact->min + offset)
			return &gen->stack_limits[i];
	return NULL;
}

uint64_t gt_ptxgen_memory_limit(const struct gt_ptxgen *gen, unsigned number, int64_t offset,
				unsigned width)
{
	const struct gt_ptxgen_stack_limit *stack = find_stack(gen, number, offset, width);

	return stack ? stack->limit : all_ones(8 * width);
}

struct gt_ptxgen_scaled gt_ptxgen_memory_scaled(const struct gt_ptxgen *gen, unsigned number,
						int64_t offset, unsigned width)
{
	const struct gt_ptxgen_stack_limit *stack = find_stack(gen, number, offset, width);

	return stack ? stack->scaled : (struct gt_ptxgen_scaled){0};
}

void gt_ptxgen_limit_stack(struct gt_ptxgen *gen, int64_t offset, unsigned width, uint64_t limit,
			   const struct gt_ptxgen_scaled *scaled)
{
	size_t free_one = 0;

	for (size_t i = 0; i < gt_countof(gen->stack_limits); i++) {
		struct gt_ptxgen_stack_limit *one = &gen->stack_limits[i];

		if (one->offset < offset + (int64_t)width && offset < one->offset + one->width)
			one->width = 0;
		if (!one->width)
			free_one = i;
	}
	gen->stack_limits[free_one] = (struct gt_ptxgen_stack_limit){
		(int16_t)offset, (uint8_t)width, least_of(limit, all_ones(8 * width)), {{0}, 0}};
	if (scaled)
		gen->stack_limits[free_one].scaled = *scaled;
}

/* What an operation leaves at most, of numbers of `bits` bits. */
static uint64_t limit_alu(const struct bpf_insn *insn, uint64_t left, uint64_t right, unsigned bits)
{
	uint64_t most = all_ones(bits), result = most;
	bool constant = BPF_SRC(insn->code) == BPF_K;
	uint64_t number = (uint64_t)(int64_t)insn->imm & most;

	switch (BPF_OP(insn->code)) {
	case BPF_MOV:
		return insn->off ? most : right;
	case BPF_AND:
		return least_of(left, right);
	case BPF_OR:
	case BPF_XOR:
		return fill(left > right ? left : right);
	case BPF_ADD:
		return __builtin_add_overflow(left, right, &result) || result > most ? most
										     : result;
	case BPF_MUL:
		return __builtin_mul_overflow(left, right, &result) || result > most ? most
										     : result;
	case BPF_LSH:
		return constant && left <= most >> (number & (bits - 1))
			       ? left << (number & (bits - 1))
			       : most;
	case BPF_RSH:
		return constant ? left >> (number & (bits - 1)) : left;
	case BPF_DIV:
		return insn->off ? most : left;
	case BPF_MOD:
		return insn->off ? most : constant && number ? least_of(left, number - 1) : left;
	case BPF_END:
		return all_ones((unsigned)insn->imm);
	default:
		return most;
	}
}

uint64_t gt_ptxgen_limit_alu(const struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	unsigned bits = BPF_CLASS(insn->code) == BPF_ALU64 ? 64 : 32;
	uint64_t most = all_ones(bits), left = least_of(gt_ptxgen_limit(gen, insn->dst_reg), most);
	uint64_t right = BPF_SRC(insn->code) == BPF_K || BPF_OP(insn->code) == BPF_END
				 ? (uint64_t)(int64_t)insn->imm & most
				 : least_of(gt_ptxgen_limit(gen, insn->src_reg), most);

	/* Cut to 32 bits, a greater number may be any. */
	if (bits == 32 && gt_ptxgen_limit(gen, insn->dst_reg) > most)
		left = most;
	return limit_alu(insn, left, right, bits);
}

static void follow_load(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	unsigned width = gt_bpf_access_size(insn);

	gen->limits[insn->dst_reg] = UINT64_MAX;
	if (BPF_MODE(insn->code) == BPF_MEMSX)
		return;
	gen->limits[insn->dst_reg] = gt_ptxgen_memory_limit(gen, insn->src_reg, insn->off, width);
	gen->scaled[insn->dst_reg] = gt_ptxgen_memory_scaled(gen, insn->src_reg, insn->off, width);
}

/* A number that is stored in no fewer bytes than it has. */
static void follow_number(struct gt_ptxgen *gen, const struct bpf_insn *insn, int64_t offset,
			  uint64_t limit)
{
	unsigned width = gt_bpf_access_size(insn);

	if (limit > all_ones(8 * width))
		gt_ptxgen_limit_stack(gen, offset, width, UINT64_MAX, NULL);
	else
		gt_ptxgen_limit_stack(gen, offset, width, limit,
				      BPF_CLASS(insn->code) == BPF_STX ? &gen->scaled[insn->src_reg]
								       : NULL);
}

static void follow_store(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	const struct gt_register_fact *fact = gt_ptxgen_fact(gen, insn->dst_reg);
	bool atomic = BPF_CLASS(insn->code) == BPF_STX && BPF_MODE(insn->code) == BPF_ATOMIC;
	uint64_t limit =
		BPF_CLASS(insn->code) == BPF_ST
			? (uint64_t)(int64_t)insn->imm & all_ones(8 * gt_bpf_access_size(insn))
			: gt_ptxgen_limit(gen, insn->src_reg);

	if (atomic)
		gen->limits[0] = gen->limits[insn->src_reg] = UINT64_MAX;
	if (!gt_ptxgen_is_own_stack(fact)) {
		if (fact->type == GT_REG_STACK || fact->type == GT_REG_MIXED)
			memset(gen->stack_limits, 0, sizeof(gen->stack_limits));
	} else if (atomic) {
		gt_ptxgen_limit_stack(gen, fact->min + insn->off, gt_bpf_access_size(insn),
				      UINT64_MAX, NULL);
	} else {
		follow_number(gen, insn, fact->min + insn->off, limit);
	}
}

bool gt_ptxgen_known_right(const struct gt_ptxgen *gen, const struct bpf_insn *insn,
			   uint64_t *ret_number)
{
	const struct gt_register_fact *fact = gt_ptxgen_fact(gen, insn->src_reg);
	bool constant = BPF_SRC(insn->code) == BPF_K;
	uint64_t most = all_ones(BPF_CLASS(insn->code) == BPF_JMP ? 64 : 32);

	if (!constant && (fact->type != GT_REG_SCALAR || fact->min != fact->max))
		return false;
	*ret_number = (uint64_t)(constant ? insn->imm : fact->min) & most;
	return true;
}

/* The comparison that holds where a jump is taken, or not. */
static unsigned comparison(const struct bpf_insn *insn, bool taken)
{
	if (taken)
		return BPF_OP(insn->code);
	switch (BPF_OP(insn->code)) {
	case BPF_JNE:
		return BPF_JEQ;
	case BPF_JGT:
		return BPF_JLE;
	case BPF_JGE:
		return BPF_JLT;
	default:
		return BPF_JA; /* says nothing of how great a number is */
	}
}

void gt_ptxgen_assume(struct gt_ptxgen *gen, const struct bpf_insn *insn, bool taken)
{
	uint64_t *limit = &gen->limits[insn->dst_reg], number;
	unsigned holds = comparison(insn, taken);

	if (!gt_ptxgen_known_right(gen, insn, &number) ||
	    (BPF_CLASS(insn->code) == BPF_JMP32 && !gt_ptxgen_is_short(gen, insn->dst_reg)))
		return;
	if (holds == BPF_JEQ || holds == BPF_JLE)
		*limit = least_of(*limit, number);
	else if (holds == BPF_JLT && number)
		*limit = least_of(*limit, number - 1);
}

void gt_ptxgen_follow_limits(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		gen->limits[insn->dst_reg] = gt_ptxgen_limit_alu(gen, insn);
		return;
	case BPF_LD:
		gen->limits[insn->dst_reg] =
			insn->src_reg ? UINT64_MAX
				      : (uint64_t)(uint32_t)insn[1].imm << 32 | (uint32_t)insn->imm;
		return;
	case BPF_LDX:
		follow_load(gen, insn);
		return;
	case BPF_ST:
	case BPF_STX:
		follow_store(gen, insn);
		return;
	default:
		if (insn->code == (BPF_JMP | BPF_CALL) && !gt_bpf_is_subprogram_call(insn)) {
			memset(gen->limits, 0xff, 6 * sizeof(gen->limits[0]));
			memset(gen->scaled, 0, 6 * sizeof(gen->scaled[0]));
		} else if (BPF_OP(insn->code) == BPF_CALL)
			gt_ptxgen_forget_numbers(gen);
		else if (BPF_OP(insn->code) != BPF_JA && BPF_OP(insn->code) != BPF_EXIT)
			gt_ptxgen_assume(gen, insn, false);
	}
}
