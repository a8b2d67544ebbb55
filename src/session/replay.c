/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "session/replay.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "capture/capture.h"
#include "event/kinds.h"
#include "layers/layers.h"
#include "names/names.h"
#include "session/when.h"

struct gt_replay {
	const struct gt_trace_options *options;
	struct gt_capture_reader *reader;
	struct gt_names *names;
	struct gt_when *when;          /* NULL: none */
	uint64_t start;                /* of the capture, if a range is asked for; 0: not known */
	uint64_t from, to;             /* the range of time; 0: no limit */
	uint64_t corrupt;              /* parts of the capture for which a gap was delivered */
	uint64_t complete, unfinished; /* calls that were delivered */
	uint64_t unasked, unasked_unfinished; /* calls that a live session would not have traced */
	uint64_t filtered;                    /* calls that a condition or a limit filters */
};

static int reject_live_options(const struct gt_trace_options *options, struct gt_diag *diag)
{
	const char *name = gt_trace_options_live(options);

	if (options->command)
		return gt_diag(diag, -EINVAL, "session", NULL,
			       "a command cannot be applied to a capture (--from)");
	return name ? gt_diag(diag, -EINVAL, "session", NULL,
			      "--%s cannot be applied to a capture (--from)", name)
		    : 0;
}

/* 0, or -EINVAL where the range begins after the capture, whose last time is `end` (0: unknown). */
static int check_range(const struct gt_replay *replay, uint64_t end, struct gt_diag *diag)
{
	gt_auto_strbuf length = GT_STRBUF_INIT;

	if (!end || replay->from <= end)
		return 0;
	gt_format_duration(&length, end - replay->start);
	return gt_diag(diag, -EINVAL, "session", replay->options->from,
		       "--start is after the end of the capture, which is %s long",
		       gt_strbuf_string(&length));
}

/* The range of time that is asked for, which the reader uses to skip blocks. */
static int choose_range(struct gt_replay *replay, struct gt_diag *diag)
{
	const struct gt_trace_options *options = replay->options;

	if (!options->start && !options->end)
		return 0;
	replay->start = gt_capture_start(replay->reader);
	replay->from = options->start ? replay->start + options->start : 0;
	replay->to = options->end ? replay->start + options->end : 0;
	gt_capture_select(replay->reader, replay->from, replay->to);
	return check_range(replay, gt_capture_end(replay->reader), diag);
}

int gt_replay_open(const struct gt_trace_options *options, struct gt_replay **ret_replay,
		   struct gt_diag *diag)
{
	gt_auto(replay) struct gt_replay *replay = calloc(1, sizeof(*replay));
	int error;

	if (replay)
		replay->names = gt_names_new();
	if (!replay || !replay->names)
		return gt_diag(diag, -ENOMEM, "session", NULL, "out of memory");
	replay->options = options;
	error = reject_live_options(options, diag);
	if (!error && options->start && options->end && options->start > options->end)
		error = gt_diag(diag, -EINVAL, "session", NULL, "--start is after --end");
	if (!error && options->condition)
		error = gt_when_parse(options->condition, &replay->when, diag);
	if (!error)
		error = gt_capture_open(options->from, &replay->reader, diag);
	if (!error)
		error = choose_range(replay, diag);
	if (!error)
		*ret_replay = gt_take(replay);
	return error;
}

static bool is_one_of(__u32 process, const pid_t *pids, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if ((__u32)pids[i] == gt_id_number(process))
			return true;
	return !count;
}

static bool has_wanted_name(const struct gt_replay *replay, __u32 process)
{
	const struct gt_strings *names = &replay->options->names;

	return gt_globs_select(names->words.items, names->words.count,
			       gt_names_process(replay->names, process), true);
}

/* Whether a live session with these options would have traced a call. */
static bool is_asked_for(const struct gt_replay *replay, const struct gt_event_call *call)
{
	const struct gt_trace_options *options = replay->options;

	if (!is_one_of(call->head.process, options->processes, options->process_count) ||
	    !gt_globs_select(options->functions.words.items, options->functions.words.count,
			     gt_names_function(replay->names, call->function), true))
		return false;
	if (!has_wanted_name(replay, call->head.process))
		return false;
	return !options->duration ||
	       call->head.time < gt_names_start_time(replay->names) + options->duration;
}

/* Whether a live session with these options would have recorded an event of a process. */
static bool is_event_asked_for(const struct gt_replay *replay, const struct gt_event *event)
{
	const struct gt_trace_options *options = replay->options;

	if (!is_one_of(event->process, options->processes, options->process_count))
		return false;
	return has_wanted_name(replay, event->process);
}

/* Whether a gap may lack calls that were asked for. */
static bool is_gap_asked_for(const struct gt_replay *replay, const struct gt_event *event)
{
	return !event->process || is_one_of(event->process, replay->options->processes,
					    replay->options->process_count);
}

/* As in the kernel, abandoned calls are kept whatever the conditions are. */
static bool passes(const struct gt_replay *replay, const struct gt_event_call *call)
{
	const struct gt_trace_options *options = replay->options;
	const struct gt_api_function *api = gt_names_api(replay->names, call->function);

	if (call->state & GT_CALL_UNFINISHED)
		return true;
	if (options->failed_only && (!api || !gt_api_failed(api, call->result)))
		return false;
	return gt_when_holds(replay->when, replay->names, call);
}

/* Whether an event lies in the range of time, or has no time. */
static bool is_in_range(const struct gt_replay *replay, const struct gt_event *event)
{
	uint64_t duration = 0;

	if (event->clock != GT_CLOCK_MONOTONIC || !event->time)
		return true;
	if (replay->from && event->time < replay->from)
		return false;
	if (!replay->to || event->time <= replay->to)
		return true;
	gt_event_duration(event, &duration);
	return duration < event->time && event->time - duration <= replay->to;
}

/* Whether an event is passed on; counts the calls that are not. */
static bool select_event(struct gt_replay *replay, const struct gt_event *event)
{
	const struct gt_trace_options *options = replay->options;
	const struct gt_event_call *call = (const void *)event;
	bool is_call = event->kind == GT_EVENT_call;
	bool finished = is_call && !(call->state & GT_CALL_UNFINISHED);

	if (!is_call && event->kind != GT_EVENT_entry)
		return !gt_layer_kind(event->kind) || is_event_asked_for(replay, event);
	if (!is_asked_for(replay, call)) {
		replay->unasked += finished;
		replay->unasked_unfinished += is_call && !finished;
		return false;
	}
	if (!passes(replay, call) ||
	    (options->max_events && replay->complete >= options->max_events)) {
		replay->filtered += finished;
		return false;
	}
	replay->complete += finished;
	replay->unfinished += is_call && !finished;
	return true;
}

static __u64 less(__u64 from, __u64 what)
{
	return from > what ? from - what : 0;
}

/*
 * The totals, as a live session with these options would have counted them; of calls that were lost
 * nobody knows whether they were asked for.
 */
static struct gt_event_account adjust(const struct gt_replay *replay,
				      const struct gt_event_account *recorded)
{
	struct gt_event_account account = *recorded;

	account.made = less(account.made, replay->unasked + replay->unasked_unfinished);
	account.complete = less(account.complete, replay->unasked + replay->filtered);
	account.unfinished = less(account.unfinished, replay->unasked_unfinished);
	account.filtered += replay->filtered;
	/* Calls outside the range may be in blocks that were not read. */
	if (replay->from || replay->to) {
		account.complete = replay->complete;
		account.unfinished = replay->unfinished;
		account.filtered = replay->filtered;
		account.made =
			account.complete + account.unfinished + account.filtered + account.lost;
	}
	return account;
}

/*
 * Pass an event on that is outside the range: of those that name something, as of the time at which
 * the range begins or ends.
 */
static int deliver_outside(struct gt_replay *replay, const struct gt_event *event,
			   gt_event_sink sink, void *context)
{
	gt_autofree struct gt_event *copy = NULL;

	if (!gt_capture_names(event))
		return 0;
	copy = malloc(event->size);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, event, event->size);
	copy->time = event->time < replay->from ? replay->from : replay->to;
	/* The relation of the clocks is that of one time. */
	if (copy->kind == GT_EVENT_clock)
		((struct gt_event_clock *)copy)->realtime += copy->time - event->time;
	return sink(context, replay->names, copy);
}

/* names → selection → sink */
static int deliver_event(struct gt_replay *replay, const struct gt_event *event, gt_event_sink sink,
			 void *context)
{
	struct gt_event_account account;
	int error;

	if (event->kind == GT_EVENT_account) {
		account = adjust(replay, (const void *)event);
		event = &account.head;
	}
	if (event->kind == GT_EVENT_gap && !is_gap_asked_for(replay, event))
		return 0;
	error = gt_names_take(replay->names, event);
	if (error)
		return error;
	if (!is_in_range(replay, event))
		return deliver_outside(replay, event, sink, context);
	return select_event(replay, event) ? sink(context, replay->names, event) : 0;
}

/* The next corrupt part of the capture, as a gap of unknown times. */
static int deliver_damage(struct gt_replay *replay, gt_event_sink sink, void *context)
{
	const struct gt_capture_state *state = gt_capture_state(replay->reader);
	gt_autofree struct gt_event *event = NULL;
	char bytes[32];

	if (state->corrupt == replay->corrupt)
		return 0;
	replay->corrupt = state->corrupt;
	if (state->corrupt_bytes)
		snprintf(bytes, sizeof(bytes), "%" PRIu64 " bytes", state->corrupt_bytes);
	else
		snprintf(bytes, sizeof(bytes), "its end");
	event = gt_event_new(GT_EVENT_gap, bytes, strlen(bytes));
	if (!event)
		return -ENOMEM;
	event->time = state->end;
	((struct gt_event_gap *)event)->reason = GT_GAP_CORRUPT;
	return deliver_event(replay, event, sink, context);
}

int gt_replay_run(struct gt_replay *replay, gt_event_sink sink, void *context, struct gt_diag *diag)
{
	const struct gt_event *event;
	int result;

	while ((result = gt_capture_next(replay->reader, &event, diag)) > 0) {
		int error = deliver_damage(replay, sink, context);

		if (!error)
			error = deliver_event(replay, event, sink, context);
		if (error)
			return error;
	}
	if (result == -EBADMSG) {
		int error = deliver_damage(replay, sink, context);

		return error ? error : result;
	}
	/* Without an index, this is known only now. */
	return result ? result
		      : check_range(replay, gt_capture_state(replay->reader)->latest, diag);
}

const struct gt_names *gt_replay_names(const struct gt_replay *replay)
{
	return replay->names;
}

void gt_replay_close(struct gt_replay *replay)
{
	if (!replay)
		return;
	gt_capture_free(replay->reader);
	gt_when_free(replay->when);
	gt_names_free(replay->names);
	free(replay);
}
