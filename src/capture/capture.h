/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A capture: a recorded session. The file is a head, the schema of the events as text, and then
 * the events as they were written, one after the other.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/clean.h"
#include "base/diag.h"
#include "event/event.h"

#define GT_CAPTURE_MAGIC "GPUTAP\r\n" /* changed by a transfer as text */
#define GT_CAPTURE_VERSION 1

struct gt_capture_head {
	char magic[8];
	__u32 version;     /* readers reject a higher one */
	__u32 size;        /* bytes of this head */
	__u32 schema_size; /* bytes of the schema after it, a multiple of 8, zero-padded */
	__u32 machine;     /* e_machine of the traced machine: the calling convention in `call`s */
};

struct gt_capture_writer;

/*
 * Creates or replaces a file ("-" is standard output, which must not be a terminal). Events are
 * written as they come, so that a truncated capture can be read up to its end.
 */
int gt_capture_create(const char *path, struct gt_capture_writer **ret_writer,
		      struct gt_diag *diag);
/* Appends one event. Errors stay: once it failed, all later ones fail alike. */
int gt_capture_write(struct gt_capture_writer *writer, const struct gt_event *event);
/* Writes out what is buffered. 0 or the first error that there was. */
int gt_capture_flush(struct gt_capture_writer *writer);
/* Flushes and closes. writer may be NULL. 0 or the first error that there was. */
int gt_capture_close(struct gt_capture_writer *writer, struct gt_diag *diag);

struct gt_capture_reader;

/* -EBADMSG: not a capture, or malformed; -EPROTONOSUPPORT: of a newer version. */
int gt_capture_open(const char *path, struct gt_capture_reader **ret_reader, struct gt_diag *diag);
/*
 * The next event, checked with gt_event_check, valid until the next call. 1 and *ret_event;
 * 0 at the end; -EBADMSG if the file is malformed or truncated here: the events before are valid.
 */
int gt_capture_next(struct gt_capture_reader *reader, const struct gt_event **ret_event,
		    struct gt_diag *diag);
void gt_capture_free(struct gt_capture_reader *reader);
GT_DEFINE_AUTO(capture_reader, struct gt_capture_reader, gt_capture_free)

/* The head of the file that is read. */
const struct gt_capture_head *gt_capture_head(const struct gt_capture_reader *reader);
