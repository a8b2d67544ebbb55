/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Loads, stores and transposition of matrices: wmma.load, wmma.store, ldmatrix, stmatrix,
 * movmatrix.
 */
#include <errno.h>
#include <string.h>

#include "exec/decode/decode.h"
#include "exec/ops/matrix.h"
#include "exec/ops/ops.h"

static uint64_t lane_address(const struct sg_warp *warp, const struct sg_instruction *at,
			     const struct sg_matrix_plan *plan, uint32_t lane)
{
	return sg_read_address(warp, at->a, plan->is_narrow, at->immediate, lane) +
	       (plan->is_shared ? warp->machine->windows.shared : 0);
}

/* Resolves a generic address; NULL after a fault. */
static void *find_memory(struct sg_warp *warp, const struct sg_instruction *at, uint32_t lane,
			 uint64_t address, uint32_t size)
{
	uint64_t pointer = sg_warp_pointer(warp, lane, address, size);

	if (pointer && !(address % size))
		return (void *)(uintptr_t)pointer;
	sg_warp_fault(warp, at, pointer ? SG_FAULT_MISALIGNED : SG_FAULT_ILLEGAL_ADDRESS, lane,
		      address);
	return NULL;
}

/*
 * wmma.load and wmma.store of fragment d. a: the address; c: the slot of the stride in elements;
 * selector 1: store.
 */
static const struct sg_instruction *run_matrix_move(struct sg_warp *warp,
						    const struct sg_instruction *at)
{
	const struct sg_matrix_plan *plan = sg_matrix_plan_of(at);
	uint32_t size = sg_element_bits((enum gt_ptx_type)plan->d.type) / 8, row, column;

	if (!sg_matrix_is_whole(warp, at))
		return NULL;
	for (uint32_t lane = 0; lane < SG_WARP_SIZE; lane++) {
		uint64_t address = lane_address(warp, at, plan, lane), value;
		uint64_t stride = sg_read_lane(warp, at->c, 4, lane);

		for (uint32_t i = 0; i < sg_matrix_elements(&plan->d); i++) {
			void *memory;

			sg_matrix_position(&plan->d, lane, i, &row, &column);
			memory = find_memory(warp, at, lane,
					     address + size * (plan->by_column
								       ? column * stride + row
								       : row * stride + column),
					     size);
			if (!memory)
				return NULL;
			value = sg_matrix_read(warp, &plan->d, lane, i);
			if (at->selector) {
				memcpy(memory, &value, size);
				continue;
			}
			memcpy(&value, memory, size);
			sg_matrix_write(warp, &plan->d, lane, i, value);
		}
	}
	return at + 1;
}

enum {
	TILE = 8, /* rows and columns of the matrices of ldmatrix: 16 bits each element */
};

/* Returns the lane that holds element (row, column) of such a matrix. */
static uint32_t tile_lane(uint32_t row, uint32_t column)
{
	return row * 4 + column / 2;
}

/* ldmatrix and stmatrix (selector 1): lane 8 × i + r has the address of row r of matrix i. */
static const struct sg_instruction *run_matrix_rows(struct sg_warp *warp,
						    const struct sg_instruction *at)
{
	const struct sg_matrix_plan *plan = sg_matrix_plan_of(at);
	uint16_t *rows[SG_WARP_SIZE];

	if (!sg_matrix_is_whole(warp, at))
		return NULL;
	for (uint32_t lane = 0; lane < plan->d.registers * TILE; lane++) {
		rows[lane] =
			find_memory(warp, at, lane, lane_address(warp, at, plan, lane), 2 * TILE);
		if (!rows[lane])
			return NULL;
	}
	for (uint32_t i = 0; i < plan->d.registers * TILE * TILE; i++) {
		uint32_t matrix = i / TILE / TILE, row = i / TILE % TILE, column = i % TILE;
		uint32_t lane = plan->transposes ? tile_lane(column, row) : tile_lane(row, column);
		uint32_t half = (plan->transposes ? row : column) % 2;
		uint16_t *memory = &rows[matrix * TILE + row][column];
		uint16_t *element = (uint16_t *)(void *)(warp->frame + plan->d.slots[matrix] +
							 4 * lane + 2 * half);

		if (at->selector)
			*memory = *element;
		else
			*element = *memory;
	}
	return at + 1;
}

/* movmatrix: transposes a to d. */
static const struct sg_instruction *run_matrix_transpose(struct sg_warp *warp,
							 const struct sg_instruction *at)
{
	uint16_t from[2 * SG_WARP_SIZE], *to = (uint16_t *)(void *)(warp->frame + at->d);

	if (!sg_matrix_is_whole(warp, at))
		return NULL;
	memcpy(from, warp->frame + at->a, sizeof(from));
	for (uint32_t row = 0; row < TILE; row++)
		for (uint32_t column = 0; column < TILE; column++)
			to[2 * tile_lane(column, row) + row % 2] =
				from[2 * tile_lane(row, column) + column % 2];
	return at + 1;
}

/* ---- decoding -------------------------------------------------------------------------- */

/* The address of operand `index`, for lane_address. */
static int read_address(struct sg_decoder *decoder, uint32_t index, struct sg_matrix_plan *plan,
			struct sg_instruction *step)
{
	struct sg_address address;
	int error = sg_decode_slot_address(decoder, index, &address);

	if (error)
		return error;
	step->a = address.slot;
	step->immediate = address.offset;
	step->list = (const uint32_t *)(void *)plan;
	plan->is_narrow = address.is_narrow;
	plan->is_shared = sg_decode_has(decoder, GT_PTX_MOD_SHARED) ||
			  sg_decode_has(decoder, GT_PTX_MOD_SHARED_CTA);
	return 0;
}

/* wmma.load.a… r, [p]{, stride} and wmma.store.d… [p], r{, stride} */
static int decode_move(struct sg_decoder *decoder, bool is_store)
{
	const struct gt_ptx_form *form = sg_decode_form(decoder);
	const struct sg_matrix_shape *shape = sg_decode_matrix_shape(decoder);
	enum sg_matrix_role role = sg_decode_has(decoder, GT_PTX_MOD_A)   ? SG_MATRIX_A
				   : sg_decode_has(decoder, GT_PTX_MOD_B) ? SG_MATRIX_B
									  : SG_MATRIX_C;
	struct sg_instruction step = {.selector = is_store};
	struct sg_matrix_plan *plan;
	int error;

	if (!shape || form->type_count != 1 ||
	    sg_decode_has(decoder, GT_PTX_MOD_ROW) == sg_decode_has(decoder, GT_PTX_MOD_COL))
		return sg_decode_bad_form(decoder);
	plan = sg_decode_matrix_plan(decoder);
	if (!plan)
		return -ENOMEM;
	plan->by_column = sg_decode_has(decoder, GT_PTX_MOD_COL);
	error = sg_decode_fragment(decoder, is_store, !is_store, role, form->types[0], shape,
				   &plan->d);
	if (!error)
		error = read_address(decoder, !is_store, plan, &step);
	if (!error && decoder->instruction->operand_count > 2)
		error = sg_decode_source(decoder, 2, GT_PTX_TYPE_U32, &step.c);
	else if (!error)
		error = sg_decode_constant(
			decoder, 4, plan->by_column ? plan->d.rows : plan->d.columns, &step.c);
	return error ? error : sg_decode_emit_step(decoder, run_matrix_move, &step);
}

int sg_decode_wmma(struct sg_decoder *decoder)
{
	if (sg_decode_has(decoder, GT_PTX_MOD_MMA))
		return sg_decode_mma(decoder);
	if (sg_decode_has(decoder, GT_PTX_MOD_LOAD) || sg_decode_has(decoder, GT_PTX_MOD_STORE))
		return decode_move(decoder, sg_decode_has(decoder, GT_PTX_MOD_STORE));
	return sg_decode_bad_form(decoder);
}

/* ldmatrix… r, [p] and stmatrix… [p], r, of .m8n8 and .b16 */
int sg_decode_matrix_rows(struct sg_decoder *decoder)
{
	const struct gt_ptx_form *form = sg_decode_form(decoder);
	bool is_store = form->opcode == GT_PTX_OP_STMATRIX;
	uint32_t wanted = sg_decode_has(decoder, GT_PTX_MOD_X4)   ? 4
			  : sg_decode_has(decoder, GT_PTX_MOD_X2) ? 2
								  : 1;
	const struct gt_ptx_operand *items[SG_MAX_ELEMENTS];
	struct sg_instruction step = {.selector = is_store};
	struct sg_matrix_plan *plan;
	uint32_t count, width;
	int error;

	if (!sg_decode_has(decoder, GT_PTX_MOD_M8N8) || form->type_count != 1 ||
	    form->types[0] != GT_PTX_TYPE_B16)
		return sg_decode_bad_form(decoder);
	plan = sg_decode_matrix_plan(decoder);
	error = plan ? sg_decode_elements(decoder, is_store, items, &count) : -ENOMEM;
	if (error)
		return error;
	if (count != wanted)
		return sg_decode_bad_operand(decoder, is_store);
	plan->d.registers = (uint8_t)count;
	plan->transposes = sg_decode_has(decoder, GT_PTX_MOD_TRANS);
	for (uint32_t i = 0; i < count && !error; i++)
		error = is_store ? sg_decode_source_operand(decoder, items[i], 1, GT_PTX_TYPE_B32,
							    false, &plan->d.slots[i], &width)
				 : sg_decode_destination_operand(decoder, items[i], 0,
								 GT_PTX_TYPE_B32, false,
								 &plan->d.slots[i], &width);
	if (!error)
		error = read_address(decoder, !is_store, plan, &step);
	return error ? error : sg_decode_emit_step(decoder, run_matrix_rows, &step);
}

/* movmatrix.sync.aligned.m8n8.trans.b16 d, a */
int sg_decode_movmatrix(struct sg_decoder *decoder)
{
	struct sg_instruction step = {0};
	int error;

	if (!sg_decode_has(decoder, GT_PTX_MOD_M8N8) || !sg_decode_has(decoder, GT_PTX_MOD_TRANS) ||
	    !sg_decode_has(decoder, GT_PTX_MOD_B16))
		return sg_decode_bad_form(decoder);
	error = sg_decode_destination(decoder, 0, GT_PTX_TYPE_B32, &step.d);
	if (!error)
		error = sg_decode_source(decoder, 1, GT_PTX_TYPE_B32, &step.a);
	return error ? error : sg_decode_emit_step(decoder, run_matrix_transpose, &step);
}
