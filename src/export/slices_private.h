/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the files of slices have in common. */
#pragma once

#include "analysis/label_cache.h"
#include "base/hash.h"
#include "export/rows.h"
#include "export/track_lanes.h"

struct slices_pending {
	struct gt_slice slice;  /* without its track and details */
	size_t details, number; /* where its details begin; position in the order of events */
};

struct slices_thread {
	struct track_lanes lanes;
	GT_VEC(struct slices_pending) pending;
	struct gt_strbuf details; /* of what is pending */
};

/* Slices in the order of their beginnings, and counters about them. */
struct slices_stream {
	struct track_lanes lanes;
	struct track_lane *depth, *bandwidth; /* counters; NULL: not begun */
	GT_VEC(uint64_t) ends;                /* of operations that have not ended at `submitted` */
	size_t first_end;
	uint64_t submitted; /* the latest submission */
};

struct slices_counter {
	struct track_lane *lane;
	uint64_t value, time;
};

struct gt_slices {
	struct track_output output;
	struct gt_timeline *timeline;
	struct gt_demangler *demangler;
	struct gt_label_cache *callers;
	struct gt_hash *processes; /* process -> struct track_lane * */
	struct gt_hash *threads;   /* thread << 32 | process -> struct slices_thread * */
	struct gt_hash *gpus;      /* of a process: struct track_lane * */
	struct gt_hash *streams;   /* struct slices_stream_key -> struct slices_stream * */
	struct gt_hash *rings;     /* name -> struct slices_stream * */
	struct gt_hash *counters;  /* name, process, device -> struct slices_counter * */
	struct gt_hash *flows;     /* numbers of operations whose call was passed on */
	struct gt_call_row row;
	struct gt_strbuf details, text; /* their memory is used again */
	/* Of the outermost call that is being taken. */
	uint64_t first_flow, flow_count;
	struct gt_timeline_waited waited;
	uint64_t events, last_time;
	bool is_finished;
};

/* The track of a process, or the one of what belongs to none (0). 0 or -Exxx. */
int slices_process(struct gt_slices *slices, const struct gt_names *names, uint32_t process,
		   struct track_lane **ret_lane);
int slices_put_gpu(void *slices, const struct gt_names *names,
		   const struct gt_gpu_interval *interval);
int slices_put_memory(void *slices, const struct gt_names *names,
		      const struct gt_memory_change *change);
/* Pass on the jobs of rings, and the samples of GPUs. */
int slices_put_layer_tracks(struct gt_slices *slices, const struct gt_names *names,
			    const struct gt_event *event);
int slices_finish_streams(struct gt_slices *slices);
void slices_free_streams(struct gt_slices *slices);
