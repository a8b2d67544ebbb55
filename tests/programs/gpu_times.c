/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Adds `gpu_work` events to a capture: the times that the software GPU logged of its operations
 * (SOFTGPU_LOG). The n-th operation of a stream in the log is that of the n-th call on this stream.
 *
 *     gpu_times CAPTURE LOG NEW-CAPTURE
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/operation.h"
#include "base/vec.h"
#include "capture/capture.h"

struct logged_work {
	uint32_t process;
	uint64_t stream, submitted, start, end, bytes;
	enum gt_gpu_operation operation;
	bool used;
};

static struct {
	GT_VEC(struct logged_work) log;
	GT_VEC(struct gt_event_gpu_work) waiting;
	struct gt_capture_writer *writer;
} times;

static void fail(const char *what)
{
	fprintf(stderr, "gpu_times: %s\n", what);
	exit(1);
}

static uint64_t number_of(const char *line, const char *key)
{
	const char *found = strstr(line, key);
	const char *value = found ? found + strlen(key) : "0";

	return strtoull(value + (*value == '"'), NULL, 0);
}

static bool is_operation(const char *line, struct logged_work *work)
{
	static const struct {
		const char *text;
		enum gt_gpu_operation operation;
	} kinds[] = {
		{"\"kind\":\"H2D\"", GT_GPU_COPY_TO_DEVICE},
		{"\"kind\":\"D2H\"", GT_GPU_COPY_TO_HOST},
		{"\"kind\":\"D2D\"", GT_GPU_COPY_ON_DEVICE},
		{"\"op\":\"set\"", GT_GPU_SET},
		{"\"op\":\"kernel\"", GT_GPU_KERNEL},
	};

	for (size_t i = 0; i < gt_countof(kinds); i++) {
		work->operation = kinds[i].operation;
		if (strstr(line, kinds[i].text))
			return true;
	}
	return false;
}

static void read_log(const char *path)
{
	FILE *file = fopen(path, "r");
	char line[4096];

	if (!file)
		fail("cannot read the log");
	while (fgets(line, sizeof(line), file)) {
		struct logged_work work = {
			.process = (uint32_t)number_of(line, "\"pid\":"),
			.stream = number_of(line, "\"stream\":"),
			.submitted = number_of(line, "\"submitted\":"),
			.start = number_of(line, "\"start\":"),
			.end = number_of(line, "\"end\":"),
			.bytes = number_of(line, "\"bytes\":"),
		};

		if (is_operation(line, &work) && gt_vec_push(&times.log, work))
			fail("out of memory");
	}
	fclose(file);
}

static int take_operation(void *context, const struct gt_names *names,
			  const struct gt_operation *operation)
{
	uint64_t stream =
		operation->has_stream && operation->stream ? operation->stream : GT_STREAM_LEGACY;

	if (operation->failed || operation->capture ||
	    (operation->kind != GT_OPERATION_LAUNCH && operation->kind != GT_OPERATION_COPY &&
	     operation->kind != GT_OPERATION_SET))
		return 0;
	gt_vec_each (work, &times.log) {
		struct gt_event_gpu_work event = {
			.head = operation->event->head,
			.submitted = operation->start + 1,
			.start = work->start,
			.stream = operation->stream,
			.bytes = work->bytes,
			.operation = work->operation,
		};

		if (work->used || work->process != operation->event->head.process ||
		    work->stream != stream)
			continue;
		work->used = true;
		/* In virtual time it is of another clock. */
		if (work->submitted > operation->start && work->submitted < operation->end)
			event.submitted = work->submitted;
		event.head.kind = GT_EVENT_gpu_work;
		event.head.size = sizeof(event);
		event.head.time = work->end;
		return gt_vec_push(&times.waiting, event);
	}
	return 0;
}

/* Write the events of operations that ended until a time. */
static void write_waiting(uint64_t until)
{
	size_t kept = 0;

	gt_vec_each (event, &times.waiting) {
		if (event->head.time > until)
			times.waiting.items[kept++] = *event;
		else if (gt_capture_write(times.writer, &event->head))
			fail("cannot write");
	}
	times.waiting.count = kept;
}

int main(int count, char **arguments)
{
	gt_auto(names) struct gt_names *names = gt_names_new();
	gt_auto(operations) struct gt_operations *operations = gt_operations_new();
	gt_auto(capture_reader) struct gt_capture_reader *reader = NULL;
	const struct gt_event *event;
	struct gt_diag diag;

	if (count != 4 || !names || !operations)
		fail("usage: gpu_times CAPTURE LOG NEW-CAPTURE");
	read_log(arguments[2]);
	if (gt_capture_open(arguments[1], &reader, &diag) ||
	    gt_capture_create(arguments[3], &times.writer, &diag))
		fail("cannot open the captures");
	while (gt_capture_next(reader, &event, &diag) == 1) {
		bool ends = event->kind == GT_EVENT_exit;

		if (gt_names_take(names, event) ||
		    gt_operations_take(operations, names, event, take_operation, NULL))
			fail("out of memory");
		if (ends || event->clock == GT_CLOCK_MONOTONIC)
			write_waiting(ends ? UINT64_MAX : event->time);
		if (gt_capture_write(times.writer, event))
			fail("cannot write");
	}
	write_waiting(UINT64_MAX);
	gt_vec_free(&times.waiting);
	gt_vec_free(&times.log);
	return gt_capture_close(times.writer, &diag) ? 1 : 0;
}
