/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The output "lines": what a person reads while it happens. */
#include <errno.h>
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
#define TYPE_WIDTH 8
#define STACK_COLUMN 8
#define INDENT 2 /* columns a nested call is moved to the right */

struct lines_output {
	struct gt_output_options options;
	struct gt_sink sink;
	time_t second; /* that `clock_text` stands for */
	char clock_text[16];
	bool headed;
	size_t event_width; /* so that lines stay aligned below the longest name so far */
	struct gt_demangler *demangler;
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
	struct lines_output *lines = calloc(1, sizeof(*lines));
	int error;

	if (lines)
		lines->demangler = gt_demangler_new();
	if (!lines || !lines->demangler) {
		free(lines);
		return gt_diag(diag, -ENOMEM, "output", NULL, "out of memory");
	}
	lines->options = *options;
	lines->second = -1;
	lines->event_width = EVENT_WIDTH;
	error = gt_sink_open(&lines->sink, options, diag);
	if (error) {
		gt_demangler_free(lines->demangler);
		free(lines);
		return error;
	}
	*ret_state = lines;
	return 0;
}

/* The fraction of a second of a time in ns. */
static void put_microseconds(struct gt_strbuf *text, uint64_t time)
{
	gt_strbuf_putc(text, '.');
	gt_strbuf_digits(text, time % 1000000000 / 1000, 6);
}

/* localtime_r is slow: once a second is enough. */
static void put_wall_time(struct lines_output *lines, uint64_t wall)
{
	time_t second = wall / 1000000000;
	struct tm broken;

	if (second != lines->second) {
		localtime_r(&second, &broken);
		strftime(lines->clock_text, sizeof(lines->clock_text), "%H:%M:%S", &broken);
		lines->second = second;
	}
	gt_strbuf_puts(&lines->sink.text, lines->clock_text);
	put_microseconds(&lines->sink.text, wall);
}

static void put_time(struct lines_output *lines, const struct gt_names *names, uint64_t time)
{
	size_t start = lines->sink.text.length;
	uint64_t since = time - gt_names_start_time(names);

	switch (lines->options.time) {
	case GT_TIME_WALL:
		put_wall_time(lines, gt_names_wall_time(names, time));
		break;
	case GT_TIME_RELATIVE:
		gt_strbuf_u64(&lines->sink.text, since / 1000000000);
		put_microseconds(&lines->sink.text, since);
		break;
	case GT_TIME_NS:
		gt_strbuf_u64(&lines->sink.text, time);
		break;
	case GT_TIME_NONE:
		return;
	}
	gt_strbuf_pad(&lines->sink.text, start, time_columns[lines->options.time].width);
}

static void put_head(struct lines_output *lines)
{
	struct gt_strbuf *text = &lines->sink.text;

	if (lines->headed)
		return;
	lines->headed = true;
	if (lines->options.time != GT_TIME_NONE)
		gt_strbuf_printf(text, "%-*s", time_columns[lines->options.time].width, "TIME");
	gt_strbuf_printf(text, "%-*s %-*s%-*s %-*s DETAILS\n", PROCESS_WIDTH, "PROCESS", PID_WIDTH,
			 "PID", EVENT_WIDTH, "EVENT", TYPE_WIDTH, "TYPE");
}

static void put_columns(struct lines_output *lines, const struct gt_names *names,
			const struct gt_event *event, uint64_t time, unsigned depth,
			const char *name, const char *type)
{
	struct gt_strbuf *text = &lines->sink.text;
	size_t start, wide;

	put_head(lines);
	put_time(lines, names, time);
	start = text->length;
	gt_put_printable(text, gt_names_process(names, event->process));
	gt_strbuf_pad(text, start, PROCESS_WIDTH + 1);
	start = text->length;
	gt_strbuf_u64(text, event->process);
	gt_strbuf_pad(text, start, PID_WIDTH);
	start = text->length;
	if (depth)
		gt_strbuf_pad(text, start, (size_t)depth * INDENT);
	gt_put_printable(text, name);
	wide = text->length - start;
	if (wide > lines->event_width && wide <= MAX_EVENT_WIDTH)
		lines->event_width = wide;
	gt_strbuf_pad(text, start, lines->event_width + 1);
	start = text->length;
	gt_strbuf_puts(text, type);
	gt_strbuf_pad(text, start, TYPE_WIDTH);
}

static void put_return(struct gt_strbuf *text, const struct gt_call *call)
{
	gt_strbuf_putc(text, ' ');
	if (call->event->state & GT_CALL_UNFINISHED) {
		gt_strbuf_puts(text, "unfinished: abandoned without returning");
	} else if (call->function) {
		gt_call_format_return(text, call);
	} else {
		gt_strbuf_puts(text, "returned=");
		gt_strbuf_hex(text, call->event->result);
	}
	gt_strbuf_puts(text, " (");
	gt_format_duration(text, call->event->duration);
	gt_strbuf_putc(text, ')');
}

static void put_kernel(struct lines_output *lines, const struct gt_names *names,
		       const struct gt_call *call, const char *kernel)
{
	struct gt_strbuf *text = &lines->sink.text;
	struct gt_launch_arguments arguments;
	gt_auto_strbuf list = GT_STRBUF_INIT;

	gt_strbuf_puts(text, " kernel=");
	gt_put_printable(text, gt_demangler_short(lines->demangler, kernel));
	if (!gt_names_launch_arguments(names, call->event, &arguments))
		return;
	gt_kernel_format_arguments(&list, kernel, gt_names_parameters(names, kernel), &arguments);
	gt_strbuf_putc(text, '(');
	gt_put_printable(text, gt_strbuf_string(&list));
	gt_strbuf_putc(text, ')');
}

static void put_entry(struct lines_output *lines, const struct gt_names *names,
		      const struct gt_call *call)
{
	const char *kernel = gt_names_call_kernel(names, call);
	struct gt_strbuf *text = &lines->sink.text;
	size_t before = text->length;

	gt_strbuf_putc(text, ' ');
	if (call->function)
		gt_call_format_entry(text, call);
	if (kernel)
		put_kernel(lines, names, call, kernel);
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

static void put_call(struct lines_output *lines, const struct gt_names *names,
		     const struct gt_event_call *event)
{
	const char *name = gt_names_function(names, event->function);
	bool is_entry = event->head.kind == GT_EVENT_entry;
	struct gt_call call;

	if (!is_entry && !lines->options.returns && lines->options.entries)
		return;
	gt_names_decode(names, event, &call);
	if (is_entry || !lines->options.returns) {
		put_columns(lines, names, &event->head, event->head.time - event->duration,
			    event->depth, name, "[ENTER]");
		put_entry(lines, names, &call);
	} else {
		put_columns(lines, names, &event->head, event->head.time, event->depth, name,
			    "[EXIT]");
		if (!lines->options.entries)
			put_entry(lines, names, &call);
		put_return(&lines->sink.text, &call);
	}
	end_line(&lines->sink.text);
	if (event->stack && (is_entry || !lines->options.entries))
		gt_put_stack(&lines->sink.text, names, event->head.process, event->stack,
			     STACK_COLUMN, lines->options.verbose);
}

static void put_cgroup(struct lines_output *lines, const struct gt_names *names,
		       const struct gt_event *event)
{
	const char *container = gt_names_container(names, event->process);
	struct gt_strbuf *text = &lines->sink.text;

	put_columns(lines, names, event, event->time, 0, "process", "");
	if (container)
		gt_strbuf_printf(text, " container=%s", container);
	gt_strbuf_puts(text, " cgroup=");
	gt_put_printable(text, gt_names_cgroup(names, event->process));
	gt_strbuf_putc(text, '\n');
}

static void put_process(struct lines_output *lines, const struct gt_names *names,
			const struct gt_event *event)
{
	const struct gt_event_exit *end = (const void *)event;
	unsigned status;

	put_columns(lines, names, event, event->time, 0, "process", "");
	if (event->kind == GT_EVENT_process) {
		gt_strbuf_printf(&lines->sink.text, " parent=%u uid=%u\n",
				 ((const struct gt_event_process *)event)->parent,
				 ((const struct gt_event_process *)event)->uid);
		return;
	}
	status = end->status;
	if (status & 0x7f)
		gt_strbuf_printf(&lines->sink.text, " ended by signal %u\n", status & 0x7f);
	else
		gt_strbuf_printf(&lines->sink.text, " ended with status %u\n", status >> 8 & 0xff);
}

static int lines_event(void *opaque, const struct gt_names *names, const struct gt_event *event)
{
	struct lines_output *lines = opaque;

	switch (event->kind) {
	case GT_EVENT_call:
	case GT_EVENT_entry:
		put_call(lines, names, (const struct gt_event_call *)event);
		break;
	case GT_EVENT_process:
	case GT_EVENT_exit:
		if (lines->options.processes)
			put_process(lines, names, event);
		break;
	case GT_EVENT_cgroup:
		put_cgroup(lines, names, event);
		break;
	case GT_EVENT_account:
		put_head(lines);
		break;
	}
	return gt_sink_wrote(&lines->sink);
}

static int lines_flush(void *opaque)
{
	return gt_sink_flush(&((struct lines_output *)opaque)->sink);
}

static int lines_close(void *opaque, struct gt_diag *diag)
{
	struct lines_output *lines = opaque;
	int error = gt_sink_close(&lines->sink, diag);

	gt_demangler_free(lines->demangler);
	free(lines);
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
