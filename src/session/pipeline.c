/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "session/pipeline.h"

#include <errno.h>

#include "base/clock.h"

#include "event/kinds.h"
#include "layers/layers.h"
#include "session/enrich.h"
#include "session/keep.h"
#include "session/reorder.h"
#include "session/when.h"

struct gt_pipeline {
	const struct gt_trace_options *options;
	const struct gt_when *when; /* NULL: none, or the kernel tests all of it */
	struct gt_reorder *reorder; /* NULL: events pass in the order of the ring */
	struct gt_event_queue queue;
	struct gt_enrich *enrich;
	struct gt_keep *keep; /* NULL: files are at hand when the events are analysed */
	struct gt_event_queue kept;
	struct gt_names *names;
	gt_event_sink sink;
	void *context;
	int result;
	uint64_t complete;  /* calls that returned and were passed on */
	uint64_t filtered;  /* calls that returned after the last wanted one, or by `when` */
	uint64_t malformed; /* records of the ring */
};

struct gt_pipeline *gt_pipeline_new(const struct gt_trace_options *options)
{
	gt_auto(pipeline) struct gt_pipeline *pipeline = calloc(1, sizeof(*pipeline));

	if (!pipeline)
		return NULL;
	pipeline->options = options;
	pipeline->names = gt_names_new();
	pipeline->enrich = gt_enrich_new(&(struct gt_enrich_options){
		.stack_depth = options->stack == GT_STACK_DWARF ? options->stack_depth : 0,
		.cgroups = options->cgroups,
	});
	if (options->capture)
		pipeline->keep = gt_keep_new();
	if (!pipeline->names || gt_names_read_perf_maps(pipeline->names) || !pipeline->enrich ||
	    (options->capture && !pipeline->keep))
		return NULL;
	return gt_take(pipeline);
}

void gt_pipeline_free(struct gt_pipeline *pipeline)
{
	if (!pipeline)
		return;
	gt_event_queue_clear(&pipeline->queue);
	gt_event_queue_clear(&pipeline->kept);
	gt_keep_free(pipeline->keep);
	gt_enrich_free(pipeline->enrich);
	gt_reorder_free(pipeline->reorder);
	gt_names_free(pipeline->names);
	free(pipeline);
}

struct gt_event_queue *gt_pipeline_queue(struct gt_pipeline *pipeline)
{
	return &pipeline->queue;
}

const struct gt_hash *gt_pipeline_processes(const struct gt_pipeline *pipeline)
{
	return gt_enrich_processes(pipeline->enrich);
}

const struct gt_names *gt_pipeline_names(const struct gt_pipeline *pipeline)
{
	return pipeline->names;
}

void gt_pipeline_find_pythons(struct gt_pipeline *pipeline, struct gt_pythons *pythons)
{
	gt_enrich_find_pythons(pipeline->enrich, pythons);
}

void gt_pipeline_fill_unwind_maps(struct gt_pipeline *pipeline, struct gt_unwind_maps *maps)
{
	gt_enrich_fill_unwind_maps(pipeline->enrich, maps);
}

void gt_pipeline_start(struct gt_pipeline *pipeline, gt_event_sink sink, void *context)
{
	pipeline->sink = sink;
	pipeline->context = context;
}

void gt_pipeline_filter(struct gt_pipeline *pipeline, const struct gt_when *when)
{
	pipeline->when = when;
}

void gt_pipeline_fail(struct gt_pipeline *pipeline, int error)
{
	if (!pipeline->result)
		pipeline->result = error;
}

int gt_pipeline_result(const struct gt_pipeline *pipeline)
{
	return pipeline->result;
}

static bool has_enough_calls(const struct gt_pipeline *pipeline)
{
	uint64_t limit = pipeline->options->max_events;

	return limit && pipeline->complete >= limit;
}

bool gt_pipeline_is_done(const struct gt_pipeline *pipeline)
{
	return pipeline->result || has_enough_calls(pipeline);
}

/* → sink. What is kept about an event precedes it. */
static int sink_event(struct gt_pipeline *pipeline, const struct gt_event *event)
{
	int error = 0;

	if (pipeline->keep)
		gt_keep_take(pipeline->keep, pipeline->names, event, &pipeline->kept);
	gt_vec_each (kept, &pipeline->kept.events)
		if (!error)
			error = pipeline->sink(pipeline->context, pipeline->names, *kept);
	gt_event_queue_clear(&pipeline->kept);
	return error ? error : pipeline->sink(pipeline->context, pipeline->names, event);
}

/* names → sink */
static void deliver_event(struct gt_pipeline *pipeline, const struct gt_event *event)
{
	int error;

	/* The totals are for the user even where a file takes no more events. */
	if (pipeline->result && event->kind != GT_EVENT_account)
		return;
	error = gt_names_take(pipeline->names, event);
	if (!error)
		error = sink_event(pipeline, event);
	gt_pipeline_fail(pipeline, error);
}

static void deliver_queue(struct gt_pipeline *pipeline, const struct gt_event_queue *queue)
{
	gt_vec_each (event, &queue->events)
		deliver_event(pipeline, *event);
}

/* enrich → names → sink */
static void put_event(struct gt_pipeline *pipeline, const struct gt_event *event)
{
	const struct gt_enriched *enriched = gt_enrich_event(pipeline->enrich, event);

	deliver_queue(pipeline, &enriched->before);
	if (enriched->event)
		deliver_event(pipeline, enriched->event);
	deliver_queue(pipeline, &enriched->after);
}

int gt_pipeline_sort(struct gt_pipeline *pipeline)
{
	if (!pipeline->reorder)
		pipeline->reorder = gt_reorder_new();
	return pipeline->reorder ? 0 : -ENOMEM;
}

/* Events of layer sources take their place among those of the ring; the others are names. */
void gt_pipeline_drain(struct gt_pipeline *pipeline)
{
	gt_vec_each (event, &pipeline->queue.events)
		if (!pipeline->reorder || !gt_layer_kind((*event)->kind) ||
		    gt_reorder_put(pipeline->reorder, *event))
			put_event(pipeline, *event);
	gt_event_queue_clear(&pipeline->queue);
}

/* Whether a call is passed on: not after the last one that was asked for, nor by --when. */
static bool count_call(struct gt_pipeline *pipeline, const struct gt_event_call *call)
{
	bool finished = call->head.kind == GT_EVENT_call && !(call->state & GT_CALL_UNFINISHED);

	/* As in the kernel, abandoned calls are kept whatever the condition is. */
	if (has_enough_calls(pipeline) ||
	    (finished && !gt_when_holds(pipeline->when, pipeline->names, call))) {
		pipeline->filtered += finished;
		return false;
	}
	pipeline->complete += finished;
	return true;
}

static void put_checked(struct gt_pipeline *pipeline, const struct gt_event *event)
{
	if ((event->kind == GT_EVENT_call || event->kind == GT_EVENT_entry) &&
	    !count_call(pipeline, (const void *)event))
		return;
	put_event(pipeline, event);
}

void gt_pipeline_put(struct gt_pipeline *pipeline, const struct gt_event *event, size_t size)
{
	if (gt_event_check(event, size))
		pipeline->malformed++;
	else if (!pipeline->reorder || gt_reorder_put(pipeline->reorder, event))
		put_checked(pipeline, event);
}

void gt_pipeline_release(struct gt_pipeline *pipeline, uint64_t until)
{
	const struct gt_event *event;

	if (!pipeline->reorder)
		return;
	if (!until)
		until = gt_reorder_latest(pipeline->reorder);
	if (until != UINT64_MAX)
		until = until > GT_REORDER_NS ? until - GT_REORDER_NS : 0;
	while ((event = gt_reorder_next(pipeline->reorder, until)))
		put_checked(pipeline, event);
}

void gt_pipeline_count(const struct gt_pipeline *pipeline, const struct gt_counts *counts,
		       struct gt_event_account *ret_account)
{
	*ret_account = (struct gt_event_account){
		.head.kind = GT_EVENT_account,
		.head.size = sizeof(*ret_account),
		.head.device = GT_DEVICE_UNKNOWN,
		.head.time = gt_clock_monotonic(),
		.made = counts->made,
		.complete = pipeline->complete + counts->complete,
		.unfinished = counts->unfinished,
		.lost = counts->lost + pipeline->malformed,
		.filtered = counts->filtered + pipeline->filtered,
		.orphans = counts->orphans,
		.entries_lost = counts->entries_lost,
		.others_lost = counts->others_lost + pipeline->queue.lost + pipeline->kept.lost +
			       gt_enrich_lost(pipeline->enrich),
	};
}

void gt_pipeline_account(struct gt_pipeline *pipeline, const struct gt_counts *counts)
{
	struct gt_event_account account;

	gt_pipeline_count(pipeline, counts, &account);
	deliver_event(pipeline, &account.head);
}

void gt_pipeline_finish(struct gt_pipeline *pipeline, const struct gt_counts *counts)
{
	gt_pipeline_drain(pipeline);
	gt_pipeline_release(pipeline, UINT64_MAX);
	gt_pipeline_account(pipeline, counts);
}
