/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Texture instructions: tex and tld4 (PTX ISA 9.0, 9.7.10.3 and 9.7.10.4). */
#include "exec/ops/texture.h"

#include <errno.h>
#include <string.h>

#include "exec/ops/float.h"
#include "exec/ops/half.h"
#include "exec/ops/ops.h"

enum {
	CHANNELS = 4,
	MAX_DIMENSIONS = 3,
};

/* A decoded instruction: slots, and how to sample. */
struct texture_plan {
	struct sg_sample_plan sample;
	bool has_offset;
	uint8_t half; /* 1: results are .f16; 2: pairs, .f16x2 */
	uint32_t handle;
	uint32_t position[MAX_DIMENSIONS];
	uint32_t layer;
	uint32_t level;
	uint32_t dx[MAX_DIMENSIONS], dy[MAX_DIMENSIONS];
	uint32_t offset[MAX_DIMENSIONS];
	uint32_t result[CHANNELS];
	uint32_t resident; /* predicate; SG_NO_SLOT: none */
};

/* ---- at run time ----------------------------------------------------------------------- */

const struct sg_texture *sg_find_texture(struct sg_warp *warp, const struct sg_instruction *at,
					 uint32_t lane, uint64_t handle, bool is_surface)
{
	const struct sg_texture_entry *entry = sg_texture_find(&warp->machine->textures, handle);

	if (entry && entry->texture.is_surface == is_surface && entry->texture.image.level_count)
		return &entry->texture;
	sg_warp_fault_text(warp, at, SG_FAULT_INVALID_TEXTURE, lane, handle,
			   is_surface ? "invalid surface" : "invalid texture");
	return NULL;
}

static void read_words(const struct sg_warp *warp, const uint32_t *slots, uint32_t count,
		       uint32_t lane, void *to)
{
	for (uint32_t i = 0; i < count; i++)
		memcpy((char *)to + 4 * i, warp->frame + slots[i] + 4 * lane, 4);
}

static void read_sample(const struct sg_warp *warp, const struct texture_plan *plan, uint32_t lane,
			struct sg_sample *sample)
{
	uint32_t dimensions = plan->sample.dimensions;

	read_words(warp, plan->position, dimensions, lane,
		   plan->sample.is_integer ? (void *)sample->texel : sample->position);
	if (plan->sample.is_layered)
		read_words(warp, &plan->layer, 1, lane, &sample->layer);
	if (plan->sample.mode == SG_SAMPLE_LEVEL) {
		int32_t level;

		read_words(warp, &plan->level, 1, lane,
			   plan->sample.is_integer ? (void *)&level : &sample->level);
		if (plan->sample.is_integer)
			sample->level = (float)level;
	}
	if (plan->sample.mode == SG_SAMPLE_GRADIENT) {
		read_words(warp, plan->dx, dimensions, lane, sample->dx);
		read_words(warp, plan->dy, dimensions, lane, sample->dy);
	}
	if (plan->has_offset)
		read_words(warp, plan->offset, dimensions, lane, sample->offset);
}

static uint16_t half_of(const struct sg_texture *texture, uint32_t bits)
{
	return sg_texture_is_float(texture) ? sg_half_from_double(sg_float_f32(bits), false, 0)
					    : (uint16_t)bits;
}

static void write_result(struct sg_warp *warp, const struct texture_plan *plan, uint32_t lane,
			 const struct sg_texture *texture, const uint32_t bits[CHANNELS])
{
	uint16_t halves[CHANNELS];

	if (!plan->half) {
		for (uint32_t i = 0; i < CHANNELS; i++)
			memcpy(warp->frame + plan->result[i] + 4 * lane, &bits[i], 4);
		return;
	}
	for (uint32_t i = 0; i < CHANNELS; i++)
		halves[i] = half_of(texture, bits[i]);
	if (plan->half == 2) {
		for (uint32_t i = 0; i < CHANNELS / 2; i++)
			memcpy(warp->frame + plan->result[i] + 4 * lane, &halves[2 * i], 4);
		return;
	}
	for (uint32_t i = 0; i < CHANNELS; i++)
		memcpy(warp->frame + plan->result[i] + 2 * lane, &halves[i], 2);
}

static const struct sg_instruction *run_texture(struct sg_warp *warp,
						const struct sg_instruction *at)
{
	const struct texture_plan *plan = (const struct texture_plan *)(const void *)at->list;
	const struct sg_texture *texture = NULL;
	struct sg_sample sample = {0};
	uint64_t known = 0, bad;
	uint32_t bits[CHANNELS];

	for (uint32_t lanes = warp->exec; lanes; lanes &= lanes - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(lanes);
		uint64_t handle = sg_read_lane(warp, plan->handle, 8, lane);

		if (!texture || handle != known)
			texture = sg_find_texture(warp, at, lane, handle, false);
		if (!texture)
			return NULL;
		known = handle;
		read_sample(warp, plan, lane, &sample);
		if (!sg_texture_sample(texture, &warp->machine->memory, &plan->sample, &sample,
				       bits, &bad))
			return sg_warp_fault(warp, at, SG_FAULT_ILLEGAL_ADDRESS, lane, bad);
		write_result(warp, plan, lane, texture, bits);
	}
	/* All memory of an image is resident. */
	if (plan->resident != SG_NO_SLOT)
		sg_write_predicate(warp, plan->resident, SG_FULL);
	return at + 1;
}

/* ---- operands -------------------------------------------------------------------------- */

bool sg_find_geometry(const struct gt_ptx_form *form, struct sg_geometry *ret_geometry)
{
	static const struct {
		enum gt_ptx_modifier_id id;
		struct sg_geometry geometry;
	} geometries[] = {
		{GT_PTX_MOD_DIM_1D, {1, false, false}}, {GT_PTX_MOD_DIM_2D, {2, false, false}},
		{GT_PTX_MOD_DIM_3D, {3, false, false}}, {GT_PTX_MOD_A1D, {1, false, true}},
		{GT_PTX_MOD_A2D, {2, false, true}},     {GT_PTX_MOD_CUBE, {3, true, false}},
		{GT_PTX_MOD_ACUBE, {3, true, true}},
	};

	for (size_t i = 0; i < gt_countof(geometries); i++)
		if (gt_ptx_form_has(form, geometries[i].id)) {
			*ret_geometry = geometries[i].geometry;
			return true;
		}
	return false;
}

void *sg_decode_plan(struct sg_decoder *decoder, size_t size)
{
	/* One word more, to align it to 8 bytes. */
	uint32_t count = (uint32_t)((size + sizeof(uint32_t) - 1) / sizeof(uint32_t)) + 1;
	uint32_t *list = sg_decode_list(decoder, count);

	if (!list)
		return NULL;
	list += (uintptr_t)list % 8 / sizeof(*list);
	return memset(list, 0, size);
}

int sg_decode_handle(struct sg_decoder *decoder, const struct gt_ptx_operand *operand,
		     uint32_t index, uint32_t *ret_slot)
{
	const struct gt_ptx_operand *base;
	enum gt_ptx_type type;
	uint64_t handle;
	int error;

	if (operand->kind != GT_PTX_OPERAND_ADDRESS || !operand->count)
		return sg_decode_bad_operand(decoder, index);
	base = &operand->items[0];
	if (gt_ptx_operand_offset(base))
		return sg_decode_bad_operand(decoder, index);
	if (base->kind == GT_PTX_OPERAND_REGISTER) {
		error = sg_decode_register(decoder, base, ret_slot, &type);
		if (!error && sg_type_width(type) != 8)
			error = sg_decode_bad_operand(decoder, index);
		return error;
	}
	if (base->kind != GT_PTX_OPERAND_SYMBOL)
		return sg_decode_bad_operand(decoder, index);
	if (base->variable->space == GT_PTX_SPACE_PARAM)
		return sg_decode_error(decoder,
				       "unsupported texture reference parameter '%s' (pass a "
				       "texture object, .u64)",
				       base->variable->name);
	if (gt_ptx_type_info(base->variable->type)->class != GT_PTX_CLASS_OPAQUE)
		return sg_decode_bad_operand(decoder, index);
	handle = decoder->unit->locations[base->variable->number];
	if (handle == SG_UNRESOLVED)
		return sg_decode_missing(decoder, "texture", base->variable->name);
	return sg_decode_constant(decoder, 8, handle, ret_slot);
}

int sg_decode_values(struct sg_decoder *decoder, const struct gt_ptx_operand *operand,
		     uint32_t index, enum gt_ptx_type type, uint32_t skip, uint32_t count,
		     uint32_t *slots)
{
	const struct gt_ptx_operand *items[SG_MAX_ELEMENTS];
	uint32_t found, width;
	int error = sg_decode_elements_of(decoder, operand, index, items, &found);

	if (!error && found < skip + count)
		error = sg_decode_bad_operand(decoder, index);
	for (uint32_t i = 0; i < count && !error; i++)
		error = sg_decode_source_operand(decoder, items[skip + i], index, type, false,
						 &slots[i], &width);
	return error;
}

/* ---- tex and tld4 ---------------------------------------------------------------------- */

/* d or d|p */
static int decode_result(struct sg_decoder *decoder, struct texture_plan *plan)
{
	const struct gt_ptx_operand *operand = sg_decode_operand(decoder, 0), *vector = operand;
	const struct gt_ptx_operand *items[SG_MAX_ELEMENTS];
	enum gt_ptx_type type = plan->half == 1 ? GT_PTX_TYPE_B16 : GT_PTX_TYPE_B32;
	uint32_t count, width;
	int error;

	plan->resident = SG_NO_SLOT;
	if (!operand)
		return sg_decode_bad_operand(decoder, 0);
	if (operand->kind == GT_PTX_OPERAND_PAIR)
		vector = &operand->items[0];
	error = sg_decode_elements_of(decoder, vector, 0, items, &count);
	if (!error && count != (plan->half == 2 ? CHANNELS / 2 : CHANNELS))
		error = sg_decode_bad_operand(decoder, 0);
	for (uint32_t i = 0; i < count && !error; i++)
		error = sg_decode_destination_operand(decoder, items[i], 0, type, false,
						      &plan->result[i], &width);
	if (!error && vector != operand && operand->items[1].kind != GT_PTX_OPERAND_SINK)
		error = sg_decode_destination_operand(decoder, &operand->items[1], 0,
						      GT_PTX_TYPE_PRED, false, &plan->resident,
						      &width);
	return error;
}

/* [texture, coordinates] */
static int decode_position(struct sg_decoder *decoder, struct texture_plan *plan,
			   enum gt_ptx_type type)
{
	const struct gt_ptx_operand *operand = sg_decode_operand(decoder, 1);
	uint32_t skip = plan->sample.is_layered;
	int error;

	if (!operand || operand->kind != GT_PTX_OPERAND_ADDRESS)
		return sg_decode_bad_operand(decoder, 1);
	if (operand->count == 3)
		return sg_decode_error(
			decoder, "unsupported separate sampler (.texmode_independent) of '%s'",
			sg_decode_form(decoder)->text);
	if (operand->count != 2)
		return sg_decode_bad_operand(decoder, 1);
	error = sg_decode_handle(decoder, operand, 1, &plan->handle);
	if (!error && skip)
		error = sg_decode_values(decoder, &operand->items[1], 1, GT_PTX_TYPE_U32, 0, 1,
					 &plan->layer);
	return error ? error
		     : sg_decode_values(decoder, &operand->items[1], 1, type, skip,
					plan->sample.dimensions, plan->position);
}

/* The operands after the coordinates: a level or derivatives, an offset, a depth to compare. */
static int decode_rest(struct sg_decoder *decoder, struct texture_plan *plan)
{
	const struct gt_ptx_instruction *instruction = decoder->instruction;
	uint32_t dimensions = plan->sample.dimensions, next = 2;
	const struct gt_ptx_operand *operand;
	int error = 0;

	if (plan->sample.mode == SG_SAMPLE_LEVEL)
		error = sg_decode_source(
			decoder, next++,
			plan->sample.is_integer ? GT_PTX_TYPE_S32 : GT_PTX_TYPE_F32, &plan->level);
	if (plan->sample.mode == SG_SAMPLE_GRADIENT) {
		if (instruction->operand_count < 4)
			return sg_decode_bad_operand(decoder, next);
		error = sg_decode_values(decoder, &instruction->operands[2], 2, GT_PTX_TYPE_F32, 0,
					 dimensions, plan->dx);
		if (!error)
			error = sg_decode_values(decoder, &instruction->operands[3], 3,
						 GT_PTX_TYPE_F32, 0, dimensions, plan->dy);
		next = 4;
	}
	operand = sg_decode_operand(decoder, next);
	if (error || !operand)
		return error;
	/* A depth is a single .f32, an offset a vector or, of one dimension, a single .s32. */
	if (instruction->operand_count == next + 1 &&
	    (operand->kind == GT_PTX_OPERAND_VECTOR || !plan->sample.is_cube) &&
	    (operand->kind != GT_PTX_OPERAND_REGISTER || operand->variable->vector > 1 ||
	     dimensions == 1)) {
		plan->has_offset = true;
		return sg_decode_values(decoder, operand, next, GT_PTX_TYPE_S32, 0, dimensions,
					plan->offset);
	}
	return sg_decode_error(decoder, "unsupported comparison of depths by '%s'",
			       sg_decode_form(decoder)->text);
}

static bool find_mode(const struct sg_decoder *decoder, struct sg_sample_plan *sample)
{
	static const enum gt_ptx_modifier_id channels[CHANNELS] = {GT_PTX_MOD_R, GT_PTX_MOD_G,
								   GT_PTX_MOD_B, GT_PTX_MOD_A};

	if (sg_decode_form(decoder)->opcode == GT_PTX_OP_TLD4) {
		sample->mode = SG_SAMPLE_GATHER;
		for (uint32_t i = 0; i < CHANNELS; i++)
			if (sg_decode_has(decoder, channels[i])) {
				sample->channel = (uint8_t)i;
				return true;
			}
		return false;
	}
	sample->mode = sg_decode_has(decoder, GT_PTX_MOD_LEVEL)  ? SG_SAMPLE_LEVEL
		       : sg_decode_has(decoder, GT_PTX_MOD_GRAD) ? SG_SAMPLE_GRADIENT
								 : SG_SAMPLE_PLAIN;
	return true;
}

/* 4 × .u32, .s32, .f32 or .f16, or 2 × .f16x2; coordinates of .f32 or .s32. */
static bool has_known_types(const struct gt_ptx_form *form)
{
	if (form->type_count != 2 ||
	    (form->types[1] != GT_PTX_TYPE_F32 && form->types[1] != GT_PTX_TYPE_S32))
		return false;
	switch (form->types[0]) {
	case GT_PTX_TYPE_U32:
	case GT_PTX_TYPE_S32:
	case GT_PTX_TYPE_F32:
	case GT_PTX_TYPE_F16:
		return form->vector == CHANNELS;
	case GT_PTX_TYPE_F16X2:
		return form->vector == CHANNELS / 2;
	default:
		return false;
	}
}

int sg_decode_texture(struct sg_decoder *decoder)
{
	const struct gt_ptx_form *form = sg_decode_form(decoder);
	struct texture_plan *plan = sg_decode_plan(decoder, sizeof(*plan));
	struct sg_geometry geometry;
	int error;

	if (!plan)
		return -ENOMEM;
	if (!has_known_types(form) || !sg_find_geometry(form, &geometry) ||
	    !find_mode(decoder, &plan->sample))
		return sg_decode_bad_form(decoder);
	plan->half = form->types[0] == GT_PTX_TYPE_F16     ? 1
		     : form->types[0] == GT_PTX_TYPE_F16X2 ? 2
							   : 0;
	plan->sample.dimensions = geometry.dimensions;
	plan->sample.is_cube = geometry.is_cube;
	plan->sample.is_layered = geometry.is_layered;
	plan->sample.is_integer = form->types[1] == GT_PTX_TYPE_S32;
	if (plan->sample.is_integer && (geometry.is_cube || plan->sample.mode == SG_SAMPLE_GATHER))
		return sg_decode_bad_form(decoder);
	error = decode_result(decoder, plan);
	if (!error)
		error = decode_position(decoder, plan, form->types[1]);
	if (!error)
		error = decode_rest(decoder, plan);
	return error ? error
		     : sg_decode_emit_step(decoder, run_texture,
					   &(struct sg_instruction){
						   .list = (const uint32_t *)(const void *)plan});
}
