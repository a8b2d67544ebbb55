/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Loads, stores, fences and cache policies. */
#include <errno.h>
#include <string.h>

#include "exec/decode/decode.h"
#include "exec/ops/ops.h"

/* ---- at run time ----------------------------------------------------------------------- */

static void fill_active(char *slot, uint32_t width, uint32_t lanes, uint64_t value)
{
	for (; lanes; lanes &= lanes - 1)
		memcpy(slot + (uint32_t)__builtin_ctz(lanes) * width, &value, width);
}

/* From the kernel's parameters at immediate; size and count of the elements in memory. */
static const struct sg_instruction *run_load_parameter(struct sg_warp *warp,
						       const struct sg_instruction *at)
{
	const uint8_t *from = warp->grid->parameters + at->immediate;

	for (uint32_t i = 0; i < at->count; i++) {
		uint64_t value = 0;
		uint32_t slot = at->count > 1 ? at->list[i] : at->d;

		memcpy(&value, from + i * at->size, at->size);
		if (at->flags & SG_FLAG_NEGATE && at->size < 8 && (value >> (8 * at->size - 1) & 1))
			value |= UINT64_MAX << (8 * at->size);
		if (at->selector == 4 && warp->exec == SG_FULL)
			for (uint32_t lane = 0; lane < SG_WARP_SIZE; lane++)
				((uint32_t *)(void *)(warp->frame + slot))[lane] = (uint32_t)value;
		else if (at->selector == 8 && warp->exec == SG_FULL)
			for (uint32_t lane = 0; lane < SG_WARP_SIZE; lane++)
				((uint64_t *)(void *)(warp->frame + slot))[lane] = value;
		else
			fill_active(warp->frame + slot, at->selector, warp->exec, value);
	}
	return at + 1;
}

static const struct sg_instruction *run_fence(struct sg_warp *warp, const struct sg_instruction *at)
{
	sg_fence(warp->machine);
	return at + 1;
}

/* ---- modifiers ------------------------------------------------------------------------- */

/* Modifiers without effect: caches are not modelled. */
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

bool sg_decode_memory_modifiers(const struct gt_ptx_form *form,
				bool (*is_known)(enum gt_ptx_modifier_id),
				struct sg_memory_modifiers *ret_modifiers)
{
	*ret_modifiers = (struct sg_memory_modifiers){0};
	for (uint32_t i = 0; i < form->modifier_count; i++) {
		enum gt_ptx_modifier_id id = form->modifiers[i].id;

		if (read_space(id, &ret_modifiers->space) || (is_known && is_known(id)))
			continue;
		switch (id) {
		case GT_PTX_MOD_VOLATILE:
		case GT_PTX_MOD_RELAXED:
		case GT_PTX_MOD_MMIO:
			ret_modifiers->flags |= SG_FLAG_ATOMIC;
			break;
		case GT_PTX_MOD_ACQUIRE:
			ret_modifiers->flags |= SG_FLAG_ATOMIC | SG_FLAG_ACQUIRE;
			break;
		case GT_PTX_MOD_RELEASE:
			ret_modifiers->flags |= SG_FLAG_ATOMIC | SG_FLAG_RELEASE;
			break;
		case GT_PTX_MOD_ACQ_REL:
			ret_modifiers->flags |= SG_FLAG_ATOMIC | SG_FLAG_ACQUIRE | SG_FLAG_RELEASE;
			break;
		default:
			if (!is_hint(id))
				return false;
		}
	}
	return true;
}

/* ---- addresses ------------------------------------------------------------------------- */

int sg_decode_access(struct sg_decoder *decoder, struct sg_instruction *step,
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
		/* Generic, but the symbol has a space. */
		step->resolve =
			address->space == GT_PTX_SPACE_SHARED ? lanes->shared : lanes->global;
		return 0;
	}
}

/* ---- loads and stores ------------------------------------------------------------------ */

/* Returns the operation by bytes in memory and bytes of a lane. */
static enum sg_lane_op load_operation(uint32_t size, bool is_signed, uint32_t width)
{
	static const enum sg_lane_op loads[2][4][3] = {
		{{SG_LANE_ld_8_16, SG_LANE_ld_8_32, SG_LANE_ld_8_64},
		 {SG_LANE_ld_16_16, SG_LANE_ld_16_32, SG_LANE_ld_16_64},
		 {SG_LANE_NONE, SG_LANE_ld_32_32, SG_LANE_ld_32_64},
		 {SG_LANE_NONE, SG_LANE_NONE, SG_LANE_ld_64_64}},
		{{SG_LANE_ld_s8_16, SG_LANE_ld_s8_32, SG_LANE_ld_s8_64},
		 {SG_LANE_ld_16_16, SG_LANE_ld_s16_32, SG_LANE_ld_s16_64},
		 {SG_LANE_NONE, SG_LANE_ld_32_32, SG_LANE_ld_s32_64},
		 {SG_LANE_NONE, SG_LANE_NONE, SG_LANE_ld_64_64}},
	};

	return loads[is_signed][__builtin_ctz(size)][__builtin_ctz(width) - 1];
}

static enum sg_lane_op store_operation(uint32_t size, uint32_t width)
{
	static const enum sg_lane_op stores[4][3] = {
		{SG_LANE_st_8_16, SG_LANE_st_8_32, SG_LANE_st_8_64},
		{SG_LANE_st_16_16, SG_LANE_st_16_32, SG_LANE_st_16_64},
		{SG_LANE_NONE, SG_LANE_st_32_32, SG_LANE_st_32_64},
		{SG_LANE_NONE, SG_LANE_NONE, SG_LANE_st_64_64},
	};

	return stores[__builtin_ctz(size)][__builtin_ctz(width) - 1];
}

/* The elements of a load or store, as slots. */
struct access_elements {
	uint32_t count;
	uint32_t size;  /* bytes in memory */
	uint32_t width; /* bytes of a lane */
	uint32_t slots[2 * SG_MAX_ELEMENTS];
};

/* Replaces each .b128 by two elements of 64 bits. */
static void split_wide(struct access_elements *elements)
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
			 struct access_elements *ret_elements)
{
	const struct gt_ptx_form *form = sg_decode_form(decoder);
	const struct gt_ptx_operand *items[SG_MAX_ELEMENTS];
	enum gt_ptx_type type = sg_decode_type(decoder);
	uint32_t bits = gt_ptx_type_info(type)->bits, width;
	int error;

	*ret_elements = (struct access_elements){.size = bits / 8};
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
			const struct access_elements *elements)
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

/* ld.param of a kernel's own parameter, at a known offset. */
static int decode_parameter_load(struct sg_decoder *decoder, const struct sg_address *address,
				 const struct access_elements *elements, bool is_signed)
{
	uint64_t size = (uint64_t)elements->size * elements->count;
	struct sg_instruction step = {.immediate = address->offset,
				      .selector = (uint8_t)elements->width,
				      .flags = is_signed ? SG_FLAG_NEGATE : 0};
	int error;

	if (address->offset > decoder->function->parameter_size ||
	    size > decoder->function->parameter_size - address->offset)
		return sg_decode_error(decoder, "a load is outside of the parameters");
	error = set_elements(decoder, &step, elements);
	return error ? error : sg_decode_emit_step(decoder, run_load_parameter, &step);
}

int sg_decode_ld(struct sg_decoder *decoder)
{
	const struct gt_ptx_form *form = sg_decode_form(decoder);
	struct sg_memory_modifiers modifiers;
	struct access_elements elements;
	struct sg_instruction step = {0};
	struct sg_address address;
	enum sg_lane_op op;
	bool is_signed;
	int error;

	if (!sg_decode_memory_modifiers(form, NULL, &modifiers))
		return sg_decode_bad_form(decoder);
	error = read_elements(decoder, 0, true, &elements);
	if (!error)
		error = sg_decode_address(decoder, 1, &address);
	if (error)
		return error;
	is_signed = gt_ptx_type_info(form->types[0])->class == GT_PTX_CLASS_SIGNED;
	if (address.is_parameter && modifiers.space == GT_PTX_SPACE_PARAM)
		return decode_parameter_load(decoder, &address, &elements, is_signed);
	op = load_operation(elements.size, is_signed, elements.width);
	if (op == SG_LANE_NONE || address.is_parameter)
		return sg_decode_bad_form(decoder);
	step.flags = modifiers.flags;
	error = set_elements(decoder, &step, &elements);
	if (!error)
		error = sg_decode_access(decoder, &step, modifiers.space, &address);
	return error ? error : sg_decode_emit_lanes(decoder, op, &step);
}

bool sg_is_async_modifier(enum gt_ptx_modifier_id id)
{
	return id == GT_PTX_MOD_ASYNC || id == GT_PTX_MOD_MBARRIER_COMPLETE_TX_BYTES;
}

int sg_decode_async_completion(struct sg_decoder *decoder, uint32_t bytes)
{
	if (!gt_ptx_form_has(sg_decode_form(decoder), GT_PTX_MOD_MBARRIER_COMPLETE_TX_BYTES))
		return 0;
	return sg_decode_complete(decoder, decoder->instruction->operand_count - 1, bytes);
}

int sg_decode_st(struct sg_decoder *decoder)
{
	bool is_async = sg_decode_has(decoder, GT_PTX_MOD_ASYNC);
	struct sg_memory_modifiers modifiers;
	struct access_elements elements;
	struct sg_instruction step = {0};
	struct sg_address address;
	enum sg_lane_op op;
	int error;

	if (sg_decode_has(decoder, GT_PTX_MOD_BULK))
		return sg_decode_bulk_clear(decoder);
	if (!sg_decode_memory_modifiers(sg_decode_form(decoder),
					is_async ? sg_is_async_modifier : NULL, &modifiers))
		return sg_decode_bad_form(decoder);
	error = read_elements(decoder, 1, false, &elements);
	if (!error)
		error = sg_decode_address(decoder, 0, &address);
	if (error)
		return error;
	op = store_operation(elements.size, elements.width);
	if (op == SG_LANE_NONE || address.is_parameter || modifiers.space == GT_PTX_SPACE_CONST)
		return sg_decode_bad_form(decoder);
	step.flags = modifiers.flags;
	error = set_elements(decoder, &step, &elements);
	if (!error)
		error = sg_decode_access(decoder, &step, modifiers.space, &address);
	if (!error)
		error = sg_decode_emit_lanes(decoder, op, &step);
	return error ? error : sg_decode_async_completion(decoder, elements.size * elements.count);
}

/* ---- fences and cache policies --------------------------------------------------------- */

int sg_decode_fence(struct sg_decoder *decoder)
{
	return sg_decode_emit_plain(decoder, run_fence);
}

/* A cache policy: 0, since caches are not modelled. */
int sg_decode_createpolicy(struct sg_decoder *decoder)
{
	struct sg_instruction step = {0};
	int error = sg_decode_destination(decoder, 0, GT_PTX_TYPE_B64, &step.d);

	if (!error)
		error = sg_decode_constant(decoder, 8, 0, &step.a);
	return error ? error : sg_decode_emit_lanes(decoder, SG_LANE_mov_b64, &step);
}
