/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which opcodes a test program executes: where OPCODE_RECORD names a file, each launch adds the
 * opcodes of its kernel, and of all functions of the module, to that file, a name a line.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/ptx.h"

struct recorded_module {
	const void *module; /* as it was loaded */
	struct gt_ptx_module *parsed;
};

static struct recorded_module *recorded_modules;
static size_t recorded_count;

/* Notes the text of a module that was loaded. */
static inline void record_module(const void *module, const char *text)
{
	struct recorded_module *modules;
	struct gt_ptx_module *parsed;

	if (!getenv("OPCODE_RECORD") || gt_ptx_parse(text, strlen(text), &parsed, NULL))
		return;
	modules = realloc(recorded_modules, (recorded_count + 1) * sizeof(*modules));
	if (!modules)
		abort();
	recorded_modules = modules;
	recorded_modules[recorded_count++] =
		(struct recorded_module){.module = module, .parsed = parsed};
}

static inline void record_function(FILE *file, const struct gt_ptx_function *function)
{
	static bool is_recorded[GT_PTX_OP_COUNT];
	struct gt_ptx_statement *statement = function->body ? function->body->first : NULL;

	for (; statement; statement = gt_ptx_statement_next(statement)) {
		enum gt_ptx_opcode opcode;

		if (statement->kind != GT_PTX_STATEMENT_INSTRUCTION)
			continue;
		opcode = statement->instruction.form->opcode;
		if (!is_recorded[opcode])
			fprintf(file, "%s\n", gt_ptx_opcode_name(opcode));
		is_recorded[opcode] = true;
	}
}

/* Records the opcodes of a kernel that is launched. */
static inline void record_launch(const void *module, const char *kernel)
{
	const char *path = getenv("OPCODE_RECORD");
	const struct gt_ptx_module *parsed = NULL;
	FILE *file;

	/* The newest first: an address may be used again. */
	for (size_t i = recorded_count; path && i && !parsed; i--)
		if (recorded_modules[i - 1].module == module)
			parsed = recorded_modules[i - 1].parsed;
	if (!parsed)
		return;
	file = fopen(path, "a");
	if (!file)
		abort();
	for (const struct gt_ptx_function *f = parsed->functions; f; f = f->next)
		if (!f->is_entry || !strcmp(f->name, kernel))
			record_function(file, f);
	fclose(file);
}
