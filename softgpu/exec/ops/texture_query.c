/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Queries of textures and surfaces: txq, suq and istypep (PTX ISA 9.0, 9.7.10.5, 9.7.11.4). */
#include <errno.h>
#include <string.h>

#include "exec/ops/ops.h"
#include "exec/ops/texture.h"

enum texture_query {
	QUERY_WIDTH,
	QUERY_HEIGHT,
	QUERY_DEPTH,
	QUERY_CHANNEL_TYPE,
	QUERY_CHANNEL_ORDER,
	QUERY_NORMALIZED,
	QUERY_LAYERS,
	QUERY_LEVELS,
	QUERY_SAMPLES,
	QUERY_FILTER,
	QUERY_ADDRESS_0,
	QUERY_ADDRESS_1,
	QUERY_ADDRESS_2,
};

/* Queries by modifier; of surfaces, those of the image alone. */
static const struct {
	enum gt_ptx_modifier_id id;
	enum texture_query query;
	bool is_of_sampler;
} queries[] = {
	{GT_PTX_MOD_WIDTH, QUERY_WIDTH, false},
	{GT_PTX_MOD_HEIGHT, QUERY_HEIGHT, false},
	{GT_PTX_MOD_DEPTH, QUERY_DEPTH, false},
	{GT_PTX_MOD_CHANNEL_DATA_TYPE, QUERY_CHANNEL_TYPE, false},
	{GT_PTX_MOD_CHANNEL_ORDER, QUERY_CHANNEL_ORDER, false},
	{GT_PTX_MOD_ARRAY_SIZE, QUERY_LAYERS, false},
	{GT_PTX_MOD_NORMALIZED_COORDS, QUERY_NORMALIZED, true},
	{GT_PTX_MOD_NUM_MIPMAP_LEVELS, QUERY_LEVELS, true},
	{GT_PTX_MOD_NUM_SAMPLES, QUERY_SAMPLES, true},
	{GT_PTX_MOD_FILTER_MODE, QUERY_FILTER, true},
	{GT_PTX_MOD_ADDR_MODE_0, QUERY_ADDRESS_0, true},
	{GT_PTX_MOD_ADDR_MODE_1, QUERY_ADDRESS_1, true},
	{GT_PTX_MOD_ADDR_MODE_2, QUERY_ADDRESS_2, true},
};

/* CUarray_format of a channel. */
static uint32_t format_of(enum sg_channel channel)
{
	static const uint32_t formats[] = {
		[SG_CHANNEL_UINT8] = 0x01, [SG_CHANNEL_UINT16] = 0x02, [SG_CHANNEL_UINT32] = 0x03,
		[SG_CHANNEL_SINT8] = 0x08, [SG_CHANNEL_SINT16] = 0x09, [SG_CHANNEL_SINT32] = 0x0a,
		[SG_CHANNEL_HALF] = 0x10,  [SG_CHANNEL_FLOAT] = 0x20,
	};

	return formats[channel];
}

static uint32_t layers_of(const struct sg_texture_image *image)
{
	if (!image->is_layered)
		return 1;
	return image->levels[0].slices / (image->is_cube ? 6 : 1);
}

static uint32_t answer_query(const struct sg_texture *texture, enum texture_query query,
			     uint32_t level)
{
	const struct sg_texture_image *image = &texture->image;
	const struct sg_texture_level *of;

	of = &image->levels[level < image->level_count ? level : image->level_count - 1u];
	switch (query) {
	case QUERY_WIDTH:
		return of->width;
	case QUERY_HEIGHT:
		return of->height;
	case QUERY_DEPTH:
		return image->is_layered || image->is_cube ? 1 : of->slices;
	case QUERY_CHANNEL_TYPE:
		return format_of((enum sg_channel)image->channel);
	case QUERY_CHANNEL_ORDER:
		return image->channels;
	case QUERY_NORMALIZED:
		return texture->sampler.is_normalized;
	case QUERY_LAYERS:
		return layers_of(image);
	case QUERY_LEVELS:
		return image->level_count;
	case QUERY_SAMPLES:
		return 1;
	case QUERY_FILTER:
		return texture->sampler.is_linear;
	default:
		return texture->sampler.address[query - QUERY_ADDRESS_0];
	}
}

/* a: handle; b: level, or SG_NO_SLOT; count: of a surface. */
static const struct sg_instruction *run_query(struct sg_warp *warp, const struct sg_instruction *at)
{
	for (uint32_t lanes = warp->exec; lanes; lanes &= lanes - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(lanes), level = 0, answer;
		const struct sg_texture *texture = sg_find_texture(
			warp, at, lane, sg_read_lane(warp, at->a, 8, lane), at->count);

		if (!texture)
			return NULL;
		if (at->b != SG_NO_SLOT)
			level = (uint32_t)sg_read_lane(warp, at->b, 4, lane);
		answer = answer_query(texture, (enum texture_query)at->selector, level);
		memcpy(warp->frame + at->d + 4 * lane, &answer, sizeof(answer));
	}
	return at + 1;
}

/* selector: 0 no type, 1 texture, 2 surface */
static const struct sg_instruction *run_is_type(struct sg_warp *warp,
						const struct sg_instruction *at)
{
	uint32_t result = 0;

	for (uint32_t lanes = warp->exec; lanes; lanes &= lanes - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(lanes);
		const struct sg_texture_entry *entry = sg_texture_find(
			&warp->machine->textures, sg_read_lane(warp, at->a, 8, lane));

		if (entry && at->selector == 1u + entry->texture.is_surface)
			result |= 1u << lane;
	}
	sg_write_predicate(warp, at->d, result);
	return at + 1;
}

/* ---- decoding -------------------------------------------------------------------------- */

int sg_decode_texture_query(struct sg_decoder *decoder)
{
	const struct gt_ptx_form *form = sg_decode_form(decoder);
	bool is_surface = form->opcode == GT_PTX_OP_SUQ;
	const struct gt_ptx_operand *operand = sg_decode_operand(decoder, 1);
	struct sg_instruction step = {.b = SG_NO_SLOT, .count = is_surface};
	size_t i = 0;
	int error;

	while (i < gt_countof(queries) && !gt_ptx_form_has(form, queries[i].id))
		i++;
	if (i == gt_countof(queries) || sg_decode_type(decoder) != GT_PTX_TYPE_B32 ||
	    (is_surface && queries[i].is_of_sampler))
		return sg_decode_bad_form(decoder);
	step.selector = (uint8_t)queries[i].query;
	if (!operand || operand->count != 1)
		return sg_decode_bad_operand(decoder, 1);
	error = sg_decode_destination(decoder, 0, GT_PTX_TYPE_B32, &step.d);
	if (!error)
		error = sg_decode_handle(decoder, operand, 1, &step.a);
	if (!error && sg_decode_has(decoder, GT_PTX_MOD_LEVEL))
		error = sg_decode_source(decoder, 2, GT_PTX_TYPE_U32, &step.b);
	return error ? error : sg_decode_emit_step(decoder, run_query, &step);
}

/* istypep.type p, a */
int sg_decode_istypep(struct sg_decoder *decoder)
{
	enum gt_ptx_type type = sg_decode_type(decoder);
	struct sg_instruction step = {0};
	uint32_t width;
	int error;

	if (decoder->instruction->operand_count != 2)
		return sg_decode_bad_operand(decoder, 1);
	step.selector = type == GT_PTX_TYPE_TEXREF ? 1 : type == GT_PTX_TYPE_SURFREF ? 2 : 0;
	error = sg_decode_destination_operand(decoder, sg_decode_operand(decoder, 0), 0,
					      GT_PTX_TYPE_PRED, false, &step.d, &width);
	if (!error)
		error = sg_decode_source(decoder, 1, GT_PTX_TYPE_U64, &step.a);
	return error ? error : sg_decode_emit_step(decoder, run_is_type, &step);
}
