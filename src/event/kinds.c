/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "event/kinds.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */

/* One array of fields per kind. */
#define EVENT_BEGIN(kind, text) static const struct gt_event_field kind##_fields[] = {
#define FIELD(field_type, field, unit, text) {#field_type, #field, unit, text, sizeof(field_type)},
#define TAIL(field_type, field, unit, text) {#field_type "[]", #field, unit, text, sizeof(field_type)},
#define EVENT_END(kind) };
#include "event/event.def"
#undef EVENT_BEGIN
#undef FIELD
#undef TAIL
#undef EVENT_END

/* No kind has padding: its size is the sum of its fields' sizes. */
#define EVENT_BEGIN(kind, text) _Static_assert(sizeof(struct gt_event_##kind) == sizeof(struct gt_event)
#define FIELD(field_type, field, unit, text) + sizeof(field_type)
#define TAIL(field_type, field, unit, text)
#define EVENT_END(kind) , #kind " has padding");
#include "event/event.def"
#undef EVENT_BEGIN
#undef FIELD
#undef TAIL
#undef EVENT_END

static const struct gt_event_kind_info kinds[GT_EVENT_KINDS] = {
#define EVENT_BEGIN(kind, text)                                                                    \
	[GT_EVENT_##kind] = {.name = #kind, .summary = text,                                       \
			     .size = sizeof(struct gt_event_##kind), .fields = kind##_fields,      \
			     .field_count = gt_countof(kind##_fields), .tail_size = 0
#define FIELD(field_type, field, unit, text)
#define TAIL(field_type, field, unit, text) + sizeof(field_type)
#define EVENT_END(kind) },
#include "event/event.def"
#undef EVENT_BEGIN
#undef FIELD
#undef TAIL
#undef EVENT_END
};

/* clang-format on */

const struct gt_event_kind_info *gt_event_kind(unsigned kind)
{
	return kind > GT_EVENT_NONE && kind < GT_EVENT_KINDS ? &kinds[kind] : NULL;
}

static bool call_is_consistent(const struct gt_event_call *call)
{
	size_t words = (call->head.size - sizeof(*call)) / sizeof(__u64);

	return call->slots <= GT_CALL_MAX_SLOTS && call->slots <= words;
}

int gt_event_check(const struct gt_event *record, size_t available)
{
	const struct gt_event_kind_info *kind;

	if (available < sizeof(*record))
		return -EAGAIN;
	if (record->size < sizeof(*record) || record->size % 8)
		return -EBADMSG;
	if (record->size > available)
		return -EAGAIN;
	kind = gt_event_kind(record->kind);
	if (!kind)
		return record->kind == GT_EVENT_NONE ? -EBADMSG : 0;
	if (record->size < kind->size || (!kind->tail_size && record->size != kind->size))
		return -EBADMSG;
	if (record->kind == GT_EVENT_call || record->kind == GT_EVENT_entry ||
	    record->kind == GT_EVENT_implicit)
		return call_is_consistent((const struct gt_event_call *)record) ? 0 : -EBADMSG;
	return 0;
}

/* The offset of the field "duration" in a kind's records; 0: it has none. */
static size_t find_duration(const struct gt_event_kind_info *kind)
{
	size_t offset = sizeof(struct gt_event);

	for (unsigned i = 0; i < kind->field_count && offset < kind->size; i++) {
		if (!strcmp(kind->fields[i].name, "duration"))
			return offset;
		offset += kind->fields[i].size;
	}
	return 0;
}

bool gt_event_duration(const struct gt_event *record, uint64_t *ret_duration)
{
	/* The offset + 1 of each kind that was looked for: the same whoever finds it first. */
	static _Atomic uint16_t offsets[GT_EVENT_KINDS];
	const struct gt_event_kind_info *kind = gt_event_kind(record->kind);
	size_t offset;

	if (!kind)
		return false;
	offset = atomic_load_explicit(&offsets[record->kind], memory_order_relaxed);
	if (!offset) {
		offset = find_duration(kind) + 1;
		atomic_store_explicit(&offsets[record->kind], (uint16_t)offset,
				      memory_order_relaxed);
	}
	if (offset == 1)
		return false;
	memcpy(ret_duration, (const char *)record + offset - 1, sizeof(*ret_duration));
	return true;
}

size_t gt_event_tail_size(const struct gt_event *record)
{
	return record->size - gt_event_kind(record->kind)->size;
}

const char *gt_event_text(const struct gt_event *record, size_t *ret_length)
{
	const struct gt_event_kind_info *kind = gt_event_kind(record->kind);
	const char *text = (const char *)record + kind->size;
	size_t length = record->size - kind->size;

	while (length && !text[length - 1])
		length--;
	*ret_length = length;
	return text;
}

struct gt_event *gt_event_new(enum gt_event_kind kind, const char *tail, size_t length)
{
	size_t fixed = gt_event_kind(kind)->size, size;
	struct gt_event *record;

	if (length > GT_EVENT_MAX_SIZE - fixed)
		length = GT_EVENT_MAX_SIZE - fixed;
	size = (fixed + length + 7) & ~(size_t)7;
	record = calloc(1, size);
	if (!record)
		return NULL;
	record->kind = kind;
	record->size = size;
	record->device = GT_DEVICE_UNKNOWN;
	if (length)
		memcpy((char *)record + fixed, tail, length);
	return record;
}

void gt_put_id(struct gt_strbuf *text, uint32_t id)
{
	if (gt_id_machine(id)) {
		gt_strbuf_u64(text, gt_id_machine(id));
		gt_strbuf_putc(text, ':');
	}
	gt_strbuf_u64(text, gt_id_number(id));
}

void gt_event_schema(struct gt_strbuf *buffer)
{
	gt_strbuf_puts(buffer, "head __u64 time __u32 process __u32 thread __u16 kind __u16 size "
			       "__u16 clock __s16 device\n");
	for (unsigned number = GT_EVENT_NONE + 1; number < GT_EVENT_KINDS; number++) {
		const struct gt_event_kind_info *kind = &kinds[number];

		gt_strbuf_printf(buffer, "%u %s", number, kind->name);
		for (unsigned i = 0; i < kind->field_count; i++)
			gt_strbuf_printf(buffer, " %s %s", kind->fields[i].type,
					 kind->fields[i].name);
		gt_strbuf_putc(buffer, '\n');
	}
}

struct gt_event_record_parts gt_event_record_split(const struct gt_event_record *record)
{
	struct gt_event_record_parts parts = {0};
	size_t length;

	parts.name = gt_event_text(&record->head, &length);
	parts.name_length = record->name_length < length ? record->name_length : length;
	length -= parts.name_length;
	parts.text = parts.name + parts.name_length;
	parts.text_length = record->text_length < length ? record->text_length : length;
	parts.json = parts.text + parts.text_length;
	parts.json_length = length - parts.text_length;
	return parts;
}
