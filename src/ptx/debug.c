/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Debug information: .file, .loc, .section (PTX ISA 9.0, 11.5). */
#include <errno.h>
#include <string.h>

#include "ptx/parser.h"

int ptx_parse_file(struct ptx_parser *parser, struct gt_ptx_file **ret_file)
{
	struct gt_ptx_file *file = ptx_take(parser, sizeof(*file));
	int error;

	if (!file)
		return -ENOMEM;
	error = ptx_expect_u32(parser, "the number of a file", &file->number);
	if (!error)
		error = ptx_expect_string(parser, "the name of a file", &file->name);
	if (!error && ptx_take_symbol(parser, ',')) {
		file->has_stamp = true;
		error = ptx_expect_u64(parser, "the time of a file", &file->time);
		if (!error)
			error = ptx_expect_symbol(parser, ',', "',' before the size of a file");
		if (!error)
			error = ptx_expect_u64(parser, "the size of a file", &file->size);
	}
	if (!error)
		*ret_file = file;
	return error;
}

static int parse_place(struct ptx_parser *parser, uint32_t *file, uint32_t *line, uint32_t *column)
{
	int error = ptx_expect_u32(parser, "the number of a file", file);

	if (!error)
		error = ptx_expect_u32(parser, "the number of a line", line);
	return error ? error : ptx_expect_u32(parser, "the number of a column", column);
}

/* function_name label + offset, inlined_at file line column: in either order */
static int parse_inlined(struct ptx_parser *parser, struct gt_ptx_loc *loc)
{
	struct ptx_name *name = NULL;
	int error;

	if (ptx_at_identifier(parser, "inlined_at")) {
		ptx_advance(parser);
		loc->is_inlined = true;
		return parse_place(parser, &loc->inlined_file, &loc->inlined_line,
				   &loc->inlined_column);
	}
	if (!ptx_at_identifier(parser, "function_name"))
		return ptx_expected(parser, "function_name or inlined_at");
	ptx_advance(parser);
	error = ptx_expect_identifier(parser, "the label of a function's name", &name, NULL);
	if (error)
		return error;
	loc->function_name = name->text;
	return ptx_parse_offset(parser, &loc->function_offset);
}

int ptx_parse_loc(struct ptx_parser *parser, const struct gt_ptx_loc **ret_loc)
{
	struct gt_ptx_loc *loc = ptx_take(parser, sizeof(*loc));
	int error;

	if (!loc)
		return -ENOMEM;
	error = parse_place(parser, &loc->file, &loc->line, &loc->column);
	while (!error && ptx_take_symbol(parser, ','))
		error = parse_inlined(parser, loc);
	if (!error)
		*ret_loc = loc;
	return error;
}

/* A label, or a section's name with its dot. */
static int parse_section_name(struct ptx_parser *parser, const char **ret_text)
{
	struct ptx_name *name;

	if (parser->token.kind != TOKEN_IDENTIFIER && parser->token.kind != TOKEN_WORD)
		return ptx_expected(parser, "a number, a label or a section");
	name = ptx_names_intern(&parser->names, parser->token.text, parser->token.length);
	if (!name)
		return ptx_no_memory(parser);
	ptx_advance(parser);
	*ret_text = name->text;
	return 0;
}

static int parse_section_number(struct ptx_parser *parser, int64_t *ret_number)
{
	bool negative = ptx_take_symbol(parser, '-');
	uint64_t number = 0;
	int error = ptx_expect_u64(parser, "a number", &number);

	if (!error)
		*ret_number = (int64_t)(negative ? -number : number);
	return error;
}

static int parse_section_value(struct ptx_parser *parser)
{
	struct gt_ptx_section_value value = {0};
	int error;

	if (parser->section_values.count >= GT_PTX_MAX_VALUES)
		return ptx_fail_at(parser, &parser->token.position, -E2BIG,
				   "more than %d values in a line of a section", GT_PTX_MAX_VALUES);
	if (parser->token.kind == TOKEN_INTEGER || ptx_at_symbol(parser, '-')) {
		error = parse_section_number(parser, &value.number);
	} else {
		error = parse_section_name(parser, &value.name);
		if (!error && ptx_take_symbol(parser, '-'))
			error = parse_section_name(parser, &value.minus);
		if (!error && ptx_take_symbol(parser, '+'))
			error = parse_section_number(parser, &value.number);
	}
	if (error)
		return error;
	return gt_vec_push(&parser->section_values, value) ? ptx_no_memory(parser) : 0;
}

/* .b8 1, 2, 3 */
static int parse_section_data(struct ptx_parser *parser, struct gt_ptx_section_line *line)
{
	const struct ptx_name *name =
		ptx_names_find(&parser->names, parser->token.text, parser->token.length);
	int error;

	line->type = name && name->modifier ? gt_ptx_modifier_type(name->modifier - 1) : 0;
	if (line->type != GT_PTX_TYPE_B8 && line->type != GT_PTX_TYPE_B16 &&
	    line->type != GT_PTX_TYPE_B32 && line->type != GT_PTX_TYPE_B64)
		return ptx_expected(parser, ".b8, .b16, .b32 or .b64");
	ptx_advance(parser);
	parser->section_values.count = 0;
	do {
		error = parse_section_value(parser);
		if (error)
			return error;
	} while (ptx_take_symbol(parser, ','));
	ptx_take_symbol(parser, ';');
	line->count = (uint32_t)parser->section_values.count;
	return ptx_keep(parser, parser->section_values.items, 0, line->count,
			sizeof(*parser->section_values.items), &line->values);
}

static int parse_section_line(struct ptx_parser *parser, struct gt_ptx_section_line *line)
{
	struct ptx_name *name = NULL;
	int error;

	if (parser->token.kind == TOKEN_WORD)
		return parse_section_data(parser, line);
	error = ptx_expect_identifier(parser, "a label, data or '}' in a section", &name, NULL);
	if (error)
		return error;
	line->label = name->text;
	return ptx_expect_symbol(parser, ':', "':' after a label");
}

int ptx_parse_section(struct ptx_parser *parser, struct gt_ptx_section **ret_section)
{
	struct gt_ptx_section *section = ptx_take(parser, sizeof(*section));
	struct gt_ptx_section_line **last;
	int error;

	if (!section)
		return -ENOMEM;
	if (parser->token.kind != TOKEN_WORD)
		return ptx_expected(parser, "the name of a section");
	error = parse_section_name(parser, &section->name);
	if (!error)
		error = ptx_expect_symbol(parser, '{', "'{' after the name of a section");
	if (error)
		return error;
	for (last = &section->lines; !ptx_take_symbol(parser, '}'); last = &(*last)->next) {
		*last = ptx_take(parser, sizeof(**last));
		if (!*last)
			return -ENOMEM;
		error = parse_section_line(parser, *last);
		if (error)
			return error;
	}
	*ret_section = section;
	return 0;
}
