/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The values of the launch: hidden parameters of kernels and of what they call. */
#include <spirv/unified1/spirv.h>

#include "patch/spirv/private.h"

bool gt_spirv_takes_launch(const struct gt_spirv_patcher *patcher,
			   const struct gt_spirv_function *code)
{
	size_t number = (size_t)(code - patcher->module->functions.items);

	return code->has_body && patcher->functions[number].matched & patcher->launched;
}

/* The values that functions of the module have. */
static unsigned count_values(const struct gt_spirv_patcher *patcher)
{
	return patcher->translate.relative ? GT_SPIRV_LAUNCH_VALUES : GT_SPIRV_LAUNCH_SHARED;
}

static uint32_t launch_value_type(struct gt_spirv_patcher *patcher,
				  enum gt_spirv_launch_value value)
{
	struct gt_spirv_builder *builder = &patcher->builder;

	return value == GT_SPIRV_LAUNCH_SHARED
		       ? gt_spirv_type_pointer(builder, SpvStorageClassCrossWorkgroup,
					       gt_spirv_type_int(builder, 8))
		       : gt_spirv_type_int(builder, 64);
}

/* What a kernel without the parameters passes on. */
static uint32_t no_launch_value(struct gt_spirv_patcher *patcher, enum gt_spirv_launch_value value)
{
	struct gt_spirv_builder *builder = &patcher->builder;

	return value == GT_SPIRV_LAUNCH_SHARED
		       ? gt_spirv_global(builder, SpvOpConstantNull,
					 launch_value_type(patcher, value), NULL, 0)
		       : gt_spirv_constant(builder, 64, 0);
}

uint32_t gt_spirv_put_shared(struct gt_spirv_patcher *patcher,
			     const struct gt_spirv_patch_function *function,
			     struct gt_spirv_words *words)
{
	uint32_t id = gt_spirv_id(&patcher->builder);

	gt_spirv_emit(words, SpvOpConvertPtrToU, gt_spirv_type_int(&patcher->builder, 64), id,
		      function->launch[GT_SPIRV_LAUNCH_SHARED]);
	return id;
}

uint32_t gt_spirv_launch_type(struct gt_spirv_patcher *patcher, uint32_t type)
{
	const struct gt_spirv_instruction *one = gt_spirv_definition(patcher->module, type);
	GT_VEC(uint32_t) operands = {0};
	uint32_t result = type;
	int error = 0;

	/* Without the type of the function, its code is malformed in any case. */
	if (!one || one->opcode != SpvOpTypeFunction)
		return type;
	for (unsigned i = 2; i < one->count && !error; i++)
		error = gt_vec_push(&operands, one->words[i]);
	for (unsigned i = 0; i < count_values(patcher) && !error; i++)
		error = gt_vec_push(&operands, launch_value_type(patcher, i));
	if (error)
		patcher->builder.failed = true;
	else
		result = gt_spirv_global(&patcher->builder, SpvOpTypeFunction, 0, operands.items,
					 operands.count);
	gt_vec_free(&operands);
	return result;
}

void gt_spirv_add_launch_parameters(struct gt_spirv_patcher *patcher,
				    struct gt_spirv_patch_function *function,
				    struct gt_spirv_words *words)
{
	for (unsigned i = 0; i < count_values(patcher); i++) {
		function->launch[i] = gt_spirv_id(&patcher->builder);
		gt_spirv_emit(words, SpvOpFunctionParameter, launch_value_type(patcher, i),
			      function->launch[i]);
	}
}

bool gt_spirv_pass_launch(struct gt_spirv_patcher *patcher,
			  const struct gt_spirv_patch_function *caller,
			  const struct gt_spirv_instruction *call, struct gt_spirv_words *words)
{
	uint32_t values[GT_SPIRV_LAUNCH_VALUES], count = count_values(patcher);
	const struct gt_spirv_function *callee =
		call->opcode == SpvOpFunctionCall && call->count > 3
			? gt_spirv_function(patcher->module, call->words[3])
			: NULL;

	if (!callee || !gt_spirv_takes_launch(patcher, callee) || call->count + count > UINT16_MAX)
		return false;
	for (unsigned i = 0; i < count; i++)
		values[i] = caller->launch[i] ? caller->launch[i] : no_launch_value(patcher, i);
	gt_spirv_add_more(words, call->opcode, call->words + 1, call->count - 1u, values, count);
	return true;
}
