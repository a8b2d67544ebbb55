/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/file.h"
#include "capture/capture.h"
#include "event/kinds.h"

#define BUFFER_SIZE (256 * 1024) /* more than the largest event */

struct gt_capture_writer {
	int fd;
	int error; /* the first one */
	size_t used;
	char path[256];
	uint8_t buffer[BUFFER_SIZE];
};

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#error "gputap knows the calling conventions of x86-64 and aarch64 only"
#endif

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
	memcpy(writer->buffer, &head, sizeof(head));
	memcpy(writer->buffer + sizeof(head), schema.data, schema.length);
	writer->used = sizeof(head) + schema.length;
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
	writer = malloc(sizeof(*writer));
	if (!writer)
		return gt_diag(diag, -ENOMEM, "capture", path, "out of memory");
	writer->error = 0;
	writer->used = 0;
	snprintf(writer->path, sizeof(writer->path), "%s", path);
	writer->fd = gt_take_fd(&fd);
	write_head(writer);
	*ret_writer = writer;
	return 0;
}

int gt_capture_flush(struct gt_capture_writer *writer)
{
	if (!writer->error)
		writer->error = gt_write_all(writer->fd, writer->buffer, writer->used);
	writer->used = 0;
	return writer->error;
}

int gt_capture_write(struct gt_capture_writer *writer, const struct gt_event *event)
{
	if (event->size > BUFFER_SIZE - writer->used)
		gt_capture_flush(writer);
	memcpy(writer->buffer + writer->used, event, event->size);
	writer->used += event->size;
	return writer->error;
}

int gt_capture_close(struct gt_capture_writer *writer, struct gt_diag *diag)
{
	int error;

	if (!writer)
		return 0;
	error = gt_capture_flush(writer);
	if (close(writer->fd) < 0 && !error)
		error = -errno;
	if (error)
		gt_diag(diag, error, "capture", writer->path, "cannot be written: %s",
			strerror(-error));
	free(writer);
	return error;
}
