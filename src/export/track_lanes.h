/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The slices of a track: those that overlap partly are in further tracks, its lanes. */
#pragma once

#include "base/vec.h"
#include "export/slices.h"

#define TRACK_MAX_LANES 8

/* A track and the ends of its slices that contain the last one, the innermost last. */
struct track_lane {
	struct gt_track track;
	char *name; /* of the track; owned */
	uint64_t last_start;
	GT_VEC(struct gt_slice_end) ends;
};

struct track_lanes {
	struct track_lane *lanes[TRACK_MAX_LANES];
	unsigned count;
};

/* What tracks have in common. */
struct track_output {
	const struct gt_slice_writer *writer;
	void *context;
	uint32_t tracks; /* so far */
	struct gt_slices_totals totals;
};

/*
 * Begin a track: `track` without its number and name, which is copied. *ret_lane is owned by the
 * caller. 0, -ENOMEM, or an error of the writer.
 */
int track_lane_new(struct track_output *output, const struct gt_track *track, const char *name,
		   struct track_lane **ret_lane);
void track_lane_free(struct track_lane *lane);

/* Pass on a slice, after the ends of those before it. Its track is set. */
int track_lanes_put(struct track_lanes *lanes, struct track_output *output, struct gt_slice *slice);
/* Pass on the ends of all slices. */
int track_lanes_finish(struct track_lanes *lanes, struct track_output *output);
void track_lanes_free(struct track_lanes *lanes);
