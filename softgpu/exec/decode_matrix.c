/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Decoding of mma, wmma, ldmatrix, stmatrix and movmatrix. */
#include <errno.h>

#include "exec/decode.h"
#include "exec/matrix.h"
#include "exec/steps.h"

static const struct shape {
	enum gt_ptx_modifier_id id;
	uint16_t m, n, k;
} shapes[] = {
	{GT_PTX_MOD_M8N8K4, 8, 8, 4},       {GT_PTX_MOD_M8N8K16, 8, 8, 16},
	{GT_PTX_MOD_M8N8K32, 8, 8, 32},     {GT_PTX_MOD_M8N8K128, 8, 8, 128},
	{GT_PTX_MOD_M16N8K4, 16, 8, 4},     {GT_PTX_MOD_M16N8K8, 16, 8, 8},
	{GT_PTX_MOD_M16N8K16, 16, 8, 16},   {GT_PTX_MOD_M16N8K32, 16, 8, 32},
	{GT_PTX_MOD_M16N8K64, 16, 8, 64},   {GT_PTX_MOD_M16N8K128, 16, 8, 128},
	{GT_PTX_MOD_M16N8K256, 16, 8, 256}, {GT_PTX_MOD_M16N16K8, 16, 16, 8},
	{GT_PTX_MOD_M16N16K16, 16, 16, 16}, {GT_PTX_MOD_M32N8K16, 32, 8, 16},
	{GT_PTX_MOD_M8N32K16, 8, 32, 16},
};

static bool has(const struct sg_decoder *decoder, enum gt_ptx_modifier_id id)
{
	return gt_ptx_form_has(sg_decode_form(decoder), id);
}

static const struct shape *find_shape(const struct sg_decoder *decoder)
{
	for (size_t i = 0; i < gt_countof(shapes); i++)
		if (has(decoder, shapes[i].id))
			return &shapes[i];
	return NULL;
}

/* A plan that lives as long as the function. */
static struct sg_matrix_plan *new_plan(struct sg_decoder *decoder)
{
	uint32_t *list = sg_decode_list(decoder, sizeof(struct sg_matrix_plan) / sizeof(*list));

	_Static_assert(sizeof(struct sg_matrix_plan) % sizeof(uint32_t) == 0,
		       "a plan is kept in a list of words");
	if (list)
		*(struct sg_matrix_plan *)(void *)list = (struct sg_matrix_plan){0};
	return (struct sg_matrix_plan *)(void *)list;
}

/* ---- fragments ------------------------------------------------------------------------- */

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

/* Which sums products of a type have. */
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

/* Its registers for a whole matrix; of wmma's .f16 there are 8 whatever the shape. */
static uint32_t register_count(const struct sg_fragment *fragment)
{
	uint32_t elements = (uint32_t)fragment->rows * fragment->columns / SG_WARP_SIZE;

	if (fragment->linear && fragment->role != SG_MATRIX_C && fragment->type == GT_PTX_TYPE_F16)
		return 8;
	return elements / sg_register_elements((enum gt_ptx_type)fragment->type);
}

/* The registers of operand `index`. */
static int read_fragment(struct sg_decoder *decoder, uint32_t index, bool is_written,
			 enum sg_matrix_role role, enum gt_ptx_type type, const struct shape *shape,
			 struct sg_fragment *fragment)
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
	/* Four lanes have a register each, side by side: m8n8k4 of .f16 has another layout. */
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

/* ---- products -------------------------------------------------------------------------- */

/* Types of D, A, B, C: given, or with two those of D and C beside .f16. */
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

static int decode_multiply(struct sg_decoder *decoder)
{
	const struct gt_ptx_form *form = sg_decode_form(decoder);
	bool is_wmma = form->opcode == GT_PTX_OP_WMMA, is_bits;
	const struct shape *shape = find_shape(decoder);
	struct sg_matrix_plan *plan;
	enum gt_ptx_type types[4];
	int error;

	if (!shape || !read_types(form, types) || has(decoder, GT_PTX_MOD_SP) ||
	    has(decoder, GT_PTX_MOD_BLOCK_SCALE))
		return sg_decode_bad_form(decoder);
	if (!is_wmma && (!has(decoder, GT_PTX_MOD_ROW) || !has(decoder, GT_PTX_MOD_COL)))
		return sg_decode_bad_form(decoder);
	is_bits = types[1] == GT_PTX_TYPE_B1;
	if (decoder->instruction->operand_count != 4)
		return sg_decode_bad_operand(decoder, 3);
	plan = new_plan(decoder);
	if (!plan)
		return -ENOMEM;
	plan->saturates = has(decoder, GT_PTX_MOD_SATFINITE);
	plan->multiply = !is_bits                       ? SG_MULTIPLY
			 : has(decoder, GT_PTX_MOD_XOR) ? SG_MULTIPLY_XOR
							: SG_MULTIPLY_AND;
	error = read_fragment(decoder, 0, true, SG_MATRIX_C, types[0], shape, &plan->d);
	if (!error)
		error = read_fragment(decoder, 1, false, SG_MATRIX_A, types[1], shape, &plan->a);
	if (!error)
		error = read_fragment(decoder, 2, false, SG_MATRIX_B, types[2], shape, &plan->b);
	if (!error)
		error = read_fragment(decoder, 3, false, SG_MATRIX_C, types[3], shape, &plan->c);
	return error ? error
		     : sg_decode_emit_step(
			       decoder, sg_run_matrix_multiply,
			       &(struct sg_instruction){.list = (const uint32_t *)(void *)plan});
}

int sg_decode_mma(struct sg_decoder *decoder)
{
	return decode_multiply(decoder);
}

/* ---- memory ---------------------------------------------------------------------------- */

/* The address of operand `index`, for lane_address of matrix.c. */
static int read_address(struct sg_decoder *decoder, uint32_t index, struct sg_matrix_plan *plan,
			struct sg_instruction *step)
{
	struct sg_address address;
	int error = sg_decode_address(decoder, index, &address);

	if (error)
		return error;
	if (address.slot == SG_NO_SLOT)
		return sg_decode_bad_operand(decoder, index);
	step->a = address.slot;
	step->immediate = address.offset;
	step->list = (const uint32_t *)(void *)plan;
	plan->is_narrow = address.is_narrow;
	plan->is_shared = has(decoder, GT_PTX_MOD_SHARED) || has(decoder, GT_PTX_MOD_SHARED_CTA);
	return 0;
}

/* wmma.load.a… r, [p]{, stride} and wmma.store.d… [p], r{, stride} */
static int decode_move(struct sg_decoder *decoder, bool is_store)
{
	const struct gt_ptx_form *form = sg_decode_form(decoder);
	const struct shape *shape = find_shape(decoder);
	enum sg_matrix_role role = has(decoder, GT_PTX_MOD_A)   ? SG_MATRIX_A
				   : has(decoder, GT_PTX_MOD_B) ? SG_MATRIX_B
								: SG_MATRIX_C;
	struct sg_instruction step = {.selector = is_store};
	struct sg_matrix_plan *plan;
	int error;

	if (!shape || form->type_count != 1 ||
	    has(decoder, GT_PTX_MOD_ROW) == has(decoder, GT_PTX_MOD_COL))
		return sg_decode_bad_form(decoder);
	plan = new_plan(decoder);
	if (!plan)
		return -ENOMEM;
	plan->by_column = has(decoder, GT_PTX_MOD_COL);
	error = read_fragment(decoder, is_store, !is_store, role, form->types[0], shape, &plan->d);
	if (!error)
		error = read_address(decoder, !is_store, plan, &step);
	if (!error && decoder->instruction->operand_count > 2)
		error = sg_decode_source(decoder, 2, GT_PTX_TYPE_U32, &step.c);
	else if (!error)
		error = sg_decode_constant(
			decoder, 4, plan->by_column ? plan->d.rows : plan->d.columns, &step.c);
	return error ? error : sg_decode_emit_step(decoder, sg_run_matrix_move, &step);
}

int sg_decode_wmma(struct sg_decoder *decoder)
{
	if (has(decoder, GT_PTX_MOD_MMA))
		return decode_multiply(decoder);
	if (has(decoder, GT_PTX_MOD_LOAD) || has(decoder, GT_PTX_MOD_STORE))
		return decode_move(decoder, has(decoder, GT_PTX_MOD_STORE));
	return sg_decode_bad_form(decoder);
}

/* ldmatrix… r, [p] and stmatrix… [p], r, of .m8n8 and .b16 */
int sg_decode_matrix_rows(struct sg_decoder *decoder)
{
	const struct gt_ptx_form *form = sg_decode_form(decoder);
	bool is_store = form->opcode == GT_PTX_OP_STMATRIX;
	uint32_t wanted = has(decoder, GT_PTX_MOD_X4) ? 4 : has(decoder, GT_PTX_MOD_X2) ? 2 : 1;
	const struct gt_ptx_operand *items[SG_MAX_ELEMENTS];
	struct sg_instruction step = {.selector = is_store};
	struct sg_matrix_plan *plan;
	uint32_t count, width;
	int error;

	if (!has(decoder, GT_PTX_MOD_M8N8) || form->type_count != 1 ||
	    form->types[0] != GT_PTX_TYPE_B16)
		return sg_decode_bad_form(decoder);
	plan = new_plan(decoder);
	error = plan ? sg_decode_elements(decoder, is_store, items, &count) : -ENOMEM;
	if (error)
		return error;
	if (count != wanted)
		return sg_decode_bad_operand(decoder, is_store);
	plan->d.registers = (uint8_t)count;
	plan->transposes = has(decoder, GT_PTX_MOD_TRANS);
	for (uint32_t i = 0; i < count && !error; i++)
		error = is_store ? sg_decode_source_operand(decoder, items[i], 1, GT_PTX_TYPE_B32,
							    false, &plan->d.slots[i], &width)
				 : sg_decode_destination_operand(decoder, items[i], 0,
								 GT_PTX_TYPE_B32, false,
								 &plan->d.slots[i], &width);
	if (!error)
		error = read_address(decoder, !is_store, plan, &step);
	return error ? error : sg_decode_emit_step(decoder, sg_run_matrix_rows, &step);
}

/* movmatrix.sync.aligned.m8n8.trans.b16 d, a */
int sg_decode_movmatrix(struct sg_decoder *decoder)
{
	struct sg_instruction step = {0};
	int error;

	if (!has(decoder, GT_PTX_MOD_M8N8) || !has(decoder, GT_PTX_MOD_TRANS) ||
	    !has(decoder, GT_PTX_MOD_B16))
		return sg_decode_bad_form(decoder);
	error = sg_decode_destination(decoder, 0, GT_PTX_TYPE_B32, &step.d);
	if (!error)
		error = sg_decode_source(decoder, 1, GT_PTX_TYPE_B32, &step.a);
	return error ? error : sg_decode_emit_step(decoder, sg_run_matrix_transpose, &step);
}
