/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Decoding of loads, stores and atomics. */
#include <errno.h>
#include <string.h>

#include "exec/decode.h"
#include "exec/steps.h"

/* What the modifiers of a memory instruction say. */
struct words {
	enum gt_ptx_space space; /* NONE: generic */
	uint32_t flags;
	bool is_atomic_sum; /* .add of an atom, not of anything else */
};

/* Modifiers that change nothing here: caches are not modelled. */
static bool is_hint(enum gt_ptx_modifier_id id)
{
	switch (id) {
	case GT_PTX_MOD_WEAK:
	case GT_PTX_MOD_SYS:
	case GT_PTX_MOD_GPU:
	case GT_PTX_MOD_CTA:
	case GT_PTX_MOD_CLUSTER:
	case GT_PTX_MOD_NC:
	case GT_PTX_MOD_CA:
	case GT_PTX_MOD_CG:
	case GT_PTX_MOD_CS:
	case GT_PTX_MOD_LU:
	case GT_PTX_MOD_CV:
	case GT_PTX_MOD_WB:
	case GT_PTX_MOD_WT:
	case GT_PTX_MOD_L1_EVICT_NORMAL:
	case GT_PTX_MOD_L1_EVICT_UNCHANGED:
	case GT_PTX_MOD_L1_EVICT_FIRST:
	case GT_PTX_MOD_L1_EVICT_LAST:
	case GT_PTX_MOD_L1_NO_ALLOCATE:
	case GT_PTX_MOD_L2_EVICT_NORMAL:
	case GT_PTX_MOD_L2_EVICT_FIRST:
	case GT_PTX_MOD_L2_EVICT_LAST:
	case GT_PTX_MOD_L2_CACHE_HINT:
	case GT_PTX_MOD_L2_64B:
	case GT_PTX_MOD_L2_128B:
	case GT_PTX_MOD_L2_256B:
	case GT_PTX_MOD_V2:
	case GT_PTX_MOD_V4:
	case GT_PTX_MOD_V8:
	case GT_PTX_MOD_UNIFIED:
	case GT_PTX_MOD_NOFTZ:
		return true;
	default:
		return gt_ptx_modifier_type(id) != GT_PTX_TYPE_NONE;
	}
}

static bool read_space(enum gt_ptx_modifier_id id, enum gt_ptx_space *ret_space)
{
	switch (id) {
	case GT_PTX_MOD_GLOBAL:
		*ret_space = GT_PTX_SPACE_GLOBAL;
		return true;
	case GT_PTX_MOD_SHARED:
	case GT_PTX_MOD_SHARED_CTA:
	case GT_PTX_MOD_SHARED_CLUSTER:
		*ret_space = GT_PTX_SPACE_SHARED;
		return true;
	case GT_PTX_MOD_LOCAL:
		*ret_space = GT_PTX_SPACE_LOCAL;
		return true;
	case GT_PTX_MOD_CONST:
		*ret_space = GT_PTX_SPACE_CONST;
		return true;
	case GT_PTX_MOD_PARAM:
	case GT_PTX_MOD_PARAM_ENTRY:
	case GT_PTX_MOD_PARAM_FUNC:
		*ret_space = GT_PTX_SPACE_PARAM;
		return true;
	default:
		return false;
	}
}

/* Reads space and order; `other` is asked about modifiers that belong to one opcode only. */
static bool read_words(const struct gt_ptx_form *form, struct words *words,
		       bool (*other)(enum gt_ptx_modifier_id))
{
	*words = (struct words){0};
	for (uint32_t i = 0; i < form->modifier_count; i++) {
		enum gt_ptx_modifier_id id = form->modifiers[i].id;

		if (read_space(id, &words->space) || (other && other(id)))
			continue;
		switch (id) {
		case GT_PTX_MOD_VOLATILE:
		case GT_PTX_MOD_RELAXED:
		case GT_PTX_MOD_MMIO:
			words->flags |= SG_FLAG_ATOMIC;
			break;
		case GT_PTX_MOD_ACQUIRE:
			words->flags |= SG_FLAG_ATOMIC | SG_FLAG_ACQUIRE;
			break;
		case GT_PTX_MOD_RELEASE:
			words->flags |= SG_FLAG_ATOMIC | SG_FLAG_RELEASE;
			break;
		case GT_PTX_MOD_ACQ_REL:
			words->flags |= SG_FLAG_ATOMIC | SG_FLAG_ACQUIRE | SG_FLAG_RELEASE;
			break;
		default:
			if (!is_hint(id))
				return false;
		}
	}
	return true;
}

/* ---- where ----------------------------------------------------------------------------- */

int sg_decode_place(struct sg_decoder *decoder, struct sg_instruction *step,
		    enum gt_ptx_space space, const struct sg_address *address)
{
	const struct sg_lane_table *lanes = decoder->machine->lanes;

	step->a = address->slot;
	step->immediate = address->offset;
	step->flags |= address->is_narrow ? SG_FLAG_NARROW : 0;
	if (address->is_frame) {
		step->resolve = sg_resolve_local;
		return 0;
	}
	switch (space) {
	case GT_PTX_SPACE_SHARED:
		step->resolve = lanes->shared;
		return 0;
	case GT_PTX_SPACE_LOCAL:
		step->resolve = sg_resolve_local;
		return 0;
	case GT_PTX_SPACE_PARAM:
		step->resolve = decoder->source->is_entry ? sg_resolve_parameter : sg_resolve_local;
		return 0;
	default:
		if (address->space == GT_PTX_SPACE_SHARED)
			return sg_decode_bad_operand(decoder, 1);
		step->resolve = lanes->global;
		return 0;
	}
}

/* ---- loads and stores ------------------------------------------------------------------ */

/* Operations by bytes in memory and of a lane. */
static enum sg_lane_op load_operation(uint32_t size, bool is_signed, uint32_t width)
{
	static const enum sg_lane_op table[2][4][3] = {
		{{SG_LANE_ld_8_16, SG_LANE_ld_8_32, SG_LANE_ld_8_64},
		 {SG_LANE_ld_16_16, SG_LANE_ld_16_32, SG_LANE_ld_16_64},
		 {SG_LANE_NONE, SG_LANE_ld_32_32, SG_LANE_ld_32_64},
		 {SG_LANE_NONE, SG_LANE_NONE, SG_LANE_ld_64_64}},
		{{SG_LANE_ld_s8_16, SG_LANE_ld_s8_32, SG_LANE_ld_s8_64},
		 {SG_LANE_ld_16_16, SG_LANE_ld_s16_32, SG_LANE_ld_s16_64},
		 {SG_LANE_NONE, SG_LANE_ld_32_32, SG_LANE_ld_s32_64},
		 {SG_LANE_NONE, SG_LANE_NONE, SG_LANE_ld_64_64}},
	};

	return table[is_signed][__builtin_ctz(size)][__builtin_ctz(width) - 1];
}

static enum sg_lane_op store_operation(uint32_t size, uint32_t width)
{
	static const enum sg_lane_op table[4][3] = {
		{SG_LANE_st_8_16, SG_LANE_st_8_32, SG_LANE_st_8_64},
		{SG_LANE_st_16_16, SG_LANE_st_16_32, SG_LANE_st_16_64},
		{SG_LANE_NONE, SG_LANE_st_32_32, SG_LANE_st_32_64},
		{SG_LANE_NONE, SG_LANE_NONE, SG_LANE_st_64_64},
	};

	return table[__builtin_ctz(size)][__builtin_ctz(width) - 1];
}

/* The elements that are loaded or stored, as slots. */
struct elements {
	uint32_t count;
	uint32_t size;  /* bytes in memory */
	uint32_t width; /* bytes of a lane */
	uint32_t slots[2 * SG_MAX_ELEMENTS];
};

/* A .b128 counts as two elements of 64 bits. */
static void split_wide(struct elements *elements)
{
	for (uint32_t i = elements->count; i-- > 0;) {
		uint32_t slot = elements->slots[i];

		elements->slots[2 * i] = slot;
		elements->slots[2 * i + 1] = slot == SG_SINK ? SG_SINK : slot + 256;
	}
	elements->count *= 2;
	elements->size = elements->width = 8;
}

static int read_elements(struct sg_decoder *decoder, uint32_t index, bool is_load,
			 struct elements *ret_elements)
{
	const struct gt_ptx_form *form = sg_decode_form(decoder);
	const struct gt_ptx_operand *items[SG_MAX_ELEMENTS];
	enum gt_ptx_type type = form->type_count == 1 ? form->types[0] : GT_PTX_TYPE_NONE;
	uint32_t bits = gt_ptx_type_info(type)->bits, width;
	int error;

	*ret_elements = (struct elements){.size = bits / 8};
	if (bits < 8 || bits > 128)
		return sg_decode_bad_form(decoder);
	error = sg_decode_elements(decoder, index, items, &ret_elements->count);
	if (error)
		return error;
	if (ret_elements->count != form->vector || ret_elements->size * form->vector > 32)
		return sg_decode_bad_operand(decoder, index);
	for (uint32_t i = 0; i < ret_elements->count && !error; i++) {
		error = is_load ? sg_decode_destination_operand(decoder, items[i], index, type,
								true, &ret_elements->slots[i],
								&width)
				: sg_decode_source_operand(decoder, items[i], index, type, true,
							   &ret_elements->slots[i], &width);
		if (!error && items[i]->kind == GT_PTX_OPERAND_SINK)
			continue;
		if (!error && ret_elements->width && ret_elements->width != width)
			return sg_decode_bad_operand(decoder, index);
		ret_elements->width = width;
	}
	if (!ret_elements->width)
		ret_elements->width = sg_type_width(type);
	if (!error && ret_elements->size == 16)
		split_wide(ret_elements);
	else if (!error && ret_elements->width == 16)
		return sg_decode_bad_operand(decoder, index);
	return error;
}

static int set_elements(struct sg_decoder *decoder, struct sg_instruction *step,
			const struct elements *elements)
{
	uint32_t *list;

	step->d = elements->slots[0];
	step->size = (uint8_t)elements->size;
	step->count = (uint8_t)elements->count;
	list = sg_decode_list(decoder, elements->count);
	if (!list)
		return -ENOMEM;
	memcpy(list, elements->slots, elements->count * sizeof(*list));
	step->list = list;
	return 0;
}

/* Of the kernel's own parameters, at a known place. */
static int load_parameter(struct sg_decoder *decoder, const struct sg_address *address,
			  const struct elements *elements, bool is_signed)
{
	uint64_t size = (uint64_t)elements->size * elements->count;
	struct sg_instruction *step;

	if (address->offset > decoder->function->parameter_size ||
	    size > decoder->function->parameter_size - address->offset)
		return sg_decode_error(decoder, "a load is outside of the parameters");
	step = sg_decode_emit(decoder, sg_run_load_parameter);
	if (!step)
		return -ENOMEM;
	step->immediate = address->offset;
	step->selector = (uint8_t)elements->width;
	step->flags = is_signed ? SG_FLAG_NEGATE : 0;
	return set_elements(decoder, step, elements);
}

int sg_decode_ld(struct sg_decoder *decoder)
{
	const struct gt_ptx_form *form = sg_decode_form(decoder);
	struct sg_address address;
	struct elements elements;
	struct sg_instruction *step;
	struct words words;
	enum sg_lane_op op;
	bool is_signed;
	int error;

	if (!read_words(form, &words, NULL))
		return sg_decode_bad_form(decoder);
	error = read_elements(decoder, 0, true, &elements);
	if (!error)
		error = sg_decode_address(decoder, 1, &address);
	if (error)
		return error;
	is_signed = gt_ptx_type_info(form->types[0])->class == GT_PTX_CLASS_SIGNED;
	if (address.is_parameter && words.space == GT_PTX_SPACE_PARAM)
		return load_parameter(decoder, &address, &elements, is_signed);
	op = load_operation(elements.size, is_signed, elements.width);
	if (op == SG_LANE_NONE || address.is_parameter)
		return sg_decode_bad_form(decoder);
	step = sg_decode_emit_lane(decoder, op);
	if (!step)
		return -ENOMEM;
	step->flags = words.flags;
	error = set_elements(decoder, step, &elements);
	return error ? error : sg_decode_place(decoder, step, words.space, &address);
}

/* Of st.async and red.async, which are done at once. */
static bool is_async_word(enum gt_ptx_modifier_id id)
{
	return id == GT_PTX_MOD_ASYNC || id == GT_PTX_MOD_MBARRIER_COMPLETE_TX_BYTES;
}

/* What the mbarrier of an asynchronous store or reduction is told, its last operand. */
static int tell_bytes(struct sg_decoder *decoder, uint32_t bytes)
{
	if (!gt_ptx_form_has(sg_decode_form(decoder), GT_PTX_MOD_MBARRIER_COMPLETE_TX_BYTES))
		return 0;
	return sg_decode_complete(decoder, decoder->instruction->operand_count - 1, bytes);
}

int sg_decode_st(struct sg_decoder *decoder)
{
	struct sg_address address;
	struct elements elements;
	struct sg_instruction *step;
	struct words words;
	enum sg_lane_op op;
	bool is_async = gt_ptx_form_has(sg_decode_form(decoder), GT_PTX_MOD_ASYNC);
	int error;

	if (gt_ptx_form_has(sg_decode_form(decoder), GT_PTX_MOD_BULK))
		return sg_decode_bulk_clear(decoder);
	if (!read_words(sg_decode_form(decoder), &words, is_async ? is_async_word : NULL))
		return sg_decode_bad_form(decoder);
	error = read_elements(decoder, 1, false, &elements);
	if (!error)
		error = sg_decode_address(decoder, 0, &address);
	if (error)
		return error;
	op = store_operation(elements.size, elements.width);
	if (op == SG_LANE_NONE || address.is_parameter || words.space == GT_PTX_SPACE_CONST)
		return sg_decode_bad_form(decoder);
	step = sg_decode_emit_lane(decoder, op);
	if (!step)
		return -ENOMEM;
	step->flags = words.flags;
	error = set_elements(decoder, step, &elements);
	if (!error)
		error = sg_decode_place(decoder, step, words.space, &address);
	return error ? error : tell_bytes(decoder, elements.size * elements.count);
}

/* ---- atomics --------------------------------------------------------------------------- */

static const struct {
	enum gt_ptx_modifier_id id;
	enum sg_atomic operation;
} atomics[] = {
	{GT_PTX_MOD_ADD, SG_ATOMIC_ADD},       {GT_PTX_MOD_MIN, SG_ATOMIC_MIN},
	{GT_PTX_MOD_MAX, SG_ATOMIC_MAX},       {GT_PTX_MOD_AND, SG_ATOMIC_AND},
	{GT_PTX_MOD_OR, SG_ATOMIC_OR},         {GT_PTX_MOD_XOR, SG_ATOMIC_XOR},
	{GT_PTX_MOD_EXCH, SG_ATOMIC_EXCHANGE}, {GT_PTX_MOD_CAS, SG_ATOMIC_COMPARE},
	{GT_PTX_MOD_INC, SG_ATOMIC_INCREMENT}, {GT_PTX_MOD_DEC, SG_ATOMIC_DECREMENT},
};

static bool is_atomic_word(enum gt_ptx_modifier_id id)
{
	for (size_t i = 0; i < gt_countof(atomics); i++)
		if (atomics[i].id == id)
			return true;
	return false;
}

static bool is_red_async_word(enum gt_ptx_modifier_id id)
{
	return is_atomic_word(id) || is_async_word(id);
}

bool sg_find_atomic(const struct gt_ptx_form *form, enum sg_atomic *ret_operation)
{
	for (size_t i = 0; i < gt_countof(atomics); i++)
		if (gt_ptx_form_has(form, atomics[i].id)) {
			*ret_operation = atomics[i].operation;
			return true;
		}
	return false;
}

/* PTX ISA 9.0, 9.7.13.5. */
bool sg_has_atomic(enum sg_atomic operation, enum gt_ptx_type type)
{
	bool is_sum = operation == SG_ATOMIC_ADD;
	bool is_order = operation == SG_ATOMIC_MIN || operation == SG_ATOMIC_MAX;
	bool is_count = operation == SG_ATOMIC_INCREMENT || operation == SG_ATOMIC_DECREMENT;

	switch (type) {
	case GT_PTX_TYPE_B16:
		return operation == SG_ATOMIC_COMPARE;
	case GT_PTX_TYPE_B128:
		return operation == SG_ATOMIC_COMPARE || operation == SG_ATOMIC_EXCHANGE;
	case GT_PTX_TYPE_B32:
	case GT_PTX_TYPE_B64:
		return !is_sum && !is_order && !is_count;
	case GT_PTX_TYPE_U32:
		return is_sum || is_order || is_count;
	case GT_PTX_TYPE_S32:
	case GT_PTX_TYPE_U64:
	case GT_PTX_TYPE_S64:
		return is_sum || is_order;
	case GT_PTX_TYPE_F32:
	case GT_PTX_TYPE_F64:
		return is_sum;
	default:
		return sg_half_format(type) != SG_HALF_NONE && (is_sum || is_order);
	}
}

/* atom.global.v2.f32.add {d, e}, [a], {b, c}: floating point only, each element by itself. */
static int decode_vector(struct sg_decoder *decoder, struct sg_instruction *step, uint32_t first,
			 enum gt_ptx_type type)
{
	const struct gt_ptx_operand *items[SG_MAX_ELEMENTS];
	uint32_t count = sg_decode_form(decoder)->vector, found = count, width, slot = SG_SINK;
	uint32_t *list = sg_decode_list(decoder, 2 * count);
	int error = list ? 0 : -ENOMEM;

	if (!error && first)
		error = sg_decode_elements(decoder, 0, items, &found);
	for (uint32_t i = 0; i < count && found == count && !error; i++) {
		if (first)
			error = sg_decode_destination_operand(decoder, items[i], 0, type, false,
							      &slot, &width);
		list[i] = slot;
	}
	if (!error && found == count)
		error = sg_decode_elements(decoder, first + 1, items, &found);
	if (!error && found != count)
		return sg_decode_bad_operand(decoder, first + 1);
	for (uint32_t i = 0; i < count && !error; i++)
		error = sg_decode_source_operand(decoder, items[i], first + 1, type, false,
						 &list[count + i], &width);
	step->list = list;
	step->count = (uint8_t)count;
	return error;
}

/* Whether vectors of a type can be changed: of .f32 2 or 4, in all at most 16 bytes. */
static bool has_vector(enum gt_ptx_type type, uint32_t count)
{
	const struct gt_ptx_type_info *info = gt_ptx_type_info(type);

	return count == 1 ||
	       ((info->class == GT_PTX_CLASS_FLOAT || info->class == GT_PTX_CLASS_PACKED) &&
		info->bits <= 32 && count * info->bits <= 128);
}

int sg_decode_atom(struct sg_decoder *decoder)
{
	const struct gt_ptx_form *form = sg_decode_form(decoder);
	bool is_red = form->opcode == GT_PTX_OP_RED;
	bool is_async = is_red && gt_ptx_form_has(form, GT_PTX_MOD_ASYNC);
	uint32_t first = is_red ? 0 : 1;
	enum sg_atomic operation;
	enum gt_ptx_type type = form->type_count == 1 ? form->types[0] : GT_PTX_TYPE_NONE;
	struct sg_instruction wanted = {.d = SG_SINK, .b = SG_SINK, .c = SG_SINK, .count = 1};
	struct sg_address address;
	struct words words;
	int error = 0;

	if (!sg_find_atomic(form, &operation) ||
	    !read_words(form, &words, is_async ? is_red_async_word : is_atomic_word) ||
	    !sg_has_atomic(operation, type) || !has_vector(type, form->vector) ||
	    (words.space != GT_PTX_SPACE_NONE && words.space != GT_PTX_SPACE_GLOBAL &&
	     words.space != GT_PTX_SPACE_SHARED))
		return sg_decode_bad_form(decoder);
	wanted.selector = (uint8_t)operation;
	wanted.size = (uint8_t)(gt_ptx_type_info(type)->bits / 8);
	wanted.space = (uint8_t)type;
	wanted.flags = words.flags;
	error = sg_decode_address(decoder, first, &address);
	if (!error && form->vector > 1)
		error = decode_vector(decoder, &wanted, first, type);
	else if (!error && !is_red)
		error = sg_decode_destination(decoder, 0, type, &wanted.d);
	if (!error && form->vector == 1)
		error = sg_decode_source(decoder, first + 1, type, &wanted.b);
	if (!error && operation == SG_ATOMIC_COMPARE)
		error = sg_decode_source(decoder, first + 2, type, &wanted.c);
	if (!error)
		error = sg_decode_place(decoder, &wanted, words.space, &address);
	if (!error)
		error = sg_decode_emit_step(decoder,
					    form->vector > 1    ? sg_run_atomic_vector
					    : wanted.size == 16 ? sg_run_atomic_wide
								: sg_run_atomic,
					    &wanted);
	return error ? error : tell_bytes(decoder, wanted.size);
}
