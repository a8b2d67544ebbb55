/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Lanes and threads in PTX: numbers, masks, and the exchange of values. */
#include <errno.h>

#include "gpubpf/ptxgen/map.h"
#include "gpubpf/ptxgen/select.h"

struct gt_ptxgen_value gt_ptxgen_active_mask(struct gt_ptxgen *gen)
{
	struct gt_ptxgen_value mask = gt_ptxgen_b32(gen), always;

	if (gt_ptxgen_has_sync(gen)) {
		gt_ptxgen_emit(gen, "activemask.b32", mask);
		return mask;
	}
	always = gt_ptxgen_predicate(gen);
	gt_ptxgen_emit(gen, "setp.eq.u32", always, 0, 0);
	gt_ptxgen_emit(gen, "vote.ballot.b32", mask, always);
	return mask;
}

void gt_ptxgen_shuffle_word(struct gt_ptxgen *gen, struct gt_ptxgen_value word,
			    struct gt_ptxgen_value lane, struct gt_ptxgen_value mask)
{
	if (gt_ptxgen_has_sync(gen))
		gt_ptxgen_emit(gen, "shfl.sync.idx.b32", word, word, lane, 31, mask);
	else
		gt_ptxgen_emit(gen, "shfl.idx.b32", word, word, lane, 31);
}

struct gt_ptxgen_value gt_ptxgen_shuffle(struct gt_ptxgen *gen, struct gt_ptxgen_value value,
					 struct gt_ptxgen_value lane, struct gt_ptxgen_value mask)
{
	struct gt_ptxgen_value low = gt_ptxgen_b32(gen), high = gt_ptxgen_b32(gen),
			       whole = gt_ptxgen_b64(gen);

	gt_ptxgen_split(gen, low, high, value);
	gt_ptxgen_shuffle_word(gen, low, lane, mask);
	gt_ptxgen_shuffle_word(gen, high, lane, mask);
	gt_ptxgen_join(gen, whole, low, high);
	return whole;
}

/* ---- numbers of threads ----------------------------------------------------------------- */

/* Grids have at most 65,535 blocks in y and z: 32 bits suffice for the product. */
struct gt_ptxgen_value gt_ptxgen_flat_block(struct gt_ptxgen *gen)
{
	struct gt_ptxgen_value row = gt_ptxgen_b32(gen), size = gt_ptxgen_b32(gen),
			       part = gt_ptxgen_b32(gen);
	struct gt_ptxgen_value number = gt_ptxgen_b64(gen), column = gt_ptxgen_b64(gen);

	gt_ptxgen_emit(gen, "mov.u32", row, gt_ptxgen_text("%ctaid.z"));
	gt_ptxgen_emit(gen, "mov.u32", size, gt_ptxgen_text("%nctaid.y"));
	gt_ptxgen_emit(gen, "mov.u32", part, gt_ptxgen_text("%ctaid.y"));
	gt_ptxgen_emit(gen, "mad.lo.u32", row, row, size, part);
	gt_ptxgen_emit(gen, "mov.u32", size, gt_ptxgen_text("%nctaid.x"));
	gt_ptxgen_emit(gen, "mov.u32", part, gt_ptxgen_text("%ctaid.x"));
	gt_ptxgen_emit(gen, "cvt.u64.u32", column, part);
	gt_ptxgen_emit(gen, "mad.wide.u32", number, row, size, column);
	return number;
}

/* Blocks have at most 1024 threads: 32 bits suffice. */
struct gt_ptxgen_value gt_ptxgen_thread_in_block(struct gt_ptxgen *gen)
{
	struct gt_ptxgen_value index = gt_ptxgen_b32(gen), size = gt_ptxgen_b32(gen),
			       part = gt_ptxgen_b32(gen);

	gt_ptxgen_emit(gen, "mov.u32", index, gt_ptxgen_text("%tid.z"));
	gt_ptxgen_emit(gen, "mov.u32", size, gt_ptxgen_text("%ntid.y"));
	gt_ptxgen_emit(gen, "mov.u32", part, gt_ptxgen_text("%tid.y"));
	gt_ptxgen_emit(gen, "mad.lo.u32", index, index, size, part);
	gt_ptxgen_emit(gen, "mov.u32", size, gt_ptxgen_text("%ntid.x"));
	gt_ptxgen_emit(gen, "mov.u32", part, gt_ptxgen_text("%tid.x"));
	gt_ptxgen_emit(gen, "mad.lo.u32", index, index, size, part);
	return index;
}

/* The number of threads of a block: a .b32. */
struct gt_ptxgen_value gt_ptxgen_block_threads(struct gt_ptxgen *gen)
{
	struct gt_ptxgen_value count = gt_ptxgen_b32(gen), size = gt_ptxgen_b32(gen);

	gt_ptxgen_emit(gen, "mov.u32", count, gt_ptxgen_text("%ntid.x"));
	gt_ptxgen_emit(gen, "mov.u32", size, gt_ptxgen_text("%ntid.y"));
	gt_ptxgen_emit(gen, "mul.lo.u32", count, count, size);
	gt_ptxgen_emit(gen, "mov.u32", size, gt_ptxgen_text("%ntid.z"));
	gt_ptxgen_emit(gen, "mul.lo.u32", count, count, size);
	return count;
}

/* block * each + index */
static struct gt_ptxgen_value emit_number_in_grid(struct gt_ptxgen *gen,
						  struct gt_ptxgen_value each,
						  struct gt_ptxgen_value index)
{
	struct gt_ptxgen_value block = gt_ptxgen_flat_block(gen), wide = gt_ptxgen_b64(gen);
	struct gt_ptxgen_value number = gt_ptxgen_b64(gen), part = gt_ptxgen_b64(gen);

	gt_ptxgen_emit(gen, "cvt.u64.u32", wide, each);
	gt_ptxgen_emit(gen, "cvt.u64.u32", part, index);
	gt_ptxgen_emit(gen, "mad.lo.u64", number, block, wide, part);
	return number;
}

struct gt_ptxgen_value gt_ptxgen_flat_thread(struct gt_ptxgen *gen)
{
	struct gt_ptxgen_value threads = gt_ptxgen_block_threads(gen),
			       index = gt_ptxgen_thread_in_block(gen);

	return emit_number_in_grid(gen, threads, index);
}

/* For other targets, which number the warps of a block. */
static struct gt_ptxgen_value emit_numbered_warp(struct gt_ptxgen *gen)
{
	struct gt_ptxgen_value count = gt_ptxgen_b32(gen), number = gt_ptxgen_b32(gen);

	gt_ptxgen_emit(gen, "mov.u32", count, gt_ptxgen_text(GT_PTXGEN_WARP_COUNT));
	gt_ptxgen_emit(gen, "mov.u32", number, gt_ptxgen_text(GT_PTXGEN_WARP_NUMBER));
	return emit_number_in_grid(gen, count, number);
}

struct gt_ptxgen_value gt_ptxgen_flat_warp(struct gt_ptxgen *gen)
{
	struct gt_ptxgen_value threads, index;

	if (gen->without_lanes)
		return emit_numbered_warp(gen);
	threads = gt_ptxgen_block_threads(gen);
	index = gt_ptxgen_thread_in_block(gen);
	gt_ptxgen_emit(gen, "add.u32", threads, threads, 31);
	gt_ptxgen_emit(gen, "shr.u32", threads, threads, 5);
	gt_ptxgen_emit(gen, "shr.u32", index, index, 5);
	return emit_number_in_grid(gen, threads, index);
}

/* ---- helpers ---------------------------------------------------------------------------- */

static void emit_result_of_32(struct gt_ptxgen *gen, struct gt_ptxgen_value value)
{
	struct gt_ptxgen_value result = gt_ptxgen_reg64(gen, 0);

	gt_ptxgen_emit(gen, "cvt.u64.u32", result, value);
}

/* In a program that runs once for a group, the mask of the group. */
int gt_ptxgen_warp_active_mask(struct gt_ptxgen *gen, uint32_t insn)
{
	const struct gt_section *section = gen->job->section;
	struct gt_ptxgen_value result = gt_ptxgen_reg64(gen, 0), mask;

	if (section && section->level != GT_LEVEL_THREAD) {
		mask = gt_ptxgen_source(gen, GT_SOURCE_MASK, 0);
		gt_ptxgen_emit(gen, "mov.u64", result, mask);
		return 0;
	}
	mask = gt_ptxgen_active_mask(gen);
	emit_result_of_32(gen, mask);
	return 0;
}

int gt_ptxgen_warp_ballot(struct gt_ptxgen *gen, uint32_t insn)
{
	struct gt_ptxgen_value value = gt_ptxgen_reg64(gen, 1), votes = gt_ptxgen_b32(gen), mask;
	struct gt_ptxgen_value test = gt_ptxgen_predicate(gen);

	gt_ptxgen_emit(gen, "setp.ne.s64", test, value, 0);
	if (gt_ptxgen_has_sync(gen)) {
		mask = gt_ptxgen_active_mask(gen);
		gt_ptxgen_emit(gen, "vote.sync.ballot.b32", votes, test, mask);
	} else {
		gt_ptxgen_emit(gen, "vote.ballot.b32", votes, test);
	}
	emit_result_of_32(gen, votes);
	return 0;
}

/* The result is the own value where the other lane is not active. */
int gt_ptxgen_warp_shuffle(struct gt_ptxgen *gen, uint32_t insn)
{
	struct gt_ptxgen_value value = gt_ptxgen_reg64(gen, 1), from = gt_ptxgen_reg64(gen, 2);
	struct gt_ptxgen_value mask = gt_ptxgen_active_mask(gen), number = gt_ptxgen_b64(gen), lane,
			       other;
	struct gt_ptxgen_value bit = gt_ptxgen_b32(gen), is_here = gt_ptxgen_predicate(gen);
	struct gt_ptxgen_value result = gt_ptxgen_reg64(gen, 0);

	gt_ptxgen_emit(gen, "min.u64", number, from, 32);
	lane = gt_ptxgen_low_half(gen, number);
	gt_ptxgen_emit(gen, "shr.u32", bit, mask, lane);
	gt_ptxgen_emit(gen, "and.b32", bit, bit, 1);
	gt_ptxgen_emit(gen, "setp.ne.u32", is_here, bit, 0);
	other = gt_ptxgen_shuffle(gen, value, lane, mask);
	gt_ptxgen_emit(gen, "selp.b64", result, other, value, is_here);
	return 0;
}

/* From sm_80 on: three sums of parts of 22 bits, of which 32 do not overflow. */
static void emit_sum_of_parts(struct gt_ptxgen *gen, struct gt_ptxgen_value value,
			      struct gt_ptxgen_value mask)
{
	struct gt_ptxgen_value result = gt_ptxgen_reg64(gen, 0), part = gt_ptxgen_b64(gen);
	struct gt_ptxgen_value sum = gt_ptxgen_b64(gen);

	gt_ptxgen_emit(gen, "mov.u64", sum, 0);
	for (unsigned shift = 0; shift < 64; shift += 22) {
		struct gt_ptxgen_value narrow;

		gt_ptxgen_emit(gen, "shr.u64", part, value, shift);
		narrow = gt_ptxgen_low_half(gen, part);
		gt_ptxgen_emit(gen, "and.b32", narrow, narrow, gt_ptxgen_hex(0x3fffff));
		gt_ptxgen_emit(gen, "redux.sync.add.u32", narrow, narrow, mask);
		gt_ptxgen_emit(gen, "cvt.u64.u32", part, narrow);
		gt_ptxgen_emit(gen, "shl.b64", part, part, shift);
		gt_ptxgen_emit(gen, "add.u64", sum, sum, part);
	}
	gt_ptxgen_emit(gen, "mov.u64", result, sum);
}

/* A loop over the lanes of the mask. */
static void emit_sum_of_lanes(struct gt_ptxgen *gen, struct gt_ptxgen_value value,
			      struct gt_ptxgen_value mask)
{
	struct gt_ptxgen_value result = gt_ptxgen_reg64(gen, 0), sum = gt_ptxgen_b64(gen), part;
	struct gt_ptxgen_value rest = gt_ptxgen_b32(gen), lane = gt_ptxgen_b32(gen),
			       less = gt_ptxgen_b32(gen);
	struct gt_ptxgen_value again = gt_ptxgen_label(gen), more = gt_ptxgen_predicate(gen);

	gt_ptxgen_emit(gen, "mov.u64", sum, 0);
	gt_ptxgen_emit(gen, "mov.u32", rest, mask);
	gt_ptxgen_emit_label(gen, again);
	gt_ptxgen_emit(gen, "bfind.u32", lane, rest);
	part = gt_ptxgen_shuffle(gen, value, lane, mask);
	gt_ptxgen_emit(gen, "add.u64", sum, sum, part);
	gt_ptxgen_emit(gen, "shl.b32", less, 1, lane);
	gt_ptxgen_emit(gen, "xor.b32", rest, rest, less);
	gt_ptxgen_emit(gen, "setp.ne.u32", more, rest, 0);
	gt_ptxgen_branch_if(gen, more, again);
	gt_ptxgen_emit(gen, "mov.u64", result, sum);
}

int gt_ptxgen_warp_sum(struct gt_ptxgen *gen, uint32_t insn)
{
	struct gt_ptxgen_value value = gt_ptxgen_reg64(gen, 1), mask = gt_ptxgen_active_mask(gen);

	if (gen->sm >= 80 && gen->version >= 70)
		emit_sum_of_parts(gen, value, mask);
	else
		emit_sum_of_lanes(gen, value, mask);
	return 0;
}

int gt_ptxgen_warp_lane_value(struct gt_ptxgen *gen, uint32_t insn)
{
	return gt_ptxgen_lane_value(gen);
}
