/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The device area of the maps in the memory of GPUs: an atomic addition to host memory takes a GPU
 * a microsecond, one to its own memory a nanosecond. gputap allocates the memory and the traced
 * processes map it, at the same address in each. So what is there is complete however a process
 * ends. It is read by copies, which no kernel notices.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "run/inject_private.h"

enum {
	PAGE = 4096,
	CHUNK = 4 << 20, /* bytes that are read at once, where not all are kept */
};

void gt_inject_maps_failed(struct gt_inject *inject, const char *what, const char *reason)
{
	char *remark = inject->devices.remark;

	if (!*remark)
		snprintf(remark, sizeof(inject->devices.remark), "%s: %s", what, reason);
}

/* ---- opening --------------------------------------------------------------------------- */

/*
 * gputap sees all devices, whatever the command is limited to; its own copies are not among those
 * that the software GPU logs.
 */
static int open_driver(struct gt_inject *inject, struct gt_diag *diag)
{
	static const char *const hidden[] = {"CUDA_VISIBLE_DEVICES", "SOFTGPU_LOG"};

	if (inject->devices.driver)
		return 0;
	for (size_t i = 0; i < gt_countof(hidden); i++)
		unsetenv(hidden[i]);
	return gt_driver_open(inject->devices.library, &inject->devices.driver, diag);
}

static int open_device(struct gt_inject *inject, const uint8_t uuid[16],
		       struct gt_device **ret_device, struct gt_diag *diag)
{
	const struct gt_driver *driver = inject->devices.driver;

	for (unsigned i = 0; i < gt_driver_device_count(driver); i++) {
		struct gt_device_info info;
		int error = gt_driver_device_info(driver, i, &info, diag);

		if (error)
			return error;
		if (!memcmp(info.uuid, uuid, sizeof(info.uuid)))
			return gt_device_open(driver, i, ret_device, diag);
	}
	return gt_diag(diag, -ENODEV, "run", NULL, "gputap does not see the GPU of the command");
}

static int map_mirror(struct gt_inject_copy *copy, struct gt_diag *diag)
{
	void *data = MAP_FAILED;

	copy->mirror_fd = memfd_create("gputap-mirror", MFD_CLOEXEC);
	if (copy->mirror_fd >= 0 && !ftruncate(copy->mirror_fd, (off_t)copy->size))
		data = mmap(NULL, copy->size, PROT_READ | PROT_WRITE, MAP_SHARED, copy->mirror_fd,
			    0);
	if (data == MAP_FAILED)
		return gt_diag(diag, -errno, "run", NULL, "cannot allocate the maps: %s",
			       strerror(errno));
	copy->mirror = data;
	return 0;
}

static int write_part(struct gt_inject_copy *copy, size_t from, size_t size, struct gt_diag *diag)
{
	return gt_device_write(copy->device, copy->memory.address + from, copy->mirror + from, size,
			       diag);
}

/* Write what a mirror has but for its holes, which are zeros. */
static int write_data(struct gt_inject_copy *copy, struct gt_diag *diag)
{
	struct gt_file_part part = {0};
	int error = 0;

	while (!error && gt_file_find_data(copy->mirror_fd, part.end, copy->size, &part))
		error = write_part(copy, part.from, part.end - part.from, diag);
	return error;
}

static int open_rings(struct gt_inject *inject, struct gt_inject_copy *copy, struct gt_diag *diag)
{
	copy->rings = calloc(inject->map_count + 1, sizeof(*copy->rings));
	if (!copy->rings)
		return gt_diag(diag, -ENOMEM, "run", NULL, "out of memory");
	for (uint32_t i = 0; i <= inject->map_count; i++) {
		const struct gt_bpf_map *map = gt_inject_map(inject, i);
		const struct gt_bpf_map_kind *kind = gt_bpf_map_kind(map->type);
		size_t offset = inject->memory.offsets[i];

		if (offset == SIZE_MAX || kind->shape != GT_BPF_MAP_RING)
			continue;
		gt_ring_reader_open(map, copy->mirror + (offset - inject->memory.host_size),
				    &copy->rings[i].reader);
		copy->rings[i].reader.of_copy = true;
	}
	return 0;
}

static void close_copy(const struct gt_inject *inject, struct gt_inject_copy *copy)
{
	struct gt_diag diag = {0};

	for (uint32_t i = 0; copy->rings && i <= inject->map_count; i++)
		gt_ring_reader_close(&copy->rings[i].reader);
	free(copy->rings);
	free(copy->pages);
	if (copy->mirror)
		munmap(copy->mirror, copy->size);
	gt_cleanup_close(&copy->mirror_fd);
	if (copy->device && !gt_device_use(copy->device, &diag))
		gt_device_unshare(copy->device, &copy->memory);
	gt_cleanup_close(&copy->fd);
	gt_device_close(copy->device);
}

static int open_copy(struct gt_inject *inject, const uint8_t uuid[16],
		     struct gt_inject_copy *ret_copy, struct gt_diag *diag)
{
	struct gt_inject_copy copy = {
		.size = inject->memory.size - inject->memory.host_size,
		.fd = -1,
		.mirror_fd = -1,
	};
	int error = open_driver(inject, diag);

	memcpy(copy.uuid, uuid, sizeof(copy.uuid));
	if (!error)
		error = open_device(inject, uuid, &copy.device, diag);
	if (!error)
		error = gt_device_share(copy.device, copy.size, &copy.memory, &copy.fd, diag);
	if (!error)
		error = map_mirror(&copy, diag);
	if (!error) {
		gt_inject_memory_initialise(inject, copy.mirror);
		error = write_data(&copy, diag);
	}
	if (!error)
		error = open_rings(inject, &copy, diag);
	if (error)
		close_copy(inject, &copy);
	else
		*ret_copy = copy;
	return error;
}

const struct gt_inject_copy *gt_inject_copy_on(struct gt_inject *inject, const uint8_t uuid[16])
{
	struct gt_inject_devices *devices = &inject->devices;
	struct gt_inject_copy added = {.fd = -1, .mirror_fd = -1};
	struct gt_diag diag = {0};

	gt_vec_each (copy, &devices->copies)
		if (!memcmp(copy->uuid, uuid, sizeof(copy->uuid)))
			return copy->failed ? NULL : copy;
	if (!devices->enabled)
		return NULL;
	if (!open_copy(inject, uuid, &added, &diag) && gt_vec_push(&devices->copies, added)) {
		close_copy(inject, &added);
		gt_diag(&diag, -ENOMEM, "run", NULL, "out of memory");
	}
	if (!gt_diag_is_set(&diag))
		return &devices->copies.items[devices->copies.count - 1];
	gt_inject_maps_failed(inject, GT_INJECT_ON_HOST, diag.text);
	return NULL;
}

void gt_inject_devices_close(struct gt_inject *inject)
{
	struct gt_inject_devices *devices = &inject->devices;

	gt_vec_each (copy, &devices->copies)
		close_copy(inject, copy);
	gt_vec_free(&devices->copies);
	gt_driver_free(devices->driver);
	free(devices->library);
}

/* ---- copying --------------------------------------------------------------------------- */

/* A copy that cannot be read or written stays as it was. */
static bool use(struct gt_inject *inject, struct gt_inject_copy *copy)
{
	struct gt_diag diag = {0};

	if (!copy->failed && gt_device_use(copy->device, &diag)) {
		copy->failed = true;
		gt_inject_maps_failed(inject, GT_INJECT_NOT_READ, diag.text);
	}
	return !copy->failed;
}

static bool check(struct gt_inject *inject, struct gt_inject_copy *copy, int error,
		  const struct gt_diag *diag)
{
	if (error) {
		copy->failed = true;
		gt_inject_maps_failed(inject, GT_INJECT_NOT_READ, diag->text);
	}
	return !error;
}

/* Keep what was read in the mirror. Pages of zeros that it does not have stay holes. */
static void keep_chunk(struct gt_inject_copy *copy, size_t from, size_t size)
{
	struct gt_sparse mirror = {
		.memory = copy->mirror, .size = copy->size, .fd = copy->mirror_fd};
	size_t page;

	for (size_t at = 0; at < size; at += page) {
		uint8_t *kept = copy->mirror + from + at;
		const uint8_t *read = copy->pages + at;

		page = PAGE - (from + at) % PAGE;
		if (page > size - at)
			page = size - at;
		if (gt_sparse_find(NULL, read, read + page) ||
		    gt_sparse_find(&mirror, kept, kept + page))
			memcpy(kept, read, page);
	}
}

/* Read a large part, most of which may never have been written. */
static int read_chunks(struct gt_inject_copy *copy, size_t from, size_t end, struct gt_diag *diag)
{
	int error = 0;

	if (!copy->pages)
		copy->pages = malloc(CHUNK);
	if (!copy->pages)
		return gt_diag(diag, -ENOMEM, "run", NULL, "out of memory");
	for (size_t size; !error && from < end; from += size) {
		size = end - from < CHUNK ? end - from : CHUNK;
		error = gt_device_read(copy->device, copy->memory.address + from, copy->pages, size,
				       diag);
		if (!error)
			keep_chunk(copy, from, size);
	}
	return error;
}

static int read_data(struct gt_inject_copy *copy, size_t from, size_t end, struct gt_diag *diag)
{
	if (end - from > CHUNK)
		return read_chunks(copy, from, end, diag);
	return gt_device_read(copy->device, copy->memory.address + from, copy->mirror + from,
			      end - from, diag);
}

/*
 * Copy a part of the area to the mirror. Where the memory is a file, as that of the software GPU,
 * its holes are holes of the mirror, too: the memory began as a copy of the mirror.
 */
static bool read_part(struct gt_inject *inject, struct gt_inject_copy *copy, size_t from,
		      size_t size)
{
	struct gt_file_part part = {.end = from};
	struct gt_diag diag = {0};
	int error = 0;

	while (!error && gt_file_find_data(copy->fd, part.end, from + size, &part))
		error = read_data(copy, part.from, part.end, &diag);
	return check(inject, copy, error, &diag);
}

const uint8_t *gt_inject_copy_read(struct gt_inject *inject, struct gt_inject_copy *copy,
				   size_t offset, size_t size)
{
	size_t from = offset - inject->memory.host_size;

	if (use(inject, copy))
		read_part(inject, copy, from, size);
	return copy->mirror + from;
}

void gt_inject_copies_write(struct gt_inject *inject, size_t offset, size_t size)
{
	size_t from = offset - inject->memory.host_size;

	gt_vec_each (copy, &inject->devices.copies) {
		struct gt_diag diag = {0};

		if (!use(inject, copy))
			continue;
		memcpy(copy->mirror + from, inject->memory.data + offset, size);
		check(inject, copy, write_part(copy, from, size, &diag), &diag);
	}
}

/* ---- rings ----------------------------------------------------------------------------- */

/* A ring that is being read: where it is in the area. */
struct ring_access {
	struct gt_inject *inject;
	struct gt_inject_copy *copy;
	struct gt_inject_ring *ring;
	struct gt_ring_header *header; /* of the mirror */
	size_t from;                   /* of the header in the area */
	uint32_t bytes;
};

/* The bytes of positions: those at the end of the ring, and those at its start. */
struct ring_parts {
	size_t from[2], size[2];
};

static struct ring_parts parts_of(const struct ring_access *access, uint64_t first, uint64_t end)
{
	size_t data = access->from + sizeof(struct gt_ring_header);
	uint64_t start = first % access->bytes, size = end - first;

	/* A record at the end extends into the second half. */
	return (struct ring_parts){
		.from = {data + start, data},
		.size = {size, start + size > access->bytes ? start + size - access->bytes : 0},
	};
}

static bool read_positions(const struct ring_access *access, uint64_t first, uint64_t end)
{
	struct ring_parts parts = parts_of(access, first, end);

	return read_part(access->inject, access->copy, parts.from[0], parts.size[0]) &&
	       read_part(access->inject, access->copy, parts.from[1], parts.size[1]);
}

/* Return the credit of what was read. The mirror has zeros there, which the ring gets first. */
static bool return_credit(const struct ring_access *access)
{
	struct gt_inject_ring *ring = access->ring;
	struct ring_parts parts = parts_of(access, ring->returned, ring->reader.tail);
	struct gt_diag diag = {0};
	int error;

	if (ring->returned == ring->reader.tail)
		return true;
	error = write_part(access->copy, parts.from[0], parts.size[0], &diag);
	if (!error)
		error = write_part(access->copy, parts.from[1], parts.size[1], &diag);
	ring->returned = ring->reader.tail;
	if (!error)
		error = write_part(access->copy,
				   access->from + offsetof(struct gt_ring_header, returned),
				   sizeof(access->header->returned), &diag);
	return check(access->inject, access->copy, error, &diag);
}

/*
 * The end of the records from the tail on that are complete. What is not valid counts as complete:
 * the reader reports it.
 */
static uint64_t end_of_complete(const struct ring_access *access, uint64_t head)
{
	const uint8_t *data = (const uint8_t *)(access->header + 1);
	uint64_t at = access->ring->reader.tail;

	while (head - at >= sizeof(struct gt_ring_record)) {
		struct gt_ring_record record;

		memcpy(&record, data + at % access->bytes, sizeof(record));
		if (record.state == GT_RING_BUSY)
			return at;
		if (record.state > GT_RING_DISCARDED || record.size > head - at)
			break;
		at += (record.size + sizeof(record) + 7) & ~(uint64_t)7;
		if (at > head)
			break;
	}
	return head;
}

/*
 * Read the ring into the mirror: the records whose heads are complete are read once more, since a
 * copy has no order. Returns whether there are any.
 */
static bool read_ring(const struct ring_access *access)
{
	struct gt_ring_header *header = access->header;
	uint64_t tail = access->ring->reader.tail, head;

	if (!read_part(access->inject, access->copy, access->from,
		       offsetof(struct gt_ring_header, returned)))
		return false;
	head = header->head;
	header->tail = tail;
	header->head = tail;
	if (head == tail)
		return false;
	if (head - tail > access->bytes || head % 8) {
		header->head = head;
		return true;
	}
	if (!read_positions(access, tail, head))
		return false;
	head = end_of_complete(access, head);
	if (!read_positions(access, tail, head))
		return false;
	header->head = head;
	return head != tail;
}

/* After the reader has dropped everything in a corrupt ring: the same on the GPU. */
static void reset_ring(const struct ring_access *access)
{
	struct gt_diag diag = {0};

	access->ring->returned = access->ring->reader.tail;
	check(access->inject, access->copy,
	      write_part(access->copy, access->from,
			 sizeof(struct gt_ring_header) + 2 * (size_t)access->bytes, &diag),
	      &diag);
}

int gt_inject_copy_next(struct gt_inject *inject, struct gt_inject_copy *copy, uint32_t map,
			const void **ret_record, uint32_t *ret_size)
{
	struct gt_inject_ring *ring = &copy->rings[map];
	const struct ring_access access = {
		.inject = inject,
		.copy = copy,
		.ring = ring,
		.header = ring->reader.memory,
		.from = inject->memory.offsets[map] - inject->memory.host_size,
		.bytes = ring->reader.bytes,
	};
	int ready = gt_ring_reader_next(&ring->reader, ret_record, ret_size);

	if (!ready && ring->round != inject->devices.round && use(inject, copy)) {
		ring->round = inject->devices.round;
		if (!return_credit(&access) || !read_ring(&access))
			return 0;
		inject->devices.busy = true;
		ready = gt_ring_reader_next(&ring->reader, ret_record, ret_size);
	}
	if (ready == -EBADMSG && use(inject, copy))
		reset_ring(&access);
	return ready;
}
