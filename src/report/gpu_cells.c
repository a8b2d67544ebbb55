/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "report/gpu_cells.h"

#include <string.h>

#include "base/histogram.h"
#include "base/text.h"

void gt_table_padded(struct gt_table *table, const char *name, size_t size)
{
	gt_autofree char *copy = *name ? strndup(name, size) : NULL;

	if (copy)
		gt_put_printable(gt_table_cell(table), copy);
	else
		gt_strbuf_putc(gt_table_cell(table), '-');
	gt_table_end_cell(table);
}

void gt_table_process(struct gt_table *table, const struct gt_names *names, uint32_t process)
{
	if (process)
		gt_label_process(gt_table_cell(table), names, process);
	else
		gt_strbuf_putc(gt_table_cell(table), '-');
	gt_table_end_cell(table);
}

void gt_table_times(struct gt_table *table, const struct gt_histogram *histogram)
{
	gt_table_number(table, histogram->count);
	gt_report_put_durations(table, histogram);
	if (histogram->count)
		gt_table_duration(table, histogram->max);
	else
		gt_table_text(table, "-");
}

void gt_table_rate(struct gt_table *table, uint64_t count, uint64_t ns)
{
	if (ns)
		gt_strbuf_printf(gt_table_cell(table), "%.1f/s", (double)count * 1e9 / (double)ns);
	else
		gt_strbuf_putc(gt_table_cell(table), '-');
	gt_table_end_cell(table);
}

void gt_json_padded_name(struct gt_json *json, const char *key, const char *name, size_t size)
{
	if (*name)
		gt_json_string_bytes(json, key, name, strnlen(name, size));
	else
		gt_json_null(json, key);
}

void gt_json_keyed_rows(struct gt_json *json, const char *key, const struct gt_keyed_rows *rows,
			const struct gt_names *names,
			void (*put)(struct gt_json *json, const struct gt_names *names,
				    const void *row))
{
	gt_json_array_begin(json, key);
	gt_vec_each (row, &rows->rows) {
		gt_json_object_begin(json, NULL);
		put(json, names, *row);
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
}
