/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Tables of text: cells are added row by row, and the columns are as wide as their widest cell.
 * Text with other columns after it is shortened in its middle beyond GT_TABLE_TEXT, as names of
 * C++ templates are: the rest of the row would be out of sight.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "base/vec.h"

#define GT_TABLE_COLUMNS 24 /* at most */
#define GT_TABLE_TEXT 64    /* columns of the terminal */

struct gt_column {
	const char *title;
	bool left;     /* aligned; else to the right, as numbers are */
	bool optional; /* omitted if all its cells are "0" or empty */
};

struct gt_table {
	const struct gt_column *columns;
	size_t column_count;
	struct gt_strbuf cells; /* each ended by a NUL */
	size_t cell_count;
};

void gt_table_begin(struct gt_table *table, const struct gt_column *columns, size_t count);
/* Where the text of the next cell is put; then gt_table_end_cell. */
struct gt_strbuf *gt_table_cell(struct gt_table *table);
void gt_table_end_cell(struct gt_table *table);
void gt_table_text(struct gt_table *table, const char *text);
void gt_table_number(struct gt_table *table, unsigned long long number);
void gt_table_id(struct gt_table *table, uint32_t id); /* of a process or thread */
void gt_table_duration(struct gt_table *table, unsigned long long ns);
void gt_table_bytes(struct gt_table *table, unsigned long long bytes);
/* Adds the table to a text and frees it. Nothing but the titles if it has no row. */
void gt_table_put(struct gt_table *table, struct gt_strbuf *text);
