/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Jumps and comparisons. */
#include <inttypes.h>
#include <string.h>

#include "gpubpf/ptxgen_private.h"

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
	else if (ways != 1)
		compare(gen, insn);
}

bool gt_ptx_null_target(struct gt_ptxgen *gen, struct gt_ptx_name *ret_label)
{
	uint32_t next = gen->at + 1;
	const struct bpf_insn *insn = &gen->job->program->insns[next];
	int64_t null;

	if (next >= gen->facts->insn_count || insn->dst_reg || insn->imm ||
	    (insn->code != (BPF_JMP | BPF_JEQ | BPF_K) &&
	     insn->code != (BPF_JMP | BPF_JNE | BPF_K)) ||
	    gen->targets[next] || gen->facts->insns[next].branch != 3)
		return false;
	null = BPF_OP(insn->code) == BPF_JEQ ? gt_bpf_jump_target(gen->job->program->insns, next)
					     : next + 1;
	gen->targets[null] = true;
	gen->fused = next;
	*ret_label = gt_ptx_insn_label(gen, (uint32_t)null);
	return true;
}
