/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Declarations of variables, registers and parameters (PTX ISA 9.0, 5.4). */
#include <errno.h>
#include <string.h>

#include "ptx/parser.h"

/* Maximum size of a variable: addresses have fewer bits. */
static const uint64_t biggest_variable = UINT64_C(1) << 48;

static const struct {
	const char *word;
	enum gt_ptx_space space;
} spaces[] = {
	{".reg", GT_PTX_SPACE_REG},       {".param", GT_PTX_SPACE_PARAM},
	{".local", GT_PTX_SPACE_LOCAL},   {".shared", GT_PTX_SPACE_SHARED},
	{".global", GT_PTX_SPACE_GLOBAL}, {".const", GT_PTX_SPACE_CONST},
	{".sreg", GT_PTX_SPACE_SREG},     {".tex", GT_PTX_SPACE_TEX},
};

static enum gt_ptx_space space_at(const struct ptx_parser *parser)
{
	if (parser->token.kind != TOKEN_WORD)
		return GT_PTX_SPACE_NONE;
	for (size_t i = 0; i < gt_countof(spaces); i++)
		if (ptx_at_word(parser, spaces[i].word))
			return spaces[i].space;
	return GT_PTX_SPACE_NONE;
}

bool ptx_at_variables(const struct ptx_parser *parser)
{
	return space_at(parser) != GT_PTX_SPACE_NONE;
}

static int parse_alignment(struct ptx_parser *parser, uint32_t *ret_alignment)
{
	struct gt_ptx_position position = parser->token.position;
	uint32_t alignment = 0;
	int error = ptx_expect_u32(parser, "an alignment in bytes", &alignment);

	if (error)
		return error;
	if (!alignment || alignment & (alignment - 1))
		return ptx_fail_at(parser, &position, -EINVAL,
				   "the alignment %u is not a power of two", alignment);
	*ret_alignment = alignment;
	return 0;
}

static int parse_unified(struct ptx_parser *parser, uint64_t *unified)
{
	int error = ptx_expect_symbol(parser, '(', "'(' after .unified");

	if (!error)
		error = ptx_expect_u64(parser, "the first half of a unified id", &unified[0]);
	if (!error)
		error = ptx_expect_symbol(parser, ',', "',' in a unified id");
	if (!error)
		error = ptx_expect_u64(parser, "the second half of a unified id", &unified[1]);
	return error ? error : ptx_expect_symbol(parser, ')', "')' after a unified id");
}

int ptx_parse_attributes(struct ptx_parser *parser, bool *ret_managed, bool *ret_unified,
			 uint64_t *unified)
{
	int error = ptx_expect_symbol(parser, '(', "'(' after .attribute");

	while (!error) {
		if (ptx_take_word(parser, ".managed")) {
			*ret_managed = true;
		} else if (ptx_take_word(parser, ".unified")) {
			*ret_unified = true;
			error = parse_unified(parser, unified);
		} else {
			error = ptx_expected(parser, ".managed or .unified");
		}
		if (error || !ptx_take_symbol(parser, ','))
			break;
	}
	return error ? error : ptx_expect_symbol(parser, ')', "')' after the attributes");
}

/* After .ptr: [.space] [.align n] */
static int parse_pointer(struct ptx_parser *parser, struct gt_ptx_variable *variable)
{
	variable->is_pointer = true;
	variable->pointer_space = space_at(parser);
	if (variable->pointer_space != GT_PTX_SPACE_NONE)
		ptx_advance(parser);
	if (ptx_take_word(parser, ".align"))
		return parse_alignment(parser, &variable->pointer_alignment);
	return 0;
}

static int parse_space(struct ptx_parser *parser, struct gt_ptx_variable *variable)
{
	int error = 0;

	if (variable->space != GT_PTX_SPACE_NONE)
		return ptx_expected(parser, "one state space only");
	variable->space = space_at(parser);
	ptx_advance(parser);
	if (variable->space == GT_PTX_SPACE_CONST && ptx_take_symbol(parser, '[')) {
		error = ptx_expect_u32(parser, "the number of a constant bank",
				       &variable->constant_bank);
		if (!error)
			error = ptx_expect_symbol(parser, ']', "']' after a constant bank");
	}
	return error;
}

/* .v4 or a type */
static int parse_type(struct ptx_parser *parser, struct gt_ptx_variable *variable)
{
	const struct ptx_name *name =
		ptx_names_find(&parser->names, parser->token.text, parser->token.length);
	enum gt_ptx_modifier_id id = name && name->modifier ? name->modifier - 1 : 0;

	if (id == GT_PTX_MOD_V2 || id == GT_PTX_MOD_V4 || id == GT_PTX_MOD_V8) {
		if (variable->vector != 1)
			return ptx_expected(parser, "one vector length only");
		variable->vector = id == GT_PTX_MOD_V2 ? 2 : id == GT_PTX_MOD_V4 ? 4 : 8;
	} else if (gt_ptx_modifier_type(id) != GT_PTX_TYPE_NONE &&
		   variable->type == GT_PTX_TYPE_NONE) {
		variable->type = gt_ptx_modifier_type(id);
	} else {
		return ptx_expected(parser, variable->type == GT_PTX_TYPE_NONE
						    ? "a type"
						    : "a name after the type");
	}
	ptx_advance(parser);
	return 0;
}

/* The qualifiers before the names. */
static int parse_qualifiers(struct ptx_parser *parser, struct gt_ptx_variable *variable)
{
	int error = 0;

	while (!error && parser->token.kind == TOKEN_WORD) {
		if (space_at(parser) != GT_PTX_SPACE_NONE)
			error = parse_space(parser, variable);
		else if (ptx_take_word(parser, ".align"))
			error = parse_alignment(parser, &variable->alignment);
		else if (ptx_take_word(parser, ".attribute"))
			error = ptx_parse_attributes(parser, &variable->is_managed,
						     &variable->is_unified, variable->unified);
		else if (ptx_take_word(parser, ".ptr"))
			error = parse_pointer(parser, variable);
		else
			error = parse_type(parser, variable);
	}
	if (error)
		return error;
	if (variable->space == GT_PTX_SPACE_NONE)
		return ptx_expected(parser, "a state space");
	return variable->type == GT_PTX_TYPE_NONE ? ptx_expected(parser, "a type") : 0;
}

/* After the name: <10> */
static int parse_range(struct ptx_parser *parser, struct gt_ptx_variable *variable)
{
	struct gt_ptx_position position = parser->token.position;
	int error = ptx_expect_u32(parser, "the number of registers", &variable->count);

	if (error)
		return error;
	variable->is_range = true;
	if (variable->space != GT_PTX_SPACE_REG)
		return ptx_fail_at(parser, &position, -EINVAL,
				   "only registers are declared with a count in < >");
	if (variable->count > GT_PTX_MAX_REGISTERS)
		return ptx_fail_at(parser, &position, -E2BIG,
				   "%u registers are declared (at most %d)", variable->count,
				   GT_PTX_MAX_REGISTERS);
	return ptx_expect_symbol(parser, '>', "'>' after the number of registers");
}

/* After the name: [4][2] */
static int parse_dimensions(struct ptx_parser *parser, struct gt_ptx_variable *variable)
{
	uint64_t dimensions[GT_PTX_MAX_DIMENSIONS];
	uint32_t count = 0;

	for (; ptx_at_symbol(parser, '['); count++) {
		struct gt_ptx_position position = parser->token.position;
		struct ptx_constant constant = {0};
		int error = 0;

		if (count == GT_PTX_MAX_DIMENSIONS)
			return ptx_fail_at(parser, &position, -E2BIG,
					   "an array has more than %d dimensions",
					   GT_PTX_MAX_DIMENSIONS);
		ptx_advance(parser);
		if (!ptx_at_symbol(parser, ']'))
			error = ptx_parse_constant(parser, &constant);
		else if (count)
			error = ptx_expected(parser, "a size (only the first may be missing)");
		if (!error)
			error = ptx_expect_symbol(parser, ']', "']' after the size of an array");
		if (error)
			return error;
		if (constant.kind != CONSTANT_INTEGER || constant.bits > biggest_variable)
			return ptx_fail_at(parser, &position, -EINVAL,
					   "the size of an array is not an integer below 2^48");
		dimensions[count] = constant.bits;
	}
	variable->dimension_count = count;
	return ptx_keep(parser, dimensions, 0, count, sizeof(*dimensions), &variable->dimensions);
}

/* Ensures that gt_ptx_variable_size never overflows, for any initialiser. */
static int check_size(struct ptx_parser *parser, const struct gt_ptx_variable *variable)
{
	uint64_t size = gt_ptx_variable_element_size(variable);
	const struct gt_ptx_initializer *initializer = variable->initializer;
	bool is_too_big = false;

	for (uint32_t i = 0; i < variable->dimension_count; i++) {
		uint64_t dimension = variable->dimensions[i];

		if (!dimension && !i && initializer)
			dimension = initializer->count;
		is_too_big |= __builtin_mul_overflow(size, dimension, &size);
	}
	if (is_too_big || size > biggest_variable)
		return ptx_fail_at(parser, &variable->position, -E2BIG,
				   "\"%.200s\" is larger than 2^48 bytes", variable->name);
	return 0;
}

static int count_registers(struct ptx_parser *parser, struct gt_ptx_variable *variable)
{
	uint64_t total;

	total = parser->function->register_count + (uint64_t)variable->count * variable->vector;
	if (total > GT_PTX_MAX_REGISTERS)
		return ptx_fail_at(parser, &variable->position, -E2BIG,
				   "function \"%.200s\" has more than %d registers",
				   parser->function->name, GT_PTX_MAX_REGISTERS);
	variable->first_register = parser->function->register_count;
	parser->function->register_count = (uint32_t)total;
	return 0;
}

/* The first size of an array may be missing where another module or a caller has it. */
static int check_complete(struct ptx_parser *parser, const struct gt_ptx_variable *variable)
{
	bool is_parameter = parser->function && !parser->block;

	if (!variable->dimension_count || variable->dimensions[0] || variable->initializer ||
	    variable->linkage == GT_PTX_LINKAGE_EXTERN ||
	    (is_parameter && !parser->function->is_entry))
		return 0;
	return ptx_fail_at(parser, &variable->position, -EINVAL, "the array \"%.200s\" has no size",
			   variable->name);
}

static int reject_variable(struct ptx_parser *parser, const struct gt_ptx_variable *variable,
			   const char *reason)
{
	return ptx_fail_at(parser, &variable->position, -EINVAL, "\"%.200s\" %s", variable->name,
			   reason);
}

/*
 * What ptxas rejects, too. PTX before 3.0 may have registers and .local variables at module scope,
 * which functions share without an ABI.
 */
static int check_module_scope(struct ptx_parser *parser, const struct gt_ptx_variable *variable)
{
	const char *reason = NULL;

	if (variable->space == GT_PTX_SPACE_REG)
		reason = "is a register outside of a function (declare it in each function)";
	else if (variable->space == GT_PTX_SPACE_PARAM)
		reason = "is a parameter outside of a function";
	else if (variable->space == GT_PTX_SPACE_LOCAL && parser->module->version_major >= 3)
		reason = "is in .local memory outside of a function (declare it in each function)";
	else if (variable->linkage == GT_PTX_LINKAGE_COMMON &&
		 variable->space != GT_PTX_SPACE_GLOBAL)
		reason = "is .common and not in .global memory";
	return reason ? reject_variable(parser, variable, reason) : 0;
}

static int check_space(struct ptx_parser *parser, const struct gt_ptx_variable *variable)
{
	bool is_register = variable->space == GT_PTX_SPACE_REG;

	if (is_register && variable->dimension_count)
		return reject_variable(parser, variable, "is a register and cannot be an array");
	if (!is_register && variable->type == GT_PTX_TYPE_PRED)
		return reject_variable(parser, variable, "is a predicate and must be a register");
	if (variable->initializer && variable->space != GT_PTX_SPACE_GLOBAL &&
	    variable->space != GT_PTX_SPACE_CONST)
		return reject_variable(
			parser, variable,
			"has an initial value and is not in .global or .const memory");
	if (variable->is_managed && variable->space != GT_PTX_SPACE_GLOBAL)
		return reject_variable(parser, variable, "is .managed and not in .global memory");
	return parser->function ? 0 : check_module_scope(parser, variable);
}

/* A name with its range, dimensions and initialiser. form: the qualifiers before it. */
static int parse_declarator(struct ptx_parser *parser, const struct gt_ptx_variable *form,
			    struct gt_ptx_variable **ret_variable)
{
	struct gt_ptx_variable *variable = ptx_take(parser, sizeof(*variable));
	struct ptx_name *name = NULL;
	int error;

	if (!variable)
		return -ENOMEM;
	*variable = *form;
	error = ptx_expect_identifier(parser, "the name of a variable", &name, &variable->position);
	if (error)
		return error;
	variable->name = name->text;
	variable->number = parser->module->variable_count++;
	if (ptx_take_symbol(parser, '<'))
		error = parse_range(parser, variable);
	if (!error)
		error = parse_dimensions(parser, variable);
	if (!error && ptx_take_symbol(parser, '='))
		error = ptx_parse_initializer(parser, variable);
	ptx_end_position(parser, &variable->position);
	if (!error)
		error = check_space(parser, variable);
	if (!error)
		error = check_size(parser, variable);
	if (!error)
		error = check_complete(parser, variable);
	if (!error && variable->space == GT_PTX_SPACE_REG)
		error = count_registers(parser, variable);
	if (error)
		return error;
	if (variable->function)
		variable->definition = variable;
	*ret_variable = variable;
	return 0;
}

static struct gt_ptx_variable start_form(const struct ptx_parser *parser,
					 enum gt_ptx_linkage linkage)
{
	return (struct gt_ptx_variable){.linkage = linkage,
					.vector = 1,
					.count = 1,
					.function = parser->function,
					.block = parser->block};
}

int ptx_parse_variables(struct ptx_parser *parser, enum gt_ptx_linkage linkage,
			struct gt_ptx_variable **ret_variables)
{
	struct gt_ptx_variable form = start_form(parser, linkage), *first = NULL;
	struct gt_ptx_variable **last = &first;
	int error = parse_qualifiers(parser, &form);

	if (error)
		return error;
	do {
		error = parse_declarator(parser, &form, last);
		if (!error)
			error = ptx_bind_variable(parser, *last);
		if (error)
			return error;
		last = &(*last)->next;
	} while (ptx_take_symbol(parser, ','));
	error = ptx_expect_symbol(parser, ';', "',' or ';' after a declaration");
	if (!error)
		*ret_variables = first;
	return error;
}

int ptx_parse_parameter(struct ptx_parser *parser, struct gt_ptx_variable **ret_variable)
{
	struct gt_ptx_variable form = start_form(parser, GT_PTX_LINKAGE_NONE);
	int error = parse_qualifiers(parser, &form);

	if (!error)
		error = parse_declarator(parser, &form, ret_variable);
	if (error || !strcmp((*ret_variable)->name, "_"))
		return error;
	return ptx_bind_variable(parser, *ret_variable);
}
