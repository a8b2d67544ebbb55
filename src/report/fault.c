/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The report of the source "fault". */
#include "analysis/page_faults.h"

#include <errno.h>

#include "report/gpu_cells.h"
#include "report/stat.h"

static int fault_open(const struct gt_report_options *options, void **ret_state)
{
	*ret_state = gt_page_faults_new();
	return *ret_state ? 0 : -ENOMEM;
}

static int fault_event(void *state, const struct gt_names *names, const struct gt_event *event)
{
	return gt_page_faults_take(state, event);
}

static void put_processes(const struct gt_page_faults *faults,
			  const struct gt_report_options *options, const struct gt_names *names,
			  struct gt_strbuf *text)
{
	static const struct gt_column columns[] = {
		{"PROCESS", true}, {"MINOR", false},        {"MAJOR", false},  {"UVM", false},
		{"GPU", false},    {"READS", false},        {"WRITES", false}, {"FETCHES", false},
		{"KERNEL", false}, {"ERRORS", false, true},
	};
	struct gt_table table;
	size_t shown = 0;

	gt_table_begin(&table, columns, gt_countof(columns));
	gt_vec_each (item, &faults->processes.rows) {
		const struct gt_page_fault_row *row = *item;

		if (!gt_report_shows(options->top, shown++))
			break;
		gt_table_process(&table, names, row->process);
		for (unsigned i = 0; i < GT_PAGE_FAULT_TYPES; i++)
			gt_table_number(&table, row->counts[i]);
		gt_table_number(&table, row->reads);
		gt_table_number(&table, row->writes);
		gt_table_number(&table, row->fetches);
		gt_table_number(&table, row->kernel);
		gt_table_number(&table, row->errors);
	}
	gt_table_put(&table, text);
	gt_report_put_rest(text, options->top, faults->processes.rows.count);
}

static void put_times(const struct gt_page_faults *faults, const struct gt_report_options *options,
		      const struct gt_names *names, struct gt_strbuf *text)
{
	static const struct gt_column columns[] = {
		{"PROCESS", true}, {"FAULTS", true}, GT_TIMES_COLUMNS};
	struct gt_table table;
	size_t shown = 0;

	gt_table_begin(&table, columns, gt_countof(columns));
	gt_vec_each (item, &faults->processes.rows) {
		const struct gt_page_fault_row *row = *item;

		if (!gt_report_shows(options->top, shown++))
			break;
		for (unsigned i = 0; i < GT_PAGE_FAULT_TYPES; i++) {
			if (!row->times[i].count)
				continue;
			gt_table_process(&table, names, row->process);
			gt_table_text(&table, gt_page_fault_type_name(i));
			gt_table_times(&table, &row->times[i]);
		}
	}
	gt_table_put(&table, text);
}

/* Whether durations are known: they need kprobes. */
static bool has_times(const struct gt_page_faults *faults)
{
	gt_vec_each (item, &faults->processes.rows) {
		const struct gt_page_fault_row *row = *item;

		for (unsigned i = 0; i < GT_PAGE_FAULT_TYPES; i++)
			if (row->times[i].count)
				return true;
	}
	return false;
}

static int fault_put_text(void *state, const struct gt_report_options *options,
			  const struct gt_names *names, uint64_t now, struct gt_strbuf *text)
{
	gt_page_faults_sort(state);
	put_processes(state, options, names, text);
	if (!has_times(state))
		return 0;
	gt_strbuf_putc(text, '\n');
	put_times(state, options, names, text);
	return 0;
}

static void json_process(struct gt_json *json, const struct gt_names *names, const void *opaque)
{
	static const char *const keys[GT_PAGE_FAULT_TYPES] = {"minor", "major", "uvm", "gpu"};
	static const char *const time_keys[GT_PAGE_FAULT_GPU] = {"minor_duration", "major_duration",
								 "uvm_duration"};
	const struct gt_page_fault_row *row = opaque;

	gt_report_json_process(json, names, row->process, gt_names_process(names, row->process));
	for (unsigned i = 0; i < GT_PAGE_FAULT_TYPES; i++)
		gt_json_u64(json, keys[i], row->counts[i]);
	gt_json_u64(json, "reads", row->reads);
	gt_json_u64(json, "writes", row->writes);
	gt_json_u64(json, "fetches", row->fetches);
	gt_json_u64(json, "kernel", row->kernel);
	gt_json_u64(json, "errors", row->errors);
	for (unsigned i = 0; i < GT_PAGE_FAULT_GPU; i++)
		gt_report_json_durations(json, time_keys[i], &row->times[i]);
}

static int fault_put_json(void *state, const struct gt_report_options *options,
			  const struct gt_names *names, uint64_t now, struct gt_json *json)
{
	struct gt_page_faults *faults = state;

	gt_page_faults_sort(faults);
	gt_json_keyed_rows(json, "processes", &faults->processes, names, json_process);
	return 0;
}

static void fault_close(void *state)
{
	gt_page_faults_free(state);
}

const struct gt_report gt_report_fault = {
	.name = "fault",
	.open = fault_open,
	.event = fault_event,
	.put_text = fault_put_text,
	.put_json = fault_put_json,
	.close = fault_close,
};
