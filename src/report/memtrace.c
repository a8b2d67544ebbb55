/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory accesses by instruction: the program programs/memtrace.bpf.c. */
#include <inttypes.h>
#include <string.h>

#include "base/clean.h"
#include "programs.h"
#include "report/sites.h"

static const struct memtrace_row *memtrace_counters(const struct gt_site_row *row)
{
	return (const struct memtrace_row *)row->counters;
}

/* What memory has to do: transfers of sectors, passes over banks. */
static uint64_t count_transactions(const struct gt_site_row *row)
{
	return memtrace_counters(row)->sums.sectors + memtrace_counters(row)->sums.passes;
}

/* The pattern of most requests, with their share if it is not all of them. */
static void put_pattern(const struct memtrace_row *site, struct gt_strbuf *text)
{
	const struct {
		const char *name;
		uint64_t requests;
	} patterns[] = {
		{"unit", site->sums.unit},
		{"broadcast", site->sums.broadcast},
		{"stride", site->sums.same_stride},
		{"strides", site->sums.strided - site->sums.same_stride},
		{"irregular", site->sums.irregular},
		{"single", site->sums.requests - site->sums.unit - site->sums.broadcast -
				   site->sums.strided - site->sums.irregular},
	};
	size_t main = 0;

	for (size_t i = 1; i < gt_countof(patterns); i++)
		if (patterns[i].requests > patterns[main].requests)
			main = i;
	gt_strbuf_puts(text, patterns[main].name);
	if (!strcmp(patterns[main].name, "stride"))
		gt_strbuf_printf(text, " %" PRId64, (int64_t)site->stride);
	if (patterns[main].requests < site->sums.requests)
		gt_strbuf_printf(text, " %.0f %%",
				 100.0 * (double)patterns[main].requests /
					 (double)site->sums.requests);
}

static void put_access(const struct gt_site_row *row, struct gt_table *table)
{
	const struct memtrace_row *site = memtrace_counters(row);

	gt_table_number(table, site->sums.requests);
	gt_site_put_ratio(table, site->sums.lanes, site->sums.requests);
	gt_table_bytes(table, site->sums.bytes);
	gt_site_put_ratio(table, site->sums.sectors, site->sums.requests);
	gt_site_put_ratio(table, site->sums.min_sectors, site->sums.requests);
	gt_site_put_ratio(table, site->sums.passes, site->sums.min_passes);
	if (site->sums.sectors || site->sums.passes)
		put_pattern(site, gt_table_cell(table));
	gt_table_end_cell(table);
}

static void put_access_json(const struct gt_site_row *row, struct gt_json *json)
{
	const struct memtrace_row *site = memtrace_counters(row);

	gt_json_u64(json, "requests", site->sums.requests);
	gt_json_u64(json, "lanes", site->sums.lanes);
	gt_json_u64(json, "bytes", site->sums.bytes);
	gt_json_u64(json, "sectors", site->sums.sectors);
	gt_json_u64(json, "min_sectors", site->sums.min_sectors);
	gt_json_u64(json, "passes", site->sums.passes);
	gt_json_u64(json, "min_passes", site->sums.min_passes);
	gt_json_u64(json, "unit", site->sums.unit);
	gt_json_u64(json, "broadcast", site->sums.broadcast);
	gt_json_u64(json, "strided", site->sums.strided);
	gt_json_u64(json, "irregular", site->sums.irregular);
	if (!site->sums.strided)
		return;
	gt_json_i64(json, "stride", (int64_t)site->stride);
	gt_json_u64(json, "same_stride", site->sums.same_stride);
}

static const struct gt_column memtrace_columns[] = {
	{"REQUESTS", false, false}, {"LANES", false, false}, {"BYTES", false, false},
	{"SECTORS", false, true},   {"MIN", false, true},    {"BANKS", false, true},
	{"PATTERN", true, true},    GT_SITE_COLUMNS,
};

static const struct gt_site_report memtrace_report = {
	.map = "sites",
	.counters = sizeof(struct memtrace_row) / sizeof(uint64_t),
	.sums = sizeof(struct memtrace_site) / sizeof(uint64_t),
	.rest = "strides",
	.not_summed = UINT64_C(1) << offsetof(struct memtrace_row, stride) / sizeof(uint64_t),
	.weight = count_transactions,
	.columns = memtrace_columns,
	.column_count = gt_countof(memtrace_columns),
	.put_cells = put_access,
	.key = "accesses",
	.put_members = put_access_json,
};

static void put_accesses(const struct gt_gpu_run *run, struct gt_strbuf *text)
{
	gt_site_report_put(run, &memtrace_report, text);
}

static void json_accesses(const struct gt_gpu_run *run, struct gt_json *json)
{
	gt_site_report_put_json(run, &memtrace_report, json);
}

const struct gt_gpu_report gt_gpu_report_memtrace = {
	.name = "memtrace",
	.put = put_accesses,
	.put_json = json_accesses,
};
