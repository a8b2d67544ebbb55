/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "agent/opencl/times.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/protocol.h"
#include "agent/ring.h"
#include "base/clock.h"

enum {
	MAX_DEVICES = GT_AGENT_CL_CLOCKS,
	MARKERS = 6,         /* that relate a new clock to the host's */
	MAX_DRIFT_PPM = 500, /* to which Linux slews CLOCK_MONOTONIC */
};

#define MOMENT_NS (200 * UINT64_C(1000000)) /* between two moments of a clock */

struct device_clock {
	cl_device_id device;
	uint64_t last_moment; /* CLOCK_MONOTONIC; 0: none yet */
};

/* A command that is not complete. */
struct timed_command {
	uint64_t submitted, returned;
	struct device_clock *clock;
	cl_command_queue queue;
	cl_context context;
	uint64_t object, bytes;
	uint32_t thread, operation;
	uint32_t flags;
};

/* A marker that relates a clock to the host's. */
struct clock_marker {
	uint64_t before, after;
	struct device_clock *clock;
};

static struct {
	uint64_t period; /* 0: off; every n-th command is timed */
	atomic_uint_least64_t commands;
	pthread_mutex_t lock; /* of the clocks; OpenCL is not called while it is held */
	struct device_clock clocks[MAX_DEVICES];
	struct _cl_icd_dispatch next; /* the functions that submit work, of the layer or below it */
} times = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* A command that is being submitted. */
struct submission {
	struct timed_command *command; /* NULL: it is not timed */
	enum gt_agent_count reason;    /* of that */
	const struct gt_agent_ring *ring;
	cl_event own, *event;
};

/* ---- clocks ---- */

static uint16_t number_of(const struct device_clock *clock)
{
	return (uint16_t)(GT_AGENT_FIRST_CL_CLOCK + (clock - times.clocks));
}

/* A moment on a clock, which precedes the times on it. forced: also soon after the last one. */
static void put_moment(const struct gt_agent_ring *ring, struct device_clock *clock,
		       const struct gt_agent_clock *moment, bool forced)
{
	struct gt_agent_clock record = *moment;

	record.head.kind = GT_AGENT_EVENT_CLOCK;
	record.head.size = sizeof(record);
	record.head.clock = number_of(clock);
	record.head.device = -1;
	pthread_mutex_lock(&times.lock);
	if (forced || !clock->last_moment || record.before > clock->last_moment + MOMENT_NS) {
		clock->last_moment = record.before;
		gt_agent_ring_put(ring, &record.head);
	}
	pthread_mutex_unlock(&times.lock);
}

static bool read_time(cl_event event, cl_profiling_info which, cl_ulong *ret_time)
{
	return !gt_cl_target->clGetEventProfilingInfo(event, which, sizeof(*ret_time), ret_time,
						      NULL);
}

static void CL_CALLBACK complete_marker(cl_event event, cl_int status, void *data)
{
	const struct gt_agent_ring *ring = gt_cl_services->wait_for_ring();
	struct clock_marker *marker = data;
	struct gt_agent_clock moment = {.before = marker->before, .after = marker->after};
	int error = errno;
	cl_ulong queued;

	if (ring && status == CL_COMPLETE &&
	    read_time(event, CL_PROFILING_COMMAND_QUEUED, &queued)) {
		moment.head.time = queued;
		put_moment(ring, marker->clock, &moment, true);
	}
	free(marker);
	errno = error;
}

static void add_marker(struct device_clock *clock, cl_command_queue queue)
{
	struct clock_marker *marker = malloc(sizeof(*marker));
	cl_event event = NULL;

	if (!marker)
		return;
	marker->clock = clock;
	marker->before = gt_clock_monotonic();
	if (gt_cl_target->clEnqueueMarkerWithWaitList(queue, 0, NULL, &event))
		event = NULL;
	marker->after = gt_clock_monotonic();
	if (!event || gt_cl_target->clSetEventCallback(event, CL_COMPLETE, complete_marker, marker))
		free(marker);
	if (event)
		gt_cl_target->clReleaseEvent(event);
}

/* Relate a new clock to the host's by markers in a queue of the layer's, without waiting. */
static void relate_clock(struct device_clock *clock, cl_context context)
{
	cl_command_queue queue;
	cl_int error;

	if (!gt_cl_target->clEnqueueMarkerWithWaitList)
		return;
	queue = gt_cl_target->clCreateCommandQueue(context, clock->device,
						   CL_QUEUE_PROFILING_ENABLE, &error);
	if (!queue)
		return;
	for (int i = 0; i < MARKERS; i++)
		add_marker(clock, queue);
	gt_cl_target->clFlush(queue);
	gt_cl_target->clReleaseCommandQueue(queue);
}

/* The clock of a device. NULL: there are too many devices. */
static struct device_clock *find_clock(cl_device_id device, cl_context context)
{
	struct device_clock *clock = times.clocks, *end = clock + MAX_DEVICES;
	bool is_new;

	pthread_mutex_lock(&times.lock);
	while (clock < end && clock->device && clock->device != device)
		clock++;
	is_new = clock < end && !clock->device;
	if (is_new)
		clock->device = device;
	pthread_mutex_unlock(&times.lock);
	if (is_new)
		relate_clock(clock, context);
	return clock < end ? clock : NULL;
}

/* ---- complete commands ---- */

/* Times of a command on its device's clock. */
struct command_times {
	cl_ulong queued, start, end;
};

/*
 * When the command was queued, by CLOCK_MONOTONIC, at the latest: before the call returned, and as
 * long before `known`, when the command had ended, as the device took to the end of it.
 */
static uint64_t last_queued(const struct timed_command *command, const struct command_times *device,
			    uint64_t known)
{
	uint64_t elapsed = device->end > device->queued ? device->end - device->queued : 0;
	uint64_t drift = elapsed / (1000000 / MAX_DRIFT_PPM);
	uint64_t last = known + drift - elapsed;

	return last >= command->submitted && last < command->returned ? last : command->returned;
}

/* False: the implementation has no times. */
static bool put_command(const struct gt_agent_ring *ring, const struct timed_command *command,
			cl_event event)
{
	struct command_times device;
	struct gt_event_gpu_work work = {
		.head = {.thread = command->thread,
			 .kind = GT_EVENT_gpu_work,
			 .size = sizeof(work),
			 .clock = number_of(command->clock),
			 .device = -1},
		.submitted = command->submitted,
		.returned = command->returned,
		.stream = (uint64_t)(uintptr_t)command->queue,
		.object = command->object,
		.bytes = command->bytes,
		.handle = (uint64_t)(uintptr_t)command->context,
		.operation = command->operation,
		.flags = command->flags,
	};
	struct gt_agent_clock moment = {.before = command->submitted};
	uint64_t known = gt_clock_monotonic();

	if (!read_time(event, CL_PROFILING_COMMAND_QUEUED, &device.queued) ||
	    !read_time(event, CL_PROFILING_COMMAND_START, &device.start) ||
	    !read_time(event, CL_PROFILING_COMMAND_END, &device.end))
		return false;
	moment.head.time = device.queued;
	moment.after = last_queued(command, &device, known);
	put_moment(ring, command->clock, &moment, false);
	work.head.time = device.end;
	work.start = device.start;
	gt_agent_ring_put(ring, &work.head);
	return true;
}

static void CL_CALLBACK complete_command(cl_event event, cl_int status, void *data)
{
	const struct gt_agent_ring *ring = gt_cl_services->wait_for_ring();
	struct timed_command *command = data;
	int error = errno;

	/* Negative: the command failed. */
	if (ring && (status != CL_COMPLETE || !put_command(ring, command, event))) {
		gt_agent_add(ring, GT_AGENT_TIMED, (uint64_t)-1);
		gt_agent_count(ring, GT_AGENT_UNTIMED);
	}
	free(command);
	errno = error;
}

/* ---- submission ---- */

static bool has_profiling(cl_command_queue queue)
{
	cl_command_queue_properties properties = 0;

	return !gt_cl_target->clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof(properties),
						    &properties, NULL) &&
	       (properties & CL_QUEUE_PROFILING_ENABLE);
}

/* NULL: *ret_reason says why. */
static struct timed_command *make_command(cl_command_queue queue, enum gt_agent_count *ret_reason)
{
	struct timed_command command = {.queue = queue}, *made;
	cl_device_id device = NULL;

	*ret_reason = GT_AGENT_UNSAMPLED;
	if (atomic_fetch_add_explicit(&times.commands, 1, memory_order_relaxed) % times.period)
		return NULL;
	*ret_reason = GT_AGENT_UNPROFILED;
	if (!has_profiling(queue))
		return NULL;
	gt_cl_target->clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof(cl_context),
					    (void *)&command.context, NULL);
	gt_cl_target->clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof(device), (void *)&device,
					    NULL);
	*ret_reason = GT_AGENT_CROWDED;
	command.clock = find_clock(device, command.context);
	if (!command.clock)
		return NULL;
	*ret_reason = GT_AGENT_UNTIMED;
	made = malloc(sizeof(*made));
	if (made)
		*made = command;
	return made;
}

/* Before a command is enqueued. Return where its event goes. */
static cl_event *begin_submission(struct submission *submission, cl_command_queue queue,
				  cl_event *event)
{
	*submission = (struct submission){
		.ring = gt_cl_services->wait_for_ring(),
		.event = event,
	};
	if (submission->ring)
		submission->command = make_command(queue, &submission->reason);
	if (submission->command) {
		submission->event = event ? event : &submission->own;
		submission->command->submitted = gt_clock_monotonic();
	}
	return submission->event;
}

/* Have a callback when the command is complete, which takes over its description. */
static bool follow_command(struct submission *submission)
{
	cl_event event = *submission->event;

	return event && !gt_cl_target->clSetEventCallback(event, CL_COMPLETE, complete_command,
							  submission->command);
}

/* After it has been enqueued. */
static void end_submission(struct submission *submission, bool is_enqueued, bool is_blocking,
			   enum gt_gpu_operation operation, const void *object, uint64_t bytes)
{
	struct timed_command *command = submission->command;
	enum gt_agent_count count = submission->reason;
	int error = errno;

	if (command) {
		command->returned = gt_clock_monotonic();
		command->operation = operation;
		command->object = (uint64_t)(uintptr_t)object;
		command->bytes = bytes;
		command->thread = (uint32_t)syscall(SYS_gettid);
		command->flags = GT_AGENT_PROFILED | (times.period > 1 ? GT_GPU_SAMPLED : 0) |
				 (is_blocking ? GT_AGENT_SYNCHRONOUS : 0);
		if (is_enqueued && follow_command(submission))
			count = GT_AGENT_TIMED;
		else
			free(command);
		if (submission->own)
			gt_cl_target->clReleaseEvent(submission->own);
	}
	if (submission->ring && is_enqueued)
		gt_agent_count(submission->ring, count);
	errno = error;
}

static uint64_t gt_cl_volume(const size_t *region)
{
	return region ? (uint64_t)region[0] * region[1] * region[2] : 0;
}

static uint64_t gt_cl_image_bytes(cl_mem image, const size_t *region)
{
	size_t element = 0;

	gt_cl_target->clGetImageInfo(image, CL_IMAGE_ELEMENT_SIZE, sizeof(element), &element, NULL);
	return gt_cl_volume(region) * element;
}

#define DEFINE_HOOK(type, is_enqueued, name, parameters, arguments, blocking, operation, object,   \
		    bytes)                                                                         \
	static type CL_API_CALL time_##name parameters                                             \
	{                                                                                          \
		struct submission submission;                                                      \
		type result;                                                                       \
                                                                                                   \
		event = begin_submission(&submission, queue, event);                               \
		result = times.next.name arguments;                                                \
		if (is_enqueued)                                                                   \
			end_submission(&submission, true, blocking, operation, object, bytes);     \
		else                                                                               \
			end_submission(&submission, false, false, GT_GPU_COPY, NULL, 0);           \
		return result;                                                                     \
	}
#define WORK(...) DEFINE_HOOK(cl_int, result == CL_SUCCESS, __VA_ARGS__)
#define MAPPING(...) DEFINE_HOOK(void *, result != NULL, __VA_ARGS__)
#include "agent/opencl/work.def"
#undef WORK
#undef MAPPING

/* ---- the process ---- */

void gt_cl_times_open(struct _cl_icd_dispatch *ret_dispatch)
{
	const char *given = secure_getenv(GT_AGENT_GPU_TIMES);

	times.period = given ? strtoull(given, NULL, 10) : 0;
	if (!times.period)
		return;
#define MAPPING(...) WORK(__VA_ARGS__)
#define WORK(name, ...)                                                                            \
	times.next.name = ret_dispatch->name ? ret_dispatch->name : gt_cl_target->name;            \
	if (gt_cl_target->name)                                                                    \
		ret_dispatch->name = time_##name;
#include "agent/opencl/work.def"
#undef WORK
#undef MAPPING
}

void gt_cl_times_name(cl_kernel kernel, const char *name)
{
	const struct gt_agent_ring *ring = times.period ? gt_cl_services->wait_for_ring() : NULL;
	size_t length = strlen(name), size;
	struct gt_event_kernel *record;
	__u64 position;

	if (!ring)
		return;
	size = (sizeof(*record) + length + 1 + 7) / 8 * 8;
	record = (void *)gt_agent_ring_reserve(ring, size, &position);
	if (!record)
		return;
	memset(record, 0, size);
	record->head = (struct gt_event){
		.time = gt_clock_monotonic(),
		.thread = (uint32_t)syscall(SYS_gettid),
		.kind = GT_EVENT_kernel,
		.size = (uint16_t)size,
		.clock = GT_CLOCK_MONOTONIC,
		.device = GT_DEVICE_UNKNOWN,
	};
	record->handle = (uint64_t)(uintptr_t)kernel;
	memcpy(record->name, name, length);
	gt_agent_ring_commit(ring, position);
}

void gt_cl_times_forked(void)
{
	pthread_mutex_init(&times.lock, NULL);
	for (unsigned i = 0; i < MAX_DEVICES; i++)
		times.clocks[i] = (struct device_clock){0};
}
