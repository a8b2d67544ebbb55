/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Lanes and threads in PTX: who runs here, and what they tell each other. */
#include <errno.h>

#include "gpubpf/ptxgen/map.h"

struct gt_ptxgen_name gt_ptxgen_active_mask(struct gt_ptxgen *gen)
{
	struct gt_ptxgen_name mask = gt_ptxgen_b32(gen), always;

	if (gt_ptxgen_has_sync(gen)) {
		gt_ptxgen_emit(gen, "activemask.b32 %s", mask.text);
		return mask;
	}
	always = gt_ptxgen_predicate(gen);
	gt_ptxgen_emit(gen, "setp.eq.u32 %s, 0, 0", always.text);
	gt_ptxgen_emit(gen, "vote.ballot.b32 %s, %s", mask.text, always.text);
	return mask;
}

static void shuffle_half(struct gt_ptxgen *gen, const char *half, const char *lane,
			 const char *mask)
{
	if (gt_ptxgen_has_sync(gen))
		gt_ptxgen_emit(gen, "shfl.sync.idx.b32 %s, %s, %s, 31, %s", half, half, lane, mask);
	else
		gt_ptxgen_emit(gen, "shfl.idx.b32 %s, %s, %s, 31", half, half, lane);
}

struct gt_ptxgen_name gt_ptxgen_shuffle(struct gt_ptxgen *gen, const char *value, const char *lane,
					const char *mask)
{
	struct gt_ptxgen_name low = gt_ptxgen_b32(gen), high = gt_ptxgen_b32(gen),
			      whole = gt_ptxgen_b64(gen);

	gt_ptxgen_emit(gen, "mov.b64 {%s, %s}, %s", low.text, high.text, value);
	shuffle_half(gen, low.text, lane, mask);
	shuffle_half(gen, high.text, lane, mask);
	gt_ptxgen_emit(gen, "mov.b64 %s, {%s, %s}", whole.text, low.text, high.text);
	return whole;
}

/* ---- numbers of threads ----------------------------------------------------------------- */

/* Grids have 65,535 blocks at most in y and z: 32 bits do for these two. */
struct gt_ptxgen_name gt_ptxgen_flat_block(struct gt_ptxgen *gen)
{
	struct gt_ptxgen_name row = gt_ptxgen_b32(gen), size = gt_ptxgen_b32(gen),
			      part = gt_ptxgen_b32(gen);
	struct gt_ptxgen_name number = gt_ptxgen_b64(gen), column = gt_ptxgen_b64(gen);

	gt_ptxgen_emit(gen, "mov.u32 %s, %%ctaid.z", row.text);
	gt_ptxgen_emit(gen, "mov.u32 %s, %%nctaid.y", size.text);
	gt_ptxgen_emit(gen, "mov.u32 %s, %%ctaid.y", part.text);
	gt_ptxgen_emit(gen, "mad.lo.u32 %s, %s, %s, %s", row.text, row.text, size.text, part.text);
	gt_ptxgen_emit(gen, "mov.u32 %s, %%nctaid.x", size.text);
	gt_ptxgen_emit(gen, "mov.u32 %s, %%ctaid.x", part.text);
	gt_ptxgen_emit(gen, "cvt.u64.u32 %s, %s", column.text, part.text);
	gt_ptxgen_emit(gen, "mad.wide.u32 %s, %s, %s, %s", number.text, row.text, size.text,
		       column.text);
	return number;
}

/* Blocks have 1024 threads at most: 32 bits do. */
struct gt_ptxgen_name gt_ptxgen_thread_in_block(struct gt_ptxgen *gen)
{
	struct gt_ptxgen_name index = gt_ptxgen_b32(gen), size = gt_ptxgen_b32(gen),
			      part = gt_ptxgen_b32(gen);

	gt_ptxgen_emit(gen, "mov.u32 %s, %%tid.z", index.text);
	gt_ptxgen_emit(gen, "mov.u32 %s, %%ntid.y", size.text);
	gt_ptxgen_emit(gen, "mov.u32 %s, %%tid.y", part.text);
	gt_ptxgen_emit(gen, "mad.lo.u32 %s, %s, %s, %s", index.text, index.text, size.text,
		       part.text);
	gt_ptxgen_emit(gen, "mov.u32 %s, %%ntid.x", size.text);
	gt_ptxgen_emit(gen, "mov.u32 %s, %%tid.x", part.text);
	gt_ptxgen_emit(gen, "mad.lo.u32 %s, %s, %s, %s", index.text, index.text, size.text,
		       part.text);
	return index;
}

/* The number of threads of a block: a .b32. */
struct gt_ptxgen_name gt_ptxgen_block_threads(struct gt_ptxgen *gen)
{
	struct gt_ptxgen_name count = gt_ptxgen_b32(gen), size = gt_ptxgen_b32(gen);

	gt_ptxgen_emit(gen, "mov.u32 %s, %%ntid.x", count.text);
	gt_ptxgen_emit(gen, "mov.u32 %s, %%ntid.y", size.text);
	gt_ptxgen_emit(gen, "mul.lo.u32 %s, %s, %s", count.text, count.text, size.text);
	gt_ptxgen_emit(gen, "mov.u32 %s, %%ntid.z", size.text);
	gt_ptxgen_emit(gen, "mul.lo.u32 %s, %s, %s", count.text, count.text, size.text);
	return count;
}

/* block * each + index */
static struct gt_ptxgen_name in_grid(struct gt_ptxgen *gen, const struct gt_ptxgen_name *each,
				     const struct gt_ptxgen_name *index)
{
	struct gt_ptxgen_name block = gt_ptxgen_flat_block(gen), wide = gt_ptxgen_b64(gen);
	struct gt_ptxgen_name number = gt_ptxgen_b64(gen), part = gt_ptxgen_b64(gen);

	gt_ptxgen_emit(gen, "cvt.u64.u32 %s, %s", wide.text, each->text);
	gt_ptxgen_emit(gen, "cvt.u64.u32 %s, %s", part.text, index->text);
	gt_ptxgen_emit(gen, "mad.lo.u64 %s, %s, %s, %s", number.text, block.text, wide.text,
		       part.text);
	return number;
}

struct gt_ptxgen_name gt_ptxgen_flat_thread(struct gt_ptxgen *gen)
{
	struct gt_ptxgen_name threads = gt_ptxgen_block_threads(gen),
			      index = gt_ptxgen_thread_in_block(gen);

	return in_grid(gen, &threads, &index);
}

struct gt_ptxgen_name gt_ptxgen_flat_warp(struct gt_ptxgen *gen)
{
	struct gt_ptxgen_name threads = gt_ptxgen_block_threads(gen),
			      index = gt_ptxgen_thread_in_block(gen);

	gt_ptxgen_emit(gen, "add.u32 %s, %s, 31", threads.text, threads.text);
	gt_ptxgen_emit(gen, "shr.u32 %s, %s, 5", threads.text, threads.text);
	gt_ptxgen_emit(gen, "shr.u32 %s, %s, 5", index.text, index.text);
	return in_grid(gen, &threads, &index);
}

/* ---- helpers ---------------------------------------------------------------------------- */

static void give_narrow(struct gt_ptxgen *gen, const struct gt_ptxgen_name *value)
{
	struct gt_ptxgen_name result = gt_ptxgen_register(gen, 0);

	gt_ptxgen_emit(gen, "cvt.u64.u32 %s, %s", result.text, value->text);
}

/* Where one lane runs for a group, the mask is the group's. */
int gt_ptxgen_warp_active_mask(struct gt_ptxgen *gen, uint32_t insn)
{
	const struct gt_section *section = gen->job->section;
	struct gt_ptxgen_name result = gt_ptxgen_register(gen, 0), mask;

	if (section && section->level != GT_LEVEL_THREAD) {
		mask = gt_ptxgen_source(gen, GT_SOURCE_MASK, 0);
		gt_ptxgen_emit(gen, "mov.u64 %s, %s", result.text, mask.text);
		return 0;
	}
	mask = gt_ptxgen_active_mask(gen);
	give_narrow(gen, &mask);
	return 0;
}

int gt_ptxgen_warp_ballot(struct gt_ptxgen *gen, uint32_t insn)
{
	struct gt_ptxgen_name value = gt_ptxgen_register(gen, 1), votes = gt_ptxgen_b32(gen), mask;
	struct gt_ptxgen_name test = gt_ptxgen_predicate(gen);

	gt_ptxgen_emit(gen, "setp.ne.s64 %s, %s, 0", test.text, value.text);
	if (gt_ptxgen_has_sync(gen)) {
		mask = gt_ptxgen_active_mask(gen);
		gt_ptxgen_emit(gen, "vote.sync.ballot.b32 %s, %s, %s", votes.text, test.text,
			       mask.text);
	} else {
		gt_ptxgen_emit(gen, "vote.ballot.b32 %s, %s", votes.text, test.text);
	}
	give_narrow(gen, &votes);
	return 0;
}

/* A lane that is not here gives the lane that asks its own value. */
int gt_ptxgen_warp_shuffle(struct gt_ptxgen *gen, uint32_t insn)
{
	struct gt_ptxgen_name value = gt_ptxgen_register(gen, 1), from = gt_ptxgen_register(gen, 2);
	struct gt_ptxgen_name mask = gt_ptxgen_active_mask(gen), number = gt_ptxgen_b64(gen), lane,
			      other;
	struct gt_ptxgen_name bit = gt_ptxgen_b32(gen), is_here = gt_ptxgen_predicate(gen);
	struct gt_ptxgen_name result = gt_ptxgen_register(gen, 0);

	gt_ptxgen_emit(gen, "min.u64 %s, %s, 32", number.text, from.text);
	lane = gt_ptxgen_low(gen, number.text);
	gt_ptxgen_emit(gen, "shr.u32 %s, %s, %s", bit.text, mask.text, lane.text);
	gt_ptxgen_emit(gen, "and.b32 %s, %s, 1", bit.text, bit.text);
	gt_ptxgen_emit(gen, "setp.ne.u32 %s, %s, 0", is_here.text, bit.text);
	other = gt_ptxgen_shuffle(gen, value.text, lane.text, mask.text);
	gt_ptxgen_emit(gen, "selp.b64 %s, %s, %s, %s", result.text, other.text, value.text,
		       is_here.text);
	return 0;
}

/* From sm_80 on: three sums of parts so small that 32 of them do not overflow. */
static void sum_parts(struct gt_ptxgen *gen, const struct gt_ptxgen_name *value,
		      const struct gt_ptxgen_name *mask)
{
	struct gt_ptxgen_name result = gt_ptxgen_register(gen, 0), part = gt_ptxgen_b64(gen);
	struct gt_ptxgen_name sum = gt_ptxgen_b64(gen);

	gt_ptxgen_emit(gen, "mov.u64 %s, 0", sum.text);
	for (unsigned shift = 0; shift < 64; shift += 22) {
		struct gt_ptxgen_name narrow;

		gt_ptxgen_emit(gen, "shr.u64 %s, %s, %u", part.text, value->text, shift);
		narrow = gt_ptxgen_low(gen, part.text);
		gt_ptxgen_emit(gen, "and.b32 %s, %s, 0x3fffff", narrow.text, narrow.text);
		gt_ptxgen_emit(gen, "redux.sync.add.u32 %s, %s, %s", narrow.text, narrow.text,
			       mask->text);
		gt_ptxgen_emit(gen, "cvt.u64.u32 %s, %s", part.text, narrow.text);
		gt_ptxgen_emit(gen, "shl.b64 %s, %s, %u", part.text, part.text, shift);
		gt_ptxgen_emit(gen, "add.u64 %s, %s, %s", sum.text, sum.text, part.text);
	}
	gt_ptxgen_emit(gen, "mov.u64 %s, %s", result.text, sum.text);
}

/* One lane of the mask after the other. */
static void sum_lanes(struct gt_ptxgen *gen, const struct gt_ptxgen_name *value,
		      const struct gt_ptxgen_name *mask)
{
	struct gt_ptxgen_name result = gt_ptxgen_register(gen, 0), sum = gt_ptxgen_b64(gen), part;
	struct gt_ptxgen_name rest = gt_ptxgen_b32(gen), lane = gt_ptxgen_b32(gen),
			      less = gt_ptxgen_b32(gen);
	struct gt_ptxgen_name again = gt_ptxgen_label(gen), more = gt_ptxgen_predicate(gen);

	gt_ptxgen_emit(gen, "mov.u64 %s, 0", sum.text);
	gt_ptxgen_emit(gen, "mov.u32 %s, %s", rest.text, mask->text);
	gt_ptxgen_put_label(gen, &again);
	gt_ptxgen_emit(gen, "bfind.u32 %s, %s", lane.text, rest.text);
	part = gt_ptxgen_shuffle(gen, value->text, lane.text, mask->text);
	gt_ptxgen_emit(gen, "add.u64 %s, %s, %s", sum.text, sum.text, part.text);
	gt_ptxgen_emit(gen, "shl.b32 %s, 1, %s", less.text, lane.text);
	gt_ptxgen_emit(gen, "xor.b32 %s, %s, %s", rest.text, rest.text, less.text);
	gt_ptxgen_emit(gen, "setp.ne.u32 %s, %s, 0", more.text, rest.text);
	gt_ptxgen_emit(gen, "@%s bra %s", more.text, again.text);
	gt_ptxgen_emit(gen, "mov.u64 %s, %s", result.text, sum.text);
}

int gt_ptxgen_warp_sum(struct gt_ptxgen *gen, uint32_t insn)
{
	struct gt_ptxgen_name value = gt_ptxgen_register(gen, 1), mask = gt_ptxgen_active_mask(gen);

	if (gen->sm >= 80 && gen->version >= 70)
		sum_parts(gen, &value, &mask);
	else
		sum_lanes(gen, &value, &mask);
	return 0;
}

int gt_ptxgen_warp_lane_value(struct gt_ptxgen *gen, uint32_t insn)
{
	return gt_ptxgen_lane_value(gen);
}
