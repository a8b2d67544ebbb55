/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "patch/lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/clean.h"

/* An instruction that follows a .loc. */
struct patch_line {
	const struct gt_ptx_loc *loc;
	const struct gt_ptx_statement *statement;
};

#define COMPARE(one, other) ((one) < (other) ? -1 : (one) > (other))

static int compare_inlined(const struct gt_ptx_loc *one, const struct gt_ptx_loc *other)
{
	int order = COMPARE(one->is_inlined, other->is_inlined);

	if (order || !one->is_inlined)
		return order;
	order = strcmp(one->function_name, other->function_name);
	order = order ? order : COMPARE(one->function_offset, other->function_offset);
	order = order ? order : COMPARE(one->inlined_file, other->inlined_file);
	order = order ? order : COMPARE(one->inlined_line, other->inlined_line);
	return order ? order : COMPARE(one->inlined_column, other->inlined_column);
}

static int compare_locs(const struct gt_ptx_loc *one, const struct gt_ptx_loc *other)
{
	int order = COMPARE(one->file, other->file);

	order = order ? order : COMPARE(one->line, other->line);
	return order ? order : compare_inlined(one, other);
}

/* By line, then in the order of the text. */
static int compare_lines(const void *a, const void *b)
{
	const struct patch_line *one = a, *other = b;
	int order = compare_locs(one->loc, other->loc);

	return order ? order : COMPARE(one->statement->number, other->statement->number);
}

static int compare_statements(const void *a, const void *b)
{
	const struct gt_ptx_statement *const *one = a, *const *other = b;

	return COMPARE((*one)->number, (*other)->number);
}

int gt_patch_lines_find(const struct gt_ptx_function *function, struct gt_patch_lines *ret_lines)
{
	GT_VEC(struct patch_line) lines = {0};
	const struct gt_ptx_loc *loc = NULL;
	int error = 0;

	*ret_lines = (struct gt_patch_lines){0};
	for (const struct gt_ptx_statement *statement = function->body->first; statement && !error;
	     statement = gt_ptx_statement_next(statement)) {
		if (statement->kind == GT_PTX_STATEMENT_LOC) {
			/* Line 0: code of no line. */
			loc = statement->loc->line ? statement->loc : NULL;
		} else if (statement->kind == GT_PTX_STATEMENT_INSTRUCTION && loc) {
			error = gt_vec_push(&lines, (struct patch_line){loc, statement});
			loc = NULL;
		}
	}
	if (lines.count)
		qsort(lines.items, lines.count, sizeof(*lines.items), compare_lines);
	for (size_t i = 0; i < lines.count && !error; i++)
		if (!i || compare_locs(lines.items[i - 1].loc, lines.items[i].loc))
			error = gt_vec_push(&ret_lines->statements, lines.items[i].statement);
	if (ret_lines->statements.count)
		qsort(ret_lines->statements.items, ret_lines->statements.count,
		      sizeof(*ret_lines->statements.items), compare_statements);
	gt_vec_free(&lines);
	return error;
}

void gt_patch_lines_clear(struct gt_patch_lines *lines)
{
	gt_vec_free(&lines->statements);
}
