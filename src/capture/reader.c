/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include <zstd.h>

#include "base/file.h"
#include "base/vec.h"
#include "capture/capture.h"
#include "capture/packer.h"
#include "event/kinds.h"

#define MAX_SCHEMA (1024 * 1024)
#define MAX_STORED (1024 * 1024) /* more than ZSTD_compressBound(GT_CAPTURE_BLOCK_SIZE) */
#define MAX_INDEX (64 * 1024 * 1024)
#define BUFFER_SIZE (MAX_STORED + 4096) /* more than the largest block with its head */

struct gt_capture_reader {
	int fd;
	struct gt_capture_head head;
	uint64_t position; /* in the file, of buffer[start] */
	size_t start, end; /* of what is unread in the buffer */
	char path[256];
	ZSTD_DCtx *decompressor;
	uint64_t block_position;               /* in the file, of the block that is read */
	size_t next, size;                     /* of its events: what is unread */
	bool ended;                            /* no block follows */
	bool is_corrupt;                       /* at `position`, and nothing valid was read since */
	const char *how;                       /* the file is corrupt first; NULL: it is not */
	uint64_t from, to;                     /* the wanted times; 0: all */
	GT_VEC(struct gt_capture_index) index; /* of the blocks to read, if it was read */
	size_t next_entry;
	bool has_index;
	struct gt_capture_state state;
	uint8_t *events; /* GT_CAPTURE_BLOCK_SIZE bytes: the block decompressed */
	_Alignas(8) uint8_t buffer[BUFFER_SIZE];
};

static bool has_blocks(const struct gt_capture_reader *reader)
{
	return reader->head.version >= 2;
}

/* Of the head of a block. */
static size_t head_size(const struct gt_capture_reader *reader)
{
	return reader->head.version >= 3 ? sizeof(struct gt_capture_block)
					 : offsetof(struct gt_capture_block, names);
}

/* Move what is unread to the front and read on. Bytes that are there then, or -Exxx. */
static ssize_t refill(struct gt_capture_reader *reader)
{
	size_t rest = reader->end - reader->start;
	ssize_t got;

	memmove(reader->buffer, reader->buffer + reader->start, rest);
	reader->start = 0;
	reader->end = rest;
	got = gt_read_all(reader->fd, reader->buffer + rest, BUFFER_SIZE - rest);
	if (got < 0)
		return got;
	reader->end += (size_t)got;
	return (ssize_t)reader->end;
}

/* Read on until `size` bytes are there, or the file ends. Bytes that are there, or -Exxx. */
static ssize_t ensure(struct gt_capture_reader *reader, size_t size)
{
	size_t there = reader->end - reader->start;

	return there >= size ? (ssize_t)there : refill(reader);
}

static void advance(struct gt_capture_reader *reader, size_t bytes)
{
	reader->start += bytes;
	reader->position += bytes;
}

/* Pass over bytes, without reading them where the file can seek. 0, or -EBADMSG at the end. */
static int skip(struct gt_capture_reader *reader, uint64_t bytes)
{
	size_t there = reader->end - reader->start;

	if (bytes > there && lseek(reader->fd, (off_t)(bytes - there), SEEK_CUR) >= 0) {
		reader->start = reader->end = 0;
		reader->position += bytes;
		return 0;
	}
	while (bytes) {
		size_t step;

		there = reader->end - reader->start;
		step = bytes < there ? (size_t)bytes : there;
		advance(reader, step);
		bytes -= step;
		if (bytes && refill(reader) <= 0)
			return -EBADMSG;
	}
	return 0;
}

/* Continue at an offset of a file that can seek. */
static int seek_to(struct gt_capture_reader *reader, uint64_t offset)
{
	if (offset >= reader->position &&
	    offset - reader->position <= reader->end - reader->start) {
		advance(reader, (size_t)(offset - reader->position));
		return 0;
	}
	if (lseek(reader->fd, (off_t)offset, SEEK_SET) < 0)
		return -errno;
	reader->start = reader->end = 0;
	reader->position = offset;
	return 0;
}

static int reject_truncated_head(const struct gt_capture_reader *reader, struct gt_diag *diag)
{
	return gt_diag(diag, -EBADMSG, "capture", reader->path,
		       "truncated within its header, before the first event: record it again");
}

static int read_head(struct gt_capture_reader *reader, struct gt_diag *diag)
{
	struct gt_capture_head *head = &reader->head;
	ssize_t there = refill(reader);
	uint64_t size;

	if (there < 0)
		return gt_diag_file(diag, (int)there, "capture", reader->path, GT_FILE_READ, NULL);
	if (!there)
		return gt_diag(diag, -EBADMSG, "capture", reader->path,
			       "an empty file: its recording wrote nothing");
	if ((size_t)there < sizeof(head->magic) ||
	    memcmp(reader->buffer, GT_CAPTURE_MAGIC, sizeof(head->magic)))
		return gt_diag(
			diag, -EBADMSG, "capture", reader->path,
			"not a capture of gputap (wrong magic number); 'gputap record -o FILE' "
			"writes one");
	if ((size_t)there < sizeof(*head))
		return reject_truncated_head(reader, diag);
	memcpy(head, reader->buffer, sizeof(*head));
	if (head->version > GT_CAPTURE_VERSION)
		return gt_diag(diag, -EPROTONOSUPPORT, "capture", reader->path,
			       "version %u; this gputap reads up to %d: use a newer one",
			       head->version, GT_CAPTURE_VERSION);
	size = (uint64_t)head->size + head->schema_size;
	if (head->version < 1 || head->size < sizeof(*head) || head->size > 4096 ||
	    head->size % 8 || head->schema_size > MAX_SCHEMA || head->schema_size % 8)
		return gt_diag(diag, -EBADMSG, "capture", reader->path, "malformed header");
	if (size > (size_t)there)
		return reject_truncated_head(reader, diag);
	advance(reader, size);
	return 0;
}

static int prepare_blocks(struct gt_capture_reader *reader, struct gt_diag *diag)
{
	reader->decompressor = ZSTD_createDCtx();
	reader->events = malloc(GT_CAPTURE_BLOCK_SIZE);
	return reader->decompressor && reader->events
		       ? 0
		       : gt_diag(diag, -ENOMEM, "capture", reader->path, "out of memory");
}

int gt_capture_open(const char *path, struct gt_capture_reader **ret_reader, struct gt_diag *diag)
{
	gt_auto(capture_reader) struct gt_capture_reader *reader = calloc(1, sizeof(*reader));
	int error;

	if (!reader)
		return gt_diag(diag, -ENOMEM, "capture", path, "out of memory");
	snprintf(reader->path, sizeof(reader->path), "%s", path);
	if (!strcmp(path, "-"))
		reader->fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	else
		reader->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (reader->fd < 0)
		return gt_diag_file(diag, -errno, "capture", path, GT_FILE_READ, NULL);
	error = read_head(reader, diag);
	if (!error && has_blocks(reader))
		error = prepare_blocks(reader, diag);
	if (error)
		return error;
	*ret_reader = gt_take(reader);
	return 0;
}

/* ---- damage ------------------------------------------------------------------------------- */

/* Note that something at an offset cannot be read; `bytes` of it, one part with those before it. */
static void note_damage(struct gt_capture_reader *reader, const char *how, uint64_t position,
			uint64_t bytes)
{
	struct gt_capture_state *state = &reader->state;

	if (!reader->how) {
		reader->how = how;
		state->corrupt_at = position;
	}
	state->corrupt += !reader->is_corrupt;
	state->corrupt_bytes += bytes;
	reader->is_corrupt = true;
}

/* The result at the end of the file. */
static int end_reading(struct gt_capture_reader *reader, struct gt_diag *diag)
{
	const struct gt_capture_state *state = &reader->state;
	bool continued = state->blocks && state->corrupt && !reader->is_corrupt;

	reader->ended = true;
	if (!reader->how)
		return 0;
	if (continued || state->corrupt > 1)
		return gt_diag(diag, -EBADMSG, "capture", reader->path,
			       "%s at byte %" PRIu64 "; %" PRIu64
			       " bytes were skipped, the other events were read%s",
			       reader->how, state->corrupt_at, state->corrupt_bytes,
			       state->truncated ? "; the file is truncated" : "");
	return gt_diag(diag, -EBADMSG, "capture", reader->path,
		       "%s at byte %" PRIu64 "; the events before it were read", reader->how,
		       state->corrupt_at);
}

/* Continue at the next thing that looks like the head of a block. 1; 0: there is none; -Exxx. */
static int find_block(struct gt_capture_reader *reader)
{
	const __u32 magic = GT_CAPTURE_BLOCK_MAGIC;
	size_t moved = 1; /* what is here is no block */

	for (;;) {
		ssize_t there = ensure(reader, moved + sizeof(magic));
		const uint8_t *from, *found;
		size_t step;

		if (there < 0)
			return (int)there;
		if ((size_t)there < moved + sizeof(magic)) {
			reader->state.corrupt_bytes += (uint64_t)there;
			advance(reader, (size_t)there);
			return 0;
		}
		from = reader->buffer + reader->start;
		found = memmem(from + moved, (size_t)there - moved, &magic, sizeof(magic));
		step = found ? (size_t)(found - from) : (size_t)there - sizeof(magic) + 1;
		reader->state.corrupt_bytes += step;
		advance(reader, step);
		if (found)
			return 1;
		moved = 0;
	}
}

static void note_time(struct gt_capture_state *state, uint64_t time)
{
	if (time > state->latest)
		state->latest = time;
}

/* ---- version 1 ---------------------------------------------------------------------------- */

static int next_plain(struct gt_capture_reader *reader, const struct gt_event **ret_event,
		      struct gt_diag *diag)
{
	const struct gt_event *event = (const void *)(reader->buffer + reader->start);
	int error = gt_event_check(event, reader->end - reader->start);

	if (reader->ended)
		return end_reading(reader, diag);
	if (error == -EAGAIN) {
		ssize_t filled = refill(reader);

		if (filled < 0)
			return gt_diag(diag, (int)filled, "capture", reader->path, "%s",
				       strerror((int)-filled));
		if (!filled)
			return 0;
		event = (const void *)reader->buffer;
		error = gt_event_check(event, (size_t)filled);
	}
	if (error) {
		reader->state.truncated = error == -EAGAIN;
		note_damage(reader, error == -EAGAIN ? "truncated" : "malformed", reader->position,
			    0);
		return end_reading(reader, diag);
	}
	advance(reader, event->size);
	if (event->time > reader->state.end)
		reader->state.end = event->time;
	note_time(&reader->state, event->time);
	*ret_event = event;
	return 1;
}

/* ---- blocks ------------------------------------------------------------------------------- */

/* Copy the head of the block at `position`: those of version 2 may name something. */
static void copy_head(const struct gt_capture_reader *reader, struct gt_capture_block *ret_block)
{
	*ret_block = (struct gt_capture_block){.names = 1};
	memcpy(ret_block, reader->buffer + reader->start, head_size(reader));
}

/* Whether a block lies outside the range of time, and no other block needs it. */
static bool is_unwanted(const struct gt_capture_reader *reader, uint64_t start, uint64_t end,
			uint32_t names)
{
	if (names || !start)
		return false;
	return (reader->from && end < reader->from) || (reader->to && start > reader->to);
}

enum block_result {
	BLOCK_READ,    /* its events are in `events` */
	BLOCK_SKIPPED, /* it has none, or they are not wanted */
	BLOCK_INDEX,   /* the end */
	BLOCK_TRUNCATED,
	BLOCK_MALFORMED,
};

/* The block at `position`, whose head is there: -Exxx or enum block_result. */
static int read_block(struct gt_capture_reader *reader)
{
	size_t head = head_size(reader), size;
	struct gt_capture_block block;
	const uint8_t *stored;
	ssize_t there;

	copy_head(reader, &block);
	if (block.magic != GT_CAPTURE_BLOCK_MAGIC)
		return BLOCK_MALFORMED;
	if (block.kind == GT_CAPTURE_EVENTS &&
	    (block.stored > MAX_STORED || block.size > GT_CAPTURE_BLOCK_SIZE))
		return BLOCK_MALFORMED;
	if (block.stored > MAX_STORED) {
		if (block.kind == GT_CAPTURE_INDEX)
			return BLOCK_INDEX;
		return skip(reader, head + block.stored) ? BLOCK_TRUNCATED : BLOCK_SKIPPED;
	}
	if (block.kind == GT_CAPTURE_EVENTS &&
	    is_unwanted(reader, block.start, block.end, block.names)) {
		reader->state.skipped_blocks++;
		note_time(&reader->state, block.end);
		return skip(reader, head + block.stored) ? BLOCK_TRUNCATED : BLOCK_SKIPPED;
	}
	there = ensure(reader, head + block.stored);
	if (there < 0)
		return (int)there;
	if ((size_t)there < head + block.stored)
		return BLOCK_TRUNCATED;
	stored = reader->buffer + reader->start + head;
	if (block.checksum != gt_capture_checksum(&block, head, stored))
		return BLOCK_MALFORMED;
	if (block.kind == GT_CAPTURE_INDEX)
		return BLOCK_INDEX;
	if (block.kind != GT_CAPTURE_EVENTS) {
		advance(reader, head + block.stored);
		return BLOCK_SKIPPED;
	}
	size = ZSTD_decompressDCtx(reader->decompressor, reader->events, GT_CAPTURE_BLOCK_SIZE,
				   stored, block.stored);
	if (ZSTD_isError(size) || size != block.size)
		return BLOCK_MALFORMED;
	advance(reader, head + block.stored);
	reader->next = 0;
	reader->size = size;
	reader->state.blocks++;
	reader->state.stored += head + block.stored;
	reader->state.size += size;
	if (block.end > reader->state.end)
		reader->state.end = block.end;
	note_time(&reader->state, block.end);
	return BLOCK_READ;
}

/* Go to the next block of the index. False: there is none. */
static bool seek_entry(struct gt_capture_reader *reader)
{
	while (reader->next_entry < reader->index.count) {
		const struct gt_capture_index *entry = &reader->index.items[reader->next_entry++];

		/* Found already, after a corrupt part. */
		if (entry->offset < reader->position)
			continue;
		if (is_unwanted(reader, entry->start, entry->end, entry->names))
			reader->state.skipped_blocks++;
		else if (!seek_to(reader, entry->offset))
			return true;
	}
	return false;
}

/* Read the next block of events: 1; 0 at the end; or -Exxx. */
static int next_block(struct gt_capture_reader *reader)
{
	for (;;) {
		ssize_t there;
		int result;

		if (reader->has_index && !reader->is_corrupt && !seek_entry(reader)) {
			reader->state.complete = true;
			return 0;
		}
		reader->block_position = reader->position;
		there = ensure(reader, head_size(reader));
		if (there < 0)
			return (int)there;
		/* Without an index, too: the writer was killed. The names then have no account. */
		if (!there)
			return 0;
		result = (size_t)there < head_size(reader) ? BLOCK_TRUNCATED : read_block(reader);
		if (result < 0)
			return result;
		if (result < BLOCK_TRUNCATED)
			reader->is_corrupt = false;
		if (result == BLOCK_READ)
			return 1;
		if (result == BLOCK_INDEX) {
			reader->state.complete = true;
			return 0;
		}
		if (result == BLOCK_SKIPPED)
			continue;
		note_damage(reader, result == BLOCK_TRUNCATED ? "truncated" : "malformed",
			    reader->block_position, 0);
		result = find_block(reader);
		if (result <= 0) {
			reader->state.truncated = true;
			return result;
		}
	}
}

static int next_in_block(struct gt_capture_reader *reader, const struct gt_event **ret_event,
			 struct gt_diag *diag)
{
	for (;;) {
		const struct gt_event *event = (const void *)(reader->events + reader->next);
		int result;

		if (reader->next == reader->size) {
			result = reader->ended ? 0 : next_block(reader);
			if (result < 0)
				return gt_diag(diag, result, "capture", reader->path, "%s",
					       strerror(-result));
			if (!result)
				return end_reading(reader, diag);
			continue;
		}
		if (!gt_event_check(event, reader->size - reader->next)) {
			reader->is_corrupt = false;
			reader->next += event->size;
			*ret_event = event;
			return 1;
		}
		/* Where the next event begins is not known. */
		note_damage(reader, "malformed event in the block", reader->block_position,
			    reader->size - reader->next);
		reader->next = reader->size;
	}
}

int gt_capture_next(struct gt_capture_reader *reader, const struct gt_event **ret_event,
		    struct gt_diag *diag)
{
	return has_blocks(reader) ? next_in_block(reader, ret_event, diag)
				  : next_plain(reader, ret_event, diag);
}

/* ---- the index ---------------------------------------------------------------------------- */

static bool read_at(struct gt_capture_reader *reader, void *data, size_t size, uint64_t offset)
{
	return pread(reader->fd, data, size, (off_t)offset) == (ssize_t)size;
}

/* Decompress the index behind a head. */
static bool unpack_index(struct gt_capture_reader *reader, const struct gt_capture_block *block,
			 uint64_t offset)
{
	size_t count = block->count, size = count * sizeof(struct gt_capture_index);
	gt_autofree uint8_t *stored = malloc(block->stored ? block->stored : 1);
	struct gt_capture_index *entries = malloc(size ? size : 1);

	if (!stored || !entries || !read_at(reader, stored, block->stored, offset) ||
	    block->checksum != gt_capture_checksum(block, head_size(reader), stored) ||
	    ZSTD_decompressDCtx(reader->decompressor, entries, size, stored, block->stored) !=
		    size) {
		free(entries);
		return false;
	}
	for (size_t i = 0; i < count && reader->head.version < 3; i++)
		entries[i].names = 1;
	reader->index.items = entries;
	reader->index.count = reader->index.capacity = count;
	return true;
}

/* Read the index of a file that can seek and has one. */
static void read_index(struct gt_capture_reader *reader)
{
	struct gt_capture_block block = {0};
	struct gt_capture_trailer trailer;
	off_t here = lseek(reader->fd, 0, SEEK_CUR), end;

	if (here < 0 || !has_blocks(reader) || reader->has_index)
		return;
	end = lseek(reader->fd, 0, SEEK_END);
	lseek(reader->fd, here, SEEK_SET);
	if (end < (off_t)(sizeof(trailer) + sizeof(block)) ||
	    !read_at(reader, &trailer, sizeof(trailer), (uint64_t)end - sizeof(trailer)) ||
	    memcmp(trailer.magic, GT_CAPTURE_TRAILER_MAGIC, sizeof(trailer.magic)) ||
	    trailer.index > (uint64_t)end ||
	    !read_at(reader, &block, head_size(reader), trailer.index))
		return;
	if (block.magic != GT_CAPTURE_BLOCK_MAGIC || block.kind != GT_CAPTURE_INDEX ||
	    block.stored > MAX_INDEX || block.count > MAX_INDEX / sizeof(struct gt_capture_index))
		return;
	reader->has_index = unpack_index(reader, &block, trailer.index + head_size(reader));
}

void gt_capture_select(struct gt_capture_reader *reader, uint64_t start, uint64_t end)
{
	reader->from = start;
	reader->to = end;
	read_index(reader);
}

uint64_t gt_capture_start(struct gt_capture_reader *reader)
{
	struct gt_capture_block block;
	const struct gt_event *event = (const void *)(reader->buffer + reader->start);
	uint64_t start = 0;

	if (!has_blocks(reader))
		return gt_event_check(event, reader->end - reader->start) ? 0 : event->time;
	read_index(reader);
	gt_vec_each (entry, &reader->index)
		if (entry->start && (!start || entry->start < start))
			start = entry->start;
	if (start || ensure(reader, head_size(reader)) < (ssize_t)head_size(reader))
		return start;
	copy_head(reader, &block);
	return block.magic == GT_CAPTURE_BLOCK_MAGIC ? block.start : 0;
}

uint64_t gt_capture_end(struct gt_capture_reader *reader)
{
	uint64_t end = 0;

	read_index(reader);
	gt_vec_each (entry, &reader->index)
		if (entry->end > end)
			end = entry->end;
	return end;
}

void gt_capture_free(struct gt_capture_reader *reader)
{
	if (!reader)
		return;
	if (reader->fd >= 0)
		close(reader->fd);
	ZSTD_freeDCtx(reader->decompressor);
	gt_vec_free(&reader->index);
	free(reader->events);
	free(reader);
}

const struct gt_capture_head *gt_capture_head(const struct gt_capture_reader *reader)
{
	return &reader->head;
}

const struct gt_capture_state *gt_capture_state(const struct gt_capture_reader *reader)
{
	return &reader->state;
}
