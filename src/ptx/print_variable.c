/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <inttypes.h>

#include "ptx/print.h"

static const char *const spaces[GT_PTX_SPACE_COUNT] = {
	[GT_PTX_SPACE_NONE] = "",          [GT_PTX_SPACE_REG] = ".reg",
	[GT_PTX_SPACE_SREG] = ".sreg",     [GT_PTX_SPACE_CONST] = ".const",
	[GT_PTX_SPACE_GLOBAL] = ".global", [GT_PTX_SPACE_LOCAL] = ".local",
	[GT_PTX_SPACE_PARAM] = ".param",   [GT_PTX_SPACE_SHARED] = ".shared",
	[GT_PTX_SPACE_TEX] = ".tex",
};

static const char *const linkages[GT_PTX_LINKAGE_COUNT] = {
	[GT_PTX_LINKAGE_NONE] = "",
	[GT_PTX_LINKAGE_EXTERN] = ".extern ",
	[GT_PTX_LINKAGE_VISIBLE] = ".visible ",
	[GT_PTX_LINKAGE_WEAK] = ".weak ",
	[GT_PTX_LINKAGE_COMMON] = ".common ",
};

void ptx_print_linkage(struct gt_strbuf *buffer, enum gt_ptx_linkage linkage)
{
	gt_strbuf_puts(buffer, linkages[linkage]);
}

static void print_attributes(struct gt_strbuf *buffer, const struct gt_ptx_variable *variable)
{
	if (!variable->is_managed && !variable->is_unified)
		return;
	gt_strbuf_puts(buffer, " .attribute(");
	if (variable->is_managed)
		gt_strbuf_puts(buffer, variable->is_unified ? ".managed, " : ".managed");
	if (variable->is_unified)
		gt_strbuf_printf(buffer, ".unified(%" PRIu64 ", %" PRIu64 ")", variable->unified[0],
				 variable->unified[1]);
	gt_strbuf_putc(buffer, ')');
}

static void print_qualifiers(struct gt_strbuf *buffer, const struct gt_ptx_variable *variable)
{
	gt_strbuf_puts(buffer, spaces[variable->space]);
	if (variable->constant_bank)
		gt_strbuf_printf(buffer, "[%" PRIu32 "]", variable->constant_bank);
	print_attributes(buffer, variable);
	if (variable->alignment)
		gt_strbuf_printf(buffer, " .align %" PRIu32, variable->alignment);
	if (variable->vector > 1)
		gt_strbuf_printf(buffer, " .v%" PRIu32, variable->vector);
	gt_strbuf_printf(buffer, " %s", gt_ptx_type_info(variable->type)->name);
	if (variable->is_pointer) {
		gt_strbuf_puts(buffer, " .ptr");
		if (variable->pointer_space)
			gt_strbuf_printf(buffer, " %s", spaces[variable->pointer_space]);
		if (variable->pointer_alignment)
			gt_strbuf_printf(buffer, " .align %" PRIu32, variable->pointer_alignment);
	}
}

static void print_address(struct gt_strbuf *buffer, const struct gt_ptx_address *address)
{
	const char *name = address->variable ? address->variable->name : address->function->name;

	if (address->mask)
		gt_strbuf_printf(buffer, "0x%" PRIx64 "(", address->mask);
	gt_strbuf_printf(buffer, address->generic ? "generic(%s)" : "%s", name);
	if (address->offset)
		gt_strbuf_printf(buffer, "+%" PRId64, address->offset);
	if (address->mask)
		gt_strbuf_putc(buffer, ')');
}

static void print_field(struct gt_strbuf *buffer, const struct gt_ptx_field *field)
{
	gt_strbuf_printf(buffer, "%s = ", field->name);
	if (field->word)
		gt_strbuf_puts(buffer, field->word);
	else
		gt_strbuf_printf(buffer, "%" PRIu64, field->number);
}

/* Lists nest no deeper than an array has dimensions. */
static void print_initializer(struct gt_strbuf *buffer,
			      const struct gt_ptx_initializer *initializer)
{
	switch ((enum gt_ptx_initializer_kind)initializer->kind) {
	case GT_PTX_INITIALIZER_INTEGER:
		gt_strbuf_printf(buffer, "%" PRId64, (int64_t)initializer->bits);
		break;
	case GT_PTX_INITIALIZER_FLOAT32:
		gt_strbuf_printf(buffer, "0f%08" PRIX64, initializer->bits);
		break;
	case GT_PTX_INITIALIZER_FLOAT64:
		gt_strbuf_printf(buffer, "0d%016" PRIX64, initializer->bits);
		break;
	case GT_PTX_INITIALIZER_ADDRESS:
		print_address(buffer, initializer->address);
		break;
	case GT_PTX_INITIALIZER_FIELD:
		print_field(buffer, initializer->field);
		break;
	case GT_PTX_INITIALIZER_LIST:
		gt_strbuf_putc(buffer, '{');
		for (uint32_t i = 0; i < initializer->count; i++) {
			if (i)
				gt_strbuf_puts(buffer, ", ");
			print_initializer(buffer, &initializer->items[i]);
		}
		gt_strbuf_putc(buffer, '}');
		break;
	}
}

static void print_declarator(struct gt_strbuf *buffer, const struct gt_ptx_variable *variable)
{
	gt_strbuf_printf(buffer, " %s", variable->name);
	if (variable->is_range)
		gt_strbuf_printf(buffer, "<%" PRIu32 ">", variable->count);
	for (uint32_t i = 0; i < variable->dimension_count; i++) {
		gt_strbuf_putc(buffer, '[');
		if (variable->dimensions[i])
			gt_strbuf_printf(buffer, "%" PRIu64, variable->dimensions[i]);
		gt_strbuf_putc(buffer, ']');
	}
	if (variable->initializer) {
		gt_strbuf_puts(buffer, " = ");
		print_initializer(buffer, variable->initializer);
	}
}

void ptx_print_variables(struct gt_strbuf *buffer, const struct gt_ptx_variable *first)
{
	ptx_print_linkage(buffer, first->linkage);
	print_qualifiers(buffer, first);
	for (const struct gt_ptx_variable *variable = first; variable; variable = variable->next) {
		if (variable != first)
			gt_strbuf_putc(buffer, ',');
		print_declarator(buffer, variable);
	}
}

void ptx_print_parameters(struct gt_strbuf *buffer, const struct gt_ptx_variable *first)
{
	gt_strbuf_putc(buffer, '(');
	for (const struct gt_ptx_variable *variable = first; variable; variable = variable->next) {
		if (variable != first)
			gt_strbuf_puts(buffer, ", ");
		print_qualifiers(buffer, variable);
		print_declarator(buffer, variable);
	}
	gt_strbuf_putc(buffer, ')');
}
