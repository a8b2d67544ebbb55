/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Jumps over little. `if (value >> 16) { key += 16; value >>= 16; }` is a jump over two
 * instructions; what they give can as well be calculated on both ways and chosen by the jump's
 * condition. Then there is no label at which nothing would be known any more: that the numbers of
 * both ways have 32 bits, say.
 */
#include <string.h>

#include "gpubpf/ptxgen/private.h"

enum {
	MOST = 4, /* instructions that are not jumped over any more */
};

static bool is_alu(const struct bpf_insn *insn)
{
	return BPF_CLASS(insn->code) == BPF_ALU || BPF_CLASS(insn->code) == BPF_ALU64;
}

/* Whether an instruction does nothing but calculate, and little of that. */
static bool is_cheap(const struct bpf_insn *insn)
{
	return is_alu(insn) && BPF_OP(insn->code) != BPF_DIV && BPF_OP(insn->code) != BPF_MOD;
}

static bool is_conditional(const struct bpf_insn *insn)
{
	unsigned class = BPF_CLASS(insn->code), operation = BPF_OP(insn->code);

	return (class == BPF_JMP || class == BPF_JMP32) && operation != BPF_JA &&
	       operation != BPF_CALL && operation != BPF_EXIT;
}

static bool is_jump(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_JA) || insn->code == (BPF_JMP32 | BPF_JA);
}

/* A register may be wanted that is not set on some other way to `at`. */
static bool is_wanted(const struct gt_ptxgen *gen, unsigned number, uint32_t at)
{
	return gen->facts->insns[at].live >> number & 1;
}

/*
 * Another jump may be the last of it, if it makes no difference behind it what was calculated: both
 * conditions become one. A loop that has two ways out has one of them less then.
 */
static bool may_be_last(const struct gt_ptxgen *gen, uint32_t first, uint32_t last)
{
	const struct bpf_insn *insns = gen->job->program->insns;

	if (!is_conditional(&insns[last]) || gen->facts->insns[last].branch != 3)
		return false;
	for (uint32_t i = first; i < last; i++)
		if (is_wanted(gen, insns[i].dst_reg, last + 1))
			return false;
	return true;
}

/* Whether what stands at `i`, behind the jump at `at`, may be there: what ends at `end`. */
static bool may_follow(const struct gt_ptxgen *gen, uint32_t at, uint32_t i, int64_t end)
{
	const struct bpf_insn *insns = gen->job->program->insns;

	return gen->facts->insns[i].reached && !gen->targets[i] &&
	       (is_cheap(&insns[i]) || (i + 1 == end && may_be_last(gen, at + 1, i)));
}

/*
 * The end of what the jump at `at` jumps over: its target, or a jump to the same target. 0 if that
 * is not little, or if there are other ways to there.
 */
static uint32_t find_end(const struct gt_ptxgen *gen, uint32_t at)
{
	const struct bpf_insn *insns = gen->job->program->insns;
	int64_t target = gt_bpf_jump_target(insns, at);
	uint32_t i;

	for (i = at + 1; i <= at + MOST && i != target; i++)
		if (!may_follow(gen, at, i, target))
			break;
	if (i == at + 1)
		return 0;
	if (i == target)
		return i;
	return is_jump(&insns[i]) && gt_bpf_jump_target(insns, i) == target && !gen->targets[i] ? i
												: 0;
}

/* A test for NULL is its helper's. */
static bool is_candidate(const struct gt_ptxgen *gen, uint32_t at)
{
	const struct gt_insn_facts *facts = &gen->facts->insns[at];
	const struct bpf_insn *insn = &gen->job->program->insns[at];

	return facts->reached && is_conditional(insn) && facts->branch == 3 &&
	       facts->registers[insn->dst_reg].type == GT_REG_SCALAR;
}

void gt_ptxgen_plan_skips(struct gt_ptxgen *gen)
{
	for (uint32_t at = 0; at + 1 < gen->facts->insn_count; at++) {
		uint32_t end = is_candidate(gen, at) ? find_end(gen, at) : 0;

		if (!end)
			continue;
		gen->skips[at] = end;
		gen->targets[gt_bpf_jump_target(gen->job->program->insns, at)]--;
		at = end - 1;
	}
}

/* What a register held before the jump: a .b64, or its lower half if that is all there is. */
struct before {
	bool is_short;
	uint64_t limit; /* where the jump is taken */
	struct gt_ptxgen_value value;
};

static void keep(struct gt_ptxgen *gen, unsigned number, struct before *before)
{
	before->limit = gt_ptxgen_limit(gen, number);
	before->is_short = before->limit <= UINT32_MAX;
	if (before->is_short) {
		before->value = gt_ptxgen_reg32(gen, number);
		return;
	}
	before->value = gt_ptxgen_temporary(gen, GT_PTXGEN_B64);
	gt_ptxgen_emit(gen, "mov.b64", before->value, gt_ptxgen_reg64(gen, number));
}

/* Chooses between what a register held and what it holds now. */
static void choose(struct gt_ptxgen *gen, unsigned number, const struct before *before,
		   const struct gt_ptxgen_condition *taken)
{
	bool is_short = before->is_short && gt_ptxgen_is_short(gen, number);
	struct gt_ptxgen_value old = before->value, now, result;

	if (is_short) {
		now = gt_ptxgen_reg32(gen, number);
		result = gt_ptxgen_temporary(gen, GT_PTXGEN_B32);
	} else {
		now = gt_ptxgen_reg64(gen, number);
		result = gt_ptxgen_temporary(gen, GT_PTXGEN_B64);
		if (before->is_short)
			old = gt_ptxgen_widen(gen, before->value);
	}
	gt_ptxgen_emit(gen, gt_ptxgen_typed("selp", 'b', is_short ? 32 : 64), result,
		       taken->holds ? old : now, taken->holds ? now : old, taken->predicate);
	if (is_short)
		gt_ptxgen_write_reg32(gen, number, result);
	else
		gt_ptxgen_write_reg64(gen, number, result);
	if (gen->limits[number] < before->limit)
		gen->limits[number] = before->limit;
}

/* The registers that are written from `at` up to `end`. */
static unsigned find_written(const struct gt_ptxgen *gen, uint32_t at, uint32_t end)
{
	unsigned written = 0;

	for (; at < end && is_alu(&gen->job->program->insns[at]); at++)
		written |= 1u << gen->job->program->insns[at].dst_reg;
	return written;
}

/* The jump at gen->at, where another one was not taken. */
static void jump_if_not(struct gt_ptxgen *gen, const struct gt_ptxgen_condition *other)
{
	struct gt_ptxgen_condition both = gt_ptxgen_condition(gen, gt_ptxgen_insn(gen));
	struct gt_ptxgen_value not_other = gt_ptxgen_temporary(gen, GT_PTXGEN_PREDICATE);

	if (!both.holds)
		gt_ptxgen_emit(gen, "not.pred", both.predicate, both.predicate);
	gt_ptxgen_emit(gen, other->holds ? "not.pred" : "mov.pred", not_other, other->predicate);
	gt_ptxgen_emit(gen, "and.pred", both.predicate, both.predicate, not_other);
	gt_ptxgen_jump_if(gen, gt_ptxgen_if(both.predicate));
}

uint32_t gt_ptxgen_skip(struct gt_ptxgen *gen)
{
	const struct bpf_insn *insns = gen->job->program->insns, *jump = &insns[gen->at];
	uint32_t first = gen->at + 1, end = gen->skips[gen->at];
	uint32_t target = (uint32_t)gt_bpf_jump_target(insns, gen->at);
	unsigned written = find_written(gen, first, end);
	struct gt_ptxgen_condition taken = gt_ptxgen_condition(gen, jump);
	struct before before[GT_BPF_REGISTERS];
	uint64_t limits[GT_BPF_REGISTERS];

	memcpy(limits, gen->limits, sizeof(limits));
	gt_ptxgen_assume(gen, jump, true);
	for (unsigned i = 0; i < GT_BPF_REGISTERS; i++)
		if (written >> i & 1)
			keep(gen, i, &before[i]);
	memcpy(gen->limits, limits, sizeof(limits));
	gt_ptxgen_assume(gen, jump, false);
	for (gen->at = first; gen->at < end; gen->at++) {
		gen->inlined++;
		if (!is_alu(&insns[gen->at])) {
			jump_if_not(gen, &taken);
			continue;
		}
		gt_ptxgen_alu(gen, &insns[gen->at]);
		gt_ptxgen_follow_limits(gen, &insns[gen->at]);
	}
	/* There is what is known on both ways. */
	gen->at = target;
	for (unsigned i = 0; i < GT_BPF_REGISTERS; i++)
		if (!(written >> i & 1))
			gen->limits[i] = limits[i];
		else if (is_wanted(gen, i, target))
			choose(gen, i, &before[i], &taken);
	return end;
}
