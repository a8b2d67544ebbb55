/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Loops whose iterations are limited when they run: may_goto and bpf_loop. */
#include <errno.h>
#include <limits.h>

#include "gpubpf/ptxgen/private.h"

void gt_ptxgen_begin_budget(struct gt_ptxgen *gen)
{
	const struct gt_subprogram_facts *function =
		&gen->facts->subprograms[gen->frame->subprogram];

	for (uint32_t at = function->start; at < function->end; at++)
		if (gen->facts->insns[at].reached &&
		    gt_bpf_is_may_goto(&gen->job->program->insns[at])) {
			gen->frame->budget = gt_ptxgen_b32(gen);
			gt_ptxgen_emit(gen, "mov.u32", gen->frame->budget, GT_BPF_MAX_LOOPS);
			return;
		}
}

void gt_ptxgen_may_goto(struct gt_ptxgen *gen)
{
	struct gt_ptxgen_value budget = gen->frame->budget, is_used = gt_ptxgen_predicate(gen);

	gt_ptxgen_emit(gen, "setp.eq.u32", is_used, budget, 0);
	gt_ptxgen_jump_if(gen, gt_ptxgen_if(is_used));
	gt_ptxgen_emit(gen, "sub.s32", budget, budget, 1);
}

/* One call of bpf_loop that is emitted. */
struct loop_call {
	uint32_t insn;
	struct gt_ptxgen_value count; /* .b32 */
	struct gt_ptxgen_value function, context;
	struct gt_ptxgen_value done; /* label */
};

/* Branch to the end with -EINVAL or -E2BIG, as Linux returns for flags and for too many iterations.
 */
static void emit_argument_checks(struct gt_ptxgen *gen, const struct loop_call *call)
{
	struct gt_ptxgen_value result = gt_ptxgen_reg64(gen, 0), is = gt_ptxgen_predicate(gen);
	const struct gt_register_fact *count = gt_ptxgen_fact(gen, 1);
	const struct gt_register_fact *flags = gt_ptxgen_fact(gen, 4);

	if (flags->type != GT_REG_SCALAR || flags->min || flags->max) {
		gt_ptxgen_emit(gen, "setp.ne.s64", is, gt_ptxgen_reg64(gen, 4), 0);
		gt_ptxgen_emit(gen, "mov.b64", result, gt_ptxgen_signed(-EINVAL));
		gt_ptxgen_branch_if(gen, is, call->done);
	}
	if (count->min < 0 || count->max > GT_BPF_MAX_LOOPS) {
		is = gt_ptxgen_predicate(gen);
		gt_ptxgen_emit(gen, "setp.gt.u32", is, call->count, GT_BPF_MAX_LOOPS);
		gt_ptxgen_emit(gen, "mov.b64", result, gt_ptxgen_signed(-E2BIG));
		gt_ptxgen_branch_if(gen, is, call->done);
	}
}

/* The loop with one function. */
static void emit_iterations(struct gt_ptxgen *gen, const struct loop_call *call, uint32_t function)
{
	struct gt_ptxgen_value again = gt_ptxgen_label(gen), end = gt_ptxgen_label(gen);
	struct gt_ptxgen_value index = gt_ptxgen_b32(gen), is = gt_ptxgen_predicate(gen);
	struct gt_ptxgen_value result = gt_ptxgen_reg64(gen, 0);

	gt_ptxgen_emit(gen, "mov.u32", index, 0);
	gt_ptxgen_emit_label(gen, again);
	gt_ptxgen_emit(gen, "setp.ge.u32", is, index, call->count);
	gt_ptxgen_branch_if(gen, is, end);
	gt_ptxgen_clear_unset(gen, gen->facts->subprograms[function].start, UINT_MAX);
	gt_ptxgen_emit(gen, "cvt.u64.u32", gt_ptxgen_reg64(gen, 1), index);
	gt_ptxgen_emit(gen, "mov.b64", gt_ptxgen_reg64(gen, 2), call->context);
	gt_ptxgen_emit_function(gen, function);
	gen->at = call->insn;
	gt_ptxgen_emit(gen, "add.s32", index, index, 1);
	is = gt_ptxgen_predicate(gen);
	gt_ptxgen_emit(gen, "setp.eq.s64", is, result, 0);
	gt_ptxgen_branch_if(gen, is, again);
	gt_ptxgen_emit_label(gen, end);
	gt_ptxgen_emit(gen, "cvt.u64.u32", result, index);
}

/* Whether the program takes the address of a function. */
static bool has_address(const struct gt_ptxgen *gen, uint32_t function)
{
	const struct bpf_insn *insns = gen->job->program->insns;

	for (uint32_t at = 0; at < gen->facts->insn_count; at++)
		if (gen->facts->insns[at].reached && gt_bpf_is_function(&insns[at]) &&
		    gt_bpf_jump_target(insns, at) == gen->facts->subprograms[function].start)
			return true;
	return false;
}

static void emit_each_function(struct gt_ptxgen *gen, const struct loop_call *call)
{
	for (uint32_t i = 0; i < gen->facts->subprogram_count && !gen->error; i++) {
		struct gt_ptxgen_value next = gt_ptxgen_label(gen), is = gt_ptxgen_predicate(gen);

		if (!has_address(gen, i))
			continue;
		gt_ptxgen_emit(gen, "setp.ne.s64", is, call->function,
			       gt_ptxgen_function_address(gen->facts->subprograms[i].start));
		gt_ptxgen_branch_if(gen, is, next);
		emit_iterations(gen, call, i);
		gt_ptxgen_branch(gen, call->done);
		gt_ptxgen_emit_label(gen, next);
	}
}

int gt_ptxgen_call_back(struct gt_ptxgen *gen, uint32_t insn)
{
	struct loop_call call = {
		.insn = insn,
		.count = gt_ptxgen_b32(gen),
		.function = gt_ptxgen_b64(gen),
		.context = gt_ptxgen_b64(gen),
		.done = gt_ptxgen_label(gen),
	};
	int32_t function = gt_ptxgen_fact(gen, 2)->map;

	gt_ptxgen_emit(gen, "cvt.u32.u64", call.count, gt_ptxgen_reg64(gen, 1));
	gt_ptxgen_emit(gen, "mov.b64", call.context, gt_ptxgen_reg64(gen, 3));
	emit_argument_checks(gen, &call);
	if (function >= 0) {
		emit_iterations(gen, &call, (uint32_t)function);
	} else {
		gt_ptxgen_emit(gen, "mov.b64", call.function, gt_ptxgen_reg64(gen, 2));
		emit_each_function(gen, &call);
	}
	gt_ptxgen_emit_label(gen, call.done);
	return gen->error;
}
