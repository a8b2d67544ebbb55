/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Jumps and comparisons. */
#include <inttypes.h>
#include <string.h>

#include "gpubpf/ptxgen_map.h"

static const char *const comparisons[16] = {
	[BPF_JEQ >> 4] = "eq.s",  [BPF_JNE >> 4] = "ne.s",  [BPF_JSET >> 4] = "ne.s",
	[BPF_JGT >> 4] = "gt.u",  [BPF_JGE >> 4] = "ge.u",  [BPF_JLT >> 4] = "lt.u",
	[BPF_JLE >> 4] = "le.u",  [BPF_JSGT >> 4] = "gt.s", [BPF_JSGE >> 4] = "ge.s",
	[BPF_JSLT >> 4] = "lt.s", [BPF_JSLE >> 4] = "le.s",
};

static void jump_to(struct gt_ptxgen *gen, const char *guard)
{
	int64_t target = gt_bpf_jump_target(gen->job->program->insns, gen->at);
	struct gt_ptx_name label = gt_ptx_insn_label(gen, (uint32_t)target);

	gt_ptx(gen, "%sbra %s", guard, label.text);
}

/* The number that a jump compares with, where it is known and below the greatest. */
static bool known_right(const struct gt_ptxgen *gen, const struct bpf_insn *insn, bool wide,
			uint64_t *ret_number)
{
	const struct gt_register_fact *fact = gt_ptx_fact(gen, insn->src_reg);
	bool constant = BPF_SRC(insn->code) == BPF_K;
	uint64_t most = wide ? UINT64_MAX : UINT32_MAX;
	uint64_t number = (uint64_t)(constant ? insn->imm : fact->least) & most;

	if (!constant && (fact->place != GT_PLACE_NUMBER || fact->least != fact->greatest))
		return false;
	*ret_number = number;
	return number < most;
}

/*
 * Unsigned comparisons with known numbers are all made of one form: of x > 7 and x < 8, and of
 * x >= 8 and x < 8, ptxas does not see that one is the other's opposite.
 */
static bool compare_below(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	bool wide = BPF_CLASS(insn->code) == BPF_JMP;
	unsigned operation = BPF_OP(insn->code);
	bool negated = operation == BPF_JGT || operation == BPF_JGE;
	bool next = operation == BPF_JGT || operation == BPF_JLE;
	struct gt_ptx_name left, is;
	uint64_t number;

	if ((!negated && !next && operation != BPF_JLT) || !known_right(gen, insn, wide, &number))
		return false;
	left = gt_ptx_register(gen, insn->dst_reg);
	if (!wide)
		left = gt_ptx_low(gen, left.text);
	is = gt_ptx_temporary(gen, GT_PTX_PREDICATE);
	gt_ptx(gen, "setp.lt.u%u %s, %s, %" PRIu64, wide ? 64 : 32, is.text, left.text,
	       number + next);
	jump_to(gen, gt_ptx_guard(&is, !negated).text);
	return true;
}

static void compare(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	bool wide = BPF_CLASS(insn->code) == BPF_JMP;
	unsigned operation = BPF_OP(insn->code), bits = wide ? 64 : 32;
	struct gt_ptx_name left = gt_ptx_register(gen, insn->dst_reg), right, both;
	struct gt_ptx_name is = gt_ptx_temporary(gen, GT_PTX_PREDICATE), guard;

	if (!wide)
		left = gt_ptx_low(gen, left.text);
	if (BPF_SRC(insn->code) == BPF_K) {
		snprintf(right.text, sizeof(right.text), "%d", insn->imm);
	} else {
		right = gt_ptx_register(gen, insn->src_reg);
		if (!wide)
			right = gt_ptx_low(gen, right.text);
	}
	if (operation == BPF_JSET) {
		both = gt_ptx_temporary(gen, wide ? GT_PTX_B64 : GT_PTX_B32);
		gt_ptx(gen, "and.b%u %s, %s, %s", bits, both.text, left.text, right.text);
		left = both;
		strcpy(right.text, "0");
	}
	gt_ptx(gen, "setp.%s%u %s, %s, %s", comparisons[operation >> 4], bits, is.text, left.text,
	       right.text);
	snprintf(guard.text, sizeof(guard.text), "@%.40s ", is.text);
	jump_to(gen, guard.text);
}

void gt_ptx_jump(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	uint8_t ways = gen->facts->insns[gen->at].branch;

	if (BPF_OP(insn->code) == BPF_JA)
		ways = 2;
	if (gen->fused == gen->at) {
		/* Only where r0 is not NULL comes by here. */
		gen->fused = UINT32_MAX;
		ways = BPF_OP(insn->code) == BPF_JEQ ? 1 : 2;
	}
	if (ways == 2)
		jump_to(gen, "");
	else if (ways != 1 && !compare_below(gen, insn))
		compare(gen, insn);
}

/*
 * Whether an instruction has nothing to do with what a helper gives: r0. The arguments it has read
 * by then; nobody reads r1 to r5 after it before they are written.
 */
static bool is_aside(const struct bpf_insn *insn)
{
	bool alu = BPF_CLASS(insn->code) == BPF_ALU64 || BPF_CLASS(insn->code) == BPF_ALU;

	return alu && insn->dst_reg &&
	       (BPF_SRC(insn->code) == BPF_K || insn->src_reg || BPF_OP(insn->code) == BPF_END);
}

/* The test of r0 for NULL that follows the call, with nothing but instructions aside before it. */
static uint32_t find_null_test(const struct gt_ptxgen *gen)
{
	const struct bpf_insn *insns = gen->job->program->insns;

	for (uint32_t at = gen->at + 1; at < gen->facts->insn_count && !gen->targets[at]; at++) {
		const struct bpf_insn *insn = &insns[at];

		if (is_aside(insn))
			continue;
		if (insn->dst_reg || insn->imm || gen->facts->insns[at].branch != 3 ||
		    (insn->code != (BPF_JMP | BPF_JEQ | BPF_K) &&
		     insn->code != (BPF_JMP | BPF_JNE | BPF_K)))
			break;
		return at;
	}
	return UINT32_MAX;
}

bool gt_ptx_null_target(struct gt_ptxgen *gen, struct gt_ptx_name *ret_label)
{
	const struct bpf_insn *insns = gen->job->program->insns;
	uint32_t test = find_null_test(gen), call = gen->at;
	int64_t null;

	/* Where the leader alone makes the call, all of them need its result. */
	if (test == UINT32_MAX || gen->lanes == GT_PTX_ALL)
		return false;
	for (gen->at++; gen->at < test; gen->at++) {
		gt_ptx_alu(gen, gt_ptx_insn(gen));
		gt_ptx_follow_limits(gen, gt_ptx_insn(gen));
	}
	gen->at = call;
	null = BPF_OP(insns[test].code) == BPF_JEQ ? gt_bpf_jump_target(insns, test) : test + 1;
	gen->targets[null] = true;
	gen->fused = test;
	*ret_label = gt_ptx_insn_label(gen, (uint32_t)null);
	return true;
}
