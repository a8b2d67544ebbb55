/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include <zlib.h>
#include <zstd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/vec.h"
#include "capture/capture.h"
#include "event/kinds.h"

#define LEVEL 1 /* of compression: 0.4 GB/s; higher ones save little */
#define FLUSH_INTERVAL_NS 500000000ull

struct gt_capture_writer {
	int fd;
	int error; /* the first one */
	char path[256];
	uint64_t position; /* bytes in the file */
	uint64_t flushed;  /* when the latest block was written, on the monotonic clock; 0: never */
	ZSTD_CCtx *compressor;
	GT_VEC(struct gt_capture_index) index;
	struct gt_capture_block block; /* of the events in the buffer: their times and number */
	size_t used;                   /* of the buffer */
	size_t room;                   /* bytes of `stored` */
	uint8_t *stored;
	uint8_t buffer[GT_CAPTURE_BLOCK_SIZE];
};

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#error "gputap knows the calling conventions of x86-64 and aarch64 only"
#endif

static void write_bytes(struct gt_capture_writer *writer, const void *data, size_t size)
{
	if (!writer->error)
		writer->error = gt_write_all(writer->fd, data, size);
	writer->position += size;
}

static void write_head(struct gt_capture_writer *writer)
{
	gt_auto_strbuf schema = GT_STRBUF_INIT;
	struct gt_capture_head head = {
		.magic = GT_CAPTURE_MAGIC,
		.version = GT_CAPTURE_VERSION,
		.size = sizeof(head),
		.machine = MACHINE,
	};

	gt_event_schema(&schema);
	while (schema.length % 8 && !schema.failed)
		gt_strbuf_putc(&schema, '\0');
	head.schema_size = schema.length;
	if (schema.failed) {
		writer->error = -ENOMEM;
		return;
	}
	write_bytes(writer, &head, sizeof(head));
	write_bytes(writer, schema.data, schema.length);
}

/* Write a block: its head, and `size` bytes compressed. `block` has the rest of the head. */
static void write_block(struct gt_capture_writer *writer, struct gt_capture_block *block,
			const void *data, size_t size)
{
	size_t stored =
		ZSTD_compress2(writer->compressor, writer->stored, writer->room, data, size);

	if (ZSTD_isError(stored)) {
		writer->error = writer->error ? writer->error : -ENOMEM;
		return;
	}
	block->magic = GT_CAPTURE_BLOCK_MAGIC;
	block->stored = stored;
	block->size = size;
	block->checksum = 0;
	block->checksum =
		crc32(crc32(0, (const void *)block, sizeof(*block)), writer->stored, (uInt)stored);
	write_bytes(writer, block, sizeof(*block));
	write_bytes(writer, writer->stored, stored);
}

static void write_events(struct gt_capture_writer *writer)
{
	struct gt_capture_block *block = &writer->block;
	const struct gt_capture_index entry = {
		.offset = writer->position,
		.start = block->start,
		.end = block->end,
		.count = block->count,
	};

	if (!writer->used)
		return;
	block->kind = GT_CAPTURE_EVENTS;
	write_block(writer, block, writer->buffer, writer->used);
	if (!writer->error)
		writer->error = gt_vec_push(&writer->index, entry);
	*block = (struct gt_capture_block){0};
	writer->used = 0;
	writer->flushed = gt_clock_monotonic();
}

/* Make room for compressed data of so many bytes. */
static int make_room(struct gt_capture_writer *writer, size_t size)
{
	size_t room = ZSTD_compressBound(size);
	uint8_t *stored = room > writer->room ? realloc(writer->stored, room) : writer->stored;

	if (!stored)
		return -ENOMEM;
	writer->stored = stored;
	writer->room = room > writer->room ? room : writer->room;
	return 0;
}

static void write_index(struct gt_capture_writer *writer)
{
	struct gt_capture_trailer trailer = {.index = writer->position};
	struct gt_capture_block block = {.kind = GT_CAPTURE_INDEX, .count = writer->index.count};
	size_t size = writer->index.count * sizeof(*writer->index.items);

	if (!writer->error)
		writer->error = make_room(writer, size);
	if (writer->error)
		return;
	write_block(writer, &block, writer->index.items, size);
	memcpy(trailer.magic, GT_CAPTURE_TRAILER_MAGIC, sizeof(trailer.magic));
	write_bytes(writer, &trailer, sizeof(trailer));
}

static void free_writer(struct gt_capture_writer *writer)
{
	ZSTD_freeCCtx(writer->compressor);
	gt_vec_free(&writer->index);
	free(writer->stored);
	free(writer);
}

static struct gt_capture_writer *new_writer(const char *path)
{
	struct gt_capture_writer *writer = calloc(1, sizeof(*writer));

	if (!writer)
		return NULL;
	writer->compressor = ZSTD_createCCtx();
	if (writer->compressor && !make_room(writer, sizeof(writer->buffer)) &&
	    !ZSTD_isError(
		    ZSTD_CCtx_setParameter(writer->compressor, ZSTD_c_compressionLevel, LEVEL))) {
		snprintf(writer->path, sizeof(writer->path), "%s", path);
		return writer;
	}
	free_writer(writer);
	return NULL;
}

int gt_capture_create(const char *path, struct gt_capture_writer **ret_writer, struct gt_diag *diag)
{
	struct gt_capture_writer *writer;
	gt_autoclose int fd = -1;

	if (!strcmp(path, "-")) {
		if (isatty(STDOUT_FILENO))
			return gt_diag(diag, -EINVAL, "capture", path,
				       "a capture cannot be written to a terminal: redirect "
				       "standard output or give a file");
		fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	} else {
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
	}
	if (fd < 0)
		return gt_diag(diag, -errno, "capture", path, "%s", strerror(errno));
	writer = new_writer(path);
	if (!writer)
		return gt_diag(diag, -ENOMEM, "capture", path, "out of memory");
	writer->fd = gt_take_fd(&fd);
	write_head(writer);
	*ret_writer = writer;
	return 0;
}

int gt_capture_flush(struct gt_capture_writer *writer)
{
	if (writer->used && gt_clock_monotonic() - writer->flushed >= FLUSH_INTERVAL_NS)
		write_events(writer);
	return writer->error;
}

static void note_time(struct gt_capture_block *block, const struct gt_event *event)
{
	uint64_t duration = 0, start;

	block->count++;
	if (event->clock != GT_CLOCK_MONOTONIC || !event->time)
		return;
	gt_event_duration(event, &duration);
	start = duration < event->time ? event->time - duration : 1;
	if (!block->start || start < block->start)
		block->start = start;
	if (event->time > block->end)
		block->end = event->time;
}

int gt_capture_write(struct gt_capture_writer *writer, const struct gt_event *event)
{
	if (event->size > sizeof(writer->buffer) - writer->used)
		write_events(writer);
	memcpy(writer->buffer + writer->used, event, event->size);
	writer->used += event->size;
	note_time(&writer->block, event);
	return writer->error;
}

int gt_capture_close(struct gt_capture_writer *writer, struct gt_diag *diag)
{
	int error;

	if (!writer)
		return 0;
	write_events(writer);
	write_index(writer);
	error = writer->error;
	if (close(writer->fd) < 0 && !error)
		error = -errno;
	if (error)
		gt_diag(diag, error, "capture", writer->path, "cannot be written: %s",
			strerror(-error));
	free_writer(writer);
	return error;
}
