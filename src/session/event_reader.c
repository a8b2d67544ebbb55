/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "session/event_reader.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "base/clock.h"
#include "base/thread.h"
#include "probe/load.h"
#include "session/spill.h"

#define POLL_INTERVAL_MS 40 /* the ring wakes its reader only when it fills */

struct gt_event_reader {
	struct ring_buffer *ring;
	struct gt_spill *spill;
	int waiting; /* eventfd: records wait, or the thread has ended */
	int wake;    /* eventfd: the thread is to read the ring now, and to look at `stop` */
	atomic_bool stop;
	pthread_t thread;
	bool started;
	atomic_bool ended;
	_Atomic uint64_t complete; /* as gt_event_reader_complete returns it */
};

static int put_record(void *opaque, void *data, size_t size)
{
	struct gt_event_reader *reader = opaque;

	gt_spill_put(reader->spill, data, size);
	return 0;
}

static void signal_fd(int fd)
{
	const uint64_t one = 1;

	while (write(fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

static void drain_fd(int fd)
{
	uint64_t count;

	while (read(fd, &count, sizeof(count)) < 0 && errno == EINTR)
		;
}

static void *read_until_stopped(void *opaque)
{
	struct gt_event_reader *reader = opaque;
	struct pollfd waits[] = {{.fd = ring_buffer__epoll_fd(reader->ring), .events = POLLIN},
				 {.fd = reader->wake, .events = POLLIN}};
	bool stop;

	do {
		uint64_t now;
		int read;

		poll(waits, 2, POLL_INTERVAL_MS);
		drain_fd(reader->wake);
		/* Before the ring is read: it comes after the last record. */
		stop = atomic_load(&reader->stop);
		now = gt_clock_monotonic();
		read = ring_buffer__consume(reader->ring);
		atomic_store(&reader->complete, now);
		if (read > 0 || waits[1].revents & POLLIN)
			signal_fd(reader->waiting);
	} while (!stop);
	atomic_store(&reader->ended, true);
	signal_fd(reader->waiting);
	return NULL;
}

int gt_event_reader_open(int ring_fd, uint64_t limit, struct gt_event_reader **ret_reader,
			 struct gt_diag *diag)
{
	gt_auto(event_reader) struct gt_event_reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		return gt_diag(diag, -ENOMEM, "session", NULL, "out of memory");
	reader->waiting = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	reader->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	reader->spill = gt_spill_new(limit);
	if (reader->waiting < 0 || reader->wake < 0)
		return gt_diag(diag, -errno, "session", NULL, "eventfd: %s", strerror(errno));
	if (!reader->spill)
		return gt_diag(diag, -ENOMEM, "session", NULL, "out of memory");
	reader->ring = ring_buffer__new(ring_fd, put_record, reader, NULL);
	if (!reader->ring)
		return gt_load_failed(-errno, "session", diag);
	*ret_reader = gt_take(reader);
	return 0;
}

int gt_event_reader_start(struct gt_event_reader *reader, struct gt_diag *diag)
{
	int error = gt_thread_start(&reader->thread, read_until_stopped, reader);

	if (error)
		return gt_diag(diag, -error, "session", NULL, "pthread_create: %s",
			       strerror(error));
	reader->started = true;
	return 0;
}

int gt_event_reader_fd(const struct gt_event_reader *reader)
{
	return reader->waiting;
}

bool gt_event_reader_take(struct gt_event_reader *reader,
			  void (*take)(void *context, void *record, size_t size), void *context)
{
	drain_fd(reader->waiting);
	return gt_spill_take(reader->spill, take, context);
}

void gt_event_reader_catch_up(struct gt_event_reader *reader,
			      void (*take)(void *context, void *record, size_t size), void *context)
{
	struct pollfd wait = {.fd = reader->waiting, .events = POLLIN};
	uint64_t now = gt_clock_monotonic();

	signal_fd(reader->wake);
	/* The thread may wait for memory: records are taken until it has read the ring. */
	while (atomic_load(&reader->complete) < now) {
		poll(&wait, 1, POLL_INTERVAL_MS);
		gt_event_reader_take(reader, take, context);
	}
	/* Not until none waits: under overload, records may come as fast as they are taken. */
	for (size_t pieces = gt_spill_pieces(reader->spill); pieces; pieces--)
		gt_event_reader_take(reader, take, context);
}

static void take_nothing(void *context, void *record, size_t size)
{
}

void gt_event_reader_finish(struct gt_event_reader *reader,
			    void (*take)(void *context, void *record, size_t size), void *context)
{
	struct pollfd wait = {.fd = reader->waiting, .events = POLLIN};

	if (!reader->started)
		return;
	atomic_store(&reader->stop, true);
	signal_fd(reader->wake);
	/* The thread may wait for memory: records are taken until it has ended. */
	while (!atomic_load(&reader->ended)) {
		poll(&wait, 1, POLL_INTERVAL_MS);
		while (gt_event_reader_take(reader, take, context))
			;
	}
	pthread_join(reader->thread, NULL);
	reader->started = false;
	while (gt_event_reader_take(reader, take, context))
		;
}

uint64_t gt_event_reader_complete(const struct gt_event_reader *reader)
{
	return atomic_load(&reader->complete);
}

void gt_event_reader_close(struct gt_event_reader *reader)
{
	if (!reader)
		return;
	gt_event_reader_finish(reader, take_nothing, NULL);
	ring_buffer__free(reader->ring);
	gt_spill_free(reader->spill);
	for (int *fd = (int[]){reader->waiting, reader->wake, -2}; *fd != -2; fd++)
		if (*fd >= 0)
			close(*fd);
	free(reader);
}
