/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The report of the source "drm". */
#include "analysis/drm_jobs.h"

#include <errno.h>
#include <inttypes.h>

#include "base/text.h"
#include "report/gpu_cells.h"
#include "report/stat.h"

static int drm_open(const struct gt_report_options *options, void **ret_state)
{
	*ret_state = gt_drm_jobs_new();
	return *ret_state ? 0 : -ENOMEM;
}

static int drm_event(void *state, const struct gt_names *names, const struct gt_event *event)
{
	return gt_drm_jobs_take(state, event);
}

/* ---- text --------------------------------------------------------------------------------- */

#define COUNT_COLUMNS                                                                              \
	{"JOBS", false}, {"DONE", false}, {"ERRORS", false, true}, {"TIMEOUTS", false, true},      \
		{"CANCELED", false, true}, {"WAITS", false}, {"DEPTH", false},                     \
	{                                                                                          \
		"HARDWARE", false                                                                  \
	}

static void put_counts(struct gt_table *table, const struct gt_drm_jobs_sums *sums)
{
	gt_table_number(table, sums->jobs);
	gt_table_number(table, sums->done);
	gt_table_number(table, sums->errors);
	gt_table_number(table, sums->timeouts);
	gt_table_number(table, sums->canceled);
	gt_table_number(table, sums->waits);
	gt_table_number(table, sums->max_depth);
	gt_table_number(table, sums->max_running);
}

static void put_ring_names(struct gt_table *table, const struct gt_drm_ring *ring)
{
	gt_table_padded(table, ring->device, sizeof(ring->device));
	gt_table_padded(table, ring->ring, sizeof(ring->ring));
}

static void put_rings(const struct gt_drm_jobs *jobs, struct gt_strbuf *text)
{
	static const struct gt_column columns[] = {{"DEVICE", true}, {"RING", true}, COUNT_COLUMNS};
	struct gt_table table;

	gt_table_begin(&table, columns, gt_countof(columns));
	gt_vec_each (item, &jobs->rings.rows) {
		const struct gt_drm_ring *ring = *item;

		put_ring_names(&table, ring);
		put_counts(&table, &ring->sums);
	}
	gt_table_put(&table, text);
}

static void put_processes(const struct gt_drm_jobs *jobs, const struct gt_names *names,
			  const struct gt_report_options *options, struct gt_strbuf *text)
{
	static const struct gt_column columns[] = {
		{"PROCESS", true}, COUNT_COLUMNS,  {"BLOCKED", false},
		{"QUEUED", false}, {"RAN", false},
	};
	struct gt_table table;
	size_t shown = 0;

	gt_table_begin(&table, columns, gt_countof(columns));
	gt_vec_each (item, &jobs->processes.rows) {
		const struct gt_drm_process *process = *item;

		if (!gt_report_shows(options->top, shown++))
			break;
		gt_table_process(&table, names, process->process);
		put_counts(&table, &process->sums);
		gt_table_duration(&table, process->sums.blocked.sum);
		gt_table_duration(&table, process->sums.queued.sum);
		gt_table_duration(&table, process->sums.ran.sum);
	}
	gt_table_put(&table, text);
	gt_report_put_rest(text, options->top, jobs->processes.rows.count);
}

static void put_times(const struct gt_drm_jobs *jobs, struct gt_strbuf *text)
{
	static const struct gt_column columns[] = {
		{"DEVICE", true}, {"RING", true}, {"TIME", true}, GT_TIMES_COLUMNS};
	struct gt_table table;

	gt_table_begin(&table, columns, gt_countof(columns));
	gt_vec_each (item, &jobs->rings.rows) {
		const struct gt_drm_ring *ring = *item;
		const struct {
			const char *name;
			const struct gt_histogram *times;
		} rows[] = {
			{"blocked by dependencies", &ring->sums.blocked},
			{"queued", &ring->sums.queued},
			{"on the hardware", &ring->sums.ran},
		};

		for (size_t i = 0; i < gt_countof(rows); i++) {
			if (!rows[i].times->count)
				continue;
			put_ring_names(&table, ring);
			gt_table_text(&table, rows[i].name);
			gt_table_times(&table, rows[i].times);
		}
	}
	gt_table_put(&table, text);
}

/* "4711 train render", or the context of a fence that is not that of a job. */
static void put_queue(struct gt_table *table, const struct gt_drm_jobs *jobs,
		      const struct gt_names *names, uint64_t context)
{
	const struct gt_drm_queue *queue = gt_drm_jobs_queue(jobs, context);
	struct gt_strbuf *cell = gt_table_cell(table);

	if (queue) {
		gt_autofree char *ring = strndup(queue->ring, sizeof(queue->ring));

		gt_label_process(cell, names, queue->process);
		gt_strbuf_putc(cell, ' ');
		gt_put_printable(cell, ring ? ring : "");
	} else {
		gt_strbuf_printf(cell, "fence context %" PRIu64, context);
	}
	gt_table_end_cell(table);
}

static void put_blockings(const struct gt_drm_jobs *jobs, const struct gt_names *names,
			  const struct gt_report_options *options, struct gt_strbuf *text)
{
	static const struct gt_column columns[] = {
		{"BLOCKED", true}, {"BY", true}, GT_TIMES_COLUMNS};
	struct gt_table table;
	size_t shown = 0;

	gt_table_begin(&table, columns, gt_countof(columns));
	gt_vec_each (item, &jobs->blockings.rows) {
		const struct gt_drm_blocking *blocking = *item;

		if (!gt_report_shows(options->top, shown++))
			break;
		put_queue(&table, jobs, names, blocking->blocked);
		put_queue(&table, jobs, names, blocking->by);
		gt_table_times(&table, &blocking->times);
	}
	gt_table_put(&table, text);
	gt_report_put_rest(text, options->top, jobs->blockings.rows.count);
}

static int drm_put_text(void *state, const struct gt_report_options *options,
			const struct gt_names *names, uint64_t now, struct gt_strbuf *text)
{
	const struct gt_drm_jobs *jobs = state;

	put_rings(jobs, text);
	gt_strbuf_putc(text, '\n');
	put_times(jobs, text);
	gt_strbuf_putc(text, '\n');
	put_processes(jobs, names, options, text);
	if (!jobs->blockings.rows.count)
		return 0;
	gt_strbuf_putc(text, '\n');
	put_blockings(jobs, names, options, text);
	return 0;
}

/* ---- JSON --------------------------------------------------------------------------------- */

static void json_sums(struct gt_json *json, const struct gt_drm_jobs_sums *sums)
{
	gt_json_u64(json, "jobs", sums->jobs);
	gt_json_u64(json, "done", sums->done);
	gt_json_u64(json, "errors", sums->errors);
	gt_json_u64(json, "timeouts", sums->timeouts);
	gt_json_u64(json, "canceled", sums->canceled);
	gt_json_u64(json, "waits", sums->waits);
	gt_json_u64(json, "max_depth", sums->max_depth);
	gt_json_u64(json, "max_on_hardware", sums->max_running);
	gt_report_json_durations(json, "blocked", &sums->blocked);
	gt_report_json_durations(json, "queued", &sums->queued);
	gt_report_json_durations(json, "on_hardware", &sums->ran);
}

static void json_queue(struct gt_json *json, const char *key, const struct gt_drm_jobs *jobs,
		       const struct gt_names *names, uint64_t context)
{
	const struct gt_drm_queue *queue = gt_drm_jobs_queue(jobs, context);

	gt_json_object_begin(json, key);
	gt_json_u64(json, "context", context);
	if (queue) {
		gt_report_json_process(json, names, queue->process,
				       gt_names_process(names, queue->process));
		gt_json_padded_name(json, "ring", queue->ring, sizeof(queue->ring));
	}
	gt_json_object_end(json);
}

static void json_blockings(struct gt_json *json, const struct gt_drm_jobs *jobs,
			   const struct gt_names *names)
{
	gt_json_array_begin(json, "blocked");
	gt_vec_each (item, &jobs->blockings.rows) {
		const struct gt_drm_blocking *blocking = *item;

		gt_json_object_begin(json, NULL);
		json_queue(json, "job", jobs, names, blocking->blocked);
		json_queue(json, "by", jobs, names, blocking->by);
		gt_json_u64(json, "total", blocking->times.sum);
		gt_report_json_durations(json, "times", &blocking->times);
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
}

static int drm_put_json(void *state, const struct gt_report_options *options,
			const struct gt_names *names, uint64_t now, struct gt_json *json)
{
	const struct gt_drm_jobs *jobs = state;

	gt_json_array_begin(json, "rings");
	gt_vec_each (item, &jobs->rings.rows) {
		const struct gt_drm_ring *ring = *item;

		gt_json_object_begin(json, NULL);
		gt_json_padded_name(json, "device", ring->device, sizeof(ring->device));
		gt_json_padded_name(json, "ring", ring->ring, sizeof(ring->ring));
		json_sums(json, &ring->sums);
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
	gt_json_array_begin(json, "processes");
	gt_vec_each (item, &jobs->processes.rows) {
		const struct gt_drm_process *process = *item;

		gt_json_object_begin(json, NULL);
		gt_report_json_process(json, names, process->process,
				       gt_names_process(names, process->process));
		json_sums(json, &process->sums);
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
	json_blockings(json, jobs, names);
	return 0;
}

static void drm_close(void *state)
{
	gt_drm_jobs_free(state);
}

const struct gt_report gt_report_drm = {
	.name = "drm",
	.open = drm_open,
	.event = drm_event,
	.put_text = drm_put_text,
	.put_json = drm_put_json,
	.close = drm_close,
};
