/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "gpubpf/map/ring_reader.h"

#include <errno.h>
#include <string.h>

static struct gt_ring_header *header_of(const struct gt_ring_reader *reader)
{
	return reader->memory;
}

/* The ring's bytes from a position on; the second half follows the first. */
static uint8_t *bytes_at(const struct gt_ring_reader *reader, uint64_t position)
{
	return (uint8_t *)reader->memory + sizeof(struct gt_ring_header) + position % reader->bytes;
}

int gt_ring_reader_open(const struct gt_bpf_map *map, void *memory,
			struct gt_ring_reader *ret_reader)
{
	const struct gt_bpf_map_kind *kind = gt_bpf_map_kind(map->type);
	uint64_t tail;

	if (!kind || kind->shape != GT_BPF_MAP_RING)
		return -EINVAL;
	tail = __atomic_load_n(&((struct gt_ring_header *)memory)->tail, __ATOMIC_RELAXED);
	if (tail % 8)
		return -EBADMSG;
	*ret_reader = (struct gt_ring_reader){
		.memory = memory,
		.bytes = gt_bpf_map_ring_bytes(map),
		.tail = tail,
	};
	return 0;
}

void gt_ring_reader_close(struct gt_ring_reader *reader)
{
	free(reader->record);
	*reader = (struct gt_ring_reader){0};
}

/* Release bytes that were read. They are cleared before they can be reserved again. */
static void release_bytes(struct gt_ring_reader *reader, uint64_t bytes)
{
	memset(bytes_at(reader, reader->tail), 0, bytes);
	reader->tail += bytes;
	__atomic_store_n(&header_of(reader)->tail, reader->tail, __ATOMIC_RELAXED);
	if (reader->of_copy)
		__atomic_fetch_add(&header_of(reader)->returned, bytes, __ATOMIC_RELEASE);
	else
		__atomic_fetch_add(&header_of(reader)->credit, (int64_t)bytes, __ATOMIC_RELEASE);
}

/*
 * Drop everything in a corrupt ring, which only tampering causes. Records that are being written
 * are lost, too, and may appear as another corruption.
 */
static int reset_ring(struct gt_ring_reader *reader)
{
	struct gt_ring_header *header = header_of(reader);

	memset(bytes_at(reader, 0), 0, 2 * (size_t)reader->bytes);
	reader->tail = __atomic_load_n(&header->head, __ATOMIC_ACQUIRE) & ~(uint64_t)7;
	__atomic_store_n(&header->head, reader->tail, __ATOMIC_RELAXED);
	__atomic_store_n(&header->tail, reader->tail, __ATOMIC_RELAXED);
	__atomic_store_n(&header->returned, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&header->taken, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&header->credit, (int64_t)reader->bytes, __ATOMIC_RELEASE);
	reader->corruptions++;
	return -EBADMSG;
}

static int resize_record(struct gt_ring_reader *reader, uint32_t size)
{
	uint8_t *record;

	if (size <= reader->record_room && reader->record)
		return 0;
	record = realloc(reader->record, size ? size : 1);
	if (!record)
		return -ENOMEM;
	reader->record = record;
	reader->record_room = size;
	return 0;
}

/* Read the header of the record at the tail. 1: it is ready; 0: not yet; -EBADMSG. */
static int read_head(const struct gt_ring_reader *reader, struct gt_ring_record *ret_head,
		     uint64_t *ret_total)
{
	uint64_t head = __atomic_load_n(&header_of(reader)->head, __ATOMIC_ACQUIRE);
	uint64_t there = head - reader->tail, total;
	struct gt_ring_record record;
	uint64_t word;

	if (!there)
		return 0;
	if (there > reader->bytes || there % 8)
		return -EBADMSG;
	word = __atomic_load_n((uint64_t *)(void *)bytes_at(reader, reader->tail),
			       __ATOMIC_ACQUIRE);
	memcpy(&record, &word, sizeof(record));
	if (record.state == GT_RING_BUSY)
		return 0;
	total = ((uint64_t)record.size + sizeof(record) + 7) & ~(uint64_t)7;
	if (record.state > GT_RING_DISCARDED || total > there)
		return -EBADMSG;
	*ret_head = record;
	*ret_total = total;
	return 1;
}

int gt_ring_reader_next(struct gt_ring_reader *reader, const void **ret_record, uint32_t *ret_size)
{
	struct gt_ring_record head;
	uint64_t total;

	for (;;) {
		int ready = read_head(reader, &head, &total);

		if (ready < 0)
			return reset_ring(reader);
		if (!ready)
			return 0;
		if (head.state == GT_RING_READY)
			break;
		reader->discarded++;
		release_bytes(reader, total);
	}
	if (resize_record(reader, head.size))
		return -ENOMEM;
	memcpy(reader->record, bytes_at(reader, reader->tail) + sizeof(head), head.size);
	release_bytes(reader, total);
	reader->records++;
	*ret_record = reader->record;
	*ret_size = head.size;
	return 1;
}

uint64_t gt_ring_reader_lost(const struct gt_ring_reader *reader)
{
	return __atomic_load_n(&header_of(reader)->lost, __ATOMIC_RELAXED);
}

uint64_t gt_ring_reader_pending(const struct gt_ring_reader *reader)
{
	return __atomic_load_n(&header_of(reader)->head, __ATOMIC_RELAXED) - reader->tail;
}

int gt_ring_reader_print(struct gt_ring_reader *reader, struct gt_strbuf *text)
{
	const void *record;
	uint32_t size;
	int ready;

	while ((ready = gt_ring_reader_next(reader, &record, &size)) > 0)
		if (gt_print_record(text, record, size))
			reader->corruptions++;
	return ready;
}
