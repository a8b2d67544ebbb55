/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The kinds of events, their layout, and the check of records. */
#include <errno.h>
#include <string.h>

#include "base/clean.h"
#include "event/kinds.h"
#include "tap.h"

/* A record with space after it. */
union record {
	struct gt_event head;
	struct gt_event_call call;
	struct gt_event_exit exit;
	struct gt_event_process process;
	uint64_t space[64];
};

static union record call_with(unsigned slots, unsigned words)
{
	union record record = {0};

	record.head.kind = GT_EVENT_call;
	record.head.size = sizeof(struct gt_event_call) + words * sizeof(uint64_t);
	record.call.slots = slots;
	return record;
}

TEST("the header of an event has the 24 bytes that docs/events.md describes")
{
	CHECK_INT(sizeof(struct gt_event), 24);
	CHECK_INT(offsetof(struct gt_event, time), 0);
	CHECK_INT(offsetof(struct gt_event, process), 8);
	CHECK_INT(offsetof(struct gt_event, thread), 12);
	CHECK_INT(offsetof(struct gt_event, kind), 16);
	CHECK_INT(offsetof(struct gt_event, size), 18);
	CHECK_INT(offsetof(struct gt_event, clock), 20);
	CHECK_INT(offsetof(struct gt_event, device), 22);
}

TEST("every kind has a unique name, a summary, and fields without padding")
{
	for (unsigned kind = GT_EVENT_NONE + 1; kind < GT_EVENT_KINDS; kind++) {
		const struct gt_event_kind_info *info = gt_event_kind(kind);
		size_t size = sizeof(struct gt_event);

		CHECK(info && *info->name && *info->summary);
		for (unsigned i = 0; i < info->field_count; i++) {
			bool is_tail = info->tail_size && i == info->field_count - 1;

			CHECK(*info->fields[i].name && *info->fields[i].summary);
			CHECK(is_tail || size % info->fields[i].size == 0);
			CHECK_INT(strstr(info->fields[i].type, "[]") != NULL, is_tail);
			size += is_tail ? 0 : info->fields[i].size;
		}
		CHECK_INT(info->size, size);
		for (unsigned other = kind + 1; other < GT_EVENT_KINDS; other++)
			CHECK(strcmp(info->name, gt_event_kind(other)->name) != 0);
	}
}

TEST("an unknown kind has no description")
{
	CHECK(gt_event_kind(GT_EVENT_NONE) == NULL);
	CHECK(gt_event_kind(GT_EVENT_KINDS) == NULL);
	CHECK(gt_event_kind(0xffff) == NULL);
}

TEST("the schema has a line for the header and one per kind, in order")
{
	gt_auto_strbuf schema = GT_STRBUF_INIT;
	const char *line;

	gt_event_schema(&schema);
	line = gt_strbuf_string(&schema);
	CHECK(!strncmp(line,
		       "head __u64 time __u32 process __u32 thread __u16 kind __u16 size "
		       "__u16 clock __s16 device\n1 call __u64 duration ",
		       strlen("head __u64 time __u32 process __u32 thread __u16 kind __u16 size "
			      "__u16 clock __s16 device\n1 call __u64 duration ")));
	for (unsigned kind = GT_EVENT_NONE + 1; kind < GT_EVENT_KINDS; kind++) {
		gt_auto_strbuf start = GT_STRBUF_INIT;

		line = strchr(line, '\n') + 1;
		gt_strbuf_printf(&start, "%u %s ", kind, gt_event_kind(kind)->name);
		CHECK(!strncmp(line, gt_strbuf_string(&start), start.length));
	}
	CHECK_STR(strchr(line, '\n'), "\n");
}

TEST("a complete record of every kind is accepted")
{
	for (unsigned kind = GT_EVENT_NONE + 1; kind < GT_EVENT_KINDS; kind++) {
		union record record = {.head.kind = kind};

		record.head.size = (gt_event_kind(kind)->size + 7) & ~7;
		CHECK_INT(gt_event_check(&record.head, sizeof(record)), 0);
		CHECK_INT(gt_event_check(&record.head, record.head.size), 0);
	}
}

TEST("an incomplete record is distinguished from a malformed one")
{
	union record record = call_with(2, 4);

	for (size_t available = 0; available < record.head.size; available++)
		CHECK_INT(gt_event_check(&record.head, available), -EAGAIN);
	CHECK_INT(gt_event_check(&record.head, record.head.size), 0);
}

TEST("a record smaller than its header, or not of a multiple of 8 bytes, is malformed")
{
	union record record = call_with(0, 2);

	record.head.size = 16;
	CHECK_INT(gt_event_check(&record.head, sizeof(record)), -EBADMSG);
	record.head.size = 0;
	CHECK_INT(gt_event_check(&record.head, sizeof(record)), -EBADMSG);
	record.head.size = sizeof(struct gt_event_call) + 4;
	CHECK_INT(gt_event_check(&record.head, sizeof(record)), -EBADMSG);
}

TEST("a record smaller than its kind is malformed, and so is a larger one without a tail")
{
	union record record = {.head.kind = GT_EVENT_exit, .head.size = sizeof(struct gt_event)};

	CHECK_INT(gt_event_check(&record.head, sizeof(record)), -EBADMSG);
	record.head.size = sizeof(struct gt_event_exit);
	CHECK_INT(gt_event_check(&record.head, sizeof(record)), 0);
	record.head.size += 8;
	CHECK_INT(gt_event_check(&record.head, sizeof(record)), -EBADMSG);
}

TEST("a record of kind 0 is malformed, one of a newer kind is not")
{
	union record record = {.head.kind = GT_EVENT_NONE, .head.size = 32};

	CHECK_INT(gt_event_check(&record.head, sizeof(record)), -EBADMSG);
	record.head.kind = GT_EVENT_KINDS;
	CHECK_INT(gt_event_check(&record.head, sizeof(record)), 0);
}

TEST("a call, entry or implicit call that claims more argument words than it has is malformed")
{
	static const unsigned kinds[] = {GT_EVENT_call, GT_EVENT_entry, GT_EVENT_implicit};

	for (size_t i = 0; i < gt_countof(kinds); i++) {
		union record record = call_with(4, 4);

		record.head.kind = kinds[i];
		CHECK_INT(gt_event_check(&record.head, sizeof(record)), 0);
		record.call.slots = 5;
		CHECK_INT(gt_event_check(&record.head, sizeof(record)), -EBADMSG);
		record.call.slots = 255;
		CHECK_INT(gt_event_check(&record.head, sizeof(record)), -EBADMSG);
	}
}

TEST("a new record has its text, padded with zeros that are not part of it")
{
	gt_autofree struct gt_event *note = gt_event_new(GT_EVENT_note, "hello, world", 12);
	size_t length;

	CHECK_INT(note->kind, GT_EVENT_note);
	CHECK_INT(note->device, GT_DEVICE_UNKNOWN);
	CHECK_INT(note->size, sizeof(struct gt_event) + 16);
	CHECK_INT(gt_event_check(note, note->size), 0);
	CHECK_INT(gt_event_tail_size(note), 16);
	CHECK(!memcmp(gt_event_text(note, &length), "hello, world", 12));
	CHECK_INT(length, 12);
}

TEST("a new record may have no text")
{
	gt_autofree struct gt_event *note = gt_event_new(GT_EVENT_note, "", 0);
	size_t length = 1;

	CHECK_INT(note->size, sizeof(struct gt_event));
	CHECK_INT(gt_event_check(note, note->size), 0);
	gt_event_text(note, &length);
	CHECK_INT(length, 0);
}

TEST("a text that is too long for a record is truncated")
{
	gt_autofree char *text = calloc(1, 100000);
	gt_autofree struct gt_event *note = NULL;
	size_t length;

	memset(text, 'x', 100000);
	note = gt_event_new(GT_EVENT_note, text, 100000);
	CHECK_INT(note->size, GT_EVENT_MAX_SIZE);
	CHECK_INT(gt_event_check(note, note->size), 0);
	gt_event_text(note, &length);
	CHECK_INT(length, GT_EVENT_MAX_SIZE - sizeof(struct gt_event));
}

TEST_MAIN
