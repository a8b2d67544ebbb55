/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Lanes at conditional branches: the program programs/divergence.bpf.c. */
#include "base/clean.h"
#include "programs.h"
#include "report/sites.h"

static const struct divergence_site *divergence_counters(const struct gt_site_row *row)
{
	return (const struct divergence_site *)row->counters;
}

static uint64_t count_divergent(const struct gt_site_row *row)
{
	return divergence_counters(row)->divergent;
}

static void put_branch(const struct gt_site_row *row, struct gt_table *table)
{
	const struct divergence_site *site = divergence_counters(row);

	gt_table_number(table, site->executions);
	gt_site_put_ratio(table, site->lanes, site->executions);
	gt_site_put_percent(table, site->taken, site->lanes);
	gt_table_number(table, site->divergent);
	gt_site_put_percent(table, site->divergent, site->executions);
}

static void put_branch_json(const struct gt_site_row *row, struct gt_json *json)
{
	const struct divergence_site *site = divergence_counters(row);

	gt_json_u64(json, "executions", site->executions);
	gt_json_u64(json, "lanes", site->lanes);
	gt_json_u64(json, "taken", site->taken);
	gt_json_u64(json, "divergent", site->divergent);
}

static const struct gt_column divergence_columns[] = {
	{"EXECUTIONS", false, false}, {"LANES", false, false}, {"TAKEN", false, false},
	{"DIVERGENT", false, false},  {"SHARE", false, false}, GT_SITE_COLUMNS,
};

static const struct gt_site_report divergence_report = {
	.map = "sites",
	.counters = sizeof(struct divergence_site) / sizeof(uint64_t),
	.grouping = GT_SITES_BY_LINE,
	.weight = count_divergent,
	.columns = divergence_columns,
	.column_count = gt_countof(divergence_columns),
	.put_cells = put_branch,
	.key = "branches",
	.put_members = put_branch_json,
};

static void put_branches(const struct gt_gpu_run *run, struct gt_strbuf *text)
{
	gt_site_report_put(run, &divergence_report, text);
}

static void json_branches(const struct gt_gpu_run *run, struct gt_json *json)
{
	gt_site_report_put_json(run, &divergence_report, json);
}

const struct gt_gpu_report gt_gpu_report_divergence = {
	.name = "divergence",
	.put = put_branches,
	.put_json = json_branches,
};
