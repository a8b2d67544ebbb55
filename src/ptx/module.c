/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Module scope; creation and freeing of a module. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/parser.h"

/* .version 8.3: two integers, not a fraction (8.10 is after 8.9). */
static int parse_version(struct ptx_parser *parser)
{
	struct gt_ptx_module *module = parser->module;
	const struct ptx_token *token = &parser->token;
	uint32_t *numbers[] = {&module->version_major, &module->version_minor};
	size_t part = 0;

	module->version_position = token->position;
	if (!ptx_take_word(parser, ".version"))
		return ptx_expected(parser, "\".version\" at the start of a module");
	if (token->kind != TOKEN_FLOAT64 || token->length > 7)
		return ptx_expected(parser, "a version such as 7.5");
	for (size_t i = 0; i < token->length; i++) {
		char character = token->text[i];

		if (character == '.' && !part)
			part = 1;
		else if (character >= '0' && character <= '9')
			*numbers[part] = *numbers[part] * 10 + (uint32_t)(character - '0');
		else
			return ptx_expected(parser, "a version such as 7.5");
	}
	ptx_advance(parser);
	ptx_end_position(parser, &module->version_position);
	return 0;
}

/* 75 of sm_75, 90 and 'a' of sm_90a */
static void read_architecture(struct gt_ptx_module *module, const char *word)
{
	char *end;
	unsigned long number;

	if (strncmp(word, "sm_", 3) != 0 || word[3] < '0' || word[3] > '9')
		return;
	number = strtoul(word + 3, &end, 10);
	if (number > 9999 || (*end && end[1]))
		return;
	module->sm = (uint32_t)number;
	module->sm_suffix = *end;
}

/* Appends the words of .target to the strings. */
static int parse_targets(struct ptx_parser *parser)
{
	do {
		struct ptx_name *name = NULL;
		int error = ptx_expect_identifier(parser, "a target such as sm_75", &name, NULL);

		if (error)
			return error;
		read_architecture(parser->module, name->text);
		if (gt_vec_push(&parser->strings, name->text))
			return ptx_no_memory(parser);
	} while (ptx_take_symbol(parser, ','));
	return 0;
}

static int keep_targets(struct ptx_parser *parser)
{
	struct gt_ptx_module *module = parser->module;

	module->target_count = (uint32_t)parser->strings.count;
	parser->strings.count = 0;
	return ptx_keep(parser, parser->strings.items, 0, module->target_count, sizeof(char *),
			&module->targets);
}

/*
 * A further .target. The module needs the features of all of them: those of the architecture with
 * the highest number, which the list begins with.
 */
static int parse_further_target(struct ptx_parser *parser)
{
	struct gt_ptx_module *module = parser->module;
	const char *const *targets = module->targets;
	uint32_t count = module->target_count, sm = module->sm;
	char suffix = module->sm_suffix;
	int error;

	parser->strings.count = 0;
	error = parse_targets(parser);
	if (error)
		return error;
	if (module->sm < sm) {
		module->sm = sm;
		module->sm_suffix = suffix;
		parser->strings.items[0] = targets[0];
	}
	for (uint32_t i = 1; i < count; i++)
		if (gt_vec_push(&parser->strings, targets[i]))
			return ptx_no_memory(parser);
	return keep_targets(parser);
}

static int parse_target(struct ptx_parser *parser)
{
	struct gt_ptx_module *module = parser->module;
	int error;

	module->target_position = parser->token.position;
	if (!ptx_take_word(parser, ".target"))
		return ptx_expected(parser, "\".target\" after the version");
	parser->strings.count = 0;
	error = parse_targets(parser);
	if (!error)
		error = keep_targets(parser);
	while (!error && ptx_take_word(parser, ".target"))
		error = parse_further_target(parser);
	ptx_end_position(parser, &module->target_position);
	return error;
}

void gt_ptx_raise_target(struct gt_ptx_module *module, uint32_t sm, uint32_t version)
{
	const char **targets = (const char **)module->targets;

	snprintf(module->raised_target, sizeof(module->raised_target), "sm_%" PRIu32, sm % 1000);
	for (uint32_t i = 0; i < module->target_count; i++)
		if (!strncmp(targets[i], "sm_", 3))
			targets[i] = module->raised_target;
	module->sm = sm;
	if (module->version_major * 10 + module->version_minor < version) {
		module->version_major = version / 10;
		module->version_minor = version % 10;
	}
}

static int parse_address_size(struct ptx_parser *parser)
{
	struct gt_ptx_position position = parser->token.position;
	uint32_t size = 0;
	int error = ptx_expect_u32(parser, "32 or 64 after .address_size", &size);

	if (error)
		return error;
	if (size != 32 && size != 64)
		return ptx_fail_at(parser, &position, -EINVAL,
				   "the address size is %u, not 32 or 64", size);
	parser->module->address_size = size;
	return 0;
}

static struct gt_ptx_function *expect_function(struct ptx_parser *parser, const char *what)
{
	const struct ptx_binding *binding;
	uint32_t index;

	if (parser->token.kind != TOKEN_IDENTIFIER) {
		ptx_expected(parser, what);
		return NULL;
	}
	binding = ptx_lookup(parser, parser->token.text, parser->token.length, &index);
	if (!binding)
		ptx_unknown_name(parser, &parser->token);
	else if (!binding->function)
		ptx_expected(parser, what);
	if (!binding || !binding->function)
		return NULL;
	ptx_advance(parser);
	return binding->function;
}

/* .alias new, existing; */
static int parse_alias(struct ptx_parser *parser, struct gt_ptx_alias **ret_alias)
{
	struct gt_ptx_alias *alias = ptx_take(parser, sizeof(*alias));
	int error;

	if (!alias)
		return -ENOMEM;
	alias->alias = expect_function(parser, "the function that becomes an alias");
	if (!alias->alias)
		return -EINVAL;
	error = ptx_expect_symbol(parser, ',', "',' between the two names of an alias");
	if (error)
		return error;
	alias->target = expect_function(parser, "the function that an alias stands for");
	if (!alias->target)
		return -EINVAL;
	*ret_alias = alias;
	return ptx_expect_symbol(parser, ';', "';' after an alias");
}

static enum gt_ptx_linkage take_linkage(struct ptx_parser *parser)
{
	static const char *const words[] = {
		[GT_PTX_LINKAGE_EXTERN] = ".extern",
		[GT_PTX_LINKAGE_VISIBLE] = ".visible",
		[GT_PTX_LINKAGE_WEAK] = ".weak",
		[GT_PTX_LINKAGE_COMMON] = ".common",
	};

	for (size_t i = 1; i < gt_countof(words); i++)
		if (ptx_take_word(parser, words[i]))
			return i;
	return GT_PTX_LINKAGE_NONE;
}

static int parse_file(struct ptx_parser *parser, struct gt_ptx_item *item)
{
	int error = ptx_parse_file(parser, &item->file);

	item->kind = GT_PTX_ITEM_FILE;
	if (error)
		return error;
	*parser->last_file = item->file;
	parser->last_file = &item->file->next;
	return 0;
}

bool ptx_at_item(const struct ptx_parser *parser)
{
	static const char *const words[] = {".extern", ".visible",     ".weak", ".common",
					    ".entry",  ".func",        ".file", ".section",
					    ".alias",  ".address_size"};

	for (size_t i = 0; i < gt_countof(words); i++)
		if (ptx_at_word(parser, words[i]))
			return true;
	return parser->token.kind == TOKEN_END || ptx_at_variables(parser);
}

/* A function or variables, with their linkage. */
static int parse_declaration(struct ptx_parser *parser, struct gt_ptx_item *item)
{
	enum gt_ptx_linkage linkage = take_linkage(parser);

	if (ptx_at_word(parser, ".entry") || ptx_at_word(parser, ".func")) {
		item->kind = GT_PTX_ITEM_FUNCTION;
		return ptx_parse_function(parser, linkage, &item->position, &item->function);
	}
	if (!ptx_at_variables(parser) && !ptx_at_word(parser, ".align"))
		return ptx_expected(parser, "a function, a variable or a directive");
	item->kind = GT_PTX_ITEM_VARIABLES;
	return ptx_parse_variables(parser, linkage, &item->variables);
}

static int parse_item(struct ptx_parser *parser, struct gt_ptx_item *item)
{
	if (ptx_take_word(parser, ".file"))
		return parse_file(parser, item);
	if (ptx_take_word(parser, ".section")) {
		item->kind = GT_PTX_ITEM_SECTION;
		return ptx_parse_section(parser, &item->section);
	}
	if (ptx_take_word(parser, ".pragma")) {
		item->kind = GT_PTX_ITEM_PRAGMA;
		return ptx_parse_pragma(parser, &item->pragma);
	}
	if (ptx_take_word(parser, ".alias")) {
		item->kind = GT_PTX_ITEM_ALIAS;
		return parse_alias(parser, &item->alias);
	}
	return parse_declaration(parser, item);
}

static int parse_items(struct ptx_parser *parser)
{
	while (parser->token.kind != TOKEN_END) {
		struct gt_ptx_item *item;
		int error;

		if (ptx_take_word(parser, ".address_size")) {
			error = parse_address_size(parser);
			if (error)
				return error;
			continue;
		}
		item = ptx_take(parser, sizeof(*item));
		if (!item)
			return -ENOMEM;
		item->position = parser->token.position;
		error = parse_item(parser, item);
		if (error)
			return error;
		ptx_end_position(parser, &item->position);
		*parser->last_item = item;
		parser->last_item = &item->next;
	}
	return 0;
}

/* An alias is a device function without a body (PTX ISA, .alias), and has one target. */
static int define_alias(struct ptx_parser *parser, const struct gt_ptx_item *item)
{
	const struct gt_ptx_function *alias = item->alias->alias, *target = item->alias->target;
	struct ptx_name *name = name_of(alias->name);

	if (alias->is_entry || target->is_entry)
		return ptx_fail_at(parser, &item->position, -EINVAL,
				   "\"%.200s\": a kernel neither is nor has an alias",
				   alias->is_entry ? alias->name : target->name);
	if (name->definition)
		return ptx_fail_at(parser, &item->position, -EINVAL,
				   "the alias \"%.200s\" has a definition already", alias->name);
	name->definition = name_of(target->name)->definition;
	return 0;
}

static int define_aliases(struct ptx_parser *parser)
{
	int error = 0;

	for (const struct gt_ptx_item *item = parser->module->items; item && !error;
	     item = item->next)
		if (item->kind == GT_PTX_ITEM_ALIAS)
			error = define_alias(parser, item);
	return error;
}

/* Links declarations to the definition with the body or the memory. */
static void find_definitions(struct gt_ptx_module *module)
{
	for (struct gt_ptx_function *function = module->functions; function;
	     function = function->next)
		function->definition = name_of(function->name)->definition;
	for (const struct gt_ptx_item *item = module->items; item; item = item->next) {
		if (item->kind != GT_PTX_ITEM_VARIABLES)
			continue;
		for (struct gt_ptx_variable *variable = item->variables; variable;
		     variable = variable->next)
			variable->definition = name_of(variable->name)->variable_definition;
	}
}

static int parse_module(struct ptx_parser *parser)
{
	struct gt_ptx_module *module = parser->module;
	int error;

	ptx_advance(parser);
	error = parse_version(parser);
	if (!error)
		error = parse_target(parser);
	if (!error)
		error = parse_items(parser);
	if (!error)
		error = define_aliases(parser);
	if (error)
		return error;
	find_definitions(module);
	module->form_count = (uint32_t)parser->forms.count;
	return ptx_keep(parser, parser->forms.items, 0, parser->forms.count,
			sizeof(*parser->forms.items), &module->forms);
}

static int parse_text(struct ptx_parser *parser, const char *text, size_t length)
{
	struct gt_ptx_position start = {.line = 1, .column = 1};
	char *copy;
	int error;

	length = strnlen(text, length);
	if (length > GT_PTX_MAX_TEXT)
		return ptx_fail_at(parser, &start, -E2BIG, "the text is longer than %d MiB",
				   GT_PTX_MAX_TEXT >> 20);
	copy = ptx_take(parser, length + 1);
	error = ptx_names_init(&parser->names, parser->arena);
	if (!copy || error)
		return ptx_no_memory(parser);
	memcpy(copy, text, length);
	parser->module->text = copy;
	parser->module->text_length = length;
	parser->lexer = (struct ptx_lexer){
		.text = copy, .length = (uint32_t)length, .line = 1, .diag = parser->diag};
	parser->last_item = &parser->module->items;
	parser->last_file = &parser->module->files;
	parser->last_function = &parser->module->functions;
	return parse_module(parser);
}

int gt_ptx_parse(const char *text, size_t length, struct gt_ptx_module **ret_module,
		 struct gt_diag *diag)
{
	struct ptx_owned_module *owned = calloc(1, sizeof(*owned));
	struct ptx_parser *parser = calloc(1, sizeof(*parser));
	int error;

	if (!owned || !parser) {
		free(owned);
		free(parser);
		return gt_diag(diag, -ENOMEM, "ptx", NULL, "out of memory");
	}
	owned->arena.limit = GT_PTX_MAX_MEMORY;
	*parser =
		(struct ptx_parser){.module = &owned->module, .arena = &owned->arena, .diag = diag};
	error = parse_text(parser, text, length);
	ptx_names_free(&parser->names);
	gt_vec_free(&parser->operands);
	gt_vec_free(&parser->initializers);
	gt_vec_free(&parser->pending);
	gt_vec_free(&parser->forms);
	gt_vec_free(&parser->strings);
	gt_vec_free(&parser->section_values);
	free(parser);
	if (error) {
		if (owned->arena.is_over_limit)
			error = -E2BIG;
		gt_ptx_free(&owned->module);
		return error;
	}
	*ret_module = &owned->module;
	return 0;
}

void gt_ptx_free(struct gt_ptx_module *module)
{
	struct ptx_owned_module *owned = (struct ptx_owned_module *)module;

	if (!owned)
		return;
	ptx_arena_free(&owned->arena);
	free(owned);
}
