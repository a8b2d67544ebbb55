/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The cycles that warps wait for loads, atomics and barriers: the program programs/stall.bpf.c. */
#include "base/clean.h"
#include "programs.h"
#include "report/sites.h"

static const struct stall_row *stall_counters(const struct gt_site_row *row)
{
	return (const struct stall_row *)row->counters;
}

static uint64_t count_cycles(const struct gt_site_row *row)
{
	return stall_counters(row)->sums.cycles;
}

static void put_wait(const struct gt_site_row *row, struct gt_table *table)
{
	const struct stall_row *site = stall_counters(row);

	gt_table_number(table, site->sums.cycles);
	gt_table_number(table, site->sums.executions);
	gt_site_put_ratio(table, site->sums.cycles, site->sums.executions);
	gt_table_number(table, site->max);
}

static void put_wait_json(const struct gt_site_row *row, struct gt_json *json)
{
	const struct stall_row *site = stall_counters(row);

	gt_json_u64(json, "cycles", site->sums.cycles);
	gt_json_u64(json, "executions", site->sums.executions);
	gt_json_u64(json, "max", site->max);
}

static const struct gt_column stall_columns[] = {
	{"CYCLES", false, false}, {"EXECUTIONS", false, false},
	{"MEAN", false, false},   {"MAX", false, false},
	GT_SITE_COLUMNS,
};

static const struct gt_site_report stall_report = {
	.map = "sites",
	.counters = sizeof(struct stall_row) / sizeof(uint64_t),
	.sums = sizeof(struct stall_site) / sizeof(uint64_t),
	.rest = "longest",
	.maxima = UINT64_C(1) << (offsetof(struct stall_row, max) / sizeof(uint64_t)),
	.grouping = GT_SITES_BY_LINE,
	.weight = count_cycles,
	.columns = stall_columns,
	.column_count = gt_countof(stall_columns),
	.put_cells = put_wait,
	.key = "waits",
	.put_members = put_wait_json,
};

static void put_waits(const struct gt_gpu_run *run, struct gt_strbuf *text)
{
	gt_site_report_put(run, &stall_report, text);
}

static void json_waits(const struct gt_gpu_run *run, struct gt_json *json)
{
	gt_site_report_put_json(run, &stall_report, json);
}

const struct gt_gpu_report gt_gpu_report_stall = {
	.name = "stall",
	.put = put_waits,
	.put_json = json_waits,
};
