/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Descriptions of the kinds of events at run time, from event.def: names, fields, sizes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "event/event.h"

/* Text for a process that has no number here: `process` of an event is 0. */
#define GT_PROCESS_OUTSIDE "a process outside of gputap's PID namespace"

struct gt_event_field {
	const char *type; /* "__u64" */
	const char *name;
	const char *unit;
	const char *summary;
	uint16_t size; /* bytes; for a tail, of one element. There is no padding between fields */
};

struct gt_event_kind_info {
	const char *name;
	const char *summary;
	uint16_t size;      /* bytes of the fixed part, the header included */
	uint16_t tail_size; /* bytes of one element of the tail; 0: no tail */
	unsigned field_count;
	const struct gt_event_field *fields; /* the tail is the last one */
};

/* NULL: no such kind. */
const struct gt_event_kind_info *gt_event_kind(unsigned kind);

/*
 * Check whether a record may be read; `available` bytes are at `record`. 0 if it is complete and
 * consistent (its size, its kind's size, counts inside it); -EAGAIN if it is longer than
 * `available`; -EBADMSG if it is malformed. Of an unknown kind, as newer captures have them, only
 * the size is checked.
 */
int gt_event_check(const struct gt_event *record, size_t available);

/* Whether a checked record has a field "duration", and its value in ns. */
bool gt_event_duration(const struct gt_event *record, uint64_t *ret_duration);

/* Bytes after the fixed part of a checked record of a known kind. */
size_t gt_event_tail_size(const struct gt_event *record);

/* The tail of a checked record as text, without the padding. */
const char *gt_event_text(const struct gt_event *record, size_t *ret_length);

/*
 * Build a record of a kind with a tail: 8-aligned, zero-padded, truncated to GT_EVENT_MAX_SIZE.
 * The fixed part is zero except for head.kind, head.size and head.device (unknown).
 * The caller frees it. NULL: out of memory.
 */
struct gt_event *gt_event_new(enum gt_event_kind kind, const char *tail, size_t length);

/* Add the id of a process or thread: "4711", of machine 1 of a merged capture "1:4711". */
void gt_put_id(struct gt_strbuf *text, uint32_t id);

/* Print the schema of all kinds, as captures begin with it; see docs/events.md. */
void gt_event_schema(struct gt_strbuf *buffer);

/* The parts of a `record` event. Not terminated. */
struct gt_event_record_parts {
	const char *name, *text, *json;
	size_t name_length, text_length, json_length;
};

/* Split a checked record. Lengths that it cannot have are shortened. */
struct gt_event_record_parts gt_event_record_split(const struct gt_event_record *record);
