/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* For tests of outputs: a stream of events to an output that writes to memory. */
#pragma once

#include <sys/mman.h>

#include "base/file.h"
#include "event/kinds.h"
#include "output/output.h"
#include "tap.h"

#define PROCESS 4711

/* An output that writes to memory, and the stream that goes to it. */
struct stream {
	const struct gt_output *output;
	struct gt_names *names;
	void *state;
	int fd;
};

static inline struct stream begin_stream(const struct gt_output *output,
					 struct gt_output_options options)
{
	struct stream stream = {
		.output = output,
		.names = gt_names_new(),
		.fd = memfd_create("output", MFD_CLOEXEC),
	};

	setenv("TZ", "UTC", 1);
	options.fd = stream.fd;
	CHECK_INT(output->open(&options, &stream.state, NULL), 0);
	return stream;
}

static inline int pass_event(struct stream *stream, const struct gt_event *event)
{
	CHECK_INT(gt_names_take(stream->names, event), 0);
	return stream->output->event(stream->state, stream->names, event);
}

static inline void pass_text(struct stream *stream, enum gt_event_kind kind, const char *string,
			     __u32 number)
{
	struct gt_event *event = gt_event_new(kind, string, strlen(string));

	event->process = event->thread = PROCESS;
	event->time = 1000;
	if (kind == GT_EVENT_function)
		((struct gt_event_function *)event)->number = number;
	CHECK_INT(pass_event(stream, event), 0);
	free(event);
}

static inline void pass_clock(struct stream *stream)
{
	struct gt_event_clock clock = {
		.head = {.time = 1000, .kind = GT_EVENT_clock, .size = sizeof(clock)},
		.realtime = 1763640000000001000, /* 2025-11-20 12:00:00 UTC */
	};

	CHECK_INT(pass_event(stream, &clock.head), 0);
}

static inline void end_stream(struct stream *stream, const char *expected)
{
	char path[32];
	gt_auto_file file = {0};

	CHECK_INT(stream->output->close(stream->state, NULL), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", stream->fd);
	CHECK_INT(gt_file_read(path, 1 << 20, &file, NULL), 0);
	CHECK_STR((const char *)file.data, expected);
	gt_names_free(stream->names);
	close(stream->fd);
}
