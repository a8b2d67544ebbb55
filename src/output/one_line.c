/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The output "one-line": a line for each call, in the order of their beginnings, as strace prints
 * them:
 *
 *	cudaMalloc(devPtr=0x7f0000000200, size=4000) = Success <1.50 µs>
 *
 * A call whose entry was seen is held until it returns. It is printed as unfinished before, and its
 * return as resumed, if a line about a later time is printed meanwhile, or if it has been held too
 * long.
 */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "elf/demangle.h"
#include "event/kinds.h"
#include "layers/layers.h"
#include "output/columns.h"
#include "output/held.h"
#include "output/launch.h"
#include "output/open_calls.h"
#include "output/sink.h"
#include "output/stack.h"

#define TITLES "CALL"
#define INDENT 2 /* columns that a nested call is moved to the right */
#define STACK_COLUMN 8

struct one_line_output {
	struct gt_output_options options;
	struct gt_sink sink;
	struct gt_columns columns;
	struct gt_demangler *demangler;
	struct gt_held_calls held;
	struct gt_open_calls open_calls;
	const struct gt_names *names; /* as of the last event; NULL: there was none */
};

static void output_free(struct one_line_output *output)
{
	if (!output)
		return;
	gt_held_free(&output->held);
	gt_open_calls_free(&output->open_calls);
	gt_demangler_free(output->demangler);
	gt_columns_free(&output->columns);
	free(output);
}

static int one_line_open(const struct gt_output_options *options, void **ret_state,
			 struct gt_diag *diag)
{
	struct one_line_output *output = calloc(1, sizeof(*output));
	int error;

	if (output)
		output->demangler = gt_demangler_new();
	if (!output || !output->demangler ||
	    (options->entries && gt_open_calls_init(&output->open_calls)) ||
	    gt_columns_init(&output->columns, options->time, TITLES)) {
		output_free(output);
		return gt_diag(diag, -ENOMEM, "output", NULL, "out of memory");
	}
	output->options = *options;
	error = gt_sink_open(&output->sink, options, diag);
	if (error) {
		output_free(output);
		return error;
	}
	*ret_state = output;
	return 0;
}

/* The columns, and the name of the function behind `before`. */
static void put_start(struct one_line_output *output, const struct gt_names *names,
		      const struct gt_event_call *event, uint64_t time, const char *before)
{
	struct gt_strbuf *text = &output->sink.text;

	gt_columns_put(&output->columns, text, names, &event->head, time);
	if (event->depth)
		gt_strbuf_pad(text, text->length, (size_t)event->depth * INDENT);
	gt_strbuf_puts(text, before);
	gt_put_printable(text, gt_names_function(names, event->function));
}

static void put_arguments(struct one_line_output *output, const struct gt_names *names,
			  const struct gt_call *call)
{
	const char *kernel = gt_names_call_kernel(names, call);
	struct gt_strbuf *text = &output->sink.text;
	size_t before = text->length;

	if (call->function)
		gt_call_format_arguments(text, call);
	if (!kernel)
		return;
	if (text->length > before)
		gt_strbuf_puts(text, ", ");
	gt_put_launched_kernel(text, output->demangler, names, call, kernel);
}

static void put_result(struct gt_strbuf *text, const struct gt_call *call)
{
	gt_strbuf_puts(text, ") = ");
	if (call->event->state & GT_CALL_UNFINISHED)
		gt_strbuf_puts(text, "? (abandoned without returning)");
	else if (call->function)
		gt_api_format_result(text, call->function, call->event->result, true);
	else
		gt_strbuf_hex(text, call->event->result);
	gt_strbuf_puts(text, " <");
	gt_format_duration(text, call->event->duration);
	gt_strbuf_puts(text, ">\n");
}

static void put_callers(struct one_line_output *output, const struct gt_names *names,
			const struct gt_event_call *event)
{
	if (event->stack)
		gt_put_stack(&output->sink.text, names, event->head.process, event->stack,
			     STACK_COLUMN, output->options.verbose);
}

/* Print an event of a layer source: "fence wait_start: driver=… ". */
static void put_layer_line(struct one_line_output *output, const struct gt_names *names,
			   const struct gt_event *event, const char *before)
{
	const struct gt_layer_kind *row = gt_layer_kind(event->kind);
	struct gt_strbuf *text = &output->sink.text;
	unsigned depth = gt_open_calls_depth(&output->open_calls, event);

	gt_columns_put(&output->columns, text, names, event, event->time);
	if (depth)
		gt_strbuf_pad(text, text->length, (size_t)depth * INDENT);
	gt_strbuf_printf(text, "%s %s: %s", row->source, gt_layer_event_name(row, event), before);
	gt_layer_format(text, row, names, event);
	gt_strbuf_putc(text, '\n');
}

/* Print a call or a system call that has not returned. */
static void put_unfinished(void *opaque, const struct gt_event *event)
{
	const struct gt_event_call *entry = (const void *)event;
	struct one_line_output *output = opaque;
	const struct gt_names *names = output->names;
	struct gt_call call;

	if (event->kind == GT_EVENT_entry) {
		gt_names_decode(names, entry, &call);
		put_start(output, names, entry, event->time, "");
		gt_strbuf_putc(&output->sink.text, '(');
		put_arguments(output, names, &call);
		gt_strbuf_puts(&output->sink.text, " <unfinished …>\n");
		put_callers(output, names, entry);
	} else {
		put_layer_line(output, names, event, "");
	}
	/* Without memory for it, lines are not indented: nothing worse. */
	gt_open_calls_take(&output->open_calls, event);
}

/* Print the held calls that began before a time as unfinished. */
static void release_before(struct one_line_output *output, uint64_t time)
{
	gt_held_release(&output->held, time, put_unfinished, output);
}

static void put_whole(struct one_line_output *output, const struct gt_names *names,
		      const struct gt_event_call *event)
{
	struct gt_call call;

	gt_names_decode(names, event, &call);
	put_start(output, names, event, event->head.time - event->duration, "");
	gt_strbuf_putc(&output->sink.text, '(');
	put_arguments(output, names, &call);
	put_result(&output->sink.text, &call);
	put_callers(output, names, event);
}

static void put_resumed(struct one_line_output *output, const struct gt_names *names,
			const struct gt_event_call *event)
{
	struct gt_call call;
	size_t before;

	gt_names_decode(names, event, &call);
	put_start(output, names, event, event->head.time, "<… ");
	gt_strbuf_puts(&output->sink.text, " resumed>");
	before = output->sink.text.length;
	gt_strbuf_putc(&output->sink.text, ' ');
	if (call.function)
		gt_call_format_outputs(&output->sink.text, &call);
	if (output->sink.text.length == before + 1)
		output->sink.text.length = before;
	put_result(&output->sink.text, &call);
}

static void take_return(struct one_line_output *output, const struct gt_names *names,
			const struct gt_event_call *event)
{
	uint64_t start = event->head.time - event->duration;

	if (!output->options.entries || gt_held_remove(&output->held, &event->head)) {
		release_before(output, start);
		put_whole(output, names, event);
	} else {
		release_before(output, event->head.time);
		put_resumed(output, names, event);
	}
}

/* A record of a GPU program, or a line that one printed. */
static void put_record(struct one_line_output *output, const struct gt_names *names,
		       const struct gt_event_record *event)
{
	const struct gt_event_record_parts parts = gt_event_record_split(event);
	struct gt_strbuf *text = &output->sink.text;
	gt_autofree char *name = strndup(parts.name, parts.name_length);
	gt_autofree char *details = strndup(parts.text, parts.text_length);

	release_before(output, event->head.time);
	gt_columns_put(&output->columns, text, names, &event->head, event->head.time);
	gt_put_printable(text, name && *name ? name : "printk");
	gt_strbuf_puts(text, ": ");
	gt_put_printable(text, details ? details : "");
	gt_strbuf_putc(text, '\n');
}

static void put_layer_event(struct one_line_output *output, const struct gt_names *names,
			    const struct gt_event *event)
{
	bool is_resumed = false;

	if (event->kind == GT_EVENT_syscall)
		is_resumed =
			!gt_held_remove(&output->held, event) &&
			gt_open_calls_in_syscall(&output->open_calls, event) &&
			!(((const struct gt_event_syscall *)event)->state & GT_SYSCALL_UNFINISHED);
	release_before(output, event->time);
	gt_columns_note_thread(&output->columns, event);
	put_layer_line(output, names, event, is_resumed ? "<... resumed> " : "");
}

static void put_event(struct one_line_output *output, const struct gt_names *names,
		      const struct gt_event *event)
{
	if (event->kind == GT_EVENT_call)
		take_return(output, names, (const struct gt_event_call *)event);
	else if (event->kind == GT_EVENT_record)
		put_record(output, names, (const struct gt_event_record *)event);
	else if (gt_layer_kind(event->kind))
		put_layer_event(output, names, event);
	else if (event->kind == GT_EVENT_account)
		gt_columns_put_titles(&output->columns, &output->sink.text);
}

static int one_line_event(void *opaque, const struct gt_names *names, const struct gt_event *event)
{
	struct one_line_output *output = opaque;
	int error;

	output->names = names;
	if (event->kind == GT_EVENT_call || event->kind == GT_EVENT_entry)
		gt_columns_note_thread(&output->columns, event);
	if (event->kind == GT_EVENT_entry || event->kind == GT_EVENT_syscall_entry) {
		error = gt_held_add(&output->held, event, put_unfinished, output);
	} else {
		put_event(output, names, event);
		error = gt_open_calls_take(&output->open_calls, event);
	}
	return error ? error : gt_sink_wrote(&output->sink);
}

static int one_line_flush(void *opaque)
{
	struct one_line_output *output = opaque;

	if (output->names)
		release_before(output, gt_clock_monotonic() - GT_HOLD_NS);
	return gt_sink_flush(&output->sink);
}

static int one_line_close(void *opaque, struct gt_diag *diag)
{
	struct one_line_output *output = opaque;
	int error;

	if (output->names)
		release_before(output, UINT64_MAX);
	error = gt_sink_close(&output->sink, diag);
	output_free(output);
	return error;
}

const struct gt_output gt_output_one_line = {
	.name = "one-line",
	.help = "one line for each call",
	.open = one_line_open,
	.event = one_line_event,
	.flush = one_line_flush,
	.close = one_line_close,
};
