/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reading rings on the host while devices write to them. The memory is shared with a traced process
 * and not trusted: sizes and positions are checked, records are copied before they are examined,
 * and the reader keeps its own position.
 */
#pragma once

#include "gpubpf/map/map.h"
#include "gpubpf/map/printk.h"

struct gt_ring_reader {
	void *memory;   /* layout: map.h; not owned */
	uint32_t bytes; /* of the ring */
	/* The memory is a copy: what is read is counted in `returned`, and not added to `credit`.
	 */
	bool of_copy;
	uint64_t tail;        /* read up to here */
	uint8_t *record;      /* copy of the last record. Owned. */
	uint32_t record_room; /* its capacity in bytes */
	uint64_t records;     /* returned */
	uint64_t discarded;   /* by their writer */
	uint64_t corruptions; /* times that the ring was invalid, and all in it was dropped */
};

/*
 * Opens the only reader of a ring, on memory initialised by gt_bpf_map_initialise. It starts at the
 * ring's tail, clears what it has read and returns the credit. 0; -EINVAL: the map is not a ring;
 * -EBADMSG: the tail is invalid.
 */
int gt_ring_reader_open(const struct gt_bpf_map *map, void *memory,
			struct gt_ring_reader *ret_reader);
void gt_ring_reader_close(struct gt_ring_reader *reader);

/*
 * The next record. 1: its bytes are valid until the next call. 0: no record is ready. -EBADMSG: the
 * ring was corrupt; it was emptied, and reading continues with later records. -ENOMEM.
 */
int gt_ring_reader_next(struct gt_ring_reader *reader, const void **ret_record, uint32_t *ret_size);
/* Records dropped so far (buffer full), as counted in the ring by its writers. */
uint64_t gt_ring_reader_lost(const struct gt_ring_reader *reader);
/*
 * Bytes that are reserved and not read. After the end of the last launch: a record that its writer
 * did not finish, and those after it.
 */
uint64_t gt_ring_reader_pending(const struct gt_ring_reader *reader);

/*
 * Append the text of all records of an output ring (printk.h). 0 or the reader's error. Malformed
 * records are omitted and counted as corruptions.
 */
int gt_ring_reader_print(struct gt_ring_reader *reader, struct gt_strbuf *text);
