/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Instructions that are written in another form, since some devices do not take those of
 * llvm-spirv.
 */
#include <spirv/unified1/OpenCL.std.h>
#include <spirv/unified1/spirv.h>
#include <string.h>

#include "patch/spirv/access.h"
#include "patch/spirv/private.h"
#include "spirv/types.h"

/* ---- dimensions above 2 ---- */

/*
 * llvm-spirv makes get_global_size(n) of OpenCL C the component n of a vector of three. That has no
 * value for a higher n, and spirv-val rejects it if n is constant; OpenCL C defines one (OpenCL C
 * 3.0, 6.15.1): 1 for sizes, else 0. PoCL (3.1) has 0 for both, so where a device takes SPIR its
 * own function is called.
 */

/* The functions of OpenCL C that have a dimension; the names are those of SPIR. */
static const struct {
	unsigned builtin;
	const char *name;
	uint64_t value; /* in other dimensions */
} functions[GT_SPIRV_DIMENSION_INPUTS] = {
	{SpvBuiltInGlobalSize, "_Z15get_global_sizej", 1},
	{SpvBuiltInWorkgroupSize, "_Z14get_local_sizej", 1},
	{SpvBuiltInEnqueuedWorkgroupSize, "_Z23get_enqueued_local_sizej", 1},
	{SpvBuiltInNumWorkgroups, "_Z14get_num_groupsj", 1},
	{SpvBuiltInGlobalInvocationId, "_Z13get_global_idj", 0},
	{SpvBuiltInLocalInvocationId, "_Z12get_local_idj", 0},
	{SpvBuiltInWorkgroupId, "_Z12get_group_idj", 0},
	{SpvBuiltInGlobalOffset, "_Z17get_global_offsetj", 0},
};

static void note_input(struct gt_spirv_patcher *patcher, const struct gt_spirv_instruction *one)
{
	for (size_t i = 0; i < gt_countof(functions); i++)
		if (one->words[3] == functions[i].builtin)
			patcher->dimension_inputs[i] = one->words[1];
}

void gt_spirv_find_dimensions(struct gt_spirv_patcher *patcher)
{
	const struct gt_spirv_module *module = patcher->module;

	for (size_t i = module->sections[GT_SPIRV_DECORATIONS];
	     i < module->sections[GT_SPIRV_DECORATIONS + 1]; i++) {
		const struct gt_spirv_instruction *one = &module->instructions.items[i];

		if (one->opcode == SpvOpDecorate && one->count == 4 &&
		    one->words[2] == SpvDecorationBuiltIn)
			note_input(patcher, one);
	}
}

/* A read of a component whose dimension may be above 2. */
struct component {
	const struct gt_spirv_instruction *read;
	size_t function;    /* the row of the built-in vector */
	uint32_t dimension; /* id */
	unsigned bits;      /* of the dimension: 32 or 64 */
};

/* The function whose results a vector has; the number of functions: there is none. */
static size_t find_function(const struct gt_spirv_patcher *patcher, uint32_t vector)
{
	const struct gt_spirv_instruction *load = gt_spirv_definition(patcher->module, vector);
	size_t i = gt_countof(functions);

	if (load && load->opcode == SpvOpLoad && load->count >= 4 && load->words[3])
		for (i = 0; i < gt_countof(functions); i++)
			if (patcher->dimension_inputs[i] == load->words[3])
				break;
	return i;
}

/* The bits of a type of integers; 0: it is none. */
static unsigned integer_bits(const struct gt_spirv_instruction *type)
{
	return type && type->opcode == SpvOpTypeInt && type->count == 4 ? type->words[2] : 0;
}

static bool is_above(const struct gt_spirv_module *module, const struct gt_spirv_instruction *read)
{
	uint64_t constant;

	if (read->opcode == SpvOpCompositeExtract)
		return read->words[4] > 2;
	return gt_spirv_constant_of(module, read->words[4], &constant) || constant > 2;
}

static bool find_component(struct gt_spirv_patcher *patcher, const struct gt_spirv_instruction *one,
			   struct component *ret_component)
{
	const struct gt_spirv_module *module = patcher->module;
	struct component found = {.read = one, .bits = 32};

	if (one->count != 5 ||
	    (one->opcode != SpvOpCompositeExtract && one->opcode != SpvOpVectorExtractDynamic))
		return false;
	if (!is_above(module, one) ||
	    integer_bits(gt_spirv_definition(module, one->words[1])) != 64)
		return false;
	found.function = find_function(patcher, one->words[3]);
	if (found.function == gt_countof(functions))
		return false;
	found.dimension = one->words[4];
	if (one->opcode == SpvOpCompositeExtract)
		found.dimension = gt_spirv_constant(&patcher->builder, 32, one->words[4]);
	else
		found.bits = integer_bits(gt_spirv_type_of(module, found.dimension));
	*ret_component = found;
	return found.bits == 32 || found.bits == 64;
}

/* Call the device's function. */
static void put_call(struct gt_spirv_patcher *patcher, const struct component *component,
		     struct gt_spirv_words *words)
{
	struct gt_spirv_builder *builder = &patcher->builder;
	uint32_t type = component->read->words[1], dimension = component->dimension;
	uint32_t function = gt_spirv_import(builder, functions[component->function].name, type, 1);

	if (component->bits != 32) {
		dimension = gt_spirv_id(builder);
		gt_spirv_emit(words, SpvOpUConvert, gt_spirv_type_int(builder, 32), dimension,
			      component->dimension);
	}
	gt_spirv_emit(words, SpvOpFunctionCall, type, component->read->words[2], function,
		      dimension);
}

/* Read a component that there is, and take its value only if the dimension is that. */
static void put_selection(struct gt_spirv_patcher *patcher, const struct component *component,
			  struct gt_spirv_words *words)
{
	struct gt_spirv_builder *builder = &patcher->builder;
	uint32_t type = component->read->words[1], dimension = component->dimension;
	uint32_t integer = gt_spirv_type_int(builder, component->bits);
	uint32_t below = gt_spirv_id(builder), index = gt_spirv_id(builder);
	uint32_t value = gt_spirv_id(builder);

	gt_spirv_emit(words, SpvOpULessThan, gt_spirv_type_bool(builder), below, dimension,
		      gt_spirv_constant(builder, component->bits, 3));
	gt_spirv_emit(words, SpvOpSelect, integer, index, below, dimension,
		      gt_spirv_constant(builder, component->bits, 0));
	gt_spirv_emit(words, SpvOpVectorExtractDynamic, type, value, component->read->words[3],
		      index);
	gt_spirv_emit(words, SpvOpSelect, type, component->read->words[2], below, value,
		      gt_spirv_constant(builder, 64, functions[component->function].value));
}

/* False: the instruction reads no such component. */
static bool put_component(struct gt_spirv_patcher *patcher, const struct gt_spirv_instruction *one,
			  struct gt_spirv_words *words)
{
	struct component component;

	if (!find_component(patcher, one, &component))
		return false;
	if (patcher->translate.for_spir)
		put_call(patcher, &component, words);
	else
		put_selection(patcher, &component, words);
	return true;
}

/* ---- generic pointers to events ---- */

/*
 * In OpenCL C 2.0, the events of wait_group_events have a generic pointer. PoCL (3.1) does not have
 * that function for SPIR, and ends the process when it launches the kernel.
 */

static bool has_generic_type(const struct gt_spirv_module *module, uint32_t pointer)
{
	const struct gt_spirv_instruction *type = gt_spirv_type_of(module, pointer);

	return type && type->opcode == SpvOpTypePointer && type->count == 4 &&
	       type->words[2] == SpvStorageClassGeneric;
}

/* The pointer that was made generic; 0: it is not known, or not generic. */
static uint32_t find_events(const struct gt_spirv_module *module,
			    const struct gt_spirv_instruction *wait)
{
	const struct gt_spirv_instruction *cast;

	if (wait->opcode != SpvOpGroupWaitEvents || wait->count != 4)
		return 0;
	cast = gt_spirv_definition(module, wait->words[3]);
	return cast && cast->opcode == SpvOpPtrCastToGeneric && cast->count == 4 ? cast->words[3]
										 : 0;
}

/* False: the instruction waits for no events of a pointer that was made generic. */
static bool put_wait(const struct gt_spirv_patcher *patcher, const struct gt_spirv_instruction *one,
		     struct gt_spirv_words *words)
{
	uint32_t events = patcher->translate.for_spir ? find_events(patcher->module, one) : 0;

	if (events)
		gt_spirv_emit(words, SpvOpGroupWaitEvents, one->words[1], one->words[2], events);
	return events;
}

bool gt_spirv_has_generic_events(const struct gt_spirv_module *module)
{
	gt_vec_each (one, &module->instructions)
		if (one->opcode == SpvOpGroupWaitEvents && one->count == 4 &&
		    has_generic_type(module, one->words[3]) && !find_events(module, one))
			return true;
	return false;
}

/* ---- vectors that printf prints ---- */

/*
 * Clang passes a vector of up to 4 bytes in an integer register (System V ABI of x86-64), and
 * PoCL's printf reads it there. LLVM passes the vector of SPIR in a vector register.
 */
static uint32_t put_small_vector(struct gt_spirv_patcher *patcher, uint32_t value,
				 struct gt_spirv_words *words)
{
	enum { MAX_BYTES = 4 };
	struct gt_spirv_builder *builder = &patcher->builder;
	const struct gt_spirv_instruction *type = gt_spirv_type_of(patcher->module, value);
	struct gt_spirv_bits bits;
	uint32_t packed;

	if (!type || type->opcode != SpvOpTypeVector || type->count != 4 ||
	    gt_spirv_type_size(patcher->module, type->words[1]) > MAX_BYTES)
		return value;
	bits = gt_spirv_put_bits(builder, patcher->module, words, type->words[1], value);
	if (!bits.size)
		return value;
	packed = gt_spirv_id(builder);
	gt_spirv_emit(words, SpvOpUConvert, gt_spirv_type_int(builder, 32), packed, bits.low);
	return packed;
}

/* False: the instruction prints no such vector. */
static bool put_printf(struct gt_spirv_patcher *patcher, const struct gt_spirv_instruction *one,
		       struct gt_spirv_words *words)
{
	enum { MAX_OPERANDS = 64, FORMAT = 5 };
	uint32_t operands[MAX_OPERANDS];
	size_t count = one->count - 1;
	bool is_changed = false;

	if (!patcher->translate.for_spir || count > MAX_OPERANDS ||
	    gt_spirv_extended_opcode(patcher->module, one) != OpenCLstd_Printf)
		return false;
	memcpy(operands, one->words + 1, count * sizeof(*operands));
	for (size_t i = FORMAT; i < count; i++) {
		operands[i] = put_small_vector(patcher, operands[i], words);
		is_changed |= operands[i] != one->words[i + 1];
	}
	if (is_changed)
		gt_spirv_add(words, SpvOpExtInst, operands, count);
	return is_changed;
}

bool gt_spirv_rewrite(struct gt_spirv_patcher *patcher, const struct gt_spirv_instruction *one,
		      struct gt_spirv_words *words)
{
	return put_component(patcher, one, words) || put_wait(patcher, one, words) ||
	       put_printf(patcher, one, words);
}
