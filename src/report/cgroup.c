/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The report of the source "cgroup". */
#include "analysis/cgroup_states.h"

#include <errno.h>

#include "base/text.h"
#include "report/report.h"
#include "report/stat.h"

static int cgroup_open(const struct gt_report_options *options, void **ret_state)
{
	*ret_state = gt_cgroup_states_new();
	return *ret_state ? 0 : -ENOMEM;
}

static int cgroup_event(void *state, const struct gt_names *names, const struct gt_event *event)
{
	return gt_cgroup_states_take(state, event);
}

/* The value of a column: a count, or a time. */
struct cgroup_cell {
	uint64_t value;
	bool is_time;
	const char *key; /* in JSON */
};

#define CGROUP_CELLS 10

static void get_cells(const struct gt_cgroup_row *row, uint64_t now,
		      struct cgroup_cell ret_cells[CGROUP_CELLS])
{
	const struct cgroup_cell cells[CGROUP_CELLS] = {
		{row->throttled, false, "throttled_periods"},
		{row->throttled_ns, true, "throttled"},
		{row->memory_high, false, "memory_high"},
		{row->memory_max, false, "memory_max"},
		{row->oom_kills, false, "oom_kills"},
		{row->cpu_stall, true, "cpu_stall"},
		{row->memory_stall, true, "memory_stall"},
		{row->io_stall, true, "io_stall"},
		{row->freezes, false, "freezes"},
		{gt_cgroup_frozen(row, now), true, "frozen"},
	};

	memcpy(ret_cells, cells, sizeof(cells));
}

static int cgroup_put_text(void *state, const struct gt_report_options *options,
			   const struct gt_names *names, uint64_t now, struct gt_strbuf *text)
{
	static const struct gt_column columns[] = {
		{"CGROUP", true},
		{"PERIODS", false, true},
		{"THROTTLED", false, true},
		{"MEMORY HIGH", false, true},
		{"MEMORY MAX", false, true},
		{"OOM KILLS", false, true},
		{"CPU STALL", false, true},
		{"MEMORY STALL", false, true},
		{"IO STALL", false, true},
		{"FREEZES", false, true},
		{"FROZEN", false, true},
	};
	const struct gt_cgroup_states *states = state;
	struct cgroup_cell cells[CGROUP_CELLS];
	struct gt_table table;
	size_t shown = 0;

	gt_table_begin(&table, columns, gt_countof(columns));
	gt_vec_each (row, &states->rows) {
		if (!gt_report_shows(options->top, shown++))
			break;
		gt_put_printable(gt_table_cell(&table), (*row)->path);
		gt_table_end_cell(&table);
		get_cells(*row, now, cells);
		for (size_t i = 0; i < CGROUP_CELLS; i++) {
			if (cells[i].is_time && cells[i].value)
				gt_table_duration(&table, cells[i].value);
			else
				gt_table_number(&table, cells[i].value);
		}
	}
	gt_table_put(&table, text);
	gt_report_put_rest(text, options->top, states->rows.count);
	return 0;
}

static int cgroup_put_json(void *state, const struct gt_report_options *options,
			   const struct gt_names *names, uint64_t now, struct gt_json *json)
{
	const struct gt_cgroup_states *states = state;
	struct cgroup_cell cells[CGROUP_CELLS];

	gt_json_array_begin(json, "cgroups");
	gt_vec_each (row, &states->rows) {
		gt_json_object_begin(json, NULL);
		gt_json_string(json, "cgroup", (*row)->path);
		get_cells(*row, now, cells);
		for (size_t i = 0; i < CGROUP_CELLS; i++)
			gt_json_u64(json, cells[i].key, cells[i].value);
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
	return 0;
}

static void cgroup_close(void *state)
{
	gt_cgroup_states_free(state);
}

const struct gt_report gt_report_cgroup = {
	.name = "cgroup",
	.open = cgroup_open,
	.event = cgroup_event,
	.put_text = cgroup_put_text,
	.put_json = cgroup_put_json,
	.close = cgroup_close,
};
