/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The report of the source "sched". */
#include "analysis/off_cpu.h"

#include <errno.h>

#include "base/text.h"
#include "report/gpu_cells.h"
#include "report/stat.h"

static int sched_open(const struct gt_report_options *options, void **ret_state)
{
	*ret_state = gt_off_cpu_new();
	return *ret_state ? 0 : -ENOMEM;
}

static int sched_event(void *state, const struct gt_names *names, const struct gt_event *event)
{
	return gt_off_cpu_take(state, event);
}

static void put_thread(struct gt_table *table, const struct gt_names *names,
		       const struct gt_off_cpu_row *row)
{
	gt_table_process(table, names, row->key.process);
	gt_table_id(table, row->key.thread);
	gt_table_text(table, row->key.state);
}

/* The times off the CPU, or those in which threads waited for one. */
static void put_waits(const struct gt_off_cpu *off_cpu, const struct gt_report_options *options,
		      const struct gt_names *names, bool runnable, struct gt_strbuf *text)
{
	static const struct gt_column off[] = {
		{"PROCESS", true}, {"THREAD", false}, {"OFF CPU", true}, GT_TIMES_COLUMNS};
	static const struct gt_column queue[] = {
		{"PROCESS", true}, {"THREAD", false}, {"RUN QUEUE AFTER", true}, GT_TIMES_COLUMNS};
	struct gt_table table;
	size_t shown = 0;

	gt_table_begin(&table, runnable ? queue : off, gt_countof(off));
	gt_vec_each (item, &off_cpu->waits.rows) {
		const struct gt_off_cpu_row *row = *item;

		if (!gt_report_shows(options->top, shown) || (runnable && !row->runnable.count))
			continue;
		shown++;
		put_thread(&table, names, row);
		gt_table_times(&table, runnable ? &row->runnable : &row->durations);
	}
	gt_table_put(&table, text);
	gt_report_put_rest(text, options->top, off_cpu->waits.rows.count);
}

static void put_wakers(const struct gt_off_cpu *off_cpu, const struct gt_report_options *options,
		       struct gt_strbuf *text)
{
	static const struct gt_column columns[] = {
		{"WOKEN BY", true}, {"PROCESS", false}, {"THREAD", false}, GT_TIMES_COLUMNS};
	struct gt_table table;
	size_t shown = 0;

	gt_table_begin(&table, columns, gt_countof(columns));
	gt_vec_each (item, &off_cpu->wakers.rows) {
		const struct gt_waker_row *row = *item;

		if (!gt_report_shows(options->top, shown++))
			break;
		gt_put_printable(gt_table_cell(&table), row->key.name);
		gt_table_end_cell(&table);
		gt_table_id(&table, row->key.process);
		gt_table_id(&table, row->key.thread);
		gt_table_times(&table, &row->ended);
	}
	gt_table_put(&table, text);
	gt_report_put_rest(text, options->top, off_cpu->wakers.rows.count);
}

static int sched_put_text(void *state, const struct gt_report_options *options,
			  const struct gt_names *names, uint64_t now, struct gt_strbuf *text)
{
	struct gt_off_cpu *off_cpu = state;

	gt_off_cpu_sort(off_cpu);
	put_waits(off_cpu, options, names, false, text);
	gt_strbuf_putc(text, '\n');
	put_waits(off_cpu, options, names, true, text);
	if (off_cpu->wakers.rows.count) {
		gt_strbuf_putc(text, '\n');
		put_wakers(off_cpu, options, text);
	}
	return 0;
}

static int sched_put_json(void *state, const struct gt_report_options *options,
			  const struct gt_names *names, uint64_t now, struct gt_json *json)
{
	struct gt_off_cpu *off_cpu = state;
	size_t shown = 0;

	gt_off_cpu_sort(off_cpu);
	gt_json_array_begin(json, "waits");
	gt_vec_each (item, &off_cpu->waits.rows) {
		const struct gt_off_cpu_row *row = *item;

		if (!gt_report_shows(options->top, shown++))
			break;
		gt_json_object_begin(json, NULL);
		gt_report_json_process(json, names, row->key.process,
				       gt_names_process(names, row->key.process));
		gt_json_u64(json, "tid", gt_id_number(row->key.thread));
		gt_json_string(json, "state", row->key.state);
		gt_json_u64(json, "total", row->durations.sum);
		gt_report_json_durations(json, "duration", &row->durations);
		gt_report_json_durations(json, "runnable", &row->runnable);
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
	shown = 0;
	gt_json_array_begin(json, "wakers");
	gt_vec_each (item, &off_cpu->wakers.rows) {
		const struct gt_waker_row *row = *item;

		if (!gt_report_shows(options->top, shown++))
			break;
		gt_json_object_begin(json, NULL);
		gt_json_string(json, "name", row->key.name);
		gt_report_json_known(json, "pid", row->key.process, gt_id_number(row->key.process));
		gt_report_json_known(json, "tid", row->key.thread, gt_id_number(row->key.thread));
		gt_json_u64(json, "total", row->ended.sum);
		gt_report_json_durations(json, "ended", &row->ended);
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
	return 0;
}

static void sched_close(void *state)
{
	gt_off_cpu_free(state);
}

const struct gt_report gt_report_sched = {
	.name = "sched",
	.open = sched_open,
	.event = sched_event,
	.put_text = sched_put_text,
	.put_json = sched_put_json,
	.close = sched_close,
};
