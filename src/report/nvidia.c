/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The summary of the source "nvidia". */
#include <errno.h>

#include "analysis/nvidia.h"
#include "kernel/xid.h"
#include "layers/nvidia.h"
#include "report/report.h"
#include "report/stat.h"

static int nvidia_open(const struct gt_report_options *options, void **ret_state)
{
	*ret_state = gt_nvidia_calls_new();
	return *ret_state ? 0 : -ENOMEM;
}

static int nvidia_event(void *state, const struct gt_names *names, const struct gt_event *event)
{
	return gt_nvidia_calls_take(state, event);
}

/* What a row of a table begins with. */
static void put_key(struct gt_strbuf *text, enum gt_nvidia_group group,
		    const struct gt_nvidia_row *row)
{
	const char *xid;

	switch (group) {
	case GT_NVIDIA_BY_FUNCTION:
		gt_strbuf_puts(text, gt_nvidia_function_name(row->first));
		return;
	case GT_NVIDIA_BY_COMMAND:
		gt_nvidia_put_command(text, row->function, row->first, row->second);
		return;
	case GT_NVIDIA_BY_XID:
		xid = gt_xid_name(row->first);
		gt_strbuf_printf(text, xid ? "%u %s" : "%u", row->first, xid);
		return;
	default:
		gt_strbuf_u64(text, row->first);
	}
}

static void put_times(struct gt_table *table, const struct gt_nvidia_row *row)
{
	const uint64_t times[] = {row->total, row->timed ? row->total / row->timed : 0,
				  gt_nvidia_quantile(row, 0.5), gt_nvidia_quantile(row, 0.99),
				  row->longest};

	for (size_t i = 0; i < gt_countof(times); i++) {
		if (row->timed)
			gt_table_duration(table, times[i]);
		else
			gt_table_text(table, "-");
	}
}

static void put_group(struct gt_nvidia_calls *calls, enum gt_nvidia_group group, const char *title,
		      const struct gt_report_options *options, struct gt_strbuf *text)
{
	const struct gt_column columns[] = {
		{title, true},   {"COUNT", false}, {"ERRORS", false, true}, {"TOTAL", false},
		{"MEAN", false}, {"P50", false},   {"P99", false},          {"MAX", false},
	};
	size_t count, column_count = group == GT_NVIDIA_BY_XID ? 2 : gt_countof(columns);
	const struct gt_nvidia_row *rows = gt_nvidia_calls_rows(calls, group, &count);
	struct gt_table table;

	if (!count)
		return;
	gt_strbuf_puts(text, text->length && group != GT_NVIDIA_BY_FUNCTION ? "\n" : "");
	gt_table_begin(&table, columns, column_count);
	for (size_t i = 0; i < count && gt_report_shows(options->top, i); i++) {
		put_key(gt_table_cell(&table), group, &rows[i]);
		gt_table_end_cell(&table);
		gt_table_number(&table, rows[i].count);
		if (group == GT_NVIDIA_BY_XID)
			continue;
		gt_table_number(&table, rows[i].errors);
		put_times(&table, &rows[i]);
	}
	gt_table_put(&table, text);
	gt_report_put_rest(text, options->top, count);
}

/* The columns of processes, in this order; HELD is between them. */
static const struct {
	const char *title, *key;
	enum gt_nvidia_function function;
} process_columns[] = {
	{"OPENS", "opens", GT_NVIDIA_open},
	{"CLOSES", "closes", GT_NVIDIA_close},
	{"IOCTLS", "ioctls", GT_NVIDIA_ioctl},
	{"UVM", "uvm_ioctls", GT_NVIDIA_uvm_ioctl},
	{"MMAPS", "mmaps", GT_NVIDIA_mmap},
	{"FAULTS", "faults", GT_NVIDIA_fault},
	{"POLLS", "polls", GT_NVIDIA_poll},
	{"VMA OPENS", "vma_opens", GT_NVIDIA_vma_open},
	{"VMA RELEASES", "vma_releases", GT_NVIDIA_vma_release},
};

static void put_processes(struct gt_nvidia_calls *calls, const struct gt_report_options *options,
			  const struct gt_names *names, struct gt_strbuf *text)
{
	struct gt_column columns[gt_countof(process_columns) + 2] = {{"PROCESS", true},
								     {"HELD OPEN", false, true}};
	size_t count;
	const struct gt_nvidia_row *rows =
		gt_nvidia_calls_rows(calls, GT_NVIDIA_BY_PROCESS, &count);
	struct gt_table table;

	if (!count)
		return;
	for (size_t i = 0; i < gt_countof(process_columns); i++)
		columns[i + 2] = (struct gt_column){process_columns[i].title, false, true};
	gt_strbuf_putc(text, '\n');
	gt_table_begin(&table, columns, gt_countof(columns));
	for (size_t i = 0; i < count && gt_report_shows(options->top, i); i++) {
		gt_label_process(gt_table_cell(&table), names, rows[i].first);
		gt_table_end_cell(&table);
		gt_table_number(&table, gt_nvidia_held(&rows[i]));
		for (size_t column = 0; column < gt_countof(process_columns); column++)
			gt_table_number(&table, rows[i].calls[process_columns[column].function]);
	}
	gt_table_put(&table, text);
	gt_report_put_rest(text, options->top, count);
}

static int nvidia_put_text(void *state, const struct gt_report_options *options,
			   const struct gt_names *names, uint64_t now, struct gt_strbuf *text)
{
	put_group(state, GT_NVIDIA_BY_FUNCTION, "FUNCTION", options, text);
	put_group(state, GT_NVIDIA_BY_COMMAND, "IOCTL", options, text);
	put_processes(state, options, names, text);
	put_group(state, GT_NVIDIA_BY_MINOR, "OPENED MINOR", options, text);
	put_group(state, GT_NVIDIA_BY_INTERRUPT, "INTERRUPT TO BOTTOM HALF", options, text);
	put_group(state, GT_NVIDIA_BY_XID, "XID", options, text);
	return 0;
}

static void json_times(struct gt_json *json, const struct gt_nvidia_row *row)
{
	if (!row->timed)
		return;
	gt_json_u64(json, "total", row->total);
	gt_json_object_begin(json, "duration");
	gt_json_u64(json, "count", row->timed);
	gt_json_u64(json, "mean", row->total / row->timed);
	gt_json_u64(json, "p50", gt_nvidia_quantile(row, 0.5));
	gt_json_u64(json, "p99", gt_nvidia_quantile(row, 0.99));
	gt_json_u64(json, "max", row->longest);
	gt_json_object_end(json);
}

static void json_group(struct gt_nvidia_calls *calls, enum gt_nvidia_group group, const char *key,
		       const char *member, const struct gt_report_options *options,
		       struct gt_json *json)
{
	size_t count;
	const struct gt_nvidia_row *rows = gt_nvidia_calls_rows(calls, group, &count);

	gt_json_array_begin(json, key);
	for (size_t i = 0; i < count && gt_report_shows(options->top, i); i++) {
		gt_auto_strbuf name = GT_STRBUF_INIT;

		gt_json_object_begin(json, NULL);
		put_key(&name, group, &rows[i]);
		if (group == GT_NVIDIA_BY_FUNCTION || group == GT_NVIDIA_BY_COMMAND)
			gt_json_string(json, member, gt_strbuf_string(&name));
		else
			gt_json_u64(json, member, rows[i].first);
		gt_json_u64(json, "count", rows[i].count);
		if (group != GT_NVIDIA_BY_XID)
			gt_json_u64(json, "errors", rows[i].errors);
		json_times(json, &rows[i]);
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
}

static void json_processes(struct gt_nvidia_calls *calls, const struct gt_report_options *options,
			   const struct gt_names *names, struct gt_json *json)
{
	size_t count;
	const struct gt_nvidia_row *rows =
		gt_nvidia_calls_rows(calls, GT_NVIDIA_BY_PROCESS, &count);

	gt_json_array_begin(json, "processes");
	for (size_t i = 0; i < count && gt_report_shows(options->top, i); i++) {
		gt_json_object_begin(json, NULL);
		gt_report_json_process(json, names, rows[i].first,
				       gt_names_process(names, rows[i].first));
		gt_json_u64(json, "held_open", gt_nvidia_held(&rows[i]));
		for (size_t column = 0; column < gt_countof(process_columns); column++)
			gt_json_u64(json, process_columns[column].key,
				    rows[i].calls[process_columns[column].function]);
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
}

static int nvidia_put_json(void *state, const struct gt_report_options *options,
			   const struct gt_names *names, uint64_t now, struct gt_json *json)
{
	json_group(state, GT_NVIDIA_BY_FUNCTION, "functions", "name", options, json);
	json_group(state, GT_NVIDIA_BY_COMMAND, "ioctls", "name", options, json);
	json_processes(state, options, names, json);
	json_group(state, GT_NVIDIA_BY_MINOR, "minors", "minor", options, json);
	json_group(state, GT_NVIDIA_BY_INTERRUPT, "interrupts", "irq", options, json);
	json_group(state, GT_NVIDIA_BY_XID, "xids", "code", options, json);
	return 0;
}

static void nvidia_close(void *state)
{
	gt_nvidia_calls_free(state);
}

const struct gt_report gt_report_nvidia = {
	.name = "nvidia",
	.open = nvidia_open,
	.event = nvidia_event,
	.put_text = nvidia_put_text,
	.put_json = nvidia_put_json,
	.close = nvidia_close,
};
