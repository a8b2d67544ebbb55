/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The bits of operands, as they are in memory. */
#include <inttypes.h>
#include <string.h>

#include "base/clean.h"
#include "patch/values.h"

bool gt_patch_is_constant_operand(const struct gt_ptx_operand *operand)
{
	return operand->kind == GT_PTX_OPERAND_INTEGER || operand->kind == GT_PTX_OPERAND_FLOAT32 ||
	       operand->kind == GT_PTX_OPERAND_FLOAT64 || operand->kind == GT_PTX_OPERAND_WARP_SIZE;
}

/* The bits that a constant has in memory, of `bits` bits. */
static uint64_t constant_bits(const struct gt_ptx_operand *operand, unsigned bits)
{
	double wide;
	float narrow;
	uint32_t narrow_bits;

	if (operand->kind == GT_PTX_OPERAND_WARP_SIZE)
		return 32;
	if (operand->kind != GT_PTX_OPERAND_FLOAT64 || bits != 32)
		return operand->integer;
	memcpy(&wide, &operand->integer, sizeof(wide));
	narrow = (float)wide;
	memcpy(&narrow_bits, &narrow, sizeof(narrow_bits));
	return narrow_bits;
}

static uint64_t low_bits(unsigned bits)
{
	return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

void gt_patch_put_bits(const struct gt_patch_value_site *at, const char *to,
		       const struct gt_ptx_operand *operand, unsigned bits,
		       struct gt_strbuf *buffer)
{
	const char *p = at->prefix;
	unsigned size;

	if (gt_patch_is_constant_operand(operand)) {
		gt_strbuf_printf(buffer, "\tmov.b64 %s, 0x%" PRIx64 ";\n", to,
				 constant_bits(operand, bits) & low_bits(bits));
		return;
	}
	if (operand->kind != GT_PTX_OPERAND_REGISTER) {
		gt_strbuf_printf(buffer, "\tmov.b64 %s, 0;\n", to);
		return;
	}
	size = gt_ptx_type_info(operand->variable->type)->bits;
	if (size == 64)
		gt_strbuf_printf(buffer, "\tmov.b64 %s, ", to);
	else if (size == 8) /* mov has no such form */
		gt_strbuf_printf(buffer, "\tcvt.u64.u8 %s, ", to);
	else
		gt_strbuf_printf(buffer, "\tmov.b%u %sat_t%u, ", size, p, size);
	gt_ptx_print_operand(operand, buffer);
	gt_strbuf_puts(buffer, ";\n");
	if (size != 64 && size != 8)
		gt_strbuf_printf(buffer, "\tcvt.u64.u%u %s, %sat_t%u;\n", size, to, p, size);
	if (bits < size)
		gt_strbuf_printf(buffer, "\tand.b64 %s, %s, 0x%" PRIx64 ";\n", to, to,
				 low_bits(bits));
}

/* A register of 128 bits as two halves. */
static bool put_wide_register(const struct gt_patch_value_site *at,
			      const struct gt_ptx_operand *operand, struct gt_strbuf *buffer)
{
	if (operand->kind != GT_PTX_OPERAND_REGISTER ||
	    gt_ptx_type_info(operand->variable->type)->bits != 128)
		return false;
	gt_strbuf_printf(buffer, "\tmov.b128 {%sat_value, %sat_value_high}, ", at->prefix,
			 at->prefix);
	gt_ptx_print_operand(operand, buffer);
	gt_strbuf_puts(buffer, ";\n");
	return true;
}

struct gt_ptx_operand gt_patch_element_of(const struct gt_ptx_operand *value, uint32_t number)
{
	struct gt_ptx_operand element = *value;

	if (value->kind == GT_PTX_OPERAND_VECTOR)
		return value->items[number];
	if (value->kind == GT_PTX_OPERAND_REGISTER && value->variable->vector > 1 &&
	    value->selector == GT_PTX_SELECT_NONE && number < 4)
		element.selector = (uint8_t)(GT_PTX_SELECT_X + number);
	return element;
}

void gt_patch_put_value(const struct gt_patch_value_site *at, const struct gt_patch_access *access,
			struct gt_strbuf *buffer)
{
	static const char *const halves[] = {"value", "value_high"};
	const struct gt_ptx_operand *value = access->value;
	char part[GT_PATCH_MAX_NAME];

	gt_strbuf_printf(buffer, "\tmov.b64 %sat_value, 0;\n\tmov.b64 %sat_value_high, 0;\n",
			 at->prefix, at->prefix);
	if (!value || put_wide_register(at, value, buffer))
		return;
	snprintf(part, sizeof(part), "%sat_t64", at->prefix);
	for (uint32_t i = 0; i < access->elements; i++) {
		struct gt_ptx_operand element;
		uint32_t bit = i * access->element_bits;

		if (bit >= 128 || (value->kind == GT_PTX_OPERAND_VECTOR && i >= value->count))
			break;
		element = gt_patch_element_of(value, i);
		gt_patch_put_bits(at, part, &element, access->element_bits, buffer);
		if (bit % 64)
			gt_strbuf_printf(buffer, "\tshl.b64 %s, %s, %u;\n", part, part, bit % 64);
		gt_strbuf_printf(buffer, "\tor.b64 %sat_%s, %sat_%s, %s;\n", at->prefix,
				 halves[bit / 64], at->prefix, halves[bit / 64], part);
	}
}
