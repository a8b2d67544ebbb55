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

#define DATA_PAGES 16 /* a power of two: 64 KiB a CPU */

struct buffer {
	int fd;
	struct perf_event_mmap_page *control;
	const uint8_t *data;
};

struct gt_watch {
	struct buffer *buffers;
	size_t count;
	size_t page_size;
	uint64_t lost;
	int epoll;
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
		.watermark = 1,
		.wakeup_watermark = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	struct epoll_event wait = {.events = EPOLLIN};
	struct buffer buffer;
	void *memory;

	buffer.fd = syscall(__NR_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (buffer.fd < 0)
		return -errno;
	memory = mmap(NULL, (DATA_PAGES + 1) * watch->page_size, PROT_READ | PROT_WRITE, MAP_SHARED,
		      buffer.fd, 0);
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
		munmap(watch->buffers[i].control, (DATA_PAGES + 1) * watch->page_size);
		close(watch->buffers[i].fd);
	}
	if (watch->epoll >= 0)
		close(watch->epoll);
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

static void take_record(struct gt_watch *watch, const struct perf_event_header *header,
			const uint8_t *bytes,
			void (*mapped)(void *context, const struct gt_new_mapping *mapping),
			void *context)
{
	if (header->type == PERF_RECORD_LOST) {
		uint64_t lost;

		memcpy(&lost, bytes + sizeof(*header) + sizeof(uint64_t), sizeof(lost));
		watch->lost += lost;
	} else if (header->type == PERF_RECORD_MMAP2) {
		const struct mmap2_record *record = (const void *)bytes;
		struct gt_new_mapping mapping = {
			.pid = record->pid,
			.device = makedev(record->major, record->minor),
			.inode = record->inode,
			.start = record->address,
			.end = record->address + record->length,
			.offset = record->offset,
			.path = record->path,
		};

		/* PERF_SAMPLE_TIME is the only sample field: it ends the record. */
		memcpy(&mapping.time, bytes + header->size - sizeof(uint64_t), sizeof(uint64_t));
		mapped(context, &mapping);
	}
}

static void drain(struct gt_watch *watch, struct buffer *buffer,
		  void (*mapped)(void *context, const struct gt_new_mapping *mapping),
		  void *context)
{
	size_t ring_size = DATA_PAGES * watch->page_size;
	uint64_t head = __atomic_load_n(&buffer->control->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = buffer->control->data_tail;
	union {
		struct perf_event_header header;
		uint64_t align;
		uint8_t bytes[65536];
	} record;

	while (tail < head) {
		struct perf_event_header header;

		copy_out(buffer, tail, &header, sizeof(header), ring_size);
		if (header.size < sizeof(header) || header.size > head - tail)
			break;
		copy_out(buffer, tail, record.bytes, header.size, ring_size);
		take_record(watch, &header, record.bytes, mapped, context);
		tail += header.size;
	}
	__atomic_store_n(&buffer->control->data_tail, head, __ATOMIC_RELEASE);
}

void gt_watch_poll(struct gt_watch *watch,
		   void (*mapped)(void *context, const struct gt_new_mapping *mapping),
		   void *context)
{
	for (size_t i = 0; i < watch->count; i++)
		drain(watch, &watch->buffers[i], mapped, context);
}

uint64_t gt_watch_lost(const struct gt_watch *watch)
{
	return watch->lost;
}

int gt_watch_fd(const struct gt_watch *watch)
{
	return watch->epoll;
}
