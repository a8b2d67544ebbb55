/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include <zlib.h>
#include <zstd.h>

#include "base/file.h"
#include "capture/capture.h"
#include "event/kinds.h"

#define BUFFER_SIZE GT_CAPTURE_BLOCK_SIZE
#define MAX_SCHEMA (1024 * 1024)
#define MAX_STORED (1024 * 1024) /* more than ZSTD_compressBound(GT_CAPTURE_BLOCK_SIZE) */

struct gt_capture_reader {
	int fd;
	struct gt_capture_head head;
	uint64_t position; /* in the file, of buffer[start] */
	size_t start, end; /* of what is unread in the buffer */
	char path[256];
	ZSTD_DCtx *decompressor;
	uint64_t block_position; /* in the file, of the block that is read */
	size_t next, size;       /* of its events: what is unread */
	uint8_t *stored;         /* MAX_STORED bytes: the block as in the file */
	uint8_t *events;         /* GT_CAPTURE_BLOCK_SIZE bytes: the block decompressed */
	_Alignas(8) uint8_t buffer[BUFFER_SIZE];
};

static bool has_blocks(const struct gt_capture_reader *reader)
{
	return reader->head.version >= 2;
}

/* Moves what is unread to the front and reads on. Bytes that are there then, or -Exxx. */
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
	reader->end += got;
	return reader->end;
}

static int skip(struct gt_capture_reader *reader, size_t bytes)
{
	while (bytes) {
		size_t there = reader->end - reader->start;
		size_t step = bytes < there ? bytes : there;

		reader->start += step;
		reader->position += step;
		bytes -= step;
		if (bytes && refill(reader) <= 0)
			return -EBADMSG;
	}
	return 0;
}

static int read_head(struct gt_capture_reader *reader, struct gt_diag *diag)
{
	struct gt_capture_head *head = &reader->head;
	ssize_t there = refill(reader);

	if (there < 0)
		return gt_diag(diag, there, "capture", reader->path, "%s", strerror(-there));
	if ((size_t)there >= sizeof(*head))
		memcpy(head, reader->buffer, sizeof(*head));
	if ((size_t)there < sizeof(*head) ||
	    memcmp(head->magic, GT_CAPTURE_MAGIC, sizeof(head->magic)))
		return gt_diag(diag, -EBADMSG, "capture", reader->path,
			       "not a capture of gputap (wrong magic number)");
	if (head->version > GT_CAPTURE_VERSION)
		return gt_diag(diag, -EPROTONOSUPPORT, "capture", reader->path,
			       "version %u; this gputap reads up to %d: use a newer one",
			       head->version, GT_CAPTURE_VERSION);
	if (head->version < 1 || head->size < sizeof(*head) || head->size > 4096 ||
	    head->size % 8 || head->schema_size > MAX_SCHEMA || head->schema_size % 8 ||
	    skip(reader, (size_t)head->size + head->schema_size))
		return gt_diag(diag, -EBADMSG, "capture", reader->path, "malformed header");
	return 0;
}

/* Read `size` bytes of the file, or fewer at its end. Returns their number or -Exxx. */
static ssize_t read_bytes(struct gt_capture_reader *reader, void *data, size_t size)
{
	size_t buffered = reader->end - reader->start;
	size_t taken = size < buffered ? size : buffered;
	ssize_t got;

	memcpy(data, reader->buffer + reader->start, taken);
	got = gt_read_all(reader->fd, (uint8_t *)data + taken, size - taken);
	if (got < 0)
		return got;
	reader->start += taken;
	reader->position += taken + (size_t)got;
	return (ssize_t)taken + got;
}

static int prepare_blocks(struct gt_capture_reader *reader, struct gt_diag *diag)
{
	reader->decompressor = ZSTD_createDCtx();
	reader->stored = malloc(MAX_STORED);
	reader->events = malloc(GT_CAPTURE_BLOCK_SIZE);
	return reader->decompressor && reader->stored && reader->events
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
		return gt_diag(diag, -errno, "capture", path, "%s", strerror(errno));
	error = read_head(reader, diag);
	if (!error && has_blocks(reader))
		error = prepare_blocks(reader, diag);
	if (error)
		return error;
	*ret_reader = gt_take(reader);
	return 0;
}

static int corrupt(const struct gt_capture_reader *reader, const char *how, uint64_t position,
		   struct gt_diag *diag)
{
	return gt_diag(diag, -EBADMSG, "capture", reader->path,
		       "%s at byte %" PRIu64 "; the events before it were read", how, position);
}

/* The next event of version 1. */
static int next_plain(struct gt_capture_reader *reader, const struct gt_event **ret_event,
		      struct gt_diag *diag)
{
	const struct gt_event *event = (const void *)(reader->buffer + reader->start);
	size_t there = reader->end - reader->start;
	int error = gt_event_check(event, there);

	if (error == -EAGAIN) {
		ssize_t filled = refill(reader);

		if (filled < 0)
			return gt_diag(diag, filled, "capture", reader->path, "%s",
				       strerror(-filled));
		if (!filled)
			return 0;
		event = (const void *)reader->buffer;
		error = gt_event_check(event, filled);
	}
	if (error)
		return corrupt(reader, error == -EAGAIN ? "truncated" : "malformed",
			       reader->position, diag);
	reader->start += event->size;
	reader->position += event->size;
	*ret_event = event;
	return 1;
}

/* Whether the checksum of a block and its data is right. */
static bool is_sound(const struct gt_capture_block *block, const void *data)
{
	struct gt_capture_block copy = *block;

	copy.checksum = 0;
	return block->checksum ==
	       crc32(crc32(0, (const void *)&copy, sizeof(copy)), data, block->stored);
}

/* Read over the data of a block that holds no events. 0, or -EBADMSG at the end of the file. */
static int skip_block(struct gt_capture_reader *reader, uint64_t size)
{
	while (size) {
		size_t step = size < MAX_STORED ? size : MAX_STORED;
		ssize_t got = read_bytes(reader, reader->stored, step);

		if (got < (ssize_t)step)
			return got < 0 ? got : -EBADMSG;
		size -= step;
	}
	return 0;
}

/* Decompress the data of a block of events. 0, -EBADMSG or -Exxx. */
static int read_events(struct gt_capture_reader *reader, const struct gt_capture_block *block)
{
	ssize_t got;
	size_t size;

	if (block->stored > MAX_STORED || block->size > GT_CAPTURE_BLOCK_SIZE)
		return -EBADMSG;
	got = read_bytes(reader, reader->stored, block->stored);
	if (got < 0)
		return got;
	if (got < block->stored)
		return -EAGAIN;
	if (!is_sound(block, reader->stored))
		return -EBADMSG;
	size = ZSTD_decompressDCtx(reader->decompressor, reader->events, GT_CAPTURE_BLOCK_SIZE,
				   reader->stored, block->stored);
	if (ZSTD_isError(size) || size != block->size)
		return -EBADMSG;
	reader->next = 0;
	reader->size = size;
	return 0;
}

/* Read the next block of events: 1; 0 at the end; or the error. */
static int next_block(struct gt_capture_reader *reader, struct gt_diag *diag)
{
	struct gt_capture_block block;
	int error = 0;

	for (;;) {
		ssize_t got;

		reader->block_position = reader->position;
		got = read_bytes(reader, &block, sizeof(block));
		if (got < 0)
			return gt_diag(diag, got, "capture", reader->path, "%s", strerror(-got));
		/* Without an index, too: the writer was killed. The names then have no account. */
		if (!got)
			return 0;
		if (got < (ssize_t)sizeof(block))
			return corrupt(reader, "truncated", reader->block_position, diag);
		if (block.magic != GT_CAPTURE_BLOCK_MAGIC)
			return corrupt(reader, "malformed", reader->block_position, diag);
		if (block.kind == GT_CAPTURE_INDEX)
			return 0;
		if (block.kind == GT_CAPTURE_EVENTS)
			break;
		error = skip_block(reader, block.stored);
		if (error)
			return corrupt(reader, "truncated", reader->block_position, diag);
	}
	error = read_events(reader, &block);
	if (error && error != -EBADMSG && error != -EAGAIN)
		return gt_diag(diag, error, "capture", reader->path, "%s", strerror(-error));
	return error ? corrupt(reader, error == -EAGAIN ? "truncated" : "malformed",
			       reader->block_position, diag)
		     : 1;
}

static int next_in_block(struct gt_capture_reader *reader, const struct gt_event **ret_event,
			 struct gt_diag *diag)
{
	const struct gt_event *event;

	while (reader->next == reader->size) {
		int result = next_block(reader, diag);

		if (result <= 0)
			return result;
	}
	event = (const void *)(reader->events + reader->next);
	if (gt_event_check(event, reader->size - reader->next))
		return corrupt(reader, "malformed event in the block", reader->block_position,
			       diag);
	reader->next += event->size;
	*ret_event = event;
	return 1;
}

int gt_capture_next(struct gt_capture_reader *reader, const struct gt_event **ret_event,
		    struct gt_diag *diag)
{
	return has_blocks(reader) ? next_in_block(reader, ret_event, diag)
				  : next_plain(reader, ret_event, diag);
}

void gt_capture_free(struct gt_capture_reader *reader)
{
	if (!reader)
		return;
	if (reader->fd >= 0)
		close(reader->fd);
	ZSTD_freeDCtx(reader->decompressor);
	free(reader->stored);
	free(reader->events);
	free(reader);
}

const struct gt_capture_head *gt_capture_head(const struct gt_capture_reader *reader)
{
	return &reader->head;
}
