/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Products of matrices that the lanes of a warp hold: mma and wmma.mma. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "exec/decode/decode.h"
#include "exec/ops/convert.h"
#include "exec/ops/float.h"
#include "exec/ops/half.h"
#include "exec/ops/matrix.h"
#include "exec/ops/ops.h"

uint32_t sg_element_bits(enum gt_ptx_type type)
{
	return gt_ptx_type_info(type)->bits;
}

uint32_t sg_register_elements(enum gt_ptx_type type)
{
	uint32_t bits = sg_element_bits(type);

	return bits < 32 ? 32 / bits : 1;
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
		/* The lower bits are ignored. */
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

uint64_t sg_matrix_read(const struct sg_warp *warp, const struct sg_fragment *fragment,
			uint32_t lane, uint32_t index)
{
	uint32_t each = sg_register_elements((enum gt_ptx_type)fragment->type);
	uint32_t bits = sg_element_bits((enum gt_ptx_type)fragment->type);

	return sg_read_lane(warp, fragment->slots[index / each], bits == 64 ? 8 : 4, lane) >>
	       (index % each * bits);
}

void sg_matrix_write(struct sg_warp *warp, const struct sg_fragment *fragment, uint32_t lane,
		     uint32_t index, uint64_t value)
{
	uint32_t each = sg_register_elements((enum gt_ptx_type)fragment->type);
	uint32_t bits = sg_element_bits((enum gt_ptx_type)fragment->type);
	uint32_t size = bits == 64 ? 8 : 4, shift = index % each * bits;
	uint64_t mask = (UINT64_MAX >> (64 - bits)) << shift;
	char *offset = warp->frame + fragment->slots[index / each] + lane * size;
	uint64_t word = sg_read_lane(warp, fragment->slots[index / each], size, lane);

	word = (word & ~mask) | (value << shift & mask);
	memcpy(offset, &word, size);
}

uint32_t sg_matrix_elements(const struct sg_fragment *fragment)
{
	return fragment->registers * sg_register_elements((enum gt_ptx_type)fragment->type);
}

/*
 * In the layouts of mma four lanes share a row of A (a column of B): a register holds neighbours
 * along the inner dimension, the next register of A the row 8 below, then follow the columns to the
 * right. In that of wmma a lane holds consecutive elements, repeated if it has more registers.
 */
void sg_matrix_position(const struct sg_fragment *fragment, uint32_t lane, uint32_t index,
			uint32_t *ret_row, uint32_t *ret_column)
{
	uint32_t each = sg_register_elements((enum gt_ptx_type)fragment->type);
	uint32_t group = lane / 4, member = lane % 4, number = index / each;
	uint32_t own = (uint32_t)fragment->rows * fragment->columns / SG_WARP_SIZE;
	uint32_t halves = fragment->rows / 8;

	if (fragment->linear) {
		uint32_t offset = lane * own + index % own;

		*ret_row = offset / fragment->columns;
		*ret_column = offset % fragment->columns;
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

bool sg_matrix_is_whole(struct sg_warp *warp, const struct sg_instruction *at)
{
	if (warp->exec == SG_FULL)
		return true;
	if (sg_warp_rejoin(warp, at))
		return false;
	sg_warp_fault_text(warp, at, SG_FAULT_ILLEGAL_INSTRUCTION,
			   (uint32_t)__builtin_ctz(warp->exec), 0,
			   "a matrix instruction needs all 32 lanes of the warp");
	return false;
}

/* Collects a matrix in rows of `stride` values. */
static void gather(const struct sg_warp *warp, const struct sg_fragment *fragment, double *numbers,
		   uint32_t stride)
{
	uint32_t count = sg_matrix_elements(fragment), row, column;

	for (uint32_t lane = 0; lane < SG_WARP_SIZE; lane++)
		for (uint32_t i = 0; i < count; i++) {
			sg_matrix_position(fragment, lane, i, &row, &column);
			numbers[row * stride + column] =
				to_number(sg_matrix_read(warp, fragment, lane, i),
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

/* Sums are exact or rounded as .f64, and rounded once to the type of D. */
static const struct sg_instruction *run_matrix_multiply(struct sg_warp *warp,
							const struct sg_instruction *at)
{
	const struct sg_matrix_plan *plan = sg_matrix_plan_of(at);
	double a[SG_MATRIX_ROWS * SG_MATRIX_INNER], b[SG_MATRIX_INNER * SG_MATRIX_COLUMNS];
	double c[SG_MATRIX_ROWS * SG_MATRIX_COLUMNS];
	uint32_t inner = plan->a.columns, columns = plan->d.columns, row, column;

	if (!sg_matrix_is_whole(warp, at))
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
		for (uint32_t i = 0; i < sg_matrix_elements(&plan->d); i++) {
			sg_matrix_position(&plan->d, lane, i, &row, &column);
			sg_matrix_write(warp, &plan->d, lane, i,
					from_number(c[row * columns + column],
						    (enum gt_ptx_type)plan->d.type,
						    plan->saturates));
		}
	return at + 1;
}

/* ---- decoding: fragments --------------------------------------------------------------- */

static const struct sg_matrix_shape shapes[] = {
	{GT_PTX_MOD_M8N8K4, 8, 8, 4},       {GT_PTX_MOD_M8N8K16, 8, 8, 16},
	{GT_PTX_MOD_M8N8K32, 8, 8, 32},     {GT_PTX_MOD_M8N8K128, 8, 8, 128},
	{GT_PTX_MOD_M16N8K4, 16, 8, 4},     {GT_PTX_MOD_M16N8K8, 16, 8, 8},
	{GT_PTX_MOD_M16N8K16, 16, 8, 16},   {GT_PTX_MOD_M16N8K32, 16, 8, 32},
	{GT_PTX_MOD_M16N8K64, 16, 8, 64},   {GT_PTX_MOD_M16N8K128, 16, 8, 128},
	{GT_PTX_MOD_M16N8K256, 16, 8, 256}, {GT_PTX_MOD_M16N16K8, 16, 16, 8},
	{GT_PTX_MOD_M16N16K16, 16, 16, 16}, {GT_PTX_MOD_M32N8K16, 32, 8, 16},
	{GT_PTX_MOD_M8N32K16, 8, 32, 16},
};

const struct sg_matrix_shape *sg_decode_matrix_shape(const struct sg_decoder *decoder)
{
	for (size_t i = 0; i < gt_countof(shapes); i++)
		if (sg_decode_has(decoder, shapes[i].id))
			return &shapes[i];
	return NULL;
}

/* A plan that lives as long as the function. */
struct sg_matrix_plan *sg_decode_matrix_plan(struct sg_decoder *decoder)
{
	uint32_t *list = sg_decode_list(decoder, sizeof(struct sg_matrix_plan) / sizeof(*list));

	_Static_assert(sizeof(struct sg_matrix_plan) % sizeof(uint32_t) == 0,
		       "a plan is kept in a list of words");
	if (list)
		*(struct sg_matrix_plan *)(void *)list = (struct sg_matrix_plan){0};
	return (struct sg_matrix_plan *)(void *)list;
}

static bool is_factor(enum gt_ptx_type type, bool is_wmma)
{
	switch (type) {
	case GT_PTX_TYPE_F16:
	case GT_PTX_TYPE_BF16:
	case GT_PTX_TYPE_TF32:
	case GT_PTX_TYPE_F64:
	case GT_PTX_TYPE_S8:
	case GT_PTX_TYPE_U8:
		return true;
	case GT_PTX_TYPE_E4M3:
	case GT_PTX_TYPE_E5M2:
	case GT_PTX_TYPE_S4:
	case GT_PTX_TYPE_U4:
	case GT_PTX_TYPE_B1:
		return !is_wmma;
	default:
		return false;
	}
}

static bool is_sum(enum gt_ptx_type type)
{
	return type == GT_PTX_TYPE_F16 || type == GT_PTX_TYPE_F32 || type == GT_PTX_TYPE_F64 ||
	       type == GT_PTX_TYPE_S32;
}

/* Whether products of a type can be added to a sum of a type. */
static bool fits(enum gt_ptx_type factor, enum gt_ptx_type sum)
{
	switch (factor) {
	case GT_PTX_TYPE_F64:
		return sum == GT_PTX_TYPE_F64;
	case GT_PTX_TYPE_F16:
	case GT_PTX_TYPE_E4M3:
	case GT_PTX_TYPE_E5M2:
		return sum == GT_PTX_TYPE_F16 || sum == GT_PTX_TYPE_F32;
	case GT_PTX_TYPE_BF16:
	case GT_PTX_TYPE_TF32:
		return sum == GT_PTX_TYPE_F32;
	default:
		return sum == GT_PTX_TYPE_S32;
	}
}

/* Returns the registers of a fragment; wmma has 8 of .f16 for any shape. */
static uint32_t register_count(const struct sg_fragment *fragment)
{
	uint32_t elements = (uint32_t)fragment->rows * fragment->columns / SG_WARP_SIZE;

	if (fragment->linear && fragment->role != SG_MATRIX_C && fragment->type == GT_PTX_TYPE_F16)
		return 8;
	return elements / sg_register_elements((enum gt_ptx_type)fragment->type);
}

/* The registers of operand `index`. */
int sg_decode_fragment(struct sg_decoder *decoder, uint32_t index, bool is_written,
		       enum sg_matrix_role role, enum gt_ptx_type type,
		       const struct sg_matrix_shape *shape, struct sg_fragment *fragment)
{
	bool is_wmma = sg_decode_form(decoder)->opcode == GT_PTX_OP_WMMA;
	enum gt_ptx_type word = type == GT_PTX_TYPE_F64 ? GT_PTX_TYPE_B64 : GT_PTX_TYPE_B32;
	const struct gt_ptx_operand *items[SG_MAX_ELEMENTS];
	uint32_t count, width;
	int error;

	*fragment = (struct sg_fragment){
		.role = (uint8_t)role,
		.type = (uint8_t)type,
		.linear = is_wmma,
		.rows = role == SG_MATRIX_B ? shape->k : shape->m,
		.columns = role == SG_MATRIX_A ? shape->k : shape->n,
	};
	if (role == SG_MATRIX_C ? !is_sum(type) : !is_factor(type, is_wmma))
		return sg_decode_bad_form(decoder);
	/* Four lanes have a register each, side by side; m8n8k4 of .f16 has another layout. */
	if (!is_wmma && role != SG_MATRIX_C && shape->k % (4 * sg_register_elements(type)))
		return sg_decode_bad_form(decoder);
	error = sg_decode_elements(decoder, index, items, &count);
	if (error)
		return error;
	if (!count || count != register_count(fragment))
		return sg_decode_bad_operand(decoder, index);
	fragment->registers = (uint8_t)count;
	for (uint32_t i = 0; i < count && !error; i++)
		error = is_written
				? sg_decode_destination_operand(decoder, items[i], index, word,
								false, &fragment->slots[i], &width)
				: sg_decode_source_operand(decoder, items[i], index, word, false,
							   &fragment->slots[i], &width);
	return error;
}

/* ---- decoding: products ---------------------------------------------------------------- */

/* The types of D, A, B, C; with two types: those of D and C, A and B are .f16. */
static bool read_types(const struct gt_ptx_form *form, enum gt_ptx_type types[4])
{
	if (form->type_count != 4 && form->type_count != 2)
		return false;
	types[0] = form->types[0];
	types[1] = form->type_count == 4 ? form->types[1] : GT_PTX_TYPE_F16;
	types[2] = form->type_count == 4 ? form->types[2] : GT_PTX_TYPE_F16;
	types[3] = form->types[form->type_count - 1];
	return gt_ptx_type_info(types[1])->bits == gt_ptx_type_info(types[2])->bits &&
	       fits(types[1], types[0]) && fits(types[2], types[0]) && fits(types[1], types[3]);
}

int sg_decode_mma(struct sg_decoder *decoder)
{
	const struct gt_ptx_form *form = sg_decode_form(decoder);
	bool is_wmma = form->opcode == GT_PTX_OP_WMMA, is_bits;
	const struct sg_matrix_shape *shape = sg_decode_matrix_shape(decoder);
	struct sg_matrix_plan *plan;
	enum gt_ptx_type types[4];
	int error;

	if (!shape || !read_types(form, types) || sg_decode_has(decoder, GT_PTX_MOD_SP) ||
	    sg_decode_has(decoder, GT_PTX_MOD_BLOCK_SCALE))
		return sg_decode_bad_form(decoder);
	if (!is_wmma &&
	    (!sg_decode_has(decoder, GT_PTX_MOD_ROW) || !sg_decode_has(decoder, GT_PTX_MOD_COL)))
		return sg_decode_bad_form(decoder);
	is_bits = types[1] == GT_PTX_TYPE_B1;
	if (decoder->instruction->operand_count != 4)
		return sg_decode_bad_operand(decoder, 3);
	plan = sg_decode_matrix_plan(decoder);
	if (!plan)
		return -ENOMEM;
	plan->saturates = sg_decode_has(decoder, GT_PTX_MOD_SATFINITE);
	plan->multiply = !is_bits                                 ? SG_MULTIPLY
			 : sg_decode_has(decoder, GT_PTX_MOD_XOR) ? SG_MULTIPLY_XOR
								  : SG_MULTIPLY_AND;
	error = sg_decode_fragment(decoder, 0, true, SG_MATRIX_C, types[0], shape, &plan->d);
	if (!error)
		error = sg_decode_fragment(decoder, 1, false, SG_MATRIX_A, types[1], shape,
					   &plan->a);
	if (!error)
		error = sg_decode_fragment(decoder, 2, false, SG_MATRIX_B, types[2], shape,
					   &plan->b);
	if (!error)
		error = sg_decode_fragment(decoder, 3, false, SG_MATRIX_C, types[3], shape,
					   &plan->c);
	return error ? error
		     : sg_decode_emit_step(
			       decoder, run_matrix_multiply,
			       &(struct sg_instruction){.list = (const uint32_t *)(void *)plan});
}
