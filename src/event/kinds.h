/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What is known of the kinds of events at run time: names, fields, sizes. From event.def. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "event/event.h"

struct gt_event_field {
	const char *type; /* "__u64" */
	const char *name;
	const char *unit;
	const char *summary;
	uint16_t
		size; /* bytes; of one element for a tail. Fields follow each other without holes */
};

struct gt_event_kind_info {
	const char *name;
	const char *summary;
	uint16_t size;      /* bytes of the fixed part, the head included */
	uint16_t tail_size; /* bytes of one element of the tail; 0: no tail */
	unsigned field_count;
	const struct gt_event_field *fields; /* the tail is the last one */
};

/* NULL for a number that is no kind. */
const struct gt_event_kind_info *gt_event_kind(unsigned kind);

/*
 * Whether a record may be looked at: `available` bytes stand at `record`. 0 if it is whole and
 * consistent (its size, its kind's size, counts inside it); -EAGAIN if it goes on after the
 * available bytes; -EBADMSG if it is damaged. A kind that is not known here is whole if its
 * size is: newer captures hold such.
 */
int gt_event_check(const struct gt_event *record, size_t available);

/* Bytes after the fixed part of a checked record of a known kind. */
size_t gt_event_tail_size(const struct gt_event *record);

/* The tail of a checked record as text, without the padding. */
const char *gt_event_text(const struct gt_event *record, size_t *ret_length);

/*
 * Builds a record of a kind with a text tail: 8-aligned, zero-padded, longer texts cut.
 * The fixed part is zero but for head.kind, head.size and head.device (unknown).
 * The caller frees it. NULL: no memory.
 */
struct gt_event *gt_event_new(enum gt_event_kind kind, const char *tail, size_t length);

/* The schema of all kinds as text, as it stands at the start of a capture; see docs/events.md. */
void gt_event_schema(struct gt_strbuf *buffer);
