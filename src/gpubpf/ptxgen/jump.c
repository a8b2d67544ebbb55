/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Jumps and comparisons. */
#include "gpubpf/ptxgen/map.h"

struct jump_comparison {
	const char *name;
	char type;
};
static const struct jump_comparison comparisons[16] = {
	[BPF_JEQ >> 4] = {"setp.eq", 's'},  [BPF_JNE >> 4] = {"setp.ne", 's'},
	[BPF_JSET >> 4] = {"setp.ne", 's'}, [BPF_JGT >> 4] = {"setp.gt", 'u'},
	[BPF_JGE >> 4] = {"setp.ge", 'u'},  [BPF_JLT >> 4] = {"setp.lt", 'u'},
	[BPF_JLE >> 4] = {"setp.le", 'u'},  [BPF_JSGT >> 4] = {"setp.gt", 's'},
	[BPF_JSGE >> 4] = {"setp.ge", 's'}, [BPF_JSLT >> 4] = {"setp.lt", 's'},
	[BPF_JSLE >> 4] = {"setp.le", 's'},
};

void gt_ptxgen_jump_if(struct gt_ptxgen *gen, struct gt_ptxgen_condition taken)
{
	int64_t target = gt_bpf_jump_target(gen->job->program->insns, gen->at);

	gt_ptxgen_emit_if(gen, taken, "bra", gt_ptxgen_insn_label(gen, (uint32_t)target));
}

/* An eBPF register, or its lower half. */
static struct gt_ptxgen_value read_side(struct gt_ptxgen *gen, unsigned number, bool wide)
{
	return wide ? gt_ptxgen_reg64(gen, number) : gt_ptxgen_reg32(gen, number);
}

/* x < n << 32 depends on the upper half of x alone. */
static void emit_upper_comparison(struct gt_ptxgen *gen, const struct bpf_insn *insn,
				  struct gt_ptxgen_value is, uint64_t number)
{
	struct gt_ptxgen_value high = gt_ptxgen_high_half(gen, insn->dst_reg);

	gt_ptxgen_emit(gen, "setp.lt.u32", is, high, number >> 32);
}

/*
 * Unsigned comparisons with known constants all get one form, x < n: ptxas does not see that x > 7
 * and x >= 8 are the opposite of x < 8.
 */
static bool emit_below_comparison(struct gt_ptxgen *gen, const struct bpf_insn *insn,
				  struct gt_ptxgen_condition *ret_taken)
{
	bool is_jmp = BPF_CLASS(insn->code) == BPF_JMP;
	bool wide = is_jmp && !gt_ptxgen_fits_32(gen, insn->dst_reg);
	unsigned operation = BPF_OP(insn->code);
	bool negated = operation == BPF_JGT || operation == BPF_JGE;
	bool next = operation == BPF_JGT || operation == BPF_JLE;
	struct gt_ptxgen_value is;
	uint64_t number;

	if ((!negated && !next && operation != BPF_JLT) ||
	    !gt_ptxgen_known_right(gen, insn, &number) ||
	    number >= (is_jmp ? UINT64_MAX : UINT32_MAX))
		return false;
	number += next;
	is = gt_ptxgen_temporary(gen, GT_PTXGEN_PREDICATE);
	if (wide && number > UINT32_MAX && (uint32_t)number == 0)
		emit_upper_comparison(gen, insn, is, number);
	else if (wide || number > UINT32_MAX)
		gt_ptxgen_emit(gen, "setp.lt.u64", is, read_side(gen, insn->dst_reg, true), number);
	else
		gt_ptxgen_emit(gen, "setp.lt.u32", is, read_side(gen, insn->dst_reg, false),
			       number);
	*ret_taken = (struct gt_ptxgen_condition){is, !negated};
	return true;
}

/* Whether a test of bits depends on the lower halves alone. */
static bool tests_low_halves(const struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	return gt_ptxgen_fits_32(gen, insn->dst_reg) ||
	       (BPF_SRC(insn->code) == BPF_K ? insn->imm >= 0
					     : gt_ptxgen_fits_32(gen, insn->src_reg));
}

struct gt_ptxgen_condition gt_ptxgen_condition(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	unsigned operation = BPF_OP(insn->code), bits;
	bool is_test = operation == BPF_JSET, wide = BPF_CLASS(insn->code) == BPF_JMP;
	bool narrowed =
		wide && (is_test ? tests_low_halves(gen, insn) : gt_ptxgen_sides_fit_32(gen, insn));
	struct jump_comparison comparison = comparisons[operation >> 4];
	struct gt_ptxgen_value left, right, both;
	struct gt_ptxgen_condition taken = {.holds = true};

	if (emit_below_comparison(gen, insn, &taken))
		return taken;
	wide &= !narrowed;
	bits = wide ? 64 : 32;
	/* 64 bits whose upper half is 0 are not negative, whatever the sign of the lower half is.
	 */
	if (narrowed && !is_test)
		comparison.type = 'u';
	left = read_side(gen, insn->dst_reg, wide);
	right = BPF_SRC(insn->code) == BPF_K ? gt_ptxgen_signed(insn->imm)
					     : read_side(gen, insn->src_reg, wide);
	if (is_test) {
		both = wide ? gt_ptxgen_b64(gen) : gt_ptxgen_b32(gen);
		gt_ptxgen_emit(gen, gt_ptxgen_typed("and", 'b', bits), both, left, right);
		left = both;
		right = gt_ptxgen_signed(0);
	}
	taken.predicate = gt_ptxgen_predicate(gen);
	gt_ptxgen_emit(gen, gt_ptxgen_typed(comparison.name, comparison.type, bits),
		       taken.predicate, left, right);
	return taken;
}

void gt_ptxgen_jump(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	struct gt_ptxgen_condition taken;
	uint8_t paths = gen->facts->insns[gen->at].branch;

	if (gt_bpf_is_may_goto(insn)) {
		gt_ptxgen_may_goto(gen);
		return;
	}
	if (BPF_OP(insn->code) == BPF_JA)
		paths = 2;
	/* The call has branched where its result is NULL. */
	if (gen->null_tests[gen->at].is_test)
		paths = BPF_OP(insn->code) == BPF_JEQ ? 1 : 2;
	if (paths == 2) {
		gt_ptxgen_jump_if(gen, gt_ptxgen_always);
	} else if (paths != 1) {
		taken = gt_ptxgen_condition(gen, insn);
		gt_ptxgen_jump_if(gen, taken);
	}
}
