/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What follows from the text of a program alone. */
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
		if (gt_bpf_is_subprogram_call(insn)) {
			target = gt_bpf_jump_target(verifier->insns, at);
			if (target < 0 || target >= verifier->count)
				return gt_reject(verifier, "call to invalid destination");
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
			verifier->flow[at].subprogram = i;
	}
	return 0;
}

static bool is_jump(const struct bpf_insn *insn)
{
	unsigned class = BPF_CLASS(insn->code), operation = BPF_OP(insn->code);

	return (class == BPF_JMP || class == BPF_JMP32) && operation != BPF_CALL &&
	       operation != BPF_EXIT;
}

static bool is_exit(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_EXIT);
}

static bool is_goto(const struct bpf_insn *insn)
{
	return is_jump(insn) && BPF_OP(insn->code) == BPF_JA;
}

/* Jumps stay in their function, functions end with an exit or a jump. */
static int check_jumps(struct gt_verifier *verifier)
{
	for (uint32_t at = 0; at < verifier->count; at++) {
		const struct bpf_insn *insn = &verifier->insns[at];
		const struct gt_subprogram_facts *function =
			&verifier->facts.subprograms[verifier->flow[at].subprogram];
		uint32_t last = at + gt_bpf_is_wide(insn);
		int64_t target;

		verifier->at = at;
		if (is_jump(insn)) {
			target = gt_bpf_jump_target(verifier->insns, at);
			if (target < function->start || target >= function->end)
				return gt_reject(verifier, "jump out of range from insn %u to %lld",
						 at, (long long)target);
		}
		if (last + 1 == function->end && !is_exit(insn) && !is_goto(insn))
			return gt_reject(verifier, "last insn is not an exit or jmp");
		at = last;
	}
	return 0;
}

/* Each instruction for itself. */
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

/* Where an instruction goes on to; at most two, and the function it calls. */
static unsigned successors(const struct gt_verifier *verifier, uint32_t at, uint32_t ret_next[3])
{
	const struct bpf_insn *insn = &verifier->insns[at];
	unsigned count = 0;

	if (is_exit(insn))
		return 0;
	if (!is_goto(insn))
		ret_next[count++] = at + 1 + gt_bpf_is_wide(insn);
	if (is_jump(insn))
		ret_next[count++] = (uint32_t)gt_bpf_jump_target(verifier->insns, at);
	return count;
}

static int reach(struct gt_verifier *verifier)
{
	gt_autofree uint32_t *stack = calloc(verifier->count + 1u, sizeof(*stack));
	uint32_t height = 0, next[3];

	if (!stack)
		return gt_verifier_no_memory(verifier);
	stack[height++] = 0;
	verifier->flow[0].reached = true;
	while (height) {
		uint32_t at = stack[--height];
		const struct bpf_insn *insn = &verifier->insns[at];
		unsigned count = successors(verifier, at, next);

		if (gt_bpf_is_subprogram_call(insn)) {
			next[count++] = (uint32_t)gt_bpf_jump_target(verifier->insns, at);
			verifier->flow[at + 1].target = true;
		}
		for (unsigned i = 0; i < count; i++) {
			if (next[i] && gt_bpf_is_wide(&verifier->insns[next[i] - 1]) &&
			    !verifier->insns[next[i]].code) {
				verifier->at = at;
				return gt_reject(verifier,
						 "jump into the middle of ldimm64 insn %u",
						 next[i] - 1);
			}
			/* As in Linux: conditional jumps, and where jumps go. */
			if (is_jump(insn))
				verifier->flow[i + 1 < count ? at : next[i]].target = true;
			if (is_jump(insn) && next[i] <= at)
				verifier->flow[next[i]].loop = true;
			if (!verifier->flow[next[i]].reached) {
				verifier->flow[next[i]].reached = true;
				stack[height++] = next[i];
			}
		}
	}
	for (uint32_t at = 0; at < verifier->count; at++) {
		verifier->at = at;
		if (!verifier->flow[at].reached && !verifier->options->strict)
			return gt_reject(verifier, "unreachable insn %u", at);
		at += gt_bpf_is_wide(&verifier->insns[at]);
	}
	return 0;
}

static uint16_t bit(unsigned number)
{
	return (uint16_t)(1u << number);
}

/* Whether a helper's argument decides something by its number. */
static bool decides(enum gt_helper_argument kind)
{
	return kind != GT_ARG_NONE && kind != GT_ARG_ANYTHING && kind != GT_ARG_SCALAR &&
	       kind != GT_ARG_KEY_SCALAR && kind != GT_ARG_OPTIONAL;
}

/* Registers read by a call; not live: and whose numbers decide something. */
static uint16_t arguments_of(const struct bpf_insn *insn, bool live)
{
	const struct gt_helper *helper;
	uint16_t used = 0;

	if (insn->src_reg)
		return 0x3e;
	helper = gt_helper((uint32_t)insn->imm);
	for (unsigned i = 0; helper && i < GT_HELPER_ARGUMENTS; i++)
		if (live ? helper->arguments[i] != GT_ARG_NONE : decides(helper->arguments[i]))
			used |= bit(i + 1);
	return used;
}

/*
 * The registers that matter before an instruction, given those after it. `live`: a register
 * matters if it is read at all; else only if its number can decide a jump, an address or an
 * argument. `kept`: what it stores on the stack matters. `decides`: it is a jump whose operands do.
 */
static uint16_t before(const struct bpf_insn *insn, uint16_t after, bool live, bool kept,
		       bool decides, bool is_main)
{
	uint16_t target = bit(insn->dst_reg), source = bit(insn->src_reg);
	bool from_register = BPF_SRC(insn->code) == BPF_X;

	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		if (BPF_OP(insn->code) == BPF_END || BPF_OP(insn->code) == BPF_NEG)
			return live ? after | target : after;
		if (BPF_OP(insn->code) == BPF_MOV) {
			bool used = live || (after & target);

			return (after & ~target) | (from_register && used ? source : 0);
		}
		if (!live && !(after & target))
			return after;
		return after | target | (from_register ? source : 0);
	case BPF_LD:
		return after & ~target;
	case BPF_LDX:
		return (after & ~target) | source;
	case BPF_ST:
		return after | target;
	case BPF_STX:
		if (BPF_MODE(insn->code) == BPF_ATOMIC) {
			if (insn->imm == BPF_CMPXCHG && live)
				after |= bit(0);
			return after | target | (live ? source : 0);
		}
		return after | target | (live || kept ? source : 0);
	default:
		break;
	}
	switch (BPF_OP(insn->code)) {
	case BPF_EXIT:
		return live || !is_main ? bit(0) : 0;
	case BPF_CALL:
		return (after & ~0x3f) | arguments_of(insn, live);
	case BPF_JA:
		return after;
	default:
		break;
	}
	/* What is learnt of one operand depends on the other. */
	target |= from_register ? source : 0;
	return live || decides || (after & target) ? after | target : after;
}

/* What an access by r10 touches, as slots. */
static uint64_t slots_at(int64_t offset, unsigned size)
{
	uint64_t slots = 0;

	for (int64_t at = offset & ~(int64_t)7; at < offset + size && at < 0; at += 8)
		if (at >= -GT_BPF_STACK_SIZE)
			slots |= UINT64_C(1) << (-at / 8 - 1);
	return slots;
}

/* The slots of the stack that matter before an instruction; relevant: the registers after it. */
static uint64_t slots_before(const struct gt_flow *flow, const struct bpf_insn *insn,
			     uint64_t after, uint16_t relevant)
{
	unsigned class = BPF_CLASS(insn->code), size = gt_bpf_access_size(insn);

	if (gt_bpf_is_subprogram_call(insn))
		return flow->pointing & 0x3e ? UINT64_MAX : after;
	/* Whether a lookup may find nothing depends on the key. */
	if (class == BPF_JMP && BPF_OP(insn->code) == BPF_CALL)
		return insn->imm == GT_HELPER_map_lookup_elem ? UINT64_MAX : after;
	if (class == BPF_LDX && (relevant >> insn->dst_reg & 1) &&
	    (flow->pointing >> insn->src_reg & 1))
		return insn->src_reg == 10 ? after | slots_at(insn->off, size) : UINT64_MAX;
	/* What an atomic operation found there, if it gives that. */
	if (class == BPF_STX && BPF_MODE(insn->code) == BPF_ATOMIC && (insn->imm & BPF_FETCH) &&
	    (relevant >> (insn->imm == BPF_CMPXCHG ? 0 : insn->src_reg) & 1) &&
	    (flow->pointing >> insn->dst_reg & 1))
		return insn->dst_reg == 10 ? after | slots_at(insn->off, size) : UINT64_MAX;
	if ((class == BPF_ST || class == BPF_STX) && BPF_MODE(insn->code) == BPF_MEM &&
	    insn->dst_reg == 10 && size == 8 && !(insn->off % 8))
		return after & ~slots_at(insn->off, size);
	return after;
}

/*
 * Whether what a store leaves matters. A function's pointers to stacks may be its callers': what is
 * left there is read after its end.
 */
static bool is_kept(const struct gt_flow *flow, const struct bpf_insn *insn, uint64_t after)
{
	if (!(flow->pointing >> insn->dst_reg & 1))
		return false;
	return insn->dst_reg == 10 ? (after & slots_at(insn->off, gt_bpf_access_size(insn))) != 0
				   : after || flow->subprogram;
}

/* The registers that may hold addresses of stacks after an instruction. */
static uint16_t pointing_after(const struct bpf_insn *insn, uint16_t in, bool stored)
{
	uint16_t target = bit(insn->dst_reg), source = bit(insn->src_reg);
	unsigned operation = BPF_OP(insn->code);

	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU64:
		if (operation == BPF_MOV)
			in &= ~target;
		else if (operation != BPF_ADD && operation != BPF_SUB)
			return in;
		return BPF_SRC(insn->code) == BPF_X && (in & source) ? in | target : in;
	case BPF_LD:
		return in & ~target;
	case BPF_LDX:
		return stored && gt_bpf_access_size(insn) == 8 ? in | target : in & ~target;
	case BPF_JMP:
		return operation == BPF_CALL ? in & ~0x3f : in;
	default:
		return in;
	}
}

/* Instructions that are to be looked at, each once until it is taken. */
struct work {
	uint32_t *items, count;
	bool *waits;
};

static void work_add(struct work *work, uint32_t at)
{
	if (!work->waits[at])
		work->items[work->count++] = at;
	work->waits[at] = true;
}

static uint32_t work_take(struct work *work)
{
	uint32_t at = work->items[--work->count];

	work->waits[at] = false;
	return at;
}

static void point(struct gt_verifier *verifier, struct work *work, uint32_t at, uint16_t registers)
{
	if (!(registers & ~verifier->flow[at].pointing))
		return;
	verifier->flow[at].pointing |= registers;
	work_add(work, at);
}

static void find_pointing(struct gt_verifier *verifier, struct work *work)
{
	bool stored = false;
	uint32_t next[3];

	for (uint32_t i = 0; i < verifier->facts.subprogram_count; i++)
		point(verifier, work, verifier->facts.subprograms[i].start, bit(10));
	while (work->count) {
		uint32_t at = work_take(work);
		const struct bpf_insn *insn = &verifier->insns[at];
		uint16_t in = verifier->flow[at].pointing, out;

		if (!stored && BPF_CLASS(insn->code) == BPF_STX && (in >> insn->src_reg & 1)) {
			stored = true;
			for (uint32_t i = 0; i < verifier->count; i++)
				if (verifier->flow[i].reached)
					work_add(work, i);
		}
		out = pointing_after(insn, in, stored);
		for (unsigned i = successors(verifier, at, next); i-- > 0;)
			point(verifier, work, next[i], out);
		if (gt_bpf_is_subprogram_call(insn))
			point(verifier, work, (uint32_t)gt_bpf_jump_target(verifier->insns, at),
			      in & 0x3e);
	}
}

/* What matters before an instruction; whether that is news. */
static bool find_live_at(struct gt_verifier *verifier, uint32_t at)
{
	struct gt_flow *flow = &verifier->flow[at], old = *flow;
	const struct bpf_insn *insn = &verifier->insns[at];
	uint16_t live = 0, relevant = 0;
	uint64_t slots = 0;
	uint32_t next[3];

	for (unsigned i = successors(verifier, at, next); i-- > 0;) {
		live |= verifier->flow[next[i]].live;
		relevant |= verifier->flow[next[i]].relevant;
		slots |= verifier->flow[next[i]].slots;
	}
	flow->live = before(insn, live, true, true, true, !flow->subprogram);
	flow->relevant = before(insn, relevant, false, is_kept(flow, insn, slots),
				!verifier->spares || flow->decides, !flow->subprogram);
	flow->slots = slots_before(flow, insn, slots, relevant);
	return flow->live != old.live || flow->relevant != old.relevant || flow->slots != old.slots;
}

/* first[n]: the last way that leads to n, as 1 + 2 * from (+ 1); links: the one before it, or 0. */
static void find_live(struct gt_verifier *verifier, struct work *work, uint32_t *first,
		      uint32_t *links)
{
	uint32_t next[3];

	for (uint32_t at = 0; at < verifier->count; at++) {
		if (!verifier->flow[at].reached)
			continue;
		work_add(work, at);
		for (unsigned i = successors(verifier, at, next); i-- > 0;) {
			links[2 * at + i] = first[next[i]];
			first[next[i]] = 2 * at + i + 1;
		}
	}
	while (work->count) {
		uint32_t at = work_take(work);

		if (!find_live_at(verifier, at))
			continue;
		for (uint32_t way = first[at]; way; way = links[way - 1])
			work_add(work, (way - 1) / 2);
	}
}

int gt_verify_uses(struct gt_verifier *verifier)
{
	gt_autofree uint32_t *items = calloc(verifier->count, sizeof(*items));
	gt_autofree bool *waits = calloc(verifier->count, sizeof(*waits));
	gt_autofree uint32_t *first = calloc(verifier->count, sizeof(*first));
	gt_autofree uint32_t *links = calloc(2u * verifier->count, sizeof(*links));
	struct work work = {.items = items, .waits = waits};

	if (!items || !waits || !first || !links)
		return gt_verifier_no_memory(verifier);
	for (uint32_t at = 0; at < verifier->count; at++) {
		verifier->flow[at].live = verifier->flow[at].relevant = 0;
		verifier->flow[at].slots = 0;
	}
	find_pointing(verifier, &work);
	find_live(verifier, &work, first, links);
	return 0;
}

int gt_verify_flow(struct gt_verifier *verifier)
{
	int error = find_subprograms(verifier);

	if (!error)
		error = check_jumps(verifier);
	if (!error)
		error = check_insns(verifier);
	return error ? error : reach(verifier);
}
