/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Null tests (jump threading). A helper's code branches where there is no such element, and sets r0
 * to NULL there; the program then tests r0 for NULL. So the helper's code branches to the NULL side
 * of that test itself, and the test is not emitted.
 *
 * Between the call and its test there may be moves of r0 and arithmetic that has nothing to do with
 * it. The arithmetic is emitted before the branch, since both sides may need it: the helper has
 * read its arguments by then, and after a call nobody reads r1 to r5 before they are written.
 */
#include <errno.h>

#include "gpubpf/ptxgen/map.h"

/* A test that is searched for. */
struct null_test_search {
	uint32_t at;
	unsigned copies; /* bit n: r<n> holds the helper's result */
};

static bool is_copy(const struct null_test_search *search, const struct bpf_insn *insn)
{
	return insn->code == (BPF_ALU64 | BPF_MOV | BPF_X) && !insn->off &&
	       (search->copies >> insn->src_reg & 1);
}

/* Whether an instruction is arithmetic that neither reads nor writes the result. */
static bool is_independent(const struct null_test_search *search, const struct bpf_insn *insn)
{
	bool has_source = BPF_SRC(insn->code) == BPF_X && BPF_OP(insn->code) != BPF_END;

	return gt_ptxgen_is_alu(insn) && !(search->copies >> insn->dst_reg & 1) &&
	       !(has_source && (search->copies >> insn->src_reg & 1));
}

static bool is_null_test(const struct gt_ptxgen *gen, const struct null_test_search *search)
{
	const struct bpf_insn *insn = &gen->job->program->insns[search->at];

	return (insn->code == (BPF_JMP | BPF_JEQ | BPF_K) ||
		insn->code == (BPF_JMP | BPF_JNE | BPF_K)) &&
	       (search->copies >> insn->dst_reg & 1) && !insn->imm &&
	       !gen->if_conversion.ends[search->at] && gen->facts->insns[search->at].branch == 3;
}

static bool find_null_test(const struct gt_ptxgen *gen, struct null_test_search *search)
{
	const struct bpf_insn *insns = gen->job->program->insns;

	search->copies = 1;
	for (search->at = gen->at + 1;
	     search->at < gen->facts->insn_count && !gen->targets[search->at]; search->at++) {
		if (is_copy(search, &insns[search->at]))
			search->copies |= 1u << insns[search->at].dst_reg;
		else if (!is_independent(search, &insns[search->at]))
			return is_null_test(gen, search);
	}
	return false;
}

/*
 * Whether the code of a helper branches where its result is NULL. Where the leader alone makes the
 * call, all lanes must come to the test.
 */
static bool branches_on_null(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	const struct gt_helper *helper = gt_helper((uint32_t)insn->imm);
	int ignored;

	if (!helper || (gen->lanes == GT_PTXGEN_ALL && gt_ptxgen_needs_leader(gen, insn, &ignored)))
		return false;
	return helper->result == GT_RESULT_VALUE_OR_NULL ||
	       (helper->result == GT_RESULT_RECORD_OR_NULL && gt_ptxgen_fits_ring(gen));
}

static bool is_early(const struct gt_ptxgen *gen, const struct null_test_search *search,
		     uint32_t at)
{
	return !(search->copies >> gen->job->program->insns[at].dst_reg & 1);
}

/* A call with one of several maps has code for each of them: arithmetic cannot come before all. */
static bool can_be_early(const struct gt_ptxgen *gen, const struct null_test_search *search)
{
	for (uint32_t i = gen->at + 1; i < search->at; i++)
		if (gt_ptxgen_fact(gen, 1)->map < 0 && is_early(gen, search, i))
			return false;
	return true;
}

static uint32_t null_side(const struct gt_ptxgen *gen, uint32_t test)
{
	const struct bpf_insn *insns = gen->job->program->insns;

	return BPF_OP(insns[test].code) == BPF_JEQ ? (uint32_t)gt_bpf_jump_target(insns, test)
						   : test + 1;
}

static void plan_null_test(struct gt_ptxgen *gen, const struct null_test_search *search)
{
	gen->targets[null_side(gen, search->at)]++;
	gen->null_tests[gen->at].test = search->at;
	gen->null_tests[search->at].is_test = true;
	for (uint32_t i = gen->at + 1; i < search->at; i++)
		gen->null_tests[i].is_early = is_early(gen, search, i);
}

int gt_ptxgen_plan_null_tests(struct gt_ptxgen *gen)
{
	struct null_test_search search;

	gen->null_tests = calloc(gen->facts->insn_count + 1, sizeof(*gen->null_tests));
	if (!gen->null_tests)
		return -ENOMEM;
	for (gen->at = 0; gen->at < gen->facts->insn_count; gen->at++) {
		const struct bpf_insn *insn = gt_ptxgen_insn(gen);

		if (gen->facts->insns[gen->at].reached && insn->code == (BPF_JMP | BPF_CALL) &&
		    !gt_bpf_is_subprogram_call(insn) && branches_on_null(gen, insn) &&
		    find_null_test(gen, &search) && can_be_early(gen, &search))
			plan_null_test(gen, &search);
	}
	return 0;
}

bool gt_ptxgen_null_target(struct gt_ptxgen *gen, struct gt_ptxgen_value *ret_label)
{
	uint32_t call = gen->at, test = gen->null_tests[call].test;

	if (!test)
		return false;
	for (gen->at++; gen->at < test; gen->at++) {
		const struct bpf_insn *insn = gt_ptxgen_insn(gen);

		/* Where the result is not NULL, its moves are emitted in their places. */
		if (gen->null_tests[gen->at].is_early)
			gt_ptxgen_alu(gen, insn);
		else
			gt_ptxgen_write_reg64(gen, insn->dst_reg, gt_ptxgen_signed(0));
	}
	gen->at = call;
	*ret_label = gt_ptxgen_insn_label(gen, null_side(gen, test));
	return true;
}
