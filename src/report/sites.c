/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "report/sites.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/hash.h"
#include "base/text.h"

/* ---- reading --------------------------------------------------------------------------- */

struct site_rows {
	struct gt_site_row *items;
	size_t count;
	uint64_t *counters;   /* of all rows */
	uint32_t not_counted; /* sites that the map has no room for */
	uint32_t unknown;     /* sites that were counted, and of which nothing else is known */
};

static void site_rows_clear(struct site_rows *rows)
{
	free(rows->items);
	free(rows->counters);
	*rows = (struct site_rows){0};
}
#define auto_site_rows __attribute__((cleanup(site_rows_clear))) struct site_rows

/* "ld.global.f32" of "@%p1 ld.global.f32 %f1, [%rd1];" */
static void find_opcode(const char *text, const char **ret_opcode, size_t *ret_length)
{
	const char *space = *text == '@' ? strchr(text, ' ') : NULL;

	text = space ? space + 1 : text;
	*ret_opcode = text;
	*ret_length = strcspn(text, " ;");
}

/* Equal sites have equal keys. */
static void put_key(const struct gt_inject_site *site, enum gt_site_grouping grouping,
		    struct gt_strbuf *key)
{
	const char *opcode;
	size_t length;

	gt_strbuf_printf(key, "%s\n", site->function);
	if (grouping == GT_SITES_BY_LINE && site->location_count) {
		find_opcode(site->text, &opcode, &length);
		gt_strbuf_add(key, opcode, length);
		for (uint32_t i = 0; i < site->location_count; i++)
			gt_strbuf_printf(key, "\n%s:%u", site->locations[i].file,
					 site->locations[i].line);
		return;
	}
	if (grouping == GT_SITES_BY_LOOP && site->loop_line)
		gt_strbuf_printf(key, "loop %u", site->loop_line);
	else
		gt_strbuf_printf(key, "%u\n%s", site->line, site->text);
}

static struct gt_inject_site unknown_site(void)
{
	return (struct gt_inject_site){.function = "?", .text = ""};
}

/* What is known while the counters of all sites are added. */
struct site_reading {
	const struct gt_site_report *report;
	enum gt_site_grouping grouping;
	const uint64_t *values; /* of the maps */
	uint32_t count;
	struct gt_hash *keys;         /* the row of each key */
	struct gt_hash *instructions; /* the row of each instruction */
	struct site_rows *rows;
};

/* The row of a site, new if it is the first one of its key. NULL: out of memory. */
static struct gt_site_row *find_row(struct site_reading *reading, const struct gt_inject_site *site)
{
	gt_auto_strbuf key = GT_STRBUF_INIT;
	struct site_rows *rows = reading->rows;
	struct gt_site_row *row;

	put_key(site, reading->grouping, &key);
	if (key.failed)
		return NULL;
	row = gt_hash_get_str(reading->keys, gt_strbuf_string(&key));
	if (row)
		return row;
	row = &rows->items[rows->count];
	row->site = *site;
	row->counters = rows->counters + rows->count * reading->report->counters;
	if (gt_hash_set_str(reading->keys, gt_strbuf_string(&key), row))
		return NULL;
	rows->count++;
	return row;
}

static int count_instruction(struct site_reading *reading, struct gt_site_row *row,
			     const struct gt_inject_site *site)
{
	gt_auto_strbuf key = GT_STRBUF_INIT;

	put_key(site, GT_SITES_BY_INSTRUCTION, &key);
	if (key.failed)
		return -ENOMEM;
	if (gt_hash_get_str(reading->instructions, gt_strbuf_string(&key)))
		return 0;
	row->instructions++;
	return gt_hash_set_str(reading->instructions, gt_strbuf_string(&key), row);
}

static void add_counters(const struct gt_site_report *report, struct gt_site_row *row,
			 const uint64_t *values)
{
	for (uint32_t i = 0; i < report->counters; i++) {
		if (report->maxima >> i & 1)
			row->counters[i] =
				values[i] > row->counters[i] ? values[i] : row->counters[i];
		else if (!(report->not_summed >> i & 1))
			row->counters[i] += values[i];
		else if (!row->counters[i])
			row->counters[i] = values[i];
	}
}

static int add_site(struct site_reading *reading, const struct gt_inject_site *site,
		    const uint64_t *values)
{
	struct gt_site_row *row = find_row(reading, site);

	if (!row || count_instruction(reading, row, site))
		return -ENOMEM;
	add_counters(reading->report, row, values);
	return 0;
}

/* Add the counters of the ends of loops to the rows of their branches back. */
static int add_loop_ends(const struct gt_gpu_run *run, struct site_reading *reading)
{
	gt_auto_strbuf key = GT_STRBUF_INIT;

	for (uint32_t i = 0; i < reading->count; i++) {
		struct gt_site_row *row;
		struct gt_inject_site site;

		if (!gt_inject_site(run->inject, i, &site) ||
		    !(site.kinds & 1u << GT_KIND_LOOP_END))
			continue;
		gt_strbuf_clear(&key);
		put_key(&site, reading->grouping, &key);
		if (key.failed)
			return -ENOMEM;
		row = gt_hash_get_str(reading->keys, gt_strbuf_string(&key));
		if (row)
			add_counters(reading->report, row,
				     reading->values + (size_t)i * reading->report->counters);
	}
	return 0;
}

static int add_sites(const struct gt_gpu_run *run, struct site_reading *reading)
{
	uint32_t counters = reading->report->counters;
	int error = 0;

	for (uint32_t i = 0; i < reading->count && !error; i++) {
		const uint64_t *values = reading->values + (size_t)i * counters;
		struct gt_inject_site site;

		if (!values[0])
			continue;
		if (!gt_inject_site(run->inject, i, &site)) {
			site = unknown_site();
			reading->rows->unknown++;
		}
		error = add_site(reading, &site, values);
	}
	return error;
}

/*
 * The counters of `sites` sites or, less, of those that the maps have room for. *ret_values, which
 * the caller frees, is NULL without such a map. 0 or -ENOMEM.
 */
static int read_values(const struct gt_gpu_run *run, const struct gt_site_report *report,
		       uint32_t sites, uint64_t **ret_values, uint32_t *ret_count)
{
	uint32_t counters = report->counters, sums = report->sums ? report->sums : counters;
	size_t rest_size = (counters - sums) * sizeof(uint64_t), size = sums * sizeof(uint64_t);
	uint32_t count = 0, rest_count = 0;
	const uint64_t *first = gt_gpu_report_values(run, report->map, (uint32_t)size, &count);
	const uint64_t *rest = rest_size ? gt_gpu_report_values(run, report->rest,
								(uint32_t)rest_size, &rest_count)
					 : NULL;
	uint64_t *values;

	if (!first || (rest_size && (!rest || rest_count != count)))
		return 0;
	count = count < sites ? count : sites;
	values = calloc((size_t)count + 1, counters * sizeof(*values));
	if (!values)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		memcpy(values + i * counters, first + i * sums, size);
		if (rest)
			memcpy(values + i * counters + sums, rest + i * (counters - sums),
			       rest_size);
	}
	*ret_values = values;
	*ret_count = count;
	return 0;
}

static int read_rows(const struct gt_gpu_run *run, const struct gt_site_report *report,
		     struct site_rows *rows)
{
	gt_auto(hash) struct gt_hash *keys = gt_hash_new();
	gt_auto(hash) struct gt_hash *instructions = gt_hash_new();
	gt_autofree uint64_t *values = NULL;
	uint32_t kept, sites = gt_inject_site_count(run->inject, &kept);
	struct site_reading reading = {
		.report = report,
		.grouping = run->by_line          ? GT_SITES_BY_LINE
			    : run->by_instruction ? GT_SITES_BY_INSTRUCTION
						  : report->grouping,
		.keys = keys,
		.instructions = instructions,
		.rows = rows,
	};
	int error;

	error = read_values(run, report, sites, &values, &reading.count);
	if (error)
		return error;
	reading.values = values;
	rows->not_counted = sites - reading.count;
	rows->items = calloc((size_t)reading.count + 1, sizeof(*rows->items));
	rows->counters =
		calloc((size_t)reading.count * report->counters + 1, sizeof(*rows->counters));
	if (!keys || !instructions || !rows->items || !rows->counters)
		return -ENOMEM;
	error = reading.values ? add_sites(run, &reading) : 0;
	if (!error && reading.values && reading.grouping == GT_SITES_BY_LOOP)
		error = add_loop_ends(run, &reading);
	return error;
}

/* ---- order ----------------------------------------------------------------------------- */

static int compare_rows(const void *a, const void *b, void *context)
{
	uint64_t (*const *weight)(const struct gt_site_row *row) = context;
	const struct gt_site_row *one = a, *other = b;
	uint64_t first = (*weight)(one), second = (*weight)(other);
	int order = strcmp(one->site.function, other->site.function);

	if (first != second)
		return first < second ? 1 : -1;
	return order ? order
		     : (one->site.line > other->site.line) - (one->site.line < other->site.line);
}

/* The rows of a report, the first of them with run->top. */
static int find_rows(const struct gt_gpu_run *run, const struct gt_site_report *report,
		     struct site_rows *rows)
{
	uint64_t (*weight)(const struct gt_site_row *row) = report->weight;
	int error = read_rows(run, report, rows);

	if (error)
		return error;
	if (rows->count)
		qsort_r(rows->items, rows->count, sizeof(*rows->items), compare_rows, &weight);
	if (run->top && rows->count > run->top)
		rows->count = run->top;
	return 0;
}

/* ---- text ------------------------------------------------------------------------------ */

static void put_location(const struct gt_inject_location *location, struct gt_strbuf *text)
{
	const char *slash = strrchr(location->file, '/');

	gt_put_printable(text, slash ? slash + 1 : location->file);
	gt_strbuf_printf(text, ":%u", location->line);
}

/*
 * "matmul.cu:31"; "sum.h:7 < main.cu:31": inlined; "PTX 45", "SPIR-V 77": without line information.
 * Instructions of SPIR-V begin with "Op".
 */
static void put_place(const struct gt_inject_site *site, struct gt_strbuf *text)
{
	for (uint32_t i = 0; i < site->location_count; i++) {
		if (i)
			gt_strbuf_puts(text, " < ");
		put_location(&site->locations[i], text);
	}
	if (!site->location_count)
		gt_strbuf_printf(text, "%s %u", strncmp(site->text, "Op", 2) ? "PTX" : "SPIR-V",
				 site->line);
}

/* "ld.global.f32 %f1, [%rd1];", or "ld.global.f32, 12 instructions" */
static void put_instructions(const struct gt_site_row *row, struct gt_strbuf *text)
{
	gt_auto_strbuf opcode = GT_STRBUF_INIT;
	const char *start;
	size_t length;

	if (row->instructions <= 1) {
		gt_put_printable(text, row->site.text);
		return;
	}
	find_opcode(row->site.text, &start, &length);
	gt_strbuf_add(&opcode, start, length);
	gt_put_printable(text, gt_strbuf_string(&opcode));
	gt_strbuf_printf(text, ", %u instructions", row->instructions);
}

static void put_site(const struct gt_gpu_run *run, const struct gt_site_row *row,
		     struct gt_table *table)
{
	const struct gt_inject_site *site = &row->site;

	put_place(site, gt_table_cell(table));
	gt_table_end_cell(table);
	gt_gpu_report_put_name(run, site->function, gt_table_cell(table));
	gt_table_end_cell(table);
	put_instructions(row, gt_table_cell(table));
	gt_table_end_cell(table);
}

void gt_site_report_put(const struct gt_gpu_run *run, const struct gt_site_report *report,
			struct gt_strbuf *text)
{
	auto_site_rows rows = {0};
	struct gt_table table;

	if (find_rows(run, report, &rows)) {
		text->failed = true;
		return;
	}
	for (size_t i = 0; run->names && i < rows.count; i++)
		gt_short_names_add(run->names, rows.items[i].site.function);
	gt_table_begin(&table, report->columns, report->column_count);
	for (size_t i = 0; i < rows.count; i++) {
		report->put_cells(&rows.items[i], &table);
		put_site(run, &rows.items[i], &table);
	}
	gt_table_put(&table, text);
	if (rows.not_counted)
		gt_strbuf_printf(text,
				 "not counted: %u sites of modules that were loaded when the map "
				 "was full\n",
				 rows.not_counted);
	if (rows.unknown)
		gt_strbuf_printf(text,
				 "the rows of \"?\" are %u sites of which neither kernel nor line "
				 "was kept: the table of sites was full\n",
				 rows.unknown);
}

/* ---- JSON ------------------------------------------------------------------------------ */

void gt_site_put_json(const struct gt_inject_site *site, struct gt_json *json)
{
	gt_json_string(json, "function", site->function);
	gt_json_u64(json, "ptx_line", site->line);
	gt_json_string(json, "ptx", site->text);
	gt_json_array_begin(json, "source");
	for (uint32_t i = 0; i < site->location_count; i++) {
		gt_json_object_begin(json, NULL);
		gt_json_string(json, "file", site->locations[i].file);
		gt_json_u64(json, "line", site->locations[i].line);
		gt_json_u64(json, "column", site->locations[i].column);
		if (site->locations[i].function)
			gt_json_string(json, "function", site->locations[i].function);
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
}

void gt_site_report_put_json(const struct gt_gpu_run *run, const struct gt_site_report *report,
			     struct gt_json *json)
{
	auto_site_rows rows = {0};

	if (find_rows(run, report, &rows)) {
		json->buffer->failed = true;
		return;
	}
	gt_json_array_begin(json, report->key);
	for (size_t i = 0; i < rows.count; i++) {
		gt_json_object_begin(json, NULL);
		gt_site_put_json(&rows.items[i].site, json);
		gt_json_u64(json, "instructions", rows.items[i].instructions);
		report->put_members(&rows.items[i], json);
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
	gt_json_u64(json, "sites_not_counted", rows.not_counted);
	gt_json_u64(json, "sites_unknown", rows.unknown);
}

/* ---- cells ----------------------------------------------------------------------------- */

static double ratio(uint64_t a, uint64_t b)
{
	return b ? (double)a / (double)b : 0;
}

void gt_site_put_ratio(struct gt_table *table, uint64_t a, uint64_t b)
{
	if (a)
		gt_strbuf_printf(gt_table_cell(table), "%.1f", ratio(a, b));
	gt_table_end_cell(table);
}

void gt_site_put_percent(struct gt_table *table, uint64_t a, uint64_t b)
{
	gt_strbuf_printf(gt_table_cell(table), "%.1f %%", 100 * ratio(a, b));
	gt_table_end_cell(table);
}
