/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The report "leaks": what was allocated and not freed, and how memory went. */
#include "analysis/leaks.h"

#include <errno.h>
#include <inttypes.h>

#include "base/text.h"
#include "event/kinds.h"
#include "report/report.h"

static int leaks_open(const struct gt_report_options *options, void **ret_state)
{
	*ret_state = gt_leaks_new(options->by);
	return *ret_state ? 0 : -ENOMEM;
}

static void leaks_close(void *leaks)
{
	gt_leaks_free(leaks);
}

static int leaks_event(void *leaks, const struct gt_names *names, const struct gt_event *event)
{
	return gt_leaks_take(leaks, names, event);
}

/* What became of memory that was not freed, in a table's words. */
static const char *const state_words[GT_LEAK_STATES] = {
	[GT_LEAK_LIVE] = "live",
	[GT_LEAK_EXIT] = "at exit",
	[GT_LEAK_RESET] = "at reset",
	[GT_LEAK_CONTEXT] = "at context end",
};

/* Allocations of all processes. */
struct allocation_totals {
	uint64_t followed; /* from the call on until they are freed */
	uint64_t untracked, in_graphs, failed;
};

static struct allocation_totals count_allocations(const struct gt_memory_process *const *processes,
						  size_t count)
{
	struct allocation_totals all = {0};

	for (size_t i = 0; i < count; i++) {
		for (int space = 0; space < GT_SPACES; space++)
			all.followed += processes[i]->use[space].allocations;
		all.untracked += processes[i]->untracked;
		all.in_graphs += processes[i]->in_graphs;
		all.failed += processes[i]->failed;
	}
	return all;
}

/* Nothing is known to be left, which is good news only of what was followed. */
static void put_nothing_left(struct gt_strbuf *text, const struct allocation_totals *all)
{
	if (all->followed)
		gt_strbuf_puts(text, all->untracked ? "All tracked allocations were freed.\n"
						    : "All allocations were freed.\n");
	else if (all->untracked)
		gt_strbuf_puts(text, "No allocation could be tracked.\n");
	else if (all->failed)
		gt_strbuf_printf(text, "%" PRIu64 " allocation%s failed, none succeeded.\n",
				 all->failed, gt_report_plural(all->failed));
	else if (all->in_graphs)
		gt_strbuf_puts(text, "No allocation outside of graphs was seen.\n");
	else
		gt_strbuf_puts(text, "No allocation was seen.\n");
}

static void put_totals(struct gt_strbuf *text, const struct gt_leaks_totals *totals,
		       const struct allocation_totals *all)
{
	static const char *const sentences[GT_LEAK_STATES] = {
		[GT_LEAK_LIVE] = "still allocated",
		[GT_LEAK_EXIT] = "not freed before the process ended",
		[GT_LEAK_RESET] = "not freed before cudaDeviceReset",
		[GT_LEAK_CONTEXT] = "not freed before the context was destroyed",
	};
	bool any = false;

	for (int i = 0; i < GT_LEAK_STATES; i++) {
		if (!totals->count[i])
			continue;
		any = true;
		gt_strbuf_printf(text, "%" PRIu64 " allocation%s of ", totals->count[i],
				 gt_report_plural(totals->count[i]));
		gt_format_bytes(text, totals->bytes[i]);
		gt_strbuf_printf(text, " (%" PRIu64 " bytes): %s.\n", totals->bytes[i],
				 sentences[i]);
	}
	if (!any)
		put_nothing_left(text, all);
}

static const struct gt_column columns[] = {
	{"COUNT", false},  {"BYTES", false},         {"MEMORY", true},
	{"STATE", true},   {"OLDEST", false},        {"PID", false},
	{"PROCESS", true}, {"FUNCTION", true, true}, {"BY", true},
};

static void put_row(struct gt_table *table, const struct gt_report_labels *labels, const void *row)
{
	const struct gt_leak *leak = row;

	gt_table_number(table, leak->count);
	gt_strbuf_printf(gt_table_cell(table), "%" PRIu64 "%s", leak->bytes,
			 leak->unknown ? "+" : "");
	gt_table_end_cell(table);
	gt_table_text(table, gt_space_name(leak->space));
	gt_table_text(table, state_words[leak->state]);
	gt_table_duration(table, leak->oldest);
	gt_table_id(table, leak->group.process);
	gt_put_printable(gt_table_cell(table), leak->process_name);
	gt_label_container(gt_table_cell(table), labels->names, leak->group.process);
	gt_table_end_cell(table);
	gt_table_text(table, leak->function              ? leak->function
			     : labels->by == GT_BY_STACK ? "-"
							 : "");
	gt_report_put_group(table, labels, labels->by, &leak->group);
}

static const struct gt_column process_columns[] = {
	{"PID", false},  {"PROCESS", true}, {"MEMORY", true}, {"CURRENT", false},
	{"PEAK", false}, {"ALLOCS", false}, {"FREES", false}, {"ALLOCS/S", false},
	{"MEAN", false}, {"P50", false},    {"P99", false},   {"FAILED", false},
};

static double seconds_of(const struct gt_memory_process *process)
{
	return (double)(process->last - process->first) / 1e9;
}

static void put_process(struct gt_table *table, const struct gt_names *names,
			const struct gt_memory_process *process)
{
	gt_table_id(table, process->process);
	gt_put_printable(gt_table_cell(table), process->name);
	gt_label_container(gt_table_cell(table), names, process->process);
	gt_table_end_cell(table);
}

static void put_use(struct gt_table *table, const struct gt_memory_use *use, double seconds)
{
	gt_table_bytes(table, use->current);
	gt_table_bytes(table, use->peak);
	gt_table_number(table, use->allocations);
	gt_table_number(table, use->frees);
	if (seconds > 0)
		gt_strbuf_printf(gt_table_cell(table), "%.1f", (double)use->allocations / seconds);
	else
		gt_strbuf_putc(gt_table_cell(table), '-');
	gt_table_end_cell(table);
}

/* What is of all calls of a process, whatever the memory. */
static void put_calls(struct gt_table *table, const struct gt_memory_process *process)
{
	const struct gt_histogram *latency = &process->latency;

	if (latency->count) {
		gt_table_duration(table, gt_histogram_mean(latency));
		gt_table_duration(table, gt_histogram_quantile(latency, 0.5));
		gt_table_duration(table, gt_histogram_quantile(latency, 0.99));
	} else {
		for (int i = 0; i < 3; i++)
			gt_table_text(table, "-");
	}
	gt_table_number(table, process->failed);
}

/* They are in the first row of the process. */
static void put_no_calls(struct gt_table *table)
{
	for (int i = 0; i < 4; i++)
		gt_table_text(table, "");
}

/* A row for each kind of memory that a process used; one, too, if its allocations only failed. */
static void put_rows_of(struct gt_table *table, const struct gt_names *names,
			const struct gt_memory_process *process)
{
	bool any = false;

	for (int space = 0; space < GT_SPACES; space++) {
		if (!process->use[space].allocations)
			continue;
		put_process(table, names, process);
		gt_table_text(table, gt_space_name(space));
		put_use(table, &process->use[space], seconds_of(process));
		if (any)
			put_no_calls(table);
		else
			put_calls(table, process);
		any = true;
	}
	if (any || !process->failed)
		return;
	put_process(table, names, process);
	gt_table_text(table, "-");
	put_use(table, &(struct gt_memory_use){0}, seconds_of(process));
	put_calls(table, process);
}

static void put_oddities(struct gt_strbuf *text, const struct gt_memory_process *process)
{
	const struct {
		uint64_t count;
		const char *what;
	} oddities[] = {
		{process->freed_twice, "pointers freed twice"},
		{process->freed_foreign, "pointers freed that were never allocated"},
		{process->free_failed, "frees that failed (the memory still counts)"},
		{process->freed_unseen, "frees of memory whose allocation was not seen"},
		{process->replaced, "allocations whose free was not seen"},
		{process->in_graphs, "allocations by graph nodes, not counted above"},
		{process->untracked, "allocations whose address could not be read"},
	};

	for (size_t i = 0; i < gt_countof(oddities); i++) {
		if (!oddities[i].count)
			continue;
		gt_put_id(text, process->process);
		gt_strbuf_putc(text, ' ');
		gt_put_printable(text, process->name);
		gt_strbuf_printf(text, ": %s: %" PRIu64 "\n", oddities[i].what, oddities[i].count);
	}
}

static void put_processes(const struct gt_memory_process *const *processes, size_t count,
			  const struct allocation_totals *all,
			  const struct gt_report_options *options, const struct gt_names *names,
			  struct gt_strbuf *text)
{
	struct gt_table table;

	if (all->followed || all->failed) {
		gt_strbuf_putc(text, '\n');
		gt_table_begin(&table, process_columns, gt_countof(process_columns));
		for (size_t i = 0; i < count && gt_report_shows(options->top, i); i++)
			put_rows_of(&table, names, processes[i]);
		gt_table_put(&table, text);
		gt_report_put_rest(text, options->top, count);
		gt_strbuf_puts(text,
			       "MEAN to FAILED cover all allocating calls of a process: durations "
			       "on the host, and failures.\n");
	}
	for (size_t i = 0; i < count; i++)
		put_oddities(text, processes[i]);
}

static void json_leak(struct gt_json *json, const struct gt_names *names, enum gt_by by,
		      const void *row)
{
	const struct gt_leak *leak = row;

	gt_report_json_process(json, names, leak->group.process, leak->process_name);
	gt_json_string(json, "memory", gt_space_name(leak->space));
	gt_json_string(json, "state", gt_leak_state_name(leak->state));
	gt_json_u64(json, "count", leak->count);
	gt_json_u64(json, "bytes", leak->bytes);
	gt_json_u64(json, "unknown", leak->unknown);
	gt_json_u64(json, "oldest", leak->oldest);
	gt_json_u64(json, "newest", leak->newest);
	if (leak->function)
		gt_json_string(json, "function", leak->function);
	else
		gt_json_null(json, "function");
	gt_report_json_group(json, names, by, &leak->group);
}

static const struct gt_report_rows form = {
	.key = "leaks",
	.columns = columns,
	.column_count = gt_countof(columns),
	.group = offsetof(struct gt_leak, group),
	.row_size = sizeof(struct gt_leak),
	.by_process = true,
	.put = put_row,
	.json = json_leak,
};

static int leaks_text(void *leaks, const struct gt_report_options *options,
		      const struct gt_names *names, uint64_t now, struct gt_strbuf *text)
{
	const struct gt_memory_process *const *processes;
	struct allocation_totals all;
	struct gt_leaks_totals totals;
	const struct gt_leak *rows;
	size_t count, process_count;
	int error = gt_leaks_rows(leaks, names, now, &rows, &count, &totals);

	if (!error)
		error = gt_leaks_processes(leaks, names, &processes, &process_count);
	if (error)
		return error;
	all = count_allocations(processes, process_count);
	put_totals(text, &totals, &all);
	if (count)
		gt_report_put_rows(&form, options, names, rows, count, text);
	put_processes(processes, process_count, &all, options, names, text);
	return 0;
}

static void json_totals(struct gt_json *json, const struct gt_leaks_totals *totals)
{
	gt_json_object_begin(json, "totals");
	for (int i = 0; i < GT_LEAK_STATES; i++) {
		gt_json_object_begin(json, gt_leak_state_name(i));
		gt_json_u64(json, "count", totals->count[i]);
		gt_json_u64(json, "bytes", totals->bytes[i]);
		gt_json_object_end(json);
	}
	gt_json_object_end(json);
}

static void json_use(struct gt_json *json, const struct gt_memory_process *process)
{
	gt_json_array_begin(json, "memory");
	for (int space = 0; space < GT_SPACES; space++) {
		const struct gt_memory_use *use = &process->use[space];

		if (!use->allocations)
			continue;
		gt_json_object_begin(json, NULL);
		gt_json_string(json, "memory", gt_space_name(space));
		gt_json_u64(json, "current", use->current);
		gt_json_u64(json, "peak", use->peak);
		gt_json_u64(json, "live", use->live);
		gt_json_u64(json, "allocations", use->allocations);
		gt_json_u64(json, "frees", use->frees);
		gt_json_u64(json, "allocated_bytes", use->allocated_bytes);
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
}

static void json_process(struct gt_json *json, const struct gt_names *names,
			 const struct gt_memory_process *process)
{
	double seconds = seconds_of(process);
	uint64_t allocations = 0;

	for (int space = 0; space < GT_SPACES; space++)
		allocations += process->use[space].allocations;
	gt_json_object_begin(json, NULL);
	gt_report_json_process(json, names, process->process, process->name);
	gt_json_bool(json, "ended", process->ended);
	gt_json_u64(json, "peak", process->peak);
	if (seconds > 0)
		gt_json_double(json, "allocations_per_second", (double)allocations / seconds);
	else
		gt_json_null(json, "allocations_per_second");
	json_use(json, process);
	gt_report_json_durations(json, "latency", &process->latency);
	gt_json_u64(json, "failed", process->failed);
	gt_json_u64(json, "free_failed", process->free_failed);
	gt_json_u64(json, "freed_twice", process->freed_twice);
	gt_json_u64(json, "freed_foreign", process->freed_foreign);
	gt_json_u64(json, "freed_unseen", process->freed_unseen);
	gt_json_u64(json, "replaced", process->replaced);
	gt_json_u64(json, "in_graphs", process->in_graphs);
	gt_json_u64(json, "untracked", process->untracked);
	gt_json_object_end(json);
}

static int leaks_json(void *leaks, const struct gt_report_options *options,
		      const struct gt_names *names, uint64_t now, struct gt_json *json)
{
	const struct gt_memory_process *const *processes;
	struct gt_leaks_totals totals;
	const struct gt_leak *rows;
	size_t count;
	int error = gt_leaks_rows(leaks, names, now, &rows, &count, &totals);

	if (error)
		return error;
	json_totals(json, &totals);
	gt_report_json_rows(&form, options, names, rows, count, json);
	error = gt_leaks_processes(leaks, names, &processes, &count);
	if (error)
		return error;
	gt_json_array_begin(json, "processes");
	for (size_t i = 0; i < count; i++)
		json_process(json, names, processes[i]);
	gt_json_array_end(json);
	return 0;
}

/* Allocations that were not freed in time. One that is live when tracing ends may be freed later.
 */
static uint64_t leaks_problems(void *leaks, const struct gt_names *names, uint64_t now)
{
	struct gt_leaks_totals totals;
	const struct gt_leak *rows;
	uint64_t problems = 0;
	size_t count;

	if (gt_leaks_rows(leaks, names, now, &rows, &count, &totals))
		return 0;
	for (int i = 0; i < GT_LEAK_STATES; i++)
		problems += i == GT_LEAK_LIVE ? 0 : totals.count[i];
	return problems;
}

static bool leaks_needs(enum gt_operation_kind kind)
{
	switch (kind) {
	case GT_OPERATION_ALLOC:
	case GT_OPERATION_FREE:
	case GT_OPERATION_MAP:
	case GT_OPERATION_UNMAP:
	case GT_OPERATION_RETAIN:
	case GT_OPERATION_IMPORT:
	case GT_OPERATION_RESET:
	case GT_OPERATION_GRAPH_ALLOC:
	/* What is captured is not allocated now. */
	case GT_OPERATION_CAPTURE_BEGIN:
	case GT_OPERATION_CAPTURE_END:
	case GT_OPERATION_EVENT_RECORD:
	case GT_OPERATION_EVENT_WAIT:
		return true;
	default:
		return kind >= GT_OPERATION_CONTEXT_PRIMARY && kind <= GT_OPERATION_CONTEXT_POP;
	}
}

const struct gt_report gt_report_leaks = {
	.name = "leaks",
	.needs = leaks_needs,
	.open = leaks_open,
	.event = leaks_event,
	.put_text = leaks_text,
	.put_json = leaks_json,
	.problems = leaks_problems,
	.close = leaks_close,
};
