/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The path of events through a live session, and what is counted where memory is short. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "api/api.h"
#include "event/kinds.h"
#include "failing_alloc.h"
#include "session/pipeline.h"
#include "tap.h"

#define MAX_EVENTS 4096

static struct delivered {
	uint64_t kinds[GT_EVENT_KINDS];
	uint64_t count;
	unsigned order[MAX_EVENTS]; /* kinds */
	int error;                  /* the sink's result from event `error_at` on */
	uint64_t error_at;
	struct gt_event_account account;
	char name[16]; /* of the process, as the sink sees it */
} delivered;

static int sink(void *context, const struct gt_names *names, const struct gt_event *event)
{
	if (delivered.count < MAX_EVENTS)
		delivered.order[delivered.count] = event->kind;
	delivered.count++;
	delivered.kinds[event->kind]++;
	if (event->kind == GT_EVENT_account)
		delivered.account = *(const struct gt_event_account *)event;
	snprintf(delivered.name, sizeof(delivered.name), "%s",
		 gt_names_process(names, event->process));
	return delivered.error && delivered.count >= delivered.error_at ? delivered.error : 0;
}

static struct gt_pipeline *begin(const struct gt_trace_options *options)
{
	struct gt_pipeline *pipeline = gt_pipeline_new(options);

	delivered = (struct delivered){0};
	if (!pipeline)
		abort();
	gt_pipeline_start(pipeline, sink, NULL);
	return pipeline;
}

static void finish(struct gt_pipeline *pipeline)
{
	gt_pipeline_finish(pipeline, &(struct gt_counts){0});
}

/* A `process` event of this process: the pipeline adds command line, cgroup and mappings. */
static void put_process(struct gt_pipeline *pipeline, const char *name)
{
	union {
		struct gt_event_process process;
		char space[sizeof(struct gt_event_process) + 16];
	} event = {
		.process.head.time = 1000,
		.process.head.process = (uint32_t)getpid(),
		.process.head.thread = (uint32_t)getpid(),
		.process.head.kind = GT_EVENT_process,
		.process.head.size = sizeof(event),
	};

	memcpy(event.process.name, name, strlen(name));
	gt_pipeline_put(pipeline, &event.process.head, sizeof(event));
}

static void put_call(struct gt_pipeline *pipeline, unsigned kind, unsigned state)
{
	struct gt_event_call call = {
		.head.kind = (uint16_t)kind,
		.head.size = sizeof(call),
		.state = (uint8_t)state,
	};

	gt_pipeline_put(pipeline, &call.head, sizeof(call));
}

TEST("a new process is followed by its command line, cgroup and mappings, and named before")
{
	gt_auto(pipeline) struct gt_pipeline *pipeline =
		begin(&(struct gt_trace_options){.cgroups = true});

	put_process(pipeline, "test");
	CHECK_INT(delivered.order[0], GT_EVENT_process);
	CHECK_INT(delivered.order[1], GT_EVENT_command);
	CHECK_INT(delivered.order[2], GT_EVENT_cgroup);
	CHECK_INT(delivered.order[3], GT_EVENT_mapping);
	CHECK(delivered.kinds[GT_EVENT_mapping] >= 2);
	CHECK_STR(delivered.name, "test");
	CHECK(gt_hash_get_u64(gt_pipeline_processes(pipeline), (uint64_t)getpid()) != NULL);
}

TEST("a process event that says nothing new is dropped, one with a new name is not")
{
	gt_auto(pipeline) struct gt_pipeline *pipeline = begin(&(struct gt_trace_options){0});

	put_process(pipeline, "test");
	put_process(pipeline, "test");
	CHECK_INT(delivered.kinds[GT_EVENT_process], 1);
	put_process(pipeline, "other");
	CHECK_INT(delivered.kinds[GT_EVENT_process], 2);
	CHECK_INT(delivered.kinds[GT_EVENT_command], 2);
}

TEST("queued events are delivered in their order, with a time, before the account")
{
	gt_auto(pipeline) struct gt_pipeline *pipeline = begin(&(struct gt_trace_options){0});
	struct gt_event_queue *queue = gt_pipeline_queue(pipeline);

	gt_event_queue_note(queue, "number %d", 1);
	gt_event_queue_push(queue, gt_event_new(GT_EVENT_library, "/lib", 4));
	CHECK(queue->events.items[0]->time > 0);
	finish(pipeline);
	CHECK_INT(delivered.count, 3);
	CHECK_INT(delivered.order[0], GT_EVENT_note);
	CHECK_INT(delivered.order[1], GT_EVENT_library);
	CHECK_INT(delivered.order[2], GT_EVENT_account);
	CHECK_INT(delivered.account.others_lost, 0);
}

TEST("calls after the last one that was asked for are counted as filtered")
{
	gt_auto(pipeline) struct gt_pipeline *pipeline =
		begin(&(struct gt_trace_options){.max_events = 2});

	put_call(pipeline, GT_EVENT_entry, 0);
	put_call(pipeline, GT_EVENT_call, 0);
	put_call(pipeline, GT_EVENT_call, GT_CALL_UNFINISHED);
	CHECK(!gt_pipeline_is_done(pipeline));
	put_call(pipeline, GT_EVENT_call, 0);
	CHECK(gt_pipeline_is_done(pipeline));
	put_call(pipeline, GT_EVENT_call, 0);
	put_call(pipeline, GT_EVENT_entry, 0);
	finish(pipeline);
	CHECK_INT(delivered.kinds[GT_EVENT_call], 3);
	CHECK_INT(delivered.account.complete, 2);
	CHECK_INT(delivered.account.filtered, 1);
	CHECK_INT(gt_pipeline_result(pipeline), 0);
}

TEST("a malformed record of the ring is counted as lost")
{
	gt_auto(pipeline) struct gt_pipeline *pipeline = begin(&(struct gt_trace_options){0});
	struct gt_event event = {.kind = GT_EVENT_call, .size = sizeof(event)};

	gt_pipeline_put(pipeline, &event, sizeof(event));
	finish(pipeline);
	CHECK_INT(delivered.count, 1);
	CHECK_INT(delivered.account.lost, 1);
}

TEST("after an error of the sink only the account is delivered")
{
	gt_auto(pipeline) struct gt_pipeline *pipeline = begin(&(struct gt_trace_options){0});

	delivered.error = -EPIPE;
	delivered.error_at = 2;
	put_call(pipeline, GT_EVENT_call, 0);
	CHECK(!gt_pipeline_is_done(pipeline));
	put_call(pipeline, GT_EVENT_call, 0);
	CHECK(gt_pipeline_is_done(pipeline));
	put_call(pipeline, GT_EVENT_call, 0);
	delivered.error = -ENOSPC;
	finish(pipeline);
	CHECK_INT(delivered.kinds[GT_EVENT_call], 2);
	CHECK_INT(delivered.kinds[GT_EVENT_account], 1);
	CHECK_INT(gt_pipeline_result(pipeline), -EPIPE);
}

TEST("each queued event for which there is no memory is counted in others_lost")
{
	gt_auto(pipeline) struct gt_pipeline *pipeline = begin(&(struct gt_trace_options){0});
	struct gt_event_queue *queue = gt_pipeline_queue(pipeline);
	struct gt_event_clock clock = {.head = {.kind = GT_EVENT_clock, .size = sizeof(clock)}};

	fail_all_allocations();
	gt_event_queue_note(queue, "a note");
	gt_event_queue_copy(queue, &clock.head);
	gt_event_queue_push(queue, gt_event_new(GT_EVENT_library, "/lib", 4));
	CHECK(stop_failing() >= 3);
	/* The event is there, and the queue cannot grow. */
	gt_vec_free(&queue->events);
	fail_allocation(1);
	gt_event_queue_push(queue, gt_event_new(GT_EVENT_library, "/lib", 4));
	CHECK_INT(stop_failing(), 1);
	finish(pipeline);
	CHECK_INT(delivered.count, 1);
	CHECK_INT(delivered.account.others_lost, 4);
}

/* Whether every event of a new process was delivered or counted when one allocation fails. */
static bool check_failing_process(uint64_t which, const struct delivered *whole, bool *ret_failed)
{
	const struct gt_trace_options options = {.cgroups = true};
	gt_auto(pipeline) struct gt_pipeline *pipeline = begin(&options);
	uint64_t lost;

	fail_allocation(which);
	put_process(pipeline, "test");
	*ret_failed = stop_failing();
	finish(pipeline);
	lost = delivered.account.others_lost;
	if (gt_pipeline_result(pipeline)) /* the names are short of memory: the session ends */
		return gt_pipeline_result(pipeline) == -ENOMEM;
	return delivered.count == whole->count ? lost <= 1 : lost == 1;
}

TEST("no event of a new process is lost uncounted, whichever allocation fails")
{
	const struct gt_trace_options options = {.cgroups = true};
	gt_auto(pipeline) struct gt_pipeline *pipeline = begin(&options);
	struct delivered whole;
	uint64_t which = 0, counted = 0;
	bool failed = true;

	put_process(pipeline, "test");
	finish(pipeline);
	whole = delivered;
	for (; failed; which++) {
		CHECK(check_failing_process(which, &whole, &failed));
		counted += delivered.account.others_lost;
	}
	/* Command line, cgroup, and one for each mapping at least. */
	CHECK(counted >= 2 + whole.kinds[GT_EVENT_mapping]);
	CHECK(which > counted);
}

TEST("a stack that cannot be unwound for want of memory is counted, and its call is delivered")
{
	const struct gt_trace_options options = {.stack_depth = 8, .stack = GT_STACK_DWARF};
	gt_auto(pipeline) struct gt_pipeline *pipeline = begin(&options);
	uint64_t bytes[8] = {0};
	struct gt_event_memory *memory =
		(void *)gt_event_new(GT_EVENT_memory, (const char *)bytes, sizeof(bytes));

	memory->head.process = memory->head.thread = 1;
	memory->pc = 0x1000;
	memory->stack_pointer = 0x7000;
	memory->link = 0x2000;
	fail_all_allocations();
	gt_pipeline_put(pipeline, &memory->head, memory->head.size);
	CHECK(stop_failing() > 0);
	put_call(pipeline, GT_EVENT_call, 0);
	finish(pipeline);
	free(memory);
	CHECK_INT(delivered.kinds[GT_EVENT_stack], 0);
	CHECK_INT(delivered.kinds[GT_EVENT_call], 1);
	CHECK_INT(delivered.account.others_lost, 1);
}

TEST_MAIN
