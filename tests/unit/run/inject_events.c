/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The rings of events: the agent's side writes, in threads and in processes that fork, execute or
 * are killed; the collector reads. Processes may write anything to their rings.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "agent/agent.h"
#include "agent/environment.h"
#include "agent/ring_map.h"
#include "base/clock.h"
#include "collector.h"
#include "event/kinds.h"
#include "fork.h"

enum {
	CAPACITY = 1 << 14,
	WORK = sizeof(struct gt_event_gpu_work),
	THREADS = 4,
	EACH = 5000,
	WAIT_S = 60,
};

/* What was read. */
struct read_events {
	uint64_t records, ended, exited, wrong;
	uint64_t next[THREADS]; /* of each thread, by its number */
	uint32_t process;
	uint64_t last_ring;
};

static bool open_collector(struct collector *collector)
{
	struct gt_inject_options options = {.event_bytes = CAPACITY};
	struct gt_diag diag = {0};

	if (gt_inject_open(&options, &collector->inject, &diag)) {
		TAP_FAIL("%s", diag.text);
		return false;
	}
	setenv(GT_AGENT_SOCKET, gt_inject_socket(collector->inject), 1);
	gt_agent_read_environment();
	return true;
}

static struct gt_event_gpu_work make_work(uint32_t thread, uint64_t number)
{
	return (struct gt_event_gpu_work){
		.head = {.time = 1, .thread = thread, .kind = GT_EVENT_gpu_work, .size = WORK},
		.object = number,
		.stream = ~number,
	};
}

/* Records of a thread are in their order, and whole. */
static void take_event(void *context, uint64_t ring, const struct gt_event *event)
{
	struct read_events *read = context;
	const struct gt_event_gpu_work *work = (const void *)event;

	read->last_ring = ring;
	if (!event) {
		read->ended++;
		return;
	}
	if (event->kind == GT_EVENT_exit) {
		const struct gt_event_exit *end = (const void *)event;

		read->exited++;
		read->wrong += end->status != GT_EXIT_UNKNOWN || event->time != 1;
		return;
	}
	read->records++;
	read->process = event->process;
	if (event->thread >= THREADS || work->object < read->next[event->thread] ||
	    work->stream != ~work->object)
		read->wrong++;
	else
		read->next[event->thread] = work->object + 1;
}

static void read_events(struct collector *collector, struct read_events *read)
{
	CHECK(!gt_inject_poll(collector->inject, NULL));
	while (gt_inject_read_events(collector->inject, take_event, read))
		;
}

/* Serve a process until it has ended, or is killed late, and read what it has written. */
static int serve_process(struct collector *collector, pid_t pid, struct read_events *read)
{
	uint64_t end = gt_clock_monotonic() + WAIT_S * GT_SECOND_NS;
	uint64_t ended = read->ended;
	int status = -1;

	while (waitpid(pid, &status, WNOHANG) != pid) {
		if (gt_clock_monotonic() > end)
			kill(pid, SIGKILL);
		read_events(collector, read);
		usleep(1000);
	}
	for (int i = 0; i < 1000 && read->ended == ended; i++) {
		read_events(collector, read);
		usleep(1000);
	}
	return status;
}

static bool put_work(uint32_t thread, uint64_t number)
{
	struct gt_event_gpu_work work = make_work(thread, number);
	const struct gt_agent_ring *ring = gt_agent_ring();

	return ring && gt_agent_ring_put(ring, &work.head);
}

static uint64_t count_of(const struct collector *collector, enum gt_agent_count count)
{
	return gt_inject_event_counts(collector->inject).counts[count];
}

static void *write_many(void *argument)
{
	uint32_t thread = *(uint32_t *)argument;
	uint64_t written = 0;

	for (uint64_t i = 0; i < EACH; i++)
		written += put_work(thread, i);
	return (void *)(uintptr_t)written;
}

/* In a process: write from several threads at the same time. */
static void write_in_threads(void)
{
	pthread_t threads[THREADS];
	uint32_t numbers[THREADS];

	for (uint32_t i = 0; i < THREADS; i++) {
		numbers[i] = i;
		pthread_create(&threads[i], NULL, write_many, &numbers[i]);
	}
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

TEST("threads write at the same time: each record is read once and whole, or counted as lost")
{
	auto_collector collector = {0};
	struct read_events events = {0};
	pid_t pid;

	if (!open_collector(&collector))
		return;
	pid = fork_beside_sleeping_threads();
	if (!pid) {
		/* Before the threads: one that does not wait for the other's request has none. */
		if (gt_agent_ring())
			write_in_threads();
		_exit(0);
	}
	CHECK(serve_process(&collector, pid, &events) == 0);
	CHECK(!events.wrong && events.ended == 1 && events.process == (uint32_t)pid);
	CHECK(events.records + count_of(&collector, GT_AGENT_LOST) == THREADS * EACH);
	/* The ring was read while it was written: more than it has room for has come through. */
	CHECK(events.records >= CAPACITY / (WORK + 8));
}

/* Descriptors of processes that this process has. */
static int count_pidfds(void)
{
	int count = 0;

	for (int fd = 0; fd < 1024; fd++) {
		char path[32], target[64] = "";

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		if (readlink(path, target, sizeof(target) - 1) > 0)
			count += !strcmp(target, "anon_inode:[pidfd]") ||
				 !strncmp(target, "pidfd:", strlen("pidfd:"));
	}
	return count;
}

TEST("a full ring drops records, counts them, and takes others once it was read")
{
	const uint64_t room = CAPACITY / (WORK + 8);
	auto_collector collector = {0};
	struct read_events events = {0};
	pid_t pid;
	int pipes[2][2];
	char byte;

	if (!open_collector(&collector) || pipe(pipes[0]) || pipe(pipes[1]))
		return;
	pid = fork_beside_sleeping_threads();
	if (!pid) {
		for (uint64_t i = 0; i < room + 5; i++)
			if (put_work(0, i) != (i < room))
				_exit(1);
		if (write(pipes[0][1], "x", 1) != 1 || read(pipes[1][0], &byte, 1) != 1)
			_exit(2);
		_exit(!put_work(0, room + 5));
	}
	/* The request alone; nothing is read before the ring is full. */
	for (bool waits = true; waits;) {
		struct pollfd ready = {.fd = pipes[0][0], .events = POLLIN};

		CHECK(!gt_inject_poll(collector.inject, NULL));
		waits = poll(&ready, 1, 1) == 0;
	}
	read_events(&collector, &events);
	CHECK(events.records == room && count_of(&collector, GT_AGENT_LOST) == 5);
	/* The process has a ring, and is one that runs: it is followed once. */
	CHECK_INT(gt_inject_count_running(collector.inject), 1);
	CHECK_INT(count_pidfds(), 1);
	CHECK(write(pipes[1][1], "x", 1) == 1);
	CHECK(serve_process(&collector, pid, &events) == 0);
	CHECK(events.records == room + 1 && !events.wrong && events.next[0] == room + 6);
	CHECK_INT(gt_inject_count_running(collector.inject), 0);
	CHECK_INT(count_pidfds(), 0);
	for (int i = 0; i < 4; i++)
		close(pipes[i / 2][i % 2]);
}

TEST("a child after fork has a ring of its own, and so has a program that is executed")
{
	auto_collector collector = {0};
	struct read_events events = {0};
	pid_t pid;

	if (!open_collector(&collector))
		return;
	pid = fork_beside_sleeping_threads();
	if (!pid) {
		bool written = put_work(1, 0);
		pid_t child = fork();
		int status = -1;

		if (!child) {
			gt_agent_ring_forked(); /* as pthread_atfork does */
			_exit(!put_work(2, 0));
		}
		written &= put_work(1, 1);
		waitpid(child, &status, 0);
		/* As after execve: the process is the same, and its memory is not. */
		gt_agent_ring_forked();
		written &= put_work(3, 0);
		_exit(!written || status);
	}
	CHECK(serve_process(&collector, pid, &events) == 0);
	for (int i = 0; i < 1000 && events.ended < 3; i++) {
		read_events(&collector, &events);
		usleep(1000);
	}
	CHECK(events.records == 4 && events.ended == 3 && !events.wrong);
	/* The process that executed a program has ended once. */
	CHECK_INT(events.exited, 2);
	CHECK(gt_inject_event_counts(collector.inject).rings == 3);
}

TEST("of a process that is killed within a record, the records before and after it are read")
{
	auto_collector collector = {0};
	struct read_events events = {0};
	struct pollfd ready = {.events = POLLIN};
	int pipes[2][2];
	char byte;
	pid_t pid;

	if (!open_collector(&collector) || pipe(pipes[0]) || pipe(pipes[1]))
		return;
	pid = fork_beside_sleeping_threads();
	if (!pid) {
		__u64 position;

		put_work(0, 0);
		gt_agent_ring_reserve(gt_agent_ring(), WORK, &position);
		if (write(pipes[0][1], "x", 1) != 1 || read(pipes[1][0], &byte, 1) != 1)
			_exit(1);
		put_work(0, 1);
		put_work(0, 2);
		kill(getpid(), SIGKILL);
	}
	/* The unfinished one is the last one at first. */
	ready.fd = pipes[0][0];
	while (poll(&ready, 1, 1) == 0)
		read_events(&collector, &events);
	read_events(&collector, &events);
	CHECK_INT(events.records, 1);
	CHECK(write(pipes[1][1], "x", 1) == 1);
	CHECK(WIFSIGNALED(serve_process(&collector, pid, &events)));
	CHECK(events.records == 3 && events.ended == 1 && !events.wrong);
	CHECK(gt_inject_event_counts(collector.inject).unread == 1);
	for (int i = 0; i < 4; i++)
		close(pipes[i / 2][i % 2]);
}

/* What a hostile process writes to its ring. */
static void break_ring(unsigned kind)
{
	const struct gt_agent_ring *ring = gt_agent_ring();
	struct gt_event_gpu_work work = make_work(0, 0);
	__u64 position = 0;
	struct gt_event *event;

	if (!ring)
		_exit(1);
	if (kind < 4) {
		static const uint16_t sizes[] = {0, 8, 33, 65528};

		event = gt_agent_ring_reserve(ring, WORK, &position);
		*event = work.head;
		event->size = sizes[kind];
		gt_agent_ring_commit(ring, position);
	} else if (kind == 4) {
		ring->head->reserved = UINT64_MAX;
	} else if (kind == 5) {
		ring->head->reserved = 3;
	} else if (kind == 6) {
		/* A kind that is shorter than its event. */
		work.head.size = sizeof(work.head);
		gt_agent_ring_put(ring, &work.head);
	} else {
		/* The file cannot be made shorter, so that nobody reads after its end. */
		memset(ring->head, 0xff, GT_AGENT_RING_PAGE);
		memset(ring->data, 0xff, ring->capacity);
	}
	_exit(0);
}

TEST("whatever a process writes to its ring, the collector continues with the other ones")
{
	auto_collector collector = {0};
	struct read_events events = {0};

	if (!open_collector(&collector))
		return;
	for (unsigned kind = 0; kind < 8; kind++) {
		pid_t pid = fork_beside_sleeping_threads();

		if (!pid)
			break_ring(kind);
		CHECK(serve_process(&collector, pid, &events) == 0);
		CHECK(events.ended == kind + 1);
		CHECK(gt_inject_event_counts(collector.inject).malformed == kind + 1);
	}
	CHECK(!events.records && !events.wrong);
}

/* Records of random sizes, kinds and bytes, some of them with words that look like tags. */
static void write_random(unsigned *seed)
{
	static const uint16_t kinds[] = {
		GT_EVENT_gpu_work, GT_EVENT_call, GT_EVENT_stack, GT_AGENT_EVENT_CLOCK, 0, 0xffff};
	const struct gt_agent_ring *ring = gt_agent_ring();
	size_t size = 24 + (size_t)(rand_r(seed) % 64) * 8;
	__u64 position;
	struct gt_event *event = ring ? gt_agent_ring_reserve(ring, size, &position) : NULL;

	if (!event)
		return;
	for (size_t i = 0; i < size / 8; i++)
		((uint64_t *)event)[i] = rand_r(seed) % 2
						 ? gt_agent_ring_tag(position + CAPACITY + i * 8)
						 : (uint64_t)rand_r(seed);
	event->kind = kinds[rand_r(seed) % gt_countof(kinds)];
	event->size = (uint16_t)(rand_r(seed) % 50 ? size : (size_t)rand_r(seed));
	if (rand_r(seed) % 60)
		gt_agent_ring_commit(ring, position);
	if (rand_r(seed) % 500 == 0)
		ring->head->reserved += (uint64_t)rand_r(seed) * 8;
}

/* Any event that is read is one that may be read. */
static void check_event(void *context, uint64_t ring, const struct gt_event *event)
{
	struct read_events *events = context;

	if (!event)
		events->ended++;
	else if (gt_event_check(event, event->size))
		events->wrong++;
	else
		events->records++;
}

TEST("of random records in random rings, those that are read are whole")
{
	enum { RINGS = 50, RECORDS = 400 };
	auto_collector collector = {0};
	struct read_events events = {0};
	unsigned seed = 1;
	pid_t pid;

	if (!open_collector(&collector))
		return;
	pid = fork_beside_sleeping_threads();
	if (!pid) {
		for (int ring = 0; ring < RINGS; ring++) {
			for (int i = 0; i < RECORDS; i++)
				write_random(&seed);
			gt_agent_ring_forked();
		}
		_exit(0);
	}
	for (int waits = 0; events.ended < RINGS && waits < WAIT_S * 1000; waits++) {
		CHECK(!gt_inject_poll(collector.inject, NULL));
		while (gt_inject_read_events(collector.inject, check_event, &events))
			;
		usleep(1000);
	}
	CHECK(waitpid(pid, NULL, 0) == pid);
	CHECK_INT(events.ended, RINGS);
	CHECK(events.records && !events.wrong);
}

TEST("a collector without rings, and one that has ended, leave the process without a ring")
{
	auto_collector collector = {0};
	struct gt_inject_options options = {0};
	pid_t pid;
	int status;

	CHECK(!gt_inject_open(&options, &collector.inject, NULL));
	setenv(GT_AGENT_SOCKET, gt_inject_socket(collector.inject), 1);
	gt_agent_read_environment();
	pid = fork_beside_sleeping_threads();
	if (!pid)
		_exit(gt_agent_ring() != NULL);
	while (waitpid(pid, &status, WNOHANG) != pid)
		CHECK(!gt_inject_poll(collector.inject, NULL));
	CHECK(!status);
	gt_inject_close(collector.inject);
	collector.inject = NULL;
	pid = fork_beside_sleeping_threads();
	if (!pid)
		_exit(gt_agent_ring() != NULL);
	CHECK(waitpid(pid, &status, 0) == pid && !status);
}

TEST_MAIN
