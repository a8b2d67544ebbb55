/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Programs that run once per warp, that is once for each group of lanes that are active together,
 * or once per block. The lowest lane of the group is its leader and runs the program; the others
 * branch over it. Where the program reads values of other lanes, or ends them, these must take
 * part: then all run it in lockstep, with the same values in their registers. The leader alone
 * executes instructions that have effects or whose results could differ between lanes, and
 * broadcasts the results.
 */
#include <errno.h>

#include "gpubpf/ptxgen/map.h"

static const struct gt_helper *called_helper(const struct bpf_insn *insn)
{
	if (insn->code != (BPF_JMP | BPF_CALL) || gt_bpf_is_subprogram_call(insn))
		return NULL;
	return gt_helper((uint32_t)insn->imm);
}

/* Whether all lanes must run the program: they read values of each other, or end together. */
static bool needs_all_lanes(const struct gt_ptxgen *gen)
{
	for (uint32_t at = 0; at < gen->facts->insn_count; at++) {
		const struct bpf_insn *insn = &gen->job->program->insns[at];
		const struct gt_helper *helper =
			gen->facts->insns[at].reached ? called_helper(insn) : NULL;

		if (helper && (helper->traits & (GT_TRAIT_GROUP | GT_TRAIT_ENDS)))
			return true;
	}
	return false;
}

void gt_ptxgen_plan_group(struct gt_ptxgen *gen)
{
	const struct gt_section *section = gen->job->section;

	gen->lanes = GT_PTXGEN_EACH;
	if (!section || section->level == GT_LEVEL_THREAD)
		return;
	/* The kernel around a body chooses the thread that runs it for a block. */
	if (section->level == GT_LEVEL_BLOCK && gen->options->form != GT_FORM_KERNEL)
		return;
	gen->lanes = section->level == GT_LEVEL_WARP && needs_all_lanes(gen) ? GT_PTXGEN_ALL
									     : GT_PTXGEN_LEADER;
}

/* The first thread of the block; the last one in programs at the end of a kernel. */
static void emit_block_leader(struct gt_ptxgen *gen)
{
	struct gt_ptxgen_value index = gt_ptxgen_thread_in_block(gen), threads;
	unsigned traits = gt_section_row(gen->job->section->kind)->traits;

	if (traits & GT_SECTION_LEAVES) {
		threads = gt_ptxgen_block_threads(gen);
		gt_ptxgen_emit(gen, "sub.u32", threads, threads, 1);
		gt_ptxgen_emit(gen, "setp.eq.u32", gt_ptxgen_of_group(GT_PTXGEN_IS_LEADER), index,
			       threads);
		gt_ptxgen_emit(gen, "and.b32", gt_ptxgen_of_group(GT_PTXGEN_FIRST), index, 31);
		gt_ptxgen_emit(gen, "shl.b32", gt_ptxgen_of_group(GT_PTXGEN_GROUP), 1,
			       gt_ptxgen_of_group(GT_PTXGEN_FIRST));
		return;
	}
	gt_ptxgen_emit(gen, "setp.eq.u32", gt_ptxgen_of_group(GT_PTXGEN_IS_LEADER), index, 0);
	gt_ptxgen_emit(gen, "mov.u32", gt_ptxgen_of_group(GT_PTXGEN_FIRST), 0);
	gt_ptxgen_emit(gen, "mov.u32", gt_ptxgen_of_group(GT_PTXGEN_GROUP), 1);
}

/* The active lanes, or those of the mask that the site provides. */
static struct gt_ptxgen_value find_group(struct gt_ptxgen *gen)
{
	struct gt_ptxgen_value mask;

	for (uint32_t i = 0; i < gen->job->value_count; i++)
		if (gen->job->values[i].source == GT_SOURCE_MASK) {
			mask = gt_ptxgen_source(gen, GT_SOURCE_MASK, 0);
			return gt_ptxgen_low_half(gen, mask);
		}
	return gt_ptxgen_active_mask(gen);
}

/* Where nothing reads the leader's number: the lane with no lane of the group below it. */
static void emit_lowest_lane(struct gt_ptxgen *gen, struct gt_ptxgen_value mask)
{
	struct gt_ptxgen_value below = gt_ptxgen_of_group(GT_PTXGEN_BELOW);

	gt_ptxgen_emit(gen, "mov.u32", below, gt_ptxgen_text("%lanemask_lt"));
	gt_ptxgen_emit(gen, "and.b32", below, below, mask);
	gt_ptxgen_emit(gen, "setp.eq.u32", gt_ptxgen_of_group(GT_PTXGEN_IS_LEADER), below, 0);
}

/* ptxas does not see that one lane alone has this number: BELOW can be the constant. */
static void emit_first_lane(struct gt_ptxgen *gen, struct gt_ptxgen_value mask)
{
	struct gt_ptxgen_value first = gt_ptxgen_of_group(GT_PTXGEN_FIRST);
	struct gt_ptxgen_value low = gt_ptxgen_b32(gen), lane = gt_ptxgen_b32(gen);

	gt_ptxgen_emit(gen, "neg.s32", low, mask);
	gt_ptxgen_emit(gen, "and.b32", low, low, mask);
	gt_ptxgen_emit(gen, "bfind.u32", first, low);
	gt_ptxgen_emit(gen, "mov.u32", lane, gt_ptxgen_text("%laneid"));
	gt_ptxgen_emit(gen, "setp.eq.u32", gt_ptxgen_of_group(GT_PTXGEN_IS_LEADER), lane, first);
	gt_ptxgen_emit(gen, "mov.u32", gt_ptxgen_of_group(GT_PTXGEN_BELOW), 0);
}

/* Which of both is needed is known at the end: gt_ptxgen_end_group removes the other one. */
static void emit_warp_leader(struct gt_ptxgen *gen)
{
	struct gt_ptxgen_value mask = find_group(gen);

	gt_ptxgen_emit(gen, "mov.u32", gt_ptxgen_of_group(GT_PTXGEN_GROUP), mask);
	gen->leader_rows[0] = gen->list.rows.count;
	emit_lowest_lane(gen, mask);
	gen->leader_rows[1] = gen->list.rows.count;
	emit_first_lane(gen, mask);
	gen->leader_rows[2] = gen->list.rows.count;
}

void gt_ptxgen_begin_group(struct gt_ptxgen *gen)
{
	if (gen->lanes == GT_PTXGEN_EACH)
		return;
	if (gen->job->section->level == GT_LEVEL_BLOCK)
		emit_block_leader(gen);
	else
		emit_warp_leader(gen);
	if (gen->lanes == GT_PTXGEN_LEADER)
		gt_ptxgen_branch_unless(gen, gt_ptxgen_of_group(GT_PTXGEN_IS_LEADER),
					gt_ptxgen_end_label(gen));
}

/* ---- all lanes in lockstep ---- */

static bool writes_arguments(const struct gt_helper *helper)
{
	for (unsigned i = 0; i < GT_HELPER_ARGUMENTS; i++)
		if (helper->arguments[i] == GT_ARG_RESULT_U64)
			return true;
	return false;
}

/* Whether a call is a lookup whose result is the same in all lanes. */
static bool is_common_lookup(const struct gt_ptxgen *gen, const struct gt_helper *helper)
{
	int32_t map = gt_ptxgen_fact(gen, 1)->map;
	const struct gt_bpf_map_kind *kind;

	if (helper->number != GT_HELPER_map_lookup_elem || map < 0)
		return false;
	kind = gt_bpf_map_kind(gen->object->maps[map].type);
	return kind && kind->shape == GT_BPF_MAP_ARRAY && kind->copies == GT_COPY_ONE;
}

static bool call_needs_leader(const struct gt_ptxgen *gen, const struct gt_helper *helper)
{
	return !is_common_lookup(gen, helper) &&
	       !(helper->traits & (GT_TRAIT_GROUP | GT_TRAIT_ENDS)) &&
	       helper->number != GT_HELPER_warp_active_mask && helper->number != GT_HELPER_loop &&
	       !writes_arguments(helper);
}

/* Whether other threads can read or write the memory that a pointer points to. */
static bool is_shared_memory(struct gt_ptxgen *gen, const struct gt_register_fact *fact)
{
	if (fact->type == GT_REG_MIXED && gen->generic)
		gt_ptxgen_fail(gen, -EOPNOTSUPP,
			       "a pointer to the stack or to other memory, in a program that reads "
			       "values of other lanes");
	return fact->type != GT_REG_STACK && fact->type != GT_REG_CONTEXT;
}

bool gt_ptxgen_needs_leader(struct gt_ptxgen *gen, const struct bpf_insn *insn, int *ret_result)
{
	const struct gt_helper *helper = called_helper(insn);

	*ret_result = -1;
	switch (BPF_CLASS(insn->code)) {
	case BPF_LDX:
		*ret_result = insn->dst_reg;
		return is_shared_memory(gen, gt_ptxgen_fact(gen, insn->src_reg));
	case BPF_ST:
		return is_shared_memory(gen, gt_ptxgen_fact(gen, insn->dst_reg));
	case BPF_STX:
		if (BPF_MODE(insn->code) == BPF_ATOMIC && (insn->imm & BPF_FETCH))
			*ret_result = insn->imm == BPF_CMPXCHG ? 0 : insn->src_reg;
		return is_shared_memory(gen, gt_ptxgen_fact(gen, insn->dst_reg));
	default:
		*ret_result = 0;
		return helper && call_needs_leader(gen, helper);
	}
}

struct gt_ptxgen_value gt_ptxgen_begin_leader(struct gt_ptxgen *gen)
{
	struct gt_ptxgen_value over = gt_ptxgen_label(gen);

	gt_ptxgen_branch_unless(gen, gt_ptxgen_of_group(GT_PTXGEN_IS_LEADER), over);
	gen->by_leader = true;
	return over;
}

/* Whether a register that the instruction at gen->at writes is read after it. */
static bool is_read_later(const struct gt_ptxgen *gen, int result)
{
	uint32_t next = gen->at + 1;

	return result >= 0 &&
	       (next >= gen->facts->insn_count || (gen->facts->insns[next].live >> result & 1));
}

void gt_ptxgen_end_leader(struct gt_ptxgen *gen, struct gt_ptxgen_value over, int result)
{
	struct gt_ptxgen_value target, value;

	gt_ptxgen_emit_label(gen, over);
	gen->by_leader = false;
	if (!is_read_later(gen, result))
		return;
	target = gt_ptxgen_reg64(gen, (unsigned)result);
	value = gt_ptxgen_of_leader(gen, target);
	gt_ptxgen_emit(gen, "mov.b64", target, value);
}

static void remove_rows(struct gt_ptxgen *gen, size_t begin, size_t end)
{
	for (size_t i = begin; i < end && i < gen->list.rows.count; i++)
		gen->list.rows.items[i].kind = GT_PTXGEN_REMOVED;
}

void gt_ptxgen_end_group(struct gt_ptxgen *gen)
{
	unsigned unused = gen->reads_first ? 0 : 1;

	if (gen->lanes == GT_PTXGEN_EACH || gen->job->section->level != GT_LEVEL_WARP)
		return;
	remove_rows(gen, gen->leader_rows[unused], gen->leader_rows[unused + 1]);
}

struct gt_ptxgen_value gt_ptxgen_first_lane(struct gt_ptxgen *gen)
{
	gen->reads_first = true;
	return gt_ptxgen_of_group(GT_PTXGEN_FIRST);
}

struct gt_ptxgen_value gt_ptxgen_vary(struct gt_ptxgen *gen, unsigned number)
{
	struct gt_ptxgen_value low;
	uint64_t known;

	if (gen->lanes == GT_PTXGEN_EACH || gen->job->section->level != GT_LEVEL_WARP)
		return gt_ptxgen_reg64(gen, number);
	if (!gt_ptxgen_known(gen, number, &known) || known > INT32_MAX) {
		gen->reads_first = true;
		return gt_ptxgen_reg64(gen, number);
	}
	low = gt_ptxgen_b32(gen);
	gt_ptxgen_emit(gen, "or.b32", low, gt_ptxgen_of_group(GT_PTXGEN_BELOW), known);
	return gt_ptxgen_widen(gen, low);
}

struct gt_ptxgen_value gt_ptxgen_of_leader(struct gt_ptxgen *gen, struct gt_ptxgen_value value)
{
	return gt_ptxgen_shuffle(gen, value, gt_ptxgen_first_lane(gen),
				 gt_ptxgen_of_group(GT_PTXGEN_GROUP));
}

int gt_ptxgen_lane_value(struct gt_ptxgen *gen)
{
	struct gt_ptxgen_value result = gt_ptxgen_reg64(gen, 0), asked = gt_ptxgen_reg64(gen, 2);
	struct gt_ptxgen_value number = gt_ptxgen_b64(gen), bit = gt_ptxgen_b32(gen), own, other,
			       lane;
	struct gt_ptxgen_value is_there = gt_ptxgen_predicate(gen),
			       group = gt_ptxgen_of_group(GT_PTXGEN_GROUP);
	enum gt_context_source source;

	if (gt_lane_source(gen->job->section, (uint64_t)gt_ptxgen_fact(gen, 1)->min, &source))
		return gt_ptxgen_fail(gen, -EINVAL, "this program has no such value of lanes");
	/* The value of each lane, not the leader's. */
	gen->by_leader = true;
	own = gt_ptxgen_source(gen, source, 0);
	gen->by_leader = false;
	if (gt_ptxgen_max(gen, 2) < 32) {
		lane = gt_ptxgen_low_half(gen, asked);
	} else {
		gt_ptxgen_emit(gen, "min.u64", number, asked, 32);
		lane = gt_ptxgen_low_half(gen, number);
	}
	gt_ptxgen_emit(gen, "shr.u32", bit, group, lane);
	gt_ptxgen_emit(gen, "and.b32", bit, bit, 1);
	gt_ptxgen_emit(gen, "setp.ne.u32", is_there, bit, 0);
	other = gt_ptxgen_shuffle(gen, own, lane, group);
	gt_ptxgen_emit(gen, "selp.b64", result, other, 0, is_there);
	return 0;
}
