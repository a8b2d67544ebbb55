/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "spirv/types.h"

#include <errno.h>
#include <spirv/unified1/spirv.h>

enum {
	MAX_DEPTH = 16, /* of structures and arrays in each other */
	MAX_MEMBERS = 1024,
	MAX_TYPE_SIZE = 1 << 30,
	MAX_STRUCTURE = 1 << 14, /* bytes; a member is examined for each of them at most */
	PACKED_BYTES = 16,
};

/* ---- types ---- */

const struct gt_spirv_instruction *gt_spirv_type_of(const struct gt_spirv_module *module,
						    uint32_t id)
{
	const struct gt_spirv_instruction *definition = gt_spirv_definition(module, id);
	bool has_type = false, has_result = false;

	if (definition)
		gt_spirv_results(definition->opcode, &has_type, &has_result);
	return has_type && has_result ? gt_spirv_definition(module, definition->words[1]) : NULL;
}

int gt_spirv_pointer_of(const struct gt_spirv_module *module, uint32_t id, uint32_t *ret_storage,
			uint32_t *ret_type)
{
	const struct gt_spirv_instruction *type = gt_spirv_type_of(module, id);

	if (!type || type->opcode != SpvOpTypePointer || type->count != 4)
		return -ENOENT;
	*ret_storage = type->words[2];
	*ret_type = type->words[3];
	return 0;
}

int gt_spirv_constant_of(const struct gt_spirv_module *module, uint32_t id, uint64_t *ret_value)
{
	const struct gt_spirv_instruction *constant = gt_spirv_definition(module, id);

	if (constant && constant->opcode == SpvOpConstantNull) {
		*ret_value = 0;
		return 0;
	}
	if (!constant || constant->opcode != SpvOpConstant || constant->count < 4 ||
	    constant->count > 5)
		return -ENOENT;
	*ret_value = constant->words[3];
	if (constant->count == 5)
		*ret_value |= (uint64_t)constant->words[4] << 32;
	return 0;
}

static uint64_t size_at(const struct gt_spirv_module *module, uint32_t type, unsigned depth);

/* Members follow each other as C lays them out; a packed structure is smaller. */
static uint64_t structure_size(const struct gt_spirv_module *module,
			       const struct gt_spirv_instruction *type, unsigned depth)
{
	uint64_t size = 0;

	if (type->count > MAX_MEMBERS)
		return 0;
	for (unsigned i = 2; i < type->count; i++) {
		uint64_t member = size_at(module, type->words[i], depth + 1);
		uint64_t alignment = member & -member;

		if (!member)
			return 0;
		alignment = alignment > 8 ? 8 : alignment;
		size = ((size + alignment - 1) & -alignment) + member;
		if (size > MAX_STRUCTURE)
			return 0;
	}
	return size;
}

static uint64_t size_of_several(const struct gt_spirv_module *module, uint32_t element,
				uint64_t count, unsigned depth)
{
	uint64_t size = size_at(module, element, depth + 1);

	return size && count <= MAX_TYPE_SIZE / size ? size * count : 0;
}

static uint64_t size_at(const struct gt_spirv_module *module, uint32_t id, unsigned depth)
{
	const struct gt_spirv_instruction *type = gt_spirv_definition(module, id);
	uint64_t count;

	if (!type || depth > MAX_DEPTH)
		return 0;
	switch (type->opcode) {
	case SpvOpTypeBool:
		return 1;
	case SpvOpTypeInt:
	case SpvOpTypeFloat:
		return type->count > 2 && type->words[2] <= 64 ? type->words[2] / 8 : 0;
	case SpvOpTypePointer:
		return module->address_bits / 8;
	case SpvOpTypeVector:
		return type->count == 4
			       ? size_of_several(module, type->words[2], type->words[3], depth)
			       : 0;
	case SpvOpTypeArray:
		if (type->count != 4 || gt_spirv_constant_of(module, type->words[3], &count))
			return 0;
		return size_of_several(module, type->words[2], count, depth);
	case SpvOpTypeStruct:
		return structure_size(module, type, depth);
	default:
		return 0;
	}
}

uint64_t gt_spirv_type_size(const struct gt_spirv_module *module, uint32_t type)
{
	return size_at(module, type, 0);
}

/* ---- values ---- */

struct packing {
	struct gt_spirv_builder *builder;
	const struct gt_spirv_module *module;
	struct gt_spirv_words *words;
};

static uint32_t put_unary(const struct packing *packing, unsigned opcode, uint32_t type,
			  uint32_t value)
{
	uint32_t id = gt_spirv_id(packing->builder);

	gt_spirv_emit(packing->words, opcode, type, id, value);
	return id;
}

static uint32_t put_binary(const struct packing *packing, unsigned opcode, uint32_t type,
			   uint32_t left, uint32_t right)
{
	uint32_t id = gt_spirv_id(packing->builder);

	gt_spirv_emit(packing->words, opcode, type, id, left, right);
	return id;
}

static bool is_size(uint64_t size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

/* A number or a pointer as an integer of 64 bits, extended with zeros; 0: it is neither. */
static uint32_t put_scalar(const struct packing *packing, uint32_t type_id, uint32_t value)
{
	const struct gt_spirv_instruction *type = gt_spirv_definition(packing->module, type_id);
	uint32_t wide = gt_spirv_type_int(packing->builder, 64);
	uint64_t size = gt_spirv_type_size(packing->module, type_id);

	if (!type || !is_size(size))
		return 0;
	switch (type->opcode) {
	case SpvOpTypePointer:
		return put_unary(packing, SpvOpConvertPtrToU, wide, value);
	case SpvOpTypeFloat:
		value = put_unary(packing, SpvOpBitcast,
				  gt_spirv_type_int(packing->builder, (unsigned)size * 8), value);
		break;
	case SpvOpTypeInt:
		break;
	default:
		return 0;
	}
	return size == 8 ? value : put_unary(packing, SpvOpUConvert, wide, value);
}

/* The elements of a vector, as far as they fit. Returns their bytes. */
static uint32_t put_vector(const struct packing *packing, const struct gt_spirv_instruction *type,
			   uint32_t value, uint32_t parts[2])
{
	uint32_t element = type->words[2], size = 0, wide = gt_spirv_type_int(packing->builder, 64);
	uint64_t bytes = gt_spirv_type_size(packing->module, element);

	for (uint32_t i = 0; i < type->words[3] && is_size(bytes) && size < PACKED_BYTES; i++) {
		uint32_t part = gt_spirv_id(packing->builder), *to = &parts[size / 8];

		gt_spirv_emit(packing->words, SpvOpCompositeExtract, element, part, value, i);
		part = put_scalar(packing, element, part);
		if (!part)
			return 0;
		if (size % 8)
			part = put_binary(packing, SpvOpShiftLeftLogical, wide, part,
					  gt_spirv_constant(packing->builder, 64, size % 8 * 8));
		*to = size % 8 ? put_binary(packing, SpvOpBitwiseOr, wide, *to, part) : part;
		size += (uint32_t)bytes;
	}
	return size;
}

static struct gt_spirv_bits put_bits(const struct packing *packing, uint32_t type_id,
				     uint32_t value)
{
	const struct gt_spirv_instruction *type = gt_spirv_definition(packing->module, type_id);
	uint32_t zero = gt_spirv_constant(packing->builder, 64, 0), parts[2] = {zero, zero};
	uint32_t size = 0;

	if (type && type->opcode == SpvOpTypeVector && type->count == 4) {
		size = put_vector(packing, type, value, parts);
	} else if (type) {
		parts[0] = put_scalar(packing, type_id, value);
		size = parts[0] ? (uint32_t)gt_spirv_type_size(packing->module, type_id) : 0;
	}
	if (!size)
		return (struct gt_spirv_bits){zero, zero, 0};
	return (struct gt_spirv_bits){parts[0], parts[1], size};
}

struct gt_spirv_bits gt_spirv_put_bits(struct gt_spirv_builder *builder,
				       const struct gt_spirv_module *module,
				       struct gt_spirv_words *words, uint32_t type, uint32_t value)
{
	const struct packing packing = {builder, module, words};

	return put_bits(&packing, type, value);
}

/* ---- arguments of kernels ---- */

/* The type that a parameter passes by value through a pointer to its copy; 0: it does not. */
static uint32_t copied_type(const struct gt_spirv_module *module, uint32_t type_id)
{
	const struct gt_spirv_instruction *type = gt_spirv_definition(module, type_id);

	return type && type->opcode == SpvOpTypePointer && type->count == 4 &&
			       type->words[2] == SpvStorageClassFunction
		       ? type->words[3]
		       : 0;
}

uint32_t gt_spirv_argument_size(const struct gt_spirv_module *module, uint32_t type_id)
{
	const struct gt_spirv_instruction *type = gt_spirv_definition(module, type_id);
	uint32_t copied = copied_type(module, type_id);
	uint64_t size = gt_spirv_type_size(module, copied ? copied : type_id);

	if (type && type->opcode == SpvOpTypeVector && type->count == 4 && type->words[3] == 3)
		size = size / 3 * 4;
	return (uint32_t)size;
}

/* The first bytes behind a pointer, in pieces of which the size is a multiple. */
static uint32_t put_memory(const struct packing *packing, uint32_t pointer, uint32_t size)
{
	uint32_t bits, wide = gt_spirv_type_int(packing->builder, 64), sum = 0, piece = 8;
	uint32_t type, pointers;

	size = size < 8 ? size : 8;
	while (size % piece)
		piece /= 2;
	bits = piece * 8;
	type = gt_spirv_type_int(packing->builder, bits);
	pointers = gt_spirv_type_pointer(packing->builder, SpvStorageClassFunction, type);
	pointer = put_unary(packing, SpvOpBitcast, pointers, pointer);
	for (uint32_t i = 0; i < size / piece; i++) {
		uint32_t at = put_binary(packing, SpvOpInBoundsPtrAccessChain, pointers, pointer,
					 gt_spirv_constant(packing->builder, 64, i));
		uint32_t part = gt_spirv_id(packing->builder);

		gt_spirv_emit(packing->words, SpvOpLoad, type, part, at, SpvMemoryAccessAlignedMask,
			      1);
		if (bits < 64)
			part = put_unary(packing, SpvOpUConvert, wide, part);
		if (i)
			part = put_binary(packing, SpvOpShiftLeftLogical, wide, part,
					  gt_spirv_constant(packing->builder, 64, i * bits));
		sum = i ? put_binary(packing, SpvOpBitwiseOr, wide, sum, part) : part;
	}
	return sum;
}

uint32_t gt_spirv_put_argument(struct gt_spirv_builder *builder,
			       const struct gt_spirv_module *module, struct gt_spirv_words *words,
			       uint32_t type, uint32_t value)
{
	const struct packing packing = {builder, module, words};
	uint32_t size = gt_spirv_argument_size(module, type);

	if (copied_type(module, type) && size)
		return put_memory(&packing, value, size);
	return put_bits(&packing, type, value).low;
}
