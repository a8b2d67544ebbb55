/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The control flow graph: functions, jumps, reachable instructions, prune points. */
#include <errno.h>

#include "gpubpf/verify/private.h"

static int add_subprogram(struct gt_verifier *verifier, uint32_t start)
{
	struct gt_facts *facts = &verifier->facts;

	for (uint32_t i = 0; i < facts->subprogram_count; i++)
		if (facts->subprograms[i].start == start)
			return 0;
	if (facts->subprogram_count == 256)
		return gt_reject(verifier, "too many subprograms");
	facts->subprograms[facts->subprogram_count++].start = start;
	return 0;
}

static int compare_starts(const void *left, const void *right)
{
	const struct gt_subprogram_facts *one = left, *other = right;

	return one->start < other->start ? -1 : one->start > other->start;
}

static int find_subprograms(struct gt_verifier *verifier)
{
	struct gt_facts *facts = &verifier->facts;

	facts->subprograms = calloc(256, sizeof(*facts->subprograms));
	if (!facts->subprograms)
		return gt_verifier_no_memory(verifier);
	add_subprogram(verifier, 0);
	for (uint32_t at = 0; at < verifier->count; at++) {
		const struct bpf_insn *insn = &verifier->insns[at];
		int64_t target;
		int error;

		verifier->at = at;
		if (gt_bpf_is_subprogram_call(insn) || gt_bpf_is_function(insn)) {
			target = gt_bpf_jump_target(verifier->insns, at);
			if (target < 0 || target >= verifier->count)
				return gt_reject(verifier,
						 gt_bpf_is_function(insn)
							 ? "invalid insn idx %lld of a function"
							 : "call to invalid destination",
						 (long long)target);
			error = add_subprogram(verifier, (uint32_t)target);
			if (error)
				return error;
		}
		at += gt_bpf_is_wide(insn);
	}
	qsort(facts->subprograms, facts->subprogram_count, sizeof(*facts->subprograms),
	      compare_starts);
	for (uint32_t i = 0; i < facts->subprogram_count; i++) {
		struct gt_subprogram_facts *one = &facts->subprograms[i];

		one->end = i + 1 < facts->subprogram_count ? one[1].start : verifier->count;
		for (uint32_t at = one->start; at < one->end; at++)
			verifier->aux[at].subprogram = i;
	}
	return 0;
}

bool gt_insn_is_jump(const struct bpf_insn *insn)
{
	unsigned class = BPF_CLASS(insn->code), operation = BPF_OP(insn->code);

	return (class == BPF_JMP || class == BPF_JMP32) && operation != BPF_CALL &&
	       operation != BPF_EXIT;
}

bool gt_insn_is_exit(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_EXIT);
}

static bool is_goto(const struct bpf_insn *insn)
{
	return gt_insn_is_jump(insn) && BPF_OP(insn->code) == BPF_JA;
}

/* Check that jumps stay in their function and functions end with an exit or a jump. */
static int check_jumps(struct gt_verifier *verifier)
{
	for (uint32_t at = 0; at < verifier->count; at++) {
		const struct bpf_insn *insn = &verifier->insns[at];
		const struct gt_subprogram_facts *function =
			&verifier->facts.subprograms[verifier->aux[at].subprogram];
		uint32_t last = at + gt_bpf_is_wide(insn);
		int64_t target;

		verifier->at = at;
		if (gt_insn_is_jump(insn)) {
			target = gt_bpf_jump_target(verifier->insns, at);
			if (target < function->start || target >= function->end)
				return gt_reject(verifier, "jump out of range from insn %u to %lld",
						 at, (long long)target);
		}
		if (last + 1 == function->end && !gt_insn_is_exit(insn) && !is_goto(insn))
			return gt_reject(verifier, "last insn is not an exit or jmp");
		at = last;
	}
	return 0;
}

/* Check the encoding of each instruction. */
static int check_insns(struct gt_verifier *verifier)
{
	for (uint32_t at = 0; at < verifier->count; at++) {
		struct gt_diag reason = {0};

		verifier->at = at;
		if (gt_bpf_check_insn(verifier->program->insns, verifier->count, at, &reason))
			return gt_reject(verifier, "%s", reason.text);
		at += gt_bpf_is_wide(&verifier->insns[at]);
	}
	return 0;
}

unsigned gt_cfg_successors(const struct gt_verifier *verifier, uint32_t at, uint32_t ret_next[3])
{
	const struct bpf_insn *insn = &verifier->insns[at];
	unsigned count = 0;

	if (gt_insn_is_exit(insn))
		return 0;
	if (!is_goto(insn))
		ret_next[count++] = at + 1 + gt_bpf_is_wide(insn);
	if (gt_insn_is_jump(insn))
		ret_next[count++] = (uint32_t)gt_bpf_jump_target(verifier->insns, at);
	return count;
}

/* Mark where states are compared: conditional jumps, and targets of jumps, as in Linux. */
static void mark_jump(struct gt_verifier *verifier, uint32_t at, uint32_t target, bool is_target)
{
	verifier->aux[is_target ? target : at].prune_point = true;
	if (target <= at)
		verifier->aux[target].loop_header = true;
}

static int check_target(struct gt_verifier *verifier, uint32_t at, uint32_t target)
{
	if (!target || !gt_bpf_is_wide(&verifier->insns[target - 1]) ||
	    verifier->insns[target].code)
		return 0;
	verifier->at = at;
	return gt_reject(verifier, "jump into the middle of ldimm64 insn %u", target - 1);
}

static int check_reachable(struct gt_verifier *verifier)
{
	for (uint32_t at = 0; at < verifier->count; at++) {
		verifier->at = at;
		if (!verifier->aux[at].reachable && !verifier->options->strict)
			return gt_reject(verifier, "unreachable insn %u", at);
		at += gt_bpf_is_wide(&verifier->insns[at]);
	}
	return 0;
}

/* Depth-first search from the first instruction. */
static int find_reachable(struct gt_verifier *verifier)
{
	gt_autofree uint32_t *stack = calloc(verifier->count + 1u, sizeof(*stack));
	uint32_t height = 0, next[3];

	if (!stack)
		return gt_verifier_no_memory(verifier);
	stack[height++] = 0;
	verifier->aux[0].reachable = true;
	while (height) {
		uint32_t at = stack[--height];
		const struct bpf_insn *insn = &verifier->insns[at];
		unsigned count = gt_cfg_successors(verifier, at, next);

		if (gt_bpf_is_subprogram_call(insn)) {
			next[count++] = (uint32_t)gt_bpf_jump_target(verifier->insns, at);
			verifier->aux[at + 1].prune_point = true;
		}
		if (gt_bpf_is_function(insn))
			next[count++] = (uint32_t)gt_bpf_jump_target(verifier->insns, at);
		if (gt_bpf_is_may_goto(insn) || gt_bpf_is_loop_call(insn))
			verifier->aux[at].prune_point = verifier->aux[at].loop_point = true;
		for (unsigned i = 0; i < count; i++) {
			int error = check_target(verifier, at, next[i]);

			if (error)
				return error;
			if (gt_insn_is_jump(insn))
				mark_jump(verifier, at, next[i], i + 1 == count);
			if (!verifier->aux[next[i]].reachable) {
				verifier->aux[next[i]].reachable = true;
				stack[height++] = next[i];
			}
		}
	}
	return check_reachable(verifier);
}

int gt_verify_cfg(struct gt_verifier *verifier)
{
	int error = find_subprograms(verifier);

	if (!error)
		error = check_jumps(verifier);
	if (!error)
		error = check_insns(verifier);
	return error ? error : find_reachable(verifier);
}
