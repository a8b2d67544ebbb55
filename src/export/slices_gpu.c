/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Tracks of streams and of rings of GPUs, and counters. */
#include <errno.h>
#include <inttypes.h>

#include "event/kinds.h"
#include "export/slices_private.h"

/* ---- counters ----------------------------------------------------------------------------- */

struct counter_key {
	uint32_t process;
	int32_t device;
	char name[56];
};

/* A counter of a device of a process; process 0: of the system. */
static int find_counter(struct gt_slices *slices, const struct gt_names *names, uint32_t process,
			int device, const char *what, enum gt_counter_unit unit,
			struct slices_counter **ret_counter)
{
	struct counter_key key = {.process = process, .device = device};
	struct slices_counter *counter;
	struct track_lane *parent;
	int error;

	if (device == GT_DEVICE_UNKNOWN)
		snprintf(key.name, sizeof(key.name), "%s", what);
	else
		snprintf(key.name, sizeof(key.name), "%s of GPU %d", what, device);
	*ret_counter = gt_hash_get(slices->counters, &key, sizeof(key));
	if (*ret_counter)
		return 0;
	error = slices_process(slices, names, process, &parent);
	counter = error ? NULL : calloc(1, sizeof(*counter));
	if (!counter)
		return error ? error : -ENOMEM;
	error = track_lane_new(&slices->output,
			       &(struct gt_track){.kind = GT_TRACK_COUNTER,
						  .parent = &parent->track,
						  .process = process,
						  .unit = unit},
			       key.name, &counter->lane);
	if (!error)
		error = gt_hash_set(slices->counters, &key, sizeof(key), counter);
	if (error) {
		track_lane_free(counter->lane);
		free(counter);
		return error;
	}
	*ret_counter = counter;
	return 0;
}

/* Times of a counter never decrease: what comes late counts from then on. */
static int put_counter(struct gt_slices *slices, struct slices_counter *counter, uint64_t time,
		       uint64_t value)
{
	counter->time = time > counter->time ? time : counter->time;
	counter->value = value;
	return slices->output.writer->put_counter(slices->output.context, &counter->lane->track,
						  counter->time, value);
}

int slices_put_memory(void *opaque, const struct gt_names *names,
		      const struct gt_memory_change *change)
{
	struct gt_slices *slices = opaque;
	struct slices_counter *counter;
	bool is_host;
	int64_t bytes = gt_memory_change_bytes(change, &is_host);
	int error;

	if (!bytes)
		return 0;
	error = find_counter(slices, names, change->allocation->process,
			     is_host ? GT_DEVICE_UNKNOWN : change->allocation->device,
			     is_host ? "pinned memory" : "memory allocated", GT_UNIT_BYTES,
			     &counter);
	if (error)
		return error;
	return put_counter(slices, counter, change->time,
			   bytes > 0 || counter->value > (uint64_t)-bytes
				   ? counter->value + (uint64_t)bytes
				   : 0);
}

/* ---- streams ------------------------------------------------------------------------------ */

struct slices_stream_key {
	uint64_t context, stream;
	uint32_t process;
	int32_t device;
};

static int find_gpu(struct gt_slices *slices, const struct gt_names *names,
		    const struct gt_gpu_interval *interval, struct track_lane **ret_lane)
{
	uint64_t key = (uint64_t)interval->process << 16 | (uint16_t)interval->device;
	gt_auto_strbuf name = GT_STRBUF_INIT;
	struct track_lane *parent;
	int error;

	*ret_lane = gt_hash_get_u64(slices->gpus, key);
	if (*ret_lane)
		return 0;
	if (interval->device == GT_DEVICE_UNKNOWN)
		gt_strbuf_puts(&name, "GPU");
	else
		gt_strbuf_printf(&name, "GPU %d", interval->device);
	error = slices_process(slices, names, interval->process, &parent);
	if (!error)
		error = track_lane_new(&slices->output,
				       &(struct gt_track){.kind = GT_TRACK_GROUP,
							  .parent = &parent->track,
							  .process = interval->process},
				       gt_strbuf_string(&name), ret_lane);
	if (error)
		return error;
	error = gt_hash_set_u64(slices->gpus, key, *ret_lane);
	if (error)
		track_lane_free(*ret_lane);
	return error;
}

static void free_stream(void *opaque)
{
	struct slices_stream *stream = opaque;

	track_lanes_free(&stream->lanes);
	track_lane_free(stream->depth);
	track_lane_free(stream->bandwidth);
	gt_vec_free(&stream->ends);
	free(stream);
}

/* Begin a track with slices below another one, NULL: none. */
static int new_stream(struct gt_slices *slices, struct gt_hash *table, const void *key, size_t size,
		      const struct gt_track *parent, const char *name,
		      struct slices_stream **ret_stream)
{
	struct slices_stream *stream = calloc(1, sizeof(*stream));
	const struct gt_track track = {
		.kind = GT_TRACK_SLICES,
		.parent = parent,
		.process = parent ? parent->process : 0,
	};
	int error;

	if (!stream)
		return -ENOMEM;
	error = track_lane_new(&slices->output, &track, name, &stream->lanes.lanes[0]);
	stream->lanes.count = !error;
	if (!error)
		error = gt_hash_set(table, key, size, stream);
	if (error)
		free_stream(stream);
	else
		*ret_stream = stream;
	return error;
}

static int find_stream(struct gt_slices *slices, const struct gt_names *names,
		       const struct gt_gpu_interval *interval, struct slices_stream **ret_stream)
{
	const struct slices_stream_key key = {
		.context = interval->context,
		.stream = interval->stream,
		.process = interval->process,
		.device = interval->device,
	};
	gt_auto_strbuf name = GT_STRBUF_INIT;
	struct track_lane *gpu;
	int error;

	*ret_stream = gt_hash_get(slices->streams, &key, sizeof(key));
	if (*ret_stream)
		return 0;
	error = find_gpu(slices, names, interval, &gpu);
	if (error)
		return error;
	gt_strbuf_puts(&name, "stream ");
	gt_put_stream(&name, interval->stream);
	return new_stream(slices, slices->streams, &key, sizeof(key), &gpu->track,
			  gt_strbuf_string(&name), ret_stream);
}

static int put_stream_counter(struct gt_slices *slices, struct slices_stream *stream,
			      struct track_lane **lane, const char *what, enum gt_counter_unit unit,
			      uint64_t time, uint64_t value)
{
	const struct gt_track *track = &stream->lanes.lanes[0]->track;
	gt_auto_strbuf name = GT_STRBUF_INIT;
	int error = 0;

	if (!*lane) {
		gt_strbuf_printf(&name, "%s of %s", what, track->name);
		error = track_lane_new(&slices->output,
				       &(struct gt_track){.kind = GT_TRACK_COUNTER,
							  .parent = track->parent,
							  .process = track->process,
							  .unit = unit},
				       gt_strbuf_string(&name), lane);
	}
	if (error)
		return error;
	time = time > (*lane)->last_start ? time : (*lane)->last_start;
	(*lane)->last_start = time;
	return slices->output.writer->put_counter(slices->output.context, &(*lane)->track, time,
						  value);
}

static int put_depth(struct gt_slices *slices, struct slices_stream *stream, uint64_t time)
{
	return put_stream_counter(slices, stream, &stream->depth, "queue depth", GT_UNIT_COUNT,
				  time, stream->ends.count - stream->first_end);
}

/* Operations that ended by a time are no longer in the queue. */
static int end_operations(struct gt_slices *slices, struct slices_stream *stream, uint64_t until)
{
	int error = 0;

	while (!error && stream->first_end < stream->ends.count &&
	       stream->ends.items[stream->first_end] <= until) {
		uint64_t end = stream->ends.items[stream->first_end++];

		error = put_depth(slices, stream, end);
	}
	if (stream->first_end * 2 > stream->ends.count) {
		stream->ends.count -= stream->first_end;
		if (stream->ends.count)
			memmove(stream->ends.items, stream->ends.items + stream->first_end,
				stream->ends.count * sizeof(*stream->ends.items));
		stream->first_end = 0;
	}
	return error;
}

static int put_operation_counters(struct gt_slices *slices, struct slices_stream *stream,
				  const struct gt_gpu_interval *interval)
{
	uint64_t duration = interval->end - interval->start, rate;
	int error = end_operations(slices, stream, interval->submitted);

	if (!error)
		error = gt_vec_push(&stream->ends, interval->end);
	if (!error)
		error = put_depth(slices, stream, interval->submitted);
	if (error || !interval->has_bytes || !duration || interval->shares > 1 ||
	    interval->operation == GT_GPU_SET)
		return error;
	rate = (uint64_t)((double)interval->bytes * 1e9 / (double)duration);
	error = put_stream_counter(slices, stream, &stream->bandwidth, "copied bytes/s",
				   GT_UNIT_BYTES, interval->start, rate);
	return error ? error
		     : put_stream_counter(slices, stream, &stream->bandwidth, "copied bytes/s",
					  GT_UNIT_BYTES, interval->end, 0);
}

static void put_operation_details(struct gt_slices *slices, const struct gt_gpu_interval *interval)
{
	const struct gt_slice_writer *writer = slices->output.writer;
	struct gt_strbuf *details = &slices->details;

	gt_strbuf_clear(details);
	writer->put_text(details, GT_DETAIL_operation, gt_gpu_operation_name(interval->operation));
	writer->put_text(details, GT_DETAIL_basis, gt_times_basis_name(interval->basis));
	if (interval->has_bytes)
		writer->put_number(details, GT_DETAIL_bytes, interval->bytes);
	if (interval->error)
		writer->put_number(details, GT_DETAIL_error, interval->error);
	if (interval->shares > 1)
		writer->put_number(details, GT_DETAIL_shares, interval->shares);
	writer->put_number(details, GT_DETAIL_submitted, interval->submitted);
	if (interval->start >= interval->submitted)
		writer->put_number(details, GT_DETAIL_queued,
				   interval->start - interval->submitted);
	if (interval->wait.number) {
		writer->put_number(details, GT_DETAIL_waited_tid,
				   gt_id_number(interval->wait.thread));
		writer->put_number(details, GT_DETAIL_waited_until, interval->wait.end);
	}
}

int slices_put_gpu(void *opaque, const struct gt_names *names,
		   const struct gt_gpu_interval *interval)
{
	struct gt_slices *slices = opaque;
	struct slices_stream *stream;
	struct gt_slice slice = {
		.start = interval->start,
		.end = interval->end,
		.name = interval->kernel ? gt_demangler_full(slices->demangler, interval->kernel)
					 : gt_gpu_operation_name(interval->operation),
		.category = "gpu",
	};
	int error = find_stream(slices, names, interval, &stream);

	if (error)
		return error;
	if (gt_hash_remove_u64(slices->flows, interval->number))
		slice.ended_flow = interval->number;
	if (interval->ends_wait)
		slice.wait_flow = interval->number;
	put_operation_details(slices, interval);
	slice.details = gt_strbuf_string(&slices->details);
	slice.details_size = slices->details.length;
	error = track_lanes_put(&stream->lanes, &slices->output, &slice);
	return error ? error : put_operation_counters(slices, stream, interval);
}

/* ---- layers ------------------------------------------------------------------------------- */

/* A job that ran on a ring for so long. `names` has the names of ring and device. */
static int put_job(struct gt_slices *slices, const struct gt_event *event, const char *names,
		   uint64_t ran)
{
	gt_auto_strbuf name = GT_STRBUF_INIT;
	struct slices_stream *ring;
	struct gt_slice slice = {
		.start = event->time > ran ? event->time - ran : 0,
		.end = event->time,
		.name = "job",
		.category = "ring",
		.details = "",
	};
	int error = 0;

	gt_strbuf_puts(&name, "ring ");
	gt_strbuf_add(&name, names, strnlen(names, GT_DRM_NAME_SIZE));
	gt_strbuf_puts(&name, " of ");
	gt_strbuf_add(&name, names + GT_DRM_NAME_SIZE,
		      strnlen(names + GT_DRM_NAME_SIZE, GT_DRM_NAME_SIZE));
	ring = gt_hash_get_str(slices->rings, gt_strbuf_string(&name));
	if (!ring)
		error = new_stream(slices, slices->rings, gt_strbuf_string(&name), name.length,
				   NULL, gt_strbuf_string(&name), &ring);
	return error ? error : track_lanes_put(&ring->lanes, &slices->output, &slice);
}

static int put_sample(struct gt_slices *slices, const struct gt_names *names,
		      const struct gt_event_gpu_sample *sample)
{
	const struct {
		const char *name;
		enum gt_counter_unit unit;
		uint64_t value;
		bool is_known;
	} values[] = {
		{"memory used", GT_UNIT_BYTES, sample->memory_used, ~sample->memory_used},
		{"utilization (%)", GT_UNIT_NONE, sample->utilization, ~sample->utilization},
		{"SM clock (MHz)", GT_UNIT_NONE, sample->sm_clock, ~sample->sm_clock},
		{"power (mW)", GT_UNIT_NONE, sample->power, ~sample->power},
		{"PCIe bytes/s sent", GT_UNIT_BYTES, sample->pcie_sent, ~sample->pcie_sent},
		{"PCIe bytes/s received", GT_UNIT_BYTES, sample->pcie_received,
		 ~sample->pcie_received},
	};
	int error = 0;

	for (size_t i = 0; i < gt_countof(values) && !error; i++) {
		struct slices_counter *counter;

		if (!values[i].is_known)
			continue;
		error = find_counter(slices, names, 0, (int)sample->gpu, values[i].name,
				     values[i].unit, &counter);
		if (!error)
			error = put_counter(slices, counter, sample->head.time, values[i].value);
	}
	return error;
}

static int put_drm_job(struct gt_slices *slices, const struct gt_names *names,
		       const struct gt_event_drm_job *job)
{
	gt_auto_strbuf name = GT_STRBUF_INIT;
	struct slices_counter *counter;
	const char *ring = (const char *)job->names;
	int error;

	if (gt_event_tail_size(&job->head) < 2 * GT_DRM_NAME_SIZE)
		return 0;
	if (job->operation == GT_DRM_DONE && job->ran)
		return put_job(slices, &job->head, ring, job->ran);
	if (job->operation != GT_DRM_QUEUE)
		return 0;
	gt_strbuf_printf(&name, "queue depth of ring %.*s", GT_DRM_NAME_SIZE, ring);
	error = find_counter(slices, names, 0, GT_DEVICE_UNKNOWN, gt_strbuf_string(&name),
			     GT_UNIT_COUNT, &counter);
	return error ? error : put_counter(slices, counter, job->head.time, job->depth);
}

int slices_put_layer_tracks(struct gt_slices *slices, const struct gt_names *names,
			    const struct gt_event *event)
{
	/* The requests of all drivers have the same layout. */
	const struct gt_event_i915_request *request = (const void *)event;

	switch (event->kind) {
	case GT_EVENT_gpu_sample:
		return put_sample(slices, names, (const void *)event);
	case GT_EVENT_drm_job:
		return put_drm_job(slices, names, (const void *)event);
	case GT_EVENT_i915_request:
	case GT_EVENT_xe_request:
	case GT_EVENT_amdgpu_request:
		if (request->operation != GT_DRIVER_DONE || !request->ran ||
		    gt_event_tail_size(event) < 2 * GT_DEVICE_NAME_SIZE)
			return 0;
		return put_job(slices, event, (const char *)request->names, request->ran);
	default:
		return 0;
	}
}

/* ---- the end ------------------------------------------------------------------------------ */

int slices_finish_streams(struct gt_slices *slices)
{
	struct gt_hash *const tables[] = {slices->streams, slices->rings};
	int error = 0;

	for (size_t i = 0; i < gt_countof(tables); i++) {
		size_t cursor = 0;
		void *stream;

		while (!error && gt_hash_next(tables[i], &cursor, NULL, NULL, &stream)) {
			error = end_operations(slices, stream, UINT64_MAX);
			if (!error)
				error = track_lanes_finish(&((struct slices_stream *)stream)->lanes,
							   &slices->output);
		}
	}
	return error;
}

static void free_counter(void *opaque)
{
	struct slices_counter *counter = opaque;

	track_lane_free(counter->lane);
	free(counter);
}

void slices_free_streams(struct gt_slices *slices)
{
	if (slices->counters)
		gt_hash_free_with(slices->counters, free_counter);
	if (slices->streams)
		gt_hash_free_with(slices->streams, free_stream);
	if (slices->rings)
		gt_hash_free_with(slices->rings, free_stream);
}
