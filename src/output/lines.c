/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The output "lines": what a person reads while it happens. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analysis/job_chains.h"
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

#define TITLES "EVENT                    TYPE     DETAILS"
#define EVENT_WIDTH 24 /* a longer name moves the rest of its line alone */
#define TYPE_WIDTH 8
#define STACK_COLUMN 8
#define INDENT 2 /* columns a nested call is moved to the right */

struct lines_output {
	struct gt_output_options options;
	struct gt_sink sink;
	struct gt_columns columns;
	struct gt_demangler *demangler;
	struct gt_held_calls held; /* system calls */
	struct gt_open_calls open_calls;
	struct gt_job_chains *chains; /* which call submitted a job */
	const struct gt_names *names; /* as of the last event; NULL: there was none */
};

static void lines_free(struct lines_output *lines)
{
	if (!lines)
		return;
	gt_held_free(&lines->held);
	gt_open_calls_free(&lines->open_calls);
	gt_job_chains_free(lines->chains);
	gt_demangler_free(lines->demangler);
	gt_columns_free(&lines->columns);
	free(lines);
}

static int ignore_chain(void *context, const struct gt_job_chain *chain)
{
	return 0;
}

static int lines_open(const struct gt_output_options *options, void **ret_state,
		      struct gt_diag *diag)
{
	struct lines_output *lines = calloc(1, sizeof(*lines));
	int error;

	if (lines) {
		lines->demangler = gt_demangler_new();
		lines->chains = gt_job_chains_new(ignore_chain, NULL);
	}
	if (!lines || !lines->demangler || !lines->chains ||
	    (options->entries && gt_open_calls_init(&lines->open_calls)) ||
	    gt_columns_init(&lines->columns, options->time, TITLES)) {
		lines_free(lines);
		return gt_diag(diag, -ENOMEM, "output", NULL, "out of memory");
	}
	lines->options = *options;
	error = gt_sink_open(&lines->sink, options, diag);
	if (error) {
		lines_free(lines);
		return error;
	}
	*ret_state = lines;
	return 0;
}

static void put_columns(struct lines_output *lines, const struct gt_names *names,
			const struct gt_event *event, uint64_t time, unsigned depth,
			const char *name, const char *type)
{
	struct gt_strbuf *text = &lines->sink.text;
	size_t start;

	gt_columns_put(&lines->columns, text, names, event, time);
	start = text->length;
	if (depth)
		gt_strbuf_pad(text, start, (size_t)depth * INDENT);
	gt_put_printable(text, name);
	if (text->length - start <= EVENT_WIDTH)
		gt_strbuf_pad(text, start, EVENT_WIDTH + 1);
	else
		gt_strbuf_putc(text, ' ');
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

static void put_entry(struct lines_output *lines, const struct gt_names *names,
		      const struct gt_call *call)
{
	const char *kernel = gt_names_call_kernel(names, call);
	struct gt_strbuf *text = &lines->sink.text;
	size_t before = text->length;

	gt_strbuf_putc(text, ' ');
	if (call->function)
		gt_call_format_entry(text, call);
	if (kernel) {
		gt_strbuf_putc(text, ' ');
		gt_put_launched_kernel(text, lines->demangler, names, call, kernel);
	}
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
		gt_strbuf_puts(&lines->sink.text, " parent=");
		gt_put_id(&lines->sink.text, ((const struct gt_event_process *)event)->parent);
		gt_strbuf_printf(&lines->sink.text, " uid=%u\n",
				 ((const struct gt_event_process *)event)->uid);
		return;
	}
	status = end->status;
	if (status == GT_EXIT_UNKNOWN)
		gt_strbuf_puts(&lines->sink.text, " ended\n");
	else if (status & 0x7f)
		gt_strbuf_printf(&lines->sink.text, " ended by signal %u\n", status & 0x7f);
	else
		gt_strbuf_printf(&lines->sink.text, " ended with status %u\n", status >> 8 & 0xff);
}

/* A record, or a line that a program printed. Its process is not known. */
static void put_record(struct lines_output *lines, const struct gt_names *names,
		       const struct gt_event_record *event)
{
	const struct gt_event_record_parts parts = gt_event_record_split(event);
	struct gt_strbuf *text = &lines->sink.text;
	gt_autofree char *name = strndup(parts.name, parts.name_length);
	gt_autofree char *details = strndup(parts.text, parts.text_length);

	put_columns(lines, names, &event->head, event->head.time, 0,
		    name && *name ? name : "printk", "[GPU]");
	gt_strbuf_putc(text, ' ');
	gt_put_printable(text, details ? details : "");
	end_line(text);
}

/* The call that submitted the job that an event is about; nothing in the call itself. */
static void put_submitter(struct lines_output *lines, const struct gt_names *names,
			  const struct gt_event *event)
{
	const struct gt_job_chain *chain;
	uint64_t context, seqno;

	if (gt_layer_is_in_thread(event) || !gt_job_chain_key(event, &context, &seqno))
		return;
	chain = gt_job_chains_find(lines->chains, context, seqno);
	if (!chain || !chain->outermost.start)
		return;
	gt_strbuf_puts(&lines->sink.text, " call=");
	gt_put_printable(&lines->sink.text, gt_names_function(names, chain->outermost.function));
}

/* A line about an event of a layer source, up to its details; the column TYPE has the source. */
static void begin_layer_line(struct lines_output *lines, const struct gt_names *names,
			     const struct gt_layer_kind *row, const struct gt_event *event)
{
	char type[24];
	size_t i;

	gt_columns_note_thread(&lines->columns, event);
	snprintf(type, sizeof(type), "[%s]", row->source);
	for (i = 0; type[i]; i++)
		type[i] = (char)toupper((unsigned char)type[i]);
	put_columns(lines, names, event, event->time,
		    gt_open_calls_depth(&lines->open_calls, event), gt_layer_event_name(row, event),
		    type);
	gt_strbuf_putc(&lines->sink.text, ' ');
}

static void put_layer_event(struct lines_output *lines, const struct gt_names *names,
			    const struct gt_event *event)
{
	const struct gt_layer_kind *row = gt_layer_kind(event->kind);

	if (!row)
		return;
	begin_layer_line(lines, names, row, event);
	gt_layer_format(&lines->sink.text, row, names, event);
	put_submitter(lines, names, event);
	end_line(&lines->sink.text);
}

/* A system call that has not returned. */
static void put_unfinished(void *opaque, const struct gt_event *entry)
{
	struct lines_output *lines = opaque;

	put_layer_event(lines, lines->names, entry);
	/* Without memory for it, lines are not indented: nothing worse. */
	gt_open_calls_take(&lines->open_calls, entry);
}

static void put_syscall(struct lines_output *lines, const struct gt_names *names,
			const struct gt_event *event)
{
	const struct gt_layer_kind *row = gt_layer_kind(event->kind);
	bool is_resumed =
		!gt_held_remove(&lines->held, event) &&
		gt_open_calls_in_syscall(&lines->open_calls, event) &&
		!(((const struct gt_event_syscall *)event)->state & GT_SYSCALL_UNFINISHED);

	gt_held_release(&lines->held, event->time, put_unfinished, lines);
	begin_layer_line(lines, names, row, event);
	if (is_resumed)
		gt_strbuf_puts(&lines->sink.text, "<... resumed> ");
	gt_layer_format(&lines->sink.text, row, names, event);
	end_line(&lines->sink.text);
}

/* Take an entry of a system call: its line is put when something happens before its return. */
static int hold_syscall(struct lines_output *lines, const struct gt_event *entry)
{
	if (!lines->options.returns)
		return 0;
	gt_held_release(&lines->held, entry->time, put_unfinished, lines);
	return gt_held_add(&lines->held, entry, put_unfinished, lines);
}

/* Whether an event may have a line, before which earlier system calls are shown. */
static bool may_have_line(const struct lines_output *lines, const struct gt_event *event)
{
	switch (event->kind) {
	case GT_EVENT_call:
	case GT_EVENT_entry:
	case GT_EVENT_cgroup:
	case GT_EVENT_record:
		return true;
	case GT_EVENT_process:
	case GT_EVENT_exit:
		return lines->options.processes;
	default:
		return event->kind != GT_EVENT_syscall && gt_layer_kind(event->kind);
	}
}

static void put_event(struct lines_output *lines, const struct gt_names *names,
		      const struct gt_event *event)
{
	switch (event->kind) {
	case GT_EVENT_call:
	case GT_EVENT_entry:
		gt_columns_note_thread(&lines->columns, event);
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
	case GT_EVENT_record:
		put_record(lines, names, (const struct gt_event_record *)event);
		break;
	case GT_EVENT_account:
		gt_columns_put_titles(&lines->columns, &lines->sink.text);
		break;
	case GT_EVENT_syscall:
		put_syscall(lines, names, event);
		break;
	default:
		put_layer_event(lines, names, event);
	}
}

static int lines_event(void *opaque, const struct gt_names *names, const struct gt_event *event)
{
	struct lines_output *lines = opaque;
	int error = gt_job_chains_take(lines->chains, event);

	if (error)
		return error;
	lines->names = names;
	if (event->kind == GT_EVENT_syscall_entry)
		return hold_syscall(lines, event);
	if (may_have_line(lines, event))
		gt_held_release(&lines->held, event->time, put_unfinished, lines);
	put_event(lines, names, event);
	error = gt_open_calls_take(&lines->open_calls, event);
	return error ? error : gt_sink_wrote(&lines->sink);
}

static int lines_flush(void *opaque)
{
	struct lines_output *lines = opaque;

	if (lines->names)
		gt_held_release(&lines->held, gt_clock_monotonic() - GT_HOLD_NS, put_unfinished,
				lines);
	return gt_sink_flush(&lines->sink);
}

static int lines_close(void *opaque, struct gt_diag *diag)
{
	struct lines_output *lines = opaque;
	int error;

	if (lines->names)
		gt_held_release(&lines->held, UINT64_MAX, put_unfinished, lines);
	error = gt_sink_close(&lines->sink, diag);
	lines_free(lines);
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
