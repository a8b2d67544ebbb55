/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A stream of events written by hand, for the tests of src/analysis: what a program calls, one
 * function a call. Time advances by `duration` in each call and by `gap` between two.
 */
#pragma once

#include "api_record.h"
#include "event/kinds.h"
#include "names/names.h"

static struct {
	struct gt_names *names;
	int (*take)(void *analysis, const struct gt_names *names, const struct gt_event *event);
	void *analysis;
	uint64_t now, duration, gap;
	uint32_t process, thread;
	uint64_t stack;
	uint32_t context;
	int16_t device;
	uint8_t depth;
	bool per_thread; /* functions are those with default streams of the threads */
} stream;

static inline void feed_event(const struct gt_event *event)
{
	if (gt_names_take(stream.names, event) || stream.take(stream.analysis, stream.names, event))
		TAP_FAIL("an event was rejected");
}

static inline void feed_text(enum gt_event_kind kind, uint32_t number, const char *name)
{
	struct gt_event *event = gt_event_new(kind, name, strlen(name));

	event->time = stream.now;
	event->process = stream.process;
	event->thread = stream.thread;
	if (kind == GT_EVENT_function)
		((struct gt_event_function *)event)->number = number;
	feed_event(event);
	free(event);
}

/* The following calls are of another process, with one thread. */
static inline void switch_process(uint32_t process, const char *name)
{
	stream.process = stream.thread = process;
	feed_text(GT_EVENT_process, 0, name);
}

/* Describes a device to the process; a UUID of 16 bytes. */
static inline void feed_device(int ordinal, const char *uuid)
{
	struct gt_event *event =
		gt_device_event(stream.process, ordinal, (const uint8_t *)uuid, NULL);

	event->time = stream.now;
	feed_event(event);
	free(event);
}

static inline void feed_context(uint32_t number, uint64_t handle, uint32_t flags)
{
	struct gt_event_context event = {
		.head = {.kind = GT_EVENT_context,
			 .size = sizeof(event),
			 .process = stream.process,
			 .time = stream.now,
			 .device = stream.device},
		.handle = handle,
		.number = number,
		.flags = flags,
	};

	feed_event(&event.head);
}

/* A new stream into an analysis, of process 100, "train". */
#define STREAM_INTO(made, taker)                                                                   \
	do {                                                                                       \
		gt_names_free(stream.names);                                                       \
		memset(&stream, 0, sizeof(stream));                                                \
		stream.names = gt_names_new();                                                     \
		stream.analysis = (made);                                                          \
		stream.take = taker;                                                               \
		stream.now = 1000000;                                                              \
		stream.duration = 1000;                                                            \
		stream.gap = 1000;                                                                 \
		switch_process(100, "train");                                                      \
	} while (0)

/* The call as it returns: it began `duration` ago. */
static inline void returns(struct built *built, uint64_t result)
{
	uint32_t number = (uint32_t)gt_api_find(built->function->name);

	feed_text(GT_EVENT_function, number, built->function->name);
	stream.now += stream.gap + stream.duration;
	back(built, result);
	built->call.function = number;
	built->call.duration = stream.duration;
	built->call.stack = stream.stack;
	built->call.context = stream.context;
	built->call.depth = stream.depth;
	built->call.state |= stream.depth ? GT_CALL_NESTED : 0;
	built->call.state |= stream.per_thread ? GT_CALL_PER_THREAD : 0;
	built->call.head.time = stream.now;
	built->call.head.process = stream.process;
	built->call.head.thread = stream.thread;
	built->call.head.device = stream.device;
	feed_event(&finish(built)->head);
}

/* The next call began before the last one, and encloses it. */
static inline void enclose(void)
{
	stream.depth = 0;
	stream.gap = 0;
	stream.now -= 2 * stream.duration;
	stream.duration *= 4;
}

/* Back to the default durations. */
static inline void reset_times(void)
{
	stream.gap = stream.duration = 1000;
}

/* A function of one number or handle, or of none (NULL). */
static inline void call_with(const char *function, const char *argument, uint64_t value,
			     uint64_t result)
{
	struct built built = begin(function);

	if (argument)
		pass(&built, argument, value);
	returns(&built, result);
}

/* The address is what the call returns, or what it writes; the bytes are those of `size`. */
static inline void allocate(const char *function, const char *size, uint64_t address,
			    uint64_t bytes, uint64_t result)
{
	struct built built = begin(function);
	int output = gt_api_find_role(built.function, GT_ROLE_OUT);

	if (size)
		pass(&built, size, bytes);
	if (!result && output >= 0)
		point(&built, built.function->arguments[output].name, &address, sizeof(address));
	returns(&built, result || output >= 0 ? result : address);
}

static inline void cuda_malloc(uint64_t address, uint64_t bytes)
{
	allocate("cudaMalloc", "size", address, bytes, 0);
}

static inline void cuda_free(uint64_t address)
{
	call_with("cudaFree", "devPtr", address, 0);
}

static inline void ends(uint32_t process)
{
	struct gt_event_exit event = {
		.head = {.kind = GT_EVENT_exit,
			 .size = sizeof(event),
			 .process = process,
			 .thread = process,
			 .time = stream.now += stream.gap},
	};

	feed_event(&event.head);
}

static inline void session_ends(void)
{
	struct gt_event_account event = {
		.head = {.kind = GT_EVENT_account,
			 .size = sizeof(event),
			 .time = stream.now += stream.gap},
	};

	feed_event(&event.head);
}

/* cudaMemcpy, or with a stream cudaMemcpyAsync; kinds as enum cudaMemcpyKind. */
static inline void copy(uint64_t target, uint64_t source, uint64_t bytes, uint64_t kind)
{
	struct built built = begin("cudaMemcpy");

	pass(&built, "dst", target);
	pass(&built, "src", source);
	pass(&built, "count", bytes);
	pass(&built, "kind", kind);
	returns(&built, 0);
}

static inline void copy_async(uint64_t target, uint64_t source, uint64_t bytes, uint64_t kind,
			      uint64_t in_stream)
{
	struct built built = begin("cudaMemcpyAsync");

	pass(&built, "dst", target);
	pass(&built, "src", source);
	pass(&built, "count", bytes);
	pass(&built, "kind", kind);
	pass(&built, "stream", in_stream);
	returns(&built, 0);
}

static inline void launch(uint64_t kernel, uint32_t grid, uint32_t block, uint64_t in_stream,
			  uint64_t result)
{
	struct built built = begin("cudaLaunchKernel");

	pass(&built, "func", kernel);
	pass_bytes(&built, "gridDim", (uint32_t[]){grid, 1, 1}, 12);
	pass_bytes(&built, "blockDim", (uint32_t[]){block, 1, 1}, 12);
	pass(&built, "args", 0x7ffc00003000);
	pass(&built, "sharedMem", 0);
	pass(&built, "stream", in_stream);
	returns(&built, result);
}

/* The name of a host function, as it was registered. */
static inline void register_kernel(uint64_t stub, const char *name)
{
	struct gt_event_string *string = (void *)gt_event_new(GT_EVENT_string, name, strlen(name));
	struct built built = begin("__cudaRegisterFunction");

	string->head.process = string->head.thread = stream.process;
	string->function = (uint32_t)gt_api_find("__cudaRegisterFunction");
	string->slot = (uint8_t)gt_api_kernel_name_slot(built.function);
	feed_text(GT_EVENT_function, string->function, "__cudaRegisterFunction");
	feed_event(&string->head);
	free(string);
	pass(&built, "hostFun", stub);
	built.call.head.kind = GT_EVENT_implicit;
	returns(&built, 0);
}
