/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reading rings on the host, while devices write to them. The memory is shared with a process that
 * is traced, so nothing in it is trusted: sizes and positions are checked, records are copied out
 * before they are looked at, and the reader keeps its own position.
 */
#pragma once

#include "gpubpf/map/map.h"
#include "gpubpf/map/printk.h"

struct gt_ring_reader {
	void *memory;         /* as maps.h says; not owned */
	uint32_t bytes;       /* of the ring */
	uint64_t tail;        /* read up to here */
	uint8_t *record;      /* the last one's bytes. Owned. */
	uint32_t record_room; /* bytes there */
	uint64_t records;     /* given out */
	uint64_t discarded;   /* given up by their writer */
	uint64_t damaged;     /* times that the ring made no sense and all in it was dropped */
};

/*
 * One reader a ring, on memory that gt_bpf_map_initialise made; it goes on where the ring's tail
 * is. The reader writes what it has read back to zeros and gives the bytes' credit back. 0;
 * -EINVAL: the map is no ring; -EBADMSG: the tail is nonsense.
 */
int gt_ring_reader_open(const struct gt_bpf_map *map, void *memory,
			struct gt_ring_reader *ret_reader);
void gt_ring_reader_close(struct gt_ring_reader *reader);

/*
 * The next record: 1, with its bytes, which are valid until the next call. 0: none is ready.
 * -EBADMSG: what is there is no record; the ring was emptied and goes on with what comes (damaged).
 * -ENOMEM.
 */
int gt_ring_reader_next(struct gt_ring_reader *reader, const void **ret_record, uint32_t *ret_size);
/* Records that found no room so far: what the ring says, which its writers may have changed. */
uint64_t gt_ring_reader_lost(const struct gt_ring_reader *reader);
/* Bytes that were reserved and not yet read: after the last launch has ended, a record that its
 * writer never finished, and what is behind it. */
uint64_t gt_ring_reader_pending(const struct gt_ring_reader *reader);

/* Adds the text of all records of an output ring (ring_print.h). 0 or the reader's error; records
 * that are none are left out and counted as damaged. */
int gt_ring_reader_print(struct gt_ring_reader *reader, struct gt_strbuf *text);
