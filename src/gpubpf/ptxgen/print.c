/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The list of instructions as text. */
#include <errno.h>
#include <string.h>

#include "gpubpf/ptxgen/ir.h"

struct printer {
	struct gt_strbuf *text;
	const char *prefix;
	size_t prefix_length;
};

static void print_text(struct printer *printer, const char *text)
{
	gt_strbuf_add(printer->text, text, strlen(text));
}

static void print_unsigned(struct printer *printer, uint64_t number)
{
	char digits[20];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + number % 10);
	while (number /= 10);
	gt_strbuf_add(printer->text, digits + at, sizeof(digits) - at);
}

static void print_signed(struct printer *printer, int64_t number)
{
	if (number < 0)
		gt_strbuf_putc(printer->text, '-');
	print_unsigned(printer, number < 0 ? -(uint64_t)number : (uint64_t)number);
}

static void print_hex(struct printer *printer, uint64_t number)
{
	char digits[16];
	size_t at = sizeof(digits);

	do
		digits[--at] = "0123456789abcdef"[number % 16];
	while (number /= 16);
	gt_strbuf_add(printer->text, "0x", 2);
	gt_strbuf_add(printer->text, digits + at, sizeof(digits) - at);
}

/* <prefix><name> */
static void print_name(struct printer *printer, const char *name)
{
	gt_strbuf_add(printer->text, printer->prefix, printer->prefix_length);
	print_text(printer, name);
}

/* <prefix><kind><frame><separator><number> */
static void print_of_frame(struct printer *printer, const char *kind, const char *separator,
			   struct gt_ptxgen_value value)
{
	print_name(printer, kind);
	print_unsigned(printer, gt_ptxgen_frame_of(value));
	print_text(printer, separator);
	print_unsigned(printer, gt_ptxgen_number_of(value));
}

static void print_numbered(struct printer *printer, const char *kind, struct gt_ptxgen_value value)
{
	print_name(printer, kind);
	print_unsigned(printer, gt_ptxgen_number_of(value));
}

/* A register or label. */
static void print_banked(struct printer *printer, struct gt_ptxgen_value value)
{
	static const char *const temporaries[GT_PTXGEN_REGISTER_CLASSES] = {"q", "w", "h", "p"};

	switch (gt_ptxgen_bank_of(value)) {
	case GT_PTXGEN_TEMPORARY:
		print_numbered(printer, temporaries[value.class], value);
		break;
	case GT_PTXGEN_ARGUMENT:
		print_numbered(printer, "r", value);
		break;
	case GT_PTXGEN_SAVED:
		print_of_frame(printer, "f", "_r", value);
		break;
	case GT_PTXGEN_STACK_PIECE:
		print_of_frame(printer, "s", "_", value);
		break;
	case GT_PTXGEN_GROUP:
		print_name(printer, "group");
		break;
	case GT_PTXGEN_BELOW:
		print_name(printer, "below");
		break;
	case GT_PTXGEN_FIRST:
		print_name(printer, "first");
		break;
	case GT_PTXGEN_IS_LEADER:
		print_name(printer, "leader");
		break;
	case GT_PTXGEN_LOCAL_LABEL:
		print_numbered(printer, "B", value);
		break;
	case GT_PTXGEN_INSN_LABEL:
		print_of_frame(printer, "L", "_", value);
		break;
	case GT_PTXGEN_END_LABEL:
		print_name(printer, "E");
		print_unsigned(printer, gt_ptxgen_frame_of(value));
		break;
	}
}

static void print_value(struct printer *printer, struct gt_ptxgen_value value)
{
	switch (value.class) {
	case GT_PTXGEN_B64:
	case GT_PTXGEN_B32:
	case GT_PTXGEN_B16:
	case GT_PTXGEN_PREDICATE:
	case GT_PTXGEN_LABEL:
		print_banked(printer, value);
		break;
	case GT_PTXGEN_SIGNED:
		print_signed(printer, (int64_t)value.id);
		break;
	case GT_PTXGEN_UNSIGNED:
		print_unsigned(printer, value.id);
		break;
	case GT_PTXGEN_HEX:
		print_hex(printer, value.id);
		break;
	case GT_PTXGEN_SYMBOL:
		print_name(printer, (const char *)(uintptr_t)value.id);
		break;
	case GT_PTXGEN_MAP_SYMBOL:
		print_numbered(printer, "map_", value);
		break;
	case GT_PTXGEN_TEXT:
		print_text(printer, (const char *)(uintptr_t)value.id);
		break;
	}
}

static void print_operand(struct printer *printer, const struct gt_ptxgen_operand *operand)
{
	if (operand->form == GT_PTXGEN_ADDRESS)
		gt_strbuf_putc(printer->text, '[');
	else if (operand->form == GT_PTXGEN_PAIR_FIRST)
		gt_strbuf_putc(printer->text, '{');
	print_value(printer, operand->value);
	if (operand->form == GT_PTXGEN_ADDRESS && operand->offset) {
		gt_strbuf_putc(printer->text, '+');
		print_signed(printer, operand->offset);
	}
	if (operand->form == GT_PTXGEN_ADDRESS)
		gt_strbuf_putc(printer->text, ']');
	else if (operand->form == GT_PTXGEN_PAIR_SECOND)
		gt_strbuf_putc(printer->text, '}');
}

static void print_opcode(struct printer *printer, const struct gt_ptxgen_opcode *opcode)
{
	static const char *const orders[] = {
		[GT_PTXGEN_WEAK] = "",
		[GT_PTXGEN_VOLATILE] = ".volatile",
		[GT_PTXGEN_RELAXED] = ".relaxed",
		[GT_PTXGEN_ACQUIRE] = ".acquire",
		[GT_PTXGEN_RELEASE] = ".release",
	};
	static const char *const scopes[] = {
		[GT_PTXGEN_NO_SCOPE] = "",
		[GT_PTXGEN_GPU] = ".gpu",
		[GT_PTXGEN_SYS] = ".sys",
	};
	static const char *const spaces[] = {
		[GT_PTXGEN_GENERIC] = "",     [GT_PTXGEN_GLOBAL] = ".global",
		[GT_PTXGEN_LOCAL] = ".local", [GT_PTXGEN_CONST] = ".const",
		[GT_PTXGEN_PARAM] = ".param",
	};

	print_text(printer, opcode->name);
	if (!opcode->suffix)
		return;
	print_text(printer, orders[opcode->order]);
	print_text(printer, scopes[opcode->scope]);
	print_text(printer, spaces[opcode->space]);
	gt_strbuf_putc(printer->text, '.');
	print_text(printer, opcode->suffix);
}

static void print_instruction(struct printer *printer, const struct gt_ptxgen_row *row)
{
	gt_strbuf_putc(printer->text, '\t');
	if (row->guard.predicate.class == GT_PTXGEN_PREDICATE) {
		print_text(printer, row->guard.holds ? "@" : "@!");
		print_value(printer, row->guard.predicate);
		gt_strbuf_putc(printer->text, ' ');
	}
	print_opcode(printer, &row->opcode);
	for (unsigned i = 0; i < row->operand_count; i++) {
		gt_strbuf_add(printer->text, i ? ", " : " ", i ? 2 : 1);
		print_operand(printer, &row->operands[i]);
	}
	gt_strbuf_add(printer->text, ";\n", 2);
}

static void print_row(struct printer *printer, const struct gt_ptxgen_row *row)
{
	switch (row->kind) {
	case GT_PTXGEN_LABEL_ROW:
		print_value(printer, row->operands[0].value);
		gt_strbuf_add(printer->text, ":\n", 2);
		break;
	case GT_PTXGEN_FRAME_BEGIN:
		print_text(printer, "\t{\n\t.reg .b64 ");
		print_of_frame(printer, "f", "_r<", row->operands[0].value);
		print_text(printer, ">;\n");
		break;
	case GT_PTXGEN_FRAME_END:
		print_text(printer, "\t}\n");
		break;
	case GT_PTXGEN_REMOVED:
		break;
	default:
		print_instruction(printer, row);
	}
}

int gt_ptxgen_print(const struct gt_ptxgen_list *list, const char *prefix, size_t limit,
		    struct gt_strbuf *text, uint32_t *ret_insn)
{
	struct printer printer = {text, prefix, strlen(prefix)};
	size_t start = text->length;

	gt_vec_each (row, &list->rows) {
		print_row(&printer, row);
		if (text->length - start > limit) {
			*ret_insn = row->insn;
			return -E2BIG;
		}
	}
	return 0;
}

void gt_ptxgen_list_free(struct gt_ptxgen_list *list)
{
	gt_vec_free(&list->rows);
}
