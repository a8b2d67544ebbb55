/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Record layouts: perf_event_open(2), "MMAP layout" and PERF_RECORD_MMAP2. */
#include "probe/api/watch.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/vec.h"

#define MAX_RECORD 8192 /* bytes: a path, and what belongs to it */
/*
 * Powers of two. 4 MiB for each CPU, since nothing is read while an output is stopped; users
 * without CAP_IPC_LOCK may lock 512 KiB (kernel.perf_event_mlock_kb) and get 256 KiB.
 */
#define DATA_PAGES 1024
#define FEW_DATA_PAGES 64

struct buffer {
	int fd;
	struct perf_event_mmap_page *control;
	const uint8_t *data;
	size_t data_size; /* bytes */
	/* Positions in the ring: forks and executions are taken ahead of mappings. */
	uint64_t tasks_start, tasks_end, mappings_end;
	bool counts_lost; /* a read returns the number of dropped records */
};

struct known_fork {
	uint64_t time;
	pid_t parent, child;
};

struct gt_watch {
	struct buffer *buffers;
	size_t count;
	size_t page_size;
	uint64_t lost;
	int epoll;
	GT_VEC(struct known_fork) forks; /* during a poll */
	GT_VEC(pid_t) ended;             /* processes, until after the next poll */
};

struct mmap2_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t address, length, offset;
	uint32_t major, minor;
	uint64_t inode, inode_generation;
	uint32_t protection, flags;
	char path[];
};

struct comm_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	char name[];
};

struct fork_record {
	struct perf_event_header header;
	uint32_t pid, parent, tid, parent_tid;
	uint64_t time;
};

static int open_event(struct perf_event_attr *attributes, int cpu)
{
	return syscall(__NR_perf_event_open, attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static void *map_buffer(const struct gt_watch *watch, const struct buffer *buffer)
{
	return mmap(NULL, watch->page_size + buffer->data_size, PROT_READ | PROT_WRITE, MAP_SHARED,
		    buffer->fd, 0);
}

static int open_buffer(struct gt_watch *watch, int cpu)
{
	struct perf_event_attr attributes = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attributes),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.watermark = 1,
		.wakeup_watermark = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	struct epoll_event wait = {.events = EPOLLIN};
	struct buffer buffer = {.counts_lost = true};
	void *memory;

	attributes.read_format = PERF_FORMAT_LOST;
	buffer.fd = open_event(&attributes, cpu);
	if (buffer.fd < 0 && errno == EINVAL) { /* before Linux 6.0 */
		attributes.read_format = 0;
		buffer.counts_lost = false;
		buffer.fd = open_event(&attributes, cpu);
	}
	if (buffer.fd < 0)
		return -errno;
	buffer.data_size = DATA_PAGES * watch->page_size;
	memory = map_buffer(watch, &buffer);
	if (memory == MAP_FAILED) {
		buffer.data_size = FEW_DATA_PAGES * watch->page_size;
		memory = map_buffer(watch, &buffer);
	}
	if (memory == MAP_FAILED) {
		int error = -errno;

		close(buffer.fd);
		return error;
	}
	buffer.control = memory;
	buffer.data = (uint8_t *)memory + watch->page_size;
	watch->buffers[watch->count++] = buffer;
	return epoll_ctl(watch->epoll, EPOLL_CTL_ADD, buffer.fd, &wait) < 0 ? -errno : 0;
}

int gt_watch_open(struct gt_watch **ret_watch, struct gt_diag *diag)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	gt_auto(watch) struct gt_watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return gt_diag(diag, -ENOMEM, "watch", NULL, "out of memory");
	watch->epoll = epoll_create1(EPOLL_CLOEXEC);
	watch->page_size = sysconf(_SC_PAGESIZE);
	watch->buffers = calloc(cpus, sizeof(*watch->buffers));
	if (watch->epoll < 0 || !watch->buffers)
		return gt_diag(diag, -ENOMEM, "watch", NULL, "out of memory");
	for (long cpu = 0; cpu < cpus; cpu++) {
		int error = open_buffer(watch, cpu);

		/* A CPU that is switched off has no events. */
		if (error && error != -ENODEV)
			return gt_diag(diag, error, "watch", NULL,
				       "cannot open perf events (%s): libraries that are loaded "
				       "later are not traced; run as root or with CAP_PERFMON",
				       strerror(-error));
	}
	*ret_watch = gt_take(watch);
	return 0;
}

void gt_watch_close(struct gt_watch *watch)
{
	if (!watch)
		return;
	for (size_t i = 0; i < watch->count; i++) {
		munmap(watch->buffers[i].control, watch->page_size + watch->buffers[i].data_size);
		close(watch->buffers[i].fd);
	}
	if (watch->epoll >= 0)
		close(watch->epoll);
	gt_vec_free(&watch->forks);
	gt_vec_free(&watch->ended);
	free(watch->buffers);
	free(watch);
}

/* Copies bytes out of the ring, which may wrap in the middle of a record. */
static void copy_out(const struct buffer *buffer, uint64_t position, void *target, size_t size,
		     size_t ring_size)
{
	size_t at = position % ring_size;
	size_t first = size < ring_size - at ? size : ring_size - at;

	memcpy(target, buffer->data + at, first);
	memcpy((uint8_t *)target + first, buffer->data, size - first);
}

/* PERF_SAMPLE_TIME is the only sample field: it ends each record. */
static uint64_t time_of_record(const struct perf_event_header *header, const uint8_t *bytes)
{
	uint64_t time;

	memcpy(&time, bytes + header->size - sizeof(time), sizeof(time));
	return time;
}

static void take_mapping_record(const struct gt_watch_handlers *handlers,
				const struct perf_event_header *header, const uint8_t *bytes)
{
	const struct mmap2_record *record = (const void *)bytes;
	struct gt_new_mapping mapping = {
		.time = time_of_record(header, bytes),
		.pid = record->pid,
		.device = makedev(record->major, record->minor),
		.inode = record->inode,
		.generation = record->inode_generation,
		.start = record->address,
		.end = record->address + record->length,
		.offset = record->offset,
		.path = record->path,
	};

	handlers->mapped(handlers->context, &mapping);
}

/* Without memory it is lost: what its process maps may be missed. */
static void keep_fork(struct gt_watch *watch, const uint8_t *bytes)
{
	const struct fork_record *record = (const void *)bytes;
	struct known_fork fork = {
		.time = record->time,
		.parent = record->parent,
		.child = record->pid,
	};

	if (record->pid != record->parent && gt_vec_push(&watch->forks, fork))
		watch->lost++;
}

static int compare_forks(const void *a, const void *b)
{
	const struct known_fork *left = a, *right = b;

	return (left->time > right->time) - (left->time < right->time);
}

static void deliver_forks(struct gt_watch *watch, const struct gt_watch_handlers *handlers)
{
	if (watch->forks.count)
		qsort(watch->forks.items, watch->forks.count, sizeof(*watch->forks.items),
		      compare_forks);
	gt_vec_each (fork, &watch->forks)
		handlers->forked(handlers->context, fork->parent, fork->child);
	watch->forks.count = 0;
}

/* Without memory the process is taken for one that continues. */
static void keep_end(struct gt_watch *watch, const uint8_t *bytes)
{
	const struct fork_record *record = (const void *)bytes;

	if (record->pid == record->tid && gt_vec_push(&watch->ended, record->pid))
		watch->lost++;
}

/*
 * Deliver the ends that were known when this poll began: by now, all that these processes have
 * mapped was taken from all rings.
 */
static void deliver_ends(struct gt_watch *watch, size_t count,
			 const struct gt_watch_handlers *handlers)
{
	for (size_t i = 0; i < count; i++)
		handlers->ended(handlers->context, watch->ended.items[i]);
	watch->ended.count -= count;
	if (count)
		memmove(watch->ended.items, watch->ended.items + count,
			watch->ended.count * sizeof(*watch->ended.items));
}

enum watch_pass { FORKS, EXECUTIONS, MAPPINGS };

static void take_record(struct gt_watch *watch, enum watch_pass pass,
			const struct perf_event_header *header, const uint8_t *bytes,
			const struct gt_watch_handlers *handlers)
{
	if (pass == FORKS) {
		if (header->type == PERF_RECORD_FORK)
			keep_fork(watch, bytes);
	} else if (pass == EXECUTIONS) {
		const struct comm_record *record = (const void *)bytes;

		if (header->type == PERF_RECORD_COMM && header->misc & PERF_RECORD_MISC_COMM_EXEC)
			handlers->executed(handlers->context, record->pid,
					   time_of_record(header, bytes));
	} else if (header->type == PERF_RECORD_EXIT) {
		keep_end(watch, bytes);
	} else if (header->type == PERF_RECORD_MMAP2) {
		take_mapping_record(handlers, header, bytes);
	}
}

/* Takes the records from one position of a ring to another; returns where it has stopped. */
static uint64_t take_records(struct gt_watch *watch, const struct buffer *buffer,
			     enum watch_pass pass, uint64_t from, uint64_t to,
			     const struct gt_watch_handlers *handlers)
{
	size_t ring_size = buffer->data_size;
	union {
		struct perf_event_header header;
		uint64_t align;
		uint8_t bytes[65536];
	} record;

	while (from < to) {
		struct perf_event_header header;

		copy_out(buffer, from, &header, sizeof(header), ring_size);
		if (header.size < sizeof(header) + sizeof(uint64_t) || header.size > to - from)
			return to;
		copy_out(buffer, from, record.bytes, header.size, ring_size);
		take_record(watch, pass, &header, record.bytes, handlers);
		from += header.size;
	}
	return from;
}

/*
 * PERF_RECORD_LOST comes with the next record that finds room, so not at all if there is none.
 * Where the kernel does not count, a ring without room for the longest record has dropped one.
 */
static void estimate_lost(struct gt_watch *watch, const struct buffer *buffer)
{
	uint64_t used = buffer->mappings_end - buffer->control->data_tail;

	if (!buffer->counts_lost && used + MAX_RECORD > buffer->data_size)
		watch->lost++;
}

static uint64_t head_of(const struct buffer *buffer)
{
	return __atomic_load_n(&buffer->control->data_head, __ATOMIC_ACQUIRE);
}

/*
 * A process may change the CPU after it was created or executes a program, before it maps the next
 * file. So forks and executions up to now are taken from all rings first, then the mappings up to
 * an earlier time.
 */
void gt_watch_poll(struct gt_watch *watch, const struct gt_watch_handlers *handlers)
{
	size_t ended = watch->ended.count;

	for (size_t i = 0; i < watch->count; i++)
		watch->buffers[i].mappings_end = head_of(&watch->buffers[i]);
	for (size_t i = 0; i < watch->count; i++)
		estimate_lost(watch, &watch->buffers[i]);
	for (size_t i = 0; i < watch->count; i++) {
		struct buffer *buffer = &watch->buffers[i];

		buffer->tasks_end = head_of(buffer);
		take_records(watch, buffer, FORKS, buffer->tasks_start, buffer->tasks_end,
			     handlers);
	}
	deliver_forks(watch, handlers);
	for (size_t i = 0; i < watch->count; i++) {
		struct buffer *buffer = &watch->buffers[i];

		buffer->tasks_start = take_records(watch, buffer, EXECUTIONS, buffer->tasks_start,
						   buffer->tasks_end, handlers);
	}
	for (size_t i = 0; i < watch->count; i++) {
		struct buffer *buffer = &watch->buffers[i];
		uint64_t tail = take_records(watch, buffer, MAPPINGS, buffer->control->data_tail,
					     buffer->mappings_end, handlers);

		__atomic_store_n(&buffer->control->data_tail, tail, __ATOMIC_RELEASE);
	}
	deliver_ends(watch, ended, handlers);
}

uint64_t gt_watch_lost(const struct gt_watch *watch)
{
	uint64_t lost = watch->lost;

	for (size_t i = 0; i < watch->count; i++) {
		uint64_t values[2]; /* of the event, lost */

		if (watch->buffers[i].counts_lost &&
		    read(watch->buffers[i].fd, values, sizeof(values)) == sizeof(values))
			lost += values[1];
	}
	return lost;
}

int gt_watch_fd(const struct gt_watch *watch)
{
	return watch->epoll;
}
