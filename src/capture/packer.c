/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "capture/packer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>
#include <zstd.h>

#include "event/kinds.h"

#define LEVEL 1 /* of compression: 0.4 GB/s; higher ones save little */
#define MAX_SPAN_NS 500000000ull

struct gt_packer {
	ZSTD_CCtx *compressor;
	struct gt_capture_block block; /* of the events in the buffer: times and numbers */
	uint64_t first;                /* the time of the first event with one; 0: none */
	size_t limit, used;            /* of the buffer */
	size_t room;                   /* bytes of `stored` */
	uint8_t *stored;
	uint8_t buffer[GT_CAPTURE_BLOCK_SIZE];
};

/* Make room for compressed data of so many bytes. */
static int make_room(struct gt_packer *packer, size_t size)
{
	size_t room = ZSTD_compressBound(size);
	uint8_t *stored = room > packer->room ? realloc(packer->stored, room) : packer->stored;

	if (!stored)
		return -ENOMEM;
	packer->stored = stored;
	packer->room = room > packer->room ? room : packer->room;
	return 0;
}

struct gt_packer *gt_packer_new(size_t limit)
{
	gt_auto(packer) struct gt_packer *packer = calloc(1, sizeof(*packer));

	if (!packer)
		return NULL;
	packer->limit = limit;
	packer->compressor = ZSTD_createCCtx();
	if (!packer->compressor || make_room(packer, sizeof(packer->buffer)) ||
	    ZSTD_isError(
		    ZSTD_CCtx_setParameter(packer->compressor, ZSTD_c_compressionLevel, LEVEL)))
		return NULL;
	return gt_take(packer);
}

void gt_packer_free(struct gt_packer *packer)
{
	if (!packer)
		return;
	ZSTD_freeCCtx(packer->compressor);
	free(packer->stored);
	free(packer);
}

static bool has_time(const struct gt_event *event)
{
	return event->clock == GT_CLOCK_MONOTONIC && event->time;
}

bool gt_packer_is_full(const struct gt_packer *packer, const struct gt_event *event)
{
	if (event->size > packer->limit - packer->used)
		return true;
	return packer->first && has_time(event) && event->time > packer->first &&
	       event->time - packer->first >= MAX_SPAN_NS;
}

static void note_time(struct gt_packer *packer, const struct gt_event *event)
{
	struct gt_capture_block *block = &packer->block;
	uint64_t duration = 0, start;

	if (!has_time(event))
		return;
	gt_event_duration(event, &duration);
	start = duration < event->time ? event->time - duration : 1;
	if (!block->start || start < block->start)
		block->start = start;
	if (event->time > block->end)
		block->end = event->time;
	if (!packer->first)
		packer->first = event->time;
}

void gt_packer_add(struct gt_packer *packer, const struct gt_event *event)
{
	memcpy(packer->buffer + packer->used, event, event->size);
	packer->used += event->size;
	packer->block.count++;
	packer->block.names += gt_capture_names(event);
	note_time(packer, event);
}

uint32_t gt_packer_count(const struct gt_packer *packer)
{
	return packer->block.count;
}

uint32_t gt_capture_checksum(const struct gt_capture_block *block, size_t head_size,
			     const void *stored)
{
	struct gt_capture_block copy = *block;

	copy.checksum = 0;
	return (uint32_t)crc32(crc32(0, (const void *)&copy, (uInt)head_size), stored,
			       block->stored);
}

int gt_packer_pack_data(struct gt_packer *packer, const void *data, size_t size,
			struct gt_capture_block *block, const void **ret_stored)
{
	size_t stored;

	if (make_room(packer, size))
		return -ENOMEM;
	stored = ZSTD_compress2(packer->compressor, packer->stored, packer->room, data, size);
	if (ZSTD_isError(stored))
		return -ENOMEM;
	block->magic = GT_CAPTURE_BLOCK_MAGIC;
	block->stored = (uint32_t)stored;
	block->size = (uint32_t)size;
	block->checksum = gt_capture_checksum(block, sizeof(*block), packer->stored);
	*ret_stored = packer->stored;
	return 0;
}

int gt_packer_pack(struct gt_packer *packer, struct gt_capture_block *ret_block,
		   const void **ret_stored)
{
	struct gt_capture_block block = packer->block;
	int error;

	block.kind = GT_CAPTURE_EVENTS;
	error = gt_packer_pack_data(packer, packer->buffer, packer->used, &block, ret_stored);
	packer->block = (struct gt_capture_block){0};
	packer->used = 0;
	packer->first = 0;
	if (!error)
		*ret_block = block;
	return error;
}
