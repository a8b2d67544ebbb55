/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ptx/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/strbuf.h"

enum {
	MAX_NAME = 4096, /* bytes of an inlined function's name */
};

struct gt_ptx_sources {
	struct gt_hash *files;  /* by number: struct gt_ptx_file */
	struct gt_hash *labels; /* of .debug_str: the line after the label */
	struct gt_hash *names;  /* by label and offset: char *, owned */
	const struct gt_ptx_function *function;
	struct gt_hash *callers; /* of this function, by .loc: the .loc that it is inlined at */
};

/* A position as a key. */
struct source_key {
	uint32_t file, line, column;
};

/* ---- the module ------------------------------------------------------------------------ */

static int add_files(struct gt_ptx_sources *sources, const struct gt_ptx_module *module)
{
	int error = 0;

	for (struct gt_ptx_file *file = module->files; file && !error; file = file->next)
		error = gt_hash_set_u64(sources->files, file->number, file);
	return error;
}

static int add_labels(struct gt_ptx_sources *sources, const struct gt_ptx_section *section)
{
	int error = 0;

	for (struct gt_ptx_section_line *line = section->lines; line && !error; line = line->next)
		if (line->label && line->next)
			error = gt_hash_set_str(sources->labels, line->label, line->next);
	return error;
}

int gt_ptx_sources_new(const struct gt_ptx_module *module, struct gt_ptx_sources **ret_sources)
{
	gt_auto(ptx_sources) struct gt_ptx_sources *sources = calloc(1, sizeof(*sources));
	int error;

	if (!sources)
		return -ENOMEM;
	sources->files = gt_hash_new();
	sources->labels = gt_hash_new();
	sources->names = gt_hash_new();
	if (!sources->files || !sources->labels || !sources->names)
		return -ENOMEM;
	error = add_files(sources, module);
	for (const struct gt_ptx_item *item = module->items; item && !error; item = item->next)
		if (item->kind == GT_PTX_ITEM_SECTION && !strcmp(item->section->name, ".debug_str"))
			error = add_labels(sources, item->section);
	if (!error)
		*ret_sources = gt_take(sources);
	return error;
}

void gt_ptx_sources_free(struct gt_ptx_sources *sources)
{
	if (!sources)
		return;
	gt_hash_free(sources->files);
	gt_hash_free(sources->labels);
	gt_hash_free_with(sources->names, free);
	gt_hash_free(sources->callers);
	free(sources);
}

/* ---- names of functions ---------------------------------------------------------------- */

/* Append the string at an offset of a line and those that follow it, up to a zero. */
static void read_string(const struct gt_ptx_section_line *line, int64_t offset,
			struct gt_strbuf *text)
{
	for (; line; line = line->next) {
		if (line->type != GT_PTX_TYPE_B8)
			continue;
		for (uint32_t i = 0; i < line->count; i++) {
			const struct gt_ptx_section_value *value = &line->values[i];

			if (offset-- > 0)
				continue;
			if (value->name || !(value->number & 0xff) || text->length == MAX_NAME)
				return;
			gt_strbuf_putc(text, (char)value->number);
		}
	}
}

/* The name that a .loc refers to. NULL: it has none. -ENOMEM. */
static int find_name(struct gt_ptx_sources *sources, const struct gt_ptx_loc *loc,
		     const char **ret_name)
{
	gt_auto_strbuf key = GT_STRBUF_INIT, text = GT_STRBUF_INIT;
	const struct gt_ptx_section_line *line;
	char *name;

	*ret_name = NULL;
	line = loc->function_name ? gt_hash_get_str(sources->labels, loc->function_name) : NULL;
	if (!line || loc->function_offset < 0)
		return 0;
	gt_strbuf_printf(&key, "%s+%lld", loc->function_name, (long long)loc->function_offset);
	if (key.failed)
		return -ENOMEM;
	name = gt_hash_get_str(sources->names, gt_strbuf_string(&key));
	if (!name) {
		read_string(line, loc->function_offset, &text);
		name = text.failed ? NULL : strdup(gt_strbuf_string(&text));
		if (!name)
			return -ENOMEM;
		if (gt_hash_set_str(sources->names, gt_strbuf_string(&key), name)) {
			free(name);
			return -ENOMEM;
		}
	}
	*ret_name = *name ? name : NULL;
	return 0;
}

/* ---- positions ------------------------------------------------------------------------- */

/* The callers of a function's .locs: a call's .loc is the last one before at its position. */
static int find_callers(struct gt_ptx_sources *sources, const struct gt_ptx_function *function)
{
	gt_auto(hash) struct gt_hash *last = gt_hash_new();
	int error = 0;

	gt_hash_free(sources->callers);
	sources->function = NULL;
	sources->callers = gt_hash_new();
	if (!last || !sources->callers)
		return -ENOMEM;
	for (struct gt_ptx_statement *statement = function->body->first; statement && !error;
	     statement = gt_ptx_statement_next(statement)) {
		const struct gt_ptx_loc *loc = statement->loc;
		struct gt_ptx_statement *caller;

		if (statement->kind != GT_PTX_STATEMENT_LOC)
			continue;
		if (loc->is_inlined) {
			const struct source_key at = {loc->inlined_file, loc->inlined_line,
						      loc->inlined_column};

			caller = gt_hash_get(last, &at, sizeof(at));
			if (caller)
				error = gt_hash_set(sources->callers, &loc, sizeof(loc), caller);
		}
		if (!error) {
			const struct source_key at = {loc->file, loc->line, loc->column};

			error = gt_hash_set(last, &at, sizeof(at), statement);
		}
	}
	if (!error)
		sources->function = function;
	return error;
}

static struct gt_ptx_source make_position(const struct gt_ptx_sources *sources, uint32_t number,
					  uint32_t line, uint32_t column)
{
	const struct gt_ptx_file *file = gt_hash_get_u64(sources->files, number);

	return (struct gt_ptx_source){
		.file = file ? file->name : NULL, .line = line, .column = column};
}

int gt_ptx_sources_find(struct gt_ptx_sources *sources, const struct gt_ptx_function *function,
			const struct gt_ptx_loc *loc, struct gt_ptx_source *ret_positions,
			uint32_t *ret_count)
{
	int error = sources->function == function ? 0 : find_callers(sources, function);
	uint32_t count = 0;

	while (!error && loc && count < GT_PTX_MAX_INLINED) {
		const struct gt_ptx_statement *caller =
			gt_hash_get(sources->callers, &loc, sizeof(loc));
		struct gt_ptx_source *position = &ret_positions[count++];

		*position = make_position(sources, loc->file, loc->line, loc->column);
		if (!loc->is_inlined)
			break;
		error = find_name(sources, loc, &position->function);
		if (!caller && count < GT_PTX_MAX_INLINED)
			ret_positions[count++] = make_position(
				sources, loc->inlined_file, loc->inlined_line, loc->inlined_column);
		loc = caller ? caller->loc : NULL;
	}
	if (!error)
		*ret_count = count;
	return error;
}
