/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* From launching calls to first instructions: the program programs/launchlate.bpf.c. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/bars.h"
#include "base/clean.h"
#include "base/clock.h"
#include "base/text.h"
#include "report/gpu.h"
#include "report/launch_matches.h"
#include "report/table.h"

enum {
	RECORDS_AT_ONCE = 1 << 14,
};

static int open_launches(struct gt_gpu_run *run)
{
	run->state = gt_launch_matches_new();
	return run->state ? 0 : -ENOMEM;
}

static void close_launches(struct gt_gpu_run *run)
{
	gt_launch_matches_free(run->state);
	run->state = NULL;
}

static uint64_t name_of_record(const struct gt_gpu_run *run, const void *record, uint32_t size)
{
	const struct launchlate_grid *grid = record;

	return size == sizeof(*grid) ? gt_launch_name(gt_gpu_report_kernel(run, grid->kernel)) : 0;
}

static bool poll_launches(struct gt_gpu_run *run, struct gt_strbuf *text)
{
	uint32_t count = 0, records = 0, size;
	const union launchlate_slot *shared =
		gt_gpu_report_values(run, "shared", sizeof(union launchlate_slot), &count);
	const void *record;

	if (shared) {
		/* What was there before the time is read was written before it. */
		uint64_t gpu = __atomic_load_n(&shared->clocks.gpu, __ATOMIC_SEQ_CST);

		gt_launch_matches_read(run->state, shared, count, gpu, gt_clock_monotonic());
	}
	for (; records < RECORDS_AT_ONCE &&
	       gt_gpu_report_next_record(run, "grids", &record, &size) == 1;
	     records++)
		gt_launch_matches_add_grid(run->state, record, size,
					   name_of_record(run, record, size));
	return records == RECORDS_AT_ONCE;
}

/* ---- kernels --------------------------------------------------------------------------- */

/* The matches of a kernel name, sorted by latency. */
struct launch_kernel {
	const char *name;
	const struct gt_launch_match *items;
	size_t count;
};

static int compare_matches(const void *a, const void *b)
{
	const struct gt_launch_match *one = a, *other = b;

	if (one->grid->name != other->grid->name)
		return one->grid->name < other->grid->name ? -1 : 1;
	return (one->latency > other->latency) - (one->latency < other->latency);
}

/* Call `use` for each kernel. Matches are sorted by kernel. */
static void each_launch_kernel(const struct gt_gpu_run *run,
			       void (*use)(void *context, const struct launch_kernel *kernel),
			       void *context)
{
	struct gt_launch_matches *matches = run->state;
	size_t end;

	if (matches->items.count)
		qsort(matches->items.items, matches->items.count, sizeof(matches->items.items[0]),
		      compare_matches);
	for (size_t i = 0; i < matches->items.count; i = end) {
		const struct gt_launch_match *items = &matches->items.items[i];
		struct launch_kernel kernel = {
			.name = gt_gpu_report_kernel(run, items->grid->kernel),
			.items = items,
		};

		for (end = i; end < matches->items.count &&
			      matches->items.items[end].grid->name == items->grid->name;)
			end++;
		kernel.count = end - i;
		use(context, &kernel);
	}
}

static int64_t quantile(const struct launch_kernel *kernel, double fraction)
{
	size_t index = (size_t)ceil(fraction * (double)kernel->count);

	return kernel->items[index ? index - 1 : 0].latency;
}

static void put_signed_duration(struct gt_strbuf *text, int64_t ns)
{
	if (ns < 0)
		gt_strbuf_putc(text, '-');
	gt_format_duration(text, ns < 0 ? -(uint64_t)ns : (uint64_t)ns);
}

static void put_latency(struct gt_table *table, bool known, int64_t ns)
{
	if (known)
		put_signed_duration(gt_table_cell(table), ns);
	else
		gt_strbuf_putc(gt_table_cell(table), '-');
	gt_table_end_cell(table);
}

/* A table, and whether latencies are known. */
struct launch_table {
	const struct gt_gpu_run *run;
	struct gt_table table;
	bool known;
};

static void put_kernel(void *context, const struct launch_kernel *kernel)
{
	struct launch_table *launches = context;
	struct gt_table *table = &launches->table;

	gt_table_number(table, kernel->count);
	put_latency(table, launches->known, kernel->items[0].latency);
	put_latency(table, launches->known, quantile(kernel, 0.5));
	put_latency(table, launches->known, quantile(kernel, 0.99));
	put_latency(table, launches->known, kernel->items[kernel->count - 1].latency);
	gt_gpu_report_put_name(launches->run, kernel->name, gt_table_cell(table));
	gt_table_end_cell(table);
}

static void put_kernels(const struct gt_gpu_run *run, struct gt_strbuf *text)
{
	static const struct gt_column columns[] = {
		{"LAUNCHES", false, false}, {"MIN", false, false}, {"MEDIAN", false, false},
		{"P99", false, false},      {"MAX", false, false}, {"KERNEL", true, false},
	};
	const struct gt_launch_matches *matches = run->state;
	struct launch_table launches = {.run = run, .known = matches->fitted};

	gt_table_begin(&launches.table, columns, gt_countof(columns));
	each_launch_kernel(run, put_kernel, &launches);
	gt_table_put(&launches.table, text);
}

/* ---- histogram ------------------------------------------------------------------------- */

static void put_histogram(const struct gt_launch_matches *matches, struct gt_strbuf *text)
{
	uint64_t counts[64] = {0};

	gt_vec_each (match, &matches->items)
		counts[match->latency < 2 ? 0 : 63 - __builtin_clzll((uint64_t)match->latency)]++;
	gt_strbuf_puts(text, "\nLATENCY FROM .. BELOW        LAUNCHES\n");
	gt_put_time_bars(text, counts);
}

/* ---- what is known of clocks, and what is not known ------------------------------------ */

static void put_clock(const struct gt_launch_matches *matches, struct gt_strbuf *text)
{
	const struct gt_clock_fit *fit = &matches->fit;

	if (!matches->fitted) {
		gt_strbuf_puts(text, "the GPU's clock is unknown: no kernel was seen to end\n");
		return;
	}
	gt_strbuf_printf(text, "GPU clock = CLOCK_MONOTONIC %c ", fit->offset < 0 ? '-' : '+');
	gt_format_duration(text, fit->offset < 0 ? -(uint64_t)fit->offset : (uint64_t)fit->offset);
	gt_strbuf_puts(text, " ± ");
	gt_format_duration(text, (uint64_t)ceil(fit->error) + fit->step);
	if (fit->drift_error < GT_CLOCK_FIT_MAX_DRIFT)
		gt_strbuf_printf(text, ", %.1f ± %.1f ppm fast", fit->drift, fit->drift_error);
	gt_strbuf_puts(text, "; the same error bound holds for latencies\n");
	if (fit->violations) {
		gt_strbuf_printf(text, "%" PRIu64 " pairs of times contradict the clock, by up to ",
				 fit->violations);
		gt_format_duration(text, (uint64_t)ceil(fit->worst_violation));
		gt_strbuf_puts(text, ": latencies are unreliable\n");
	}
}

static void put_count(struct gt_strbuf *text, uint64_t count, const char *what)
{
	if (count)
		gt_strbuf_printf(text, "%" PRIu64 " %s\n", count, what);
}

static void put_unmatched(const struct gt_gpu_run *run, struct gt_strbuf *text)
{
	const struct gt_launch_matches *matches = run->state;

	put_count(text, matches->violations,
		  "launches began before their calls: they may be matched wrongly");
	put_count(text, matches->ambiguous,
		  "launches are matched by the order of calls that threads made at the same time");
	put_count(text, matches->failed, "launching calls failed");
	put_count(text, matches->captured, "launching calls were captured into graphs");
	put_count(text, matches->not_patched, "launching calls are of kernels without programs");
	put_count(text, matches->several,
		  "launching calls are not matched: they launch several kernels");
	put_count(text, matches->calls_unknown,
		  "launching calls are not matched: there are more or fewer grids of their kernel");
	put_count(text, matches->grids_unknown,
		  "grids are not matched: there are more or fewer calls for their kernel, or "
		  "another kernel launched them");
	put_count(text, gt_gpu_report_lost(run, "grids"),
		  "records of grids were dropped (buffer full)");
	put_count(text, matches->events_lost, "records of calls were dropped (buffer full)");
	put_count(text, matches->not_counted, "launches are not counted: out of memory");
	put_count(text, matches->malformed, "records were malformed");
}

/* ---- the report ------------------------------------------------------------------------ */

static bool is_patched(void *context, uint64_t name)
{
	const struct gt_gpu_run *run = context;
	const char *kernel;

	for (uint32_t i = 0; (kernel = gt_inject_kernel(run->inject, i)); i++)
		if (gt_launch_name(kernel) == name)
			return true;
	return false;
}

static void put_launches(const struct gt_gpu_run *run, struct gt_strbuf *text)
{
	struct gt_launch_matches *matches = run->state;

	if (gt_launch_matches_solve(matches, is_patched, (void *)run))
		text->failed = true;
	if (matches->items.count) {
		put_kernels(run, text);
		if (matches->fitted)
			put_histogram(matches, text);
		gt_strbuf_putc(text, '\n');
	} else {
		gt_strbuf_puts(text, "no launch was matched\n");
	}
	put_clock(matches, text);
	put_unmatched(run, text);
}

/* ---- JSON ------------------------------------------------------------------------------ */

static void json_clock(const struct gt_launch_matches *matches, struct gt_json *json)
{
	const struct gt_clock_fit *fit = &matches->fit;

	if (!matches->fitted) {
		gt_json_null(json, "clock");
		return;
	}
	gt_json_object_begin(json, "clock");
	gt_json_i64(json, "offset", fit->offset);
	gt_json_double(json, "drift", fit->drift);
	gt_json_double(json, "drift_error", fit->drift_error);
	gt_json_double(json, "error", fit->error + (double)fit->step);
	gt_json_u64(json, "step", fit->step);
	gt_json_u64(json, "pairs", fit->before.count + fit->after.count);
	gt_json_u64(json, "violations", fit->violations);
	gt_json_double(json, "worst_violation", fit->worst_violation);
	gt_json_object_end(json);
}

static void json_match(const struct gt_gpu_run *run, const struct gt_launch_match *match,
		       bool fitted, struct gt_json *json)
{
	gt_json_object_begin(json, NULL);
	gt_json_string(json, "kernel", gt_gpu_report_kernel(run, match->grid->kernel));
	gt_json_u64(json, "pid", match->call->pid);
	gt_json_u64(json, "tid", match->call->tid);
	gt_json_u64(json, "launch", match->grid->launch);
	gt_json_bool(json, "graph", match->call->graph);
	gt_json_u64(json, "call", match->call->begin);
	gt_json_u64(json, "first", match->grid->time);
	if (fitted)
		gt_json_i64(json, "latency", match->latency);
	else
		gt_json_null(json, "latency");
	gt_json_object_end(json);
}

static int compare_calls(const void *a, const void *b)
{
	const struct gt_launch_match *one = a, *other = b;

	if (one->call->begin != other->call->begin)
		return one->call->begin < other->call->begin ? -1 : 1;
	return (one->grid->launch > other->grid->launch) -
	       (one->grid->launch < other->grid->launch);
}

static void json_launches(const struct gt_gpu_run *run, struct gt_json *json)
{
	struct gt_launch_matches *matches = run->state;

	if (gt_launch_matches_solve(matches, is_patched, (void *)run))
		json->buffer->failed = true;
	if (matches->items.count)
		qsort(matches->items.items, matches->items.count, sizeof(matches->items.items[0]),
		      compare_calls);
	json_clock(matches, json);
	gt_json_array_begin(json, "launches");
	gt_vec_each (match, &matches->items)
		json_match(run, match, matches->fitted, json);
	gt_json_array_end(json);
	gt_json_u64(json, "violations", matches->violations);
	gt_json_u64(json, "ambiguous", matches->ambiguous);
	gt_json_u64(json, "failed", matches->failed);
	gt_json_u64(json, "captured", matches->captured);
	gt_json_u64(json, "not_patched", matches->not_patched);
	gt_json_u64(json, "several", matches->several);
	gt_json_u64(json, "calls_unmatched", matches->calls_unknown);
	gt_json_u64(json, "grids_unmatched", matches->grids_unknown);
	gt_json_u64(json, "records_lost", gt_gpu_report_lost(run, "grids") + matches->events_lost);
	gt_json_u64(json, "not_counted", matches->not_counted);
	gt_json_u64(json, "records_malformed", matches->malformed);
}

const struct gt_gpu_report gt_gpu_report_launchlate = {
	.name = "launchlate",
	.open = open_launches,
	.poll = poll_launches,
	.close = close_launches,
	.put = put_launches,
	.put_json = json_launches,
};
