/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The report "copies": copies by direction. */
#include "analysis/copies.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "report/report.h"

static int copies_open(const struct gt_report_options *options, void **ret_state)
{
	*ret_state = gt_copies_new(options->by, options->max_copies);
	return *ret_state ? 0 : -ENOMEM;
}

static void copies_close(void *copies)
{
	gt_copies_free(copies);
}

static int copies_event(void *copies, const struct gt_names *names, const struct gt_event *event)
{
	return gt_copies_take(copies, names, event);
}

static const struct gt_column columns[] = {
	{"COPIES", true},    {"COUNT", false},        {"BYTES", false},
	{"FAILED", false},   {"WAITED", false},       {"TIME", false},
	{"RATE", false},     {"ASYNC", false},        {"DONE", false},
	{"MEAN <", false},   {"P99 <", false},        {"PINNED", false},
	{"PAGEABLE", false}, {"GRAPHS", false, true}, {"GRAPH BYTES", false, true},
	{"BY", true},
};

/* Bytes in a time: "12.3 GB/s", in powers of ten as buses are sold. */
static void put_rate(struct gt_strbuf *text, uint64_t bytes, uint64_t ns)
{
	double rate = ns ? (double)bytes / (double)ns : 0; /* GB/s */

	if (!ns || !bytes)
		gt_strbuf_putc(text, '-');
	else if (rate >= 1)
		gt_strbuf_printf(text, "%.1f GB/s", rate);
	else
		gt_strbuf_printf(text, "%.1f MB/s", rate * 1e3);
}

static void put_row(struct gt_table *table, const struct gt_report_labels *labels,
		    const void *opaque)
{
	const struct gt_copies_row *row = opaque;

	gt_table_text(table, gt_direction_name(row->direction));
	gt_table_number(table, row->count);
	gt_format_bytes(gt_table_cell(table), row->bytes);
	if (row->unknown)
		gt_strbuf_putc(gt_table_cell(table), '+');
	gt_table_end_cell(table);
	gt_table_number(table, row->failed);
	gt_table_number(table, row->waited.count);
	if (row->waited.count)
		gt_table_duration(table, row->waited_ns);
	else
		gt_table_text(table, "-");
	put_rate(gt_table_cell(table), row->waited.bytes, row->waited_ns);
	gt_table_end_cell(table);
	gt_table_number(table, row->asynchronous.count);
	gt_table_number(table, row->bound.count);
	if (row->bound.count) {
		gt_table_duration(table, gt_histogram_mean(&row->bound));
		gt_table_duration(table, gt_histogram_quantile(&row->bound, 0.99));
	} else {
		gt_table_text(table, "-");
		gt_table_text(table, "-");
	}
	gt_table_bytes(table, row->host[GT_MEMORY_PINNED].bytes);
	gt_table_bytes(table, row->host[GT_MEMORY_PAGEABLE].bytes);
	gt_table_number(table, row->by_graphs.count);
	if (row->by_graphs.count)
		gt_table_bytes(table, row->by_graphs.bytes);
	else
		gt_table_text(table, "");
	gt_report_put_group(table, labels, labels->by, &row->group);
}

/* From a power of two to the next: "2.00-4.00 KiB", "512 B-1.00 KiB"; the unit once if it is one.
 */
static void put_power(struct gt_strbuf *text, unsigned power)
{
	gt_auto_strbuf from = GT_STRBUF_INIT, to = GT_STRBUF_INIT;
	const char *unit, *next_unit;

	gt_format_bytes(&from, power ? 1ull << power : 0);
	gt_format_bytes(&to, power < 63 ? 2ull << power : UINT64_MAX);
	unit = strchr(gt_strbuf_string(&from), ' ');
	next_unit = strchr(gt_strbuf_string(&to), ' ');
	if (unit && next_unit && !strcmp(unit, next_unit))
		gt_strbuf_add(text, gt_strbuf_string(&from),
			      (size_t)(unit - gt_strbuf_string(&from)));
	else
		gt_strbuf_puts(text, gt_strbuf_string(&from));
	gt_strbuf_printf(text, "-%s", gt_strbuf_string(&to));
}

/* Sizes of all rows of a direction, from the smallest power of two to the greatest. */
static int put_sizes(const struct gt_copies_row *const *rows, size_t count,
		     enum gt_direction direction, struct gt_strbuf *text)
{
	struct gt_histogram sizes = {0};
	int error = 0;

	for (size_t i = 0; i < count && !error; i++)
		if (rows[i]->direction == direction)
			error = gt_histogram_merge(&sizes, &rows[i]->sizes);
	if (sizes.count)
		gt_strbuf_printf(text, "%s sizes:", gt_direction_name(direction));
	for (unsigned power = 0; power < 64 && sizes.count && !error; power++) {
		uint64_t number = gt_histogram_power(&sizes, power);

		if (!number)
			continue;
		gt_strbuf_puts(text, "  ");
		put_power(text, power);
		gt_strbuf_printf(text, ": %" PRIu64, number);
	}
	if (sizes.count)
		gt_strbuf_putc(text, '\n');
	gt_histogram_free(&sizes);
	return error;
}

/* Only what this run has measured: nothing is known of buses and memories that it did not use. */
static void put_pinning(struct gt_strbuf *text, enum gt_direction direction,
			const struct gt_pinning *pinning)
{
	if (!pinning->dominates)
		return;
	gt_strbuf_printf(text, "%s: most bytes are in pageable memory. ",
			 gt_direction_name(direction));
	if (!pinning->compared_bytes) {
		gt_strbuf_puts(text,
			       "The gain of pinning is unknown: no synchronous copy of such a size "
			       "used pinned memory.\n");
		return;
	}
	put_rate(text, pinning->compared_bytes, pinning->compared_ns);
	gt_strbuf_puts(text, " were reached, and ");
	put_rate(text, pinning->compared_bytes, pinning->pinned_ns);
	gt_strbuf_puts(text, " with pinned memory in copies of the same sizes: ");
	if (pinning->pinned_ns >= pinning->compared_ns) {
		gt_strbuf_puts(text, "pinning would not help.\n");
		return;
	}
	gt_strbuf_puts(text, "pinning (cudaMallocHost, cudaHostRegister) would save ");
	gt_format_duration(text, pinning->compared_ns - pinning->pinned_ns);
	gt_strbuf_puts(text, " of ");
	gt_format_duration(text, pinning->pageable_ns);
	gt_strbuf_puts(text, ".\n");
}

/* A synchronous copy waits for the work before it, whose time is part of its own. */
static void put_waited_behind(struct gt_strbuf *text, const struct gt_copies_row *const *rows,
			      size_t count)
{
	uint64_t behind = 0, waited = 0;

	for (size_t i = 0; i < count; i++) {
		behind += rows[i]->waited_behind;
		waited += rows[i]->waited.count;
	}
	if (behind)
		gt_strbuf_printf(text,
				 "%" PRIu64 " of %" PRIu64
				 " waiting cop%s began while earlier work could still run: TIME "
				 "and RATE include the wait for it.\n",
				 behind, waited, waited == 1 ? "y" : "ies");
}

static void put_totals(struct gt_strbuf *text, const struct gt_copies_totals *totals)
{
	for (int direction = 0; direction < GT_DIRECTIONS; direction++)
		put_pinning(text, direction, &totals->pinning[direction]);
	if (totals->in_flight)
		gt_strbuf_printf(text, "Asynchronous copies not yet synchronized: %" PRIu64 ".\n",
				 totals->in_flight);
	if (totals->evicted)
		gt_strbuf_printf(text,
				 "Asynchronous copies no longer tracked (--max-copies): %" PRIu64
				 ".\n",
				 totals->evicted);
	gt_report_put_unknown_graphs(text, totals->unknown_graphs, "copies");
}

static void json_part(struct gt_json *json, const char *key, const struct gt_copies_part *part)
{
	gt_json_object_begin(json, key);
	gt_json_u64(json, "count", part->count);
	gt_json_u64(json, "bytes", part->bytes);
	gt_json_object_end(json);
}

static void json_sizes(struct gt_json *json, const struct gt_histogram *sizes)
{
	gt_json_array_begin(json, "sizes");
	for (unsigned power = 0; power < 64; power++) {
		uint64_t number = gt_histogram_power(sizes, power);

		if (!number)
			continue;
		gt_json_object_begin(json, NULL);
		gt_json_u64(json, "from", power ? 1ull << power : 0);
		gt_json_u64(json, "count", number);
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
}

static void json_waited(struct gt_json *json, const struct gt_copies_row *row)
{
	gt_json_object_begin(json, "waited");
	gt_json_u64(json, "count", row->waited.count);
	gt_json_u64(json, "bytes", row->waited.bytes);
	gt_json_u64(json, "time", row->waited_ns);
	gt_json_u64(json, "behind_work", row->waited_behind);
	if (row->waited_ns && row->waited.bytes)
		gt_json_double(json, "bytes_per_second",
			       (double)row->waited.bytes * 1e9 / (double)row->waited_ns);
	else
		gt_json_null(json, "bytes_per_second");
	gt_json_object_end(json);
}

static void json_row(struct gt_json *json, const struct gt_names *names, enum gt_by by,
		     const void *opaque)
{
	const struct gt_copies_row *row = opaque;

	gt_json_string(json, "direction", gt_direction_name(row->direction));
	if (row->group.process)
		gt_report_json_process(json, names, row->group.process,
				       gt_names_process(names, row->group.process));
	gt_report_json_group(json, names, by, &row->group);
	gt_json_u64(json, "count", row->count);
	gt_json_u64(json, "bytes", row->bytes);
	gt_json_u64(json, "unknown", row->unknown);
	gt_json_u64(json, "failed", row->failed);
	json_sizes(json, &row->sizes);
	json_waited(json, row);
	json_part(json, "asynchronous", &row->asynchronous);
	gt_report_json_durations(json, "upper_bound", &row->bound);
	json_part(json, "pinned", &row->host[GT_MEMORY_PINNED]);
	json_part(json, "pageable", &row->host[GT_MEMORY_PAGEABLE]);
	json_part(json, "managed", &row->host[GT_MEMORY_MANAGED]);
	json_part(json, "by_graphs", &row->by_graphs);
}

static void json_pinning(struct gt_json *json, const struct gt_copies_totals *totals)
{
	gt_json_array_begin(json, "pinning");
	for (int direction = 0; direction < GT_DIRECTIONS; direction++) {
		const struct gt_pinning *pinning = &totals->pinning[direction];

		if (!pinning->dominates)
			continue;
		gt_json_object_begin(json, NULL);
		gt_json_string(json, "direction", gt_direction_name(direction));
		gt_json_u64(json, "pageable_bytes", pinning->pageable_bytes);
		gt_json_u64(json, "pageable_time", pinning->pageable_ns);
		gt_json_u64(json, "compared_bytes", pinning->compared_bytes);
		gt_json_u64(json, "compared_time", pinning->compared_ns);
		gt_report_json_known(json, "pinned_time", pinning->compared_bytes,
				     pinning->pinned_ns);
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
}

static const struct gt_report_rows form = {
	.key = "copies",
	.columns = columns,
	.column_count = gt_countof(columns),
	.group = offsetof(struct gt_copies_row, group),
	.empty = "Nothing was copied.\n",
	.put = put_row,
	.json = json_row,
};

static int copies_text(void *copies, const struct gt_report_options *options,
		       const struct gt_names *names, uint64_t now, struct gt_strbuf *text)
{
	const struct gt_copies_row *const *rows;
	struct gt_copies_totals totals;
	size_t count;
	int error = gt_copies_rows(copies, names, &rows, &count, &totals);

	if (error)
		return error;
	gt_report_put_rows(&form, options, names, rows, count, text);
	for (int direction = 0; direction < GT_DIRECTIONS && !error; direction++)
		error = put_sizes(rows, count, direction, text);
	put_waited_behind(text, rows, count);
	put_totals(text, &totals);
	return error;
}

static int copies_json(void *copies, const struct gt_report_options *options,
		       const struct gt_names *names, uint64_t now, struct gt_json *json)
{
	const struct gt_copies_row *const *rows;
	struct gt_copies_totals totals;
	size_t count;
	int error = gt_copies_rows(copies, names, &rows, &count, &totals);

	if (error)
		return error;
	gt_report_json_rows(&form, options, names, rows, count, json);
	json_pinning(json, &totals);
	gt_json_u64(json, "in_flight", totals.in_flight);
	gt_json_u64(json, "evicted", totals.evicted);
	gt_json_u64(json, "unknown_graphs", totals.unknown_graphs);
	return 0;
}

static bool copies_needs(enum gt_operation_kind kind)
{
	return kind != GT_OPERATION_OTHER;
}

const struct gt_report gt_report_copies = {
	.name = "copies",
	.needs = copies_needs,
	.open = copies_open,
	.event = copies_event,
	.put_text = copies_text,
	.put_json = copies_json,
	.close = copies_close,
};
