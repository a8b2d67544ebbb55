/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <inttypes.h>

#include "ptx/print.h"

static const char *const selectors[GT_PTX_SELECT_COUNT] = {
	[GT_PTX_SELECT_NONE] = "",  [GT_PTX_SELECT_X] = ".x",   [GT_PTX_SELECT_Y] = ".y",
	[GT_PTX_SELECT_Z] = ".z",   [GT_PTX_SELECT_W] = ".w",   [GT_PTX_SELECT_B0] = ".b0",
	[GT_PTX_SELECT_B1] = ".b1", [GT_PTX_SELECT_B2] = ".b2", [GT_PTX_SELECT_B3] = ".b3",
	[GT_PTX_SELECT_H0] = ".h0", [GT_PTX_SELECT_H1] = ".h1", [GT_PTX_SELECT_OTHER] = ".",
};

static void print_offset(struct gt_strbuf *buffer, int64_t offset)
{
	if (offset)
		gt_strbuf_printf(buffer, "+%" PRId64, offset);
}

static void print_selector(struct gt_strbuf *buffer, const struct gt_ptx_operand *operand)
{
	gt_strbuf_puts(buffer, selectors[operand->selector]);
	if (operand->selector == GT_PTX_SELECT_OTHER)
		gt_strbuf_puts(buffer, operand->selector_text);
}

static void print_register(struct gt_strbuf *buffer, const struct gt_ptx_operand *operand)
{
	gt_strbuf_puts(buffer, operand->variable->name);
	if (operand->variable->is_range)
		gt_strbuf_printf(buffer, "%" PRIu32, operand->index);
	print_selector(buffer, operand);
	if (operand->selector != GT_PTX_SELECT_OTHER)
		print_offset(buffer, operand->offset);
}

static void print_special(struct gt_strbuf *buffer, const struct gt_ptx_operand *operand)
{
	const struct gt_ptx_special_info *info = gt_ptx_special_info(operand->special);

	gt_strbuf_puts(buffer, info->name);
	if (info->members)
		gt_strbuf_printf(buffer, "%" PRIu32, operand->index);
	print_selector(buffer, operand);
}

static bool is_predicate(const struct gt_ptx_operand *operand)
{
	if (operand->kind == GT_PTX_OPERAND_SPECIAL)
		return gt_ptx_special_info(operand->special)->type == GT_PTX_TYPE_PRED;
	return operand->variable->type == GT_PTX_TYPE_PRED;
}

static void print_enclosed(struct gt_strbuf *buffer, char open, char close,
			   const struct gt_ptx_operand *operand)
{
	gt_strbuf_putc(buffer, open);
	ptx_print_operands(buffer, operand->items, operand->count);
	gt_strbuf_putc(buffer, close);
}

void ptx_print_operand(struct gt_strbuf *buffer, const struct gt_ptx_operand *operand)
{
	if (operand->negated)
		gt_strbuf_putc(buffer, is_predicate(operand) ? '!' : '-');
	switch ((enum gt_ptx_operand_kind)operand->kind) {
	case GT_PTX_OPERAND_REGISTER:
		print_register(buffer, operand);
		break;
	case GT_PTX_OPERAND_SPECIAL:
		print_special(buffer, operand);
		break;
	case GT_PTX_OPERAND_INTEGER:
		if (operand->is_unsigned)
			gt_strbuf_printf(buffer, "%" PRIu64 "U", operand->integer);
		else
			gt_strbuf_printf(buffer, "%" PRId64, (int64_t)operand->integer);
		break;
	case GT_PTX_OPERAND_WARP_SIZE:
		gt_strbuf_puts(buffer, "WARP_SZ");
		break;
	case GT_PTX_OPERAND_FLOAT32:
		gt_strbuf_printf(buffer, "0f%08" PRIX64, operand->integer);
		break;
	case GT_PTX_OPERAND_FLOAT64:
		gt_strbuf_printf(buffer, "0d%016" PRIX64, operand->integer);
		break;
	case GT_PTX_OPERAND_SYMBOL:
		gt_strbuf_puts(buffer, operand->variable->name);
		print_offset(buffer, operand->offset);
		break;
	case GT_PTX_OPERAND_FUNCTION:
		gt_strbuf_puts(buffer, operand->function->name);
		break;
	case GT_PTX_OPERAND_LABEL:
		gt_strbuf_puts(buffer, operand->label->name);
		break;
	case GT_PTX_OPERAND_SINK:
		gt_strbuf_putc(buffer, '_');
		break;
	case GT_PTX_OPERAND_ADDRESS:
		print_enclosed(buffer, '[', ']', operand);
		break;
	case GT_PTX_OPERAND_VECTOR:
		print_enclosed(buffer, '{', '}', operand);
		break;
	case GT_PTX_OPERAND_PAIR:
		ptx_print_operand(buffer, &operand->items[0]);
		gt_strbuf_putc(buffer, '|');
		ptx_print_operand(buffer, &operand->items[1]);
		break;
	case GT_PTX_OPERAND_KIND_COUNT:
		break;
	}
}

void ptx_print_operands(struct gt_strbuf *buffer, const struct gt_ptx_operand *items,
			uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (i)
			gt_strbuf_puts(buffer, ", ");
		ptx_print_operand(buffer, &items[i]);
	}
}

void gt_ptx_print_operand(const struct gt_ptx_operand *operand, struct gt_strbuf *buffer)
{
	ptx_print_operand(buffer, operand);
}

static void print_group(struct gt_strbuf *buffer, const struct gt_ptx_operand *items,
			uint32_t count)
{
	gt_strbuf_putc(buffer, '(');
	ptx_print_operands(buffer, items, count);
	gt_strbuf_putc(buffer, ')');
}

void ptx_print_call(struct gt_strbuf *buffer, const struct gt_ptx_call *call)
{
	if (call->return_count) {
		print_group(buffer, call->returns, call->return_count);
		gt_strbuf_puts(buffer, ", ");
	}
	ptx_print_operand(buffer, call->target);
	if (call->argument_count || call->prototype) {
		gt_strbuf_puts(buffer, ", ");
		print_group(buffer, call->arguments, call->argument_count);
	}
	if (call->prototype) {
		gt_strbuf_puts(buffer, ", ");
		ptx_print_operand(buffer, call->prototype);
	}
}

void gt_ptx_print_instruction(const struct gt_ptx_instruction *instruction,
			      struct gt_strbuf *buffer)
{
	if (instruction->guard) {
		gt_strbuf_putc(buffer, '@');
		ptx_print_operand(buffer, instruction->guard);
		gt_strbuf_putc(buffer, ' ');
	}
	gt_strbuf_puts(buffer, instruction->form->text);
	if (instruction->call || instruction->operand_count)
		gt_strbuf_putc(buffer, ' ');
	if (instruction->call)
		ptx_print_call(buffer, instruction->call);
	else
		ptx_print_operands(buffer, instruction->operands, instruction->operand_count);
	gt_strbuf_putc(buffer, ';');
}
