/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "layers/layers.h"

#include <string.h>

#include "base/text.h"
#include "event/kinds.h"

/* clang-format off */
static const struct gt_layer_kinds *const sources[] = {
	&gt_layer_gpu_work,
	&gt_layer_nvml,
	&gt_layer_sched,
	&gt_layer_fault,
	&gt_layer_block,
	&gt_layer_cgroup,
	&gt_layer_power,
	&gt_layer_fence,
	&gt_layer_drm,
	&gt_layer_drivers,
	&gt_layer_pcie,
	&gt_layer_nvidia,
	&gt_layer_nvlink,
	&gt_layer_vblank,
	&gt_layer_syscall,
};
/* clang-format on */

const struct gt_layer_kind *gt_layer_kind(unsigned kind)
{
	for (size_t i = 0; i < gt_countof(sources); i++)
		for (size_t row = 0; row < sources[i]->count; row++)
			if (sources[i]->rows[row].kind == kind)
				return &sources[i]->rows[row];
	return NULL;
}

const char *gt_layer_event_name(const struct gt_layer_kind *row, const struct gt_event *event)
{
	return row->variant ? row->variant(event) : row->name;
}

bool gt_layer_is_in_thread(const struct gt_event *event)
{
	switch (event->kind) {
	case GT_EVENT_syscall:
	case GT_EVENT_syscall_entry:
	case GT_EVENT_off_cpu:
	case GT_EVENT_page_fault:
	case GT_EVENT_fence_wait:
	case GT_EVENT_pci_config:
	case GT_EVENT_pci_access:
	case GT_EVENT_nvlink_call:
		return true;
	case GT_EVENT_nvidia_call: {
		const struct gt_event_nvidia_call *call = (const void *)event;

		return call->function != GT_NVIDIA_isr && call->function != GT_NVIDIA_isr_msix &&
		       call->function != GT_NVIDIA_isr_bottom_half;
	}
	case GT_EVENT_fence: {
		const struct gt_event_fence *fence = (const void *)event;

		return fence->operation == GT_FENCE_INIT || fence->operation == GT_FENCE_WAIT_START;
	}
	case GT_EVENT_drm_job:
		return ((const struct gt_event_drm_job *)event)->operation == GT_DRM_QUEUE;
	case GT_EVENT_vblank:
		return ((const struct gt_event_vblank *)event)->operation == GT_VBLANK_QUEUED;
	default:
		return false;
	}
}

/* A field's value; fields are not aligned to more than their size. */
static uint64_t read_field(const void *at, const struct gt_event_field *field)
{
	uint64_t value = 0;

	memcpy(&value, at, field->size < sizeof(value) ? field->size : sizeof(value));
	return value;
}

/* Signed types are "__s32" and such. */
static int64_t sign_extend(uint64_t value, size_t size)
{
	unsigned shift = 64 - 8 * (unsigned)size;

	return (int64_t)(value << shift) >> shift;
}

static bool is_tail(const struct gt_event_field *field)
{
	return strchr(field->type, '[');
}

static bool is_shown(const struct gt_event_field *field)
{
	return strncmp(field->name, "reserved", strlen("reserved")) != 0;
}

static const struct gt_layer_field *find_format(const struct gt_layer_kind *row, const char *name)
{
	for (size_t i = 0; i < row->field_count; i++)
		if (!strcmp(row->fields[i].name, name))
			return &row->fields[i];
	return NULL;
}

/* Whether the value of a field that is shown as a number is not known. */
static bool is_unknown(const struct gt_layer_kind *row, const struct gt_layer_field *format,
		       const struct gt_event_field *field, uint64_t value)
{
	return (format && !value) ||
	       (row->has_unknown && value == UINT64_MAX >> (64 - 8 * field->size));
}

/* ---- text --------------------------------------------------------------------------------- */

static void put_value(struct gt_strbuf *text, const struct gt_event_field *field, uint64_t value)
{
	if (!strcmp(field->unit, "ns"))
		gt_format_duration(text, value);
	else if (!strcmp(field->unit, "bytes"))
		gt_format_bytes(text, value);
	else if (!strcmp(field->unit, "address") || !strcmp(field->unit, "flags"))
		gt_strbuf_hex(text, value);
	else if (!strcmp(field->unit, "task"))
		gt_put_id(text, (uint32_t)value);
	else if (!strncmp(field->type, "__s", 3))
		gt_strbuf_i64(text, sign_extend(value, field->size));
	else
		gt_strbuf_u64(text, value);
}

static void put_text_tail(struct gt_strbuf *text, const struct gt_event_field *field,
			  const struct gt_event *event)
{
	size_t length;
	const char *tail = gt_event_text(event, &length);
	gt_autofree char *copy = length ? strndup(tail, length) : NULL;

	if (!copy)
		return;
	gt_strbuf_printf(text, "%s%s=", text->length ? " " : "", field->name);
	gt_put_printable(text, copy);
}

/* The duration is at the end of the line; 0: it is not known. */
static void put_fields(struct gt_strbuf *text, const struct gt_layer_kind *row,
		       const struct gt_names *names, const struct gt_event *event)
{
	const struct gt_event_kind_info *kind = gt_event_kind(event->kind);
	const char *at = (const char *)(event + 1);

	for (unsigned i = 0; i < kind->field_count; i++) {
		const struct gt_event_field *field = &kind->fields[i];
		const struct gt_layer_field *format = find_format(row, field->name);
		size_t start = text->length, begun;

		if (is_tail(field)) {
			if (!strcmp(field->type, "char[]"))
				put_text_tail(text, field, event);
			return;
		}
		if (is_shown(field) && strcmp(field->name, "duration")) {
			uint64_t value = read_field(at, field);

			gt_strbuf_printf(text, "%s%s=", start ? " " : "", field->name);
			begun = text->length;
			if (format && format->format)
				format->format(text, names, event, value);
			else if (!is_unknown(row, format, field, value))
				put_value(text, field, value);
			if (text->length == begun && text->data)
				text->data[text->length = start] = '\0';
		}
		at += field->size;
	}
}

void gt_layer_format(struct gt_strbuf *text, const struct gt_layer_kind *row,
		     const struct gt_names *names, const struct gt_event *event)
{
	gt_auto_strbuf details = GT_STRBUF_INIT;
	const char *first;
	uint64_t duration;

	if (row->text)
		row->text(&details, names, event);
	else
		put_fields(&details, row, names, event);
	/* Each key follows a space. */
	first = gt_strbuf_string(&details);
	gt_strbuf_puts(text, first + (*first == ' '));
	if (!gt_event_duration(event, &duration) || !duration)
		return;
	gt_strbuf_puts(text, details.length ? " (" : "(");
	gt_format_duration(text, duration);
	gt_strbuf_putc(text, ')');
}

/* ---- JSON --------------------------------------------------------------------------------- */

static void json_formatted(struct gt_json *json, const struct gt_layer_field *format,
			   const struct gt_names *names, const struct gt_event *event,
			   const struct gt_event_field *field, uint64_t value)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;
	gt_auto_strbuf key = GT_STRBUF_INIT;

	format->format(&text, names, event, value);
	if (text.length)
		gt_json_string(json, format->name, gt_strbuf_string(&text));
	else
		gt_json_null(json, format->name);
	gt_strbuf_printf(&key, "%s_number", format->name);
	if (!strncmp(field->type, "__s", 3))
		gt_json_i64(json, gt_strbuf_string(&key), sign_extend(value, field->size));
	else
		gt_json_u64(json, gt_strbuf_string(&key), value);
}

static void json_field(struct gt_json *json, const struct gt_event_field *field, uint64_t value)
{
	if (!strcmp(field->unit, "address") || !strcmp(field->unit, "flags"))
		gt_json_hex(json, field->name, value);
	else if (!strcmp(field->unit, "task"))
		gt_json_u64(json, field->name, gt_id_number((uint32_t)value));
	else if (!strncmp(field->type, "__s", 3))
		gt_json_i64(json, field->name, sign_extend(value, field->size));
	else
		gt_json_u64(json, field->name, value);
}

static void json_fields(struct gt_json *json, const struct gt_layer_kind *row,
			const struct gt_names *names, const struct gt_event *event)
{
	const struct gt_event_kind_info *kind = gt_event_kind(event->kind);
	const char *at = (const char *)(event + 1);

	for (unsigned i = 0; i < kind->field_count; i++) {
		const struct gt_event_field *field = &kind->fields[i];
		const struct gt_layer_field *format = find_format(row, field->name);
		size_t length;

		if (is_tail(field)) {
			if (!strcmp(field->type, "char[]")) {
				const char *tail = gt_event_text(event, &length);

				gt_json_string_bytes(json, field->name, tail, length);
			}
			return;
		}
		if (format && format->format)
			json_formatted(json, format, names, event, field, read_field(at, field));
		else if (is_unknown(row, format, field, read_field(at, field)))
			gt_json_null(json, field->name);
		else if (is_shown(field))
			json_field(json, field, read_field(at, field));
		at += field->size;
	}
}

void gt_layer_json(struct gt_json *json, const struct gt_layer_kind *row,
		   const struct gt_names *names, const struct gt_event *event)
{
	uint64_t duration = 0;

	gt_event_duration(event, &duration);
	gt_json_string(json, "schema", "gputap.event.1");
	gt_json_u64(json, "time", event->time - duration);
	gt_json_string(json, "clock", "monotonic");
	gt_json_u64(json, "pid", gt_id_number(event->process));
	gt_json_u64(json, "tid", gt_id_number(event->thread));
	gt_json_string(json, "process", gt_names_process(names, event->process));
	gt_json_rank(json, names, event->process);
	gt_json_string(json, "source", row->source);
	gt_json_string(json, "name", gt_layer_event_name(row, event));
	json_fields(json, row, names, event);
	if (row->json)
		row->json(json, names, event);
}
