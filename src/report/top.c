/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "report/top.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "report/report.h"

enum cell_kind {
	CELL_PROCESS, /* id */
	CELL_PROCESS_NAME,
	CELL_NAME,       /* of the row */
	CELL_COUNT,      /* counter a */
	CELL_RATE,       /* a per second, in the interval */
	CELL_BYTES,      /* a */
	CELL_BYTE_RATE,  /* a per second */
	CELL_SHARE,      /* time a of the interval, in percent */
	CELL_MEAN,       /* time a of each b, in the interval; without a b there, in all */
	CELL_MEAN_BYTES, /* bytes a of each b, likewise */
};

struct top_column {
	const char *title, *key;
	enum cell_kind kind;
	unsigned a, b;
};

static const struct top_column process_columns[] = {
	{"PID", "pid", CELL_PROCESS, 0, 0},
	{"CALLS/S", "calls_per_second", CELL_RATE, GT_TOP_PROCESS_CALLS, 0},
	{"ERRORS", "errors", CELL_COUNT, GT_TOP_PROCESS_ERRORS, 0},
	{"LAUNCHES/S", "launches_per_second", CELL_RATE, GT_TOP_PROCESS_LAUNCHES, 0},
	{"COPIED/S", "copied_bytes_per_second", CELL_BYTE_RATE, GT_TOP_PROCESS_COPIED, 0},
	{"MEMORY", "memory_bytes", CELL_BYTES, GT_TOP_PROCESS_MEMORY, 0},
	{"%API", "api_percent", CELL_SHARE, GT_TOP_PROCESS_API, 0},
	{"%GPU", "gpu_percent", CELL_SHARE, GT_TOP_PROCESS_GPU, 0},
	{"NAME", "name", CELL_PROCESS_NAME, 0, 0},
};

static const struct top_column function_columns[] = {
	{"CALLS/S", "calls_per_second", CELL_RATE, GT_TOP_FUNCTION_CALLS, 0},
	{"CALLS", "calls", CELL_COUNT, GT_TOP_FUNCTION_CALLS, 0},
	{"ERRORS", "errors", CELL_COUNT, GT_TOP_FUNCTION_ERRORS, 0},
	{"%TIME", "time_percent", CELL_SHARE, GT_TOP_FUNCTION_TIME, 0},
	{"MEAN", "mean_ns", CELL_MEAN, GT_TOP_FUNCTION_TIME, GT_TOP_FUNCTION_CALLS},
	{"FUNCTION", "function", CELL_NAME, 0, 0},
};

static const struct top_column kernel_columns[] = {
	{"LAUNCHES/S", "launches_per_second", CELL_RATE, GT_TOP_KERNEL_LAUNCHES, 0},
	{"LAUNCHES", "launches", CELL_COUNT, GT_TOP_KERNEL_LAUNCHES, 0},
	{"FAILED", "failed", CELL_COUNT, GT_TOP_KERNEL_FAILED, 0},
	{"CALL", "call_mean_ns", CELL_MEAN, GT_TOP_KERNEL_CALL, GT_TOP_KERNEL_LAUNCHES},
	{"%GPU", "gpu_percent", CELL_SHARE, GT_TOP_KERNEL_GPU, 0},
	{"GPU TIME", "gpu_mean_ns", CELL_MEAN, GT_TOP_KERNEL_GPU, GT_TOP_KERNEL_RUNS},
	{"KERNEL", "kernel", CELL_NAME, 0, 0},
};

static const struct top_column memory_columns[] = {
	{"PID", "pid", CELL_PROCESS, 0, 0},
	{"DEVICE", "device_bytes", CELL_BYTES, GT_TOP_MEMORY_DEVICE, 0},
	{"PEAK", "peak_bytes", CELL_BYTES, GT_TOP_MEMORY_PEAK, 0},
	{"MANAGED", "managed_bytes", CELL_BYTES, GT_TOP_MEMORY_MANAGED, 0},
	{"PINNED", "pinned_bytes", CELL_BYTES, GT_TOP_MEMORY_HOST, 0},
	{"ALLOCS/S", "allocations_per_second", CELL_RATE, GT_TOP_MEMORY_ALLOCATIONS, 0},
	{"FREES/S", "frees_per_second", CELL_RATE, GT_TOP_MEMORY_FREES, 0},
	{"FAILED", "failed", CELL_COUNT, GT_TOP_MEMORY_FAILED, 0},
	{"NAME", "name", CELL_PROCESS_NAME, 0, 0},
};

static const struct top_column copy_columns[] = {
	{"PID", "pid", CELL_PROCESS, 0, 0},
	{"DIRECTION", "direction", CELL_NAME, 0, 0},
	{"RATE", "bytes_per_second", CELL_BYTE_RATE, GT_TOP_COPY_BYTES, 0},
	{"COPIES/S", "copies_per_second", CELL_RATE, GT_TOP_COPY_COUNT, 0},
	{"SIZE", "mean_bytes", CELL_MEAN_BYTES, GT_TOP_COPY_BYTES, GT_TOP_COPY_COUNT},
	{"COPIES", "copies", CELL_COUNT, GT_TOP_COPY_COUNT, 0},
	{"BYTES", "bytes", CELL_BYTES, GT_TOP_COPY_BYTES, 0},
	{"NAME", "name", CELL_PROCESS_NAME, 0, 0},
};

static const struct top_column ring_columns[] = {
	{"JOBS/S", "jobs_per_second", CELL_RATE, GT_TOP_RING_JOBS, 0},
	{"JOBS", "jobs", CELL_COUNT, GT_TOP_RING_JOBS, 0},
	{"RUNNING", "running", CELL_COUNT, GT_TOP_RING_RUNNING, 0},
	{"%BUSY", "busy_percent", CELL_SHARE, GT_TOP_RING_RUN, 0},
	{"RUN TIME", "run_mean_ns", CELL_MEAN, GT_TOP_RING_RUN, GT_TOP_RING_DONE},
	{"WAITS/S", "waits_per_second", CELL_RATE, GT_TOP_RING_WAITS, 0},
	{"TIMEOUTS", "timeouts", CELL_COUNT, GT_TOP_RING_TIMEOUTS, 0},
	{"RING", "ring", CELL_NAME, 0, 0},
};

static const struct top_column source_columns[] = {
	{"EVENTS/S", "events_per_second", CELL_RATE, GT_TOP_SOURCE_EVENTS, 0},
	{"EVENTS", "events", CELL_COUNT, GT_TOP_SOURCE_EVENTS, 0},
	{"LOST/S", "lost_per_second", CELL_RATE, GT_TOP_SOURCE_LOST, 0},
	{"LOST", "lost", CELL_COUNT, GT_TOP_SOURCE_LOST, 0},
	{"EVICTED", "evicted", CELL_COUNT, GT_TOP_SOURCE_EVICTED, 0},
	{"SOURCE", "source", CELL_NAME, 0, 0},
};

struct top_form {
	const struct top_column *columns;
	unsigned count, sort;
};

#define FORM(columns, sort)                                                                        \
	{                                                                                          \
		columns, sizeof(columns) / sizeof(*(columns)), sort                                \
	}
static const struct top_form forms[GT_TOP_TABLES] = {
	[GT_TOP_PROCESSES] = FORM(process_columns, 1),
	[GT_TOP_FUNCTIONS] = FORM(function_columns, 3),
	[GT_TOP_KERNELS] = FORM(kernel_columns, 0),
	[GT_TOP_MEMORY] = FORM(memory_columns, 1),
	[GT_TOP_COPIES] = FORM(copy_columns, 2),
	[GT_TOP_RINGS] = FORM(ring_columns, 3),
	[GT_TOP_SOURCES] = FORM(source_columns, 0),
};

const char *const gt_top_table_names[] = {"processes", "functions", "kernels", "memory",
					  "copies",    "rings",     "sources", NULL};

unsigned gt_top_columns(enum gt_top_table table)
{
	return forms[table].count;
}

unsigned gt_top_default_sort(enum gt_top_table table)
{
	return forms[table].sort;
}

int gt_top_find_column(enum gt_top_table table, const char *key, unsigned *ret_column)
{
	for (unsigned i = 0; i < forms[table].count; i++) {
		if (!strcmp(forms[table].columns[i].key, key)) {
			*ret_column = i;
			return 0;
		}
	}
	return -EINVAL;
}

void gt_top_put_keys(struct gt_strbuf *text, enum gt_top_table table)
{
	for (unsigned i = 0; i < forms[table].count; i++)
		gt_strbuf_printf(text, "%s%s", i ? ", " : "", forms[table].columns[i].key);
}

/* ---- cells -------------------------------------------------------------------------------- */

static bool is_text(enum cell_kind kind)
{
	return kind == CELL_PROCESS_NAME || kind == CELL_NAME;
}

static double per_second(const struct gt_top_row *row, unsigned counter, uint64_t interval)
{
	uint64_t more = row->now[counter] - row->before[counter];

	/* A counter of what is live, such as memory, may be lower than before. */
	return row->now[counter] < row->before[counter] ? 0 : (double)more * 1e9 / (double)interval;
}

/* NAN: nothing was counted. */
static double mean_of(const struct gt_top_row *row, unsigned sum, unsigned counter)
{
	uint64_t count = row->now[counter] - row->before[counter];
	uint64_t all = row->now[sum] - row->before[sum];

	if (!count || row->now[counter] < row->before[counter] ||
	    row->now[sum] < row->before[sum]) {
		count = row->now[counter];
		all = row->now[sum];
	}
	return count ? (double)all / (double)count : NAN;
}

/* The value of a cell that is no text. */
static double value_of(const struct top_column *column, const struct gt_top_row *row,
		       uint64_t interval)
{
	switch (column->kind) {
	case CELL_PROCESS:
		return gt_id_number(row->process);
	case CELL_RATE:
	case CELL_BYTE_RATE:
		return per_second(row, column->a, interval);
	case CELL_SHARE:
		return per_second(row, column->a, interval) / 1e7;
	case CELL_MEAN:
	case CELL_MEAN_BYTES:
		return mean_of(row, column->a, column->b);
	default:
		return (double)row->now[column->a];
	}
}

static const char *text_of(const struct top_column *column, const struct gt_top_row *row,
			   const struct gt_names *names)
{
	return column->kind == CELL_NAME ? row->name : gt_names_process(names, row->process);
}

static void put_number(struct gt_strbuf *text, double value)
{
	gt_strbuf_printf(text, value > 0 && value < 9.95 ? "%.1f" : "%.0f", value);
}

static void put_cell(struct gt_strbuf *text, const struct gt_top *top,
		     const struct top_column *column, const struct gt_top_row *row,
		     const struct gt_names *names)
{
	double value;

	if (column->kind == CELL_NAME && row->kernel) {
		gt_label_kernel(text, gt_top_kernels(top), row->kernel, 0);
		return;
	}
	if (is_text(column->kind)) {
		gt_put_printable(text, text_of(column, row, names));
		return;
	}
	value = value_of(column, row, gt_top_interval(top));
	if (isnan(value)) {
		gt_strbuf_putc(text, '-');
		return;
	}
	switch (column->kind) {
	case CELL_BYTES:
	case CELL_BYTE_RATE:
	case CELL_MEAN_BYTES:
		gt_format_bytes(text, (uint64_t)value);
		break;
	case CELL_MEAN:
		gt_format_duration(text, (uint64_t)value);
		break;
	case CELL_PROCESS:
	case CELL_COUNT:
		gt_strbuf_printf(text, "%.0f", value);
		break;
	default:
		put_number(text, value);
	}
}

/* ---- tables ------------------------------------------------------------------------------- */

struct top_order {
	const struct top_column *column;
	const struct gt_names *names;
	uint64_t interval;
	bool ascending;
};

static int compare_rows(const void *a, const void *b, void *opaque)
{
	const struct gt_top_row *left = *(const struct gt_top_row *const *)a;
	const struct gt_top_row *right = *(const struct gt_top_row *const *)b;
	const struct top_order *order = opaque;
	int result = 0;

	if (is_text(order->column->kind)) {
		result = strcmp(text_of(order->column, left, order->names),
				text_of(order->column, right, order->names));
	} else {
		double first = value_of(order->column, left, order->interval);
		double second = value_of(order->column, right, order->interval);

		/* What is unknown is less than what is known. */
		first = isnan(first) ? -1 : first;
		second = isnan(second) ? -1 : second;
		result = first > second ? -1 : first < second;
	}
	if (order->ascending)
		result = -result;
	if (!result)
		result = (left->process > right->process) - (left->process < right->process);
	return result ? result : strcmp(left->name, right->name);
}

static bool passes_filter(const struct gt_top_row *row, const struct gt_names *names,
			  const char *filter)
{
	return !filter || !*filter || strcasestr(row->name, filter) ||
	       (row->process && strcasestr(gt_names_process(names, row->process), filter));
}

/* *ret_rows is freed by the caller. */
static int select_rows(const struct gt_top *top, const struct gt_names *names,
		       const struct gt_top_view *view, const struct gt_top_row ***ret_rows,
		       size_t *ret_count)
{
	size_t count, selected = 0;
	const struct gt_top_row *const *all = gt_top_rows(top, view->table, &count);
	const struct gt_top_row **rows = calloc(count + 1, sizeof(*rows));
	struct top_order order = {
		.column = &forms[view->table].columns[view->sort],
		.names = names,
		.interval = gt_top_interval(top),
		.ascending = view->ascending,
	};

	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (passes_filter(all[i], names, view->filter))
			rows[selected++] = all[i];
	qsort_r(rows, selected, sizeof(*rows), compare_rows, &order);
	*ret_rows = rows;
	*ret_count = selected;
	return 0;
}

/* The title of the column that the rows are sorted by has an arrow. */
static void begin_table(struct gt_table *table, struct gt_column *columns,
			const struct gt_top_view *view, struct gt_strbuf *title)
{
	const struct top_form *form = &forms[view->table];

	for (unsigned i = 0; i < form->count; i++)
		columns[i] = (struct gt_column){.title = form->columns[i].title,
						.left = is_text(form->columns[i].kind)};
	gt_strbuf_printf(title, "%s%s", columns[view->sort].title, view->ascending ? "▲" : "▼");
	columns[view->sort].title = gt_strbuf_string(title);
	gt_table_begin(table, columns, form->count);
}

int gt_top_put_table(struct gt_strbuf *text, const struct gt_top *top, const struct gt_names *names,
		     const struct gt_top_view *view, size_t *ret_rows)
{
	const struct top_form *form = &forms[view->table];
	struct gt_column columns[GT_TABLE_COLUMNS];
	gt_auto_strbuf title = GT_STRBUF_INIT;
	const struct gt_top_row **rows;
	struct gt_table table;
	int error = select_rows(top, names, view, &rows, ret_rows);

	if (error)
		return error;
	begin_table(&table, columns, view, &title);
	for (size_t i = view->skip; i < *ret_rows; i++) {
		if (view->limit && i - view->skip >= view->limit)
			break;
		for (unsigned c = 0; c < form->count; c++) {
			put_cell(gt_table_cell(&table), top, &form->columns[c], rows[i], names);
			gt_table_end_cell(&table);
		}
	}
	gt_table_put(&table, text);
	free(rows);
	return text->failed ? -ENOMEM : 0;
}

/* ---- head --------------------------------------------------------------------------------- */

static uint64_t lost_events(const struct gt_names *names)
{
	const struct gt_event_account *account = gt_names_account(names);

	/* What layer sources lost is among others_lost. */
	return account ? account->lost + account->others_lost : 0;
}

static void put_known_percent(struct gt_strbuf *text, uint32_t percent)
{
	if (percent == UINT32_MAX)
		gt_strbuf_puts(text, "?");
	else
		gt_strbuf_printf(text, "%" PRIu32 " %%", percent);
}

static void put_sample(struct gt_strbuf *text, const struct gt_top_sample *gpu)
{
	const struct gt_event_gpu_sample *sample = &gpu->sample;

	gt_strbuf_printf(text, "GPU %" PRIu32 " ", gpu->gpu);
	gt_put_printable(text, gpu->model);
	gt_strbuf_puts(text, ": ");
	put_known_percent(text, sample->utilization);
	if (sample->memory_used != UINT64_MAX && sample->memory_total != UINT64_MAX) {
		gt_strbuf_puts(text, ", memory ");
		gt_format_bytes(text, sample->memory_used);
		gt_strbuf_puts(text, " of ");
		gt_format_bytes(text, sample->memory_total);
	}
	if (sample->power != UINT32_MAX)
		gt_strbuf_printf(text, ", %.0f W", (double)sample->power / 1000);
	if (sample->temperature != UINT32_MAX)
		gt_strbuf_printf(text, ", %" PRIu32 " °C", (uint32_t)sample->temperature);
	gt_strbuf_putc(text, '\n');
}

void gt_top_put_head(struct gt_strbuf *text, const struct gt_top *top, const struct gt_names *names)
{
	uint64_t interval = gt_top_interval(top), lost = lost_events(names);
	size_t count;
	const struct gt_top_sample *samples = gt_top_samples(top, &count);
	const struct gt_event_overhead *overhead = gt_names_overhead(names);

	gt_strbuf_puts(text, "events ");
	put_number(text, (double)gt_top_events(top) * 1e9 / (double)interval);
	gt_strbuf_printf(text, "/s, lost %" PRIu64 ", interval ", lost);
	/* Before the first one is over there are no rates. */
	if (gt_top_has_interval(top))
		gt_format_duration(text, interval);
	else
		gt_strbuf_putc(text, '-');
	if (gt_top_omitted(top))
		gt_strbuf_printf(text, ", %" PRIu64 " rows omitted (at most %d in a table)",
				 gt_top_omitted(top), GT_TOP_ROWS);
	if (overhead && overhead->measured)
		gt_strbuf_printf(text, ", probes %.2f %% of a CPU",
				 gt_overhead_share(overhead) * 100);
	gt_strbuf_putc(text, '\n');
	gt_put_gaps_line(text, names);
	for (size_t i = 0; i < count; i++)
		put_sample(text, &samples[i]);
}

/* ---- JSON --------------------------------------------------------------------------------- */

static void json_row(struct gt_json *json, const struct top_form *form,
		     const struct gt_top_row *row, const struct gt_names *names, uint64_t interval)
{
	gt_json_object_begin(json, NULL);
	for (unsigned i = 0; i < form->count; i++) {
		const struct top_column *column = &form->columns[i];
		double value;

		if (is_text(column->kind)) {
			gt_json_string(json, column->key, text_of(column, row, names));
			continue;
		}
		value = value_of(column, row, interval);
		if (isnan(value))
			gt_json_null(json, column->key);
		else if (column->kind == CELL_PROCESS || column->kind == CELL_COUNT ||
			 column->kind == CELL_BYTES)
			gt_json_u64(json, column->key, (uint64_t)value);
		else
			gt_json_double(json, column->key, value);
	}
	gt_json_object_end(json);
}

void gt_top_json(struct gt_json *json, const struct gt_top *top, const struct gt_names *names,
		 uint64_t now)
{
	uint64_t interval = gt_top_interval(top);

	gt_json_object_begin(json, NULL);
	gt_json_string(json, "schema", "gputap.top.1");
	gt_json_u64(json, "time", now);
	gt_json_u64(json, "interval", interval);
	gt_json_u64(json, "events", gt_top_events(top));
	gt_json_u64(json, "lost", lost_events(names));
	gt_json_u64(json, "omitted", gt_top_omitted(top));
	gt_json_gaps(json, names);
	gt_json_overhead(json, "overhead", gt_names_overhead(names));
	for (int table = 0; table < GT_TOP_TABLES; table++) {
		size_t count;
		const struct gt_top_row *const *rows =
			gt_top_rows(top, (enum gt_top_table)table, &count);

		gt_json_array_begin(json, gt_top_table_names[table]);
		for (size_t i = 0; i < count; i++)
			json_row(json, &forms[table], rows[i], names, interval);
		gt_json_array_end(json);
	}
	gt_json_object_end(json);
}
