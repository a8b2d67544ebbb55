/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "report/table.h"

#include <string.h>

#include "base/text.h"
#include "event/kinds.h"

#define GAP 2

void gt_table_begin(struct gt_table *table, const struct gt_column *columns, size_t count)
{
	*table = (struct gt_table){.columns = columns, .column_count = count};
	for (size_t i = 0; i < count; i++)
		gt_table_text(table, columns[i].title);
}

struct gt_strbuf *gt_table_cell(struct gt_table *table)
{
	return &table->cells;
}

void gt_table_end_cell(struct gt_table *table)
{
	gt_strbuf_putc(&table->cells, '\0');
	table->cell_count++;
}

void gt_table_text(struct gt_table *table, const char *text)
{
	gt_strbuf_puts(&table->cells, text);
	gt_table_end_cell(table);
}

void gt_table_number(struct gt_table *table, unsigned long long number)
{
	gt_strbuf_printf(&table->cells, "%llu", number);
	gt_table_end_cell(table);
}

void gt_table_id(struct gt_table *table, uint32_t id)
{
	gt_put_id(&table->cells, id);
	gt_table_end_cell(table);
}

void gt_table_duration(struct gt_table *table, unsigned long long ns)
{
	gt_format_duration(&table->cells, ns);
	gt_table_end_cell(table);
}

void gt_table_bytes(struct gt_table *table, unsigned long long bytes)
{
	gt_format_bytes(&table->cells, bytes);
	gt_table_end_cell(table);
}

/* Columns of the terminal, for text in UTF-8 without wide characters. */
static size_t width_of(const char *text)
{
	size_t width = 0;

	for (; *text; text++)
		width += (*text & 0xc0) != 0x80;
	return width;
}

/* Where the character begins that has so many before it. */
static const char *skip_characters(const char *text, size_t count)
{
	for (; *text; text++)
		if ((*text & 0xc0) != 0x80 && !count--)
			break;
	return text;
}

static bool is_shortened(const struct gt_column *column, bool is_last)
{
	return column->left && !is_last;
}

/* Its width in the table. */
static size_t cell_width(const struct gt_column *column, const char *cell, bool is_last)
{
	size_t width = width_of(cell);

	return is_shortened(column, is_last) && width > GT_TABLE_TEXT ? GT_TABLE_TEXT : width;
}

/* A third of the text that is shown is its end. */
static void put_text(struct gt_strbuf *text, const char *cell, size_t width)
{
	size_t all = width_of(cell), end = GT_TABLE_TEXT / 3, start = GT_TABLE_TEXT - end - 1;

	if (all <= width) {
		gt_strbuf_puts(text, cell);
		return;
	}
	gt_strbuf_add(text, cell, (size_t)(skip_characters(cell, start) - cell));
	gt_strbuf_printf(text, "…%s", skip_characters(cell, all - end));
}

static void put_cell(struct gt_strbuf *text, const struct gt_column *column, const char *cell,
		     size_t width, bool is_first, bool is_last)
{
	size_t own = cell_width(column, cell, is_last), filling = width - own;

	gt_strbuf_printf(text, "%*s", is_first ? 0 : GAP, "");
	if (!column->left)
		gt_strbuf_printf(text, "%*s", (int)filling, "");
	put_text(text, cell, own);
	if (column->left && !is_last)
		gt_strbuf_printf(text, "%*s", (int)filling, "");
}

/* Without the spaces that an empty last cell leaves there. */
static void end_line(struct gt_strbuf *text)
{
	while (text->length && text->data[text->length - 1] == ' ')
		text->length--;
	gt_strbuf_putc(text, '\n');
}

/* The widths of columns; 0: omitted. */
static void measure_columns(const struct gt_table *table, size_t widths[GT_TABLE_COLUMNS])
{
	size_t count = table->column_count;
	const char *cell = gt_strbuf_string(&table->cells);
	bool used[GT_TABLE_COLUMNS] = {false};

	for (size_t i = 0; i < table->cell_count; i++, cell += strlen(cell) + 1) {
		size_t column = i % count;
		size_t width = cell_width(&table->columns[column], cell, column == count - 1);

		used[column] |= i >= count && *cell && strcmp(cell, "0") != 0;
		if (width > widths[column])
			widths[column] = width;
	}
	for (size_t i = 0; i < count; i++)
		if (table->columns[i].optional && !used[i])
			widths[i] = 0;
}

static void put_cells(const struct gt_table *table, struct gt_strbuf *text)
{
	size_t widths[GT_TABLE_COLUMNS] = {0}, count = table->column_count;
	const char *cell = gt_strbuf_string(&table->cells);

	measure_columns(table, widths);
	for (size_t i = 0; i < table->cell_count; i++, cell += strlen(cell) + 1) {
		const struct gt_column *column = &table->columns[i % count];
		bool is_last = i % count == count - 1;

		if (widths[i % count] || !column->optional)
			put_cell(text, column, cell, widths[i % count], !(i % count), is_last);
		if (is_last)
			end_line(text);
	}
}

void gt_table_put(struct gt_table *table, struct gt_strbuf *text)
{
	if (table->cells.failed || table->column_count > GT_TABLE_COLUMNS)
		text->failed = true;
	else
		put_cells(table, text);
	gt_strbuf_free(&table->cells);
}
