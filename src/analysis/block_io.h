/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Requests of block I/O by disk and operation, and by process and disk. */
#pragma once

#include <stdint.h>

#include "analysis/keyed_rows.h"
#include "base/clean.h"
#include "base/histogram.h"

struct gt_block_sums {
	uint64_t requests, bytes, errors;
	struct gt_histogram queued; /* ns from the creation to the issue to the device */
	struct gt_histogram device; /* ns from the issue to the completion */
};

struct gt_block_disk {
	struct gt_block_disk_key {
		char name[GT_DEVICE_NAME_SIZE]; /* may have no NUL */
		const char *operation;          /* "read": gt_layer_event_name */
	} key;
	struct gt_block_sums sums;
};

struct gt_block_process {
	struct gt_block_process_key {
		char name[GT_DEVICE_NAME_SIZE];
		uint64_t process; /* 0: unknown */
	} key;
	uint64_t reads, read_bytes, writes, written_bytes;
	struct gt_block_sums sums; /* of all its requests */
};

struct gt_block_io {
	struct gt_keyed_rows disks;     /* of struct gt_block_disk */
	struct gt_keyed_rows processes; /* of struct gt_block_process */
};

struct gt_block_io *gt_block_io_new(void);
void gt_block_io_free(struct gt_block_io *block);
GT_DEFINE_AUTO(block_io, struct gt_block_io, gt_block_io_free)

/* Take an event of the source "block". 0 or -ENOMEM. */
int gt_block_io_take(struct gt_block_io *block, const struct gt_event *event);
/* Sort the processes by the time of their requests on the device, the longest first. */
void gt_block_io_sort(struct gt_block_io *block);
