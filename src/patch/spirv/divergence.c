/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A branch on which the work-items of a group diverge, at the beginning of each kernel with
 * programs.
 *
 * PoCL (3.1, lib/llvmopencl/VariableUniformityAnalysis.cc) looks for values that all work-items of
 * a group share, and is wrong about loops that these leave after different numbers of passes: the
 * counter of such a loop, and what the loop's first block computes of constants alone, are uniform
 * to it. Then the first work-item takes a branch on the counter for all, or one value replaces
 * those of all after a barrier. Kernels without programs have that, too, unless LLVM unrolled the
 * loop or recognized what it counts before. Programs in the loop prevent that, so they would change
 * what the kernel computes.
 *
 * The analysis follows uniform blocks from the entry on. It does not continue after a branch that
 * diverges if neither of its targets follows the other: no block after it is uniform, and no value
 * that is written there. This is that branch. LLVM keeps both sides, since they access a variable
 * as if it were volatile, each in another way.
 */
#include <spirv/unified1/spirv.h>

#include "patch/spirv/private.h"

bool gt_spirv_diverges(const struct gt_spirv_patcher *patcher,
		       const struct gt_spirv_patch_function *function)
{
	const struct gt_spirv_function *code =
		&patcher->module->functions.items[function - patcher->functions];

	return patcher->translate.for_spir && function->kernel && function->matched &&
	       code->has_body;
}

/* A condition: it is the first work-item of its work-group. */
static uint32_t put_is_first(struct gt_spirv_patcher *patcher, struct gt_spirv_words *words)
{
	struct gt_spirv_builder *builder = &patcher->builder;
	uint32_t wide = gt_spirv_type_int(builder, 64);
	uint32_t input = gt_spirv_builtin(builder, SpvBuiltInLocalInvocationId);
	uint32_t vector = gt_spirv_id(builder), id = gt_spirv_id(builder);
	uint32_t parts[3], low = gt_spirv_id(builder), sum = gt_spirv_id(builder);

	if (gt_spirv_add_input(&patcher->inputs, input))
		builder->failed = true;
	gt_spirv_emit(words, SpvOpLoad, gt_spirv_type_vector(builder, wide, 3), vector, input);
	for (unsigned i = 0; i < 3; i++) {
		parts[i] = gt_spirv_id(builder);
		gt_spirv_emit(words, SpvOpCompositeExtract, wide, parts[i], vector, i);
	}
	gt_spirv_emit(words, SpvOpIAdd, wide, low, parts[0], parts[1]);
	gt_spirv_emit(words, SpvOpIAdd, wide, sum, low, parts[2]);
	gt_spirv_emit(words, SpvOpIEqual, gt_spirv_type_bool(builder), id, sum,
		      gt_spirv_constant(builder, 64, 0));
	return id;
}

void gt_spirv_put_divergence(struct gt_spirv_patcher *patcher, struct gt_spirv_words *words)
{
	struct gt_spirv_builder *builder = &patcher->builder;
	uint32_t word = gt_spirv_type_int(builder, 32), variable = gt_spirv_id(builder);
	uint32_t first = gt_spirv_id(builder), other = gt_spirv_id(builder);
	uint32_t after = gt_spirv_id(builder);

	gt_spirv_emit(words, SpvOpVariable,
		      gt_spirv_type_pointer(builder, SpvStorageClassFunction, word), variable,
		      SpvStorageClassFunction);
	gt_spirv_emit(words, SpvOpBranchConditional, put_is_first(patcher, words), first, other);
	gt_spirv_emit(words, SpvOpLabel, first);
	gt_spirv_emit(words, SpvOpLoad, word, gt_spirv_id(builder), variable,
		      SpvMemoryAccessVolatileMask);
	gt_spirv_emit(words, SpvOpBranch, after);
	gt_spirv_emit(words, SpvOpLabel, other);
	gt_spirv_emit(words, SpvOpStore, variable, gt_spirv_constant(builder, 32, 0),
		      SpvMemoryAccessVolatileMask);
	gt_spirv_emit(words, SpvOpBranch, after);
	gt_spirv_emit(words, SpvOpLabel, after);
}
