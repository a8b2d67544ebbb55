/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "export/track_lanes.h"

#include <errno.h>
#include <string.h>

int track_lane_new(struct track_output *output, const struct gt_track *track, const char *name,
		   struct track_lane **ret_lane)
{
	struct track_lane *lane = calloc(1, sizeof(*lane));
	int error;

	if (lane)
		lane->name = strdup(name);
	if (!lane || !lane->name) {
		track_lane_free(lane);
		return -ENOMEM;
	}
	lane->track = *track;
	lane->track.name = lane->name;
	lane->track.number = ++output->tracks;
	error = output->writer->begin_track(output->context, &lane->track);
	if (error)
		track_lane_free(lane);
	else
		*ret_lane = lane;
	return error;
}

void track_lane_free(struct track_lane *lane)
{
	if (!lane)
		return;
	free(lane->track.written);
	free(lane->name);
	gt_vec_free(&lane->ends);
	free(lane);
}

static int end_slices(struct track_lane *lane, struct track_output *output, uint64_t until)
{
	int error = 0;

	while (!error && lane->ends.count && lane->ends.items[lane->ends.count - 1].time <= until) {
		const struct gt_slice_end *end = &lane->ends.items[--lane->ends.count];

		if (output->writer->end_slice)
			error = output->writer->end_slice(output->context, &lane->track, end);
	}
	return error;
}

/* Whether a slice comes after what the lane has, or lies in the innermost slice of its time. */
static bool is_nested(const struct track_lane *lane, const struct gt_slice *slice)
{
	size_t i = lane->ends.count;

	while (i && lane->ends.items[i - 1].time <= slice->start)
		i--;
	return slice->start >= lane->last_start &&
	       (!i || slice->end <= lane->ends.items[i - 1].time);
}

static int add_lane(struct track_lanes *lanes, struct track_output *output)
{
	const struct gt_track *first = &lanes->lanes[0]->track;
	gt_auto_strbuf name = GT_STRBUF_INIT;
	const struct gt_track track = {
		.kind = GT_TRACK_SLICES,
		.process = first->process,
		.parent = first->parent ? first->parent : first,
	};
	int error;

	if (first->thread)
		gt_strbuf_printf(&name, "thread %u", gt_id_number(first->thread));
	else
		gt_strbuf_puts(&name, first->name);
	gt_strbuf_printf(&name, " (overlapping %u)", lanes->count);
	error = track_lane_new(output, &track, gt_strbuf_string(&name),
			       &lanes->lanes[lanes->count]);
	lanes->count += !error;
	return error;
}

/* Readers sort by time: a slice between two others is drawn where it belongs. */
static int put_unordered(struct track_lane *lane, struct track_output *output,
			 struct gt_slice *slice)
{
	const struct gt_slice_end end = {slice->end, slice->waited};
	int error;

	output->totals.unordered++;
	slice->track = &lane->track;
	error = output->writer->begin_slice(output->context, slice);
	if (!error && !slice->is_instant && output->writer->end_slice)
		error = output->writer->end_slice(output->context, &lane->track, &end);
	return error;
}

int track_lanes_put(struct track_lanes *lanes, struct track_output *output, struct gt_slice *slice)
{
	const struct gt_slice_end end = {slice->end, slice->waited};
	struct track_lane *lane;
	unsigned i = 0;
	int error = 0;

	while (i < lanes->count && !is_nested(lanes->lanes[i], slice))
		i++;
	output->totals.slices++;
	if (i == TRACK_MAX_LANES)
		return put_unordered(lanes->lanes[0], output, slice);
	if (i == lanes->count)
		error = add_lane(lanes, output);
	if (error)
		return error;
	lane = lanes->lanes[i];
	slice->track = &lane->track;
	error = end_slices(lane, output, slice->start);
	if (!error)
		error = output->writer->begin_slice(output->context, slice);
	lane->last_start = slice->start;
	if (!error && !slice->is_instant)
		error = gt_vec_push(&lane->ends, end);
	return error;
}

int track_lanes_finish(struct track_lanes *lanes, struct track_output *output)
{
	int error = 0;

	for (unsigned i = 0; i < lanes->count && !error; i++)
		error = end_slices(lanes->lanes[i], output, UINT64_MAX);
	return error;
}

void track_lanes_free(struct track_lanes *lanes)
{
	for (unsigned i = 0; i < lanes->count; i++)
		track_lane_free(lanes->lanes[i]);
	lanes->count = 0;
}
