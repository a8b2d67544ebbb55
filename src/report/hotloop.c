/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How often loops run: the program programs/hotloop.bpf.c. */
#include <inttypes.h>

#include "base/clean.h"
#include "programs.h"
#include "report/sites.h"

static const struct hotloop_row *hotloop_counters(const struct gt_site_row *row)
{
	return (const struct hotloop_row *)row->counters;
}

static uint64_t count_warps(const struct gt_site_row *row)
{
	return hotloop_counters(row)->sums.warps;
}

/* Without the number of entries, the iterations of which another one followed. */
static uint64_t count_iterations(const struct hotloop_row *site)
{
	return site->sums.entries ? site->sums.trips : site->sums.threads;
}

/* The mean, the minimum and the maximum of the trips of an entry; empty: not known. */
static void put_trips(const struct hotloop_row *site, struct gt_table *table)
{
	gt_site_put_ratio(table, site->sums.entries ? site->sums.trips : 0, site->sums.entries);
	if (site->sums.entries)
		gt_strbuf_printf(gt_table_cell(table), "%" PRIu64,
				 (uint64_t)~site->extremes.not_min);
	gt_table_end_cell(table);
	if (site->sums.entries)
		gt_strbuf_printf(gt_table_cell(table), "%" PRIu64, (uint64_t)site->extremes.max);
	gt_table_end_cell(table);
}

static void put_loop(const struct gt_site_row *row, struct gt_table *table)
{
	const struct hotloop_row *site = hotloop_counters(row);

	gt_table_number(table, count_iterations(site));
	if (site->sums.entries)
		gt_strbuf_printf(gt_table_cell(table), "%" PRIu64, (uint64_t)site->sums.entries);
	gt_table_end_cell(table);
	put_trips(site, table);
	gt_table_number(table, site->sums.warps);
	gt_site_put_ratio(table, site->sums.threads, site->sums.warps);
}

static void put_loop_json(const struct gt_site_row *row, struct gt_json *json)
{
	const struct hotloop_row *site = hotloop_counters(row);

	gt_json_u64(json, "iterations", count_iterations(site));
	if (site->sums.entries) {
		gt_json_u64(json, "entries", site->sums.entries);
		gt_json_u64(json, "min_trips", ~site->extremes.not_min);
		gt_json_u64(json, "max_trips", site->extremes.max);
	}
	gt_json_u64(json, "back_edges", site->sums.threads);
	gt_json_u64(json, "warp_back_edges", site->sums.warps);
}

static const struct gt_column hotloop_columns[] = {
	{"ITERATIONS", false, false}, {"ENTRIES", false, true}, {"TRIPS", false, true},
	{"MIN", false, true},         {"MAX", false, true},     {"WARPS", false, false},
	{"LANES", false, false},      GT_SITE_COLUMNS,
};

static const struct gt_site_report hotloop_report = {
	.map = "sites",
	.counters = sizeof(struct hotloop_row) / sizeof(uint64_t),
	.sums = sizeof(struct hotloop_site) / sizeof(uint64_t),
	.rest = "extremes",
	.grouping = GT_SITES_BY_LOOP,
	.maxima = 1u << offsetof(struct hotloop_row, extremes.max) / sizeof(uint64_t) |
		  1u << offsetof(struct hotloop_row, extremes.not_min) / sizeof(uint64_t),
	.weight = count_warps,
	.columns = hotloop_columns,
	.column_count = gt_countof(hotloop_columns),
	.put_cells = put_loop,
	.key = "loops",
	.put_members = put_loop_json,
};

static void put_loops(const struct gt_gpu_run *run, struct gt_strbuf *text)
{
	gt_site_report_put(run, &hotloop_report, text);
}

static void json_loops(const struct gt_gpu_run *run, struct gt_json *json)
{
	gt_site_report_put_json(run, &hotloop_report, json);
}

const struct gt_gpu_report gt_gpu_report_hotloop = {
	.name = "hotloop",
	.put = put_loops,
	.put_json = json_loops,
};
