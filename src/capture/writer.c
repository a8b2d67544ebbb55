/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/vec.h"
#include "capture/capture.h"
#include "capture/packer.h"
#include "event/kinds.h"

#define FLUSH_INTERVAL_NS 500000000ull

struct gt_capture_writer {
	int fd;
	int error; /* the first one */
	char path[256];
	uint64_t flushed; /* when the latest block was written, on the monotonic clock; 0: never */
	struct gt_capture_totals totals; /* `bytes` is the position in the file */
	GT_VEC(struct gt_capture_index) index;
	struct gt_packer *packer;
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
	writer->totals.bytes += size;
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

/* Add the times of a block to those of the whole. */
static void add_times(struct gt_capture_totals *totals, const struct gt_capture_block *block)
{
	if (block->start && (!totals->start || block->start < totals->start))
		totals->start = block->start;
	if (block->end > totals->end)
		totals->end = block->end;
}

void gt_capture_write_block(struct gt_capture_writer *writer, const struct gt_capture_block *block,
			    const void *stored)
{
	const struct gt_capture_index entry = {
		.offset = writer->totals.bytes,
		.start = block->start,
		.end = block->end,
		.count = block->count,
		.names = block->names,
	};

	if (!writer->error)
		writer->error = gt_vec_push(&writer->index, entry);
	write_bytes(writer, block, sizeof(*block));
	write_bytes(writer, stored, block->stored);
	writer->totals.blocks++;
	writer->totals.events += block->count;
	add_times(&writer->totals, block);
	writer->flushed = gt_clock_monotonic();
}

static void write_events(struct gt_capture_writer *writer)
{
	struct gt_capture_block block;
	const void *stored;
	int error;

	if (!gt_packer_count(writer->packer))
		return;
	error = gt_packer_pack(writer->packer, &block, &stored);
	if (error)
		writer->error = writer->error ? writer->error : error;
	else
		gt_capture_write_block(writer, &block, stored);
}

static void write_index(struct gt_capture_writer *writer)
{
	struct gt_capture_trailer trailer = {.index = writer->totals.bytes};
	struct gt_capture_block block = {.kind = GT_CAPTURE_INDEX,
					 .count = (uint32_t)writer->index.count};
	size_t size = writer->index.count * sizeof(*writer->index.items);
	const void *stored;

	if (!writer->error)
		writer->error = gt_packer_pack_data(writer->packer, writer->index.items, size,
						    &block, &stored);
	if (writer->error)
		return;
	write_bytes(writer, &block, sizeof(block));
	write_bytes(writer, stored, block.stored);
	memcpy(trailer.magic, GT_CAPTURE_TRAILER_MAGIC, sizeof(trailer.magic));
	write_bytes(writer, &trailer, sizeof(trailer));
}

static void free_writer(struct gt_capture_writer *writer)
{
	gt_packer_free(writer->packer);
	gt_vec_free(&writer->index);
	free(writer);
}

static struct gt_capture_writer *new_writer(const char *path)
{
	struct gt_capture_writer *writer = calloc(1, sizeof(*writer));

	if (!writer)
		return NULL;
	writer->packer = gt_packer_new(GT_CAPTURE_BLOCK_SIZE);
	snprintf(writer->path, sizeof(writer->path), "%s", path);
	if (writer->packer)
		return writer;
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
		return gt_diag_file(diag, -errno, "capture", path, GT_FILE_WRITTEN, NULL);
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
	if (gt_packer_count(writer->packer) &&
	    gt_clock_monotonic() - writer->flushed >= FLUSH_INTERVAL_NS)
		write_events(writer);
	return writer->error;
}

int gt_capture_sync(struct gt_capture_writer *writer)
{
	write_events(writer);
	return writer->error;
}

int gt_capture_write(struct gt_capture_writer *writer, const struct gt_event *event)
{
	if (gt_packer_is_full(writer->packer, event))
		write_events(writer);
	gt_packer_add(writer->packer, event);
	return writer->error;
}

struct gt_capture_totals gt_capture_written(const struct gt_capture_writer *writer)
{
	struct gt_capture_totals totals = writer->totals;

	totals.events += gt_packer_count(writer->packer);
	return totals;
}

int gt_capture_finish(struct gt_capture_writer *writer, struct gt_capture_totals *ret_totals,
		      struct gt_diag *diag)
{
	int error;

	if (!writer)
		return 0;
	write_events(writer);
	write_index(writer);
	error = writer->error;
	if (ret_totals)
		*ret_totals = writer->totals;
	if (close(writer->fd) < 0 && !error)
		error = -errno;
	if (error)
		gt_diag_file(diag, error, "capture", writer->path, GT_FILE_WRITTEN,
			     "cannot be written");
	free_writer(writer);
	return error;
}
