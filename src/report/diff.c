/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "report/diff.h"

#include <inttypes.h>

#include "base/text.h"
#include "report/report.h"

static uint64_t count_verdicts(const struct gt_diff_report *report, int verdict)
{
	uint64_t count = 0;

	for (size_t i = 0; i < report->count; i++)
		count += gt_profile_verdict(&report->rows[i], report->threshold) == verdict;
	return count;
}

uint64_t gt_diff_slower(const struct gt_diff_report *report)
{
	return count_verdicts(report, 1);
}

static const struct gt_profile_row *any_row(const struct gt_profile_change *change)
{
	return change->after ? change->after : change->before;
}

static void put_percent(struct gt_strbuf *text, uint64_t before, uint64_t after)
{
	if (!before)
		gt_strbuf_puts(text, "-");
	else
		gt_strbuf_printf(text, "%+.1f %%",
				 100.0 * ((double)after - (double)before) / (double)before);
}

static void cell_count(struct gt_table *table, const struct gt_profile_row *row)
{
	if (row)
		gt_table_number(table, row->count);
	else
		gt_table_text(table, "-");
}

static void cell_time(struct gt_table *table, const struct gt_profile_row *row, bool median)
{
	if (row)
		gt_table_duration(table, median ? row->median : row->total);
	else
		gt_table_text(table, "-");
}

static void put_p(struct gt_strbuf *text, const struct gt_profile_change *change)
{
	double p = gt_profile_p(change);

	if (p < 0)
		gt_strbuf_puts(text, "-");
	else if (p < 0.001)
		gt_strbuf_puts(text, "<0.001");
	else
		gt_strbuf_printf(text, "%.3f", p);
}

static void put_name(struct gt_strbuf *text, const struct gt_short_names *shown,
		     const struct gt_profile_row *row)
{
	if (row->kernel)
		gt_label_kernel(text, shown, row->kernel, 0);
	else
		gt_put_printable(text, row->name);
}

static void put_row(struct gt_table *table, const struct gt_short_names *shown,
		    const struct gt_profile_change *change, uint64_t threshold)
{
	static const char *const verdicts[] = {"faster", "", "slower"};

	put_name(gt_table_cell(table), shown, any_row(change));
	gt_table_end_cell(table);
	cell_count(table, change->before);
	cell_count(table, change->after);
	cell_time(table, change->before, false);
	cell_time(table, change->after, false);
	cell_time(table, change->before, true);
	cell_time(table, change->after, true);
	put_percent(gt_table_cell(table),
		    change->before && change->after ? change->before->median : 0,
		    change->after ? change->after->median : 0);
	gt_table_end_cell(table);
	gt_table_text(table, !change->before ? "new"
			     : !change->after
				     ? "gone"
				     : verdicts[gt_profile_verdict(change, threshold) + 1]);
	put_p(gt_table_cell(table), change);
	gt_table_end_cell(table);
}

static void put_part(const struct gt_diff_report *report, const struct gt_short_names *kernels,
		     enum gt_profile_part part, struct gt_strbuf *text)
{
	static const char *const titles[GT_PROFILE_PARTS] = {"WALL TIME", "KERNEL", "COPY", "CALL"};
	const struct gt_column columns[] = {
		{titles[part], true}, {"COUNT", false},  {"COUNT'", false},  {"TOTAL", false},
		{"TOTAL'", false},    {"MEDIAN", false}, {"MEDIAN'", false}, {"CHANGE", false},
		{"", true},           {"P", false},
	};
	gt_auto_strbuf rows = GT_STRBUF_INIT;
	struct gt_table table;
	size_t shown = 0;

	gt_table_begin(&table, columns, gt_countof(columns));
	for (size_t i = 0; i < report->count; i++) {
		if (any_row(&report->rows[i])->part != part)
			continue;
		if (gt_report_shows(report->top, shown++))
			put_row(&table, kernels, &report->rows[i], report->threshold);
	}
	gt_table_put(&table, &rows);
	if (shown)
		gt_strbuf_printf(text, "\n%s", gt_strbuf_string(&rows));
	gt_report_put_rest(text, report->top, shown);
}

/* The kernels of both sessions; NULL: out of memory. */
static struct gt_short_names *name_kernels(const struct gt_diff_report *report)
{
	struct gt_short_names *kernels = gt_short_names_new();

	for (size_t i = 0; kernels && i < report->count; i++)
		if (any_row(&report->rows[i])->kernel)
			gt_short_names_add(kernels, any_row(&report->rows[i])->kernel);
	return kernels;
}

static void put_overhead(struct gt_strbuf *text, const char *name,
			 const struct gt_event_overhead *overhead)
{
	if (!overhead)
		return;
	gt_strbuf_printf(text, "%s: overhead: ", name);
	gt_put_overhead(text, overhead);
	gt_strbuf_putc(text, '\n');
}

void gt_diff_put_text(const struct gt_diff_report *report, struct gt_strbuf *text)
{
	uint64_t before = gt_profile_wall(report->profiles[0]);
	uint64_t after = gt_profile_wall(report->profiles[1]);
	gt_auto(short_names) struct gt_short_names *kernels = name_kernels(report);

	gt_strbuf_printf(text, "wall time: ");
	gt_format_duration(text, before);
	gt_strbuf_printf(text, " (%s), ", report->names[0]);
	gt_format_duration(text, after);
	gt_strbuf_printf(text, " (%s, marked ' below): ", report->names[1]);
	put_percent(text, before, after);
	gt_strbuf_printf(text,
			 "\n%" PRIu64 " slower, %" PRIu64 " faster, by more than %" PRIu64
			 " %% of the median, with P below 0.01 where both have 6 times or more\n",
			 count_verdicts(report, 1), count_verdicts(report, -1), report->threshold);
	for (unsigned i = 0; i < 2; i++)
		if (report->losses[i])
			gt_strbuf_printf(text, "%s: %s", report->names[i], report->losses[i]);
	for (unsigned i = 0; i < 2; i++)
		put_overhead(text, report->names[i], report->overheads[i]);
	for (unsigned part = 0; part < GT_PROFILE_PARTS; part++)
		put_part(report, kernels, (enum gt_profile_part)part, text);
}

static void json_side(struct gt_json *json, const char *key, const struct gt_profile_row *row)
{
	if (!row) {
		gt_json_null(json, key);
		return;
	}
	gt_json_object_begin(json, key);
	gt_json_u64(json, "count", row->count);
	gt_json_u64(json, "total", row->total);
	gt_json_u64(json, "median", row->median);
	gt_json_bool(json, "estimated", row->estimated);
	gt_json_object_end(json);
}

void gt_diff_put_json(const struct gt_diff_report *report, struct gt_json *json)
{
	static const char *const verdicts[] = {"faster", "same", "slower"};
	size_t shown[GT_PROFILE_PARTS] = {0};

	gt_json_object_begin(json, NULL);
	gt_json_string(json, "schema", "gputap.diff.1");
	gt_json_u64(json, "threshold", report->threshold);
	gt_json_u64(json, "wall_before", gt_profile_wall(report->profiles[0]));
	gt_json_u64(json, "wall_after", gt_profile_wall(report->profiles[1]));
	gt_json_bool(json, "incomplete_before", report->losses[0]);
	gt_json_bool(json, "incomplete_after", report->losses[1]);
	gt_json_overhead(json, "overhead_before", report->overheads[0]);
	gt_json_overhead(json, "overhead_after", report->overheads[1]);
	gt_json_u64(json, "slower", count_verdicts(report, 1));
	gt_json_u64(json, "faster", count_verdicts(report, -1));
	gt_json_array_begin(json, "changes");
	for (size_t i = 0; i < report->count; i++) {
		const struct gt_profile_change *change = &report->rows[i];
		const struct gt_profile_row *row = any_row(change);

		if (!gt_report_shows(report->top, shown[row->part]++))
			continue;
		gt_json_object_begin(json, NULL);
		gt_json_string(json, "part", gt_profile_part_name(row->part));
		gt_json_string(json, "name", row->name);
		json_side(json, "before", change->before);
		json_side(json, "after", change->after);
		gt_json_string(
			json, "verdict",
			!change->before ? "new"
			: !change->after
				? "gone"
				: verdicts[gt_profile_verdict(change, report->threshold) + 1]);
		if (gt_profile_p(change) < 0)
			gt_json_null(json, "p");
		else
			gt_json_double(json, "p", gt_profile_p(change));
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
	gt_json_object_end(json);
}
