/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The report of the source "fence". */
#include "analysis/fences.h"

#include <errno.h>

#include "report/gpu_cells.h"
#include "report/stat.h"

static int fence_open(const struct gt_report_options *options, void **ret_state)
{
	*ret_state = gt_fences_new();
	return *ret_state ? 0 : -ENOMEM;
}

static int fence_event(void *state, const struct gt_names *names, const struct gt_event *event)
{
	return gt_fences_take(state, event);
}

static void put_names(struct gt_table *table, const struct gt_fence_row *row)
{
	gt_table_padded(table, row->driver, sizeof(row->driver));
	gt_table_padded(table, row->timeline, sizeof(row->timeline));
}

static void put_timelines(const struct gt_fences *fences, const struct gt_report_options *options,
			  struct gt_strbuf *text)
{
	static const struct gt_column columns[] = {
		{"DRIVER", true},         {"TIMELINE", true},  {"FENCES", false},
		{"EMITTED", false, true}, {"SIGNALED", false}, {"ERRORS", false, true},
		{"LATENCY", false},       {"MEAN", false},     {"P50", false},
		{"P99", false},
	};
	struct gt_table table;
	size_t shown = 0;

	gt_table_begin(&table, columns, gt_countof(columns));
	gt_vec_each (item, &fences->timelines.rows) {
		const struct gt_fence_row *row = *item;

		if (!gt_report_shows(options->top, shown++))
			break;
		put_names(&table, row);
		gt_table_number(&table, row->initialized);
		gt_table_number(&table, row->emitted);
		gt_table_number(&table, row->signaled);
		gt_table_number(&table, row->errors);
		gt_report_put_durations(&table, &row->latency);
	}
	gt_table_put(&table, text);
	gt_report_put_rest(text, options->top, fences->timelines.rows.count);
}

static void put_waits(const struct gt_fences *fences, struct gt_strbuf *text)
{
	static const struct gt_column columns[] = {
		{"DRIVER", true}, {"TIMELINE", true}, {"WAITS", false}, {"TOTAL", false},
		{"MEAN", false},  {"P50", false},     {"P99", false},   {"MAX", false},
	};
	struct gt_table table;

	gt_table_begin(&table, columns, gt_countof(columns));
	gt_vec_each (item, &fences->timelines.rows) {
		const struct gt_fence_row *row = *item;

		if (!row->waits.count)
			continue;
		put_names(&table, row);
		gt_table_times(&table, &row->waits);
	}
	gt_table_put(&table, text);
}

static void put_waiters(const struct gt_fences *fences, const struct gt_names *names,
			struct gt_strbuf *text)
{
	static const struct gt_column columns[] = {
		{"PROCESS", true}, {"WAITS", false}, {"TOTAL", false}, {"MEAN", false},
		{"P50", false},    {"P99", false},   {"MAX", false},
	};
	struct gt_table table;

	gt_table_begin(&table, columns, gt_countof(columns));
	gt_vec_each (item, &fences->waiters.rows) {
		const struct gt_fence_waiter *waiter = *item;

		gt_table_process(&table, names, waiter->process);
		gt_table_times(&table, &waiter->waits);
	}
	gt_table_put(&table, text);
}

static int fence_put_text(void *state, const struct gt_report_options *options,
			  const struct gt_names *names, uint64_t now, struct gt_strbuf *text)
{
	const struct gt_fences *fences = state;

	put_timelines(fences, options, text);
	if (!fences->waiters.rows.count)
		return 0;
	gt_strbuf_putc(text, '\n');
	put_waits(fences, text);
	gt_strbuf_putc(text, '\n');
	put_waiters(fences, names, text);
	return 0;
}

static void json_timelines(const struct gt_fences *fences, const struct gt_report_options *options,
			   struct gt_json *json)
{
	size_t shown = 0;

	gt_json_array_begin(json, "timelines");
	gt_vec_each (item, &fences->timelines.rows) {
		const struct gt_fence_row *row = *item;

		if (!gt_report_shows(options->top, shown++))
			break;
		gt_json_object_begin(json, NULL);
		gt_json_padded_name(json, "driver", row->driver, sizeof(row->driver));
		gt_json_padded_name(json, "timeline", row->timeline, sizeof(row->timeline));
		gt_json_u64(json, "fences", row->initialized);
		gt_json_u64(json, "emitted", row->emitted);
		gt_json_u64(json, "signaled", row->signaled);
		gt_json_u64(json, "errors", row->errors);
		gt_report_json_durations(json, "latency", &row->latency);
		gt_json_u64(json, "waited", row->waits.sum);
		gt_report_json_durations(json, "waits", &row->waits);
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
}

static int fence_put_json(void *state, const struct gt_report_options *options,
			  const struct gt_names *names, uint64_t now, struct gt_json *json)
{
	const struct gt_fences *fences = state;

	json_timelines(fences, options, json);
	gt_json_array_begin(json, "processes");
	gt_vec_each (item, &fences->waiters.rows) {
		const struct gt_fence_waiter *waiter = *item;

		gt_json_object_begin(json, NULL);
		gt_report_json_process(json, names, waiter->process,
				       gt_names_process(names, waiter->process));
		gt_json_u64(json, "waited", waiter->waits.sum);
		gt_report_json_durations(json, "waits", &waiter->waits);
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
	return 0;
}

static void fence_close(void *state)
{
	gt_fences_free(state);
}

const struct gt_report gt_report_fence = {
	.name = "fence",
	.open = fence_open,
	.event = fence_event,
	.put_text = fence_put_text,
	.put_json = fence_put_json,
	.close = fence_close,
};
