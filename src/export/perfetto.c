/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The format "perfetto": a trace of Perfetto's TrackEvents
 * (https://perfetto.dev/docs/reference/synthetic-track-event). Each track is a packet sequence of
 * its own, with its own interned names, so that the times of a sequence do not decrease.
 */
#include <errno.h>

#include "base/hash.h"
#include "base/protobuf.h"
#include "export/export.h"
#include "export/slices.h"
#include "output/sink.h"

/* Numbers of fields: protos/perfetto/trace/ in Perfetto's sources. */
enum {
	TRACE_PACKET = 1,

	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10, /* trusted_packet_sequence_id */
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED_DATA = 12,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_TIMESTAMP_CLOCK = 58,
	PACKET_DEFAULTS = 59,
	PACKET_TRACK_DESCRIPTOR = 60,

	DEFAULTS_TRACK_EVENT = 11,
	DEFAULTS_TIMESTAMP_CLOCK = 58,
	EVENT_DEFAULTS_TRACK = 11,

	SNAPSHOT_CLOCKS = 1,
	SNAPSHOT_PRIMARY = 2,
	CLOCK_ID = 1,
	CLOCK_TIMESTAMP = 2,

	INTERNED_CATEGORIES = 1,
	INTERNED_NAMES = 2,
	INTERNED_ANNOTATIONS = 3,
	INTERNED_IID = 1,
	INTERNED_NAME = 2,

	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_THREAD = 4,
	TRACK_PARENT = 5,
	TRACK_COUNTER = 8,
	PROCESS_PID = 1,
	PROCESS_NAME = 6,
	THREAD_PID = 1,
	THREAD_TID = 2,
	THREAD_NAME = 5,
	COUNTER_UNIT = 3,

	EVENT_CATEGORY = 3, /* interned */
	EVENT_ANNOTATION = 4,
	EVENT_TYPE = 9,
	EVENT_NAME = 10, /* interned */
	EVENT_COUNTER = 30,
	EVENT_FLOWS = 47,
	EVENT_ENDED_FLOWS = 48,

	ANNOTATION_NAME = 1, /* interned */
	ANNOTATION_NUMBER = 3,
	ANNOTATION_TEXT = 6,
	ANNOTATION_ADDRESS = 7,
};

enum {
	FLAG_STATE_CLEARED = 1,
	FLAG_NEEDS_STATE = 2,

	TYPE_BEGIN = 1,
	TYPE_END = 2,
	TYPE_INSTANT = 3,
	TYPE_COUNTER = 4,

	CLOCK_REALTIME_ID = 1,
	CLOCK_MONOTONIC_ID = 3,
};

/* Flows and tracks have numbers of their own: ids are unique in the trace. */
#define SYSTEM_SEQUENCE 1
#define WAIT_FLOW (UINT64_C(1) << 63) /* with the number of the operation */

struct perfetto_export {
	struct gt_sink sink;
	struct gt_slices *slices;
	struct gt_hash *names; /* name or category -> its number, as a pointer */
	bool has_clock;
};

/* Of a track: its packet sequence. */
struct perfetto_sequence {
	bool begun;
	size_t capacity;
	uint8_t interned[]; /* by number of a name: 1 if the sequence has it */
};

static void put_number(struct gt_strbuf *to, enum gt_detail detail, uint64_t value)
{
	size_t begin = gt_pb_begin(to, EVENT_ANNOTATION);

	gt_pb_uint(to, ANNOTATION_NAME, (uint64_t)detail + 1);
	gt_pb_uint(to, ANNOTATION_NUMBER, value);
	gt_pb_end(to, begin);
}

static void put_address(struct gt_strbuf *to, enum gt_detail detail, uint64_t value)
{
	size_t begin = gt_pb_begin(to, EVENT_ANNOTATION);

	gt_pb_uint(to, ANNOTATION_NAME, (uint64_t)detail + 1);
	gt_pb_uint(to, ANNOTATION_ADDRESS, value);
	gt_pb_end(to, begin);
}

static void put_text(struct gt_strbuf *to, enum gt_detail detail, const char *text)
{
	size_t begin = gt_pb_begin(to, EVENT_ANNOTATION);

	gt_pb_uint(to, ANNOTATION_NAME, (uint64_t)detail + 1);
	gt_pb_string(to, ANNOTATION_TEXT, text);
	gt_pb_end(to, begin);
}

/* ---- packets ------------------------------------------------------------------------------ */

static size_t begin_packet(struct perfetto_export *state, uint64_t sequence)
{
	size_t begin = gt_pb_begin(&state->sink.text, TRACE_PACKET);

	gt_pb_uint(&state->sink.text, PACKET_SEQUENCE, sequence);
	return begin;
}

static int end_packet(struct perfetto_export *state, size_t begin)
{
	gt_pb_end(&state->sink.text, begin);
	return gt_sink_wrote(&state->sink);
}

static uint64_t sequence_of(const struct gt_track *track)
{
	return SYSTEM_SEQUENCE + track->number;
}

static void put_interned(struct gt_strbuf *text, unsigned field, uint64_t iid, const char *name)
{
	size_t begin = gt_pb_begin(text, field);

	gt_pb_uint(text, INTERNED_IID, iid);
	gt_pb_string(text, INTERNED_NAME, name);
	gt_pb_end(text, begin);
}

/* A name can be that of an event and of a category. */
static void put_name(struct gt_strbuf *text, uint64_t iid, const char *name)
{
	put_interned(text, INTERNED_NAMES, iid, name);
	put_interned(text, INTERNED_CATEGORIES, iid, name);
}

/* The names of all details, which are few. */
static void put_annotations(struct gt_strbuf *text)
{
	for (unsigned i = 0; i < GT_DETAILS; i++)
		put_interned(text, INTERNED_ANNOTATIONS, i + 1, gt_detail_name(i));
}

static void put_defaults(struct gt_strbuf *text, const struct gt_track *track)
{
	size_t defaults = gt_pb_begin(text, PACKET_DEFAULTS), event;

	gt_pb_uint(text, DEFAULTS_TIMESTAMP_CLOCK, CLOCK_MONOTONIC_ID);
	event = gt_pb_begin(text, DEFAULTS_TRACK_EVENT);
	gt_pb_uint(text, EVENT_DEFAULTS_TRACK, track->number);
	gt_pb_end(text, event);
	gt_pb_end(text, defaults);
}

/* `with_name`: also if it is that of a process or a thread. */
static void put_descriptor(struct gt_strbuf *text, const struct gt_track *track, bool with_name)
{
	size_t begin = gt_pb_begin(text, PACKET_TRACK_DESCRIPTOR), part;

	gt_pb_uint(text, TRACK_UUID, track->number);
	if (track->parent && track->kind != GT_TRACK_THREAD)
		gt_pb_uint(text, TRACK_PARENT, track->parent->number);
	switch (track->kind) {
	case GT_TRACK_PROCESS:
		part = gt_pb_begin(text, TRACK_PROCESS);
		gt_pb_uint(text, PROCESS_PID, track->process);
		if (with_name)
			gt_pb_string(text, PROCESS_NAME, track->name);
		gt_pb_end(text, part);
		break;
	case GT_TRACK_THREAD:
		part = gt_pb_begin(text, TRACK_THREAD);
		gt_pb_uint(text, THREAD_PID, track->process);
		gt_pb_uint(text, THREAD_TID, track->thread);
		if (with_name)
			gt_pb_string(text, THREAD_NAME, track->name);
		gt_pb_end(text, part);
		break;
	case GT_TRACK_COUNTER:
		gt_pb_string(text, TRACK_NAME, track->name);
		part = gt_pb_begin(text, TRACK_COUNTER);
		if (track->unit)
			gt_pb_uint(text, COUNTER_UNIT, track->unit == GT_UNIT_BYTES ? 3 : 2);
		gt_pb_end(text, part);
		break;
	default:
		gt_pb_string(text, TRACK_NAME, track->name);
	}
	gt_pb_end(text, begin);
}

/* The descriptor of a track begins its sequence. */
static int begin_track(void *context, struct gt_track *track)
{
	struct perfetto_export *state = context;
	struct gt_strbuf *text = &state->sink.text;
	size_t packet = begin_packet(state, sequence_of(track)), interned;

	gt_pb_uint(text, PACKET_SEQUENCE_FLAGS, FLAG_STATE_CLEARED);
	put_defaults(text, track);
	put_descriptor(text, track, false);
	interned = gt_pb_begin(text, PACKET_INTERNED_DATA);
	put_annotations(text);
	gt_pb_end(text, interned);
	return end_packet(state, packet);
}

/* Readers take the first name: it is written once. */
static int name_track(void *context, const struct gt_track *track)
{
	struct perfetto_export *state = context;
	size_t packet = begin_packet(state, sequence_of(track));

	put_descriptor(&state->sink.text, track, true);
	return end_packet(state, packet);
}

/* ---- names -------------------------------------------------------------------------------- */

/* The number of a name, from 1. 0: out of memory. */
static size_t number_of(struct perfetto_export *state, const char *name)
{
	size_t number = (size_t)(uintptr_t)gt_hash_get_str(state->names, name);

	if (number)
		return number;
	number = gt_hash_count(state->names) + 1;
	return gt_hash_set_str(state->names, name, (void *)(uintptr_t)number) ? 0
									      : number; // NOLINT
}

/* Whether the sequence of a track lacks a name, which it has from now on. -ENOMEM: no memory. */
static int lacks_name(struct gt_track *track, size_t number)
{
	struct perfetto_sequence *sequence = track->written;
	size_t capacity = sequence ? sequence->capacity : 0;

	if (number >= capacity) {
		size_t wanted = (number + 1) * 2;
		struct perfetto_sequence *grown = realloc(sequence, sizeof(*sequence) + wanted);

		if (!grown)
			return -ENOMEM;
		memset(grown->interned + capacity, 0, wanted - capacity);
		grown->capacity = wanted;
		track->written = sequence = grown;
	}
	if (sequence->interned[number])
		return 0;
	sequence->interned[number] = 1;
	return 1;
}

/* ---- events ------------------------------------------------------------------------------- */

static void put_event_head(struct perfetto_export *state, uint64_t time)
{
	gt_pb_uint(&state->sink.text, PACKET_TIMESTAMP, time);
	gt_pb_uint(&state->sink.text, PACKET_SEQUENCE_FLAGS, FLAG_NEEDS_STATE);
}

static void put_event(struct gt_strbuf *text, const struct gt_slice *slice, size_t name,
		      size_t category)
{
	size_t event = gt_pb_begin(text, PACKET_TRACK_EVENT);

	gt_pb_uint(text, EVENT_TYPE, slice->is_instant ? TYPE_INSTANT : TYPE_BEGIN);
	gt_pb_uint(text, EVENT_NAME, name);
	gt_pb_uint(text, EVENT_CATEGORY, category);
	for (uint64_t i = 0; i < slice->flows; i++)
		gt_pb_fixed64(text, EVENT_FLOWS, slice->first_flow + i);
	if (slice->ended_flow)
		gt_pb_fixed64(text, EVENT_ENDED_FLOWS, slice->ended_flow);
	if (slice->wait_flow)
		gt_pb_fixed64(text, EVENT_FLOWS, WAIT_FLOW | slice->wait_flow);
	gt_strbuf_add(text, slice->details, slice->details_size);
	gt_pb_end(text, event);
}

static int begin_slice(void *context, const struct gt_slice *slice)
{
	struct perfetto_export *state = context;
	struct gt_strbuf *text = &state->sink.text;
	size_t name = number_of(state, slice->name), category = number_of(state, slice->category);
	int lacks = name && category ? lacks_name(slice->track, name) : -ENOMEM;
	int lacks_category = lacks < 0 ? lacks : lacks_name(slice->track, category);
	size_t packet, interned;

	if (lacks_category < 0)
		return lacks_category;
	packet = begin_packet(state, sequence_of(slice->track));
	put_event_head(state, slice->start);
	if (lacks || lacks_category) {
		interned = gt_pb_begin(text, PACKET_INTERNED_DATA);
		if (lacks)
			put_name(text, name, slice->name);
		if (lacks_category)
			put_name(text, category, slice->category);
		gt_pb_end(text, interned);
	}
	put_event(text, slice, name, category);
	return end_packet(state, packet);
}

/* Flows are ordered by time: one that leads to a wait, which began before it, ends at its end. */
static int end_slice(void *context, struct gt_track *track, const struct gt_slice_end *end)
{
	struct perfetto_export *state = context;
	size_t packet = begin_packet(state, sequence_of(track)), event;

	put_event_head(state, end->time);
	event = gt_pb_begin(&state->sink.text, PACKET_TRACK_EVENT);
	gt_pb_uint(&state->sink.text, EVENT_TYPE, TYPE_END);
	for (unsigned i = 0; i < end->waited.count; i++)
		gt_pb_fixed64(&state->sink.text, EVENT_ENDED_FLOWS,
			      WAIT_FLOW | end->waited.operations[i]);
	gt_pb_end(&state->sink.text, event);
	return end_packet(state, packet);
}

static int put_counter(void *context, struct gt_track *track, uint64_t time, uint64_t value)
{
	struct perfetto_export *state = context;
	size_t packet = begin_packet(state, sequence_of(track)), event;

	put_event_head(state, time);
	event = gt_pb_begin(&state->sink.text, PACKET_TRACK_EVENT);
	gt_pb_uint(&state->sink.text, EVENT_TYPE, TYPE_COUNTER);
	gt_pb_uint(&state->sink.text, EVENT_COUNTER, value);
	gt_pb_end(&state->sink.text, event);
	return end_packet(state, packet);
}

static const struct gt_slice_writer writer = {
	.put_number = put_number,
	.put_address = put_address,
	.put_text = put_text,
	.begin_track = begin_track,
	.name_track = name_track,
	.begin_slice = begin_slice,
	.end_slice = end_slice,
	.put_counter = put_counter,
};

/* ---- the trace ---------------------------------------------------------------------------- */

static void put_clock(struct gt_strbuf *text, uint64_t id, uint64_t time)
{
	size_t clock = gt_pb_begin(text, SNAPSHOT_CLOCKS);

	gt_pb_uint(text, CLOCK_ID, id);
	gt_pb_uint(text, CLOCK_TIMESTAMP, time);
	gt_pb_end(text, clock);
}

/* How the clocks are related: all times are of CLOCK_MONOTONIC. */
static int put_clocks(struct perfetto_export *state, const struct gt_names *names)
{
	struct gt_strbuf *text = &state->sink.text;
	uint64_t start = gt_names_start_time(names), wall = gt_names_wall_time(names, start);
	size_t packet, snapshot;

	state->has_clock = true;
	packet = begin_packet(state, SYSTEM_SEQUENCE);
	snapshot = gt_pb_begin(text, PACKET_CLOCK_SNAPSHOT);
	put_clock(text, CLOCK_MONOTONIC_ID, start);
	if (wall)
		put_clock(text, CLOCK_REALTIME_ID, wall);
	gt_pb_uint(text, SNAPSHOT_PRIMARY, CLOCK_MONOTONIC_ID);
	gt_pb_end(text, snapshot);
	return end_packet(state, packet);
}

static void perfetto_free(struct perfetto_export *state)
{
	gt_slices_free(state->slices);
	gt_hash_free(state->names);
	free(state);
}

static int perfetto_open(const struct gt_export_options *options, void **ret_state,
			 struct gt_diag *diag)
{
	struct perfetto_export *state = calloc(1, sizeof(*state));
	int error;

	if (state) {
		state->slices = gt_slices_new(&writer, state);
		state->names = gt_hash_new();
	}
	if (!state || !state->slices || !state->names)
		error = gt_diag(diag, -ENOMEM, "export", NULL, "out of memory");
	else
		error = gt_sink_open(&state->sink, &options->output, diag);
	if (!error)
		*ret_state = state;
	else if (state)
		perfetto_free(state);
	return error;
}

static int perfetto_event(void *opaque, const struct gt_names *names, const struct gt_event *event)
{
	struct perfetto_export *state = opaque;
	int error = 0;

	/* The relation of the clocks comes before the first event that has a time. */
	if (!state->has_clock && event->time)
		error = put_clocks(state, names);
	return error ? error : gt_slices_take(state->slices, names, event);
}

static int perfetto_close(void *opaque, const struct gt_names *names, struct gt_diag *diag)
{
	struct perfetto_export *state = opaque;
	int error = names ? gt_slices_finish(state->slices, names) : 0;
	int closed = gt_sink_close(&state->sink, diag);

	perfetto_free(state);
	return error ? error : closed;
}

const struct gt_export_format gt_export_perfetto = {
	.name = "perfetto",
	.help = "a trace for ui.perfetto.dev: threads, streams, rings, flows, counters",
	.extension = ".pftrace",
	.is_binary = true,
	.open = perfetto_open,
	.event = perfetto_event,
	.close = perfetto_close,
};
