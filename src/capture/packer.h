/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Blocks of events in the making: a buffer of events, compressed when it is full. */
#pragma once

#include "capture/capture.h"

struct gt_packer;

/*
 * Blocks of at most `limit` bytes of events, from GT_EVENT_MAX_SIZE to GT_CAPTURE_BLOCK_SIZE. NULL:
 * out of memory.
 */
struct gt_packer *gt_packer_new(size_t limit);
void gt_packer_free(struct gt_packer *packer);
GT_DEFINE_AUTO(packer, struct gt_packer, gt_packer_free)

/* Whether the block is to be packed before this event is added. */
bool gt_packer_is_full(const struct gt_packer *packer, const struct gt_event *event);
/* Add an event, for which there must be room. */
void gt_packer_add(struct gt_packer *packer, const struct gt_event *event);
/* Events in the buffer. */
uint32_t gt_packer_count(const struct gt_packer *packer);
/*
 * Compress the events and empty the buffer: the head of the block, and its data, which belong to
 * the packer and are valid until the next call. 0 or -ENOMEM.
 */
int gt_packer_pack(struct gt_packer *packer, struct gt_capture_block *ret_block,
		   const void **ret_stored);
/* The same for other data; `block` has its kind, count and times. */
int gt_packer_pack_data(struct gt_packer *packer, const void *data, size_t size,
			struct gt_capture_block *block, const void **ret_stored);

/* CRC-32 of a head of `head_size` bytes, with 0 for its checksum, and of its data. */
uint32_t gt_capture_checksum(const struct gt_capture_block *block, size_t head_size,
			     const void *stored);

/* Append a block that is packed already. For the flight recorder. */
void gt_capture_write_block(struct gt_capture_writer *writer, const struct gt_capture_block *block,
			    const void *stored);
/* Write out what is buffered. 0 or the first error that there was. */
int gt_capture_sync(struct gt_capture_writer *writer);
