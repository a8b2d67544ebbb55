/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Helpers that compare the values of all lanes of a group in PTX. All lanes execute them together
 * and get the same result.
 */
#include <errno.h>

#include "gpubpf/ptxgen/map.h"

static struct gt_ptxgen_value group_mask(void)
{
	return gt_ptxgen_of_group(GT_PTXGEN_GROUP);
}

/* The lanes of the group where a predicate holds: a fresh .b32. */
static struct gt_ptxgen_value emit_ballot(struct gt_ptxgen *gen, struct gt_ptxgen_value predicate)
{
	struct gt_ptxgen_value votes = gt_ptxgen_b32(gen);

	if (gt_ptxgen_has_sync(gen))
		gt_ptxgen_emit(gen, "vote.sync.ballot.b32", votes, predicate, group_mask());
	else
		gt_ptxgen_emit(gen, "vote.ballot.b32", votes, predicate);
	return votes;
}

/* The lanes whose .b64 is the same as this lane's, where there is no match: lane by lane. */
static struct gt_ptxgen_value emit_match_by_lane(struct gt_ptxgen *gen,
						 struct gt_ptxgen_value value)
{
	struct gt_ptxgen_value same = gt_ptxgen_b32(gen), rest = gt_ptxgen_b32(gen);
	struct gt_ptxgen_value lane = gt_ptxgen_b32(gen), bit = gt_ptxgen_b32(gen);
	struct gt_ptxgen_value again = gt_ptxgen_label(gen), more = gt_ptxgen_predicate(gen);
	struct gt_ptxgen_value equal = gt_ptxgen_predicate(gen), other;

	gt_ptxgen_emit(gen, "mov.u32", same, 0);
	gt_ptxgen_emit(gen, "mov.u32", rest, group_mask());
	gt_ptxgen_emit_label(gen, again);
	gt_ptxgen_emit(gen, "bfind.u32", lane, rest);
	gt_ptxgen_emit(gen, "shl.b32", bit, 1, lane);
	gt_ptxgen_emit(gen, "xor.b32", rest, rest, bit);
	other = gt_ptxgen_shuffle(gen, value, lane, group_mask());
	gt_ptxgen_emit(gen, "setp.eq.u64", equal, other, value);
	gt_ptxgen_emit_if(gen, gt_ptxgen_if(equal), "or.b32", same, same, bit);
	gt_ptxgen_emit(gen, "setp.ne.u32", more, rest, 0);
	gt_ptxgen_branch_if(gen, more, again);
	return same;
}

static struct gt_ptxgen_value emit_match(struct gt_ptxgen *gen, struct gt_ptxgen_value value)
{
	struct gt_ptxgen_value same;

	if (!gt_ptxgen_is_modern(gen))
		return emit_match_by_lane(gen, value);
	same = gt_ptxgen_b32(gen);
	gt_ptxgen_emit(gen, "match.any.sync.b64", same, value, group_mask());
	return same;
}

/* A predicate: this lane is the lowest one of the mask that contains it. */
static struct gt_ptxgen_value emit_is_lowest(struct gt_ptxgen *gen, struct gt_ptxgen_value mask)
{
	struct gt_ptxgen_value lower = gt_ptxgen_b32(gen), is_lowest = gt_ptxgen_predicate(gen);

	gt_ptxgen_emit(gen, "mov.u32", lower, gt_ptxgen_text("%lanemask_lt"));
	gt_ptxgen_emit(gen, "and.b32", lower, lower, mask);
	gt_ptxgen_emit(gen, "setp.eq.u32", is_lowest, lower, 0);
	return is_lowest;
}

static void emit_population(struct gt_ptxgen *gen, struct gt_ptxgen_value mask)
{
	struct gt_ptxgen_value count = gt_ptxgen_b32(gen);

	gt_ptxgen_emit(gen, "popc.b32", count, mask);
	gt_ptxgen_write_reg32(gen, 0, count);
}

/* The lane's own value of the field in r1. False: the program has no such field. */
static bool emit_own_value(struct gt_ptxgen *gen, struct gt_ptxgen_value *ret_value)
{
	enum gt_context_source source;

	if (gt_lane_source(gen->job->section, (uint64_t)gt_ptxgen_fact(gen, 1)->min, &source))
		return false;
	/* The value of each lane, not the leader's. */
	gen->by_leader = true;
	*ret_value = gt_ptxgen_source(gen, source, 0);
	gen->by_leader = false;
	return true;
}

static int fail_field(struct gt_ptxgen *gen)
{
	return gt_ptxgen_fail(gen, -EINVAL, "this program has no such value of lanes");
}

/*
 * The lane's value without its lower bits, whose number is in r2. A constant mask is one
 * instruction, a shift of 64 bits is two.
 */
static struct gt_ptxgen_value emit_upper_bits(struct gt_ptxgen *gen, struct gt_ptxgen_value own)
{
	struct gt_ptxgen_value upper = gt_ptxgen_b64(gen), shift;
	uint64_t bits;

	if (gt_ptxgen_known(gen, 2, &bits) && bits < 64) {
		gt_ptxgen_emit(gen, "and.b64", upper, own, gt_ptxgen_hex(UINT64_MAX << bits));
		return upper;
	}
	/* Shifts of 64 and more give 0. */
	gt_ptxgen_emit(gen, "min.u64", upper, gt_ptxgen_reg64(gen, 2), 64);
	shift = gt_ptxgen_low_half(gen, upper);
	gt_ptxgen_emit(gen, "shr.u64", upper, own, shift);
	return upper;
}

int gt_ptxgen_warp_distinct(struct gt_ptxgen *gen, uint32_t insn)
{
	struct gt_ptxgen_value own, upper, same, lowest, votes;

	if (!emit_own_value(gen, &own))
		return fail_field(gen);
	upper = emit_upper_bits(gen, own);
	same = emit_match(gen, upper);
	lowest = emit_is_lowest(gen, same);
	votes = emit_ballot(gen, lowest);
	emit_population(gen, votes);
	return 0;
}

/* The second lane of the group, or the first if it has one lane. */
static struct gt_ptxgen_value emit_second_lane(struct gt_ptxgen *gen)
{
	struct gt_ptxgen_value first = gt_ptxgen_first_lane(gen);
	struct gt_ptxgen_value rest = gt_ptxgen_b32(gen), low = gt_ptxgen_b32(gen),
			       lane = gt_ptxgen_b32(gen), is_alone = gt_ptxgen_predicate(gen);

	gt_ptxgen_emit(gen, "shl.b32", low, 1, first);
	gt_ptxgen_emit(gen, "xor.b32", rest, group_mask(), low);
	gt_ptxgen_emit(gen, "neg.s32", low, rest);
	gt_ptxgen_emit(gen, "and.b32", low, low, rest);
	gt_ptxgen_emit(gen, "bfind.u32", lane, low);
	gt_ptxgen_emit(gen, "setp.eq.u32", is_alone, rest, 0);
	gt_ptxgen_emit(gen, "selp.b32", lane, first, lane, is_alone);
	return lane;
}

/* Each lane compares its value with first + rank * (second - first). */
int gt_ptxgen_warp_stride(struct gt_ptxgen *gen, uint32_t insn)
{
	struct gt_ptxgen_value own, second, base, next, votes;
	struct gt_ptxgen_value rank = gt_ptxgen_b32(gen), wide = gt_ptxgen_b64(gen),
			       stride = gt_ptxgen_b64(gen), expected = gt_ptxgen_b64(gen);
	struct gt_ptxgen_value differs = gt_ptxgen_predicate(gen),
			       is_regular = gt_ptxgen_predicate(gen);

	if (!emit_own_value(gen, &own))
		return fail_field(gen);
	second = emit_second_lane(gen);
	base = gt_ptxgen_shuffle(gen, own, gt_ptxgen_first_lane(gen), group_mask());
	next = gt_ptxgen_shuffle(gen, own, second, group_mask());
	gt_ptxgen_emit(gen, "sub.s64", stride, next, base);
	gt_ptxgen_emit(gen, "mov.u32", rank, gt_ptxgen_text("%lanemask_lt"));
	gt_ptxgen_emit(gen, "and.b32", rank, rank, group_mask());
	gt_ptxgen_emit(gen, "popc.b32", rank, rank);
	gt_ptxgen_emit(gen, "cvt.u64.u32", wide, rank);
	gt_ptxgen_emit(gen, "mad.lo.u64", expected, wide, stride, base);
	gt_ptxgen_emit(gen, "setp.ne.u64", differs, expected, own);
	votes = emit_ballot(gen, differs);
	gt_ptxgen_emit(gen, "setp.eq.u32", is_regular, votes, 0);
	gt_ptxgen_emit(gen, "selp.b64", gt_ptxgen_reg64(gen, 0), stride,
		       gt_ptxgen_hex(GT_LANE_NO_STRIDE), is_regular);
	return 0;
}

/* ---- banks of shared memory ------------------------------------------------------------- */

/* What the lanes of a group access together: in one pass if there is no conflict. */
struct ptxgen_bank_access {
	struct gt_ptxgen_value part;  /* the number of the lane's part of the warp: .b32 */
	struct gt_ptxgen_value lanes; /* of this part: .b32 mask */
	struct gt_ptxgen_value unit;  /* of memory that the lane accesses: .b64 */
	struct gt_ptxgen_value slot;  /* the banks of the unit: .b32 */
};

static struct ptxgen_bank_access emit_bank_access(struct gt_ptxgen *gen,
						  struct gt_ptxgen_value address)
{
	struct ptxgen_bank_access access = {gt_ptxgen_b32(gen), gt_ptxgen_b32(gen),
					    gt_ptxgen_b64(gen), gt_ptxgen_b32(gen)};
	struct gt_ptxgen_value shift = gt_ptxgen_b32(gen), slots = gt_ptxgen_b32(gen),
			       first = gt_ptxgen_b32(gen), low;

	/* gt_bank_unit_shift */
	gt_ptxgen_emit(gen, "max.u32", shift, gt_ptxgen_reg32(gen, 2), 4);
	gt_ptxgen_emit(gen, "bfind.u32", shift, shift);
	gt_ptxgen_emit(gen, "min.u32", shift, shift, 7);
	gt_ptxgen_emit(gen, "shr.u32", slots, GT_BANK_BYTES, shift);
	gt_ptxgen_emit(gen, "sub.u32", first, 7, shift);
	gt_ptxgen_emit(gen, "mov.u32", access.part, gt_ptxgen_text("%laneid"));
	gt_ptxgen_emit(gen, "shr.u32", access.part, access.part, first);
	gt_ptxgen_emit(gen, "shl.b32", first, access.part, first);
	gt_ptxgen_emit(gen, "sub.u32", access.lanes, 32, slots);
	gt_ptxgen_emit(gen, "shr.u32", access.lanes, gt_ptxgen_hex(0xffffffff), access.lanes);
	gt_ptxgen_emit(gen, "shl.b32", access.lanes, access.lanes, first);
	gt_ptxgen_emit(gen, "and.b32", access.lanes, access.lanes, group_mask());
	gt_ptxgen_emit(gen, "shr.u64", access.unit, address, shift);
	low = gt_ptxgen_low_half(gen, access.unit);
	gt_ptxgen_emit(gen, "sub.u32", slots, slots, 1);
	gt_ptxgen_emit(gen, "and.b32", access.slot, low, slots);
	return access;
}

/* The lanes of the same part that access other memory in the same banks, with this one: how many.
 * *ret_counts: whether the lane is the lowest one that accesses its unit. */
static struct gt_ptxgen_value emit_conflicts(struct gt_ptxgen *gen,
					     const struct ptxgen_bank_access *access,
					     struct gt_ptxgen_value *ret_counts)
{
	struct gt_ptxgen_value key = gt_ptxgen_b64(gen), part = gt_ptxgen_b64(gen), same;
	struct gt_ptxgen_value banks = gt_ptxgen_b32(gen), other = gt_ptxgen_b32(gen),
			       count = gt_ptxgen_b32(gen);

	gt_ptxgen_emit(gen, "shl.b64", key, access->unit, 5);
	gt_ptxgen_emit(gen, "cvt.u64.u32", part, access->part);
	gt_ptxgen_emit(gen, "or.b64", key, key, part);
	same = emit_match(gen, key);
	*ret_counts = emit_is_lowest(gen, same);
	/* Lanes that do not count have a key of their own. */
	gt_ptxgen_emit(gen, "shl.b32", banks, access->part, 8);
	gt_ptxgen_emit(gen, "or.b32", banks, banks, access->slot);
	gt_ptxgen_emit(gen, "mov.u32", other, gt_ptxgen_text("%laneid"));
	gt_ptxgen_emit(gen, "or.b32", other, other, gt_ptxgen_hex(0x10000));
	gt_ptxgen_emit(gen, "selp.b32", banks, banks, other, *ret_counts);
	gt_ptxgen_emit(gen, "cvt.u64.u32", key, banks);
	same = emit_match(gen, key);
	gt_ptxgen_emit(gen, "popc.b32", count, same);
	return count;
}

/*
 * The sum over parts of the most conflicts in one: parts with k or more, for k = 1, 2, … The lowest
 * lane of a part counts for it.
 */
int gt_ptxgen_warp_bank_passes(struct gt_ptxgen *gen, uint32_t insn)
{
	struct gt_ptxgen_value address, counts, count, votes, is_lowest;
	struct gt_ptxgen_value total = gt_ptxgen_b32(gen), least = gt_ptxgen_b32(gen),
			       own = gt_ptxgen_b32(gen), parts = gt_ptxgen_b32(gen);
	struct gt_ptxgen_value test = gt_ptxgen_predicate(gen), again = gt_ptxgen_label(gen);
	struct ptxgen_bank_access access;

	if (!emit_own_value(gen, &address))
		return fail_field(gen);
	access = emit_bank_access(gen, address);
	count = emit_conflicts(gen, &access, &counts);
	is_lowest = emit_is_lowest(gen, access.lanes);
	gt_ptxgen_emit(gen, "mov.u32", total, 0);
	gt_ptxgen_emit(gen, "mov.u32", least, 1);
	gt_ptxgen_emit_label(gen, again);
	gt_ptxgen_emit(gen, "setp.ge.u32", test, count, least);
	gt_ptxgen_emit(gen, "and.pred", test, test, counts);
	votes = emit_ballot(gen, test);
	gt_ptxgen_emit(gen, "and.b32", own, votes, access.lanes);
	gt_ptxgen_emit(gen, "setp.ne.u32", test, own, 0);
	gt_ptxgen_emit(gen, "and.pred", test, test, is_lowest);
	own = emit_ballot(gen, test);
	gt_ptxgen_emit(gen, "popc.b32", parts, own);
	gt_ptxgen_emit(gen, "add.u32", total, total, parts);
	gt_ptxgen_emit(gen, "add.u32", least, least, 1);
	gt_ptxgen_emit(gen, "setp.ne.u32", test, votes, 0);
	gt_ptxgen_branch_if(gen, test, again);
	gt_ptxgen_emit(gen, "cvt.u64.u32", gt_ptxgen_reg64(gen, 0), total);
	return 0;
}
