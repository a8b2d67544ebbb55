/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Where and when blocks run: the program programs/blocktime.bpf.c. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analysis/occupancy.h"
#include "base/clean.h"
#include "base/histogram.h"
#include "base/text.h"
#include "report/block_times.h"
#include "report/table.h"

enum {
	RECORDS_AT_ONCE = 1 << 14,
	ROWS = 20,
	PICTURE_ROWS = 40,
	SLOWEST = 5,
};

static int open_blocks(struct gt_gpu_run *run)
{
	run->state = gt_block_times_new();
	return run->state ? 0 : -ENOMEM;
}

static void close_blocks(struct gt_gpu_run *run)
{
	gt_block_times_free(run->state);
	run->state = NULL;
}

/* ---- each block ------------------------------------------------------------------------ */

static void json_sm(struct gt_json *json, uint32_t sm)
{
	if (sm == GT_BLOCK_NO_SM)
		gt_json_null(json, "sm");
	else
		gt_json_u64(json, "sm", sm);
}

static void json_block(struct gt_json *json, const struct gt_block_time *block)
{
	gt_gpu_report_json_index(json, "block", block->index);
	json_sm(json, block->sm);
	gt_json_u64(json, "start", block->start);
	gt_json_u64(json, "end", block->end);
}

static void put_each(const struct gt_gpu_run *run, const struct gt_block_launch *launch,
		     const struct gt_block_time *block, struct gt_strbuf *text)
{
	struct gt_json json = GT_JSON_INIT(text);

	if (run->json) {
		gt_json_object_begin(&json, NULL);
		gt_json_string(&json, "block_time", gt_gpu_report_kernel(run, launch->kernel));
		gt_json_u64(&json, "pid", launch->pid);
		gt_json_u64(&json, "launch", launch->launch);
		json_block(&json, block);
		gt_json_object_end(&json);
	} else {
		gt_strbuf_printf(text, "%" PRIu64 " to %" PRIu64 " ns: launch %" PRIu64 ", ",
				 block->start, block->end, launch->launch);
		if (block->sm != GT_BLOCK_NO_SM)
			gt_strbuf_printf(text, "SM %u, ", block->sm);
		gt_strbuf_printf(text, "block (%u,%u,%u), ", block->index[0], block->index[1],
				 block->index[2]);
		gt_gpu_report_put_name(run, gt_gpu_report_kernel(run, launch->kernel), text);
	}
	gt_strbuf_putc(text, '\n');
}

static bool poll_blocks(struct gt_gpu_run *run, struct gt_strbuf *text)
{
	const struct gt_block_launch *launch;
	struct gt_block_time block;
	uint32_t count = 0, size;
	const void *record;

	for (; count < RECORDS_AT_ONCE &&
	       gt_gpu_report_next_record(run, "times", &record, &size) == 1;
	     count++)
		if (gt_block_times_add(run->state, record, size, &launch, &block) && run->each)
			put_each(run, launch, &block, text);
	return count == RECORDS_AT_ONCE;
}

/* ---- occupancy ------------------------------------------------------------------------- */

/* An upper bound where the registers are not known. False: unknown. */
static bool find_occupancy(const struct gt_gpu_run *run, const struct gt_block_launch *launch,
			   struct gt_occupancy *ret_occupancy)
{
	const struct gt_occupancy_launch given = {
		.capability = gt_inject_capability(run->inject, launch->kernel),
		.block_threads = launch->threads,
		.shared = launch->shared,
		.registers = gt_inject_registers(run->inject, launch->kernel),
	};

	return !gt_occupancy(&given, ret_occupancy);
}

static double theoretical_share(const struct gt_occupancy *occupancy)
{
	return (double)occupancy->warps / occupancy->max_warps;
}

/* Whole warps are resident, also if they have fewer threads. */
static double achieved_share(const struct gt_block_launch *launch,
			     const struct gt_block_schedule *schedule,
			     const struct gt_occupancy *occupancy)
{
	uint32_t warps = (launch->threads + 31) / 32;

	return schedule->resident / launch->threads * warps / occupancy->max_warps;
}

/* ---- table ----------------------------------------------------------------------------- */

static void put_share(struct gt_table *table, const char *prefix, double share)
{
	if (isnan(share))
		gt_table_text(table, "-");
	else {
		gt_strbuf_printf(gt_table_cell(table), "%s%.0f %%", prefix, share * 100);
		gt_table_end_cell(table);
	}
}

static struct gt_histogram durations_of(const struct gt_block_launch *launch)
{
	struct gt_histogram durations = {0};

	gt_vec_each (block, &launch->blocks)
		gt_histogram_add(&durations, block->end - block->start);
	return durations;
}

static void put_launch(const struct gt_gpu_run *run, const struct gt_block_launch *launch,
		       const struct gt_block_schedule *schedule, struct gt_table *table)
{
	struct gt_histogram durations = durations_of(launch);
	struct gt_occupancy occupancy;
	bool known = find_occupancy(run, launch, &occupancy);

	gt_table_number(table, launch->launch);
	gt_table_number(table, launch->blocks.count);
	gt_table_number(table, launch->threads);
	gt_table_bytes(table, launch->shared);
	gt_table_duration(table, schedule->last - schedule->first);
	gt_table_duration(table, gt_histogram_quantile(&durations, 0.5));
	gt_table_duration(table, durations.max);
	if (schedule->has_sms)
		gt_table_number(table, schedule->sms.count);
	else
		gt_table_text(table, "-");
	put_share(table, "", schedule->busy);
	put_share(table, "", schedule->balance);
	put_share(table, gt_inject_registers(run->inject, launch->kernel) ? "" : "≤ ",
		  known ? theoretical_share(&occupancy) : NAN);
	put_share(table, "", known ? achieved_share(launch, schedule, &occupancy) : NAN);
	gt_gpu_report_put_name(run, gt_gpu_report_kernel(run, launch->kernel),
			       gt_table_cell(table));
	gt_table_end_cell(table);
	gt_histogram_free(&durations);
}

static void put_launches(const struct gt_gpu_run *run, struct gt_strbuf *text)
{
	static const struct gt_column columns[] = {
		{"LAUNCH", false, false},  {"BLOCKS", false, false},    {"THREADS", false, false},
		{"SHARED", false, false},  {"TIME", false, false},      {"BLOCK MED", false, false},
		{"MAX", false, false},     {"SMS", false, false},       {"BUSY", false, false},
		{"BALANCE", false, false}, {"OCCUPANCY", false, false}, {"ACHIEVED", false, false},
		{"KERNEL", true, false},
	};
	struct gt_block_times *times = run->state;
	bool has_sms = true;
	struct gt_table table;

	gt_table_begin(&table, columns, gt_countof(columns));
	for (size_t i = 0; i < times->launches.count && i < ROWS; i++) {
		struct gt_block_launch *launch = times->launches.items[i];
		struct gt_block_schedule schedule;

		if (!launch->blocks.count)
			continue;
		if (gt_block_schedule_make(launch, &schedule))
			text->failed = true;
		else
			put_launch(run, launch, &schedule, &table);
		has_sms &= schedule.has_sms;
		gt_block_schedule_clear(&schedule);
	}
	gt_table_put(&table, text);
	if (times->launches.count > ROWS)
		gt_strbuf_printf(text, "… and %zu more launches (--json lists all)\n",
				 times->launches.count - ROWS);
	gt_strbuf_puts(
		text,
		"BUSY: mean share of TIME in which an SM has blocks; BALANCE: mean block "
		"time of SMs / maximum; both of the SMs that had blocks.\n"
		"OCCUPANCY: theoretical, of the kernel without programs; ≤: its registers are "
		"unknown and may lower it. ACHIEVED: warps on an SM, mean over TIME.\n");
	if (!has_sms)
		gt_strbuf_puts(text, "SMS -: it is unknown where blocks run. BUSY is the "
				     "share of TIME in which the device has blocks.\n");
}

/* ---- picture --------------------------------------------------------------------------- */

/* The blocks that run on SMs over time: rows of cells, in units of blocks * ns. */
struct block_picture {
	size_t rows, columns, sms_per_row;
	double column_ns;
	double *cells;
};

static void add_to_picture(struct block_picture *picture, size_t row, uint64_t from, uint64_t to)
{
	double *cells = picture->cells + row * picture->columns;
	size_t column = (size_t)((double)from / picture->column_ns);

	for (; column < picture->columns; column++) {
		double begin = (double)column * picture->column_ns;
		double start = (double)from > begin ? (double)from : begin;
		double end = begin + picture->column_ns;

		if (start >= (double)to)
			return;
		cells[column] += ((double)to < end ? (double)to : end) - start;
	}
}

/* The blocks are sorted by SM. */
static void fill_picture(struct block_picture *picture, const struct gt_block_launch *launch,
			 const struct gt_block_schedule *schedule)
{
	size_t sm = 0;

	gt_vec_each (block, &launch->blocks) {
		while (sm + 1 < schedule->sms.count && schedule->sms.items[sm].sm != block->sm)
			sm++;
		add_to_picture(picture, sm / picture->sms_per_row, block->start - schedule->first,
			       block->end - schedule->first);
	}
}

/* The number of blocks, rounded; '.': less than half of one; '+': more than 9. */
static char picture_glyph(double blocks)
{
	if (blocks <= 0)
		return ' ';
	if (blocks < 0.5)
		return '.';
	return blocks < 9.5 ? (char)('0' + (int)(blocks + 0.5)) : '+';
}

static void put_picture_rows(const struct block_picture *picture,
			     const struct gt_block_schedule *schedule, struct gt_strbuf *text)
{
	for (size_t row = 0; row < picture->rows; row++) {
		size_t first = row * picture->sms_per_row, next = first + picture->sms_per_row;
		size_t last = (next < schedule->sms.count ? next : schedule->sms.count) - 1;
		double sms = (double)(last - first + 1);

		if (schedule->has_sms)
			gt_strbuf_printf(text, "%5u ", schedule->sms.items[first].sm);
		else
			gt_strbuf_puts(text, "      ");
		if (picture->sms_per_row > 1)
			gt_strbuf_printf(text, "- %-5u ", schedule->sms.items[last].sm);
		gt_strbuf_putc(text, '|');
		for (size_t column = 0; column < picture->columns; column++)
			gt_strbuf_putc(
				text,
				picture_glyph(picture->cells[row * picture->columns + column] /
					      picture->column_ns / sms));
		gt_strbuf_puts(text, "|\n");
	}
}

static void put_picture(const struct gt_gpu_run *run, const struct gt_block_launch *launch,
			const struct gt_block_schedule *schedule, struct gt_strbuf *text)
{
	enum { LABEL = 16 };
	uint64_t span = schedule->last - schedule->first;
	struct block_picture picture = {.columns = run->columns - LABEL};

	picture.sms_per_row = (schedule->sms.count + PICTURE_ROWS - 1) / PICTURE_ROWS;
	picture.rows = (schedule->sms.count + picture.sms_per_row - 1) / picture.sms_per_row;
	picture.column_ns = (double)span / (double)picture.columns;
	picture.cells = calloc(picture.rows * picture.columns, sizeof(*picture.cells));
	if (!picture.cells) {
		text->failed = true;
		return;
	}
	fill_picture(&picture, launch, schedule);
	gt_strbuf_printf(text, "\nthe blocks of launch %" PRIu64 ", ", launch->launch);
	gt_gpu_report_put_name(run, gt_gpu_report_kernel(run, launch->kernel), text);
	gt_strbuf_printf(text, ", that run at once%s; a column is ",
			 schedule->has_sms ? " on each SM" : "");
	gt_format_duration(text, (uint64_t)picture.column_ns);
	gt_strbuf_puts(text, "\n");
	put_picture_rows(&picture, schedule, text);
	free(picture.cells);
}

static int compare_durations(const void *a, const void *b)
{
	const struct gt_block_time *one = a, *other = b;
	uint64_t first = one->end - one->start, second = other->end - other->start;

	return (first < second) - (first > second);
}

/* Sorts the blocks by duration. */
static void put_slowest(struct gt_block_launch *launch, struct gt_strbuf *text)
{
	qsort(launch->blocks.items, launch->blocks.count, sizeof(launch->blocks.items[0]),
	      compare_durations);
	gt_strbuf_puts(text, "slowest blocks:");
	for (size_t i = 0; i < launch->blocks.count && i < SLOWEST; i++) {
		const struct gt_block_time *block = &launch->blocks.items[i];

		gt_strbuf_printf(text, "%s (%u,%u,%u) ", i ? "," : "", block->index[0],
				 block->index[1], block->index[2]);
		if (block->sm != GT_BLOCK_NO_SM)
			gt_strbuf_printf(text, "on SM %u ", block->sm);
		gt_format_duration(text, block->end - block->start);
	}
	gt_strbuf_putc(text, '\n');
}

/* The launch that took the longest, or NULL. */
static struct gt_block_launch *find_longest(struct gt_block_times *times)
{
	struct gt_block_launch *longest = NULL;
	uint64_t most = 0;

	gt_vec_each (item, &times->launches) {
		uint64_t first = UINT64_MAX, last = 0;

		gt_vec_each (block, &(*item)->blocks) {
			first = block->start < first ? block->start : first;
			last = block->end > last ? block->end : last;
		}
		if ((*item)->blocks.count && last - first > most) {
			most = last - first;
			longest = *item;
		}
	}
	return longest;
}

static void put_longest(const struct gt_gpu_run *run, struct gt_strbuf *text)
{
	struct gt_block_launch *launch = find_longest(run->state);
	struct gt_block_schedule schedule;

	if (!launch)
		return;
	if (gt_block_schedule_make(launch, &schedule))
		text->failed = true;
	else
		put_picture(run, launch, &schedule, text);
	gt_block_schedule_clear(&schedule);
	put_slowest(launch, text);
}

static void put_losses(const struct gt_gpu_run *run, struct gt_strbuf *text)
{
	const struct gt_block_times *times = run->state;
	uint64_t lost = gt_gpu_report_lost(run, "times");

	if (lost)
		gt_strbuf_printf(text, "%" PRIu64 " records were dropped (buffer full)\n", lost);
	if (times->open)
		gt_strbuf_printf(text,
				 "%" PRIu64 " blocks are not counted: they did not end, or their "
				 "records were dropped\n",
				 times->open);
	if (times->not_counted)
		gt_strbuf_printf(text,
				 "not counted: %" PRIu64 " records of launches after the first %d "
				 "or blocks after the first %d\n",
				 times->not_counted, GT_BLOCK_TIMES_MAX_LAUNCHES,
				 GT_BLOCK_TIMES_MAX_BLOCKS);
	if (times->malformed)
		gt_strbuf_printf(text, "%" PRIu64 " records were malformed\n", times->malformed);
}

static void put_blocks(const struct gt_gpu_run *run, struct gt_strbuf *text)
{
	struct gt_block_times *times = run->state;

	gt_block_times_sort(times);
	if (times->kept) {
		put_launches(run, text);
		put_longest(run, text);
	} else {
		gt_strbuf_puts(text, "no block ran to its end\n");
	}
	put_losses(run, text);
}

/* ---- JSON ------------------------------------------------------------------------------ */

static void json_occupancy(const struct gt_gpu_run *run, const struct gt_block_launch *launch,
			   const struct gt_block_schedule *schedule, struct gt_json *json)
{
	uint32_t registers = gt_inject_registers(run->inject, launch->kernel);
	struct gt_occupancy occupancy;

	if (!find_occupancy(run, launch, &occupancy)) {
		gt_json_null(json, "occupancy");
		return;
	}
	gt_json_object_begin(json, "occupancy");
	gt_json_u64(json, "capability", gt_inject_capability(run->inject, launch->kernel));
	gt_json_u64(json, "max_blocks", occupancy.blocks);
	gt_json_u64(json, "max_warps", occupancy.max_warps);
	gt_json_string(json, "limit", gt_occupancy_limits[occupancy.limit]);
	if (registers)
		gt_json_u64(json, "registers", registers);
	else
		gt_json_null(json, "registers");
	gt_json_double(json, "theoretical", theoretical_share(&occupancy));
	gt_json_double(json, "achieved", achieved_share(launch, schedule, &occupancy));
	gt_json_object_end(json);
}

static void json_launch(const struct gt_gpu_run *run, const struct gt_block_launch *launch,
			const struct gt_block_schedule *schedule, struct gt_json *json)
{
	struct gt_histogram durations = durations_of(launch);

	gt_json_object_begin(json, NULL);
	gt_json_u64(json, "launch", launch->launch);
	gt_json_u64(json, "pid", launch->pid);
	gt_json_string(json, "kernel", gt_gpu_report_kernel(run, launch->kernel));
	gt_json_u64(json, "blocks", launch->blocks.count);
	gt_json_u64(json, "blocks_open", gt_hash_count(launch->open));
	gt_json_u64(json, "block_threads", launch->threads);
	gt_json_u64(json, "block_shared", launch->shared);
	if (launch->blocks.count) {
		gt_json_u64(json, "first", schedule->first);
		gt_json_u64(json, "last", schedule->last);
		gt_json_u64(json, "block_median", gt_histogram_quantile(&durations, 0.5));
		gt_json_u64(json, "block_max", durations.max);
		gt_json_u64(json, "blocks_at_once", schedule->most);
		gt_json_double(json, "busy", schedule->busy);
		gt_json_double(json, "balance", schedule->balance);
		json_occupancy(run, launch, schedule, json);
	}
	gt_json_array_begin(json, "sms");
	gt_vec_each (sm, &schedule->sms) {
		gt_json_object_begin(json, NULL);
		json_sm(json, sm->sm);
		gt_json_u64(json, "blocks", sm->blocks);
		gt_json_u64(json, "blocks_at_once", sm->most);
		gt_json_u64(json, "block_ns", sm->block_ns);
		gt_json_u64(json, "busy_ns", sm->busy_ns);
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
	gt_json_object_end(json);
	gt_histogram_free(&durations);
}

static void json_blocks(const struct gt_gpu_run *run, struct gt_json *json)
{
	struct gt_block_times *times = run->state;

	gt_block_times_sort(times);
	gt_json_array_begin(json, "launches");
	gt_vec_each (launch, &times->launches) {
		struct gt_block_schedule schedule;

		if (gt_block_schedule_make(*launch, &schedule))
			json->buffer->failed = true;
		else
			json_launch(run, *launch, &schedule, json);
		gt_block_schedule_clear(&schedule);
	}
	gt_json_array_end(json);
	gt_json_u64(json, "records_lost", gt_gpu_report_lost(run, "times"));
	gt_json_u64(json, "records_malformed", times->malformed);
	gt_json_u64(json, "blocks_open", times->open);
	gt_json_u64(json, "not_counted", times->not_counted);
}

const struct gt_gpu_report gt_gpu_report_blocktime = {
	.name = "blocktime",
	.reads_registers = true,
	.open = open_blocks,
	.poll = poll_blocks,
	.close = close_blocks,
	.put = put_blocks,
	.put_json = json_blocks,
};
