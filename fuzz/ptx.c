/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Any bytes as PTX; what is accepted prints as text that is accepted and prints the same. */
#include <stdlib.h>
#include <string.h>

#include "ptx/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t variable_size;

static int check_place(void *context, uint64_t place, enum gt_ptx_type type,
		       const struct gt_ptx_initializer *value)
{
	uint64_t bytes = (gt_ptx_type_info(type)->bits + 7) / 8;

	if (place + bytes > variable_size)
		abort();
	return 0;
}

static void walk(const struct gt_ptx_module *module)
{
	for (const struct gt_ptx_item *item = module->items; item; item = item->next) {
		if (item->position.offset + item->position.length > module->text_length)
			abort();
		if (item->kind != GT_PTX_ITEM_VARIABLES)
			continue;
		for (struct gt_ptx_variable *variable = item->variables; variable;
		     variable = variable->next) {
			variable_size = gt_ptx_variable_size(variable);
			gt_ptx_variable_walk(variable, check_place, NULL);
		}
	}
	for (const struct gt_ptx_function *function = module->functions; function;
	     function = function->next) {
		struct gt_ptx_statement *statement = function->body ? function->body->first : NULL;
		uint32_t count = 0;

		for (; statement; statement = gt_ptx_statement_next(statement))
			if (statement->number != count++)
				abort();
		if (count != function->statement_count)
			abort();
	}
}

/* The source position of each .loc has an end. */
static void find_sources(const struct gt_ptx_module *module)
{
	gt_auto(ptx_sources) struct gt_ptx_sources *sources = NULL;
	struct gt_ptx_source positions[GT_PTX_MAX_INLINED];
	uint32_t count;

	if (gt_ptx_sources_new(module, &sources))
		abort();
	for (const struct gt_ptx_function *function = module->functions; function;
	     function = function->next) {
		struct gt_ptx_statement *statement = function->body ? function->body->first : NULL;

		for (; statement; statement = gt_ptx_statement_next(statement))
			if (statement->kind == GT_PTX_STATEMENT_LOC &&
			    (gt_ptx_sources_find(sources, function, statement->loc, positions,
						 &count) ||
			     !count || count > GT_PTX_MAX_INLINED))
				abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	gt_auto(ptx) struct gt_ptx_module *module = NULL, *again = NULL;
	gt_auto_strbuf first = GT_STRBUF_INIT, second = GT_STRBUF_INIT;
	struct gt_diag diag = {0};
	int error = gt_ptx_parse((const char *)data, size, &module, &diag);

	if (error) {
		if (module || !gt_diag_is_set(&diag))
			abort();
		return 0;
	}
	walk(module);
	find_sources(module);
	gt_ptx_print(module, &first);
	if (first.failed || gt_ptx_parse(first.data, first.length, &again, NULL))
		abort();
	gt_ptx_print(again, &second);
	if (strcmp(first.data, second.data) != 0)
		abort();
	return 0;
}
