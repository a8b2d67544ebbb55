/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "base/file.h"
#include "capture/capture.h"
#include "event/kinds.h"

#define BUFFER_SIZE (256 * 1024)
#define MAX_SCHEMA (1024 * 1024)

struct gt_capture_reader {
	int fd;
	struct gt_capture_head head;
	uint64_t position; /* in the file, of buffer[start] */
	size_t start, end; /* of what is unread in the buffer */
	char path[256];
	_Alignas(8) uint8_t buffer[BUFFER_SIZE];
};

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
	if (head->size < sizeof(*head) || head->size > 4096 || head->size % 8 ||
	    head->schema_size > MAX_SCHEMA || head->schema_size % 8 ||
	    skip(reader, (size_t)head->size + head->schema_size))
		return gt_diag(diag, -EBADMSG, "capture", reader->path, "malformed header");
	return 0;
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
	if (error)
		return error;
	*ret_reader = gt_take(reader);
	return 0;
}

int gt_capture_next(struct gt_capture_reader *reader, const struct gt_event **ret_event,
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
		return gt_diag(diag, -EBADMSG, "capture", reader->path,
			       "%s at byte %" PRIu64 "; the events before it were read",
			       error == -EAGAIN ? "truncated" : "malformed", reader->position);
	reader->start += event->size;
	reader->position += event->size;
	*ret_event = event;
	return 1;
}

void gt_capture_free(struct gt_capture_reader *reader)
{
	if (!reader)
		return;
	if (reader->fd >= 0)
		close(reader->fd);
	free(reader);
}

const struct gt_capture_head *gt_capture_head(const struct gt_capture_reader *reader)
{
	return &reader->head;
}
