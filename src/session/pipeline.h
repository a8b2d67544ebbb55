/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The path of every event of a live session: queue or ring → enrich → names → keep → sink. Events
 * from user space (sources, the session itself) are queued, and put into the stream by a drain.
 */
#pragma once

#include <stdbool.h>

#include "event/queue.h"
#include "names/names.h"
#include "probe/source.h"
#include "session/session.h"

struct gt_pipeline;
struct gt_pythons;
struct gt_unwind_maps;
struct gt_when;

/* NULL: out of memory. `options` must outlive the pipeline. */
struct gt_pipeline *gt_pipeline_new(const struct gt_trace_options *options);
void gt_pipeline_free(struct gt_pipeline *pipeline);
GT_DEFINE_AUTO(pipeline, struct gt_pipeline, gt_pipeline_free)

/* The queue of events from user space. */
struct gt_event_queue *gt_pipeline_queue(struct gt_pipeline *pipeline);
/* The processes that were named by an event: process id -> any. */
const struct gt_hash *gt_pipeline_processes(const struct gt_pipeline *pipeline);
const struct gt_names *gt_pipeline_names(const struct gt_pipeline *pipeline);

/* Enter the processes that map a Python interpreter; `pythons` must outlive the last event. */
void gt_pipeline_find_pythons(struct gt_pipeline *pipeline, struct gt_pythons *pythons);

/* Add the unwinding rules of mapped files to these maps, which must outlive the last event. */
void gt_pipeline_fill_unwind_maps(struct gt_pipeline *pipeline, struct gt_unwind_maps *maps);

/* Drop and count the calls for which a condition does not hold; it must outlive the pipeline. */
void gt_pipeline_filter(struct gt_pipeline *pipeline, const struct gt_when *when);
/* Set the sink; before that nothing may be drained or put. */
void gt_pipeline_start(struct gt_pipeline *pipeline, gt_event_sink sink, void *context);
/* Put the queued events into the stream. */
void gt_pipeline_drain(struct gt_pipeline *pipeline);
/* Put a record of the ring, of `size` bytes, into the stream. */
void gt_pipeline_put(struct gt_pipeline *pipeline, const struct gt_event *event, size_t size);
/*
 * Pass events of the ring and of layer sources on in the order of their times from now on: they
 * wait until gt_pipeline_release. 0 or -ENOMEM.
 */
int gt_pipeline_sort(struct gt_pipeline *pipeline);
/* How much later than its time an event may be written to the ring and be sorted. */
#define GT_REORDER_NS 20000000ull
/*
 * All events that were written up to a time have been put: pass those on that are older than that
 * by GT_REORDER_NS. UINT64_MAX: all; 0: up to the latest one, since more wait.
 */
void gt_pipeline_release(struct gt_pipeline *pipeline, uint64_t until);
/* Put the account of the session so far: the counts of the sources and those of the pipeline. */
void gt_pipeline_account(struct gt_pipeline *pipeline, const struct gt_counts *counts);
/* Put what is kept for the order of time, then the account. */
void gt_pipeline_finish(struct gt_pipeline *pipeline, const struct gt_counts *counts);

/* The account of the counts of the sources and those of the pipeline so far. */
void gt_pipeline_count(const struct gt_pipeline *pipeline, const struct gt_counts *counts,
		       struct gt_event_account *ret_account);

/* Whether the sink failed, or as many calls as were asked for have passed (--max-events). */
bool gt_pipeline_is_done(const struct gt_pipeline *pipeline);
/* Deliver nothing more but the account, because of an error outside of the pipeline. */
void gt_pipeline_fail(struct gt_pipeline *pipeline, int error);
/* The first error, or 0. */
int gt_pipeline_result(const struct gt_pipeline *pipeline);
