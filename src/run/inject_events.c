/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The rings of events of the traced processes. A process can write to its ring at any time, so what
 * is checked is a copy, and no position is taken from the ring but the end of its records.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "agent/message.h"
#include "agent/ring_map.h"
#include "base/clean.h"
#include "base/clock.h"
#include "base/file.h"
#include "event/kinds.h"
#include "run/foreign_threads.h"
#include "run/inject_private.h"

enum {
	MAX_RINGS = 1024,           /* processes at a time */
	MAX_RECORDS = 1 << 14,      /* of a ring in one round */
	RELEASED_AT_ONCE = 1 << 14, /* bytes */
};

struct event_ring {
	struct event_ring *next;
	struct gt_agent_ring ring;
	uint64_t number;
	uint64_t position; /* bytes that were read … */
	uint64_t released; /* … and cleared; their room is the writers' again */
	uint64_t end;      /* bytes that were reserved, when this was last read */
	pid_t pid;
	struct gt_foreign_threads *foreign; /* in another PID namespace; NULL: in gputap's */
	struct gt_inject_process *process;  /* NULL: its end is not seen */
	uint64_t last;                      /* the time of the latest record that was read */
	bool ended;                         /* nobody writes any more */
	bool has_exited;                    /* with its process, which executes nothing else */
	bool broken;                        /* the process has destroyed it */
};

struct gt_inject_events {
	int table; /* of calls, a file; -1: none */
	uint64_t table_size;
	enum gt_agent_calls_mode calls_mode;
	struct event_ring *rings;
	uint32_t count, capacity;
	struct gt_inject_event_counts retired; /* of the rings that are no more */
	union {
		struct gt_event event;
		uint8_t bytes[GT_EVENT_MAX_SIZE];
	} copy;
};

struct gt_inject_events *gt_inject_events_new(uint32_t capacity)
{
	struct gt_inject_events *events = calloc(1, sizeof(*events));

	if (!events)
		return NULL;
	events->capacity = capacity;
	events->table = -1;
	return events;
}

/* ---- rings ----------------------------------------------------------------------------- */

/* A file of a size that nobody can change. */
static int make_ring_file(uint32_t capacity)
{
	gt_autoclose int fd = memfd_create("gputap-events", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, GT_AGENT_RING_PAGE + (off_t)capacity) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return -1;
	return gt_take_fd(&fd);
}

/* The program that the process executed before has ended. */
static void end_earlier(struct gt_inject_events *events, pid_t pid)
{
	for (struct event_ring *ring = events->rings; ring; ring = ring->next)
		ring->ended |= ring->pid == pid;
}

static bool send_ring(struct gt_inject_events *events, struct event_ring *ring, int socket)
{
	gt_autoclose int fd = make_ring_file(events->capacity);
	struct gt_agent_reply reply = {
		.magic = GT_AGENT_MAGIC,
		.verdict = GT_AGENT_RING,
		.size = events->capacity,
	};

	if (fd < 0 || !gt_agent_ring_map(fd, events->capacity, &ring->ring))
		return false;
	ring->ring.head->capacity = events->capacity;
	ring->ring.head->calls_mode = events->calls_mode;
	return gt_agent_send(socket, &reply, sizeof(reply), fd, MSG_DONTWAIT);
}

static void free_ring(struct event_ring *ring)
{
	gt_inject_process_put(ring->process);
	gt_agent_ring_unmap(&ring->ring);
	gt_foreign_threads_free(ring->foreign);
	free(ring);
}

void gt_inject_events_send(struct gt_inject_events *events,
			   const struct gt_inject_connection *connection, bool is_foreign)
{
	pid_t pid = connection->module.pid;
	struct event_ring *ring = events->count < MAX_RINGS ? calloc(1, sizeof(*ring)) : NULL;

	end_earlier(events, pid);
	if (ring) {
		ring->pid = pid;
		ring->foreign = is_foreign ? gt_foreign_threads_new(pid) : NULL;
		ring->process = gt_inject_process_get(connection->process);
	}
	if (!ring || is_foreign != !!ring->foreign || !send_ring(events, ring, connection->fd)) {
		events->retired.rings_dropped++;
		if (ring)
			free_ring(ring);
		return;
	}
	ring->number = ++events->retired.rings;
	ring->next = events->rings;
	events->rings = ring;
	events->count++;
}

static void add_counts(struct gt_inject_event_counts *counts, const struct event_ring *ring)
{
	for (size_t i = 0; i < GT_AGENT_COUNTS; i++)
		counts->counts[i] += __atomic_load_n(&ring->ring.head->counts[i], __ATOMIC_RELAXED);
}

void gt_inject_events_free(struct gt_inject_events *events)
{
	if (!events)
		return;
	for (struct event_ring *ring = events->rings, *next; ring; ring = next) {
		next = ring->next;
		free_ring(ring);
	}
	gt_cleanup_close(&events->table);
	free(events);
}

/* ---- the table of calls ------------------------------------------------------------------ */

int gt_inject_set_calls(struct gt_inject *inject, const void *table, size_t size,
			struct gt_diag *diag)
{
	gt_autoclose int fd = memfd_create("gputap-calls", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int error = fd < 0 ? -errno : gt_write_all(fd, table, size);

	if (!error &&
	    fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		error = -errno;
	if (error)
		return gt_diag(diag, error, "run", NULL, "cannot pass the calls to the agent: %s",
			       strerror(-error));
	inject->events->table = gt_take_fd(&fd);
	inject->events->table_size = size;
	return 0;
}

void gt_inject_set_calls_mode(struct gt_inject *inject, enum gt_agent_calls_mode mode)
{
	if (!inject->events)
		return;
	inject->events->calls_mode = mode;
	for (struct event_ring *ring = inject->events->rings; ring; ring = ring->next)
		__atomic_store_n(&ring->ring.head->calls_mode, mode, __ATOMIC_RELAXED);
}

void gt_inject_events_send_table(struct gt_inject_events *events, int socket)
{
	struct gt_agent_reply reply = {
		.magic = GT_AGENT_MAGIC,
		.verdict = GT_AGENT_TABLE,
		.size = events->table_size,
	};

	if (events->table >= 0)
		gt_agent_send(socket, &reply, sizeof(reply), events->table, MSG_DONTWAIT);
}

/* ---- records --------------------------------------------------------------------------- */

/*
 * Clear what was read, so that no word of it is taken for a tag, and return the room. Writers read
 * `released` at each record: it is stored once for many, as a store takes the line from their
 * cache.
 */
static void release_records(struct event_ring *ring)
{
	uint64_t size = ring->position - ring->released;

	if (!size)
		return;
	memset(gt_agent_ring_word(&ring->ring, ring->released), 0, size);
	ring->released = ring->position;
	__atomic_store_n(&ring->ring.head->released, ring->released, __ATOMIC_RELEASE);
}

static bool has_record(const struct event_ring *ring, uint64_t position)
{
	return __atomic_load_n(gt_agent_ring_word(&ring->ring, position), __ATOMIC_ACQUIRE) ==
	       gt_agent_ring_tag(position);
}

/* Where the next complete record begins, or the end. Nobody writes any more. */
static uint64_t skip_unfinished(const struct event_ring *ring, uint64_t end)
{
	uint64_t position = ring->position;

	while (position < end && !has_record(ring, position))
		position += sizeof(uint64_t);
	return position;
}

/* Copy the record at the position. Its size, or 0: it is malformed. */
static size_t copy_record(struct gt_inject_events *events, const struct event_ring *ring,
			  uint64_t available)
{
	const struct gt_event *shared =
		(const void *)(gt_agent_ring_word(&ring->ring, ring->position) + 1);
	uint16_t size = __atomic_load_n(&shared->size, __ATOMIC_RELAXED);

	if (size < sizeof(*shared) || size % sizeof(uint64_t) || size > sizeof(events->copy) ||
	    size + sizeof(uint64_t) > available)
		return 0;
	memcpy(&events->copy, shared, size);
	events->copy.event.size = size;
	return size;
}

/* Read the end of what was reserved. False: it is malformed. */
static bool read_end(struct gt_inject_events *events, struct event_ring *ring)
{
	uint64_t end = __atomic_load_n(&ring->ring.head->reserved, __ATOMIC_ACQUIRE);

	if (end - ring->released > ring->ring.capacity || end % sizeof(uint64_t)) {
		ring->broken = true;
		events->retired.malformed++;
		return false;
	}
	ring->end = end;
	return true;
}

/* Whether bytes were reserved that were not read: by `end`, which is read again when it is reached.
 */
static bool has_bytes(struct gt_inject_events *events, struct event_ring *ring)
{
	if (ring->broken)
		return false;
	return ring->end != ring->position ||
	       (read_end(events, ring) && ring->end != ring->position);
}

/* Read a record into `copy`. False: there is none now. */
static bool read_record(struct gt_inject_events *events, struct event_ring *ring)
{
	size_t size;

	if (!has_bytes(events, ring))
		return false;
	if (!has_record(ring, ring->position)) {
		/* Records may have followed since the end was read. */
		if (!ring->ended || !read_end(events, ring))
			return false;
		ring->position = skip_unfinished(ring, ring->end);
		events->retired.unread++;
		if (ring->position == ring->end)
			return false;
	}
	size = copy_record(events, ring, ring->end - ring->position);
	if (!size) {
		ring->broken = true;
		events->retired.malformed++;
		return false;
	}
	ring->position += size + sizeof(uint64_t);
	if (ring->position - ring->released >= RELEASED_AT_ONCE)
		release_records(ring);
	return true;
}

/* From the namespace of the process to gputap's. */
static void translate_ids(struct gt_foreign_threads *foreign, struct gt_event *event)
{
	event->thread = gt_foreign_thread(foreign, event->thread);
	if (event->kind == GT_EVENT_process)
		((struct gt_event_process *)event)->parent = gt_foreign_parent(foreign);
}

/* A process may write any time: later than now is none. *now is read again where it matters. */
static void note_time(struct event_ring *ring, const struct gt_event *event, uint64_t *now)
{
	if (event->clock != GT_CLOCK_MONOTONIC || event->time <= ring->last)
		return;
	if (event->time > *now)
		*now = gt_clock_monotonic();
	if (event->time <= *now)
		ring->last = event->time;
}

/*
 * The process has ended: nobody knows when, but it was not before its last record, and with which
 * status.
 */
static void report_exit(const struct event_ring *ring, gt_inject_take_event *take, void *context)
{
	const struct gt_event_exit end = {
		.head = {.time = ring->last,
			 .process = (uint32_t)ring->pid,
			 .thread = (uint32_t)ring->pid,
			 .kind = GT_EVENT_exit,
			 .size = sizeof(end),
			 .device = GT_DEVICE_UNKNOWN},
		.status = GT_EXIT_UNKNOWN,
	};

	take(context, ring->number, &end.head);
}

/* Returns whether there may be more. */
static bool read_records(struct gt_inject_events *events, struct event_ring *ring,
			 gt_inject_take_event *take, void *context)
{
	struct gt_event *event = &events->copy.event;
	uint64_t now = 0;

	for (uint32_t i = 0; i < MAX_RECORDS; i++) {
		if (!read_record(events, ring))
			return false;
		event->process = (uint32_t)ring->pid;
		if (gt_event_check(event, event->size)) {
			events->retired.malformed++;
			continue;
		}
		if (ring->foreign)
			translate_ids(ring->foreign, event);
		note_time(ring, event, &now);
		take(context, ring->number, event);
	}
	return true;
}

static bool read_ring(struct gt_inject_events *events, struct event_ring *ring,
		      gt_inject_take_event *take, void *context)
{
	bool more = read_records(events, ring, take, context);

	release_records(ring);
	return more;
}

/* Processes that have ended write no more: seen before their rings are read. */
static void see_ends(struct gt_inject *inject)
{
	gt_inject_processes_update(inject->processes);
	for (struct event_ring *ring = inject->events->rings; ring; ring = ring->next) {
		/* Another one of the process, that of a program before, has ended already. */
		if (ring->ended || !gt_inject_process_has_ended(ring->process))
			continue;
		ring->has_exited = true;
		ring->ended = true;
	}
}

bool gt_inject_read_events(struct gt_inject *inject, gt_inject_take_event *take, void *context)
{
	struct gt_inject_events *events = inject->events;
	bool more = false;

	if (!events)
		return false;
	see_ends(inject);
	for (struct event_ring **link = &events->rings, *ring; (ring = *link);) {
		bool ended = ring->ended, has_more = read_ring(events, ring, take, context);

		more |= has_more;
		if (has_more || !ended) {
			link = &ring->next;
			continue;
		}
		if (ring->has_exited && ring->last)
			report_exit(ring, take, context);
		take(context, ring->number, NULL);
		add_counts(&events->retired, ring);
		*link = ring->next;
		events->count--;
		free_ring(ring);
	}
	return more;
}

struct gt_inject_event_counts gt_inject_event_counts(const struct gt_inject *inject)
{
	struct gt_inject_event_counts counts = {0};

	if (!inject->events)
		return counts;
	counts = inject->events->retired;
	for (const struct event_ring *ring = inject->events->rings; ring; ring = ring->next)
		add_counts(&counts, ring);
	return counts;
}
