/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ptx/print.h"

#include <inttypes.h>

/* The output buffer, and the additions to the text. */
struct ptx_printer {
	struct gt_strbuf *buffer;
	const struct gt_ptx_additions *additions;
};

static void print_block(const struct ptx_printer *printer, const struct gt_ptx_block *block,
			unsigned int depth);

static void indent(struct gt_strbuf *buffer, unsigned int depth)
{
	for (unsigned int i = 0; i < depth; i++)
		gt_strbuf_putc(buffer, '\t');
}

void ptx_print_pragma(struct gt_strbuf *buffer, const struct gt_ptx_pragma *pragma)
{
	gt_strbuf_puts(buffer, ".pragma ");
	for (uint32_t i = 0; i < pragma->count; i++)
		gt_strbuf_printf(buffer, "%s\"%s\"", i ? ", " : "", pragma->texts[i]);
	gt_strbuf_putc(buffer, ';');
}

static void print_loc(struct gt_strbuf *buffer, const struct gt_ptx_loc *loc)
{
	gt_strbuf_printf(buffer, ".loc %" PRIu32 " %" PRIu32 " %" PRIu32, loc->file, loc->line,
			 loc->column);
	if (loc->function_name) {
		gt_strbuf_printf(buffer, ", function_name %s", loc->function_name);
		if (loc->function_offset)
			gt_strbuf_printf(buffer, "+%" PRId64, loc->function_offset);
	}
	if (loc->is_inlined)
		gt_strbuf_printf(buffer, ", inlined_at %" PRIu32 " %" PRIu32 " %" PRIu32,
				 loc->inlined_file, loc->inlined_line, loc->inlined_column);
}

static void print_directives(struct gt_strbuf *buffer, const struct gt_ptx_function *function)
{
	for (const struct gt_ptx_directive *directive = function->directives; directive;
	     directive = directive->next) {
		gt_strbuf_putc(buffer, function->is_prototype ? ' ' : '\n');
		if (directive->pragma) {
			ptx_print_pragma(buffer, directive->pragma);
			continue;
		}
		gt_strbuf_puts(buffer, gt_ptx_directive_info(directive->id)->name);
		for (uint32_t i = 0; i < directive->value_count; i++)
			gt_strbuf_printf(buffer, "%s%" PRIu32, i ? ", " : " ",
					 directive->values[i]);
	}
}

static void print_prototype(struct gt_strbuf *buffer, const struct gt_ptx_function *prototype)
{
	gt_strbuf_puts(buffer, ".callprototype ");
	ptx_print_parameters(buffer, prototype->returns);
	gt_strbuf_puts(buffer, " _ ");
	ptx_print_parameters(buffer, prototype->parameters);
	print_directives(buffer, prototype);
	gt_strbuf_putc(buffer, ';');
}

static void print_targets(struct gt_strbuf *buffer, const struct gt_ptx_targets *targets)
{
	gt_strbuf_puts(buffer, targets->is_call ? ".calltargets " : ".branchtargets ");
	ptx_print_operands(buffer, targets->items, targets->count);
	gt_strbuf_putc(buffer, ';');
}

static void print_instruction(const struct ptx_printer *printer,
			      const struct gt_ptx_statement *statement, unsigned int depth)
{
	const struct gt_ptx_additions *additions = printer->additions;

	if (additions->before)
		additions->before(additions->context, statement, printer->buffer);
	indent(printer->buffer, depth);
	gt_ptx_print_instruction(&statement->instruction, printer->buffer);
	gt_strbuf_putc(printer->buffer, '\n');
	if (additions->after)
		additions->after(additions->context, statement, printer->buffer);
}

static void print_statement(const struct ptx_printer *printer,
			    const struct gt_ptx_statement *statement, unsigned int depth)
{
	struct gt_strbuf *buffer = printer->buffer;

	if (statement->kind == GT_PTX_STATEMENT_INSTRUCTION) {
		print_instruction(printer, statement, depth);
		return;
	}
	indent(buffer, statement->kind == GT_PTX_STATEMENT_LABEL ? depth - 1 : depth);
	switch (statement->kind) {
	case GT_PTX_STATEMENT_INSTRUCTION:
		break;
	case GT_PTX_STATEMENT_LABEL:
		gt_strbuf_printf(buffer, "%s:", statement->label->name);
		break;
	case GT_PTX_STATEMENT_VARIABLES:
		ptx_print_variables(buffer, statement->variables);
		gt_strbuf_putc(buffer, ';');
		break;
	case GT_PTX_STATEMENT_BLOCK:
		print_block(printer, statement->inner, depth);
		break;
	case GT_PTX_STATEMENT_LOC:
		print_loc(buffer, statement->loc);
		break;
	case GT_PTX_STATEMENT_PRAGMA:
		ptx_print_pragma(buffer, statement->pragma);
		break;
	case GT_PTX_STATEMENT_TARGETS:
		print_targets(buffer, statement->targets);
		break;
	case GT_PTX_STATEMENT_PROTOTYPE:
		print_prototype(buffer, statement->prototype);
		break;
	}
	gt_strbuf_putc(buffer, '\n');
	if (statement->kind == GT_PTX_STATEMENT_LABEL && printer->additions->label)
		printer->additions->label(printer->additions->context, statement, buffer);
}

/* Blocks nest no deeper than GT_PTX_MAX_NESTING. */
static void print_block(const struct ptx_printer *printer, const struct gt_ptx_block *block,
			unsigned int depth)
{
	const struct gt_ptx_additions *additions = printer->additions;
	struct gt_strbuf *buffer = printer->buffer;
	bool is_body = !block->owner;

	gt_strbuf_puts(buffer, "{\n");
	if (is_body && additions->begin)
		additions->begin(additions->context, block->function, buffer);
	for (const struct gt_ptx_statement *statement = block->first; statement;
	     statement = statement->next)
		print_statement(printer, statement, depth + 1);
	if (is_body && additions->end)
		additions->end(additions->context, block->function, buffer);
	indent(buffer, depth);
	gt_strbuf_putc(buffer, '}');
}

static void print_function(const struct ptx_printer *printer,
			   const struct gt_ptx_function *function)
{
	struct gt_strbuf *buffer = printer->buffer;

	ptx_print_linkage(buffer, function->linkage);
	gt_strbuf_puts(buffer, function->is_entry ? ".entry " : ".func ");
	if (function->is_unified)
		gt_strbuf_printf(buffer, ".attribute(.unified(%" PRIu64 ", %" PRIu64 ")) ",
				 function->unified[0], function->unified[1]);
	if (function->returns) {
		ptx_print_parameters(buffer, function->returns);
		gt_strbuf_putc(buffer, ' ');
	}
	gt_strbuf_puts(buffer, function->name);
	ptx_print_parameters(buffer, function->parameters);
	print_directives(buffer, function);
	if (!function->body) {
		gt_strbuf_puts(buffer, ";\n");
		return;
	}
	gt_strbuf_putc(buffer, '\n');
	if (printer->additions->header)
		printer->additions->header(printer->additions->context, function, buffer);
	print_block(printer, function->body, 0);
	gt_strbuf_putc(buffer, '\n');
}

static void print_file(struct gt_strbuf *buffer, const struct gt_ptx_file *file)
{
	gt_strbuf_printf(buffer, ".file %" PRIu32 " \"%s\"", file->number, file->name);
	if (file->has_stamp)
		gt_strbuf_printf(buffer, ", %" PRIu64 ", %" PRIu64, file->time, file->size);
	gt_strbuf_putc(buffer, '\n');
}

static void print_section_value(struct gt_strbuf *buffer, const struct gt_ptx_section_value *value)
{
	if (!value->name) {
		gt_strbuf_printf(buffer, "%" PRId64, value->number);
		return;
	}
	gt_strbuf_puts(buffer, value->name);
	if (value->minus)
		gt_strbuf_printf(buffer, "-%s", value->minus);
	if (value->number)
		gt_strbuf_printf(buffer, "+%" PRId64, value->number);
}

static void print_section(struct gt_strbuf *buffer, const struct gt_ptx_section *section)
{
	gt_strbuf_printf(buffer, ".section %s\n{\n", section->name);
	for (const struct gt_ptx_section_line *line = section->lines; line; line = line->next) {
		if (line->label) {
			gt_strbuf_printf(buffer, "%s:\n", line->label);
			continue;
		}
		gt_strbuf_puts(buffer, gt_ptx_type_info(line->type)->name);
		for (uint32_t i = 0; i < line->count; i++) {
			gt_strbuf_putc(buffer, i ? ',' : ' ');
			print_section_value(buffer, &line->values[i]);
		}
		gt_strbuf_putc(buffer, '\n');
	}
	gt_strbuf_puts(buffer, "}\n");
}

static void print_item(const struct ptx_printer *printer, const struct gt_ptx_item *item)
{
	struct gt_strbuf *buffer = printer->buffer;

	switch (item->kind) {
	case GT_PTX_ITEM_VARIABLES:
		ptx_print_variables(buffer, item->variables);
		gt_strbuf_puts(buffer, ";\n");
		break;
	case GT_PTX_ITEM_FUNCTION:
		print_function(printer, item->function);
		break;
	case GT_PTX_ITEM_FILE:
		print_file(buffer, item->file);
		break;
	case GT_PTX_ITEM_SECTION:
		print_section(buffer, item->section);
		break;
	case GT_PTX_ITEM_PRAGMA:
		ptx_print_pragma(buffer, item->pragma);
		gt_strbuf_putc(buffer, '\n');
		break;
	case GT_PTX_ITEM_ALIAS:
		gt_strbuf_printf(buffer, ".alias %s, %s;\n", item->alias->alias->name,
				 item->alias->target->name);
		break;
	}
}

void gt_ptx_print_with(const struct gt_ptx_module *module, const struct gt_ptx_additions *additions,
		       struct gt_strbuf *buffer)
{
	const struct ptx_printer printer = {.buffer = buffer, .additions = additions};

	gt_strbuf_printf(buffer, ".version %" PRIu32 ".%" PRIu32 "\n.target ",
			 module->version_major, module->version_minor);
	for (uint32_t i = 0; i < module->target_count; i++)
		gt_strbuf_printf(buffer, "%s%s", i ? ", " : "", module->targets[i]);
	gt_strbuf_putc(buffer, '\n');
	if (module->address_size)
		gt_strbuf_printf(buffer, ".address_size %" PRIu32 "\n", module->address_size);
	if (additions->declare)
		additions->declare(additions->context, buffer);
	for (const struct gt_ptx_item *item = module->items; item; item = item->next)
		if (!additions->keep || additions->keep(additions->context, item))
			print_item(&printer, item);
}

void gt_ptx_print(const struct gt_ptx_module *module, struct gt_strbuf *buffer)
{
	gt_ptx_print_with(module, &(struct gt_ptx_additions){0}, buffer);
}
