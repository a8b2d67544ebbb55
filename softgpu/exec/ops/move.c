/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Moves and conversions of addresses: mov, cvta, isspacep. */
#include <errno.h>
#include <string.h>

#include "exec/decode/decode.h"
#include "exec/engine/cluster.h"
#include "exec/engine/special.h"
#include "exec/ops/ops.h"

/* ---- at run time ----------------------------------------------------------------------- */

static const struct sg_instruction *run_move_predicate(struct sg_warp *warp,
						       const struct sg_instruction *at)
{
	sg_write_predicate(warp, at->d, *sg_slot32(warp->frame, at->a));
	return at + 1;
}

static const struct sg_instruction *run_address(struct sg_warp *warp,
						const struct sg_instruction *at)
{
	const uint64_t *base = (uint64_t *)(void *)(warp->frame + at->a);

	for (uint32_t lanes = warp->exec; lanes; lanes &= lanes - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(lanes);
		uint64_t value =
			at->immediate + (at->a == SG_NO_SLOT ? warp->stack[lane] : base[lane]);

		memcpy(warp->frame + at->d + lane * at->size, &value, at->size);
	}
	return at + 1;
}

/* Returns byte `offset` of a lane's value of `bytes`; a .b128 consists of two halves. */
static char *part_of(struct sg_warp *warp, uint32_t slot, uint32_t bytes, uint32_t lane,
		     uint32_t offset)
{
	char *base = warp->frame + slot;

	if (bytes == 16)
		return base + (offset >= 8 ? 256 : 0) + lane * 8 + offset % 8;
	return base + lane * bytes + offset;
}

static const struct sg_instruction *run_pack(struct sg_warp *warp, const struct sg_instruction *at)
{
	uint32_t bytes = (uint32_t)at->size * at->count, width = at->size < 2 ? 2 : at->size;

	for (uint32_t lanes = warp->exec; lanes; lanes &= lanes - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(lanes);
		char whole[16];

		for (uint32_t i = 0; i < at->count; i++)
			memcpy(whole + i * at->size, warp->frame + at->list[i] + lane * width,
			       at->size);
		for (uint32_t i = 0; i < at->count; i++)
			memcpy(part_of(warp, at->d, bytes, lane, i * at->size),
			       whole + i * at->size, at->size);
	}
	return at + 1;
}

static const struct sg_instruction *run_unpack(struct sg_warp *warp,
					       const struct sg_instruction *at)
{
	uint32_t bytes = (uint32_t)at->size * at->count, width = at->size < 2 ? 2 : at->size;

	for (uint32_t lanes = warp->exec; lanes; lanes &= lanes - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(lanes);
		char whole[16];

		for (uint32_t i = 0; i < at->count; i++)
			memcpy(whole + i * at->size,
			       part_of(warp, at->a, bytes, lane, i * at->size), at->size);
		for (uint32_t i = 0; i < at->count; i++) {
			char *to = warp->frame + at->list[i] + lane * width;

			memset(to, 0, width);
			memcpy(to, whole + i * at->size, at->size);
		}
	}
	return at + 1;
}

static const struct sg_instruction *run_is_space(struct sg_warp *warp,
						 const struct sg_instruction *at)
{
	const struct sg_windows *windows = &warp->machine->windows;
	const uint64_t *address = (uint64_t *)(void *)(warp->frame + at->a);
	/* The block's own shared memory, or with selector also that of the cluster's other blocks.
	 */
	uint64_t end = at->selector ? windows->local : windows->shared + SG_CLUSTER_STRIDE;
	uint32_t found = 0;

	for (uint32_t lane = 0; lane < SG_WARP_SIZE; lane++) {
		uint64_t a = address[lane];
		bool is_shared = a >= windows->shared && a < windows->local;
		bool is_own = is_shared && a < end;
		bool is_local = a >= windows->local && a < windows->parameter;
		bool is_parameter = a >= windows->parameter && a < windows->code;
		bool is = at->space == GT_PTX_SPACE_SHARED  ? is_own
			  : at->space == GT_PTX_SPACE_LOCAL ? is_local
			  : at->space == GT_PTX_SPACE_PARAM ? is_parameter
			  : at->space == GT_PTX_SPACE_CONST
				  ? sg_module_is_const(warp->function->module, a)
				  : !is_shared && !is_local;

		found |= (uint32_t)is << lane;
	}
	sg_write_predicate(warp, at->d, found);
	return at + 1;
}

/* ---- mov ------------------------------------------------------------------------------- */

static int emit_unary(struct sg_decoder *decoder, sg_run *run, uint32_t d, uint32_t a)
{
	return sg_decode_emit_step(decoder, run, &(struct sg_instruction){.d = d, .a = a});
}

static sg_run *move_step(const struct sg_decoder *decoder, uint32_t width)
{
	sg_run *const *run = decoder->machine->lanes->run;

	switch (width) {
	case 0:
		return run_move_predicate;
	case 2:
		return run[SG_LANE_mov_b16];
	case 4:
		return run[SG_LANE_mov_b32];
	case 8:
		return run[SG_LANE_mov_b64];
	default:
		return run[SG_LANE_mov_b128];
	}
}

int sg_decode_symbol(struct sg_decoder *decoder, const struct gt_ptx_operand *operand,
		     uint32_t width, uint32_t *ret_slot)
{
	struct gt_ptx_operand address = {
		.kind = GT_PTX_OPERAND_ADDRESS, .items = operand, .count = 1};
	struct sg_address found;
	int error;

	if (operand->kind == GT_PTX_OPERAND_FUNCTION) {
		struct sg_function *function = decoder->unit->functions[operand->function->number];

		if (!function)
			return sg_decode_missing(decoder, "function", operand->function->name);
		function->is_address_taken = true;
		return sg_decode_constant(decoder, width,
					  decoder->machine->windows.code +
						  (uint64_t)function->address_number *
							  SG_CODE_STRIDE,
					  ret_slot);
	}
	error = sg_decode_address_operand(decoder, &address, 1, &found);
	if (error)
		return error;
	if (found.is_parameter)
		return sg_decode_constant(decoder, width, found.offset, ret_slot);
	if (found.slot != SG_NO_SLOT && !found.offset && width == 8) {
		*ret_slot = found.slot;
		return 0;
	}
	*ret_slot = sg_decode_temporary(decoder, width);
	return sg_decode_emit_step(decoder, run_address,
				   &(struct sg_instruction){.d = *ret_slot,
							    .a = found.slot,
							    .immediate = found.offset,
							    .size = (uint8_t)width});
}

/* mov.b64 {lo, hi}, a and mov.b64 d, {lo, hi} */
static int decode_vector_mov(struct sg_decoder *decoder, enum gt_ptx_type type, bool packs)
{
	static const enum gt_ptx_type element_types[] = {GT_PTX_TYPE_B8, GT_PTX_TYPE_B16,
							 GT_PTX_TYPE_B32, GT_PTX_TYPE_B64};
	const struct gt_ptx_operand *items[SG_MAX_ELEMENTS];
	uint32_t part, count, width, bits = gt_ptx_type_info(type)->bits, *list;
	enum gt_ptx_type element;
	struct sg_instruction step = {0};
	int error = sg_decode_elements(decoder, packs ? 1 : 0, items, &count);

	if (error)
		return error;
	if (count < 2 || bits % (8 * count))
		return sg_decode_bad_operand(decoder, packs ? 1 : 0);
	part = bits / 8 / count;
	element = part == 1 || part == 2 || part == 4 ? element_types[__builtin_ctz(part)]
						      : GT_PTX_TYPE_B64;
	list = sg_decode_list(decoder, count);
	if (!list)
		return -ENOMEM;
	for (uint32_t i = 0; i < count && !error; i++)
		error = packs ? sg_decode_source_operand(decoder, items[i], 1, element, false,
							 &list[i], &width)
			      : sg_decode_destination_operand(decoder, items[i], 0, element, false,
							      &list[i], &width);
	if (!error)
		error = packs ? sg_decode_destination(decoder, 0, type, &step.d)
			      : sg_decode_source(decoder, 1, type, &step.a);
	if (error)
		return error;
	step.list = list;
	step.count = (uint8_t)count;
	step.size = (uint8_t)part;
	if (packs && count == 2 && (part == 2 || part == 4)) {
		step.a = list[0];
		step.b = list[1];
		return sg_decode_emit_lanes(decoder,
					    part == 2 ? SG_LANE_pack_b32 : SG_LANE_pack_b64, &step);
	}
	return sg_decode_emit_step(decoder, packs ? run_pack : run_unpack, &step);
}

/* mov.v4.u32 {…}, %tid: element by element, through copies, since sources may be targets too. */
static int decode_element_moves(struct sg_decoder *decoder, enum gt_ptx_type type)
{
	const struct gt_ptx_instruction *instruction = decoder->instruction;
	uint32_t vector = instruction->form->vector, width = sg_type_width(type), count, slot;
	const struct gt_ptx_operand *items[SG_MAX_ELEMENTS], *source = &instruction->operands[1];
	uint32_t copies[SG_MAX_ELEMENTS];
	int error = 0;

	if (source->kind == GT_PTX_OPERAND_SPECIAL) {
		for (count = 0; count < vector && count < gt_countof(decoder->elements); count++) {
			decoder->elements[count] = *source;
			decoder->elements[count].selector = (uint8_t)(GT_PTX_SELECT_X + count);
			items[count] = &decoder->elements[count];
		}
	} else {
		error = sg_decode_elements(decoder, 1, items, &count);
	}
	if (error || count != vector || !width)
		return error ? error : sg_decode_bad_operand(decoder, 1);
	for (uint32_t i = 0; i < vector && !error; i++) {
		copies[i] = sg_decode_new_slot(decoder, width);
		error = sg_decode_source_operand(decoder, items[i], 1, type, false, &slot, &count);
		if (!error)
			error = emit_unary(decoder, move_step(decoder, width), copies[i], slot);
	}
	if (!error)
		error = sg_decode_elements(decoder, 0, items, &count);
	if (!error && count != vector)
		return sg_decode_bad_operand(decoder, 0);
	for (uint32_t i = 0; i < vector && !error; i++) {
		error = sg_decode_destination_operand(decoder, items[i], 0, type, false, &slot,
						      &count);
		if (!error)
			error = emit_unary(decoder, move_step(decoder, width), slot, copies[i]);
	}
	return error;
}

/* Whether an operand is a list of elements, or a vector register as a whole. */
static bool has_elements(const struct gt_ptx_operand *operand)
{
	return operand->kind == GT_PTX_OPERAND_VECTOR ||
	       (operand->kind == GT_PTX_OPERAND_REGISTER && operand->variable->vector > 1 &&
		operand->selector == GT_PTX_SELECT_NONE);
}

int sg_decode_mov(struct sg_decoder *decoder)
{
	const struct gt_ptx_instruction *instruction = decoder->instruction;
	enum gt_ptx_type type = sg_decode_type(decoder);
	const struct gt_ptx_operand *source;
	enum sg_fill_kind kind;
	uint32_t d, a, width;
	bool negated;
	int error;

	if (type == GT_PTX_TYPE_NONE ||
	    instruction->form->modifier_count != 1u + (instruction->form->vector > 1))
		return sg_decode_bad_form(decoder);
	if (instruction->operand_count != 2)
		return sg_decode_bad_operand(decoder, 1);
	if (instruction->form->vector > 1)
		return decode_element_moves(decoder, type);
	source = &instruction->operands[1];
	width = sg_type_width(type);
	if (has_elements(&instruction->operands[0]))
		return decode_vector_mov(decoder, type, false);
	if (has_elements(source))
		return decode_vector_mov(decoder, type, true);
	if (source->kind == GT_PTX_OPERAND_SPECIAL && width &&
	    !sg_special_fill_kind(source->special, &kind)) {
		error = sg_decode_destination(decoder, 0, type, &d);
		return error ? error : sg_decode_changing(decoder, source->special, width, d);
	}
	if (type == GT_PTX_TYPE_PRED)
		error = sg_decode_predicate(decoder, source, 1, &a, &negated);
	else if (source->kind == GT_PTX_OPERAND_SYMBOL || source->kind == GT_PTX_OPERAND_FUNCTION)
		error = width < 4 ? sg_decode_bad_operand(decoder, 1)
				  : sg_decode_symbol(decoder, source, width, &a);
	else
		error = sg_decode_source(decoder, 1, type, &a);
	if (!error)
		error = sg_decode_destination(decoder, 0, type, &d);
	return error ? error : emit_unary(decoder, move_step(decoder, width), d, a);
}

/* ---- address spaces -------------------------------------------------------------------- */

/* Returns the window of a state space: the offset of its generic addresses. */
static bool window_of(const struct sg_decoder *decoder, const struct gt_ptx_form *form,
		      uint64_t *ret_window)
{
	const struct sg_windows *windows = &decoder->machine->windows;

	if (gt_ptx_form_has(form, GT_PTX_MOD_GLOBAL) || gt_ptx_form_has(form, GT_PTX_MOD_CONST))
		*ret_window = 0;
	else if (gt_ptx_form_has(form, GT_PTX_MOD_SHARED) ||
		 gt_ptx_form_has(form, GT_PTX_MOD_SHARED_CTA) ||
		 gt_ptx_form_has(form, GT_PTX_MOD_SHARED_CLUSTER))
		*ret_window = windows->shared;
	else if (gt_ptx_form_has(form, GT_PTX_MOD_LOCAL))
		*ret_window = windows->local;
	else if (gt_ptx_form_has(form, GT_PTX_MOD_PARAM) ||
		 gt_ptx_form_has(form, GT_PTX_MOD_PARAM_ENTRY))
		*ret_window = decoder->source->is_entry ? windows->parameter : windows->local;
	else
		return false;
	return true;
}

int sg_decode_cvta(struct sg_decoder *decoder)
{
	const struct gt_ptx_instruction *instruction = decoder->instruction;
	const struct gt_ptx_form *form = instruction->form;
	enum gt_ptx_type type = sg_decode_type(decoder);
	bool is_to = gt_ptx_form_has(form, GT_PTX_MOD_TO);
	struct sg_instruction step = {0};
	uint64_t window;
	int error;

	if (type != GT_PTX_TYPE_U64 || form->modifier_count != 2u + is_to ||
	    !window_of(decoder, form, &window))
		return sg_decode_bad_form(decoder);
	if (instruction->operand_count != 2)
		return sg_decode_bad_operand(decoder, 1);
	if (instruction->operands[1].kind == GT_PTX_OPERAND_SYMBOL)
		error = sg_decode_symbol(decoder, &instruction->operands[1], 8, &step.a);
	else
		error = sg_decode_source(decoder, 1, type, &step.a);
	if (!error)
		error = sg_decode_destination(decoder, 0, type, &step.d);
	if (error)
		return error;
	if (!window)
		return emit_unary(decoder, move_step(decoder, 8), step.d, step.a);
	step.immediate = is_to ? -window : window;
	return sg_decode_emit_lanes(decoder, SG_LANE_address_add, &step);
}

int sg_decode_isspacep(struct sg_decoder *decoder)
{
	static const struct {
		enum gt_ptx_modifier_id id;
		enum gt_ptx_space space;
	} spaces[] = {
		{GT_PTX_MOD_GLOBAL, GT_PTX_SPACE_GLOBAL},
		{GT_PTX_MOD_SHARED, GT_PTX_SPACE_SHARED},
		{GT_PTX_MOD_SHARED_CTA, GT_PTX_SPACE_SHARED},
		{GT_PTX_MOD_SHARED_CLUSTER, GT_PTX_SPACE_SHARED},
		{GT_PTX_MOD_LOCAL, GT_PTX_SPACE_LOCAL},
		{GT_PTX_MOD_CONST, GT_PTX_SPACE_CONST},
		{GT_PTX_MOD_PARAM, GT_PTX_SPACE_PARAM},
		{GT_PTX_MOD_PARAM_ENTRY, GT_PTX_SPACE_PARAM},
	};
	const struct gt_ptx_form *form = sg_decode_form(decoder);
	struct sg_instruction step = {.selector =
					      sg_decode_has(decoder, GT_PTX_MOD_SHARED_CLUSTER)};
	size_t row = 0;
	int error;

	if (form->modifier_count != 1)
		return sg_decode_bad_form(decoder);
	while (row < gt_countof(spaces) && spaces[row].id != form->modifiers[0].id)
		row++;
	if (row == gt_countof(spaces))
		return sg_decode_bad_form(decoder);
	step.space = (uint8_t)spaces[row].space;
	error = sg_decode_destination(decoder, 0, GT_PTX_TYPE_PRED, &step.d);
	if (!error)
		error = sg_decode_source(decoder, 1, GT_PTX_TYPE_U64, &step.a);
	return error ? error : sg_decode_emit_step(decoder, run_is_space, &step);
}
