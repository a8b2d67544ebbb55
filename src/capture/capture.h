/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A capture: a recorded session. The file is a head, the schema of the events as text, and then
 * blocks of events, each compressed by Zstandard (RFC 8878), with a checksum. An index of the
 * blocks by time and a trailer end it. All numbers are little-endian.
 *
 * Version 1 had the events as they were written, one after the other, in place of the blocks.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/clean.h"
#include "base/diag.h"
#include "event/event.h"

#define GT_CAPTURE_MAGIC "GPUTAP\r\n" /* changed by a transfer as text */
#define GT_CAPTURE_VERSION 2

struct gt_capture_head {
	char magic[8];
	__u32 version;     /* readers reject a higher one */
	__u32 size;        /* bytes of this head */
	__u32 schema_size; /* bytes of the schema after it, a multiple of 8, zero-padded */
	__u32 machine;     /* e_machine of the traced machine: the calling convention in `call`s */
};

/* What a block holds. Readers skip kinds that they do not know. */
enum gt_capture_block_kind {
	GT_CAPTURE_EVENTS = 1, /* whole events, one after the other */
	GT_CAPTURE_INDEX = 2,  /* struct gt_capture_index, one for each block of events */
};

#define GT_CAPTURE_BLOCK_MAGIC 0x4b4c4247u /* "GBLK" */

/* The head of a block; `stored` bytes follow: one Zstandard frame. */
struct gt_capture_block {
	__u32 magic;
	__u32 kind;
	__u32 stored;   /* bytes of the frame */
	__u32 size;     /* bytes that it decompresses to; at most GT_CAPTURE_BLOCK_SIZE of events */
	__u32 count;    /* of events, or entries */
	__u32 checksum; /* CRC-32 (zlib's) of this head with 0 here, and of the frame */
	__u64 start; /* ns, CLOCK_MONOTONIC: the earliest beginning of an event; 0: none has one */
	__u64 end;   /* the latest time of an event */
};

/* A block of events in the index. */
struct gt_capture_index {
	__u64 offset; /* of the block's head in the file */
	__u64 start, end;
	__u32 count;
	__u32 reserved;
};

/* The last bytes of a capture that was completed. */
struct gt_capture_trailer {
	__u64 index;   /* offset of the block with the index */
	char magic[8]; /* GT_CAPTURE_TRAILER_MAGIC */
};

#define GT_CAPTURE_TRAILER_MAGIC "GPUTAPIX"
#define GT_CAPTURE_BLOCK_SIZE (256 * 1024) /* more than the largest event */

struct gt_capture_writer;

/*
 * Creates or replaces a file ("-" is standard output, which must not be a terminal). A capture
 * whose writer was killed can be read up to the last block.
 */
int gt_capture_create(const char *path, struct gt_capture_writer **ret_writer,
		      struct gt_diag *diag);
/* Appends one event. Errors stay: once it failed, all later ones fail alike. */
int gt_capture_write(struct gt_capture_writer *writer, const struct gt_event *event);
/*
 * Writes out what is buffered, at most twice per second: small blocks compress badly. Called again,
 * it writes the rest. 0 or the first error that there was.
 */
int gt_capture_flush(struct gt_capture_writer *writer);
/* Writes the rest, the index and the trailer, and closes. writer may be NULL. 0 or the first error
 * that there was. */
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
