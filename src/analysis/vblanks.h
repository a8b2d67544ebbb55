/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Vertical blanks by device and CRTC: rate, missed ones, and how late events are delivered. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analysis/keyed_rows.h"
#include "base/clean.h"
#include "base/histogram.h"

#define GT_VBLANK_LATE 1000000 /* ns: events that are delivered later are reported */

struct gt_vblank_row {
	struct gt_vblank_crtc {
		char device[GT_DRM_NAME_SIZE]; /* may have no NUL; "": unknown */
		uint64_t crtc;
	} key;
	uint64_t vblanks;
	uint64_t missed;      /* sequence numbers without a vblank */
	uint64_t first, last; /* timestamps of vblanks, ns */
	uint32_t sequence;    /* of the last one */
	uint64_t queued, delivered;
	uint64_t late;                  /* delivered more than GT_VBLANK_LATE after the vblank */
	struct gt_histogram handled;    /* ns from a vblank to its event */
	struct gt_histogram delivery;   /* ns from a vblank to the delivery of an event */
	struct gt_histogram from_queue; /* ns from queued to delivered */
};

struct gt_vblanks {
	struct gt_keyed_rows crtcs; /* of struct gt_vblank_row */
};

struct gt_vblanks *gt_vblanks_new(void);
void gt_vblanks_free(struct gt_vblanks *vblanks);
GT_DEFINE_AUTO(vblanks, struct gt_vblanks, gt_vblanks_free)

/* Take an event of the source "vblank". 0 or -ENOMEM. */
int gt_vblanks_take(struct gt_vblanks *vblanks, const struct gt_event *event);
/* Vblanks per second; 0: not known. */
double gt_vblank_rate(const struct gt_vblank_row *row);
