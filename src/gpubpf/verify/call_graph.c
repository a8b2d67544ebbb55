/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The call graph: recursion, and the depth and stack use of the deepest chain of calls. */
#include "gpubpf/verify/private.h"

/* The deepest chain of calls from a function, itself included. */
struct call_chain {
	bool entered, complete;
	unsigned depth;
	uint32_t stack;
};

static int measure_calls(struct gt_verifier *verifier, uint32_t subprogram,
			 struct call_chain *chains)
{
	const struct gt_subprogram_facts *function = &verifier->facts.subprograms[subprogram];
	struct call_chain *chain = &chains[subprogram];

	chain->entered = true;
	for (uint32_t at = function->start; at < function->end; at++) {
		const struct bpf_insn *insn = &verifier->insns[at];
		const struct call_chain *other;
		uint32_t callee;
		int error;

		if (gt_bpf_is_subprogram_call(insn) || gt_bpf_is_function(insn)) {
			callee = verifier->aux[gt_bpf_jump_target(verifier->insns, at)].subprogram;
			other = &chains[callee];
			verifier->at = at;
			if (other->entered && !other->complete)
				return gt_reject(verifier, "recursive call from insn %u", at);
			error = other->complete ? 0 : measure_calls(verifier, callee, chains);
			if (error)
				return error;
			if (other->depth > chain->depth)
				chain->depth = other->depth;
			if (other->stack > chain->stack)
				chain->stack = other->stack;
		}
		at += gt_bpf_is_wide(insn);
	}
	chain->depth++;
	chain->stack += (function->stack + 15) & ~15u;
	chain->complete = true;
	return 0;
}

int gt_verify_calls(struct gt_verifier *verifier)
{
	gt_autofree struct call_chain *chains =
		calloc(verifier->facts.subprogram_count, sizeof(*chains));
	int error;

	if (!chains)
		return gt_verifier_no_memory(verifier);
	error = measure_calls(verifier, 0, chains);
	if (error)
		return error;
	verifier->at = 0;
	if (chains[0].depth > GT_BPF_MAX_FRAMES)
		return gt_reject(verifier, "the call stack of %u frames is too deep",
				 chains[0].depth);
	if (chains[0].stack > GT_VERIFY_MAX_STACK)
		return gt_reject(verifier, "combined stack size of %u calls is %u. Too large",
				 chains[0].depth, chains[0].stack);
	return 0;
}
