/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Programs at a branch that ends the first block of a loop are called on both of its edges, in
 * blocks of their own, instead of before it.
 *
 * PoCL (3.1) lets LLVM rotate loops before it divides a kernel at its barriers, and may not compile
 * a kernel in which a loop with a barrier was not rotated: lib/llvmopencl/BarrierTailReplication.cc
 * calls itself without end, or ParallelRegion.cc finds edges into the middle of a region. LLVM does
 * not rotate loops whose first block is large, as programs would make it.
 */
#include <errno.h>
#include <spirv/unified1/spirv.h>
#include <stdlib.h>

#include "patch/spirv/private.h"

static bool has_barrier(const struct gt_spirv_module *module)
{
	gt_vec_each (one, &module->instructions)
		if (one->opcode == SpvOpControlBarrier)
			return true;
	return false;
}

/* The block that a branch leads back to begins a loop. */
static void mark_head(const struct gt_spirv_patcher *patcher, size_t branch, uint32_t label)
{
	const struct gt_spirv_instruction *items = patcher->module->instructions.items;
	const struct gt_spirv_instruction *block = gt_spirv_definition(patcher->module, label);

	if (block && block->opcode == SpvOpLabel && block <= &items[branch])
		patcher->loop_heads[block - items] = 1;
}

int gt_spirv_find_loop_heads(struct gt_spirv_patcher *patcher)
{
	const struct gt_spirv_module *module = patcher->module;

	if (!patcher->translate.for_spir || !has_barrier(module))
		return 0;
	patcher->loop_heads = calloc(module->instructions.count, 1);
	if (!patcher->loop_heads)
		return -ENOMEM;
	for (size_t i = 0; i < module->instructions.count; i++) {
		const struct gt_spirv_instruction *one = &module->instructions.items[i];

		if (one->opcode == SpvOpBranch && one->count == 2)
			mark_head(patcher, i, one->words[1]);
		for (unsigned j = 2;
		     one->opcode == SpvOpBranchConditional && j < 4 && j < one->count; j++)
			mark_head(patcher, i, one->words[j]);
	}
	return 0;
}

/* Whether a block may have another predecessor: no value in it depends on which it is. */
static bool takes_edge(const struct gt_spirv_module *module, uint32_t label)
{
	const struct gt_spirv_instruction *items = module->instructions.items;
	const struct gt_spirv_instruction *block = gt_spirv_definition(module, label);
	size_t at = block ? (size_t)(block - items) + 1 : module->instructions.count;

	while (at < module->instructions.count &&
	       (items[at].opcode == SpvOpLine || items[at].opcode == SpvOpNoLine))
		at++;
	return at < module->instructions.count && items[at].opcode != SpvOpPhi;
}

bool gt_spirv_is_on_edges(const struct gt_spirv_patcher *patcher, size_t label, size_t instruction)
{
	const struct gt_spirv_module *module = patcher->module;
	const struct gt_spirv_instruction *one = &module->instructions.items[instruction];

	return patcher->loop_heads && patcher->loop_heads[label] &&
	       one->opcode == SpvOpBranchConditional && one->count >= 4 &&
	       takes_edge(module, one->words[2]) && takes_edge(module, one->words[3]);
}
