/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * If-conversion (Muchnick, Advanced Compiler Design and Implementation, 18.9). `if (value >> 16) {
 * key += 16; value >>= 16; }` is a jump over a region of two instructions. Their results can as
 * well be calculated on both paths and selected by the jump's condition. Then there is no label, at
 * which the forward analyses would forget what they know: that the values of both paths have 32
 * bits, say.
 */
#include <errno.h>

#include "gpubpf/ptxgen/private.h"

enum {
	MAX_REGION = 4, /* instructions */
};

/* ---- regions ---- */

static bool is_cheap(const struct bpf_insn *insn)
{
	return gt_ptxgen_is_alu(insn) && BPF_OP(insn->code) != BPF_DIV &&
	       BPF_OP(insn->code) != BPF_MOD;
}

static bool is_conditional(const struct bpf_insn *insn)
{
	unsigned class = BPF_CLASS(insn->code), operation = BPF_OP(insn->code);

	return (class == BPF_JMP || class == BPF_JMP32) && operation != BPF_JA &&
	       operation != BPF_JCOND && operation != BPF_CALL && operation != BPF_EXIT;
}

static bool is_jump(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_JA) || insn->code == (BPF_JMP32 | BPF_JA);
}

/* Registers that are not live may be unset on some path to `at`. */
static bool is_live(const struct gt_ptxgen *gen, unsigned number, uint32_t at)
{
	return gen->facts->insns[at].live >> number & 1;
}

/*
 * The last instruction of a region may be another conditional jump, if nothing that the region
 * calculates is live after it: both conditions become one. So a loop with two exits has one less.
 */
static bool can_be_last(const struct gt_ptxgen *gen, uint32_t first, uint32_t last)
{
	const struct bpf_insn *insns = gen->job->program->insns;

	if (!is_conditional(&insns[last]) || gen->facts->insns[last].branch != 3)
		return false;
	for (uint32_t i = first; i < last; i++)
		if (is_live(gen, insns[i].dst_reg, last + 1))
			return false;
	return true;
}

/* Whether instruction i can be in the region of the jump at `jump`, which ends at `end`. */
static bool can_be_in_region(const struct gt_ptxgen *gen, uint32_t jump, uint32_t i, int64_t end)
{
	const struct bpf_insn *insns = gen->job->program->insns;

	return gen->facts->insns[i].reached && !gen->targets[i] &&
	       (is_cheap(&insns[i]) || (i + 1 == end && can_be_last(gen, jump + 1, i)));
}

/*
 * The end of a jump's region: its target, or a jump to the same target. 0 if the region is empty or
 * too large, or if other jumps lead into it.
 */
static uint32_t find_region_end(const struct gt_ptxgen *gen, uint32_t jump)
{
	const struct bpf_insn *insns = gen->job->program->insns;
	int64_t target = gt_bpf_jump_target(insns, jump);
	uint32_t i = jump + 1;

	while (i <= jump + MAX_REGION && i != target && can_be_in_region(gen, jump, i, target))
		i++;
	if (i == jump + 1)
		return 0;
	if (i == target)
		return i;
	return is_jump(&insns[i]) && gt_bpf_jump_target(insns, i) == target && !gen->targets[i] ? i
												: 0;
}

/* Jumps that compare scalars; tests of pointers for NULL belong to null_test.c. */
static bool is_candidate(const struct gt_ptxgen *gen, uint32_t at)
{
	const struct gt_insn_facts *facts = &gen->facts->insns[at];
	const struct bpf_insn *insn = &gen->job->program->insns[at];

	return facts->reached && is_conditional(insn) && facts->branch == 3 &&
	       facts->registers[insn->dst_reg].type == GT_REG_SCALAR;
}

int gt_ptxgen_plan_if_conversion(struct gt_ptxgen *gen)
{
	uint32_t *ends = calloc(gen->facts->insn_count + 1, sizeof(*ends));

	gen->if_conversion.ends = ends;
	if (!ends)
		return -ENOMEM;
	for (uint32_t at = 0; at + 1 < gen->facts->insn_count; at++) {
		if (is_candidate(gen, at))
			ends[at] = find_region_end(gen, at);
		if (ends[at]) {
			gen->targets[gt_bpf_jump_target(gen->job->program->insns, at)]--;
			at = ends[at] - 1;
		}
	}
	return 0;
}

unsigned gt_ptxgen_region_written(const struct gt_ptxgen *gen, uint32_t jump)
{
	const struct bpf_insn *insns = gen->job->program->insns;
	unsigned written = 0;

	for (uint32_t at = jump + 1; at < gen->if_conversion.ends[jump]; at++)
		if (gt_ptxgen_is_alu(&insns[at]))
			written |= 1u << insns[at].dst_reg;
	return written;
}

/* ---- emission ---- */

/* A register before the jump: a .b64, or its lower half if the upper one is 0. */
struct saved_register {
	bool fits_32;
	struct gt_ptxgen_value value;
};

static struct saved_register emit_save(struct gt_ptxgen *gen, unsigned number)
{
	struct saved_register saved = {.fits_32 = gt_ptxgen_max_taken(gen, number) <= UINT32_MAX};

	if (saved.fits_32) {
		saved.value = gt_ptxgen_reg32(gen, number);
	} else {
		saved.value = gt_ptxgen_b64(gen);
		gt_ptxgen_emit(gen, "mov.b64", saved.value, gt_ptxgen_reg64(gen, number));
	}
	return saved;
}

/* The register = what it held before the jump where that is taken, else what it holds now. */
static void emit_selection(struct gt_ptxgen *gen, unsigned number,
			   const struct saved_register *saved, bool fits_32,
			   const struct gt_ptxgen_condition *taken)
{
	bool narrow = saved->fits_32 && fits_32;
	struct gt_ptxgen_value old = saved->value, now, result;

	if (narrow) {
		now = gt_ptxgen_reg32(gen, number);
		result = gt_ptxgen_b32(gen);
	} else {
		now = gt_ptxgen_reg64(gen, number);
		result = gt_ptxgen_b64(gen);
		if (saved->fits_32)
			old = gt_ptxgen_widen(gen, saved->value);
	}
	gt_ptxgen_emit(gen, gt_ptxgen_typed("selp", 'b', narrow ? 32 : 64), result,
		       taken->holds ? old : now, taken->holds ? now : old, taken->predicate);
	if (narrow)
		gt_ptxgen_write_reg32(gen, number, result);
	else
		gt_ptxgen_write_reg64(gen, number, result);
}

/* The conditional jump at gen->at, where another one was not taken. */
static void emit_second_jump(struct gt_ptxgen *gen, const struct gt_ptxgen_condition *first)
{
	struct gt_ptxgen_condition both = gt_ptxgen_condition(gen, gt_ptxgen_insn(gen));
	struct gt_ptxgen_value not_first = gt_ptxgen_predicate(gen);

	if (!both.holds)
		gt_ptxgen_emit(gen, "not.pred", both.predicate, both.predicate);
	gt_ptxgen_emit(gen, first->holds ? "not.pred" : "mov.pred", not_first, first->predicate);
	gt_ptxgen_emit(gen, "and.pred", both.predicate, both.predicate, not_first);
	gt_ptxgen_jump_if(gen, gt_ptxgen_if(both.predicate));
}

static void emit_region(struct gt_ptxgen *gen, uint32_t end,
			const struct gt_ptxgen_condition *taken)
{
	for (gen->at++; gen->at < end; gen->at++) {
		gen->inlined++;
		if (gt_ptxgen_is_alu(gt_ptxgen_insn(gen)))
			gt_ptxgen_alu(gen, gt_ptxgen_insn(gen));
		else
			emit_second_jump(gen, taken);
	}
}

uint32_t gt_ptxgen_emit_converted(struct gt_ptxgen *gen)
{
	uint32_t jump = gen->at, end = gen->if_conversion.ends[jump];
	uint32_t target = (uint32_t)gt_bpf_jump_target(gen->job->program->insns, jump);
	unsigned written = gt_ptxgen_region_written(gen, jump);
	struct gt_ptxgen_condition taken = gt_ptxgen_condition(gen, gt_ptxgen_insn(gen));
	struct saved_register saved[GT_BPF_REGISTERS];

	for (unsigned i = 0; i < GT_BPF_REGISTERS; i++)
		if (written >> i & 1)
			saved[i] = emit_save(gen, i);
	emit_region(gen, end, &taken);
	gen->at = target;
	for (unsigned i = 0; i < GT_BPF_REGISTERS; i++)
		if ((written >> i & 1) && is_live(gen, i, target))
			emit_selection(gen, i, &saved[i],
				       gt_ptxgen_max_after(gen, end - 1, i) <= UINT32_MAX, &taken);
	return end;
}
