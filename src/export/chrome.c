/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The format "chrome": the Trace Event Format of chrome://tracing ("Trace Event Format", 2016),
 * JSON object form. Slices are complete events (X), times are microseconds with three decimals.
 */
#include <errno.h>
#include <inttypes.h>

#include "export/export.h"
#include "export/slices.h"
#include "output/sink.h"

struct chrome_export {
	struct gt_sink sink;
	struct gt_slices *slices;
	bool continued; /* an event was written */
};

/* ---- details: members of the object "args" ------------------------------------------------ */

static struct gt_json continue_args(struct gt_strbuf *to)
{
	return (struct gt_json){.buffer = to, .comma = to->length};
}

static void put_number(struct gt_strbuf *to, enum gt_detail detail, uint64_t value)
{
	struct gt_json json = continue_args(to);

	gt_json_u64(&json, gt_detail_name(detail), value);
}

static void put_address(struct gt_strbuf *to, enum gt_detail detail, uint64_t value)
{
	struct gt_json json = continue_args(to);

	gt_json_hex(&json, gt_detail_name(detail), value);
}

static void put_text(struct gt_strbuf *to, enum gt_detail detail, const char *text)
{
	struct gt_json json = continue_args(to);

	gt_json_string(&json, gt_detail_name(detail), text);
}

/* ---- events ------------------------------------------------------------------------------- */

/* Tracks that are no threads have thread ids beyond those of Linux (PID_MAX_LIMIT: 2^22). */
static uint64_t thread_of(const struct gt_track *track)
{
	if (track->kind == GT_TRACK_PROCESS)
		return track->process;
	return track->thread ? track->thread : (UINT64_C(1) << 32) + track->number;
}

static struct gt_json begin_event(struct chrome_export *state, const char *phase,
				  const struct gt_track *track)
{
	struct gt_strbuf *text = &state->sink.text;
	struct gt_json json = GT_JSON_INIT(text);

	gt_strbuf_puts(text, state->continued ? ",\n" : "\n");
	state->continued = true;
	gt_json_object_begin(&json, NULL);
	gt_json_string(&json, "ph", phase);
	gt_json_u64(&json, "pid", track->process);
	gt_json_u64(&json, "tid", thread_of(track));
	return json;
}

static int end_event(struct chrome_export *state, struct gt_json *json)
{
	gt_json_object_end(json);
	return gt_sink_wrote(&state->sink);
}

static void put_time(struct gt_json *json, const char *key, uint64_t ns)
{
	char text[32];
	int length =
		snprintf(text, sizeof(text), "%" PRIu64 ".%03u", ns / 1000, (unsigned)(ns % 1000));

	gt_json_value(json, key, text, (size_t)length);
}

static int put_metadata(struct chrome_export *state, const struct gt_track *track, const char *what,
			const char *name)
{
	struct gt_json json = begin_event(state, "M", track);

	gt_json_string(&json, "name", what);
	gt_json_object_begin(&json, "args");
	gt_json_string(&json, "name", name);
	gt_json_object_end(&json);
	return end_event(state, &json);
}

static int name_track(void *context, const struct gt_track *track)
{
	return put_metadata(context, track,
			    track->kind == GT_TRACK_PROCESS ? "process_name" : "thread_name",
			    track->name);
}

static int begin_track(void *context, struct gt_track *track)
{
	gt_auto_strbuf name = GT_STRBUF_INIT;

	if (track->kind != GT_TRACK_SLICES)
		return 0;
	if (track->parent && track->parent->kind == GT_TRACK_GROUP)
		gt_strbuf_printf(&name, "%s ", track->parent->name);
	gt_strbuf_puts(&name, track->name);
	return put_metadata(context, track, "thread_name", gt_strbuf_string(&name));
}

/* An end of an arrow: it binds to the slice that contains its time. */
static int put_flow(struct chrome_export *state, const struct gt_track *track, const char *phase,
		    const char *what, uint64_t number, uint64_t time)
{
	struct gt_json json = begin_event(state, phase, track);

	gt_json_string(&json, "cat", what);
	gt_json_string(&json, "name", what);
	gt_json_u64(&json, "id", number);
	put_time(&json, "ts", time);
	if (*phase == 'f')
		gt_json_string(&json, "bp", "e");
	return end_event(state, &json);
}

/* From a call to what it submitted, and from an operation to the end of the wait for it. */
static int put_flows(struct chrome_export *state, const struct gt_slice *slice)
{
	uint64_t last = slice->end > slice->start ? slice->end - 1 : slice->start;
	int error = 0;

	for (uint64_t i = 0; i < slice->flows && !error; i++)
		error = put_flow(state, slice->track, "s", "submission", slice->first_flow + i,
				 slice->start);
	if (!error && slice->ended_flow)
		error = put_flow(state, slice->track, "f", "submission", slice->ended_flow,
				 slice->start);
	if (!error && slice->wait_flow)
		error = put_flow(state, slice->track, "s", "wait", slice->wait_flow, slice->start);
	for (unsigned i = 0; i < slice->waited.count && !error; i++)
		error = put_flow(state, slice->track, "f", "wait", slice->waited.operations[i],
				 last);
	return error;
}

static int begin_slice(void *context, const struct gt_slice *slice)
{
	struct chrome_export *state = context;
	struct gt_json json = begin_event(state, slice->is_instant ? "i" : "X", slice->track);
	int error;

	gt_json_string(&json, "cat", slice->category);
	gt_json_string(&json, "name", slice->name);
	put_time(&json, "ts", slice->start);
	if (slice->is_instant)
		gt_json_string(&json, "s", "t");
	else
		put_time(&json, "dur", slice->end - slice->start);
	if (slice->details_size) {
		gt_json_object_begin(&json, "args");
		gt_strbuf_add(json.buffer, slice->details, slice->details_size);
		gt_json_object_end(&json);
	}
	error = end_event(state, &json);
	return error ? error : put_flows(state, slice);
}

static int put_counter(void *context, struct gt_track *track, uint64_t time, uint64_t value)
{
	struct chrome_export *state = context;
	struct gt_json json = begin_event(state, "C", track);

	gt_json_string(&json, "name", track->name);
	put_time(&json, "ts", time);
	gt_json_object_begin(&json, "args");
	gt_json_u64(&json, "value", value);
	gt_json_object_end(&json);
	return end_event(state, &json);
}

static const struct gt_slice_writer writer = {
	.put_number = put_number,
	.put_address = put_address,
	.put_text = put_text,
	.begin_track = begin_track,
	.name_track = name_track,
	.begin_slice = begin_slice,
	.put_counter = put_counter,
};

/* ---- the file ----------------------------------------------------------------------------- */

static void chrome_free(struct chrome_export *state)
{
	gt_slices_free(state->slices);
	free(state);
}

static int chrome_open(const struct gt_export_options *options, void **ret_state,
		       struct gt_diag *diag)
{
	struct chrome_export *state = calloc(1, sizeof(*state));
	int error;

	if (state)
		state->slices = gt_slices_new(&writer, state);
	if (!state || !state->slices)
		error = gt_diag(diag, -ENOMEM, "export", NULL, "out of memory");
	else
		error = gt_sink_open(&state->sink, &options->output, diag);
	if (error) {
		if (state)
			chrome_free(state);
		return error;
	}
	gt_strbuf_puts(&state->sink.text, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
	*ret_state = state;
	return 0;
}

static int chrome_event(void *opaque, const struct gt_names *names, const struct gt_event *event)
{
	return gt_slices_take(((struct chrome_export *)opaque)->slices, names, event);
}

static void put_losses(struct gt_json *json, const struct gt_names *names)
{
	const struct gt_event_account *account = gt_names_account(names);

	if (account) {
		gt_json_u64(json, "made", account->made);
		gt_json_u64(json, "complete", account->complete);
		gt_json_u64(json, "unfinished", account->unfinished);
		gt_json_u64(json, "lost", account->lost);
		gt_json_u64(json, "others_lost", account->others_lost);
	}
	gt_json_bool(json, "truncated", !account);
	gt_json_gaps(json, names);
	gt_json_totals(json, names);
}

static int chrome_close(void *opaque, const struct gt_names *names, struct gt_diag *diag)
{
	struct chrome_export *state = opaque;
	struct gt_json json = GT_JSON_INIT(&state->sink.text);
	int error = names ? gt_slices_finish(state->slices, names) : 0, closed;

	gt_strbuf_puts(&state->sink.text, "\n],\"otherData\":");
	gt_json_object_begin(&json, NULL);
	gt_json_string(&json, "clock", "CLOCK_MONOTONIC");
	if (names)
		put_losses(&json, names);
	gt_json_object_end(&json);
	gt_strbuf_puts(&state->sink.text, "}\n");
	closed = gt_sink_close(&state->sink, diag);
	chrome_free(state);
	return error ? error : closed;
}

const struct gt_export_format gt_export_chrome = {
	.name = "chrome",
	.help = "trace events as JSON, for chrome://tracing and other viewers",
	.extension = ".json",
	.open = chrome_open,
	.event = chrome_event,
	.close = chrome_close,
};
