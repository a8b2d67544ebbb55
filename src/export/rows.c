/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "export/rows.h"

#include <inttypes.h>

const struct gt_layer_kind *gt_export_layer_kind(const struct gt_event *event)
{
	return event->kind == GT_EVENT_gpu_work ? NULL : gt_layer_kind(event->kind);
}

void gt_call_row_fill(struct gt_call_row *row, const struct gt_names *names,
		      struct gt_demangler *demangler, const struct gt_event_call *event)
{
	const char *kernel;
	bool known;

	row->event = event;
	gt_names_decode(names, event, &row->call);
	known = row->call.function;
	row->name = gt_names_function(names, event->function);
	row->start = event->head.time > event->duration ? event->head.time - event->duration : 0;
	row->has_result = !(event->state & GT_CALL_UNFINISHED);
	gt_strbuf_clear(&row->result);
	if (row->has_result && known)
		gt_api_format_result(&row->result, row->call.function, event->result, false);
	else if (row->has_result)
		gt_strbuf_hex(&row->result, event->result);
	row->context = gt_names_context(names, event);
	row->has_stream = known && gt_call_stream(&row->call, &row->stream);
	row->has_bytes = known && gt_call_bytes(&row->call, &row->bytes);
	row->has_launch = known && gt_call_launch(&row->call, &row->launch);
	row->direction = known ? gt_api_direction_name(gt_call_direction(&row->call)) : NULL;
	kernel = known ? gt_names_call_kernel(names, &row->call) : NULL;
	row->kernel = kernel ? gt_demangler_full(demangler, kernel) : NULL;
}

void gt_call_row_free(struct gt_call_row *row)
{
	gt_strbuf_free(&row->result);
}

/* Whether a change adds memory (1), removes it (-1), or neither. */
static int direction_of(const struct gt_memory_change *change)
{
	switch (change->what) {
	case GT_MEMORY_ALLOCATED:
		return 1;
	case GT_MEMORY_FREED:
	case GT_MEMORY_REPLACED:
	case GT_MEMORY_LEFT_TO_RESET:
	case GT_MEMORY_LEFT_TO_CONTEXT:
	case GT_MEMORY_LEFT_TO_EXIT:
		return -1;
	default:
		return 0;
	}
}

int64_t gt_memory_change_bytes(const struct gt_memory_change *change, bool *ret_is_host)
{
	const struct gt_allocation *allocation = change->allocation;

	if (!allocation || allocation->imported || allocation->bytes > INT64_MAX)
		return 0;
	*ret_is_host = allocation->space == GT_SPACE_HOST;
	return direction_of(change) * (int64_t)allocation->bytes;
}

void gt_put_dimensions(struct gt_strbuf *text, const uint32_t dimensions[3])
{
	for (unsigned i = 0; i < 3; i++) {
		if (i)
			gt_strbuf_putc(text, 'x');
		gt_strbuf_u64(text, dimensions[i]);
	}
}

void gt_put_stream(struct gt_strbuf *text, uint64_t stream)
{
	if (stream == GT_STREAM_LEGACY)
		gt_strbuf_puts(text, "legacy");
	else if (stream == GT_STREAM_PER_THREAD)
		gt_strbuf_puts(text, "per-thread");
	else
		gt_strbuf_hex(text, stream);
}

void gt_put_gpu_operation(struct gt_strbuf *text, struct gt_demangler *demangler,
			  const struct gt_gpu_interval *interval)
{
	if (interval->kernel)
		gt_strbuf_puts(text, gt_demangler_full(demangler, interval->kernel));
	else
		gt_strbuf_puts(text, gt_gpu_operation_name(interval->operation));
}

static void json_join(struct gt_json *json, const char *key, const struct gt_timeline_join *join)
{
	if (!join->number) {
		gt_json_null(json, key);
		return;
	}
	gt_json_object_begin(json, key);
	gt_json_u64(json, "tid", gt_id_number(join->thread));
	gt_json_u64(json, "time", join->start);
	gt_json_u64(json, "duration", join->end - join->start);
	gt_json_object_end(json);
}

void gt_json_gpu_interval(struct gt_json *json, const struct gt_names *names,
			  struct gt_demangler *demangler, const struct gt_gpu_interval *interval)
{
	gt_auto_strbuf stream = GT_STRBUF_INIT;

	gt_put_stream(&stream, interval->stream);
	gt_json_string(json, "schema", "gputap.gpu_operation.1");
	gt_json_u64(json, "number", interval->number);
	gt_json_string(json, "operation", gt_gpu_operation_name(interval->operation));
	gt_json_u64(json, "time", interval->start);
	gt_json_string(json, "clock", "monotonic");
	gt_json_u64(json, "duration", interval->end - interval->start);
	gt_json_string(json, "basis", gt_times_basis_name(interval->basis));
	gt_json_u64(json, "error", interval->error);
	gt_json_u64(json, "shares", interval->shares);
	gt_json_u64(json, "submitted", interval->submitted);
	gt_json_u64(json, "released", interval->released);
	gt_json_u64(json, "pid", gt_id_number(interval->process));
	gt_json_u64(json, "tid", gt_id_number(interval->thread));
	gt_json_string(json, "process", gt_names_process(names, interval->process));
	gt_json_rank(json, names, interval->process);
	if (interval->device == GT_DEVICE_UNKNOWN)
		gt_json_null(json, "device");
	else
		gt_json_i64(json, "device", interval->device);
	if (interval->context)
		gt_json_hex(json, "context", interval->context);
	else
		gt_json_null(json, "context");
	gt_json_string(json, "stream", gt_strbuf_string(&stream));
	if (interval->kernel)
		gt_json_string(json, "kernel", gt_demangler_full(demangler, interval->kernel));
	if (interval->has_bytes)
		gt_json_u64(json, "bytes", interval->bytes);
	json_join(json, "call", &interval->call);
	json_join(json, "wait", &interval->wait);
	if (interval->previous)
		gt_json_u64(json, "previous", interval->previous);
	else
		gt_json_null(json, "previous");
	gt_json_array_begin(json, "dependencies");
	for (unsigned i = 0; i < interval->dependency_count; i++)
		gt_json_u64(json, NULL, interval->dependencies[i]);
	gt_json_array_end(json);
}
