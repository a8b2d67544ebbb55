/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The report "report": where the wall time went. */
#include "report/breakdown.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/resource.h>
#include <unistd.h>

#include "analysis/timeline/advice.h"
#include "base/text.h"
#include "elf/symbolize.h"
#include "names/machine.h"

uint64_t gt_breakdown_own_cpu(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage))
		return 0;
	return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000 +
	       (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
}

static void breakdown_close(void *opaque)
{
	struct gt_breakdown_report *state = opaque;

	gt_breakdown_free(state->breakdown);
	gt_findings_free(state->findings);
	free(state);
}

static int breakdown_open(const struct gt_report_options *options, void **ret_state)
{
	struct gt_breakdown_report *state = calloc(1, sizeof(*state));

	if (!state)
		return -ENOMEM;
	state->breakdown = gt_breakdown_new(options->top ? options->top : GT_BREAKDOWN_TOP);
	state->findings = gt_findings_new();
	state->cpu_start = gt_breakdown_own_cpu();
	if (!state->breakdown || !state->findings) {
		breakdown_close(state);
		return -ENOMEM;
	}
	*ret_state = state;
	return 0;
}

static int breakdown_event(void *opaque, const struct gt_names *names, const struct gt_event *event)
{
	struct gt_breakdown_report *state = opaque;
	int error = gt_breakdown_take(state->breakdown, names, event);

	state->events++;
	return error ? error : gt_findings_take(state->findings, names, event);
}

void gt_put_operation_name(struct gt_strbuf *text, const struct gt_short_names *shown,
			   enum gt_gpu_operation operation, const char *kernel)
{
	if (operation == GT_GPU_KERNEL && kernel)
		gt_label_kernel(text, shown, kernel, 0);
	else
		gt_strbuf_puts(text, gt_gpu_operation_name(operation));
}

static void cell_share(struct gt_table *table, uint64_t part, uint64_t whole)
{
	gt_strbuf_printf(gt_table_cell(table), "%.1f %%",
			 whole ? 100.0 * (double)part / (double)whole : 0.0);
	gt_table_end_cell(table);
}

static void cell_duration(struct gt_table *table, uint64_t ns)
{
	if (ns)
		gt_table_duration(table, ns);
	else
		gt_table_text(table, "-");
}

static void put_path(struct gt_strbuf *text, const struct gt_process_breakdown *row)
{
	static const struct gt_column columns[] = {
		{"WALL TIME", true}, {"TIME", false}, {"SHARE", false}, {"GPU IDLE", false}};
	struct gt_table table;
	uint64_t idle = 0;

	gt_table_begin(&table, columns, gt_countof(columns));
	for (unsigned i = 0; i < GT_SPENDINGS; i++) {
		idle += row->spent_idle[i];
		if (!row->spent[i])
			continue;
		gt_table_text(&table, gt_spending_title((enum gt_spending)i));
		gt_table_duration(&table, row->spent[i]);
		cell_share(&table, row->spent[i], row->wall);
		cell_duration(&table, row->spent_idle[i]);
	}
	gt_table_text(&table, "total");
	gt_table_duration(&table, row->wall);
	cell_share(&table, row->wall, row->wall);
	cell_duration(&table, idle);
	gt_table_put(&table, text);
}

static void put_clock(struct gt_strbuf *text, const struct gt_process_breakdown *row)
{
	if (row->host_only)
		gt_strbuf_printf(
			text,
			"%" PRIu64 " of %" PRIu64
			" operations contradict the calls around them: the GPU's clock is not "
			"the host's (virtual time?).\nThe wall time above is that of calls "
			"alone, on the host's clock; the times below are on the GPU's.\n",
			row->contradicted, row->operations);
}

static void put_coverage(struct gt_strbuf *text, const struct gt_process_breakdown *row)
{
	uint64_t span = row->gpu_last - row->gpu_first;

	if (!row->operations) {
		gt_strbuf_puts(text, "No operation of a GPU was seen.\n");
		return;
	}
	gt_strbuf_puts(text, "GPUs: from the first to the last operation ");
	gt_format_duration(text, span);
	gt_strbuf_puts(text, "; busy ");
	gt_format_duration(text, row->gpu_busy);
	gt_strbuf_printf(text, " (%.1f %%), ",
			 span ? 100.0 * (double)row->gpu_busy / (double)span : 100.0);
	gt_strbuf_puts(text, "of which with operations that overlap ");
	gt_format_duration(text, row->gpu_overlap);
	gt_strbuf_puts(text, "; idle ");
	gt_format_duration(text, row->gpu_idle);
	gt_strbuf_printf(text, " in %" PRIu64 " gap%s.\n", row->idle_gaps,
			 gt_report_plural(row->idle_gaps));
}

static void cell_rate(struct gt_table *table, uint64_t bytes, uint64_t ns)
{
	if (!bytes || !ns) {
		gt_table_text(table, "-");
		return;
	}
	gt_strbuf_printf(gt_table_cell(table), "%.2f GB/s", (double)bytes / (double)ns);
	gt_table_end_cell(table);
}

static void put_busy(struct gt_strbuf *text, const struct gt_process_breakdown *row)
{
	static const struct gt_column columns[] = {
		{"RESOURCE", true}, {"COUNT", false}, {"BUSY", false}, {"SHARE", false},
		{"SUM", false},     {"BYTES", false}, {"TIMES", true},
	};
	uint64_t span = row->gpu_last - row->gpu_first;
	struct gt_table table;

	gt_table_begin(&table, columns, gt_countof(columns));
	gt_vec_each (busy, &row->busy) {
		struct gt_strbuf *cell = gt_table_cell(&table);

		if (busy->device == GT_DEVICE_UNKNOWN)
			gt_strbuf_puts(cell, "GPU");
		else
			gt_strbuf_printf(cell, "GPU %d", busy->device);
		if (!busy->all)
			gt_strbuf_printf(cell, " %s", gt_gpu_operation_name(busy->operation));
		gt_table_end_cell(&table);
		gt_table_number(&table, busy->count);
		gt_table_duration(&table, busy->ns);
		cell_share(&table, busy->ns, span);
		gt_table_duration(&table, busy->sum);
		gt_table_bytes(&table, busy->bytes);
		gt_table_text(&table, gt_times_basis_name(busy->basis));
	}
	gt_table_put(&table, text);
}

static void put_longest(struct gt_strbuf *text, const struct gt_process_breakdown *row)
{
	static const struct gt_column columns[] = {
		{"LONGEST", false}, {"T+", false},     {"OPERATION", true},
		{"THREAD", false},  {"QUEUED", false}, {"START", false},
		{"RUN", false},     {"DRAIN", false},  {"TIMES", true},
	};
	struct gt_table table;

	gt_table_begin(&table, columns, gt_countof(columns));
	gt_vec_each (operation, &row->longest) {
		gt_strbuf_printf(gt_table_cell(&table), "#%" PRIu64, operation->number);
		gt_table_end_cell(&table);
		gt_table_duration(&table, operation->submitted > row->start
						  ? operation->submitted - row->start
						  : 0);
		gt_put_operation_name(gt_table_cell(&table), row->shown,
				      (enum gt_gpu_operation)operation->operation,
				      operation->kernel);
		gt_table_end_cell(&table);
		gt_table_id(&table, operation->thread);
		cell_duration(&table, operation->released > operation->submitted
					      ? operation->released - operation->submitted
					      : 0);
		cell_duration(&table, operation->start > operation->released
					      ? operation->start - operation->released
					      : 0);
		gt_table_duration(&table, operation->end - operation->start);
		cell_duration(&table, operation->wait_end > operation->end
					      ? operation->wait_end - operation->end
					      : 0);
		gt_table_text(&table, gt_times_basis_name((enum gt_times_basis)operation->basis));
	}
	gt_table_put(&table, text);
}

/* The least exact one of a kernel's times. */
static enum gt_times_basis kernel_basis(const struct gt_kernel_times *kernel)
{
	if (kernel->estimated)
		return GT_TIMES_ESTIMATED;
	return kernel->exact == kernel->runs.count ? GT_TIMES_EXACT : GT_TIMES_MEASURED;
}

static void put_kernels(struct gt_strbuf *text, const struct gt_process_breakdown *row,
			uint64_t top)
{
	static const struct gt_column columns[] = {
		{"KERNEL", true}, {"COUNT", false}, {"TOTAL", false},  {"MEAN", false},
		{"P50", false},   {"P99", false},   {"QUEUED", false}, {"TIMES", true},
	};
	struct gt_table table;

	gt_table_begin(&table, columns, gt_countof(columns));
	for (size_t i = 0; i < row->kernels.count && i < top; i++) {
		const struct gt_kernel_times *kernel = &row->kernels.items[i];

		gt_label_kernel(gt_table_cell(&table), row->shown, kernel->kernel, 0);
		gt_table_end_cell(&table);
		gt_table_number(&table, kernel->runs.count);
		gt_report_put_durations(&table, &kernel->runs);
		cell_duration(&table, gt_histogram_mean(&kernel->queued));
		gt_table_text(&table, gt_times_basis_name(kernel_basis(kernel)));
	}
	gt_table_put(&table, text);
	gt_report_put_rest(text, top, row->kernels.count);
}

static void put_copies(struct gt_strbuf *text, const struct gt_process_breakdown *row)
{
	static const char *const memories[GT_HOST_MEMORIES] = {"pageable", "pinned", "managed"};
	static const struct gt_column columns[] = {
		{"COPY", true},  {"HOST MEMORY", true},   {"COUNT", false}, {"TOTAL", false},
		{"MEAN", false}, {"P50", false},          {"P99", false},   {"BYTES", false},
		{"RATE", false}, {"WITH KERNELS", false},
	};
	struct gt_table table;

	gt_table_begin(&table, columns, gt_countof(columns));
	gt_vec_each (copy, &row->copies) {
		bool crosses = copy->operation == GT_GPU_COPY_TO_DEVICE ||
			       copy->operation == GT_GPU_COPY_TO_HOST;

		gt_table_text(&table, gt_gpu_operation_name(copy->operation));
		gt_table_text(&table, crosses ? memories[copy->memory] : "-");
		gt_table_number(&table, copy->runs.count);
		gt_report_put_durations(&table, &copy->runs);
		gt_table_bytes(&table, copy->bytes);
		cell_rate(&table, copy->estimated ? 0 : copy->bytes, copy->runs.sum);
		cell_share(&table, copy->overlapped_ns, copy->runs.sum);
	}
	gt_table_put(&table, text);
}

static void put_waits(struct gt_strbuf *text, const struct gt_process_breakdown *row, uint64_t top)
{
	static const struct gt_column columns[] = {
		{"WAITED IN", true}, {"COUNT", false}, {"TOTAL", false},       {"MEAN", false},
		{"P50", false},      {"P99", false},   {"FOR THE GPU", false},
	};
	struct gt_table table;

	gt_table_begin(&table, columns, gt_countof(columns));
	for (size_t i = 0; i < row->waits_by_function.count && i < top; i++) {
		const struct gt_wait_times *wait = &row->waits_by_function.items[i];

		gt_table_text(&table, wait->function);
		gt_table_number(&table, wait->durations.count);
		gt_report_put_durations(&table, &wait->durations);
		cell_duration(&table, wait->behind_ns);
	}
	gt_table_put(&table, text);
	gt_report_put_rest(text, top, row->waits_by_function.count);
}

static void put_advice(struct gt_strbuf *text, const struct gt_process_breakdown *row)
{
	for (unsigned i = 0; i < GT_ADVICES; i++) {
		gt_auto_strbuf evidence = GT_STRBUF_INIT;

		if (!gt_advice_evidence((enum gt_advice_kind)i, row, &evidence))
			continue;
		gt_strbuf_printf(text, "%s\n  %s\n", gt_strbuf_string(&evidence),
				 gt_advice_text((enum gt_advice_kind)i));
	}
}

static void put_process(struct gt_strbuf *text, const struct gt_report_options *options,
			const struct gt_names *names, const struct gt_process_breakdown *row)
{
	uint64_t top = options->top ? options->top : GT_BREAKDOWN_TOP;

	gt_label_process(text, names, row->process);
	gt_strbuf_puts(text, ": ");
	gt_format_duration(text, row->wall);
	gt_strbuf_printf(text, " of wall time, %" PRIu64 " host thread%s with calls\n\n",
			 row->host_threads, gt_report_plural(row->host_threads));
	put_path(text, row);
	put_clock(text, row);
	gt_strbuf_putc(text, '\n');
	put_coverage(text, row);
	if (row->operations) {
		put_busy(text, row);
		gt_strbuf_putc(text, '\n');
		gt_put_origin(text, options, names, row);
		put_longest(text, row);
	}
	if (row->kernels.count) {
		gt_strbuf_putc(text, '\n');
		put_kernels(text, row, top);
	}
	if (row->copies.count) {
		gt_strbuf_putc(text, '\n');
		put_copies(text, row);
	}
	if (row->waits_by_function.count) {
		gt_strbuf_putc(text, '\n');
		put_waits(text, row, top);
	}
	if (row->gaps.count) {
		gt_strbuf_putc(text, '\n');
		gt_put_idle_gaps(text, names, row, top);
	}
	gt_strbuf_putc(text, '\n');
	put_advice(text, row);
}

static int put_findings(struct gt_strbuf *text, struct gt_findings *findings,
			const struct gt_names *names, uint64_t top)
{
	const struct gt_finding *rows;
	size_t count;
	int error = gt_findings_rows(findings, names, &rows, &count);

	for (size_t i = 0; i < count && i < top && !error; i++)
		gt_strbuf_printf(text, "%s\n  %s\n", rows[i].evidence, rows[i].advice);
	return error;
}

/* How the times of operations are known, and what reading the events cost. */
static void put_account(struct gt_strbuf *text, const struct gt_breakdown_report *state,
			const struct gt_report_options *options)
{
	const struct gt_timeline_totals *totals = gt_breakdown_totals(state->breakdown);
	uint64_t cpu = gt_breakdown_own_cpu() - state->cpu_start;

	gt_strbuf_printf(text,
			 "Times of operations: %" PRIu64 " exact, %" PRIu64 " measured, %" PRIu64
			 " estimated from calls (upper bounds).\n",
			 totals->gpu[GT_TIMES_EXACT], totals->gpu[GT_TIMES_MEASURED],
			 totals->gpu[GT_TIMES_ESTIMATED]);
	if (totals->evicted)
		gt_strbuf_printf(text,
				 "%" PRIu64 " operations were in flight beyond the limit of %d: "
				 "their waits are not known.\n",
				 totals->evicted, GT_TIMELINE_MAX_PENDING);
	if (totals->unmatched)
		gt_strbuf_printf(text,
				 "%" PRIu64 " operations were timed whose calls were not seen.\n",
				 totals->unmatched);
	gt_strbuf_printf(text, "gputap: %" PRIu64 " events; it used ", state->events);
	gt_format_duration(text, cpu);
	gt_strbuf_printf(text, " of CPU time %s",
			 options->captured ? "to read the capture" : "beside the program");
	if (state->events) {
		gt_strbuf_puts(text, ", ");
		gt_format_duration(text, cpu / state->events);
		gt_strbuf_puts(text, " an event");
	}
	gt_strbuf_puts(text, ".\n");
}

static void put_machines(struct gt_strbuf *text, const struct gt_names *names)
{
	size_t count = 0;
	const struct gt_event_machine *const *machines =
		names ? gt_names_machines(names, &count) : NULL;

	for (size_t i = 0; i < count; i++) {
		gt_put_machine(text, machines[i]);
		gt_strbuf_putc(text, '\n');
	}
}

static int breakdown_put_text(void *opaque, const struct gt_report_options *options,
			      const struct gt_names *names, uint64_t now, struct gt_strbuf *text)
{
	struct gt_breakdown_report *state = opaque;
	uint64_t top = options->top ? options->top : GT_BREAKDOWN_TOP;
	const struct gt_process_breakdown *const *rows;
	size_t count;
	int error = gt_breakdown_rows(state->breakdown, names, options->final, &rows, &count);

	if (error)
		return error;
	put_machines(text, names);
	if (!count)
		gt_strbuf_puts(text, "No call of a traced API was recorded.\n");
	for (size_t i = 0; i < count; i++)
		put_process(text, options, names, rows[i]);
	error = names ? put_findings(text, state->findings, names, top) : 0;
	put_account(text, state, options);
	return error;
}

const struct gt_report gt_report_breakdown = {
	.name = "report",
	.open = breakdown_open,
	.event = breakdown_event,
	.put_text = breakdown_put_text,
	.put_json = gt_breakdown_put_json,
	.close = breakdown_close,
};
