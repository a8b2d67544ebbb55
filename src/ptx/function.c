/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Kernels, functions and prototypes without their bodies (PTX ISA 9.0, chapters 7, 11). */
#include <errno.h>
#include <string.h>

#include "ptx/parser.h"

/* ( .param .b32 a, .param .b64 b ), optional. */
static int parse_parameters(struct ptx_parser *parser, struct gt_ptx_variable **ret_first,
			    uint32_t *ret_count)
{
	struct gt_ptx_variable **last = ret_first;
	int error;

	if (!ptx_take_symbol(parser, '('))
		return 0;
	if (ptx_take_symbol(parser, ')'))
		return 0;
	do {
		error = ptx_parse_parameter(parser, last);
		if (error)
			return error;
		last = &(*last)->next;
		++*ret_count;
	} while (ptx_take_symbol(parser, ','));
	return ptx_expect_symbol(parser, ')', "',' or ')' after a parameter");
}

int ptx_parse_pragma(struct ptx_parser *parser, const struct gt_ptx_pragma **ret_pragma)
{
	size_t mark = parser->strings.count;
	struct gt_ptx_pragma *pragma = ptx_take(parser, sizeof(*pragma));
	int error;

	if (!pragma)
		return -ENOMEM;
	do {
		const char *text = NULL;

		error = ptx_expect_string(parser, "a string after .pragma", &text);
		if (!error && gt_vec_push(&parser->strings, text))
			error = ptx_no_memory(parser);
		if (error)
			return error;
	} while (ptx_take_symbol(parser, ','));
	error = ptx_expect_symbol(parser, ';', "',' or ';' after a string of .pragma");
	if (error)
		return error;
	pragma->count = (uint32_t)(parser->strings.count - mark);
	parser->strings.count = mark;
	*ret_pragma = pragma;
	return ptx_keep(parser, parser->strings.items, mark, pragma->count, sizeof(char *),
			&pragma->texts);
}

static int parse_directive_values(struct ptx_parser *parser, struct gt_ptx_directive *directive)
{
	const struct gt_ptx_directive_info *info = gt_ptx_directive_info(directive->id);
	int error = 0;

	while (!error && directive->value_count < info->max) {
		if (directive->value_count && !ptx_take_symbol(parser, ','))
			break;
		error = ptx_expect_u32(parser, "a number",
				       &directive->values[directive->value_count]);
		directive->value_count++;
	}
	if (!error && directive->id == GT_PTX_DIRECTIVE_PRAGMA)
		error = ptx_parse_pragma(parser, &directive->pragma);
	return error;
}

/* .maxntid 256, 1, 1 .minnctapersm 2 …: all directives. */
static int parse_directives(struct ptx_parser *parser, struct gt_ptx_function *function)
{
	struct gt_ptx_directive **last = &function->directives;

	while (parser->token.kind == TOKEN_WORD) {
		const struct ptx_name *name =
			ptx_names_find(&parser->names, parser->token.text, parser->token.length);
		struct gt_ptx_directive *directive;
		int error;

		if (ptx_at_item(parser))
			return 0;
		if (!name || !name->directive)
			return ptx_expected(parser, "a directive of a function, '{' or ';'");
		directive = ptx_take(parser, sizeof(*directive));
		if (!directive)
			return -ENOMEM;
		directive->id = name->directive - 1;
		directive->position = parser->token.position;
		ptx_advance(parser);
		error = parse_directive_values(parser, directive);
		if (error)
			return error;
		ptx_end_position(parser, &directive->position);
		*last = directive;
		last = &directive->next;
	}
	return 0;
}

static bool has_directive(const struct gt_ptx_function *function, enum gt_ptx_directive_id id)
{
	return gt_ptx_function_directive(function, id) != NULL;
}

/* Directives that ptxas rejects together, or with these values. */
static int check_directives(struct ptx_parser *parser, const struct gt_ptx_function *function)
{
	static const enum gt_ptx_directive_id conflicts[][2] = {
		{GT_PTX_DIRECTIVE_MAXNTID, GT_PTX_DIRECTIVE_REQNTID},
		{GT_PTX_DIRECTIVE_MAXCLUSTERRANK, GT_PTX_DIRECTIVE_REQNCTAPERCLUSTER},
	};
	const struct gt_ptx_directive *directive = function->directives;

	for (size_t i = 0; i < gt_countof(conflicts); i++)
		if (has_directive(function, conflicts[i][0]) &&
		    has_directive(function, conflicts[i][1]))
			return ptx_fail_at(parser, &function->name_position, -EINVAL,
					   "\"%.200s\" has both %s and %s", function->name,
					   gt_ptx_directive_info(conflicts[i][0])->name,
					   gt_ptx_directive_info(conflicts[i][1])->name);
	if (has_directive(function, GT_PTX_DIRECTIVE_BLOCKSARECLUSTERS) &&
	    !(has_directive(function, GT_PTX_DIRECTIVE_REQNTID) &&
	      has_directive(function, GT_PTX_DIRECTIVE_REQNCTAPERCLUSTER)))
		return ptx_fail_at(parser, &function->name_position, -EINVAL,
				   ".blocksareclusters of \"%.200s\" needs .reqntid and "
				   ".reqnctapercluster",
				   function->name);
	for (; directive; directive = directive->next)
		for (uint32_t i = 0; i < directive->value_count; i++)
			if (!directive->values[i] && (directive->id == GT_PTX_DIRECTIVE_MAXNTID ||
						      directive->id == GT_PTX_DIRECTIVE_REQNTID))
				return ptx_fail_at(parser, &directive->position, -EINVAL,
						   "a dimension of %s is 0",
						   gt_ptx_directive_info(directive->id)->name);
	return 0;
}

/* .func (results) name (parameters) */
static int parse_header(struct ptx_parser *parser, struct gt_ptx_function *function)
{
	struct ptx_name *name = NULL;
	bool is_managed = false;
	int error = 0;

	if (ptx_take_word(parser, ".attribute"))
		error = ptx_parse_attributes(parser, &is_managed, &function->is_unified,
					     function->unified);
	if (!error && !function->is_entry)
		error = parse_parameters(parser, &function->returns, &function->return_count);
	if (!error)
		error = ptx_expect_identifier(parser, "the name of a function", &name,
					      &function->name_position);
	if (error)
		return error;
	function->name = name->text;
	return parse_parameters(parser, &function->parameters, &function->parameter_count);
}

static int define(struct ptx_parser *parser, struct gt_ptx_function *function)
{
	struct ptx_name *name = name_of(function->name);

	if (name->definition)
		return ptx_fail_at(parser, &function->name_position, -EINVAL,
				   "function \"%.200s\" is defined twice: first in line %u",
				   function->name, name->definition->name_position.line);
	name->definition = function;
	return ptx_parse_body(parser, function);
}

/* Parses the rest of a function, in the scope of its parameters. */
static int parse_rest(struct ptx_parser *parser, struct gt_ptx_function *function)
{
	int error = parse_header(parser, function);

	if (error)
		return error;
	/* Bound in the scope of the module, so that the body can call it. */
	parser->depth--;
	error = ptx_bind_function(parser, function);
	parser->depth++;
	if (!error)
		error = parse_directives(parser, function);
	if (!error)
		error = check_directives(parser, function);
	if (error)
		return error;
	if (ptx_at_symbol(parser, '{'))
		return define(parser, function);
	/* ptxas takes a declaration without ';', too. */
	if (!function->is_entry && ptx_at_item(parser))
		return 0;
	return ptx_expect_symbol(parser, ';', "'{' or ';' after the header of a function");
}

int ptx_parse_function(struct ptx_parser *parser, enum gt_ptx_linkage linkage,
		       const struct gt_ptx_position *start, struct gt_ptx_function **ret_function)
{
	struct gt_ptx_function *function = ptx_take(parser, sizeof(*function));
	int error;

	if (!function)
		return -ENOMEM;
	function->linkage = linkage;
	function->position = *start;
	function->is_entry = ptx_at_word(parser, ".entry");
	function->name = "";
	ptx_advance(parser);
	function->number = parser->module->function_count++;
	parser->last_label = &function->labels;
	parser->function = function;
	error = ptx_scope_enter(parser);
	if (!error) {
		error = parse_rest(parser, function);
		ptx_scope_leave(parser);
	}
	parser->function = NULL;
	if (error)
		return error;
	ptx_end_position(parser, &function->position);
	*parser->last_function = function;
	parser->last_function = &function->next;
	*ret_function = function;
	return 0;
}

static int parse_prototype(struct ptx_parser *parser, struct gt_ptx_function *prototype)
{
	struct ptx_name *name = NULL;
	int error = parse_parameters(parser, &prototype->returns, &prototype->return_count);

	if (!error)
		error = ptx_expect_identifier(parser, "the name in a prototype (\"_\")", &name,
					      &prototype->name_position);
	if (!error)
		error = parse_parameters(parser, &prototype->parameters,
					 &prototype->parameter_count);
	if (!error)
		error = parse_directives(parser, prototype);
	return error ? error : ptx_expect_symbol(parser, ';', "';' after a prototype");
}

int ptx_parse_prototype(struct ptx_parser *parser, const char *name,
			struct gt_ptx_function **ret_function)
{
	struct gt_ptx_function *prototype = ptx_take(parser, sizeof(*prototype));
	struct gt_ptx_function *outer = parser->function;
	struct gt_ptx_block *block = parser->block;
	int error;

	if (!prototype)
		return -ENOMEM;
	prototype->name = name;
	prototype->is_prototype = true;
	prototype->position = parser->token.position;
	parser->function = prototype;
	parser->block = NULL;
	error = ptx_scope_enter(parser);
	if (!error) {
		error = parse_prototype(parser, prototype);
		ptx_scope_leave(parser);
	}
	parser->function = outer;
	parser->block = block;
	ptx_end_position(parser, &prototype->position);
	if (!error)
		*ret_function = prototype;
	return error;
}
