/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The output "lines": what a person reads while it happens. */
#include <errno.h>
#include <inttypes.h>
#include <time.h>

#include "base/text.h"
#include "elf/demangle.h"
#include "event/kinds.h"
#include "output/sink.h"
#include "output/stack.h"

#define PROCESS_WIDTH 16
#define PID_WIDTH 8
#define EVENT_WIDTH 24     /* at first; it grows with the names … */
#define MAX_EVENT_WIDTH 64 /* … so far: what names longer than any function's do not change */
#define STACK_COLUMN 8
#define INDENT 2 /* columns a nested call is moved to the right */

struct state {
	struct gt_output_options options;
	struct gt_sink sink;
	time_t second; /* that `clock_text` stands for */
	char clock_text[16];
	bool headed;
	size_t event_width; /* so that lines stay aligned below the longest name so far */
};

static const struct {
	const char *title;
	int width;
} time_columns[] = {
	[GT_TIME_WALL] = {"TIME", 16},
	[GT_TIME_RELATIVE] = {"TIME", 14},
	[GT_TIME_NS] = {"TIME", 20},
	[GT_TIME_NONE] = {"", 0},
};

static int lines_open(const struct gt_output_options *options, void **ret_state,
		      struct gt_diag *diag)
{
	struct state *state = calloc(1, sizeof(*state));
	int error;

	if (!state)
		return gt_diag(diag, -ENOMEM, "output", NULL, "out of memory");
	state->options = *options;
	state->second = -1;
	state->event_width = EVENT_WIDTH;
	error = gt_sink_open(&state->sink, options, diag);
	if (error) {
		free(state);
		return error;
	}
	*ret_state = state;
	return 0;
}

/* localtime_r is slow: once a second is enough. */
static void put_wall_time(struct state *state, uint64_t wall)
{
	time_t second = wall / 1000000000;
	struct tm broken;

	if (second != state->second) {
		localtime_r(&second, &broken);
		strftime(state->clock_text, sizeof(state->clock_text), "%H:%M:%S", &broken);
		state->second = second;
	}
	gt_strbuf_printf(&state->sink.text, "%s.%06u", state->clock_text,
			 (unsigned)(wall % 1000000000 / 1000));
}

static void put_time(struct state *state, const struct gt_names *names, uint64_t time)
{
	size_t start = state->sink.text.length;
	uint64_t since = time - gt_names_start_time(names);

	switch (state->options.time) {
	case GT_TIME_WALL:
		put_wall_time(state, gt_names_wall_time(names, time));
		break;
	case GT_TIME_RELATIVE:
		gt_strbuf_printf(&state->sink.text, "%" PRIu64 ".%06u", since / 1000000000,
				 (unsigned)(since % 1000000000 / 1000));
		break;
	case GT_TIME_NS:
		gt_strbuf_printf(&state->sink.text, "%" PRIu64, time);
		break;
	case GT_TIME_NONE:
		return;
	}
	gt_strbuf_pad(&state->sink.text, start, time_columns[state->options.time].width);
}

static void put_head(struct state *state)
{
	struct gt_strbuf *text = &state->sink.text;

	if (state->headed)
		return;
	state->headed = true;
	if (state->options.time != GT_TIME_NONE)
		gt_strbuf_printf(text, "%-*s", time_columns[state->options.time].width, "TIME");
	gt_strbuf_printf(text, "%-*s %-*s%-*s %-8s DETAILS\n", PROCESS_WIDTH, "PROCESS", PID_WIDTH,
			 "PID", EVENT_WIDTH, "EVENT", "TYPE");
}

static void put_columns(struct state *state, const struct gt_names *names,
			const struct gt_event *event, uint64_t time, unsigned depth,
			const char *name, const char *type)
{
	struct gt_strbuf *text = &state->sink.text;
	size_t start, wide;

	put_head(state);
	put_time(state, names, time);
	start = text->length;
	gt_put_printable(text, gt_names_process(names, event->process));
	gt_strbuf_pad(text, start, PROCESS_WIDTH + 1);
	gt_strbuf_printf(text, "%-*u ", PID_WIDTH - 1, event->process);
	start = text->length;
	gt_strbuf_printf(text, "%*s", (int)depth * INDENT, "");
	gt_put_printable(text, name);
	wide = text->length - start;
	if (wide > state->event_width && wide <= MAX_EVENT_WIDTH)
		state->event_width = wide;
	gt_strbuf_pad(text, start, state->event_width + 1);
	gt_strbuf_printf(text, "%-8s", type);
}

static void put_end(struct state *state, const struct gt_api_function *api,
		    const struct gt_event_call *call)
{
	struct gt_strbuf *text = &state->sink.text;

	gt_strbuf_putc(text, ' ');
	if (call->state & GT_CALL_UNFINISHED)
		gt_strbuf_puts(text, "unfinished: it was left without returning");
	else if (api)
		gt_api_format_details(text, api, call, NULL, false);
	else
		gt_strbuf_printf(text, "returned=0x%llx", (unsigned long long)call->result);
	gt_strbuf_puts(text, " (");
	gt_format_duration(text, call->duration);
	gt_strbuf_putc(text, ')');
}

static void put_kernel(struct gt_strbuf *text, const struct gt_names *names,
		       const struct gt_event_call *call, const char *kernel)
{
	struct gt_launch_arguments arguments;
	gt_auto_strbuf name = GT_STRBUF_INIT;

	gt_demangle_short(kernel, &name);
	if (gt_names_launch_arguments(names, call, &arguments)) {
		gt_strbuf_putc(&name, '(');
		gt_kernel_format_arguments(&name, kernel, gt_names_parameters(names, kernel),
					   &arguments);
		gt_strbuf_putc(&name, ')');
	}
	gt_strbuf_puts(text, " kernel=");
	gt_put_printable(text, gt_strbuf_string(&name));
}

static void put_beginning(struct state *state, const struct gt_names *names,
			  const struct gt_api_function *api, const struct gt_event_call *call)
{
	const char *kernel = gt_names_call_kernel(names, call);
	const struct gt_api_strings strings = gt_names_strings(names);
	struct gt_strbuf *text = &state->sink.text;
	size_t before = text->length;

	gt_strbuf_putc(text, ' ');
	if (api)
		gt_api_format_details(text, api, call, &strings, true);
	if (kernel)
		put_kernel(text, names, call, kernel);
	if (text->length == before + 1)
		text->length = before;
}

/* Ends a line, without the spaces that columns may have left there. */
static void end_line(struct gt_strbuf *text)
{
	while (text->length && text->data[text->length - 1] == ' ')
		text->length--;
	gt_strbuf_putc(text, '\n');
}

static void put_call(struct state *state, const struct gt_names *names,
		     const struct gt_event_call *call)
{
	const struct gt_api_function *api = gt_names_api(names, call->function);
	const char *name = gt_names_function(names, call->function);
	bool entering = call->head.kind == GT_EVENT_entry;

	if (entering || !state->options.returns) {
		if (!entering && state->options.entries)
			return;
		put_columns(state, names, &call->head, call->head.time - call->duration,
			    call->depth, name, "[ENTER]");
		put_beginning(state, names, api, call);
	} else {
		put_columns(state, names, &call->head, call->head.time, call->depth, name,
			    "[EXIT]");
		if (!state->options.entries)
			put_beginning(state, names, api, call);
		put_end(state, api, call);
	}
	end_line(&state->sink.text);
	if (call->stack && (entering || !state->options.entries))
		gt_put_stack(&state->sink.text, names, call->head.process, call->stack,
			     STACK_COLUMN, state->options.verbose);
}

static void put_cgroup(struct state *state, const struct gt_names *names,
		       const struct gt_event *event)
{
	const char *container = gt_names_container(names, event->process);
	struct gt_strbuf *text = &state->sink.text;

	put_columns(state, names, event, event->time, 0, "process", "");
	if (container)
		gt_strbuf_printf(text, " container=%s", container);
	gt_strbuf_puts(text, " cgroup=");
	gt_put_printable(text, gt_names_cgroup(names, event->process));
	gt_strbuf_putc(text, '\n');
}

static void put_process(struct state *state, const struct gt_names *names,
			const struct gt_event *event)
{
	const struct gt_event_exit *end = (const void *)event;
	unsigned status;

	put_columns(state, names, event, event->time, 0, "process", "");
	if (event->kind == GT_EVENT_process) {
		gt_strbuf_printf(&state->sink.text, " parent=%u uid=%u\n",
				 ((const struct gt_event_process *)event)->parent,
				 ((const struct gt_event_process *)event)->uid);
		return;
	}
	status = end->status;
	if (status & 0x7f)
		gt_strbuf_printf(&state->sink.text, " ended by signal %u\n", status & 0x7f);
	else
		gt_strbuf_printf(&state->sink.text, " ended with status %u\n", status >> 8 & 0xff);
}

static int lines_event(void *opaque, const struct gt_names *names, const struct gt_event *event)
{
	struct state *state = opaque;

	switch (event->kind) {
	case GT_EVENT_call:
	case GT_EVENT_entry:
		put_call(state, names, (const struct gt_event_call *)event);
		break;
	case GT_EVENT_process:
	case GT_EVENT_exit:
		if (state->options.processes)
			put_process(state, names, event);
		break;
	case GT_EVENT_cgroup:
		put_cgroup(state, names, event);
		break;
	case GT_EVENT_account:
		put_head(state);
		break;
	}
	return gt_sink_wrote(&state->sink);
}

static int lines_flush(void *opaque)
{
	return gt_sink_flush(&((struct state *)opaque)->sink);
}

static int lines_close(void *opaque, struct gt_diag *diag)
{
	struct state *state = opaque;
	int error = gt_sink_close(&state->sink, diag);

	free(state);
	return error;
}

const struct gt_output gt_output_lines = {
	.name = "lines",
	.help = "one line at the entry and one at the return of a call",
	.open = lines_open,
	.event = lines_event,
	.flush = lines_flush,
	.close = lines_close,
};
