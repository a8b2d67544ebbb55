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
#include "base/vec.h"
#include "elf/demangle.h"
#include "event/kinds.h"
#include "layers/layers.h"
#include "output/columns.h"
#include "output/launch.h"
#include "output/sink.h"
#include "output/stack.h"

#define TITLES "CALL"
#define HOLD_NS 100000000 /* a call that blocks for longer is shown while it does */
#define MAX_HELD 1024     /* calls; further ones are shown at once */
#define INDENT 2          /* columns that a nested call is moved to the right */
#define STACK_COLUMN 8

/* A call that began and has not returned; its line is not printed. */
struct held_call {
	uint64_t start; /* ns */
	uint32_t thread;
	uint16_t sequence;
	struct gt_event *event; /* the entry; owned */
};

struct one_line_output {
	struct gt_output_options options;
	struct gt_sink sink;
	struct gt_columns columns;
	struct gt_demangler *demangler;
	GT_VEC(struct held_call) held;
	const struct gt_names *names; /* as of the last event; NULL: there was none */
};

static void output_free(struct one_line_output *output)
{
	if (!output)
		return;
	gt_vec_each (call, &output->held)
		free(call->event);
	gt_vec_free(&output->held);
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

/* Print a call that has not returned. */
static void put_unfinished(struct one_line_output *output, const struct gt_names *names,
			   const struct gt_event_call *entry)
{
	struct gt_call call;

	gt_names_decode(names, entry, &call);
	put_start(output, names, entry, entry->head.time, "");
	gt_strbuf_putc(&output->sink.text, '(');
	put_arguments(output, names, &call);
	gt_strbuf_puts(&output->sink.text, " <unfinished …>\n");
	put_callers(output, names, entry);
}

/* Print the held calls that began before a time as unfinished. They are in that order. */
static void release_before(struct one_line_output *output, const struct gt_names *names,
			   uint64_t time)
{
	size_t count = 0;

	while (count < output->held.count && output->held.items[count].start < time) {
		put_unfinished(output, names,
			       (const struct gt_event_call *)output->held.items[count].event);
		free(output->held.items[count++].event);
	}
	output->held.count -= count;
	if (count)
		memmove(output->held.items, output->held.items + count,
			output->held.count * sizeof(*output->held.items));
}

static int hold_call(struct one_line_output *output, const struct gt_names *names,
		     const struct gt_event_call *entry)
{
	struct held_call call = {
		.start = entry->head.time,
		.thread = entry->head.thread,
		.sequence = entry->sequence,
	};
	size_t at;

	if (output->held.count >= MAX_HELD)
		release_before(output, names, output->held.items[MAX_HELD / 2].start);
	call.event = malloc(entry->head.size);
	if (!call.event)
		return -ENOMEM;
	memcpy(call.event, entry, entry->head.size);
	if (gt_vec_push(&output->held, call)) {
		free(call.event);
		return -ENOMEM;
	}
	/* Threads on different CPUs can put their records into the ring in another order. */
	for (at = output->held.count - 1; at && output->held.items[at - 1].start > call.start; at--)
		output->held.items[at] = output->held.items[at - 1];
	output->held.items[at] = call;
	return 0;
}

/* Remove a call that returns from the held ones; false: it is not among them. */
static bool take_held(struct one_line_output *output, const struct gt_event_call *event)
{
	for (size_t i = output->held.count; i-- > 0;) {
		struct held_call *call = &output->held.items[i];

		if (call->thread != event->head.thread || call->sequence != event->sequence)
			continue;
		free(call->event);
		output->held.count--;
		memmove(call, call + 1, (output->held.count - i) * sizeof(*call));
		return true;
	}
	return false;
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

	if (!output->options.entries || take_held(output, event)) {
		release_before(output, names, start);
		put_whole(output, names, event);
	} else {
		release_before(output, names, event->head.time);
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

	release_before(output, names, event->head.time);
	gt_columns_put(&output->columns, text, names, &event->head, event->head.time);
	gt_put_printable(text, name && *name ? name : "printk");
	gt_strbuf_puts(text, ": ");
	gt_put_printable(text, details ? details : "");
	gt_strbuf_putc(text, '\n');
}

/* An event of a layer source: "fence wait_start: driver=… ". */
static void put_layer_event(struct one_line_output *output, const struct gt_names *names,
			    const struct gt_layer_kind *row, const struct gt_event *event)
{
	struct gt_strbuf *text = &output->sink.text;

	release_before(output, names, event->time);
	gt_columns_note_thread(&output->columns, event);
	gt_columns_put(&output->columns, text, names, event, event->time);
	gt_strbuf_printf(text, "%s %s: ", row->source, gt_layer_event_name(row, event));
	gt_layer_format(text, row, names, event);
	gt_strbuf_putc(text, '\n');
}

static int one_line_event(void *opaque, const struct gt_names *names, const struct gt_event *event)
{
	const struct gt_layer_kind *layer = gt_layer_kind(event->kind);
	struct one_line_output *output = opaque;
	int error = 0;

	output->names = names;
	if (event->kind == GT_EVENT_call || event->kind == GT_EVENT_entry)
		gt_columns_note_thread(&output->columns, event);
	if (event->kind == GT_EVENT_entry)
		error = hold_call(output, names, (const struct gt_event_call *)event);
	else if (event->kind == GT_EVENT_call)
		take_return(output, names, (const struct gt_event_call *)event);
	else if (event->kind == GT_EVENT_record)
		put_record(output, names, (const struct gt_event_record *)event);
	else if (layer)
		put_layer_event(output, names, layer, event);
	else if (event->kind == GT_EVENT_account)
		gt_columns_put_titles(&output->columns, &output->sink.text);
	return error ? error : gt_sink_wrote(&output->sink);
}

static int one_line_flush(void *opaque)
{
	struct one_line_output *output = opaque;

	if (output->names && output->held.count)
		release_before(output, output->names, gt_clock_monotonic() - HOLD_NS);
	return gt_sink_flush(&output->sink);
}

static int one_line_close(void *opaque, struct gt_diag *diag)
{
	struct one_line_output *output = opaque;
	int error;

	if (output->names)
		release_before(output, output->names, UINT64_MAX);
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
