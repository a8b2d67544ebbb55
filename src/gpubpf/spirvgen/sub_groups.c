/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sub-groups as warps: 32 work-items of a sub-group in a row, or all of it where it has fewer. The
 * operations are those that need not be executed by all work-items of the sub-group
 * (GroupNonUniform…, SPIR-V 1.3; cl_khr_subgroup_ballot, cl_khr_subgroup_shuffle).
 */
#include <spirv/unified1/spirv.h>

#include "base/launch_limits.h"
#include "gpubpf/spirvgen/private.h"

enum {
	BALLOT_WORDS = 4,
};

bool gt_spirvgen_has_sub_groups(const struct gt_spirvgen *gen)
{
	/* The control flow of kernels that others made is not known. */
	unsigned wanted = gen->is_called ? GT_SPIRV_SUB_GROUPS : GT_SPIRV_ANY_SUB_GROUPS;

	return gen->options->features & wanted;
}

bool gt_spirvgen_counts_in_sub_groups(const struct gt_spirvgen *gen)
{
	return gen->is_called && gt_spirvgen_has_sub_groups(gen);
}

/* Whether each sub-group is a warp: gt_spirvgen_add_modes. */
static bool is_warp(const struct gt_spirvgen *gen)
{
	return !gen->is_called && gen->options->features & GT_SPIRV_SUB_GROUPS_OF_32;
}

void gt_spirvgen_add_modes(struct gt_spirvgen *gen, uint32_t function)
{
	if (!gen->uses_sub_groups || !is_warp(gen))
		return;
	gt_spirv_require(gen->builder, SpvCapabilitySubgroupDispatch);
	gt_spirv_emit(&gen->builder->sections[GT_SPIRV_MODES], SpvOpExecutionMode, function,
		      SpvExecutionModeSubgroupSize, GT_WARP_SIZE);
}

static uint32_t word_constant(struct gt_spirvgen *gen, uint32_t value)
{
	return gt_spirvgen_constant(gen, 32, value);
}

static uint32_t sub_group_scope(struct gt_spirvgen *gen)
{
	return word_constant(gen, SpvScopeSubgroup);
}

/* ---- numbers ---- */

static uint32_t emit_builtin(struct gt_spirvgen *gen, unsigned builtin)
{
	gt_spirv_require_version(gen->builder, GT_SPIRV_1_3);
	gt_spirv_require(gen->builder, SpvCapabilityGroupNonUniform);
	gen->uses_sub_groups = true;
	return gt_spirvgen_builtin_word(gen, builtin);
}

static uint32_t emit_local_id(struct gt_spirvgen *gen)
{
	return emit_builtin(gen, SpvBuiltInSubgroupLocalInvocationId);
}

uint32_t gt_spirvgen_lane(struct gt_spirvgen *gen)
{
	return gt_spirvgen_binary(gen, SpvOpBitwiseAnd, 32, emit_local_id(gen),
				  word_constant(gen, GT_WARP_SIZE - 1));
}

/* The number in the sub-group of the warp's first lane. */
static uint32_t emit_first_of_warp(struct gt_spirvgen *gen)
{
	return gt_spirvgen_binary(gen, SpvOpBitwiseAnd, 32, emit_local_id(gen),
				  word_constant(gen, ~(uint32_t)(GT_WARP_SIZE - 1)));
}

/* The number of the warp in its sub-group. */
static uint32_t emit_part(struct gt_spirvgen *gen)
{
	return gt_spirvgen_binary(gen, SpvOpShiftRightLogical, 32, emit_local_id(gen),
				  word_constant(gen, 5));
}

uint32_t gt_spirvgen_warp_size(struct gt_spirvgen *gen)
{
	return gt_spirvgen_binary(gen, SpvOpISub, 32, emit_builtin(gen, SpvBuiltInSubgroupSize),
				  emit_first_of_warp(gen));
}

/* The warps of a sub-group that is not the last one. */
static uint32_t emit_parts(struct gt_spirvgen *gen)
{
	uint32_t size =
		gt_spirvgen_binary(gen, SpvOpIAdd, 32, emit_builtin(gen, SpvBuiltInSubgroupMaxSize),
				   word_constant(gen, GT_WARP_SIZE - 1));

	return gt_spirvgen_binary(gen, SpvOpShiftRightLogical, 32, size, word_constant(gen, 5));
}

uint32_t gt_spirvgen_warp_number(struct gt_spirvgen *gen)
{
	uint32_t first = gt_spirvgen_binary(
		gen, SpvOpIMul, 32, emit_builtin(gen, SpvBuiltInSubgroupId), emit_parts(gen));

	return gt_spirvgen_binary(gen, SpvOpIAdd, 32, first, emit_part(gen));
}

uint32_t gt_spirvgen_warp_count(struct gt_spirvgen *gen)
{
	return gt_spirvgen_binary(gen, SpvOpIMul, 32, emit_builtin(gen, SpvBuiltInNumSubgroups),
				  emit_parts(gen));
}

/* ---- operations ---- */

uint32_t gt_spirvgen_ballot(struct gt_spirvgen *gen, uint32_t predicate)
{
	uint32_t word = gt_spirvgen_int(gen, 32);
	uint32_t vector = gt_spirv_type_vector(gen->builder, word, BALLOT_WORDS), all;

	gt_spirv_require_version(gen->builder, GT_SPIRV_1_3);
	gt_spirv_require(gen->builder, SpvCapabilityGroupNonUniformBallot);
	gen->uses_sub_groups = true;
	all = gt_spirvgen_emit(gen, SpvOpGroupNonUniformBallot, vector, sub_group_scope(gen),
			       predicate);
	all = is_warp(gen)
		      ? gt_spirvgen_emit(gen, SpvOpCompositeExtract, word, all, 0)
		      : gt_spirvgen_emit(gen, SpvOpVectorExtractDynamic, word, all, emit_part(gen));
	/* PoCL 6.0 sets bits of work-items that the last sub-group does not have. */
	if (gen->options->features & GT_SPIRV_UNIFORM_SUB_GROUPS)
		all = gt_spirvgen_binary(gen, SpvOpBitwiseAnd, 32, all,
					 gt_spirvgen_special(gen, GT_PTXGEN_WARP_MASK, 32));
	return all;
}

uint32_t gt_spirvgen_active_lanes(struct gt_spirvgen *gen)
{
	if (!(gen->options->features & GT_SPIRV_SUB_GROUPS))
		return gt_spirvgen_special(gen, GT_PTXGEN_WARP_MASK, 32);
	return gt_spirvgen_ballot(gen, gt_spirv_bool(gen->builder, true));
}

static uint32_t emit_minimum(struct gt_spirvgen *gen, uint32_t left, uint32_t right)
{
	uint32_t is_less = gt_spirvgen_emit(gen, SpvOpULessThan, gt_spirv_type_bool(gen->builder),
					    left, right);

	return gt_spirvgen_emit(gen, SpvOpSelect, gt_spirvgen_int(gen, 32), is_less, left, right);
}

/* The highest number that the sub-group has; what it does not have is not to be asked for. */
static uint32_t emit_last_id(struct gt_spirvgen *gen)
{
	return gt_spirvgen_binary(gen, SpvOpISub, 32, emit_builtin(gen, SpvBuiltInSubgroupSize),
				  word_constant(gen, 1));
}

uint32_t gt_spirvgen_shuffle(struct gt_spirvgen *gen, uint32_t value, unsigned bits, uint32_t lane)
{
	/* As in PTX, the lane's number has 5 bits. */
	lane = gt_spirvgen_binary(gen, SpvOpBitwiseAnd, 32, lane,
				  word_constant(gen, GT_WARP_SIZE - 1));
	if (!is_warp(gen))
		lane = gt_spirvgen_binary(gen, SpvOpBitwiseOr, 32, lane, emit_first_of_warp(gen));
	lane = emit_minimum(gen, lane, emit_last_id(gen));
	gt_spirv_require_version(gen->builder, GT_SPIRV_1_3);
	gt_spirv_require(gen->builder, SpvCapabilityGroupNonUniformShuffle);
	gen->uses_sub_groups = true;
	return gt_spirvgen_emit(gen, SpvOpGroupNonUniformShuffle, gt_spirvgen_int(gen, bits),
				sub_group_scope(gen), value, lane);
}
