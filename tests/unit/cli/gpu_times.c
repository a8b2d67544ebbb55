/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * --gpu-times: what a process writes to its ring about its clocks and its work, and the events that
 * come of it. The clocks are made up: they may be wrong by days, drift, or be no clocks.
 */
#include "cli/gpu_times.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/environment.h"
#include "agent/protocol.h"
#include "base/clock.h"
#include "event/kinds.h"
#include "fork.h"
#include "run/inject.h"
#include "tap.h"

enum {
	CLOCK = GT_AGENT_FIRST_CLOCK,
	MS = 1000000,
	MAX_EVENTS = 256,
	WIDTH = 4000, /* ns, of a moment */
};

/* In the process: what it writes. The argument is a time some seconds before now. */
typedef void write_events(uint64_t past);

static struct gt_event_gpu_work works[MAX_EVENTS];
static size_t work_count;
static char note[256];
static uint64_t lost;

static void take_events(struct gt_event_queue *events)
{
	gt_vec_each (event, &events->events) {
		size_t length;
		const char *text = gt_event_text(*event, &length);

		if ((*event)->kind == GT_EVENT_gpu_work && work_count < MAX_EVENTS)
			works[work_count++] = *(const struct gt_event_gpu_work *)*event;
		else if ((*event)->kind == GT_EVENT_note)
			snprintf(note, sizeof(note), "%.*s", (int)length, text);
	}
	lost += events->lost;
	events->lost = 0;
	gt_event_queue_clear(events);
}

/* Run a process that writes events, and read all. `past` is on CLOCK_MONOTONIC. */
static uint64_t run_process(write_events *write)
{
	struct gt_trace_options options = {0};
	gt_auto(gpu_times) struct gt_gpu_times *times = NULL;
	const struct gt_companion *companion;
	struct gt_event_queue events = {0};
	uint64_t past = gt_clock_monotonic() - 100 * GT_SECOND_NS;
	struct gt_diag diag = {0};
	pid_t pid;

	work_count = lost = 0;
	*note = 0;
	if (gt_gpu_times_open(&options, 1, &times, &diag)) {
		TAP_FAIL("%s", diag.text);
		return 0;
	}
	companion = gt_gpu_times_companion(times);
	setenv(GT_AGENT_SOCKET, gt_inject_socket(companion->inject), 1);
	gt_agent_read_environment();
	pid = fork_beside_sleeping_threads();
	if (!pid) {
		if (gt_agent_ring())
			write(past);
		_exit(0);
	}
	while (waitpid(pid, NULL, WNOHANG) != pid) {
		CHECK(!companion->poll(companion->context, &events, false, &diag));
		take_events(&events);
		usleep(1000);
	}
	CHECK(!companion->poll(companion->context, &events, true, &diag));
	take_events(&events);
	return past;
}

/* A moment of a clock: the host's time in the middle. */
static void put_moment(uint16_t clock, uint64_t gpu, uint64_t host)
{
	struct gt_agent_clock moment = {
		.head = {.time = gpu,
			 .kind = GT_AGENT_EVENT_CLOCK,
			 .size = sizeof(moment),
			 .clock = clock,
			 .device = 0},
		.before = host - WIDTH / 2,
		.after = host + WIDTH / 2,
	};

	gt_agent_ring_put(gt_agent_ring(), &moment.head);
}

static void put_times(uint16_t clock, uint64_t start, uint64_t end, uint64_t submitted,
		      uint64_t returned, uint32_t flags)
{
	struct gt_event_gpu_work work = {
		.head = {.time = end,
			 .thread = 1,
			 .kind = GT_EVENT_gpu_work,
			 .size = sizeof(work),
			 .clock = clock,
			 .device = 0},
		.submitted = submitted,
		.returned = returned,
		.start = start,
		.operation = GT_GPU_COPY_TO_HOST,
		.flags = flags,
	};

	gt_agent_ring_put(gt_agent_ring(), &work.head);
	gt_agent_count(gt_agent_ring(), GT_AGENT_TIMED);
}

static void put_work(uint16_t clock, uint64_t start, uint64_t end)
{
	put_times(clock, start, end, 0, 0, 0);
}

static bool is_near(uint64_t time, uint64_t expected, uint64_t ns)
{
	return time + ns >= expected && time <= expected + ns;
}

static void write_constant(uint64_t past)
{
	for (uint64_t i = 0; i < 6; i++)
		put_moment(CLOCK, 5000 + i * 10000, past + i * 10000);
	put_work(CLOCK, 5000 + 2 * MS, 5000 + 3 * MS);
}

TEST("a constant offset between the clocks is the middle of what the moments allow")
{
	uint64_t past = run_process(write_constant);

	CHECK_INT(work_count, 1);
	CHECK_INT(works[0].head.clock, GT_CLOCK_MONOTONIC);
	CHECK_INT(works[0].start - past, 2 * MS);
	CHECK_INT(works[0].head.time - past, 3 * MS);
	CHECK(works[0].error >= WIDTH / 2 && works[0].error <= WIDTH);
	CHECK_INT(lost, 0);
	CHECK_STR(note, "GPU times: 1 operation timed");
}

/* 100 ppm fast, and days away. */
static uint64_t drifting(uint64_t ns)
{
	return 7 * 86400 * GT_SECOND_NS + ns + ns / 10000;
}

static void write_drifting(uint64_t past)
{
	for (uint64_t ms = 0; ms <= 20000; ms += 200)
		put_moment(CLOCK, drifting(ms * MS), past + ms * MS);
	put_work(CLOCK, drifting(19 * GT_SECOND_NS), drifting(19 * GT_SECOND_NS + MS));
}

TEST("a clock that drifts is fitted by a line, with more moments than are kept")
{
	uint64_t past = run_process(write_drifting);

	CHECK_INT(work_count, 1);
	CHECK(works[0].error < 2 * WIDTH);
	CHECK(is_near(works[0].start, past + 19 * GT_SECOND_NS, works[0].error));
	CHECK(is_near(works[0].head.time - works[0].start, MS, 10));
}

static void write_virtual(uint64_t past)
{
	for (uint64_t i = 0; i < 6; i++)
		put_moment(CLOCK, past, past + i * 10000);
	put_times(CLOCK, past + 10, past + 1010, past + 20000, past + 30000, 0);
	/* Seconds of the host are milliseconds of this clock. */
	for (uint64_t i = 0; i < 20; i++)
		put_moment(CLOCK, past + i * MS, past + i * GT_SECOND_NS);
	put_work(CLOCK, past + 19 * MS, past + 19 * MS + 123);
}

TEST("a clock that does not advance as time does keeps its differences, and has a large error")
{
	run_process(write_virtual);
	CHECK_INT(work_count, 2);
	CHECK_INT(works[0].head.time - works[0].start, 1000);
	CHECK_INT(works[1].head.time - works[1].start, 123);
	CHECK_INT(works[1].start - works[0].start, 19 * MS - 10);
	CHECK(works[1].error > 10 * GT_SECOND_NS);
}

static void write_causes(uint64_t past)
{
	put_moment(CLOCK, past, past);
	put_times(CLOCK, past + 1000, past + 9000, past + 2000, past + 8000, 0);
	put_times(CLOCK, past + 1000, past + 9000, past + 2000, past + 8000, GT_AGENT_SYNCHRONOUS);
	put_times(CLOCK, past + 1000, past + 9000, past + 20000, past + 30000, 0);
}

TEST("work begins when it is submitted, and synchronous work ends when it returns")
{
	uint64_t past = run_process(write_causes);

	CHECK_INT(work_count, 3);
	CHECK_INT(works[0].start - past, 2000);
	CHECK_INT(works[0].head.time - past, 9000);
	CHECK_INT(works[1].head.time - past, 8000);
	CHECK_INT(works[1].flags, 0);
	/* Not longer than its end. */
	CHECK_INT(works[2].start, works[2].head.time);
}

static void write_invalid(uint64_t past)
{
	struct gt_event other = {.kind = GT_EVENT_record, .size = sizeof(other)};
	struct gt_event_gpu_work unknown = {
		.head = {.kind = GT_EVENT_gpu_work, .size = sizeof(unknown), .clock = CLOCK},
		.operation = GT_GPU_GRAPH + 1,
	};

	put_work(CLOCK, past, past + 1);         /* no moment yet */
	put_moment(0, past, past);               /* a clock that is not the process's */
	put_work(0, past, past + 1);             /* the same */
	put_moment(CLOCK, 1000, UINT64_MAX / 2); /* in the future */
	put_moment(CLOCK, past, past);
	put_work(CLOCK, past + 1, past);   /* ends before it begins */
	put_work(CLOCK, past, UINT64_MAX); /* ends in the future */
	put_work(CLOCK, past, past + 10000 * GT_SECOND_NS);
	gt_agent_ring_put(gt_agent_ring(), &unknown.head);
	gt_agent_ring_put(gt_agent_ring(), &other);
	put_work(CLOCK, past, past + 1);
}

TEST("invalid records are dropped and counted, and valid ones after them are taken")
{
	run_process(write_invalid);
	CHECK_INT(work_count, 1);
	CHECK_INT(lost, 9);
}

static void write_many_clocks(uint64_t past)
{
	for (uint64_t i = 0; i < 2000; i++) {
		put_moment((uint16_t)(CLOCK + i), past - i, past);
		if (i % 20 == 0)
			put_work((uint16_t)(CLOCK + i), past - i, past - i + 7);
	}
	/* Forgotten long ago. */
	put_work(CLOCK, past, past + 1);
}

TEST("the clocks of a process are bounded: the oldest one is forgotten")
{
	uint64_t past = run_process(write_many_clocks);

	CHECK_INT(work_count, 100);
	CHECK_INT(lost, 1);
	for (size_t i = 0; i < work_count; i++)
		CHECK(works[i].start == past && works[i].head.time == past + 7);
}

TEST("values of --gpu-times")
{
	const struct {
		const char *text;
		int error;
		uint64_t period;
		bool exact;
	} cases[] = {
		{NULL, 0, 0},
		{"off", 0, 0},
		{"all", 0, 1},
		{"exact", 0, 1, true},
		{"exactly", -EINVAL, 77},
		{"sampled=1", 0, 1},
		{"sampled=1000", 0, 1000},
		{"sampled=0", -EINVAL, 77},
		{"sampled=", -EINVAL, 77},
		{"sampled=x", -EINVAL, 77},
		{"sampled", -EINVAL, 77},
		{"on", -EINVAL, 77},
		{"", -EINVAL, 77},
	};

	for (size_t i = 0; i < gt_countof(cases); i++) {
		uint64_t period = 77;
		bool exact = false;

		CHECK_INT(gt_gpu_times_parse(cases[i].text, &period, &exact), cases[i].error);
		CHECK_INT(period, cases[i].period);
		CHECK_INT(exact, cases[i].exact);
	}
}

TEST_MAIN
