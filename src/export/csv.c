/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The format "csv" (RFC 4180): a row per call, operation of a GPU and event of a layer. All rows
 * have the same columns; docs/export.md describes them.
 */
#include <errno.h>

#include "base/text.h"
#include "event/kinds.h"
#include "export/export.h"
#include "export/rows.h"
#include "layers/layers.h"
#include "output/sink.h"

struct csv_export {
	struct gt_sink sink;
	struct gt_timeline *timeline;
	struct gt_demangler *demangler;
	struct gt_call_row call;
	struct gt_strbuf cell; /* its memory is used again */
	bool comments;
};

/* What a row is about: one of the three. */
struct csv_row {
	const struct gt_names *names;
	const struct gt_event *event; /* of `call` and `layer` */
	const struct gt_call_row *call;
	const struct gt_gpu_interval *gpu;
	const struct gt_layer_kind *layer;
	struct gt_demangler *demangler;
};

static void put_kind(struct gt_strbuf *cell, const struct csv_row *row)
{
	gt_strbuf_puts(cell, row->call ? "call" : row->gpu ? "gpu" : "event");
}

static void put_source(struct gt_strbuf *cell, const struct csv_row *row)
{
	if (row->layer)
		gt_strbuf_puts(cell, row->layer->source);
	else if (row->call && row->call->call.function)
		gt_strbuf_puts(cell, row->call->call.function->library);
}

static uint64_t start_of(const struct gt_event *event)
{
	uint64_t duration = 0;

	gt_event_duration(event, &duration);
	return event->time > duration ? event->time - duration : 0;
}

static void put_time(struct gt_strbuf *cell, const struct csv_row *row)
{
	gt_strbuf_u64(cell, row->gpu ? row->gpu->start : start_of(row->event));
}

static void put_duration(struct gt_strbuf *cell, const struct csv_row *row)
{
	uint64_t duration;

	if (row->gpu)
		gt_strbuf_u64(cell, row->gpu->end - row->gpu->start);
	else if (gt_event_duration(row->event, &duration))
		gt_strbuf_u64(cell, duration);
}

static __u32 process_of(const struct csv_row *row)
{
	return row->gpu ? row->gpu->process : row->event->process;
}

static void put_pid(struct gt_strbuf *cell, const struct csv_row *row)
{
	gt_strbuf_u64(cell, gt_id_number(process_of(row)));
}

static void put_tid(struct gt_strbuf *cell, const struct csv_row *row)
{
	gt_strbuf_u64(cell, gt_id_number(row->gpu ? row->gpu->thread : row->event->thread));
}

static void put_process(struct gt_strbuf *cell, const struct csv_row *row)
{
	gt_strbuf_puts(cell, gt_names_process(row->names, process_of(row)));
}

static void put_machine(struct gt_strbuf *cell, const struct csv_row *row)
{
	gt_strbuf_u64(cell, gt_id_machine(process_of(row)));
}

static void put_rank(struct gt_strbuf *cell, const struct csv_row *row)
{
	__u32 rank;

	if (gt_names_rank(row->names, process_of(row), &rank))
		gt_strbuf_u64(cell, rank);
}

static void put_name(struct gt_strbuf *cell, const struct csv_row *row)
{
	if (row->call)
		gt_strbuf_puts(cell, row->call->name);
	else if (row->gpu)
		gt_strbuf_puts(cell, gt_gpu_operation_name(row->gpu->operation));
	else
		gt_strbuf_puts(cell, gt_layer_event_name(row->layer, row->event));
}

static void put_device(struct gt_strbuf *cell, const struct csv_row *row)
{
	int device = row->gpu ? row->gpu->device : row->event->device;

	if (device != GT_DEVICE_UNKNOWN)
		gt_strbuf_i64(cell, device);
}

static void put_context(struct gt_strbuf *cell, const struct csv_row *row)
{
	if (row->gpu && row->gpu->context)
		gt_strbuf_hex(cell, row->gpu->context);
	else if (row->call && row->call->context)
		gt_strbuf_hex(cell, row->call->context->handle);
}

static void put_stream(struct gt_strbuf *cell, const struct csv_row *row)
{
	const char *label;

	if (row->gpu)
		gt_put_stream(cell, row->gpu->stream);
	if (!row->call || !row->call->has_stream)
		return;
	label = gt_call_stream_label(&row->call->call, row->call->stream);
	if (label)
		gt_strbuf_puts(cell, label);
	else
		gt_strbuf_hex(cell, row->call->stream);
}

static void put_bytes(struct gt_strbuf *cell, const struct csv_row *row)
{
	if (row->gpu && row->gpu->has_bytes)
		gt_strbuf_u64(cell, row->gpu->bytes);
	else if (row->call && row->call->has_bytes)
		gt_strbuf_u64(cell, row->call->bytes);
}

static void put_direction(struct gt_strbuf *cell, const struct csv_row *row)
{
	if (row->call && row->call->direction)
		gt_strbuf_puts(cell, row->call->direction);
}

static void put_kernel(struct gt_strbuf *cell, const struct csv_row *row)
{
	if (row->gpu && row->gpu->kernel)
		gt_strbuf_puts(cell, gt_demangler_full(row->demangler, row->gpu->kernel));
	else if (row->call && row->call->kernel)
		gt_strbuf_puts(cell, row->call->kernel);
}

static void put_grid(struct gt_strbuf *cell, const struct csv_row *row)
{
	if (row->call && row->call->has_launch)
		gt_put_dimensions(cell, row->call->launch.grid);
}

static void put_block(struct gt_strbuf *cell, const struct csv_row *row)
{
	if (row->call && row->call->has_launch)
		gt_put_dimensions(cell, row->call->launch.block);
}

static void put_shared(struct gt_strbuf *cell, const struct csv_row *row)
{
	if (row->call && row->call->has_launch)
		gt_strbuf_u64(cell, row->call->launch.shared);
}

static void put_depth(struct gt_strbuf *cell, const struct csv_row *row)
{
	if (row->call)
		gt_strbuf_u64(cell, row->call->event->depth);
}

static void put_result(struct gt_strbuf *cell, const struct csv_row *row)
{
	if (row->call)
		gt_strbuf_puts(cell, gt_strbuf_string(&row->call->result));
}

static void put_failed(struct gt_strbuf *cell, const struct csv_row *row)
{
	if (row->call && row->call->call.function)
		gt_strbuf_u64(cell, row->call->call.failed);
	else if (row->layer && row->layer->error)
		gt_strbuf_u64(cell, row->layer->error(row->event) != 0);
}

static void put_stack(struct gt_strbuf *cell, const struct csv_row *row)
{
	if (row->call && row->call->event->stack)
		gt_strbuf_hex(cell, row->call->event->stack);
}

static void put_number(struct gt_strbuf *cell, const struct csv_row *row)
{
	if (row->gpu)
		gt_strbuf_u64(cell, row->gpu->number);
}

static void put_basis(struct gt_strbuf *cell, const struct csv_row *row)
{
	if (row->gpu)
		gt_strbuf_puts(cell, gt_times_basis_name(row->gpu->basis));
}

static void put_submitted(struct gt_strbuf *cell, const struct csv_row *row)
{
	if (row->gpu)
		gt_strbuf_u64(cell, row->gpu->submitted);
}

static void put_call_time(struct gt_strbuf *cell, const struct csv_row *row)
{
	if (row->gpu && row->gpu->call.number)
		gt_strbuf_u64(cell, row->gpu->call.start);
}

static void put_wait_time(struct gt_strbuf *cell, const struct csv_row *row)
{
	if (row->gpu && row->gpu->wait.number)
		gt_strbuf_u64(cell, row->gpu->wait.start);
}

static void put_wait_tid(struct gt_strbuf *cell, const struct csv_row *row)
{
	if (row->gpu && row->gpu->wait.number)
		gt_strbuf_u64(cell, gt_id_number(row->gpu->wait.thread));
}

static void put_details(struct gt_strbuf *cell, const struct csv_row *row)
{
	if (row->layer) {
		gt_layer_format(cell, row->layer, row->names, row->event);
	} else if (row->call && row->call->call.function) {
		gt_call_format_arguments(cell, &row->call->call);
	}
}

/* In this order. Columns are only ever appended. */
static const struct {
	const char *name;
	void (*put)(struct gt_strbuf *cell, const struct csv_row *row);
} columns[] = {
	{"kind", put_kind},
	{"source", put_source},
	{"time", put_time},
	{"duration", put_duration},
	{"pid", put_pid},
	{"tid", put_tid},
	{"process", put_process},
	{"name", put_name},
	{"device", put_device},
	{"context", put_context},
	{"stream", put_stream},
	{"bytes", put_bytes},
	{"direction", put_direction},
	{"kernel", put_kernel},
	{"grid", put_grid},
	{"block", put_block},
	{"shared", put_shared},
	{"depth", put_depth},
	{"result", put_result},
	{"failed", put_failed},
	{"stack", put_stack},
	{"number", put_number},
	{"basis", put_basis},
	{"submitted", put_submitted},
	{"call_time", put_call_time},
	{"wait_time", put_wait_time},
	{"wait_tid", put_wait_tid},
	{"details", put_details},
	{"machine", put_machine},
	{"rank", put_rank},
};

/* Add a cell, in quotes if it needs them. Bytes that are not UTF-8 become U+FFFD. */
static void put_cell(struct gt_strbuf *line, const struct gt_strbuf *cell)
{
	const char *text = gt_strbuf_string(cell);

	if (!strpbrk(text, ",\"\r\n")) {
		gt_put_utf8(line, text, strlen(text));
		return;
	}
	gt_strbuf_putc(line, '"');
	while (*text) {
		size_t length = strcspn(text, "\"");

		gt_put_utf8(line, text, length);
		if (text[length])
			gt_strbuf_puts(line, "\"\"");
		text += length + (text[length] == '"');
	}
	gt_strbuf_putc(line, '"');
}

static int put_row(struct csv_export *state, struct csv_row *row)
{
	struct gt_strbuf *line = &state->sink.text;

	row->demangler = state->demangler;
	for (size_t i = 0; i < gt_countof(columns); i++) {
		gt_strbuf_clear(&state->cell);
		columns[i].put(&state->cell, row);
		if (i)
			gt_strbuf_putc(line, ',');
		put_cell(line, &state->cell);
	}
	gt_strbuf_puts(line, "\r\n");
	return gt_sink_wrote(&state->sink);
}

static int put_gpu_row(void *opaque, const struct gt_names *names,
		       const struct gt_gpu_interval *interval)
{
	return put_row(opaque, &(struct csv_row){.names = names, .gpu = interval});
}

static void csv_free(struct csv_export *state)
{
	gt_timeline_free(state->timeline);
	gt_demangler_free(state->demangler);
	gt_call_row_free(&state->call);
	gt_strbuf_free(&state->cell);
	free(state);
}

static int csv_open(const struct gt_export_options *options, void **ret_state, struct gt_diag *diag)
{
	struct csv_export *state = calloc(1, sizeof(*state));
	const struct gt_timeline_sink sink = {.gpu = put_gpu_row, .context = state};
	int error;

	if (state) {
		state->timeline = gt_timeline_new(&sink);
		state->demangler = gt_demangler_new();
	}
	if (!state || !state->timeline || !state->demangler)
		error = gt_diag(diag, -ENOMEM, "export", NULL, "out of memory");
	else
		error = gt_sink_open(&state->sink, &options->output, diag);
	if (error) {
		if (state)
			csv_free(state);
		return error;
	}
	for (size_t i = 0; i < gt_countof(columns); i++)
		gt_strbuf_printf(&state->sink.text, "%s%s", i ? "," : "", columns[i].name);
	gt_strbuf_puts(&state->sink.text, "\r\n");
	state->comments = options->comments;
	*ret_state = state;
	return 0;
}

static int csv_event(void *opaque, const struct gt_names *names, const struct gt_event *event)
{
	struct csv_export *state = opaque;
	struct csv_row row = {.names = names, .event = event, .layer = gt_export_layer_kind(event)};
	int error = 0;

	if (event->kind == GT_EVENT_call) {
		gt_call_row_fill(&state->call, names, state->demangler, (const void *)event);
		row.call = &state->call;
	}
	if (row.call || row.layer)
		error = put_row(state, &row);
	return error ? error : gt_timeline_take(state->timeline, names, event);
}

static int csv_close(void *opaque, const struct gt_names *names, struct gt_diag *diag)
{
	struct csv_export *state = opaque;
	int error = names ? gt_timeline_finish(state->timeline, names) : 0;
	int closed;

	if (names && state->comments && gt_names_is_incomplete(names)) {
		gt_strbuf_puts(&state->sink.text, "# ");
		gt_put_incomplete(&state->sink.text, names);
		gt_strbuf_puts(&state->sink.text, "\r\n");
	}
	closed = gt_sink_close(&state->sink, diag);
	csv_free(state);
	return error ? error : closed;
}

const struct gt_export_format gt_export_csv = {
	.name = "csv",
	.help = "a table: a row per call, GPU operation and event",
	.extension = ".csv",
	.has_comments = true,
	.open = csv_open,
	.event = csv_event,
	.close = csv_close,
};
