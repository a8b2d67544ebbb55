/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A capture: a recorded session. The file is a head, the schema of the events as text, and then
 * blocks of events, each compressed by Zstandard (RFC 8878), with a checksum. An index of the
 * blocks by time and a trailer end it. All numbers are little-endian. docs/captures.md has the
 * format for readers of other languages.
 *
 * Version 1 had the events as they were written, one after the other, in place of the blocks; in
 * version 2 the heads of blocks ended before `names`.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clean.h"
#include "base/diag.h"
#include "event/event.h"

#define GT_CAPTURE_MAGIC "GPUTAP\r\n" /* changed by a transfer as text */
#define GT_CAPTURE_VERSION 3

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
	__u32 names; /* events among them that name what others refer to (gt_capture_names) */
	__u32 reserved;
};

/* A block of events in the index. */
struct gt_capture_index {
	__u64 offset; /* of the block's head in the file */
	__u64 start, end;
	__u32 count;
	__u32 names; /* as in the block */
};

/* The last bytes of a capture that was completed. */
struct gt_capture_trailer {
	__u64 index;   /* offset of the block with the index */
	char magic[8]; /* GT_CAPTURE_TRAILER_MAGIC */
};

#define GT_CAPTURE_TRAILER_MAGIC "GPUTAPIX"
#define GT_CAPTURE_BLOCK_SIZE (256 * 1024) /* more than the largest event */

/*
 * Whether an event names what others refer to: a process, a function, a stack, a mapping … A view
 * of a part of a capture needs these events of all that is before it.
 */
bool gt_capture_names(const struct gt_event *event);
/*
 * The identity of such an event among those of its kind: a later event of the same identity
 * replaces it. Returns its length, which is up to `room` bytes.
 */
size_t gt_capture_identity(const struct gt_event *event, void *key, size_t room);
#define GT_CAPTURE_MAX_IDENTITY 64 /* bytes */

/* ---- writing ------------------------------------------------------------------------------ */

struct gt_capture_writer;

/* What was written so far. */
struct gt_capture_totals {
	uint64_t events, bytes, blocks;
	uint64_t start, end; /* ns, CLOCK_MONOTONIC; 0: no event has a time */
};

/*
 * Creates or replaces a file ("-" is standard output, which must not be a terminal). A capture
 * whose writer was killed can be read up to the last block.
 */
int gt_capture_create(const char *path, struct gt_capture_writer **ret_writer,
		      struct gt_diag *diag);
/*
 * Appends one event. A block is written when it is full, or when its events span half a second.
 * Errors stay: once it failed, all later ones fail alike.
 */
int gt_capture_write(struct gt_capture_writer *writer, const struct gt_event *event);
/*
 * Writes out what is buffered, at most twice per second: small blocks compress badly. Called again,
 * it writes the rest. 0 or the first error that there was.
 */
int gt_capture_flush(struct gt_capture_writer *writer);
struct gt_capture_totals gt_capture_written(const struct gt_capture_writer *writer);
/* Writes the rest, the index and the trailer, and closes. writer may be NULL. 0 or the first error
 * that there was; *ret_totals, which may be NULL, is set in any case. */
int gt_capture_finish(struct gt_capture_writer *writer, struct gt_capture_totals *ret_totals,
		      struct gt_diag *diag);
static inline int gt_capture_close(struct gt_capture_writer *writer, struct gt_diag *diag)
{
	return gt_capture_finish(writer, NULL, diag);
}

/* ---- a flight recorder -------------------------------------------------------------------- */

/*
 * The latest events in memory, compressed in blocks. The events that name what others refer to are
 * kept when their block is removed.
 */
struct gt_capture_ring;

struct gt_capture_ring_state {
	uint64_t events, bytes; /* in the ring */
	uint64_t evicted;       /* events that were removed */
	uint64_t names_lost;    /* of those that should be kept: there was no room */
};

/*
 * Memory is bounded by `size` for blocks, as much again for kept events, and 1 MiB. NULL: out of
 * memory.
 */
struct gt_capture_ring *gt_capture_ring_new(uint64_t size);
void gt_capture_ring_free(struct gt_capture_ring *ring);
GT_DEFINE_AUTO(capture_ring, struct gt_capture_ring, gt_capture_ring_free)
/* Append an event, removing the oldest blocks. 0 or -ENOMEM: the event is lost. */
int gt_capture_ring_put(struct gt_capture_ring *ring, const struct gt_event *event);
struct gt_capture_ring_state gt_capture_ring_state(const struct gt_capture_ring *ring);
/*
 * Write a capture of what the ring holds, followed by `last`, which may be NULL. The kept events
 * come first, with the time at which the ring begins. The ring keeps all.
 */
int gt_capture_ring_save(struct gt_capture_ring *ring, const char *path,
			 const struct gt_event *last, struct gt_capture_totals *ret_totals,
			 struct gt_diag *diag);

/* ---- reading ------------------------------------------------------------------------------ */

struct gt_capture_reader;

/* What the reader has met so far. */
struct gt_capture_state {
	uint64_t blocks;         /* of events, that were read */
	uint64_t skipped_blocks; /* outside the range of time */
	uint64_t stored, size;   /* bytes of the blocks that were read: in the file, decompressed */
	uint64_t corrupt;        /* parts of the file that cannot be read */
	uint64_t corrupt_bytes;  /* in these */
	uint64_t corrupt_at;     /* the offset of the first one */
	uint64_t end;            /* the latest time of an event of the blocks that were read */
	uint64_t latest;         /* … or skipped */
	bool truncated;          /* the file ends within a block */
	bool complete;           /* the index was reached: the writer was not killed */
};

/* -EBADMSG: not a capture, or malformed; -EPROTONOSUPPORT: of a newer version. */
int gt_capture_open(const char *path, struct gt_capture_reader **ret_reader, struct gt_diag *diag);
/*
 * Skip blocks of events that are all before `start` or after `end` (0: no limit), unless they name
 * something; to be called before the first event. Events outside the range that are in other blocks
 * are read as well.
 */
void gt_capture_select(struct gt_capture_reader *reader, uint64_t start, uint64_t end);
/* The earliest time in the index or, without one, in the first block; 0: not known. */
uint64_t gt_capture_start(struct gt_capture_reader *reader);
/* The latest time in the index; 0: not known, or there is none. */
uint64_t gt_capture_end(struct gt_capture_reader *reader);
/*
 * The next event, checked with gt_event_check, valid until the next call. 1 and *ret_event;
 * 0 at the end. A corrupt part is skipped up to the next block that is whole; -EBADMSG at the end
 * if there was one, or if the file is truncated.
 */
int gt_capture_next(struct gt_capture_reader *reader, const struct gt_event **ret_event,
		    struct gt_diag *diag);
void gt_capture_free(struct gt_capture_reader *reader);
GT_DEFINE_AUTO(capture_reader, struct gt_capture_reader, gt_capture_free)

/* The head of the file that is read. */
const struct gt_capture_head *gt_capture_head(const struct gt_capture_reader *reader);
const struct gt_capture_state *gt_capture_state(const struct gt_capture_reader *reader);
