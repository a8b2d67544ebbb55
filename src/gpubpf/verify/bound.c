/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A bound of the instructions that a run executes, where not every iteration was explored. */
#include <errno.h>

#include "gpubpf/verify/loops.h"

/* What is known of the functions of a program. */
struct bound_search {
	struct gt_verifier *verifier;
	uint64_t *functions; /* of one call of each; 0: not computed yet */
};

static uint64_t add_bounds(uint64_t left, uint64_t right)
{
	return __builtin_add_overflow(left, right, &left) ? UINT64_MAX : left;
}

static uint64_t multiply_bounds(uint64_t left, uint64_t right)
{
	return __builtin_mul_overflow(left, right, &left) ? UINT64_MAX : left;
}

/*
 * How often a loop's header is executed each time the loop is entered: at most as often as all
 * paths visited it, and again after each may_goto that falls through, unless its iterations were
 * proved.
 */
static uint64_t iterations_of(const struct gt_verifier *verifier, const struct gt_loop *loop)
{
	uint64_t visits = loop->visits ? loop->visits : 1;

	if (verifier->widens && !loop->exact)
		return add_bounds(loop->iterations, 1);
	return loop->has_may_goto ? multiply_bounds(visits, (uint64_t)GT_BPF_MAX_LOOPS + 1)
				  : visits;
}

static uint64_t bound_of_function(struct bound_search *search, uint32_t function);

/* Of a call of bpf_loop: of any function whose address the program takes, if it is not known. */
static uint64_t bound_of_loop_call(struct bound_search *search, uint32_t at)
{
	const struct gt_verifier *verifier = search->verifier;
	const struct gt_register_fact *registers = verifier->facts.insns[at].registers;
	uint64_t count = GT_BPF_MAX_LOOPS, bound = 0, other;

	if (registers[1].type == GT_REG_SCALAR && registers[1].min >= 0 &&
	    registers[1].max < GT_BPF_MAX_LOOPS)
		count = (uint64_t)registers[1].max;
	for (uint32_t from = 0; from < verifier->count; from++) {
		uint32_t function;

		if (!gt_bpf_is_function(&verifier->insns[from]))
			continue;
		function = verifier->aux[gt_bpf_jump_target(verifier->insns, from)].subprogram;
		if (registers[2].map >= 0 && (uint32_t)registers[2].map != function)
			continue;
		other = bound_of_function(search, function);
		bound = other > bound ? other : bound;
	}
	return multiply_bounds(count, bound);
}

static uint64_t bound_of_insn(struct bound_search *search, uint32_t at)
{
	const struct gt_verifier *verifier = search->verifier;
	const struct bpf_insn *insn = &verifier->insns[at];
	uint64_t bound = 1;

	if (gt_bpf_is_subprogram_call(insn))
		bound = add_bounds(
			bound,
			bound_of_function(
				search,
				verifier->aux[gt_bpf_jump_target(verifier->insns, at)].subprogram));
	else if (gt_bpf_is_loop_call(insn))
		bound = add_bounds(bound, bound_of_loop_call(search, at));
	for (uint32_t i = 0; i < verifier->loops->count; i++)
		if (!verifier->loops->items[i].is_call &&
		    gt_loop_contains(&verifier->loops->items[i], at))
			bound = multiply_bounds(
				bound, iterations_of(verifier, &verifier->loops->items[i]));
	return bound;
}

/* There is no recursion: gt_verify_calls() has rejected it. */
static uint64_t bound_of_function(struct bound_search *search, uint32_t function)
{
	const struct gt_facts *facts = &search->verifier->facts;
	uint64_t bound = 0;

	if (search->functions[function])
		return search->functions[function];
	for (uint32_t at = facts->subprograms[function].start;
	     at < facts->subprograms[function].end; at++)
		if (facts->insns[at].reached)
			bound = add_bounds(bound, bound_of_insn(search, at));
	search->functions[function] = bound;
	return bound;
}

uint64_t gt_verify_bound(struct gt_verifier *verifier)
{
	gt_autofree uint64_t *functions =
		calloc(verifier->facts.subprogram_count, sizeof(*functions));
	struct bound_search search = {verifier, functions};

	if (!functions || !verifier->loops || verifier->too_many_loops)
		return UINT64_MAX;
	return bound_of_function(&search, 0);
}
