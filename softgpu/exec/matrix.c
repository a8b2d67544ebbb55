/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Matrices of a warp: loads, stores, products. All lanes take part (.sync.aligned). */
#include "exec/matrix.h"

#include <math.h>
#include <string.h>

#include "exec/convert.h"
#include "exec/float.h"
#include "exec/half.h"
#include "exec/steps.h"

uint32_t sg_element_bits(enum gt_ptx_type type)
{
	return gt_ptx_type_info(type)->bits;
}

uint32_t sg_register_elements(enum gt_ptx_type type)
{
	uint32_t bits = sg_element_bits(type);

	return bits < 32 ? 32 / bits : 1;
}

static const struct sg_matrix_plan *plan_of(const struct sg_instruction *at)
{
	return (const struct sg_matrix_plan *)(const void *)at->list;
}

/* ---- elements -------------------------------------------------------------------------- */

static double small_integer(uint64_t bits, const struct gt_ptx_type_info *type)
{
	bits &= UINT64_MAX >> (64 - type->bits);
	if (type->class == GT_PTX_CLASS_SIGNED && (bits >> (type->bits - 1) & 1))
		bits |= ~(UINT64_MAX >> (64 - type->bits));
	return (double)(int64_t)bits;
}

static double to_number(uint64_t bits, enum gt_ptx_type type)
{
	switch (type) {
	case GT_PTX_TYPE_F64:
		return sg_float_f64(bits);
	case GT_PTX_TYPE_F32:
		return sg_float_f32((uint32_t)bits);
	case GT_PTX_TYPE_TF32:
		/* The lower bits are not looked at. */
		return sg_float_f32((uint32_t)bits & 0xffffe000);
	case GT_PTX_TYPE_F16:
	case GT_PTX_TYPE_BF16:
		return sg_half_to_double((uint16_t)bits, type == GT_PTX_TYPE_BF16);
	case GT_PTX_TYPE_E4M3:
		return sg_small_to_double((uint32_t)bits & 255, GT_PTX_TYPE_E4M3X2);
	case GT_PTX_TYPE_E5M2:
		return sg_small_to_double((uint32_t)bits & 255, GT_PTX_TYPE_E5M2X2);
	default:
		return small_integer(bits, gt_ptx_type_info(type));
	}
}

static uint64_t from_number(double value, enum gt_ptx_type type, bool saturates)
{
	switch (type) {
	case GT_PTX_TYPE_F64:
		return sg_bits_f64(value);
	case GT_PTX_TYPE_F32:
		return sg_bits_f32(sg_canonical_f32((float)value));
	case GT_PTX_TYPE_F16:
		return sg_half_from_double(value, false, 0);
	default:
		if (saturates)
			value = fmin(fmax(value, INT32_MIN), INT32_MAX);
		return (uint32_t)(int64_t)value;
	}
}

static uint64_t read_register(const struct sg_warp *warp, uint32_t slot, uint32_t size,
			      uint32_t lane)
{
	uint64_t value = 0;

	memcpy(&value, warp->frame + slot + lane * size, size);
	return value;
}

static uint64_t read_element(const struct sg_warp *warp, const struct sg_fragment *fragment,
			     uint32_t lane, uint32_t index)
{
	uint32_t each = sg_register_elements((enum gt_ptx_type)fragment->type);
	uint32_t bits = sg_element_bits((enum gt_ptx_type)fragment->type);

	return read_register(warp, fragment->slots[index / each], bits == 64 ? 8 : 4, lane) >>
	       (index % each * bits);
}

static void write_element(struct sg_warp *warp, const struct sg_fragment *fragment, uint32_t lane,
			  uint32_t index, uint64_t value)
{
	uint32_t each = sg_register_elements((enum gt_ptx_type)fragment->type);
	uint32_t bits = sg_element_bits((enum gt_ptx_type)fragment->type);
	uint32_t size = bits == 64 ? 8 : 4, shift = index % each * bits;
	uint64_t mask = (UINT64_MAX >> (64 - bits)) << shift;
	char *place = warp->frame + fragment->slots[index / each] + lane * size;
	uint64_t word = read_register(warp, fragment->slots[index / each], size, lane);

	word = (word & ~mask) | (value << shift & mask);
	memcpy(place, &word, size);
}

static uint32_t element_count(const struct sg_fragment *fragment)
{
	return fragment->registers * sg_register_elements((enum gt_ptx_type)fragment->type);
}

/*
 * Where element `index` of a lane belongs. In the layouts of mma four lanes share a row of A (a
 * column of B): a register has neighbours along the inner dimension, the next one of A has the row
 * 8 below, then come the columns to the right. With wmma, lane after lane; where there is more
 * room than elements, a lane has its own more than once.
 */
static void find_place(const struct sg_fragment *fragment, uint32_t lane, uint32_t index,
		       uint32_t *ret_row, uint32_t *ret_column)
{
	uint32_t each = sg_register_elements((enum gt_ptx_type)fragment->type);
	uint32_t group = lane / 4, member = lane % 4, number = index / each;
	uint32_t own = (uint32_t)fragment->rows * fragment->columns / SG_WARP_SIZE;
	uint32_t halves = fragment->rows / 8;

	if (fragment->linear) {
		uint32_t place = lane * own + index % own;

		*ret_row = place / fragment->columns;
		*ret_column = place % fragment->columns;
		return;
	}
	switch (fragment->role) {
	case SG_MATRIX_A:
		*ret_row = group + 8 * (number % halves);
		*ret_column = (number / halves * 4 + member) * each + index % each;
		return;
	case SG_MATRIX_B:
		*ret_row = (number * 4 + member) * each + index % each;
		*ret_column = group;
		return;
	default:
		*ret_row = group + 8 * (index / 2);
		*ret_column = member * 2 + index % 2;
		return;
	}
}

/* ---- products -------------------------------------------------------------------------- */

/* All lanes must be there; else what comes out is undefined on hardware. */
static bool is_whole(struct sg_warp *warp, const struct sg_instruction *at)
{
	if (warp->exec == SG_FULL)
		return true;
	sg_warp_fault_text(warp, at, SG_FAULT_ILLEGAL_INSTRUCTION,
			   (uint32_t)__builtin_ctz(warp->exec), 0,
			   "a matrix instruction needs all 32 lanes of the warp");
	return false;
}

/* A matrix in rows of `stride` numbers. */
static void gather(const struct sg_warp *warp, const struct sg_fragment *fragment, double *numbers,
		   uint32_t stride)
{
	uint32_t count = element_count(fragment), row, column;

	for (uint32_t lane = 0; lane < SG_WARP_SIZE; lane++)
		for (uint32_t i = 0; i < count; i++) {
			find_place(fragment, lane, i, &row, &column);
			numbers[row * stride + column] =
				to_number(read_element(warp, fragment, lane, i),
					  (enum gt_ptx_type)fragment->type);
		}
}

static double multiply(double sum, double a, double b, enum sg_multiply how)
{
	switch (how) {
	case SG_MULTIPLY_XOR:
		return sum + (a != b);
	case SG_MULTIPLY_AND:
		return sum + (a != 0 && b != 0);
	default:
		return fma(a, b, sum);
	}
}

/* list: the plan. Sums are exact or rounded as .f64, and to the type of D once. */
const struct sg_instruction *sg_run_matrix_multiply(struct sg_warp *warp,
						    const struct sg_instruction *at)
{
	const struct sg_matrix_plan *plan = plan_of(at);
	double a[SG_MATRIX_ROWS * SG_MATRIX_INNER], b[SG_MATRIX_INNER * SG_MATRIX_COLUMNS];
	double c[SG_MATRIX_ROWS * SG_MATRIX_COLUMNS];
	uint32_t inner = plan->a.columns, columns = plan->d.columns, row, column;

	if (!is_whole(warp, at))
		return NULL;
	gather(warp, &plan->a, a, inner);
	gather(warp, &plan->b, b, columns);
	gather(warp, &plan->c, c, columns);
	for (uint32_t i = 0; i < plan->d.rows; i++)
		for (uint32_t j = 0; j < columns; j++)
			for (uint32_t k = 0; k < inner; k++)
				c[i * columns + j] = multiply(c[i * columns + j], a[i * inner + k],
							      b[k * columns + j],
							      (enum sg_multiply)plan->multiply);
	for (uint32_t lane = 0; lane < SG_WARP_SIZE; lane++)
		for (uint32_t i = 0; i < element_count(&plan->d); i++) {
			find_place(&plan->d, lane, i, &row, &column);
			write_element(warp, &plan->d, lane, i,
				      from_number(c[row * columns + column],
						  (enum gt_ptx_type)plan->d.type, plan->saturates));
		}
	return at + 1;
}

/* ---- memory ---------------------------------------------------------------------------- */

static uint64_t lane_address(const struct sg_warp *warp, const struct sg_instruction *at,
			     const struct sg_matrix_plan *plan, uint32_t lane)
{
	uint64_t address = read_register(warp, at->a, plan->is_narrow ? 4 : 8, lane);

	return address + at->immediate + (plan->is_shared ? warp->machine->windows.shared : 0);
}

/* The memory of this process at a generic address; NULL after a fault. */
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
 * wmma.load and .store of fragment d. a: the address; c: the slot with the elements from row to
 * row (from column to column); selector 1: store.
 */
const struct sg_instruction *sg_run_matrix_move(struct sg_warp *warp,
						const struct sg_instruction *at)
{
	const struct sg_matrix_plan *plan = plan_of(at);
	uint32_t size = sg_element_bits((enum gt_ptx_type)plan->d.type) / 8, row, column;

	if (!is_whole(warp, at))
		return NULL;
	for (uint32_t lane = 0; lane < SG_WARP_SIZE; lane++) {
		uint64_t address = lane_address(warp, at, plan, lane), value;
		uint64_t stride = read_register(warp, at->c, 4, lane);

		for (uint32_t i = 0; i < element_count(&plan->d); i++) {
			void *memory;

			find_place(&plan->d, lane, i, &row, &column);
			memory = find_memory(warp, at, lane,
					     address + size * (plan->by_column
								       ? column * stride + row
								       : row * stride + column),
					     size);
			if (!memory)
				return NULL;
			value = read_element(warp, &plan->d, lane, i);
			if (at->selector) {
				memcpy(memory, &value, size);
				continue;
			}
			memcpy(&value, memory, size);
			write_element(warp, &plan->d, lane, i, value);
		}
	}
	return at + 1;
}

enum {
	TILE = 8, /* rows and columns of the matrices of ldmatrix: 16 bits each element */
};

/* Element (row, column) of such a matrix, in its register. */
static uint32_t tile_lane(uint32_t row, uint32_t column)
{
	return row * 4 + column / 2;
}

/* ldmatrix and stmatrix (selector 1): lane 8 × i + r has the address of row r of matrix i. */
const struct sg_instruction *sg_run_matrix_rows(struct sg_warp *warp,
						const struct sg_instruction *at)
{
	const struct sg_matrix_plan *plan = plan_of(at);
	uint16_t *rows[SG_WARP_SIZE];

	if (!is_whole(warp, at))
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
		uint16_t *place = (uint16_t *)(void *)(warp->frame + plan->d.slots[matrix] +
						       4 * lane + 2 * half);

		if (at->selector)
			*memory = *place;
		else
			*place = *memory;
	}
	return at + 1;
}

/* movmatrix: transposed from a to d. */
const struct sg_instruction *sg_run_matrix_transpose(struct sg_warp *warp,
						     const struct sg_instruction *at)
{
	uint16_t from[2 * SG_WARP_SIZE], *to = (uint16_t *)(void *)(warp->frame + at->d);

	if (!is_whole(warp, at))
		return NULL;
	memcpy(from, warp->frame + at->a, sizeof(from));
	for (uint32_t row = 0; row < TILE; row++)
		for (uint32_t column = 0; column < TILE; column++)
			to[2 * tile_lane(column, row) + row % 2] =
				from[2 * tile_lane(row, column) + column % 2];
	return at + 1;
}
