/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The values of contexts at a site, each once; what is known is a constant. */
#include <spirv/unified1/spirv.h>

#include "patch/spirv/private.h"
#include "spirv/types.h"

static uint32_t put_binary(const struct gt_spirv_value_site *at, unsigned opcode, uint32_t left,
			   uint32_t right)
{
	uint32_t id = gt_spirv_id(&at->patcher->builder);

	gt_spirv_emit(at->words, opcode, gt_spirv_type_int(&at->patcher->builder, 64), id, left,
		      right);
	return id;
}

static uint32_t put_address(const struct gt_spirv_value_site *at)
{
	struct gt_spirv_builder *builder = &at->patcher->builder;
	uint32_t address = gt_spirv_id(builder), offset;

	gt_spirv_emit(at->words, SpvOpConvertPtrToU, gt_spirv_type_int(builder, 64), address,
		      at->access.pointer);
	if (!at->access.offset)
		return address;
	/* size_t: a module of 64 bits has offsets of 64 bits. */
	offset = put_binary(at, SpvOpIMul, at->access.offset,
			    gt_spirv_constant(builder, 64, at->access.width));
	return put_binary(at, SpvOpIAdd, address, offset);
}

/* What the instruction loads is there after it. */
static bool has_value(const struct gt_spirv_value_site *at)
{
	return at->has_access && at->access.value &&
	       (at->access.kind != GT_MEMORY_LOAD || at->site->after);
}

static void put_value(struct gt_spirv_value_site *at)
{
	struct gt_spirv_builder *builder = &at->patcher->builder;
	uint32_t zero = gt_spirv_constant(builder, 64, 0);
	struct gt_spirv_bits bits = {zero, zero, 0};

	if (has_value(at))
		bits = gt_spirv_put_bits(builder, at->patcher->module, at->words,
					 at->access.value_type, at->access.value);
	at->known[GT_SOURCE_VALUE] = bits.low;
	at->known[GT_SOURCE_VALUE_HIGH] = bits.high;
}

/* The bytes of a value that programs see. */
static uint32_t value_size(const struct gt_spirv_value_site *at)
{
	if (!at->has_access || !at->access.value)
		return 0;
	return at->access.width < 16 ? at->access.width : 16;
}

/* 1 where a branch is taken: its condition holds. */
static uint32_t put_taken(const struct gt_spirv_value_site *at)
{
	struct gt_spirv_builder *builder = &at->patcher->builder;
	uint32_t id = gt_spirv_id(builder);

	gt_spirv_emit(at->words, SpvOpSelect, gt_spirv_type_int(builder, 32), id,
		      at->instruction->words[1], gt_spirv_constant(builder, 32, 1),
		      gt_spirv_constant(builder, 32, 0));
	return id;
}

static uint32_t kernel_number(const struct gt_spirv_value_site *at)
{
	const struct gt_spirv_patch_function *function = at->function;

	if (function->kernel)
		return at->patcher->kernels[function->kernel - at->patcher->module->entries.items]
			.number;
	return function->callers == 1 ? at->patcher->kernels[function->caller].number : 0;
}

/* The id of a parameter of the kernel's code, and its type; 0: there is none. */
static uint32_t find_argument(const struct gt_spirv_value_site *at, uint32_t index,
			      uint32_t *ret_type)
{
	const struct gt_spirv_module *module = at->patcher->module;
	const struct gt_spirv_function *code =
		&module->functions.items[at->function - at->patcher->functions];

	for (size_t i = code->begin; at->function->kernel && i < code->end; i++) {
		const struct gt_spirv_instruction *one = &module->instructions.items[i];

		if (one->opcode == SpvOpLabel)
			break;
		if (one->opcode != SpvOpFunctionParameter || index--)
			continue;
		*ret_type = one->words[1];
		return one->words[2];
	}
	return 0;
}

static uint32_t count_arguments(const struct gt_spirv_value_site *at)
{
	uint32_t count = 0, type;

	while (find_argument(at, count, &type))
		count++;
	return count;
}

static uint64_t constant_value(const struct gt_spirv_value_site *at,
			       const struct gt_site_value *value)
{
	uint32_t type;

	switch (value->source) {
	case GT_SOURCE_KERNEL:
		return kernel_number(at);
	case GT_SOURCE_ARGUMENT_COUNT:
		return count_arguments(at);
	case GT_SOURCE_ARGUMENT_SIZE:
		return find_argument(at, value->index, &type)
			       ? gt_spirv_argument_size(at->patcher->module, type)
			       : 0;
	case GT_SOURCE_SITE:
		return at->site->number;
	case GT_SOURCE_LINE:
		return at->site->line;
	case GT_SOURCE_VALUE_SIZE:
		return value_size(at);
	case GT_SOURCE_WIDTH:
		return at->has_access ? at->access.width : 0;
	case GT_SOURCE_SPACE:
		return at->has_access ? at->access.space : 0;
	case GT_SOURCE_ACCESS:
		return at->has_access ? at->access.kind : 0;
	default:
		return 0;
	}
}

static uint32_t put_argument(const struct gt_spirv_value_site *at,
			     const struct gt_site_value *value)
{
	struct gt_spirv_builder *builder = &at->patcher->builder;
	uint32_t type, id = find_argument(at, value->index, &type);

	if (!id)
		return gt_spirv_constant(builder, 64, 0);
	return gt_spirv_put_argument(builder, at->patcher->module, at->words, type, id);
}

uint32_t gt_spirv_put_source(struct gt_spirv_value_site *at, const struct gt_site_value *value)
{
	struct gt_spirv_builder *builder = &at->patcher->builder;
	enum gt_context_source source = value->source;
	bool is_branch = at->instruction && at->instruction->opcode == SpvOpBranchConditional;

	if (source == GT_SOURCE_ARGUMENT)
		return put_argument(at, value);
	if (source == GT_SOURCE_LAUNCH)
		return at->function->launch[GT_SPIRV_LAUNCH_NUMBER];
	if (source == GT_SOURCE_SHARED_SIZE)
		return at->function->launch[GT_SPIRV_LAUNCH_LOCAL];
	if (at->known[source])
		return at->known[source];
	if (source == GT_SOURCE_ADDRESS && at->has_access)
		at->known[source] = put_address(at);
	else if (source == GT_SOURCE_VALUE || source == GT_SOURCE_VALUE_HIGH)
		put_value(at);
	else if ((source == GT_SOURCE_TAKEN || source == GT_SOURCE_TAKEN_MASK) && is_branch)
		at->known[source] = put_taken(at);
	else
		return gt_spirv_constant(builder, value->bits, constant_value(at, value));
	return at->known[source];
}
