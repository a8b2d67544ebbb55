/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "export/slices.h"

#include <errno.h>
#include <inttypes.h>

#include "analysis/analysis.h"
#include "event/kinds.h"
#include "export/slices_private.h"
#include "layers/layers.h"

const char *gt_detail_name(enum gt_detail detail)
{
	static const char *const names[GT_DETAILS] = {
#define GT_DETAIL(identifier) [GT_DETAIL_##identifier] = #identifier,
#include "export/details.def"
#undef GT_DETAIL
	};

	return names[detail];
}

/* Remember which operations the outermost call submitted and waited for: its slice follows. */
static int take_host(void *opaque, const struct gt_names *names,
		     const struct gt_host_interval *interval)
{
	struct gt_slices *slices = opaque;
	int error = 0;

	slices->first_flow = interval->first_operation;
	slices->flow_count = interval->operations;
	slices->waited = interval->waited;
	for (uint64_t i = 0; i < interval->operations && !error; i++)
		error = gt_hash_set_u64(slices->flows, interval->first_operation + i, slices);
	return error;
}

struct gt_slices *gt_slices_new(const struct gt_slice_writer *writer, void *context)
{
	gt_auto(slices) struct gt_slices *slices = calloc(1, sizeof(*slices));
	const struct gt_timeline_sink sink = {
		.host = take_host,
		.gpu = slices_put_gpu,
		.memory = slices_put_memory,
		.context = slices,
	};

	if (!slices)
		return NULL;
	slices->output.writer = writer;
	slices->output.context = context;
	slices->timeline = gt_timeline_new(&sink);
	slices->demangler = gt_demangler_new();
	slices->callers = gt_label_cache_new();
	slices->processes = gt_hash_new();
	slices->threads = gt_hash_new();
	slices->gpus = gt_hash_new();
	slices->streams = gt_hash_new();
	slices->rings = gt_hash_new();
	slices->counters = gt_hash_new();
	slices->flows = gt_hash_new();
	if (!slices->timeline || !slices->demangler || !slices->callers || !slices->processes ||
	    !slices->threads || !slices->gpus || !slices->streams || !slices->rings ||
	    !slices->counters || !slices->flows)
		return NULL;
	return gt_take(slices);
}

static void free_lane(void *lane)
{
	track_lane_free(lane);
}

static void free_thread(void *opaque)
{
	struct slices_thread *thread = opaque;

	track_lanes_free(&thread->lanes);
	gt_vec_free(&thread->pending);
	gt_strbuf_free(&thread->details);
	free(thread);
}

void gt_slices_free(struct gt_slices *slices)
{
	if (!slices)
		return;
	slices_free_streams(slices);
	if (slices->threads)
		gt_hash_free_with(slices->threads, free_thread);
	if (slices->gpus)
		gt_hash_free_with(slices->gpus, free_lane);
	if (slices->processes)
		gt_hash_free_with(slices->processes, free_lane);
	gt_hash_free(slices->flows);
	gt_timeline_free(slices->timeline);
	gt_demangler_free(slices->demangler);
	gt_label_cache_free(slices->callers);
	gt_call_row_free(&slices->row);
	gt_strbuf_free(&slices->details);
	gt_strbuf_free(&slices->text);
	free(slices);
}

const struct gt_slices_totals *gt_slices_totals(const struct gt_slices *slices)
{
	return &slices->output.totals;
}

/* ---- tracks ------------------------------------------------------------------------------- */

int slices_process(struct gt_slices *slices, const struct gt_names *names, uint32_t process,
		   struct track_lane **ret_lane)
{
	const struct gt_track track = {
		.kind = process ? GT_TRACK_PROCESS : GT_TRACK_SLICES,
		.process = process,
	};
	struct track_lane *lane = gt_hash_get_u64(slices->processes, process);
	int error;

	if (!lane) {
		error = track_lane_new(&slices->output, &track, process ? "process" : "system",
				       &lane);
		if (error)
			return error;
		error = gt_hash_set_u64(slices->processes, process, lane);
		if (error) {
			track_lane_free(lane);
			return error;
		}
	}
	*ret_lane = lane;
	return 0;
}

/* The track of a thread; thread 0: the events of a process, or of the system, without a thread. */
static int begin_thread(struct gt_slices *slices, const struct gt_names *names, uint32_t process,
			uint32_t thread, struct track_lanes *lanes)
{
	struct track_lane *parent;
	int error = slices_process(slices, names, process, &parent);
	const struct gt_track track = {
		.kind = thread ? GT_TRACK_THREAD : GT_TRACK_SLICES,
		.parent = error ? NULL : &parent->track,
		.process = process,
		.thread = thread,
	};

	if (!error)
		error = track_lane_new(&slices->output, &track, thread ? "thread" : "events",
				       &lanes->lanes[0]);
	lanes->count = !error;
	return error;
}

static int find_thread(struct gt_slices *slices, const struct gt_names *names, uint32_t process,
		       uint32_t id, struct slices_thread **ret_thread)
{
	uint64_t key = (uint64_t)id << 32 | process;
	struct slices_thread *thread = gt_hash_get_u64(slices->threads, key);
	int error;

	if (thread) {
		*ret_thread = thread;
		return 0;
	}
	thread = calloc(1, sizeof(*thread));
	if (!thread)
		return -ENOMEM;
	error = begin_thread(slices, names, process, id, &thread->lanes);
	if (!error)
		error = gt_hash_set_u64(slices->threads, key, thread);
	if (error)
		free_thread(thread);
	else
		*ret_thread = thread;
	return error;
}

/* ---- slices of threads -------------------------------------------------------------------- */

/* What begins first, then what ends last, then what came last: that is around the others. */
static int compare_pending(const void *left, const void *right)
{
	const struct slices_pending *a = left, *b = right;

	if (a->slice.start != b->slice.start)
		return a->slice.start < b->slice.start ? -1 : 1;
	if (a->slice.end != b->slice.end)
		return a->slice.end > b->slice.end ? -1 : 1;
	return a->number > b->number ? -1 : a->number < b->number;
}

static int flush_thread(struct gt_slices *slices, struct slices_thread *thread)
{
	int error = 0;

	if (thread->pending.count > 1)
		qsort(thread->pending.items, thread->pending.count, sizeof(*thread->pending.items),
		      compare_pending);
	gt_vec_each (pending, &thread->pending) {
		pending->slice.details = gt_strbuf_string(&thread->details) + pending->details;
		error = track_lanes_put(&thread->lanes, &slices->output, &pending->slice);
		if (error)
			break;
	}
	thread->pending.count = 0;
	gt_strbuf_clear(&thread->details);
	return error;
}

/* Keep a slice of a thread; slices->details are its details. */
static int add_slice(struct gt_slices *slices, const struct gt_names *names,
		     const struct gt_event *event, const struct gt_slice *slice)
{
	struct slices_pending pending = {.slice = *slice, .number = ++slices->events};
	struct slices_thread *thread;
	int error = find_thread(slices, names, event->process, event->thread, &thread);

	if (error)
		return error;
	pending.details = thread->details.length;
	pending.slice.details_size = slices->details.length;
	gt_strbuf_add(&thread->details, gt_strbuf_string(&slices->details), slices->details.length);
	if (slices->details.failed || thread->details.failed)
		return -ENOMEM;
	error = gt_vec_push(&thread->pending, pending);
	if (!error && thread->pending.count >= GT_SLICES_MAX_PENDING)
		error = flush_thread(slices, thread);
	return error;
}

static void put_caller(struct gt_slices *slices, const struct gt_names *names,
		       const struct gt_event_call *call)
{
	const char *caller;

	if (!call->stack)
		return;
	caller = gt_label_cache_stack(slices->callers, names, call->head.process, call->stack);
	if (caller)
		slices->output.writer->put_text(&slices->details, GT_DETAIL_caller, caller);
	else
		slices->details.failed = true;
}

static void put_call_details(struct gt_slices *slices, const struct gt_names *names,
			     const struct gt_call_row *row)
{
	const struct gt_slice_writer *writer = slices->output.writer;
	struct gt_strbuf *details = &slices->details;

	if (row->call.function) {
		gt_strbuf_clear(&slices->text);
		gt_call_format_arguments(&slices->text, &row->call);
		writer->put_text(details, GT_DETAIL_arguments, gt_strbuf_string(&slices->text));
	}
	if (row->has_result && (!row->call.function || row->event->result))
		writer->put_text(details, GT_DETAIL_result, gt_strbuf_string(&row->result));
	if (!row->has_result)
		writer->put_number(details, GT_DETAIL_unfinished, 1);
	if (row->kernel)
		writer->put_text(details, GT_DETAIL_kernel, row->kernel);
	if (row->has_bytes)
		writer->put_number(details, GT_DETAIL_bytes, row->bytes);
	put_caller(slices, names, row->event);
}

static int put_call(struct gt_slices *slices, const struct gt_names *names,
		    const struct gt_event_call *call)
{
	struct gt_call_row *row = &slices->row;
	struct slices_thread *thread;
	struct gt_slice slice;
	int error;

	gt_call_row_fill(row, names, slices->demangler, call);
	slice = (struct gt_slice){
		.start = row->start,
		.end = call->head.time,
		.name = row->name,
		.category = row->call.function ? row->call.function->library : "call",
		.first_flow = call->depth ? 0 : slices->first_flow,
		.flows = call->depth ? 0 : slices->flow_count,
	};
	if (!call->depth)
		slice.waited = slices->waited;
	gt_strbuf_clear(&slices->details);
	put_call_details(slices, names, row);
	error = add_slice(slices, names, &call->head, &slice);
	if (error || call->depth)
		return error;
	error = find_thread(slices, names, call->head.process, call->head.thread, &thread);
	return error ? error : flush_thread(slices, thread);
}

static int put_layer_event(struct gt_slices *slices, const struct gt_names *names,
			   const struct gt_layer_kind *layer, const struct gt_event *event)
{
	uint64_t duration = 0;
	struct gt_slice slice = {
		.end = event->time,
		.name = gt_layer_event_name(layer, event),
		.category = layer->source,
	};

	if (event->clock != GT_CLOCK_MONOTONIC)
		return 0;
	gt_event_duration(event, &duration);
	slice.start = event->time > duration ? event->time - duration : 0;
	slice.is_instant = !duration;
	gt_strbuf_clear(&slices->text);
	gt_layer_format(&slices->text, layer, names, event);
	gt_strbuf_clear(&slices->details);
	slices->output.writer->put_text(&slices->details, GT_DETAIL_details,
					gt_strbuf_string(&slices->text));
	return add_slice(slices, names, event, &slice);
}

int gt_slices_take(struct gt_slices *slices, const struct gt_names *names,
		   const struct gt_event *event)
{
	const struct gt_layer_kind *layer = gt_export_layer_kind(event);
	int error;

	slices->flow_count = 0;
	slices->waited.count = 0;
	if (event->clock == GT_CLOCK_MONOTONIC && event->time > slices->last_time)
		slices->last_time = event->time;
	/* Calls before the operations that they submit, so that tracks are in a sensible order. */
	error = gt_timeline_take(slices->timeline, names, event);
	if (!error && event->kind == GT_EVENT_call)
		error = put_call(slices, names, (const void *)event);
	if (!error && layer)
		error = slices_put_layer_tracks(slices, names, event);
	/* A sample is values of counters. */
	if (!error && layer && event->kind != GT_EVENT_gpu_sample)
		error = put_layer_event(slices, names, layer, event);
	return error;
}

/* ---- the end ------------------------------------------------------------------------------ */

/* An instant with the totals and losses of the capture. */
static int put_losses(struct gt_slices *slices, const struct gt_names *names)
{
	const struct gt_event_account *account = gt_names_account(names);
	const struct gt_slice_writer *writer = slices->output.writer;
	struct gt_strbuf *details = &slices->details;
	const struct gt_event nowhere = {0};
	const struct gt_slice slice = {
		.start = slices->last_time,
		.end = slices->last_time,
		.is_instant = true,
		.name = account ? "end of the capture" : "the capture is truncated",
		.category = "gputap",
	};

	gt_strbuf_clear(details);
	writer->put_number(details, GT_DETAIL_incomplete, gt_names_is_incomplete(names));
	if (account) {
		writer->put_number(details, GT_DETAIL_made, account->made);
		writer->put_number(details, GT_DETAIL_complete, account->complete);
		writer->put_number(details, GT_DETAIL_unfinished, account->unfinished);
		writer->put_number(details, GT_DETAIL_lost, account->lost);
		writer->put_number(details, GT_DETAIL_others_lost, account->others_lost);
	}
	gt_strbuf_clear(&slices->text);
	gt_put_gaps(&slices->text, names);
	if (slices->text.length)
		writer->put_text(details, GT_DETAIL_details, gt_strbuf_string(&slices->text));
	return add_slice(slices, names, &nowhere, &slice);
}

/* Viewers show the ids of tracks, which have the machine in them, so the process has its own. */
static void put_rank(struct gt_strbuf *text, const struct gt_names *names, uint32_t process)
{
	gt_put_rank(text, names, process);
	if (gt_id_machine(process))
		gt_strbuf_printf(text, " (pid %" PRIu32 ")", gt_id_number(process));
}

static int name_track(struct gt_slices *slices, const struct gt_names *names,
		      struct track_lane *lane)
{
	const char *process = gt_names_process(names, lane->track.process);

	gt_strbuf_clear(&slices->text);
	gt_strbuf_puts(&slices->text, process);
	if (lane->track.kind == GT_TRACK_THREAD)
		gt_strbuf_printf(&slices->text, " %" PRIu32, gt_id_number(lane->track.thread));
	else
		put_rank(&slices->text, names, lane->track.process);
	free(lane->name);
	lane->name = gt_strbuf_steal(&slices->text);
	lane->track.name = lane->name;
	return lane->name ? slices->output.writer->name_track(slices->output.context, &lane->track)
			  : -ENOMEM;
}

/* Processes may change their names: they have the last one. */
static int name_tracks(struct gt_slices *slices, const struct gt_names *names)
{
	size_t cursor = 0;
	void *value;
	int error = 0;

	while (!error && gt_hash_next(slices->processes, &cursor, NULL, NULL, &value))
		if (((struct track_lane *)value)->track.process)
			error = name_track(slices, names, value);
	cursor = 0;
	while (!error && gt_hash_next(slices->threads, &cursor, NULL, NULL, &value)) {
		struct track_lane *lane = ((struct slices_thread *)value)->lanes.lanes[0];

		if (lane->track.thread)
			error = name_track(slices, names, lane);
	}
	return error;
}

int gt_slices_finish(struct gt_slices *slices, const struct gt_names *names)
{
	size_t cursor = 0;
	void *thread;
	int error;

	if (slices->is_finished)
		return 0;
	slices->is_finished = true;
	error = gt_timeline_finish(slices->timeline, names);
	if (!error)
		error = put_losses(slices, names);
	while (!error && gt_hash_next(slices->threads, &cursor, NULL, NULL, &thread)) {
		error = flush_thread(slices, thread);
		if (!error)
			error = track_lanes_finish(&((struct slices_thread *)thread)->lanes,
						   &slices->output);
	}
	if (!error)
		error = slices_finish_streams(slices);
	return error ? error : name_tracks(slices, names);
}
