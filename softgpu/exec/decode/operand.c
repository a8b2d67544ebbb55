/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <errno.h>
#include <string.h>

#include "exec/decode/decode.h"
#include "exec/engine/special.h"
#include "exec/ops/float.h"

uint32_t sg_type_width(enum gt_ptx_type type)
{
	uint32_t bits = gt_ptx_type_info(type)->bits;

	if (type == GT_PTX_TYPE_PRED)
		return 0;
	return bits <= 16 ? 2 : bits <= 32 ? 4 : bits <= 64 ? 8 : 16;
}

uint32_t sg_decode_new_slot(struct sg_decoder *decoder, uint32_t width)
{
	uint32_t slot = decoder->frame_size;

	if (width) {
		decoder->frame_size += width * SG_WARP_SIZE;
		return slot;
	}
	if (!decoder->predicates_left) {
		decoder->next_predicate = slot;
		decoder->predicates_left = 16;
		decoder->frame_size += 64;
	}
	decoder->predicates_left--;
	slot = decoder->next_predicate;
	decoder->next_predicate += 4;
	return slot;
}

uint32_t sg_decode_temporary(struct sg_decoder *decoder, uint32_t width)
{
	uint32_t index = width == 2 ? 0 : width == 4 ? 1 : width == 8 ? 2 : width == 16 ? 3 : 4;

	if (decoder->temporary[index] == SG_NO_SLOT)
		decoder->temporary[index] = sg_decode_new_slot(decoder, width);
	return decoder->temporary[index];
}

int sg_decode_register(struct sg_decoder *decoder, const struct gt_ptx_operand *operand,
		       uint32_t *ret_slot, enum gt_ptx_type *ret_type)
{
	uint32_t number = gt_ptx_operand_register(operand);
	uint32_t width = sg_type_width(operand->variable->type);

	if (number >= decoder->source->register_count)
		return sg_decode_error(decoder, "invalid register '%s'", operand->variable->name);
	if (decoder->registers[number] == SG_NO_SLOT) {
		struct sg_slot slot = {.offset = sg_decode_new_slot(decoder, width),
				       .width = width};

		if (gt_vec_push(&decoder->function->slots, slot))
			return -ENOMEM;
		decoder->registers[number] = slot.offset;
	}
	*ret_slot = decoder->registers[number];
	*ret_type = operand->variable->type;
	return 0;
}

/* Finds or creates the slot with the contents of `fill`, whose slot is ignored. */
static int find_fill(struct sg_decoder *decoder, const struct sg_fill *fill, uint32_t *ret_slot)
{
	struct sg_fill key;
	void *known;
	uint32_t slot;

	memset(&key, 0, sizeof(key));
	key.kind = fill->kind;
	key.width = fill->width;
	key.selector = fill->selector;
	key.special = fill->special;
	key.value = fill->value;
	key.high = fill->high;
	key.addend = fill->addend;
	known = gt_hash_get(decoder->constants, &key, sizeof(key));
	if (known) {
		*ret_slot = (uint32_t)((uintptr_t)known - 1);
		return 0;
	}
	slot = sg_decode_new_slot(decoder, fill->width);
	if (gt_hash_set(decoder->constants, &key, sizeof(key), (void *)((uintptr_t)slot + 1)))
		return -ENOMEM;
	key.slot = slot;
	*ret_slot = slot;
	return gt_vec_push(&decoder->function->fills, key);
}

int sg_decode_constant(struct sg_decoder *decoder, uint32_t width, uint64_t value,
		       uint32_t *ret_slot)
{
	struct sg_fill fill = {.kind = SG_FILL_CONSTANT, .width = (uint8_t)width, .value = value};

	if (width < 8)
		fill.value &= (1ull << (8 * width)) - 1;
	if (width == 0)
		fill.value = value ? SG_FULL : 0;
	if (width == 16)
		fill.high = (int64_t)value < 0 ? UINT64_MAX : 0;
	return find_fill(decoder, &fill, ret_slot);
}

static bool float_bits(const struct gt_ptx_operand *operand, enum gt_ptx_type type,
		       uint64_t *ret_bits)
{
	bool is_wide = operand->kind == GT_PTX_OPERAND_FLOAT64;
	double value =
		is_wide ? sg_float_f64(operand->integer) : sg_float_f32((uint32_t)operand->integer);

	switch (type) {
	case GT_PTX_TYPE_F32:
		*ret_bits = is_wide ? sg_bits_f32((float)value) : operand->integer;
		return true;
	case GT_PTX_TYPE_F64:
		*ret_bits = is_wide ? operand->integer : sg_bits_f64(value);
		return true;
	case GT_PTX_TYPE_B32:
		*ret_bits = operand->integer;
		return !is_wide;
	case GT_PTX_TYPE_B64:
		*ret_bits = operand->integer;
		return is_wide;
	default:
		return false;
	}
}

/*
 * Converts an immediate to the bits of a type. As in ptxas, integers are no operands of
 * floating-point instructions, which would read them as tiny numbers, and vice versa.
 */
static bool immediate_bits(const struct gt_ptx_operand *operand, enum gt_ptx_type type,
			   uint64_t *ret_bits)
{
	bool is_float = gt_ptx_type_info(type)->class == GT_PTX_CLASS_FLOAT;

	switch (operand->kind) {
	case GT_PTX_OPERAND_INTEGER:
		*ret_bits = operand->integer;
		return !is_float;
	case GT_PTX_OPERAND_WARP_SIZE:
		*ret_bits = SG_WARP_SIZE;
		return !is_float;
	case GT_PTX_OPERAND_FLOAT32:
	case GT_PTX_OPERAND_FLOAT64:
		return float_bits(operand, type, ret_bits);
	default:
		return false;
	}
}

static int special_slot(struct sg_decoder *decoder, const struct gt_ptx_operand *operand,
			uint32_t width, uint32_t *ret_slot)
{
	enum sg_fill_kind kind;
	struct sg_fill fill = {.width = (uint8_t)width,
			       .special = (uint16_t)operand->special,
			       .selector = operand->selector};

	if (operand->special == GT_PTX_SPECIAL_ENVREG)
		fill.selector = (uint8_t)operand->index;
	decoder->function->uses_reserved_shared |= sg_special_is_reserved(operand->special);

	if (sg_special_fill_kind(operand->special, &kind)) {
		fill.kind = (uint8_t)kind;
		return find_fill(decoder, &fill, ret_slot);
	}
	*ret_slot = sg_decode_temporary(decoder, width);
	return sg_decode_changing(decoder, operand->special, width, *ret_slot);
}

int sg_decode_changing(struct sg_decoder *decoder, enum gt_ptx_special special, uint32_t width,
		       uint32_t slot)
{
	struct sg_instruction *step = sg_decode_emit(decoder, sg_run_special);

	if (!step)
		return -ENOMEM;
	step->d = slot;
	step->size = (uint8_t)width;
	step->selector = (uint8_t)special;
	return 0;
}

/* The sum of a register and a constant: %r1+4. */
static int sum_operand(struct sg_decoder *decoder, const struct gt_ptx_operand *operand,
		       uint32_t index, uint32_t width, uint32_t *ret_slot)
{
	struct gt_ptx_operand base = *operand;
	enum gt_ptx_type type;
	struct sg_instruction add = {0};
	int error;

	base.offset = 0;
	error = sg_decode_register(decoder, &base, &add.a, &type);
	if (error)
		return error;
	if (sg_type_width(type) != width || width < 2 || width > 8)
		return sg_decode_bad_operand(decoder, index);
	error = sg_decode_constant(decoder, width, (uint64_t)operand->offset, &add.b);
	if (error)
		return error;
	add.d = *ret_slot = sg_decode_new_slot(decoder, width);
	return sg_decode_emit_lanes(decoder,
				    width == 2   ? SG_LANE_add_u16
				    : width == 4 ? SG_LANE_add_u32
						 : SG_LANE_add_u64,
				    &add);
}

int sg_decode_source_operand(struct sg_decoder *decoder, const struct gt_ptx_operand *operand,
			     uint32_t index, enum gt_ptx_type type, bool wider, uint32_t *ret_slot,
			     uint32_t *ret_width)
{
	uint32_t width = sg_type_width(type), found;
	enum gt_ptx_type actual;
	uint64_t bits;
	int error;

	*ret_width = width;
	if (operand->kind == GT_PTX_OPERAND_REGISTER && gt_ptx_operand_offset(operand))
		return sum_operand(decoder, operand, index, width, ret_slot);
	if (operand->kind == GT_PTX_OPERAND_REGISTER && !operand->negated) {
		error = sg_decode_register(decoder, operand, ret_slot, &actual);
		if (error)
			return error;
		found = sg_type_width(actual);
		if (found != width && !(wider && width && found > width))
			return sg_decode_bad_operand(decoder, index);
		*ret_width = found;
		return 0;
	}
	if (operand->kind == GT_PTX_OPERAND_SPECIAL)
		return special_slot(decoder, operand, width, ret_slot);
	if (!width || !immediate_bits(operand, type, &bits))
		return sg_decode_bad_operand(decoder, index);
	return sg_decode_constant(decoder, width, bits, ret_slot);
}

int sg_decode_source(struct sg_decoder *decoder, uint32_t index, enum gt_ptx_type type,
		     uint32_t *ret_slot)
{
	const struct gt_ptx_operand *operand = sg_decode_operand(decoder, index);
	uint32_t width;

	if (!operand)
		return sg_decode_bad_operand(decoder, index);
	return sg_decode_source_operand(decoder, operand, index, type, false, ret_slot, &width);
}

int sg_decode_destination_operand(struct sg_decoder *decoder, const struct gt_ptx_operand *operand,
				  uint32_t index, enum gt_ptx_type type, bool wider,
				  uint32_t *ret_slot, uint32_t *ret_width)
{
	uint32_t width = sg_type_width(type);
	enum gt_ptx_type actual;
	int error;

	*ret_width = width;
	if (operand->kind == GT_PTX_OPERAND_SINK) {
		*ret_slot = SG_SINK;
		return 0;
	}
	if (operand->kind != GT_PTX_OPERAND_REGISTER || operand->negated ||
	    gt_ptx_operand_offset(operand))
		return sg_decode_bad_operand(decoder, index);
	error = sg_decode_register(decoder, operand, ret_slot, &actual);
	if (error)
		return error;
	*ret_width = sg_type_width(actual);
	if (*ret_width != width && !(wider && width && *ret_width > width))
		return sg_decode_bad_operand(decoder, index);
	return 0;
}

int sg_decode_destination(struct sg_decoder *decoder, uint32_t index, enum gt_ptx_type type,
			  uint32_t *ret_slot)
{
	const struct gt_ptx_operand *operand = sg_decode_operand(decoder, index);
	uint32_t width;

	if (!operand)
		return sg_decode_bad_operand(decoder, index);
	return sg_decode_destination_operand(decoder, operand, index, type, false, ret_slot,
					     &width);
}

int sg_decode_predicate(struct sg_decoder *decoder, const struct gt_ptx_operand *operand,
			uint32_t index, uint32_t *ret_slot, bool *ret_negated)
{
	enum gt_ptx_type type;
	enum sg_fill_kind kind;
	int error;

	if (!operand)
		return sg_decode_bad_operand(decoder, index);
	*ret_negated = operand->negated;
	if (operand->kind == GT_PTX_OPERAND_INTEGER)
		return sg_decode_constant(decoder, 0, operand->integer, ret_slot);
	if (operand->kind == GT_PTX_OPERAND_SPECIAL &&
	    gt_ptx_special_info(operand->special)->type == GT_PTX_TYPE_PRED &&
	    sg_special_fill_kind(operand->special, &kind))
		return special_slot(decoder, operand, 0, ret_slot);
	if (operand->kind != GT_PTX_OPERAND_REGISTER)
		return sg_decode_bad_operand(decoder, index);
	error = sg_decode_register(decoder, operand, ret_slot, &type);
	if (!error && type != GT_PTX_TYPE_PRED)
		error = sg_decode_bad_operand(decoder, index);
	return error;
}

int sg_decode_elements_of(struct sg_decoder *decoder, const struct gt_ptx_operand *operand,
			  uint32_t index, const struct gt_ptx_operand **items, uint32_t *ret_count)
{
	if (operand->kind == GT_PTX_OPERAND_VECTOR) {
		if (operand->count > SG_MAX_ELEMENTS)
			return sg_decode_bad_operand(decoder, index);
		for (uint32_t i = 0; i < operand->count; i++)
			items[i] = &operand->items[i];
		*ret_count = operand->count;
		return 0;
	}
	if (operand->kind == GT_PTX_OPERAND_REGISTER && operand->variable->vector > 1 &&
	    operand->selector == GT_PTX_SELECT_NONE) {
		*ret_count = operand->variable->vector;
		for (uint32_t i = 0; i < *ret_count && i < gt_countof(decoder->elements); i++) {
			decoder->elements[i] = *operand;
			decoder->elements[i].selector = (uint8_t)(GT_PTX_SELECT_X + i);
			items[i] = &decoder->elements[i];
		}
		return *ret_count <= gt_countof(decoder->elements)
			       ? 0
			       : sg_decode_bad_operand(decoder, index);
	}
	items[0] = operand;
	*ret_count = 1;
	return 0;
}

int sg_decode_elements(struct sg_decoder *decoder, uint32_t index,
		       const struct gt_ptx_operand **items, uint32_t *ret_count)
{
	const struct gt_ptx_operand *operand = sg_decode_operand(decoder, index);

	return operand ? sg_decode_elements_of(decoder, operand, index, items, ret_count)
		       : sg_decode_bad_operand(decoder, index);
}

uint32_t *sg_decode_list(struct sg_decoder *decoder, uint32_t count)
{
	struct sg_lists *lists = decoder->function->lists;

	if (!lists || lists->used + count > gt_countof(lists->items)) {
		lists = calloc(1, sizeof(*lists));
		if (!lists)
			return NULL;
		lists->next = decoder->function->lists;
		decoder->function->lists = lists;
	}
	lists->used += count;
	return &lists->items[lists->used - count];
}

/* ---- addresses ------------------------------------------------------------------------- */

static int symbol_address(struct sg_decoder *decoder, const struct gt_ptx_operand *operand,
			  uint32_t index, struct sg_address *address)
{
	const struct gt_ptx_variable *variable = operand->variable;
	uint64_t offset = decoder->unit->locations[variable->number];
	struct sg_fill fill = {.kind = SG_FILL_SHARED, .width = 8, .value = offset};

	if (offset == SG_UNRESOLVED)
		return sg_decode_missing(decoder, "variable", variable->name);
	address->space = (uint8_t)variable->space;
	address->offset = (uint64_t)operand->offset;
	switch (variable->space) {
	case GT_PTX_SPACE_GLOBAL:
	case GT_PTX_SPACE_CONST:
		address->offset = 0;
		return sg_decode_constant(decoder, 8, offset + (uint64_t)operand->offset,
					  &address->slot);
	case GT_PTX_SPACE_SHARED:
		if (gt_vec_push(&decoder->function->shared_used, (uint32_t)offset))
			return -ENOMEM;
		return find_fill(decoder, &fill, &address->slot);
	case GT_PTX_SPACE_LOCAL:
		address->is_frame = true;
		break;
	case GT_PTX_SPACE_PARAM:
		address->is_parameter = decoder->source->is_entry && !variable->block;
		address->is_frame = !address->is_parameter;
		break;
	default:
		return sg_decode_bad_operand(decoder, index);
	}
	address->slot = SG_NO_SLOT;
	address->offset += offset;
	return 0;
}

int sg_decode_address(struct sg_decoder *decoder, uint32_t index, struct sg_address *ret_address)
{
	const struct gt_ptx_operand *operand = sg_decode_operand(decoder, index);

	if (!operand)
		return sg_decode_bad_operand(decoder, index);
	return sg_decode_address_operand(decoder, operand, index, ret_address);
}

int sg_decode_address_operand(struct sg_decoder *decoder, const struct gt_ptx_operand *operand,
			      uint32_t index, struct sg_address *ret_address)
{
	const struct gt_ptx_operand *base;
	enum gt_ptx_type type;
	int error;

	*ret_address = (struct sg_address){.slot = SG_NO_SLOT};
	if (operand->kind != GT_PTX_OPERAND_ADDRESS || operand->count != 1)
		return sg_decode_bad_operand(decoder, index);
	base = &operand->items[0];
	switch (base->kind) {
	case GT_PTX_OPERAND_REGISTER:
		error = sg_decode_register(decoder, base, &ret_address->slot, &type);
		if (error)
			return error;
		if (sg_type_width(type) != 4 && sg_type_width(type) != 8)
			return sg_decode_bad_operand(decoder, index);
		ret_address->is_narrow = sg_type_width(type) == 4;
		ret_address->offset = (uint64_t)base->offset;
		return 0;
	case GT_PTX_OPERAND_SYMBOL:
		return symbol_address(decoder, base, index, ret_address);
	case GT_PTX_OPERAND_INTEGER:
		return sg_decode_constant(decoder, 8, base->integer, &ret_address->slot);
	default:
		return sg_decode_bad_operand(decoder, index);
	}
}

int sg_decode_slot_address(struct sg_decoder *decoder, uint32_t index,
			   struct sg_address *ret_address)
{
	int error = sg_decode_address(decoder, index, ret_address);

	if (!error && ret_address->slot == SG_NO_SLOT)
		error = sg_decode_bad_operand(decoder, index);
	return error;
}
